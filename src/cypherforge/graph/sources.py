"""From what a user writes to a schema: a file, a graph, or standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from cypherforge.graph.connect import connect
from cypherforge.graph.formats import parse_schema
from cypherforge.graph.introspect import SAMPLE, introspect
from cypherforge.graph.neutral import is_neutral
from cypherforge.graph.policy import ALL_VALUES, ValuePolicy
from cypherforge.graph.schema import Schema


def is_graph(spec: str) -> bool:
    """Return whether a text names a graph (``example``, ``embedded:``, a URI, a neutral folder)."""
    if "://" in spec or spec.startswith("embedded:"):
        return True
    path = Path(spec)
    return (spec == "example" and not path.exists()) or (path.is_dir() and is_neutral(path))


def open_schema(
    spec: str,
    *,
    format: str | None = None,
    sample: int = SAMPLE,
    policy: ValuePolicy = ALL_VALUES,
    user: str | None = None,
    database: str | None = None,
) -> Schema:
    """Return the schema of a graph, of a file in any known format, or of ``-``, standard input.

    ``policy`` holds for graphs and files alike. Raises ``InputError`` for a file that is none, and
    what ``connect`` and ``introspect`` raise for a graph.
    """
    if spec == "-":
        return policy.apply(parse_schema(sys.stdin.read() + "\n", format))
    if format is None and is_graph(spec):
        with connect(spec, user=user, database=database) as graph:
            return introspect(graph, sample=sample, policy=policy)
    schema = parse_schema(Path(spec), format)
    return schema if policy == ALL_VALUES else policy.apply(schema)
