"""schema show | check | diff and graph info | export | load, as the command line runs them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cypherforge.cli import app
from cypherforge.core.errors import InputError, UsageError
from cypherforge.graph.base import Result
from cypherforge.graph.connect import connect
from cypherforge.graph.introspect import introspect
from cypherforge.graph.neutral import (
    NodeRow,
    RelationshipRow,
    read_nodes,
    read_relationships,
    write_neutral,
)
from cypherforge.graph.schema import Property, Schema
from cypherforge.graph.schema_check import check_schema, diff_schemas
from cypherforge.graph.transfer import load_graph

NODES = [
    NodeRow(0, ("User",), {"name": "Ann [bold]", "email": "ann@x.org"}),
    NodeRow(1, ("User",), {"name": "Zoë"}),
    NodeRow(2, ("has part", "User"), {"n": 1}),
]
LINKS = [RelationshipRow(0, "KNOWS", 0, 1, {"since": 1999}), RelationshipRow(1, "KNOWS", 1, 0)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph")
    write_neutral(path, NODES, LINKS)
    return path


def run(*arguments: str, code: int = 0, stdin: str | None = None) -> str:
    result = CliRunner().invoke(app, list(arguments), input=stdin)
    assert result.exit_code == code, result.output
    return result.stdout


def run_json(*arguments: str, code: int = 0) -> Any:
    return json.loads(run(*arguments, "--json", code=code))


def test_a_schema_is_shown_in_any_format_and_read_back(folder: Path, tmp_path: Path) -> None:
    yaml = run(
        "schema", "show", f"embedded:{folder}", "--format", "yaml", "--exclude", "User.email"
    )
    assert "Ann [bold]" in yaml
    assert "ann@x.org" not in yaml
    file = tmp_path / "schema.yaml"
    file.write_text(yaml, encoding="utf-8")
    compact = run("schema", "show", str(file))
    assert "(:User {email: STRING, n: INTEGER, name: STRING})" in compact
    assert "(:User)-[:KNOWS {since: INTEGER}]->(:User)" in compact
    again = Schema.parse(run("schema", "show", "-", "--format", "yaml", stdin=compact))
    known = Schema.parse(yaml)
    assert again.labels["User"].properties == (
        Property("email", "STRING"),
        Property("n", "INTEGER"),
        Property("name", "STRING"),
    )
    assert set(again.labels) == set(known.labels) and set(again.types) == set(known.types)
    assert [x.labels for x in again.co_labels] == [x.labels for x in known.co_labels]
    assert "No such" not in run("schema", "show", str(file), "--no-values")


def test_shown_as_json_with_budget_question_and_what_was_left_out(tmp_path: Path) -> None:
    file = tmp_path / "s.txt"
    file.write_text(
        "(:Person {name: STRING})-[:OWNS]->(:Car {plate: STRING})\n(:Tree {height: FLOAT})"
    )
    found = run_json("schema", "show", str(file), "--question", "Which person owns a car?")
    assert found["left_out"] == ["Tree"]
    assert Schema.from_json(found["schema"]) == Schema.parse(found["text"])
    small = run_json("schema", "show", str(file), "--budget", "40")
    assert small["tokens"] <= 40
    assert small["left_out"]


def test_check_tells_errors_from_warnings_by_its_exit_code(tmp_path: Path) -> None:
    good = tmp_path / "good.txt"
    good.write_text("(:A {p: STRING})-[:R]->(:B)")
    assert "nothing doubtful" in run("schema", "check", str(good))
    bad = tmp_path / "bad.yaml"
    bad.write_text(
        "labels:\n  A: {p: STRING}\n  a: {q: STRING | INTEGER}\nrelationships: {R: {}}\n"
    )
    found = run_json("schema", "check", str(bad), code=1)
    assert [p["code"] for p in found["problems"]][:3] == ["no-endpoints", "case", "several-types"]
    run("schema", "check", str(tmp_path / "none.json"), code=2)
    run("schema", "check", "bolt://127.0.0.1:1", code=3)


def test_diff_of_a_graph_and_a_file(folder: Path, tmp_path: Path) -> None:
    same = tmp_path / "same.json"
    same.write_text(run("schema", "show", str(folder), "--format", "graph-model"), encoding="utf-8")
    assert run_json("schema", "diff", str(folder), str(same)) == {"same": True, "differences": []}
    other = tmp_path / "other.txt"
    other.write_text("(:User {name: INTEGER})-[:LIKES]->(:User)")
    found = run_json("schema", "diff", str(same), str(other), code=1)["differences"]
    assert {(d["kind"], d["what"]) for d in found} == {
        ("label", "`has part`"),
        ("type", "[:KNOWS]"),
        ("type", "[:LIKES]"),
        ("property", "User.email"),
        ("property", "User.n"),
        ("type of property", "User.name"),
        ("pattern", "(:User)-[:KNOWS]->(:User)"),
        ("pattern", "(:User)-[:LIKES]->(:User)"),
    }


def test_graph_info_names_engine_counts_and_reciprocity(folder: Path) -> None:
    text = run("graph", "info", str(folder), "--statistics")
    assert "arcadedb" in text
    assert "100 %" in text
    assert "1999 .. 1999" in text
    found = run_json("graph", "info", str(folder), "--statistics", "--exclude", "KNOWS.since")
    assert found["schema"]["labels"]["User"]["count"] == 3
    assert found["schema"]["relationships"]["KNOWS"]["reciprocity"] == 1.0
    assert "1999" not in json.dumps(found["statistics"]["properties"])


def test_an_export_opens_again_without_what_is_excluded(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy"
    found = run_json("graph", "export", str(folder), str(out), "--exclude", "User.email")
    assert (found["nodes"], found["relationships"]) == (3, 2)
    assert sorted(str(n.properties.get("name")) for n in read_nodes(out)) == [
        "Ann [bold]",
        "None",
        "Zoë",
    ]
    assert not any("email" in n.properties for n in read_nodes(out))
    assert len(list(read_relationships(out))) == 2
    with connect(out) as graph:
        assert introspect(graph, examples=0) == introspect(graph, examples=0)
        assert Schema.parse(out).labels["User"].count == 3


class Server:
    """What loading needs of a server: it counts, and gives each created node an id."""

    engine, uri, read_only = "memgraph-3.2", "memgraph://server", False

    def __init__(self, present: int = 0) -> None:
        self.present = present
        self.queries: list[str] = []
        self.made = 0

    def run(self, query: str, parameters: Mapping[str, Any] | None = None, **_: Any) -> Result:
        self.queries.append(query)
        rows = (parameters or {}).get("rows", [])
        if "CREATE (n" in query:
            found = [(row["i"], 100 + self.made + row["i"]) for row in rows]
            self.made += len(rows)
            return Result((), tuple(found))
        if "CREATE (a)" in query:
            assert all(100 <= row["s"] < 103 and 100 <= row["e"] < 103 for row in rows)
            return Result((), ((len(rows),),))
        return Result((), ((self.present,),))


def test_loading_quotes_names_and_asks_memgraph_for_its_ids(folder: Path) -> None:
    server = Server()
    assert load_graph(folder, server) == (3, 2)  # type: ignore[arg-type]
    assert any("CREATE (n:User:`has part`)" in query for query in server.queries)
    assert not any("elementId" in query for query in server.queries)


def test_loading_refuses_a_full_database_and_dangling_ends(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds 7 nodes already"):
        load_graph(folder, Server(present=7))  # type: ignore[arg-type]
    write_neutral(tmp_path, NODES[:1], LINKS)
    with pytest.raises(InputError, match="absent"):
        load_graph(tmp_path, Server())  # type: ignore[arg-type]
    run("graph", "load", str(folder), f"embedded:{folder}", code=2)


def test_strict_diff_sees_what_formats_may_not_hold() -> None:
    a = Schema.parse("labels:\n  A: {count: 3, properties: {p: {type: LIST, optional: true}}}\n")
    b = Schema.parse("labels:\n  A: {count: 4, properties: {p: {type: LIST<STRING>}}}\n")
    assert diff_schemas(a, b) == []
    assert {d.kind for d in diff_schemas(a, b, strict=True)} == {"count", "optional"}
    assert diff_schemas(a, a, strict=True) == []


def test_names_and_samples_are_noted() -> None:
    schema = Schema.parse(
        "// sampled 100\n(:A:B)\n(:`has part` {p: STRING})-[:A]->(:A)\n(:Island)\n(:A)-[:X]->()"
    )
    codes = {(p.severity, p.code) for p in check_schema(schema)}
    assert codes >= {
        ("note", "sampled"),
        ("note", "island"),
        ("note", "needs-back-ticks"),
        ("note", "shared-name"),
        ("warning", "unlabelled"),
    }
    assert check_schema(Schema())[0].code == "empty"
