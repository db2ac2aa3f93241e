"""The Cypher language."""

from cypherforge.cypher.errors import CypherSyntaxError
from cypherforge.cypher.parser import parse

__all__ = ["CypherSyntaxError", "parse"]
