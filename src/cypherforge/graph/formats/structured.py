"""``structured_schema`` of the LangChain, LlamaIndex and GraphRAG packages, as JSON or Python text.

``{"node_props": {label: [{"property", "type", ...}]}, "rel_props": {...}, "relationships":
[{"start", "type", "end"}], "metadata": {"constraint": [...], "index": [...]}}``; ``datatype`` for
``type`` is read as well. Label combinations and whether it was sampled go into ``metadata``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cypherforge.core.errors import InputError
from cypherforge.graph.formats.arrows import parse_names
from cypherforge.graph.formats.common import constraint_rows, from_row, index_rows
from cypherforge.graph.formats.langchain import COMBINATION
from cypherforge.graph.schema import Label, LabelSet, Pattern, Property, RelType, Schema


def matches(text: str, data: object) -> bool:
    """Return whether the data has ``node_props`` and ``relationships`` or ``rel_props``."""
    return (
        isinstance(data, Mapping)
        and "node_props" in data
        and ("relationships" in data or "rel_props" in data)
    )


def parse(text: str, data: object) -> Schema:
    """Read the structure; raises ``InputError`` naming the entry that lacks a key."""
    assert isinstance(data, Mapping)
    metadata = data.get("metadata") or {}
    sets = [LabelSet(tuple(item)) for item in metadata.get("label_combinations") or ()]
    labels: list[Label] = []
    try:
        for name, rows in (data["node_props"] or {}).items():
            properties = tuple(from_row(row) for row in rows or ())
            if "label_combinations" not in metadata and COMBINATION.fullmatch(name):
                names = parse_names(name)
                sets.append(LabelSet(names))
                labels += [Label(item, properties) for item in names]
            else:
                labels.append(Label(name, properties))
        types = [
            RelType(name, tuple(from_row(row) for row in rows or ()))
            for name, rows in (data.get("rel_props") or {}).items()
        ]
        patterns = [
            Pattern(row["start"], row["type"], row["end"])
            for row in data.get("relationships") or ()
        ]
    except KeyError as error:
        raise InputError(f"an entry of the structured schema lacks the key {error}") from error
    return Schema.build(
        labels,
        types,
        patterns,
        co_labels=sets,
        constraints=constraint_rows(metadata.get("constraint") or ()),
        indexes=index_rows(metadata.get("index") or ()),
        sampled=bool(metadata.get("sampled", False)),
        sample_size=metadata.get("sample_size"),
    )


def render(schema: Schema) -> str:
    """Return the structure as JSON."""
    metadata: dict[str, Any] = {
        "constraint": [
            {
                "type": item.kind,
                "entityType": item.entity,
                "labelsOrTypes": [item.name],
                "properties": list(item.properties),
            }
            for item in schema.constraints
        ],
        "index": [
            {
                "type": item.kind,
                "entityType": item.entity,
                "labelsOrTypes": list(item.names),
                "properties": list(item.properties),
            }
            for item in schema.indexes
        ],
        "label_combinations": [list(item.labels) for item in schema.co_labels],
    }
    if schema.sampled:
        metadata["sampled"] = True
        metadata["sample_size"] = schema.sample_size
    data = {
        "node_props": {
            label.name: [_row(item) for item in label.properties]
            for label in schema.labels.values()
        },
        "rel_props": {
            rel.name: [_row(item) for item in rel.properties]
            for rel in schema.types.values()
            if rel.properties or not schema.patterns_of(rel.name)
        },
        "relationships": [
            {"start": item.start, "type": item.type, "end": item.end} for item in schema.patterns
        ],
        "metadata": metadata,
    }
    return json.dumps(data, indent=1, ensure_ascii=False)


def _row(item: Property) -> dict[str, Any]:
    row: dict[str, Any] = {"property": item.name, "type": item.type}
    if item.values:
        row["values"] = list(item.values)
    if item.distinct is not None:
        row["distinct_count"] = item.distinct
    if item.low is not None:
        row["min"] = item.low
    if item.high is not None:
        row["max"] = item.high
    if item.sizes:
        row["min_size"], row["max_size"] = item.sizes
    return row
