"""The JSON of ``apoc.meta.schema``: a map from label or type to its entry.

The map has one entry a name, so where a label and a type share their name the label's entry is
kept, and the type is found under ``relationships`` of the labels it joins. There a type has one
entry with a direction and the labels at its other end. We write ``out`` wherever a label starts
the type, and ``in`` only where it never does, so that every pair can be read back.
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
        if entry.get("type") != "node":
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
            if (value.get(rel_name) or {}).get("type") != "relationship":
                types.append(RelType(rel_name, _properties(rel)))
            patterns |= set(_pairs(name, rel_name, rel, value))
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


def _pairs(
    name: str, rel_name: str, rel: Mapping[str, Any], value: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """Yield the pairs of one entry; where it says ``both``, the other label's entry decides."""
    direction = rel.get("direction", "out")
    for other in rel.get("labels") or ():
        back = ((value.get(other) or {}).get("relationships") or {}).get(rel_name) or {}
        opposite = back.get("direction") if name in (back.get("labels") or ()) else None
        if direction == "out" or (direction == "both" and opposite != "out"):
            yield name, rel_name, other
        if direction == "in" or (direction == "both" and opposite != "in"):
            yield other, rel_name, name


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


def render(schema: Schema) -> str:
    """Return the map as JSON; label combinations stand under ``labels``, by pairs."""
    value: dict[str, Any] = {}
    for rel in schema.types.values():
        value[rel.name] = {
            "type": "relationship",
            "count": rel.count,
            "properties": {
                item.name: {**_kind(item), "existence": False, "indexed": False}
                for item in rel.properties
            },
        }
    unique = {(c.name, c.properties) for c in schema.constraints if c.kind == "UNIQUENESS"}
    exists = {
        (c.name, c.properties)
        for c in schema.constraints
        if c.kind in ("NODE_PROPERTY_EXISTENCE", "NODE_KEY")
    }
    indexed = {(i.names[0], i.properties) for i in schema.indexes if len(i.names) == 1}
    for label in schema.labels.values():
        value[label.name] = {
            "type": "node",
            "count": label.count,
            "labels": sorted(
                {
                    other
                    for item in schema.co_labels
                    if label.name in item.labels
                    for other in item.labels
                }
                - {label.name}
            ),
            "properties": {
                item.name: {
                    "type": item.type,
                    "existence": (label.name, (item.name,)) in exists,
                    "indexed": (label.name, (item.name,)) in indexed | unique,
                    "unique": (label.name, (item.name,)) in unique,
                }
                for item in label.properties
            },
            "relationships": _relationships(schema, label.name),
        }
    return json.dumps(value, indent=1, ensure_ascii=False)


def _relationships(schema: Schema, label: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for rel in schema.types.values():
        patterns = schema.patterns_of(rel.name)
        ends = sorted({p.end for p in patterns if p.start == label and p.end})
        starts = sorted({p.start for p in patterns if p.end == label and p.start})
        if ends or starts:
            found[rel.name] = {
                "direction": "out" if ends else "in",
                "labels": ends or starts,
                "count": sum(p.count or 0 for p in patterns if label in (p.start, p.end)),
                "properties": {
                    item.name: {**_kind(item), "existence": False, "indexed": False}
                    for item in rel.properties
                },
            }
    return found


def _kind(item: Property) -> dict[str, Any]:
    return {"type": item.type, "array": item.type.startswith("LIST")}
