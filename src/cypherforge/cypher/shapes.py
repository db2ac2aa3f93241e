"""The shape of a query: what its patterns look like, what it returns, what else it does.

CypherGuard (section 3.2) groups training questions by the shape of their MATCH clause, the kind of
answer of their RETURN clause, and their operators; the outline of its sampling is all the paper
gives, so the canonical form is ours. Names, labels, types, properties and literals do not count;
which variables are the same does. Two queries have equal shapes if they differ in the naming of
variables, in the end a pattern is written from, in the order or the splitting of comma parts, or in
the order of conditions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cypherforge.cypher import ast
from cypherforge.cypher.answer_kinds import is_aggregate, kind_of_answer, last_return
from cypherforge.cypher.bindings import Bindings, resolve
from cypherforge.cypher.canonical import Relation
from cypherforge.cypher.function_kinds import AGGREGATES, FUNCTION_KIND, TEMPORAL_COMPONENTS
from cypherforge.cypher.parser import parse
from cypherforge.cypher.shape_text import match_text


@dataclass(frozen=True, slots=True)
class Shape:
    """Hashable; equal for queries of one shape.

    ``match`` is the pattern graph in canonical form, readable: ``MATCH (1)-->(2), (3)-->(2)``.
    ``returns`` is ``entity``, ``property``, ``count``, ``aggregate``, ``boolean``, ``path``,
    ``list``, ``map``, ``value``, ``*``, ``mixed(...)`` with the kinds, or ``nothing``.
    ``operators`` names what the query does beyond that.
    """

    match: str
    returns: str
    operators: frozenset[str]


def shape_of(query: ast.Query | str) -> Shape:
    """The shape of a query; of text, it is parsed first (raises ``CypherSyntaxError``)."""
    if isinstance(query, str):
        query = parse(query)
    bindings = resolve(query)
    structure = _Structure(bindings)
    structure.body(query.body, "", None)
    match = match_text(tuple(structure.colours), tuple(structure.relations))
    return Shape(match, kind_of_answer(query.body, bindings), frozenset(structure.operators))


# ---------------------------------------------------------------- the structure and the operators

_FILTERS = {
    "=": "filter: equal",
    "<>": "filter: not equal",
    "!=": "filter: not equal",
    "<": "filter: compare",
    ">": "filter: compare",
    "<=": "filter: compare",
    ">=": "filter: compare",
    "CONTAINS": "filter: text",
    "STARTS WITH": "filter: text",
    "ENDS WITH": "filter: text",
    "=~": "filter: regex",
    "IN": "filter: in list",
    "OR": "or",
    "XOR": "or",
}
_COMPARISONS = frozenset(_FILTERS) - {"OR", "XOR"}
_ARITHMETIC = frozenset("+-*/%^") | {"||"}


class _Structure:
    """One walk over the query that collects both the pattern graph and the operators.

    Points: node entities, one for each MATCH or group of patterns ("scope"), and for what encloses
    such a scope. Relations: a hop joins its ends and its scope.
    """

    def __init__(self, bindings: Bindings) -> None:
        self.bindings = bindings
        self.colours: list[str] = []
        self.relations: list[Relation] = []
        self.operators: set[str] = set()
        self.points: dict[int, int] = {}
        self.filtering = False
        self.negated = False
        self.where = "", ""
        self.enclosing: int | None = None

    def point(self, colour: str) -> int:
        self.colours.append(colour)
        return len(self.colours) - 1

    # ------------------------------------------------------------ bodies and clauses

    def body(self, body: ast.Body, place: str, enclosing: int | None) -> None:
        if isinstance(body, ast.SingleQuery):
            self.clauses(body.clauses, place, enclosing)
        elif isinstance(body, ast.Union):
            self.operators.add("union" if all(body.distinct) else "union all")
            for part in body.parts:
                self.body(part, place, self.inside(f"{place}UNION", enclosing))
            if place:
                self.columns(body)
        elif isinstance(body, ast.Next):
            self.operators.add("next")
            for i, part in enumerate(body.parts):
                self.body(part, f"{place}NEXT{i} ", enclosing)
        elif isinstance(body, ast.When):
            self.operators.add("when")
            for i, branch in enumerate(body.branches):
                if branch.predicate is not None:
                    self.condition(branch.predicate, f"{place}WHEN{i} ", enclosing)
                self.body(branch.body, f"{place}WHEN{i} ", enclosing)
        else:
            self.operators.add(f"command: {body.verb}")

    def columns(self, union: ast.Union) -> None:
        """Join the nodes that the parts of an inner UNION give out as one column."""
        columns: dict[str, list[int]] = {}
        for part in union.parts:
            last = last_return(part)
            for item in last.items if last is not None else ():
                if isinstance(item.expression, ast.Variable):
                    entity = self.bindings.of(item.expression)
                    point = self.points.get(id(entity))
                    if point is not None:
                        columns.setdefault(item.column, []).append(point)
        for points in columns.values():
            column = self.point("column")
            self.relations += [("column", (point, column)) for point in points]

    def inside(self, colour: str, enclosing: int | None) -> int:
        scope = self.point(colour)
        if enclosing is not None:
            self.relations.append(("in", (scope, enclosing)))
        return scope

    def clauses(self, clauses: list[ast.Clause], place: str, enclosing: int | None) -> None:
        stage = 0
        last = ""
        for clause in clauses:
            kind = type(clause)
            if kind is ast.Match:
                assert isinstance(clause, ast.Match)
                now = "OPTIONAL MATCH" if clause.optional else "MATCH"
                if last and (clause.optional or last != "MATCH"):
                    stage += 1
                last = now
                self.match(clause, f"{place}{stage} {now}", f"{place}{stage} ", enclosing)
                continue
            last = last and "other"
            here = f"{place}{stage} "
            self.where = here, ""
            self.enclosing = enclosing
            if isinstance(clause, ast.Projection):
                self.projection(clause, here, enclosing)
            else:
                _CLAUSES.get(kind, _Structure.writing)(self, clause, here, enclosing)

    def match(self, clause: ast.Match, colour: str, here: str, enclosing: int | None) -> None:
        if clause.mode:
            colour = f"{colour} {clause.mode}"
        self.patterns(clause.patterns, self.inside(colour, enclosing), here, enclosing)
        if clause.where is not None:
            self.condition(clause.where.predicate, here, enclosing)
        if clause.search is not None:
            self.operators.add("vector search")

    def projection(self, clause: ast.Projection, here: str, enclosing: int | None) -> None:
        operators = self.operators
        if clause.distinct:
            operators.add("distinct")
        aggregates = 0
        keys = 1 if clause.star else 0
        for item in clause.items:
            expression = item.expression
            if (
                type(expression) is ast.PropertyAccess
                and type(expression.subject) is ast.Variable
                or type(expression) is ast.Variable
            ):
                keys += 1
            else:
                self.value(expression)
                if is_aggregate(expression):
                    aggregates += 1
                elif not isinstance(expression, ast.Literal_ | ast.Parameter):
                    keys += 1
        if aggregates:
            operators.add("aggregation")
            if keys:
                operators.add("grouping")
        if clause.group_by is not None:
            operators.add("group by")
            for key in clause.group_by.keys:
                self.value(key)
        if clause.order_by is not None:
            operators.add("sort")
            for sort in clause.order_by.items:
                self.value(sort.expression)
        if clause.skip is not None:
            operators.add("skip")
        if clause.limit is not None:
            operators.add("limit")
        if isinstance(clause, ast.With) and clause.where is not None:
            if aggregates:
                operators.add("having")
            self.condition(clause.where.predicate, here, enclosing)

    def unwind(self, clause: Any, here: str, enclosing: int | None) -> None:
        self.operators.add("unwind")
        self.value(clause.expression)

    def call_subquery(self, clause: Any, here: str, enclosing: int | None) -> None:
        self.operators.add("subquery")
        name = "OPTIONAL CALL" if clause.optional else "CALL"
        self.body(clause.body, f"{here}{name} ", enclosing)

    def call_procedure(self, clause: Any, here: str, enclosing: int | None) -> None:
        self.operators.add("procedure")
        for argument in clause.args or ():
            self.value(argument)
        if clause.where is not None:
            self.condition(clause.where.predicate, here, enclosing)

    def filter(self, clause: Any, here: str, enclosing: int | None) -> None:
        self.condition(clause.predicate, here, enclosing)

    def let(self, clause: Any, here: str, enclosing: int | None) -> None:
        for item in clause.items:
            self.value(item.expression)

    def page(self, clause: Any, here: str, enclosing: int | None) -> None:
        for name, part in (
            ("sort", clause.order_by),
            ("skip", clause.skip),
            ("limit", clause.limit),
        ):
            if part is not None:
                self.operators.add(name)

    def quiet(self, clause: Any, here: str, enclosing: int | None) -> None:
        """A clause that says nothing about the shape."""

    def writing(self, clause: Any, here: str, enclosing: int | None) -> None:
        self.operators.add(f"write: {type(clause).__name__.removesuffix('Clause').lower()}")
        patterns = (
            clause.patterns
            if isinstance(clause, ast.Create)
            else [clause.pattern]
            if isinstance(clause, ast.Merge)
            else []
        )
        if patterns:
            scope = self.inside(f"{here}{type(clause).__name__.upper()}", enclosing)
            self.patterns(patterns, scope, here, enclosing)
        elif isinstance(clause, ast.Foreach):
            self.value(clause.source)
            self.clauses(clause.clauses, f"{here}FOREACH ", enclosing)

    # ------------------------------------------------------------ patterns

    def patterns(
        self, parts: list[ast.PatternPart], scope: int, here: str, enclosing: int | None
    ) -> None:
        joined: set[int] = set()
        alone: dict[int, None] = {}
        for part in parts:
            self.part(part, scope, here, enclosing, joined, alone)
        self.relations += [("at", (node, scope)) for node in alone if node not in joined]

    def part(
        self,
        part: ast.PatternPart,
        scope: int,
        here: str,
        enclosing: int | None,
        joined: set[int],
        alone: dict[int, None],
    ) -> None:
        extra: tuple[int, ...] = ()
        kind = part.function or part.selector
        if kind:
            extra = (self.point(f"path {kind}"),)
            self.operators.add("shortest path" if "shortest" in kind.lower() else "path selector")
        left: int | None = None
        hop: ast.RelationshipPattern | None = None
        group: int | None = None
        for element in part.elements:
            if isinstance(element, ast.RelationshipPattern):
                hop = element
                continue
            if isinstance(element, ast.ParenthesizedPath):
                if group is not None:
                    # Two groups in a row share a node that is not written.
                    left = self.point("")
                    self.relations.append(("join", (left, group)))
                inner = self.quantified(element, scope, here, enclosing)
                if left is not None:
                    self.relations.append(("join", (left, inner)))
                    joined.add(left)
                left, group = None, inner
                continue
            node = self.node(element)
            if element.properties is not None or element.where is not None:
                self.inline(element, here, enclosing)
            if hop is not None and left is not None:
                self.hop(hop, left, node, (scope, *extra), here, enclosing)
                joined.add(left)
                joined.add(node)
            elif group is not None:
                self.relations.append(("join", (node, group)))
                joined.add(node)
            else:
                alone[node] = None
            left, hop, group = node, None, None

    def quantified(
        self, element: ast.ParenthesizedPath, scope: int, here: str, enclosing: int | None
    ) -> int:
        quantifier = element.quantifier
        inner = self.point(f"group {_range(quantifier)}" if quantifier else "group")
        if quantifier:
            self.operators.add("variable length")
        self.relations.append(("in", (inner, scope)))
        self.patterns([element.pattern], inner, here, enclosing)
        if element.where is not None:
            self.condition(element.where, here, enclosing)
        return inner

    def node(self, element: ast.NodePattern) -> int:
        entity = self.bindings.of(element)
        if entity is None:
            return self.point("")
        found = self.points.get(id(entity))
        if found is None:
            found = self.points[id(entity)] = self.point("given" if entity.kind == "value" else "")
        return found

    def hop(
        self,
        hop: ast.RelationshipPattern,
        left: int,
        right: int,
        rest: tuple[int, ...],
        here: str,
        enclosing: int | None,
    ) -> None:
        if hop.quantifier is not None:
            length = _range(hop.quantifier)
            self.operators.add("variable length")
        else:
            length = ""
        if hop.properties is not None or hop.where is not None:
            self.inline(hop, here, enclosing)
        if hop.variable is not None:
            entity = self.bindings.of(hop)
            if entity is not None and (len(entity.nodes) > 1 or entity.kind == "value"):
                found = self.points.get(id(entity))
                if found is None:
                    found = self.points[id(entity)] = self.point("relationship")
                rest = (*rest, found)
        if hop.direction == "right":
            self.relations.append((f"->{length}", (left, right, *rest)))
        elif hop.direction == "left":
            self.relations.append((f"->{length}", (right, left, *rest)))
        else:
            self.relations.append((f"--{length}", (left, right, *rest)))
            if left != right:
                self.relations.append((f"--{length}", (right, left, *rest)))

    def inline(
        self,
        element: ast.NodePattern | ast.RelationshipPattern,
        here: str,
        enclosing: int | None,
    ) -> None:
        if element.properties is not None:
            self.operators.add("filter: equal")
            if isinstance(element.properties, ast.MapLiteral):
                for entry in element.properties.entries:
                    self.value(entry.value)
        if element.where is not None:
            self.condition(element.where, here, enclosing)

    # ------------------------------------------------------------ expressions

    def condition(self, predicate: ast.Expression, here: str, enclosing: int | None) -> None:
        self.where = here, "WHERE "
        self.enclosing = enclosing
        self.filtering = True
        self.expression(predicate)
        self.filtering = False
        self.where = here, ""

    def value(self, node: ast.Expression) -> None:
        kind = type(node)
        if kind is ast.StringLiteral or kind is ast.Variable or kind is ast.IntegerLiteral:
            return
        filtering, self.filtering = self.filtering, False
        self.expression(node)
        self.filtering = filtering

    def expression(self, root: ast.Node) -> None:
        stack: list[tuple[ast.Node, bool]] = [(root, self.negated)]
        operators = self.operators
        while stack:
            node, negated = stack.pop()
            kind = type(node)
            if kind in _SILENT:
                continue
            if kind is ast.PropertyAccess:
                assert isinstance(node, ast.PropertyAccess)
                if type(node.subject) is not ast.Variable:
                    if node.key.name.lower() in TEMPORAL_COMPONENTS:
                        operators.add("temporal function")
                    stack.append((node.subject, negated))
            elif kind is ast.Binary:
                assert isinstance(node, ast.Binary)
                op = node.op
                if self.filtering and op in _FILTERS:
                    operators.add(_FILTERS[op])
                elif op in _COMPARISONS:
                    operators.add("comparison")
                elif op in _ARITHMETIC:
                    operators.add("arithmetic")
                stack.append((node.right, negated))
                stack.append((node.left, negated))
            elif kind is ast.Unary:
                assert isinstance(node, ast.Unary)
                if node.op == "NOT":
                    operators.add("not")
                    negated = not negated
                stack.append((node.operand, negated))
            elif kind is ast.FunctionCall:
                assert isinstance(node, ast.FunctionCall)
                name = node.lower_name
                if name in AGGREGATES:
                    if node.distinct:
                        operators.add("distinct aggregation")
                else:
                    operators.add(FUNCTION_KIND.get(name, "library function"))
                stack += [(a, negated) for a in node.args]
            elif kind is ast.SubqueryExpression:
                assert isinstance(node, ast.SubqueryExpression)
                self.subquery(node.kind, node.body, negated)
            elif kind is ast.PatternExpression:
                assert isinstance(node, ast.PatternExpression)
                self.pattern_inside("EXISTS", node.pattern, negated)
            elif kind is ast.PatternComprehension:
                assert isinstance(node, ast.PatternComprehension)
                operators.add("pattern comprehension")
                self.pattern_inside("COMPREHENSION", node.pattern, negated)
                if node.where is not None:
                    stack.append((node.where, False))
                stack.append((node.projection, False))
            else:
                named = _NAMED.get(kind)
                if named is not None:
                    operators.add(named)
                elif kind is ast.IsNull:
                    assert isinstance(node, ast.IsNull)
                    operators.add("filter: not null" if node.negated else "filter: null")
                elif kind is ast.Comparison:
                    operators.add("filter: compare" if self.filtering else "comparison")
                stack += [(child, negated) for child in reversed(list(node.children()))]

    def subquery(self, kind: str, body: ast.Body, negated: bool) -> None:
        self.operators.add(f"{kind.lower()} subquery")
        here, filtering, enclosing, outer = self.where, self.filtering, self.enclosing, self.negated
        scope = self.enter(kind, negated)
        self.negated = False
        self.body(body, f"{kind} ", scope)
        self.where, self.filtering, self.enclosing, self.negated = here, filtering, enclosing, outer

    def pattern_inside(self, kind: str, part: ast.PatternPart, negated: bool) -> None:
        if kind == "EXISTS" and part.function is None:
            self.operators.add("exists subquery")
        here, filtering, enclosing = self.where, self.filtering, self.enclosing
        scope = self.enter(kind, negated)
        match = self.inside(f"{kind} 0 MATCH", scope)
        self.filtering = True
        self.patterns([part], match, f"{kind} 0 ", scope)
        self.where, self.filtering, self.enclosing = here, filtering, enclosing

    def enter(self, kind: str, negated: bool) -> int:
        place, clause = self.where
        negation = "NOT " if negated and kind == "EXISTS" else ""
        return self.inside(f"{place}{clause}{negation}{kind}", self.enclosing)


_SILENT = frozenset(
    (
        ast.Variable,
        ast.StringLiteral,
        ast.IntegerLiteral,
        ast.FloatLiteral,
        ast.BooleanLiteral,
        ast.NullLiteral,
        ast.Parameter,
        ast.Name,
        ast.CountStar,
        ast.LabelName,
    )
)
_NAMED: dict[type[ast.Node], str] = {
    ast.LabelTest: "filter: label",
    ast.IsTyped: "filter: type",
    ast.IsNormalized: "filter: normalized",
    ast.Case: "case",
    ast.ListComprehension: "list comprehension",
    ast.Quantified: "list predicate",
    ast.Reduce: "reduce",
    ast.MapProjection: "map projection",
    ast.Trim: "string function",
}
_CLAUSES: dict[type[ast.Node], Callable[[_Structure, Any, str, int | None], None]] = {
    ast.Unwind: _Structure.unwind,
    ast.CallSubquery: _Structure.call_subquery,
    ast.CallProcedure: _Structure.call_procedure,
    ast.Filter: _Structure.filter,
    ast.Let: _Structure.let,
    ast.OrderAndPage: _Structure.page,
    ast.Finish: _Structure.quiet,
    ast.UseGraph: _Structure.quiet,
}


def _range(quantifier: ast.Quantifier) -> str:
    lower = quantifier.lower
    if lower is None:
        lower = 0 if quantifier.gql else 1
    upper = "" if quantifier.upper is None else quantifier.upper
    return f"*{lower}..{upper}"
