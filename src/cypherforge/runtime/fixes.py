"""Fixes of a drafted query that need no model: what the dialect, the schema or the data settle.

CypherGuard, section 3.3: FixRelTypes, AlignDirections, RedirectSelfLoops, in that order, before the
first execution. Each works on spans, so that comments and strings stay byte for byte; what the
schema cannot decide is left alone and said in the notes. Dialect repair comes before them, the fix
of literals after them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from rapidfuzz import fuzz

from cypherforge.core.errors import QueryError
from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.bindings import Entity, Link, resolve
from cypherforge.cypher.dialects import repair_dialect
from cypherforge.cypher.edits import Edit, apply_edits
from cypherforge.cypher.rewrite import (
    flip_relationship,
    rename_property,
    rename_type,
    replace_literal,
    set_direction,
)
from cypherforge.graph.base import Graph
from cypherforge.graph.schema import Schema
from cypherforge.graph.statistics import reciprocity_of
from cypherforge.graph.value_index import ValueIndex
from cypherforge.graph.value_text import normalise
from cypherforge.runtime.literals import Binding, bindings_of

#: From this share of edges also stored reversed a type counts as reciprocal.
RECIPROCITY = 0.9
#: Names this alike (0..100) are one name misspelt.
_ALIKE = 80.0


@dataclass(frozen=True, slots=True)
class Fixed:
    """The text after a fix, and what was done or could not be decided, one sentence each."""

    text: str
    notes: tuple[str, ...] = ()


class Fix(Protocol):
    """A removable fix. It never raises for a text that does not parse: it leaves it."""

    @property
    def name(self) -> str:
        """What the trace calls it."""

    def apply(self, text: str) -> Fixed:
        """The text, fixed where that is settled."""


@dataclass(frozen=True, slots=True)
class RepairDialect:
    """Words of SQL and of older Cypher, rewritten where their meaning is clear."""

    dialect: str
    names: Collection[str] = ()
    name: str = "dialect"

    def apply(self, text: str) -> Fixed:
        """See ``Fix.apply``."""
        repaired = repair_dialect(text, self.dialect, self.names)
        return Fixed(repaired.text, tuple(step.message for step in repaired.steps))


class OnTree:
    """A fix of the parsed query: edits and notes."""

    name = ""

    def apply(self, text: str) -> Fixed:
        """See ``Fix.apply``."""
        try:
            query = parse(text)
        except CypherSyntaxError:
            return Fixed(text)
        edits: list[Edit] = []
        notes: list[str] = []
        for changes, note in self.changes(query):
            edits += changes
            notes.append(note)
        return Fixed(apply_edits(text, edits) if edits else text, tuple(notes))

    def changes(self, query: ast.Query) -> Iterator[tuple[list[Edit], str]]:
        """Edits with a sentence each; no edits where something is only flagged."""
        raise NotImplementedError


@dataclass(frozen=True)
class FixRelTypes(OnTree):
    """An undeclared relationship type becomes one that is declared between the two labels.

    CypherGuard takes the first that the schema declares. Of several, one that is spelt alike goes
    before the first; the others are named in the note.
    """

    schema: Schema
    name = "rel_types"

    def changes(self, query: ast.Query) -> Iterator[tuple[list[Edit], str]]:
        """See ``OnTree.changes``."""
        for link in resolve(query).links:
            for written in _type_names(link.pattern):
                if written.name in self.schema.types:
                    continue
                candidates = self.candidates(link)
                if not candidates:
                    yield (
                        [],
                        f"the type {written.name} is not declared; nothing decides for another",
                    )
                    continue
                chosen = _nearest(written.name, candidates)
                others = [c for c in candidates if c != chosen]
                also = f" (also possible: {', '.join(others)})" if others else ""
                note = f"the type {written.name} is not declared: {chosen}{also}"
                yield rename_type(query, written, chosen), note

    def candidates(self, link: Link) -> list[str]:
        """The types declared between the labels of the two ends, in either direction."""
        left, right = link.left.names, link.right.names
        if not left or not right:
            return []
        return list(
            dict.fromkeys(
                p.type
                for p in self.schema.patterns
                if (p.start in left and p.end in right) or (p.start in right and p.end in left)
            )
        )


@dataclass(frozen=True)
class AlignDirections(OnTree):
    """An arrow that the schema declares only the other way is turned round."""

    schema: Schema
    name = "directions"

    def changes(self, query: ast.Query) -> Iterator[tuple[list[Edit], str]]:
        """See ``OnTree.changes``."""
        for link in resolve(query).links:
            types = link.relationship.names
            if not link.directed or link.pattern.quantifier is not None:
                continue
            if not types or not types <= set(self.schema.types):
                continue
            start, end = link.start, link.end
            if declared(self.schema, types, start, end):
                continue
            if declared(self.schema, types, end, start):
                shown = "|".join(sorted(types))
                note = f"{shown} is declared only from {_named(end)} to {_named(start)}: turned"
                yield flip_relationship(query, link.pattern), note
            elif start.labels and end.labels:
                shown = "|".join(sorted(types))
                yield [], f"{shown} is not declared between {_named(start)} and {_named(end)}"


@dataclass(frozen=True)
class FixOwners(OnTree):
    """A property that its variable cannot have, but exactly one other of the pattern, moves there.

    ``avg(m.watchCount)`` where the relationship holds it becomes ``avg(w.watchCount)``; a
    relationship without a name gets one. Only before the first WITH, where all names are in scope.
    """

    schema: Schema
    name = "owners"

    def changes(self, query: ast.Query) -> Iterator[tuple[list[Edit], str]]:
        """See ``OnTree.changes``."""
        bindings = resolve(query)
        ends = [node.span[0] for node in query.walk() if isinstance(node, ast.With)]
        limit = min(ends, default=len(query.text))
        linked = {id(link.relationship): link.pattern for link in bindings.links}
        given: dict[int, str] = {}
        for node in query.walk():
            if not isinstance(node, ast.PropertyAccess) or node.span[1] > limit:
                continue
            if not isinstance(node.subject, ast.Variable):
                continue
            entity = bindings.of(node.subject)
            if entity is None or self.has(entity, node.key.name) is not False:
                continue
            owners = [e for e in bindings.entities if self.has(e, node.key.name)]
            if len(owners) != 1:
                continue
            (owner,) = owners
            edits: list[Edit] = []
            name = owner.name or given.get(id(owner))
            if name is None:
                pattern = linked.get(id(owner))
                bracket = query.text.find("[", *pattern.span) if pattern is not None else -1
                if bracket < 0:
                    continue
                name = given[id(owner)] = unused(query, "rel")
                edits.append(Edit(bracket + 1, bracket + 1, name))
            edits.append(Edit(*node.subject.span, name))
            note = f"{node.key.name} is not of {_named(entity)} but of {_named(owner)}"
            yield edits, note

    def has(self, entity: Entity, key: str) -> bool | None:
        """Whether a thing can have a property; None where its labels or types do not say."""
        if entity.kind not in ("node", "relationship") or not entity.names:
            return None
        known = self.schema.labels if entity.kind == "node" else self.schema.types
        if not entity.names <= set(known):
            return None
        owners = set(entity.names)
        if entity.kind == "node":
            owners |= {
                label
                for label in self.schema.labels
                if any(self.schema.together((label, one)) for one in entity.names)
            }
        return any(known[owner].property(key) is not None for owner in owners)


def unused(query: ast.Query, wanted: str, also: Collection[str] = ()) -> str:
    """A name that no variable of the query has, nor any of ``also``: the wanted one, or numbered."""
    taken = {node.name for node in query.walk() if isinstance(node, ast.Variable)} | set(also)
    number = 2
    name = wanted
    while name in taken:
        name, number = f"{wanted}{number}", number + 1
    return name


@dataclass(frozen=True)
class RedirectSelfLoops(OnTree):
    """An undirected pattern over a type stored in both directions gets one, or it counts twice.

    ``measure`` gives the reciprocity of a type that the schema does not know it of; it is asked
    once for each type.
    """

    schema: Schema
    measure: Callable[[str], float | None] = lambda _: None
    threshold: float = RECIPROCITY
    name = "self_loops"

    def changes(self, query: ast.Query) -> Iterator[tuple[list[Edit], str]]:
        """See ``OnTree.changes``."""
        for link in resolve(query).links:
            types = link.relationship.names
            if link.directed or link.pattern.quantifier is not None or len(types) != 1:
                continue
            (kind,) = types
            if kind not in self.schema.types or not _same_label(self.schema, kind, link):
                continue
            share = self.schema.types[kind].reciprocity
            if share is None:
                share = self.measure(kind)
            if share is not None and share >= self.threshold:
                note = f"{share:.0%} of {kind} is stored in both directions: given one"
                yield set_direction(query, link.pattern, "right"), note


class Reciprocity:
    """Measures the reciprocity of types on a graph, once each."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[str, float | None] = {}
        self._lock = threading.Lock()

    def __call__(self, kind: str) -> float | None:
        """The share of a type's edges that are also stored reversed; None if it cannot be told."""
        with self._lock:
            if kind not in self._known:
                try:
                    self._known[kind] = reciprocity_of(self._graph, kind)
                except QueryError:
                    self._known[kind] = None
            return self._known[kind]


@dataclass(frozen=True)
class FixLiterals(OnTree):
    """A literal that is stored nowhere as written, but in one place in another case or spelling.

    A value that differs only in case, accents, quotes or blanks is written as it is stored. One that
    is stored under exactly one other property of the same label moves there. Anything less sure is
    left to the model (``literals.grounding_notes``).
    """

    schema: Schema
    index: ValueIndex
    name = "literals"

    def changes(self, query: ast.Query) -> Iterator[tuple[list[Edit], str]]:
        """See ``OnTree.changes``."""
        for binding in bindings_of(query, self.schema):
            if not binding.exact or not isinstance(binding.value, str) or not binding.owners:
                continue
            held = [self.index.holds(o, binding.key, binding.value) for o in binding.owners]
            if any(h is not False for h in held):
                continue
            spelt = self.spellings(binding, binding.key)
            if len(spelt) == 1:
                note = f"{binding.value!r} is stored as {spelt[0]!r}"
                yield replace_literal(query, binding.literal, spelt[0]), note
                continue
            if not spelt and binding.name is not None and binding.sole:
                yield from self.moved(query, binding)

    def spellings(self, binding: Binding, key: str) -> list[str]:
        """The stored values that equal the literal but for case, accents and marks."""
        assert isinstance(binding.value, str)
        hits = [
            hit
            for owner in binding.owners
            for hit in self.index.find(binding.value, owner=owner, name=key, least=100.0)
        ]
        return sorted({h.value for h in hits if h.match in ("exact", "normalised")})

    def moved(self, query: ast.Query, binding: Binding) -> Iterator[tuple[list[Edit], str]]:
        """The key renamed, where one other property of the label stores the value."""
        assert binding.name is not None
        keys: dict[str, list[str]] = {}
        for owner in binding.owners:
            item = self.schema.labels.get(owner) or self.schema.types.get(owner)
            for prop in item.properties if item else ():
                if prop.name != binding.key and "LIST" not in prop.type:
                    keys.setdefault(prop.name, [])
        for key in keys:
            keys[key] = self.spellings(binding, key)
        found = [(key, values) for key, values in keys.items() if values]
        if len(found) == 1 and len(found[0][1]) == 1:
            key, (value,) = found[0]
            edits = rename_property(query, binding.name, key)
            if value != binding.value:
                edits += replace_literal(query, binding.literal, value)
            yield edits, f"{binding.value!r} is stored under {key}, not under {binding.key}"


def schema_fixes(schema: Schema, graph: Graph | None = None) -> tuple[Fix, ...]:
    """The three fixes of CypherGuard in their order."""
    measure = Reciprocity(graph) if graph is not None else (lambda _: None)
    return (
        FixRelTypes(schema),
        AlignDirections(schema),
        RedirectSelfLoops(schema, measure),
    )


def apply_all(fixes: Sequence[Fix], text: str) -> tuple[str, list[tuple[str, str]]]:
    """Run the fixes in order; return the text and ``(fix, note)`` pairs."""
    notes: list[tuple[str, str]] = []
    for fix in fixes:
        fixed = fix.apply(text)
        notes += ((fix.name, note) for note in fixed.notes)
        text = fixed.text
    return text, notes


def declared(schema: Schema, types: Iterable[str], start: Entity, end: Entity) -> bool:
    """Whether an arrow of one of the types may lead from start to end, as far as labels say."""
    return any(
        fits(schema, p.start, start) and fits(schema, p.end, end)
        for kind in types
        for p in schema.patterns_of(kind)
    )


def fits(schema: Schema, label: str, entity: Entity) -> bool:
    """Whether a node with this label can be that entity."""
    return all(
        label in options or any(schema.together((label, one)) for one in options)
        for options in entity.labels
    )


def _same_label(schema: Schema, kind: str, link: Link) -> bool:
    """Whether the type joins a label with itself, and both ends of the link may be that label."""
    return any(
        p.start == p.end and fits(schema, p.start, link.left) and fits(schema, p.end, link.right)
        for p in schema.patterns_of(kind)
    )


def _type_names(pattern: ast.RelationshipPattern) -> list[ast.LabelName]:
    if pattern.types is None:
        return []
    return [node for node in pattern.types.walk() if isinstance(node, ast.LabelName)]


def _nearest(name: str, candidates: Sequence[str]) -> str:
    """The candidate spelt most alike, if one is; else the first."""

    def plain(text: str) -> str:
        return normalise(text).replace("_", "").replace(" ", "")

    scores = [float(fuzz.ratio(plain(name), plain(c))) for c in candidates]
    best = max(range(len(candidates)), key=lambda i: (scores[i], -i))
    return candidates[best] if scores[best] >= _ALIKE else candidates[0]


def _named(entity: Entity) -> str:
    return f"(:{'|'.join(sorted(entity.names))})" if entity.names else "()"
