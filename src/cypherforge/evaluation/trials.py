"""One question in one arm: the strategy's answer, its scores, its faults, its cost."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from cypherforge.core.errors import EnvironmentFault, QueryError
from cypherforge.diagnosis import diagnose
from cypherforge.evaluation.costs import Cost, Ledger
from cypherforge.evaluation.execution import GOLD_ROWS
from cypherforge.evaluation.golds import Gold, sample
from cypherforge.evaluation.provenance import provenance_similarity
from cypherforge.evaluation.scores import score_result
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.schema import Schema
from cypherforge.runtime.pipeline import Answer
from cypherforge.runtime.strategies import Strategy

Verdict = Literal[
    "correct", "different", "empty", "error", "refused", "unanswerable", "undecided", "aside"
]
VERDICTS: tuple[Verdict, ...] = (
    "correct",
    "different",
    "empty",
    "error",
    "refused",
    "unanswerable",
    "undecided",
    "aside",
)


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of one question in one arm. ``rows`` are the first few, as JSON values.

    ``empty`` is a result without a row where the right answer has some; ``error`` a query that does
    not run, or no query at all.
    """

    arm: str
    id: str
    graph: str
    verdict: Verdict
    outcome: str
    cypher: str
    reason: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[Any, ...] = ()
    row_count: int | None = None
    truncated: bool = False
    scores: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[Mapping[str, Any], ...] = ()
    trace: tuple[Mapping[str, Any], ...] = ()
    cost: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scored(self) -> bool:
        """Whether the question counts."""
        return self.verdict != "aside"

    @property
    def ex(self) -> float:
        """Execution accuracy: 1.0 or 0.0."""
        return float(self.verdict == "correct")

    def to_row(self) -> dict[str, Any]:
        """The trial as a JSON object."""
        return asdict(self)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Trial:
        """Read back what ``to_row`` wrote."""
        values = dict(row)
        for name in ("columns", "rows", "faults", "trace"):
            values[name] = tuple(values[name])
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the questions of one graph are tried in one arm."""

    arm: str
    strategy: Strategy
    ledger: Ledger
    graph: Graph
    schema: Schema
    timeout: float | None = None
    values: bool = True
    provenance: bool = True

    def run(self, gold: Gold) -> Trial:
        """Ask, score, diagnose. A question that is set aside is not asked."""
        example = gold.example
        if gold.aside or gold.run is None:
            return Trial(self.arm, example.id, example.graph, "aside", "", "", gold.aside)
        with self.ledger.question() as cost:
            answer = self.strategy.answer(example.question)
        return self._scored(gold, answer, cost)

    def _scored(self, gold: Gold, answer: Answer, cost: Cost) -> Trial:
        assert gold.run is not None
        example = gold.example
        result = self._result(gold, answer)
        same = gold.same(result) if result is not None else False
        psjs = None
        if self.provenance:
            psjs = provenance_similarity(
                answer.cypher, gold.run.query, self.graph, timeout=self.timeout
            )
        scores = score_result(
            answer.cypher, result, gold.run, same, psjs=psjs, error=answer.reason
        ).to_json()
        scores.update(scores.pop("overlap") or {})
        for name in ("error", "rows", "empty"):
            del scores[name]
        verdict = _verdict(answer, result, same, gold)
        wrong = verdict not in ("correct", "undecided")
        faults = self._faults(answer.cypher, gold, result) if wrong and answer.cypher else ()
        shown = sample(result, values=self.values)
        return Trial(
            arm=self.arm,
            id=example.id,
            graph=example.graph,
            verdict=verdict,
            outcome=answer.outcome,
            cypher=answer.cypher,
            reason=answer.reason,
            columns=tuple(shown["columns"]),
            rows=tuple(shown["rows"]),
            row_count=shown["row_count"],
            truncated=bool(result and result.truncated),
            scores=scores,
            faults=faults,
            # Steps quote rows and stored names: where values stay back, so does the trace.
            trace=tuple(map(_timeless, answer.trace.to_json())) if self.values else (),
            cost=cost.to_json(),
        )

    def _result(self, gold: Gold, answer: Answer) -> Result | None:
        """The answer's rows as a result of this graph; None where no query ran."""
        if answer.outcome not in ("answered", "empty"):
            return None
        assert gold.run is not None
        whole = gold.run.result
        if answer.truncated and len(whole.rows) >= len(answer.rows):
            # The strategy's row limit cut what may be right: fetch it whole.
            with contextlib.suppress(QueryError):
                return self.graph.run(answer.cypher, timeout=self.timeout, limit=GOLD_ROWS)
        return Result(answer.columns, answer.rows, answer.truncated, source=whole.source)

    def _faults(
        self, query: str, gold: Gold, result: Result | None
    ) -> tuple[Mapping[str, Any], ...]:
        assert gold.run is not None
        try:
            found = diagnose(
                query,
                gold.example.cypher,
                graph=self.graph,
                schema=self.schema,
                draft_result=result if result is not None and not result.truncated else None,
                gold_result=gold.run.result,
            )
        except EnvironmentFault:
            raise
        except Exception as error:  # noqa: BLE001
            # One odd draft must not end a run of hours: the failure is kept, and says so.
            reason = f"diagnosis stopped: {type(error).__name__}: {error}"
            return ({"code": "unknown", "family": "unknown", "confirmed": None, "reason": reason},)
        return tuple(
            {"code": f.code, "family": f.family, "confirmed": f.confirmed, "reason": f.reason}
            for f in found
        )


def _verdict(answer: Answer, result: Result | None, same: bool | None, gold: Gold) -> Verdict:
    if result is None:
        if answer.outcome == "refused":
            return "refused"
        return "unanswerable" if answer.outcome == "unanswerable" else "error"
    if same is None:
        return "undecided"
    if same:
        return "correct"
    return "empty" if not result.rows else "different"


def _timeless(step: Mapping[str, Any]) -> dict[str, Any]:
    """A step of the trace without its time, so that equal runs give equal bytes."""
    return {name: value for name, value in step.items() if name != "seconds"}
