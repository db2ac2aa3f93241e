"""The text under every node's span parses to an equal node."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cypherforge.cypher import ast, parse
from cypherforge.cypher.parser import (
    parse_clause,
    parse_expression,
    parse_label_expression,
    parse_pattern,
)

WRAPPERS: dict[type[ast.Node], tuple[str, str]] = {
    ast.Name: ("x.", ""),
    ast.MapEntry: ("{", "}"),
    ast.MapProjectionItem: ("x {", "}"),
    ast.NodePattern: ("", ""),
    ast.RelationshipPattern: ("()", "()"),
    ast.ParenthesizedPath: ("()", "()"),
    ast.ProjectionItem: ("RETURN ", ""),
    ast.SortItem: ("RETURN 1 ORDER BY ", ""),
    ast.GroupBy: ("RETURN 1 ", ""),
    ast.OrderBy: ("RETURN 1 ", ""),
    ast.Skip: ("RETURN 1 ", ""),
    ast.Limit: ("RETURN 1 ", ""),
    ast.Where: ("MATCH () ", ""),
    ast.Hint: ("MATCH () ", ""),
    ast.Search: ("MATCH () ", ""),
    ast.YieldItem: ("CALL p() YIELD ", ""),
    ast.LetItem: ("LET ", ""),
    ast.SetItem: ("SET ", ""),
    ast.MergeAction: ("MERGE () ", ""),
    ast.WhenBranch: ("WHEN true THEN RETURN 1 ", ""),
    ast.QueryOption: ("", " RETURN 1"),
    ast.CaseBranch: ("CASE ", " END"),
}
PATTERNS = (ast.NodePattern, ast.RelationshipPattern, ast.ParenthesizedPath)
EXPRESSIONS = (ast.Name, ast.MapEntry, ast.MapProjectionItem, ast.CaseBranch)
BODIES = (ast.SingleQuery, ast.Union, ast.Next, ast.When, ast.Command)


LITERAL_WORDS = ("true", "false", "null", "inf", "infinity", "nan")
"""May name a variable where one is declared, but alone they are values."""


def reparse(node: ast.Node, text: str, parent: ast.Node | None) -> ast.Node:
    """The node that ``text`` makes in the place of ``node``."""
    if isinstance(node, ast.StringPart):
        string = parse_expression(f"s'{text}'")
        return next(n for n in string.walk() if isinstance(n, ast.StringPart))
    if isinstance(node, ast.Expression):
        return parse_expression(text)
    if isinstance(node, ast.LabelExpression):
        return parse_label_expression(text)
    if isinstance(node, ast.PatternPart):
        return parse_pattern(text)
    if isinstance(node, ast.Clause):
        return parse_clause(text)
    if isinstance(node, (ast.Query, *BODIES)):
        if not is_short_form(node):
            read = parse(text, "cypher-25")
            return read if isinstance(node, ast.Query) else read.body
        subquery = parse_expression(f"COUNT {{{text}}}")
        return next(n for n in subquery.walk() if type(n) is type(node))
    if isinstance(node, ast.Quantifier):
        star = parse_pattern(f"()-->{text}()" if node.gql else f"()-[{text}]-()")
        return next(n for n in star.walk() if isinstance(n, ast.Quantifier))
    before, after = WRAPPERS[type(node)]
    if isinstance(node, ast.CaseBranch) and isinstance(parent, ast.Case) and parent.subject:
        before += "x "
    if isinstance(node, ast.QueryOption) and node.name not in ("EXPLAIN", "PROFILE"):
        before = "CYPHER "
    if isinstance(node, ast.WhenBranch) and node.predicate is not None:
        before = ""
    whole: ast.Node
    if isinstance(node, PATTERNS):
        whole = parse_pattern(before + text + after)
    elif isinstance(node, EXPRESSIONS):
        whole = parse_expression(before + text + after)
    elif isinstance(node, (ast.QueryOption, ast.WhenBranch)):
        whole = parse(before + text + after)
    else:
        whole = parse_clause(before + text + after)
    found = [n for n in whole.walk() if type(n) is type(node) and n.span[0] == len(before)]
    return found[0]


def is_short_form(node: ast.Node) -> bool:
    """The body of ``COUNT { (a)-->(b) }``, or its only clause: they have no keyword."""
    clause = node.clauses[0] if isinstance(node, ast.SingleQuery) else node
    return (
        isinstance(clause, ast.Match)
        and bool(clause.patterns)
        and (clause.span[0] == clause.patterns[0].span[0] or clause.mode is not None)
    )


def pairs(root: ast.Node) -> Iterator[tuple[ast.Node, ast.Node | None]]:
    """Nodes with their parents."""
    stack: list[tuple[ast.Node, ast.Node | None]] = [(root, None)]
    while stack:
        node, parent = stack.pop()
        yield node, parent
        stack.extend((child, node) for child in node.children())


def has_hole(node: ast.Node) -> bool:
    """Whether a CASE without its operand (``WHEN < 18``) is cut apart from its CASE."""
    return (
        not isinstance(node, (ast.Case, ast.CaseBranch))
        and any(isinstance(n, ast.CaseSubject) for n in node.children())
        or isinstance(node, ast.CaseSubject)
    )


def check_spans(text: str) -> int:
    """Check every node of a query; the number of nodes."""
    query = parse(text)
    count = 0
    for node, parent in pairs(query):
        start, end = node.span
        assert 0 <= start <= end <= len(text)
        if parent is not None and not isinstance(node, ast.CaseSubject):
            assert parent.span[0] <= start and end <= parent.span[1], (text, node, parent)
        if has_hole(node):
            continue
        if isinstance(node, ast.Match) and is_short_form(node):
            continue
        if isinstance(node, ast.Variable) and node.name.lower() in LITERAL_WORDS:
            continue
        assert reparse(node, text[start:end], parent) == node, (text, text[start:end], node)
        count += 1
    return count


QUERIES = [
    "MATCH (n:Person {name: 'x'})-[r:KNOWS*1..3]->(m:A&!B|%) WHERE n.a = 1 AND NOT m.b > 2 RETURN n",
    "MATCH p = ((a)-[:R]->(b) WHERE a.x < b.x){1,3} RETURN [x IN nodes(p) WHERE x:A|B | x.name]",
    "MATCH (a) RETURN (a.x + 1) * 2 AS `é``t`, -(1 - 2) ^ 2, (1 + 2), ((a.x)), [1, (2)][0..1][-1]",
    "WITH 1 AS x, 'é😀' AS y ORDER BY x DESC, y SKIP 1 LIMIT 2 WHERE x IN [1, 2] RETURN *, x",
    "MATCH (n) RETURN n {.*, .a, b: 1, n}, CASE n.x WHEN < 3, 5 THEN 1 ELSE 0 END, $p, $`q r`",
    (
        "MATCH (n) WHERE EXISTS { (n)-->(m) WHERE m.x = 1 } AND COUNT { MATCH (n) RETURN n } > 1"
        " RETURN COLLECT { MATCH (n)-->(k) RETURN k.name }"
    ),
    "CALL (n) { MATCH (n) RETURN 1 AS x UNION ALL RETURN 2 AS x } IN TRANSACTIONS OF 5 ROWS FINISH",
    (
        "UNWIND $rows AS row MERGE (n:A {id: row.id}) ON CREATE SET n += row.p, n:B:C SET n[$k] = 1"
        " REMOVE n.x, n:D DETACH DELETE n"
    ),
    "CYPHER 25 runtime=slotted EXPLAIN MATCH (n) LET x = n.a FILTER x > 1 RETURN x NEXT RETURN x",
    "CALL db.labels() YIELD label AS l WHERE l STARTS WITH 'A' RETURN all(x IN [1] WHERE x = 1)",
    (
        "RETURN reduce(a = 0, x IN [1] | a + x), trim(BOTH 'x' FROM 'y'), normalize('a', NFD),"
        " 1 IS :: INTEGER NOT NULL, 'a' IS NOT NFC NORMALIZED, n IS NULL, 1 < 2 <= 3"
    ),
    "MATCH (a), (b) WHERE (a)-[:R]->(b) RETURN shortestPath((a)-[*..5]-(b)), [(a)-->(c) | c.x]",
    "MATCH (n:A) USING INDEX n:A(x) WHERE n.x = 1 FOREACH (i IN [1] | SET n.y = i) RETURN count(*)",
    "WHEN true THEN RETURN 1 AS a ELSE RETURN 2 AS a",
    "SHOW INDEXES YIELD name AS n WHERE n = 'x' RETURN n",
    'RETURN /* ( */ 1 // )\n, \'\\u0041\', "q\\"", 0x1F, .5, 1e3, null, true, Infinity',
    "MATCH (n:Movie) SEARCH n IN (VECTOR INDEX i FOR [1] WHERE n.y = 1 LIMIT 5) SCORE AS s RETURN s",
    "CYPHER 25 MATCH (n) WITH n.a AS a, count(*) AS c GROUP BY n.a, a ORDER BY c WHERE c > 1 RETURN a",
    "CYPHER 25 MATCH (n) RETURN count(*) AS c GROUP BY () NEXT RETURN c GROUP BY ALL LIMIT 1",
    "FOR x IN [1] RETURN s'a\\{{x}b {s\"é😀{n.y + 'z'}\"}' AS y, vector([1], 1, INT8) AS v",
    "MATCH (match:Match)-[:IN]->(end:End {order: 1}) WHERE end.count > 1 RETURN match.return AS return",
]


@pytest.mark.parametrize("query", QUERIES)
def test_text_under_each_span_parses_to_an_equal_node(query: str) -> None:
    assert check_spans(query) > 3


@pytest.mark.shared
def test_spans_of_real_queries(shared: Path) -> None:
    lines = (shared / "data/text2cypher/neo4j_analysis.jsonl").read_text().splitlines()
    for line in lines[::60]:
        query = json.loads(line)
        if query["verdict"] != "syntax error":
            check_spans(query["query"])
    for line in (shared / "cases/modern_cypher.jsonl").read_text().splitlines():
        case = json.loads(line)
        if case["verdict"] == "valid":
            check_spans(case["query"])
