"""Pairs run again, on the graph they came from or on another engine with the same data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cypherforge.core.errors import QueryError
from cypherforge.core.progress import NullProgress, Progress
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.compare import same_rows
from cypherforge.synth.generate import ROWS, TIMEOUT


@dataclass
class Checked:
    """How many pairs gave the recorded rows again, and those that did not: id and reason."""

    same: int = 0
    different: list[tuple[str, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The figures, with the reasons counted."""
        return {
            "same": self.same,
            "different": [list(item) for item in self.different],
            "reasons": dict(sorted(Counter(reason for _, reason in self.different).items())),
        }


def check_pairs(
    pairs: Iterable[Mapping[str, Any]], graph: Graph, progress: Progress | None = None
) -> Checked:
    """Run each pair's Cypher as it is written and compare with the recorded result.

    A pair without a recorded result (``--no-values``) must give as many rows.
    """
    progress = progress or NullProgress()
    rows = list(pairs)
    progress.start("check", len(rows))
    done = Checked()
    for pair in rows:
        reason = _difference(pair, graph)
        if reason:
            done.different.append((pair["id"], reason))
        else:
            done.same += 1
        progress.advance()
    progress.finish(f"{done.same} the same, {len(done.different)} not")
    return done


def _difference(pair: Mapping[str, Any], graph: Graph) -> str:
    try:
        found = graph.run(pair["cypher"], timeout=3 * TIMEOUT, limit=ROWS)
    except QueryError as error:
        return f"{type(error).__name__}: {error.message}"
    recorded = pair["result"]
    if "columns" not in recorded:
        return "" if len(found.rows) == recorded["rows"] else "another number of rows"
    same = same_rows(Result.from_json(recorded), found, ordered=pair["ordered"])
    if same is None:
        return "not decided"
    return "" if same else "other rows"
