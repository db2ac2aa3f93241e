"""The doors to the parser: whole statements, and fragments of them for rewriting and tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cypherforge.cypher import ast
from cypherforge.cypher.errors import CypherSyntaxError
from cypherforge.cypher.parser_clauses import CLAUSES
from cypherforge.cypher.parser_query import QueryParser
from cypherforge.cypher.tokens import may_interpolate

_T = TypeVar("_T")


def parse(text: str, dialect: str = "neo4j-5") -> ast.Query:
    """Parse one statement, Cypher 5 or 25; raises ``CypherSyntaxError``.

    ``dialect`` matters for GROUP BY only, which is Cypher in ``cypher-25`` and behind a
    ``CYPHER 25`` prefix, and elsewhere a word of SQL's that no database takes.
    """
    return _either(text, QueryParser.query, dialect.endswith("25"))


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
    def read_all(parser: QueryParser) -> _T:
        node = read(parser)
        if parser.kinds[parser.i] != "end":
            parser.refuse(parser.i, "the end of the text")
        return node

    return _either(text, read_all, True)


def _either(text: str, read: Callable[[QueryParser], _T], groups: bool) -> _T:
    """Read plain Cypher; what fails and may hold interpolated strings, once more with those.

    Nothing valid holds ``s'`` outside of strings and names otherwise, so plain Cypher, nearly all
    there is, pays nothing for them.
    """
    try:
        return _read(QueryParser(text, groups), read)
    except CypherSyntaxError:
        if not may_interpolate(text):
            raise
    return _read(QueryParser(text, groups, True), read)


def _read(parser: QueryParser, read: Callable[[QueryParser], _T]) -> _T:
    try:
        return read(parser)
    except RecursionError:
        parser.refuse_depth(parser.i)
