"""Overlap scores by values worked out by hand."""

import math

import pytest
from canned_graph import rows

from cypherforge.evaluation.scores import INVARIANT, Overlap, Score
from cypherforge.evaluation.similarity import (
    bleu,
    google_bleu,
    query_words,
    result_words,
    rouge_l,
    set_scores,
)
from cypherforge.graph.base import Result


def test_google_bleu_by_hand() -> None:
    # 1-grams: 3 of 4 shared; 2-grams: 2 of 3 (a b, b c); 3-grams: 1 of 2 (a b c); 4-grams: 0 of 1.
    assert google_bleu("a b c d".split(), "a b c e".split()) == pytest.approx(
        (3 / 4 + 2 / 3 + 1 / 2 + 0) / 4
    )
    # The shorter side is punished by the larger denominator: precision 1, recall 2/4, and so on.
    assert google_bleu(["a", "b"], "a b c d".split()) == pytest.approx((2 / 4 + 1 / 3 + 0 + 0) / 4)
    assert google_bleu(["a"], ["a"]) == 1.0
    assert google_bleu([], []) == 1.0
    assert google_bleu([], ["a"]) == 0.0


def test_bleu_by_hand() -> None:
    mine, gold = "a b c d e".split(), "a b c d f".split()
    # Precisions 4/5, 3/4, 2/3, 1/2; equal length, so no penalty.
    assert bleu(mine, gold) == pytest.approx((4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    # All precisions 1, four words against five: exp(1 - 5/4).
    assert bleu("a b c d".split(), "a b c d e".split()) == pytest.approx(math.exp(-0.25))
    assert bleu("a b c".split(), "a b d".split()) == 0.0


def test_rouge_l_by_hand() -> None:
    # Longest common subsequence a c e: 3 of 4 and 3 of 5.
    p, r = 3 / 4, 3 / 5
    assert rouge_l("a x c e".split(), "a b c d e".split()) == pytest.approx(2 * p * r / (p + r))
    assert rouge_l(["a"], ["b"]) == 0.0
    assert rouge_l([], []) == 1.0


def test_sets_by_hand() -> None:
    pred = rows((1, "a"), (1, "a"), (2, "b"), (3, "c"), columns=("n", "s"))
    gold = rows(("a", 1), ("b", 2), ("d", 4), ("e", 5), columns=("s", "n"))
    found = set_scores(pred, gold)
    # Two rows shared of three different ones here and four there; five in all.
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == 0.5
    assert found.f1 == pytest.approx(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))
    assert found.jaccard == pytest.approx(2 / 5)


def test_sets_with_an_empty_side() -> None:
    none, some = Result(("a",), ()), rows((1,), columns=("a",))
    assert set_scores(none, none).f1 == 1.0
    assert set_scores(none, some).f1 == 0.0
    assert set_scores(some, none).f1 == 0.0
    # The benchmark's convention rewards rows where there should be none; here only by name.
    assert set_scores(some, none, empty="benchmark").f1 == 1.0
    assert set_scores(none, some, empty="benchmark").f1 == 0.0


def test_words_of_queries_and_results() -> None:
    assert query_words("MATCH (n) // all\nRETURN n;") == query_words("MATCH (n) RETURN n")
    assert result_words(rows(("x", 1), columns=("a", "b"))) == [
        *["{", '"', "a", '"', ":", '"', "x", '"', ","],
        *['"', "b", '"', ":", "1", "}"],
    ]


def test_every_score_says_what_it_does_not_see() -> None:
    shown = {*Score.__dataclass_fields__, *Overlap.__dataclass_fields__}
    shown -= {"decided", "error", "rows", "empty", "overlap"}
    assert shown == set(INVARIANT)
