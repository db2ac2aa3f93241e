"""Values asked of the wrong node, and groups finer than what is shown."""

import pytest

from cypherforge.graph.schema import Schema
from cypherforge.graph.value_index import ValueIndex
from cypherforge.runtime.group_fix import FixGroupKeys
from cypherforge.runtime.home_fix import FixHomes
from cypherforge.runtime.path_fix import FixMissing

SCHEMA = Schema.parse(
    """
(:Team {name: STRING, country: STRING})
(:Cup {name: STRING, city: STRING})
(:Match {id: STRING, stage: STRING})
(:Player {name: STRING})
(:Team)-[:ENTERED]->(:Cup)
(:Team)-[:PLAYED]->(:Match)
(:Match)-[:OF]->(:Cup)
(:Player)-[:REPRESENTS]->(:Team)
"""
)


@pytest.fixture(scope="module")
def index() -> ValueIndex:
    made = ValueIndex()
    made.replace("Team", "name", ["Norway", "Chad"])
    made.replace("Team", "country", ["Norway", "Chad"])
    made.replace("Cup", "name", ["Oslo 1999", "Rome 2003"])
    made.replace("Cup", "city", ["Oslo", "Rome"])
    made.replace("Match", "id", ["7"])
    made.replace("Match", "stage", ["Final"])
    made.replace("Player", "name", ["Ada Berg"])
    return made


@pytest.mark.parametrize(
    ("draft", "mended"),
    [
        pytest.param(
            "MATCH (t:Team {name: 'Oslo 1999'})-[:ENTERED]->(c:Cup) RETURN t.name",
            "MATCH (t:Team)-[:ENTERED]->(c:Cup {name: 'Oslo 1999'}) RETURN t.name",
            id="from one map to another",
        ),
        pytest.param(
            "MATCH (t:Team)-[:ENTERED]->(:Cup {city: 'Oslo'}) WHERE t.name = 'Oslo 1999' RETURN t",
            "MATCH (t:Team)-[:ENTERED]->(:Cup {city: 'Oslo', name: 'Oslo 1999'}) RETURN t",
            id="out of a WHERE of its own",
        ),
        pytest.param(
            "MATCH (t:Team)-[:ENTERED]->(:Cup)<-[:OF]-(m:Match) "
            "WHERE m.stage = 'Final' AND t.name = 'Oslo 1999' RETURN t.name",
            "MATCH (t:Team)-[:ENTERED]->(:Cup {name: 'Oslo 1999'})<-[:OF]-(m:Match) "
            "WHERE m.stage = 'Final' RETURN t.name",
            id="out of a conjunction",
        ),
        pytest.param(
            "MATCH (m:Match {id: 'Oslo 1999'})<-[:PLAYED]-(t:Team) RETURN t.name",
            "MATCH (m:Match)<-[:PLAYED]-(t:Team), (m)-[:OF]->(:Cup {name: 'Oslo 1999'}) "
            "RETURN t.name",
            id="by the only hop to a node that has it",
        ),
    ],
)
def test_a_value_is_asked_of_the_node_that_stores_it(
    index: ValueIndex, draft: str, mended: str
) -> None:
    assert FixHomes(SCHEMA, index).apply(draft).text == mended


@pytest.mark.parametrize(
    "draft",
    [
        pytest.param("MATCH (t:Team {name: 'Chad'}) RETURN t.country", id="stored as asked"),
        pytest.param("MATCH (p:Player {name: 'Norway'}) RETURN p.name", id="stored in two places"),
        pytest.param("MATCH (t:Team {name: 'Nowhere'}) RETURN t.name", id="stored nowhere"),
        pytest.param(
            "MATCH (c:Cup)<-[:ENTERED]-(t:Team {name: 'Oslo 1999'})-[:ENTERED]->(d:Cup) RETURN c, d",
            id="two nodes of the label",
        ),
        pytest.param(
            "MATCH (p:Player {name: 'Oslo 1999'}) RETURN p.name", id="no hop leads to the label"
        ),
        pytest.param(
            "MATCH (t:Team)-[:ENTERED]->(c:Cup) WHERE t.name = 'Oslo 1999' OR t.name = 'Chad' "
            "RETURN c.name",
            id="one side of an OR",
        ),
        pytest.param("MATCH (t:Team) WHERE t.name = 'Oslo", id="does not parse"),
    ],
)
def test_what_could_be_meant_otherwise_stays(index: ValueIndex, draft: str) -> None:
    assert FixHomes(SCHEMA, index).apply(draft).text == draft


@pytest.mark.parametrize(
    ("draft", "mended"),
    [
        (
            "MATCH (p:Player)-[:REPRESENTS]->(t:Team) WITH t, p, count(*) AS n RETURN t.name, n",
            "MATCH (p:Player)-[:REPRESENTS]->(t:Team) WITH t, count(*) AS n RETURN t.name, n",
        ),
        (
            "MATCH (p:Player)-[:REPRESENTS]->(t:Team) WITH p, t, p AS q, count(*) AS n "
            "RETURN t.name, n ORDER BY n",
            "MATCH (p:Player)-[:REPRESENTS]->(t:Team) WITH t, count(*) AS n "
            "RETURN t.name, n ORDER BY n",
        ),
    ],
)
def test_a_key_that_no_row_shows_is_left_out(draft: str, mended: str) -> None:
    assert FixGroupKeys().apply(draft).text == mended


@pytest.mark.parametrize(
    "draft",
    [
        "MATCH (p)-->(t) WITH t, p, count(*) AS n WITH t, avg(n) AS mean RETURN t.name, mean",
        "MATCH (p)-->(t) WITH t, p, count(*) AS n RETURN t.name, avg(n) AS mean",
        "MATCH (p)-->(t) WITH t, p, count(*) AS n WHERE n > 1 RETURN t.name, n",
        "MATCH (p)-->(t) WITH p, count(*) AS n RETURN n",
        "MATCH (p)-->(t) WITH t, p, count(*) AS n RETURN t.name, p.name, n",
        "MATCH (p)-->(t) WITH t, p RETURN t.name",
        "MATCH (p)-->(t) WITH t, count(*) AS n WITH t, n, collect(t.x) AS xs RETURN t.name, xs",
    ],
)
def test_keys_that_say_something_stay(draft: str) -> None:
    assert FixGroupKeys().apply(draft).text == draft


@pytest.mark.parametrize(
    ("draft", "mended"),
    [
        (
            "MATCH (p:Player) RETURN p.name, p.represented",
            "MATCH (p:Player), (p)-[:REPRESENTS]->(t:Team) RETURN p.name, t.name",
        ),
        (
            "MATCH (t:Team) RETURN t.name, t.enteredCups",
            "MATCH (t:Team), (t)-[:ENTERED]->(c:Cup) RETURN t.name, c.name",
        ),
    ],
)
def test_a_property_called_like_a_type_is_walked(draft: str, mended: str) -> None:
    assert FixMissing(SCHEMA).apply(draft).text == mended
