"""How sure a difference is: paired bootstrap intervals and McNemar's test.

All functions take scores per question, in the same order for both sides: the same questions answered
twice are compared, never two samples. Results depend only on the scores and the seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cypherforge.core.errors import UsageError

# Resamples drawn at a time: bounds memory at questions * BLOCK numbers.
_BLOCK = 500


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean (or a difference of means) with its bootstrap interval, as shares."""

    value: float
    low: float
    high: float
    level: float = 0.95


@dataclass(frozen=True, slots=True)
class McNemar:
    """Questions that only one side gets right, and the exact two-sided p-value.

    ``fixed``: wrong in the first, right in the second; ``broken``: the reverse.
    """

    fixed: int
    broken: int
    p: float


def mean_interval(
    scores: Sequence[float], *, level: float = 0.95, samples: int = 10_000, seed: int = 0
) -> Interval:
    """Return the mean of scores per question with a percentile bootstrap interval.

    Efron and Tibshirani (1993), chapter 13. Raises UsageError without any score.
    """
    values = _checked(scores)
    means = _bootstrap(values, samples, seed)
    return _interval(float(values.mean()), means, level)


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    *,
    level: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Return mean(second) - mean(first) over the same questions, with a paired bootstrap interval.

    Questions are resampled, each with both its scores, so that what is easy for both sides does not
    blur the difference. Raises UsageError where the lengths differ or there is no score.
    """
    a, b = _checked(first), _checked(second)
    if len(a) != len(b):
        raise UsageError(f"{len(a)} scores against {len(b)}: not the same questions")
    gaps = b - a
    return _interval(float(gaps.mean()), _bootstrap(gaps, samples, seed), level)


def mcnemar(first: Sequence[float], second: Sequence[float]) -> McNemar:
    """Return McNemar's exact test (1947) on right (1) and wrong (0) answers to the same questions.

    Only the questions that change sides count; under no difference each is a fair coin. Raises
    UsageError where the lengths differ or a score is neither 0 nor 1.
    """
    if len(first) != len(second):
        raise UsageError(f"{len(first)} scores against {len(second)}: not the same questions")
    if any(score not in (0, 1) for score in (*first, *second)):
        raise UsageError("McNemar's test takes right (1) and wrong (0) only")
    fixed = sum(1 for a, b in zip(first, second, strict=True) if a < b)
    broken = sum(1 for a, b in zip(first, second, strict=True) if a > b)
    return McNemar(fixed, broken, _binomial_two_sided(min(fixed, broken), fixed + broken))


def _binomial_two_sided(few: int, total: int) -> float:
    """Chance of a split at least this uneven among fair coins."""
    if total == 0:
        return 1.0
    logs = [
        math.lgamma(total + 1) - math.lgamma(k + 1) - math.lgamma(total - k + 1)
        for k in range(few + 1)
    ]
    tail = math.fsum(math.exp(value - total * math.log(2)) for value in logs)
    return min(1.0, 2 * tail)


def _checked(scores: Sequence[float]) -> np.ndarray:
    values = np.asarray(scores, dtype=np.float64)
    if values.size == 0:
        raise UsageError("no scores to average")
    return values


def _bootstrap(values: np.ndarray, samples: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    means = np.empty(samples)
    for start in range(0, samples, _BLOCK):
        count = min(_BLOCK, samples - start)
        drawn = random.integers(0, len(values), size=(count, len(values)))
        means[start : start + count] = values[drawn].mean(axis=1)
    return means


def _interval(value: float, means: np.ndarray, level: float) -> Interval:
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(value, float(low), float(high), level)
