"""The door to the analysis: what a database would refuse in a query that parses."""

from __future__ import annotations

from cypherforge.cypher import ast
from cypherforge.cypher.analysis_clauses import QueryAnalysis
from cypherforge.cypher.analysis_expressions import Finding
from cypherforge.cypher.parser import parse
from cypherforge.cypher.schema_view import SchemaView

__all__ = ["Finding", "analyse"]


def analyse(
    query: ast.Query | str, dialect: str = "neo4j-5", schema: SchemaView | None = None
) -> list[Finding]:
    """What a database of this dialect would refuse in the query, in the order of its text.

    ``dialect``: ``neo4j-5`` or ``cypher-25``. With a ``schema``, also warnings of names, arrows and
    literals that do not fit it, each with what would. A query given as text is parsed first, and
    ``CypherSyntaxError`` raised where it does not parse.
    """
    tree = parse(query, dialect) if isinstance(query, str) else query
    analysis = QueryAnalysis(tree.text, version_of(tree, dialect))
    try:
        analysis.body(tree.body, {}, "query")
    except RecursionError:
        return [
            Finding(
                "warning",
                "parse",
                "clause.deep",
                "the query nests too deeply to look at",
                tree.span,
            )
        ]
    findings = analysis.findings
    if schema is not None:
        # Here, since its search for similar names takes a while to load.
        from cypherforge.cypher.schema_check import check_schema

        findings += check_schema(tree, schema)
    if len(findings) > 1:
        findings.sort(key=lambda finding: finding.span)
    return findings


def version_of(tree: ast.Query, dialect: str) -> int:
    """5 or 25: what the query's own prefix says, else the dialect."""
    for option in tree.options:
        if option.name == "version" and option.value:
            return 25 if option.value.startswith("25") else 5
    return 25 if dialect.endswith("25") else 5
