"""Read the schema of a live graph, through ``Graph.run`` only.

All that is counted (labels, types, endpoint pairs, label combinations, coverage, reciprocity) is
counted by plain Cypher on every engine, so the schema does not depend on the source. Where a graph
is larger than the sample, names that the sample misses come from ``apoc.meta.schema`` or, without
it, from ``db.schema.nodeTypeProperties`` and ``db.schema.relTypeProperties``; such a property has
no coverage, and the schema says ``sampled``. Memgraph's own ``SHOW SCHEMA INFO`` is exact and taken
where it is switched on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cypherforge.core.errors import QueryError, QueryTimeout
from cypherforge.cypher.names import quote_name
from cypherforge.graph.declared import Declared, read_declared, read_rules
from cypherforge.graph.memgraph_schema import schema_of
from cypherforge.graph.policy import ALL_VALUES, ValuePolicy
from cypherforge.graph.schema import (
    Label,
    LabelSet,
    Pattern,
    Property,
    RelType,
    Scalar,
    Schema,
)
from cypherforge.graph.type_names import type_name, union_type
from cypherforge.graph.value_types import example_value, value_type

if TYPE_CHECKING:
    from cypherforge.graph.base import Graph

#: Nodes a label and relationships a type that are read at most, unless told otherwise.
SAMPLE = 100_000
#: Example values a property, and how many are looked at for them.
EXAMPLES, EXAMPLE_POOL = 3, 20

#: Seconds a query may take: reading a whole label takes longer than answering a question.
TIMEOUT = 60.0

_ALL_ROWS = 10_000_000
_UNSHOWN = ("LIST", "VECTOR", "BYTES", "POINT", "MAP", "UNKNOWN")


@dataclass
class _Sighting:
    """What was seen of the properties of one label or type; ``seen`` nodes or relationships."""

    seen: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    types: dict[str, set[str]] = field(default_factory=dict)
    examples: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)

    def add(self, key: str, kind: str, count: int) -> None:
        self.counts[key] = self.counts.get(key, 0) + count
        self.types.setdefault(key, set()).add(kind)

    def properties(self, also: Mapping[str, str]) -> tuple[Property, ...]:
        """Return the properties; ``also`` holds names that only the server's procedures know."""
        found = []
        for key, count in self.counts.items():
            coverage = min(1.0, count / self.seen) if self.seen else None
            found.append(
                Property(
                    key,
                    union_type(self.types[key]),
                    optional=coverage is not None and coverage < 1,
                    coverage=coverage,
                    values=self.examples.get(key, ()),
                )
            )
        # A name that the sample missed is rare, so it is optional; how rare is not known.
        found += [
            Property(key, kind, optional=True)
            for key, kind in also.items()
            if key not in self.counts
        ]
        return tuple(found)


def introspect(
    graph: Graph,
    *,
    sample: int = SAMPLE,
    policy: ValuePolicy = ALL_VALUES,
    examples: int = EXAMPLES,
    timeout: float = TIMEOUT,
) -> Schema:
    """Return the schema of a graph.

    ``sample`` bounds the nodes a label and relationships a type that are read (-1: all); labels and
    types are always complete. ``policy`` names the properties whose values are not to be kept, and
    ``examples`` is the number of example values of the others, the most frequent first. What the
    server lacks or refuses costs a warning in the schema, not the schema; a property that cannot be
    read has the type ``UNKNOWN``. ``timeout`` holds for each query, in seconds. Raises
    ``GraphUnavailable``, and ``QueryTimeout`` if even counting takes too long.
    """
    return _Introspection(graph, sample, policy, examples, timeout).run()


class _Introspection:
    def __init__(
        self, graph: Graph, sample: int, policy: ValuePolicy, examples: int, timeout: float
    ) -> None:
        self.timeout = timeout
        self.graph = graph
        self.neo4j = graph.engine.startswith("neo4j")
        self.sample = sample if sample >= 0 else None
        self.policy = policy
        self.examples = examples
        self.warnings: list[str] = []
        self.sampled = False
        self.source = "scan"
        self.has_value_type = True

    def run(self) -> Schema:
        if self.graph.engine.startswith("memgraph"):
            known = self.memgraph()
            if known is not None:
                return self.with_examples(known)
        label_counts, combinations = self.labels()
        type_counts = self.types()
        also = Declared()
        if self.neo4j and (self.larger(label_counts) or self.larger(type_counts)):
            also, self.source = read_declared(self.attempt)
        labels = [
            Label(name, self.label_properties(name, count, also.labels.get(name, {})), count)
            for name, count in sorted(label_counts.items())
        ]
        types: list[RelType] = []
        patterns: list[Pattern] = []
        for name, count in sorted(type_counts.items()):
            rel, pairs = self.relationships(name, count, also)
            types.append(rel)
            patterns += pairs
        constraints, indexes = read_rules(self.attempt) if self.neo4j else ([], [])
        return Schema.build(
            labels,
            types,
            patterns,
            co_labels=[LabelSet(names, count) for names, count in combinations.items()],
            constraints=constraints,
            indexes=indexes,
            sampled=self.sampled,
            sample_size=self.sample if self.sampled else None,
            source=self.source,
            warnings=tuple(self.warnings),
        )

    def rows(self, query: str, **parameters: Any) -> list[tuple[Any, ...]]:
        result = self.graph.run(query, parameters or None, timeout=self.timeout, limit=_ALL_ROWS)
        return list(result.rows)

    def attempt(self, query: str, what: str, **parameters: Any) -> list[tuple[Any, ...]] | None:
        """Run what the server may lack or refuse; None, and one warning, if it does."""
        try:
            return self.rows(query, **parameters)
        except QueryError as error:
            reason = (error.code or error.message).strip()
            self.warnings.append(f"{what} is not to be had here ({reason})")
            return None

    def larger(self, counts: Mapping[str, int]) -> bool:
        return self.sample is not None and any(n > self.sample for n in counts.values())

    def bound(self, count: int) -> str:
        """Return the LIMIT that keeps a read within the sample; nothing if it fits."""
        if self.sample is None or count <= self.sample:
            return ""
        self.sampled = True
        return f" LIMIT {self.sample}"

    def seen(self, count: int) -> int:
        return count if self.sample is None else min(count, self.sample)

    # Labels and types: never sampled, for a rare one must not be missed.

    def labels(self) -> tuple[dict[str, int], dict[tuple[str, ...], int]]:
        counts: dict[str, int] = {}
        sets: dict[tuple[str, ...], int] = {}
        total = self.rows("MATCH (n) RETURN count(n)")[0][0]
        if self.neo4j and self.sample is not None and total > self.sample:
            names = [row[0] for row in self.rows("CALL db.labels()")]
            counts = self.counted(names, "MATCH (n:{name}) RETURN {number} AS i, count(n) AS c")
            for name, count in counts.items():
                match = f"MATCH (n:{quote_name(name)}) WITH n{self.bound(count)}"
                for found, number in self.rows(f"{match} RETURN labels(n), count(*)"):
                    if len(found) > 1:
                        key = tuple(sorted(found))
                        sets[key] = max(sets.get(key, 0), number)
            return counts, sets
        for found, number in self.rows("MATCH (n) RETURN labels(n) AS l, count(*) AS c"):
            for name in found:
                counts[name] = counts.get(name, 0) + number
            if len(found) > 1:
                sets[tuple(sorted(found))] = number
            if not found:
                self.warnings.append(f"{number} nodes have no label")
        return counts, sets

    def types(self) -> dict[str, int]:
        if self.neo4j:
            names = [row[0] for row in self.rows("CALL db.relationshipTypes()")]
            query = "MATCH ()-[r:{name}]->() RETURN {number} AS i, count(r) AS c"
            return self.counted(names, query)
        rows = self.rows("MATCH ()-[r]->() RETURN type(r) AS t, count(*) AS c")
        return {name: count for name, count in rows}

    def counted(self, names: Iterable[str], query: str) -> dict[str, int]:
        """Count by name from the server's count store; names that no longer occur are dropped."""
        names = sorted(names)
        counts: dict[str, int] = {}
        for start in range(0, len(names), 40):
            part = names[start : start + 40]
            text = " UNION ALL ".join(
                query.replace("{number}", str(number)).replace("{name}", quote_name(name))
                for number, name in enumerate(part)
            )
            counts.update({part[number]: count for number, count in self.rows(text) if count})
        return counts

    # Properties and endpoint pairs: within the sample.

    def label_properties(
        self, name: str, count: int, also: Mapping[str, str]
    ) -> tuple[Property, ...]:
        match = f"MATCH (n:{quote_name(name)}) WITH n{self.bound(count)}"
        sighting = _Sighting(self.seen(count))
        for key, kind, number in self.keys_of(match, "n", name):
            sighting.add(key, kind, number)
        sighting.examples = self.find_examples(match, "n", name, sighting.types)
        return sighting.properties(also if count > sighting.seen else {})

    def relationships(self, name: str, count: int, also: Declared) -> tuple[RelType, list[Pattern]]:
        bound = self.bound(count)
        match = f"MATCH (a)-[r:{quote_name(name)}]->(b) WITH a, r, b{bound}"
        numbers: dict[tuple[str, str], int] = {}
        for starts, ends, number in self.rows(f"{match} RETURN labels(a), labels(b), count(*)"):
            for pair in _pairs(starts, ends):
                numbers[pair] = numbers.get(pair, 0) + number
        sighting = _Sighting(self.seen(count))
        keys: dict[tuple[str, str], set[str]] = {}
        for key, kind, number, starts, ends in self.keys_of(
            match, "r", name, ", labels(a) AS s, labels(b) AS e"
        ):
            sighting.add(key, kind, number)
            for pair in _pairs(starts, ends):
                keys.setdefault(pair, set()).add(key)
        sighting.examples = self.find_examples(match, "r", name, sighting.types)
        properties = sighting.properties(also.types.get(name, {}) if bound else {})
        rare = self.rare_pairs(name, also, numbers) if bound else []
        names = {item.name for item in properties}
        partial = not bound and any(keys.get(pair, set()) != names for pair in numbers)
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
        patterns += [Pattern(start, name, end) for start, end in rare]
        return RelType(name, properties, count, self.reciprocity(name, numbers, count)), patterns

    def rare_pairs(
        self, name: str, also: Declared, seen: Mapping[tuple[str, str], int]
    ) -> list[tuple[str, str]]:
        """Look for the pairs that the server thinks possible and the sample did not meet."""
        found = []
        for start, end in sorted(also.pairs.get(name, set()) - set(seen))[:200]:
            query = (
                f"MATCH (:{quote_name(start)})-[:{quote_name(name)}]->(:{quote_name(end)}) "
                "RETURN 1 LIMIT 1"
            )
            try:
                if self.graph.run(query, timeout=2.0, limit=1).rows:
                    found.append((start, end))
            except QueryTimeout:
                found.append((start, end))
                self.warnings.append(f"not certain: (:{start})-[:{name}]->(:{end})")
        return found

    def reciprocity(
        self, name: str, pairs: Mapping[tuple[str, str], int], count: int
    ) -> float | None:
        if not any((end, start) in pairs for start, end in pairs):
            return 0.0
        from cypherforge.graph.statistics import reciprocity_of

        if self.sample is not None and count > self.sample:
            return None
        try:
            return reciprocity_of(self.graph, name, timeout=self.timeout)
        except QueryTimeout:
            self.warnings.append(f"the reciprocity of {name} takes too long to count")
            return None

    def keys_of(self, match: str, variable: str, owner: str, more: str = "") -> list[Any]:
        """Return rows of key, type, count and ``more``, whatever the engine can do itself."""
        unwind = f"{match} UNWIND keys({variable}) AS k"
        if self.has_value_type:
            try:
                kind = f"valueType({variable}[k])"
                rows = self.rows(f"{unwind} RETURN k, {kind} AS t, count(*) AS c{more}")
                return [self.refined(match, variable, owner, row) for row in rows]
            except QueryTimeout:
                raise
            except QueryError:
                pass
        # One unreadable property must not cost the others: ask key by key.
        kinds: dict[str, str] = {}
        rows = self.rows(f"{unwind} RETURN k, '' AS t, count(*) AS c{more}")
        for row in rows:
            if row[0] not in kinds:
                kinds[row[0]] = self.kind_of(match, variable, owner, row[0])
        return [(row[0], kinds[row[0]], *row[2:]) for row in rows]

    def refined(
        self, match: str, variable: str, owner: str, row: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Look into the lists that the engine does not tell apart."""
        kind = type_name(row[1])
        if _vague(row[1]):
            kind = self.kind_by_values(match, variable, owner, row[0])
        return (row[0], kind, *row[2:])

    def kind_of(self, match: str, variable: str, owner: str, key: str) -> str:
        dotted = f"{variable}.{quote_name(key)}"
        if self.has_value_type:
            try:
                found = self.rows(
                    f"{match} WHERE {dotted} IS NOT NULL RETURN DISTINCT valueType({dotted})"
                )
                if not any(_vague(row[0]) for row in found):
                    return union_type(type_name(row[0]) for row in found)
            except QueryTimeout:
                raise
            except QueryError:
                pass
        return self.kind_by_values(match, variable, owner, key)

    def kind_by_values(self, match: str, variable: str, owner: str, key: str) -> str:
        dotted = f"{variable}.{quote_name(key)}"
        try:
            found = self.rows(f"{match} WHERE {dotted} IS NOT NULL RETURN {dotted} LIMIT 1000")
            kinds = {value_type(row[0]) for row in found}
        except QueryTimeout:
            raise
        except QueryError as error:
            self.warnings.append(f"{owner}.{key} cannot be read: {error.message}")
            return "UNKNOWN"
        if "UNKNOWN" in kinds:
            unreadable = next(row[0] for row in found if value_type(row[0]) == "UNKNOWN")
            advice = getattr(unreadable, "advice", "")
            self.warnings.append(f"{owner}.{key} cannot be read{': ' + advice if advice else ''}")
        return union_type(kinds)

    def find_examples(
        self, match: str, variable: str, owner: str, types: Mapping[str, Iterable[str]]
    ) -> dict[str, tuple[Scalar, ...]]:
        """Return the most frequent short values of each property, ties in the values' order."""
        wanted = [
            key
            for key, kinds in sorted(types.items())
            if self.policy.allows(owner, key) and not all(k.startswith(_UNSHOWN) for k in kinds)
        ]
        if not wanted or self.examples <= 0:
            return {}
        query = (
            f"{match} UNWIND $keys AS k WITH k, {variable}[k] AS v WHERE v IS NOT NULL "
            "WITH k, v, count(*) AS c ORDER BY k, c DESC, v "
            f"WITH k, collect(v)[..{EXAMPLE_POOL}] AS vs RETURN k, vs"
        )
        try:
            rows = self.rows(query, keys=wanted)
        except QueryError as error:
            self.warnings.append(f"no example values of {owner}: {error.message}")
            return {}
        found: dict[str, tuple[Scalar, ...]] = {}
        for key, values in rows:
            shown = [x for value in values if (x := example_value(value)) is not None]
            found[key] = tuple(shown[: self.examples])
        return found

    # Memgraph tells its schema itself.

    def memgraph(self) -> Schema | None:
        rows = self.attempt("SHOW SCHEMA INFO", "SHOW SCHEMA INFO")
        if not rows:
            self.warnings.append("start Memgraph with --schema-info-enabled for an exact schema")
            return None
        return schema_of(rows[0][0])

    def with_examples(self, schema: Schema) -> Schema:
        """Add the example values and reciprocity that ``SHOW SCHEMA INFO`` does not have."""
        labels: list[Label] = []
        for label in schema.labels.values():
            match = f"MATCH (n:{quote_name(label.name)}) WITH n{self.bound(label.count or 0)}"
            kinds = {item.name: item.types for item in label.properties}
            found = self.find_examples(match, "n", label.name, kinds)
            labels.append(replace(label, properties=_filled(label.properties, found)))
        types: list[RelType] = []
        for rel in schema.types.values():
            bound = self.bound(rel.count or 0)
            match = f"MATCH (a)-[r:{quote_name(rel.name)}]->(b) WITH a, r, b{bound}"
            kinds = {item.name: item.types for item in rel.properties}
            found = self.find_examples(match, "r", rel.name, kinds)
            pairs = {(p.start, p.end): p.count or 0 for p in schema.patterns_of(rel.name)}
            types.append(
                replace(
                    rel,
                    properties=_filled(rel.properties, found),
                    reciprocity=self.reciprocity(rel.name, pairs, rel.count or 0),
                )
            )
        return replace(
            schema,
            labels={item.name: item for item in labels},
            types={item.name: item for item in types},
            warnings=tuple(self.warnings),
        )


def _vague(kind: str) -> bool:
    """ArcadeDB says ``LIST<ANY>`` of every list, Neo4j ``LIST<INTEGER NOT NULL>`` of bytes too."""
    return kind.startswith("LIST") and ("ANY" in kind or type_name(kind) == "LIST<INTEGER>")


def _filled(
    properties: tuple[Property, ...], found: Mapping[str, tuple[Scalar, ...]]
) -> tuple[Property, ...]:
    return tuple(replace(item, values=found.get(item.name, ())) for item in properties)


def _pairs(starts: Iterable[str], ends: Iterable[str]) -> list[tuple[str, str]]:
    """Return every label of the start with every label of the end; an empty name for none."""
    return [(a, b) for a in (list(starts) or [""]) for b in (list(ends) or [""])]
