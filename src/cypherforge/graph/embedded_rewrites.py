"""Forms that ArcadeDB 26.10.2 answers wrongly, rewritten to equal ones that it answers right.

Each rewrite looks at the whole query and returns edits of its text; the next one sees the result.
Each says what goes wrong without it. All of it is checked against Neo4j by
``benchmarks/embedded_agreement.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Bindings, conjuncts
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.function_kinds import AGGREGATES
from cypherforge.cypher.names import quote_name
from cypherforge.graph.embedded_functions import FUNCTION_REWRITES
from cypherforge.graph.embedded_kinds import Facts
from cypherforge.graph.embedded_look import look_at

# ---------------------------------------------------------------- shared


def _text(query: ast.Query, node: ast.Node) -> str:
    return query.text[node.span[0] : node.span[1]]


def is_aggregate(node: ast.Node) -> bool:
    """Whether this node itself is a call of an aggregating function."""
    return isinstance(node, ast.CountStar) or (
        isinstance(node, ast.FunctionCall) and node.lower_name in AGGREGATES
    )


# What has a scope of its own: an aggregate inside does not make the outer projection aggregate.
_OWN_SCOPE = (ast.SubqueryExpression, ast.PatternComprehension)


def aggregates(node: ast.Node) -> Iterator[ast.Node]:
    """The outermost aggregates of an expression."""
    if is_aggregate(node):
        yield node
    elif not isinstance(node, _OWN_SCOPE):
        for child in node.children():
            yield from aggregates(child)


def _projections(query: ast.Query, facts: Facts) -> Iterator[ast.Projection]:
    yield from look_at(query, facts).of(ast.Projection)


def _names(node: ast.Node) -> set[str]:
    return {n.name for n in node.walk() if isinstance(n, ast.Variable)}


def _outermost(
    node: ast.Node, wanted: Callable[[ast.Node], str | None]
) -> Iterator[tuple[ast.Node, str]]:
    """Nodes below that are to be replaced, the outermost only, with their new text."""
    found = wanted(node)
    if found is not None:
        yield node, found
        return
    for child in node.children():
        yield from _outermost(child, wanted)


# ---------------------------------------------------------------- rewrites

_WHERE = re.compile(r"\bWHERE\b", re.IGNORECASE)


def inline_where(query: ast.Query, facts: Facts) -> list[Edit]:
    """``(n WHERE p)`` to a condition of the MATCH: inside the pattern some of them match nothing."""
    edits: list[Edit] = []
    for clause in look_at(query, facts).of(ast.Match):
        moved: list[str] = []
        for part in clause.patterns:
            if part.function is not None or part.selector is not None:
                continue
            for element in part.elements:
                if isinstance(element, ast.ParenthesizedPath) or element.where is None:
                    continue
                if isinstance(element, ast.RelationshipPattern) and element.quantifier:
                    continue
                moved.append(f"({_text(query, element.where)})")
                words = list(_WHERE.finditer(query.text, element.span[0], element.where.span[0]))
                edits.append(Edit(words[-1].start(), element.where.span[1], ""))
        if moved and clause.where is not None:
            start, end = clause.where.predicate.span
            edits.append(Edit(start, start, "("))
            edits.append(Edit(end, end, ") AND " + " AND ".join(moved)))
        elif moved:
            end = clause.span[1]
            edits.append(Edit(end, end, " WHERE " + " AND ".join(moved)))
    return edits


def projected_expressions(query: ast.Query, facts: Facts) -> list[Edit]:
    """After an aggregating or DISTINCT projection: ``u.state`` to the alias it was projected as.

    ``WITH u.state AS s, count(*) AS c WHERE u.state IS NOT NULL`` gives no rows at all.
    """
    edits: list[Edit] = []
    for clause in _projections(query, facts):
        if not clause.distinct and not any(
            True for item in clause.items for _ in aggregates(item.expression)
        ):
            continue
        places: list[ast.Node] = list(clause.order_by.items) if clause.order_by else []
        if isinstance(clause, ast.With) and clause.where is not None:
            places.append(clause.where.predicate)
        aliases = {item.alias.name: item for item in clause.items if item.alias is not None}
        known = {
            item.expression: item.alias.name
            for item in reversed(clause.items)
            if item.alias is not None
        }

        def wanted(
            node: ast.Node,
            known: Mapping[ast.Expression, str] = known,
            aliases: Mapping[str, ast.ProjectionItem] = aliases,
        ) -> str | None:
            name = known.get(node) if isinstance(node, ast.Expression) else None
            if name is None or (isinstance(node, ast.Variable) and node.name in aliases):
                return None
            # An alias that hides a variable of the expression gives it another meaning.
            hidden = any(n in aliases and aliases[n].alias != node for n in _names(node))
            return None if hidden and not is_aggregate(node) else quote_name(name)

        for place in places:
            edits += [Edit(*node.span, text) for node, text in _outermost(place, wanted)]
    return edits


def nested_aggregates(query: ast.Query, facts: Facts) -> list[Edit]:
    """Aggregates inside another expression are made by a WITH of their own first.

    ``RETURN max(p.day).year`` loses its column, ``NOT count(*) > 3`` is always true, and
    ``count(*) IN [4]`` always false.
    """
    edits: list[Edit] = []
    for number, clause in enumerate(_projections(query, facts)):
        sort = list(clause.order_by.items) if clause.order_by else []
        inside = [
            item
            for item in clause.items
            if not is_aggregate(item.expression) and any(True for _ in aggregates(item.expression))
        ]
        sorted_by = [a for key in sort for a in aggregates(key.expression)]
        if not (inside or sorted_by) or clause.star:
            continue
        made: dict[ast.Node, str] = {}
        keys: dict[ast.Node, str] = {}
        first: list[str] = []
        for item in clause.items:
            found = list(aggregates(item.expression))
            for node in found:
                if node not in made:
                    made[node] = f"_made{number}_{len(made)}"
            if found:
                continue
            if isinstance(item.expression, ast.Variable):
                first.append(_text(query, item.expression))
            elif item.expression not in keys:
                keys[item.expression] = f"_key{number}_{len(keys)}"
        for node in sorted_by:
            if node not in made:
                made[node] = f"_made{number}_{len(made)}"
        first += [f"{_text(query, node)} AS {name}" for node, name in (keys | made).items()]
        start = clause.span[0]
        edits.append(Edit(start, start, f"WITH {', '.join(dict.fromkeys(first))} "))
        replace = keys | made

        def wanted(node: ast.Node, replace: Mapping[ast.Node, str] = replace) -> str | None:
            return replace.get(node) if isinstance(node, ast.Expression) else None

        for place in [*(item.expression for item in clause.items), *sort]:
            edits += [Edit(*node.span, text) for node, text in _outermost(place, wanted)]
    return edits


def late_conditions(query: ast.Query, facts: Facts) -> list[Edit]:
    """Hold back a condition until all its variables are bound.

    ArcadeDB tests a condition as soon as the variables that it sees are bound, and it sees none
    inside ``r.day.year``, ``r['x']``, CASE, lists and maps: in ``WITH 300 AS a MATCH ()-[q]->()
    WHERE q.duration.seconds > a`` it waits for ``a`` only, and gives no rows.
    """
    edits: list[Edit] = []
    look = look_at(query, facts)
    for clause in look.of(ast.Match):
        if clause.where is None:
            continue
        new = _declared(clause, look.bindings)
        for condition in conjuncts(clause.where.predicate):
            seen = _visible(condition)
            names = _names(condition)
            unseen = sorted((names - seen) & new)
            if unseen and len(names) > 1:
                start, end = condition.span
                bound = " AND ".join(f"{quote_name(name)} IS NOT NULL" for name in unseen)
                edits.append(Edit(start, start, "(("))
                edits.append(Edit(end, end, f") = ({bound}))"))
    return edits


def _declared(clause: ast.Match, bindings: Bindings) -> set[str]:
    """Names of the variables that this MATCH binds first."""
    found: set[str] = set()
    for part in clause.patterns:
        for node in part.walk():
            if isinstance(node, ast.Variable):
                entity = bindings.of(node)
                if entity is None or not entity.uses or entity.uses[0] is node:
                    found.add(node.name)
    return found


def _visible(node: ast.Node) -> set[str]:
    """Variables that ArcadeDB sees in a condition."""
    if isinstance(node, ast.Variable):
        return {node.name}
    if isinstance(node, ast.PropertyAccess):
        return {node.subject.name} if isinstance(node.subject, ast.Variable) else set()
    if isinstance(node, ast.PatternExpression | ast.SubqueryExpression):
        return _names(node)
    if isinstance(
        node,
        ast.Binary | ast.Comparison | ast.Unary | ast.IsNull | ast.LabelTest | ast.FunctionCall,
    ):
        return set().union(*(_visible(child) for child in node.children()))
    return set()


def start_at_bound(query: ast.Query, facts: Facts) -> list[Edit]:
    """Begin each MATCH at a variable that has its value already, or at a node given by its map.

    ArcadeDB starts at the left end: ``MATCH (p:Person)-[:IN]->(s)`` with ``s`` known looks at every
    person for every row. A query of one MATCH it plans by its indexes, but none with a second one
    or an OPTIONAL MATCH. Conditions and uniqueness hold for the whole MATCH, so nothing changes.
    """
    edits: list[Edit] = []
    look = look_at(query, facts)
    matches = look.of(ast.Match)
    planned = len(matches) == 1
    for clause in matches:
        new = _declared(clause, look.bindings)
        texts: list[str] = []
        waiting = list(clause.patterns)
        while waiting:
            ready = () if planned else (p for p in waiting if any(_begins(p, new, planned)))
            part = next(iter(ready), waiting[0])
            waiting.remove(part)
            texts.append(_turned(query, part, new, planned) or _text(query, part))
            # What this path binds is known to those after it.
            new -= _names(part)
        if texts != [_text(query, part) for part in clause.patterns]:
            place = (clause.patterns[0].span[0], clause.patterns[-1].span[1])
            edits.append(Edit(*place, ", ".join(texts)))
    return edits


def _begins(part: ast.PatternPart, new: set[str], planned: bool) -> list[bool]:
    """For each element of a path, whether to begin there is to begin at few nodes.

    Nowhere, where a map of the path needs what is not known before it.
    """
    last = len(part.elements) - 1
    maps = [e.properties for e in part.elements if not isinstance(e, ast.ParenthesizedPath)]
    if any(properties is not None and _names(properties) & new for properties in maps):
        return [False] * len(part.elements)
    return [
        isinstance(element, ast.NodePattern)
        and (
            (element.variable is not None and element.variable.name not in new)
            or (
                not planned
                # A path is parted at a variable.
                and (element.variable is not None or i in (0, last))
                and isinstance(element.properties, ast.MapLiteral)
                and bool(element.properties.entries)
            )
        )
        for i, element in enumerate(part.elements)
    ]


def _turned(query: ast.Query, part: ast.PatternPart, new: set[str], planned: bool) -> str | None:
    elements = part.elements
    if part.variable or part.function or part.selector or len(elements) < 3:
        return None
    for element in elements:
        if isinstance(element, ast.ParenthesizedPath):
            return None
        quantifier = getattr(element, "quantifier", None)
        if quantifier is not None and (element.variable is not None or quantifier.gql):
            # The list of relationships would come out reversed.
            return None
    bound = _begins(part, new, planned)
    if bound[0] or not any(bound):
        return None
    place = bound.index(True)
    before = [_text(query, e) for e in elements[: place + 1]]
    for i in range(1, place, 2):
        before[i] = _flipped(before[i])
    left = "".join(reversed(before))
    if place == len(elements) - 1:
        return left
    pivot = elements[place]
    assert isinstance(pivot, ast.NodePattern) and pivot.variable is not None
    rest = "".join(_text(query, e) for e in elements[place + 1 :])
    return f"{left}, ({quote_name(pivot.variable.name)}){rest}"


_ARROW = re.compile(r"\A(<?)\s*-(.*)-\s*(>?)\Z", re.DOTALL)


def _flipped(arrow: str) -> str:
    match = _ARROW.match(arrow)
    if match is None:
        return arrow
    return f"{'<' if match[3] else ''}-{match[2]}-{'>' if match[1] else ''}"


REWRITES: tuple[Callable[[ast.Query, Facts], list[Edit]], ...] = (
    *FUNCTION_REWRITES,
    inline_where,
    projected_expressions,
    nested_aggregates,
    start_at_bound,
    late_conditions,
)
