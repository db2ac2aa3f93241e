"""Read the schema of a live graph, through ``Graph.run`` only.

What is counted (labels, types, endpoint pairs, label combinations, coverage) is counted by plain
Cypher on every engine, so the schema does not depend on the source. Where a graph is larger than
the sample, property names that the sample misses come from ``apoc.meta.schema`` or, without it,
from ``db.schema.nodeTypeProperties`` and ``relTypeProperties`` (Neo4j), or ``SHOW SCHEMA INFO``
(Memgraph); such a property has no coverage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from neo4j.spatial import Point
from neo4j.time import Date, DateTime, Duration, Time

from cypherforge.core.errors import EnvironmentFault, QueryError, QueryTimeout
from cypherforge.cypher.names import quote_name
from cypherforge.graph.schema import (
    Constraint,
    Index,
    Label,
    LabelSet,
    Pattern,
    Property,
    RelType,
    Scalar,
    Schema,
)
from cypherforge.graph.type_names import list_of, type_name, union_type

if TYPE_CHECKING:
    from cypherforge.graph.base import Graph

#: Nodes a label and relationships a type that are read at most, unless told otherwise.
SAMPLE = 100_000
#: Example values kept a property, and the length a text may have to be one.
EXAMPLES, EXAMPLE_LENGTH = 3, 60

_ALL_ROWS = 10_000_000


@dataclass
class _Sighting:
    """What was seen of the properties of one label or type."""

    seen: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    types: dict[str, set[str]] = field(default_factory=dict)
    examples: dict[str, list[Scalar]] = field(default_factory=dict)

    def add(self, key: str, kind: str, count: int) -> None:
        self.counts[key] = self.counts.get(key, 0) + count
        self.types.setdefault(key, set()).add(kind)

    def properties(self, also: Mapping[str, str], exact: bool) -> tuple[Property, ...]:
        found = []
        for key, count in self.counts.items():
            coverage = min(1.0, count / self.seen) if self.seen else None
            found.append(
                Property(
                    key,
                    union_type(self.types[key]),
                    optional=coverage is not None and coverage < 1,
                    coverage=coverage,
                    values=tuple(self.examples.get(key, ())),
                )
            )
        # A name that the sample missed is rare, so it is optional; how rare is not known.
        found += [
            Property(key, kind, optional=True)
            for key, kind in also.items()
            if key not in self.counts and not exact
        ]
        return tuple(found)


def introspect(
    graph: Graph,
    *,
    sample: int = SAMPLE,
    exclude: Collection[str] = (),
    examples: int = EXAMPLES,
) -> Schema:
    """Return the schema of a graph.

    ``sample`` bounds the nodes a label and relationships a type that are read (-1: all); if one is
    larger the schema says ``sampled``. ``exclude`` holds labels, types and ``Owner.property`` whose
    values are not to be read (names and types still are). ``examples`` is the number of example
    values a property, 0 for none. A procedure that is missing or forbidden costs a warning, not the
    schema; a lost connection raises ``GraphUnavailable``.
    """
    return _Introspection(graph, sample, frozenset(exclude), examples).run()


def value_type(value: Any) -> str:
    """Return the canonical property type of a value as ``Graph.run`` returns it."""
    match value:
        case bool():
            return "BOOLEAN"
        case int():
            return "INTEGER"
        case float():
            return "FLOAT"
        case str():
            return "STRING"
        case DateTime():
            return "DATE_TIME" if value.tzinfo else "LOCAL_DATE_TIME"
        case Date():
            return "DATE"
        case Time():
            return "TIME" if value.tzinfo else "LOCAL_TIME"
        case Duration():  # before tuple: the driver's durations and points are tuples
            return "DURATION"
        case Point():
            return "POINT"
        case bytes() | bytearray():
            return "BYTES"
        case list() | tuple():
            inner = {value_type(item) for item in value if item is not None}
            return list_of(union_type(inner)) if inner else "LIST"
        case Mapping():
            return "MAP"
    return "VECTOR" if type(value).__name__.endswith("Vector") else "UNKNOWN"


class _Introspection:
    def __init__(self, graph: Graph, sample: int, exclude: frozenset[str], examples: int) -> None:
        self.graph = graph
        self.neo4j = graph.engine.startswith("neo4j")
        self.sample = sample if sample >= 0 else None
        self.exclude = exclude
        self.examples = examples
        self.warnings: list[str] = []
        self.sampled = False
        self.source = "scan"
        self.types_by_query: bool | None = True if self.neo4j else None

    def rows(self, query: str, **parameters: Any) -> list[tuple[Any, ...]]:
        return list(self.graph.run(query, parameters or None, limit=_ALL_ROWS).rows)

    def attempt(self, query: str, what: str, **parameters: Any) -> list[tuple[Any, ...]] | None:
        """Run a query that the server may not have; None and one warning if it refuses."""
        try:
            return self.rows(query, **parameters)
        except QueryError as error:
            self.warnings.append(f"{what} is not to be had here ({error.code or error.message})")
            return None

    def run(self) -> Schema:
        label_counts, combos = self.labels()
        type_counts = self.types()
        also = self.declared() if self.larger(label_counts, type_counts) else ({}, {})
        labels = [
            Label(name, self.label_properties(name, count, also[0].get(name, {})), count)
            for name, count in sorted(label_counts.items())
        ]
        types: list[RelType] = []
        patterns: list[Pattern] = []
        for name, count in sorted(type_counts.items()):
            rel, pairs = self.relationships(name, count, also[1].get(name, {}))
            types.append(rel)
            patterns += pairs
        constraints, indexes = self.constraints() if self.neo4j else ([], [])
        return Schema.build(
            labels,
            types,
            patterns,
            co_labels=[LabelSet(names, count) for names, count in combos.items()],
            constraints=constraints,
            indexes=indexes,
            sampled=self.sampled,
            sample_size=self.sample if self.sampled else None,
            source=self.source,
            warnings=tuple(self.warnings),
        )

    def larger(self, *counts: Mapping[str, int]) -> bool:
        return self.sample is not None and any(
            count > self.sample for table in counts for count in table.values()
        )

    def bound(self, count: int) -> str:
        """Return the LIMIT that keeps a read within the sample; nothing if it fits."""
        if self.sample is None or count <= self.sample:
            return ""
        self.sampled = True
        return f" LIMIT {self.sample}"

    # Labels and types are never sampled: a rare one must not be missed.

    def labels(self) -> tuple[dict[str, int], dict[tuple[str, ...], int]]:
        total = self.rows("MATCH (n) RETURN count(n)")[0][0]
        if self.neo4j and self.sample is not None and total > self.sample:
            names = [row[0] for row in self.rows("CALL db.labels()")]
            counts = self.counted(names, "MATCH (n:{name}) RETURN '' AS i, count(n) AS c")
            sets: dict[tuple[str, ...], int] = {}
            for name, count in counts.items():
                sample = f"MATCH (n:{quote_name(name)}) WITH n{self.bound(count)}"
                for found, number in self.rows(f"{sample} RETURN labels(n), count(*)"):
                    if len(found) > 1:
                        key = tuple(sorted(found))
                        sets[key] = max(sets.get(key, 0), number)
            return counts, sets
        counts, sets = {}, {}
        for found, number in self.rows("MATCH (n) RETURN labels(n) AS l, count(*) AS c"):
            for name in found:
                counts[name] = counts.get(name, 0) + number
            if len(found) > 1:
                key = tuple(sorted(found))
                sets[key] = sets.get(key, 0) + number
            if not found:
                self.warnings.append(f"{number} nodes have no label")
        return counts, sets

    def types(self) -> dict[str, int]:
        if self.neo4j:
            names = [row[0] for row in self.rows("CALL db.relationshipTypes()")]
            return self.counted(names, "MATCH ()-[r:{name}]->() RETURN '' AS i, count(r) AS c")
        rows = self.rows("MATCH ()-[r]->() RETURN type(r) AS t, count(*) AS c")
        return {name: count for name, count in rows}

    def counted(self, names: Iterable[str], query: str) -> dict[str, int]:
        """Count by name from the server's count store; names that no longer occur are dropped."""
        names = sorted(names)
        counts: dict[str, int] = {}
        for start in range(0, len(names), 40):
            part = names[start : start + 40]
            text = " UNION ALL ".join(
                query.replace("{name}", quote_name(name)).replace("''", str(number))
                for number, name in enumerate(part)
            )
            counts.update({part[number]: count for number, count in self.rows(text) if count})
        return counts

    def label_properties(
        self, name: str, count: int, also: Mapping[str, str]
    ) -> tuple[Property, ...]:
        bound = self.bound(count)
        match = f"MATCH (n:{quote_name(name)}) WITH n{bound}"
        sighting = _Sighting(seen=count if not bound else min(count, self.sample or count))
        for key, kind, number in self.keys_of(match, "n", name):
            sighting.add(key, kind, number)
        self.find_examples(f"MATCH (n:{quote_name(name)})", "n", name, sighting)
        return sighting.properties(also, exact=not bound)

    def relationships(
        self, name: str, count: int, also: Mapping[str, str]
    ) -> tuple[RelType, list[Pattern]]:
        bound = self.bound(count)
        match = f"MATCH (a)-[r:{quote_name(name)}]->(b) WITH a, r, b{bound}"
        sighting = _Sighting(seen=count if not bound else min(count, self.sample or count))
        numbers: dict[tuple[str, str], int] = {}
        for starts, ends, number in self.rows(f"{match} RETURN labels(a), labels(b), count(*)"):
            for pair in _pairs(starts, ends):
                numbers[pair] = numbers.get(pair, 0) + number
        keys: dict[tuple[str, str], set[str]] = {}
        for key, kind, number, starts, ends in self.keys_of(
            match, "r", name, ", labels(a) AS s, labels(b) AS e"
        ):
            sighting.add(key, kind, number)
            for pair in _pairs(starts, ends):
                keys.setdefault(pair, set()).add(key)
        self.find_examples(f"MATCH ()-[r:{quote_name(name)}]->()", "r", name, sighting)
        properties = sighting.properties(also, exact=not bound)
        everything = {item.name for item in properties}
        partial = not bound and any(keys.get(pair, set()) != everything for pair in numbers)
        patterns = [
            Pattern(
                start,
                name,
                end,
                None if bound else number,
                tuple(sorted(keys.get((start, end), ()))) if partial else None,
            )
            for (start, end), number in numbers.items()
        ]
        return RelType(name, properties, count), patterns

    def keys_of(self, match: str, variable: str, owner: str, more: str = "") -> list[Any]:
        """Return rows of key, type, count and ``more``; types by the server if it can tell."""
        unwind = f"{match} UNWIND keys({variable}) AS k"
        shape = f"{unwind}{{with_}} RETURN k, {{kind}} AS t, count(*) AS c{more}"
        if not self.neo4j:
            return self.keys_by_values(match, variable, owner, more)
        value = f"valueType({variable}[k])"
        try:
            found = self.rows(shape.format(with_="", kind=value))
            return [(row[0], type_name(row[1]), *row[2:]) for row in found]
        except QueryTimeout:
            raise
        except QueryError:
            pass
        # One unreadable property must not cost the others: ask key by key.
        rows: list[Any] = []
        for row in self.rows(shape.format(with_="", kind="''")):
            rows.append((row[0], self.kind_of(match, variable, owner, row[0]), *row[2:]))
        return rows

    def kind_of(self, match: str, variable: str, owner: str, key: str) -> str:
        dotted = f"{variable}.{quote_name(key)}"
        known = f"{match} WHERE {dotted} IS NOT NULL" if " WITH " in match else match
        try:
            found = self.rows(f"{known} RETURN DISTINCT valueType({dotted})")
            return union_type(type_name(row[0]) for row in found)
        except QueryTimeout:
            raise
        except QueryError:
            pass
        try:
            found = self.rows(f"{known} RETURN {dotted} LIMIT 1000")
            return union_type(value_type(row[0]) for row in found)
        except QueryError as error:
            self.warnings.append(f"{owner}.{key} cannot be read: {error.message}")
            return "UNKNOWN"

    def keys_by_values(self, match: str, variable: str, owner: str, more: str) -> list[Any]:
        """Count keys and types from the values themselves, for engines without ``valueType``."""
        counted: dict[tuple[Any, ...], int] = {}
        for properties, *rest in self.rows(f"{match} RETURN properties({variable}) AS p{more}"):
            ends = tuple(tuple(item) for item in rest)
            for key, value in properties.items():
                if value is not None:
                    place = (key, value_type(value), *ends)
                    counted[place] = counted.get(place, 0) + 1
        return [(key, kind, number, *ends) for (key, kind, *ends), number in counted.items()]

    def find_examples(self, match: str, variable: str, owner: str, sighting: _Sighting) -> None:
        if not self.examples or owner in self.exclude:
            return
        keys = sorted(k for k in sighting.counts if f"{owner}.{k}" not in self.exclude)
        wanted = [k for k in keys if not _unprintable(sighting.types[k])]
        if not wanted:
            return
        columns = ", ".join(f"{variable}.{quote_name(key)}" for key in wanted)
        try:
            rows = self.rows(f"{match} RETURN {columns} LIMIT 200")
        except EnvironmentFault:
            raise
        except QueryError as error:
            self.warnings.append(f"no example values of {owner}: {error.message}")
            return
        for number, key in enumerate(wanted):
            found = sighting.examples.setdefault(key, [])
            for row in rows:
                value = example_value(row[number])
                if value is not None and value not in found and len(found) < self.examples:
                    found.append(value)

    def declared(self) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
        """Return the property types of labels and of types that the server's own procedures know."""
        return {}, {}

    def constraints(self) -> tuple[list[Constraint], list[Index]]:
        rows = self.attempt(
            "SHOW CONSTRAINTS YIELD type, entityType, labelsOrTypes, properties",
            "the list of constraints",
        )
        constraints = [
            Constraint(kind, entity, name, tuple(properties or ()))
            for kind, entity, names, properties in rows or ()
            for name in names or ()
        ]
        rows = self.attempt(
            "SHOW INDEXES YIELD type, entityType, labelsOrTypes, properties, owningConstraint "
            "WHERE owningConstraint IS NULL AND type <> 'LOOKUP'",
            "the list of indexes",
        )
        indexes = [
            Index(kind, entity, tuple(names or ()), tuple(properties or ()))
            for kind, entity, names, properties, _ in rows or ()
        ]
        return constraints, indexes


def example_value(value: Any) -> Scalar | None:
    """Return a value as an example of a schema: short scalars and ISO text, None for others."""
    match value:
        case bool() | int():
            return value
        case float():
            return value if value == value and abs(value) != float("inf") else None
        case str():
            return value if 0 < len(value) <= EXAMPLE_LENGTH else None
        case DateTime() | Date() | Time() | Duration():
            return str(value.iso_format())
    return None


def _unprintable(kinds: set[str]) -> bool:
    return all(kind.startswith(("LIST", "VECTOR", "BYTES", "POINT", "UNKNOWN")) for kind in kinds)


def _pairs(starts: Iterable[str], ends: Iterable[str]) -> list[tuple[str, str]]:
    """Return every label of the start with every label of the end; an empty name for none."""
    return [(a, b) for a in (list(starts) or [""]) for b in (list(ends) or [""])]
