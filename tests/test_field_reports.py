"""Inputs on which released packages went wrong: directions, extraction, names, values.

Each line is a case of public reports or of probes of langchain-neo4j 0.11, neo4j-graphrag 1.22 and
cypherbench; what is right was worked out by hand.
"""

import pytest

from cypherforge.cypher import analyse, extract_candidates, extract_query, parse
from cypherforge.graph.schema import Schema
from cypherforge.graph.values import NodeValue, display
from cypherforge.runtime.fixes import apply_all, schema_fixes

FILMS = Schema.parse(
    """
    (:Person {name: STRING, born: INTEGER})-[:ACTED_IN {role: STRING}]->(:Movie {title: STRING})
    (:Actor {name: STRING})-[:ACTED_IN]->(:Movie)
    (:Person)-[:DIRECTED]->(:Movie)
    (:Movie)-[:IN_GENRE]->(:Genre {name: STRING})
    (:Person)-[:FOLLOWS]->(:Person)
    """
)


def corrected(text: str) -> str:
    return apply_all(schema_fixes(FILMS), text)[0]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (
            "MATCH (p:Person|Actor)<-[:ACTED_IN]-(m:Movie) RETURN p",
            "MATCH (p:Person|Actor)-[:ACTED_IN]->(m:Movie) RETURN p",
        ),
        (
            "MATCH (p:Person WHERE p.born > 1970)<-[:ACTED_IN]-(m:Movie) RETURN p",
            "MATCH (p:Person WHERE p.born > 1970)-[:ACTED_IN]->(m:Movie) RETURN p",
        ),
        (
            "MATCH (p:Person {name:'a}b'})<-[:ACTED_IN]-(m:Movie) RETURN p",
            "MATCH (p:Person {name:'a}b'})-[:ACTED_IN]->(m:Movie) RETURN p",
        ),
        (
            "MATCH (p:Person {name:'Tom (Jr)'})<-[:ACTED_IN]-(m:Movie) RETURN p",
            "MATCH (p:Person {name:'Tom (Jr)'})-[:ACTED_IN]->(m:Movie) RETURN p",
        ),
        (
            "MATCH (p:Person) <- [:ACTED_IN] - (m:Movie) RETURN p",
            "MATCH (p:Person) - [:ACTED_IN] -> (m:Movie) RETURN p",
        ),
        (
            "MATCH (p:Person)\n<-[:ACTED_IN]-(m:Movie) RETURN p",
            "MATCH (p:Person)\n-[:ACTED_IN]->(m:Movie) RETURN p",
        ),
    ],
)
def test_a_reversed_arrow_is_turned_whatever_stands_around_it(text: str, right: str) -> None:
    assert corrected(text) == right


@pytest.mark.parametrize(
    "text",
    [
        "// was (m:Movie)-[:ACTED_IN]->(p:Person)\nMATCH (p:Person)-[:ACTED_IN]->(:Movie) RETURN p",
        "MATCH (p:Person {name: '(m:Movie)-[:ACTED_IN]->(p:Person)'}) RETURN p",
        # H08: two patterns, and no edge between them.
        "MATCH (p:Person {name:'a'})-[:ACTED_IN]->(m:Movie), (g:Genre {name:'x'}) RETURN p, g",
    ],
)
def test_what_is_right_stays_as_it_is(text: str) -> None:
    assert corrected(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (m:Movie)-[:ACTED_IN*1..3]->(p:Person) RETURN p",
        "MATCH p = shortestPath((x:Person)<-[:ACTED_IN*..4]-(m:Movie)) RETURN p",
        "MATCH ((x:Person)<-[:ACTED_IN]-(y:Movie)){1,3} RETURN x",
        "MATCH (:Movie)-[:IN_GENRE|ACTED_IN]->(p:Person) RETURN p",
        # H09: nothing fits, and the query is not lost.
        "MATCH (p:Person)-[:LIKES]->(m:Movie) RETURN p",
    ],
)
def test_what_cannot_be_right_is_flagged_and_never_emptied(text: str) -> None:
    codes = {finding.code for finding in analyse(parse(text), schema=FILMS)}
    assert codes & {"direction.reversed", "schema.type"}
    assert corrected(text).startswith("MATCH")


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (p:Person WHERE p.age > 3) RETURN p",
        "MATCH (p {note:'x, see also: y'}) RETURN p",
        "MATCH (p) WHERE p.x = '[a: b c]' RETURN p",
        "MATCH (p) WHERE p.x = '(x:big cat)' RETURN p",
    ],
)
def test_extraction_changes_no_valid_query(query: str) -> None:
    assert extract_query(query) == query
    assert extract_query(f"```cypher\n{query}\n```") == query


def test_extraction_takes_the_final_query() -> None:
    query = "MATCH (p:Person) RETURN count(p)"
    assert (
        extract_query(f"<think>maybe ```cypher\nMATCH (x) RETURN x\n``` no</think>\n{query}")
        == query
    )
    assert extract_query(f'```json\n{{"a": 1}}\n```\n```cypher\n{query}\n```') == query
    assert extract_query(f'{{"cypher": "{query}"}}') == query
    assert extract_query(f"Cypher query: {query}") == query
    two = f"```cypher\nMATCH (x) RETURN x\n```\nBetter:\n```cypher\n{query}\n```"
    assert [found.text for found in extract_candidates(two)][-1] == query


def test_vectors_are_elided_for_people() -> None:
    # H18
    node = NodeValue("1", frozenset({"Doc"}), {"name": "a", "embedding": [0.1] * 1536})
    shown = display(node, 200)
    assert "<vector 1536>" in shown
    assert "0.1" not in shown
