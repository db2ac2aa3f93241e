"""Graph models: Neo4j's graph schema JSON (Data Importer, old and new) and GraphRAG's schema JSON.

Neo4j's (github.com/neo4j/graph-schema-json-js-utils) has ``nodeLabels``, ``relationshipTypes``,
``nodeObjectTypes`` (label combinations) and ``relationshipObjectTypes`` (endpoint pairs) that
refer to each other by ``$id``; properties lie with the labels and types, in older versions with
the object types. GraphRAG's has ``node_types``, ``relationship_types`` and ``patterns``, before
that ``entities``, ``relations`` and ``potential_schema``. We write Neo4j's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from cypherforge.core.errors import InputError
from cypherforge.graph.formats.common import normal_pairs
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
from cypherforge.graph.type_names import list_of, type_name, union_members, union_type

_KINDS = {
    "uniqueness": "UNIQUENESS",
    "propertyExistence": "PROPERTY_EXISTENCE",
    "propertyType": "PROPERTY_TYPE",
    "key": "KEY",
    "UNIQUENESS": "UNIQUENESS",
    "EXISTENCE": "PROPERTY_EXISTENCE",
    "KEY": "KEY",
}


def matches(text: str, data: object) -> bool:
    """Return whether the data holds one of these models, bare or wrapped."""
    return _find(data) is not None


def parse(text: str, data: object) -> Schema:
    """Read a model; raises ``InputError`` naming a reference or key that is missing."""
    found = _find(data)
    assert found is not None
    kind, model = found
    reader = {
        "schema": _graph_schema,
        "importer": _old_importer,
        "graphrag": _graphrag,
        "graphrag-old": _old_graphrag,
    }[kind]
    try:
        return reader(model)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"the graph model is incomplete: {type(error).__name__} {error}",
            hint="every label, type and object type needs its id, token and references",
        ) from error


def _find(data: object) -> tuple[str, Mapping[str, Any]] | None:
    for _ in range(5):
        if not isinstance(data, Mapping):
            return None
        if "nodeLabels" in data and "relationshipTypes" in data:
            return "schema", data
        if "nodeSchemas" in data:
            return "importer", data
        if isinstance(data.get("node_types"), list):
            return "graphrag", data
        if "potential_schema" in data and "entities" in data:
            return "graphrag-old", data
        data = next(
            (
                data[key]
                for key in (
                    "dataModel",
                    "graphSchemaRepresentation",
                    "graphSchema",
                    "graphModel",
                    "schema",
                )
                if isinstance(data.get(key), Mapping)
            ),
            None,
        )
    return None


# Neo4j's graph schema


def _graph_schema(model: Mapping[str, Any]) -> Schema:
    tokens = {
        item["$id"]: item["token"] for item in [*model["nodeLabels"], *model["relationshipTypes"]]
    }
    keys = {
        prop["$id"]: prop["token"]
        for item in [*model["nodeLabels"], *model["relationshipTypes"]]
        for prop in item.get("properties") or ()
        if "$id" in prop
    }
    labels = [Label(item["token"], _properties(item)) for item in model["nodeLabels"]]
    types = [RelType(item["token"], _properties(item)) for item in model["relationshipTypes"]]
    nodes: dict[str, tuple[str, ...]] = {}
    sets: list[LabelSet] = []
    for item in model.get("nodeObjectTypes") or ():
        names = tuple(tokens[_ref(label)] for label in item["labels"])
        nodes[item["$id"]] = names
        sets.append(LabelSet(names))
        labels += [Label(name, _properties(item)) for name in names]
    patterns: list[Pattern] = []
    for item in model.get("relationshipObjectTypes") or ():
        rel_type = tokens[_ref(item["type"])]
        properties = _properties(item)
        if properties:
            types.append(RelType(rel_type, properties))
        keyed = tuple(p.name for p in properties) if "properties" in item else None
        patterns += [
            Pattern(start, rel_type, end, None, keyed)
            for start in nodes[_ref(item["from"])] or ("",)
            for end in nodes[_ref(item["to"])] or ("",)
        ]
    constraints, indexes = _rules(model, tokens, keys)
    return Schema.build(
        labels,
        types,
        normal_pairs(types, patterns),
        co_labels=sets,
        constraints=constraints,
        indexes=indexes,
    )


def _rules(
    model: Mapping[str, Any], tokens: Mapping[str, str], keys: Mapping[str, str]
) -> tuple[list[Constraint], list[Index]]:
    constraints: list[Constraint] = []
    indexes: list[Index] = []
    for item in model.get("constraints") or ():
        node = item["entityType"] == "node"
        kind = _KINDS.get(item["constraintType"], str(item["constraintType"]))
        owner = item["nodeLabel"] if node else item["relationshipType"]
        constraints.append(
            Constraint(
                kind if kind == "UNIQUENESS" else f"{'NODE' if node else 'RELATIONSHIP'}_{kind}",
                "NODE" if node else "RELATIONSHIP",
                tokens[_ref(owner)],
                tuple(keys[_ref(key)] for key in item.get("properties") or ()),
            )
        )
    for item in model.get("indexes") or ():
        node = item["entityType"] == "node"
        owner = item.get("nodeLabel") if node else item.get("relationshipType")
        if owner is not None:
            indexes.append(
                Index(
                    str(item["indexType"]).upper(),
                    "NODE" if node else "RELATIONSHIP",
                    (tokens[_ref(owner)],),
                    tuple(keys[_ref(key)] for key in item.get("properties") or ()),
                )
            )
    return constraints, indexes


def _ref(value: Mapping[str, Any]) -> str:
    return str(value["$ref"]).removeprefix("#")


def _properties(item: Mapping[str, Any]) -> tuple[Property, ...]:
    return tuple(
        Property(prop["token"], _type(prop.get("type")), optional=bool(prop.get("nullable", False)))
        for prop in item.get("properties") or ()
    )


def _type(value: Any) -> str:
    if isinstance(value, list):
        return union_type(_type(item) for item in value)
    if isinstance(value, Mapping):
        if value.get("type") == "array":
            items = value.get("items")
            return list_of(_type(items)) if items else "LIST"
        return _type(value.get("type"))
    return type_name(value) if isinstance(value, str) else "UNKNOWN"


# The Data Importer's model before that


def _old_importer(model: Mapping[str, Any]) -> Schema:
    names = {key: item["label"] for key, item in model["nodeSchemas"].items()}
    labels = [
        Label(item["label"], _importer_properties(item)) for item in model["nodeSchemas"].values()
    ]
    types: list[RelType] = []
    patterns: list[Pattern] = []
    for item in (model.get("relationshipSchemas") or {}).values():
        types.append(RelType(item["type"], _importer_properties(item)))
        patterns.append(
            Pattern(names[item["sourceNodeSchema"]], item["type"], names[item["targetNodeSchema"]])
        )
    return Schema.build(labels, types, patterns)


def _importer_properties(item: Mapping[str, Any]) -> tuple[Property, ...]:
    return tuple(
        Property(prop.get("property") or prop["name"], _type(prop.get("type")))
        for prop in item.get("properties") or ()
    )


# GraphRAG's


def _graphrag(model: Mapping[str, Any]) -> Schema:
    labels, label_rules = _graphrag_owners(model["node_types"], Label, "NODE")
    types, type_rules = _graphrag_owners(
        model.get("relationship_types") or (), RelType, "RELATIONSHIP"
    )
    constraints = [*label_rules, *type_rules]
    for item in model.get("constraints") or ():
        node = item.get("node_type")
        entity = "NODE" if node else "RELATIONSHIP"
        kind = _KINDS.get(item["type"], str(item["type"]))
        keys = item.get("property_names") or [item["property_name"]]
        constraints.append(
            Constraint(
                kind if kind == "UNIQUENESS" else f"{entity}_{kind}",
                "NODE" if node else "RELATIONSHIP",
                node or item["relationship_type"],
                tuple(keys),
            )
        )
    patterns = [
        Pattern(item["source"], item["relationship"], item["target"])
        if isinstance(item, Mapping)
        else Pattern(*item)
        for item in model.get("patterns") or ()
    ]
    return Schema.build(labels, types, patterns, constraints=constraints)


def _graphrag_owners(items: Iterable[Any], kind: Any, entity: Any) -> tuple[list[Any], list[Any]]:
    owners: list[Any] = []
    rules: list[Constraint] = []
    for item in items:
        if isinstance(item, str):
            owners.append(kind(item))
            continue
        properties = []
        for prop in item.get("properties") or ():
            properties.append(
                Property(
                    prop["name"],
                    type_name(str(prop.get("type", "UNKNOWN"))),
                    description=prop.get("description") or None,
                )
            )
            if prop.get("required"):
                rules.append(
                    Constraint(
                        f"{entity}_PROPERTY_EXISTENCE", entity, item["label"], (prop["name"],)
                    )
                )
        owners.append(
            kind(item["label"], tuple(properties), description=item.get("description") or None)
        )
    return owners, rules


def _old_graphrag(model: Mapping[str, Any]) -> Schema:
    def owners(items: Any, kind: Any) -> list[Any]:
        rows = items.values() if isinstance(items, Mapping) else items or ()
        return _graphrag_owners(rows, kind, "NODE")[0]

    return Schema.build(
        owners(model["entities"], Label),
        owners(model.get("relations"), RelType),
        [Pattern(*item) for item in model["potential_schema"] or ()],
    )


def render(schema: Schema) -> str:
    """Return Neo4j's graph schema JSON; ``nullable`` says optional, ids count from 0."""
    label_ids = {name: f"nl:{number}" for number, name in enumerate(schema.labels)}
    type_ids = {name: f"rt:{number}" for number, name in enumerate(schema.types)}
    node_ids = {name: f"n:{number}" for number, name in enumerate(schema.labels)}
    node_ids[""] = "n:"
    objects = [
        {"$id": node_ids[name], "labels": [{"$ref": f"#{label_ids[name]}"}]}
        for name in schema.labels
    ]
    objects += [
        {
            "$id": f"s:{number}",
            "labels": [{"$ref": f"#{label_ids[name]}"} for name in item.labels],
        }
        for number, item in enumerate(schema.co_labels)
    ]
    if any("" in (p.start, p.end) for p in schema.patterns):
        objects.append({"$id": "n:", "labels": []})
    data = {
        "nodeLabels": [
            {"$id": label_ids[name], "token": name, "properties": _rows(label, label_ids[name])}
            for name, label in schema.labels.items()
        ],
        "relationshipTypes": [
            {"$id": type_ids[name], "token": name, "properties": _rows(rel, type_ids[name])}
            for name, rel in schema.types.items()
        ],
        "nodeObjectTypes": objects,
        "relationshipObjectTypes": [
            {
                "$id": f"r:{number}",
                "type": {"$ref": f"#{type_ids[item.type]}"},
                "from": {"$ref": f"#{node_ids[item.start]}"},
                "to": {"$ref": f"#{node_ids[item.end]}"},
                **(
                    {}
                    if item.properties is None
                    else {
                        "properties": [
                            _row(p, f"{type_ids[item.type]}:{p.name}")
                            for p in schema.properties_on(item)
                        ]
                    }
                ),
            }
            for number, item in enumerate(schema.patterns)
        ],
        "constraints": [
            row
            for number, item in enumerate(schema.constraints)
            if (row := _constraint_row(schema, item, number, label_ids, type_ids))
        ],
        "indexes": [
            row
            for number, item in enumerate(schema.indexes)
            if (row := _index_row(schema, item, number, label_ids, type_ids))
        ],
    }
    whole = {"graphSchemaRepresentation": {"version": "1.0.1", "graphSchema": data}}
    return json.dumps(whole, indent=1, ensure_ascii=False)


def _rows(owner: Label | RelType, owner_id: str) -> list[dict[str, Any]]:
    return [_row(item, f"{owner_id}:{item.name}") for item in owner.properties]


def _row(item: Property, row_id: str) -> dict[str, Any]:
    return {
        "$id": row_id,
        "token": item.name,
        "type": _type_row(item.type),
        "nullable": item.optional,
    }


def _type_row(kind: str) -> Any:
    members = union_members(kind)
    if len(members) > 1:
        return [_type_row(member) for member in members]
    if kind == "LIST":
        return {"type": "array"}
    if kind.startswith("LIST<"):
        return {"type": "array", "items": _type_row(kind[5:-1])}
    return {"type": kind.lower().replace("_", "")}


def _constraint_row(
    schema: Schema,
    item: Constraint,
    number: int,
    label_ids: Mapping[str, str],
    type_ids: Mapping[str, str],
) -> dict[str, Any] | None:
    kind = item.kind.removeprefix("NODE_").removeprefix("RELATIONSHIP_")
    names = {"UNIQUENESS": "uniqueness", "PROPERTY_EXISTENCE": "propertyExistence",
             "PROPERTY_TYPE": "propertyType", "KEY": "key"}  # fmt: skip
    row = _owner_row(schema, item.entity, item.name, item.properties, label_ids, type_ids)
    if row is None or kind not in names:
        return None
    return {"$id": f"c:{number}", "name": f"c_{number}", "constraintType": names[kind], **row}


def _index_row(
    schema: Schema,
    item: Index,
    number: int,
    label_ids: Mapping[str, str],
    type_ids: Mapping[str, str],
) -> dict[str, Any] | None:
    if len(item.names) != 1:
        return None
    row = _owner_row(schema, item.entity, item.names[0], item.properties, label_ids, type_ids)
    if row is None:
        return None
    return {"$id": f"i:{number}", "name": f"i_{number}", "indexType": item.kind.lower(), **row}


def _owner_row(
    schema: Schema,
    entity: str,
    name: str,
    keys: tuple[str, ...],
    label_ids: Mapping[str, str],
    type_ids: Mapping[str, str],
) -> dict[str, Any] | None:
    """Return the reference to owner and properties; None if the schema does not declare them."""
    node = entity == "NODE"
    owner = schema.labels.get(name) if node else schema.types.get(name)
    if owner is None or not all(owner.property(key) for key in keys):
        return None
    owner_id = (label_ids if node else type_ids)[name]
    return {
        "entityType": entity.lower(),
        "nodeLabel" if node else "relationshipType": {"$ref": f"#{owner_id}"},
        "properties": [{"$ref": f"#{owner_id}:{key}"} for key in keys],
    }
