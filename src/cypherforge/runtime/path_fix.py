"""Paths of a draft that the schema does not have, mended where it has exactly one way.

Small models hang a hop on the wrong node (``(m)-[:HAS]->(g)<-[:WATCHED]-(u)``), leave out the node
between two others, or read a property of something that they never matched. What stands in the
query cannot find anything then, so nothing is lost by a repair; where the schema offers several,
the query stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Bindings, Entity, Link, resolve
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name
from cypherforge.graph.narrow import word_parts
from cypherforge.graph.schema import Pattern, Schema
from cypherforge.runtime.fixes import Fixed, OnTree, declared, fits, unused
from cypherforge.runtime.schema_grammar import variable_names

_ANY_LINK = ("r", "rel")
#: Hops that one draft may be given.
_HOPS = 3
#: What a node is called by, where a draft reads its label as a property: ``m.genre``.
_CALLED = ("name", "title")


@dataclass(frozen=True)
class FixEndpoints(OnTree):
    """A relationship between labels that its type never joins.

    In this order: the only type declared between the two labels takes its place (if no property
    speaks against it); it is hung on the only other node of the MATCH that it fits; the only node
    that can stand between is put between.
    """

    schema: Schema
    name = "endpoints"

    def changes(self, query: ast.Query) -> Iterator[tuple[list[Edit], str]]:
        """See ``OnTree.changes``. One relationship of a path is mended at a time."""
        bindings = resolve(query)
        touched: set[int] = set()
        for link in bindings.links:
            if not isinstance(link.clause, ast.Match) or id(link.part) in touched:
                continue
            kind = self.wrong(link)
            if kind is None:
                continue
            found = (
                self.retyped(query, link, kind)
                or self.moved(query, link, kind, bindings)
                or self.bridged(query, link, kind)
            )
            if found is not None:
                touched.add(id(link.part))
                yield found

    def wrong(self, link: Link) -> str | None:
        """The type of a relationship that joins no such labels, either way round."""
        types = link.relationship.names
        if len(types) != 1 or link.pattern.quantifier is not None:
            return None
        (kind,) = types
        known = set(self.schema.labels)
        for end in (link.left, link.right):
            if len(end.labels) != 1 or len(end.names) != 1 or not end.names <= known:
                return None
        if kind not in self.schema.types or link.left is link.right:
            return None
        either = declared(self.schema, [kind], link.left, link.right) or declared(
            self.schema, [kind], link.right, link.left
        )
        return None if either else kind

    def retyped(self, query: ast.Query, link: Link, kind: str) -> tuple[list[Edit], str] | None:
        """The one type declared between the two labels."""
        fitting = [
            p
            for p in self.schema.patterns
            if (fits(self.schema, p.start, link.left) and fits(self.schema, p.end, link.right))
            or (fits(self.schema, p.start, link.right) and fits(self.schema, p.end, link.left))
        ]
        types = {p.type for p in fitting}
        if len(types) != 1 or len({(p.start, p.end) for p in fitting}) != 1:
            return None
        if link.pattern.properties is not None or _read(query, link.relationship):
            return None
        (chosen,) = types
        right = fits(self.schema, fitting[0].start, link.left)
        variable = link.relationship.name
        text = _arrow(f"{quote_name(variable) if variable else ''}:{quote_name(chosen)}", right)
        note = f"{kind} joins no {_label(link.left)} and {_label(link.right)}: {chosen} does"
        return [Edit(*link.pattern.span, text)], note

    def moved(
        self, query: ast.Query, link: Link, kind: str, bindings: Bindings
    ) -> tuple[list[Edit], str] | None:
        """Hung on another node of the same MATCH: ``(a)-[:X]->(b), (a)-[:T]->(c)``."""
        near = {
            id(e): e
            for other in bindings.links
            if other.clause is link.clause
            for e in (other.left, other.right)
        }
        options: list[tuple[bool, Entity, bool]] = []
        for node in near.values():
            if node is link.left or node is link.right or not node.labels:
                continue
            for keeps_right, kept in ((True, link.right), (False, link.left)):
                if declared(self.schema, [kind], node, kept):
                    options.append((keeps_right, node, True))
                elif declared(self.schema, [kind], kept, node):
                    options.append((keeps_right, node, False))
        if len(options) != 1:
            return None
        ((keeps_right, node, leaves),) = options
        edits: list[Edit] = []
        name = node.name
        if name is None:
            name = unused(query, _first_name(node))
            opening = node.nodes[0].span[0] + 1
            edits.append(Edit(opening, opening, quote_name(name)))
        inner = _inner(query, link.pattern)
        shown = f"({quote_name(name)})"
        if keeps_right:
            text = f", {shown}{_arrow(inner, leaves)}"
        else:
            text = f"{_arrow(inner, not leaves)}{shown}, "
        edits.append(Edit(*link.pattern.span, text))
        note = f"{kind} joins no {_label(link.left)} and {_label(link.right)}: hung on {name}"
        return edits, note

    def bridged(self, query: ast.Query, link: Link, kind: str) -> tuple[list[Edit], str] | None:
        """One node put between, if one label and one type can."""
        options: set[tuple[str, bool, str, bool, bool]] = set()
        for p in self.schema.patterns_of(kind):
            for on_left, near, far in (
                (True, link.left, link.right),
                (False, link.right, link.left),
            ):
                for mid, leaves in ((p.end, True), (p.start, False)):
                    if not fits(self.schema, p.start if leaves else p.end, near) or not mid:
                        continue
                    for q in self.schema.patterns:
                        if q.start == mid and fits(self.schema, q.end, far):
                            options.add((mid, leaves, q.type, True, on_left))
                        if q.end == mid and fits(self.schema, q.start, far):
                            options.add((mid, leaves, q.type, False, on_left))
        if len(options) != 1:
            return None
        ((mid, leaves, other, onward, on_left),) = options
        inner, between = _inner(query, link.pattern), f"(:{quote_name(mid)})"
        step = f":{quote_name(other)}"
        if on_left:
            text = f"{_arrow(inner, leaves)}{between}{_arrow(step, onward)}"
        else:
            text = f"{_arrow(step, not onward)}{between}{_arrow(inner, not leaves)}"
        note = f"{kind} joins no {_label(link.left)} and {_label(link.right)}: {mid} stands between"
        return [Edit(*link.pattern.span, text)], note


@dataclass(frozen=True, slots=True)
class _Hop:
    """A declared pattern with the bound nodes at its ends; None: a node that is not there yet."""

    pattern: Pattern
    start: Entity | None
    end: Entity | None
    on_relationship: bool


@dataclass(slots=True)
class _Missing:
    """One thing that a query reads but never matched: its name there, or the wrong owner."""

    name: str
    wrong: Entity | None
    keys: set[str] = field(default_factory=set)
    uses: list[ast.Variable] = field(default_factory=list)
    reads: list[ast.PropertyAccess] = field(default_factory=list)


@dataclass(frozen=True)
class FixMissing(OnTree):
    """A property or variable that nothing in the MATCH has gets the one hop that has it.

    ``MATCH (m:Movie) RETURN avg(r.times)`` becomes ``MATCH (m:Movie), (m)<-[r:WATCHED]-(:User) ...``
    where only ``WATCHED`` of the types around ``Movie`` has ``times``. Before the first WITH only.
    """

    schema: Schema
    name = "missing_hop"

    def changes(self, query: ast.Query) -> Iterator[tuple[list[Edit], str]]:
        """See ``OnTree.changes``."""
        bindings = resolve(query)
        if not isinstance(query.body, ast.SingleQuery):
            return
        clauses = query.body.clauses
        ends = [clause.span[1] for clause in clauses if isinstance(clause, ast.With)]
        limit = min(ends, default=len(query.text))
        matches = [c for c in clauses if isinstance(c, ast.Match) and c.span[0] < limit]
        nodes = _matched(bindings, matches)
        taken: set[int] = set()
        for item in self.missing(query, bindings, limit):
            hop = self.hop(item, nodes, bindings)
            if hop is None:
                continue
            edits = self.written(query, item, hop, matches, taken)
            if edits:
                yield edits, f"{item.name}.{min(item.keys, default='')} needs {hop.pattern.type}"
                return  # The others are looked at in the query as it is then.

    def apply(self, text: str) -> Fixed:
        """See ``Fix.apply``; a hop at a time, for each changes what the next one may touch."""
        notes: tuple[str, ...] = ()
        for _ in range(_HOPS):
            fixed = OnTree.apply(self, text)
            if fixed.text == text:
                break
            text, notes = fixed.text, notes + fixed.notes
        return Fixed(text, notes)

    def missing(self, query: ast.Query, bindings: Bindings, limit: int) -> list[_Missing]:
        """Unbound variables, and bound ones that are read for what nothing in the query has."""
        subjects: dict[int, ast.PropertyAccess] = {}
        for node in query.walk():
            if isinstance(node, ast.PropertyAccess) and isinstance(node.subject, ast.Variable):
                subjects[id(node.subject)] = node
        found: dict[tuple[str, int, str], _Missing] = {}
        for node in query.walk():
            if not isinstance(node, ast.Variable) or node.span[1] > limit:
                continue
            entity, access = bindings.of(node), subjects.get(id(node))
            if entity is None:
                item = found.setdefault((node.name, 0, ""), _Missing(node.name, None))
            elif access is not None and self.lacks(entity, access.key.name):
                key = access.key.name
                if any(self.has(e, key) for e in bindings.entities):
                    continue
                item = found.setdefault((node.name, id(entity), key), _Missing(node.name, entity))
            else:
                continue
            if access is not None:
                item.keys.add(access.key.name)
                item.reads.append(access)
            item.uses.append(node)
        return list(found.values())

    def lacks(self, entity: Entity, key: str) -> bool:
        """Whether labels or types say that a thing has no such property."""
        known = self.schema.labels if entity.kind == "node" else self.schema.types
        named = entity.kind in ("node", "relationship") and entity.names
        return bool(named) and entity.names <= set(known) and not self.has(entity, key)

    def has(self, entity: Entity, key: str) -> bool:
        """Whether a thing may have a property."""
        if entity.kind == "node":
            labels = {
                label
                for label in self.schema.labels
                if entity.names and fits(self.schema, label, entity)
            }
            return any(self.schema.property_of(label, key) for label in labels)
        if entity.kind == "relationship":
            return any(self.schema.type_property_of(kind, key) for kind in entity.names)
        return False

    def hop(self, item: _Missing, nodes: Sequence[Entity], bindings: Bindings) -> _Hop | None:
        """The only declared hop that brings what is missing and touches a bound node."""
        options: dict[tuple[object, ...], _Hop] = {}
        for pattern in self.schema.patterns:
            starts = [n for n in nodes if fits(self.schema, pattern.start, n)]
            ends = [n for n in nodes if fits(self.schema, pattern.end, n)]
            if self.brings(item, pattern.type, relationship=True):
                for start, end in _pairs(starts, ends):
                    hop = _Hop(pattern, start, end, True)
                    options[(pattern.type, id(start), id(end), pattern.start, pattern.end)] = hop
            for near, label, forward in ((starts, pattern.end, True), (ends, pattern.start, False)):
                done = bool(label) and self.done(item, pattern.type, label)
                if label and (done or self.brings(item, label, relationship=False)):
                    for node in near:
                        if done and node is not item.wrong:
                            continue
                        hop = _Hop(
                            pattern, node if forward else None, None if forward else node, False
                        )
                        options[(pattern.type, id(node), forward, label)] = hop
        # One thing joined from both its ends says more than from one.
        whole = [hop for hop in options.values() if hop.start is not None and hop.end is not None]
        chosen = whole or list(options.values())
        return chosen[0] if len(chosen) == 1 else None

    def brings(self, item: _Missing, owner: str, *, relationship: bool) -> bool:
        """Whether a type or label has all that is read, and a name that goes with it."""
        known = self.schema.types if relationship else self.schema.labels
        names = variable_names(owner)
        stem = item.name.rstrip("0123456789").lower()
        if item.wrong is None:
            usual = (*names, *_ANY_LINK) if relationship else names
            if stem not in usual:
                return False
            return bool(item.keys or not relationship) and all(
                known[owner].property(key) is not None for key in item.keys
            )
        if all(known[owner].property(key) is not None for key in item.keys):
            return True
        return not relationship and bool(self.called(item, owner))

    def called(self, item: _Missing, label: str) -> str:
        """The property that a label's nodes are called by, if the label itself is read as one."""
        if item.wrong is None or len(item.keys) != 1:
            return ""
        key = min(item.keys).lower().replace("_", "")
        if key.removesuffix("name") not in (label.lower(), f"{label.lower()}s"):
            return ""
        return self.name_of(label)

    def done(self, item: _Missing, kind: str, label: str) -> bool:
        """Whether a node's property is read that a type is called: ``u.watched``, ``u.watchedMovies``."""
        if item.wrong is None or item.wrong.kind != "node" or len(item.keys) != 1:
            return False
        read, verb = word_parts(min(item.keys)), word_parts(kind)
        return read in (verb, [*verb, *word_parts(label)]) and bool(self.name_of(label))

    def name_of(self, label: str) -> str:
        """The property that a label's nodes are called by, "" if none is known."""
        owner = self.schema.labels[label]
        known = [name for name in _CALLED if owner.property(name) is not None]
        sole = [item.name for item in owner.properties] if len(owner.properties) == 1 else []
        return next(iter(known or sole), "")

    def written(
        self,
        query: ast.Query,
        item: _Missing,
        hop: _Hop,
        matches: Sequence[ast.Match],
        taken: set[int],
    ) -> list[Edit]:
        """The edits: the hop at the end of its MATCH, names where they lack, the reads renamed."""
        bound = hop.start or hop.end
        assert bound is not None
        clause = next((m for m in matches if _inside(bound.nodes, m)), None)
        if clause is None:
            return []
        edits: list[Edit] = []
        used: set[str] = set()

        def shown(entity: Entity | None, label: str, name: str) -> str:
            if entity is None:
                return f"({quote_name(name) if name else ''}:{quote_name(label)})"
            if entity.name is not None:
                return f"({quote_name(entity.name)})"
            made = unused(query, _first_name(entity), used)
            used.add(made)
            opening = entity.nodes[0].span[0] + 1
            edits.append(Edit(opening, opening, quote_name(made)))
            return f"({quote_name(made)})"

        wanted = item.name
        if item.wrong is not None:
            owner = (
                hop.pattern.type
                if hop.on_relationship
                else (hop.pattern.end if hop.end is None else hop.pattern.start)
            )
            wanted = unused(
                query, "rel" if hop.on_relationship else (variable_names(owner) or ("x",))[0]
            )
            called = "" if hop.on_relationship else self.called(item, owner)
            if not hop.on_relationship and self.done(item, hop.pattern.type, owner):
                called = self.name_of(owner)
            if called:
                read = f"{quote_name(wanted)}.{quote_name(called)}"
                edits += [Edit(*access.span, read) for access in item.reads]
            else:
                edits += [Edit(*use.span, quote_name(wanted)) for use in item.uses]
        on_node = "" if hop.on_relationship else wanted
        link = quote_name(wanted) if hop.on_relationship else ""
        text = (
            f", {shown(hop.start, hop.pattern.start, on_node)}"
            f"-[{link}:{quote_name(hop.pattern.type)}]->"
            f"{shown(hop.end, hop.pattern.end, on_node)}"
        )
        place = clause.patterns[-1].span[1]
        return [*edits, Edit(place, place, text)]


def _matched(bindings: Bindings, matches: Sequence[ast.Match]) -> list[Entity]:
    """The labelled nodes that plain MATCH clauses bind."""
    plain = [m for m in matches if not m.optional]
    return [
        e
        for e in bindings.nodes
        if e.labels and e.nodes and any(_inside(e.nodes, m) for m in plain)
    ]


def _inside(nodes: Sequence[ast.Node], clause: ast.Node) -> bool:
    begin, end = clause.span
    return bool(nodes) and begin <= nodes[0].span[0] and nodes[0].span[1] <= end


def _pairs(
    starts: Sequence[Entity], ends: Sequence[Entity]
) -> Iterator[tuple[Entity | None, Entity | None]]:
    both = [(s, e) for s in starts for e in ends if s is not e]
    if both:
        yield from both
        return
    for start in starts:
        yield start, None
    for end in ends:
        yield None, end


def _read(query: ast.Query, entity: Entity) -> bool:
    """Whether a property of a thing is read."""
    uses = {id(use) for use in entity.uses}
    return any(
        isinstance(node, ast.PropertyAccess) and id(node.subject) in uses for node in query.walk()
    )


def _arrow(inner: str, right: bool) -> str:
    return f"-[{inner}]->" if right else f"<-[{inner}]-"


def _inner(query: ast.Query, pattern: ast.RelationshipPattern) -> str:
    """What stands in the brackets of a relationship."""
    text = query.text[slice(*pattern.span)]
    return text[text.index("[") + 1 : text.rindex("]")]


def _label(entity: Entity) -> str:
    return "|".join(sorted(entity.names))


def _first_name(entity: Entity) -> str:
    return next(iter(variable_names(min(entity.names))), "x")
