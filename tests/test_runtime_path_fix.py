"""Paths that a schema does not have: what is mended, what stays, and that golds are never touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from cypherforge.core.datasets import load_dataset
from cypherforge.graph.schema import Schema
from cypherforge.runtime.path_fix import FixEndpoints, FixMissing

SCHEMA = Schema.parse(
    """
(:User {name: STRING, state: STRING})
(:Movie {title: STRING, year: INTEGER})
(:Genre {name: STRING})
(:Address {line: STRING})
(:Studio {name: STRING, city: STRING})
(:User)-[:WATCHED {times: INTEGER}]->(:Movie)
(:User)-[:USES]->(:Address)
(:Movie)-[:HAS]->(:Genre)
(:Studio)-[:MADE]->(:Movie)
(:Studio)-[:OWNS]->(:Movie)
"""
)


@pytest.mark.parametrize(
    ("draft", "mended"),
    [
        pytest.param(
            "MATCH (m:Movie)-[:HAS]->(g:Genre)<-[:WATCHED]-(u:User) RETURN m.title",
            "MATCH (m:Movie)-[:HAS]->(g:Genre), (m)<-[:WATCHED]-(u:User) RETURN m.title",
            id="hung on the node before",
        ),
        pytest.param(
            "MATCH (u:User)-[:USES]->(:Address)-[r:WATCHED]->(m:Movie) RETURN sum(r.times)",
            "MATCH (u:User)-[:USES]->(:Address), (u)-[r:WATCHED]->(m:Movie) RETURN sum(r.times)",
            id="hung on the first node",
        ),
        pytest.param(
            "MATCH (u:User)-[w:WATCHED {times: 2}]->(g:Genre) RETURN g.name",
            "MATCH (u:User)-[w:WATCHED {times: 2}]->(:Movie)-[:HAS]->(g:Genre) RETURN g.name",
            id="a node stands between",
        ),
        pytest.param(
            "MATCH (g:Genre)-[:WATCHED]-(u:User) RETURN u.name",
            "MATCH (g:Genre)<-[:HAS]-(:Movie)<-[:WATCHED]-(u:User) RETURN u.name",
            id="read from the other end, without an arrow",
        ),
        pytest.param(
            "MATCH (m:Movie)<-[:HAS]-(u:User) RETURN u.name",
            "MATCH (m:Movie)<-[:WATCHED]-(u:User) RETURN u.name",
            id="the only type between the two",
        ),
    ],
)
def test_a_hop_between_labels_that_it_never_joins(draft: str, mended: str) -> None:
    assert FixEndpoints(SCHEMA).apply(draft).text == mended


@pytest.mark.parametrize(
    "draft",
    [
        pytest.param("MATCH (s:Studio)-[:HAS]->(m:Movie) RETURN s.name", id="two types could be"),
        pytest.param(
            "MATCH (a:Address)-[:MADE]->(g:Genre) RETURN a.line", id="nothing leads there"
        ),
        pytest.param("MATCH (m:Movie)-[:HAS]->(x) RETURN x.name", id="one end has no label"),
        pytest.param(
            "MATCH (m:Movie)<-[:HAS]-(g:Genre) RETURN g.name", id="only the arrow is wrong"
        ),
        pytest.param("MATCH (u:User)-[:WATCHED*2]->(g:Genre) RETURN g.name", id="of any length"),
    ],
)
def test_hops_that_nothing_settles_stay(draft: str) -> None:
    assert FixEndpoints(SCHEMA).apply(draft).text == draft


@pytest.mark.parametrize(
    ("draft", "mended"),
    [
        pytest.param(
            "MATCH (m:Movie)-[:HAS]->(g:Genre) WITH g.name AS genre, avg(r.times) AS times "
            "RETURN genre, times",
            "MATCH (m:Movie)-[:HAS]->(g:Genre), (:User)-[r:WATCHED]->(m) "
            "WITH g.name AS genre, avg(r.times) AS times RETURN genre, times",
            id="an unbound relationship",
        ),
        pytest.param(
            "MATCH (u:User)-[:WATCHED]->(m:Movie) WHERE u.state = 'Ohio' RETURN count(DISTINCT g.name)",
            "MATCH (u:User)-[:WATCHED]->(m:Movie), (m)-[:HAS]->(g:Genre) WHERE u.state = 'Ohio' "
            "RETURN count(DISTINCT g.name)",
            id="an unbound node",
        ),
        pytest.param(
            "MATCH (m:Movie) RETURN m.title, avg(m.times)",
            "MATCH (m:Movie), (:User)-[rel:WATCHED]->(m) RETURN m.title, avg(rel.times)",
            id="a property of a relationship read from the node",
        ),
        pytest.param(
            "MATCH (:User {name: 'Ann'})-[:WATCHED]->(m:Movie) RETURN m.title, m.genre",
            "MATCH (:User {name: 'Ann'})-[:WATCHED]->(m:Movie), (m)-[:HAS]->(g:Genre) "
            "RETURN m.title, g.name",
            id="a label read as a property",
        ),
    ],
)
def test_what_was_never_matched_gets_its_hop(draft: str, mended: str) -> None:
    assert FixMissing(SCHEMA).apply(draft).text == mended


@pytest.mark.parametrize(
    "draft",
    [
        pytest.param("MATCH (m:Movie) RETURN m.title, m.city", id="two types lead to the owner"),
        pytest.param("MATCH (u:User) RETURN u.name, z.line", id="the name says nothing"),
        pytest.param("MATCH (m:Movie) RETURN m.title, m.budget", id="nothing has the property"),
        pytest.param("MATCH (m) RETURN m.times", id="no label, so any property may be"),
        pytest.param(
            "MATCH (m:Movie) WITH m.title AS t RETURN [x IN collect(t) | x.times]", id="own names"
        ),
    ],
)
def test_reads_that_nothing_settles_stay(draft: str) -> None:
    assert FixMissing(SCHEMA).apply(draft).text == draft


@pytest.mark.shared
@pytest.mark.parametrize("graph", ["er", "covid", "wwc", "healthcare"])
def test_golds_are_left_alone_but_for_the_few_that_read_nothing(graph: str, shared: Path) -> None:
    schema = Schema.parse(shared / "data" / "graphs" / graph / "schema.json")
    golds = load_dataset(shared / "data" / "mind-the-query" / "automated" / graph).examples[::9]
    touched = 0
    for gold in golds:
        text = FixEndpoints(schema).apply(gold.cypher).text
        touched += FixMissing(schema).apply(text).text != gold.cypher
    assert touched <= len(golds) / 200
