"""Schema text formats: recognised by content, read right, written so that nothing is lost."""

import ast
import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cypherforge.core.errors import InputError
from cypherforge.graph.formats import FORMATS, recognise
from cypherforge.graph.formats.arrows import parse_arrow, parse_arrows, unquote
from cypherforge.graph.schema import (
    Constraint,
    Index,
    Label,
    LabelSet,
    Pattern,
    Property,
    RelType,
    Schema,
)
from cypherforge.graph.type_names import type_name

EIGHT = (
    "markdown",
    "flat",
    "structured",
    "apoc",
    "visualization",
    "cypherbench",
    "graph-model",
    "arrows",
)

#: The first-hand schema of the field reports, with every thing that once got lost.
RICH = Schema.build(
    [
        Label("Person", (Property("name"), Property("born", "INTEGER", optional=True)), 3),
        Label("Movie", (Property("title"), Property("released", "DATE | INTEGER")), 2),
        Label("Genre"),
        Label("we`ird", (Property("x y", "LIST<STRING>"),)),
        Label("ACTED_IN", (Property("same", "POINT"),)),
    ],
    [RelType("ACTED_IN", (Property("role"), Property("order", "INTEGER")))],
    [
        Pattern("Person", "ACTED_IN", "Movie"),
        Pattern("Person", "ACTED_IN", "Genre"),
        Pattern("Person", "has MD5 hash", "we`ird"),
        Pattern("Person", "FOLLOWS", "Person"),
        Pattern("Movie", "FOLLOWS", "Person"),
    ],
    co_labels=[LabelSet(("Person", "we`ird"))],
    constraints=[Constraint("UNIQUENESS", "NODE", "Person", ("name",))],
    indexes=[Index("RANGE", "NODE", ("Movie",), ("title",))],
)


def names_and_types(schema: Schema) -> object:
    """What every format but the visualization holds."""
    return (
        {n: {p.name: p.type for p in x.properties} for n, x in schema.labels.items()},
        {n: {p.name: p.type for p in x.properties} for n, x in schema.types.items()},
        [(p.start, p.type, p.end) for p in schema.patterns],
    )


@pytest.mark.parametrize("name", EIGHT)
def test_each_format_is_recognised_and_holds_labels_types_pairs_and_properties(name: str) -> None:
    text = FORMATS[name].render(RICH)
    assert recognise(text) == name
    back = Schema.parse(text)
    assert back.source == name
    assert back.raw == text
    assert FORMATS[name].render(back) == text
    if name == "visualization":
        assert list(back.labels) == list(RICH.labels)
        assert [(p.start, p.type, p.end) for p in back.patterns] == [
            (p.start, p.type, p.end) for p in RICH.patterns
        ]
    else:
        assert names_and_types(back) == names_and_types(RICH)


@pytest.mark.parametrize(
    "name", ["markdown", "flat", "structured", "apoc", "graph-model", "arrows"]
)
def test_label_combinations_survive(name: str) -> None:
    back = Schema.parse(FORMATS[name].render(RICH))
    assert [item.labels for item in back.co_labels] == [("Person", "we`ird")]


@pytest.mark.parametrize("name", ["structured", "apoc", "graph-model", "visualization"])
def test_constraints_and_indexes_survive(name: str) -> None:
    back = Schema.parse(FORMATS[name].render(RICH))
    assert back.constraints == RICH.constraints
    assert back.indexes == RICH.indexes


@pytest.mark.parametrize("name", ["markdown", "flat", "structured", "arrows"])
@pytest.mark.parametrize("size", [1000, None])
def test_a_sampled_schema_says_so(name: str, size: int | None) -> None:
    back = Schema.parse(FORMATS[name].render(replace(RICH, sampled=True, sample_size=size)))
    assert (back.sampled, back.sample_size) == (True, size)


@pytest.mark.parametrize("name", ["spec", "yaml"])
def test_our_own_form_loses_nothing_at_all(name: str) -> None:
    schema = Schema.build(
        [
            Label(
                "NO",
                (
                    Property("on", "BOOLEAN", coverage=0.25, optional=True, values=(True,)),
                    Property("2020-01-01", "DATE", values=("2020-01-01", "null", "1e3")),
                    Property("v", "FLOAT", low=-1.5, high=2.0, distinct=7, description="a: b"),
                    Property("l", "LIST<INTEGER>", sizes=(0, 4)),
                ),
                7,
                "Norway's trap",
            ),
            Label("count", (Property("count", "INTEGER"), Property("properties"))),
        ],
        [RelType("true", (), 4, 0.5)],
        [Pattern("NO", "true", "", 4, ()), Pattern("count", "true", "NO")],
        co_labels=[LabelSet(("NO", "count"), 2)],
        sampled=True,
        sample_size=10,
        name="x",
    )
    text = FORMATS[name].render(schema)
    assert Schema.parse(text) == schema
    assert Schema.parse(text).digest == schema.digest


@pytest.mark.parametrize("name", ["cypherbench", "graph-model", "arrows", "spec"])
def test_properties_of_one_endpoint_pair_stay_with_it(name: str) -> None:
    # H05: (:A)-[:R]->(:B) has none, (:A)-[:R {p}]->(:C) has one, :C has no properties.
    text = "(:A {x: STRING})-[:R]->(:B)\n(:A)-[:R {p: STRING}]->(:C)"
    schema = Schema.parse(text)
    back = Schema.parse(FORMATS[name].render(schema))
    assert [(p.end, p.properties) for p in back.patterns] == [("B", ()), ("C", ("p",))]
    assert back.labels["C"].properties == ()
    assert back.properties_on(back.patterns[0]) == ()


# Texts as other programs write them


def test_markdown_of_the_labs_with_examples_ranges_and_options() -> None:
    schema = Schema.parse(
        "Node properties:\n"
        "- **Movie**\n"
        '  - `title`: STRING Example: "The Matrix"\n'
        "  - `votes`: INTEGER Min: 1, Max: 5259\n"
        "  - `cast`: LIST Min Size: 1, Max Size: 6\n"
        "  - `spot`: POINT \n"
        "- **Empty**\n"
        "Relationship properties:\n"
        "- **REVIEWED**\n"
        "  - `summary: STRING` Available options: ['A solid romp', \"You had me at Jerry\"]\n"
        "  - `rating: INTEGER` Min: 45, Max:  100\n"
        "The relationships:\n"
        "(:Person)-[:REVIEWED]->(:Movie)\n"
        "(:Person)-[:has part]->(:Movie)"
    )
    assert schema.source == "markdown"
    votes = schema.property_of("Movie", "votes")
    assert votes is not None
    assert (votes.low, votes.high) == (1, 5259)
    title = schema.property_of("Movie", "title")
    assert title is not None
    assert title.values == ("The Matrix",)
    cast = schema.property_of("Movie", "cast")
    assert cast is not None
    assert (cast.type, cast.sizes) == ("LIST", (1, 6))
    summary = schema.type_property_of("REVIEWED", "summary")
    assert summary is not None
    assert summary.values == ("A solid romp", "You had me at Jerry")
    rating = schema.type_property_of("REVIEWED", "rating")
    assert rating is not None
    assert (rating.type, rating.low, rating.high) == ("INTEGER", 45, 100)
    assert sorted(schema.labels) == ["Empty", "Movie", "Person"]
    assert schema.has_direction("Person", "has part", "Movie")


@pytest.mark.parametrize(
    "text",
    [
        (
            "Node properties:\nPerson {name: STRING, born: INTEGER}\nMovie {title: STRING}\n"
            "Relationship properties:\nACTED_IN {roles: LIST}\n"
            "The relationships:\n(:Person)-[:ACTED_IN]->(:Movie)\n(:Person)-[:FOLLOWS]->(:Person)"
        ),
        (
            "Node properties are the following:\n"
            "Person {name: STRING, born: INTEGER},Movie {title: STRING}\n"
            "Relationship properties are the following:\nACTED_IN {roles: LIST}\n"
            "The relationships are the following:\n"
            "(:Person)-[:ACTED_IN]->(:Movie),(:Person)-[:FOLLOWS]->(:Person)"
        ),
        (
            "\n        Node properties are the following:\n"
            "        [{'labels': 'Person', 'properties': [{'property': 'name', 'type': 'STRING'}, "
            "{'property': 'born', 'type': 'INTEGER'}]}, "
            "{'labels': 'Movie', 'properties': [{'property': 'title', 'type': 'STRING'}]}]\n"
            "        Relationship properties are the following:\n"
            "        [{'type': 'ACTED_IN', 'properties': [{'property': 'roles', 'type': 'LIST'}]}]\n"
            "        The relationships are the following:\n"
            "        ['(:Person)-[:ACTED_IN]->(:Movie)', '(:Person)-[:FOLLOWS]->(:Person)']\n        "
        ),
    ],
)
def test_the_flat_text_in_its_three_ages(text: str) -> None:
    schema = Schema.parse(text)
    assert schema.source == "flat"
    assert names_and_types(schema) == (
        {"Movie": {"title": "STRING"}, "Person": {"born": "INTEGER", "name": "STRING"}},
        {"ACTED_IN": {"roles": "LIST"}, "FOLLOWS": {}},
        [("Person", "ACTED_IN", "Movie"), ("Person", "FOLLOWS", "Person")],
    )


def test_label_combinations_as_neo4j_names_them_are_two_labels() -> None:
    schema = Schema.parse(
        json.dumps(
            {
                "node_props": {":`A`:`B b`": [{"property": "p", "type": "STRING"}]},
                "rel_props": {},
                "relationships": [{"start": "A", "type": "R", "end": "B b"}],
            }
        )
    )
    assert schema.co_labels == (LabelSet(("A", "B b")),)
    assert schema.property_of("B b", "p") == Property("p")


def test_structured_schema_is_read_as_python_text_too() -> None:
    text = "{'node_props': {'A': [{'property': \"it's\", 'type': 'LONG'}]}, 'relationships': []}"
    assert Schema.parse(text).property_of("A", "it's") == Property("it's", "INTEGER")
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(text)
    assert ast.literal_eval(text)


def test_apoc_map_direction_both_and_shared_name() -> None:
    node = {"type": "node", "count": 1, "labels": [], "properties": {}}
    schema = Schema.parse(
        json.dumps(
            {
                "A": {
                    **node,
                    "relationships": {"R": {"direction": "both", "labels": ["B", "C"]}},
                },
                "B": {**node, "relationships": {"R": {"direction": "in", "labels": ["A"]}}},
                "C": {**node, "relationships": {"R": {"direction": "out", "labels": ["A"]}}},
                "R": {**node, "relationships": {}},
            }
        )
    )
    assert [(p.start, p.end) for p in schema.patterns] == [("A", "B"), ("C", "A")]
    assert "R" in schema.labels
    assert "R" in schema.types


def test_visualization_as_the_browser_and_as_the_driver_give_it() -> None:
    team = {
        "name": "Team",
        "indexes": ["shortName"],
        "constraints": [
            (
                "Constraint( id=23, name='constraint_5101b27d', type='UNIQUENESS', "
                "schema=(:Team {id}), ownedIndex=15 )"
            )
        ],
    }
    squad = {"name": "Squad", "indexes": [], "constraints": []}
    driver = {"nodes": [team, squad], "relationships": [[team, "NAMED", squad]]}
    browser = [
        {
            "nodes": [
                {"identity": -102, "labels": ["Team"], "properties": team},
                {"identity": -104, "labels": ["Squad"], "properties": squad},
            ],
            "relationships": [
                {"identity": -101, "start": -102, "end": -104, "type": "NAMED", "properties": {}}
            ],
        }
    ]
    for data in (driver, browser):
        schema = Schema.parse(json.dumps(data))
        assert schema.source == "visualization"
        assert schema.patterns == (Pattern("Team", "NAMED", "Squad"),)
        assert schema.constraints == (Constraint("UNIQUENESS", "NODE", "Team", ("id",)),)
        assert schema.indexes == (Index("RANGE", "NODE", ("Team",), ("shortName",)),)


def test_graph_schema_json_with_unions_arrays_and_shared_nodes() -> None:
    # The example of github.com/neo4j/graph-schema-json-js-utils, shortened; properties with the
    # object types, as its version 0.0.1 has them.
    array = {"type": "array", "items": {"type": "string"}}
    schema = Schema.parse(
        json.dumps(
            {
                "graphSchemaRepresentation": {
                    "version": "0.0.1",
                    "graphSchema": {
                        "nodeLabels": [
                            {"$id": "nl:Actor", "token": "Actor"},
                            {"$id": "nl:Movie", "token": "Movie"},
                            {"$id": "nl:Person", "token": "Person"},
                        ],
                        "relationshipTypes": [{"$id": "rt:ACTED_IN", "token": "ACTED_IN"}],
                        "nodeObjectTypes": [
                            {
                                "$id": "n:Actor:Person",
                                "labels": [{"$ref": "#nl:Actor"}, {"$ref": "#nl:Person"}],
                                "properties": [
                                    {
                                        "token": "id",
                                        "type": [array, {"type": "integer"}, {"type": "string"}],
                                        "nullable": False,
                                    }
                                ],
                            },
                            {
                                "$id": "n:Movie",
                                "labels": [{"$ref": "#nl:Movie"}],
                                "properties": [
                                    {"token": "release", "type": {"type": "date"}, "nullable": True}
                                ],
                            },
                        ],
                        "relationshipObjectTypes": [
                            {
                                "$id": "r:ACTED_IN",
                                "type": {"$ref": "#rt:ACTED_IN"},
                                "from": {"$ref": "#n:Actor:Person"},
                                "to": {"$ref": "#n:Movie"},
                                "properties": [
                                    {"token": "roles", "type": array, "nullable": False}
                                ],
                            }
                        ],
                    },
                }
            }
        )
    )
    assert schema.property_of("Person", "id") == Property("id", "INTEGER | LIST<STRING> | STRING")
    assert schema.property_of("Movie", "release") == Property("release", "DATE", optional=True)
    assert schema.type_property_of("ACTED_IN", "roles") == Property("roles", "LIST<STRING>")
    assert schema.patterns_of("ACTED_IN") == (
        Pattern("Actor", "ACTED_IN", "Movie"),
        Pattern("Person", "ACTED_IN", "Movie"),
    )
    assert schema.together(["Actor", "Person"]) is True


def test_graphrag_json_with_patterns_as_lists_and_a_required_property() -> None:
    schema = Schema.parse(
        json.dumps(
            {
                "node_types": [
                    "Place",
                    {
                        "label": "Person",
                        "properties": [
                            {"name": "name", "type": "STRING", "required": True},
                            {"name": "seen", "type": "ZONED_DATETIME"},
                        ],
                    },
                ],
                "relationship_types": [{"label": "LIVES_IN", "properties": []}],
                "patterns": [["Person", "LIVES_IN", "Place"]],
            }
        )
    )
    assert schema.source == "graph-model"
    assert schema.property_of("Person", "seen") == Property("seen", "DATE_TIME")
    assert schema.has_direction("Person", "LIVES_IN", "Place")
    assert schema.constraints == (
        Constraint("NODE_PROPERTY_EXISTENCE", "NODE", "Person", ("name",)),
    )


def test_bare_lines_chains_reversed_arrows_and_alternatives() -> None:
    found = parse_arrows("(a:A {p: STRING})-[:R {q: INTEGER}]->(:B)<-[:S|T]-(:C|D)")
    assert found is not None
    schema = Schema.parse("(a:A {p: STRING})-[:R {q: INTEGER}]->(:B)<-[:S|T]-(:C|D)")
    assert [(p.start, p.type, p.end) for p in schema.patterns] == [
        ("A", "R", "B"),
        ("C", "S", "B"),
        ("C", "T", "B"),
        ("D", "S", "B"),
        ("D", "T", "B"),
    ]
    assert schema.type_property_of("R", "q") == Property("q", "INTEGER")
    assert parse_arrow("(:Person) - [ :ACTED_IN ] -> (:Movie)") is not None
    assert parse_arrow("no arrow at all") is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("just some prose about movies", "none of the known"),
        ('{"a": 1}', "none of the known"),
        ('{"node_props": {"A": [{"type": "STRING"}]}, "relationships": []}', "property"),
        ('{"entities": [{"properties": {}}], "relations": []}', "entities[0]"),
        ("(:A)-[:R]->(:B)\n(:A)-[:R->(:B)\n(:A)-[:S]->(:B)", "line 2"),
        ("labels:\n  A: {p: STRING}\n  A: {q: STRING}", "twice"),
        ("labels:\n  A: {p: {typ: STRING}}", "labels.A.p"),
        ('{"labels": {"A": {}}, "patern": []}', "patern"),
        ("nowhere/schema.json", "no such schema file"),
    ],
)
def test_what_cannot_be_read_says_where_and_what(text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        Schema.parse(text)
    assert says in str(caught.value)


def test_several_schemas_in_one_file_are_picked_by_name(tmp_path: Path) -> None:
    one = json.loads(FORMATS["structured"].render(RICH))
    file = tmp_path / "all.json"
    file.write_text(json.dumps({"a": one, "b": {**one, "node_props": {"Only": []}}}))
    assert "Only" in Schema.parse(f"{file}#b").labels
    with pytest.raises(InputError, match="a, b"):
        Schema.parse(file)
    with pytest.raises(InputError, match="a, b"):
        Schema.parse(f"{file}#c")


def test_files_with_a_byte_order_mark_and_fences_are_read(tmp_path: Path) -> None:
    file = tmp_path / "schema.txt"
    file.write_text("\ufeff(:A)-[:R]->(:B)\r\n(:B)-[:R]->(:A)\r\n", encoding="utf-8")
    assert len(Schema.parse(file).patterns) == 2
    assert len(Schema.parse("```cypher\n(:A)-[:R]->(:B)\n```").patterns) == 1


# Names: any Unicode, in every format

_names = st.text(
    st.characters(codec="utf-8") | st.sampled_from("`:()[]{}|,-> \\u\n\r\"'*"),
    min_size=1,
    max_size=8,
)
_types = st.sampled_from(["STRING", "INTEGER", "LIST<STRING>", "DATE | INTEGER", "POINT", "LIST"])


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = draw(st.lists(_names, min_size=1, max_size=4, unique=True))

    def properties() -> tuple[Property, ...]:
        keys = draw(st.lists(_names, max_size=2, unique=True))
        return tuple(Property(key, draw(_types)) for key in keys)

    labels = [Label(name, properties()) for name in names]
    types = [RelType(draw(_names), properties()) for _ in range(draw(st.integers(1, 2)))]
    some = st.sampled_from(names)
    patterns = [Pattern(draw(some), rel.name, draw(some)) for rel in types]
    return Schema.build(labels, types, patterns)


@pytest.mark.parametrize("name", [*EIGHT, "spec", "yaml"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schema=schemas())
def test_any_names_come_back(name: str, schema: Schema) -> None:
    text = FORMATS[name].render(schema)
    back = FORMATS[name].parse(text, _decoded(text))
    if name == "visualization":
        assert list(back.labels) == list(schema.labels)
        assert back.patterns == schema.patterns
    else:
        assert names_and_types(back) == names_and_types(schema)


def _decoded(text: str) -> object:
    from cypherforge.graph.formats import spec

    try:
        return json.loads(text)
    except ValueError:
        return spec.load_yaml(text) if text.startswith(("labels:", "name:")) else None


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_quoted_names_are_read_as_they_are(name: str) -> None:
    from cypherforge.graph.formats.arrows import line_name

    text = line_name(name)
    assert "\n" not in text
    assert unquote(text) == name


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("LIST<STRING NOT NULL> NOT NULL", "LIST<STRING>"),
        ("INTEGER NOT NULL | STRING NOT NULL", "INTEGER | STRING"),
        ("ZONED DATETIME", "DATE_TIME"),
        ("LocalDateTime", "LOCAL_DATE_TIME"),
        ("StringArray", "LIST<STRING>"),
        ("ByteArray", "BYTES"),
        ("Long", "INTEGER"),
        ("list[str]", "LIST<STRING>"),
        ("VECTOR<FLOAT32>(3)", "VECTOR"),
        ("LIST<NOTHING>", "LIST"),
        ("Point2D", "POINT"),
        ("LIST<FLOAT | INTEGER>", "LIST<FLOAT | INTEGER>"),
    ],
)
def test_type_names_of_every_source_have_one_spelling(text: str, canonical: str) -> None:
    assert type_name(text) == canonical
    assert type_name(canonical) == canonical


# Real files


@pytest.mark.shared
def test_the_fifteen_demo_schemas_read_alike_in_both_forms(shared: Path) -> None:
    csv.field_size_limit(10**8)
    with open(shared / "data/text2cypher/text2cypher_schemas.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 15
    for row in rows:
        text, structured = Schema.parse(row["schema"]), Schema.parse(row["structured_schema"])
        assert (text.source, structured.source) == ("markdown", "structured")
        assert text.patterns == structured.patterns
        assert text.labels.keys() == structured.labels.keys()
        for name, label in text.labels.items():
            known = {p.name: p.type for p in structured.labels[name].properties}
            # The text leaves out embeddings: lists of more than 128 elements.
            assert {p.name: p.type for p in label.properties}.items() <= known.items()
        for schema in (text, structured):
            back = Schema.parse(FORMATS[schema.source].render(schema))
            assert names_and_types(back) == names_and_types(schema)


@pytest.mark.shared
def test_the_neutral_graphs_and_the_question_sets_declare_the_same(shared: Path) -> None:
    for name in ("wwc", "covid", "er", "healthcare"):
        apoc = Schema.parse(shared / "data/graphs" / name)
        named = Schema.parse(f"{shared}/data/mind-the-query/db_schema.json#{name}")
        assert apoc.labels.keys() == named.labels.keys()
        # Their file lacks one pair: IS_INTERACTING occurs once in the data.
        extra = {("Case", "IS_INTERACTING", "Drug")} if name == "healthcare" else set()
        assert {(p.start, p.type, p.end) for p in apoc.patterns} == extra | {
            (p.start, p.type, p.end) for p in named.patterns
        }


@pytest.mark.shared
def test_cypherbench_schemas_round_trip(shared: Path) -> None:
    for file in sorted((shared / "data/cypherbench/schemas").glob("*.json")):
        schema = Schema.parse(file)
        assert schema.source == "cypherbench"
        given_data, back = (
            json.loads(file.read_text()),
            json.loads(FORMATS["cypherbench"].render(schema)),
        )
        for part in ("entities", "relations"):
            got = [{k: v for k, v in x.items() if v is not None} for x in back[part]]
            want = [{k: v for k, v in x.items() if v is not None} for x in given_data[part]]
            assert sorted(map(_sorted, got)) == sorted(map(_sorted, want))


def _sorted(item: object) -> str:
    return json.dumps(item, sort_keys=True)
