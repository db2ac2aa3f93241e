"""The gate: what it finds, in which order, and what it leaves alone."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cypherforge.cli import app
from cypherforge.core.errors import QueryRefused, QuerySyntaxError
from cypherforge.cypher import parse
from cypherforge.cypher.schema_check import did_you_mean
from cypherforge.graph.base import BaseGraph, Notification, Plan, Result
from cypherforge.graph.schema import Label, LabelSet, Pattern, Property, RelType, Schema
from cypherforge.validators import Gate
from cypherforge.validators.commands import split_statements
from cypherforge.validators.schema_check import check_schema

# The schema S1 of the field reports, with a few typed properties.
S1 = Schema.build(
    [
        Label("Person", (Property("name"), Property("born", "INTEGER"))),
        Label(
            "Movie",
            (
                Property("title"),
                Property("released", "INTEGER"),
                Property("premiere", "DATE"),
                Property("tags", "LIST<STRING>"),
            ),
        ),
        Label("Genre", (Property("name"),)),
    ],
    [
        RelType("ACTED_IN", (Property("role"),)),
        RelType("DIRECTED"),
        RelType("IN_GENRE"),
        RelType("FOLLOWS"),
    ],
    [
        Pattern("Person", "ACTED_IN", "Movie"),
        Pattern("Person", "DIRECTED", "Movie"),
        Pattern("Movie", "IN_GENRE", "Genre"),
        Pattern("Person", "FOLLOWS", "Person"),
    ],
)


def found(query: str, schema: Schema = S1) -> list[str]:
    return [finding.code for finding in check_schema(parse(query), schema)]


FITS = [
    "MATCH (p:Person)-[r:ACTED_IN]->(m:Movie) WHERE r.role = 'x' AND p.born > 1970.5 RETURN m.title",
    "MATCH (m:Movie)<-[:ACTED_IN|DIRECTED]-(p) RETURN p.name, m {.title, .released}",
    # Field report H08: the comma joins nothing.
    "MATCH (p:Person {name:'a'})-[:ACTED_IN]->(m:Movie), (g:Genre {name:'x'}) RETURN p,g",
    "MATCH (p:Person)--(m:Movie) RETURN p",
    "MATCH (p:Person)-[:FOLLOWS*1..3]->(q) RETURN q.name",
    "MATCH (p:Person) WITH p AS q, p.name AS n RETURN q.born, n.anything",
    "MATCH (p:Person) WITH collect(p) AS ps UNWIND ps AS q RETURN q.name, head(ps).born",
    "MATCH (n) WHERE n:Movie RETURN n.title",
    "MATCH (m:Movie) WHERE m.premiere = date('2020-01-01') AND m.premiere.year = 2020 RETURN m",
    "MATCH (m:Movie) WHERE 'x' IN m.tags RETURN m.title",
    "MATCH (p:Person) WHERE EXISTS { (p)-[:ACTED_IN]->(:Movie) } RETURN COUNT { (p)-->() }",
    "MATCH path = shortestPath((a:Person)-[:FOLLOWS*]-(b:Person)) RETURN length(path)",
    "MATCH (n) RETURN n.name",
    "UNWIND [{x: 1}] AS row RETURN row.x",
    "CALL db.labels() YIELD label RETURN label.whatever",
]


@pytest.mark.parametrize("query", FITS)
def test_what_fits_the_schema_is_left_alone(query: str) -> None:
    assert found(query) == []


FAULTS = [
    ("MATCH (p:Persn) RETURN p", "schema.label", "Person"),
    ("MATCH (p:Person)-[:ACTEDIN]->(m) RETURN m", "schema.type", "ACTED_IN"),
    ("MATCH (p:Person) RETURN p.nme", "schema.property", "name"),
    ("MATCH (p:Person {Name: 'x'}) RETURN p", "schema.property", "name"),
    ("MATCH (p:Person)-[r:ACTED_IN]->() RETURN r.roles", "schema.property", "role"),
    ("MATCH (p:Person) WITH p AS q RETURN q.title", "schema.property", None),
    ("MATCH (:Person)-[:ACTED_IN]->(m) RETURN m.born", "schema.property", None),
    ("MATCH (p:Person) RETURN p {.title}", "schema.property", None),
    ("MATCH (p:Person)<-[:ACTED_IN]-(m:Movie) RETURN p", "direction.reversed", "-[:ACTED_IN]->"),
    ("MATCH (m:Movie)-[:ACTED_IN*1..3]->(p:Person) RETURN p", "direction.reversed", None),
    ("MATCH (p:Person)-[:IN_GENRE]->(g:Genre) RETURN g", "schema.endpoints", None),
    ("MATCH (p:Person)-[:ACTED_IN]-(g:Genre) RETURN g", "schema.endpoints", None),
    ("MATCH (m:Movie) WHERE m.released = '1999' RETURN m", "filter.literal_type", "1999"),
    ("MATCH (m:Movie {premiere: '2020-01-01'}) RETURN m", "filter.literal_type",
     "date('2020-01-01')"),
    ("MATCH (p:Person) WHERE p.name IN ['a', 3] RETURN p", "filter.literal_type", "'3'"),
    ("MATCH (m:Movie) WHERE m.released CONTAINS '19' RETURN m", "filter.literal_type", None),
    ("MATCH (n) WHERE EXISTS { (n)-[:LIKES]->() } RETURN n", "schema.type", None),
]  # fmt: skip


@pytest.mark.parametrize(("query", "code", "suggestion"), FAULTS)
def test_what_does_not_fit_is_found(query: str, code: str, suggestion: str | None) -> None:
    findings = check_schema(parse(query), S1)
    assert [f.code for f in findings] == [code]
    if suggestion is not None:
        assert findings[0].suggestion == suggestion


def test_an_unknown_name_is_named_with_the_known_ones() -> None:
    """Field report H09: suggestions, and the query stays what it is."""
    query = "MATCH (p:Person)-[:LIKES]->(m:Movie) RETURN p"
    (finding,) = check_schema(parse(query), S1)
    assert "LIKES" in finding.message
    assert set(finding.expected) == set(S1.types)
    assert finding.span is not None and query[slice(*finding.span)] == "LIKES"


def test_a_sampled_schema_is_not_certain() -> None:
    """Field report H02: what was not seen may exist."""
    sampled = Schema.build(S1.labels.values(), S1.types.values(), S1.patterns, sampled=True)
    (finding,) = check_schema(parse("MATCH (n:Rare) RETURN n"), sampled)
    assert finding.severity == "warning" and "sampled" in finding.message


def test_labels_that_occur_together_share_their_properties_and_ends() -> None:
    both = Schema.build(
        [
            Label("Actor", (Property("agent"),)),
            Label("Person", (Property("name"),)),
            Label("Movie"),
        ],
        [RelType("PLAYED")],
        [Pattern("Person", "PLAYED", "Movie")],
        co_labels=[LabelSet(("Actor", "Person"))],
    )
    assert found("MATCH (a:Actor)-[:PLAYED]->(m:Movie) RETURN a.name, a.agent", both) == []
    assert found("MATCH (a:Actor:Person) RETURN a.name, a.agent", both) == []
    assert found("MATCH (a:Movie) RETURN a.agent", both) == ["schema.property"]


def test_did_you_mean_ignores_case_and_separators() -> None:
    assert did_you_mean("acted_in", ["ACTED_IN", "DIRECTED"]) == "ACTED_IN"
    assert did_you_mean("releaseYear", ["release_year", "title"]) == "release_year"
    assert did_you_mean("zzz", ["title"]) is None


# ---------------------------------------------------------------- the chain


class Planner(BaseGraph):
    """A graph that can only plan, with the answer it was given."""

    uri, engine, read_only = "planner:", "neo4j-5.26", True

    def __init__(self, plan: Plan | Exception) -> None:
        super().__init__()
        self.plan = plan
        self.planned: list[str] = []

    def run(self, query: str, *args: Any, **options: Any) -> Result:
        raise AssertionError("the gate runs nothing")

    def explain(self, query: str, parameters: Mapping[str, Any] | None = None) -> Plan:
        self.planned.append(query)
        if isinstance(self.plan, Exception):
            raise self.plan
        return self.plan

    def fingerprint(self) -> str:
        return "planner"

    def close(self) -> None:
        pass


def test_without_anything_it_parses_and_guards() -> None:
    gate = Gate()
    assert gate.check("MATCH (n) RETURN n").ok
    verdict = gate.check("MATCH (n RETURN n")
    assert not verdict.ok
    assert [(f.category, f.code, f.backend) for f in verdict.findings] == [
        ("parse", "syntax.parse", "parse")
    ]
    refused = gate.check("MATCH (n) DELETE n")
    assert [(f.category, f.code) for f in refused.findings] == [("safety", "safety.delete")]


def test_writes_are_judged_like_reads_where_they_are_allowed() -> None:
    gate = Gate(schema=S1, read_only=False)
    assert gate.check("CREATE (p:Person {name: 'x'})").ok
    assert [f.code for f in gate.check("CREATE (p:Persn)").findings] == ["schema.label"]


def test_findings_come_parse_first_then_authority_then_severity() -> None:
    graph = Planner(QuerySyntaxError("Invalid input", code="Neo.ClientError.Statement.SyntaxError"))
    verdict = Gate(schema=S1, graph=graph).check("MATCH (n:Persn DELETE n")
    assert [f.backend for f in verdict.findings] == ["explain", "parse", "readonly"]
    assert verdict.findings[0].category == "parse"


def test_if_the_database_plans_it_the_grammar_is_at_fault() -> None:
    verdict = Gate(schema=S1, graph=Planner(Plan("ProduceResults"))).check(
        "MATCH (n) RETURN n ~~ 1"
    )
    assert verdict.ok
    assert [(f.severity, f.code) for f in verdict.findings] == [("info", "grammar.gap")]


def test_short_mode_stops_at_the_first_backend_that_errs() -> None:
    graph = Planner(Plan("ProduceResults"))
    verdict = Gate(schema=S1, graph=graph, mode="short").check("MATCH (n:Nope) DELETE n")
    assert [f.backend for f in verdict.findings] == ["readonly"]
    assert graph.planned == []


def test_the_database_may_refuse_a_write_that_nothing_else_saw() -> None:
    graph = Planner(QueryRefused("writes are refused", code="x"))
    verdict = Gate(schema=S1, graph=graph).check("MATCH (p:Person) RETURN p")
    assert [(f.category, f.backend) for f in verdict.findings] == [("safety", "explain")]


def test_notifications_of_the_plan_are_warnings() -> None:
    note = Notification("01N52", "WARNING", "unknown", "no such key", 2, 3)
    verdict = Gate(schema=S1, graph=Planner(Plan("x", notifications=(note,)))).check(
        "MATCH (n)\nRETURN n"
    )
    (finding,) = verdict.findings
    assert verdict.ok and finding.severity == "warning" and finding.span == (12, 13)


def test_the_language_analysis_is_one_of_the_backends() -> None:
    verdict = Gate(schema=S1).check("MATCH (p:Person) RETURN q.name")
    assert [(f.backend, f.category, f.code) for f in verdict.findings] == [
        ("analysis", "reference", "scope.undefined")
    ]
    assert verdict.ran == ("parse", "readonly", "schema", "analysis")


def test_another_backend_can_be_added() -> None:
    from cypherforge.validators.findings import Finding

    def costly(subject: object) -> list[Finding]:
        return [Finding("error", "cost", "cost.rows", "too many rows", backend="cost")]

    verdict = Gate(extra=[("cost", costly)]).check("MATCH (n) RETURN n")
    assert [f.code for f in verdict.findings] == ["cost.rows"] and verdict.ran[-1] == "cost"


# ---------------------------------------------------------------- the command

runner = CliRunner()


def test_statements_are_split_by_tokens() -> None:
    text = "MATCH (n) WHERE n.x = ';' RETURN n; // a; b\n;RETURN 1;\n"
    assert [s for _, s in split_statements(text)] == [
        "MATCH (n) WHERE n.x = ';' RETURN n",
        "RETURN 1",
    ]


def test_one_query_as_json() -> None:
    result = runner.invoke(app, ["gate", "check", "--query", "MATCH (n) DELETE n", "--json"])
    assert result.exit_code == 1
    value = json.loads(result.stdout)
    assert value["ok"] is False
    assert value["findings"][0]["code"] == "safety.delete"
    assert set(value["findings"][0]) >= {
        "severity", "category", "code", "span", "message", "suggestion", "backend",
    }  # fmt: skip


def test_a_file_of_statements_gives_one_object_each(tmp_path: Path) -> None:
    path = tmp_path / "queries.cypher"
    path.write_text("MATCH (n) RETURN n;\nMATCH (n) SET n.x = 1;\n", encoding="utf-8")
    result = runner.invoke(app, ["gate", "check", str(path), "--json"])
    assert [json.loads(line)["ok"] for line in result.stdout.splitlines()] == [True, False]
    assert result.exit_code == 1


def test_json_lines_keep_step_even_with_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"cypher": "RETURN 1"}\nnonsense\n{"query": 2}\n', encoding="utf-8")
    result = runner.invoke(app, ["gate", "check", str(path), "--json"])
    values = [json.loads(line) for line in result.stdout.splitlines()]
    assert [v["ok"] for v in values] == [True, False, False]
    assert "row 2" in values[1]["findings"][0]["message"]


def test_standard_input_has_a_query_a_line() -> None:
    result = runner.invoke(app, ["gate", "check", "-", "--json"], input="RETURN 1\n\nMATCH (n\n")
    assert [json.loads(line)["ok"] for line in result.stdout.splitlines()] == [True, False]


def test_a_schema_file_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "schema.txt"
    path.write_text("(:Person {name: STRING})-[:KNOWS]->(:Person)\n", encoding="utf-8")
    query = "MATCH (p:Person) RETURN p.nam"
    result = runner.invoke(app, ["gate", "check", "--query", query, "--schema", str(path)])
    assert result.exit_code == 1
    assert "schema.property at 1:27" in result.stdout and "try: name" in result.stdout


def test_usage_errors_exit_with_two(tmp_path: Path) -> None:
    assert runner.invoke(app, ["gate", "check"]).exit_code == 2
    assert runner.invoke(app, ["gate", "check", str(tmp_path / "x.txt")]).exit_code == 2
