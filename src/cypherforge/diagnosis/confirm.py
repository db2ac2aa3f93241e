"""Running drafts and repairs, each once, and asking whether the rows are the gold's."""

from __future__ import annotations

from cypherforge.core.errors import QueryError
from cypherforge.cypher import CypherSyntaxError, parse
from cypherforge.cypher.outline import outer_order
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.compare import same_rows

#: Executions that one diagnosis may spend; past it, what is left is not confirmed.
MAX_RUNS = 24


class Bench:
    """Holds the gold's result and runs other texts against it."""

    def __init__(
        self, gold: str, graph: Graph | None, gold_result: Result | None, ordered: bool
    ) -> None:
        self.gold = gold
        self.graph = graph
        self.gold_result = gold_result
        self.ordered = ordered
        self.runs = 0
        self._results: dict[str, Result | QueryError] = {}
        self._verdicts: dict[str, bool | None] = {}

    @property
    def live(self) -> bool:
        """Whether repairs can be run."""
        return self.graph is not None and self.gold_result is not None

    def know(self, text: str, result: Result) -> None:
        """Remember a result that was handed in."""
        self._results[text] = result

    def run(self, text: str) -> Result | QueryError | None:
        """Return rows or error of a text; None if it cannot be run (no graph, runs used up)."""
        if text in self._results:
            return self._results[text]
        if self.graph is None or self.runs >= MAX_RUNS:
            return None
        self.runs += 1
        outcome: Result | QueryError
        try:
            outcome = self.graph.run(text)
        except QueryError as error:
            outcome = error
        self._results[text] = outcome
        return outcome

    def right(self, text: str) -> bool | None:
        """Return whether a text gives the gold's rows; None if that cannot be said."""
        if text not in self._verdicts:
            verdict = self._compared(text)
            if text not in self._results:
                # Not run: the question may come again when the gold's rows are known.
                return verdict
            self._verdicts[text] = verdict
        return self._verdicts[text]

    def _compared(self, text: str) -> bool | None:
        outcome = self.run(text)
        if outcome is None or self.gold_result is None:
            return None
        if not isinstance(outcome, Result):
            return False
        if outcome.truncated or self.gold_result.truncated:
            return None
        return same_rows(outcome, self.gold_result, ordered=self.ordered)

    def fails(self, text: str) -> QueryError | None:
        """Return the error that a text gives, None if it runs or was not run."""
        outcome = self.run(text)
        return outcome if isinstance(outcome, QueryError) else None


def is_ordered(gold: str) -> bool:
    """Return whether the order of the gold's rows matters."""
    try:
        return outer_order(parse(gold)) is not None
    except CypherSyntaxError:
        return False
