"""``db.schema.visualization`` as JSON: virtual nodes, one a label, and relationships between them.

Read in the shapes that browsers, HTTP and drivers export it: entities with ``labels``, ``type``,
``start`` and ``end`` (or ``startNodeElementId`` ...), and the driver's plain data, where a node is
its property map and a relationship a triple. It holds no properties of the data, only labels,
types, endpoint pairs, indexes and constraints.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from cypherforge.core.errors import InputError
from cypherforge.cypher.names import quote_name
from cypherforge.graph.formats.arrows import unquote
from cypherforge.graph.schema import Constraint, Index, Label, Pattern, RelType, Schema

_NAME = r"`(?:[^`]|``)+`|[^\s{}()\[\]:,`]+"
_CONSTRAINT = re.compile(
    rf"type='(?P<kind>[^']+)',\s*schema=(?P<open>\(\)-\[|\()\s*:(?P<name>{_NAME})\s*"
    r"\{(?P<keys>(?:`(?:[^`]|``)+`|[^`}])*)\}[\])]",
    re.DOTALL,
)
_KEY = re.compile(rf"(?:{_NAME})")


def matches(text: str, data: object) -> bool:
    """Return whether the data is a record with ``nodes`` and ``relationships`` lists."""
    record = _record(data)
    return record is not None and any(map(_label, record["nodes"]))


def _record(data: object) -> Mapping[str, Any] | None:
    if isinstance(data, list) and len(data) == 1:
        data = data[0]
    if isinstance(data, Mapping) and isinstance(data.get("_fields"), list):
        data = dict(zip(data.get("keys", ()), data["_fields"], strict=False))
    if isinstance(data, Mapping) and isinstance(data.get("results"), list):
        return None
    if (
        isinstance(data, Mapping)
        and isinstance(data.get("nodes"), list)
        and isinstance(data.get("relationships"), list)
    ):
        return data
    return None


def _label(node: object) -> str | None:
    if not isinstance(node, Mapping):
        return None
    properties = node.get("properties")
    own = properties if isinstance(properties, Mapping) else node
    labels = node.get("labels")
    if isinstance(own.get("name"), str) and ("indexes" in own or "constraints" in own or labels):
        return str(own["name"])
    return str(labels[0]) if isinstance(labels, list) and len(labels) == 1 else None


def parse(text: str, data: object) -> Schema:
    """Read the record; raises ``InputError`` where a relationship names a node that is absent."""
    record = _record(data)
    assert record is not None
    by_id: dict[str, str] = {}
    labels: list[Label] = []
    constraints: list[Constraint] = []
    indexes: list[Index] = []
    for node in record["nodes"]:
        name = _label(node)
        if name is None:
            raise InputError(f"a node of the visualization has no name: {str(node)[:80]}")
        labels.append(Label(name))
        for key in ("identity", "elementId", "element_id", "id"):
            if key in node:
                by_id[_id(node[key])] = name
        own: Mapping[str, Any] = node
        if isinstance(node.get("properties"), Mapping):
            own = node["properties"]
        for listed in own.get("indexes") or ():
            keys = [listed] if isinstance(listed, str) else list(listed)
            indexes.append(Index("RANGE", "NODE", (name,), tuple(unquote(key) for key in keys)))
        constraints += _constraints(own.get("constraints") or ())
    types: list[RelType] = []
    patterns: list[Pattern] = []
    for item in record["relationships"]:
        start, rel_type, end = _ends(item, by_id)
        patterns.append(Pattern(start, rel_type, end))
        types.append(RelType(rel_type))
    return Schema.build(labels, types, patterns, constraints=constraints, indexes=indexes)


def _ends(item: Any, by_id: Mapping[str, str]) -> tuple[str, str, str]:
    if isinstance(item, list) and len(item) == 3:
        start, end = _label(item[0]), _label(item[2])
        if start is not None and end is not None:
            return start, str(item[1]), end
    if isinstance(item, Mapping):
        own = item.get("properties") or {}
        rel_type = item.get("type") or own.get("name")
        ends = []
        for keys in (
            ("start", "startNodeElementId", "startNode", "start_node"),
            ("end", "endNodeElementId", "endNode", "end_node"),
        ):
            found = [by_id[_id(item[key])] for key in keys if _id(item.get(key)) in by_id]
            ends += found[:1]
        if isinstance(rel_type, str) and len(ends) == 2:
            return ends[0], rel_type, ends[1]
    raise InputError(
        f"a relationship of the visualization lacks its type or ends: {str(item)[:80]}",
        hint="export nodes and relationships together",
    )


def _id(value: object) -> str:
    if isinstance(value, Mapping):  # the JavaScript driver's 64-bit integers
        return str(value.get("low", ""))
    return "" if value is None else str(value)


def _constraints(texts: Iterable[object]) -> Iterator[Constraint]:
    for text in texts:
        match = _CONSTRAINT.search(str(text))
        if match is None:
            continue
        entity: Literal["NODE", "RELATIONSHIP"] = "RELATIONSHIP" if "[" in match["open"] else "NODE"
        keys = tuple(unquote(found[0]) for found in _KEY.finditer(match["keys"]))
        yield Constraint(match["kind"], entity, unquote(match["name"]), keys)


def render(schema: Schema) -> str:
    """Return the record as browsers export it; identities are -1, -2 ... in order of the names."""
    numbers = {name: -position for position, name in enumerate(schema.labels, 1)}
    nodes = [
        {
            "identity": numbers[name],
            "labels": [name],
            "properties": {
                "name": name,
                "indexes": [
                    item.properties[0] if len(item.properties) == 1 else list(item.properties)
                    for item in schema.indexes
                    if item.entity == "NODE" and item.names == (name,) and item.properties
                ],
                "constraints": [
                    f"Constraint( type='{item.kind}', schema=(:{quote_name(name)} "
                    f"{{{', '.join(map(quote_name, item.properties))}}}) )"
                    for item in schema.constraints
                    if item.entity == "NODE" and item.name == name
                ],
            },
        }
        for name in schema.labels
    ]
    relationships = [
        {
            "identity": -position,
            "type": pattern.type,
            "start": numbers[pattern.start],
            "end": numbers[pattern.end],
            "properties": {"name": pattern.type},
        }
        for position, pattern in enumerate(
            (item for item in schema.patterns if item.start and item.end), 1
        )
    ]
    return json.dumps(
        [{"nodes": nodes, "relationships": relationships}], indent=1, ensure_ascii=False
    )
