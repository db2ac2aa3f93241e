"""The doors to the parser: whole statements, and fragments of them for rewriting and tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cypherforge.cypher import ast
from cypherforge.cypher.parser_clauses import CLAUSES
from cypherforge.cypher.parser_query import QueryParser

_T = TypeVar("_T")


def parse(text: str) -> ast.Query:
    """Parse one statement, Cypher 5 or 25; raises ``CypherSyntaxError``."""
    parser = QueryParser(text)
    try:
        return parser.query()
    except RecursionError:
        parser.refuse_depth(parser.i)


def parse_expression(text: str) -> ast.Expression:
    """Parse an expression alone; raises ``CypherSyntaxError``."""
    return _whole(text, QueryParser.expression)


def parse_pattern(text: str) -> ast.PatternPart:
    """Parse one path of a pattern, without comma; raises ``CypherSyntaxError``."""
    return _whole(text, QueryParser.pattern_part)


def parse_label_expression(text: str) -> ast.LabelExpression:
    """Parse what stands after the colon of a node or relationship; raises ``CypherSyntaxError``."""
    return _whole(text, QueryParser.label_expression)


def parse_clause(text: str) -> ast.Clause:
    """Parse one clause; raises ``CypherSyntaxError``."""
    return _whole(text, _clause)


def _clause(parser: QueryParser) -> ast.Clause:
    read = CLAUSES.get(parser.kinds[parser.i])
    if read is None:
        parser.refuse(parser.i, "a clause such as MATCH or RETURN")
    return read(parser)


def _whole(text: str, read: Callable[[QueryParser], _T]) -> _T:
    parser = QueryParser(text)
    try:
        node = read(parser)
    except RecursionError:
        parser.refuse_depth(parser.i)
    if parser.kinds[parser.i] != "end":
        parser.refuse(parser.i, "the end of the text")
    return node
