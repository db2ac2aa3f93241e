"""Other ways to say the same are no faults."""

import pytest

from cypherforge.cypher import parse
from cypherforge.diagnosis import diagnose
from cypherforge.diagnosis.compare_queries import differences
from cypherforge.graph.schema import Label, Pattern, Property, RelType, Schema

SCHEMA = Schema.build(
    [
        Label("Person", (Property("name"), Property("born", "INTEGER"))),
        Label("Movie", (Property("title"), Property("year", "INTEGER"))),
    ],
    [RelType("ACTED_IN", (Property("role"),)), RelType("KNOWS")],
    [Pattern("Person", "ACTED_IN", "Movie"), Pattern("Person", "KNOWS", "Person")],
)

SAME = [
    # variable names, layout, case of keywords
    ("match (x:Person)\nreturn x.name", "MATCH (p:Person) RETURN p.name"),
    # aliases
    ("MATCH (p:Person) RETURN p.name AS n", "MATCH (p:Person) RETURN p.name"),
    ("MATCH (p:Person) WITH p.name AS n RETURN n", "MATCH (p:Person) RETURN p.name"),
    # order of comma parts, of conditions, of columns
    (
        "MATCH (q:Person)-[:KNOWS]->(p), (p)-[:ACTED_IN]->(m:Movie) RETURN m.title, q.name",
        "MATCH (p)-[:ACTED_IN]->(m:Movie), (q:Person)-[:KNOWS]->(p) RETURN q.name, m.title",
    ),
    (
        "MATCH (p:Person) WHERE p.born > 1950 AND p.name = 'A' RETURN p.name",
        "MATCH (p:Person) WHERE p.name = 'A' AND p.born > 1950 RETURN p.name",
    ),
    # WHERE for an inline map, the sides of a comparison, a list of one
    (
        "MATCH (p:Person {name: 'A'}) RETURN p.born",
        "MATCH (p:Person) WHERE p.name = 'A' RETURN p.born",
    ),
    (
        "MATCH (p:Person) WHERE 1950 < p.born RETURN p.name",
        "MATCH (p:Person) WHERE p.born > 1950 RETURN p.name",
    ),
    (
        "MATCH (p:Person) WHERE p.name IN ['A'] RETURN p.born",
        "MATCH (p:Person) WHERE p.name = 'A' RETURN p.born",
    ),
    (
        "MATCH (p:Person) WHERE NOT p.name = 'A' RETURN p.born",
        "MATCH (p:Person) WHERE p.name <> 'A' RETURN p.born",
    ),
    (
        "MATCH (p:Person) WHERE NOT p.born <= 1950 RETURN p.born",
        "MATCH (p:Person) WHERE p.born > 1950 RETURN p.born",
    ),
    (
        "MATCH (m:Movie) WHERE 1950 < m.year <= 1960 RETURN m.title",
        "MATCH (m:Movie) WHERE m.year > 1950 AND m.year <= 1960 RETURN m.title",
    ),
    # a reversed written pattern, a path split in two, a MATCH split in two
    (
        "MATCH (m:Movie)<-[:ACTED_IN]-(p:Person) RETURN p.name",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.name",
    ),
    (
        "MATCH (p:Person)-[:KNOWS]->(q:Person) MATCH (q)-[:ACTED_IN]->(m:Movie) RETURN m.title",
        "MATCH (p:Person)-[:KNOWS]->(q:Person)-[:ACTED_IN]->(m:Movie) RETURN m.title",
    ),
    # an arrow that the schema settles, a label that the type implies
    (
        "MATCH (p:Person)-[:ACTED_IN]-(m:Movie) RETURN m.title",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN m.title",
    ),
    (
        "MATCH (p)-[:ACTED_IN]->(m) RETURN m.title",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN m.title",
    ),
    # a label as a condition
    ("MATCH (p) WHERE p:Person RETURN p.name", "MATCH (p:Person) RETURN p.name"),
    # carrying variables on
    (
        "MATCH (p:Person) WITH p MATCH (p)-[:ACTED_IN]->(m:Movie) RETURN m.title",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN m.title",
    ),
    # alternatives joined by UNION
    (
        "CALL { MATCH (x:Person)-[:KNOWS]->(:Person {name: 'A'}) RETURN x UNION "
        "MATCH (x:Person)-[:ACTED_IN]->(:Movie {title: 'B'}) RETURN x } RETURN count(x)",
        "CALL { MATCH (n:Person)-[:KNOWS]->(:Person {name: 'A'}) RETURN n UNION "
        "MATCH (n:Person)-[:ACTED_IN]->(:Movie {title: 'B'}) RETURN n } RETURN count(n)",
    ),
    # counting by another spelling
    (
        "MATCH (p:Person) RETURN size(collect(p)) AS c",
        "MATCH (p:Person) RETURN count(p) AS c",
    ),
    (
        "MATCH (p:Person) WHERE exists((p)-[:ACTED_IN]->(:Movie)) RETURN p.name",
        "MATCH (p:Person) WHERE EXISTS { (p)-[:ACTED_IN]->(:Movie) } RETURN p.name",
    ),
    (
        "MATCH (p:Person) WITH count(p) AS total WHERE total > 3 RETURN total",
        "MATCH (x:Person) WITH count(x) AS n WHERE n > 3 RETURN n AS total",
    ),
    (
        "MATCH (p:Person) RETURN p.name ORDER BY p.born DESC LIMIT 3",
        "MATCH (p:Person) WITH p.name AS n, p.born AS b RETURN n ORDER BY b DESC LIMIT 3",
    ),
]


@pytest.mark.parametrize(("draft", "gold"), SAME)
def test_equivalent_forms_show_no_difference(draft: str, gold: str) -> None:
    assert differences(parse(draft), parse(gold), SCHEMA) == []


@pytest.mark.parametrize(("draft", "gold"), SAME)
def test_and_a_diagnosis_says_that_it_cannot_tell(draft: str, gold: str) -> None:
    """Without rows nothing says that the draft is right; the trees show no fault."""
    (fault,) = diagnose(draft, gold, schema=SCHEMA)
    assert fault.code == "unknown" and fault.reason.startswith("cannot tell")
