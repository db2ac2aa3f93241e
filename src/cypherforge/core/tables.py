"""Rows out of the files people keep questions in: CSV, JSON Lines, JSON, Parquet.

A row comes as ``(number, {column: value})`` where the number is what an editor or a spreadsheet shows: the line
of a JSON Lines file, the record of a CSV file with the header as row 1, the place in a JSON array or Parquet file
counted from 1. A row that cannot be read is noted and passed over; the rest goes on.
"""

from __future__ import annotations

import csv
import io
import itertools
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cypherforge.core.errors import InputError
from cypherforge.core.files import Problem, loads, read_bytes, read_jsonl, read_text

Row = tuple[int, dict[str, Any]]

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")


def kind_of(path: Path) -> str:
    """``csv``, ``jsonl``, ``json`` or ``parquet``, by the name, else by the first bytes."""
    name = path.name.lower().removesuffix(".gz")
    for suffix, kind in zip(
        SUFFIXES, ("csv", "csv", "jsonl", "jsonl", "json", "parquet"), strict=True
    ):
        if name.endswith(suffix):
            return kind
    data = read_bytes(path)
    if data.startswith(b"PAR1"):
        return "parquet"
    head = read_text(path).lstrip()
    if head.startswith("["):
        return "json"
    return "jsonl" if head.startswith("{") else "csv"


def read_table(path: Path, problems: list[Problem]) -> list[Row]:
    """All rows of one file; what is wrong with single rows is added to ``problems``.

    Raises InputError where the file as a whole cannot be read.
    """
    kind = kind_of(path)
    if kind == "csv":
        return list(_csv_rows(path, problems))
    if kind == "parquet":
        return _parquet_rows(path)
    if kind == "json":
        return _json_rows(path, problems)
    return list(_objects(path, read_jsonl(path, problems), problems))


def _objects(path: Path, rows: Iterable[tuple[int, Any]], problems: list[Problem]) -> Iterator[Row]:
    for number, value in rows:
        if isinstance(value, dict):
            yield number, value
        else:
            reason = f"is {_json_type(value)}, not an object with named columns"
            problems.append(Problem(str(path), number, "", reason))


def _json_type(value: Any) -> str:
    names = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _json_rows(path: Path, problems: list[Problem]) -> list[Row]:
    text = read_text(path)
    if not text.strip():
        return []
    try:
        value = loads(text)
    except ValueError as error:
        # JSON Lines under the name .json is common; a first line that stands alone tells it.
        try:
            loads(text.lstrip().split("\n", 1)[0])
        except ValueError:
            raise InputError(str(error), where=str(path), hint="mend the file") from None
        return list(_objects(path, read_jsonl(path, problems), problems))
    if isinstance(value, dict):
        lists = [v for v in value.values() if isinstance(v, list) and v and isinstance(v[0], dict)]
        if len(lists) == 1:
            value = lists[0]
        elif value and all(isinstance(v, dict) for v in value.values()):
            value = [{"id": key, **row} for key, row in value.items()]
        else:
            value = [value]
    if not isinstance(value, list):
        raise InputError(
            f"is {_json_type(value)}, not an array of objects",
            where=str(path),
            hint="one object a question, in an array or one a line",
        )
    return list(_objects(path, enumerate(value, 1), problems))


def _parquet_rows(path: Path) -> list[Row]:
    from pyarrow import ArrowException, BufferReader, parquet

    data = read_bytes(path)
    try:
        rows = parquet.read_table(BufferReader(data)).to_pylist()
    except (ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"not a readable Parquet file: {reason}", where=str(path), hint="write it again"
        ) from None
    return list(enumerate(rows, 1))


def _csv_rows(path: Path, problems: list[Problem]) -> Iterator[Row]:
    # A schema column may hold far more than the module's default of 128 KiB a cell.
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    lines = io.StringIO(read_text(path), newline="").readlines()
    header: list[str] | None = None
    delimiter = _delimiter(lines[0]) if lines else ","
    at, number = 0, 0
    while at < len(lines):
        number += 1
        rest = (lines[index] for index in range(at, len(lines)))
        reader = csv.reader(rest, delimiter=delimiter, strict=True)
        try:
            cells = next(reader)
        except csv.Error as error:
            open_quote = "unexpected end of data" in str(error)
            # A quote that never closes would swallow the rest of the file: go on one line below it.
            step = 1 if open_quote else max(reader.line_num, 1)
            column = _bad_column(lines[at:], delimiter)
            name = header[column] if header and column < len(header) else f"#{column + 1}"
            reason = "a quote that is never closed" if open_quote else f"malformed cell: {error}"
            if header is None:
                raise InputError(
                    f"header: {reason}", where=f"{path}, row 1, column {name}", hint="mend it"
                ) from None
            problems.append(Problem(str(path), number, name, reason))
            at += step
            continue
        at += max(reader.line_num, 1)
        if not any(cell.strip() for cell in cells):
            number -= header is None
            continue
        if header is None:
            header = [cell.strip() for cell in cells]
            continue
        if len(cells) > len(header):
            reason = (
                f"{len(cells)} cells, the header has {len(header)}: quote cells with {delimiter!r}"
            )
            problems.append(Problem(str(path), number, "", reason))
            continue
        yield number, dict(zip(header, cells, strict=False))


def _delimiter(header: str) -> str:
    return max(",;\t", key=lambda mark: (header.count(mark), -",;\t".index(mark)))


def _bad_column(lines: list[str], delimiter: str) -> int:
    """Index of the cell in which strict reading of the record at ``lines[0]`` goes wrong."""
    column, quoted, closed, start = 0, False, False, True
    opened = 0
    for char in itertools.chain.from_iterable(lines):
        if quoted:
            if char == '"':
                quoted, closed = False, True
        elif closed and char == '"':
            quoted, closed = True, False
        elif char == delimiter:
            column, closed, start = column + 1, False, True
            continue
        elif char in "\r\n" or closed:
            return column
        elif start and char == '"':
            quoted, opened = True, column
        start = False
    return opened
