"""Memgraph's ``SHOW SCHEMA INFO``: the schema that the server keeps as the data changes.

The form is the one of https://memgraph.com/docs/querying/schema ("Querying the Schema", "JSON
definition"): ``nodes`` by label combination, ``edges`` by type and the combinations at their ends,
each with counts and the types of each property; constraints and indexes. It needs the flag
``--schema-info-enabled``; without it the server answers ``SchemaInfo disabled.``

Written from that page and tested on its examples; never run against a live server.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from cypherforge.core.errors import InputError
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
from cypherforge.graph.type_names import type_name, union_type

_CONSTRAINTS = {
    "unique": "UNIQUENESS",
    "existence": "NODE_PROPERTY_EXISTENCE",
    "data_type": "NODE_PROPERTY_TYPE",
}


def schema_of(answer: str | Mapping[str, Any]) -> Schema:
    """Build the schema from the one value that the query returns: JSON text, or a map.

    A relationship between nodes of several labels counts under each pair, as in ``introspect``.
    Raises ``InputError`` if it is not of the documented form.
    """
    try:
        data = json.loads(answer) if isinstance(answer, str) else answer
        return _build(data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"SHOW SCHEMA INFO answered in a form that is not documented: "
            f"{type(error).__name__} {error}"
        ) from error


class _Tally:
    """Counts of one label or type over all the entries that it occurs in."""

    def __init__(self) -> None:
        self.count = 0
        self.keys: dict[str, int] = {}
        self.kinds: dict[str, set[str]] = {}

    def add(self, count: int, properties: Iterable[Mapping[str, Any]]) -> None:
        self.count += count
        for item in properties:
            key = item["key"]
            self.keys[key] = self.keys.get(key, 0) + int(item["count"])
            found = {_kind(kind["type"]) for kind in item["types"]}
            self.kinds.setdefault(key, set()).update(found)

    def properties(self) -> tuple[Property, ...]:
        return tuple(
            Property(
                key,
                union_type(self.kinds[key]),
                optional=number < self.count,
                coverage=number / self.count if self.count else None,
            )
            for key, number in self.keys.items()
        )


def _build(data: Mapping[str, Any]) -> Schema:
    labels: dict[str, _Tally] = {}
    sets: list[LabelSet] = []
    for node in data["nodes"]:
        names = tuple(node["labels"])
        for name in names:
            labels.setdefault(name, _Tally()).add(node["count"], node["properties"])
        sets.append(LabelSet(names, node["count"]))
    types: dict[str, _Tally] = {}
    counts: dict[tuple[str, str, str], int] = {}
    keys: dict[tuple[str, str, str], set[str]] = {}
    for edge in data["edges"]:
        name = edge["type"].removeprefix(":")
        types.setdefault(name, _Tally()).add(edge["count"], edge["properties"])
        for start in edge["start_node_labels"] or [""]:
            for end in edge["end_node_labels"] or [""]:
                place = (start, name, end)
                counts[place] = counts.get(place, 0) + edge["count"]
                keys.setdefault(place, set()).update(item["key"] for item in edge["properties"])
    partial = {place[1] for place, found in keys.items() if found != set(types[place[1]].keys)}
    return Schema.build(
        [Label(name, tally.properties(), tally.count) for name, tally in labels.items()],
        [RelType(name, tally.properties(), tally.count) for name, tally in types.items()],
        [
            Pattern(*place, count, tuple(sorted(keys[place])) if place[1] in partial else None)
            for place, count in counts.items()
        ],
        co_labels=sets,
        constraints=list(_constraints(data.get("node_constraints") or ())),
        indexes=list(_indexes(data)),
        source="memgraph",
    )


def _kind(name: str) -> str:
    return "ENUM" if name.startswith("Enum::") else type_name(name)


def _constraints(rows: Iterable[Mapping[str, Any]]) -> Iterator[Constraint]:
    for row in rows:
        for name in row["labels"]:
            yield Constraint(
                _CONSTRAINTS.get(row["type"], str(row["type"]).upper()),
                "NODE",
                name,
                tuple(row.get("properties") or ()),
            )


def _indexes(data: Mapping[str, Any]) -> Iterator[Index]:
    for row in data.get("node_indexes") or ():
        yield _index(row, "NODE", tuple(row["labels"]))
    for row in data.get("edge_indexes") or ():
        names = tuple(filter(None, [row.get("edge_type", "").removeprefix(":")]))
        yield _index(row, "RELATIONSHIP", names)


def _index(
    row: Mapping[str, Any], entity: Literal["NODE", "RELATIONSHIP"], names: tuple[str, ...]
) -> Index:
    kind = str(row.get("type", ""))
    name = "POINT" if "point" in kind else "TEXT" if "text" in kind else "RANGE"
    properties = tuple(row.get("properties") or ())
    return Index(name if properties else "LOOKUP", entity, names, properties)
