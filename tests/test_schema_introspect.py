"""Introspection: the same schema from every engine and source, whatever the server lacks.

The procedures of Neo4j are played back in front of the embedded engine, which answers the plain
Cypher; Memgraph's answers are those of its documentation (https://memgraph.com/docs/querying/schema)
and were never run against a live server.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from neo4j.time import DateTime, Duration

from cypherforge.core.errors import (
    GraphUnavailable,
    InputError,
    QueryRuntimeError,
    QuerySyntaxError,
)
from cypherforge.graph.base import Result
from cypherforge.graph.connect import connect
from cypherforge.graph.embedded import EmbeddedGraph
from cypherforge.graph.introspect import introspect
from cypherforge.graph.memgraph_schema import schema_of
from cypherforge.graph.neutral import NodeRow, RelationshipRow
from cypherforge.graph.policy import ValuePolicy
from cypherforge.graph.render import compact
from cypherforge.graph.schema import LabelSet, Pattern, Property, Schema
from cypherforge.graph.value_types import value_type
from cypherforge.graph.values import NodeValue, RelationshipValue, Unreadable, make_point

NASTY = "x`) DETACH DELETE n //"


@pytest.fixture(scope="module")
def odd() -> Iterator[EmbeddedGraph]:
    """A small graph with what once broke tools: H05, H07, several labels, none."""
    nodes = [
        NodeRow(0, ("A",), {"x": "1", "n": 1}),
        NodeRow(1, ("A",), {"x": "2", "n": "one"}),
        NodeRow(2, ("A",), {"x": "2"}),
        NodeRow(3, ("B",), {}),
        NodeRow(4, ("C",), {}),
        NodeRow(5, ("we`ird", "Person"), {"has part": [1, 2], "at": DateTime(2020, 2, 29)}),
        NodeRow(6, (NASTY,), {"p q": Duration(months=1), "spot": make_point(4326, [1.0, 2.0])}),
        NodeRow(7, ("Odd",), {"empty": [], "thumb": b"abc"}),
        NodeRow(8, (), {"lost": True}),
        NodeRow(9, ("Person",), {}),
    ]
    relationships = [
        RelationshipRow(0, "R", 0, 3),
        RelationshipRow(1, "R", 1, 4, {"p": "v"}),
        RelationshipRow(2, "has MD5 hash", 5, 6, {"k": 1.5}),
        RelationshipRow(3, "KNOWS", 5, 9),
        RelationshipRow(4, "KNOWS", 9, 5),
        RelationshipRow(5, "KNOWS", 9, 9),
        RelationshipRow(6, "LEADS", 8, 3),
    ]
    with EmbeddedGraph.from_rows(nodes, relationships) as graph:
        yield graph


class InFront:
    """A server's own procedures in front of the embedded engine, under the server's name."""

    def __init__(
        self,
        graph: EmbeddedGraph,
        engine: str,
        answer: Callable[[str], list[tuple[Any, ...]] | None],
    ) -> None:
        self.graph = graph
        self.engine = engine
        self.answer = answer
        self.asked: list[str] = []

    def run(self, query: str, parameters: Mapping[str, Any] | None = None, **limits: Any) -> Result:
        self.asked.append(query)
        rows = self.answer(query)
        if rows is not None:
            return Result((), tuple(rows))
        return self.graph.run(query, parameters, **limits)


def neo4j_answers(graph: EmbeddedGraph, **procedures: Any) -> Callable[[str], list[Any] | None]:
    """The catalogue queries of Neo4j; ``procedures`` are rows or errors by a part of their name."""
    labels = sorted(
        {x for (y,) in graph.run("MATCH (n) RETURN DISTINCT labels(n)").rows for x in y}
    )
    types = [x for (x,) in graph.run("MATCH ()-[r]->() RETURN DISTINCT type(r)").rows]

    def answer(query: str) -> list[Any] | None:
        if query == "CALL db.labels()":
            return [(label,) for label in [*labels, "Gone"]]
        if query == "CALL db.relationshipTypes()":
            return [(name,) for name in types]
        for part, rows in procedures.items():
            if part.replace("_", ".") in query:
                if isinstance(rows, Exception):
                    raise rows
                return list(rows)
        if query.startswith(("SHOW", "CALL")):
            raise QueryRuntimeError(
                "no such thing", code="Neo.ClientError.Procedure.ProcedureNotFound"
            )
        return None

    return answer


def test_labels_without_properties_pairs_and_optional_properties(odd: EmbeddedGraph) -> None:
    schema = introspect(odd)
    assert schema.labels["C"].properties == ()
    assert [p for p in schema.patterns_of("R") if p.start == "A"] == [
        Pattern("A", "R", "B", 1, ()),
        Pattern("A", "R", "C", 1, ("p",)),
    ]
    p = schema.type_property_of("R", "p")
    assert p == Property("p", "STRING", optional=True, coverage=0.5, values=("v",))
    x = schema.property_of("A", "x")
    assert x == Property("x", "STRING", coverage=1.0, values=("2", "1"))
    n = schema.property_of("A", "n")
    assert n is not None
    assert (n.type, n.optional, round(n.coverage or 0, 2)) == ("INTEGER | STRING", True, 0.67)


def test_any_name_can_be_asked_for_and_none_is_run(odd: EmbeddedGraph) -> None:
    schema = introspect(odd)
    assert odd.run("MATCH (n) RETURN count(n)").rows == ((10,),)
    assert schema.property_of("we`ird", "has part") == Property(
        "has part", "LIST<INTEGER>", coverage=1.0
    )
    assert schema.property_of(NASTY, "p q") == Property(
        "p q", "DURATION", coverage=1.0, values=("P1M",)
    )
    assert schema.property_of(NASTY, "spot") == Property("spot", "POINT", coverage=1.0)
    assert schema.property_of("Odd", "empty") == Property("empty", "LIST", coverage=1.0)
    assert schema.property_of("Odd", "thumb") == Property("thumb", "BYTES", coverage=1.0)
    assert schema.has_direction("Person", "has MD5 hash", NASTY)
    assert Schema.parse(compact(schema)).names() == schema.names()


def test_co_labels_and_nodes_without_a_label(odd: EmbeddedGraph) -> None:
    schema = introspect(odd)
    assert schema.co_labels == (LabelSet(("Person", "we`ird"), 1),)
    assert schema.together(["we`ird", "Person"]) is True
    assert schema.together(["A", "B"]) is False
    assert schema.has_direction("", "LEADS", "B")
    assert any("1 nodes have no label" in text for text in schema.warnings)


def test_reciprocity_leaves_out_loops(odd: EmbeddedGraph) -> None:
    schema = introspect(odd)
    assert schema.types["KNOWS"].reciprocity == 1.0
    assert schema.types["R"].reciprocity == 0.0


def test_excluded_values_are_not_read(odd: EmbeddedGraph) -> None:
    graph = InFront(odd, odd.engine, lambda query: None)
    schema = introspect(graph, policy=ValuePolicy.of(["A.x", "R"]))  # type: ignore[arg-type]
    assert schema.property_of("A", "x") == Property("x", "STRING", coverage=1.0)
    assert schema.property_of("A", "n") is not None
    assert (schema.property_of("A", "n") or Property("")).values
    assert (schema.type_property_of("R", "p") or Property("", values=(1,))).values == ()
    bare = introspect(odd, policy=ValuePolicy(no_values=True))
    assert not any(p.values for x in bare.labels.values() for p in x.properties)
    assert bare.names() == schema.names()


# Neo4j


def test_without_apoc_the_sampled_names_come_from_the_builtin_procedures(
    odd: EmbeddedGraph,
) -> None:
    # H01: one warning, naming the procedure; H02: the schema says that it is sampled.
    missing = QueryRuntimeError("unknown", code="Neo.ClientError.Procedure.ProcedureNotFound")
    answers = neo4j_answers(
        odd,
        apoc_meta_schema=missing,
        db_schema_nodeTypeProperties=[
            (["A"], "x", ["String"]),
            (["A"], "rare", ["StringArray", "Long"]),
            (["B"], None, None),
        ],
        db_schema_relTypeProperties=[(":`R`", "p", ["String"]), (":`KNOWS`", "since", ["Date"])],
        db_schema_visualization=[],
        SHOW_=[],
    )
    schema = introspect(InFront(odd, "neo4j-5.26.30", answers), sample=1)  # type: ignore[arg-type]
    assert schema.source == "fallback"
    assert (schema.sampled, schema.sample_size) == (True, 1)
    warnings = [text for text in schema.warnings if "apoc" in text]
    assert len(warnings) == 1
    assert "apoc.meta.schema" in warnings[0]
    assert "Neo.ClientError.Procedure.ProcedureNotFound" in warnings[0]
    rare = Property("rare", "INTEGER | LIST<STRING>", optional=True)
    assert schema.property_of("A", "rare") == rare
    since = Property("since", "DATE", optional=True)
    assert schema.type_property_of("KNOWS", "since") == since
    assert schema.labels["A"].count == 3
    assert "Gone" not in schema.labels


def test_rare_endpoint_pairs_are_looked_for_where_the_sample_missed_them(
    odd: EmbeddedGraph,
) -> None:
    virtual = {
        name: NodeValue(str(i), frozenset([name]), {"name": name}) for i, name in enumerate("ABC")
    }
    links = [
        RelationshipValue(f"r{a}{b}", "R", virtual[a].id, virtual[b].id)
        for a, b in ("AB", "AC", "BC")
    ]
    answers = neo4j_answers(
        odd, db_schema_visualization=[(list(virtual.values()), links)], SHOW_=[], apoc_meta=[]
    )
    schema = introspect(InFront(odd, "neo4j-5.26.30", answers), sample=1)  # type: ignore[arg-type]
    # Both real pairs, whichever one the sample met; not the one that only the catalogue imagines.
    assert {(p.start, p.end) for p in schema.patterns_of("R")} == {("A", "B"), ("A", "C")}


def test_the_source_does_not_change_what_fits_the_sample(odd: EmbeddedGraph) -> None:
    sandboxed = QueryRuntimeError(
        "apoc.meta.schema is unavailable because it is sandboxed",
        code="Neo.ClientError.Procedure.ProcedureRegistrationFailed",
    )
    bare = introspect(InFront(odd, "neo4j-5.26.30", neo4j_answers(odd)))  # type: ignore[arg-type]
    barred = neo4j_answers(odd, apoc_meta_schema=sandboxed, SHOW_=[])
    other = introspect(InFront(odd, "neo4j-5.26.30", barred))  # type: ignore[arg-type]
    assert bare == other == introspect(odd)
    # A user who may not list constraints still gets a schema, and learns of it.
    assert any("list of constraints" in text for text in bare.warnings)


def test_apoc_that_answers_is_named_as_the_source(odd: EmbeddedGraph) -> None:
    value = {"A": {"type": "node", "properties": {"rare": {"type": "INTEGER"}}}}
    answers = neo4j_answers(odd, apoc_meta_schema=[(value,)], db_schema=[], SHOW_=[])
    graph = InFront(odd, "neo4j-5.26.30", answers)
    schema = introspect(graph, sample=2)  # type: ignore[arg-type]
    assert schema.source == "apoc"
    assert schema.property_of("A", "rare") == Property("rare", "INTEGER", optional=True)
    assert not any("nodeTypeProperties" in query for query in graph.asked)


def test_a_property_that_cannot_be_read_is_unknown_and_the_rest_stands(odd: EmbeddedGraph) -> None:
    # H28: one such property must not cost the schema.
    marker = Unreadable("Vector", "install a newer neo4j driver")

    def answer(query: str) -> list[Any] | None:
        if "`has part`" in query or ("we``ird" in query and "[k]" in query):
            if query.endswith("LIMIT 1000"):
                return [(marker,)]
            raise QueryRuntimeError("cannot encode")
        return None

    schema = introspect(InFront(odd, odd.engine, answer))  # type: ignore[arg-type]
    assert schema.property_of("we`ird", "has part") == Property("has part", "UNKNOWN", coverage=1.0)
    assert (schema.property_of("we`ird", "at") or Property("")).type == "LOCAL_DATE_TIME"
    assert any("newer neo4j driver" in text for text in schema.warnings)
    assert schema.property_of("A", "x") is not None


def test_a_lost_connection_is_not_taken_for_a_missing_procedure(odd: EmbeddedGraph) -> None:
    def answer(query: str) -> list[Any] | None:
        if query.startswith("SHOW"):
            raise GraphUnavailable("the server went away")
        return neo4j_answers(odd)(query)

    with pytest.raises(GraphUnavailable):
        introspect(InFront(odd, "neo4j-5.26.30", answer))  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_rare_label_is_never_missed() -> None:
    # H02: 10,000 Common, one Rare, a sample of 1,000.
    nodes = [NodeRow(i, ("Common",), {"i": i}) for i in range(10_000)] + [
        NodeRow(10_000, ("Rare",))
    ]
    with EmbeddedGraph.from_rows(nodes, []) as graph:
        schema = introspect(graph, sample=1_000)
        assert schema.labels["Rare"].count == 1
        assert (schema.sampled, schema.sample_size) == (True, 1_000)
        assert not introspect(graph, sample=-1).sampled


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, "BOOLEAN"),
        (make_point(7203, [1.0, 2.0]), "POINT"),
        ([make_point(7203, [1.0, 2.0])], "LIST<POINT>"),
        (Duration(months=1), "DURATION"),
        (b"abc", "BYTES"),
        ([1, 2.5], "LIST<FLOAT | INTEGER>"),
        ([], "LIST"),
        ({"a": 1}, "MAP"),
        (Unreadable("X"), "UNKNOWN"),
    ],
)
def test_driver_types_are_told_from_the_tuples_they_are(value: Any, kind: str) -> None:
    assert value_type(value) == kind


# Memgraph, from its documentation


DOCUMENTED: dict[str, Any] = {
    "nodes": [
        {
            "labels": ["A", "B"],
            "count": 10,
            "properties": [
                {
                    "key": "prop1",
                    "count": 6,
                    "filling_factor": 60.00,
                    "types": [
                        {"type": "Boolean", "count": 3},
                        {"type": "Integer", "count": 1},
                        {"type": "String", "count": 2},
                    ],
                },
                {
                    "key": "prop2",
                    "count": 3,
                    "filling_factor": 30.00,
                    "types": [{"type": "Float", "count": 3}],
                },
            ],
        },
        {"labels": ["C", "D"], "count": 3, "properties": []},
        {"labels": [], "count": 3, "properties": []},
    ],
    "edges": [
        {
            "type": ":EDGE",
            "start_node_labels": ["C", "D"],
            "end_node_labels": [],
            "count": 3,
            "properties": [
                {
                    "key": "edge_prop",
                    "count": 2,
                    "filling_factor": 66.67,
                    "types": [{"type": "Integer", "count": 2}],
                }
            ],
        }
    ],
    "node_constraints": [{"type": "unique", "labels": ["A"], "properties": ["prop1"]}],
    "node_indexes": [
        {"labels": ["A"], "properties": ["prop2"], "count": 3, "type": "label+property"}
    ],
    "edge_indexes": [{"edge_type": "EDGE", "properties": [], "count": 3, "type": "edge_type"}],
    "enums": [],
}


@pytest.mark.parametrize("encode", [json.dumps, lambda data: data])
def test_memgraph_schema_info_of_the_documentation(encode: Callable[[Any], Any]) -> None:
    schema = schema_of(encode(DOCUMENTED))
    assert schema.property_of("A", "prop1") == Property(
        "prop1", "BOOLEAN | INTEGER | STRING", optional=True, coverage=0.6
    )
    assert schema.property_of("B", "prop2") == Property(
        "prop2", "FLOAT", optional=True, coverage=0.3
    )
    assert (schema.property_of("B", "prop2") or Property("")).sparse
    edge_prop = schema.type_property_of("EDGE", "edge_prop")
    assert edge_prop is not None
    assert (edge_prop.type, round(edge_prop.coverage or 0, 4)) == ("INTEGER", 0.6667)
    assert schema.patterns == (Pattern("C", "EDGE", "", 3), Pattern("D", "EDGE", "", 3))
    assert LabelSet(("A", "B"), 10) in schema.co_labels
    assert [(c.kind, c.name, c.properties) for c in schema.constraints] == [
        ("UNIQUENESS", "A", ("prop1",))
    ]
    assert [(i.kind, i.names) for i in schema.indexes] == [("LOOKUP", ("EDGE",)), ("RANGE", ("A",))]


def test_memgraph_with_schema_info_asks_for_examples_only(odd: EmbeddedGraph) -> None:
    def answer(query: str) -> list[Any] | None:
        return [(json.dumps(DOCUMENTED),)] if query == "SHOW SCHEMA INFO" else []

    graph = InFront(odd, "memgraph-3.2.0", answer)
    schema = introspect(graph)  # type: ignore[arg-type]
    assert schema.source == "memgraph"
    assert replace(schema, types={}) == replace(schema_of(DOCUMENTED), types={})
    assert not any("labels(n)" in query for query in graph.asked)


def test_memgraph_without_the_flag_is_scanned(odd: EmbeddedGraph) -> None:
    def answer(query: str) -> list[Any] | None:
        if query.startswith("SHOW"):
            raise QueryRuntimeError("SchemaInfo disabled.")
        return None

    schema = introspect(InFront(odd, "memgraph-3.2.0", answer))  # type: ignore[arg-type]
    assert schema == introspect(odd)
    assert any("--schema-info-enabled" in text for text in schema.warnings)


def test_memgraph_in_another_form_says_so() -> None:
    with pytest.raises(InputError, match="not documented"):
        schema_of('{"nodes": [{"label": "A"}]}')
    with pytest.raises(InputError, match="not documented"):
        schema_of("nothing")


def test_a_scan_without_value_type_reads_the_values(odd: EmbeddedGraph) -> None:
    def answer(query: str) -> list[Any] | None:
        if "valueType" in query:
            raise QuerySyntaxError("no function valueType")
        return None

    schema = introspect(InFront(odd, "memgraph-2.0.0", answer))  # type: ignore[arg-type]
    assert schema == introspect(odd)


# Real servers and data


@pytest.mark.neo4j
def test_a_real_neo4j_and_the_embedded_copy_have_the_same_schema(
    neo4j_uri: str, shared: Path
) -> None:
    with connect(neo4j_uri) as graph:
        live = introspect(graph)
        if set(live.labels) != {"Match", "Person", "Squad", "Team", "Tournament"}:
            pytest.skip("the server does not hold the wwc graph")
    with connect(f"embedded:{shared}/data/graphs/wwc") as copy:
        embedded = introspect(copy)
    # The files hold no constraints or indexes.
    assert embedded == replace(live, constraints=(), indexes=())
    assert live.labels["Person"].count == 2022
    dob = live.property_of("Person", "dob")
    assert dob is not None
    assert round(dob.coverage or 0, 3) == 0.827
    # Players have other properties on PLAYED_IN than teams: the exported schema file mixes them.
    pairs = {p.start: p.properties for p in live.patterns_of("PLAYED_IN")}
    assert pairs == {"Person": ("minuteOn", "type"), "Team": ("penaltyScore", "score")}


@pytest.mark.neo4j
def test_a_small_sample_of_a_real_neo4j_misses_no_name(neo4j_uri: str) -> None:
    with connect(neo4j_uri) as graph:
        whole, part = introspect(graph, sample=-1), introspect(graph, sample=50, examples=0)
    assert not whole.sampled
    if not part.sampled:
        pytest.skip("this Neo4j holds fewer nodes than the sample")
    assert part.names() == whole.names()
    assert {(p.start, p.type, p.end) for p in part.patterns} == {
        (p.start, p.type, p.end) for p in whole.patterns
    }
