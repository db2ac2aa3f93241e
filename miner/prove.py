"""Prove: measure each rule on held-out questions, and choose the set that pays.

No paper measures a single rule. Each held-out question is drafted zero-shot; then, for each rule,
the questions to which it applies are drafted again with that rule alone: failures of the kind it was
written for, other failures, and passes that it may break, each drawn apart and weighed by its share.
The best rules under a token budget are then measured together.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from cypherforge.artifacts.journal import Journal
from cypherforge.core.datasets import Example
from cypherforge.core.executor import Executor
from cypherforge.core.progress import NullProgress, Progress
from cypherforge.graph.schema import Schema
from cypherforge.llm.base import ChatRequest
from cypherforge.miner.attempts import Attempt, Bench
from cypherforge.miner.collect import Collected, collect
from cypherforge.rules.model import Rule
from cypherforge.rules.select import applicable

Status = Literal["proven", "unproven", "harmful", "untested"]

# Draft an example with these rules in the prompt.
RuledRequest = Callable[[Example, Sequence[Rule]], ChatRequest]


@dataclass(frozen=True, slots=True)
class ProveOptions:
    """``failures``/``passes``: how many held-out questions of each kind one rule is tried on.

    ``failures`` counts those that show one of the rule's codes; of other failures half as many are
    tried, since a rule seldom mends what it does not speak of.
    ``rules``: only so many, the most cited first, are measured; the others stay untested.
    ``token_budget`` bounds the prompt tokens of the chosen set. ``resamples`` and ``seed`` are the
    bootstrap's.
    """

    failures: int = 12
    passes: int = 12
    rules: int | None = None
    token_budget: int = 600
    resamples: int = 2000
    seed: int = 0

    @property
    def others(self) -> int:
        """How many failures of other kinds one rule is tried on."""
        return -(-self.failures // 2)

    @property
    def per_rule(self) -> int:
        """Questions drafted again for one rule, at most."""
        return self.failures + self.others + self.passes


@dataclass(frozen=True, slots=True)
class Lift:
    """Accuracy gained, in questions per question (0.05 is five points), with its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RuleProof:
    """What a rule did alone: ids it fixed and broke, of how many tried, its lift and its price."""

    rule: str
    status: Status
    failures: int
    passes: int
    fixed: tuple[str, ...]
    broken: tuple[str, ...]
    lift: Lift
    tokens: int
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Proof:
    """All rules' proofs, the chosen set, and what the set did together."""

    proofs: tuple[RuleProof, ...]
    heldout: int
    baseline_correct: int
    set_correct: int | None
    set_fixed: tuple[str, ...]
    set_broken: tuple[str, ...]
    set_lift: Lift | None

    @property
    def chosen(self) -> tuple[str, ...]:
        """Ids of the rules that pay."""
        return tuple(p.rule for p in self.proofs if p.chosen)

    def summary(self) -> dict[str, Any]:
        """The figures people read, as JSON."""
        return {
            "heldout": self.heldout,
            "baseline_correct": self.baseline_correct,
            "chosen": list(self.chosen),
            "set_correct": self.set_correct,
            "set_fixed": len(self.set_fixed),
            "set_broken": len(self.set_broken),
            "set_lift": None
            if self.set_lift is None
            else [self.set_lift.mean, self.set_lift.low, self.set_lift.high],
            "rules": {
                p.rule: {
                    "status": p.status,
                    "fixed": len(p.fixed),
                    "broken": len(p.broken),
                    "tried": p.failures + p.passes,
                    "lift": [p.lift.mean, p.lift.low, p.lift.high],
                    "tokens": p.tokens,
                    "chosen": p.chosen,
                }
                for p in self.proofs
            },
        }


class Prover:
    """Runs the arms of the proof; every arm keeps its attempts in a journal of its own."""

    def __init__(
        self,
        heldout: Sequence[Example],
        benches: Mapping[str, Bench],
        request: RuledRequest,
        journal: Callable[[str], Journal],
        options: ProveOptions,
        *,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._heldout = list(heldout)
        self._benches = benches
        self._request = request
        self._journal = journal
        self._options = options
        self._executor = executor
        self._progress = progress or NullProgress()
        self.attempts: dict[str, Collected] = {}

    def arm(self, name: str, examples: Sequence[Example], rules: Sequence[Rule]) -> Collected:
        """Draft ``examples`` with ``rules`` in the prompt."""
        done = collect(
            examples,
            self._benches,
            lambda example: self._request(example, rules),
            self._journal(f"prove-{name}"),
            executor=self._executor,
            progress=self._progress,
            stage=f"prove {name}",
        )
        self.attempts[name] = done
        return done

    def prove(self, rules: Sequence[Rule]) -> Proof:
        """Measure every rule, choose, and measure the chosen set."""
        base = self.arm("zero-shot", self._heldout, ())
        before = {a.id: a for a in base.attempts}
        usable = [e for e in self._heldout if e.id in before]
        ranked = sorted(rules, key=lambda rule: (-len(rule.cites), rule.id))
        tested = {rule.id for rule in ranked[: self._options.rules]}
        proofs = [
            self._one(rule, usable, before) if rule.id in tested else _untested(rule)
            for rule in rules
        ]
        picked = choose(proofs, self._options.token_budget)
        proofs = [replace(p, chosen=p.rule in picked) for p in proofs]
        together = [rule for rule in rules if rule.id in picked]
        if not together:
            return Proof(tuple(proofs), len(usable), _correct(before.values()), None, (), (), None)
        after = {a.id: a for a in self.arm("chosen-set", usable, together).attempts}
        fixed, broken = _flips(before, after)
        gains = np.array([int(not after[i].failed) - int(not before[i].failed) for i in after])
        return Proof(
            tuple(proofs),
            len(usable),
            _correct(before.values()),
            _correct(after.values()),
            fixed,
            broken,
            bootstrap([(1.0, gains)], self._options.resamples, self._options.seed),
        )

    def _one(
        self, rule: Rule, usable: Sequence[Example], before: Mapping[str, Attempt]
    ) -> RuleProof:
        eligible = [e for e in usable if self._applies(rule, e)]
        limits = self._options
        pools = {
            "own": ([e for e in eligible if _shows(rule, before[e.id])], limits.failures),
            "other": (
                [e for e in eligible if before[e.id].failed and not _shows(rule, before[e.id])],
                limits.others,
            ),
            "passing": ([e for e in eligible if not before[e.id].failed], limits.passes),
        }
        tried = {name: draw(pool, most, limits.seed) for name, (pool, most) in pools.items()}
        everything = [e for examples in tried.values() for e in examples]
        if not everything:
            return _untested(rule)
        after = {a.id: a for a in self.arm(rule.id, everything, [rule]).attempts}
        fixed, broken = _flips(before, after)
        # What was tried stands for all held-out questions of its kind.
        strata: list[tuple[float, np.ndarray]] = []
        for name, (pool, _) in pools.items():
            gains = [
                int(not after[e.id].failed) - int(not before[e.id].failed)
                for e in tried[name]
                if e.id in after
            ]
            if gains:
                strata.append((len(pool) / len(usable), np.array(gains)))
        lift = bootstrap(strata, self._options.resamples, self._options.seed)
        status: Status = "unproven"
        if lift.mean > 0 and len(fixed) > len(broken):
            status = "proven"
        elif lift.mean < 0:
            status = "harmful"
        tokens = _extra_tokens(before, after)
        failures, passes = len(tried["own"]) + len(tried["other"]), len(tried["passing"])
        return RuleProof(rule.id, status, failures, passes, fixed, broken, lift, tokens)

    def _applies(self, rule: Rule, example: Example) -> bool:
        schema: Schema = self._benches[example.graph].schema
        return bool(applicable([rule], schema, example.question))


def _shows(rule: Rule, attempt: Attempt) -> bool:
    return attempt.failed and any(fault.code in rule.codes for fault in attempt.faults)


def _untested(rule: Rule) -> RuleProof:
    return RuleProof(rule.id, "untested", 0, 0, (), (), Lift(0, 0, 0), 0)


def draw(examples: Sequence[Example], limit: int, seed: int) -> list[Example]:
    """At most ``limit`` of them, by a hash of seed and id: the same on every run and machine."""
    ranked = sorted(examples, key=lambda e: hashlib.sha256(f"{seed}\0{e.id}".encode()).hexdigest())
    return sorted(ranked[:limit], key=lambda e: e.id)


def choose(proofs: Sequence[RuleProof], token_budget: int) -> set[str]:
    """Proven rules, best lift first, as long as their prompt tokens fit the budget."""
    picked: set[str] = set()
    left = token_budget
    proven = [p for p in proofs if p.status == "proven"]
    for proof in sorted(proven, key=lambda p: (-p.lift.mean, p.tokens, p.rule)):
        if proof.tokens <= left:
            picked.add(proof.rule)
            left -= proof.tokens
    return picked


def bootstrap(strata: Sequence[tuple[float, np.ndarray]], resamples: int, seed: int) -> Lift:
    """Percentile bootstrap of a stratified mean of gains (-1, 0 or 1 each), weights given."""
    if not strata:
        return Lift(0.0, 0.0, 0.0)
    generator = np.random.default_rng(seed)
    mean = 0.0
    totals = np.zeros(resamples)
    for weight, gains in strata:
        mean += weight * float(gains.mean())
        index = generator.integers(0, len(gains), size=(resamples, len(gains)))
        totals += weight * gains[index].mean(axis=1)
    low, high = np.percentile(totals, [2.5, 97.5])
    return Lift(round(mean, 4), round(float(low), 4), round(float(high), 4))


def _flips(
    before: Mapping[str, Attempt], after: Mapping[str, Attempt]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    fixed = tuple(sorted(i for i, a in after.items() if before[i].failed and not a.failed))
    broken = tuple(sorted(i for i, a in after.items() if not before[i].failed and a.failed))
    return fixed, broken


def _extra_tokens(before: Mapping[str, Attempt], after: Mapping[str, Attempt]) -> int:
    extra = [
        a.prompt_tokens - before[i].prompt_tokens
        for i, a in after.items()
        if a.prompt_tokens and before[i].prompt_tokens
    ]
    return round(sum(extra) / len(extra)) if extra else 0


def _correct(attempts: Iterable[Attempt]) -> int:
    return sum(not a.failed for a in attempts)
