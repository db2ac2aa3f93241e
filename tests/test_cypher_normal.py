"""Normal forms, gold keys, and writing a tree back as text."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cypherforge.cypher import CypherSyntaxError, ast, gold_key, normal_form, parse, to_text
from cypherforge.cypher.edits import Edit, apply_edits
from cypherforge.cypher.names import quote_name, quote_string

EQUAL = [
    ("MATCH (n:P {name:'x'})-[:K]->(m) RETURN n.name", "match (a:P)-[r:K]->(b) where 'x' = a.name return a.name // c"),
    ("MATCH (a)-[:X]->(b)-[:Y]->(c) RETURN a", "MATCH (z)<-[:Y]-(y), (x)-[:X]->(y) RETURN x"),
    ("MATCH (a:A:B) WHERE a.x > 1 AND a.y < 2 RETURN a", "MATCH (a:B&A) WHERE 2 > a.y AND 1 < a.x RETURN a"),
    ("MATCH (n:A) RETURN n", "MATCH (n) WHERE n:A RETURN n"),
    ("MATCH (n WHERE n.x = 1) RETURN n", "MATCH (n {x: 1}) RETURN n"),
    ("MATCH ()-[r:R {x: 1}]->() RETURN r", "MATCH ()<-[s:R]-() WHERE s.x = 1 RETURN s"),
    ("MATCH (a)--(b) RETURN a, b", "MATCH (b)--(a) RETURN b, a"),
    ("MATCH (a)-[:R*1..3 {x: 1, y: 2}]->(b) RETURN a", "MATCH (b)<-[:R*..3 {y: 2, x: 1}]-(a) RETURN a"),
    ("MATCH (n) WHERE n.x IN [1, 2] OR n.y = 3 RETURN n", "MATCH (n) WHERE 3 = n.y OR n.x IN [2, 1] RETURN n"),
    ("MATCH (n) WHERE NOT n.x IS NULL RETURN n", "MATCH (n) WHERE n.x IS NOT NULL RETURN n"),
    ("MATCH (n) WHERE NOT n.x = 1 RETURN n", "MATCH (n) WHERE n.x <> 1 RETURN n"),
    ("MATCH (n) WHERE EXISTS { (n)-->(m) } RETURN n", "MATCH (n) WHERE (n)-->() RETURN n"),
    ("MATCH (n) WITH n, count(*) AS c ORDER BY c RETURN n", "MATCH (n) WITH count(*) AS k, n ORDER BY count(*) RETURN n"),
    ("MATCH (n) WITH n AS m RETURN m.x", "MATCH (n) WITH n RETURN n.x"),
    ("MATCH (n) RETURN n.x AS x ORDER BY x", "MATCH (m) RETURN m.x AS x ORDER BY m.x ASC"),
    ("MATCH (a)-->(b) MATCH (b)-->(c) RETURN c", "MATCH (y)-->(z) MATCH (x)-->(y) RETURN z"),
    ("MATCH (n) RETURN [x IN n.l WHERE x > 1 | x * 2]", "MATCH (n) RETURN [y IN n.l WHERE 1 < y | 2 * y]"),
    ("MATCH p = shortestPath((a:A)-[*]-(b:B)) RETURN a", "MATCH shortestPath((b:B)-[*]-(a:A)) RETURN a"),
    (
        "MATCH (n) CALL { WITH n MATCH (n)-->(m) RETURN count(m) AS c } RETURN n, c",
        "MATCH (n) CALL (n) { MATCH (x)<--(n) RETURN count(x) AS k } RETURN n, k",
    ),
    (
        "CALL { MATCH (n)-[:A]->(m) RETURN n UNION MATCH (n)<-[:B]-(m) RETURN n } RETURN n.x",
        "CALL { MATCH (x)<-[:B]-(y) RETURN x AS n UNION MATCH (k)-[:A]->() RETURN k AS n } RETURN n.x",
    ),
]  # fmt: skip
UNEQUAL = [
    ("MATCH (a)-->(b) RETURN a", "MATCH (a)-->(b) RETURN b"),
    ("MATCH (n) RETURN n.x, n.y", "MATCH (n) RETURN n.y, n.x"),
    ("MATCH (n) RETURN n.x AS a", "MATCH (n) RETURN n.x AS b"),
    ("MATCH (n) WHERE n.x = 'a' RETURN n", "MATCH (n) WHERE n.x = 'b' RETURN n"),
    ("MATCH (n) WHERE n.a = 'x' AND n.b = 'y' RETURN n", "MATCH (n) WHERE n.a = 'y' AND n.b = 'x' RETURN n"),
    ("MATCH (n) RETURN n ORDER BY n.x", "MATCH (n) RETURN n ORDER BY n.x DESC"),
    ("MATCH (n) WHERE n.x - n.y = 1 RETURN n", "MATCH (n) WHERE n.y - n.x = 1 RETURN n"),
    ("MATCH (n) RETURN count(n.x)", "MATCH (n) RETURN count(DISTINCT n.x)"),
    ("MATCH (a {x: 1})-->(b) RETURN a", "MATCH (a)-->(b {x: 1}) RETURN a"),
    ("MATCH (a:A)-->(b) RETURN a", "MATCH (a:A)-->(b)-->(c) RETURN a"),
    ("MATCH p = (a)-->(b) RETURN p", "MATCH p = (b)<--(a) RETURN p"),
    (
        "MATCH (m) WITH m, collect(m) AS l UNWIND l AS k RETURN m",
        "MATCH (m) WITH m, collect(m) AS l UNWIND l AS k RETURN k",
    ),
    (
        "MATCH (n) OPTIONAL MATCH (n)-->(m) WHERE m.x = 1 RETURN n",
        "MATCH (n) OPTIONAL MATCH (n)-->(m) WITH n, m WHERE m.x = 1 RETURN n",
    ),
    (
        "MATCH (n) CALL { MATCH (n)-->(m) RETURN count(m) AS c } RETURN c",
        "MATCH (n) CALL (n) { MATCH (n)-->(m) RETURN count(m) AS c } RETURN c",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_spellings_of_one_query_have_one_normal_form(one: str, other: str) -> None:
    assert normal_form(one, aliases=False) == normal_form(other, aliases=False)


@pytest.mark.parametrize(("one", "other"), UNEQUAL)
def test_queries_of_another_meaning_have_another(one: str, other: str) -> None:
    assert normal_form(one) != normal_form(other)


def test_a_gold_key_forgets_variables_literals_and_aliases_only() -> None:
    one = "MATCH (n:P {name: 'x'}) WHERE n.a IN ['x', 'y'] AND n.b = true RETURN n.x AS q LIMIT 3"
    other = "MATCH (m:P) WHERE m.b = false AND m.name = $n AND m.a IN ['k'] RETURN m.x LIMIT 10"
    assert gold_key(one) == gold_key(other.replace("['k']", "['k', 'l', 'm']"))
    assert gold_key(one) != gold_key(other)  # one value is an equality
    assert gold_key(one) != gold_key(one.replace(":P", ":Q"))
    assert gold_key(one) != gold_key(one.replace("n.x", "n.y"))
    assert gold_key("MATCH (n:P GROUP BY 'x'") == gold_key("MATCH (n:P  GROUP BY 'y'")
    with pytest.raises(CypherSyntaxError):
        normal_form("MATCH (n:P GROUP BY 'x'")


_HOPS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["A", "B"]), st.integers(0, 3)),
    min_size=1,
    max_size=4,
)


def _spelling(
    hops: list[tuple[int, str, int]], labels: dict[int, str], values: dict[int, int], seed: int
) -> str:
    """The same pattern and conditions, written one way of many."""
    rng = random.Random(seed)
    names = [f"x{i}" for i in rng.sample(range(50), 4)]
    rest = dict(labels)
    conditions = []
    inline: dict[int, str] = {}
    for place, value in values.items():
        if rng.random() < 0.5:
            inline[place] = f" {{v: {value}}}"
        else:
            sides = [f"{names[place]}.v", str(value)]
            rng.shuffle(sides)
            conditions.append(" = ".join(sides))

    def node(i: int) -> str:
        label = f":{rest.pop(i)}" if i in rest else ""
        return f"({names[i]}{label}{inline.pop(i, '')})"

    parts = []
    order = list(hops)
    rng.shuffle(order)
    for start, kind, end in order:
        if rng.random() < 0.5:
            parts.append(f"{node(start)}-[:{kind}]->{node(end)}")
        else:
            parts.append(f"{node(end)}<-[:{kind}]-{node(start)}")
    unseen = {*labels, *values} - {i for start, _, end in hops for i in (start, end)}
    parts += [node(i) for i in unseen]
    rng.shuffle(parts)
    rng.shuffle(conditions)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"MATCH {', '.join(parts)}{where} RETURN {names[hops[0][0]]}.v"


@given(
    _HOPS,
    st.dictionaries(st.integers(0, 3), st.sampled_from(["L", "M"])),
    st.dictionaries(st.integers(0, 3), st.integers(0, 2)),
    st.integers(0, 10**6),
)
@settings(max_examples=150)
def test_the_normal_form_does_not_depend_on_the_spelling(
    hops: list[tuple[int, str, int]], labels: dict[int, str], values: dict[int, int], seed: int
) -> None:
    forms = {normal_form(_spelling(hops, labels, values, seed + i)) for i in range(3)}
    assert len(forms) == 1


# ---------------------------------------------------------------- writing text

NAMES = st.one_of(
    st.sampled_from(["n", "Person", "ACTED_IN", "has part", "we`ird", "not", "count", "end", "é"]),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
)
SPAN = (0, 0)


def _leaf() -> st.SearchStrategy[ast.Expression]:
    return st.one_of(
        NAMES.map(lambda n: ast.Variable(SPAN, n)),
        st.integers(0, 10**20).map(lambda n: ast.IntegerLiteral(SPAN, n)),
        st.floats(min_value=0, allow_nan=False).map(lambda n: ast.FloatLiteral(SPAN, n)),
        st.text(max_size=6).map(lambda s: ast.StringLiteral(SPAN, s)),
        st.booleans().map(lambda b: ast.BooleanLiteral(SPAN, b)),
        st.just(ast.NullLiteral(SPAN)),
        NAMES.map(lambda n: ast.Parameter(SPAN, n)),
        st.just(ast.CountStar(SPAN)),
    )


def _grow(inner: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    ops = ["OR", "XOR", "AND", "=", "<>", "<", "IN", "STARTS WITH", "=~", "+", "-", "*", "^"]
    name = NAMES.map(lambda n: ast.Name(SPAN, n))
    variable = NAMES.map(lambda n: ast.Variable(SPAN, n))
    label = NAMES.map(lambda n: ast.LabelName(SPAN, n))
    return st.one_of(
        st.builds(lambda o, a, b: ast.Binary(SPAN, o, a, b), st.sampled_from(ops), inner, inner),
        st.builds(lambda a, b, c: ast.Comparison(SPAN, [a, b, c], ["<", "<="]), inner, inner, inner),
        st.builds(lambda o, a: ast.Unary(SPAN, o, a), st.sampled_from(["NOT", "-", "+"]), inner),
        st.builds(lambda a, n: ast.IsNull(SPAN, a, n), inner, st.booleans()),
        st.builds(lambda a, k: ast.PropertyAccess(SPAN, a, k), inner, name),
        st.builds(lambda a, b: ast.Index(SPAN, a, b), inner, inner),
        st.builds(lambda a, b: ast.Slice(SPAN, a, b, None), inner, inner),
        st.builds(lambda a, b: ast.ListLiteral(SPAN, [a, b]), inner, inner),
        st.builds(lambda k, v: ast.MapLiteral(SPAN, [ast.MapEntry(SPAN, k, v)]), name, inner),
        st.builds(
            lambda a, d: ast.FunctionCall(SPAN, "apoc.f", SPAN, [a], d), inner, st.booleans()
        ),
        st.builds(
            lambda v, a, b, c: ast.ListComprehension(SPAN, v, a, b, c), variable, inner, inner, inner
        ),
        st.builds(lambda v, a, b: ast.Quantified(SPAN, "any", v, a, b), variable, inner, inner),
        st.builds(lambda v, w, a, b, c: ast.Reduce(SPAN, v, a, w, b, c), variable, variable, inner, inner, inner),
        st.builds(lambda s, a, b: ast.Case(SPAN, s, [ast.CaseBranch(SPAN, [a], b)], None), inner, inner, inner),
        st.builds(lambda a, l: ast.LabelTest(SPAN, a, l), variable, label),
    )  # fmt: skip


EXPRESSIONS = st.recursive(_leaf(), _grow, max_leaves=8)


@given(EXPRESSIONS, NAMES, NAMES, st.sampled_from(["right", "left", "both"]))
@settings(max_examples=250)
def test_a_written_tree_parses_back(
    value: ast.Expression, name: str, label: str, direction: str
) -> None:
    left = ast.NodePattern(SPAN, ast.Variable(SPAN, name), ast.LabelName(SPAN, label))
    hop = ast.RelationshipPattern(SPAN, direction, None, ast.LabelName(SPAN, label))  # type: ignore[arg-type]
    part = ast.PatternPart(SPAN, [left, hop, ast.NodePattern(SPAN)])
    match = ast.Match(SPAN, False, [part], ast.Where(SPAN, value))
    item = ast.ProjectionItem(SPAN, value, ast.Variable(SPAN, name))
    body = ast.SingleQuery(SPAN, [match, ast.Return(SPAN, [item])])
    query = ast.Query(SPAN, [], body)
    text = to_text(query)
    assert parse(text) == query, text


WRITTEN = [
    "MATCH (n:A&(B|!C)) WHERE (n)-->(:%) OR NOT n.x = 1 RETURN n {.a, .*, b: 1} AS m",
    "MATCH p = ((a)-[r:R]->{1,3}(b) WHERE r.x < 2)+ (c)-[:S*2..]->() RETURN [x IN nodes(p) | x.y][..2]",
    "MATCH SHORTEST 2 PATH GROUPS (a)--(b) USING INDEX a:A(x) RETURN COUNT { (a)-->() } AS c",
    "UNWIND [1, 2] AS x CALL (x) { RETURN x AS y UNION ALL RETURN 2 AS y } RETURN y ORDER BY y DESC SKIP 1 LIMIT 2",
    "MATCH (n) SET n.x = 1, n += {y: 2}, n:A:B REMOVE n.z DETACH DELETE n",
    "MERGE (n:A {x: 1}) ON CREATE SET n.y = 2 ON MATCH SET n.z = 3",
    "LOAD CSV WITH HEADERS FROM 'f' AS row FIELDTERMINATOR ';' FOREACH (x IN [1] | CREATE (:A {x: x}))",
    "CALL db.labels() YIELD label AS l WHERE l <> 'x' RETURN l",
    "RETURN CASE 1 WHEN < 2, = 3 THEN 'a' ELSE normalize('b', NFD) END",
    "CYPHER 25 runtime=slotted EXPLAIN RETURN 1 NEXT RETURN 2",
    "RETURN 1.0e30, NaN, -Infinity, - -1, (-1) ^ 2, 2 ^ 3 ^ 4, (1 - 2) - (3 - 4), 'a''b'",
]  # fmt: skip


@pytest.mark.parametrize("text", WRITTEN[:-1])
def test_every_kind_of_clause_parses_back(text: str) -> None:
    query = parse(text)
    assert parse(to_text(query)) == query
    assert to_text(parse(to_text(query))) == to_text(query)


@pytest.mark.shared
def test_real_queries_parse_back_and_have_normal_forms(shared: Path) -> None:
    lines = (shared / "data/text2cypher/neo4j_analysis.jsonl").read_text(encoding="utf-8")
    for line in itertools.islice(lines.splitlines(), 0, None, 12):
        row = json.loads(line)
        if row["verdict"] != "valid":
            continue
        query = parse(row["query"])
        text = to_text(query)
        assert parse(text) == query
        assert normal_form(text) == normal_form(query)


# ---------------------------------------------------------------- names and edits


@given(st.text(min_size=1))
def test_any_name_and_any_string_survive_quoting(value: str) -> None:
    query = parse(f"MATCH (n:{quote_name(value)} {{{quote_name(value)}: {quote_string(value)}}})")
    node = query.body.clauses[0].patterns[0].elements[0]  # type: ignore[union-attr]
    assert node.labels.name == value
    assert node.properties.entries[0].key.name == value
    assert node.properties.entries[0].value.value == value


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("we`ird", "`we``ird`"),
        ("x`) DETACH DELETE n //", "`x``) DETACH DELETE n //`"),
        ("has part", "`has part`"),
        ("a\\u0060b", "`a\\u005cu0060b`"),
        ("NULL", "`NULL`"),
        ("Person", "Person"),
        ("1a", "`1a`"),
        ("", "``"),
    ],
)
def test_names_are_quoted_where_they_must_be(name: str, written: str) -> None:
    assert quote_name(name) == written


@given(
    st.text(max_size=30), st.lists(st.tuples(st.integers(0, 30), st.text(max_size=3)), max_size=5)
)
def test_edits_change_nothing_outside(source: str, places: list[tuple[int, str]]) -> None:
    cuts = sorted({min(p, len(source)) for p, _ in places})
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    edits = [Edit(a, b, text) for (a, b), (_, text) in zip(pairs, places, strict=False)]
    result = apply_edits(source, edits)
    kept = [
        source[a:b]
        for a, b in zip(
            [0, *(e.end for e in edits)], [*(e.start for e in edits), len(source)], strict=True
        )
    ]
    expected = "".join(
        itertools.chain(*itertools.zip_longest(kept, [e.text for e in edits], fillvalue=""))
    )
    assert result == expected


def test_overlapping_edits_are_refused() -> None:
    with pytest.raises(ValueError, match="overlaps"):
        apply_edits("abcdef", [Edit(0, 3, ""), Edit(2, 4, "")])
    with pytest.raises(ValueError, match="outside"):
        apply_edits("abc", [Edit(2, 5, "")])
