"""The JSON of ``apoc.meta.schema``: a map from label or type to its entry.

The map has one entry a name, so where a label and a type share their name the label's entry is
kept, and the type is found under ``relationships`` of the labels it joins. An entry lists each
type once a direction with all labels at its other end; which pairs really occur, the form does not
say, so every pair that both of its ends list is taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cypherforge.graph.schema import (
    Constraint,
    Index,
    Label,
    LabelSet,
    Pattern,
    Property,
    RelType,
    Schema,
)
from cypherforge.graph.type_names import type_name


def matches(text: str, data: object) -> bool:
    """Return whether the JSON is that map, bare or wrapped as databases and drivers return it."""
    value = _unwrap(data)
    return value is not None and any(
        isinstance(item, Mapping) and item.get("type") in ("node", "relationship")
        for item in value.values()
    )


def _unwrap(data: object) -> Mapping[str, Any] | None:
    while isinstance(data, list) and len(data) == 1:
        data = data[0]
    if not isinstance(data, Mapping):
        return None
    for key in ("apoc.meta.schema", "value", "schema"):
        inner = data.get(key)
        if isinstance(inner, Mapping) and inner.get("type") not in ("node", "relationship"):
            return inner
    return data


def parse(text: str, data: object) -> Schema:
    """Read the map. ``constraints`` and ``indexes`` beside a wrapped map are read as well."""
    value = _unwrap(data) or {}
    labels: list[Label] = []
    types: list[RelType] = []
    patterns: set[tuple[str, str, str]] = set()
    sets: list[LabelSet] = []
    constraints: list[Constraint] = []
    indexes: list[Index] = []
    for name, entry in value.items():
        if not isinstance(entry, Mapping):
            continue
        properties = _properties(entry)
        if entry.get("type") == "relationship":
            types.append(RelType(name, properties, entry.get("count")))
            continue
        labels.append(Label(name, properties, entry.get("count")))
        for key, item in (entry.get("properties") or {}).items():
            if item.get("unique"):
                constraints.append(Constraint("UNIQUENESS", "NODE", name, (key,)))
            elif item.get("indexed"):
                indexes.append(Index("RANGE", "NODE", (name,), (key,)))
            if item.get("existence"):
                constraints.append(Constraint("NODE_PROPERTY_EXISTENCE", "NODE", name, (key,)))
        sets += [LabelSet((name, other)) for other in entry.get("labels") or ()]
        for rel_name, rel in (entry.get("relationships") or {}).items():
            for direction, ends, rel_properties in _sides(rel):
                if value.get(rel_name, {}).get("type") != "relationship":
                    types.append(RelType(rel_name, rel_properties))
                for end in ends:
                    patterns.add(
                        (name, rel_name, end) if direction == "out" else (end, rel_name, name)
                    )
    if isinstance(data, Mapping) and value is not data:
        if "constraints" in data:
            constraints = [x for x in constraints if x.kind != "UNIQUENESS"]
            constraints += list(_constraints(data["constraints"]))
        if "indexes" in data:
            indexes = list(_indexes(data["indexes"]))
    return Schema.build(
        labels,
        types,
        [Pattern(*key) for key in patterns],
        co_labels=sets,
        constraints=constraints,
        indexes=indexes,
    )


def _sides(rel: Mapping[str, Any]) -> Iterator[tuple[str, list[str], tuple[Property, ...]]]:
    """Yield direction, labels at the other end and properties; some versions say ``both``."""
    direction = rel.get("direction", "out")
    for side in ("out", "in") if direction == "both" else (direction,):
        yield side, list(rel.get("labels") or ()), _properties(rel)


def _properties(entry: Mapping[str, Any]) -> tuple[Property, ...]:
    found = []
    for name, item in (entry.get("properties") or {}).items():
        kind = type_name(str(item.get("type", "UNKNOWN")))
        if item.get("array") and not kind.startswith("LIST"):
            kind = f"LIST<{kind}>"
        found.append(Property(name, kind))
    return tuple(found)


def _constraints(rows: list[Mapping[str, Any]]) -> Iterator[Constraint]:
    for row in rows:
        for name in row.get("labelsOrTypes") or ():
            yield Constraint(
                row["type"], row.get("entityType", "NODE"), name, tuple(row.get("properties") or ())
            )


def _indexes(rows: list[Mapping[str, Any]]) -> Iterator[Index]:
    for row in rows:
        if row.get("labelsOrTypes"):
            yield Index(
                row["type"],
                row.get("entityType", "NODE"),
                tuple(row["labelsOrTypes"]),
                tuple(row.get("properties") or ()),
            )
