"""The embedded graph: neutral files in ArcadeDB, inside this process, with no server.

Each graph is loaded into a temporary database of its own, so that two processes can open the same
files at once, and thrown away on close. One JVM serves all graphs of a process.
"""

from __future__ import annotations

import atexit
import glob
import os
import shutil
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import jpype
from neo4j.spatial import Point

from cypherforge.core.errors import (
    CypherForgeError,
    EnvironmentFault,
    InputError,
    NotSupported,
    QueryRefused,
    QueryRuntimeError,
    QuerySyntaxError,
    QueryTimeout,
    StorageError,
    UsageError,
)
from cypherforge.graph import neutral
from cypherforge.graph.base import (
    DEFAULT_LIMIT,
    DEFAULT_TIMEOUT,
    BaseGraph,
    Plan,
    Result,
    check_limit,
    check_timeout,
)
from cypherforge.graph.embedded_compat import USE_NEO4J, Adapted, adapt
from cypherforge.graph.embedded_kinds import Facts
from cypherforge.graph.embedded_values import Converter, holds_bytes
from cypherforge.graph.neutral import Id, NodeRow, RelationshipRow
from cypherforge.graph.value_types import value_type

LANGUAGE: Final = "opencypher"
_BATCH = 500
_MOMENTS_KEPT = 1000
_start = threading.Lock()


class EmbeddedGraph(BaseGraph):
    """A graph of neutral files, loaded into a temporary ArcadeDB database."""

    read_only = True

    def __init__(
        self,
        folder: Path,
        *,
        uri: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        limit: int = DEFAULT_LIMIT,
    ) -> None:
        """Load the files. Raises ``InputError``, ``NotSupported``, ``StorageError``."""
        super().__init__(timeout=timeout, limit=limit)
        self.folder = Path(folder)
        self.uri = uri or f"embedded:{folder}"
        self._fingerprint = neutral.digest(self.folder)
        self._open(neutral.read_nodes(self.folder), neutral.read_relationships(self.folder))

    @classmethod
    def from_rows(
        cls,
        nodes: Iterable[NodeRow],
        relationships: Iterable[RelationshipRow],
        *,
        uri: str = "embedded:memory",
        timeout: float = DEFAULT_TIMEOUT,
        limit: int = DEFAULT_LIMIT,
    ) -> EmbeddedGraph:
        """A graph of rows in memory; its fingerprint is that of the files they would make."""
        with tempfile.TemporaryDirectory(prefix="cypherforge-rows-") as name:
            neutral.write_neutral(Path(name), nodes, relationships)
            graph = cls(Path(name), uri=uri, timeout=timeout, limit=limit)
        return graph

    def _open(self, nodes: Iterable[NodeRow], relationships: Iterable[RelationshipRow]) -> None:
        start_jvm()
        self.engine = f"arcadedb-{_engine_version()}"
        try:
            self._home = Path(tempfile.mkdtemp(prefix="cypherforge-graph-"))
        except OSError as error:
            raise StorageError(
                f"no temporary folder for the database: {error}", hint="set TMPDIR to a free place"
            ) from error
        self._closed = False
        self._lock = threading.Lock()
        self._moments: dict[tuple[str, str], Any] = {}
        try:
            factory = jpype.JClass("com.arcadedb.database.DatabaseFactory")
            self._db = factory(str(self._home / "db")).create()
            _open_graphs.append(self)
            self._converter = Converter()
            self._facts = _load(self._db, nodes, relationships, self._converter)
            self._has_bytes = any("BYTES" in kinds for kinds in self._facts.kinds.values())
        except BaseException:
            self.close()
            raise

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
        began = time.monotonic()
        adapted = adapt(query, self._facts)
        inner: tuple[str, ...] | None = None
        shown: tuple[str, ...] = ()
        if adapted.columns is not None:
            inner = tuple(name for name, _ in adapted.columns)
            shown = tuple(name for _, name in adapted.columns)
        if adapted.explain:
            self.explain(query, parameters)
            return Result(shown, (), source=self._fingerprint)
        read = self._converter.rows
        if self._has_bytes or holds_bytes(parameters or {}):
            read = self._converter.rows_with_bytes
        with self._mapped(query, seconds), _deadline(seconds):
            moments = self._made(adapted, parameters)
            text = adapted.plain if moments is None else adapted.text
            found = self._query(text, parameters, moments)
            try:
                gathered = read(found, most + 1)
            finally:
                found.close()
        if inner is None:
            inner = shown = tuple(sorted(gathered[0])) if gathered else ()
        rows = [tuple(row.get(name) for name in inner) for row in gathered[:most]]
        truncated = len(gathered) > most
        return Result(
            shown, tuple(rows), truncated, time.monotonic() - began, (), self._fingerprint
        )

    def explain(self, query: str, parameters: Mapping[str, Any] | None = None) -> Plan:
        """See ``Graph.explain``: ArcadeDB gives one text."""
        adapted = adapt(query, self._facts)
        with self._mapped(query, self._timeout), _deadline(self._timeout):
            found = self._query(f"EXPLAIN {adapted.plain}", parameters)
            try:
                text = str(found.next().getProperty("executionPlanAsString"))
            finally:
                found.close()
        return Plan("text", text=text)

    def index(self, label: str, key: str) -> None:
        """Index a property, so that equality finds nodes of the label without looking at all.

        For a property whose values are all texts or all whole numbers; any other is left as it is.
        Raises ``QueryRuntimeError``.
        """
        kind = {"STRING": "STRING", "INTEGER": "LONG"}.get("".join(self._facts.kinds.get(key, ())))
        schema = self._db.getSchema()
        if kind is None or not schema.existsType(label):
            return
        with self._mapped(f"index on {label}.{key}", self._timeout):
            known = jpype.JClass("com.arcadedb.schema.Type")
            schema.getType(label).getOrCreateProperty(key, getattr(known, kind))
            sort = jpype.JClass("com.arcadedb.schema.Schema$INDEX_TYPE").LSM_TREE
            schema.getOrCreateTypeIndex(sort, False, label, jpype.JArray(jpype.JString)([key]))

    def fingerprint(self) -> str:
        """See ``Graph.fingerprint``: the digest of the files' rows."""
        return self._fingerprint

    def close(self) -> None:
        """Close the database and delete its temporary files."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self in _open_graphs:
                _open_graphs.remove(self)
        database = getattr(self, "_db", None)
        if database is not None and database.isOpen():
            database.close()
        shutil.rmtree(self._home, ignore_errors=True)

    # ------------------------------------------------------------ inside

    def _query(
        self,
        query: str,
        parameters: Mapping[str, Any] | None,
        made: Mapping[str, Any] | None = None,
    ) -> Any:
        if self._closed:
            raise UsageError("the graph is closed", where=self.uri)
        sent = jpype.JClass("java.util.HashMap")()
        for key, value in (parameters or {}).items():
            sent.put(key, self._converter.to_java(value))
        for key, value in (made or {}).items():
            sent.put(key, value)
        return self._db.query(LANGUAGE, query, sent)

    def _made(
        self, adapted: Adapted, parameters: Mapping[str, Any] | None
    ) -> Mapping[str, Any] | None:
        """The engine's value of each moment, by name; None where one has none."""
        made: dict[str, Any] = {}
        for moment in adapted.moments:
            text: Any = moment.argument
            if moment.parameter:
                text = (parameters or {}).get(moment.argument)
            if not isinstance(text, str):
                return None
            key = (moment.function, text)
            value = self._moments.get(key)
            if value is None:
                try:
                    found = self._query(f"RETURN {moment.function}($text) AS made", {"text": text})
                    value = found.next().getProperty("made")
                    found.close()
                except jpype.JException:
                    # An error only where a row asks for it.
                    return None
                if len(self._moments) >= _MOMENTS_KEPT:
                    self._moments.clear()
                self._moments[key] = value
            made[moment.name] = value
        return made

    @contextmanager
    def _mapped(self, query: str, seconds: float) -> Iterator[None]:
        try:
            yield
        except CypherForgeError:
            raise
        except jpype.JException as error:
            raise _translated(error, " ".join(query.split())[:120], seconds) from error


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Give the engine its time limit for what this thread runs: it is read at the first row."""
    override = jpype.JClass("com.arcadedb.query.sql.executor.CommandTimeoutOverride")
    override.set(max(1, round(seconds * 1000)))
    try:
        yield
    finally:
        override.clear()


# ---------------------------------------------------------------- the JVM

_open_graphs: list[EmbeddedGraph] = []

# The second compiler for truly hot code only. Seconds of processor time to open the example graph and
# to aggregate 6 million rows: 4.1 and 19 so, 4.6 and 16 with the JVM's own thresholds, 3.1 and 36
# without that compiler.
_LATE_COMPILER: Final = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)


def start_jvm() -> None:
    """Start this process's JVM with ArcadeDB, unless it runs already.

    Raises ``EnvironmentFault`` where a JVM without ArcadeDB runs, or none can start.
    """
    with _start:
        if jpype.isJVMStarted():
            try:
                jpype.JClass("com.arcadedb.database.DatabaseFactory")
            except TypeError as error:
                raise EnvironmentFault(
                    "this process runs a JVM without ArcadeDB, and there can be only one",
                    hint="open the embedded graph before the other library starts its JVM",
                ) from error
            return
        from arcadedb_embedded.jvm import get_bundled_jre_lib_path, get_jar_path

        quiet = _quiet_logging()
        try:
            # Not through arcadedb_embedded.start_jvm: it adds an incubator module whose warning
            # goes to the terminal, and which only vector search needs.
            jpype.startJVM(
                get_bundled_jre_lib_path(),
                "-Xmx2g",
                # No signal handlers of its own: SIGTERM ends the process as it ends any other.
                "-Xrs",
                "-XX:+UseSerialGC",
                *_LATE_COMPILER,
                "-XX:+UseCompactObjectHeaders",
                "-Xshare:auto",
                f"-XX:ErrorFile={tempfile.gettempdir()}/cypherforge-jvm-%p.log",
                "-Djava.awt.headless=true",
                "-Dfile.encoding=UTF8",
                "-Dpolyglot.engine.WarnInterpreterOnly=false",
                f"-Djava.util.logging.config.file={quiet}",
                "--enable-native-access=ALL-UNNAMED",
                "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
                "--add-opens=java.base/java.nio.channels.spi=ALL-UNNAMED",
                "--add-opens=java.base/java.lang=ALL-UNNAMED",
                classpath=os.pathsep.join(glob.glob(f"{get_jar_path()}/*.jar")),
                interrupt=False,
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise EnvironmentFault(
                f"the JVM of the embedded graph does not start: {error}",
                hint="it needs glibc 2.34 or newer and some memory; a Neo4j works instead",
            ) from error
        try:
            # The file is read at the first use of a logger.
            jpype.JClass("java.util.logging.Logger").getLogger("com.arcadedb")
            jpype.JClass("com.arcadedb.log.LogManager").instance().isLoggable(
                None, jpype.JClass("java.util.logging.Level").INFO
            )
            settings = jpype.JClass("com.arcadedb.GlobalConfiguration")
            # One thread a query: the same order of rows each time, and no scan left behind.
            settings.QUERY_PARALLEL_SCAN.setValue(False)
            settings.OPENCYPHER_LOAD_CSV_ALLOW_FILE_URLS.setValue(False)
            settings.OPENCYPHER_LOAD_CSV_ALLOW_REMOTE_URLS.setValue(False)
        finally:
            os.unlink(quiet)
        atexit.register(_close_all)


def _quiet_logging() -> str:
    """A java.util.logging configuration without handlers: nothing of it reaches the terminal."""
    handle, name = tempfile.mkstemp(prefix="cypherforge-log-", suffix=".properties")
    with os.fdopen(handle, "w") as file:
        file.write("handlers=\n.level=OFF\n")
    return name


def _close_all() -> None:
    while _open_graphs:
        _open_graphs[-1].close()


def _engine_version() -> str:
    text = str(jpype.JClass("com.arcadedb.Constants").getVersion())
    return text.split()[0]


# ---------------------------------------------------------------- loading


def _load(
    database: Any,
    nodes: Iterable[NodeRow],
    relationships: Iterable[RelationshipRow],
    converter: Converter,
) -> Facts:
    """Load all rows; returns the names and value types that were seen."""
    labels_class = jpype.JClass("com.arcadedb.query.opencypher.Labels")
    array = jpype.JArray(jpype.JObject)
    matrix = jpype.JArray(jpype.JObject, 2)
    java_list = jpype.JClass("java.util.ArrayList")
    schema = database.getSchema()
    rids: dict[Id, Any] = {}
    waiting: dict[str, list[tuple[Id, Any]]] = defaultdict(list)
    types: dict[frozenset[str], str] = {}
    kinds: dict[str, set[str]] = defaultdict(set)
    geographic = False

    def type_of(labels: tuple[str, ...]) -> str:
        key = frozenset(labels)
        if key not in types:
            names = java_list()
            for label in sorted(key):
                names.add(label)
            if len(key) == 1:
                (name,) = key
                schema.getOrCreateVertexType(name)
            elif key:
                name = str(labels_class.ensureCompositeType(schema, names))
            else:
                name = str(labels_class.NO_LABEL_TYPE)
                schema.getOrCreateVertexType(name)
            types[key] = name
        return types[key]

    # Types must exist before the batch: making one inside it waits for the batch's own workers.
    rows_of_nodes = list(nodes)
    for node in rows_of_nodes:
        type_of(node.labels)
    batch = database.batch().withWAL(False).build()

    def flush(name: str) -> None:
        rows = waiting.pop(name, [])
        if rows:
            made = batch.createVertices(name, matrix([row for _, row in rows]))
            for (identity, _), rid in zip(rows, made, strict=True):
                rids[identity] = rid

    def flat(properties: Mapping[str, Any]) -> Any:
        cells: list[Any] = []
        for key, value in properties.items():
            if value is not None:
                cells += (key, converter.to_java(value))
                kinds[key].add(value_type(value).partition("<")[0])
                nonlocal geographic
                geographic = geographic or (isinstance(value, Point) and value.srid in (4326, 4979))
        return array(cells)

    try:
        for node in rows_of_nodes:
            name = type_of(node.labels)
            waiting[name].append((node.id, flat(node.properties)))
            if len(waiting[name]) >= _BATCH:
                flush(name)
        for name in list(waiting):
            flush(name)
        inner: dict[str, str] = {}
        for link in relationships:
            if link.type not in inner:
                # ArcadeDB has one set of names for both, so a type named like a label gets another.
                name = link.type
                while schema.existsType(name):
                    name += "_"
                schema.getOrCreateEdgeType(name)
                inner[link.type] = name
                converter.type_names[name] = link.type
            try:
                start, end = rids[link.start], rids[link.end]
            except KeyError as error:
                raise InputError(
                    f"relationship {link.id!r} names node {error}, which is not there"
                ) from error
            batch.newEdge(start, inner[link.type], end, flat(link.properties))
    finally:
        batch.close()
    return Facts(
        labels=tuple(sorted({label for labels in types for label in labels})),
        types=tuple(sorted(inner)),
        keys=tuple(sorted(kinds)),
        kinds={key: frozenset(names) for key, names in kinds.items()},
        geographic=geographic,
        renamed={name: other for name, other in inner.items() if name != other},
    )


# ---------------------------------------------------------------- errors


def _translated(error: Any, where: str, seconds: float) -> CypherForgeError:
    names: list[str] = []
    cause = error
    while cause is not None and len(names) < 10:
        names.append(str(cause.getClass().getSimpleName()))
        last, cause = cause, cause.getCause()
    message = str(error.getMessage() or last.getMessage() or names[0])
    name = names[0]
    if any("Timeout" in n for n in names):
        return QueryTimeout(
            f"stopped after {seconds:g} s",
            where=where,
            hint="give it more time with --timeout, or narrow the query",
            code=name,
        )
    if "QueryNotIdempotentException" in names:
        return QueryRefused(
            "a write, on a graph that only reads",
            where=where,
            hint="only queries that read are allowed here",
            code=name,
        )
    if "FeatureNotImplemented" in message or "not supported" in message.lower():
        return NotSupported(f"{message}: {USE_NEO4J}", where=where, code=name)
    if names[0] in ("CommandParsingException", "CommandSemanticException"):
        return QuerySyntaxError(message, where=where, code=name)
    return QueryRuntimeError(message, where=where, code=name)
