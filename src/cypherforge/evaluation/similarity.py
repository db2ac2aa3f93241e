"""Scores between 0 and 1 that the literature reports beside EX: overlap of texts and of row sets.

They are for comparison with published figures, not for deciding who is right: an overlap credits
rows that share words with wrong rows, and a set forgets how often a row came. ``scores.INVARIANT``
says what each does not see.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cypherforge.core.files import dumps
from cypherforge.cypher.tokens import Tokens
from cypherforge.graph.base import Result
from cypherforge.graph.compare import ValueKeys
from cypherforge.graph.values import to_json

#: Words beyond which a serialised result is cut: the longest common subsequence costs their product.
MAX_WORDS = 1_000
ORDERS = 4

Convention = Literal["strict", "benchmark"]

_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class SetScores:
    """Precision, recall, their harmonic mean and the Jaccard index of two sets."""

    precision: float
    recall: float
    f1: float
    jaccard: float


def set_scores(pred: Result, gold: Result, *, empty: Convention = "strict") -> SetScores:
    """Compare rows as sets of (column name, value) maps (LAST-CQ, appendix C).

    Exactly one side empty gives 0, both 1. The benchmark's convention, ``empty="benchmark"``, gives
    rows against an empty gold 1: it rewards a wrong answer, and is here to reproduce figures.
    """
    keys = ValueKeys((pred.rows, gold.rows), ends=bool(gold.source) and pred.source == gold.source)

    def rows(result: Result) -> set[frozenset[tuple[str, object]]]:
        return {
            frozenset(
                (name, keys.key(cell)) for name, cell in zip(result.columns, row, strict=True)
            )
            for row in result.rows
        }

    mine, theirs = rows(pred), rows(gold)
    if not theirs and (not mine or empty == "benchmark"):
        return SetScores(1.0, 1.0, 1.0, 1.0)
    shared = len(mine & theirs)
    precision = shared / len(mine) if mine else 0.0
    recall = shared / len(theirs) if theirs else 0.0
    total = precision + recall
    return SetScores(
        precision,
        recall,
        2 * precision * recall / total if total else 0.0,
        shared / len(mine | theirs),
    )


def query_words(text: str) -> list[str]:
    """The words of a query: its tokens, without white space, comments and final semicolons."""
    tokens = Tokens(text)
    words = [text[start:end] for start, end in zip(tokens.starts, tokens.ends, strict=True)][:-4]
    while words and words[-1] == ";":
        words.pop()
    return words


def result_words(result: Result) -> list[str]:
    """The words of a result, serialised row by row as JSON objects, at most ``MAX_WORDS``."""
    words: list[str] = []
    for row in result.rows:
        cells = {name: to_json(cell) for name, cell in zip(result.columns, row, strict=True)}
        words += _WORD.findall(dumps(cells))
        if len(words) >= MAX_WORDS:
            return words[:MAX_WORDS]
    return words


def google_bleu(pred: Sequence[str], gold: Sequence[str]) -> float:
    """Return the mean over 1- to 4-grams of min(precision, recall) (Wu et al., 2016; LAST-CQ).

    Orders that neither text is long enough for are left out, so that equal texts score 1 whatever
    their length. Two empty texts are equal.
    """
    parts = []
    for order in range(1, ORDERS + 1):
        mine, theirs = _grams(pred, order), _grams(gold, order)
        longest = max(mine.total(), theirs.total())
        if longest:
            parts.append((mine & theirs).total() / longest)
    return sum(parts) / len(parts) if parts else 1.0


def bleu(pred: Sequence[str], gold: Sequence[str]) -> float:
    """Return BLEU-4 of one text against one reference, unsmoothed (Papineni et al., 2002).

    The geometric mean of 1- to 4-gram precisions times the brevity penalty; 0 where an order has no
    match, 1 for two empty texts.
    """
    if not pred or not gold:
        return float(not pred and not gold)
    logs = 0.0
    for order in range(1, ORDERS + 1):
        mine = _grams(pred, order)
        hits = (mine & _grams(gold, order)).total()
        if not hits:
            return 0.0
        logs += math.log(hits / mine.total()) / ORDERS
    penalty = min(0.0, 1 - len(gold) / len(pred))
    return math.exp(logs + penalty)


def rouge_l(pred: Sequence[str], gold: Sequence[str]) -> float:
    """Return ROUGE-L: F1 of the longest common subsequence (Lin, 2004); two empty texts: 1."""
    if not pred or not gold:
        return float(not pred and not gold)
    row = [0] * (len(gold) + 1)
    for word in pred:
        diagonal = 0
        for j, other in enumerate(gold, 1):
            above = row[j]
            row[j] = diagonal + 1 if word == other else max(above, row[j - 1])
            diagonal = above
    common = row[-1]
    return 2 * common / (len(pred) + len(gold))


def _grams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + order]) for i in range(len(words) - order + 1))
