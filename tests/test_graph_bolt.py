"""Graphs over Bolt: limits that hold, errors that say the way out, and never half a result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from neo4j import exceptions as driver_errors
from neo4j.vector import Vector

from cypherforge.core.errors import (
    CypherForgeError,
    GraphAuthError,
    GraphUnavailable,
    QueryRefused,
    QueryRuntimeError,
    QuerySyntaxError,
    QueryTimeout,
    UsageError,
)
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.bolt import ATTEMPTS, BoltGraph, _from_driver, _to_driver
from cypherforge.graph.connect import connect
from cypherforge.graph.values import (
    NodeValue,
    PathValue,
    RelationshipValue,
    Unreadable,
    VectorValue,
    from_json,
    to_json,
)

SLOW = (
    "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b WITH a WHERE a < b RETURN count(*)"
)
SERVER = Path(__file__).resolve().parents[1] / "tools" / "neo4j" / "neo4j_server.py"


# ---------------------------------------------------------------- without a server


def test_a_dead_port_says_what_to_do() -> None:
    began = time.monotonic()
    with pytest.raises(GraphUnavailable, match="is the server running") as caught:
        connect("bolt://127.0.0.1:9")
    assert caught.value.exit_code == 3
    assert caught.value.message == "no connection: Couldn't connect to 127.0.0.1:9"
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("http://127.0.0.1:7474", "unknown scheme 'http'"),
        ("bolt://neo4j:secret@127.0.0.1:7687", "CYPHERFORGE_PASSWORD"),
        ("nowhere", "no folder with"),
    ],
)
def test_specs_that_are_none(uri: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        connect(uri)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), True])
def test_limits_are_checked_first(bad: float) -> None:
    with pytest.raises(UsageError, match="time limit"):
        connect("bolt://127.0.0.1:9", timeout=bad)


class _Losing:
    """Stands for a driver whose connections break; counts the sessions asked for."""

    def __init__(self, rows: int) -> None:
        self.sessions = 0
        self.rows = rows

    def session(self, **_: Any) -> Any:
        self.sessions += 1
        return SimpleNamespace(begin_transaction=self._begin, close=lambda: None)

    def _begin(self, **_: Any) -> Any:
        return SimpleNamespace(run=lambda *_: self._result(), rollback=lambda: None)

    def _result(self) -> Any:
        outer = self

        class Records:
            def keys(self) -> list[str]:
                return ["a"]

            def __iter__(self) -> Iterator[list[int]]:
                yield from ([i] for i in range(outer.rows))
                raise driver_errors.ServiceUnavailable("connection reset")

        return Records()


def _graph(driver: Any, *, read_only: bool = True) -> BoltGraph:
    graph = BoltGraph.__new__(BoltGraph)
    graph.__dict__.update(
        uri="bolt://fake",
        engine="neo4j-5",
        read_only=read_only,
        _driver=driver,
        _database=None,
        _impersonate=None,
        _user=None,
        _auth=None,
        _timeout=5.0,
        _limit=100,
    )
    return graph


@pytest.mark.parametrize(
    ("rows", "read_only", "tries"), [(0, True, ATTEMPTS), (3, True, 1), (0, False, 1)]
)
def test_only_reads_that_gave_nothing_are_tried_again(
    rows: int, read_only: bool, tries: int
) -> None:
    driver = _Losing(rows)
    with pytest.raises(GraphUnavailable, match="connection reset"):
        _graph(driver, read_only=read_only).run("RETURN 1 AS a")
    assert driver.sessions == tries


def test_values_of_newer_servers() -> None:
    vector = _from_driver(Vector([1.0, 2.5, 3.0], "f32"))
    assert vector == VectorValue("f32", (1.0, 2.5, 3.0))
    assert from_json(to_json(vector)) == vector
    assert _from_driver(_to_driver(vector)) == vector


def test_a_value_the_driver_cannot_read_names_the_driver_it_needs() -> None:
    from neo4j.types import UnsupportedType

    made = UnsupportedType._new("QUANTUM", (9, 1), None)
    found = _from_driver({"x": [made]})
    assert found["x"][0] == Unreadable("QUANTUM", "install a neo4j driver that speaks Bolt 9.1")


def test_entities_are_no_parameters() -> None:
    with pytest.raises(UsageError, match="NodeValue"):
        _to_driver({"n": [NodeValue("1", frozenset())]})


# ---------------------------------------------------------------- on a real Neo4j


@pytest.fixture
def graph(neo4j_uri: str) -> Iterator[Graph]:
    with connect(neo4j_uri) as opened:
        yield opened


def running(graph: Graph, query: str) -> bool:
    found = graph.run("SHOW TRANSACTIONS YIELD currentQuery RETURN currentQuery AS q")
    return (query,) in found.rows


@pytest.mark.neo4j
def test_one_row_of_everything(graph: Graph) -> None:
    assert graph.engine.startswith("neo4j-")
    found = graph.run(
        "RETURN 1 AS i, date('2020-02-29') AS d, duration('P1M') AS m, "
        "point({x: 1, y: 2}) AS p, [1, null] AS l, {a: 0.0/0} AS n, $v AS v",
        {"v": [b"\x00\xff", {"k": 2}]},
    )
    assert found.columns == ("i", "d", "m", "p", "l", "n", "v")
    back = Result.from_json(found.to_json())
    assert back.to_json() == found.to_json()
    assert found.rows[0][6] == [b"\x00\xff", {"k": 2}]


@pytest.mark.neo4j
def test_relationships_know_their_ends(graph: Graph) -> None:
    query = "MATCH p = (a)-[r]->(b) RETURN r, p, a, b LIMIT 1"
    if not graph.run(query).rows:
        pytest.skip("the graph of this server holds no relationship")
    link, path, a, b = graph.run(query).rows[0]
    alone = graph.run("MATCH ()-[r]->() WHERE elementId(r) = $id RETURN r", {"id": link.id})
    assert isinstance(link, RelationshipValue)
    assert isinstance(path, PathValue)
    assert alone.rows == ((link,),)
    assert (link.start, link.end) == (a.id, b.id)
    assert (path.nodes, path.relationships) == ((a, b), (link,))


@pytest.mark.neo4j
def test_time_limit_stops_the_query_on_the_server(graph: Graph) -> None:
    began = time.monotonic()
    with pytest.raises(QueryTimeout, match=r"after 0\.5 s"):
        graph.run(SLOW, timeout=0.5)
    assert time.monotonic() - began < 10
    deadline = time.monotonic() + 10
    while running(graph, SLOW):
        assert time.monotonic() < deadline, "the query still runs on the server"
        time.sleep(0.5)


@pytest.mark.neo4j
def test_row_limit_stops_the_query_on_the_server(graph: Graph) -> None:
    query = "UNWIND range(1, 50000000) AS x RETURN x"
    began = time.monotonic()
    cut = graph.run(query, limit=10)
    assert (len(cut.rows), cut.truncated) == (10, True)
    assert time.monotonic() - began < 10
    assert not graph.run("UNWIND range(1, 10) AS x RETURN x", limit=10).truncated
    assert not running(graph, query)


@pytest.mark.neo4j
@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("CREATE (n:CypherForgeTest) RETURN n", QueryRefused),
        ("MATCH (n) SET n.cypherforge = 1", QueryRefused),
        ("CREATE INDEX cypherforge FOR (n:CypherForgeTest) ON (n.x)", QueryRefused),
        ("MATCH (n RETURN n", QuerySyntaxError),
        ("RETURN nothing", QuerySyntaxError),
        ("CALL no.such()", QuerySyntaxError),
        ("RETURN 1/0", QueryRuntimeError),
        ("RETURN $missing", QueryRuntimeError),
    ],
)
def test_errors(graph: Graph, query: str, error: type[CypherForgeError]) -> None:
    with pytest.raises(error):
        graph.run(query)
    assert graph.run("MATCH (n:CypherForgeTest) RETURN count(n)").rows == ((0,),)


@pytest.mark.neo4j
def test_notifications_and_plans(graph: Graph) -> None:
    found = graph.run("MATCH (n:NoSuchLabel) RETURN n")
    assert any("NoSuchLabel" in note.title for note in found.notifications)
    plan = graph.explain("MATCH (n) WHERE n.x > 1 RETURN n")
    operators = [step.operator for step in plan.walk()]
    assert operators[0] == "ProduceResults"
    assert len(operators) > 1
    assert plan.estimated_rows is not None


@pytest.mark.neo4j
def test_wrong_database(neo4j_uri: str) -> None:
    with pytest.raises(GraphUnavailable, match="no database 'nowhere'.*SHOW DATABASES"):
        connect(neo4j_uri, database="nowhere")


@pytest.mark.neo4j
def test_fingerprint_holds_while_nothing_changes(graph: Graph) -> None:
    assert graph.fingerprint() == graph.fingerprint()


@pytest.mark.neo4j
def test_a_full_pool_says_so(neo4j_uri: str) -> None:
    small = BoltGraph(neo4j_uri, pool_size=1, pool_wait=0.3)
    began = threading.Event()

    def occupy() -> None:
        began.set()
        with pytest.raises(QueryTimeout):
            small.run(SLOW, timeout=4)

    thread = threading.Thread(target=occupy)
    thread.start()
    began.wait()
    time.sleep(0.5)
    with pytest.raises(GraphUnavailable, match="all connections of the pool are busy"):
        small.run("RETURN 1")
    thread.join()
    assert small.run("RETURN 1 AS x").rows == ((1,),)
    small.close()


# ---------------------------------------------------------------- on a server of one's own


class Private:
    """A Neo4j with a password that the tests may kill and start again."""

    def __init__(self) -> None:
        self.name = f"test-bolt-{os.getpid()}"
        self.uri = self.start("0")

    def start(self, port: str) -> str:
        password = ["--password", "secret-enough", "--heap", "512m"]
        done = self.command("start", self.name, "--port", port, *password)
        if done.returncode:
            pytest.skip(f"the private server did not start: {done.stderr[-300:]}")
        return done.stdout.strip().splitlines()[-1]

    def restart(self) -> None:
        self.start(self.uri.rpartition(":")[2])

    def kill(self) -> None:
        home = Path.home() / ".cache" / "neo4j-loopback" / "servers" / self.name
        os.kill(int((home / "run" / "pid").read_text()), signal.SIGKILL)

    @staticmethod
    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(SERVER), *arguments],
            capture_output=True,
            check=False,
            text=True,
            timeout=600,
        )


@pytest.fixture(scope="module")
def private() -> Iterator[Private]:
    if not os.environ.get("CYPHERFORGE_TEST_NEO4J"):
        pytest.skip("no Neo4j: set CYPHERFORGE_TEST_NEO4J")
    server = Private()
    yield server
    server.command("destroy", server.name)


@pytest.mark.neo4j
@pytest.mark.slow
def test_password_from_the_environment_only(
    private: Private, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = private.uri
    with pytest.raises(GraphAuthError, match="set CYPHERFORGE_USER and CYPHERFORGE_PASSWORD"):
        connect(uri)
    monkeypatch.setenv("NEO4J_PASSWORD", "wrong")
    with pytest.raises(GraphAuthError, match="check --user and CYPHERFORGE_PASSWORD") as caught:
        connect(uri, user="neo4j")
    assert "wrong" not in str(caught.value)
    monkeypatch.setenv("CYPHERFORGE_PASSWORD", "secret-enough")
    with connect(uri, user="neo4j") as graph:
        assert graph.run("RETURN 1 AS x").rows == ((1,),)
        before = graph.fingerprint()
    with BoltGraph(uri, user="neo4j", password="secret-enough", read_only=False) as writer:
        writer.run("CREATE (:Written)")
        assert writer.fingerprint() != before


@pytest.mark.neo4j
@pytest.mark.slow
def test_server_killed_in_mid_query_and_started_again(
    private: Private, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CYPHERFORGE_PASSWORD", "secret-enough")
    graph = connect(private.uri, user="neo4j", timeout=60)
    caught: list[BaseException] = []

    def work() -> None:
        try:
            graph.run(SLOW)
        except CypherForgeError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    deadline = time.monotonic() + 30
    while not running(graph, SLOW) and time.monotonic() < deadline:
        time.sleep(0.1)
    private.kill()
    thread.join(60)
    assert not thread.is_alive()
    assert isinstance(caught[0], GraphUnavailable)
    with pytest.raises(GraphUnavailable, match="is the server running"):
        graph.run("RETURN 1")
    private.restart()
    assert graph.run("MATCH (n:Written) RETURN count(n)").rows == ((1,),)
    graph.close()
