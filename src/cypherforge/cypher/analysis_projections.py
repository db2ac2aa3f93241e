"""WITH and RETURN: columns, grouping, and what ORDER BY and WHERE can see after them."""

from __future__ import annotations

from cypherforge.cypher import analysis_types as t
from cypherforge.cypher import ast
from cypherforge.cypher.analysis_expressions import Scope
from cypherforge.cypher.analysis_functions import AGGREGATES
from cypherforge.cypher.analysis_patterns import PatternAnalysis
from cypherforge.cypher.ast import FunctionCall, PropertyAccess, Variable

_LISTS = (ast.ListComprehension, ast.Quantified)


class ProjectionAnalysis(PatternAnalysis):
    """The part of the analysis that looks at WITH and RETURN."""

    __slots__ = ()

    def projection(self, node: ast.Projection, scope: Scope, place: str) -> Scope:
        """Look at a WITH or RETURN; the columns, with their types.

        ``place`` is ``WITH``, ``RETURN``, or ``CALL`` for the RETURN of a subquery whose columns
        go on.
        """
        columns: Scope = {}
        if node.star:
            beyond = self.beyond
            columns = {n: k for n, k in scope.items() if n not in beyond} if beyond else dict(scope)
        named: set[str] = set()
        aggregating: list[ast.Expression] = []
        plain: list[ast.Expression] = []
        self.may_aggregate = True
        for item in node.items:
            expression = item.expression
            before = self.aggregates
            kind = self.type_of(expression, scope)
            (aggregating if self.aggregates > before else plain).append(expression)
            alias = item.alias
            if alias is not None:
                name = alias.name
            elif type(expression) is Variable:
                name = expression.name
            else:
                name = item.text
                if place != "RETURN":
                    where = "WITH" if place == "WITH" else "CALL { RETURN ... }"
                    self.report(
                        "projection.alias",
                        f"an expression in {where} needs a name: AS ...",
                        item.span,
                    )
            if name in named:
                self.report("projection.columns", f"two columns are named `{name}`", item.span)
            named.add(name)
            columns[name] = kind
        self.may_aggregate = False
        if node.star and not scope and place != "WITH":
            self.report("projection.star", "* stands for no variable here", node.span)
        group_by = node.group_by
        if group_by is not None and not group_by.everything:
            self._grouped(node, group_by, scope, columns, aggregating)
        elif aggregating and not (len(aggregating) == 1 and not plain and _is_bare(aggregating[0])):
            keys = _grouping_keys(plain)
            if node.star:
                keys |= set(scope)
            for expression in aggregating:
                if not _is_bare(expression):
                    self._check_grouping(expression, keys, scope)
        if node.order_by is not None:
            self._order_by(node.order_by, scope, columns, node, aggregating)
        if node.skip is not None:
            self._page(node.skip.count, "SKIP")
        if node.limit is not None:
            self._page(node.limit.count, "LIMIT")
        return columns

    def after(
        self,
        expression: ast.Expression,
        scope: Scope,
        columns: Scope,
        node: ast.Projection,
        condition: bool,
        aggregates: list[ast.Expression],
    ) -> None:
        """Look at an expression of ORDER BY (or WHERE, ``condition``) after a projection."""
        if not aggregates and not node.distinct and node.group_by is None:
            seen = {**scope, **columns}
        else:
            projected = [item.expression for item in node.items]
            if node.group_by is not None:
                projected += node.group_by.keys
            if self._hidden(expression, projected, columns, scope):
                return
            if aggregates and self._unprojected(expression, projected):
                return
            seen = {**scope, **columns}
        self.may_aggregate = bool(aggregates)
        if condition:
            self.boolean(expression, seen)
        else:
            self.type_of(expression, seen)
        self.may_aggregate = False

    def _order_by(
        self,
        order: ast.OrderBy,
        scope: Scope,
        columns: Scope,
        node: ast.Projection,
        aggregating: list[ast.Expression],
    ) -> None:
        for item in order.items:
            expression = item.expression
            if type(expression) is Variable and expression.name in columns:
                continue
            if not aggregating and self._has_aggregate(expression):
                self.report(
                    "aggregation.order",
                    "ORDER BY aggregates, but the projection before it does not",
                    expression.span,
                    "make the aggregate a column, and order by its name",
                )
                continue
            self.after(expression, scope, columns, node, False, aggregating)

    def _has_aggregate(self, expression: ast.Expression) -> bool:
        stack: list[ast.Node] = [expression]
        while stack:
            node = stack.pop()
            if _is_aggregate(node):
                return True
            if type(node) is not ast.SubqueryExpression:
                stack.extend(node.children())
        return False

    def _unprojected(self, expression: ast.Node, projected: list[ast.Expression]) -> bool:
        """Report an aggregate that is no column; whether there was one."""
        stack: list[ast.Node] = [expression]
        while stack:
            node = stack.pop()
            if any(type(node) is type(p) and node == p for p in projected):
                continue
            if _is_aggregate(node):
                self.report(
                    "aggregation.order",
                    f"the aggregate {self.source(node)} is no column",
                    node.span,
                    f"make {self.source(node)} a column, and use its name",
                )
                return True
            if type(node) is not ast.SubqueryExpression:
                stack.extend(node.children())
        return False

    def _hidden(
        self,
        expression: ast.Node,
        projected: list[ast.Expression],
        columns: Scope,
        scope: Scope,
    ) -> bool:
        """Report variables that grouping or DISTINCT has taken away; whether there were any."""
        stack: list[tuple[ast.Node, frozenset[str]]] = [(expression, frozenset())]
        while stack:
            node, local = stack.pop()
            if not local and any(type(node) is type(p) and node == p for p in projected):
                continue
            if type(node) is Variable:
                if node.name in columns or node.name in local:
                    continue
                if node.name in scope:
                    self.report(
                        "scope.grouped",
                        f"`{node.name}` cannot be seen after DISTINCT or an aggregate",
                        node.span,
                        f"carry it on: make `{node.name}` or what is needed of it a column",
                        "reference",
                    )
                else:
                    self.undefined(node)
                return True
            # A subquery's pattern may use the name again: there it is a new variable.
            local = local | _locals_of(node, {})
            stack.extend((child, local) for child in node.children())
        return False

    def _page(self, count: ast.Expression, word: str) -> None:
        kind = type(count)
        if kind is ast.IntegerLiteral or kind is ast.Parameter:
            self.type_of(count, {})
            return
        for node in count.walk():
            if isinstance(node, (ast.SubqueryExpression, ast.PatternExpression)):
                self.report("projection.page", f"no pattern in {word}", node.span)
                return
        free = _free_variables(count)
        if free:
            self.report("projection.page", f"no variable in {word}", free[0].span)
            return
        found = self.type_of(count, {})
        literal = isinstance(count, (ast.Literal_, ast.Unary)) and not isinstance(
            count, ast.BooleanLiteral
        )
        if literal or not found & t.INTEGER:
            self.report(
                "projection.page",
                f"{word} takes an integer that is not negative, not {self.source(count)}",
                count.span,
            )

    # ---------------------------------------------------------------- grouping

    def _grouped(
        self,
        node: ast.Projection,
        group_by: ast.GroupBy,
        scope: Scope,
        columns: Scope,
        aggregating: list[ast.Expression],
    ) -> None:
        """GROUP BY: every column follows from its keys, and no key aggregates.

        A key is an expression of the scope before, or the name of a column.
        """
        named = {item.column: item.expression for item in node.items}
        keys: list[ast.Expression] = []
        for key in group_by.keys:
            held = named.get(key.name) if type(key) is Variable else None
            if held is None:
                self.type_of(key, {**scope, **columns})
                keys.append(key)
            elif any(held is one for one in aggregating):
                self.report(
                    "aggregation.grouping", f"{self.source(key)} aggregates: no key", key.span
                )
            else:
                keys.append(held)
        known = _grouping_keys(keys)
        for item in node.items:
            if not any(type(item.expression) is type(k) and item.expression == k for k in keys):
                self._check_grouping(item.expression, known, scope)
        for name in () if not node.star else sorted(set(scope) - known):
            self.report("aggregation.grouping", f"`{name}` of * is no key", group_by.span)

    def _check_grouping(self, expression: ast.Expression, keys: set[object], scope: Scope) -> None:
        """Beside an aggregate, only columns, constants and parameters may stand."""
        stack: list[tuple[ast.Node, frozenset[str]]] = [(expression, frozenset())]
        while stack:
            node, local = stack.pop()
            if _is_aggregate(node):
                continue
            kind = type(node)
            if kind is Variable:
                name = node.name  # type: ignore[attr-defined]
                if name in keys or name in local:
                    continue
            elif kind is PropertyAccess or kind is ast.Index:
                key = _property_key(node)
                if key is None:
                    stack.extend((child, local) for child in node.children())
                    continue
                if key in keys or key[0] in keys or key[0] in local:
                    continue
            else:
                local = local | _locals_of(node, scope)
                stack.extend((child, local) for child in node.children())
                continue
            self.report(
                "aggregation.grouping",
                f"{self.source(node)} stands beside an aggregate but is no column",
                node.span,
                f"make {self.source(node)} a column of its own, or a column of a WITH before",
            )
            return


def _is_aggregate(node: ast.Node) -> bool:
    kind = type(node)
    return kind is ast.CountStar or (
        kind is FunctionCall and node.name.lower() in AGGREGATES  # type: ignore[attr-defined]
    )


def _is_bare(node: ast.Expression) -> bool:
    return _is_aggregate(node)


def _property_key(node: ast.Node) -> tuple[str, str] | None:
    """``n.p`` or ``n['p']`` as (variable, property)."""
    if isinstance(node, PropertyAccess) and type(node.subject) is Variable:
        return node.subject.name, node.key.name
    if (
        isinstance(node, ast.Index)
        and type(node.subject) is Variable
        and type(node.index) is ast.StringLiteral
    ):
        return node.subject.name, node.index.value
    return None


def _grouping_keys(plain: list[ast.Expression]) -> set[object]:
    keys: set[object] = set()
    for expression in plain:
        if type(expression) is Variable:
            keys.add(expression.name)
        else:
            key = _property_key(expression)
            if key is not None:
                keys.add(key)
    return keys


def _locals_of(node: ast.Node, scope: Scope) -> frozenset[str]:
    """Variables that a node declares for what is inside of it; ``scope`` is that outside."""
    if isinstance(node, _LISTS):
        return frozenset((node.variable.name,))
    if isinstance(node, ast.Reduce):
        return frozenset((node.variable.name, node.accumulator.name))
    if isinstance(node, (ast.PatternComprehension, ast.SubqueryExpression)):
        return frozenset(
            part.variable.name
            for part in node.walk()
            if isinstance(part, (ast.NodePattern, ast.RelationshipPattern, ast.PatternPart))
            and part.variable is not None
            and part.variable.name not in scope
        ) | frozenset(
            part.alias.name
            for part in node.walk()
            if isinstance(part, ast.ProjectionItem) and part.alias is not None
        )
    return frozenset()


def _free_variables(expression: ast.Expression) -> list[Variable]:
    found: list[Variable] = []
    stack: list[tuple[ast.Node, frozenset[str]]] = [(expression, frozenset())]
    while stack:
        node, local = stack.pop()
        if type(node) is Variable and node.name not in local:
            found.append(node)
        local = local | _locals_of(node, {})
        stack.extend((child, local) for child in node.children())
    return found
