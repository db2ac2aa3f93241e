"""Intervals and tests by values from outside: tables, closed forms, simulation."""

import numpy as np
import pytest

from cypherforge.core.errors import UsageError
from cypherforge.evaluation.statistics import mcnemar, mean_interval, paired_difference


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
