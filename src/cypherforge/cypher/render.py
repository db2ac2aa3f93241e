"""Writing a syntax tree as canonical Cypher: ``parse(to_text(query)) == query``.

A ``Writer`` makes pieces: text, mentions of variables, sequences, and bags of pieces whose order
means nothing. ``to_text`` joins them as they come; the normal form (``normal.py``) is a writer that
brings queries of one meaning to the same pieces, and orders the bags.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cypherforge.cypher import ast
from cypherforge.cypher.names import quote_name
from cypherforge.cypher.pieces import Piece, flatten, join
from cypherforge.cypher.render_expressions import ExpressionWriter


def to_text(node: ast.Node) -> str:
    """Any node as Cypher in one canonical spelling; comments are not part of the tree."""
    return flatten(Writer().write(node))


class Writer(ExpressionWriter):
    """Any node to pieces; subclasses change what variables, literals and clauses become."""

    def write(self, node: ast.Node) -> Piece:
        """Any node."""
        return _WRITERS[type(node)](self, node)

    # ------------------------------------------------------------ clauses

    def _where(self, node: ast.Where) -> Piece:
        return ["WHERE ", self.write(node.predicate)]

    def _match(self, node: ast.Match) -> Piece:
        return [
            "OPTIONAL " if node.optional else "",
            "MATCH ",
            f"{node.mode} " if node.mode else "",
            self.patterns(node),
            [[" ", self.write(h)] for h in node.hints],
            self.maybe(" ", node.search),
            self.maybe(" ", node.where),
        ]

    def _search(self, node: ast.Search) -> Piece:
        return [
            "SEARCH ",
            self.write(node.variable),
            " IN (VECTOR INDEX ",
            self.write(node.index),
            " FOR ",
            self.write(node.query),
            self.maybe(" ", node.where),
            self.maybe(" ", node.limit),
            ")",
            "" if node.score is None else [" SCORE AS ", self.binding(node.score)],
        ]

    def _hint(self, node: ast.Hint) -> Piece:
        return node.text

    def _item(self, node: ast.ProjectionItem) -> Piece:
        value = self.write(node.expression)
        return value if node.alias is None else [value, " AS ", self.binding(node.alias)]

    def _projection(self, word: str, node: ast.Projection) -> Piece:
        items = [self.write(i) for i in node.items]
        return [
            word,
            " DISTINCT " if node.distinct else " ",
            *join(["*", *items] if node.star else items),
            self.maybe(" ", node.group_by),
            self.maybe(" ", node.order_by),
            self.maybe(" ", node.skip),
            self.maybe(" ", node.limit),
        ]

    def _with(self, node: ast.With) -> Piece:
        return [self._projection("WITH", node), self.maybe(" ", node.where)]

    def _return(self, node: ast.Return) -> Piece:
        return self._projection("RETURN", node)

    def _group_by(self, node: ast.GroupBy) -> Piece:
        keys = "ALL" if node.everything else self.all(node.keys) if node.keys else "()"
        return ["GROUP BY ", keys]

    def _order_by(self, node: ast.OrderBy) -> Piece:
        return ["ORDER BY ", self.all(node.items)]

    def _sort_item(self, node: ast.SortItem) -> Piece:
        return [self.write(node.expression), " DESC" if node.descending else ""]

    def _unwind(self, node: ast.Unwind) -> Piece:
        source = self.write(node.expression)
        variable = self.binding(node.variable)
        if node.is_for:
            return ["FOR ", variable, " IN ", source]
        return ["UNWIND ", source, " AS ", variable]

    def _procedure(self, node: ast.CallProcedure) -> Piece:
        pieces: list[Piece] = ["OPTIONAL " if node.optional else "", "CALL "]
        pieces.append(".".join(quote_name(p) for p in node.name.split(".")))
        if node.args is not None:
            pieces += ("(", self.all(node.args), ")")
        if node.yield_star:
            pieces.append(" YIELD *")
        elif node.yields:
            pieces += (" YIELD ", self.all(node.yields))
        return [*pieces, self.maybe(" ", node.where)]

    def _yield_item(self, node: ast.YieldItem) -> Piece:
        if node.alias is None:
            return self.write(node.field)
        return [self.write(node.field), " AS ", self.binding(node.alias)]

    def _call_subquery(self, node: ast.CallSubquery) -> Piece:
        scope: Piece = ""
        if node.scope_star:
            scope = "(*) "
        elif node.scope is not None:
            scope = ["(", self.all(node.scope), ") "]
        return [
            "OPTIONAL " if node.optional else "",
            "CALL ",
            scope,
            "{ ",
            self.write(node.body),
            " }",
            f" {node.in_transactions}" if node.in_transactions else "",
        ]

    def _let(self, node: ast.Let) -> Piece:
        items: list[Piece] = []
        for item in node.items:
            value = self.write(item.expression)
            items.append([self.binding(item.variable), " = ", value])
        return ["LET ", *join(items)]

    def _filter(self, node: ast.Filter) -> Piece:
        return ["FILTER ", self.write(node.predicate)]

    def _page(self, node: ast.OrderAndPage) -> Piece:
        parts = [self.write(p) for p in (node.order_by, node.skip, node.limit) if p is not None]
        return join(parts, " ")

    def _create(self, node: ast.Create) -> Piece:
        return ["CREATE ", self.all(node.patterns)]

    def _set_item(self, node: ast.SetItem) -> Piece:
        if node.labels is not None:
            return [self.write(node.target), ":", self.chain(node.labels)]
        assert node.value is not None
        return [self.write(node.target), f" {node.op} ", self.write(node.value)]

    def chain(self, labels: ast.LabelExpression) -> Piece:
        """Labels as SET and REMOVE take them: joined by colons."""
        if isinstance(labels, ast.LabelBoolean):
            return join([self.labels(o, 3) for o in labels.operands], ":")
        return self.labels(labels)

    def _set(self, node: ast.SetClause) -> Piece:
        return ["SET ", self.all(node.items)]

    def _remove(self, node: ast.RemoveClause) -> Piece:
        items: list[Piece] = []
        for item in node.items:
            if isinstance(item, ast.LabelTest):
                items.append([self.write(item.subject), ":", self.chain(item.labels)])
            else:
                items.append(self.write(item))
        return ["REMOVE ", *join(items)]

    def _merge(self, node: ast.Merge) -> Piece:
        actions: list[Piece] = [[f" ON {a.on} ", self.write(a.set)] for a in node.actions]
        return ["MERGE ", self.write(node.pattern), *actions]

    def _merge_action(self, node: ast.MergeAction) -> Piece:
        return [f"ON {node.on} ", self.write(node.set)]

    def _delete(self, node: ast.Delete) -> Piece:
        return ["DETACH DELETE " if node.detach else "DELETE ", self.all(node.expressions)]

    def _foreach(self, node: ast.Foreach) -> Piece:
        source = self.write(node.source)
        variable = self.binding(node.variable)
        return ["FOREACH (", variable, " IN ", source, " | ", self.all(node.clauses, " "), ")"]

    def _load_csv(self, node: ast.LoadCsv) -> Piece:
        return [
            "LOAD CSV WITH HEADERS FROM " if node.headers else "LOAD CSV FROM ",
            self.write(node.url),
            " AS ",
            self.binding(node.variable),
            self.maybe(" FIELDTERMINATOR ", node.field_terminator),
        ]

    # ------------------------------------------------------------ queries

    def _single(self, node: ast.SingleQuery) -> Piece:
        return self.all(node.clauses, "\n")

    def _union(self, node: ast.Union) -> Piece:
        pieces: list[Piece] = [self.branch(node.parts[0])]
        for part, distinct in zip(node.parts[1:], node.distinct, strict=True):
            pieces += ("\nUNION\n" if distinct else "\nUNION ALL\n", self.branch(part))
        return pieces

    def branch(self, body: ast.Body) -> Piece:
        """A part of a larger query; in braces where it is not a row of clauses."""
        piece = self.write(body)
        return piece if isinstance(body, ast.SingleQuery) else ["{ ", piece, " }"]

    def _next(self, node: ast.Next) -> Piece:
        parts = [
            ["{ ", self.write(p), " }"] if isinstance(p, ast.Next) else self.write(p)
            for p in node.parts
        ]
        return join(parts, "\nNEXT\n")

    def _when(self, node: ast.When) -> Piece:
        pieces: list[Piece] = []
        for branch in node.branches:
            pieces.append("\n" if pieces else "")
            if branch.predicate is None:
                pieces.append("ELSE ")
            else:
                pieces += ("WHEN ", self.write(branch.predicate), " THEN ")
            pieces.append(self.branch(branch.body))
        return pieces

    def _command(self, node: ast.Command) -> Piece:
        return node.text

    def _query(self, node: ast.Query) -> Piece:
        words: list[str] = []
        inside = False
        for option in node.options:
            if option.name in ("EXPLAIN", "PROFILE"):
                words.append(option.name)
                inside = False
                continue
            # A version can only come first after its CYPHER.
            if not inside or option.name == "version":
                words.append("CYPHER")
            inside = True
            value = str(option.value)
            words.append(value if option.name == "version" else f"{option.name}={value}")
        return [*(f"{w} " for w in words), self.write(node.body)]


_WRITERS: dict[type[ast.Node], Callable[[Any, Any], Piece]] = {
    ast.Name: lambda w, n: w._name(n),
    ast.Variable: lambda w, n: w.variable(n),
    ast.Parameter: lambda w, n: w._parameter(n),
    ast.IntegerLiteral: lambda w, n: w._integer(n),
    ast.FloatLiteral: lambda w, n: w._float(n),
    ast.StringLiteral: lambda w, n: w._string(n),
    ast.StringPart: lambda w, n: w._string_part(n),
    ast.InterpolatedString: lambda w, n: w._interpolated(n),
    ast.BooleanLiteral: lambda w, n: w.fixed(n),
    ast.NullLiteral: lambda w, n: w.fixed(n),
    ast.ListLiteral: lambda w, n: w._list(n),
    ast.MapLiteral: lambda w, n: w._map(n),
    ast.MapEntry: lambda w, n: [w.write(n.key), ": ", w.write(n.value)],
    ast.PropertyAccess: lambda w, n: w._property(n),
    ast.Index: lambda w, n: w._index(n),
    ast.Slice: lambda w, n: w._slice(n),
    ast.Binary: lambda w, n: w._binary(n),
    ast.Comparison: lambda w, n: w._comparison(n),
    ast.Unary: lambda w, n: w._unary(n),
    ast.IsNull: lambda w, n: w._is_null(n),
    ast.IsTyped: lambda w, n: w._is_typed(n),
    ast.IsNormalized: lambda w, n: w._is_normalized(n),
    ast.LabelTest: lambda w, n: w._label_test(n),
    ast.FunctionCall: lambda w, n: w._call(n),
    ast.CountStar: lambda w, n: "count(*)",
    ast.Trim: lambda w, n: w._trim(n),
    ast.CaseSubject: lambda w, n: "",
    ast.CaseBranch: lambda w, n: [w.all(n.conditions), " THEN ", w.write(n.result)],
    ast.Case: lambda w, n: w._case(n),
    ast.ListComprehension: lambda w, n: w._list_comprehension(n),
    ast.PatternComprehension: lambda w, n: w._pattern_comprehension(n),
    ast.Reduce: lambda w, n: w._reduce(n),
    ast.Quantified: lambda w, n: w._quantified(n),
    ast.MapProjection: lambda w, n: w._map_projection(n),
    ast.PatternExpression: lambda w, n: w._pattern(n),
    ast.SubqueryExpression: lambda w, n: w._subquery_expression(n),
    ast.LabelName: lambda w, n: w.labels(n),
    ast.LabelWildcard: lambda w, n: w.labels(n),
    ast.LabelDynamic: lambda w, n: w.labels(n),
    ast.LabelNot: lambda w, n: w.labels(n),
    ast.LabelBoolean: lambda w, n: w.labels(n),
    ast.Quantifier: lambda w, n: w._quantifier(n),
    ast.NodePattern: lambda w, n: w._node(n),
    ast.RelationshipPattern: lambda w, n: w._relationship(n),
    ast.ParenthesizedPath: lambda w, n: w._parenthesized(n),
    ast.PatternPart: lambda w, n: w._part(n),
    ast.Where: lambda w, n: w._where(n),
    ast.Hint: lambda w, n: w._hint(n),
    ast.Search: lambda w, n: w._search(n),
    ast.Match: lambda w, n: w._match(n),
    ast.ProjectionItem: lambda w, n: w._item(n),
    ast.SortItem: lambda w, n: w._sort_item(n),
    ast.GroupBy: lambda w, n: w._group_by(n),
    ast.OrderBy: lambda w, n: w._order_by(n),
    ast.Skip: lambda w, n: ["SKIP ", w.write(n.count)],
    ast.Limit: lambda w, n: ["LIMIT ", w.write(n.count)],
    ast.With: lambda w, n: w._with(n),
    ast.Return: lambda w, n: w._return(n),
    ast.Unwind: lambda w, n: w._unwind(n),
    ast.YieldItem: lambda w, n: w._yield_item(n),
    ast.CallProcedure: lambda w, n: w._procedure(n),
    ast.CallSubquery: lambda w, n: w._call_subquery(n),
    ast.LetItem: lambda w, n: [w.write(n.variable), " = ", w.write(n.expression)],
    ast.Let: lambda w, n: w._let(n),
    ast.Filter: lambda w, n: w._filter(n),
    ast.OrderAndPage: lambda w, n: w._page(n),
    ast.Finish: lambda w, n: "FINISH",
    ast.UseGraph: lambda w, n: f"USE {n.graph}",
    ast.Create: lambda w, n: w._create(n),
    ast.SetItem: lambda w, n: w._set_item(n),
    ast.SetClause: lambda w, n: w._set(n),
    ast.RemoveClause: lambda w, n: w._remove(n),
    ast.MergeAction: lambda w, n: w._merge_action(n),
    ast.Merge: lambda w, n: w._merge(n),
    ast.Delete: lambda w, n: w._delete(n),
    ast.Foreach: lambda w, n: w._foreach(n),
    ast.LoadCsv: lambda w, n: w._load_csv(n),
    ast.SingleQuery: lambda w, n: w._single(n),
    ast.Union: lambda w, n: w._union(n),
    ast.Next: lambda w, n: w._next(n),
    ast.When: lambda w, n: w._when(n),
    ast.Command: lambda w, n: w._command(n),
    ast.Query: lambda w, n: w._query(n),
}
