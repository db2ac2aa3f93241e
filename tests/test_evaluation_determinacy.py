"""Golds whose answer the graph does not settle: found, checked, and scored by membership."""

from typing import Any

import pytest
from canned_graph import Answer, CannedGraph, rows

from cypherforge.cypher import parse
from cypherforge.evaluation.determinacy import Determinacy, determine
from cypherforge.evaluation.doubts import doubts
from cypherforge.evaluation.execution import run_gold
from cypherforge.graph.base import Result


def verdict(gold: str, answers: dict[str, Answer]) -> Determinacy:
    graph = CannedGraph(answers)
    return determine(run_gold(gold, graph), graph)


def right(found: Determinacy, *values: tuple[Any, ...]) -> bool | None:
    assert found.right is not None
    return found.right(rows(*values))


TOP = "MATCH (g:Genre)<-[:IN]-(m) RETURN g.name, count(m) AS total ORDER BY total DESC LIMIT 2"
ALL = "MATCH (g:Genre)<-[:IN]-(m) RETURN g.name, count(m) AS total ORDER BY total DESC"


def test_a_limit_across_a_tie_has_several_right_answers() -> None:
    found = verdict(
        TOP,
        {
            TOP: rows(("Drama", 3), ("Crime", 1)),
            ALL: rows(("Drama", 3), ("Crime", 1), ("Noir", 1)),
        },
    )
    assert (found.status, found.kinds) == ("set", ("limit",))
    assert right(found, ("Drama", 3), ("Noir", 1)) is True
    assert right(found, (3, "Drama"), (1, "Crime")) is True  # columns in any order
    assert right(found, ("Noir", 1), ("Crime", 1)) is False  # Drama has to be there
    assert right(found, ("Noir", 1), ("Drama", 3)) is False  # and first
    assert right(found, ("Drama", 3)) is False
    assert right(found, ("Drama", 3), ("Noir", 1), ("Crime", 1)) is False


def test_a_limit_that_cuts_no_tie_is_settled() -> None:
    apart = rows(("Drama", 3), ("Crime", 2), ("Noir", 1))
    assert verdict(TOP, {TOP: Result(apart.columns, apart.rows[:2]), ALL: apart}).status == (
        "settled"
    )


def test_a_sort_key_that_is_not_returned_is_fetched() -> None:
    gold = "MATCH (p:Person) RETURN p.name AS name ORDER BY p.born LIMIT 1"
    wide = "MATCH (p:Person) RETURN p.name AS name, p.born AS `sort key 0` ORDER BY p.born"
    found = verdict(gold, {gold: rows(("Ann",)), wide: rows(("Ann", 1), ("Bob", 1), ("Cid", 2))})
    assert found.status == "set"
    assert right(found, ("Bob",)) is True
    assert right(found, ("Cid",)) is False


def test_a_limit_without_an_order_takes_any_rows() -> None:
    gold, wide = "MATCH (p:Person) RETURN p.name LIMIT 2", "MATCH (p:Person) RETURN p.name"
    every = rows(("Ann",), ("Bob",), ("Cid",))
    found = verdict(gold, {gold: Result(every.columns, every.rows[:2]), wide: every})
    assert right(found, ("Cid",), ("Ann",)) is True
    assert right(found, ("Cid",), ("Cid",)) is False
    assert right(found, ("Cid",), ("Dan",)) is False


def test_the_order_of_a_collected_list_is_free() -> None:
    gold = "MATCH (p:Person)-[:KNOWS]->(q) RETURN p.name, collect(q.name) AS friends"
    found = verdict(gold, {gold: rows(("Ann", ["Bob", "Cid"]), ("Dan", ["Eve"]))})
    assert (found.status, found.kinds) == ("set", ("list order",))
    assert right(found, ("Ann", ["Cid", "Bob"]), ("Dan", ["Eve"])) is True
    assert right(found, ("Ann", ["Cid", "Cid"]), ("Dan", ["Eve"])) is False


def test_a_collected_list_of_equal_items_is_settled() -> None:
    gold = "MATCH (p:Person)-[:KNOWS]->(q) RETURN p.name, collect(q.name) AS friends"
    assert verdict(gold, {gold: rows(("Ann", ["Bob", "Bob"]), ("Dan", []))}).status == "settled"


def test_an_element_of_a_collected_list_may_be_any() -> None:
    gold = "MATCH (p:Person)-[:KNOWS]->(q) RETURN p.name, head(collect(q.name)) AS friend"
    wide = "MATCH (p:Person)-[:KNOWS]->(q) RETURN p.name, collect(q.name) AS friend"
    found = verdict(
        gold,
        {
            gold: rows(("Ann", "Bob"), ("Dan", "Eve")),
            wide: rows(("Ann", ["Bob", "Cid"]), ("Dan", ["Eve"])),
        },
    )
    assert right(found, ("Ann", "Cid"), ("Dan", "Eve")) is True
    assert right(found, ("Ann", "Eve"), ("Dan", "Eve")) is False


def test_a_stretch_named_in_an_earlier_clause() -> None:
    gold = "MATCH (p)-->(q) WITH p, collect(q.name)[0..2] AS some RETURN p.name, some"
    wide = "MATCH (p)-->(q) WITH p, collect(q.name) AS some RETURN p.name, some"
    found = verdict(
        gold, {gold: rows(("Ann", ["Bob", "Cid"])), wide: rows(("Ann", ["Bob", "Cid", "Dan"]))}
    )
    assert right(found, ("Ann", ["Dan", "Bob"])) is True
    assert right(found, ("Ann", ["Dan"])) is False
    assert right(found, ("Ann", ["Dan", "Dan"])) is False


def test_limit_one_within_the_query_is_followed_to_the_end() -> None:
    gold = "MATCH (p) WITH p ORDER BY p.born LIMIT 1 MATCH (p)-->(q) RETURN q.name"
    before = "MATCH (p) RETURN p, p.born AS `sort key 0` ORDER BY p.born"
    first, second = (
        f"MATCH (p) WITH p ORDER BY p.born SKIP {n} LIMIT 1 MATCH (p)-->(q) RETURN q.name"
        for n in (0, 1)
    )
    answers: dict[str, Answer] = {
        gold: rows(("Bob",)),
        before: rows((1, 1900), (2, 1900), (3, 1950)),
        first: rows(("Bob",)),
        second: rows(("Cid",)),
    }
    found = verdict(gold, answers)
    assert (found.status, right(found, ("Cid",)), right(found, ("Dan",))) == ("set", True, False)
    # Where every way leads to the same rows, the answer is settled after all.
    assert verdict(gold, {**answers, second: rows(("Bob",))}).status == "settled"


def test_today_sets_a_question_aside_only_where_it_matters() -> None:
    gold = "MATCH (p) WHERE p.end > date() RETURN p.name"
    shifted = "MATCH (p) WHERE p.end > (date() - duration({days: 401})) RETURN p.name"
    moved = verdict(gold, {gold: rows(("Ann",)), shifted: rows(("Ann",), ("Bob",))})
    assert (moved.status, moved.kinds) == ("aside", ("today",))
    assert verdict(gold, {gold: rows(("Ann",)), shifted: rows(("Ann",))}).status == "settled"


def test_chance_in_the_order_is_no_order() -> None:
    gold = "MATCH (p) RETURN p.name ORDER BY rand() LIMIT 1"
    wide = "MATCH (p) RETURN p.name ORDER BY rand()"
    found = verdict(gold, {gold: rows(("Ann",)), wide: rows(("Ann",), ("Bob",))})
    assert right(found, ("Bob",)) is True
    elsewhere = "MATCH (p) WHERE rand() < 0.5 RETURN p.name"
    assert verdict(elsewhere, {elsewhere: rows(("Ann",))}).kinds == ("chance",)


def test_one_of_several_shortest_paths() -> None:
    gold = "MATCH p = shortestPath((a:A)-[*]-(b:B)) RETURN [n IN nodes(p) | n.name]"
    every = "MATCH p = allShortestPaths((a:A)-[*]-(b:B)) RETURN [n IN nodes(p) | n.name]"
    two = verdict(gold, {gold: rows((["x"],)), every: rows((["x"],), (["y"],))})
    assert two.kinds == ("shortest path",)
    assert verdict(gold, {gold: rows((["x"],)), every: rows((["x"],))}).status == "settled"


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (p) RETURN size(collect(p.name))",
        "MATCH (p) WITH collect(p.name) AS names UNWIND names AS name RETURN name",
        "MATCH (p) WITH collect(p.name) AS names MATCH (q) WHERE q.name IN names RETURN q.name",
        "MATCH (p) WITH p ORDER BY p.name RETURN collect(p.name)[0]",
        "MATCH (p) RETURN reduce(total = 0, x IN collect(p.age) | total + x)",
        "MATCH (p) WHERE any(x IN [(p)-->(q) | q.age] WHERE x > 3) RETURN p.name",
        "MATCH (p) RETURN p.name ORDER BY p.name",
        "MATCH (p) WHERE p.born = date('2000-01-01') RETURN p.name",
        "MATCH (p) WHERE EXISTS { MATCH (p)-->(q) RETURN q LIMIT 1 } RETURN p.name",
    ],
)
def test_what_is_no_doubt(query: str) -> None:
    assert not doubts(parse(query))


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (p) WITH collect(p.name) AS names WHERE names[0] = 'Ann' RETURN size(names)",
        "MATCH (p) RETURN apoc.text.join(collect(p.name), ', ')",
        "MATCH (p) CALL { WITH p MATCH (p)-->(q) RETURN q LIMIT 1 } RETURN q.name",
        "MATCH (p) RETURN p.name LIMIT 1 UNION MATCH (q) RETURN q.name",
    ],
)
def test_what_cannot_be_scored_is_set_aside(query: str) -> None:
    assert verdict(query, {query: rows(("Ann",))}).status == "aside"
