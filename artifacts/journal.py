"""Journals: what was received is written down at once, and never asked for again.

A journal is a JSONL file that only grows. One line is one finished item, ``{"key": ..., "row":
...}``. A line without its line end was cut off by a kill and is dropped when the file is opened;
anything else that cannot be read is an error, for silence would ask (and pay) for it twice.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cypherforge.artifacts.storage import storage_errors
from cypherforge.core.errors import ArtifactError
from cypherforge.core.files import dumps

SYNC_EVERY_LINES = 32
SYNC_EVERY_SECONDS = 2.0


class Journal:
    """Finished items of one stage, by key; safe for threads, one process at a time.

    Every line reaches the operating system before :meth:`append` returns, so a killed process
    loses nothing; the disk is forced every 32 lines, every 2 seconds and at :meth:`close`, so a
    power failure loses at most that.
    """

    def __init__(self, path: Path, *, now: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self._now = now
        self._lock = threading.Lock()
        self._rows: dict[str, Any] = {}
        self._unsynced = 0
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            self._recover()
        except BaseException:
            os.close(self._file)
            raise
        self._synced_at = now()
        self._closed = False

    def _recover(self) -> None:
        with storage_errors(self.path):
            data = self.path.read_bytes()
        end = data.rfind(b"\n") + 1
        for number, line in enumerate(data[:end].split(b"\n")[:-1], start=1):
            try:
                entry = json.loads(line)
                self._rows[entry["key"]] = entry["row"]
            except (ValueError, TypeError, KeyError) as error:
                raise ArtifactError(
                    f"line {number} is not a journal entry",
                    where=str(self.path),
                    hint="delete that line to have its item done again, or start over with --fresh",
                ) from error
        if end < len(data):
            with storage_errors(self.path):
                os.ftruncate(self._file, end)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: str) -> Any:
        return self._rows[key]

    def get(self, key: str, default: Any = None) -> Any:
        """The row of a finished item, or ``default``."""
        return self._rows.get(key, default)

    def keys(self) -> Iterator[str]:
        """Keys of finished items, in the order in which they were first finished."""
        return iter(list(self._rows))

    @property
    def rows(self) -> Mapping[str, Any]:
        """Finished items by key."""
        return dict(self._rows)

    def append(self, key: str, row: Any) -> Any:
        """Write an item down; returns the row as a later run will read it.

        A second row for a key replaces the first (an item that failed was tried again). Raises
        StorageError when the disk refuses; the journal then still holds what it held.
        """
        line = dumps({"key": key, "row": row}).encode() + b"\n"
        entry = json.loads(line)
        with self._lock, storage_errors(self.path):
            self._write(line)
            # What the caller goes on with is what a resumed run would see: tuples are lists, etc.
            self._rows[entry["key"]] = entry["row"]
            self._unsynced += 1
            late = self._now() - self._synced_at >= SYNC_EVERY_SECONDS
            if self._unsynced >= SYNC_EVERY_LINES or late:
                self._sync()
        return entry["row"]

    def _write(self, line: bytes) -> None:
        start = os.fstat(self._file).st_size
        written = 0
        try:
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError:
            # A half line in the middle of the file would make all that follows unreadable.
            os.ftruncate(self._file, start)
            raise

    def _sync(self) -> None:
        os.fsync(self._file)
        self._unsynced = 0
        self._synced_at = self._now()

    def close(self) -> None:
        """Force everything to disk and close; a second call does nothing."""
        with self._lock:
            if not self._closed:
                self._closed = True
                try:
                    with storage_errors(self.path):
                        self._sync()
                finally:
                    os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
