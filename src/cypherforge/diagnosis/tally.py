"""Many diagnoses at once: how often each code occurs, with real examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cypherforge.artifacts.store import Artifact, is_artifact
from cypherforge.core.errors import InputError
from cypherforge.core.files import loads, read_jsonl, read_text
from cypherforge.diagnosis.diagnose import diagnose
from cypherforge.diagnosis.model import UNKNOWN, Fault
from cypherforge.graph.base import Graph
from cypherforge.graph.schema import Schema

EXAMPLES = 3
_DRAFT = ("draft", "pred", "pred_cypher", "prediction")
_GOLD = ("gold", "gold_cypher", "cypher")


@dataclass(frozen=True, slots=True)
class Pair:
    """A draft with its gold, from where it was read."""

    id: str
    draft: str
    gold: str
    graph: str = ""


@dataclass(slots=True)
class CodeCount:
    """How often a code came first in a draft and at all, how often it was confirmed, examples."""

    first: int = 0
    all: int = 0
    confirmed: int = 0
    examples: list[dict[str, str]] = field(default_factory=list)


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
            if len(count.examples) < EXAMPLES and all(e["id"] != pair.id for e in count.examples):
                count.examples.append(
                    {
                        "id": pair.id,
                        "draft": pair.draft,
                        "gold": pair.gold,
                        "reason": fault.reason,
                        "repair": fault.repair or "",
                    }
                )

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain data, commonest code first."""
        ordered = sorted(
            self.codes.items(), key=lambda item: (-item[1].first, -item[1].all, item[0])
        )
        return {
            "drafts": self.drafts,
            "without_fault": self.right,
            "confirmed": self.confirmed,
            "codes": {
                code: {
                    "first": c.first,
                    "all": c.all,
                    "confirmed": c.confirmed,
                    "examples": c.examples,
                }
                for code, c in ordered
            },
            "cannot_tell": dict(sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))),
        }

    def to_text(self) -> str:
        """Return the page for people: a table, then the examples of each code."""
        data = self.to_json()
        lines = [
            f"{self.drafts} drafts, {self.right} without a fault, "
            f"{self.confirmed} with every fault confirmed",
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


def read_pairs(path: Path) -> list[Pair]:
    """Read drafts with golds: an artifact with attempts.jsonl, a JSONL file or a JSON list.

    Rows whose ``outcome`` is ``correct`` and rows without a draft are passed over. Raises InputError
    where a row has no gold.
    """
    rows: Iterable[Any]
    if is_artifact(path):
        rows = Artifact.open(path).read_jsonl("attempts.jsonl")
    elif path.suffix == ".jsonl":
        rows = (value for _, value in read_jsonl(path))
    elif path.suffix == ".json":
        try:
            rows = loads(read_text(path))
        except ValueError as error:
            raise InputError(f"not JSON: {error}", where=str(path)) from error
    else:
        raise InputError(
            "neither an artifact nor .jsonl nor .json",
            where=str(path),
            hint="give a folder that `collect` wrote, or rows with draft and gold",
        )
    pairs = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise InputError("a row is no object", where=f"{path}, row {number}")
        if row.get("outcome") == "correct":
            continue
        draft = next((row[k] for k in _DRAFT if isinstance(row.get(k), str)), "")
        gold = next((row[k] for k in _GOLD if isinstance(row.get(k), str)), None)
        if gold is None:
            raise InputError(
                "no gold", where=f"{path}, row {number}", hint=f"one of {', '.join(_GOLD)}"
            )
        if draft.strip():
            pairs.append(Pair(str(row.get("id", number)), draft, gold, str(row.get("graph", ""))))
    return pairs


def tally(
    pairs: Iterable[Pair],
    graph: Graph | None = None,
    schemas: Mapping[str, Schema] | Schema | None = None,
) -> Tally:
    """Diagnose each pair. ``schemas``: one for all, or by graph name."""
    result = Tally()
    for pair in pairs:
        schema = (
            schemas if schemas is None or isinstance(schemas, Schema) else schemas.get(pair.graph)
        )
        result.add(pair, diagnose(pair.draft, pair.gold, graph, schema))
    return result
