"""The matrix: arms, costs, sharing, resuming, the report and comparisons; scripted model only."""

import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest
from canned_graph import CannedGraph, rows

from cypherforge.artifacts.run_folder import RunFolder
from cypherforge.core.datasets import Dataset, Example
from cypherforge.core.errors import ModelUnavailable, OptionsChanged, UsageError
from cypherforge.core.executor import ThreadExecutor
from cypherforge.core.files import digest, dumps
from cypherforge.evaluation.commands import door
from cypherforge.evaluation.compare import compare_runs, comparison_text
from cypherforge.evaluation.matrix import Services, projected, run_matrix
from cypherforge.evaluation.plan import Matrix, choose, cut, graph_specs, read_matrix
from cypherforge.evaluation.report import write_report
from cypherforge.evaluation.summary import Run, summarise
from cypherforge.graph.base import Result
from cypherforge.llm.base import ChatAnswer, ChatModel, ChatRequest
from cypherforge.llm.cache import AnswerCache, CachedModel
from cypherforge.llm.prices import Price, Prices
from cypherforge.llm.scripted import ScriptedModel
from cypherforge.runtime.prompts import PROMPT_VERSION, zero_shot_request

NAMES = "MATCH (p:Person) RETURN p.name"
BORN = "MATCH (p:Person) RETURN p.born"
NOBODY = "MATCH (p:Person {name: 'Nobody'}) RETURN p.born"
BROKEN = "MATCH (p:Person) RETURN p.nme"
QUESTIONS = Dataset(
    "people",
    (
        Example("1", "Who is there?", NAMES, "people"),
        Example("2", "When were they born? <script>alert(1)</script>", BORN, "people"),
        Example("3", "When was Nobody born?", NOBODY, "people", meta={"true_empty": True}),
        Example("4", "A gold that fails", "MATCH (x) RETURN x.y", "people"),
    ),
)
MATRIX = Matrix(("zero-shot", "naive-retry"), ("qwen",))


def graph() -> CannedGraph:
    return CannedGraph(
        {
            NAMES: rows(("Ann",), ("Bob",)),
            BORN: rows((1900,), (1950,)),
            NOBODY: Result(("p.born",), ()),
        }
    )


class Counting:
    """A scripted model that says how often it was really asked."""

    name = "qwen"

    def __init__(self, fail_after: int | None = None) -> None:
        self.asked: Counter[str] = Counter()
        self.fail_after = fail_after
        self.inner = ScriptedModel(self._answer, self.name)

    def chat(self, request: ChatRequest) -> ChatAnswer:
        if self.fail_after is not None and self.asked.total() >= self.fail_after:
            raise ModelUnavailable("down")
        self.asked[dumps(request.to_json())] += 1
        return self.inner.chat(request)

    def _answer(self, request: ChatRequest) -> str:
        last = request.messages[-1].content
        question = request.messages[1].content
        if "no rows" in last:
            return f"```cypher\n{NAMES}\n```"
        if "The query failed" in last:
            return f"```cypher\n{BORN}\n```"
        for words, query in (("Who", NAMES), ("born? <", BROKEN), ("Nobody", NOBODY)):
            if f"Question: {words}" in question or words in question.splitlines()[-1]:
                return f"```cypher\n{query}\n```"
        raise AssertionError(question)


def services(model: ChatModel, cache: Path) -> Services:
    cached = CachedModel(model, AnswerCache(cache))
    return Services(
        {"people": graph()},
        {"qwen": cached},
        Prices({"qwen": Price(1.0, 2.0)}),
        ThreadExecutor(2),
        provenance=False,
    )


def finished(folder: Path, model: Counting | None = None) -> Run:
    with RunFolder(folder / "run", {"a": 1}) as run:
        run_matrix(run, QUESTIONS, MATRIX, services(model or Counting(), folder / "cache"))
    return Run.open(folder / "run")


def test_each_arm_is_scored_and_true_empties_apart(tmp_path: Path) -> None:
    found = summarise(finished(tmp_path))
    zero, retry = found["arms"]
    assert (zero["n"], zero["ex"], zero["error"], zero["executable"]) == (2, 0.5, 1, 0.5)
    assert (retry["n"], retry["ex"], retry["error"]) == (2, 1.0, 0)
    # Retrying what is rightly empty makes rows of it.
    assert (zero["true_empty"]["empty"], zero["true_empty"]["rows"]) == (1, 0)
    assert (retry["true_empty"]["empty"], retry["true_empty"]["rows"]) == (0, 1)
    assert found["golds"]["aside_by_reason"] == {"the gold fails": 1}
    assert retry["recovery"] == {"lost": 1, "rows": 1, "correct": 1}
    (gap,) = found["differences"]
    assert (gap["n"], gap["fixed"], gap["broken"], gap["difference"]) == (2, ["2"], [], 0.5)
    assert {
        "n",
        "ex",
        "low",
        "high",
        "executable",
        "empty",
        "error",
        "calls",
        "tokens",
        "seconds",
    } == set(door(found)["strategies"]["naive-retry"])


def test_drafts_are_shared_and_still_count_in_each_arm(tmp_path: Path) -> None:
    model = Counting()
    found = summarise(finished(tmp_path, model))
    zero, retry = found["arms"]
    assert (zero["calls"], retry["calls"]) == (3, 5)
    # Three drafts and two repairs were paid for, not eight.
    assert model.asked.total() == 5
    assert zero["reused"] + retry["reused"] == 3
    assert (zero["database"], retry["database"]) == (3, 5)
    price = (zero["prompt_tokens"] + 2 * zero["completion_tokens"]) / 1e6
    assert zero["money"] == pytest.approx(price, abs=1e-6)


def test_an_interrupted_run_goes_on_and_gives_equal_data(tmp_path: Path) -> None:
    whole = finished(tmp_path / "whole")
    first = Counting(fail_after=2)
    with pytest.raises(ModelUnavailable):
        finished(tmp_path / "cut", first)
    second = Counting()
    resumed = finished(tmp_path / "cut", second)
    assert first.asked.total() + second.asked.total() == 5
    assert resumed.artifact.digest == whole.artifact.digest
    again = Counting()
    finished(tmp_path / "cut", again)
    assert not again.asked
    with pytest.raises(OptionsChanged):
        RunFolder(tmp_path / "cut" / "run", {"a": 2})


def test_the_report_stands_alone_and_escapes(tmp_path: Path) -> None:
    run = finished(tmp_path)
    write_report(run, summarise(run), tmp_path / "report")
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "<script>alert(1)</script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "http" not in page.replace("http-equiv", "")
    assert BROKEN in page and "no such query" in page
    assert "Who is there?" not in page  # no arm fails it
    assert "A gold that fails" in page and "no such query: MATCH (x) RETURN x.y" in page
    figures = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    assert "born?" not in figures and "Ann" not in figures
    table = list(csv.DictReader(io.StringIO((tmp_path / "report" / "trials.csv").read_text())))
    assert [(r["id"], r["verdict"]) for r in table[:4]] == [
        ("1", "correct"),
        ("2", "error"),
        ("3", "correct"),
        ("4", "aside"),
    ]
    assert json.loads((tmp_path / "report" / "report.json").read_text())["questions"] == 4


def test_comparing_shows_flips_in_both_directions(tmp_path: Path) -> None:
    run = finished(tmp_path)
    (pair,) = compare_runs(run, run)
    assert [f["id"] for f in pair["flips"]["fixed"]] == ["2"]
    assert [f["id"] for f in pair["flips"]["broken"]] == ["3"]
    text = comparison_text(pair)
    assert "1 fixed, 0 broken" in text
    assert "broken (true-empty): 3 [correct → different]" in text
    zero, retry = (arm["id"] for arm in run.arms)
    (back,) = compare_runs(run, run, retry, zero)
    assert [f["id"] for f in back["flips"]["broken"]] == ["2"]
    with pytest.raises(UsageError, match="no arm"):
        compare_runs(run, run, "other", zero)


def test_a_plan_counts_shared_drafts(tmp_path: Path) -> None:
    plan = projected(QUESTIONS, MATRIX, {"people": graph().schema()}, Prices())
    assert (plan["questions"], plan["trials"]) == (4, 8)
    assert plan["models"][0]["drafts"] == 4
    assert plan["models"][0]["drafts_if_nothing_is_shared"] == 8


def test_a_matrix_file(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text(
        'dataset = "q.jsonl"\nstrategies = ["zero-shot", "naive-retry"]\n'
        'models = ["openai:a", "openai:b"]\nseeds = [0, 1]\neach = 5\n[graphs]\nwwc = "bolt://h:1"\n',
        encoding="utf-8",
    )
    found = read_matrix(path)
    assert found.dataset == (tmp_path / "q.jsonl",)
    assert found.graphs == ("wwc=bolt://h:1",)
    matrix = Matrix(found.strategies, found.models, found.seeds)
    assert len(matrix.arms) == 8
    # Arms of one model stand together: their drafts are shared while the endpoint still knows them.
    assert [a.model for a in matrix.arms] == ["openai:a"] * 4 + ["openai:b"] * 4
    path.write_text('datset = "q.jsonl"\n', encoding="utf-8")
    with pytest.raises(UsageError, match="datset"):
        read_matrix(path)
    with pytest.raises(UsageError, match="no strategy 'zero-shto'"):
        Matrix(("zero-shto",), ("openai:a",)).check()


def test_graphs_by_name() -> None:
    assert graph_specs(["example"], ["a"]) == {"a": "example"}
    assert graph_specs(["a=bolt://h:1", "b=example"], ["a", "b"]) == {
        "a": "bolt://h:1",
        "b": "example",
    }
    with pytest.raises(UsageError, match="a, b"):
        graph_specs(["example"], ["a", "b"])


def test_a_smaller_draw_is_part_of_a_larger_one_and_repeats_no_gold() -> None:
    examples = [
        Example(
            f"{f}{i}", "q", f"MATCH (x) WHERE x.p = {i // 2} RETURN x.{f}", "g", meta={"file": f}
        )
        for f in "ab"
        for i in range(10)
    ]
    five, eight = choose(examples, 5), choose(examples, 8)
    assert eight[:5] == five
    assert Counter(e.meta["file"] for e in eight) == {"a": 4, "b": 4}
    assert len({e.cypher for e in eight}) == 8
    kept = cut(QUESTIONS, each=None, limit=2)
    assert len(kept) == 2


def test_the_zero_shot_prompt_is_frozen() -> None:
    """A changed baseline is another baseline: raise PROMPT_VERSION and say so in the docs."""
    request = zero_shot_request("(:A)-[:R]->(:B)", "How many?")
    assert PROMPT_VERSION == 1
    assert digest(dumps(request.to_json())) == (
        "sha256:f19befeee3a9a2c5a4b76717f7f62bdadd1f8229378ce46c37e4baeff5253de3"
    )
