"""Which parts of the language an engine does not take: findings that name the dialect."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from cypherforge.cypher import ast
from cypherforge.cypher.analysis_expressions import Finding

#: Dialects by name, as people read them.
DIALECTS = {
    "neo4j-5": "Neo4j 5",
    "cypher-25": "Cypher 25",
    "memgraph": "Memgraph",
    "embedded": "the embedded engine",
}


def dialect_findings(query: ast.Query, dialect: str) -> list[Finding]:
    """What the engine of a dialect does not take, in the order of the text.

    For Memgraph and the embedded engine; what Neo4j 5 and Cypher 25 refuse is found by
    ``analyse``. Raises ValueError for a dialect that there is not.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"no dialect {dialect!r}: one of {', '.join(DIALECTS)}")
    table = _table()
    findings: list[Finding] = []
    for name, node in _features(query):
        entry = table[name]
        if dialect in entry:
            hint = entry[dialect]
            severity = "warning" if "since" in entry else "error"
            note = f" ({entry['since']})" if "since" in entry else ""
            message = f"{DIALECTS[dialect]} does not take {entry['what']}{note}"
            findings.append(_finding(severity, name, message, node.span, hint))
    functions = table["functions"].get(dialect, {})
    for node in query.walk():
        if isinstance(node, ast.FunctionCall) and node.lower_name in functions:
            message = f"{DIALECTS[dialect]} has no function {node.name}()"
            hint = functions[node.lower_name]
            findings.append(_finding("error", "function", message, node.name_span, hint))
    return sorted(findings, key=lambda f: f.span)


def _finding(severity: str, name: str, message: str, span: tuple[int, int], hint: str) -> Finding:
    return Finding(
        "warning" if severity == "warning" else "error",
        "dialect",
        f"dialect.{name}",
        message,
        span,
        hint or None,
    )


@cache
def _table() -> dict[str, dict[str, Any]]:
    import yaml

    text = files("cypherforge.cypher.dialects").joinpath("features.yaml").read_text("utf-8")
    table: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return table


_PLAIN: dict[type[ast.Node], str] = {
    ast.LabelNot: "label_negation",
    ast.LabelWildcard: "label_wildcard",
    ast.IsTyped: "type_predicate",
    ast.IsNormalized: "normalized_predicate",
    ast.CaseSubject: "case_operators",
    ast.Next: "next",
    ast.When: "when",
    ast.Let: "let",
    ast.Filter: "filter",
    ast.OrderAndPage: "order_and_page",
    ast.Finish: "finish",
}


def _features(query: ast.Query) -> Iterator[tuple[str, ast.Node]]:
    """The parts of a query that not every engine takes, by the names of the table."""
    for node in query.walk():
        name = _PLAIN.get(type(node))
        if name is not None:
            yield name, node
        elif isinstance(node, ast.PatternPart):
            if node.selector:
                yield "path_selector", node
            if node.function:
                yield "shortest_path", node
        elif isinstance(node, ast.ParenthesizedPath) and node.quantifier is not None:
            yield "quantified_path", node
        elif isinstance(node, ast.RelationshipPattern):
            if node.quantifier is not None and node.quantifier.gql:
                yield "quantified_relationship", node
        elif isinstance(node, ast.SubqueryExpression):
            if node.kind != "EXISTS":
                yield f"{node.kind.lower()}_subquery", node
        elif isinstance(node, ast.FunctionCall):
            yield from _call(node)
        elif isinstance(node, ast.CaseBranch):
            if len(node.conditions) > 1:
                yield "case_alternatives", node
        elif isinstance(node, ast.IntegerLiteral):
            if query.text[node.span[0] : node.span[0] + 2].lower() == "0o":
                yield "octal_integer", node
        elif isinstance(node, ast.FloatLiteral):
            if query.text[node.span[0] : node.span[0] + 1].lower() in ("i", "n"):
                yield "named_float", node
        elif isinstance(node, ast.Parameter) and node.old_style:
            yield "old_parameter", node


def _call(node: ast.FunctionCall) -> Iterator[tuple[str, ast.Node]]:
    for argument in node.args:
        if isinstance(argument, ast.PatternExpression) and argument.pattern.function is None:
            if node.lower_name != "exists":
                yield "pattern_in_function", node
        elif node.lower_name == "exists" and isinstance(argument, ast.PropertyAccess):
            yield "exists_function", node
