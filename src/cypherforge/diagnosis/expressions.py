"""Expressions in a canonical form: equal forms mean the same, whatever the spelling.

A form is a nested tuple. Aliases are replaced by what they stand for, so that a WITH in between
changes nothing; operands of symmetric operators are sorted; ``a > b`` is ``b < a``; negations are
pushed inwards; an inline property is an equality.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Bindings, Entity, conjuncts
from cypherforge.cypher.function_kinds import AGGREGATES

Form = tuple[Any, ...]
Leaf = Callable[[Entity], Form]

_MIRRORED = {">": "<", ">=": "<="}
_NEGATED = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_SYMMETRIC = ("=", "<>", "AND", "OR", "XOR")
_SYNONYMS = {"lower": "tolower", "upper": "toupper", "length": "size", "character_length": "size"}
# Deeper aliases of aliases are not followed: nobody writes them, and a cycle must end.
_MAX_DEPTH = 40


class Canonical:
    """Makes forms of one query's expressions; ``leaf`` says what an entity is called in them."""

    def __init__(self, bindings: Bindings, leaf: Leaf) -> None:
        self.bindings = bindings
        self.leaf = leaf

    def form(self, node: ast.Node | None, depth: int = 0) -> Form:
        """Return the canonical form of an expression."""
        if node is None:
            return ("none",)
        if depth > _MAX_DEPTH:
            return ("deep",)
        method = _METHODS.get(type(node))
        return method(self, node, depth + 1) if method is not None else self._other(node, depth + 1)

    def negated(self, node: ast.Expression, depth: int = 0) -> Form:
        """Return the form of an expression's negation."""
        if isinstance(node, ast.Unary) and node.op == "NOT":
            return self.form(node.operand, depth)
        if isinstance(node, ast.IsNull):
            return ("isnull", self.form(node.operand, depth), not node.negated)
        if isinstance(node, ast.Binary) and node.op in ("=", "<>", "!="):
            op = "=" if node.op in ("<>", "!=") else "<>"
            return _sorted_pair(op, self.form(node.left, depth), self.form(node.right, depth))
        if isinstance(node, ast.Binary) and node.op in _NEGATED:
            left, right = self.form(node.left, depth), self.form(node.right, depth)
            return _compared(_NEGATED[node.op], left, right)
        return ("not", self.form(node, depth))

    # ------------------------------------------------------------ by kind of node

    def _variable(self, node: ast.Variable, depth: int) -> Form:
        entity = self.bindings.of(node)
        if entity is None:
            return ("local",)
        if entity.kind == "value" and entity.source is not None:
            form = self.form(entity.source, depth)
            return ("element", form) if entity.element else form
        return self.leaf(entity)

    def _literal(self, node: Any, depth: int) -> Form:
        if isinstance(node, ast.IntegerLiteral | ast.FloatLiteral):
            return ("number", float(node.value))
        return (type(node).__name__, node.value)

    def _property(self, node: ast.PropertyAccess, depth: int) -> Form:
        return ("property", self.form(node.subject, depth), node.key.name)

    def _call(self, node: ast.FunctionCall, depth: int) -> Form:
        name = _SYNONYMS.get(node.lower_name, node.lower_name)
        args = tuple(self.form(arg, depth) for arg in node.args)
        if name in AGGREGATES:
            return ("aggregate", name, node.distinct, args)
        if name == "exists" and args and args[0][0] == "property":
            return ("isnull", args[0], True)
        if name == "exists" and args and args[0][0] == "exists":
            return args[0]
        if name == "size" and args and args[0][:1] == ("aggregate",) and args[0][1] == "collect":
            return ("aggregate", "count", args[0][2], args[0][3])
        return ("call", name, args)

    def _count_star(self, node: ast.Node, depth: int) -> Form:
        return ("aggregate", "count", False, (("*",),))

    def _binary(self, node: ast.Binary, depth: int) -> Form:
        if node.op in ("AND", "OR"):
            parts: list[Form] = []
            for operand in (node.left, node.right):
                form = self.form(operand, depth)
                parts += form[1] if form[0] == node.op else (form,)
            return (node.op, tuple(sorted(parts, key=repr)))
        op = "<>" if node.op == "!=" else node.op
        left, right = self.form(node.left, depth), self.form(node.right, depth)
        if op == "IN" and right[0] == "list" and len(right[1]) == 1:
            op, right = "=", right[1][0]
        return _compared(op, left, right)

    def _chain(self, node: ast.Comparison, depth: int) -> Form:
        forms = [self.form(operand, depth) for operand in node.operands]
        parts = [
            _compared("<>" if op == "!=" else op, forms[i], forms[i + 1])
            for i, op in enumerate(node.ops)
        ]
        return ("AND", tuple(sorted(parts, key=repr)))

    def _unary(self, node: ast.Unary, depth: int) -> Form:
        if node.op == "NOT":
            return self.negated(node.operand, depth)
        form = self.form(node.operand, depth)
        if form[0] == "number":
            return ("number", -form[1] if node.op == "-" else form[1])
        return ("unary", node.op, form)

    def _is_null(self, node: ast.IsNull, depth: int) -> Form:
        return ("isnull", self.form(node.operand, depth), node.negated)

    def _list(self, node: ast.ListLiteral, depth: int) -> Form:
        return ("list", tuple(self.form(item, depth) for item in node.items))

    def _label_test(self, node: ast.LabelTest, depth: int) -> Form:
        names = sorted(n.name for n in node.labels.walk() if isinstance(n, ast.LabelName))
        return ("label", self.form(node.subject, depth), tuple(names), node.negated)

    def _pattern(self, node: ast.PatternExpression, depth: int) -> Form:
        return ("exists", *self.pattern([node.pattern], None, depth))

    def _subquery(self, node: ast.SubqueryExpression, depth: int) -> Form:
        word = node.kind.lower()
        body = node.body
        if isinstance(body, ast.SingleQuery) and body.clauses:
            first = body.clauses[0]
            rest = [c for c in body.clauses[1:] if not (word != "collect" and _is_return(c))]
            if isinstance(first, ast.Match) and not rest:
                return (word, *self.pattern(first.patterns, first.where, depth))
        return (word, self._other(body, depth))

    def pattern(
        self, parts: list[ast.PatternPart], where: ast.Where | None, depth: int = 0
    ) -> tuple[Form, Form]:
        """Return links and conditions of a pattern that stands in an expression."""
        links: list[Form] = []
        conditions: list[Form] = []
        for part in parts:
            nodes: list[Form] = []
            arrows: list[ast.RelationshipPattern] = []
            for element in part.elements:
                if isinstance(element, ast.RelationshipPattern):
                    arrows.append(element)
                    conditions += self._inline(element, depth)
                elif isinstance(element, ast.NodePattern):
                    nodes.append(self._node(element))
                    conditions += self._inline(element, depth)
                else:
                    links.append(self._other(element, depth))
            for index, arrow in enumerate(arrows):
                if index + 1 < len(nodes):
                    links.append(_link_form(nodes[index], arrow, nodes[index + 1]))
        if where is not None:
            conditions += [self.form(c, depth) for c in conjuncts(where.predicate)]
        return tuple(sorted(links, key=repr)), tuple(sorted(conditions, key=repr))

    def _node(self, node: ast.NodePattern) -> Form:
        entity = self.bindings.of(node)
        labels = tuple(sorted(entity.names)) if entity is not None else ()
        if entity is None or len({id(n) for n in entity.nodes}) < 2:
            return ("node", labels)
        return self.leaf(entity)

    def _inline(self, element: ast.NodePattern | ast.RelationshipPattern, depth: int) -> list[Form]:
        found: list[Form] = []
        owner = self._node(element) if isinstance(element, ast.NodePattern) else ("relationship",)
        if isinstance(element.properties, ast.MapLiteral):
            for entry in element.properties.entries:
                key = ("property", owner, entry.key.name)
                found.append(_sorted_pair("=", key, self.form(entry.value, depth)))
        if element.where is not None:
            found += [self.form(c, depth) for c in conjuncts(element.where)]
        return found

    def _other(self, node: ast.Node, depth: int) -> Form:
        parts: list[Any] = [type(node).__name__]
        for name in ast.field_names(type(node)):
            value = getattr(node, name)
            if isinstance(value, ast.Node):
                parts.append(self.form(value, depth))
            elif isinstance(value, list):
                parts.append(
                    tuple(self.form(v, depth) if isinstance(v, ast.Node) else v for v in value)
                )
            else:
                parts.append(value)
        return tuple(parts)


def _is_return(clause: ast.Clause) -> bool:
    return isinstance(clause, ast.Return)


def _link_form(left: Form, arrow: ast.RelationshipPattern, right: Form) -> Form:
    types: tuple[str, ...] = ()
    if arrow.types is not None:
        types = tuple(sorted(n.name for n in arrow.types.walk() if isinstance(n, ast.LabelName)))
    length = arrow.quantifier
    bounds = (length.lower, length.upper) if length is not None else (1, 1)
    if arrow.direction == "both":
        ends = sorted((left, right), key=repr)
        return ("both", ends[0], types, bounds, ends[1])
    if arrow.direction == "left":
        left, right = right, left
    return ("arrow", left, types, bounds, right)


def _compared(op: str, left: Form, right: Form) -> Form:
    if op in _SYMMETRIC:
        return _sorted_pair(op, left, right)
    if op in _MIRRORED:
        return (_MIRRORED[op], right, left)
    return (op, left, right)


def _sorted_pair(op: str, left: Form, right: Form) -> Form:
    return (op, *sorted((left, right), key=repr))


_METHODS: dict[type[ast.Node], Callable[[Canonical, Any, int], Form]] = {
    ast.Variable: Canonical._variable,
    ast.IntegerLiteral: Canonical._literal,
    ast.FloatLiteral: Canonical._literal,
    ast.StringLiteral: Canonical._literal,
    ast.BooleanLiteral: Canonical._literal,
    ast.NullLiteral: Canonical._literal,
    ast.PropertyAccess: Canonical._property,
    ast.FunctionCall: Canonical._call,
    ast.CountStar: Canonical._count_star,
    ast.Binary: Canonical._binary,
    ast.Comparison: Canonical._chain,
    ast.Unary: Canonical._unary,
    ast.IsNull: Canonical._is_null,
    ast.ListLiteral: Canonical._list,
    ast.LabelTest: Canonical._label_test,
    ast.PatternExpression: Canonical._pattern,
    ast.SubqueryExpression: Canonical._subquery,
}


def has_aggregate(form: Any) -> bool:
    """Return whether a form holds an aggregate anywhere."""
    if not isinstance(form, tuple):
        return False
    if form[:1] == ("aggregate",):
        return True
    return any(has_aggregate(part) for part in form)
