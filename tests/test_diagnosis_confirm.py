"""Diagnosis with rows: faults confirmed by the repair, equivalent differences dropped."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from cypherforge.core.errors import QueryError, QueryRuntimeError, QuerySyntaxError
from cypherforge.diagnosis import diagnose
from cypherforge.diagnosis.confirm import Bench
from cypherforge.graph.base import BaseGraph, Plan, Result
from cypherforge.graph.connect import connect


class Told(BaseGraph):
    """A graph whose answers are told by a function of the text."""

    uri, engine, read_only = "told:", "neo4j-5.26", True

    def __init__(self, answer: Callable[[str], Result | QueryError]) -> None:
        super().__init__()
        self.answer = answer
        self.asked: list[str] = []

    def run(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        limit: int | None = None,
    ) -> Result:
        self.asked.append(query)
        found = self.answer(query)
        if isinstance(found, QueryError):
            raise found
        return found

    def explain(self, query: str, parameters: Mapping[str, Any] | None = None) -> Plan:
        raise NotImplementedError

    def fingerprint(self) -> str:
        return "told"

    def close(self) -> None:
        pass


def rows(*values: Any) -> Result:
    return Result(("x",), tuple((value,) for value in values))


def test_a_right_draft_has_no_fault() -> None:
    graph = Told(lambda text: rows(1, 2))
    assert diagnose("MATCH (a) RETURN a.x", "MATCH (b:B) RETURN b.x", graph) == []


def test_results_at_hand_are_not_run_again() -> None:
    graph = Told(lambda text: rows("repaired"))
    draft, gold = "MATCH (a:A) RETURN a", "MATCH (a:A) RETURN a.x"
    (fault,) = diagnose(draft, gold, graph, None, rows("draft"), rows("repaired"))
    assert fault.confirmed is True and fault.code == "return.item"
    assert graph.asked == ["MATCH (a:A) RETURN a.x"]


def test_a_difference_that_changes_no_row_is_no_fault() -> None:
    """Only the direction matters here: DISTINCT may stay away."""

    def answer(text: str) -> Result:
        return rows(1) if "-[:R]->" in text else rows()

    draft = "MATCH (a:A)<-[:R]-(b:B) RETURN a.x"
    gold = "MATCH (a:A)-[:R]->(b:B) RETURN DISTINCT a.x"
    (fault,) = diagnose(draft, gold, Told(answer))
    assert (fault.code, fault.confirmed) == ("direction.reversed", True)
    assert fault.repair == "MATCH (a:A)-[:R]->(b:B) RETURN a.x"


def test_several_faults_come_in_the_order_of_repair() -> None:
    def answer(text: str) -> Result:
        right = "'Ann'" in text and "-[:R]->" in text and "a.x" in text
        return rows(1) if right else rows("no")

    draft = "MATCH (a:A {name: 'ann'})<-[:R]-(b:B) RETURN a"
    gold = "MATCH (a:A {name: 'Ann'})-[:R]->(b:B) RETURN a.x"
    faults = diagnose(draft, gold, Told(answer))
    assert [f.code for f in faults] == ["direction.reversed", "entity.literal", "return.item"]
    assert all(f.confirmed for f in faults)
    assert faults[0].repair == "MATCH (a:A {name: 'ann'})-[:R]->(b:B) RETURN a"
    assert faults[-1].repair == "MATCH (a:A {name: 'Ann'})-[:R]->(b:B) RETURN a.x"
    assert draft[slice(*faults[1].spans[0])] == "name: 'ann'"


def test_a_repair_that_does_not_give_the_rows_is_not_confirmed() -> None:
    graph = Told(lambda text: rows("gold") if text.startswith("MATCH (g") else rows("draft"))
    fault, rest = diagnose("MATCH (a:A) RETURN a.x", "MATCH (g:A) RETURN g.y", graph)
    assert fault.confirmed is False and fault.code == "return.columns"
    assert rest.code == "unknown"
    assert rest.reason.endswith("the repaired draft gives as many rows as the gold, but others")


def test_a_runtime_error_is_a_type_fault_of_the_part_that_causes_it() -> None:
    def answer(text: str) -> Result | QueryError:
        if "n.d.year + 1" in text:
            return rows(5)
        if "n.d + 1" in text:
            return QueryRuntimeError("Cannot add `Date` and `Integer`")
        return rows("other")

    draft = "MATCH (n:N) WHERE n.k = 'x' RETURN n.d + 1"
    gold = "MATCH (n:N) WHERE n.k = 'x' RETURN n.d.year + 1"
    (fault,) = diagnose(draft, gold, Told(answer))
    assert (fault.code, fault.confirmed) == ("syntax.type", True)
    assert "Date" in fault.reason


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Variable `q` not defined (line 1)", "syntax.scope"),
        ("Unknown function 'foo' (line 1)", "syntax.dialect"),
        ("Type mismatch: expected Integer but was String", "syntax.type"),
        ("Invalid input 'x'", "syntax.parse"),
    ],
)
def test_what_the_database_refuses_has_a_syntax_code(message: str, code: str) -> None:
    def answer(text: str) -> Result | QueryError:
        return rows(1) if "n.good" in text else QuerySyntaxError(message)

    faults = diagnose("MATCH (n:N) RETURN n.bad", "MATCH (n:N) RETURN n.good", Told(answer))
    assert [(f.code, f.confirmed) for f in faults] == [(code, True)]


def test_a_gold_that_fails_says_nothing_about_the_draft() -> None:
    (fault,) = diagnose("RETURN 1", "RETURN 2", Told(lambda text: QueryRuntimeError("broken")))
    assert fault.code == "unknown" and "the gold fails" in fault.reason


def test_what_no_small_change_makes_parse_is_still_a_parse_fault() -> None:
    (fault,) = diagnose("SELECT * FROM t WHERE (", "MATCH (n) RETURN n")
    assert (fault.code, fault.repair) == ("syntax.dialect", None)


def test_extra_columns_are_told_from_other_groups_by_the_rows() -> None:
    """The extra key splits no group: only a column is too many."""
    draft = "MATCH (p:P) RETURN p.a, p.b, count(p) AS c"
    gold = "MATCH (p:P) RETURN p.a, count(p) AS c"
    wide = Result(("a", "b", "c"), (("x", "u", 1), ("y", "v", 2)))
    split = Result(("a", "b", "c"), (("x", "u", 1), ("y", "v", 1), ("y", "w", 1)))
    narrow = Result(("a", "c"), (("x", 1), ("y", 2)))
    assert diagnose(draft, gold, None, None, wide, narrow)[0].code == "return.columns"
    assert diagnose(draft, gold, None, None, split, narrow)[0].code == "aggregation.grouping"


@pytest.mark.neo4j
def test_on_a_real_database(neo4j_uri: str) -> None:
    with connect(neo4j_uri, timeout=60.0) as graph:
        schema = graph.schema()
        if "SCORED_GOAL" not in schema.types:
            pytest.skip("this database does not hold the wwc graph")
        cases = {
            "direction.reversed": (
                "MATCH (t:Tournament {year: 2019})-[:IN_TOURNAMENT]->(m:Match) RETURN count(m)",
                "MATCH (t:Tournament {year: 2019})<-[:IN_TOURNAMENT]-(m:Match) RETURN count(m)",
            ),
            "schema.property": (
                "MATCH (t:Tournament) WHERE t.yr > 2000 RETURN t.name",
                "MATCH (t:Tournament) WHERE t.year > 2000 RETURN t.name",
            ),
            "syntax.type": (
                "MATCH (p:Person) WHERE p.dob IS NOT NULL RETURN min(p.dob - p.dob)",
                "MATCH (p:Person) WHERE p.dob IS NOT NULL RETURN min(p.dob.year)",
            ),
            "aggregation.distinct": (
                "MATCH (p:Person)-[:SCORED_GOAL]->(m:Match) RETURN count(p)",
                "MATCH (p:Person)-[:SCORED_GOAL]->(m:Match) RETURN count(DISTINCT p)",
            ),
        }
        for code, (draft, gold) in cases.items():
            faults = diagnose(draft, gold, graph, schema)
            assert [(f.code, f.confirmed) for f in faults] == [(code, True)]


@pytest.mark.parametrize(
    ("draft", "repaired"),
    [
        (
            "MATCH (s:Song)<-[w:WROTE]-(w:Person) RETURN s.title, w.name",
            "MATCH (s:Song)<-[w2:WROTE]-(w:Person) RETURN s.title, w.name",
        ),
        (
            "MATCH s=(s:Song)<-[:WROTE]-(w:Person) RETURN nodes(s), w.name",
            "MATCH s=(s2:Song)<-[:WROTE]-(w:Person) RETURN nodes(s), w.name",
        ),
    ],
)
def test_one_name_for_two_things_is_parted(draft: str, repaired: str) -> None:
    gold = repaired.replace("w2", "x").replace("s2", "x")
    fault = diagnose(draft, gold)[0]
    assert fault.code == "syntax.type" and fault.repair == repaired


def test_a_pattern_may_start_at_what_a_list_held() -> None:
    gold = "MATCH (s:Song)<-[:WROTE]-(p:Person) RETURN s.title, p.name"
    draft = "UNWIND $songs AS s MATCH (s)<-[:WROTE]-(p:Person) RETURN s.title, p.name"
    assert diagnose(draft, gold)


def test_a_hop_is_added_where_with_has_carried_its_ends() -> None:
    gold = "MATCH (a:A)-[:R]->(b:B) MATCH (c:C)-[:S]->(a) RETURN b.x, c.y"
    draft = "MATCH (a:A) WITH a MATCH (a)-[:R]->(b:B) RETURN b.x"
    faults = diagnose(draft, gold)
    assert faults[0].code == "pattern.missing_hop"
    assert faults[-1].repair == (
        "MATCH (a:A) WITH a MATCH (a)-[:R]->(b:B), (c:C)-[:S]->(a) RETURN b.x, c.y"
    )


def test_steps_that_aggregate_are_repaired_together() -> None:
    gold = "MATCH (a:A)-[:R]->(b:B) WITH a, count(b) AS n RETURN avg(n) AS mean"
    draft = "MATCH (a:A)-[:R]->(b:B) RETURN avg(size(b)) AS mean"

    def answer(text: str) -> Result:
        return rows(1.5) if "WITH a, count(b)" in text else rows(0)

    faults = diagnose(draft, gold, Told(answer))
    assert faults and all(f.confirmed for f in faults)
    assert faults[-1].repair == gold


def test_a_draft_that_cannot_be_made_to_parse_says_what_cannot_be_told() -> None:
    def answer(text: str) -> Result | QueryError:
        return rows(1) if text.startswith("MATCH (g:A)") else QuerySyntaxError("no")

    draft = "MATCH (a:A) WHERE a.x IN (MATCH (b:B) RETURN b.y) RETURN a.x"
    fault, rest = diagnose(draft, "MATCH (g:A) RETURN g.x", Told(answer))
    assert (fault.code, fault.repair) == ("syntax.parse", None)
    assert rest.code == "unknown"
    assert rest.reason.endswith("for syntax.parse has no repair that can be run")


def test_a_text_is_run_and_compared_once() -> None:
    graph = Told(lambda text: rows(1, 2))
    bench = Bench("MATCH (a) RETURN a.x", graph, rows(2, 1), ordered=False)
    assert [bench.right("MATCH (b) RETURN b.x") for _ in range(3)] == [True] * 3
    assert graph.asked == ["MATCH (b) RETURN b.x"]
