"""Shapes: equal for queries that differ in writing only, unequal where the pattern differs."""

from __future__ import annotations

import itertools
import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cypherforge.cypher import parse, shape_of
from cypherforge.cypher.canonical import canonical

Edge = tuple[int, int, bool]

EQUAL_MATCH = [
    ("MATCH (a)-->(b) RETURN a", "MATCH (x:X)-[r:R]->(y:Y {z: 1}) RETURN y"),
    ("MATCH (a)-->(b) RETURN a", "MATCH (a)<--(b) RETURN a"),
    ("MATCH (a)-->(b)-->(c) RETURN a", "MATCH (c)<--(b)<--(a) RETURN a"),
    ("MATCH (a)-->(b)-->(c) RETURN a", "MATCH (b)-->(c), (a)-->(b) RETURN a"),
    ("MATCH (a)--(b) RETURN a", "MATCH (b)--(a) RETURN a"),
    ("MATCH (a)-->()<--(b) RETURN a", "MATCH (b)-->(x), (a)-->(x) RETURN a"),
    ("MATCH (a)-[*1..3]->(b) RETURN a", "MATCH (b)<-[*..3]-(a) RETURN a"),
    ("MATCH (a)-[*2]->(b) RETURN a", "MATCH (a)-[*2..2]->(b) RETURN a"),
    ("MATCH (a)-->(b) MATCH (b)-->(c) RETURN a", "MATCH (b)-->(c) MATCH (a)-->(b) RETURN a"),
    ("MATCH (a) WHERE (a)-->() RETURN a", "MATCH (a) WHERE EXISTS { MATCH (a)-->(x) } RETURN a"),
    ("MATCH (a)-->(b) WITH a MATCH (a)-->(c) RETURN c", "MATCH (a)-->(b) WITH a AS z MATCH (c)<--(z) RETURN z"),
    ("MATCH shortestPath((a)-[*]->(b)) RETURN a", "MATCH p = shortestPath((b)<-[*]-(a)) RETURN a"),
    ("MATCH (a) ((x)-->(y))+ (b) RETURN a", "MATCH (b) ((y)<--(x))+ (a) RETURN a"),
    (
        "CALL { MATCH (n)-->(a) RETURN n UNION MATCH (n)<--(b) RETURN n } RETURN n",
        "CALL { MATCH (x)-->(n) RETURN n UNION MATCH (n)-->(x) RETURN n } RETURN n",
    ),
]  # fmt: skip
UNEQUAL_MATCH = [
    ("MATCH (a)-->(b) RETURN a", "MATCH (a)--(b) RETURN a"),
    ("MATCH (a)-->(b) RETURN a", "MATCH (a)-->(a) RETURN a"),
    ("MATCH (a)-->(b)-->(c) RETURN a", "MATCH (a)-->(b)<--(c) RETURN a"),
    ("MATCH (a)-->(b)<--(c) RETURN a", "MATCH (a)<--(b)-->(c) RETURN a"),
    ("MATCH (a)-->(b), (b)-->(c) RETURN a", "MATCH (a)-->(b), (d)-->(c) RETURN a"),
    ("MATCH (a)-->(b) RETURN a", "MATCH (a)-[*]->(b) RETURN a"),
    ("MATCH (a)-[*1..2]->(b) RETURN a", "MATCH (a)-[*1..3]->(b) RETURN a"),
    ("MATCH (a) MATCH (a)-->(b) RETURN a", "MATCH (a) OPTIONAL MATCH (a)-->(b) RETURN a"),
    ("MATCH (a)-->(b), (b)-->(c) RETURN a", "MATCH (a)-->(b) MATCH (b)-->(c) RETURN a"),
    ("MATCH (a)-->(b) MATCH (a)-->(c) RETURN a", "MATCH (a)-->(b) WITH a MATCH (a)-->(c) RETURN a"),
    ("MATCH (a)-->(b) WITH a MATCH (a)-->(c) RETURN a", "MATCH (a)-->(b) WITH b MATCH (b)-->(c) RETURN b"),
    ("MATCH (a)-->(b) WITH a AS b MATCH (b)-->(c) RETURN c", "MATCH (a)-->(b) WITH b MATCH (b)-->(c) RETURN c"),
    ("MATCH (a) WHERE (a)-->() RETURN a", "MATCH (a) WHERE NOT (a)-->() RETURN a"),
    ("MATCH (a) WHERE (a)-->() RETURN a", "MATCH (a)-->() RETURN a"),
    ("MATCH (a) WHERE (a)-->() RETURN a", "MATCH (a) WHERE COUNT { (a)-->() } > 0 RETURN a"),
    ("MATCH (a)-[*]->(b) RETURN a", "MATCH shortestPath((a)-[*]->(b)) RETURN a"),
    ("MATCH (a)-[r]->(b), (c)-[r]->(d) RETURN a", "MATCH (a)-[r]->(b), (c)-[s]->(d) RETURN a"),
    (
        "CALL { MATCH (n)-->(a) RETURN n UNION MATCH (n)<--(b) RETURN n } RETURN n",
        "CALL { MATCH (n)-->(a) RETURN n UNION MATCH (n)-->(b) RETURN n } RETURN n",
    ),
]  # fmt: skip
RETURNS = {
    "MATCH (n) RETURN n": "entity",
    "MATCH ()-[r]->() RETURN r": "entity",
    "MATCH (n) WITH n AS m RETURN m": "entity",
    "MATCH (n) RETURN n.a, n.b": "property",
    "MATCH (n) WITH n.a AS x RETURN x": "property",
    "MATCH (n) UNWIND n.names AS x RETURN x": "property",
    "MATCH (n) RETURN count(n)": "count",
    "MATCH (n) RETURN count(*) AS c": "count",
    "MATCH (n) WITH count(DISTINCT n) AS c RETURN c": "count",
    "MATCH (n) RETURN avg(n.x)": "aggregate",
    "MATCH (n) RETURN round(avg(n.x) * 2)": "aggregate",
    "MATCH (n) RETURN collect(n.x)": "list",
    "MATCH (n) RETURN labels(n)": "list",
    "MATCH (n) RETURN n.a > 3 AS old": "boolean",
    "RETURN EXISTS { MATCH (n) } AS e": "boolean",
    "MATCH p = (a)-->(b) RETURN p": "path",
    "MATCH (n) RETURN n {.a}": "map",
    "MATCH (n) RETURN n.a - n.b": "value",
    "MATCH (n)-->(m) RETURN n.a, count(m)": "mixed(count, property)",
    "MATCH (n) SET n.x = 1": "nothing",
}
OPERATORS = {
    "MATCH (n {a: 1}) RETURN n": {"filter: equal"},
    "MATCH (n) WHERE n.a = 1 RETURN n": {"filter: equal"},
    "MATCH (n) WHERE 1 < n.a AND n.b IS NOT NULL RETURN n": {"filter: compare", "filter: not null"},
    "MATCH (n) WHERE n.a = 1 OR n.a = 2 RETURN n": {"filter: equal", "or"},
    "MATCH (n) WHERE NOT n.a CONTAINS 'x' RETURN n": {"filter: text", "not"},
    "MATCH (n) WHERE toLower(n.a) = 'x' RETURN n": {"filter: equal", "string function"},
    "MATCH (n) WHERE n.d.year = 1999 RETURN n": {"filter: equal", "temporal function"},
    "MATCH (n) RETURN DISTINCT n ORDER BY n.a LIMIT 3": {"distinct", "sort", "limit"},
    "MATCH (n) RETURN n.a, count(DISTINCT n.b)": {"aggregation", "grouping", "distinct aggregation"},
    "MATCH (n) RETURN count(*)": {"aggregation"},
    "MATCH (n)--(m) WITH n, count(m) AS c WHERE c > 2 RETURN n": {"aggregation", "grouping", "having", "filter: compare"},
    "MATCH (n) RETURN n UNION MATCH (n) RETURN n": {"union"},
    "MATCH (n) CALL (n) { MATCH (n)--(m) RETURN m } RETURN m": {"subquery"},
    "MATCH (n) RETURN n.a = 3 AS x": {"comparison"},
}  # fmt: skip


@pytest.mark.parametrize(("one", "other"), EQUAL_MATCH)
def test_writing_does_not_change_the_shape(one: str, other: str) -> None:
    assert shape_of(one).match == shape_of(other).match


@pytest.mark.parametrize(("one", "other"), UNEQUAL_MATCH)
def test_another_pattern_is_another_shape(one: str, other: str) -> None:
    assert shape_of(one).match != shape_of(other).match


@pytest.mark.parametrize(("query", "kind"), RETURNS.items())
def test_the_kind_of_answer(query: str, kind: str) -> None:
    assert shape_of(query).returns == kind


@pytest.mark.parametrize(("query", "names"), OPERATORS.items())
def test_the_operator_set(query: str, names: set[str]) -> None:
    assert shape_of(query).operators == names


def _isomorphic(one: list[Edge], other: list[Edge], size: int) -> bool:
    """By trying every renaming: the reference that the canonical form is tested against."""

    def key(edges: list[Edge], names: tuple[int, ...]) -> list[tuple[int, int, bool]]:
        moved = [(names[a], names[b], d) for a, b, d in edges]
        return sorted((a, b, d) if d else (min(a, b), max(a, b), d) for a, b, d in moved)

    target = key(other, tuple(range(size)))
    return any(key(one, names) == target for names in itertools.permutations(range(size)))


def _write(edges: list[Edge], size: int, rng: random.Random) -> str:
    """One of the many ways to write a pattern graph: names, directions, order, chains."""
    names = [f"v{i}" for i in rng.sample(range(100), size)]
    parts = [f"({name})" for name in names]
    for start, end, directed in edges:
        left, right, arrow = names[start], names[end], "-->" if directed else "--"
        if rng.random() < 0.5:
            left, right, arrow = right, left, "<--" if directed else "--"
        chained = [i for i, part in enumerate(parts) if part.endswith(f"({left})")]
        if chained and rng.random() < 0.7:
            parts[rng.choice(chained)] += f"{arrow}({right})"
        else:
            parts.append(f"({left}){arrow}({right})")
    rng.shuffle(parts)
    return f"MATCH {', '.join(parts)} RETURN 1"


_edges = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), max_size=4)


@given(_edges, _edges, st.randoms(use_true_random=False))
def test_equal_exactly_if_the_graphs_are_isomorphic(
    one: list[Edge], other: list[Edge], rng: random.Random
) -> None:
    first = shape_of(_write(one, 4, rng))
    assert first == shape_of(_write(one, 4, rng))
    same = first == shape_of(_write(other, 4, rng))
    assert same == _isomorphic(one, other, 4)


PATTERNS_OF_30 = {
    "star": [(0, i) for i in range(1, 30)],
    "path": [(i, i + 1) for i in range(29)],
    "cycle": [(i, (i + 1) % 30) for i in range(30)],
    "pairs": [(2 * i, 2 * i + 1) for i in range(15)],
    "triangles": [(3 * k + i, 3 * k + (i + 1) % 3) for k in range(10) for i in range(3)],
    "complete": [(i, j) for i in range(30) for j in range(30) if i != j],
    "torus": [(5 * r + c, 5 * r + (c + 1) % 5) for r in range(6) for c in range(5)]
    + [(5 * r + c, 5 * ((r + 1) % 6) + c) for r in range(6) for c in range(5)],
}


@pytest.mark.parametrize("edges", PATTERNS_OF_30.values(), ids=PATTERNS_OF_30)
def test_large_symmetric_patterns_stay_fast_and_canonical(edges: list[tuple[int, int]]) -> None:
    rng = random.Random(7)
    start = time.process_time()
    forms = set()
    for _ in range(3):
        names = rng.sample(range(30), 30)
        moved = [("e", (names[a], names[b])) for a, b in edges]
        rng.shuffle(moved)
        forms.add(canonical(("",) * 30, tuple(moved))[1])
    assert len(forms) == 1
    assert time.process_time() - start < 3


def test_shapes_are_hashable_and_ignore_the_spelling() -> None:
    one = "match (a:A {x: 1})-->(b) where b.y>2 and a.z<3 return a.q"
    other = "MATCH (m)<--(n:B)\nWHERE n.z < 7 AND 9 < m.y AND n.x = 'k' // c\nRETURN n.r AS s"
    assert {shape_of(one)} == {shape_of(parse(other))}


@pytest.mark.shared
def test_the_train_questions_fall_into_few_groups_quickly(shared: Path) -> None:
    lines = (shared / "data/cypherbench/train.jsonl").read_text(encoding="utf-8").splitlines()
    golds = [json.loads(line)["cypher"] for line in lines]
    start = time.process_time()
    groups = {shape_of(gold) for gold in golds}
    assert time.process_time() - start < 12  # some 3 s on an idle core; CI cores are not idle
    assert 50 < len(groups) < 150
