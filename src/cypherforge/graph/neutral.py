"""Neutral files: a graph as ``nodes.jsonl.gz``, ``relationships.jsonl.gz`` and ``schema.json``.

A line of the first is ``{"id": n, "labels": [...], "properties": {...}}``, of the second ``{"id": n,
"type": t, "start": n, "end": n, "properties": {...}}``; values are tagged as in ``graph.values``.
Plain ``.jsonl`` is read too. Ids are any integers or strings, unique within each file.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from cypherforge.core.errors import InputError, StorageError
from cypherforge.graph.values import from_json, to_json

NODES = "nodes.jsonl"
RELATIONSHIPS = "relationships.jsonl"
SCHEMA = "schema.json"

Id = int | str


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node of a file."""

    id: Id
    labels: tuple[str, ...]
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RelationshipRow:
    """One relationship of a file; ``start`` and ``end`` are ids of nodes."""

    id: Id
    type: str
    start: Id
    end: Id
    properties: dict[str, Any] = field(default_factory=dict)


def is_neutral(folder: Path) -> bool:
    """Whether a folder holds neutral files."""
    return _find(folder, NODES) is not None and _find(folder, RELATIONSHIPS) is not None


def read_nodes(folder: Path) -> Iterator[NodeRow]:
    """Nodes in file order. Raises ``InputError`` naming file and line."""
    for where, data in _rows(folder, NODES):
        try:
            labels = data["labels"]
            if not isinstance(labels, list) or not all(isinstance(x, str) for x in labels):
                raise InputError("labels are a list of strings", where=where)
            yield NodeRow(_id(data["id"]), tuple(labels), _properties(data))
        except (KeyError, TypeError) as error:
            raise InputError(f"not a node: {_reason(error)}", where=where) from error
        except InputError as error:
            raise InputError(error.message, where=where, hint=error.hint) from error


def read_relationships(folder: Path) -> Iterator[RelationshipRow]:
    """Relationships in file order. Raises ``InputError`` naming file and line."""
    for where, data in _rows(folder, RELATIONSHIPS):
        try:
            if not isinstance(data["type"], str) or not data["type"]:
                raise InputError("a type is a string that is not empty", where=where)
            yield RelationshipRow(
                _id(data["id"]),
                data["type"],
                _id(data["start"]),
                _id(data["end"]),
                _properties(data),
            )
        except (KeyError, TypeError) as error:
            raise InputError(f"not a relationship: {_reason(error)}", where=where) from error
        except InputError as error:
            raise InputError(error.message, where=where, hint=error.hint) from error


def read_schema(folder: Path) -> Any:
    """What ``schema.json`` holds, or None where there is none."""
    path = folder / SCHEMA
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise InputError(f"not JSON: {error}", where=str(path)) from error


def digest(folder: Path) -> str:
    """``sha256:...`` over the uncompressed rows of both files: the fingerprint of the graph."""
    total = hashlib.sha256()
    for name in (NODES, RELATIONSHIPS):
        path = _require(folder, name)
        try:
            with _open(path) as file:
                while block := file.read(1 << 20):
                    total.update(block)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"cannot be read: {error}", where=str(path)) from error
        total.update(b"\0")
    return f"sha256:{total.hexdigest()}"


def write_neutral(
    folder: Path,
    nodes: Iterable[NodeRow],
    relationships: Iterable[RelationshipRow],
    schema: Any = None,
) -> tuple[int, int]:
    """Write the files; equal rows give equal bytes. Returns the numbers of both.

    Raises ``StorageError`` where the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        counts = (
            _write(
                folder / f"{NODES}.gz",
                (
                    {"id": n.id, "labels": sorted(n.labels), "properties": _plain(n.properties)}
                    for n in nodes
                ),
            ),
            _write(
                folder / f"{RELATIONSHIPS}.gz",
                (
                    {
                        "id": r.id,
                        "type": r.type,
                        "start": r.start,
                        "end": r.end,
                        "properties": _plain(r.properties),
                    }
                    for r in relationships
                ),
            ),
        )
        if schema is not None:
            text = json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False)
            (folder / SCHEMA).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write: {error}", where=str(folder)) from error
    return counts


def _plain(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {key: to_json(properties[key]) for key in sorted(properties)}


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    partial = path.with_name(path.name + ".part")
    count = 0
    # mtime 0: the same rows must give the same bytes.
    with open(partial, "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        for row in rows:
            line = json.dumps(row, ensure_ascii=False, separators=(", ", ": "))
            file.write(line.encode("utf-8", "surrogatepass") + b"\n")
            count += 1
    partial.replace(path)
    return count


def _find(folder: Path, name: str) -> Path | None:
    for candidate in (folder / f"{name}.gz", folder / name):
        if candidate.is_file():
            return candidate
    return None


def _require(folder: Path, name: str) -> Path:
    path = _find(folder, name)
    if path is None:
        raise InputError(
            f"no {name}.gz or {name} here",
            where=str(folder),
            hint="a graph is a folder with nodes.jsonl.gz and relationships.jsonl.gz",
        )
    return path


def _open(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return open(path, "rb")


def _rows(folder: Path, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    path = _require(folder, name)
    try:
        with _open(path) as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                where = f"{path}:{number}"
                try:
                    data = json.loads(line.decode("utf-8-sig", "surrogatepass"))
                except ValueError as error:
                    raise InputError(f"not JSON: {error}", where=where) from error
                if not isinstance(data, dict):
                    raise InputError("a row is a JSON object", where=where)
                yield where, data
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be read: {error}", where=str(path)) from error


def _id(value: Any) -> Id:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InputError(f"an id is an integer or a string, not {value!r}")
    return value


def _properties(data: dict[str, Any]) -> dict[str, Any]:
    properties = data.get("properties", {})
    if not isinstance(properties, dict):
        raise InputError("properties are a JSON object")
    return {key: from_json(value) for key, value in properties.items()}


def _reason(error: Exception) -> str:
    return f"no field {error}" if isinstance(error, KeyError) else str(error)
