"""Clauses and whole queries: scopes from clause to clause, and in what order they may stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cypherforge.cypher import analysis_types as t
from cypherforge.cypher import ast
from cypherforge.cypher.analysis_expressions import Scope
from cypherforge.cypher.analysis_functions import COLUMN_TYPES, procedures
from cypherforge.cypher.analysis_projections import ProjectionAnalysis

UPDATING = (
    ast.Create,
    ast.Merge,
    ast.SetClause,
    ast.RemoveClause,
    ast.Delete,
    ast.Foreach,
)
_READING = (ast.Match, ast.Unwind, ast.CallProcedure, ast.CallSubquery, ast.LoadCsv)
_SINCE_25 = (ast.Let, ast.Filter)
_WORDS: dict[type, str] = {
    ast.Match: "MATCH",
    ast.Unwind: "UNWIND",
    ast.CallProcedure: "CALL",
    ast.CallSubquery: "CALL",
    ast.LoadCsv: "LOAD CSV",
    ast.Create: "CREATE",
    ast.Merge: "MERGE",
    ast.SetClause: "SET",
    ast.RemoveClause: "REMOVE",
    ast.Delete: "DELETE",
    ast.Foreach: "FOREACH",
    ast.With: "WITH",
    ast.Return: "RETURN",
    ast.Finish: "FINISH",
    ast.UseGraph: "USE",
    ast.Let: "LET",
    ast.Filter: "FILTER",
    ast.OrderAndPage: "ORDER BY",
}


class QueryAnalysis(ProjectionAnalysis):
    """The part of the analysis that looks at clauses and queries."""

    __slots__ = ("base", "hides")

    def __init__(self, text: str, version: int) -> None:
        super().__init__(text, version)
        self.base: Scope = {}
        self.hides = ""

    # ---------------------------------------------------------------- bodies

    def body(self, node: ast.Body, scope: Scope, place: str) -> Scope | None:
        """Look at a query; its columns, or None where it gives none.

        ``place``: ``query``, ``call`` (a subquery), ``EXISTS``, ``COUNT`` or ``COLLECT``.
        """
        if isinstance(node, ast.SingleQuery):
            return self._single(node, scope, place)
        if isinstance(node, ast.Union):
            return self._union(node, scope, place)
        if isinstance(node, ast.Next):
            if self.version < 25:
                self.newer("NEXT", node.span)
            columns: Scope | None = scope
            for i, part in enumerate(node.parts):
                last = i == len(node.parts) - 1
                columns = self.body(part, dict(columns or {}), place if last else "NEXT")
            return columns
        if isinstance(node, ast.When):
            if self.version < 25:
                self.newer("WHEN", node.span)
            first: Scope | None = None
            for branch in node.branches:
                if branch.predicate is not None:
                    self.boolean(branch.predicate, scope)
                columns = self.body(branch.body, dict(scope), place)
                first = columns if first is None else first
            return first
        return None

    def _union(self, node: ast.Union, scope: Scope, place: str) -> Scope | None:
        first: Scope | None = None
        for i, part in enumerate(node.parts):
            columns = self.body(part, dict(scope), place)
            if i == 0:
                first = columns
            elif set(columns or ()) != set(first or ()):
                self.report(
                    "union.columns", "all parts of a UNION must have the same columns", part.span
                )
            elif first and columns:
                first = {name: kind | columns.get(name, 0) for name, kind in first.items()}
        if len(set(node.distinct)) > 1:
            self.report("union.mixed", "UNION and UNION ALL cannot be mixed", node.span)
        return first

    def _single(self, node: ast.SingleQuery, scope: Scope, place: str) -> Scope | None:
        clauses = node.clauses
        last = len(clauses) - 1
        wrote: ast.Clause | None = None
        for i, clause in enumerate(clauses):
            kind = type(clause)
            if kind in _SINCE_25 and self.version < 25:
                self.newer(_WORDS[kind], clause.span)
            if kind is ast.Return or kind is ast.Finish:
                if i < last:
                    word = _WORDS[kind]
                    self.report("clause.order", f"{word} stands at the end only", clause.span)
            elif kind is ast.With:
                wrote = None
            elif kind is ast.Unwind and clause.is_for and self.version < 25:  # type: ignore[attr-defined]
                self.newer("FOR", clause.span)
            elif isinstance(clause, UPDATING):
                wrote = clause
            elif wrote is not None and isinstance(clause, _READING) and self.version < 25:
                self.report(
                    "clause.order",
                    f"a WITH must stand between {_WORDS[type(wrote)]} and {_WORDS[kind]}",
                    clause.span,
                    "WITH *",
                )
                wrote = None
            elif kind is ast.UseGraph and i > 0 and not self._imports(clauses[0], place):
                self.report("clause.order", "USE stands at the beginning only", clause.span)
        end = clauses[last]
        if place not in ("EXISTS", "COUNT"):
            self._ends(end, len(clauses), place)
        if place in ("EXISTS", "COUNT", "COLLECT"):
            self._reads_only(node, place)
        return self._clauses(clauses, scope, place)

    def _imports(self, clause: ast.Clause, place: str) -> bool:
        return place == "call" and type(clause) is ast.With

    def _ends(self, end: ast.Clause, count: int, place: str) -> None:
        kind = type(end)
        if kind is ast.Return or kind is ast.Finish or isinstance(end, UPDATING):
            return
        if isinstance(end, ast.CallProcedure):
            if count == 1 or not (end.yields or end.yield_star):
                return
        elif isinstance(end, ast.CallSubquery) and not _returns(end.body):
            return
        self.report(
            "clause.end",
            f"a query cannot end with {_WORDS[kind]}",
            end.span,
            "RETURN what is asked for",
        )

    def _reads_only(self, node: ast.SingleQuery, place: str) -> None:
        for inner in node.walk():
            if isinstance(inner, UPDATING):
                word = place.capitalize()
                self.report("clause.write", f"no writing inside of {word}", inner.span)
                return

    def _clauses(self, clauses: list[ast.Clause], scope: Scope, place: str) -> Scope | None:
        columns: Scope | None = None
        for i, clause in enumerate(clauses):
            kind = type(clause)
            if kind is ast.Match:
                self._match(clause, scope)  # type: ignore[arg-type]
            elif kind is ast.Return:
                columns = self._return(clause, scope, place)  # type: ignore[arg-type]
            elif kind is ast.With:
                scope = self._with_clause(clause, scope, place, i == 0)  # type: ignore[arg-type]
            else:
                _CLAUSES[kind](self, clause, scope, len(clauses))
        return columns

    # ---------------------------------------------------------------- projections

    def _return(self, node: ast.Return, scope: Scope, place: str) -> Scope:
        kind = "RETURN" if place in ("query", "EXISTS", "COUNT", "COLLECT") else "CALL"
        columns = self.projection(node, scope, kind)
        if place == "COLLECT" and len(columns) != 1:
            self.report("projection.collect", "COLLECT takes a single column", node.span)
        return columns

    def _with_clause(self, node: ast.With, scope: Scope, place: str, first: bool) -> Scope:
        if first and place == "import":
            return self._import(node, scope)
        outer = scope
        columns = self.projection(node, scope, "WITH")
        base = self.base
        for item in node.items if base else ():
            alias = item.alias
            if alias is not None and alias.name in base:
                same = type(item.expression) is ast.Variable and item.expression.name == alias.name
                if not same:
                    self._shadows(alias)
        if node.where is not None:
            aggregating = [
                item.expression for item in node.items if self._has_aggregate(item.expression)
            ]
            self.after(node.where.predicate, outer, {**base, **columns}, node, True, aggregating)
        if not base:
            return columns
        self.beyond = frozenset(base) - frozenset(columns)
        return {**base, **columns}

    def _shadows(self, variable: ast.Variable) -> None:
        self.report(
            "scope.shadowed",
            f"`{variable.name}` is a variable of the outer query already",
            variable.span,
            "use another name",
        )

    def _import(self, node: ast.With, outer: Scope) -> Scope:
        """The WITH at the beginning of a CALL without scope clause."""
        plain = all(
            item.alias is None and type(item.expression) is ast.Variable for item in node.items
        )
        if not plain:
            used = {v.name for i in node.items for v in i.walk() if type(v) is ast.Variable}
            aliases = {i.alias.name for i in node.items if i.alias is not None}
            if (used - aliases) & set(outer) or any(
                type(i.expression) is ast.Variable and i.expression.name in outer
                for i in node.items
            ):
                self.report(
                    "scope.import",
                    "the first WITH of a CALL imports plain variables: no names, no expressions",
                    node.span,
                )
                return {**outer, **dict.fromkeys(aliases, t.ANY)}
            return self._with_clause(node, {}, "call", False)
        for part, word in (
            (node.where, "WHERE"),
            (node.order_by, "ORDER BY"),
            (node.skip, "SKIP"),
            (node.limit, "LIMIT"),
        ):
            if part is not None:
                self.report(
                    "scope.import", f"no {word} in the WITH that imports variables", part.span
                )
        if node.distinct:
            self.report("scope.import", "no DISTINCT in the WITH that imports variables", node.span)
        return self.projection(ast.With(node.span, node.items, False, node.star), outer, "WITH")

    # ---------------------------------------------------------------- reading

    def _match(self, node: ast.Match, scope: Scope) -> None:
        if self.version < 25 and (node.mode is not None or node.search is not None):
            self.newer(node.mode or "SEARCH", node.span)
        self.patterns(node.patterns, scope, "MATCH")
        for hint in node.hints:
            self._hint(hint, scope)
        if node.search is not None:
            self._search(node.search, scope)
        if node.where is not None:
            self.boolean(node.where.predicate, scope)

    def _hint(self, hint: ast.Hint, scope: Scope) -> None:
        words = hint.text.replace(":", " ").replace("`", "").split()
        name = words[-1] if "JOIN" in hint.text.upper() else ""
        if not name:
            before = hint.text.partition(":")[0].split()
            name = before[-1].strip("`") if before else ""
        if name and name not in scope:
            self.report("scope.undefined", f"variable `{name}` is not defined", hint.span)

    def _search(self, node: ast.Search, scope: Scope) -> None:
        if node.variable.name not in scope:
            self.undefined(node.variable)
        self.type_of(node.query, scope)
        if node.where is not None:
            self.boolean(node.where.predicate, scope)
        if node.score is not None:
            self.declare(node.score, t.FLOAT, scope)

    def _unwind(self, node: ast.Unwind, scope: Scope, count: int) -> None:
        found = self.type_of(node.expression, scope)
        self._new(node.variable, t.element_of(found & t.ANY_LIST) | found & ~t.ANY_LIST, scope)

    def _new(self, variable: ast.Variable, kind: int, scope: Scope) -> None:
        if variable.name in self.base and self.hides:
            self._shadows(variable)
            scope[variable.name] = kind
            return
        self.declare(variable, kind, scope)

    def _load_csv(self, node: ast.LoadCsv, scope: Scope, count: int) -> None:
        self.expect(node.url, scope, t.STRING)
        row = t.MAP if node.headers else t.list_of(t.STRING)
        self._new(node.variable, row, scope)

    def _call_procedure(self, node: ast.CallProcedure, scope: Scope, count: int) -> None:
        aggregates = self.aggregates
        for argument in node.args or ():
            self.type_of(argument, scope)
        if self.aggregates > aggregates:
            return
        known = procedures().get(node.name)
        alone = count == 1
        if node.args is None and (node.yields or not alone):
            self.report(
                "procedure.arguments", f"{node.name} needs its parentheses", node.name_span, "()"
            )
        elif (
            known is not None
            and node.args is not None
            and not known.least <= len(node.args) <= known.most
        ):
            self.report(
                "procedure.arguments",
                f"{node.name} takes {known.least} to {known.most} arguments, "
                f"here are {len(node.args)}",
                node.name_span,
            )
        if node.yield_star and not alone:
            self.report("procedure.yield", "YIELD * stands only where the CALL is alone", node.span)
        if known is not None and known.columns and not alone and not node.yields:
            self.report(
                "procedure.yield",
                f"{node.name} gives columns: name them with YIELD",
                node.span,
                f"YIELD {', '.join(known.columns)}",
            )
        for item in node.yields:
            name = item.field.name
            if known is not None and name not in known.columns:
                self.report(
                    "procedure.yield",
                    f"{node.name} gives no column `{name}`",
                    item.field.span,
                    f"one of {', '.join(known.columns)}" if known.columns else None,
                )
            variable = item.alias or ast.Variable(item.field.span, name)
            kind = COLUMN_TYPES.get(name, t.ANY) if known is not None else t.ANY
            self._new(variable, kind, scope)
        if node.where is not None:
            if alone:
                self.report("procedure.yield", "no WHERE where the CALL is alone", node.where.span)
            self.boolean(node.where.predicate, scope)

    def _call_subquery(self, node: ast.CallSubquery, scope: Scope, count: int) -> None:
        base, hides, beyond = self.base, self.hides, self.beyond
        self.beyond = frozenset()
        if node.scope is None and not node.scope_star:
            self.base, self.hides = {}, ""
            columns = self._import_body(node.body, scope)
        else:
            if node.scope_star:
                inner = dict(scope)
            else:
                inner = {}
                for variable in node.scope or ():
                    found = scope.get(variable.name)
                    inner[variable.name] = self.undefined(variable) if found is None else found
            self.base, self.hides = inner, "call"
            self.beyond = frozenset(inner)
            columns = self.body(node.body, dict(inner), "call")
        self.base, self.hides, self.beyond = base, hides, beyond
        for name, kind in (columns or {}).items():
            if name in scope:
                self.report(
                    "scope.declared", f"variable `{name}` is already declared outside", node.span
                )
            scope[name] = kind

    def _import_body(self, body: ast.Body, outer: Scope) -> Scope | None:
        if isinstance(body, ast.Union):
            first: Scope | None = None
            for i, part in enumerate(body.parts):
                columns = self._import_body(part, outer)
                if i and set(columns or ()) != set(first or ()):
                    self.report(
                        "union.columns",
                        "all parts of a UNION must have the same columns",
                        part.span,
                    )
                first = columns if i == 0 else first
            if len(set(body.distinct)) > 1:
                self.report("union.mixed", "UNION and UNION ALL cannot be mixed", body.span)
            return first
        if isinstance(body, ast.SingleQuery):
            clauses = body.clauses
            start = 1 if type(clauses[0]) is ast.UseGraph and len(clauses) > 1 else 0
            if type(clauses[start]) is ast.With:
                inner = self._with_clause(clauses[start], outer, "import", True)  # type: ignore[arg-type]
                rest = clauses[start + 1 :]
                if not rest:
                    self._ends(clauses[start], len(clauses), "call")
                    return None
                return self._single(ast.SingleQuery(body.span, rest), inner, "call")
        return self.body(body, {}, "call")

    def subquery(self, node: ast.SubqueryExpression, scope: Scope) -> int:
        """Look at a subquery in an expression; its type."""
        outer, self.may_aggregate = self.may_aggregate, False
        count = self.aggregates
        base, hides, beyond = self.base, self.hides, self.beyond
        self.base, self.hides, self.beyond = scope, "", frozenset()
        body = node.body
        if isinstance(body, ast.SingleQuery) and _is_short(body):
            self._match(body.clauses[0], dict(scope))  # type: ignore[arg-type]
            columns: Scope | None = None
        else:
            columns = self.body(body, dict(scope), node.kind)
        self.base, self.hides, self.beyond = base, hides, beyond
        self.may_aggregate = outer
        self.aggregates = count
        if node.kind == "EXISTS":
            return t.BOOLEAN
        if node.kind == "COUNT":
            return t.INTEGER
        element = 0
        for kind in (columns or {}).values():
            element |= kind
        return t.list_of(element) if element else t.ANY_LIST

    # ---------------------------------------------------------------- writing

    def _create(self, node: ast.Create, scope: Scope, count: int) -> None:
        self.patterns(node.patterns, scope, "CREATE")

    def _merge(self, node: ast.Merge, scope: Scope, count: int) -> None:
        self.patterns([node.pattern], scope, "MERGE")
        for action in node.actions:
            self._set(action.set, scope, count)

    def _set(self, node: ast.SetClause, scope: Scope, count: int) -> None:
        for item in node.items:
            target = item.target
            if item.op == ":":
                self.expect(target, scope, t.NODE)
                if item.labels is not None and item.labels.span[0] > 0:
                    between = self.text[target.span[1] : item.labels.span[0]]
                    self.labels(item.labels, scope, ":" not in between)
            elif type(target) is ast.Variable:
                self.expect(target, scope, t.ENTITY)
            elif isinstance(target, (ast.PropertyAccess, ast.Index)):
                self.expect(target.subject, scope, t.ENTITY)
                if type(target) is ast.Index:
                    self.expect(target.index, scope, t.STRING)
            else:
                self.type_of(target, scope)
            if item.value is not None:
                whole = type(target) is ast.Variable
                if whole:
                    self.expect(item.value, scope, t.MAP | t.ENTITY)
                else:
                    self.type_of(item.value, scope)

    def _remove(self, node: ast.RemoveClause, scope: Scope, count: int) -> None:
        for item in node.items:
            if type(item) is ast.LabelTest:
                self.expect(item.subject, scope, t.NODE)
            else:
                self.type_of(item, scope)

    def _delete(self, node: ast.Delete, scope: Scope, count: int) -> None:
        for expression in node.expressions:
            if type(expression) is ast.LabelTest:
                self.report(
                    "clause.delete",
                    "DELETE removes no labels",
                    expression.span,
                    f"REMOVE {self.source(expression)}",
                )
                continue
            self.expect(expression, scope, t.ENTITY | t.PATH)

    def _foreach(self, node: ast.Foreach, scope: Scope, count: int) -> None:
        found = self.type_of(node.source, scope)
        inner = dict(scope)
        inner[node.variable.name] = t.element_of(found & t.ANY_LIST or t.ANY_LIST)
        for clause in node.clauses:
            if isinstance(clause, UPDATING):
                _CLAUSES[type(clause)](self, clause, inner, 2)
            else:
                word = _WORDS[type(clause)]
                self.report("clause.foreach", f"no {word} inside of FOREACH", clause.span)

    # ---------------------------------------------------------------- Cypher 25 and the rest

    def _let(self, node: ast.Let, scope: Scope, count: int) -> None:
        values = [(item.variable, self.type_of(item.expression, scope)) for item in node.items]
        for variable, kind in values:
            self._new(variable, kind, scope)

    def _filter(self, node: ast.Filter, scope: Scope, count: int) -> None:
        self.boolean(node.predicate, scope)

    def _page_clause(self, node: ast.OrderAndPage, scope: Scope, count: int) -> None:
        if node.order_by is not None:
            for item in node.order_by.items:
                self.type_of(item.expression, scope)
        if node.skip is not None:
            self._page(node.skip.count, "SKIP")
        if node.limit is not None:
            self._page(node.limit.count, "LIMIT")

    def _nothing(self, node: ast.Clause, scope: Scope, count: int) -> None:
        """USE and FINISH hold nothing to look at."""


def _returns(body: ast.Body) -> bool:
    if isinstance(body, ast.SingleQuery):
        return type(body.clauses[-1]) is ast.Return
    if isinstance(body, (ast.Union, ast.Next)):
        return _returns(body.parts[-1])
    if isinstance(body, ast.When):
        return _returns(body.branches[-1].body)
    return False


def _is_short(body: ast.SingleQuery) -> bool:
    """``EXISTS { (a)-->(b) }``: a pattern without MATCH."""
    clause = body.clauses[0]
    return (
        len(body.clauses) == 1
        and type(clause) is ast.Match
        and bool(clause.patterns)
        and (clause.span[0] == clause.patterns[0].span[0] or clause.mode is not None)
    )


_Reader = Callable[[QueryAnalysis, Any, Scope, int], None]
_CLAUSES: dict[type, _Reader] = {
    ast.Match: lambda self, node, scope, count: self._match(node, scope),
    ast.Unwind: QueryAnalysis._unwind,
    ast.LoadCsv: QueryAnalysis._load_csv,
    ast.CallProcedure: QueryAnalysis._call_procedure,
    ast.CallSubquery: QueryAnalysis._call_subquery,
    ast.Create: QueryAnalysis._create,
    ast.Merge: QueryAnalysis._merge,
    ast.SetClause: QueryAnalysis._set,
    ast.RemoveClause: QueryAnalysis._remove,
    ast.Delete: QueryAnalysis._delete,
    ast.Foreach: QueryAnalysis._foreach,
    ast.Let: QueryAnalysis._let,
    ast.Filter: QueryAnalysis._filter,
    ast.OrderAndPage: QueryAnalysis._page_clause,
    ast.Finish: QueryAnalysis._nothing,
    ast.UseGraph: QueryAnalysis._nothing,
}
