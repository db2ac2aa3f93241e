"""Recorded answers of a real model, replayed by the exact request.

A recording is one JSON Lines file: a first row with the model's name and the command that records it, then a row
an answer, sorted by key once it is tidied. While it is being made, rows are appended; a kill loses at most a torn
last line, and recording goes on from there.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from cypherforge.core.errors import InputError, ReplayMiss
from cypherforge.core.files import Problem, append_line, atomic_write, dumps, read_jsonl
from cypherforge.llm.base import ChatAnswer, ChatModel, ChatRequest, request_key
from cypherforge.llm.budget import Meter

FORMAT = "cypherforge-answers/1"


class Recording:
    """The content of a recording: ``model``, ``command`` and the answers by key."""

    def __init__(self, path: Path, *, missing_ok: bool = False) -> None:
        """Read it. Raises InputError: no such file, a row that is no answer, two models in one file."""
        self.path = Path(path)
        self.model = ""
        self.command = ""
        self.answers: dict[str, ChatAnswer] = {}
        if missing_ok and not self.path.exists():
            return
        # A line that is not JSON is what a kill left of one: its answer is missing, and is asked again.
        torn: list[Problem] = []
        for number, row in read_jsonl(self.path, torn):
            self._take(number, row)

    def _take(self, number: int, row: Any) -> None:
        where = f"{self.path}, row {number}"
        if not isinstance(row, dict):
            raise InputError("is not an object", where=where, hint="record it again")
        if "key" not in row:
            if row.get("format") != FORMAT:
                raise InputError(
                    f"format is {row.get('format')!r}, this version reads {FORMAT!r}",
                    where=where,
                    hint="use the version that wrote it, or record it again",
                )
            self.model = str(row.get("model", "")) or self.model
            self.command = str(row.get("command", "")) or self.command
            return
        try:
            answer = ChatAnswer.from_json(row, cached=True)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"no answer: {error}", where=where, hint="record it again") from None
        model = str(row.get("model", ""))
        self.model = self.model or model
        if model and model != self.model:
            raise InputError(
                f"holds answers of {self.model!r} and of {model!r}",
                where=where,
                hint="record each model to a file of its own",
            )
        self.answers[str(row["key"])] = answer

    def tidy(self) -> None:
        """Write the file anew: header, then rows sorted by key, each once. Equal content, equal bytes."""
        header = {"format": FORMAT, "model": self.model, "command": self.command}
        rows = [
            dumps({"key": key, **answer.to_json(), "model": self.model})
            for key, answer in sorted(self.answers.items())
        ]
        atomic_write(self.path, "\n".join([dumps(header), *rows]) + "\n")


def tidy_recording(path: Path | str) -> int:
    """Sort a recording after it was made; gives the number of its answers."""
    recording = Recording(Path(path))
    recording.tidy()
    return len(recording.answers)


class RecordedModel:
    """Replays a recording; its name is the recorded model's, so that keys are the same."""

    def __init__(self, path: Path | str, meter: Meter | None = None) -> None:
        self._recording = Recording(Path(path))
        self._meter = meter

    @property
    def name(self) -> str:
        """The recorded model's name."""
        return self._recording.model

    def chat(self, request: ChatRequest) -> ChatAnswer:
        """The recorded answer. Raises ReplayMiss, which names the command that records."""
        key = request_key(self.name, request)
        answer = self._recording.answers.get(key)
        if answer is None:
            command = self._recording.command or (
                f"the same command with --model NAME@URL --record {self._recording.path}"
            )
            raise ReplayMiss(
                f"this request to {self.name!r} was never recorded (key {key[:12]})",
                where=str(self._recording.path),
                hint=f"record it with: {command}",
            )
        if self._meter is not None:
            self._meter.add(cache_hits=1)
        return answer


class RecordingModel:
    """Asks the model inside and appends every answer, unusable ones too, for a replay must meet them as well.

    What the file already holds is not asked again. Call :func:`tidy_recording` at the end.
    """

    def __init__(
        self,
        inner: ChatModel,
        path: Path | str,
        command: str = "",
        meter: Meter | None = None,
    ) -> None:
        self._meter = meter
        self._inner = inner
        self._recording = Recording(Path(path), missing_ok=True)
        self._lock = threading.Lock()
        held = self._recording.model
        if held and held != inner.name:
            raise InputError(
                f"holds answers of {held!r}, not of {inner.name!r}",
                where=str(path),
                hint="record to another file, or remove that one",
            )
        if not held or (command and command != self._recording.command):
            self._recording.model = inner.name
            self._recording.command = command or self._recording.command
            header = {"format": FORMAT, "model": inner.name, "command": self._recording.command}
            append_line(path, dumps(header))

    @property
    def name(self) -> str:
        """The name of the model inside."""
        return self._inner.name

    def chat(self, request: ChatRequest) -> ChatAnswer:
        """The answer that is recorded already, else a new one, which is recorded."""
        key = request_key(self.name, request)
        with self._lock:
            known = self._recording.answers.get(key)
        if known is not None:
            if self._meter is not None:
                self._meter.add(cache_hits=1)
            return known
        answer = self._inner.chat(request)
        with self._lock:
            if key not in self._recording.answers:
                self._recording.answers[key] = answer
                row = {"key": key, **answer.to_json(), "model": self.name}
                append_line(self._recording.path, dumps(row))
        return answer
