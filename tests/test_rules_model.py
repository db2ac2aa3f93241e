"""Rules: what a file may say, when a rule applies, and what a prompt shows of it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from cypherforge.core.errors import InputError
from cypherforge.graph.schema import Label, LabelSet, Pattern, Property, RelType, Schema
from cypherforge.rules.model import (
    Predicate,
    Rule,
    Trigger,
    check_rules,
    dump_rules,
    load_rules,
    rules_schema,
)
from cypherforge.rules.select import applicable
from cypherforge.rules.triggers import question_matches, schema_matches

FANOUT: dict[str, Any] = {
    "id": "count-entities",
    "tier": "universal",
    "title": "Count entities, not paths",
    "situation": "Two to-many relationships meet in one MATCH and something is counted.",
    "why": "Every pair of neighbours is a row of its own, so a count tallies paths.",
    "correction": "Collect one side with WITH DISTINCT first, then match the other and count.",
    "boundary": "a single hop counted once needs no DISTINCT.",
    "wrong": "MATCH (a:NodeLabelA)-[:relTypeA]->(b), (a)-[:relTypeB]->(c) RETURN count(b)",
    "right": "MATCH (a:NodeLabelA)-[:relTypeA]->(b)\nWITH DISTINCT b RETURN count(b)",
    "codes": ["aggregation.fanout"],
    "cites": ["q1", "q2"],
}


def rule(**changes: Any) -> Rule:
    return Rule.model_validate({**FANOUT, **changes})


def words(*phrases: str, mode: str = "any") -> dict[str, Any]:
    return {"tier": "question", "trigger": {"words": list(phrases), "mode": mode}}


# ---------------------------------------------------------------- the file


def test_rules_come_back_from_yaml(tmp_path: Path) -> None:
    rules = [rule(), rule(id="other", **words("how many"))]
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"rules": dump_rules(rules)}), encoding="utf-8-sig")
    assert load_rules(path) == rules


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"tier": "global"}, "rule count-entities, tier: "),
        ({"situation": ""}, "rule count-entities, situation: "),
        ({"boundary": None}, "rule count-entities, boundary: "),
        ({"colour": "red"}, "rule count-entities, colour: "),
        ({"codes": ["pattern.loop"]}, "rule count-entities, codes: no such fault code"),
        ({"codes": []}, "rule count-entities, codes: "),
        ({"tier": "schema"}, "rule count-entities, trigger: a rule of tier 'schema' takes"),
        ({"trigger": {"words": ["most"]}}, "rule count-entities, trigger: a rule of tier"),
        ({"right": None}, "rule count-entities, wrong: "),
        ({"tier": "schema", "trigger": {"predicates": ["big"]}}, "trigger.predicates.0: "),
        (
            {"tier": "question", "trigger": {"predicates": ["multi_label"], "words": ["most"]}},
            "trigger: give either",
        ),
        ({"correction": "word " * 70}, "prompt has room for 60"),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"rules": [{**FANOUT, **change}]}))
    with pytest.raises(InputError) as refused:
        load_rules(path)
    assert str(path) in str(refused.value)
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


def test_every_problem_is_reported_and_good_rules_are_kept() -> None:
    good, problems = check_rules(
        {"rules": [FANOUT, {**FANOUT, "id": "bad", "tier": 3, "title": ""}, FANOUT, "what"]}
    )
    assert [r.id for r in good] == ["count-entities"]
    assert [(p.rule, p.field) for p in problems] == [
        ("bad", "tier"),
        ("bad", "title"),
        ("count-entities", "id"),
        ("#4", ""),
    ]
    assert check_rules({"rule": []})[1][0].field == "rules"


def test_what_is_no_yaml_is_said(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("rules: [}")
    with pytest.raises(InputError, match="not YAML"):
        load_rules(tmp_path / "rules.yaml")
    with pytest.raises(InputError, match="no such file"):
        load_rules(tmp_path / "none.yaml")


def test_the_json_schema_says_what_an_agent_may_write() -> None:
    schema = rules_schema()
    json.dumps(schema)
    properties = schema["$defs"]["Rule"]["properties"]
    assert "aggregation.fanout" in properties["codes"]["items"]["enum"]
    assert len(properties["codes"]["items"]["enum"]) == 32
    assert set(properties["tier"]["enum"]) == {"universal", "schema", "question"}
    assert "evidence" not in properties
    assert schema["$defs"]["Rule"]["additionalProperties"] is False


# ---------------------------------------------------------------- the prompt


def test_a_prompt_shows_the_rule_briefly_with_its_pair() -> None:
    lines = rule().prompt_text().split("\n")
    assert lines[0] == (
        "- Count entities, not paths. Two to-many relationships meet in one MATCH and something is "
        "counted. Every pair of neighbours is a row of its own, so a count tallies paths. Collect "
        "one side with WITH DISTINCT first, then match the other and count. Not: a single hop "
        "counted once needs no DISTINCT."
    )
    assert lines[1].startswith("  Wrong: MATCH (a:NodeLabelA)")
    assert (
        lines[2] == "  Right: MATCH (a:NodeLabelA)-[:relTypeA]->(b) WITH DISTINCT b RETURN count(b)"
    )


def test_a_long_rule_loses_its_reason_and_keeps_its_boundary() -> None:
    long = rule(correction=" ".join(["step"] * 38), wrong=None, right=None)
    text = long.prompt_text()
    assert "tallies paths" not in text and "a single hop" in text and "\n" not in text
    title = len(long.title.split()) + 1
    assert len(text.split()) <= 60 + title + 1


# ---------------------------------------------------------------- triggers


@pytest.mark.parametrize(
    ("phrase", "question", "expected"),
    [
        ("most", "Which team won the MOST games?", True),
        ("most", "Which team is almost out?", False),
        ("how many", "How\nmany goals?", True),
        ("how many", "How do many win?", False),
        ("country", "Which countries took part?", True),
        ("countries", "Which country won?", True),
        ("match", "How many matches?", True),
        ("class", "All classes", True),
        ("movie", "movies", True),
        ("movies", "a movie", True),
        ("day", "on which days", True),
        ("day", "on Monday", False),
        ("at least", "at-least two", True),
        ("C++", "a C++ book", True),
        ("is", "an island", False),
        ("größte", "Die GRÖSSTE", False),
        ("größte", "Der Größte gewinnt", True),
        ("a.b", "axb", False),
    ],
)
def test_words_match_whole_in_any_case_and_number(
    phrase: str, question: str, expected: bool
) -> None:
    assert question_matches([phrase], question) is expected


def test_any_or_all_words() -> None:
    question = "Which player scored most goals?"
    assert question_matches(["least", "most"], question)
    assert not question_matches(["least", "most"], question, "all")
    assert question_matches(["player", "most"], question, "all")
    assert not question_matches([], question, "all")


PLAIN = Schema.build(
    labels=[Label("A", (Property("x", "STRING", coverage=1.0),)), Label("B")],
    types=[RelType("R")],
    patterns=[Pattern("A", "R", "B")],
)


def schema_with(predicate: Predicate) -> Schema:
    """A schema that has this one feature, made by hand."""
    label = {
        "boolean_property": Property("p", "BOOLEAN"),
        "date_property": Property("p", "STRING | DATE"),
        "list_property": Property("p", "LIST<STRING>"),
        "sparse_property": Property("p", "STRING", coverage=0.4),
    }
    if predicate in label:
        return Schema.build(labels=[Label("A", (label[predicate],))])
    if predicate == "multi_label":
        return Schema.build(labels=[Label("A"), Label("B")], co_labels=[LabelSet(("A", "B"), 3)])
    if predicate == "relationship_property":
        return Schema.build(types=[RelType("R", (Property("p"),))])
    patterns = {
        "several_patterns_per_type": [Pattern("A", "R", "B"), Pattern("C", "R", "B")],
        "several_types_per_pair": [Pattern("A", "R", "B"), Pattern("B", "S", "A")],
    }.get(predicate, [Pattern("A", "R", "A")])
    share = {"reciprocal_type": 0.95, "mutual_type": 0.0}.get(predicate)
    return Schema.build(types=[RelType("R", reciprocity=share)], patterns=patterns)


PREDICATES: list[Predicate] = [
    "boolean_property",
    "date_property",
    "list_property",
    "mutual_type",
    "multi_label",
    "reciprocal_type",
    "relationship_property",
    "self_relationship",
    "several_patterns_per_type",
    "several_types_per_pair",
    "sparse_property",
]


@pytest.mark.parametrize("predicate", PREDICATES)
def test_a_schema_predicate_sees_its_feature_and_no_other(predicate: Predicate) -> None:
    schema = schema_with(predicate)
    held = {other for other in PREDICATES if schema_matches(other, schema)}
    # A type between like labels is needed for reciprocity to mean anything.
    implied = {"reciprocal_type", "mutual_type"}
    assert held == ({predicate, "self_relationship"} if predicate in implied else {predicate})
    assert not schema_matches(predicate, PLAIN)


def test_reciprocity_between_unlike_labels_or_unmeasured_is_none() -> None:
    unlike = Schema.build(types=[RelType("R", reciprocity=1.0)], patterns=[Pattern("A", "R", "B")])
    unmeasured = Schema.build(types=[RelType("R")], patterns=[Pattern("A", "R", "A")])
    for schema in (unlike, unmeasured):
        assert not schema_matches("reciprocal_type", schema)
        assert not schema_matches("mutual_type", schema)


def test_applicable_rules_come_in_one_order() -> None:
    by_schema = {"tier": "schema", "trigger": {"predicates": ["date_property", "multi_label"]}}
    every = [
        rule(id="q-b", **words("how many", "number of")),
        rule(id="q-a", **words("goals")),
        rule(id="q-no", **words("goals", "cards", mode="all")),
        rule(id="s", **by_schema),
        rule(id="u2"),
        rule(id="u1"),
    ]
    question = "How many goals?"
    dated = schema_with("date_property")
    assert [r.id for r in applicable(every, dated, question)] == ["u1", "u2", "s", "q-a", "q-b"]
    assert applicable(every[::-1], dated, question) == applicable(every, dated, question)
    assert [r.id for r in applicable(every, PLAIN, "Who?")] == ["u1", "u2"]


def test_a_trigger_of_all_predicates_needs_all() -> None:
    needs_both = Trigger(predicates=("date_property", "multi_label"), mode="all")
    candidate = rule(tier="schema", trigger=needs_both)
    assert applicable([candidate], schema_with("date_property"), "Who?") == []
