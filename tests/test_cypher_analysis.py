"""The analysis refuses what Neo4j 5.26 refuses, and nothing else.

The verdicts below were asked of a live Neo4j 5.26 by EXPLAIN.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from cypherforge.cypher import CypherSyntaxError, parse
from cypherforge.cypher.analysis import analyse
from cypherforge.graph.schema import Label, Pattern, Property, RelType, Schema

VALID = """
CREATE (n) WITH n MATCH (m) RETURN m
MATCH (n) CALL (n) { SET n.x = 1 }
CALL db.labels() YIELD label
RETURN 1 AS a, 2 AS b UNION RETURN 2 AS b, 3 AS a
MATCH (n) RETURN * UNION MATCH (n) RETURN n
MATCH (a)-[r]->(b)-[r]->(c) RETURN a
MATCH (a)-[r*]->(b) MATCH (c)-[r*]->(d) RETURN a
MATCH (a {x: b.y}), (b) RETURN a
CREATE (a {x: b.y}), (b)
CREATE (a:A), (a)-[:R]->(b)
MERGE (a)-[:R]-(b)
MERGE (a:A&B)
CREATE (a $p)
MATCH (n) RETURN *, 1 AS n
WITH * RETURN 1
MATCH (n) CALL { WITH * RETURN n.x AS y } RETURN y
MATCH (n) CALL { MATCH (n) RETURN n.x AS y } RETURN y
MATCH (n) CALL { WITH n MATCH (n)-->(k) RETURN k UNION WITH n MATCH (n)<--(k) RETURN k } RETURN k
MATCH (n) CALL (n) { WITH 1 AS k RETURN n.x AS y } RETURN y
MATCH (n), (m) CALL (*) { RETURN m.x AS y } RETURN y
MATCH (n) WHERE EXISTS { MATCH (n)-->(m) WITH m AS k WHERE n.x = 1 RETURN k } RETURN n
MATCH (n) RETURN COLLECT { MATCH (n)-->(m) RETURN m.x } AS x
MATCH (n) RETURN COUNT { UNWIND [1] AS m } AS x
MATCH (n) RETURN [n IN [1] | n] AS x
MATCH (a) WHERE exists((a)-->(:B {x: a.y})) RETURN a
MATCH (a) RETURN CASE WHEN (a)-->() THEN 1 END
MATCH (a) RETURN [x IN [1] WHERE (a)-->() | x]
MATCH (a) RETURN a.x AS y, a.x + count(*)
MATCH (a) RETURN a, a.x + count(*)
MATCH (a) RETURN a.x, {x: a.x, c: count(*)}
MATCH (a)-->(b) RETURN a['x'], a['x'] + count(b)
MATCH (a)-->(b) RETURN size([x IN collect(a) WHERE x.y = 1])
MATCH (a)-->(b) RETURN a.x AS y, count(b) AS c ORDER BY a.x + 1
MATCH (a)-->(b) RETURN a AS z, count(b) AS c ORDER BY a.y
MATCH (a)-->(b) RETURN DISTINCT toUpper(a.x) AS q ORDER BY size(toUpper(a.x))
MATCH (a)-->(b) WITH a.x AS y WHERE b.x = 1 RETURN y
MATCH (a)-->(b) WITH a.x AS y, count(*) AS c WHERE count(*) > 1 RETURN y
MATCH (a) RETURN a LIMIT toInteger('3')
MATCH (a) RETURN a LIMIT $x + 1
MATCH (n) FOREACH (x IN [n] | SET x.y = 1)
MATCH ()-[:A|:B]->() RETURN 1
MATCH ()-[:(A|B)*1..2]->() RETURN 1
MATCH ((a)-->(b) WHERE a.x = 1){1,3} RETURN [z IN a | z.x]
MATCH (z) MATCH (a) ((x)-->(b) WHERE x.y = z.y)+ (c) RETURN a
MATCH (a)-[r:R WHERE r.x = 1]->+(b) RETURN 1
MATCH (a), (b) RETURN shortestPath((a)-[*]-(b))
RETURN TOUPPER('a'), Date('2020-01-01'), DATE.TRUNCATE('day', date())
RETURN apoc.text.join(['a'], ',')
RETURN date() + duration('P1D') - duration('P1D')
RETURN 1 CONTAINS 'a', date() > 'a', 1 IN null, [1] + 1
MATCH (n) WHERE n.x RETURN n
MATCH (n)-[r]->() WITH coalesce(n, r) AS k RETURN labels(k)
WITH $p AS m MATCH (m)-->() RETURN 1
MATCH (n) WITH {a: n} AS m WITH m.a AS k MATCH (k)-->() RETURN 1
RETURN 9223372036854775807, -9223372036854775808
MATCH (n) RETURN n {.*}.x, n.x.y.z
MATCH (n) RETURN avg(duration.between(n.a, n.b)), duration.between(n.a, n.b).days
"""

INVALID = """
scope.undefined      m      MATCH (n) RETURN m
scope.undefined      r      MATCH (n)-[r]->() WITH n RETURN r
scope.undefined      x      RETURN [x IN [1,2] WHERE x > 1 | x] + x
scope.undefined      x      MATCH (n) WITH n.x AS x, x + 1 AS y RETURN y
scope.undefined      n      MATCH (n) CALL { RETURN n.x AS y } RETURN y
scope.undefined      m      MATCH (n), (m) CALL (n) { RETURN m.x AS y } RETURN y
scope.undefined      m      MATCH (n) FOREACH (x IN [1] | CREATE (m:M {x: x})) RETURN m
scope.declared       x      MATCH (x) UNWIND [2] AS x RETURN x
scope.declared       a      MATCH (a) CREATE (a:A)
scope.declared       p      MATCH (p) MATCH p=(b) RETURN p
scope.declared       n      MATCH (n) CALL db.labels() YIELD label AS n RETURN n
scope.created        a      CREATE (a {x: a.y})
scope.shadowed       n      MATCH (n) CALL (n) { UNWIND [1] AS n RETURN n AS y } RETURN y
scope.pattern        b      MATCH (a) WHERE (a)-->(b) RETURN a
scope.grouped        a      MATCH (a)-->(b) RETURN a.x AS y, count(b) AS c ORDER BY a.y
scope.grouped        b      MATCH (a)-->(b) WITH DISTINCT a.x AS y WHERE b.x = 1 RETURN y
scope.import         -      MATCH (n) CALL { WITH n AS m RETURN m.x AS y } RETURN y
type.conflict        n      MATCH (n)-[n]->() RETURN n
type.conflict        ns     MATCH (n) WITH collect(n) AS ns MATCH (ns)-->() RETURN 1
type.conflict        m      WITH 1 AS m MATCH (m)-->() RETURN 1
type.mismatch        n.x    MATCH (n) RETURN length(n.x)
type.mismatch        1 + 2  RETURN 1 + 2 AND 3
type.mismatch        true   RETURN 1 + true
type.mismatch        n      MATCH (n) WHERE n RETURN n
type.mismatch        r      MATCH ()-[r*]->() RETURN r.x
type.mismatch        n      MATCH (n) RETURN startNode(n)
type.mismatch        'abc'  RETURN 1 IN 'abc'
type.mismatch        1      RETURN date() + 1
type.point           -      RETURN point({address: 'a'})
aggregation.place    count(n)       MATCH (n) WHERE count(n) > 1 RETURN n
aggregation.place    count(a)       MATCH (a)-->(b) RETURN [x IN [1] | count(a)]
aggregation.nested   count(count(a))  MATCH (a) RETURN count(count(a))
aggregation.random   rand()         MATCH (a) RETURN sum(rand())
aggregation.grouping a.x            MATCH (a) RETURN a.x + count(*)
aggregation.grouping b.y            MATCH (a)-->(b) RETURN size([x IN collect(a) WHERE x.y = b.y])
aggregation.order    count(b)       MATCH (a)-->(b) RETURN a.x ORDER BY count(b)
projection.alias     n.x    MATCH (n) WITH n.x RETURN 1
projection.alias     n.x    MATCH (n) CALL (n) { RETURN n.x } RETURN 1
projection.columns   n.y AS a  MATCH (n) RETURN n.x AS a, n.y AS a
projection.columns   n {.x}  MATCH (n) RETURN n, n {.x}
projection.star      -      RETURN *
projection.page      n      MATCH (n) RETURN n LIMIT n.x
projection.page      -1     MATCH (n) RETURN n LIMIT -1
projection.page      1.0    MATCH (n) RETURN n LIMIT 1.0
projection.collect   -      MATCH (n) RETURN COLLECT { MATCH (n)-->(m) RETURN m, 1 AS k } AS x
union.columns        -      RETURN 1 AS a UNION RETURN 2 AS b
union.mixed          -      RETURN 1 AS a UNION RETURN 2 AS a UNION ALL RETURN 3 AS a
clause.end           -      MATCH (n)
clause.end           -      MATCH (n) CALL (n) { RETURN 1 AS x }
clause.order         -      CREATE (n) MATCH (m) RETURN m
clause.order         -      MATCH (n) RETURN n MATCH (m) RETURN m
clause.write         -      MATCH (n) WHERE EXISTS { CREATE (m) } RETURN n
clause.foreach       -      MATCH (n) FOREACH (x IN [1] | MATCH (m) SET m.x = 1)
clause.delete        -      MATCH (n) DELETE n:Person
pattern.place        (a)-->()  MATCH (a) RETURN (a)-->()
pattern.place        -      MATCH (n) RETURN size((n)-->())
pattern.bound        -      MATCH (a) CREATE (a:A)-[:R]->(b)
pattern.direction    -      CREATE (a)-[:R]-(b)
pattern.types        -      CREATE (a)-->(b)
pattern.types        A&B    MATCH ()-[:A&B*1..2]->() RETURN 1
pattern.labels       A:B|C  MATCH (n:A:B|C) RETURN n
pattern.parameter    $p     MATCH (n $p) RETURN n
pattern.quantifier   -      MATCH ((a)-->(b)-->*(c)){2} RETURN a
pattern.quantifier   {2,1}  MATCH ()-->{2,1}() RETURN 1
pattern.juxtaposed   -      MATCH (a)(b) RETURN a
pattern.shortest     -      MATCH p = shortestPath((a)-->(b)-->(c)) RETURN p
pattern.selector     -      MATCH p = SHORTEST 1 (a)-->+(b), q = (c)-->(d) RETURN p
function.unknown     foo    RETURN foo(1)
function.arity       -      RETURN substring('a')
function.arity       -      RETURN all(x IN [1])
function.distinct    -      RETURN toUpper(DISTINCT 'a')
procedure.arguments  -      CALL db.labels(1) YIELD label RETURN label
procedure.yield      foo    CALL db.labels() YIELD foo RETURN foo
procedure.yield      -      MATCH (n) CALL db.labels() RETURN 1
literal.range        -      RETURN 9223372036854775808
literal.range        1e309  RETURN 1e309
dialect.operator     !=     MATCH (n) WHERE n.x != 1 RETURN n
dialect.parameter    {p}    MATCH (n) WHERE n.x = {p} RETURN n
dialect.exists       -      MATCH (n) WHERE exists(n.x) RETURN n
dialect.version      -      MATCH (n) FILTER n.x = 1 RETURN n
"""


def lines(text: str) -> list[str]:
    return text.strip().split("\n")


@pytest.mark.parametrize("query", lines(VALID))
def test_nothing_is_found_in_a_valid_query(query: str) -> None:
    assert analyse(query) == []


@pytest.mark.parametrize("line", lines(INVALID))
def test_a_fault_is_found_in_its_place(line: str) -> None:
    code, rest = line.split(maxsplit=1)
    start = min(
        place
        for word in ("MATCH", "CREATE", "RETURN", "WITH 1", "CALL db")
        if (place := rest.find(word)) >= 0
    )
    token, query = rest[:start].strip(), rest[start:]
    findings = analyse(query)
    assert code in [finding.code for finding in findings]
    finding = next(f for f in findings if f.code == code)
    assert finding.severity == "error" and finding.message
    if token != "-":
        assert query[finding.span[0] : finding.span[1]] == token


def test_suggestions_are_what_to_write() -> None:
    suggestions = {
        "MATCH (n) RETURN size((n)-->())": "COUNT { (n)-->() }",
        "MATCH (n) WHERE n.x != 1 RETURN n": "<>",
        "MATCH (n) WHERE exists(n.x) RETURN n": "n.x IS NOT NULL",
        "MATCH (n) WHERE n.x = {p} RETURN n": "$p",
        "RETURN toInt('1')": "use toInteger",
    }
    for query, suggestion in suggestions.items():
        assert [f.suggestion for f in analyse(query)] == [suggestion]


def test_cypher_25_by_dialect_or_prefix() -> None:
    query = "MATCH (n) LET x = n.a FILTER x > 1 RETURN x NEXT RETURN x + 1 AS y"
    assert {f.code for f in analyse(query)} == {"dialect.version"}
    assert analyse(query, "cypher-25") == []
    assert analyse("CYPHER 25 " + query) == []
    assert analyse("CREATE (n) MATCH (m) RETURN m", "cypher-25") == []


VALID_25 = """
MATCH (n) RETURN n.a, count(*) GROUP BY n.a
MATCH (n) RETURN n.a AS a, count(*) AS c GROUP BY a ORDER BY n.a
MATCH (n) RETURN n.a AS a, count(*) AS c GROUP BY n.a, n.b ORDER BY n.b
MATCH (n) RETURN n.a + n.b AS b, count(*) AS c GROUP BY n.a, n.b
MATCH (n) RETURN n.b AS b, count(*) AS c GROUP BY n
MATCH (n) RETURN n.a AS a, n.a + count(*) AS c GROUP BY a
MATCH (n) RETURN size(n.list) AS s, n.a AS a GROUP BY n.list, n.a
MATCH (n) RETURN *, count(*) AS c GROUP BY ALL
MATCH (n) RETURN * GROUP BY n
MATCH (n) RETURN count(*) AS c GROUP BY ()
MATCH (n) WITH n.a AS a, count(*) AS c GROUP BY a ORDER BY c LIMIT 3 WHERE c > 1 RETURN a
MATCH (n) CALL (n) { RETURN n.a AS x GROUP BY x } RETURN x
FOR x IN [1, 2, 3] FOR y IN [x] RETURN x + y AS z
RETURN s'abc {1+2} {"x"} {s"q{1}"} \\{ \\}' AS x
MATCH (n) WHERE n.name = s'a{n.x}' RETURN n
RETURN vector_distance(vector([1], 1, INT), vector([2], 1, INTEGER8), COSINE) AS d
RETURN vector_norm(vector([1, 2], 2, SIGNED INTEGER NOT NULL), EUCLIDEAN) AS d
RETURN [1, 2] :: VECTOR(2, INT) AS x
MATCH (n) WHERE n IS NOT A AND property_exists(n, name) RETURN n
UNWIND [1] AS x CALL (x) { CREATE ({a: x}) } IN 2 CONCURRENT TRANSACTIONS OF 2 ROWS DISJOINT BY AUTO
"""

INVALID_25 = """
aggregation.grouping  n.b       MATCH (n) RETURN n.a AS a, n.b AS b GROUP BY n.a
aggregation.grouping  n.b       MATCH (n) RETURN n.b AS b, count(*) AS c GROUP BY n.a
aggregation.grouping  n.a       MATCH (n) RETURN n.a, count(*) GROUP BY ()
aggregation.grouping  c         MATCH (n) RETURN count(*) AS c GROUP BY c
aggregation.place     count(*)  MATCH (n) RETURN n.a AS a, count(*) AS c GROUP BY a, count(*)
scope.undefined       x         MATCH (n) RETURN n.a AS a, count(*) AS c GROUP BY a, x
scope.grouped         n         MATCH (n) RETURN n.a AS a, count(*) AS c GROUP BY a ORDER BY n.b
scope.undefined       x         FOR x IN x RETURN x
scope.declared        x         MATCH (x) FOR x IN [1] RETURN x
scope.undefined       MATCH     RETURN s'a{ MATCH }b' AS x
type.word             STRING    RETURN vector([1, 2], 2, STRING) AS d
type.word             $t        RETURN vector([1, 2], 2, $t) AS d
"""


@pytest.mark.parametrize("query", lines(VALID_25))
def test_what_only_cypher_25_has(query: str) -> None:
    """As EXPLAIN on 2026.08 has it; Cypher 5 refuses it, by the parser or by the analysis."""
    assert analyse(query, "cypher-25") == []
    assert analyse("CYPHER 25 " + query) == []
    if "IS NOT A" not in query and "DISJOINT" not in query and ":: VECTOR" not in query:
        assert refuses(query)


@pytest.mark.parametrize("line", lines(INVALID_25))
def test_faults_in_what_only_cypher_25_has(line: str) -> None:
    code, token, query = line.split(maxsplit=2)
    found = analyse(query, "cypher-25")
    assert [(f.code, query[f.span[0] : f.span[1]]) for f in found][:1] == [(code, token)]


@pytest.mark.parametrize("text", ["s'a } d'", "s'a { d'", "s 'a'", "s'a {}'", "s'it''s {1}'"])
def test_broken_interpolated_strings(text: str) -> None:
    with pytest.raises(CypherSyntaxError):
        parse(f"CYPHER 25 RETURN {text} AS x")


def test_group_by_is_cypher_only_in_cypher_25() -> None:
    query = "MATCH (n) RETURN n.a, count(*) GROUP BY n.a"
    with pytest.raises(CypherSyntaxError, match="GROUP"):
        parse(query)
    with pytest.raises(CypherSyntaxError, match="GROUP"):
        parse("CYPHER 5 " + query, "cypher-25")


SCHEMA = Schema.build(
    labels=[
        Label("Person", (Property("name"),)),
        Label("Movie", (Property("released", "INTEGER"),)),
    ],
    types=[RelType("ACTED_IN")],
    patterns=[Pattern("Person", "ACTED_IN", "Movie")],
)


def test_a_schema_adds_warnings_of_what_does_not_fit_it() -> None:
    query = "MATCH (p:Person)<-[:ACTED_IN]-(m:Movie) WHERE m.released = '1999' RETURN p.nme, q"
    found = analyse(query, schema=SCHEMA)
    assert [(f.severity, f.code, f.suggestion) for f in found] == [
        ("warning", "direction.reversed", "-[:ACTED_IN]->"),
        ("warning", "filter.literal_type", "1999"),
        ("warning", "schema.property", "name"),
        ("error", "scope.undefined", None),
    ]
    names = analyse("MATCH (:Persn)-[:ACTEDIN]->(m) RETURN m", schema=SCHEMA)
    assert [(f.code, f.suggestion) for f in names] == [
        ("schema.label", "Person"),
        ("schema.type", "ACTED_IN"),
    ]
    assert analyse("MATCH (p:Person)-[:ACTED_IN]->(m) RETURN m.released", schema=SCHEMA) == []
    assert analyse("MATCH (p:Persn) RETURN p", schema=Schema.build()) == []


def test_a_comparison_with_null_is_warned_of() -> None:
    (found,) = analyse("MATCH (n) WHERE n.x = null RETURN n")
    assert (found.severity, found.code, found.suggestion) == (
        "warning",
        "literal.null",
        "n.x IS NULL",
    )


def test_findings_come_in_the_order_of_the_text() -> None:
    findings = analyse("MATCH (n) WHERE a.x = 1 AND count(n) > 1 RETURN b, foo(n)")
    assert [f.code for f in findings] == [
        "scope.undefined",
        "aggregation.place",
        "scope.undefined",
        "function.unknown",
    ]


def test_long_and_deep_queries_are_looked_at_without_recursion_errors() -> None:
    chain = " AND ".join(f"n.p{i} = {i}" for i in range(5_000))
    assert analyse(f"MATCH (n) WHERE {chain} AND m.x = 1 RETURN n")[0].code == "scope.undefined"
    assert analyse("MATCH (n) RETURN " + "(" * 100 + "n" + ")" * 100) == []
    analyse("RETURN " + "- " * 9_000 + "1")


# ---------------------------------------------------------------- real queries


def refuses(query: str) -> list[str]:
    try:
        return [f.code for f in analyse(parse(query)) if f.severity == "error"]
    except CypherSyntaxError:
        return ["syntax"]


@pytest.mark.shared
def test_verdicts_of_neo4js_analysis(shared: Path) -> None:
    text = (shared / "data/text2cypher/neo4j_analysis.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.split("\n") if line]
    stricter: list[str] = []
    looser: list[str] = []
    for row in rows:
        codes = refuses(row["query"])
        if codes and row["verdict"] == "valid":
            stricter += codes
        elif not codes and row["verdict"] != "valid":
            looser.append(str(row["messages"]))
    # The file's analysis knows neither the functions of a database nor its rule about aggregates
    # in ORDER BY; EXPLAIN on 5.26 refuses every one of these.
    assert set(stricter) <= {"function.unknown", "aggregation.order"} and len(stricter) == 18
    # It was given no parameters; a query may have some.
    assert looser == ["['Parameter $born is not defined.']"]


@pytest.mark.shared
def test_verdicts_of_the_modern_cases(shared: Path) -> None:
    for line in (shared / "cases/modern_cypher.jsonl").read_text(encoding="utf-8").split("\n"):
        case = json.loads(line) if line else {"verdict": "valid", "query": "RETURN 1", "name": ""}
        if case.get("since") == 25:
            case["query"] = "CYPHER 25 " + case["query"]
        if case["name"] == "map_proj":
            # Its variable `other` is declared nowhere: well-formed, but refused by any database.
            assert refuses(case["query"]) == ["scope.undefined"]
            continue
        assert bool(refuses(case["query"])) == (case["verdict"] != "valid"), case["name"]


@pytest.mark.shared
def test_compile_time_verdicts_of_the_conformance_kit(shared: Path) -> None:
    text = (shared / "data/opencypher-tck/scenarios.jsonl").read_text(encoding="utf-8")
    differing: list[tuple[str, str]] = []
    for line in filter(None, text.split("\n")):
        scenario: dict[str, Any] = json.loads(line)
        if scenario["outline"]:
            continue
        error = scenario["error"] or {}
        expected = error.get("phase") == "compile time"
        if bool(refuses(scenario["query"])) != expected:
            differing.append((scenario["feature"], error.get("detail", "")))
    # The kit's test procedures are nowhere registered, so their arguments are not known.
    procedures = [d for f, d in differing if f.startswith("clauses/call/")]
    assert len(procedures) == 9
    # Neo4j accepts both: a relationship used twice, and grouping by what is returned.
    assert sorted(d for f, d in differing if not f.startswith("clauses/call/")) == [
        "AmbiguousAggregationExpression",
        "RelationshipUniquenessViolation",
    ]


@pytest.mark.neo4j
def test_verdicts_of_a_live_database(neo4j_uri: str) -> None:
    from neo4j import GraphDatabase
    from neo4j.exceptions import Neo4jError

    queries = [(q, True) for q in lines(VALID)]
    for line in lines(INVALID):
        rest = line.split(maxsplit=1)[1]
        words = ("MATCH", "CREATE", "RETURN", "WITH 1", "CALL db")
        queries.append((rest[min(p for w in words if (p := rest.find(w)) >= 0) :], False))
    with GraphDatabase.driver(neo4j_uri, notifications_min_severity="OFF") as driver:
        for query, valid in queries:
            try:
                with driver.session() as session:
                    session.run("EXPLAIN " + query).consume()
                accepted = True
            except Neo4jError:
                accepted = False
            assert accepted == valid, query
