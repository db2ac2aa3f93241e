"""Graphs: schema, engines, values, results compared."""

from cypherforge.graph.base import Graph, Plan, Result
from cypherforge.graph.connect import connect
from cypherforge.graph.schema import Schema

__all__ = ["Graph", "Plan", "Result", "Schema", "connect"]
