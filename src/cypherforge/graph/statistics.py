"""Numbers of a graph: counts, coverage, distinct values, ranges, reciprocity, with a fingerprint.

They are measured once and kept in a file; when the graph's fingerprint changes they are measured
again, so numbers never outlive the data they describe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cypherforge.core.errors import InputError, QueryError, QueryTimeout
from cypherforge.core.files import atomic_write, dumps, loads, read_text
from cypherforge.cypher.names import quote_name
from cypherforge.graph.introspect import SAMPLE, TIMEOUT, introspect
from cypherforge.graph.policy import ALL_VALUES, ValuePolicy
from cypherforge.graph.schema import Label, Property, RelType, Scalar, Schema
from cypherforge.graph.value_types import example_value

if TYPE_CHECKING:
    from cypherforge.graph.base import Graph

_FORMAT = "cypherforge statistics 1"
_ORDERED = ("INTEGER", "FLOAT", "DATE", "DATE_TIME", "LOCAL_DATE_TIME", "TIME", "LOCAL_TIME")
_COUNTED = (*_ORDERED, "STRING", "BOOLEAN")


@dataclass(frozen=True, slots=True)
class PropertyStatistics:
    """Numbers of one property: how many have it, how many values, the least and the greatest.

    ``distinct`` is None where it was not counted; ``low`` and ``high`` only for ordered types.
    """

    count: int
    coverage: float
    distinct: int | None = None
    low: Scalar | None = None
    high: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Statistics:
    """Numbers of a graph at one ``fingerprint``.

    ``labels`` and ``types`` count nodes and relationships, ``patterns`` endpoint pairs
    ``(start, type, end)``. ``properties`` has ``("node" | "relationship", owner, name)`` as keys.
    ``reciprocity``: per type, the share of its relationships between two different nodes that are
    also stored reversed (None: not counted). ``sampled`` as in the schema.
    """

    fingerprint: str
    labels: Mapping[str, int] = field(default_factory=dict)
    types: Mapping[str, int] = field(default_factory=dict)
    patterns: Mapping[tuple[str, str, str], int | None] = field(default_factory=dict)
    properties: Mapping[tuple[str, str, str], PropertyStatistics] = field(default_factory=dict)
    reciprocity: Mapping[str, float | None] = field(default_factory=dict)
    sampled: bool = False

    def of_label(self, label: str, name: str) -> PropertyStatistics | None:
        """Return the numbers of a node property."""
        return self.properties.get(("node", label, name))

    def of_type(self, rel_type: str, name: str) -> PropertyStatistics | None:
        """Return the numbers of a relationship property."""
        return self.properties.get(("relationship", rel_type, name))

    def to_json(self) -> dict[str, Any]:
        """Return the plain form that :meth:`from_json` reads back."""
        return {
            "format": _FORMAT,
            "fingerprint": self.fingerprint,
            "sampled": self.sampled,
            "labels": dict(self.labels),
            "types": dict(self.types),
            "patterns": [[*key, count] for key, count in sorted(self.patterns.items())],
            "properties": [
                [*key, item.count, item.coverage, item.distinct, item.low, item.high]
                for key, item in sorted(self.properties.items())
            ],
            "reciprocity": dict(self.reciprocity),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Statistics:
        """Build from the plain form; raises ``InputError`` if it is of another format."""
        try:
            if data["format"] != _FORMAT:
                raise InputError(f"statistics of another format: {data['format']!r}")
            return cls(
                data["fingerprint"],
                data["labels"],
                data["types"],
                {(a, b, c): count for a, b, c, count in data["patterns"]},
                {
                    (kind, owner, name): PropertyStatistics(*rest)
                    for kind, owner, name, *rest in data["properties"]
                },
                data["reciprocity"],
                data["sampled"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"not statistics: {type(error).__name__} {error}") from error


def reciprocity_of(graph: Graph, rel_type: str, *, timeout: float = TIMEOUT) -> float | None:
    """Return the share of a type's edges that are also stored reversed.

    An edge from a node to itself says nothing of direction and is not counted; None if there is no
    other edge. CypherGuard, section on RedirectSelfLoops: mutual types such as ``KNOWS`` are near 1.
    """
    name = quote_name(rel_type)
    query = f"MATCH (a)-[r:{name}]->(b) WHERE a <> b RETURN count(r)"
    total = graph.run(query, timeout=timeout).rows[0][0]
    if not total:
        return None
    query = f"MATCH (a)-[r:{name}]->(b)-[s:{name}]->(a) WHERE a <> b RETURN count(DISTINCT r)"
    return float(graph.run(query, timeout=timeout).rows[0][0]) / float(total)


def collect_statistics(
    graph: Graph,
    schema: Schema | None = None,
    *,
    policy: ValuePolicy = ALL_VALUES,
    sample: int = SAMPLE,
) -> Statistics:
    """Measure a graph; ``schema`` is read from it unless given.

    A property that cannot be counted in time has no ``distinct``; one whose values ``policy`` keeps
    back has counts only. Raises as ``introspect`` does.
    """
    fingerprint = graph.fingerprint()
    schema = schema or introspect(graph, sample=sample, policy=policy, examples=0)
    properties: dict[tuple[str, str, str], PropertyStatistics] = {}
    for label in schema.labels.values():
        match = f"MATCH (n:{quote_name(label.name)})"
        properties.update(_measure(graph, "node", label, match, policy, sample))
    for rel in schema.types.values():
        match = f"MATCH ()-[n:{quote_name(rel.name)}]->()"
        properties.update(_measure(graph, "relationship", rel, match, policy, sample))
    return Statistics(
        fingerprint,
        {name: label.count or 0 for name, label in schema.labels.items()},
        {name: rel.count or 0 for name, rel in schema.types.items()},
        {(p.start, p.type, p.end): p.count for p in schema.patterns},
        properties,
        {name: rel.reciprocity for name, rel in schema.types.items()},
        schema.sampled,
    )


def _measure(
    graph: Graph,
    kind: str,
    owner: Label | RelType,
    match: str,
    policy: ValuePolicy,
    sample: int,
) -> dict[tuple[str, str, str], PropertyStatistics]:
    """Measure the properties of one label or type, one query each."""
    total = owner.count or 0
    bound = f" LIMIT {sample}" if 0 <= sample < total else ""
    seen = min(total, sample) if sample >= 0 else total
    found: dict[tuple[str, str, str], PropertyStatistics] = {}
    for item in owner.properties:
        dotted = f"n.{quote_name(item.name)}"
        ordered = all(t in _ORDERED for t in item.types) and policy.allows(owner.name, item.name)
        columns = ["count(v)"]
        if all(t in _COUNTED for t in item.types):
            columns.append("count(DISTINCT v)")
        if ordered:
            columns += ["min(v)", "max(v)"]
        query = f"{match} WITH {dotted} AS v{bound} RETURN {', '.join(columns)}"
        try:
            row = graph.run(query, timeout=TIMEOUT).rows[0]
        except (QueryTimeout, QueryError):
            count = round((item.coverage or 0.0) * total)
            row = (count,)
        count = int(row[0])
        found[(kind, owner.name, item.name)] = PropertyStatistics(
            count,
            count / seen if seen else 0.0,
            int(row[1]) if len(row) > 1 else None,
            example_value(row[2]) if len(row) > 2 else None,
            example_value(row[3]) if len(row) > 2 else None,
        )
    return found


def cached_statistics(
    graph: Graph,
    path: Path,
    schema: Schema | None = None,
    *,
    policy: ValuePolicy = ALL_VALUES,
    sample: int = SAMPLE,
) -> Statistics:
    """Return the statistics kept in a file, measured anew if the graph has changed since.

    A file that cannot be read as statistics is replaced. With a policy that keeps values back the
    file is neither read nor written, for it may hold them.
    """
    if policy != ALL_VALUES:
        return collect_statistics(graph, schema, policy=policy, sample=sample)
    if path.is_file():
        try:
            known = Statistics.from_json(loads(read_text(path)))
            if known.fingerprint == graph.fingerprint():
                return known
        except (InputError, ValueError):
            pass
    found = collect_statistics(graph, schema, sample=sample)
    atomic_write(path, dumps(found.to_json(), indent=1) + "\n")
    return found


def with_statistics(schema: Schema, statistics: Statistics) -> Schema:
    """Return the schema with distinct values, ranges and reciprocity filled in."""

    def filled(kind: str, owner: Label | RelType) -> tuple[Property, ...]:
        properties = []
        for item in owner.properties:
            known = statistics.properties.get((kind, owner.name, item.name))
            properties.append(
                item
                if known is None
                else replace(item, distinct=known.distinct, low=known.low, high=known.high)
            )
        return tuple(properties)

    return replace(
        schema,
        labels={n: replace(x, properties=filled("node", x)) for n, x in schema.labels.items()},
        types={
            n: replace(
                x,
                properties=filled("relationship", x),
                reciprocity=statistics.reciprocity.get(n, x.reciprocity),
            )
            for n, x in schema.types.items()
        },
    )
