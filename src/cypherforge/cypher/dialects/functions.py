"""Calls that parse but are not Cypher's: functions of SQL, of other languages, of older Cypher."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from cypherforge.cypher import ast
from cypherforge.cypher.dialects.source import Change
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name
from cypherforge.cypher.render_expressions import level


@dataclass(frozen=True, slots=True)
class _Table:
    rename: dict[str, str]
    component: frozenset[str]
    operator: dict[str, dict[str, Any]]
    unclear: dict[str, str]


@cache
def _table() -> _Table:
    import yaml

    text = files("cypherforge.cypher.dialects").joinpath("functions.yaml").read_text("utf-8")
    data = yaml.safe_load(text)
    component = frozenset(data["component"])
    return _Table(data["rename"], component, data["operator"], data["unclear"])


def foreign_parts(query: ast.Query, dialect: str) -> Iterator[Change]:
    """What a query that parses takes from elsewhere; each change is complete in itself."""
    for node in query.walk():
        if isinstance(node, ast.FunctionCall):
            yield from _call(query, node, dialect)
        elif isinstance(node, ast.Parameter) and node.old_style:
            edit = Edit(*node.span, f"${quote_name(node.name)}")
            yield Change("removed.parameter", "`{p}` is `$p`", node.span, (edit,))
        elif isinstance(node, ast.Unary) and node.op == "NOT":
            yield from _not_exists(query, node)
        elif isinstance(node, ast.PatternPart) and node.function is not None:
            yield from _shortest(query, node)


def _text(query: ast.Query, node: ast.Node) -> str:
    return query.text[slice(*node.span)]


def _operand(query: ast.Query, node: ast.Expression, floor: int) -> str:
    text = _text(query, node)
    return text if level(node) >= floor else f"({text})"


def _call(query: ast.Query, node: ast.FunctionCall, dialect: str) -> Iterator[Change]:
    name, args, span = node.lower_name, node.args, node.span
    table = _table()
    if name == "exists" and len(args) == 1:
        yield from _exists(query, node)
    elif name in ("size", "length", "count") and len(args) == 1 and not node.distinct:
        pattern = args[0]
        if isinstance(pattern, ast.PatternExpression) and pattern.pattern.function is None:
            written = _text(query, pattern)
            counted = f"COUNT {{ {written} }}"
            if dialect == "memgraph":
                counted = f"size([{written} | 1])"
            message = f"{name}() of a pattern was removed: `{counted.split()[0]} ...` counts it"
            yield Change("removed.size_pattern", message, span, (Edit(*span, counted),))
        elif name == "length" and isinstance(pattern, ast.StringLiteral):
            edit = Edit(*node.name_span, "size")
            yield Change("removed.length", "the length of a string is size()", span, (edit,))
    elif name in table.rename:
        new = table.rename[name]
        edit = Edit(*node.name_span, new)
        yield Change("function.foreign", f"{node.name}() is {new}() here", span, (edit,))
    elif name in table.component and len(args) == 1:
        edit = Edit(*span, f"{_operand(query, args[0], 11)}.{name}")
        yield Change("function.component", f"{node.name}(x) is x.{name}", span, (edit,))
    elif name in table.operator:
        yield from _operator(query, node, table.operator[name])
    elif name in ("if", "iif") and len(args) == 3:
        parts = [_text(query, a) for a in args]
        edit = Edit(*span, f"CASE WHEN {parts[0]} THEN {parts[1]} ELSE {parts[2]} END")
        yield Change("function.if", f"{node.name}() is a CASE", span, (edit,))
    elif name in ("isnull", "isnotnull") and len(args) == 1:
        test = "IS NULL" if name == "isnull" else "IS NOT NULL"
        edit = Edit(*span, f"({_operand(query, args[0], 7)} {test})")
        yield Change("sql.null", f"{node.name}(x) is x {test}", span, (edit,))
    elif name == "isnull":
        edit = Edit(*node.name_span, "coalesce")
        yield Change("function.foreign", "isnull(a, b) is coalesce(a, b)", span, (edit,))
    elif name in ("filter", "extract") and args and isinstance(args[0], ast.Binary):
        message = f"{name}() was removed: a list comprehension does it"
        yield Change("removed.list_function", message, span)
    elif name in table.unclear:
        message = f"{node.name}() is no function here; near it: {table.unclear[name]}"
        yield Change("function.unclear", message, span)


def _operator(query: ast.Query, node: ast.FunctionCall, entry: dict[str, Any]) -> Iterator[Change]:
    wanted, sign = entry["arguments"], entry["sign"]
    if len(node.args) < 2 or (wanted and len(node.args) != wanted):
        return
    joined = f" {sign} ".join(_operand(query, a, 10) for a in node.args)
    message = f"{node.name}() is the operator {sign}"
    yield Change("function.operator", message, node.span, (Edit(*node.span, f"({joined})"),))


def _exists(query: ast.Query, node: ast.FunctionCall) -> Iterator[Change]:
    (argument,) = node.args
    if isinstance(argument, ast.PropertyAccess | ast.Index):
        written = _text(query, argument)
        message = "exists() of a property was removed: IS NOT NULL"
        edit = Edit(*node.span, f"{written} IS NOT NULL")
        if _stands_alone(query, node):
            yield Change("removed.exists", message, node.span, (edit,))
        else:
            edit = Edit(*node.span, f"({written} IS NOT NULL)")
            yield Change("removed.exists", message, node.span, (edit,))


def _stands_alone(query: ast.Query, node: ast.FunctionCall) -> bool:
    """Whether what surrounds a call leaves no doubt how ``x IS NOT NULL`` in its place is read."""
    before = query.text[: node.span[0]].split()
    after = query.text[node.span[1] :].lstrip()[:3].upper()
    word = before[-1].upper() if before else ""
    return word in ("WHERE", "AND", "OR", "WHEN") and after[:1] not in tuple("=<>+-*/%^.[")


def _not_exists(query: ast.Query, node: ast.Unary) -> Iterator[Change]:
    """``NOT exists(n.p)``: one test, not two negations."""
    call = node.operand
    if isinstance(call, ast.FunctionCall) and call.lower_name == "exists" and len(call.args) == 1:
        (argument,) = call.args
        if isinstance(argument, ast.PropertyAccess | ast.Index):
            end = _closing(query.text, node.span[1], call.span[1])
            edit = Edit(node.span[0], end, f"{_text(query, argument)} IS NULL")
            message = "exists() of a property was removed: IS NULL"
            yield Change("removed.exists", message, node.span, (edit,))


def _closing(text: str, end: int, call_end: int) -> int:
    return max(end, call_end)


def _shortest(query: ast.Query, node: ast.PatternPart) -> Iterator[Change]:
    hops = [e for e in node.elements if isinstance(e, ast.RelationshipPattern)]
    if len(hops) != 1 or len(node.elements) != 3:
        yield Change(
            "shortest_path.pattern", "shortestPath() takes one relationship pattern", node.span
        )
    elif hops[0].quantifier is not None and (hops[0].quantifier.lower or 0) > 1:
        yield Change(
            "shortest_path.length", "shortestPath() takes a minimal length of 0 or 1", node.span
        )
