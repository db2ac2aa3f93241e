"""Intervals and tests by values from outside: tables, closed forms, simulation."""

import numpy as np
import pytest

from cypherforge.core.errors import UsageError
from cypherforge.evaluation.statistics import (
    mcnemar,
    mean_interval,
    over_seeds,
    paired_difference,
    questions_for_difference,
    questions_for_equivalence,
    questions_for_interval,
    tost,
)


def test_mcnemar_exact_values() -> None:
    """Binomial tails worked by hand: 2 of 10 is 2*(1+10+45)/1024, 0 of 5 is 2/32."""
    first = [1, 1] + [0] * 8 + [1] * 20
    second = [0, 0] + [1] * 8 + [1] * 20
    found = mcnemar(first, second)
    assert (found.fixed, found.broken) == (8, 2)
    assert found.p == pytest.approx(112 / 1024)
    assert mcnemar([0] * 5, [1] * 5).p == pytest.approx(2 / 32)
    assert mcnemar([1, 0], [1, 0]).p == 1.0
    assert mcnemar([0, 1], [1, 0]).p == 1.0


def test_mcnemar_takes_only_right_and_wrong() -> None:
    with pytest.raises(UsageError):
        mcnemar([0.5], [1])
    with pytest.raises(UsageError):
        mcnemar([1], [1, 0])


def test_the_interval_of_a_share_is_near_the_normal_one() -> None:
    scores = [1.0] * 60 + [0.0] * 40
    found = mean_interval(scores)
    half = 1.96 * (0.6 * 0.4 / 100) ** 0.5
    assert found.value == pytest.approx(0.6)
    assert found.low == pytest.approx(0.6 - half, abs=0.012)
    assert found.high == pytest.approx(0.6 + half, abs=0.012)


def test_pairing_removes_what_is_common() -> None:
    """Every question gains 0.1 whatever its difficulty: the paired interval is a point."""
    first = list(np.linspace(0, 0.9, 50))
    second = [score + 0.1 for score in first]
    found = paired_difference(first, second)
    assert (found.value, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))


def test_the_interval_covers_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    hits = 0
    for trial in range(120):
        scores = (random.random(80) < 0.7).astype(float)
        found = mean_interval(list(scores), samples=600, seed=trial)
        hits += found.low <= 0.7 <= found.high
    assert 105 <= hits <= 120


def test_the_same_seed_gives_the_same_interval() -> None:
    scores = [0.0, 1.0, 1.0, 0.0, 1.0]
    assert mean_interval(scores, seed=3) == mean_interval(scores, seed=3)
    with pytest.raises(UsageError):
        mean_interval([])


def test_bca_by_an_independent_implementation() -> None:
    """scipy.stats.bootstrap(method="BCa") gives 0.10 to 0.35 for 8 right of 40, as discrete as here."""
    found = mean_interval([1.0] * 8 + [0.0] * 32, method="bca")
    assert found.low == pytest.approx(0.10, abs=0.026)
    assert found.high == pytest.approx(0.35, abs=0.026)
    plain = mean_interval([1.0] * 8 + [0.0] * 32)
    # Skewed scores: BCa moves both ends to the long tail.
    assert found.low > plain.low and found.high > plain.high


def test_bca_of_equal_scores_is_that_score() -> None:
    found = mean_interval([1.0] * 10, method="bca")
    assert (found.low, found.high) == (1.0, 1.0)


def test_tost_by_hand() -> None:
    # Gaps: 1 once, -1 once, 0 eighteen times. Mean 0, s = sqrt(2/19), error = s / sqrt(20) = 0.072548.
    first, second = [0.0, 1.0] + [1.0] * 18, [1.0, 0.0] + [1.0] * 18
    found = tost(first, second, margin=0.15)
    # t = 0.15 / 0.072548 = 2.0676 with 19 degrees of freedom: one-sided p = 0.0263.
    assert found.p == pytest.approx(0.0263, abs=2e-4)
    assert found.equivalent
    assert not tost(first, second, margin=0.05).equivalent
    assert tost([1.0, 1.0], [1.0, 1.0], margin=0.01).p == 0.0
    with pytest.raises(UsageError, match="margin"):
        tost(first, second, margin=0.0)


def test_how_many_questions_a_claim_needs() -> None:
    # 1.96^2 * 0.25 / 0.05^2 = 384.1.
    assert questions_for_interval(0.5, 0.05) == 385
    # (1.95996 sqrt(0.2) + 0.84162 sqrt(0.2 - 0.0025))^2 / 0.0025 = (0.87652 + 0.37402)^2 / 0.0025.
    assert questions_for_difference(0.05, 0.2) == 626
    assert questions_for_difference(-0.05, 0.2) == 626
    # (1.64485 + 1.28155)^2 * 0.2 / 0.0025 = 685.1.
    assert questions_for_equivalence(0.05, 0.2) == 686
    with pytest.raises(UsageError, match="cannot change sides"):
        questions_for_difference(0.3, 0.2)


def test_seeds_are_averaged_question_by_question() -> None:
    found = over_seeds([[1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0]])
    assert found.means == (0.5, 0.75)
    assert found.interval.value == 0.625
    assert found.deviation == pytest.approx(0.1767767)
    with pytest.raises(UsageError, match="same questions"):
        over_seeds([[1.0], [1.0, 0.0]])
