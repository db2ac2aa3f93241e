"""Scores of one prediction against one gold.

Execution accuracy (EX) and PSJS are CypherBench's (Feng et al., 2025, section 5), computed from the
syntax tree and the driver's typed values rather than from text. ``INVARIANT`` says for each score
what it does not see. ``docs/evaluation.md`` lists where EX differs from the published code, and why.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from cypherforge.core.errors import QueryError
from cypherforge.core.files import dumps
from cypherforge.cypher.tokens import Tokens
from cypherforge.evaluation.execution import GoldRun, run_gold, run_prediction, same_answer
from cypherforge.evaluation.provenance import provenance_similarity
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.compare import same_value
from cypherforge.graph.values import to_json

INVARIANT = {
    "ex": "column names and order; row order unless the gold's outer query sorts, then only ties",
    "strict": "column names; row order",
    "result_match": "row order; column order, as columns go by name",
    "string_match": "white space, comments, a final semicolon",
    "psjs": "everything but the nodes that the leading MATCH clauses find",
    "executable": "everything but whether the query runs",
}


@dataclass(frozen=True, slots=True)
class Score:
    """All scores of one prediction, each 0 or 1 but ``psjs`` (0..1).

    ``decided`` is False where the search for a column mapping was given up; ``ex`` is then 0 and has
    to be counted apart. ``error`` is the prediction's, ``rows`` how many it returned (cut one past
    the gold's), ``empty`` whether it returned none.
    """

    executable: float
    ex: float
    strict: float
    result_match: float
    string_match: float
    psjs: float | None
    decided: bool = True
    error: str = ""
    rows: int = 0
    empty: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the scores as plain data."""
        return asdict(self)


def execution_accuracy(
    pred: str, gold: str, graph: Graph, *, timeout: float | None = None
) -> float:
    """Return EX: 1.0 if the prediction's rows are the gold's, else 0.0.

    Both are run even if their text is equal. Column order is free, row order too unless the gold's
    outer query sorts; then rows with equal sort keys may change places. ``timeout`` in seconds for
    each query. Raises InputError if the gold fails: that is a fault of the data set, not a score.
    """
    run = run_gold(gold, graph, timeout=timeout)
    outcome = run_prediction(pred, run, graph, timeout=timeout)
    return float(isinstance(outcome, Result) and bool(same_answer(outcome, run)))


def executable(pred: str, graph: Graph, *, timeout: float | None = None) -> float:
    """Return 1.0 if the query runs to its end, else 0.0."""
    try:
        graph.run(pred, timeout=timeout)
    except QueryError:
        return 0.0
    return 1.0


def score(
    pred: str,
    gold: str | GoldRun,
    graph: Graph,
    *,
    timeout: float | None = None,
    provenance: bool = True,
) -> Score:
    """Return all scores, running each query once (PSJS runs two more: ``provenance`` False: none).

    Raises InputError if the gold fails.
    """
    run = gold if isinstance(gold, GoldRun) else run_gold(gold, graph, timeout=timeout)
    outcome = run_prediction(pred, run, graph, timeout=timeout)
    psjs = provenance_similarity(pred, run.query, graph, timeout=timeout) if provenance else None
    text = string_match(pred, run.query)
    if not isinstance(outcome, Result):
        return Score(0.0, 0.0, 0.0, 0.0, text, psjs, error=outcome.message)
    same = same_answer(outcome, run)
    return Score(
        1.0,
        float(bool(same)),
        float(same_multiset(outcome, run.result)),
        float(result_match(outcome, run.result)),
        text,
        psjs,
        decided=same is not None,
        rows=len(outcome.rows),
        empty=not outcome.rows,
    )


def same_multiset(a: Result, b: Result) -> bool:
    """Return whether the rows are the same multiset, cell by cell in the order of the columns."""
    if a.truncated or b.truncated or len(a.columns) != len(b.columns):
        return False
    if len(a.rows) != len(b.rows):
        return False
    # A list of rows in a canonical order, so that floats are compared within their tolerance.
    mine, theirs = _sorted_rows(a), _sorted_rows(b)
    return bool(same_value(mine, theirs))


def result_match(a: Result, b: Result) -> bool:
    """Return whether the results are equal once rows and keys are sorted; names of columns count."""
    if sorted(a.columns) != sorted(b.columns) or len(set(a.columns)) != len(a.columns):
        return False
    order = [b.columns.index(name) for name in a.columns]
    turned = Result(
        a.columns,
        tuple(tuple(row[i] for i in order) for row in b.rows),
        b.truncated,
        source=b.source,
    )
    return same_multiset(a, turned)


def string_match(pred: str, gold: str) -> float:
    """Return 1.0 if the two texts are equal token by token, else 0.0."""
    return float(_words(pred) == _words(gold))


def _words(text: str) -> list[str]:
    tokens = Tokens(text)
    words = [text[start:end] for start, end in zip(tokens.starts, tokens.ends, strict=True)][:-4]
    while words and words[-1] == ";":
        words.pop()
    return words


def _sorted_rows(result: Result) -> list[list[Any]]:
    return [list(row) for row in sorted(result.rows, key=_rough)]


def _rough(row: tuple[Any, ...]) -> str:
    """A key that is the same for rows that are equal but for the last digits of floats."""
    return dumps([_rounded(json.loads(dumps(to_json(cell)))) for cell in row])


def _rounded(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return float(f"{value:.9g}")
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return value
