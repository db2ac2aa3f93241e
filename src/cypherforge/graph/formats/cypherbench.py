"""CypherBench JSON: ``{"name", "entities": [...], "relations": [...]}`` (CypherBench, section 3).

An entity has ``label``, ``description`` and ``properties`` (name to a Python type name); a
relation has ``label``, ``subj_label``, ``obj_label`` and properties of that endpoint pair. The
published files leave out the property ``name`` that every entity of these graphs has, and the
benchmark's own code adds it; so do we where no entity declares one, unless the file is ``complete``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cypherforge.core.errors import InputError
from cypherforge.graph.schema import Label, Pattern, Property, RelType, Schema
from cypherforge.graph.type_names import type_name, union_members

_PYTHON = {"STRING": "str", "INTEGER": "int", "FLOAT": "float", "BOOLEAN": "bool", "DATE": "date"}

_IMPLIED = "implied: every entity of CypherBench has a name"


def matches(text: str, data: object) -> bool:
    """Return whether the JSON has ``entities`` and ``relations``."""
    return (
        isinstance(data, Mapping)
        and isinstance(data.get("entities"), list)
        and isinstance(data.get("relations"), list)
    )


def parse(text: str, data: object) -> Schema:
    """Read CypherBench JSON; raises ``InputError`` naming the entry that lacks a key."""
    assert isinstance(data, Mapping)
    labels: list[Label] = []
    types: list[RelType] = []
    patterns: list[Pattern] = []
    for number, entity in enumerate(data["entities"]):
        labels.append(
            Label(
                _need(entity, "label", f"entities[{number}]"),
                _properties(entity),
                description=entity.get("description"),
            )
        )
    if not data.get("complete") and not any(label.property("name") for label in labels):
        extra = Property("name", "STRING", description=_IMPLIED)
        labels = [replace(label, properties=(extra, *label.properties)) for label in labels]
    # A property set that differs between the pairs of a type belongs to the pairs.
    variants: dict[str, set[tuple[str, ...]]] = {}
    for relation in data["relations"]:
        keys = tuple(sorted(relation.get("properties") or {}))
        variants.setdefault(relation.get("label"), set()).add(keys)
    for number, relation in enumerate(data["relations"]):
        where = f"relations[{number}]"
        name = _need(relation, "label", where)
        properties = _properties(relation)
        types.append(RelType(name, properties, description=relation.get("description")))
        patterns.append(
            Pattern(
                _need(relation, "subj_label", where),
                name,
                _need(relation, "obj_label", where),
                None,
                tuple(item.name for item in properties) if len(variants[name]) > 1 else None,
            )
        )
    return Schema.build(labels, types, patterns, name=data.get("name") or "")


def render(schema: Schema) -> str:
    """Return CypherBench JSON; a type without endpoints cannot be said in it."""
    data: dict[str, Any] = {
        "name": schema.name,
        "entities": [
            {
                "label": label.name,
                "description": label.description,
                "properties": {
                    item.name: _python(item.type)
                    for item in label.properties
                    if item.description != _IMPLIED
                },
            }
            for label in schema.labels.values()
        ],
        "relations": [
            {
                "label": pattern.type,
                "subj_label": pattern.start,
                "obj_label": pattern.end,
                "description": schema.types[pattern.type].description,
                "properties": {
                    item.name: _python(item.type) for item in schema.properties_on(pattern)
                },
            }
            for pattern in schema.patterns
            if pattern.start and pattern.end
        ],
    }
    if not any(label.property("name") for label in schema.labels.values()):
        data["complete"] = True
    return json.dumps(data, indent=1, ensure_ascii=False)


def _python(name: str) -> str:
    if name.startswith("LIST<"):
        return f"list[{_python(name[5:-1])}]"
    return " | ".join(_PYTHON.get(part, part) for part in union_members(name))


def _properties(item: Mapping[str, Any]) -> tuple[Property, ...]:
    return tuple(
        Property(name, type_name(str(kind)))
        for name, kind in (item.get("properties") or {}).items()
    )


def _need(item: Mapping[str, Any], key: str, where: str) -> str:
    value = item.get(key) if isinstance(item, Mapping) else None
    if not isinstance(value, str):
        raise InputError(f"{where} lacks {key!r}", hint="CypherBench JSON needs it")
    return value
