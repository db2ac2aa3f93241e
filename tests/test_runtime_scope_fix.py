"""Names out of scope: what is brought back, and what is left to the database's error."""

from __future__ import annotations

import pytest

from cypherforge.cypher import analyse, parse
from cypherforge.graph.schema import Schema
from cypherforge.runtime.scope_fix import FixAliases, FixScope

SCHEMA = Schema.parse(
    """
(:User {name: STRING, state: STRING})
(:Movie {title: STRING, year: INTEGER})
(:Genre {name: STRING})
(:User)-[:WATCHED {times: INTEGER}]->(:Movie)
(:Movie)-[:HAS]->(:Genre)
"""
)


@pytest.mark.parametrize(
    ("draft", "fixed"),
    [
        pytest.param(
            "MATCH (u:User) WITH u.state AS state, count(u) AS users RETURN u.state, users",
            "MATCH (u:User) WITH u.state AS state, count(u) AS users RETURN state, users",
            id="an expression has a name after WITH",
        ),
        pytest.param(
            "MATCH (u:User)-[w:WATCHED]->(m:Movie) WITH u WHERE u.state = 'Ohio' RETURN m.title",
            "MATCH (u:User)-[w:WATCHED]->(m:Movie) WITH u, m WHERE u.state = 'Ohio' RETURN m.title",
            id="a variable is carried on",
        ),
        pytest.param(
            "MATCH (u:User)-[:WATCHED]->(:Movie)-[:HAS]->(g:Genre) RETURN m.title, g.name",
            "MATCH (u:User)-[:WATCHED]->(m:Movie)-[:HAS]->(g:Genre) RETURN m.title, g.name",
            id="a node gets the name it is read by",
        ),
        pytest.param(
            "MATCH (u:User)-[:WATCHED]->(m:Movie) RETURN sum(w.times)",
            "MATCH (u:User)-[w:WATCHED]->(m:Movie) RETURN sum(w.times)",
            id="so does a relationship",
        ),
    ],
)
def test_names_come_back_into_scope(draft: str, fixed: str) -> None:
    assert FixScope(SCHEMA).apply(draft).text == fixed
    assert not [f for f in analyse(parse(fixed)) if f.severity == "error"]


@pytest.mark.parametrize(
    "draft",
    [
        pytest.param(
            "MATCH (u:User)-[:WATCHED]->(m:Movie) WITH m, count(u) AS c RETURN u.name, c",
            id="carrying it on would group by it",
        ),
        pytest.param(
            "MATCH (u:User)-[:WATCHED]->(m:Movie) WITH DISTINCT m RETURN u.name, m.title",
            id="carrying it on would bring repeats",
        ),
        pytest.param(
            "MATCH (:User)-[:WATCHED]->(:Movie)-[:HAS]->(:Genre) RETURN x.name",
            id="no pattern is called so",
        ),
        pytest.param(
            "MATCH (:User)-[:WATCHED]->(:Movie)<-[:WATCHED]-(:User) RETURN u.name",
            id="two patterns could be meant",
        ),
        pytest.param(
            "MATCH (u:User) WHERE u.state = 'Ohio' RETURN [x IN collect(u.name) | toUpper(x)] AS names "
            "ORDER BY names",
            id="names of its own are in scope",
        ),
        pytest.param(
            "MATCH (u:User) WITH u.state AS s, count(*) AS c ORDER BY c DESC LIMIT 3 RETURN s, c",
            id="aliases are in scope",
        ),
    ],
)
def test_what_is_not_settled_stays(draft: str) -> None:
    assert FixScope(SCHEMA).apply(draft).text == draft


@pytest.mark.parametrize(
    ("draft", "fixed"),
    [
        (
            "MATCH (u:User) WITH u.state, count(u) AS users RETURN u.state, users",
            "MATCH (u:User) WITH u.state AS state, count(u) AS users RETURN state, users",
        ),
        (
            "MATCH (u:User) WITH u.state, count(DISTINCT u.name) RETURN u.state",
            "MATCH (u:User) WITH u.state AS state, count(DISTINCT u.name) AS countName RETURN state",
        ),
        (
            "MATCH (state:User) WITH state, state.state WHERE state.name = 'Ann' RETURN 1 AS one",
            "MATCH (state:User) WITH state, state.state AS state2 WHERE state.name = 'Ann' "
            "RETURN 1 AS one",
        ),
        (
            "MATCH (u:User) WITH u, u.state AS s RETURN s, u.name",
            "MATCH (u:User) WITH u, u.state AS s RETURN s, u.name",
        ),
    ],
)
def test_what_with_carries_on_gets_a_name(draft: str, fixed: str) -> None:
    assert FixScope(SCHEMA).apply(FixAliases().apply(draft).text).text == fixed
