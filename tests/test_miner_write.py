from dataclasses import replace

import pytest

from cypherforge.core.datasets import Example
from cypherforge.graph.schema import Schema
from cypherforge.miner.attempts import Attempt, FaultRow
from cypherforge.miner.check import Checker
from cypherforge.miner.cluster import cluster
from cypherforge.miner.write import mechanisms, write_rules
from cypherforge.rules.model import Rule
from cypherforge.rules.taxonomy import taxonomy


def failure(number: int, code: str, question: str = "Who?", draft: str = "RETURN 1") -> Attempt:
    return Attempt(
        id=f"f{number}",
        question=question,
        gold="RETURN 2",
        graph="g",
        draft=draft,
        outcome="different",
        faults=(FaultRow(code, True, "reason"),),
    )


def test_every_code_has_a_mechanism_and_every_mechanism_a_code() -> None:
    codes = {code.code for code in taxonomy().codes}
    assert {m.code for m in mechanisms()} == codes


@pytest.mark.parametrize("mechanism", mechanisms(), ids=lambda m: m.id)
def test_every_mechanism_makes_a_rule_that_passes_the_check(mechanism) -> None:  # type: ignore[no-untyped-def]
    draft = {
        "condition-in-braces": "MATCH (n:A {p: > 3}) RETURN n",
        "no-group-by": "MATCH (n) RETURN n.p GROUP BY n.p",
        "no-having": "MATCH (n) RETURN count(n) HAVING count(n) > 1",
        "one-name-one-thing": "Variable `n` already declared",
    }.get(mechanism.id, "RETURN 1")
    question = f"{mechanism.words[0]} of them?" if mechanism.words else "Who?"
    failures = [failure(i, mechanism.code, question, draft) for i in range(2)]
    (rule,) = write_rules(failures)
    assert rule.id == mechanism.id
    assert rule.cites == ("f0", "f1")
    schema = Schema.from_json(
        Schema.parse("(:Zebra {stripeCount: INTEGER})-[:GRAZES_ON]->(:Savanna)").to_json()
    )
    assert Checker({"g": schema}, []).rejections(rule) == []


def test_one_failure_is_an_accident() -> None:
    assert write_rules([failure(1, "direction.reversed")]) == []


def test_other_failures_give_other_rules() -> None:
    arrows = [failure(i, "direction.reversed") for i in range(3)]
    counts = [failure(10 + i, "aggregation.fanout", "How many lions are there?") for i in range(2)]
    assert [r.id for r in write_rules(arrows)] == ["arrow-as-declared"]
    assert [r.id for r in write_rules(counts)] == ["count-entities-not-paths"]
    assert [r.id for r in write_rules(arrows + counts)] == [
        "arrow-as-declared",
        "count-entities-not-paths",
    ]


def test_trigger_words_are_those_of_the_cited_questions() -> None:
    rows = [
        failure(1, "return.order", "Which is the oldest tree?"),
        failure(2, "return.order", "Which trees are the tallest and oldest?"),
    ]
    (rule,) = write_rules(rows)
    assert rule.tier == "question"
    assert rule.trigger is not None
    assert rule.trigger.words == ("oldest",)
    # Where the words say nothing, the rule is told always.
    silent = [replace(row, question="Name it.") for row in rows]
    (always,) = write_rules(silent)
    assert always.tier == "universal"
    assert always.trigger is None


def test_failures_without_a_known_code_write_no_rule() -> None:
    assert write_rules([failure(i, "unknown") for i in range(5)]) == []


def test_a_rule_that_names_the_graph_is_rejected_by_name() -> None:
    schema = Schema.parse("(:Zebra {stripeCount: INTEGER})-[:GRAZES_ON]->(:Savanna)")
    examples = [Example("q", "?", "MATCH (z:Zebra {name: 'Marty McStripe'}) RETURN z", "g")]
    (rule,) = write_rules([failure(i, "direction.reversed") for i in range(2)])
    spoilt = Rule.model_validate(
        {
            **rule.model_dump(),
            "situation": "A question asks which Zebra a name like Marty McStripe belongs to.",
            "right": "MATCH (n:Zebra)-[:GRAZES_ON]->(m:NodeLabelB) RETURN n.stripeCount",
        }
    )
    found = Checker({"g": schema}, examples).rejections(spoilt)
    named = {(r.token, r.graph, r.rule) for r in found if r.graph}
    names = ("Zebra", "Marty McStripe", "GRAZES_ON", "stripeCount")
    assert named >= {(name, "g", rule.id) for name in names}


def test_clusters_keep_kinds_apart() -> None:
    rows = [failure(i, "direction.reversed") for i in range(3)]
    rows += [failure(10 + i, "aggregation.fanout") for i in range(2)]
    found = cluster(rows)
    assert [c.ids for c in found] == [("f0", "f1", "f2"), ("f10", "f11")]
    assert found[0].codes == ("direction.reversed",)
