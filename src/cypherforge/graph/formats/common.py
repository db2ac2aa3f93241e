"""What several formats share: example values in text, typed as their property is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from typing import Any

from cypherforge.graph.schema import Constraint, Index, Pattern, Property, RelType, Scalar
from cypherforge.graph.type_names import type_name

#: The LangChain packages list all values of a property up to this many, and one example above.
FEW_VALUES = 10

_RANGE = re.compile(r"Min:\s*(?P<low>.*?),\s*Max:\s*(?P<high>.*)$", re.DOTALL)
_SIZES = re.compile(r"Min Size:\s*(\d+),\s*Max Size:\s*(\d+)")
_EXAMPLE = re.compile(r'Example:\s*"(.*)"\s*$', re.DOTALL)
_OPTIONS = re.compile(r"Available options:\s*(\[.*\])\s*$", re.DOTALL)


def scalar(text: object, kind: str) -> Scalar:
    """Return a value that a text form gives as a string, as what its property's type says.

    What does not read as that type stays the string it is (files say ``Min: deleted``).
    """
    if not isinstance(text, str):
        return text if isinstance(text, (bool, int, float)) else str(text)
    try:
        if kind == "INTEGER" and re.fullmatch(r"-?\d{1,18}", text) and str(int(text)) == text:
            return int(text)
        if kind == "FLOAT" and re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", text):
            value = float(text)
            return value if abs(value) != float("inf") else text
    except ValueError:
        pass
    if kind == "BOOLEAN" and text in ("True", "False", "true", "false"):
        return text.lower() == "true"
    return text


def value_note(item: Property) -> str:
    """Return what the enhanced text says after a type: options, range, sizes or one example."""
    if item.sizes:
        return f"Min Size: {item.sizes[0]}, Max Size: {item.sizes[1]}"
    if item.low is not None and item.high is not None and "\n" not in f"{item.low}{item.high}":
        return f"Min: {item.low}, Max: {item.high}"
    if not item.values:
        return ""
    if item.distinct == len(item.values) <= FEW_VALUES:
        return f"Available options: {[_one_line(value) for value in item.values]}"
    return f'Example: "{_one_line(item.values[0])}"'


def with_note(item: Property, note: str) -> Property:
    """Return the property with what such a note says; a note of another kind is dropped."""
    note = note.strip()
    kind = item.type
    known: dict[str, Any] = {}
    if match := _OPTIONS.match(note):
        values = _literal_list(match[1])
        known = {"values": tuple(scalar(x, kind) for x in values), "distinct": len(values)}
    elif match := _EXAMPLE.match(note):
        known = {"values": (scalar(match[1], kind),)}
    elif match := _SIZES.match(note):
        known = {"sizes": (int(match[1]), int(match[2]))}
    elif match := _RANGE.match(note):
        known = {
            "low": scalar(match["low"].strip(), kind),
            "high": scalar(match["high"].strip(), kind),
        }
    return Property(item.name, item.type, **known) if known else item


def from_row(row: Mapping[str, Any]) -> Property:
    """Build a property from a row of ``structured_schema``: property, type, values, min, max ..."""
    kind = type_name(str(row.get("type", row.get("datatype", "UNKNOWN"))))
    sizes = (row.get("min_size"), row.get("max_size"))
    low, high = row.get("min"), row.get("max")
    return Property(
        str(row["property"]),
        kind,
        values=tuple(scalar(x, kind) for x in row.get("values") or () if x is not None),
        low=None if low is None else scalar(low, kind),
        high=None if high is None else scalar(high, kind),
        distinct=row.get("distinct_count"),
        sizes=(int(sizes[0]), int(sizes[1])) if None not in sizes else None,  # type: ignore[arg-type]
    )


def constraint_rows(rows: Iterable[Mapping[str, Any]]) -> list[Constraint]:
    """Read rows of ``SHOW CONSTRAINTS``."""
    return [
        Constraint(
            str(row["type"]),
            row.get("entityType", "NODE"),
            name,
            tuple(row.get("properties") or ()),
        )
        for row in rows
        for name in row.get("labelsOrTypes") or ()
    ]


def index_rows(rows: Iterable[Mapping[str, Any]]) -> list[Index]:
    """Read rows of ``SHOW INDEXES`` or of ``apoc.schema.nodes``; look-up indexes are left out."""
    found = []
    for row in rows:
        names = row.get("labelsOrTypes") or row.get("label")
        names = [names] if isinstance(names, str) else names
        if names and str(row.get("type")) != "LOOKUP":
            found.append(
                Index(
                    str(row.get("type", "RANGE")),
                    row.get("entityType", "NODE"),
                    tuple(names),
                    tuple(row.get("properties") or ()),
                )
            )
    return found


def normal_pairs(types: Iterable[RelType], patterns: list[Pattern]) -> list[Pattern]:
    """Forget the properties of pairs where each pair of a type has all of its properties."""
    everything: dict[str, set[str]] = {}
    for rel in types:
        everything.setdefault(rel.name, set()).update(item.name for item in rel.properties)
    whole = {
        name
        for name, keys in everything.items()
        if all(
            p.properties is None or set(p.properties) == keys for p in patterns if p.type == name
        )
    }
    return [
        Pattern(p.start, p.type, p.end, p.count, None if p.type in whole else p.properties)
        for p in patterns
    ]


def _one_line(value: Scalar) -> str:
    return re.sub(r"[\r\n]+", " ", str(value))


def _literal_list(text: str) -> list[Any]:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return list(value) if isinstance(value, (list, tuple)) else []
