"""What a repair writes means what was meant: its answer on a real Neo4j is that of plain Cypher.

The small graph is made in a transaction that is rolled back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from cypherforge.cypher.dialects import repair_dialect

GRAPH = """
CREATE (ann:DxP {name: 'Ann', born: 1980, city: 'Rome', since: date('2000-05-01'), nick: 'A'}),
  (bob:DxP {name: 'Bob', born: 1990, city: 'Rome', since: date('2010-07-02')}),
  (cid:DxP {name: 'Cid', born: 2000, city: 'Oslo', since: date('2000-01-03'), nick: 'C'}),
  (x:DxM {title: 'Xab', year: 1999, score: 3.5}), (y:DxM {title: 'aby', year: 2005}),
  (z:DxM {title: 'a.b', year: 2010, score: 1.0}),
  (ann)-[:DXA {w: 1}]->(x), (ann)-[:DXA {w: 2}]->(y), (bob)-[:DXA {w: 3}]->(x),
  (cid)-[:DXA {w: 4}]->(z), (ann)-[:DXA {w: 5}]->(z)
"""
M = "MATCH (p:DxP)-[r:DXA]->(m:DxM)"
P = "MATCH (p:DxP)"

# The foreign query, and a hand-written one that asks the same.
CASES = [
    # grouping
    (f"{M} RETURN p.city, count(m) GROUP BY p.city", f"{M} RETURN p.city, count(m)"),
    (f"{M} RETURN p.name, count(m) GROUP BY p", f"{M} WITH p, count(m) AS c RETURN p.name, c"),
    (
        f"{M} RETURN p.city AS city, avg(r.w) AS a GROUP BY p.city HAVING a > 3",
        f"{M} WITH p.city AS city, avg(r.w) AS a WHERE a > 3 RETURN city, a",
    ),
    (
        f"{M} RETURN p.name, count(m) HAVING count(m) > 1 ORDER BY count(m) DESC",
        f"{M} WITH p.name AS n, count(m) AS c ORDER BY c DESC WHERE c > 1 RETURN n, c",
    ),
    (
        f"{M} RETURN m.title GROUP BY m.title HAVING count(p) > 1",
        f"{M} WITH m.title AS t, count(p) AS c WHERE c > 1 RETURN t",
    ),
    (
        f"{M} WITH p, count(m) AS n HAVING n > 1 RETURN p.name",
        f"{M} WITH p, count(m) AS n WHERE n > 1 RETURN p.name",
    ),
    # paging
    (f"{P} RETURN p.name ORDER BY p.name FETCH FIRST 2 ROWS ONLY", f"{P} RETURN p.name ORDER BY p.name LIMIT 2"),
    (f"{P} RETURN TOP 1 p.name ORDER BY p.born DESC", f"{P} RETURN p.name ORDER BY p.born DESC LIMIT 1"),
    (f"{P} RETURN p.name ORDER BY p.name LIMIT 1 OFFSET 1", f"{P} RETURN p.name ORDER BY p.name SKIP 1 LIMIT 1"),
    (f"{P} RETURN p.name ORDER BY p.name LIMIT 1, 2", f"{P} RETURN p.name ORDER BY p.name SKIP 1 LIMIT 2"),
    (
        "MATCH (m:DxM) RETURN m.title ORDER BY m.score DESC NULLS LAST LIMIT 1",
        "MATCH (m:DxM) WHERE m.score IS NOT NULL RETURN m.title ORDER BY m.score DESC LIMIT 1",
    ),
    # SELECT and its kin
    (f"{P} SELECT p.name", f"{P} RETURN p.name"),
    (
        f"{P} WHERE p.born = (SELECT min(q.born) FROM DxP q) RETURN p.name",
        "MATCH (q:DxP) WITH min(q.born) AS least MATCH (p:DxP {born: least}) RETURN p.name",
    ),
    # conditions
    ("MATCH (m:DxM) WHERE m.title LIKE '%ab%' RETURN m.title", "MATCH (m:DxM) WHERE m.title CONTAINS 'ab' RETURN m.title"),
    ("MATCH (m:DxM) WHERE m.title LIKE 'a%' RETURN m.title", "MATCH (m:DxM) WHERE m.title STARTS WITH 'a' RETURN m.title"),
    ("MATCH (m:DxM) WHERE m.title LIKE '%ab' RETURN m.title", "MATCH (m:DxM) WHERE m.title ENDS WITH 'ab' RETURN m.title"),
    ("MATCH (m:DxM) WHERE m.title LIKE 'a.%' RETURN m.title", "MATCH (m:DxM) WHERE m.title STARTS WITH 'a.' RETURN m.title"),
    ("MATCH (m:DxM) WHERE m.title LIKE 'a__' RETURN m.title", "MATCH (m:DxM) WHERE m.title STARTS WITH 'a' AND size(m.title) = 3 RETURN m.title"),
    ("MATCH (m:DxM) WHERE m.title NOT LIKE '%ab%' RETURN m.title", "MATCH (m:DxM) WHERE NOT m.title CONTAINS 'ab' RETURN m.title"),
    ("MATCH (m:DxM) WHERE m.title ILIKE 'xA%' RETURN m.title", "MATCH (m:DxM) WHERE toLower(m.title) STARTS WITH 'xa' RETURN m.title"),
    (f"{P} WHERE p.born BETWEEN 1980 AND 1990 RETURN p.name", f"{P} WHERE 1980 <= p.born <= 1990 RETURN p.name"),
    (f"{P} WHERE p.born NOT BETWEEN 1985 AND 1995 RETURN p.name", f"{P} WHERE p.born < 1985 OR p.born > 1995 RETURN p.name"),
    (f"{P} WHERE p.name NOT IN ['Ann'] RETURN p.name", f"{P} WHERE p.name <> 'Ann' RETURN p.name"),
    (f"{P} WHERE p.born != 1980 && p.city == 'Rome' RETURN p.name", f"{P} WHERE p.born <> 1980 AND p.city = 'Rome' RETURN p.name"),
    (f"{P} WHERE p.nick IS NOT NULL() RETURN p.name", f"{P} WHERE p.nick IS NOT NULL RETURN p.name"),
    (f"{P} WHERE p.nick NOT NULL RETURN p.name", f"{P} WHERE p.nick IS NOT NULL RETURN p.name"),
    # functions
    (f"{M} RETURN COUNT DISTINCT p.city", f"{M} RETURN count(DISTINCT p.city)"),
    (f"{M} RETURN count(DISTINCT p.city, m.title)", f"{M} WITH DISTINCT p.city AS c, m.title AS t RETURN count(*)"),
    (f"{P} RETURN CAST('7' AS INTEGER) + p.born, EXTRACT(YEAR FROM p.since)", f"{P} RETURN 7 + p.born, p.since.year"),
    (f"{P} WHERE YEAR(p.since) = 2000 RETURN MONTH(p.since)", f"{P} WHERE p.since.year = 2000 RETURN p.since.month"),
    (f"{P} RETURN NVL(p.nick, '-'), IFNULL(p.nick, p.name)", f"{P} RETURN coalesce(p.nick, '-'), coalesce(p.nick, p.name)"),
    (f"{P} RETURN CONCAT(p.name, ' ', p.city), POW(p.born, 2)", f"{P} RETURN p.name + ' ' + p.city, p.born ^ 2"),
    (f"{P} WHERE exists(p.nick) RETURN p.name", f"{P} WHERE p.nick IS NOT NULL RETURN p.name"),
    (f"{P} WHERE NOT exists(p.nick) RETURN p.name", f"{P} WHERE p.nick IS NULL RETURN p.name"),
    # maps
    ("MATCH (p:DxP {name: STARTS WITH 'A'}) RETURN p.name", f"{P} WHERE p.name STARTS WITH 'A' RETURN p.name"),
    (
        "MATCH (p:DxP {born: > 1985, city: 'Rome'})-[:DXA]->(m) WHERE m.year = 1999 OR m.year = 1 RETURN p.name",
        f"{M} WHERE p.born > 1985 AND p.city = 'Rome' AND m.year IN [1999, 1] RETURN p.name",
    ),
    ("MATCH (:DxP {born: > 1985})-[r {w: <= 3}]->() RETURN r.w", f"{M} WHERE p.born > 1985 AND r.w <= 3 RETURN r.w"),
    # of older Cypher, and subqueries
    (f"{P} WHERE size((p)-[:DXA]->()) > 1 RETURN p.name", f"{M} WITH p, count(*) AS c WHERE c > 1 RETURN p.name"),
    (
        "MATCH (m:DxM) WHERE exists { (p:DxP)-[:DXA]->(m) AND p.city = 'Oslo' } RETURN m.title",
        f"{M} WHERE p.city = 'Oslo' RETURN DISTINCT m.title",
    ),
    (
        f"{P} WHERE exists {{ (p)-[:DXA]->(:DxM {{year: 2005}}) OR (p)-[:DXA]->(:DxM {{score: 3.5}}) }} RETURN p.name",
        f"{M} WHERE m.year = 2005 OR m.score = 3.5 RETURN DISTINCT p.name",
    ),
    # quotes and comments
    (f"{P} WHERE p.name = \u2018Ann\u2019 RETURN p.city", f"{P} WHERE p.name = 'Ann' RETURN p.city"),
    ("-- all\nMATCH (p:\"DxP\") # b\nRETURN p.name AS 'Total'", f"{P} RETURN p.name"),
]  # fmt: skip


@pytest.fixture(scope="module")
def transaction(neo4j_uri: str) -> Iterator[Any]:
    """A transaction that sees the graph, and leaves nothing."""
    from neo4j import GraphDatabase

    with (
        GraphDatabase.driver(neo4j_uri, notifications_min_severity="OFF") as driver,
        driver.session() as session,
        session.begin_transaction() as open_transaction,
    ):
        open_transaction.run(GRAPH).consume()
        yield open_transaction
        open_transaction.rollback()


@pytest.mark.neo4j
@pytest.mark.parametrize(("foreign", "plain"), CASES)
def test_a_repaired_query_answers_as_plain_cypher(
    transaction: Any, foreign: str, plain: str
) -> None:
    repaired = repair_dialect(foreign)
    assert repaired.changed and all(step.applied for step in repaired.steps)
    found = [tuple(row.values()) for row in transaction.run(repaired.text)]
    wanted = [tuple(row.values()) for row in transaction.run(plain)]
    assert wanted
    if "ORDER BY" in foreign:
        assert found == wanted
    assert Counter(found) == Counter(wanted)


@pytest.mark.neo4j
def test_neo4j_refuses_each_as_it_was_written(neo4j_uri: str) -> None:
    from neo4j import GraphDatabase
    from neo4j.exceptions import Neo4jError

    with (
        GraphDatabase.driver(neo4j_uri, notifications_min_severity="OFF") as driver,
        driver.session() as session,
    ):
        for foreign, _ in CASES:
            with pytest.raises(Neo4jError):
                session.run("EXPLAIN " + foreign.removeprefix("-- all\n")).consume()
