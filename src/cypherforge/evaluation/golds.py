"""Golds as a run sees them: executed once a question, audited, and shared between arms."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cypherforge.core.datasets import Example
from cypherforge.core.errors import InputError
from cypherforge.evaluation.determinacy import SETTLED, Determinacy, determine
from cypherforge.evaluation.execution import GoldRun, run_gold, same_answer
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.values import to_json

#: Rows of a result that a report shows.
SHOWN_ROWS = 12
#: Golds whose rows are kept in memory at one time.
KEPT = 64

TRUE_EMPTY = "true_empty"


@dataclass(frozen=True, slots=True)
class Gold:
    """A question's gold: its rows, or why the question is set aside."""

    example: Example
    run: GoldRun | None
    aside: str = ""
    determinacy: Determinacy = SETTLED

    @property
    def true_empty(self) -> bool:
        """Whether the dataset says that the right answer is no row."""
        return bool(self.example.meta.get(TRUE_EMPTY))

    def same(self, pred: Result) -> bool | None:
        """Whether a result is a right answer; None: not decided."""
        assert self.run is not None
        if self.determinacy.right is not None:
            return self.determinacy.right(pred)
        return same_answer(pred, self.run)

    def to_json(self, *, values: bool = True) -> dict[str, Any]:
        """The gold with a few of its rows, as plain data."""
        result = self.run.result if self.run else None
        return {
            "id": self.example.id,
            "graph": self.example.graph,
            "question": self.example.question,
            "gold": self.example.cypher,
            "kind": kind_of(self.example),
            "true_empty": self.true_empty,
            "aside": self.aside,
            "determinacy": {
                "status": self.determinacy.status,
                "kinds": list(self.determinacy.kinds),
                "reason": self.determinacy.reason,
            },
            **sample(result, values=values),
        }


def sample(result: Result | None, *, values: bool = True) -> dict[str, Any]:
    """Columns, number of rows and the first rows of a result, as plain data."""
    if result is None:
        return {"columns": [], "rows": [], "row_count": None}
    rows = result.rows[:SHOWN_ROWS] if values else ()
    return {
        "columns": list(result.columns),
        "rows": [[to_json(cell) for cell in row] for row in rows],
        "row_count": len(result.rows),
    }


def kind_of(example: Example) -> str:
    """What kind of question the dataset says it is: a family, a category, or the file it came from."""
    for name in ("family", "category", "type", "original_file"):
        value = example.meta.get(name)
        if isinstance(value, str) and value.strip():
            return value.removesuffix(".json").replace("_", " ").strip().lower()
    return ""


class Golds:
    """Runs each gold once, whoever asks first; keeps the last ones in memory."""

    def __init__(self, graphs: Mapping[str, Graph], *, timeout: float | None = None) -> None:
        self._graphs = graphs
        self._timeout = timeout
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Gold] = OrderedDict()
        self._turns: dict[str, threading.Lock] = {}

    def get(self, example: Example) -> Gold:
        """The gold of a question. Raises only what a graph raises when it is out of reach."""
        with self._lock:
            turn = self._turns.setdefault(example.id, threading.Lock())
        with turn:
            with self._lock:
                if example.id in self._kept:
                    self._kept.move_to_end(example.id)
                    return self._kept[example.id]
            gold = self._run(example)
            with self._lock:
                self._kept[example.id] = gold
                while len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            return gold

    def _run(self, example: Example) -> Gold:
        graph = self._graphs[example.graph]
        try:
            run = run_gold(example.cypher, graph, timeout=self._timeout)
        except InputError as error:
            return Gold(example, None, error.message)
        said_empty = bool(example.meta.get(TRUE_EMPTY))
        if not run.result.rows and not said_empty:
            return Gold(example, run, "the gold returns nothing")
        if run.result.rows and said_empty:
            return Gold(example, run, "said to be truly empty, and the gold returns rows")
        verdict = determine(run, graph, timeout=self._timeout)
        aside = f"the graph does not settle it: {verdict.reason}"
        return Gold(example, run, aside if verdict.status == "aside" else "", verdict)
