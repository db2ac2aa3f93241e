"""A model as judge of what results mean, beside EX: verdicts, a second judge, agreement with people.

LAST-CQ, appendix B: CORRECT, PARTIAL or INCORRECT for question, both queries and both results, each
cut at 500 characters. Its finding is built in: judges agree with each other more than with people,
and err on the kind side, so a second judge's kappa and the agreement with human verdicts are shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cypherforge.core.datasets import Dataset, Example
from cypherforge.core.errors import ModelAnswerError, QueryError, UsageError
from cypherforge.core.executor import Executor, ThreadExecutor
from cypherforge.core.progress import NullProgress, Progress
from cypherforge.evaluation.golds import SHOWN_ROWS, sample
from cypherforge.evaluation.summary import Run
from cypherforge.evaluation.trials import Trial
from cypherforge.graph.base import Graph
from cypherforge.graph.values import display, from_json
from cypherforge.llm.base import ChatModel, ChatRequest, Message
from cypherforge.templates import render

Mark = Literal["CORRECT", "PARTIAL", "INCORRECT", ""]

RESULT_CHARS = 500
MAX_TOKENS = 120
#: The column of Mind-the-Query's manual review: 1 where the query answers its question.
HUMAN = "logical"

_MARK = re.compile(r"\b(INCORRECT|CORRECT|PARTIAL)\b")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's mark, ``""`` where the answer could not be read, and its reason."""

    mark: Mark
    reason: str = ""


def judge_request(
    question: str, candidate: tuple[str, str], reference: tuple[str, str] | None
) -> ChatRequest:
    """The request to judge; pairs are (query, result as text)."""

    def part(pair: tuple[str, str]) -> dict[str, str]:
        return {"query": pair[0] or "(no query)", "result": pair[1][:RESULT_CHARS]}

    text = render(
        "prompts/judge.jinja",
        question=" ".join(question.split()),
        candidate=part(candidate),
        reference=part(reference) if reference else None,
    )
    return ChatRequest((Message("user", text),), max_tokens=MAX_TOKENS)


def judge(model: ChatModel, request: ChatRequest) -> Judgement:
    """Ask for one verdict. An answer that cannot be read is no verdict, and never INCORRECT."""
    try:
        answer = model.chat(request)
    except ModelAnswerError as error:
        return Judgement("", error.message)
    if not answer.usable:
        return Judgement("", f"the answer is no answer: {answer.finish}")
    lines = [line for line in answer.text.splitlines() if line.strip()]
    # One mark on the first line: a line that names several is no verdict.
    marks = set(_MARK.findall(lines[0].upper()))
    if len(marks) != 1:
        return Judgement("", f"cannot be read: {lines[0][:80]}")
    reason = " ".join(" ".join(lines[1:]).split())
    return Judgement(marks.pop(), reason)


def result_text(columns: Sequence[str], rows: Sequence[Sequence[Any]], count: int | None) -> str:
    """A result as a judge reads it; ``rows`` are JSON values."""
    if count is None:
        return "(the query did not run)"
    if not count:
        return "(no row)"
    lines = [" | ".join(columns)]
    lines += [" | ".join(display(from_json(cell), 80) for cell in row) for row in rows]
    if count > len(rows):
        lines.append(f"... {count} rows in all")
    return "\n".join(lines)


def judge_run(
    run: Run,
    model: ChatModel,
    second: ChatModel | None = None,
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Judge every scored trial of every arm; what was answered before comes from the cache.

    Returns, as plain data, per arm the shares of the marks among those that could be read, coverage,
    agreement with EX and the kappa of both judges, and ``verdicts`` by arm and id.
    """
    progress = progress or NullProgress()
    executor = executor or ThreadExecutor(2)
    todo = [(arm["id"], t) for arm in run.arms for t in run.scored(arm["id"])]
    progress.start("judge", len(todo))

    def work(item: tuple[str, Trial]) -> tuple[Judgement, Judgement | None]:
        _, trial = item
        request = _request(run, trial)
        return judge(model, request), judge(second, request) if second is not None else None

    def keep(item: object, result: object) -> None:
        progress.advance()

    found = list(executor.map(work, todo, on_result=keep))
    arms: dict[str, Any] = {}
    verdicts: dict[str, dict[str, str]] = {}
    for arm in run.arms:
        mine = [
            (trial, *marks)
            for (name, trial), marks in zip(todo, found, strict=True)
            if name == arm["id"]
        ]
        arms[arm["id"]] = _arm(mine)
        verdicts[arm["id"]] = {
            trial.id: f"{first.mark or 'unreadable'}: {first.reason}" for trial, first, _ in mine
        }
    progress.finish(", ".join(f"{name}: {row['n']} judged" for name, row in arms.items()))
    return {
        "judge": model.name,
        "second": second.name if second is not None else None,
        "arms": arms,
        "verdicts": verdicts,
        "human": None,
    }


def judge_humans(
    dataset: Dataset,
    graphs: Mapping[str, Graph],
    model: ChatModel,
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Let the judge decide what people have decided: whether each gold answers its question.

    The dataset's ``logical`` column (0 or 1) is the human verdict. The judge sees question, query and
    result, no reference. CORRECT is its 1; with ``kind`` figures PARTIAL counts as 1 too. Raises
    UsageError where the dataset has no such column.
    """
    progress = progress or NullProgress()
    executor = executor or ThreadExecutor(2)
    labelled = [e for e in dataset.examples if str(e.meta.get(HUMAN)).strip() in ("0", "1")]
    if not labelled:
        raise UsageError(
            f"no question has a human verdict in a column {HUMAN!r}",
            where=dataset.name,
            hint="0 or 1: whether the query answers its question",
        )
    progress.start("judge as people", len(labelled))

    def work(example: Example) -> Judgement:
        try:
            shown = sample(graphs[example.graph].run(example.cypher, limit=SHOWN_ROWS + 1))
            text = result_text(shown["columns"], shown["rows"], shown["row_count"])
        except QueryError as error:
            text = f"(the query failed: {error.message})"
        return judge(model, judge_request(example.question, (example.cypher, text), None))

    def keep(item: object, result: object) -> None:
        progress.advance()

    found = list(executor.map(work, labelled, on_result=keep))
    pairs = [
        (str(e.meta[HUMAN]).strip() == "1", j.mark)
        for e, j in zip(labelled, found, strict=True)
        if j.mark
    ]
    people = [human for human, _ in pairs]
    strict = [mark == "CORRECT" for _, mark in pairs]
    kind = [mark != "INCORRECT" for _, mark in pairs]
    progress.finish(f"{len(pairs)} of {len(labelled)} could be read")
    return {
        "n": len(pairs),
        "unreadable": len(labelled) - len(pairs),
        "agreement": _agreement(people, strict),
        "kappa": cohens_kappa(people, strict),
        "kind_agreement": _agreement(people, kind),
        "kind_kappa": cohens_kappa(people, kind),
        "people_accept": _share(people),
        "judge_accepts": _share(strict),
    }


def cohens_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa (1960): agreement beyond chance; None where chance explains all of it.

    Raises UsageError where the lengths differ.
    """
    if len(first) != len(second):
        raise UsageError(f"{len(first)} verdicts against {len(second)}: not the same questions")
    if not first:
        return None
    count = len(first)
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / count
    mine, theirs = Counter(first), Counter(second)
    expected = sum(mine[mark] * theirs[mark] for mark in mine) / count**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def _request(run: Run, trial: Trial) -> ChatRequest:
    gold = run.golds[trial.id]
    mine = result_text(trial.columns, trial.rows, trial.row_count)
    theirs = result_text(gold["columns"], gold["rows"], gold["row_count"])
    return judge_request(gold["question"], (trial.cypher, mine), (gold["gold"], theirs))


def _arm(rows: Sequence[tuple[Trial, Judgement, Judgement | None]]) -> dict[str, Any]:
    read = [(trial, first) for trial, first, _ in rows if first.mark]
    both = [(a.mark, b.mark) for _, a, b in rows if a.mark and b is not None and b.mark]
    marks = Counter(first.mark for _, first in read)
    total = len(read)

    def share(mark: Mark) -> float | None:
        return marks[mark] / total if total else None

    return {
        "n": total,
        "unreadable": len(rows) - total,
        "correct": share("CORRECT"),
        "partial": share("PARTIAL"),
        "incorrect": share("INCORRECT"),
        "agrees_with_ex": _agreement(
            [bool(trial.ex) for trial, _ in read], [j.mark == "CORRECT" for _, j in read]
        ),
        "kappa": cohens_kappa([a for a, _ in both], [b for _, b in both]) if both else None,
    }


def _agreement(first: Sequence[object], second: Sequence[object]) -> float | None:
    return _share([a == b for a, b in zip(first, second, strict=True)])


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None
