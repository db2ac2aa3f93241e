"""What a Neo4j says of its own schema: names by its procedures, constraints and indexes.

Read where a graph is larger than the sample, from APOC or, without it, from the built-in procedures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cypherforge.graph.formats import apoc_meta
from cypherforge.graph.formats.arrows import parse_names
from cypherforge.graph.schema import Constraint, Index
from cypherforge.graph.type_names import type_name, union_type
from cypherforge.graph.values import NodeValue, RelationshipValue

#: ``attempt(query, what, **parameters)`` gives rows; None, and a warning that names ``what``, where the
#: server lacks or refuses it.
Attempt = Callable[..., list[tuple[Any, ...]] | None]


@dataclass
class Declared:
    """Property types by label and by type, and endpoint pairs by type, as the server claims."""

    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    types: dict[str, dict[str, str]] = field(default_factory=dict)
    pairs: dict[str, set[tuple[str, str]]] = field(default_factory=dict)


def read_declared(attempt: Attempt) -> tuple[Declared, str]:
    """Return the names that the server's procedures know, and who told: ``apoc`` or ``fallback``."""
    known = _by_apoc(attempt)
    source = "apoc" if known is not None else "fallback"
    if known is None:
        known = _by_procedures(attempt)
    rows = attempt("CALL db.schema.visualization()", "db.schema.visualization")
    for nodes, relationships in rows or ():
        names = {node.id: _virtual_name(node) for node in nodes if isinstance(node, NodeValue)}
        for rel in relationships:
            if isinstance(rel, RelationshipValue):
                pair = (names.get(rel.start, ""), names.get(rel.end, ""))
                if all(pair):
                    known.pairs.setdefault(rel.type, set()).add(pair)
    return known, source


def _by_apoc(attempt: Attempt) -> Declared | None:
    rows = attempt(
        "CALL apoc.meta.schema({sample: $sample}) YIELD value RETURN value",
        "the procedure apoc.meta.schema",
        sample=1000,
    )
    if not rows or not isinstance(rows[0][0], Mapping):
        return None
    schema = apoc_meta.parse("", rows[0][0])
    return Declared(
        {n: {p.name: p.type for p in x.properties} for n, x in schema.labels.items()},
        {n: {p.name: p.type for p in x.properties} for n, x in schema.types.items()},
    )


def _by_procedures(attempt: Attempt) -> Declared:
    known = Declared()
    rows = attempt(
        "CALL db.schema.nodeTypeProperties() YIELD nodeLabels, propertyName, propertyTypes "
        "RETURN nodeLabels, propertyName, propertyTypes",
        "the procedure db.schema.nodeTypeProperties",
    )
    for names, key, kinds in rows or ():
        for name in names if key else ():
            _declare(known.labels.setdefault(name, {}), key, kinds)
    rows = attempt(
        "CALL db.schema.relTypeProperties() YIELD relType, propertyName, propertyTypes "
        "RETURN relType, propertyName, propertyTypes",
        "the procedure db.schema.relTypeProperties",
    )
    for text, key, kinds in rows or ():
        if key:
            _declare(known.types.setdefault(parse_names(text)[0], {}), key, kinds)
    return known


def read_rules(attempt: Attempt) -> tuple[list[Constraint], list[Index]]:
    """Return the constraints and indexes, as far as the server tells them."""
    rows = attempt(
        "SHOW CONSTRAINTS YIELD type, entityType, labelsOrTypes, properties",
        "the list of constraints",
    )
    constraints = [
        Constraint(kind, entity, name, tuple(properties or ()))
        for kind, entity, names, properties in rows or ()
        for name in names or ()
    ]
    rows = attempt(
        "SHOW INDEXES YIELD type, entityType, labelsOrTypes, properties, owningConstraint "
        "WHERE owningConstraint IS NULL AND type <> 'LOOKUP'",
        "the list of indexes",
    )
    indexes = [
        Index(kind, entity, tuple(names or ()), tuple(properties or ()))
        for kind, entity, names, properties, _ in rows or ()
    ]
    return constraints, indexes


def _declare(table: dict[str, str], key: str, kinds: Iterable[str] | None) -> None:
    kind = union_type(type_name(name) for name in kinds or ())
    table[key] = union_type((table[key], kind)) if key in table else kind


def _virtual_name(node: NodeValue) -> str:
    return str(node.properties.get("name") or next(iter(node.labels), ""))
