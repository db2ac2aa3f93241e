"""A graph of known answers, for tests that need no database."""

from collections.abc import Callable, Mapping
from typing import Any

from cypherforge.core.errors import QueryRuntimeError
from cypherforge.graph.base import BaseGraph, Plan, Result
from cypherforge.graph.schema import Schema

Answer = Result | Exception | Callable[[], Result]


class CannedGraph(BaseGraph):
    """Answers known texts; anything else is an error, as a database would say."""

    uri, engine, read_only = "canned:", "neo4j-5.26", True

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        super().__init__()
        self.answers = dict(answers)
        self.asked: list[str] = []

    def run(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        limit: int | None = None,
    ) -> Result:
        self.asked.append(query)
        if query not in self.answers:
            raise QueryRuntimeError(f"no such query: {query}")
        found = self.answers[query]
        if isinstance(found, Exception):
            raise found
        result = found if isinstance(found, Result) else found()
        if limit is not None and len(result.rows) > limit:
            return Result(result.columns, result.rows[:limit], True)
        return result

    def explain(self, query: str, parameters: Mapping[str, Any] | None = None) -> Plan:
        return Plan("Canned")

    def schema(self) -> Schema:
        return Schema.parse("(:Person {name: STRING, born: INTEGER})-[:KNOWS]->(:Person)")

    def fingerprint(self) -> str:
        return "canned"

    def close(self) -> None:
        pass


def rows(*values: tuple[Any, ...], columns: tuple[str, ...] | None = None) -> Result:
    width = len(values[0]) if values else 1
    return Result(columns or tuple(f"c{i}" for i in range(width)), values)
