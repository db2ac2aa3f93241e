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
from cypherforge.evaluation.execution import GoldRun, run_gold, run_prediction, same_answer
from cypherforge.evaluation.provenance import provenance_similarity
from cypherforge.evaluation.similarity import (
    bleu,
    google_bleu,
    query_words,
    result_words,
    rouge_l,
    set_scores,
)
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
    "set_precision": "row order, column order (columns go by name), how often a row comes",
    "set_recall": "row order, column order (columns go by name), how often a row comes",
    "set_f1": "row order, column order (columns go by name), how often a row comes",
    "set_jaccard": "row order, column order (columns go by name), how often a row comes",
    "gleu_result": "nothing: row order, column names and layout of values all count, by words",
    "rouge_result": "words between the common ones; row order and column names count",
    "gleu_text": "white space, comments; what the query returns",
    "bleu_text": "white space, comments; what the query returns",
    "rouge_text": "white space, comments, words between the common ones; what the query returns",
}


@dataclass(frozen=True, slots=True)
class Overlap:
    """Scores between 0 and 1 that credit a part: see ``similarity``."""

    set_precision: float
    set_recall: float
    set_f1: float
    set_jaccard: float
    gleu_result: float
    rouge_result: float
    gleu_text: float
    bleu_text: float
    rouge_text: float


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
    overlap: Overlap | None = None

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


def overlap(pred: str, outcome: Result | None, gold: str, result: Result) -> Overlap:
    """Return the overlap scores; a query that did not run has no row and shares nothing."""
    mine, theirs = query_words(pred), query_words(gold)
    text = (google_bleu(mine, theirs), bleu(mine, theirs), rouge_l(mine, theirs))
    if outcome is None:
        return Overlap(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, *text)
    sets = set_scores(outcome, result)
    words, wanted = result_words(outcome), result_words(result)
    return Overlap(
        sets.precision,
        sets.recall,
        sets.f1,
        sets.jaccard,
        google_bleu(words, wanted),
        rouge_l(words, wanted),
        *text,
    )


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
    if not isinstance(outcome, Result):
        return score_result(pred, None, run, False, psjs=psjs, error=outcome.message)
    return score_result(pred, outcome, run, same_answer(outcome, run), psjs=psjs)


def score_result(
    pred: str,
    outcome: Result | None,
    gold: GoldRun,
    same: bool | None,
    *,
    psjs: float | None = None,
    error: str = "",
) -> Score:
    """Return all scores of a result that is there already; ``same`` is what EX said of it.

    ``outcome`` is None where the query did not run; ``error`` then says why.
    """
    shared = overlap(pred, outcome, gold.query, gold.result)
    text = string_match(pred, gold.query)
    if outcome is None:
        return Score(0.0, 0.0, 0.0, 0.0, text, psjs, error=error, overlap=shared)
    return Score(
        1.0,
        float(bool(same)),
        float(same_multiset(outcome, gold.result)),
        float(result_match(outcome, gold.result)),
        text,
        psjs,
        decided=same is not None,
        rows=len(outcome.rows),
        empty=not outcome.rows,
        overlap=shared,
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
    return float(query_words(pred) == query_words(gold))


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
