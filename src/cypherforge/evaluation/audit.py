"""Audit of golds: what fails, times out, returns nothing, contradicts another, or is left open.

A score is worth what its golds are worth. Nothing here needs a model.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from cypherforge.core.datasets import Dataset, Example
from cypherforge.core.errors import InputError, QueryError, QueryRefused, QueryTimeout
from cypherforge.core.executor import Executor, ThreadExecutor
from cypherforge.core.files import digest, dumps
from cypherforge.core.progress import NullProgress, Progress
from cypherforge.evaluation.determinacy import determine
from cypherforge.evaluation.execution import run_gold
from cypherforge.evaluation.golds import TRUE_EMPTY
from cypherforge.graph.base import Graph
from cypherforge.graph.values import to_json

Status = Literal["sound", "fails", "times out", "refused", "empty", "not empty", "too many rows"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is to be said of one gold. ``answer`` is a digest of its rows as a multiset.

    ``not empty``: said to be truly empty, and returns rows. ``contradicts``: ids of questions with the
    same words and graph whose gold has other rows. ``open``: what leaves its answer open, and whether
    it is scored by membership (``set``) or set aside.
    """

    id: str
    graph: str
    status: Status
    reason: str = ""
    rows: int | None = None
    seconds: float = 0.0
    answer: str = ""
    open: tuple[str, ...] = ()
    open_status: str = "settled"
    contradicts: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The finding as plain data, without its time."""
        row = asdict(self)
        del row["seconds"]
        return row


def audit(
    dataset: Dataset,
    graphs: Mapping[str, Graph],
    *,
    timeout: float | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> list[Finding]:
    """Audit every gold, in the order of the questions. Raises what an unreachable graph raises."""
    progress = progress or NullProgress()
    executor = executor or ThreadExecutor(2)
    progress.start("audit", len(dataset))

    def work(example: Example) -> Finding:
        return _finding(example, graphs[example.graph], timeout)

    def keep(example: Example, finding: Finding) -> None:
        progress.advance()

    found = list(executor.map(work, dataset.examples, on_result=keep))
    contradictions = _contradictions(dataset.examples, found)
    found = [
        f if f.id not in contradictions else _with(f, contradicts=contradictions[f.id])
        for f in found
    ]
    summary = audit_summary(found)
    progress.finish(", ".join(f"{n} {status}" for status, n in summary["status"].items()))
    return found


def audit_summary(findings: Iterable[Finding]) -> dict[str, Any]:
    """Counts by status, open answers and contradictions, overall and by graph."""
    rows = list(findings)

    def counts(part: Sequence[Finding]) -> dict[str, Any]:
        open_ = [f for f in part if f.open]
        return {
            "questions": len(part),
            "status": dict(Counter(f.status for f in part).most_common()),
            "contradicting": sum(bool(f.contradicts) for f in part),
            "underdetermined": len(open_),
            "underdetermined_share": len(open_) / len(part) if part else 0.0,
            "underdetermined_by_kind": dict(
                Counter(k for f in open_ for k in f.open).most_common()
            ),
            "scored_by_membership": sum(f.open_status == "set" for f in open_),
        }

    by_graph: dict[str, list[Finding]] = defaultdict(list)
    for row in rows:
        by_graph[row.graph].append(row)
    return {**counts(rows), "graphs": {name: counts(part) for name, part in by_graph.items()}}


def _finding(example: Example, graph: Graph, timeout: float | None) -> Finding:
    def found(status: Status, reason: str = "") -> Finding:
        return Finding(example.id, example.graph, status, reason)

    try:
        gold = run_gold(example.cypher, graph, timeout=timeout)
    except InputError as error:
        cause = error.__cause__
        if isinstance(cause, QueryTimeout):
            return found("times out", cause.message)
        if isinstance(cause, QueryRefused):
            return found("refused", cause.message)
        if isinstance(cause, QueryError):
            return found("fails", cause.message)
        return found("too many rows", error.message)
    result = gold.result
    empty = bool(example.meta.get(TRUE_EMPTY))
    status: Status = "sound"
    if not result.rows and not empty:
        status = "empty"
    elif result.rows and empty:
        status = "not empty"
    verdict = determine(gold, graph, timeout=timeout)
    rows = sorted(dumps([to_json(cell) for cell in row]) for row in result.rows)
    return Finding(
        example.id,
        example.graph,
        status,
        verdict.reason,
        len(result.rows),
        result.seconds,
        digest("\n".join(rows).encode()),
        verdict.kinds,
        verdict.status,
    )


def _contradictions(
    examples: Sequence[Example], findings: Sequence[Finding]
) -> dict[str, tuple[str, ...]]:
    """For each question the ids of others with its words whose gold has other rows."""
    groups: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for example, finding in zip(examples, findings, strict=True):
        # An open answer may differ from run to run, so it contradicts nothing.
        if finding.answer and not finding.open:
            words = " ".join(example.question.casefold().rstrip("?!. ").split())
            groups[example.graph, words].append(finding)
    return {
        f.id: others
        for group in groups.values()
        for f in group
        if (others := tuple(o.id for o in group if o.answer != f.answer))
    }


def _with(finding: Finding, **changes: Any) -> Finding:
    return Finding(**{**asdict(finding), **changes})
