"""A value asked of the wrong thing: ``(t:Team {name: 'USA 1999'})``, where that names a tournament.

The value index knows the one property that stores it. What is asked finds nothing as it stands, so
nothing is lost by a repair; where the value or the node could be another, the query stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Bindings, Entity, resolve
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name, quote_string
from cypherforge.cypher.rewrite import drop_condition
from cypherforge.graph.schema import Schema
from cypherforge.graph.value_index import Hit, ValueIndex
from cypherforge.runtime.fixes import OnTree, fits, unused
from cypherforge.runtime.literals import Binding, bindings_of
from cypherforge.runtime.schema_grammar import variable_names


@dataclass(frozen=True)
class FixHomes(OnTree):
    """A text that its property does not store, but exactly one property of another label.

    The condition moves to the only node of that label in the MATCH; where there is none, the only
    declared hop from the node that was asked brings one. One condition of a query is moved, before
    the first WITH only.
    """

    schema: Schema
    index: ValueIndex
    name = "homes"

    def changes(self, query: ast.Query) -> Iterator[tuple[list[Edit], str]]:
        """See ``OnTree.changes``."""
        if not isinstance(query.body, ast.SingleQuery):
            return
        clauses = query.body.clauses
        limit = min(
            (c.span[1] for c in clauses if isinstance(c, ast.With)), default=len(query.text)
        )
        bindings = resolve(query)
        for binding in bindings_of(query, self.schema):
            hit = self.home(binding)
            if hit is None or binding.name is None or binding.literal.span[1] > limit:
                continue
            place = _place(query, bindings, binding)
            if place is None:
                continue
            edits = self.moved(query, bindings, place, hit)
            if edits:
                yield (
                    edits,
                    f"{binding.value!r} is not stored in {_asked(binding)}: {hit.place} has it",
                )
                return

    def home(self, binding: Binding) -> Hit | None:
        """The one place, on nodes of another label, that stores a text asked for elsewhere."""
        value = binding.value
        if not binding.exact or not binding.sole or not isinstance(value, str):
            return None
        if len(binding.owners) != 1 or binding.relationship or self.index.cut:
            return None
        if self.index.holds(binding.owners[0], binding.key, value) is not False:
            return None
        hits = [
            hit
            for hit in self.index.find(value, limit=5, least=100.0)
            if hit.match in ("exact", "normalised")
        ]
        if len(hits) != 1 or hits[0].relationship or hits[0].owner in binding.owners:
            return None
        return hits[0]

    def moved(self, query: ast.Query, bindings: Bindings, place: _Place, hit: Hit) -> list[Edit]:
        """The edits that ask the value of the node that has it; none where that is not settled."""
        near = [e for e in bindings.nodes if e.nodes and _within(e.nodes[0], place.clause)]
        homes = [e for e in near if e.names and fits(self.schema, hit.owner, e)]
        if place.entity in homes or len(homes) > 1:
            return []
        edits = place.dropped
        condition = f"{quote_name(hit.name)}: {quote_string(hit.value)}"
        if homes:
            return [*edits, _asking(homes[0], condition)]
        hops = {
            (p.type, forward)
            for p in self.schema.patterns
            for forward, one, other in ((True, p.start, p.end), (False, p.end, p.start))
            if other == hit.owner and fits(self.schema, one, place.entity)
        }
        if len(hops) != 1:
            return []
        ((kind, forward),) = hops
        name = place.entity.name
        if name is None:
            name = unused(query, (variable_names(min(place.entity.names)) or ("x",))[0])
            opening = place.entity.nodes[0].span[0] + 1
            edits = [*edits, Edit(opening, opening, quote_name(name))]
        arrow = f"-[:{quote_name(kind)}]->" if forward else f"<-[:{quote_name(kind)}]-"
        end = place.clause.patterns[-1].span[1]
        text = f", ({quote_name(name)}){arrow}(:{quote_name(hit.owner)} {{{condition}}})"
        return [*edits, Edit(end, end, text)]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a condition stands: whose it is, in which MATCH, and the edits that take it away."""

    entity: Entity
    clause: ast.Match
    dropped: list[Edit]


def _place(query: ast.Query, bindings: Bindings, binding: Binding) -> _Place | None:
    """The place of a binding in a MATCH: an entry of a map, or a part of its WHERE."""
    for clause in query.walk():
        if not isinstance(clause, ast.Match) or clause.optional:
            continue
        for node in clause.walk():
            if isinstance(node, ast.NodePattern) and isinstance(node.properties, ast.MapLiteral):
                for entry in node.properties.entries:
                    if entry.value is binding.literal:
                        entity = next((e for e in bindings.nodes if node in e.nodes), None)
                        if entity is None:
                            return None
                        return _Place(entity, clause, drop_condition(query, node, entry))
        if clause.where is None:
            continue
        for node in clause.where.walk():
            if not isinstance(node, ast.Binary) or node.op != "=":
                continue
            access = next(
                (s for s in (node.left, node.right) if isinstance(s, ast.PropertyAccess)), None
            )
            if binding.literal not in (node.left, node.right) or access is None:
                continue
            if not isinstance(access.subject, ast.Variable):
                return None
            entity = bindings.of(access.subject)
            try:
                dropped = drop_condition(query, clause, node)
            except ValueError:
                return None
            return None if entity is None else _Place(entity, clause, dropped)
    return None


def _asking(home: Entity, condition: str) -> Edit:
    """A node given one more entry in its map."""
    node = home.nodes[0]
    assert isinstance(node, ast.NodePattern)
    if isinstance(node.properties, ast.MapLiteral):
        place = node.properties.span[1] - 1
        lead = ", " if node.properties.entries else ""
        return Edit(place, place, f"{lead}{condition}")
    place = node.span[1] - 1
    if node.where is not None:
        place = node.where.span[0]
        return Edit(place, place, f"{{{condition}}} ")
    return Edit(place, place, f" {{{condition}}}")


def _within(node: ast.Node, clause: ast.Node) -> bool:
    return clause.span[0] <= node.span[0] and node.span[1] <= clause.span[1]


def _asked(binding: Binding) -> str:
    return f"{binding.owners[0]}.{binding.key}"
