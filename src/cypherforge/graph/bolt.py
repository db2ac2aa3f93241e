"""Neo4j 5 and later, and Memgraph, over Bolt with the ``neo4j`` driver.

Each query runs in an explicit transaction of a READ session that is always rolled back, with a time
limit that the server enforces. Rows past the limit are never fetched: rolling back discards them on
the server. All errors of the driver are mapped in one place, ``_mapped``.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import neo4j
from neo4j import GraphDatabase, Session, Transaction
from neo4j import exceptions as driver_errors
from neo4j.graph import Node, Path, Relationship
from neo4j.types import UnsupportedType
from neo4j.vector import Vector

from cypherforge.core.errors import (
    CypherForgeError,
    GraphAuthError,
    GraphUnavailable,
    QueryError,
    QueryRefused,
    QueryRuntimeError,
    QuerySyntaxError,
    QueryTimeout,
    UsageError,
)
from cypherforge.graph.base import (
    DEFAULT_LIMIT,
    DEFAULT_TIMEOUT,
    BaseGraph,
    Notification,
    Plan,
    Result,
    check_limit,
    check_timeout,
)
from cypherforge.graph.values import (
    NodeValue,
    PathValue,
    RelationshipValue,
    Unreadable,
    VectorValue,
)

# Without a handler Python prints the driver's warnings on the terminal; ours report them.
logging.getLogger("neo4j").addHandler(logging.NullHandler())

ATTEMPTS: Final = 3
"""How often a read is tried whose connection is lost before the first row came."""

_PAUSE = 0.25
# A server that has just started takes its time for the first query.
_GREETING = 60.0
_FETCH = 1000


class BoltGraph(BaseGraph):
    """A database behind Bolt. One instance may be used from many threads."""

    def __init__(
        self,
        uri: str,
        *,
        user: str | None = None,
        password: str | None = None,
        database: str | None = None,
        impersonate: str | None = None,
        read_only: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
        limit: int = DEFAULT_LIMIT,
        pool_size: int = 50,
        pool_wait: float = 15.0,
    ) -> None:
        """Connect and ask the server who it is. Raises ``GraphUnavailable``, ``GraphAuthError``."""
        super().__init__(timeout=timeout, limit=limit)
        self.uri = uri
        self.read_only = read_only
        self._user = user
        self._database = database
        self._impersonate = impersonate
        self._auth = (
            None if user is None and password is None else (user or "neo4j", password or "")
        )
        with self._mapped(""):
            self._driver = GraphDatabase.driver(
                _driver_uri(uri),
                auth=self._auth,
                connection_timeout=5.0,
                connection_acquisition_timeout=pool_wait,
                max_connection_pool_size=pool_size,
                max_transaction_retry_time=0.0,
                liveness_check_timeout=10.0,
                notifications_min_severity="INFORMATION",
                telemetry_disabled=True,
                user_agent="cypherforge",
            )
        try:
            try:
                with self._mapped("", _GREETING), self._session(1) as session:
                    probe = neo4j.Query("RETURN 1", timeout=_GREETING)
                    agent = session.run(probe).consume().server.agent
            except QueryTimeout as error:
                raise GraphUnavailable(
                    f"the server did not answer within {_GREETING:g} s",
                    where=uri,
                    hint="it may be starting, or overloaded: try again",
                ) from error
            self.engine = self._engine_of(agent)
        except BaseException:
            self._driver.close()
            raise

    def _engine_of(self, agent: str) -> str:
        if "memgraph" not in agent.lower():
            return agent.replace("/", "-").lower()
        # Memgraph answers as a Neo4j of some version; its own version is a query away.
        try:
            rows = self.run("SHOW VERSION").rows
        except QueryError:
            return "memgraph"
        return f"memgraph-{rows[0][0]}" if rows and rows[0] else "memgraph"

    @property
    def _is_memgraph(self) -> bool:
        return getattr(self, "engine", "memgraph").startswith("memgraph")

    def run(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        limit: int | None = None,
    ) -> Result:
        """See ``Graph.run``."""
        seconds = self._timeout if timeout is None else check_timeout(timeout)
        most = self._limit if limit is None else check_limit(limit)
        sent = {key: _to_driver(value) for key, value in (parameters or {}).items()}
        began = time.monotonic()
        for attempt in range(1, ATTEMPTS + 1):
            rows: list[tuple[Any, ...]] = []
            try:
                with self._mapped(query, seconds), self._session(most) as session:
                    return self._fetch(session, query, sent, seconds, most, rows, began)
            except GraphUnavailable:
                # A write may have happened, and rows may have gone out: neither is tried again.
                if attempt == ATTEMPTS or rows or not self.read_only:
                    raise
                time.sleep(_PAUSE * attempt)
        raise AssertionError("unreachable")

    def explain(self, query: str, parameters: Mapping[str, Any] | None = None) -> Plan:
        """See ``Graph.explain``."""
        sent = {key: _to_driver(value) for key, value in (parameters or {}).items()}
        text = f"EXPLAIN {query}"
        with self._mapped(query, self._timeout), self._session(self._limit) as session:
            if self._is_memgraph:
                lines = [str(record[0]) for record in session.run(neo4j.Query(text), sent)]
                return Plan("text", text="\n".join(lines))
            summary = session.run(neo4j.Query(text, timeout=self._timeout), sent).consume()
        if summary.plan is None:
            raise QuerySyntaxError("the server gave no plan", where=_short(query))
        return _plan(summary.plan, _notifications(summary))

    def fingerprint(self) -> str:
        """See ``Graph.fingerprint``.

        Neo4j's bookmark holds the id of the last transaction that committed, so any write changes
        it. Without bookmarks (Memgraph) it is made of the numbers of nodes and relationships.
        """
        with self._mapped("RETURN 1", self._timeout), self._session(1) as session:
            session.run(neo4j.Query("RETURN 1", timeout=self._timeout)).consume()
            marks = sorted(session.last_bookmarks().raw_values)
        if marks and not self._is_memgraph:
            return "bookmark:" + ",".join(marks)
        nodes = self.run("MATCH (n) RETURN count(n)").rows[0][0]
        links = self.run("MATCH ()-[r]->() RETURN count(r)").rows[0][0]
        return f"counts:{nodes},{links}"

    def close(self) -> None:
        """Close all connections."""
        self._driver.close()

    # ------------------------------------------------------------ inside

    @contextmanager
    def _session(self, limit: int) -> Iterator[Session]:
        session = self._driver.session(
            database=self._database,
            impersonated_user=self._impersonate,
            default_access_mode=neo4j.READ_ACCESS if self.read_only else neo4j.WRITE_ACCESS,
            # One row past the limit tells that there are more, and no other is sent.
            fetch_size=min(limit + 1, _FETCH),
        )
        try:
            yield session
        finally:
            session.close()

    def _fetch(
        self,
        session: Session,
        query: str,
        parameters: dict[str, Any],
        seconds: float,
        limit: int,
        rows: list[tuple[Any, ...]],
        began: float,
    ) -> Result:
        # Memgraph allows its SHOW commands in no explicit transaction.
        alone = self._is_memgraph and query.lstrip().upper().startswith(("SHOW", "EXPLAIN"))
        transaction: Transaction | None = None
        if alone:
            result = session.run(neo4j.Query(query, timeout=seconds), parameters)
        else:
            transaction = session.begin_transaction(timeout=seconds)
            result = transaction.run(query, parameters)
        columns = tuple(result.keys())
        truncated = False
        for record in result:
            if len(rows) == limit:
                truncated = True
                break
            rows.append(tuple(_cell(record, i) for i in range(len(columns))))
        notes: tuple[Notification, ...] = ()
        if not truncated:
            notes = _notifications(result.consume())
        if transaction is not None:
            if self.read_only or truncated:
                transaction.rollback()
            else:
                transaction.commit()
        return Result(
            columns, tuple(rows), truncated, time.monotonic() - began, notes, self._source()
        )

    def _source(self) -> str:
        return f"{self.uri}/{self._database or ''}"

    @contextmanager
    def _mapped(self, query: str, seconds: float | None = None) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        except CypherForgeError:
            raise
        except driver_errors.GqlError as error:
            late = seconds is not None and time.monotonic() - began >= seconds
            raise self._translated(error, query, seconds, late) from error
        except (OSError, ValueError, TypeError) as error:
            if query:
                raise QueryRuntimeError(str(error), where=_short(query)) from error
            raise UsageError(str(error), where=self.uri, hint=_URI_HINT) from error

    def _translated(
        self, error: Exception, query: str, seconds: float | None, late: bool
    ) -> CypherForgeError:
        code = str(getattr(error, "code", None) or "")
        message = str(getattr(error, "message", None) or error)
        where = _short(query) or self.uri
        if isinstance(error, driver_errors.AuthError) or code.startswith(
            "Neo.ClientError.Security"
        ):
            return self._auth_error(code, message)
        if code in _TIMED_OUT or (late and code in _TERMINATED):
            return QueryTimeout(
                f"stopped by the server after {seconds:g} s",
                where=where,
                hint="give it more time with --timeout, or narrow the query",
                code=code,
            )
        if code in _NO_DATABASE:
            return GraphUnavailable(
                f"no database {self._database!r} on this server",
                where=self.uri,
                hint="`SHOW DATABASES` lists them; leave --database out for the default one",
            )
        if code == "Neo.ClientError.Statement.AccessMode" or "read-only" in code.lower():
            return QueryRefused(
                "a write, in a session that only reads",
                where=where,
                hint="only queries that read are allowed here",
                code=code,
            )
        if isinstance(error, driver_errors.ConnectionAcquisitionTimeoutError):
            return GraphUnavailable(
                "all connections of the pool are busy",
                where=self.uri,
                hint="run fewer queries at once",
            )
        if isinstance(
            error,
            driver_errors.ServiceUnavailable
            | driver_errors.SessionExpired
            | driver_errors.DatabaseUnavailable,
        ):
            return GraphUnavailable(
                f"no connection: {_RESOLVED.sub('', _first_line(message)).rstrip(':')}",
                where=self.uri,
                hint="is the server running, and is this its Bolt port? `cypherforge doctor` checks",
            )
        if isinstance(error, driver_errors.ConfigurationError):
            return UsageError(_first_line(message), where=self.uri, hint=_URI_HINT)
        if code in _REFUSED_TO_PLAN or code.startswith("Neo.ClientError.Statement.Syntax"):
            return QuerySyntaxError(message, where=where, code=code)
        if code.startswith("Neo.TransientError.General.") or "MemoryPool" in code:
            return QueryRuntimeError(
                _first_line(message), where=where, hint="narrow the query, or add LIMIT", code=code
            )
        return QueryRuntimeError(message, where=where, code=code)

    def _auth_error(self, code: str, message: str) -> GraphAuthError:
        name = f"user {self._user!r}" if self._user else "no user"
        if code == "Neo.ClientError.Security.AuthenticationRateLimit":
            hint = "too many wrong passwords: wait some seconds, then correct it"
        elif code == "Neo.ClientError.Security.Forbidden":
            hint = "this user lacks the privilege; --user or --impersonate names another"
        elif self._auth is None:
            hint = (
                "set CYPHERFORGE_USER and CYPHERFORGE_PASSWORD (or NEO4J_USERNAME, NEO4J_PASSWORD)"
            )
        else:
            hint = "check --user and CYPHERFORGE_PASSWORD (or NEO4J_PASSWORD)"
        return GraphAuthError(
            f"refused with {name}: {_first_line(message)}", where=self.uri, hint=hint
        )


_RESOLVED = re.compile(r" \(resolved to \(.*?\)\)")
_URI_HINT = "e.g. bolt://127.0.0.1:7687, neo4j+s://HOST, memgraph://HOST, or embedded:FOLDER"
_TIMED_OUT = {
    "Neo.ClientError.Transaction.TransactionTimedOut",
    "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
}
# What a stopped query answers with where the server does not say why it was stopped.
_TERMINATED = {
    "Neo.ClientError.Transaction.TransactionTerminated",
    "Neo.TransientError.Transaction.Terminated",
    "Neo.ClientError.Transaction.Terminated",
    "Memgraph.TransientError.MemgraphError.MemgraphError",
}
_NO_DATABASE = {
    "Neo.ClientError.Database.DatabaseNotFound",
    "Neo.ClientError.General.DatabaseNotFound",
}
_REFUSED_TO_PLAN = {
    "Neo.ClientError.Statement.SyntaxError",
    "Neo.ClientError.Statement.SemanticError",
    "Neo.ClientError.Procedure.ProcedureNotFound",
    "Neo.ClientError.Statement.NotSystemDatabaseError",
    "Neo.ClientError.Statement.FeatureDeprecationWarning",
}


def _driver_uri(uri: str) -> str:
    scheme, mark, rest = uri.partition("://")
    if not mark:
        raise UsageError("not a URI", where=uri, hint=_URI_HINT)
    return f"{scheme.replace('memgraph', 'bolt', 1)}://{rest}"


def _short(query: str) -> str:
    text = " ".join(query.split())
    return text if len(text) <= 120 else text[:119] + "…"


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "no reason given"


def _notifications(summary: neo4j.ResultSummary) -> tuple[Notification, ...]:
    notes = []
    for status in summary.gql_status_objects:
        if not status.is_notification:
            continue
        place = status.position
        notes.append(
            Notification(
                code=status.gql_status,
                severity=status.raw_severity or "",
                title=status.status_description,
                line=place.line if place else None,
                column=place.column if place else None,
            )
        )
    return tuple(notes)


def _plan(data: Mapping[str, Any], notes: tuple[Notification, ...] = ()) -> Plan:
    arguments = dict(data.get("args", {}))
    text = str(arguments.pop("string-representation", ""))
    return Plan(
        operator=str(data["operatorType"]).split("@")[0],
        arguments=arguments,
        identifiers=tuple(data.get("identifiers", ())),
        children=tuple(_plan(child) for child in data.get("children", ())),
        text=text,
        notifications=notes,
    )


def _cell(record: neo4j.Record, index: int) -> Any:
    try:
        return _from_driver(record[index])
    except driver_errors.BrokenRecordError as error:
        cause = error.__cause__ or error
        return Unreadable("UNKNOWN", _first_line(str(cause)))


def _from_driver(value: Any) -> Any:
    if isinstance(value, Node):
        return NodeValue(value.element_id, frozenset(value.labels), _map_from_driver(value))
    if isinstance(value, Relationship):
        start, end = value.nodes
        return RelationshipValue(
            value.element_id,
            value.type,
            start.element_id if start is not None else "",
            end.element_id if end is not None else "",
            _map_from_driver(value),
        )
    if isinstance(value, Path):
        return PathValue(
            tuple(_from_driver(node) for node in value.nodes),
            tuple(_from_driver(link) for link in value.relationships),
        )
    if isinstance(value, list):
        return [_from_driver(item) for item in value]
    if isinstance(value, dict):
        return {key: _from_driver(item) for key, item in value.items()}
    if isinstance(value, Vector):
        numbers: list[Any] = value.to_native()
        return VectorValue(str(value.dtype.value), tuple(numbers))
    if isinstance(value, UnsupportedType):
        version = ".".join(map(str, value.minimum_protocol_version))
        return Unreadable(value.name, f"install a neo4j driver that speaks Bolt {version}")
    return value


def _map_from_driver(entity: Node | Relationship) -> dict[str, Any]:
    return {key: _from_driver(value) for key, value in entity.items()}


def _to_driver(value: Any) -> Any:
    if isinstance(value, VectorValue):
        numbers: list[Any] = list(value.values)
        element: Any = value.element
        return Vector.from_native(numbers, element)
    if isinstance(value, NodeValue | RelationshipValue | PathValue | Unreadable):
        raise UsageError(f"a {type(value).__name__} cannot be a parameter")
    if isinstance(value, list):
        return [_to_driver(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _to_driver(item) for key, item in value.items()}
    return value
