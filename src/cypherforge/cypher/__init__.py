"""The Cypher language."""

from cypherforge.cypher.analysis import analyse
from cypherforge.cypher.answers import (
    AmbiguousAnswer,
    Candidate,
    NoQuery,
    extract_candidates,
    extract_query,
    last_query,
)
from cypherforge.cypher.dialects import Repaired, Step, dialect_findings, repair_dialect
from cypherforge.cypher.edits import Edit, apply_edits
from cypherforge.cypher.errors import CypherSyntaxError
from cypherforge.cypher.names import quote_name, quote_string
from cypherforge.cypher.normal import gold_key, normal_form
from cypherforge.cypher.parser import parse
from cypherforge.cypher.render import to_text
from cypherforge.cypher.shapes import Shape, shape_of

__all__ = [
    "AmbiguousAnswer",
    "Candidate",
    "CypherSyntaxError",
    "Edit",
    "NoQuery",
    "Repaired",
    "Shape",
    "Step",
    "analyse",
    "apply_edits",
    "dialect_findings",
    "extract_candidates",
    "extract_query",
    "gold_key",
    "last_query",
    "normal_form",
    "parse",
    "quote_name",
    "quote_string",
    "repair_dialect",
    "shape_of",
    "to_text",
]
