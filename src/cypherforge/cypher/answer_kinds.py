"""What kind of value a query answers with: an entity, a property, a count, a list ..."""

from __future__ import annotations

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Bindings, Entity
from cypherforge.cypher.function_kinds import (
    AGGREGATES,
    BOOLEAN_FUNCTIONS,
    COUNTING_FUNCTIONS,
    ENTITY_FUNCTIONS,
    LIST_FUNCTIONS,
)


def is_aggregate(expression: ast.Node) -> bool:
    """Whether an aggregating function applies to the rows that this expression sees."""
    if isinstance(expression, ast.CountStar):
        return True
    if isinstance(expression, ast.FunctionCall) and expression.lower_name in AGGREGATES:
        return True
    if isinstance(expression, ast.SubqueryExpression | ast.PatternComprehension):
        return False
    return any(is_aggregate(child) for child in expression.children())


def kind_of_answer(body: ast.Body, bindings: Bindings) -> str:
    """The kind of what the final RETURN gives: one of the words of ``Shape.returns``."""
    last = last_return(body)
    if last is None:
        return "nothing"
    kinds = {_kind(item.expression, bindings, 0) for item in last.items}
    if last.star:
        kinds.add("*")
    if len(kinds) == 1:
        return kinds.pop()
    return f"mixed({', '.join(sorted(kinds))})"


def last_return(body: ast.Body) -> ast.Return | None:
    """The RETURN that gives a body's columns; of a UNION, that of its first part."""
    if isinstance(body, ast.SingleQuery):
        last = body.clauses[-1] if body.clauses else None
        return last if isinstance(last, ast.Return) else None
    if isinstance(body, ast.Union):
        return last_return(body.parts[0])
    if isinstance(body, ast.Next):
        return last_return(body.parts[-1])
    if isinstance(body, ast.When):
        return last_return(body.branches[0].body)
    return None


_BOOLEAN = (
    ast.IsNull,
    ast.IsTyped,
    ast.IsNormalized,
    ast.LabelTest,
    ast.Quantified,
    ast.Comparison,
    ast.BooleanLiteral,
)
_LISTS = (ast.ListLiteral, ast.ListComprehension, ast.PatternComprehension, ast.Slice)
_MAPS = (ast.MapLiteral, ast.MapProjection)
_LOGICAL = frozenset(
    ["=", "<>", "!=", "<", ">", "<=", ">=", "=~", "CONTAINS", "IN", "OR", "XOR", "AND"]
) | {"STARTS WITH", "ENDS WITH"}


def _kind(node: ast.Expression, bindings: Bindings, depth: int) -> str:
    """What kind of value an expression gives, followed through WITH and UNWIND."""
    if isinstance(node, ast.PropertyAccess):
        return "property"
    if isinstance(node, ast.Variable):
        return _kind_of_entity(bindings.of(node), bindings, depth)
    if isinstance(node, ast.CountStar):
        return "count"
    if isinstance(node, ast.FunctionCall):
        return _kind_of_call(node, bindings, depth)
    if isinstance(node, ast.SubqueryExpression):
        return {"COUNT": "count", "EXISTS": "boolean", "COLLECT": "list"}[node.kind]
    if isinstance(node, ast.PatternExpression):
        return "boolean" if node.pattern.function is None else "path"
    if isinstance(node, _BOOLEAN):
        return "boolean"
    if isinstance(node, _LISTS):
        return "list"
    if isinstance(node, _MAPS):
        return "map"
    if isinstance(node, ast.Binary) and node.op in _LOGICAL:
        return "boolean"
    if isinstance(node, ast.Unary) and node.op == "NOT":
        return "boolean"
    if isinstance(node, ast.Case):
        results = [b.result for b in node.branches] + ([node.default] if node.default else [])
        kinds = {_kind(r, bindings, depth + 1) for r in results} if depth < 20 else {"value"}
        return kinds.pop() if len(kinds) == 1 else "value"
    return "aggregate" if is_aggregate(node) else "value"


def _kind_of_entity(entity: Entity | None, bindings: Bindings, depth: int) -> str:
    if entity is None or depth > 20:
        return "value"
    if entity.kind in ("node", "relationship"):
        return "entity"
    if entity.kind == "path":
        return "path"
    if entity.source is None:
        return "value"
    kind = _kind(entity.source, bindings, depth + 1)
    return "value" if entity.element and kind in ("list", "map", "path") else kind


def _kind_of_call(node: ast.FunctionCall, bindings: Bindings, depth: int) -> str:
    name = node.lower_name
    if name == "count" or name in COUNTING_FUNCTIONS:
        return "count"
    if name == "collect" or name in LIST_FUNCTIONS:
        return "list"
    if name in AGGREGATES:
        return "aggregate"
    if name in BOOLEAN_FUNCTIONS:
        return "boolean"
    if name in ENTITY_FUNCTIONS:
        return "entity"
    if name == "properties":
        return "map"
    if name == "coalesce" and node.args and depth < 20:
        return _kind(node.args[0], bindings, depth + 1)
    return "aggregate" if is_aggregate(node) else "value"
