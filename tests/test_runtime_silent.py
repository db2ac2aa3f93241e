"""Silent-fault checks on small graphs whose numbers are worked by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import world_of_films as world

from cypherforge.core.errors import UsageError
from cypherforge.graph.base import Graph
from cypherforge.graph.connect import connect
from cypherforge.graph.embedded import EmbeddedGraph
from cypherforge.graph.neutral import NodeRow, RelationshipRow
from cypherforge.runtime.pair import Suspicion
from cypherforge.runtime.silent import SilentChecks


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    folder = world.write_graph(tmp_path_factory.mktemp("films") / "graph")
    with connect(f"embedded:{folder}") as opened:
        yield opened


@pytest.fixture(scope="module")
def spouses() -> Iterator[Graph]:
    """Three couples, each stored both ways; one person has no age."""
    nodes = [NodeRow(i, ("Person",), {"name": f"P{i}", "age": 30 + i}) for i in range(5)]
    nodes.append(NodeRow(5, ("Person",), {"name": "P5"}))
    pairs = [(0, 1), (2, 3), (4, 5)]
    edges = [(a, b) for a, b in pairs] + [(b, a) for a, b in pairs]
    rows = [RelationshipRow(100 + n, "SPOUSE", a, b, {}) for n, (a, b) in enumerate(edges)]
    with EmbeddedGraph.from_rows(nodes, rows) as graph:
        yield graph


def check(graph: Graph, question: str, query: str) -> list[Suspicion]:
    return SilentChecks(graph, graph.schema()).check(question, query, graph.run(query))


def test_a_count_that_a_join_multiplies(films: Graph) -> None:
    # Each of 8 people acts in two movies: 16 rows, 8 people.
    query = "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN count(p) AS people"
    (found,) = check(films, "How many people act?", query)
    assert found.code == "aggregation.fanout"
    assert "[16] becomes [8]" in found.evidence
    assert not found.settled
    assert (
        check(films, "How many people act?", query.replace("count(p)", "count(DISTINCT p)")) == []
    )


def test_a_tie_at_the_limit(films: Graph) -> None:
    # Ash, Birch, Cedar and Dogwood have three actors each.
    query = (
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) "
        "RETURN m.title, count(p) AS actors ORDER BY actors DESC LIMIT {}"
    )
    one = check(films, "Which movie has most actors?", query.format(1))
    assert [f.code for f in one if "ties" in f.evidence] == ["return.order"]
    four = check(films, "Which movies have most actors?", query.format(4))
    assert not [f for f in four if "ties" in f.evidence]


def test_a_limit_and_an_order_that_nobody_asked_for(films: Graph) -> None:
    query = "MATCH (m:Movie) RETURN m.title LIMIT 3"
    (found,) = check(films, "Which movies are there?", query)
    assert (found.code, found.evidence) == ("return.unasked", "LIMIT 3 keeps 3 of 6 rows")
    assert check(films, "Name three movies", query) == []
    assert check(films, "Which movies are there?", query.replace("3", "6")) == []
    ordered = "MATCH (m:Movie) RETURN m.title ORDER BY m.title"
    (found,) = check(films, "Which movies are there?", ordered)
    assert found.code == "return.unasked"
    assert check(films, "List the movies in alphabetical order", ordered) == []


def test_parts_that_nothing_joins(films: Graph) -> None:
    query = "MATCH (p:Person), (m:Movie) RETURN p.name, m.title"
    found = check(films, "Who acted in what?", query)
    assert [f.code for f in found] == ["pattern.join"]
    assert "48 rows" in found[0].evidence
    joined = "MATCH (p:Person), (m:Movie) WHERE m.released > p.born + 30 RETURN p.name, m.title"
    assert check(films, "Who acted in what?", joined) == []
    linked = "MATCH (p:Person) MATCH (m:Movie) WHERE (p)-[:ACTED_IN]->(m) RETURN p.name, m.title"
    assert not [f for f in check(films, "Who acted?", linked) if f.code == "pattern.join"]


def test_rows_that_repeat(films: Graph) -> None:
    query = "MATCH (p:Person)-[:ACTED_IN]->(:Movie) RETURN p.name"
    (found,) = check(films, "Which people act?", query)
    assert (found.code, found.evidence) == (
        "aggregation.distinct",
        "16 rows, 8 of them different",
    )
    assert found.query is not None
    assert len(films.run(found.query).rows) == 8


def test_an_undirected_pattern_over_a_type_stored_both_ways_is_settled(spouses: Graph) -> None:
    query = "MATCH (a:Person {name: 'P0'})-[:SPOUSE]-(b:Person) RETURN b.name"
    found = [f for f in check(spouses, "Who is P0's spouse?", query) if f.settled]
    assert [f.code for f in found] == ["direction.undirected"]
    assert found[0].query is not None
    assert spouses.run(query).rows == (("P1",), ("P1",))
    assert spouses.run(found[0].query).rows == (("P1",),)


def test_a_null_that_sorts_first_is_settled(spouses: Graph) -> None:
    # P5 has no age; the oldest of the others is P4.
    query = "MATCH (p:Person) RETURN p.name ORDER BY p.age DESC LIMIT 1"
    found = [f for f in check(spouses, "Who is the oldest?", query) if f.settled]
    assert [f.code for f in found] == ["filter.null"]
    assert found[0].query is not None
    assert spouses.run(found[0].query).rows == (("P4",),)
    rising = "MATCH (p:Person) RETURN p.name ORDER BY p.age LIMIT 1"
    assert not [f for f in check(spouses, "Who is the youngest?", rising) if f.settled]


def test_a_comparison_that_leaves_out_what_has_no_value(spouses: Graph) -> None:
    query = "MATCH (p:Person) WHERE p.age <> 31 RETURN p.name"
    found = check(spouses, "Who is not 31?", query)
    assert "filter.null" in {f.code for f in found}


def test_an_aggregate_of_nothing(films: Graph) -> None:
    # The arrow is turned: the schema says so, and the row shows it.
    query = "MATCH (p:Person)<-[:ACTED_IN]-(m:Movie) RETURN count(p) AS people"
    found = check(films, "How many people act?", query)
    assert [f.code for f in found] == ["direction.reversed", "pattern.topology"]
    assert "[0]" in found[1].evidence
    misspelt = "MATCH (p:Person {name: 'Anna'}) RETURN count(p) AS people"
    assert [f.code for f in check(films, "How many are called 'Anna'?", misspelt)] == [
        "entity.literal"
    ]


def test_a_column_without_any_value(films: Graph) -> None:
    query = "MATCH (p:Person)-[:DIRECTED]->(m:Movie) RETURN p.name, null AS year"
    found = check(films, "Who directed, and in which year?", query)
    assert [(f.code, f.evidence) for f in found] == [
        ("schema.property", "year is null in all 8 rows")
    ]


def test_a_group_that_is_finer_than_asked(films: Graph) -> None:
    # 16 pairs of person and movie, 8 people.
    finer = "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.name AS person, m.title, count(m)"
    question = "For each person, how many movies did they act in?"
    assert [(f.code, f.evidence) for f in check(films, question, finer)] == [
        ("aggregation.grouping", "16 rows for 8 of person")
    ]
    assert check(films, question, finer.replace("m.title, ", "")) == []
    both = "For each person and movie, how many roles are there?"
    assert check(films, both, finer) == []


def test_an_unknown_check_is_named(films: Graph) -> None:
    with pytest.raises(UsageError, match="no check 'tie'"):
        SilentChecks(films, films.schema(), only=frozenset(["tie"]))


def test_nothing_is_said_of_no_rows_or_of_text_that_does_not_parse(films: Graph) -> None:
    empty = "MATCH (m:Movie {title: 'None'}) RETURN m.title LIMIT 1"
    assert check(films, "Which?", empty) == []
    checks = SilentChecks(films, films.schema())
    assert checks.check("Which?", "not cypher", films.run("RETURN 1")) == []


def test_checks_can_be_chosen(films: Graph) -> None:
    query = "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN count(p) AS people"
    only = SilentChecks(films, films.schema(), only=frozenset(["ties"]))
    assert only.check("How many?", query, films.run(query)) == []


@pytest.mark.shared
def test_golds_of_a_real_graph_are_left_as_they_are(shared: Path) -> None:
    from cypherforge.core.datasets import load_dataset

    golds = load_dataset(shared / "data" / "mind-the-query" / "automated" / "er").examples[::500]
    with connect(f"embedded:{shared / 'data' / 'graphs' / 'er'}", timeout=60) as graph:
        checks = SilentChecks(graph, graph.schema())
        for gold in golds:
            found = checks.check(gold.question, gold.cypher, graph.run(gold.cypher))
            assert not [f for f in found if f.settled]
