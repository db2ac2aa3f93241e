"""Collect: draft every question of the subset zero-shot, execute, and keep what went wrong.

CypherGuard, section 3.2. The prompt holds schema and question only, so what fails is what the
backbone gets wrong by itself. Golds are audited first: one that fails, returns nothing, or
contradicts another gold of the same question cannot score anything, and is set aside by name.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cypherforge.artifacts.journal import Journal
from cypherforge.core.datasets import Example
from cypherforge.core.errors import UsageError
from cypherforge.core.executor import Executor, ThreadExecutor
from cypherforge.core.progress import NullProgress, Progress
from cypherforge.llm.base import ChatRequest
from cypherforge.miner.attempts import Attempt, Bench, SetAside

Request = Callable[[Example], ChatRequest]


@dataclass(frozen=True, slots=True)
class Collected:
    """Attempts in the order of their questions, and questions that were set aside."""

    attempts: tuple[Attempt, ...]
    aside: tuple[SetAside, ...]

    @property
    def failures(self) -> tuple[Attempt, ...]:
        """The attempts whose result is not gold's."""
        return tuple(a for a in self.attempts if a.failed)

    def summary(self) -> dict[str, Any]:
        """Counts by outcome and by taxonomy code, as JSON."""
        outcomes = Counter(a.outcome for a in self.attempts)
        codes = Counter(a.code for a in self.failures)
        confirmed = sum(any(f.confirmed for f in a.faults) for a in self.failures)
        return {
            "drafted": len(self.attempts),
            "correct": outcomes["correct"],
            "failures": {kind: outcomes[kind] for kind in ("error", "empty", "different")},
            "codes": dict(sorted(codes.items(), key=lambda item: (-item[1], item[0]))),
            "confirmed": confirmed,
            "set_aside": len(self.aside),
        }


def collect(
    examples: Sequence[Example],
    benches: Mapping[str, Bench],
    request: Request,
    journal: Journal,
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
    stage: str = "collect",
) -> Collected:
    """Try each example once; what the journal holds already is not tried again.

    ``benches`` maps a graph's name to where it runs. Raises ``UsageError`` for a question of
    another graph, and what graph and model raise when they cannot go on.
    """
    progress = progress or NullProgress()
    executor = executor or ThreadExecutor(2)
    lost = sorted({e.graph for e in examples} - set(benches))
    if lost:
        raise UsageError(
            f"no graph is given for the questions of {', '.join(lost)}",
            hint="pass --graph NAME=URI for each graph of the dataset",
        )
    progress.start(stage, len(examples))
    done = sum(e.id in journal for e in examples)
    if done:
        progress.advance(done, "already done")
    todo = [e for e in examples if e.id not in journal]

    def work(example: Example) -> dict[str, Any]:
        bench = benches[example.graph]
        gold = bench.gold(example)
        if isinstance(gold, SetAside):
            return {"aside": asdict(gold)}
        return {"attempt": bench.attempt(example, gold, request(example)).to_row()}

    def keep(example: Example, row: dict[str, Any]) -> None:
        journal.append(example.id, row)
        progress.advance()

    for _ in executor.map(work, todo, on_result=keep):
        pass
    result = _gather(examples, journal)
    summary = result.summary()
    kinds = ", ".join(f"{n} {kind}" for kind, n in summary["failures"].items() if n) or "none"
    progress.finish(
        f"{summary['drafted']} drafted, {summary['correct']} correct, failures: {kinds}; "
        f"{summary['set_aside']} set aside"
    )
    return result


def _gather(examples: Sequence[Example], journal: Journal) -> Collected:
    attempts: list[Attempt] = []
    aside: list[SetAside] = []
    for example in examples:
        row = journal[example.id]
        if "aside" in row:
            aside.append(SetAside(**row["aside"]))
        else:
            attempts.append(Attempt.from_row(row["attempt"]))
    contradictory = _contradictory(attempts)
    for attempt in attempts:
        if attempt.id in contradictory:
            aside.append(
                SetAside(
                    attempt.id,
                    attempt.question,
                    attempt.gold,
                    attempt.graph,
                    "golds of this question return different rows",
                )
            )
    kept = tuple(a for a in attempts if a.id not in contradictory)
    return Collected(kept, tuple(sorted(aside, key=lambda a: a.id)))


def _contradictory(attempts: Sequence[Attempt]) -> set[str]:
    """Ids of questions that have several golds with different results."""
    sets: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        sets[attempt.graph, " ".join(attempt.question.casefold().split())].append(attempt)
    return {a.id for same in sets.values() if len({b.gold_digest for b in same}) > 1 for a in same}
