"""Answers kept on disk: one small file an answer, named by the request's key.

Files appear by renaming, so a kill leaves an answer whole or absent, and any number of processes may share a
folder. An answer that was cut off, refused or empty is never kept, but for one kind: where a request takes a
cut-off answer as it is (``roomy`` false), that answer is kept beside the whole ones, for such requests only.
Neither prompts nor keys to accounts are written.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cypherforge.core.errors import InputError
from cypherforge.core.files import atomic_write, dumps, loads, read_text
from cypherforge.llm.base import ChatAnswer, ChatModel, ChatRequest, request_key
from cypherforge.llm.budget import Meter
from cypherforge.llm.watch import CUT


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """A folder of answers, ``ab/abcdef....json``."""

    folder: Path

    def get(self, key: str, *, cut: bool = False) -> ChatAnswer | None:
        """The answer under this key; None where there is none, or only what a crash left of one.

        ``cut``: a cut-off answer does too, where no whole one is kept.
        """
        for path in (self._path(key), self._path(key, ".cut")) if cut else (self._path(key),):
            try:
                row = loads(read_text(path))
                answer = ChatAnswer.from_json(row, cached=True) if row["key"] == key else None
            except (InputError, KeyError, TypeError, ValueError, AttributeError):
                continue
            if answer is not None and (answer.usable or (cut and answer.finish == "length")):
                return answer
        return None

    def put(self, key: str, answer: ChatAnswer, *, cut: bool = False) -> None:
        """Keep a usable answer, with ``cut`` a cut-off one; others are passed over. Raises StorageError."""
        if answer.usable or (cut and answer.finish == "length"):
            text = dumps({"key": key, **answer.to_json()}) + "\n"
            path = self._path(key, "" if answer.usable else ".cut")
            # A kill cannot tear a rename; after loss of power the worst is that the answer is asked again.
            atomic_write(path, text, durable=False)

    def _path(self, key: str, mark: str = "") -> Path:
        return self.folder / key[:2] / f"{key}{mark}.json"


@dataclass(slots=True)
class _Turn:
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0


class CachedModel:
    """A model that is asked only what the cache does not hold; equal requests at one time are sent once."""

    def __init__(self, inner: ChatModel, cache: AnswerCache, meter: Meter | None = None) -> None:
        self._inner = inner
        self._cache = cache
        self._meter = meter
        self._turns: dict[str, _Turn] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name of the model inside."""
        return self._inner.name

    def chat(self, request: ChatRequest) -> ChatAnswer:
        """The kept answer, else a new one, which is kept if it is usable."""
        key = request_key(self.name, request)
        with self._turn(key):
            answer = self._cache.get(key, cut=not request.roomy)
            if answer is not None:
                if self._meter is not None:
                    self._meter.add(cache_hits=1)
                return answer
            answer = self._inner.chat(request)
            # What a watcher cut off is its own piece: another one would have read on.
            self._cache.put(key, answer, cut=not request.roomy and answer.note != CUT)
            return answer

    @contextmanager
    def _turn(self, key: str) -> Iterator[None]:
        with self._lock:
            turn = self._turns.setdefault(key, _Turn())
            turn.users += 1
        try:
            with turn.lock:
                yield
        finally:
            with self._lock:
                turn.users -= 1
                if not turn.users:
                    del self._turns[key]
