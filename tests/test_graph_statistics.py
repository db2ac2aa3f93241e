"""Statistics of a graph: right numbers, kept with the fingerprint, measured anew after a change."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from neo4j.time import Date

from cypherforge.core.errors import InputError
from cypherforge.graph.connect import connect
from cypherforge.graph.embedded import EmbeddedGraph
from cypherforge.graph.introspect import introspect
from cypherforge.graph.neutral import NodeRow, RelationshipRow
from cypherforge.graph.policy import ValuePolicy
from cypherforge.graph.statistics import (
    PropertyStatistics,
    Statistics,
    cached_statistics,
    collect_statistics,
    reciprocity_of,
    with_statistics,
)

NODES = [
    NodeRow(0, ("P",), {"name": "Ann", "age": 41, "born": Date(1980, 1, 2)}),
    NodeRow(1, ("P",), {"name": "Bob", "age": 7, "tags": ["a", "b"]}),
    NodeRow(2, ("P", "Q"), {"name": "Ann"}),
    NodeRow(3, ("P",), {"age": 7}),
]
#: 0 and 1 know each other, 1 knows 2 who does not know 1; 3 knows itself; 0 knows 1 twice over.
LINKS = [
    RelationshipRow(0, "KNOWS", 0, 1, {"since": 1999}),
    RelationshipRow(1, "KNOWS", 1, 0),
    RelationshipRow(2, "KNOWS", 1, 2),
    RelationshipRow(3, "KNOWS", 3, 3),
    RelationshipRow(4, "KNOWS", 0, 1, {"since": 2001}),
    RelationshipRow(5, "LEADS", 0, 2),
]


@pytest.fixture(scope="module")
def people() -> Iterator[EmbeddedGraph]:
    with EmbeddedGraph.from_rows(NODES, LINKS) as graph:
        yield graph


@pytest.fixture(scope="module")
def numbers(people: EmbeddedGraph) -> Statistics:
    return collect_statistics(people)


def test_counts_of_labels_types_and_patterns(numbers: Statistics) -> None:
    assert dict(numbers.labels) == {"P": 4, "Q": 1}
    assert dict(numbers.types) == {"KNOWS": 5, "LEADS": 1}
    # A relationship between nodes of two labels counts under each pair.
    assert dict(numbers.patterns) == {
        ("P", "KNOWS", "P"): 5,
        ("P", "KNOWS", "Q"): 1,
        ("P", "LEADS", "P"): 1,
        ("P", "LEADS", "Q"): 1,
    }


def test_coverage_distinct_values_and_ranges(numbers: Statistics) -> None:
    assert numbers.of_label("P", "name") == PropertyStatistics(3, 0.75, 2)
    assert numbers.of_label("P", "age") == PropertyStatistics(3, 0.75, 2, 7, 41)
    assert numbers.of_label("P", "born") == PropertyStatistics(
        1, 0.25, 1, "1980-01-02", "1980-01-02"
    )
    assert numbers.of_label("P", "tags") == PropertyStatistics(1, 0.25)
    assert numbers.of_type("KNOWS", "since") == PropertyStatistics(2, 0.4, 2, 1999, 2001)
    assert numbers.of_label("P", "since") is None


def test_reciprocity_is_the_share_of_edges_also_stored_reversed(
    people: EmbeddedGraph, numbers: Statistics
) -> None:
    # Of 0→1, 1→0, 1→2 and 0→1 again, three are stored reversed; the loop does not count.
    assert reciprocity_of(people, "KNOWS") == 0.75
    assert dict(numbers.reciprocity) == {"KNOWS": 0.75, "LEADS": 0.0}
    assert reciprocity_of(people, "NOWHERE") is None


def test_json_out_and_back_loses_nothing(numbers: Statistics) -> None:
    assert Statistics.from_json(json.loads(json.dumps(numbers.to_json()))) == numbers
    with pytest.raises(InputError):
        Statistics.from_json({"format": "other"})
    with pytest.raises(InputError):
        Statistics.from_json({})


def test_a_schema_takes_over_ranges_and_distinct_values(
    people: EmbeddedGraph, numbers: Statistics
) -> None:
    age = with_statistics(introspect(people), numbers).property_of("P", "age")
    assert age is not None
    assert (age.low, age.high, age.distinct, age.coverage) == (7, 41, 2, 0.75)


def test_values_held_back_are_not_in_the_numbers(people: EmbeddedGraph) -> None:
    held = collect_statistics(people, policy=ValuePolicy.of(["P.age"]))
    assert held.of_label("P", "age") == PropertyStatistics(3, 0.75, 2)
    assert held.of_label("P", "born") is not None


def test_the_cache_is_used_until_the_graph_changes(
    people: EmbeddedGraph, numbers: Statistics, tmp_path: Path
) -> None:
    file = tmp_path / "statistics.json"
    first = cached_statistics(people, file)
    assert first == numbers
    # Doctored, so that a hit can be told from measuring again.
    data = json.loads(file.read_text())
    data["labels"]["P"] = 99
    file.write_text(json.dumps(data))
    assert cached_statistics(people, file).labels["P"] == 99
    with EmbeddedGraph.from_rows([*NODES, NodeRow(4, ("P",), {})], LINKS) as changed:
        assert changed.fingerprint() != people.fingerprint()
        assert cached_statistics(changed, file).labels["P"] == 5
    file.write_text("{ damaged")
    assert cached_statistics(people, file) == numbers
    before = file.read_text()
    cached_statistics(people, file, policy=ValuePolicy(no_values=True))
    assert file.read_text() == before


@pytest.mark.neo4j
def test_numbers_of_a_real_graph(neo4j_uri: str) -> None:
    with connect(neo4j_uri) as graph:
        schema = introspect(graph, examples=0)
        if "Tournament" not in schema.labels:
            pytest.skip("the server does not hold the wwc graph")
        found = collect_statistics(graph, schema)
        assert found.of_label("Tournament", "year") == PropertyStatistics(8, 1.0, 8, 1991, 2019)
        assert found.patterns[("Team", "PLAYED_IN", "Match")] == 568
        assert found.reciprocity["PLAYED_IN"] == 0.0
        assert graph.fingerprint() == found.fingerprint
