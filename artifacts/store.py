"""Versioned artifacts: a folder of data files and a ``manifest.json`` that vouches for them.

The manifest has a part that the same inputs always give again (kind, version, parameters, inputs by
digest, seed, files by digest, ``digest`` over the data) and the part ``run`` that differs from run
to run (time, usage, models, code version). ``seal`` covers all of it, so an edited manifest is found
out as an edited file is.

An artifact appears under its name complete or not at all: it is written beside its place and
renamed.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cypherforge import __version__
from cypherforge.artifacts.storage import (
    put_in_place,
    remove,
    storage_errors,
    sync_folder,
    temporary_sibling,
)
from cypherforge.core.errors import ArtifactError, InputError, NewerFormat, Tampered
from cypherforge.core.files import clean_text, digest, dumps

FORMAT = 1
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class ArtifactRef:
    """An input of an artifact: what it was, its data digest, and where it lay (a hint only)."""

    kind: str
    digest: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One data file: digest of its bytes, size in bytes, rows where it is a table."""

    digest: str
    bytes: int
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What differs from run to run: UTC start, seconds, code version, models, usage counts."""

    started: str
    seconds: float
    code_version: str
    models: tuple[str, ...] = ()
    usage: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What ``manifest.json`` says; see the module's docstring."""

    kind: str
    version: int
    params: Mapping[str, Any]
    inputs: tuple[ArtifactRef, ...]
    seed: int | None
    files: Mapping[str, FileEntry]
    summary: Mapping[str, Any]
    run: RunInfo

    @property
    def digest(self) -> str:
        """Digest over kind, version, parameters, inputs, seed and data; not over time or usage."""
        return digest(dumps(self._repeatable()))

    def _repeatable(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "kind": self.kind,
            "version": self.version,
            "params": self.params,
            "inputs": [{"kind": i.kind, "digest": i.digest} for i in self.inputs],
            "seed": self.seed,
            "files": {name: asdict(entry) for name, entry in self.files.items()},
            "summary": self.summary,
        }

    def to_json(self) -> dict[str, Any]:
        """The manifest as it is written, with ``digest`` and ``seal``."""
        whole: dict[str, Any] = {
            **self._repeatable(),
            "digest": self.digest,
            "run": {**asdict(self.run), "inputs": [i.path for i in self.inputs]},
        }
        return {**whole, "seal": digest(dumps(whole))}

    def to_bytes(self) -> bytes:
        """``manifest.json`` itself, byte for byte."""
        return (dumps(self.to_json(), indent=2) + "\n").encode()

    @staticmethod
    def from_json(data: Any, where: str) -> Manifest:
        """Read what :meth:`to_json` gave; Tampered, NewerFormat or ArtifactError otherwise."""
        if not isinstance(data, dict) or "format" not in data:
            raise ArtifactError("not an artifact's manifest", where=where)
        if not isinstance(data["format"], int) or data["format"] > FORMAT:
            raise NewerFormat(
                f"written in format {data['format']}; cypherforge {__version__} reads up to "
                f"format {FORMAT}",
                where=where,
                hint="update cypherforge",
            )
        seal = data.pop("seal", None)
        if seal != digest(dumps(data)):
            raise _edited(where)
        run = dict(data["run"])
        paths = run.pop("inputs")
        return Manifest(
            kind=data["kind"],
            version=data["version"],
            params=data["params"],
            inputs=tuple(
                ArtifactRef(entry["kind"], entry["digest"], path)
                for entry, path in zip(data["inputs"], paths, strict=True)
            ),
            seed=data["seed"],
            files={name: FileEntry(**entry) for name, entry in data["files"].items()},
            summary=data["summary"],
            run=RunInfo(**{**run, "models": tuple(run["models"])}),
        )


class ArtifactWriter:
    """Writes one artifact: ``with ArtifactWriter(folder, "subset", 1, params) as out: ...``.

    Nothing appears at ``folder`` unless the block ends without an error. An artifact that is there
    is replaced; any other folder with content is refused (InputError). ``usage``, ``models`` and
    ``summary`` may be set any time before the end. Raises StorageError when the disk refuses.
    """

    def __init__(
        self,
        folder: Path,
        kind: str,
        version: int = 1,
        params: Mapping[str, Any] | None = None,
        inputs: Sequence[ArtifactRef] = (),
        seed: int | None = None,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.folder = folder.absolute()
        self.kind = kind
        self.version = version
        self.params = json.loads(dumps(params or {}))
        self.inputs = tuple(inputs)
        self.seed = seed
        self.usage: Mapping[str, Any] = {}
        self.models: Sequence[str] = ()
        self.summary: Mapping[str, Any] = {}
        self._clock = clock
        self._files: dict[str, FileEntry] = {}
        self._temporary = temporary_sibling(self.folder)

    def __enter__(self) -> Self:
        _refuse_foreign(self.folder)
        self._started = self._clock()
        self._ticks = time.monotonic()
        with storage_errors(self.folder):
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self._temporary.mkdir()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _finish(self) -> None:
        manifest = Manifest(
            kind=self.kind,
            version=self.version,
            params=self.params,
            inputs=self.inputs,
            seed=self.seed,
            files=dict(sorted(self._files.items())),
            summary=json.loads(dumps(self.summary)),
            run=RunInfo(
                started=self._started.isoformat(timespec="seconds"),
                seconds=round(time.monotonic() - self._ticks, 3),
                code_version=__version__,
                models=tuple(self.models),
                usage=json.loads(dumps(self.usage)),
            ),
        )
        with storage_errors(self.folder):
            self._write(MANIFEST, manifest.to_bytes())
            for inner in sorted({p.parent for p in self._temporary.rglob("*")}, reverse=True):
                sync_folder(inner)
            put_in_place(self._temporary, self.folder)

    def _write(self, name: str, data: bytes) -> None:
        path = self._temporary / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def write_bytes(self, name: str, data: bytes, *, rows: int | None = None) -> None:
        """Write a file of the artifact; ``name`` is a relative path and may be used once."""
        if Path(name).is_absolute() or ".." in Path(name).parts or name == MANIFEST:
            raise ValueError(f"not a name inside an artifact: {name!r}")
        if name in self._files:
            raise ValueError(f"written twice: {name!r}")
        with storage_errors(self.folder / name):
            self._write(name, data)
        self._files[name] = FileEntry(digest(data), len(data), rows)

    def write_text(self, name: str, text: str) -> None:
        """Write UTF-8 text; a lone surrogate becomes U+FFFD."""
        self.write_bytes(name, clean_text(text).encode())

    def write_jsonl(self, name: str, rows: Iterable[Any]) -> None:
        """Write one canonical JSON value a line."""
        lines = [dumps(row) + "\n" for row in rows]
        self.write_bytes(name, "".join(lines).encode(), rows=len(lines))

    def write_yaml(self, name: str, value: Any) -> None:
        """Write YAML that people may read, keys in the caller's order."""
        import yaml

        text = yaml.safe_dump(_clean(value), sort_keys=False, allow_unicode=True, width=100)
        self.write_bytes(name, text.encode())

    def write_parquet(
        self, name: str, rows: Iterable[Mapping[str, Any]], schema: Any | None = None
    ) -> None:
        """Write rows as one Parquet table; ``schema`` (pyarrow) fixes types and empty tables."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        plain = [_clean(row) for row in rows]
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(plain, schema=schema), buffer, compression="zstd")
        self.write_bytes(name, buffer.getvalue(), rows=len(plain))


class Artifact:
    """An artifact on disk; each file is checked against its digest when it is first read."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self._checked: set[str] = set()

    @staticmethod
    def open(folder: Path | str, kind: str | None = None) -> Artifact:
        """Open the artifact in ``folder``.

        Raises InputError if there is none or if it is of another kind, NewerFormat, Tampered or
        ArtifactError if its manifest cannot be trusted.
        """
        folder = Path(folder)
        path = folder / MANIFEST
        try:
            text = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(
                "there is no artifact here", where=str(folder), hint="name a folder with a manifest"
            ) from None
        except OSError as error:
            raise InputError(error.strerror or "cannot be read", where=str(path)) from error
        try:
            data = json.loads(text)
        except ValueError as error:
            raise Tampered(
                "the manifest is not JSON", where=str(path), hint="make the artifact again"
            ) from error
        try:
            manifest = Manifest.from_json(data, str(path))
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError("the manifest lacks a part", where=str(path)) from error
        if manifest.to_bytes() != text:
            raise _edited(str(path))
        if kind is not None and manifest.kind != kind:
            raise InputError(
                f"a {manifest.kind!r} artifact; a {kind!r} is needed here", where=str(folder)
            )
        return Artifact(folder, manifest)

    @property
    def digest(self) -> str:
        """The manifest's digest: equal for equal data from equal inputs and parameters."""
        return self.manifest.digest

    @property
    def ref(self) -> ArtifactRef:
        """What another artifact names as its input."""
        return ArtifactRef(self.manifest.kind, self.digest, str(self.folder))

    def read_bytes(self, name: str) -> bytes:
        """A file's bytes; KeyError if the manifest has no such file, Tampered if it was changed."""
        entry = self.manifest.files[name]
        try:
            data = (self.folder / name).read_bytes()
        except OSError as error:
            raise Tampered(
                f"{name} is missing or cannot be read",
                where=str(self.folder),
                hint="make the artifact again",
            ) from error
        if name not in self._checked:
            if digest(data) != entry.digest:
                raise Tampered(
                    f"{name} was edited after it was written",
                    where=str(self.folder),
                    hint="restore it, or make the artifact again",
                )
            self._checked.add(name)
        return data

    def read_text(self, name: str) -> str:
        """A UTF-8 file."""
        return self.read_bytes(name).decode()

    def read_jsonl(self, name: str) -> Iterator[Any]:
        """The values of a JSONL file, in order."""
        for line in self.read_bytes(name).split(b"\n"):
            if line:
                yield json.loads(line)

    def read_yaml(self, name: str) -> Any:
        """The value of a YAML file."""
        import yaml

        return yaml.safe_load(self.read_bytes(name))

    def read_parquet(self, name: str) -> list[dict[str, Any]]:
        """The rows of a Parquet table."""
        import pyarrow.parquet as pq

        rows: list[dict[str, Any]] = pq.read_table(io.BytesIO(self.read_bytes(name))).to_pylist()
        return rows

    def verify(self) -> None:
        """Read every file; Tampered names the first that was changed, is missing or was added."""
        self._checked.clear()
        for name in self.manifest.files:
            self.read_bytes(name)
        there = {
            path.relative_to(self.folder).as_posix()
            for path in self.folder.rglob("*")
            if not path.is_dir()
        }
        added = sorted(there - set(self.manifest.files) - {MANIFEST})
        if added:
            raise Tampered(
                f"{added[0]} does not belong to it", where=str(self.folder), hint="move it away"
            )


def is_artifact(folder: Path) -> bool:
    """Whether a folder holds an artifact of ours, sound or not: others have manifests too."""
    try:
        text = (folder / MANIFEST).read_bytes()
    except OSError:
        return False
    # By several marks, for a manifest that was damaged in one place must still be complained of.
    return sum(mark in text for mark in (b'"kind": "', b'"digest": "sha256:', b'"seal": "')) >= 2


def find_artifacts(root: Path) -> list[Path]:
    """Artifacts at or below ``root``, sorted; temporary and other hidden ones are left out."""
    found = []
    for path in sorted(root.rglob(MANIFEST)):
        inner = path.parent.relative_to(root).parts
        if not any(part.startswith(".") for part in inner) and is_artifact(path.parent):
            found.append(path.parent)
    return found


def discard(folder: Path) -> int:
    """Remove the artifact in ``folder``; returns the bytes freed."""
    _refuse_foreign(folder)
    with storage_errors(folder):
        return remove(folder) if folder.exists() else 0


def _edited(where: str) -> Tampered:
    return Tampered(
        "the manifest was edited after it was written",
        where=where,
        hint="restore it, or make the artifact again",
    )


def _refuse_foreign(folder: Path) -> None:
    if not folder.exists():
        return
    if not folder.is_dir() or (any(folder.iterdir()) and not is_artifact(folder)):
        raise InputError(
            "is there already and is not an artifact", where=str(folder), hint="name another place"
        )


def _clean(value: Any) -> Any:
    # YAML and Arrow cannot write lone surrogates, mappings that are no dict, or tuples.
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value
