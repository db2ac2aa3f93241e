"""Many diagnoses at once: how often each code occurs, with real examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cypherforge.diagnosis.diagnose import diagnose
from cypherforge.diagnosis.model import UNKNOWN, Fault
from cypherforge.diagnosis.pairs import Pair
from cypherforge.graph.base import Graph
from cypherforge.graph.schema import Schema

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Example:
    """A draft that shows a code: ``fault`` is the one with that code."""

    pair: Pair
    fault: Fault

    def to_json(self) -> dict[str, Any]:
        """Return the example as plain data."""
        return {
            "id": self.pair.id,
            "question": self.pair.question,
            "draft": self.pair.draft,
            "gold": self.pair.gold,
            "reason": self.fault.reason,
            "repair": self.fault.repair or "",
            "confirmed": self.fault.confirmed,
        }


@dataclass(slots=True)
class CodeCount:
    """How often a code came first in a draft and at all, how often it was confirmed, examples."""

    first: int = 0
    all: int = 0
    confirmed: int = 0
    examples: list[Example] = field(default_factory=list)


@dataclass(slots=True)
class Tally:
    """Counts over many drafts. ``right``: drafts without a fault; ``reasons`` of cannot-tell."""

    drafts: int = 0
    right: int = 0
    confirmed: int = 0
    codes: dict[str, CodeCount] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)

    def add(self, pair: Pair, faults: list[Fault]) -> None:
        """Count one diagnosis."""
        self.drafts += 1
        if not faults:
            self.right += 1
            return
        self.confirmed += all(fault.confirmed for fault in faults)
        for place, fault in enumerate(faults):
            count = self.codes.setdefault(fault.code, CodeCount())
            count.all += 1
            count.first += place == 0
            count.confirmed += fault.confirmed is True
            if fault.code == UNKNOWN:
                self.reasons[fault.reason] = self.reasons.get(fault.reason, 0) + 1
            known = any(example.pair.id == pair.id for example in count.examples)
            if len(count.examples) < EXAMPLES and not known:
                count.examples.append(Example(pair, fault))

    def ordered(self) -> list[tuple[str, CodeCount]]:
        """Codes with their counts, commonest first."""
        return sorted(self.codes.items(), key=lambda item: (-item[1].first, -item[1].all, item[0]))

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain data, commonest code first."""
        return {
            "drafts": self.drafts,
            "without_fault": self.right,
            "confirmed": self.confirmed,
            "codes": {
                code: {
                    "first": c.first,
                    "all": c.all,
                    "confirmed": c.confirmed,
                    "examples": [example.to_json() for example in c.examples],
                }
                for code, c in self.ordered()
            },
            "cannot_tell": dict(sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))),
        }

    def headline(self) -> str:
        """Return the totals in a line."""
        return (
            f"{self.drafts} drafts, {self.right} without a fault, "
            f"{self.confirmed} with every fault confirmed"
        )

    def to_text(self) -> str:
        """Return the page for people: a table, then the examples of each code."""
        data = self.to_json()
        lines = [
            self.headline(),
            "",
            f"{'code':24} {'first':>6} {'all':>6} {'confirmed':>10}",
        ]
        for code, count in data["codes"].items():
            lines.append(f"{code:24} {count['first']:6} {count['all']:6} {count['confirmed']:10}")
        for code, count in data["codes"].items():
            lines += ["", code]
            for example in count["examples"]:
                lines.append(f"  {example['id']}: {' '.join(example['reason'].split())}")
                for name in ("draft", "gold", "repair"):
                    if example[name]:
                        lines.append(f"    {name:6} {' '.join(example[name].split())}")
        return "\n".join(lines)


def tally(
    pairs: Iterable[Pair],
    graph: Graph | None = None,
    schemas: Mapping[str, Schema] | Schema | None = None,
) -> Tally:
    """Diagnose each pair. ``schemas``: one for all, or by graph name.

    With neither graph nor schema, what the run that made a row has found, and confirmed, stands.
    """
    result = Tally()
    for pair in pairs:
        if graph is None and schemas is None and pair.recorded is not None:
            result.add(pair, list(pair.recorded))
            continue
        schema = (
            schemas if schemas is None or isinstance(schemas, Schema) else schemas.get(pair.graph)
        )
        result.add(pair, diagnose(pair.draft, pair.gold, graph, schema))
    return result
