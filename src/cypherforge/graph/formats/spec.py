"""Our own plain form of a schema, for YAML or JSON files: short to write by hand, nothing lost.

::

    labels:
      Person: {name: STRING, born: INTEGER}            # short: properties only
      Movie:
        count: 38
        properties:
          title: STRING
          tagline: {type: STRING, optional: true, coverage: 0.97}
    relationships:
      ACTED_IN: {roles: LIST<STRING>}
    patterns:
      - (:Person)-[:ACTED_IN]->(:Movie)                # or {start, type, end, count, properties}

Further keys: ``name``, ``co_labels``, ``constraints``, ``indexes``, ``sampled``, ``sample_size``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

import yaml

from cypherforge.core.errors import InputError
from cypherforge.graph.formats.arrows import parse_arrow, parse_names
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

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_OWNER_KEYS = {"count", "properties", "reciprocity", "description"}
_PROPERTY_KEYS = {
    "type", "optional", "coverage", "values", "low", "high", "distinct", "sizes", "description",
}  # fmt: skip
_TOP_KEYS = {
    "name", "labels", "relationships", "patterns", "co_labels", "constraints", "indexes",
    "sampled", "sample_size",
}  # fmt: skip


def to_plain(schema: Schema) -> dict[str, Any]:
    """Return the schema as plain dicts, lists and scalars."""
    plain: dict[str, Any] = {
        "name": schema.name or None,
        "sampled": schema.sampled or None,
        "sample_size": schema.sample_size,
        "labels": {name: _owner_plain(label) for name, label in schema.labels.items()},
        "relationships": {name: _owner_plain(rel) for name, rel in schema.types.items()},
        "patterns": [
            _dense(
                start=item.start,
                type=item.type,
                end=item.end,
                count=item.count,
                properties=None if item.properties is None else list(item.properties),
            )
            for item in schema.patterns
        ],
        "co_labels": [
            _dense(labels=list(item.labels), count=item.count) for item in schema.co_labels
        ],
        "constraints": [
            {
                "kind": item.kind,
                "entity": item.entity,
                "name": item.name,
                "properties": list(item.properties),
            }
            for item in schema.constraints
        ],
        "indexes": [
            {
                "kind": item.kind,
                "entity": item.entity,
                "names": list(item.names),
                "properties": list(item.properties),
            }
            for item in schema.indexes
        ],
    }
    for key in ("name", "sampled", "sample_size", "co_labels", "constraints", "indexes"):
        if not plain[key]:
            del plain[key]
    return plain


def from_plain(value: Mapping[str, Any]) -> Schema:
    """Build a schema from the plain form; raises ``InputError`` naming the wrong place."""
    if not isinstance(value, Mapping):
        _wrong("schema", "is not a mapping")
    unknown = sorted(str(key) for key in value if key not in _TOP_KEYS)
    if unknown:
        _wrong("schema", f"unknown key {unknown[0]!r}; known are {', '.join(sorted(_TOP_KEYS))}")
    labels = [
        Label(name=name, **_owner(f"labels.{name}", body))
        for name, body in _mapping("labels", value.get("labels")).items()
    ]
    types = [
        RelType(name=name, **_owner(f"relationships.{name}", body))
        for name, body in _mapping("relationships", value.get("relationships")).items()
    ]
    patterns: list[Pattern] = []
    for number, item in enumerate(_list("patterns", value.get("patterns"))):
        patterns.extend(_pattern(f"patterns[{number}]", item, types))
    try:
        return Schema.build(
            labels,
            types,
            patterns,
            co_labels=[_label_set(item) for item in _list("co_labels", value.get("co_labels"))],
            constraints=[
                Constraint(
                    item["kind"], item["entity"], item["name"], tuple(item.get("properties", ()))
                )
                for item in _list("constraints", value.get("constraints"))
            ],
            indexes=[
                Index(
                    item["kind"],
                    item["entity"],
                    tuple(item["names"]),
                    tuple(item.get("properties", ())),
                )
                for item in _list("indexes", value.get("indexes"))
            ],
            sampled=bool(value.get("sampled", False)),
            sample_size=value.get("sample_size"),
            name=value.get("name") or "",
        )
    except (KeyError, TypeError) as error:
        raise InputError(f"a constraint, index or label set is incomplete: {error}") from error


def matches(text: str, data: object) -> bool:
    """Return whether this is our own form: a mapping whose ``labels`` are a mapping."""
    labels = data.get("labels") if isinstance(data, Mapping) else None
    return isinstance(labels, Mapping) and labels.get("type") not in ("node", "relationship")


def parse(text: str, data: object) -> Schema:
    """Read our own form, already decoded from YAML or JSON."""
    return from_plain(data)  # type: ignore[arg-type]


def render(schema: Schema) -> str:
    """Return the schema as JSON, indented, in fixed order."""
    return json.dumps(to_plain(schema), indent=1, ensure_ascii=False)


def render_yaml(schema: Schema) -> str:
    """Return the schema as YAML, in fixed order."""
    return yaml.dump(
        to_plain(schema), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )


def load_yaml(text: str) -> object:
    """Decode YAML with only JSON's scalars: ``on``, ``No`` and dates stay strings; keys are text.

    YAML 1.1 would turn a label ``NO`` into false and a property ``2020-01-01`` into a date.
    Raises ``InputError`` with line and column; a key given twice is an error too.
    """
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else None
        raise InputError(f"not readable as YAML: {error.problem}", where=where) from error
    except yaml.YAMLError as error:
        raise InputError(f"not readable as YAML: {error}") from error


class _Loader(yaml.SafeLoader):
    """SafeLoader whose scalars are those of JSON."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(
                    problem="a key must be a name", problem_mark=key_node.start_mark
                )
            if key_node.value in result:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key_node.value!r} occurs twice",
                    problem_mark=key_node.start_mark,
                )
            result[key_node.value] = self.construct_object(value_node, deep=True)
        return result

    def _mapping(self, node: yaml.MappingNode) -> dict[Any, Any]:
        return self.construct_mapping(node)


class _Dumper(yaml.SafeDumper):
    """SafeDumper that quotes what this loader, or one of YAML 1.1, would not read as text."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _scalar, _first in (
    ("bool", r"^(?:true|false)$", "tf"),
    ("null", r"^(?:null|~|)$", ["n", "~", ""]),
    ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
    ("float", r"^[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$", "-+0123456789"),
):
    for _side in (_Loader, _Dumper):
        _side.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_scalar), list(_first))
_Loader.add_constructor("tag:yaml.org,2002:map", _Loader._mapping)


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # PyYAML folds these into blanks unless the text stands in double quotes, escaped.
    style = '"' if _UNSAFE.search(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text_node)


def _owner_plain(owner: Label | RelType) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    if owner.count is not None:
        plain["count"] = owner.count
    if isinstance(owner, RelType) and owner.reciprocity is not None:
        plain["reciprocity"] = owner.reciprocity
    if owner.description is not None:
        plain["description"] = owner.description
    plain["properties"] = {item.name: _property_plain(item) for item in owner.properties}
    return plain


def _property_plain(item: Property) -> str | dict[str, Any]:
    body = _dense(
        optional=item.optional or None,
        coverage=item.coverage,
        values=list(item.values) or None,
        low=item.low,
        high=item.high,
        distinct=item.distinct,
        sizes=list(item.sizes) if item.sizes else None,
        description=item.description,
    )
    return {"type": item.type, **body} if body else item.type


def _dense(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _owner(where: str, body: object) -> dict[str, Any]:
    mapping = _mapping(where, body)
    if not (set(mapping) <= _OWNER_KEYS and ("properties" in mapping or not _short(mapping))):
        mapping = {"properties": mapping}
    properties = mapping.get("properties")
    if isinstance(properties, list):
        properties = {name: "UNKNOWN" for name in properties}
    return {
        **{key: mapping[key] for key in _OWNER_KEYS - {"properties"} if key in mapping},
        "properties": tuple(
            _property(f"{where}.{name}", name, item)
            for name, item in _mapping(f"{where}.properties", properties).items()
        ),
    }


def _short(mapping: Mapping[str, Any]) -> bool:
    """Return whether the values are all types, so that ``{count: INTEGER}`` is a property."""
    return bool(mapping) and all(isinstance(x, (str, Mapping)) for x in mapping.values())


def _property(where: str, name: str, body: object) -> Property:
    if isinstance(body, str):
        return Property(name, type_name(body))
    mapping = _mapping(where, body)
    unknown = sorted(set(mapping) - _PROPERTY_KEYS)
    if unknown:
        _wrong(where, f"unknown key {unknown[0]!r}; known are {', '.join(sorted(_PROPERTY_KEYS))}")
    sizes = mapping.get("sizes")
    if sizes is not None and not (isinstance(sizes, list) and len(sizes) == 2):
        _wrong(where, "sizes must be [least, greatest]")
    coverage = mapping.get("coverage")
    optional = mapping.get("optional", coverage is not None and coverage < 1)
    return Property(
        name,
        type_name(str(mapping.get("type", "UNKNOWN"))),
        optional=bool(optional),
        coverage=coverage,
        values=tuple(_list(f"{where}.values", mapping.get("values"))),
        low=mapping.get("low"),
        high=mapping.get("high"),
        distinct=mapping.get("distinct"),
        sizes=(sizes[0], sizes[1]) if sizes else None,
        description=mapping.get("description"),
    )


def _pattern(where: str, item: object, types: list[RelType]) -> list[Pattern]:
    if isinstance(item, str):
        arrow = parse_arrow(item)
        if arrow is None:
            _wrong(where, f"{item!r} is not an arrow such as (:A)-[:R]->(:B)")
        if arrow.properties:
            types += [RelType(name, arrow.properties) for name in arrow.types]
        return arrow.patterns()
    mapping = _mapping(where, item)
    try:
        properties = mapping.get("properties")
        return [
            Pattern(
                mapping["start"],
                mapping["type"],
                mapping["end"],
                mapping.get("count"),
                None if properties is None else tuple(properties),
            )
        ]
    except KeyError as error:
        _wrong(where, f"lacks the key {error}")


def _label_set(item: object) -> LabelSet:
    if isinstance(item, str):
        return LabelSet(parse_names(item))
    if isinstance(item, list):
        return LabelSet(tuple(item))
    mapping = _mapping("co_labels", item)
    return LabelSet(tuple(mapping["labels"]), mapping.get("count"))


def _mapping(where: str, value: object) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        _wrong(where, f"must be a mapping, not {type(value).__name__}")
    return value


def _list(where: str, value: object) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        _wrong(where, f"must be a list, not {type(value).__name__}")
    return value


def _wrong(where: str, what: str) -> NoReturn:
    raise InputError(f"{where}: {what}", hint="see docs/schemas.md for the form")
