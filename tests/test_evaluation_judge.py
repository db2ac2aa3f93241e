"""A model as judge: verdicts, kappa, agreement with people; scripted model only."""

import pytest
from canned_graph import CannedGraph, rows

from cypherforge.core.datasets import Dataset, Example
from cypherforge.core.errors import UsageError
from cypherforge.evaluation.judge import (
    cohens_kappa,
    judge,
    judge_humans,
    judge_request,
    result_text,
)
from cypherforge.llm.base import ChatAnswer
from cypherforge.llm.scripted import ScriptedModel

REQUEST = judge_request("Who?", ("RETURN 1", "a\n1"), ("RETURN 2", "a\n2"))


@pytest.mark.parametrize(
    ("answer", "mark"),
    [
        ("CORRECT\nIt is all there.", "CORRECT"),
        ("**Partial**: one row is missing", "PARTIAL"),
        ("\nIncorrect\nAnother person.", "INCORRECT"),
        ("CORRECT or PARTIAL, hard to say", ""),
        ("I think the query is fine.", ""),
    ],
)
def test_reading_a_verdict(answer: str, mark: str) -> None:
    assert judge(ScriptedModel(lambda request: answer), REQUEST).mark == mark


def test_an_answer_that_was_cut_off_is_no_verdict() -> None:
    model = ScriptedModel(lambda request: ChatAnswer("INCORRECT", "length"))
    assert judge(model, REQUEST).mark == ""


def test_a_judge_sees_results_cut_at_500_characters() -> None:
    text = judge_request("Who?", ("Q", "x" * 900), None).messages[0].content
    assert "x" * 500 in text and "x" * 501 not in text
    assert "Reference" not in text
    assert result_text(["a"], [[1]], 7) == "a\n1\n... 7 rows in all"
    assert result_text(["a"], [], 0) == "(no row)"
    assert result_text([], [], None) == "(the query did not run)"


def test_kappa_by_hand() -> None:
    # Cohen's textbook table: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: (0.7 - 0.5) / 0.5 = 0.4.
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohens_kappa(first, second) == pytest.approx(0.4)
    assert cohens_kappa([1, 0], [1, 0]) == 1.0
    assert cohens_kappa([1, 1], [1, 1]) is None


def test_agreement_with_people() -> None:
    graph = CannedGraph({f"RETURN {i}": rows((i,)) for i in range(4)})
    marks = ["CORRECT", "PARTIAL", "INCORRECT", "CORRECT"]
    people = ["1", "1", "0", "0"]
    questions = Dataset(
        "d",
        tuple(
            Example(str(i), f"Number {i}?", f"RETURN {i}", "g", meta={"logical": people[i]})
            for i in range(4)
        ),
    )
    model = ScriptedModel(
        [{"contains": f"Number {i}?", "answer": mark} for i, mark in enumerate(marks)]
    )
    found = judge_humans(questions, {"g": graph}, model)
    # Strict: right, wrong, right, wrong; kind (PARTIAL accepted): right, right, right, wrong.
    assert (found["n"], found["agreement"], found["kind_agreement"]) == (4, 0.5, 0.75)
    assert found["kind_kappa"] == pytest.approx(0.5)
    with pytest.raises(UsageError, match="human verdict"):
        judge_humans(Dataset("d", ()), {"g": graph}, model)
