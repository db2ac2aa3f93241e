"""A run's folder: one process at a time, one set of options, resumable after any kill.

::

    RUN/run.json            the options the run was started with
    RUN/lock                held while a process works here; says who
    RUN/journal/NAME.jsonl  items received by a stage that is not done
    RUN/STAGE/              the artifact of a stage that is done
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cypherforge import __version__
from cypherforge.artifacts.journal import Journal
from cypherforge.artifacts.storage import TEMPORARY, remove, storage_errors
from cypherforge.artifacts.store import MANIFEST, Artifact, ArtifactRef, ArtifactWriter, is_artifact
from cypherforge.core.errors import (
    ArtifactError,
    InputError,
    NewerFormat,
    OptionsChanged,
    RunLocked,
)
from cypherforge.core.files import atomic_write, dumps

FORMAT = 1
OPTIONS = "run.json"
LOCK = "lock"
JOURNALS = "journal"
_HOLDER = "process "


class RunFolder:
    """The folder of one run, held by this process until :meth:`close` (or the ``with`` ends).

    ``options`` is whatever changes the data (never time, verbosity or credentials). Raises
    RunLocked when another process works here, OptionsChanged naming the options that differ from
    those the run was started with, InputError for a folder that holds other things, NewerFormat
    for one that a newer version made. ``fresh`` removes what an earlier run made here, first.
    """

    def __init__(
        self, path: Path | str, options: Mapping[str, Any], *, fresh: bool = False
    ) -> None:
        self.path = Path(path).absolute()
        self.options: dict[str, Any] = json.loads(dumps(options))
        self._journals: dict[str, Journal] = {}
        self._refuse_foreign()
        with storage_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        self._lock = self._take_lock()
        try:
            if fresh:
                self._clear()
            self._check_options()
            self._sweep()
        except BaseException:
            self.close()
            raise

    # ------------------------------------------------------------ opening

    def _refuse_foreign(self) -> None:
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise InputError("is a file", where=str(self.path), hint="name a folder")
        if not self._is_run() and any(self.path.iterdir()):
            other = min(path.name for path in self.path.iterdir())
            raise InputError(
                f"holds other files ({other})",
                where=str(self.path),
                hint="name a new or empty folder",
            )

    def _is_run(self) -> bool:
        """Whether the folder is a run's: its lock says so even if a kill left nothing else."""
        try:
            holder = (self.path / LOCK).read_bytes()
        except OSError:
            return False
        alone = len(list(self.path.iterdir())) == 1
        return holder.startswith(_HOLDER.encode()) or (not holder and alone)

    def _own(self, path: Path) -> bool:
        named = path.name in (OPTIONS, LOCK, JOURNALS) or TEMPORARY in path.name
        return named or is_artifact(path)

    def _take_lock(self) -> int:
        path = self.path / LOCK
        with storage_errors(path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 1000, 0).decode("utf-8", "replace").strip()
            os.close(handle)
            raise RunLocked(
                f"another process works on this folder: {holder or 'it does not say which'}",
                where=str(self.path),
                hint="wait for it, stop it, or name another folder with --out",
            ) from None
        with storage_errors(path):
            command = " ".join(Path(a).name if i == 0 else a for i, a in enumerate(sys.argv[:3]))
            who = f"{_HOLDER}{os.getpid()} on {socket.gethostname()}, {command}\n".encode()
            # Written before it is cut, so that no kill leaves a lock that does not say whose it is.
            os.pwrite(handle, who, 0)
            os.ftruncate(handle, len(who))
        return handle

    def _check_options(self) -> None:
        path = self.path / OPTIONS
        if not path.exists():
            text = json.dumps(
                {"format": FORMAT, "code_version": __version__, "options": self.options},
                indent=2,
                ensure_ascii=False,
                sort_keys=True,
            )
            atomic_write(path, text + "\n")
            return
        try:
            data = json.loads(path.read_bytes())
            written, before = data["format"], data["options"]
        except (ValueError, KeyError, TypeError) as error:
            raise ArtifactError(
                "cannot be read", where=str(path), hint="start over with --fresh"
            ) from error
        if written > FORMAT:
            raise NewerFormat(
                f"written in format {written}; cypherforge {__version__} reads up to {FORMAT}",
                where=str(path),
                hint="update cypherforge, or start over with --fresh",
            )
        changed = [
            f"{name} was {_short(before.get(name))}, now {_short(self.options.get(name))}"
            for name in sorted({*before, *self.options})
            if before.get(name) != self.options.get(name)
        ]
        if changed:
            raise OptionsChanged(
                f"this run was started with other options: {'; '.join(changed)}",
                where=str(self.path),
                hint="use the same options to resume, --fresh to start over, or another --out",
            )

    def _sweep(self) -> None:
        # With the lock held, whatever is half-written here was left by a killed process.
        for path in self.path.glob(f".*{TEMPORARY}*"):
            with storage_errors(path):
                remove(path)

    def _clear(self) -> None:
        for path in sorted(self.path.iterdir()):
            if path.name != LOCK and self._own(path):
                with storage_errors(path):
                    remove(path)

    # ------------------------------------------------------------ working

    def stage_done(self, name: str) -> Artifact | None:
        """The artifact of a stage that is done, else None; Tampered if it was changed since."""
        if not (self.path / name / MANIFEST).is_file():
            return None
        artifact = Artifact.open(self.path / name)
        artifact.verify()
        return artifact

    def stage(
        self,
        name: str,
        kind: str | None = None,
        version: int = 1,
        params: Mapping[str, Any] | None = None,
        inputs: Sequence[ArtifactRef] = (),
        seed: int | None = None,
    ) -> ArtifactWriter:
        """The writer of a stage's artifact, at ``RUN/name``; ``kind`` defaults to the name."""
        return ArtifactWriter(self.path / name, kind or name, version, params, inputs, seed)

    def journal(self, name: str) -> Journal:
        """The journal of a stage, opened once and closed with the folder."""
        if name not in self._journals:
            self._journals[name] = Journal(self.path / JOURNALS / f"{name}.jsonl")
        return self._journals[name]

    def drop_journal(self, name: str) -> None:
        """Remove a journal whose stage is done."""
        journal = self._journals.pop(name, None)
        if journal is not None:
            journal.close()
        (self.path / JOURNALS / f"{name}.jsonl").unlink(missing_ok=True)

    def discard(self, name: str) -> None:
        """Remove a stage's artifact and journal, so that the stage is done anew."""
        self.drop_journal(name)
        if is_artifact(self.path / name):
            with storage_errors(self.path / name):
                remove(self.path / name)

    # ------------------------------------------------------------ closing

    def close(self) -> None:
        """Close the journals and let the folder go."""
        try:
            for journal in self._journals.values():
                journal.close()
        finally:
            self._journals = {}
            if self._lock >= 0:
                # The file stays: removing it would let two processes lock two different files.
                os.close(self._lock)
                self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _short(value: Any) -> str:
    text = "not set" if value is None else dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
