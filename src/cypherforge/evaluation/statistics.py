"""How sure a difference is: bootstrap intervals, McNemar's test, equivalence, and how many questions.

All functions take scores per question, in the same order for both sides: the same questions answered
twice are compared, never two samples. Results depend only on the scores and the seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from scipy.special import stdtr

from cypherforge.core.errors import UsageError

Method = Literal["percentile", "bca"]

_NORMAL = NormalDist()

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


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two one-sided tests: ``p`` is the larger; ``equivalent`` where it is below 1 - ``level``.

    ``difference`` is mean(second) - mean(first), ``margin`` what still counts as none.
    """

    difference: float
    margin: float
    p: float
    equivalent: bool


@dataclass(frozen=True, slots=True)
class SeedSpread:
    """Mean over several seeds; ``deviation`` is the standard deviation between the seeds' means."""

    interval: Interval
    means: tuple[float, ...]
    deviation: float


def mean_interval(
    scores: Sequence[float],
    *,
    level: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
    method: Method = "percentile",
) -> Interval:
    """Return the mean of scores per question with its bootstrap interval.

    Percentile: Efron and Tibshirani (1993), chapter 13; BCa: chapter 14. Raises UsageError without
    any score.
    """
    values = _checked(scores)
    return _interval(values, _bootstrap(values, samples, seed), level, method)


def over_seeds(
    runs: Sequence[Sequence[float]],
    *,
    level: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
) -> SeedSpread:
    """Return the mean over seeds; ``runs`` has one list of scores a seed, over the same questions.

    The interval resamples questions, each with its mean over the seeds: it says how the mean would
    vary with other questions, the deviation how it varies with another seed. Raises UsageError
    where the lengths differ or there is no score.
    """
    if len({len(run) for run in runs}) != 1:
        raise UsageError("the seeds were not run on the same questions")
    table = np.stack([_checked(run) for run in runs])
    means = table.mean(axis=1)
    spread = float(means.std(ddof=1)) if len(runs) > 1 else 0.0
    interval = mean_interval(table.mean(axis=0).tolist(), level=level, samples=samples, seed=seed)
    return SeedSpread(interval, tuple(float(m) for m in means), spread)


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    *,
    level: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
    method: Method = "percentile",
) -> Interval:
    """Return mean(second) - mean(first) over the same questions, with a paired bootstrap interval.

    Questions are resampled, each with both its scores, so that what is easy for both sides does not
    blur the difference. Raises UsageError where the lengths differ or there is no score.
    """
    gaps = _gaps(first, second)
    return _interval(gaps, _bootstrap(gaps, samples, seed), level, method)


def tost(
    first: Sequence[float], second: Sequence[float], *, margin: float, level: float = 0.95
) -> Equivalence:
    """Return whether two arms are as good as each other, within ``margin`` (Schuirmann, 1987).

    Two one-sided paired t-tests over the same questions: that no difference is significant says
    nothing, this does. Raises UsageError for a margin of 0 or less, or fewer than 2 questions.
    """
    if margin <= 0:
        raise UsageError(f"a margin is greater than 0, not {margin}")
    gaps = _gaps(first, second)
    if len(gaps) < 2:
        raise UsageError("equivalence needs two questions at least")
    mean, error = float(gaps.mean()), float(gaps.std(ddof=1)) / math.sqrt(len(gaps))
    if error == 0.0:
        p = 0.0 if abs(mean) < margin else 1.0
    else:
        freedom = len(gaps) - 1
        above = float(stdtr(freedom, -(mean + margin) / error))
        below = float(stdtr(freedom, (mean - margin) / error))
        p = max(above, below)
    return Equivalence(mean, margin, p, p < 1 - level)


def questions_for_interval(share: float, half_width: float, *, level: float = 0.95) -> int:
    """Return how many questions show a share within ``half_width`` of itself (normal theory)."""
    _open_unit(half_width, "half width")
    z = _NORMAL.inv_cdf(0.5 + level / 2)
    return math.ceil(z * z * share * (1 - share) / half_width**2)


def questions_for_difference(
    difference: float, changed: float, *, level: float = 0.95, power: float = 0.8
) -> int:
    """Return how many questions McNemar's test needs to see a difference (Connor, 1987).

    ``changed`` is the share of questions that only one side gets right: it cannot be less than the
    difference, and is at most 1.
    """
    gap = abs(difference)
    _open_unit(gap, "difference")
    if not gap <= changed <= 1:
        raise UsageError(
            f"{changed} of the questions cannot change sides for a difference of {gap}",
            hint="the share that changes is at least the difference, at most 1",
        )
    z, more = _NORMAL.inv_cdf(0.5 + level / 2), _NORMAL.inv_cdf(power)
    root = z * math.sqrt(changed) + more * math.sqrt(changed - gap * gap)
    return math.ceil(root**2 / gap**2)


def questions_for_equivalence(
    margin: float, changed: float, *, level: float = 0.95, power: float = 0.8
) -> int:
    """Return how many questions TOST needs to show arms without a difference equal within a margin."""
    _open_unit(margin, "margin")
    z, more = _NORMAL.inv_cdf(level), _NORMAL.inv_cdf(0.5 + power / 2)
    return math.ceil((z + more) ** 2 * changed / margin**2)


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


def _interval(values: np.ndarray, means: np.ndarray, level: float, method: Method) -> Interval:
    value = float(values.mean())
    tails = ((1 - level) / 2, (1 + level) / 2)
    if method == "bca":
        tails = _bca_tails(values, means, tails)
    low, high = np.quantile(means, tails)
    return Interval(value, float(low), float(high), level)


def _bca_tails(
    values: np.ndarray, means: np.ndarray, tails: tuple[float, float]
) -> tuple[float, float]:
    """The tails corrected for bias and acceleration (Efron and Tibshirani, 1993, equation 14.9)."""
    value = values.mean()
    below = ((means < value).sum() + 0.5 * (means == value).sum()) / len(means)
    if not 0 < below < 1 or len(values) < 2:
        return tails
    bias = _NORMAL.inv_cdf(float(below))
    left_out = (values.sum() - values) / (len(values) - 1)
    apart = left_out.mean() - left_out
    square = float((apart**2).sum())
    speed = float((apart**3).sum()) / (6 * square**1.5) if square else 0.0

    def turned(tail: float) -> float:
        shifted = bias + _NORMAL.inv_cdf(tail)
        return _NORMAL.cdf(bias + shifted / (1 - speed * shifted))

    return turned(tails[0]), turned(tails[1])


def _gaps(first: Sequence[float], second: Sequence[float]) -> np.ndarray:
    a, b = _checked(first), _checked(second)
    if len(a) != len(b):
        raise UsageError(f"{len(a)} scores against {len(b)}: not the same questions")
    gaps: np.ndarray = b - a
    return gaps


def _open_unit(value: float, what: str) -> None:
    if not 0 < value <= 1:
        raise UsageError(f"a {what} lies between 0 and 1, not {value}")
