"""What a query says, taken apart: pattern graph, conditions, projections, pages.

Only the main line of a query is taken apart (and subqueries in CALL, which add to it); patterns
inside expressions stay part of their expression.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Bindings, Entity, Link, conjuncts, resolve


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """One condition that all rows meet.

    ``node`` is the conjunct, or the entry of an inline map (then ``owner`` is the element's entity
    and ``holder`` the pattern element). ``clause`` is what it stands in; ``optional``: it only
    narrows an OPTIONAL MATCH.
    """

    node: ast.Expression | ast.MapEntry
    clause: ast.Clause
    owner: Entity | None = None
    holder: ast.NodePattern | ast.RelationshipPattern | None = None
    optional: bool = False

    @property
    def value(self) -> ast.Expression:
        """The compared value of an inline entry, else the whole conjunct."""
        return self.node.value if isinstance(self.node, ast.MapEntry) else self.node


@dataclass(slots=True)
class Summary:
    """One query (one part of a UNION) taken apart; ``unions`` counts those inside its CALLs."""

    query: ast.Query
    single: ast.SingleQuery
    bindings: Bindings
    matches: list[ast.Match] = field(default_factory=list)
    projections: list[ast.Projection] = field(default_factory=list)
    unwinds: list[ast.Unwind] = field(default_factory=list)
    calls: list[ast.CallSubquery] = field(default_factory=list)
    unions: int = 0
    conditions: list[Condition] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    nodes: list[Entity] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The source of the whole query."""
        return self.query.text

    @property
    def returned(self) -> ast.Return | None:
        """The RETURN of the main line, None if there is none (a lone CALL, a write)."""
        last = self.single.clauses[-1] if self.single.clauses else None
        return last if isinstance(last, ast.Return) else None


def parts_of(whole: ast.Body) -> list[ast.SingleQuery]:
    """Return the plain parts of a body: one, or those that UNION joins."""

    def walk(body: ast.Body) -> Iterator[ast.SingleQuery]:
        if isinstance(body, ast.SingleQuery):
            yield body
        elif isinstance(body, ast.Union | ast.Next):
            for part in body.parts:
                yield from walk(part)

    return list(walk(whole))


def summarise(query: ast.Query) -> list[Summary]:
    """Take a query apart, one summary for each part that UNION joins."""
    bindings = resolve(query)
    return [_summarise(query, part, bindings) for part in parts_of(query.body)]


def _summarise(query: ast.Query, single: ast.SingleQuery, bindings: Bindings) -> Summary:
    summary = Summary(query, single, bindings)
    _collect(summary, single.clauses)
    matches = {id(clause) for clause in summary.matches}
    summary.links = [link for link in bindings.links if id(link.clause) in matches]
    seen: dict[int, Entity] = {}
    for match in summary.matches:
        for part in match.patterns:
            for element in _elements(part):
                if isinstance(element, ast.NodePattern):
                    entity = bindings.of(element)
                    # A variable of a list or of an earlier step may stand for a node, too.
                    if entity is not None:
                        seen.setdefault(id(entity), entity)
    summary.nodes = list(seen.values())
    return summary


def _collect(summary: Summary, clauses: list[ast.Clause]) -> None:
    for clause in clauses:
        if isinstance(clause, ast.Match):
            summary.matches.append(clause)
            for part in clause.patterns:
                for element in _elements(part):
                    _inline(summary, element, clause)
            if clause.where is not None:
                _where(summary, clause.where.predicate, clause, clause.optional)
        elif isinstance(clause, ast.Projection):
            summary.projections.append(clause)
            if isinstance(clause, ast.With) and clause.where is not None:
                _where(summary, clause.where.predicate, clause, False)
        elif isinstance(clause, ast.Filter):
            _where(summary, clause.predicate, clause, False)
        elif isinstance(clause, ast.Unwind):
            summary.unwinds.append(clause)
        elif isinstance(clause, ast.CallSubquery):
            summary.calls.append(clause)
            parts = parts_of(clause.body)
            summary.unions += len(parts) - 1
            for query in parts:
                _collect(summary, query.clauses)


def _elements(part: ast.PatternPart) -> Iterator[ast.NodePattern | ast.RelationshipPattern]:
    for element in part.elements:
        if isinstance(element, ast.ParenthesizedPath):
            yield from _elements(element.pattern)
        else:
            yield element


def _inline(
    summary: Summary, element: ast.NodePattern | ast.RelationshipPattern, clause: ast.Match
) -> None:
    owner = summary.bindings.of(element)
    if isinstance(element.properties, ast.MapLiteral):
        for entry in element.properties.entries:
            summary.conditions.append(Condition(entry, clause, owner, element, clause.optional))
    if element.where is not None:
        for conjunct in conjuncts(element.where):
            if not _says_label(conjunct):
                summary.conditions.append(Condition(conjunct, clause, optional=clause.optional))


def _where(summary: Summary, predicate: ast.Expression, clause: ast.Clause, optional: bool) -> None:
    for conjunct in conjuncts(predicate):
        if not _says_label(conjunct):
            summary.conditions.append(Condition(conjunct, clause, optional=optional))


def _says_label(conjunct: ast.Expression) -> bool:
    """A positive label test is part of the pattern: the bindings have it."""
    return (
        isinstance(conjunct, ast.LabelTest)
        and not conjunct.negated
        and isinstance(conjunct.subject, ast.Variable)
    )
