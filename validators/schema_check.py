"""The schema's verdict for the gate: what the schema does not have is an error.

The check itself is the language's (``cypher.schema_check``), where it warns. Where the schema was
only sampled it stays a warning: what is missing may exist and not have been seen.
"""

from __future__ import annotations

from cypherforge.cypher import ast, schema_check
from cypherforge.graph.schema import Schema
from cypherforge.validators.findings import Finding, Severity


def check_schema(query: ast.Query, schema: Schema) -> list[Finding]:
    """Return what does not fit the schema, in source order."""
    severity: Severity = "warning" if schema.sampled else "error"
    return [
        Finding(
            severity,
            item.category,
            item.code,
            item.message,
            item.span,
            item.suggestion,
            "schema",
            item.expected,
        )
        for item in schema_check.check_schema(query, schema)
    ]
