"""The read-only check: every way to write is refused, and no read is."""

import pytest

from cypherforge.validators.readonly import check_read_only


def codes(query: str, **options: object) -> list[str]:
    return [finding.code for finding in check_read_only(query, **options)]  # type: ignore[arg-type]


# Field reports H14, H15, and everything else that only looks like a write.
READS = [
    "MATCH (n:Asset) RETURN n.created, n.offset",
    "MATCH (f:File) WHERE f.path = 'src/Load/Create.cs' RETURN f",
    "MATCH (n) WHERE n.delete = 1 RETURN n",
    "MATCH (n:Create)-[:SET]->(m:`DETACH DELETE`) RETURN n.remove AS merge, m {.set, create: 1}",
    "MATCH (set) WHERE set.drop IS NOT NULL RETURN set",
    "// CREATE (n)\nMATCH (n) /* DELETE n */ RETURN n",
    'MATCH (n) WHERE n.name = "x\' DETACH DELETE n //" RETURN n',
    "MATCH (n) WHERE n.text = 'it\\'s; DROP INDEX x' RETURN n",
    "MATCH (n) WHERE n.name = 'caf\\u00e9' RETURN n",
    "CALL db.labels() YIELD label RETURN label",
    "CALL db.labels",
    "MATCH (n) CALL { WITH n MATCH (n)-->(m) RETURN count(m) AS c } RETURN n, c",
    "MATCH (n) WHERE EXISTS { (n)-->(:Merge) } RETURN COUNT { (n)--() }",
    "RETURN date.truncate('month', date()), point.distance(point({x:1, y:2}), point({x:1, y:1}))",
    "RETURN apoc.text.join(['a', 'b'], ','), apoc.coll.sum([1])",
    "EXPLAIN MATCH (n) RETURN n",
    "SHOW INDEXES",
    "SHOW CONSTRAINTS YIELD name RETURN name",
    "MATCH (n) RETURN n.load AS csv, n.foreach",
]


@pytest.mark.parametrize("query", READS)
def test_a_read_passes(query: str) -> None:
    assert codes(query) == []


WRITES = [
    ("CREATE (n:A)", ["safety.create"]),
    ("MATCH (n) SET n.x = 1 RETURN n", ["safety.set"]),
    ("MATCH (n) REMOVE n.x", ["safety.remove"]),
    ("MERGE (n:A {x: 1}) RETURN n", ["safety.merge"]),
    ("MATCH (n) DELETE n", ["safety.delete"]),
    ("MATCH (n) DETACH/* */DELETE n", ["safety.delete"]),
    ("match (n) detach delete n", ["safety.delete"]),
    ("LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row", ["safety.load_csv"]),
    ("MATCH (n) FOREACH (x IN [1] | CREATE (:A))", ["safety.foreach"]),
    ("MATCH (n) CALL { CREATE (m:A) RETURN m } RETURN m", ["safety.write_in_subquery"]),
    ("CALL { MATCH (n) DELETE n } IN TRANSACTIONS OF 10 ROWS", ["safety.write_in_subquery"]),
    ("RETURN 1 AS x UNION MATCH (n) SET n.y = 2 RETURN 1 AS x", ["safety.set"]),
    ("CREATE INDEX FOR (n:A) ON (n.x)", ["safety.schema_command"]),
    ("DROP CONSTRAINT c", ["safety.schema_command"]),
    ("EXPLAIN CREATE (n)", ["safety.create"]),
    ("PROFILE MATCH (n) DELETE n", ["safety.delete"]),
    ("SHOW USERS", ["safety.admin_command"]),
    ("SHOW TRANSACTIONS", ["safety.admin_command"]),
    ("USE other MATCH (n) RETURN n", ["safety.use_graph"]),
]


@pytest.mark.parametrize(("query", "expected"), WRITES)
def test_a_write_is_refused_by_its_own_code(query: str, expected: list[str]) -> None:
    assert codes(query) == expected


# Field report H16: the planner says "read" of all of these.
CALLS = [
    "CALL apoc.load.json('file:///etc/passwd') YIELD value RETURN value",
    "CALL apoc . load . json('file:///etc/passwd') YIELD value RETURN value",
    "CALL apoc./* hidden */load.json('http://169.254.169.254/') YIELD value RETURN value",
    "CALL `apoc`.`load`.`json`('x') YIELD value RETURN value",
    "CALL apoc.cypher.run('CREATE (n)', {}) YIELD value RETURN value",
    "CALL apoc.cypher.runTimeboxed('MATCH (n) RETURN n', {}, 10) YIELD value RETURN value",
    "CALL apoc.export.csv.all('/tmp/x', {})",
    "CALL apoc.import.csv([], [], {})",
    "CALL apoc.periodic.iterate('MATCH (n) RETURN n', 'DELETE n', {})",
    "CALL dbms.listConfig() YIELD name RETURN name",
    "CALL dbms.components",
    "MATCH (n) CALL { CALL dbms.killQuery('1') YIELD queryId RETURN queryId } RETURN queryId",
]


@pytest.mark.parametrize("query", CALLS)
def test_a_procedure_that_is_not_known_to_read_is_refused(query: str) -> None:
    assert codes(query) == ["safety.procedure"]


def test_a_function_that_runs_cypher_is_refused() -> None:
    query = "RETURN apoc.cypher.runFirstColumnSingle('MATCH (n) DETACH DELETE n RETURN 1', {})"
    assert codes(query) == ["safety.function"]
    assert codes("RETURN genai.vector.encode('x', 'OpenAI', {})") == ["safety.function"]


def test_the_user_may_vouch_for_a_procedure() -> None:
    query = "CALL gds.graph.list() YIELD graphName RETURN graphName"
    assert codes(query) == ["safety.procedure"]
    assert codes(query, allow=["gds.graph.list"]) == []


# Neo4j 5 resolves \uXXXX before it cuts the text into tokens, Cypher 25 and Memgraph do not: whoever
# reads the other way sees another query.
ESCAPES = [
    r"MATCH (n) WHERE n.x = 'a\u0027 DETACH DELETE n //' RETURN n",
    r"MATCH (n) \u0044ELETE n",
    "RETURN 1 // \\u000a CREATE (n)",
    r"MATCH (n:`A\u0060) DETACH DELETE n //`) RETURN n",
    r"MATCH (n) WHERE n.x = 'a\u005c' RETURN n",
]


@pytest.mark.parametrize("query", ESCAPES)
def test_an_escape_that_hides_structure_is_refused(query: str) -> None:
    assert "safety.unicode_escape" in codes(query)


BROKEN_WRITES = [
    ("MATCH (n RETURN n CREATE (m)", "safety.create"),
    ("MATCH (n)) DETACH DELETE n", "safety.delete"),
    ("CALL apoc.load.json('x' YIELD value", "safety.procedure"),
    ("MATCH (n RETURN apoc.cypher.runFirstColumnMany('x', {})", "safety.function"),
    ("MATCH (n CALL { MERGE (m) }", "safety.write_in_subquery"),
    ("LOAD CSV FRM 'x' AS row", "safety.load_csv"),
    ("MATCH (n) RETURN n; MATCH (n) DELETE n", "safety.delete"),
]


@pytest.mark.parametrize(("query", "code"), BROKEN_WRITES)
def test_what_does_not_parse_is_judged_by_its_words(query: str, code: str) -> None:
    assert code in codes(query)


@pytest.mark.parametrize(
    "query", ["MATCH (n:Asset RETURN n.delete", "MATCH (n:Create {set: 1} RETURN n"]
)
def test_names_stay_names_where_nothing_parses(query: str) -> None:
    assert codes(query) == []


def test_a_finding_names_the_place() -> None:
    query = "MATCH (n)\nDETACH DELETE n"
    (finding,) = check_read_only(query)
    assert finding.span is not None
    assert query[finding.span[0] : finding.span[1]] == "DETACH DELETE n"
    assert (finding.severity, finding.category, finding.backend) == ("error", "safety", "readonly")
