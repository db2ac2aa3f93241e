"""Write rules without a model: each diagnosed mechanism that recurs becomes one rule.

The mechanisms and their wording are data (``mechanisms.yaml``); which of them become rules, what
they cite and when they trigger follows from the failures.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from cypherforge.miner.attempts import Attempt
from cypherforge.rules.model import Rule, Trigger
from cypherforge.rules.triggers import question_matches

# One failure may be an accident; CypherGuard writes a rule "per recurring pattern".
MIN_CITES = 2


@dataclass(frozen=True, slots=True)
class Mechanism:
    """An entry of ``mechanisms.yaml``; see its head."""

    id: str
    code: str
    text: dict[str, Any]
    tier: str
    when: re.Pattern[str] | None
    words: tuple[str, ...]
    predicate: str | None

    def takes(self, failure: Attempt) -> bool:
        """Whether this is how the failure came about."""
        if failure.code != self.code:
            return False
        if self.when is None:
            return True
        reasons = " ".join(f.reason for f in failure.faults)
        return self.when.search(f"{failure.draft}\n{failure.error}\n{reasons}") is not None


@cache
def mechanisms() -> tuple[Mechanism, ...]:
    """All mechanisms, in the order in which they are tried."""
    text = files("cypherforge.miner").joinpath("mechanisms.yaml").read_text("utf-8")
    found = []
    for entry in yaml.safe_load(text):
        rest = {k: v for k, v in entry.items() if k not in _CONTROL}
        found.append(
            Mechanism(
                id=entry["id"],
                code=entry["code"],
                text=rest,
                tier=entry["tier"],
                when=re.compile(entry["when"]) if "when" in entry else None,
                words=tuple(entry.get("words", ())),
                predicate=entry.get("predicate"),
            )
        )
    return tuple(found)


_CONTROL = frozenset({"id", "code", "when", "words", "predicate", "tier"})


def write_rules(failures: Sequence[Attempt], min_cites: int = MIN_CITES) -> list[Rule]:
    """One rule for each mechanism that at least ``min_cites`` failures show; most cited first."""
    taken: dict[str, list[Attempt]] = defaultdict(list)
    for failure in failures:
        for mechanism in mechanisms():
            if mechanism.takes(failure):
                taken[mechanism.id].append(failure)
                break
    rules = [
        _rule(mechanism, taken[mechanism.id])
        for mechanism in mechanisms()
        if len(taken[mechanism.id]) >= min_cites
    ]
    return sorted(rules, key=lambda rule: (-len(rule.cites), rule.id))


def _rule(mechanism: Mechanism, cited: Sequence[Attempt]) -> Rule:
    tier, trigger = mechanism.tier, None
    if mechanism.predicate is not None:
        trigger = Trigger.model_validate({"predicates": [mechanism.predicate]})
    elif mechanism.words:
        words = [
            w for w in mechanism.words if any(question_matches([w], c.question) for c in cited)
        ]
        matched = sum(question_matches(words, c.question) for c in cited)
        # A trigger that misses half of the failures would keep the rule from where it is needed.
        if words and 2 * matched >= len(cited):
            trigger = Trigger(words=tuple(words))
        else:
            tier = "universal"
    return Rule.model_validate(
        {
            **mechanism.text,
            "id": mechanism.id,
            "tier": tier,
            "trigger": trigger,
            "codes": (mechanism.code,),
            "cites": tuple(sorted(c.id for c in cited)),
        }
    )
