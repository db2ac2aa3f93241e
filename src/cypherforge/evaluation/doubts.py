"""Which parts of a gold may leave its answer open, found in its syntax tree alone.

A gold is underdetermined where the graph does not settle its answer: LIMIT across a tie, the order of
what collect() gathers, an element of a list without an order, today's date, chance, one of several
shortest paths. What is found here is only possible; ``determinacy`` asks the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from cypherforge.cypher import ast

#: Functions without arguments whose value is that of the moment, and by what to shift it.
NOW = {
    **dict.fromkeys(
        [
            f"{name}{suffix}"
            for name in ("date", "datetime", "localdatetime")
            for suffix in ("", ".transaction", ".statement", ".realtime")
        ],
        "({call} - duration({{days: 401}}))",
    ),
    **dict.fromkeys(
        [
            f"{name}{suffix}"
            for name in ("time", "localtime")
            for suffix in ("", ".transaction", ".statement", ".realtime")
        ],
        "({call} - duration({{hours: 7}}))",
    ),
    "timestamp": "({call} - 34646400000)",
}
CHANCE = frozenset(["rand", "randomuuid", "apoc.coll.shuffle", "apoc.coll.randomitem"])
SHORTEST = ("shortestpath",)

_ANY_ORDER = frozenset(
    "size isempty count min max sum avg apoc.coll.sum apoc.coll.avg apoc.coll.min apoc.coll.max "
    "apoc.coll.sort apoc.coll.contains apoc.coll.frequencies".split()
)
_SAME_BAG = frozenset(["reverse", "collect", "apoc.coll.toset", "apoc.coll.flatten"])

Order = Literal["settled", "bag", "choice", "open"]


@dataclass(frozen=True, slots=True)
class ListColumn:
    """A returned column that depends on the order of a list.

    ``bag``: the list itself. ``choice``: an element (or a stretch) of the list ``source``; replacing
    ``span`` by its text returns the whole list instead. ``lower`` and ``upper`` bound a stretch.
    """

    index: int
    kind: Literal["bag", "element", "stretch"]
    span: ast.Span = (0, 0)
    source: str = ""
    lower: int = 0
    upper: int | None = None


@dataclass(slots=True)
class Doubts:
    """What may leave the answer open; ``reasons`` are those that cannot be checked or scored."""

    limits: list[ast.Projection] = field(default_factory=list)
    columns: list[ListColumn] = field(default_factory=list)
    now: list[ast.FunctionCall] = field(default_factory=list)
    chance: bool = False
    shortest: list[ast.PatternPart] = field(default_factory=list)
    reasons: list[tuple[str, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(
            self.limits or self.columns or self.now or self.chance or self.shortest or self.reasons
        )


def doubts(query: ast.Query) -> Doubts:
    """Find everything in a query that may leave its answer open."""
    found = Doubts()
    for node in query.walk():
        if isinstance(node, ast.FunctionCall):
            if node.lower_name in NOW and not node.args:
                found.now.append(node)
            elif node.lower_name in CHANCE:
                found.chance = True
        elif isinstance(node, ast.PatternPart):
            if node.function in SHORTEST:
                found.shortest.append(node)
            elif node.selector and node.selector.split()[0] in ("ANY", "SHORTEST"):
                found.reasons.append(("shortest path", "one of several shortest paths is taken"))
    body = query.body
    if not isinstance(body, ast.SingleQuery):
        if any(isinstance(n, ast.Projection) and n.limit for n in query.walk()):
            found.reasons.append(("limit", "a LIMIT in a part of the query that is not checked"))
        return found
    main = [clause for clause in body.clauses if isinstance(clause, ast.Projection)]
    found.limits = [
        clause for clause in main if clause.limit is not None or clause.skip is not None
    ]
    inner = (n for n in query.walk() if isinstance(n, ast.Projection) and n not in main)
    for node in inner:
        if (node.limit is not None or node.skip is not None) and not _in_exists(query, node):
            found.reasons.append(("limit", "a LIMIT inside a subquery"))
    _Lists(query, found).walk(body)
    return found


def _in_exists(query: ast.Query, node: ast.Node) -> bool:
    """Whether a clause stands in EXISTS { }, where only presence counts."""
    return any(
        isinstance(n, ast.SubqueryExpression)
        and n.kind == "EXISTS"
        and n.span[0] <= node.span[0] < n.span[1]
        for n in query.walk()
    )


class _Lists:
    """Follows lists without an order from where they are gathered to where they are used."""

    def __init__(self, query: ast.Query, found: Doubts) -> None:
        self.text = query.text
        self.found = found
        # Variables that hold such a list, or something taken from one (and how to undo that).
        self.bags: set[str] = set()
        self.taken: dict[str, ListColumn] = {}

    def walk(self, body: ast.SingleQuery) -> None:
        """Go through the clauses in order."""
        sorted_rows = False
        for clause in body.clauses:
            if isinstance(clause, ast.With):
                self._with(clause, sorted_rows)
                # Rows stay in order up to the clause that gathers them.
                sorted_rows = clause.order_by is not None or (
                    sorted_rows and not _gathers(clause) and not clause.distinct
                )
            elif isinstance(clause, ast.Return):
                self._return(clause, sorted_rows)
            elif isinstance(clause, ast.Unwind):
                if self.order(clause.expression, sorted_rows) in ("choice", "open"):
                    self._open("an element of a list without an order is unwound")
                sorted_rows = False
            elif isinstance(clause, ast.CallSubquery):
                sorted_rows = False
            else:
                if isinstance(clause, ast.Match) and clause.where is not None:
                    self._condition(clause.where.predicate, sorted_rows)
                sorted_rows = False

    def _with(self, clause: ast.With, sorted_rows: bool) -> None:
        bags: set[str] = set(self.bags) if clause.star else set()
        taken = dict(self.taken) if clause.star else {}
        for item in clause.items:
            name = _name(item)
            order = self.order(item.expression, sorted_rows)
            if order == "settled" or name is None:
                if order != "settled":
                    self._open("a list without an order")
                continue
            if order == "bag":
                bags.add(name)
            elif order == "choice" and (column := self._column(0, item.expression, sorted_rows)):
                taken[name] = column
            else:
                self._open("a value computed from the order of a list")
        self.bags, self.taken = bags, taken
        for key in clause.order_by.items if clause.order_by else ():
            self._condition(key.expression, sorted_rows)
        if clause.where is not None:
            self._condition(clause.where.predicate, sorted_rows)

    def _return(self, clause: ast.Return, sorted_rows: bool) -> None:
        if clause.star and (self.bags or self.taken):
            self._open("a list without an order is returned by *")
        for index, item in enumerate(clause.items):
            order = self.order(item.expression, sorted_rows)
            if order == "settled":
                continue
            column = self._column(index, item.expression, sorted_rows)
            if column is not None:
                self.found.columns.append(column)
            else:
                self._open("a value computed from the order of a list")
        for key in clause.order_by.items if clause.order_by else ():
            returned = {_name(item) for item in clause.items}
            if isinstance(key.expression, ast.Variable) and key.expression.name in returned:
                names = {_name(i): i.expression for i in clause.items}
                if self.order(names[key.expression.name], sorted_rows) != "settled":
                    self._open("rows sorted by the order of a list")
                continue
            self._condition(key.expression, sorted_rows)

    def _condition(self, expression: ast.Expression, sorted_rows: bool) -> None:
        if self.order(expression, sorted_rows) in ("choice", "open", "bag"):
            self._open("rows kept or sorted by the order of a list")

    def _open(self, reason: str) -> None:
        entry = ("list order", reason)
        if entry not in self.found.reasons:
            self.found.reasons.append(entry)

    def _column(
        self, index: int, expression: ast.Expression, sorted_rows: bool
    ) -> ListColumn | None:
        """How a column depends on a list's order, where it can be compared with the whole list."""
        if isinstance(expression, ast.Variable) and expression.name in self.taken:
            before = self.taken[expression.name]
            return ListColumn(
                index, before.kind, before.span, before.source, before.lower, before.upper
            )
        if self.order(expression, sorted_rows) == "bag":
            return ListColumn(index, "bag")
        inner: ast.Expression | None = None
        kind: Literal["element", "stretch"] = "element"
        lower, upper = 0, None
        if isinstance(expression, ast.FunctionCall) and expression.lower_name in ("head", "last"):
            inner = expression.args[0] if expression.args else None
        elif isinstance(expression, ast.Index):
            inner = expression.subject
            if not isinstance(expression.index, ast.IntegerLiteral):
                return None
            lower = expression.index.value
        elif isinstance(expression, ast.Slice):
            bounds = (expression.lower, expression.upper)
            if not all(b is None or isinstance(b, ast.IntegerLiteral) for b in bounds):
                return None
            inner, kind = expression.subject, "stretch"
            lower = bounds[0].value if isinstance(bounds[0], ast.IntegerLiteral) else 0
            upper = bounds[1].value if isinstance(bounds[1], ast.IntegerLiteral) else None
        if inner is None or self.order(inner, sorted_rows) != "bag":
            return None
        if lower < 0 or (upper is not None and upper < 0):
            return None
        return ListColumn(index, kind, expression.span, self.text[slice(*inner.span)], lower, upper)

    def order(self, node: ast.Expression, sorted_rows: bool) -> Order:
        """What an expression's value owes to an order that nothing settles."""
        if isinstance(node, ast.Variable):
            if node.name in self.taken:
                return "choice"
            return "bag" if node.name in self.bags else "settled"
        if isinstance(node, ast.PatternComprehension):
            return "bag"
        if isinstance(node, ast.SubqueryExpression):
            if node.kind != "COLLECT":
                return "settled"
            ordered = any(isinstance(n, ast.OrderBy) for n in node.walk())
            return "settled" if ordered else "bag"
        if isinstance(node, ast.FunctionCall):
            return self._call(node, sorted_rows)
        if isinstance(node, ast.Index | ast.Slice):
            subject = self.order(node.subject, sorted_rows)
            return "choice" if subject == "bag" else subject
        if isinstance(node, ast.Quantified):
            return "settled" if self.order(node.source, sorted_rows) == "bag" else self._any(node)
        if isinstance(node, ast.ListComprehension):
            return self.order(node.source, sorted_rows)
        if isinstance(node, ast.Reduce):
            source = self.order(node.source, sorted_rows)
            number = isinstance(node.initial, ast.IntegerLiteral | ast.FloatLiteral)
            return "settled" if source == "bag" and number else self._any(node)
        if isinstance(node, ast.Binary) and node.op == "IN":
            left, right = self.order(node.left, sorted_rows), self.order(node.right, sorted_rows)
            return "settled" if left == "settled" and right in ("bag", "settled") else "open"
        if isinstance(node, ast.Binary) and node.op == "+":
            sides = {self.order(node.left, sorted_rows), self.order(node.right, sorted_rows)}
            return "bag" if "bag" in sides and sides <= {"bag", "settled"} else self._any(node)
        if isinstance(node, ast.IsNull):
            return "settled"
        return self._any(node, sorted_rows)

    def _call(self, node: ast.FunctionCall, sorted_rows: bool) -> Order:
        orders = {self.order(arg, sorted_rows) for arg in node.args} or {"settled"}
        if node.lower_name == "collect" and orders == {"settled"}:
            return "settled" if sorted_rows else "bag"
        if node.lower_name in _ANY_ORDER and orders <= {"settled", "bag"}:
            return "settled"
        if node.lower_name == "size":
            return "settled"
        if node.lower_name in ("head", "last", "tail") and orders == {"bag"}:
            return "choice"
        if node.lower_name in _SAME_BAG and orders == {"bag"}:
            return "bag"
        return "settled" if orders == {"settled"} else "open"

    def _any(self, node: ast.Node, sorted_rows: bool = False) -> Order:
        parts = (c for c in _expressions(node))
        return "open" if any(self.order(p, sorted_rows) != "settled" for p in parts) else "settled"


def _expressions(node: ast.Node) -> Iterator[ast.Expression]:
    """The nearest expressions below a node."""
    for child in node.children():
        if isinstance(child, ast.Expression):
            yield child
        else:
            yield from _expressions(child)


def _gathers(clause: ast.Projection) -> bool:
    return any(
        isinstance(n, ast.CountStar)
        or (isinstance(n, ast.FunctionCall) and n.lower_name in ("collect", "count", "sum", "avg"))
        for item in clause.items
        for n in item.expression.walk()
    )


def _name(item: ast.ProjectionItem) -> str | None:
    if item.alias is not None:
        return item.alias.name
    return item.expression.name if isinstance(item.expression, ast.Variable) else None
