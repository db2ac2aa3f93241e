"""The schema of a property graph: frozen, sorted, the same whatever source it came from.

Labels, relationship types and properties are separate namespaces, so one name may stand for a
label and a type at once. A :class:`Pattern` is one endpoint pair of a type (several a type are
usual); its ``count`` counts the relationships whose start carries the start label and whose end
the end label, so a relationship between nodes of two labels is counted under each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from cypherforge.graph.type_names import union_members, union_type

#: An example value as a schema keeps it: temporal and spatial values are their ISO / display text.
Scalar = str | int | float | bool

#: Properties on fewer than half of the nodes or relationships are called sparse.
SPARSE_BELOW = 0.5

_Owner = TypeVar("_Owner", "Label", "RelType")


@dataclass(frozen=True, slots=True)
class Property:
    """One property of a label or a relationship type.

    ``type`` is a Neo4j type name (``STRING``, ``LIST<INTEGER>``, ``DATE_TIME`` ...), several joined
    by `` | `` where the stored values differ, ``UNKNOWN`` where it could not be read.
    ``coverage`` is the share (0..1) of nodes or relationships that have it, None if not measured;
    ``optional`` is True if some are known to lack it. ``low``/``high`` are the least and greatest
    value, ``distinct`` the number of different ones, ``sizes`` the least and greatest list length.
    """

    name: str
    type: str = "STRING"
    optional: bool = False
    coverage: float | None = None
    values: tuple[Scalar, ...] = ()
    low: Scalar | None = None
    high: Scalar | None = None
    distinct: int | None = None
    sizes: tuple[int, int] | None = None
    description: str | None = None

    @property
    def types(self) -> tuple[str, ...]:
        """The members of a union type; one member for a plain type."""
        return tuple(union_members(self.type))

    @property
    def sparse(self) -> bool:
        """True if fewer than half of the nodes or relationships have it."""
        return self.coverage is not None and self.coverage < SPARSE_BELOW

    def merged(self, other: Property) -> Property:
        """Return one property for two sightings of the same name: types joined, optional wins."""
        return replace(
            self,
            type=union_type((self.type, other.type)),
            optional=self.optional or other.optional,
            coverage=self.coverage if self.coverage == other.coverage else None,
            values=self.values or other.values,
            low=self.low if self.low is not None else other.low,
            high=self.high if self.high is not None else other.high,
            distinct=self.distinct if self.distinct is not None else other.distinct,
            sizes=self.sizes or other.sizes,
            description=self.description or other.description,
        )


@dataclass(frozen=True, slots=True)
class Label:
    """A node label with its properties (sorted by name) and the number of nodes, if known."""

    name: str
    properties: tuple[Property, ...] = ()
    count: int | None = None
    description: str | None = None

    def property(self, name: str) -> Property | None:
        """Return the property of that name, None if there is none."""
        return next((item for item in self.properties if item.name == name), None)


@dataclass(frozen=True, slots=True)
class RelType:
    """A relationship type; ``reciprocity`` is the share of its edges also stored reversed."""

    name: str
    properties: tuple[Property, ...] = ()
    count: int | None = None
    reciprocity: float | None = None
    description: str | None = None

    def property(self, name: str) -> Property | None:
        """Return the property of that name, None if there is none."""
        return next((item for item in self.properties if item.name == name), None)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One endpoint pair of a type; an empty label stands for nodes that have none.

    ``properties`` names the relationship properties seen on this pair, None if only the type's
    are known.
    """

    start: str
    type: str
    end: str
    count: int | None = None
    properties: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, order=True)
class Constraint:
    """A constraint of the database: ``kind`` is Neo4j's name, e.g. ``UNIQUENESS``."""

    kind: str
    entity: Literal["NODE", "RELATIONSHIP"]
    name: str
    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class Index:
    """An index that no constraint owns: ``kind`` is Neo4j's name, e.g. ``RANGE``, ``FULLTEXT``."""

    kind: str
    entity: Literal["NODE", "RELATIONSHIP"]
    names: tuple[str, ...]
    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LabelSet:
    """A combination of two or more labels that occurs on nodes, and on how many."""

    labels: tuple[str, ...]
    count: int | None = None


@dataclass(frozen=True)
class Schema:
    """A whole schema. Build it with :meth:`build`, :meth:`parse` or ``introspect``.

    Equality leaves out where it came from (``source``, ``warnings``, ``raw``). ``sampled`` says
    whether names or counts may be missing because only ``sample_size`` nodes a label were read.
    """

    labels: Mapping[str, Label] = field(default_factory=dict)
    types: Mapping[str, RelType] = field(default_factory=dict)
    patterns: tuple[Pattern, ...] = ()
    co_labels: tuple[LabelSet, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    indexes: tuple[Index, ...] = ()
    sampled: bool = False
    sample_size: int | None = None
    name: str = ""
    source: str = field(default="", compare=False)
    warnings: tuple[str, ...] = field(default=(), compare=False)
    raw: str = field(default="", compare=False, repr=False)

    @classmethod
    def build(
        cls,
        labels: Iterable[Label] = (),
        types: Iterable[RelType] = (),
        patterns: Iterable[Pattern] = (),
        **rest: Any,
    ) -> Schema:
        """Return a schema with everything sorted, doubles merged and used names declared.

        A pattern may name a label or type that is not listed: it is added without properties.
        ``rest`` holds the other fields of the class.
        """
        all_labels: dict[str, Label] = {}
        for label in labels:
            known = all_labels.get(label.name)
            all_labels[label.name] = _joined(known, label) if known else _ordered(label)
        all_types: dict[str, RelType] = {}
        for rel in types:
            seen = all_types.get(rel.name)
            all_types[rel.name] = _joined(seen, rel) if seen else _ordered(rel)
        all_patterns: dict[tuple[str, str, str], Pattern] = {}
        for pattern in patterns:
            key = (pattern.start, pattern.type, pattern.end)
            old = all_patterns.get(key)
            all_patterns[key] = _joined_pattern(old, pattern)
            all_types.setdefault(pattern.type, RelType(pattern.type))
            for end in {pattern.start, pattern.end} - {""}:
                all_labels.setdefault(end, Label(end))
        sets: dict[tuple[str, ...], LabelSet] = {}
        for item in rest.pop("co_labels", ()):
            names = tuple(sorted(set(item.labels)))
            for name in names:
                all_labels.setdefault(name, Label(name))
            if len(names) > 1:
                sets[names] = LabelSet(names, item.count)
        for key_name in ("constraints", "indexes"):
            rest[key_name] = tuple(sorted(set(rest.get(key_name, ()))))
        return cls(
            labels={name: all_labels[name] for name in sorted(all_labels)},
            types={name: all_types[name] for name in sorted(all_types)},
            patterns=tuple(all_patterns[key] for key in sorted(all_patterns)),
            co_labels=tuple(sets[key] for key in sorted(sets)),
            **rest,
        )

    def __hash__(self) -> int:
        return hash((tuple(self.labels), tuple(self.types), self.patterns))

    @cached_property
    def _by_type(self) -> dict[str, tuple[Pattern, ...]]:
        table: dict[str, list[Pattern]] = {}
        for pattern in self.patterns:
            table.setdefault(pattern.type, []).append(pattern)
        return {name: tuple(items) for name, items in table.items()}

    @cached_property
    def _triples(self) -> frozenset[tuple[str, str, str]]:
        return frozenset((p.start, p.type, p.end) for p in self.patterns)

    def patterns_of(self, rel_type: str) -> tuple[Pattern, ...]:
        """Return the endpoint pairs of a type, sorted; empty if it is unknown."""
        return self._by_type.get(rel_type, ())

    def patterns_between(self, a: str, b: str) -> tuple[Pattern, ...]:
        """Return the patterns that join two labels, in either direction."""
        return tuple(p for p in self.patterns if (p.start, p.end) in ((a, b), (b, a)))

    def has_direction(self, start: str | None, rel_type: str | None, end: str | None) -> bool:
        """Return whether an arrow from start to end is declared; None stands for anything."""
        if start is not None and rel_type is not None and end is not None:
            return (start, rel_type, end) in self._triples
        candidates = self.patterns if rel_type is None else self.patterns_of(rel_type)
        return any(
            (start is None or p.start == start) and (end is None or p.end == end)
            for p in candidates
        )

    def labels_of(self, rel_type: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the start labels and the end labels of a type."""
        patterns = self.patterns_of(rel_type)
        return frozenset(p.start for p in patterns), frozenset(p.end for p in patterns)

    def property_of(self, label: str, key: str) -> Property | None:
        """Return a property of a node label, None if label or property is unknown."""
        owner = self.labels.get(label)
        return owner.property(key) if owner else None

    def type_property_of(self, rel_type: str, key: str) -> Property | None:
        """Return a property of a relationship type, None if type or property is unknown."""
        owner = self.types.get(rel_type)
        return owner.property(key) if owner else None

    def labels_with(self, key: str) -> tuple[str, ...]:
        """Return the labels that have a property of that name."""
        return tuple(name for name, label in self.labels.items() if label.property(key))

    def properties_on(self, pattern: Pattern) -> tuple[Property, ...]:
        """Return the relationship properties that occur on one endpoint pair."""
        everything = self.types[pattern.type].properties
        if pattern.properties is None:
            return everything
        return tuple(item for item in everything if item.name in pattern.properties)

    def together(self, labels: Iterable[str]) -> bool | None:
        """Return whether one node can carry all these labels; None if the schema cannot tell."""
        wanted = set(labels)
        if len(wanted) < 2:
            return True
        if any(wanted <= set(item.labels) for item in self.co_labels):
            return True
        known = bool(self.co_labels) or all(x.count is not None for x in self.labels.values())
        return False if known and not self.sampled else None

    def names(self) -> frozenset[str]:
        """Return every label, type and property name."""
        found: set[str] = {*self.labels, *self.types}
        owners: list[Label | RelType] = [*self.labels.values(), *self.types.values()]
        for owner in owners:
            found.update(item.name for item in owner.properties)
        return frozenset(found)

    @property
    def empty(self) -> bool:
        """True if there is neither a label nor a type."""
        return not self.labels and not self.types

    @cached_property
    def digest(self) -> str:
        """Return a digest of the content, the same for equal schemas."""
        from cypherforge.core.files import digest, dumps

        return digest(dumps(self.to_json()))

    @classmethod
    def parse(cls, text_or_path: str | Path, format: str | None = None) -> Schema:
        """Read a schema from a file or from text, in any of the known formats.

        The format is recognised by content unless given. Raises ``InputError`` if it is none of
        them; no model is ever asked.
        """
        from cypherforge.graph.formats import parse_schema

        return parse_schema(text_or_path, format)

    def to_json(self) -> dict[str, Any]:
        """Return the plain form that :meth:`from_json` reads back without loss."""
        from cypherforge.graph.formats.spec import to_plain

        return to_plain(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Schema:
        """Build a schema from the plain form; raises ``InputError`` naming the wrong place."""
        from cypherforge.graph.formats.spec import from_plain

        return from_plain(value)


def _ordered(owner: _Owner) -> _Owner:
    merged: dict[str, Property] = {}
    for item in owner.properties:
        merged[item.name] = merged[item.name].merged(item) if item.name in merged else item
    return replace(owner, properties=tuple(merged[name] for name in sorted(merged)))


def _joined(first: _Owner, second: _Owner) -> _Owner:
    both = replace(
        first,
        properties=first.properties + second.properties,
        count=first.count if first.count is not None else second.count,
        description=first.description or second.description,
    )
    return _ordered(both)


def _joined_pattern(first: Pattern | None, second: Pattern) -> Pattern:
    names = None if second.properties is None else tuple(sorted(set(second.properties)))
    if first is None:
        return replace(second, properties=names)
    if first.properties is not None and names is not None:
        names = tuple(sorted({*first.properties, *names}))
    return replace(
        first, count=first.count if first.count is not None else second.count, properties=names
    )
