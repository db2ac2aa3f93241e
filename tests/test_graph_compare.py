"""Results compared: multisets of rows under one column mapping, order on demand."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neo4j.time import Date

from cypherforge.core.errors import UsageError
from cypherforge.graph.base import Result
from cypherforge.graph.compare import same_rows
from cypherforge.graph.values import NodeValue, PathValue, RelationshipValue


def result(*rows: tuple[Any, ...], columns: tuple[str, ...] = (), source: str = "") -> Result:
    width = len(rows[0]) if rows else len(columns)
    return Result(columns or tuple(f"c{i}" for i in range(width)), rows, source=source)


def test_rows_are_a_multiset() -> None:
    assert same_rows(result((1,), (2,), (2,)), result((2,), (1,), (2,))) is True
    assert same_rows(result((1,), (2,), (2,)), result((1,), (1,), (2,))) is False
    assert same_rows(result((1,)), result((1,), (1,))) is False


def test_names_of_columns_do_not_count_their_number_does() -> None:
    assert same_rows(result((1, "a"), columns=("x", "y")), result(("a", 1), columns=("p", "q")))
    assert same_rows(result((1, "a")), result((1,))) is False
    assert same_rows(result(columns=("x",)), result(columns=("x", "y"))) is True


def test_one_column_mapping_holds_for_all_rows() -> None:
    # H26 (b): Bob FOLLOWS Ann, Cid FOLLOWS Dan; sorting the cells of each row would make these equal.
    gold = result(("Bob", "Ann"), ("Cid", "Dan"))
    draft = result(("Ann", "Bob"), ("Cid", "Dan"))
    assert same_rows(gold, draft) is False
    assert same_rows(gold, result(("Ann", "Bob"), ("Dan", "Cid"))) is True


def test_wide_results_are_decided_in_time() -> None:
    # H26 (a): 26 integer columns, shuffled.
    rng = random.Random(7)
    rows = [tuple(rng.randrange(1000) for _ in range(26)) for _ in range(200)]
    order = rng.sample(range(26), 26)
    began = time.monotonic()
    assert same_rows(result(*rows), result(*[tuple(r[i] for i in order) for r in rows])) is True
    wrong = [tuple(r[i] for i in order) for r in rows]
    wrong[0], wrong[1] = (wrong[1][0], *wrong[0][1:]), (wrong[0][0], *wrong[1][1:])
    assert same_rows(result(*rows), result(*wrong)) is False
    assert time.monotonic() - began < 2


def test_columns_that_all_hold_the_same_values() -> None:
    # H26 (a): 12 columns with one multiset, each a permutation of 0..11 of its own.
    rng = random.Random(3)
    columns = [rng.sample(range(12), 12) for _ in range(12)]
    rows = list(zip(*columns, strict=True))
    order = rng.sample(range(12), 12)
    began = time.monotonic()
    assert same_rows(result(*rows), result(*[tuple(r[i] for i in order) for r in rows])) is True
    other = list(zip(*[rng.sample(range(12), 12) for _ in range(12)], strict=True))
    assert same_rows(result(*rows), result(*other)) is False
    same = [(7,) * 12] * 5
    assert same_rows(result(*same), result(*same)) is True
    assert time.monotonic() - began < 1


def test_a_search_that_is_too_long_is_not_decided() -> None:
    # Two regular bipartite graphs that look alike column by column: only a long search could tell.
    n = 14
    rng = random.Random(5)

    def incidence(seed: int) -> list[tuple[int, ...]]:
        shuffled = random.Random(seed).sample(range(n), n)
        return [tuple(int((shuffled[j] - i) % n in (0, 1, 3)) for j in range(n)) for i in range(n)]

    a, b = incidence(1), [row[::-1] for row in incidence(2)]
    b[0], b[1] = (b[1][0], *b[0][1:]), (b[0][0], *b[1][1:])
    rng.shuffle(b)
    began = time.monotonic()
    assert same_rows(result(*a), result(*b), work=2000) is not True
    assert same_rows(result(*a), result(*b), work=1) in (None, False)
    assert time.monotonic() - began < 2


def test_a_cut_result_is_not_decided() -> None:
    cut = Result(("a",), ((1,),), truncated=True)
    assert same_rows(cut, result((1,))) is None
    assert same_rows(cut, result((1, 2))) is False


GOLD = result(("Drama", 3), ("Crime", 1), ("Noir", 1))


def test_ties_under_order_by_may_change_places() -> None:
    # H26 (c).
    assert same_rows(
        GOLD, result(("Drama", 3), ("Noir", 1), ("Crime", 1)), ordered=True, sort_key=[1]
    )
    worse = result(("Noir", 1), ("Drama", 3), ("Crime", 1))
    assert same_rows(GOLD, worse, ordered=True, sort_key=["c1"]) is False
    assert same_rows(GOLD, worse) is True
    assert same_rows(GOLD, result(("Drama", 3), ("Noir", 1), ("Crime", 1)), ordered=True) is False


def test_sort_keys_of_any_kind() -> None:
    gold = result(("a", None), ("b", None), ("c", "x"), ("d", 2), ("e", float("nan")))
    draft = result(("b", None), ("a", None), ("c", "x"), ("d", 2), ("e", float("nan")))
    assert same_rows(gold, draft, ordered=True, sort_key=[1]) is True
    assert same_rows(gold, draft, ordered=True) is False


def test_sort_key_that_is_not_returned() -> None:
    gold = result(("Drama",), ("Crime",), ("Noir",))
    draft = result(("Drama",), ("Noir",), ("Crime",))
    assert same_rows(gold, draft, ordered=True, sort_values=[3, 1, 1]) is True
    assert same_rows(gold, draft, ordered=True, sort_values=[3, 2, 1]) is False
    with pytest.raises(UsageError):
        same_rows(gold, draft, ordered=True, sort_values=[3])
    with pytest.raises(UsageError, match="no column 'z'"):
        same_rows(gold, draft, ordered=True, sort_key=["z"])


def test_order_and_column_mapping_together() -> None:
    gold = result((3, "Drama"), (1, "Crime"), (1, "Noir"))
    draft = result(("Drama", 3), ("Noir", 1), ("Crime", 1))
    assert same_rows(gold, draft, ordered=True, sort_key=[0]) is True


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (3, 3.0, True),
        (0.1 + 0.2, 0.3, True),
        (0.30000001, 0.3, False),
        (2**53, 2**53 + 1, False),
        (10**15, 10**15 + 1, False),
        (-0.0, 0.0, True),
        (1e-17, 0.0, True),
        (float("nan"), float("nan"), True),
        (float("nan"), None, False),
        (float("inf"), float("-inf"), False),
        (1, True, False),
        (1, "1", False),
        (0, None, False),
        ([1, 2], [2, 1], False),
        ([1, 2.0], [1.0, 2], True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}, True),
        ({"a": None}, {}, False),
        (Date(2020, 1, 1), "2020-01-01", False),
        ("Café", "Cafe", False),
        (None, None, True),
    ],
)
def test_values(a: Any, b: Any, same: bool) -> None:
    assert same_rows(result((a,)), result((b,))) is same
    assert same_rows(result((b,)), result((a,))) is same


def node(identity: str, label: str, **properties: Any) -> NodeValue:
    return NodeValue(identity, frozenset({label}), properties)


def test_nodes_are_labels_and_properties() -> None:
    # H27, and the same node as two engines number it.
    assert same_rows(
        result((node("4:x:1", "Person", name="X"),)), result((node("#1:0", "Person", name="X"),))
    )
    assert (
        same_rows(result((node("1", "Person", name="X"),)), result((node("1", "Genre", name="X"),)))
        is False
    )


def test_relationships_keep_type_properties_and_ends() -> None:
    neo = RelationshipValue("1", "ACTED_IN", "7", "8", {"role": "Neo"})
    trinity = RelationshipValue("2", "ACTED_IN", "7", "9", {"role": "Trinity"})
    other = RelationshipValue("3", "ACTED_IN", "6", "8", {"role": "Neo"})
    assert same_rows(result((neo,)), result((trinity,))) is False
    assert same_rows(result((neo,)), result((other,))) is True
    one_database = result((neo,), source="s"), result((other,), source="s")
    assert same_rows(*one_database) is False


def test_a_path_is_not_its_reverse() -> None:
    a, b = node("1", "Person", name="A"), node("2", "Person", name="B")
    link = RelationshipValue("1", "KNOWS", "1", "2")
    there, back = PathValue((a, b), (link,)), PathValue((b, a), (link,))
    assert same_rows(result((there,)), result((there,))) is True
    assert same_rows(result((there,)), result((back,))) is False
    # The same two nodes, the arrow turned round.
    turned = PathValue((a, b), (RelationshipValue("1", "KNOWS", "2", "1"),))
    assert same_rows(result((there,)), result((turned,))) is False


CELLS = st.none() | st.integers(-3, 3) | st.sampled_from(["a", "b", 0.5, 1.5]) | st.booleans()
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=6)
)


@settings(deadline=None, max_examples=60)
@given(TABLES, st.randoms(use_true_random=False))
def test_shuffled_rows_and_columns_are_the_same_answer(
    rows: list[tuple[Any, ...]], rng: random.Random
) -> None:
    order = rng.sample(range(len(rows[0])), len(rows[0]))
    shuffled = [tuple(row[i] for i in order) for row in rng.sample(rows, len(rows))]
    assert same_rows(result(*rows), result(*shuffled)) is True


@settings(deadline=None, max_examples=60)
@given(TABLES, TABLES)
def test_same_as_trying_every_column_order(
    a: list[tuple[Any, ...]], b: list[tuple[Any, ...]]
) -> None:
    from collections import Counter
    from itertools import permutations

    def key(row: tuple[Any, ...]) -> tuple[str, ...]:
        return tuple("null" if x is None else repr(x) for x in row)

    wanted = len(a[0]) == len(b[0]) and any(
        Counter(map(key, a)) == Counter(key(tuple(row[i] for i in order)) for row in b)
        for order in permutations(range(len(b[0])))
    )
    assert same_rows(result(*a), result(*b)) is wanted
