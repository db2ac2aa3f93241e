"""The door to a graph database: one protocol, whatever the engine.

Every engine is read-only by default, stops a query at its time limit and cuts a result at its row
limit. ``docs/graphs.md`` says which layer of each engine enforces what.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from cypherforge.core.errors import UsageError
from cypherforge.cypher.names import quote_name
from cypherforge.graph.values import from_json, to_json

if TYPE_CHECKING:
    from cypherforge.graph.schema import Schema
    from cypherforge.graph.statistics import Statistics

DEFAULT_TIMEOUT = 15.0
DEFAULT_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Notification:
    """What the engine had to say about a query: an unknown name, a deprecated form."""

    code: str
    severity: str
    title: str
    description: str = ""
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """Rows of one query, in the engine's order.

    ``truncated``: the row limit cut it, so it must not be compared as if it were whole.
    ``seconds``: wall time. ``source`` names the database that the ids of entities belong to.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool = False
    seconds: float = field(default=0.0, compare=False)
    notifications: tuple[Notification, ...] = field(default=(), compare=False)
    source: str = field(default="", compare=False)

    def records(self) -> Iterator[dict[str, Any]]:
        """Each row as a map from column name to value."""
        for row in self.rows:
            yield dict(zip(self.columns, row, strict=True))

    def to_json(self) -> dict[str, Any]:
        """Columns, rows, ``truncated``; no times, so that equal results give equal bytes."""
        return {
            "columns": list(self.columns),
            "rows": [[to_json(cell) for cell in row] for row in self.rows],
            "truncated": self.truncated,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Result:
        """What ``to_json`` wrote."""
        rows = tuple(tuple(from_json(cell) for cell in row) for row in data["rows"])
        return cls(tuple(data["columns"]), rows, bool(data.get("truncated", False)))


@dataclass(frozen=True, slots=True)
class Plan:
    """An execution plan: a tree of operators, or one text where the engine gives no more."""

    operator: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    identifiers: tuple[str, ...] = ()
    children: tuple[Plan, ...] = ()
    text: str = ""
    notifications: tuple[Notification, ...] = ()

    @property
    def estimated_rows(self) -> float | None:
        """Rows that the planner expects of this operator, where it says so."""
        rows = self.arguments.get("EstimatedRows")
        return float(rows) if isinstance(rows, int | float) else None

    def walk(self) -> Iterator[Plan]:
        """This operator and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


class Graph(Protocol):
    """What every engine can do. Errors are those of ``core.errors``, never the engine's own."""

    @property
    def uri(self) -> str:
        """Where the graph is, without any password."""

    @property
    def engine(self) -> str:
        """Engine and version: ``neo4j-5.26.30``, ``memgraph-3.2.0``, ``arcadedb-26.10.2``."""

    @property
    def read_only(self) -> bool:
        """Whether writes are refused."""

    def run(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        limit: int | None = None,
    ) -> Result:
        """Rows of a query. ``timeout`` in seconds and ``limit`` in rows; None: the graph's own.

        Raises ``QuerySyntaxError``, ``QueryRuntimeError``, ``QueryTimeout``, ``QueryRefused``,
        ``NotSupported``, ``GraphUnavailable`` or ``GraphAuthError``.
        """

    def explain(self, query: str, parameters: Mapping[str, Any] | None = None) -> Plan:
        """The plan of a query, which is not run. Raises as ``run`` does."""

    def schema(self) -> Schema:
        """The schema, read from the live database."""

    def statistics(self) -> Statistics:
        """Counts, coverage, reciprocity of the live database."""

    def sample(
        self, *, label: str | None = None, type: str | None = None, size: int = 3
    ) -> tuple[Any, ...]:
        """Some nodes of a label, or relationships of a type."""

    def fingerprint(self) -> str:
        """Equal as long as the data is: a changed graph has another."""

    def close(self) -> None:
        """Give back connections, files and memory. Closing twice is fine."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class BaseGraph(ABC):
    """What the engines share: all that can be said in Cypher."""

    uri: str
    engine: str
    read_only: bool

    def __init__(self, *, timeout: float = DEFAULT_TIMEOUT, limit: int = DEFAULT_LIMIT) -> None:
        self._timeout = check_timeout(timeout)
        self._limit = check_limit(limit)

    @abstractmethod
    def run(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        limit: int | None = None,
    ) -> Result:
        """See ``Graph.run``."""

    @abstractmethod
    def explain(self, query: str, parameters: Mapping[str, Any] | None = None) -> Plan:
        """See ``Graph.explain``."""

    @abstractmethod
    def fingerprint(self) -> str:
        """See ``Graph.fingerprint``."""

    @abstractmethod
    def close(self) -> None:
        """See ``Graph.close``."""

    def schema(self) -> Schema:
        """See ``Graph.schema``."""
        from cypherforge.graph.introspect import introspect

        return introspect(self)

    def statistics(self) -> Statistics:
        """See ``Graph.statistics``."""
        from cypherforge.graph.statistics import collect_statistics

        return collect_statistics(self)

    def sample(
        self, *, label: str | None = None, type: str | None = None, size: int = 3
    ) -> tuple[Any, ...]:
        """See ``Graph.sample``."""
        if type is not None:
            query = f"MATCH ()-[r:{quote_name(type)}]->() RETURN r LIMIT {int(size)}"
        else:
            named = f":{quote_name(label)}" if label is not None else ""
            query = f"MATCH (n{named}) RETURN n LIMIT {int(size)}"
        return tuple(row[0] for row in self.run(query).rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def check_timeout(seconds: float) -> float:
    """A time limit in seconds. Raises ``UsageError`` unless it is a positive number."""
    if isinstance(seconds, bool) or not 0 < seconds < 1e9:
        raise UsageError(f"a time limit is a positive number of seconds, not {seconds!r}")
    return float(seconds)


def check_limit(rows: int) -> int:
    """A row limit. Raises ``UsageError`` unless it is a positive integer."""
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise UsageError(f"a row limit is a positive integer, not {rows!r}")
    return rows
