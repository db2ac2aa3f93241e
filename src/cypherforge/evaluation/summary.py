"""What a run's trials say of each arm: scores with intervals, verdicts, costs, faults, differences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cypherforge.artifacts.store import Artifact
from cypherforge.core.errors import InputError
from cypherforge.evaluation.matrix import STAGE
from cypherforge.evaluation.statistics import (
    mcnemar,
    mean_interval,
    over_seeds,
    paired_difference,
    questions_for_difference,
    tost,
)
from cypherforge.evaluation.trials import VERDICTS, Trial

KIND = "eval-trials"
BASELINE = "zero-shot"
#: Differences below this are none, for the test of equivalence.
MARGIN = 0.05
MEANS = (
    "executable",
    "strict",
    "result_match",
    "string_match",
    "psjs",
    "set_precision",
    "set_recall",
    "set_f1",
    "set_jaccard",
    "gleu_result",
    "rouge_result",
    "gleu_text",
    "bleu_text",
    "rouge_text",
)


@dataclass(frozen=True)
class Run:
    """A finished run: golds by id in the order of the questions, trials by arm and id."""

    folder: Path
    artifact: Artifact
    golds: Mapping[str, Mapping[str, Any]]
    trials: Mapping[str, Mapping[str, Trial]]

    @classmethod
    def open(cls, folder: Path | str) -> Run:
        """Open a run's folder, or its artifact. Raises InputError where there is none."""
        path = Path(folder)
        inner = path / STAGE
        try:
            artifact = Artifact.open(inner if inner.is_dir() else path, KIND)
        except InputError:
            if (path / "journal").is_dir():
                raise InputError(
                    "this run is not finished", where=str(path), hint="start it again to resume"
                ) from None
            raise
        golds = {row["id"]: row for row in artifact.read_jsonl("golds.jsonl")}
        trials: dict[str, dict[str, Trial]] = {arm["id"]: {} for arm in _arms(artifact)}
        for row in artifact.read_jsonl("trials.jsonl"):
            trial = Trial.from_row(row)
            trials[trial.arm][trial.id] = trial
        return cls(path, artifact, golds, trials)

    @property
    def arms(self) -> list[dict[str, Any]]:
        """The arms in the order in which they were named."""
        return _arms(self.artifact)

    @property
    def graphs(self) -> dict[str, str]:
        """The graphs' names and engines."""
        return dict(self.artifact.manifest.params["graphs"])

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of questions that the dataset names."""
        return sorted({str(g["kind"]) for g in self.golds.values()} - {""})

    def scored(self, arm: str, *, true_empty: bool = False) -> list[Trial]:
        """The trials of an arm that count, in the order of the questions."""
        return [
            t
            for t in self.trials[arm].values()
            if t.scored and bool(self.golds[t.id]["true_empty"]) is true_empty
        ]

    def baseline(self, arm: Mapping[str, Any]) -> dict[str, Any] | None:
        """The zero-shot arm of the same model and seed, else the model's first; None for itself."""
        same = [a for a in self.arms if a["model"] == arm["model"] and a["seed"] == arm["seed"]]
        found = next((a for a in same if a["strategy"] == BASELINE), same[0])
        return None if found["id"] == arm["id"] else found


def _arms(artifact: Artifact) -> list[dict[str, Any]]:
    return [dict(arm) for arm in artifact.manifest.params["arms"]]


def summarise(run: Run, *, seed: int = 0) -> dict[str, Any]:
    """Everything that tables and charts show, as plain data."""
    arms = [arm_summary(run, arm, seed=seed) for arm in run.arms]
    return {
        "dataset": run.artifact.manifest.params["dataset"],
        "digest": run.artifact.digest,
        "graphs": run.graphs,
        "questions": len(run.golds),
        "golds": gold_summary(run.golds.values()),
        "arms": arms,
        "differences": [
            difference(run, base["id"], arm["id"], seed=seed)
            for arm in run.arms
            if (base := run.baseline(arm)) is not None
        ],
        "seeds": _seeds(run, seed),
    }


def gold_summary(golds: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """How many golds count, how many the graph leaves open, how many are set aside and why."""
    rows = list(golds)
    open_ = [g for g in rows if g["determinacy"]["status"] != "settled"]
    kinds = Counter(kind for g in open_ for kind in g["determinacy"]["kinds"])
    asides = Counter(_why(g) for g in rows if g["aside"])
    ordinary = [g for g in rows if not g["true_empty"]]
    return {
        "all": len(rows),
        "scored": sum(not g["aside"] for g in ordinary),
        "true_empty": sum(bool(g["true_empty"]) for g in rows),
        "aside": sum(bool(g["aside"]) for g in rows),
        "aside_by_reason": dict(sorted(asides.items(), key=lambda item: (-item[1], item[0]))),
        "underdetermined": len(open_),
        "underdetermined_share": len(open_) / len(rows) if rows else 0.0,
        "underdetermined_by_kind": dict(sorted(kinds.items(), key=lambda i: (-i[1], i[0]))),
        "scored_by_membership": sum(g["determinacy"]["status"] == "set" for g in rows),
    }


def _why(gold: Mapping[str, Any]) -> str:
    if gold["determinacy"]["status"] == "aside":
        return f"not settled: {', '.join(gold['determinacy']['kinds'])}"
    return str(gold["aside"]).split(":", 1)[0]


def arm_summary(run: Run, arm: Mapping[str, Any], *, seed: int = 0) -> dict[str, Any]:
    """One arm: EX with its interval, verdicts, other scores, cost, faults, by graph and by kind."""
    name = str(arm["id"])
    trials = run.scored(name)
    verdicts = Counter(t.verdict for t in trials)
    empties = run.scored(name, true_empty=True)
    usage = dict(run.artifact.manifest.run.usage.get(name, {}))
    return {
        **arm,
        **_ex(trials, seed),
        "verdicts": {verdict: verdicts[verdict] for verdict in VERDICTS if verdict != "aside"},
        "aside": sum(not t.scored for t in run.trials[name].values()),
        "empty": verdicts["empty"],
        "error": verdicts["error"] + verdicts["refused"] + verdicts["unanswerable"],
        **{score: _mean(t.scores.get(score) for t in trials) for score in MEANS},
        "hit": _mean(float(bool(t.row_count)) for t in trials),
        "recovery": _recovery(run, arm),
        **_costs([*trials, *empties], usage),
        "true_empty": _true_empty(empties),
        "by_graph": {
            graph: _ex([t for t in trials if t.graph == graph], seed) for graph in run.graphs
        },
        "by_kind": {
            kind: _ex([t for t in trials if run.golds[t.id]["kind"] == kind], seed)
            for kind in run.kinds
        },
        "faults": fault_counts(trials),
    }


def _ex(trials: Sequence[Trial], seed: int) -> dict[str, Any]:
    scores = [t.ex for t in trials]
    if not scores:
        return {"n": 0, "ex": None, "low": None, "high": None, "bca_low": None, "bca_high": None}
    plain = mean_interval(scores, seed=seed)
    bca = mean_interval(scores, seed=seed, method="bca")
    return {
        "n": len(scores),
        "ex": plain.value,
        "low": plain.low,
        "high": plain.high,
        "bca_low": bca.low,
        "bca_high": bca.high,
    }


def _mean(values: Iterable[Any]) -> float | None:
    known = [float(v) for v in values if v is not None]
    return sum(known) / len(known) if known else None


def _costs(trials: Sequence[Trial], usage: Mapping[str, Any]) -> dict[str, Any]:
    total: Counter[str] = Counter()
    money: float | None = 0.0
    stray = dict(usage.get("unassigned", {}))
    for cost in (*(t.cost for t in trials), stray):
        for name in ("calls", "prompt_tokens", "completion_tokens", "database"):
            total[name] += cost.get(name, 0)
        price = cost.get("money", 0.0)
        money = None if money is None or price is None else money + price
    return {
        "calls": total["calls"],
        "tokens": total["prompt_tokens"] + total["completion_tokens"],
        "prompt_tokens": total["prompt_tokens"],
        "completion_tokens": total["completion_tokens"],
        "money": round(money, 6) if money is not None else None,
        "database": total["database"],
        "seconds": usage.get("seconds"),
        "seconds_median": usage.get("seconds_median"),
        "seconds_p95": usage.get("seconds_p95"),
        "reused": usage.get("reused", 0),
        "untimed": usage.get("untimed", 0),
    }


def _true_empty(trials: Sequence[Trial]) -> dict[str, Any]:
    """How questions without an answer were answered: ``rows`` is the harm."""
    rows = sum(bool(t.row_count) for t in trials)
    return {
        "n": len(trials),
        "empty": sum(t.row_count == 0 for t in trials),
        "unanswerable": sum(t.verdict == "unanswerable" for t in trials),
        "rows": rows,
        "failed": sum(t.row_count is None and t.verdict != "unanswerable" for t in trials),
        "rows_share": rows / len(trials) if trials else None,
    }


def _recovery(run: Run, arm: Mapping[str, Any]) -> dict[str, Any] | None:
    """Of what the baseline left as an error or empty: how much has rows now, how much is right.

    LAST-CQ counts rows as recovery; a wrong row is no recovery, so both are told.
    """
    base = run.baseline(arm)
    if base is None:
        return None
    before = run.trials[base["id"]]
    lost = [
        t
        for t in run.scored(str(arm["id"]))
        if before[t.id].verdict not in ("correct", "different", "undecided")
    ]
    return {
        "lost": len(lost),
        "rows": sum(bool(t.row_count) for t in lost),
        "correct": sum(t.verdict == "correct" for t in lost),
    }


def fault_counts(trials: Iterable[Trial]) -> dict[str, dict[str, int]]:
    """Failures by family and code of their first fault; ``none found`` where diagnosis found none."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for trial in trials:
        if trial.verdict in ("correct", "undecided", "aside"):
            continue
        if not trial.cypher:
            counts["no query"]["no query"] += 1
        elif not trial.faults:
            counts["none found"]["none found"] += 1
        else:
            first = trial.faults[0]
            counts[str(first["family"])][str(first["code"])] += 1
    return {
        family: dict(sorted(codes.items(), key=lambda item: (-item[1], item[0])))
        for family, codes in sorted(counts.items(), key=lambda i: (-i[1].total(), i[0]))
    }


def difference(run: Run, first: str, second: str, *, seed: int = 0) -> dict[str, Any]:
    """Two arms over the questions that both were scored on, true-empty ones left out."""
    ids = [i for i, gold in run.golds.items() if not gold["true_empty"]]
    return compare_trials(first, run.trials[first], second, run.trials[second], ids, seed=seed)


def compare_trials(
    first: str,
    before: Mapping[str, Trial],
    second: str,
    after: Mapping[str, Trial],
    ids: Iterable[str],
    *,
    seed: int = 0,
) -> dict[str, Any]:
    """Flips in both directions with McNemar's test, the difference and the test of equivalence."""
    wanted = set(ids)
    shared = [
        i for i in before if i in wanted and i in after and before[i].scored and after[i].scored
    ]
    if not shared:
        return {"first": first, "second": second, "n": 0}
    a, b = [before[i].ex for i in shared], [after[i].ex for i in shared]
    gap = paired_difference(a, b, seed=seed)
    bca = paired_difference(a, b, seed=seed, method="bca")
    test = mcnemar(a, b)
    changed = (test.fixed + test.broken) / len(shared)
    same = tost(a, b, margin=MARGIN) if len(shared) > 1 else None
    needed = None
    if gap.value:
        needed = questions_for_difference(gap.value, max(changed, abs(gap.value)))
    return {
        "first": first,
        "second": second,
        "n": len(shared),
        "difference": gap.value,
        "low": gap.low,
        "high": gap.high,
        "bca_low": bca.low,
        "bca_high": bca.high,
        "fixed": [i for i in shared if before[i].ex < after[i].ex],
        "broken": [i for i in shared if before[i].ex > after[i].ex],
        "mcnemar_p": test.p,
        "equivalence": None
        if same is None
        else {"margin": MARGIN, "p": same.p, "equivalent": same.equivalent},
        "questions_needed": needed,
    }


def _seeds(run: Run, seed: int) -> list[dict[str, Any]]:
    """Arms that differ only in their seed, together."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for arm in run.arms:
        groups[arm["strategy"], arm["model"]].append(arm["id"])
    found = []
    for (strategy, model), ids in groups.items():
        shared = [i for i in run.trials[ids[0]] if all(run.trials[arm][i].scored for arm in ids)]
        if len(ids) < 2 or not shared:
            continue
        spread = over_seeds([[run.trials[arm][i].ex for i in shared] for arm in ids], seed=seed)
        found.append(
            {
                "strategy": strategy,
                "model": model,
                "n": len(shared),
                "ex": spread.interval.value,
                "low": spread.interval.low,
                "high": spread.interval.high,
                "means": list(spread.means),
                "deviation": spread.deviation,
            }
        )
    return found
