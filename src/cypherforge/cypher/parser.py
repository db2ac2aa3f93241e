"""The door to the parser."""

from __future__ import annotations

from cypherforge.cypher import ast
from cypherforge.cypher.parser_query import QueryParser


def parse(text: str) -> ast.Query:
    """Parse one statement, Cypher 5 or 25; raises ``CypherSyntaxError``."""
    parser = QueryParser(text)
    try:
        return parser.query()
    except RecursionError:
        parser.refuse_depth(parser.i)
