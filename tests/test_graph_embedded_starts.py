"""Where the embedded engine begins: the text it is given, and that the answers stay the same."""

import pytest

from cypherforge.cypher import parse
from cypherforge.cypher.edits import apply_edits
from cypherforge.graph.base import Graph
from cypherforge.graph.embedded_kinds import Facts
from cypherforge.graph.embedded_rewrites import start_at_bound


def begun(text: str) -> str:
    return apply_edits(text, start_at_bound(parse(text), Facts()))


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        pytest.param(
            "MATCH (v:V)<-[:M]-(p:P)-[:S]->(c:C {id: 3}) OPTIONAL MATCH (v)-[:A]->(b) RETURN v, b",
            "MATCH (c:C {id: 3})<-[:S]-(p:P)-[:M]->(v:V) OPTIONAL MATCH (v)-[:A]->(b) RETURN v, b",
            id="turned to the node that is given",
        ),
        pytest.param(
            "MATCH (v:V)-[:A]->(b), (v)<-[:M]-(p)-[:S]->(c:C {id: $x}) "
            "WITH max(v.t) AS best MATCH (w) WHERE w.t = best RETURN w",
            "MATCH (c:C {id: $x})<-[:S]-(p)-[:M]->(v), (v:V)-[:A]->(b) "
            "WITH max(v.t) AS best MATCH (w) WHERE w.t = best RETURN w",
            id="the path that is given first",
        ),
        pytest.param(
            "MATCH (a)-[:R]->(b:B {x: 1})-[:S]->(c) MATCH (c)-[:T]->(d) RETURN d",
            "MATCH (b:B {x: 1})<-[:R]-(a), (b)-[:S]->(c) MATCH (c)-[:T]->(d) RETURN d",
            id="parted in the middle",
        ),
    ],
)
def test_several_matches_begin_at_what_is_given(text: str, sent: str) -> None:
    assert begun(text) == sent


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("MATCH (v:V)<-[:M]-(c:C {id: 3}) RETURN v", id="one MATCH is planned"),
        pytest.param(
            "MATCH (v:V), (c:C {id: v.c}) MATCH (d) RETURN d", id="given by what is not known yet"
        ),
        pytest.param(
            "MATCH (w:W), (c:C {id: 3})-[:R {x: w.y}]->(d) MATCH (e) RETURN d",
            id="a relationship's map needs what stands before it",
        ),
        pytest.param(
            "MATCH (a)-[:R {x: a.y}]->(c:C {id: 3}) MATCH (e) RETURN a",
            id="a relationship's map needs the node before it",
        ),
        pytest.param("MATCH (a), (b:B {x: 1}), (a)-->(c) RETURN c", id="paths of one MATCH"),
        pytest.param(
            "MATCH p = (v:V)-->(c:C {id: 3}) MATCH (d) RETURN p, d", id="a path that is returned"
        ),
        pytest.param(
            "MATCH (v:V)-->(:C {id: 3})-->(w) MATCH (d) RETURN v, w, d", id="nothing to part it at"
        ),
    ],
)
def test_what_is_left_as_it_is(text: str) -> None:
    assert begun(text) == text


def test_the_answer_is_that_of_the_plain_order(graph: Graph) -> None:
    # By hand: whoever acted beside someone in a film of a given title, each with all their films.
    films = graph.run("MATCH (m:Movie) RETURN m.title AS title ORDER BY title").rows
    for (title,) in films:
        turned = graph.run(
            "MATCH (p:Person)-[:ACTED_IN]->(m:Movie {title: $title}) "
            "OPTIONAL MATCH (p)-[:ACTED_IN]->(n:Movie) RETURN p.name, count(DISTINCT n) AS films "
            "ORDER BY p.name",
            {"title": title},
        ).rows
        whole = graph.run(
            "MATCH (p:Person)-[:ACTED_IN]->(n:Movie) RETURN p.name, collect(DISTINCT n.title) "
            "ORDER BY p.name"
        ).rows
        assert list(turned) == [(name, len(seen)) for name, seen in whole if title in seen]
