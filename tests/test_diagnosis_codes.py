"""Every code of the taxonomy, by cases worked by hand: the code, and the repair it implies."""

from pathlib import Path

import pytest

from cypherforge.cypher import parse
from cypherforge.diagnosis import diagnose
from cypherforge.diagnosis.compare_queries import differences
from cypherforge.graph.schema import Label, Pattern, Property, RelType, Schema
from cypherforge.rules.taxonomy import taxonomy

SCHEMA = Schema.build(
    [
        Label(
            "Person",
            (Property("name"), Property("nick"), Property("born", "INTEGER"), Property("city")),
        ),
        Label(
            "Movie",
            (
                Property("title"),
                Property("year", "INTEGER"),
                Property("premiere", "DATE"),
                Property("rating", "FLOAT"),
            ),
        ),
        Label("Genre", (Property("name"),)),
        Label("Award", (Property("name"), Property("title"))),
        Label("Country", (Property("name"),)),
    ],
    [
        RelType("ACTED_IN", (Property("role"),)),
        RelType("DIRECTED"),
        RelType("IN_GENRE"),
        RelType("MARRIED"),
        RelType("KNOWS"),
        RelType("WON"),
        RelType("MADE_IN"),
        RelType("LIVES_IN"),
    ],
    [
        Pattern("Person", "ACTED_IN", "Movie"),
        Pattern("Person", "DIRECTED", "Movie"),
        Pattern("Movie", "IN_GENRE", "Genre"),
        Pattern("Person", "MARRIED", "Person"),
        Pattern("Person", "KNOWS", "Person"),
        Pattern("Movie", "WON", "Award"),
        Pattern("Person", "WON", "Award"),
        Pattern("Movie", "MADE_IN", "Country"),
        Pattern("Person", "LIVES_IN", "Country"),
    ],
)

CASES = [
    # ---- syntax
    (
        "syntax.parse",
        "MATCH (p:Person RETURN p.name",
        "MATCH (p:Person) RETURN p.name",
    ),
    (
        "syntax.parse",
        "MATCH (p:Person) WHERE p.born > 1950 RETRUN p.name",
        "MATCH (p:Person) WHERE p.born > 1950 RETURN p.name",
    ),
    (
        "syntax.parse",
        "MATCH (p:Person) WITH p.city, count(p) AS total RETURN p.city, total",
        "MATCH (p:Person) WITH p.city AS city, count(p) AS total RETURN city, total",
    ),
    (
        "syntax.parse",
        "MATCH (p:Person) WITH p.city, count(p) AS total",
        "MATCH (p:Person) RETURN p.city, count(p) AS total",
    ),
    (
        "syntax.scope",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) WITH p, count(m) AS c RETURN m.title, c",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) WITH p, m, count(m) AS c RETURN m.title, c",
    ),
    (
        "syntax.scope",
        "MATCH (person:Person) WHERE persn.born > 1950 RETURN person.name",
        "MATCH (person:Person) WHERE person.born > 1950 RETURN person.name",
    ),
    (
        "syntax.dialect",
        "MATCH (p:Person) RETURN ifnull(p.nick, p.name)",
        "MATCH (p:Person) RETURN coalesce(p.nick, p.name)",
    ),
    (
        "syntax.dialect",
        "MATCH (p:Person) RETURN p.city, count(p) GROUP BY p.city",
        "MATCH (p:Person) RETURN p.city, count(p)",
    ),
    (
        "syntax.dialect",
        "MATCH (m:Movie) WHERE year(m.premiere) = 2020 RETURN m.title",
        "MATCH (m:Movie) WHERE m.premiere.year = 2020 RETURN m.title",
    ),
    (
        "syntax.dialect",
        "MATCH (p:Person) WHERE p.name LIKE '%Ann%' RETURN p.name",
        "MATCH (p:Person) WHERE p.name CONTAINS 'Ann' RETURN p.name",
    ),
    (
        "syntax.type",
        "MATCH (m:Movie) WHERE m.year > 1990 RETURN toUpper(1) + m.title",
        "MATCH (m:Movie) WHERE m.year > 1990 RETURN toUpper('a') + m.title",
    ),
    (
        "syntax.dialect",
        "MATCH (m:Movie) WHERE m.rating > 5 AND m.year BETWEEN 1990 AND 1999 RETURN m.title",
        "MATCH (m:Movie) WHERE m.rating > 5 AND 1990 <= m.year <= 1999 RETURN m.title",
    ),
    # ---- direction
    (
        "direction.reversed",
        "MATCH (p:Person)<-[:ACTED_IN]-(m:Movie) RETURN p.name",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.name",
    ),
    (
        "direction.reversed",
        "MATCH (g:Genre)-[:IN_GENRE]->(m:Movie)-[:ACTED_IN]->(p:Person) RETURN p.name",
        "MATCH (g:Genre)<-[:IN_GENRE]-(m:Movie)<-[:ACTED_IN]-(p:Person) RETURN p.name",
    ),
    (
        "direction.undirected",
        "MATCH (p:Person {name: 'Ann'})-[:MARRIED]-(q:Person) RETURN count(q)",
        "MATCH (p:Person {name: 'Ann'})-[:MARRIED]->(q:Person) RETURN count(q)",
    ),
    (
        "direction.undirected",
        "MATCH (p:Person)-[:KNOWS]-(q) RETURN p.name, q.name",
        "MATCH (p:Person)<-[:KNOWS]-(q) RETURN p.name, q.name",
    ),
    (
        "direction.mutual",
        "MATCH (p:Person {name: 'Ann'})-[:MARRIED]->(q:Person) RETURN q.name",
        "MATCH (p:Person {name: 'Ann'})-[:MARRIED]-(q:Person) RETURN q.name",
    ),
    (
        "direction.mutual",
        "MATCH (p:Person)<-[:KNOWS]-(q:Person {name: 'Bob'}) RETURN p.name",
        "MATCH (p:Person)-[:KNOWS]-(q:Person {name: 'Bob'}) RETURN p.name",
    ),
    (
        "direction.chain",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie)-[:ACTED_IN]->(q:Person) RETURN q.name",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie)<-[:ACTED_IN]-(q:Person) RETURN q.name",
    ),
    (
        "direction.chain",
        "MATCH (p:Person)<-[:DIRECTED]-(m:Movie), (m)-[:IN_GENRE]->(g:Genre) RETURN g.name",
        "MATCH (p:Person)-[:DIRECTED]->(m:Movie), (m)-[:IN_GENRE]->(g:Genre) RETURN g.name",
    ),
    # A hop that nobody asked for, told from the schema.
    (
        "direction.reversed",
        "MATCH (g:Genre)-[:IN_GENRE]->(m:Movie) RETURN m.title",
        "MATCH (m:Movie) RETURN m.title",
    ),
    (
        "direction.chain",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie)<-[:WON]-(a:Award) RETURN m.title",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN m.title",
    ),
    # ---- schema
    (
        "schema.label",
        "MATCH (p:Actor)-[:ACTED_IN]->(m:Movie) RETURN p.name",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.name",
    ),
    ("schema.label", "MATCH (f:Film) RETURN f.title", "MATCH (m:Movie) RETURN m.title"),
    (
        "schema.type",
        "MATCH (p:Person)-[:PLAYED_IN]->(m:Movie) RETURN m.title",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN m.title",
    ),
    (
        "schema.type",
        "MATCH (m:Movie)-[r:HAS_GENRE]->(g:Genre {name: 'Noir'}) RETURN m.title",
        "MATCH (m:Movie)-[:IN_GENRE]->(g:Genre {name: 'Noir'}) RETURN m.title",
    ),
    (
        "schema.property",
        "MATCH (p:Person) RETURN p.fullName",
        "MATCH (p:Person) RETURN p.name",
    ),
    (
        "schema.property",
        "MATCH (m:Movie) WHERE m.releaseYear > 1999 RETURN m.title",
        "MATCH (m:Movie) WHERE m.year > 1999 RETURN m.title",
    ),
    (
        "schema.property",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN avg(m.score)",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN avg(m.rating)",
    ),
    (
        "schema.endpoints",
        "MATCH (g:Genre)-[:WON]->(a:Award) RETURN a.name",
        "MATCH (m:Movie)-[:WON]->(a:Award) RETURN a.name",
    ),
    (
        "schema.endpoints",
        "MATCH (p:Person)-[:MADE_IN]->(c:Country) RETURN c.name",
        "MATCH (p:Person)-[:LIVES_IN]->(c:Country) RETURN c.name",
    ),
    (
        "schema.endpoints",
        "MATCH (p:Person)-[:ACTED_IN]->(g:Genre) RETURN g.name",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie)-[:IN_GENRE]->(g:Genre) RETURN g.name",
    ),
    # The arrow of a type that is never between these labels goes with the type.
    (
        "schema.endpoints",
        "MATCH (m:Movie)-[:LIVES_IN]->(p:Person) RETURN p.name",
        "MATCH (m:Movie)<-[:ACTED_IN]-(p:Person) RETURN p.name",
    ),
    # A hop that nobody asked for, told from the schema.
    (
        "schema.type",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie)-[:SHOT_IN]->(c:Country) RETURN m.title",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN m.title",
    ),
    (
        "schema.endpoints",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie)-[:LIVES_IN]->(c:Country) RETURN m.title",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN m.title",
    ),
    # ---- entity
    (
        "entity.literal",
        "MATCH (p:Person {name: 'tom hanks'}) RETURN p.born",
        "MATCH (p:Person {name: 'Tom Hanks'}) RETURN p.born",
    ),
    (
        "entity.literal",
        "MATCH (p:Person) WHERE p.name = 'Zoe Saldana' RETURN p.born",
        "MATCH (p:Person) WHERE p.name = 'Zoë Saldaña' RETURN p.born",
    ),
    (
        "entity.alias",
        "MATCH (c:Country {name: 'United States'})<-[:MADE_IN]-(m) RETURN m.title",
        "MATCH (c:Country {name: 'United States of America'})<-[:MADE_IN]-(m) RETURN m.title",
    ),
    (
        "entity.alias",
        "MATCH (c:Country) WHERE c.name = 'Holland' RETURN c.name",
        "MATCH (c:Country) WHERE c.name = 'Netherlands' RETURN c.name",
    ),
    (
        "entity.property",
        "MATCH (p:Person {nick: 'Ann'}) RETURN p.born",
        "MATCH (p:Person {name: 'Ann'}) RETURN p.born",
    ),
    (
        "entity.property",
        "MATCH (p:Person) WHERE p.name = 'Oslo' RETURN p.born",
        "MATCH (p:Person) WHERE p.city = 'Oslo' RETURN p.born",
    ),
    (
        "entity.label",
        "MATCH (x:Country {name: 'Noir'}) RETURN x.name",
        "MATCH (x:Genre {name: 'Noir'}) RETURN x.name",
    ),
    (
        "entity.label",
        "MATCH (x:Award) WHERE x.title = 'Heat' RETURN x.title",
        "MATCH (x:Movie) WHERE x.title = 'Heat' RETURN x.title",
    ),
    # ---- pattern
    (
        "pattern.missing_hop",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.name",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie)-[:IN_GENRE]->(:Genre {name: 'Noir'}) RETURN p.name",
    ),
    (
        "pattern.missing_hop",
        "MATCH (p:Person)-[:LIVES_IN]->(c:Country) RETURN c.name",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie)-[:MADE_IN]->(c:Country) RETURN c.name",
    ),
    (
        "pattern.missing_hop",
        "MATCH (m:Movie) RETURN m.title",
        "MATCH (m:Movie) WHERE EXISTS { (m)-[:WON]->(:Award) } RETURN m.title",
    ),
    (
        "pattern.extra_hop",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie)-[:WON]->(a:Award) RETURN m.title",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN m.title",
    ),
    (
        "pattern.extra_hop",
        "MATCH (m:Movie), (g:Genre) WHERE m.year > 1999 RETURN m.title",
        "MATCH (m:Movie) WHERE m.year > 1999 RETURN m.title",
    ),
    (
        "pattern.join",
        "MATCH (x:Person {name: 'Ann'})-[:ACTED_IN]->(m:Movie), (y:Person)-[:ACTED_IN]->(n:Movie) "
        "RETURN y.name",
        "MATCH (x:Person {name: 'Ann'})-[:ACTED_IN]->(m:Movie)<-[:ACTED_IN]-(y:Person) "
        "RETURN y.name",
    ),
    (
        "pattern.join",
        "MATCH (m:Movie)-[:IN_GENRE]->(g:Genre {name: 'Noir'}) MATCH (n:Movie)-[:WON]->(a:Award) "
        "RETURN a.name",
        "MATCH (m:Movie)-[:IN_GENRE]->(g:Genre {name: 'Noir'}) MATCH (m)-[:WON]->(a:Award) "
        "RETURN a.name",
    ),
    (
        "pattern.topology",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.name, count(m) AS total",
        "MATCH (p:Person) OPTIONAL MATCH (p)-[:ACTED_IN]->(m:Movie) RETURN p.name, count(m) AS total",
    ),
    (
        "pattern.topology",
        "MATCH (p:Person {name: 'Ann'})-[:KNOWS]->(q:Person) RETURN q.name",
        "MATCH (p:Person {name: 'Ann'})-[:KNOWS*1..3]->(q:Person) RETURN q.name",
    ),
    (
        "pattern.topology",
        "MATCH (p:Person)-[:DIRECTED]->(m:Movie) RETURN p.name",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.name",
    ),
    # ---- aggregation
    (
        "aggregation.fanout",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie), (p)-[:DIRECTED]->(d:Movie) "
        "RETURN p.name, count(m) AS acted",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie), (p)-[:DIRECTED]->(d:Movie) "
        "RETURN p.name, count(DISTINCT m) AS acted",
    ),
    (
        "aggregation.fanout",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie), (p)-[:WON]->(a:Award) "
        "RETURN p.name, count(m) AS total",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) WHERE EXISTS { (p)-[:WON]->(:Award) } "
        "RETURN p.name, count(m) AS total",
    ),
    (
        "aggregation.distinct",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN count(p) AS actors",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN count(DISTINCT p) AS actors",
    ),
    (
        "aggregation.distinct",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.name",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN DISTINCT p.name",
    ),
    (
        "aggregation.distinct",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.name",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) WITH DISTINCT p RETURN p.name",
    ),
    (
        "aggregation.grouping",
        "MATCH (p:Person) RETURN p.city, p.name, count(p) AS total",
        "MATCH (p:Person) RETURN p.city, count(p) AS total",
    ),
    (
        "aggregation.grouping",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN m.title, count(m) AS total",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.city, count(m) AS total",
    ),
    (
        "aggregation.function",
        "MATCH (m:Movie) RETURN count(m.rating) AS value",
        "MATCH (m:Movie) RETURN avg(m.rating) AS value",
    ),
    (
        "aggregation.function",
        "MATCH (m:Movie) WITH min(m.year) AS y RETURN y",
        "MATCH (m:Movie) WITH max(m.year) AS y RETURN y",
    ),
    (
        "aggregation.function",
        "MATCH (m:Movie)-[:MADE_IN]->(c:Country) RETURN c.name AS found",
        "MATCH (m:Movie)-[:MADE_IN]->(c:Country) RETURN count(c.name) AS total",
    ),
    # ---- filter
    (
        "filter.missing",
        "MATCH (m:Movie) WHERE m.year > 1999 RETURN m.title",
        "MATCH (m:Movie) WHERE m.year > 1999 AND m.rating > 8 RETURN m.title",
    ),
    (
        "filter.missing",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.name",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie {year: 1999}) RETURN p.name",
    ),
    (
        "filter.missing",
        "MATCH (m:Movie) WHERE m.year > 1999 AND m.rating > 8 RETURN m.title",
        "MATCH (m:Movie) WHERE m.rating > 8 RETURN m.title",
    ),
    (
        "filter.operator",
        "MATCH (m:Movie) WHERE m.year >= 1999 RETURN m.title",
        "MATCH (m:Movie) WHERE m.year > 1999 RETURN m.title",
    ),
    (
        "filter.operator",
        "MATCH (m:Movie {title: 'Heat'}) RETURN m.year",
        "MATCH (m:Movie) WHERE m.title CONTAINS 'Heat' RETURN m.year",
    ),
    (
        "filter.operator",
        "MATCH (m:Movie) WHERE m.year > 2000 RETURN m.title",
        "MATCH (m:Movie) WHERE m.year > 1999 RETURN m.title",
    ),
    (
        "filter.literal_type",
        "MATCH (m:Movie) WHERE m.year = '1999' RETURN m.title",
        "MATCH (m:Movie) WHERE m.year = 1999 RETURN m.title",
    ),
    (
        "filter.literal_type",
        "MATCH (m:Movie {premiere: '2020-01-31'}) RETURN m.title",
        "MATCH (m:Movie {premiere: date('2020-01-31')}) RETURN m.title",
    ),
    (
        "filter.null",
        "MATCH (p:Person) WHERE p.nick = null RETURN p.name",
        "MATCH (p:Person) WHERE p.nick IS NULL RETURN p.name",
    ),
    (
        "filter.null",
        "MATCH (p:Person) RETURN p.nick",
        "MATCH (p:Person) WHERE p.nick IS NOT NULL RETURN p.nick",
    ),
    (
        "filter.null",
        "MATCH (p:Person) WHERE NOT p.name STARTS WITH 'A' RETURN p.name",
        "MATCH (p:Person) WHERE p.name STARTS WITH 'A' RETURN p.name",
    ),
    (
        "filter.operator",
        "MATCH (m:Movie {premiere: {date: '2020-01-31'}}) RETURN m.title",
        "MATCH (m:Movie) WHERE m.premiere < date('2020-01-31') RETURN m.title",
    ),
    (
        "filter.operator",
        "MATCH (m:Movie {premiere: '2020-01-31'}) RETURN m.title",
        "MATCH (m:Movie) WHERE m.premiere > date('2020-01-31') RETURN m.title",
    ),
    (
        "filter.literal_type",
        "MATCH (m:Movie {premiere: {date: '2020-01-31'}}) RETURN m.title",
        "MATCH (m:Movie) WHERE m.premiere = date('2020-01-31') RETURN m.title",
    ),
    # ---- return
    ("return.item", "MATCH (p:Person) RETURN p", "MATCH (p:Person) RETURN p.name"),
    (
        "return.item",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.name, m.title",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.name, m",
    ),
    (
        "return.columns",
        "MATCH (p:Person) RETURN p.name, p.born",
        "MATCH (p:Person) RETURN p.name",
    ),
    (
        "return.columns",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.name",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.name, m.title AS title",
    ),
    (
        "return.order",
        "MATCH (m:Movie) RETURN m.title ORDER BY m.year LIMIT 1",
        "MATCH (m:Movie) RETURN m.title ORDER BY m.year DESC LIMIT 1",
    ),
    (
        "return.order",
        "MATCH (m:Movie) RETURN m.title ORDER BY m.year DESC LIMIT 1",
        "MATCH (m:Movie) WITH max(m.year) AS newest MATCH (m:Movie) WHERE m.year = newest "
        "RETURN m.title",
    ),
    (
        "return.order",
        "MATCH (m:Movie) RETURN m.title",
        "MATCH (m:Movie) RETURN m.title ORDER BY m.rating DESC LIMIT 3",
    ),
    (
        "return.order",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.name, m.title ORDER BY p.born LIMIT 3",
        "MATCH (p:Person) WITH p ORDER BY p.born LIMIT 3 MATCH (p)-[:ACTED_IN]->(m:Movie) "
        "RETURN p.name, m.title",
    ),
    (
        "return.unasked",
        "MATCH (m:Movie) RETURN m.title ORDER BY m.title LIMIT 10",
        "MATCH (m:Movie) RETURN m.title",
    ),
    (
        "return.unasked",
        "MATCH (m:Movie) RETURN DISTINCT m.title",
        "MATCH (m:Movie) RETURN m.title",
    ),
    (
        "return.unasked",
        "MATCH (m:Movie) RETURN m.title ORDER BY m.year LIMIT 5",
        "MATCH (m:Movie) RETURN m.title ORDER BY m.year",
    ),
]


def test_alternatives_are_not_laid_over_a_single_pattern() -> None:
    draft = "MATCH (p:Person)-[:ACTED_IN]->(m:Movie), (p)-[:DIRECTED]->(m) RETURN p.name"
    gold = (
        "MATCH (p:Person)-[:ACTED_IN]->(:Movie) RETURN p.name "
        "UNION MATCH (p:Person)-[:DIRECTED]->(:Movie) RETURN p.name"
    )
    (fault,) = diagnose(draft, gold, schema=SCHEMA)
    assert (fault.code, fault.repair) == ("pattern.topology", None)
    assert "2 alternatives" in fault.reason


def test_one_match_uses_no_relationship_twice() -> None:
    """The same pattern, but two MATCH clauses let both hops be the same relationship."""
    draft = "MATCH (p:Person)-[:ACTED_IN]->(m:Movie)<-[:ACTED_IN]-(q:Person) RETURN q.name"
    gold = "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) MATCH (m)<-[:ACTED_IN]-(q:Person) RETURN q.name"
    (fault,) = diagnose(draft, gold, schema=SCHEMA)
    assert (fault.code, fault.repair) == ("pattern.topology", None)
    assert "twice" in fault.reason


@pytest.mark.parametrize(("code", "draft", "gold"), CASES)
def test_the_fault_is_named_and_its_repair_says_what_the_gold_says(
    code: str, draft: str, gold: str
) -> None:
    faults = diagnose(draft, gold, schema=SCHEMA)
    assert [fault.code for fault in faults] == [code]
    (fault,) = faults
    assert fault.family == code.split(".")[0]
    assert fault.confirmed is None
    assert fault.repair is not None
    assert differences(parse(fault.repair), parse(gold), SCHEMA) == []
    assert all(0 <= start < end <= len(draft) for start, end in fault.spans)


HEAT = "MATCH (m:Movie {title: 'Heat'}) RETURN m.year"


@pytest.mark.parametrize(
    ("codes", "draft", "gold"),
    [
        (
            ["entity.label", "pattern.extra_hop"],
            "MATCH (m:Movie)-[:WON]->(a:Award {title: 'Heat'}) RETURN m.year",
            HEAT,
        ),
        (
            ["direction.reversed", "entity.label"],
            "MATCH (a:Award {title: 'heat'})-[:WON]->(m:Movie) RETURN m.year",
            HEAT,
        ),
        (
            ["direction.reversed", "schema.property"],
            "MATCH (g:Genre {title: 'Heat'})-[:IN_GENRE]->(m:Movie) RETURN m.year",
            HEAT,
        ),
        (
            ["aggregation.function", "return.unasked"],
            "MATCH (m:Movie)-[:MADE_IN]->(c:Country) RETURN DISTINCT c.name",
            "MATCH (m:Movie)-[:MADE_IN]->(c:Country) RETURN count(DISTINCT c.name)",
        ),
        (
            ["return.item"],
            "MATCH (m:Movie) RETURN max(m.premiere)",
            "MATCH (m:Movie) RETURN max(m.premiere.year)",
        ),
    ],
)
def test_what_hangs_together_comes_in_the_order_of_repair(
    codes: list[str], draft: str, gold: str
) -> None:
    faults = diagnose(draft, gold, schema=SCHEMA)
    assert [fault.code for fault in faults] == codes
    assert faults[-1].repair is not None
    assert differences(parse(faults[-1].repair), parse(gold), SCHEMA) == []


def test_the_first_edition_tells_faults_from_the_gold() -> None:
    draft = "MATCH (p:Person)-[:ACTED_IN]->(m:Movie)-[:SHOT_IN]->(c:Country) RETURN m.title"
    gold = "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN m.title"
    (fault,) = diagnose(draft, gold, schema=SCHEMA, edition=1)
    assert fault.code == "pattern.extra_hop"


def test_every_code_but_the_runtime_one_has_two_cases() -> None:
    count = {code.code: 0 for code in taxonomy().codes}
    for code, _, _ in CASES:
        count[code] += 1
    # A runtime type error takes a database to be seen: test_diagnosis_confirm.
    assert count.pop("syntax.type") == 1
    assert {code for code, number in count.items() if number < 2} == set()


@pytest.mark.parametrize("code", [c.code for c in taxonomy().codes if c.code != "syntax.type"])
def test_the_taxonomy_diagnoses_its_own_examples(code: str) -> None:
    labels = ["NodeLabel", "NodeLabelA", "NodeLabelB", "NodeLabelC"]
    keys = tuple(Property(k) for k in ("propertyKey", "propertyKeyA", "propertyKeyB"))
    ends = {
        "relType": [("NodeLabelA", "NodeLabelB"), ("NodeLabel", "NodeLabel"),
                    ("NodeLabelB", "NodeLabelC")],
        "relTypeA": [("NodeLabelA", "NodeLabelB")],
        "relTypeB": [("NodeLabelB", "NodeLabelC"), ("NodeLabelA", "NodeLabelC"),
                     ("NodeLabelC", "NodeLabelB")],
    }  # fmt: skip
    schema = Schema.build(
        [Label(name, keys) for name in labels],
        [RelType(name) for name in ends],
        [Pattern(a, name, b) for name, pairs in ends.items() for a, b in pairs],
    )
    example = taxonomy()[code]
    faults = diagnose(example.slip, example.repair, schema=schema)
    assert faults[0].code == code


@pytest.mark.shared
def test_drafts_of_a_small_model_are_diagnosed_within_milliseconds(shared: Path) -> None:
    import json
    import time

    rows = json.loads(
        (shared / "data" / "model-failures" / "cypherbench_qwen3_0.6b.json").read_text("utf-8")
    )[::12]
    seconds = []
    known = {code.code for code in taxonomy().codes} | {"unknown"}
    for row in rows:
        if not row["pred_cypher"]:
            continue
        start = time.process_time()
        faults = diagnose(row["pred_cypher"], row["gold_cypher"])
        seconds.append(time.process_time() - start)
        assert faults and {fault.code for fault in faults} <= known
        if row["metrics"]["execution_accuracy"] == 0:
            assert faults[0].code != "unknown", row
    assert sorted(seconds)[len(seconds) // 2] < 0.010
