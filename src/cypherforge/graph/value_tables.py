"""Which of many texts are nearest to one: by pieces of three letters, then by spelling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz, process

from cypherforge.graph.value_text import squeeze

Match = Literal["exact", "normalised", "contains", "fuzzy"]

_Ints = npt.NDArray[np.int64]

#: (is relationship, owner, property)
Place = tuple[bool, str, str]

_CANDIDATES = 64
_POSTINGS = 20_000


class Tables:
    """The look-up tables over all values: texts by number, and the numbers that hold each piece."""

    def __init__(self, values: Mapping[Place, tuple[str, ...]]) -> None:
        self.numbers: dict[str, int] = {}
        self.texts: list[str] = []
        self.stored: list[list[tuple[str, Place]]] = []
        self.exact = {place: frozenset(found) for place, found in values.items()}
        for place, found in sorted(values.items()):
            for value in found:
                key = squeeze(value)
                number = self.numbers.setdefault(key, len(self.texts))
                if number == len(self.texts):
                    self.texts.append(key)
                    self.stored.append([])
                self.stored[number].append((value, place))
        # The texts as one array of code points, a blank on each side of every text.
        lengths = np.fromiter((len(text) + 2 for text in self.texts), np.int64, len(self.texts))
        joined = "".join(f" {text} " for text in self.texts)
        points = np.frombuffer(joined.encode("utf-32-le"), np.uint32).astype(np.int64)
        owner = np.repeat(np.arange(len(self.texts)), lengths)
        pieces, owner = _codes(points, owner)
        order = np.lexsort((owner, pieces))
        pieces, owner = pieces[order], owner[order]
        if len(pieces):
            fresh = np.ones(len(pieces), bool)
            fresh[1:] = (pieces[1:] != pieces[:-1]) | (owner[1:] != owner[:-1])
            pieces, owner = pieces[fresh], owner[fresh]
        self.sizes = np.bincount(owner, minlength=len(self.texts)).astype(np.float32)
        #: Distinct pieces, where the holders of each begin, and the holders.
        self.pieces, starts = np.unique(pieces, return_index=True)
        self.bounds = np.append(starts, len(pieces))
        self.holders = owner.astype(np.int32)

    def nearest(self, wanted: str, least: float) -> Iterator[tuple[int, Match, float]]:
        """Yield the numbers of texts near to ``wanted`` (squeezed), how, and the score (0..100)."""
        number = self.numbers.get(wanted)
        if number is not None:
            yield number, "normalised", 99.0
        if least >= 100.0:
            return
        candidates = [found for found in self._candidates(wanted) if found != number]
        texts = [self.texts[found] for found in candidates]
        scores = process.cdist([wanted], texts, scorer=fuzz.ratio)[0] if texts else ()
        for found, other, score in zip(candidates, texts, scores, strict=True):
            if _holds(other, wanted) or _holds(wanted, other):
                share = min(len(other), len(wanted)) / max(len(other), len(wanted))
                yield found, "contains", round(90.0 * float(share) ** 0.5, 1)
            else:
                best = max(float(score), _by_words(wanted, other))
                if best >= least:
                    yield found, "fuzzy", round(best, 1)

    def _candidates(self, wanted: str) -> list[int]:
        """Return the texts that share most pieces with a text, at most ``_CANDIDATES``."""
        codes = np.unique(_codes(_points(f" {wanted} "), None)[0])
        if not len(self.pieces):
            return []
        at = np.searchsorted(self.pieces, codes)
        at = at[self.pieces[np.minimum(at, len(self.pieces) - 1)] == codes]
        if not len(at):
            return []
        # The rarest pieces tell most; common ones are read while they are cheap.
        lengths = self.bounds[at + 1] - self.bounds[at]
        order = np.argsort(lengths, kind="stable")
        cheap = np.cumsum(lengths[order]) <= _POSTINGS
        cheap[:3] = True
        lists = [self.holders[self.bounds[i] : self.bounds[i + 1]] for i in at[order[cheap]]]
        shared = np.bincount(np.concatenate(lists), minlength=len(self.texts))
        found = np.flatnonzero(shared)
        hits = shared[found]
        # Shared pieces over all pieces (Dice), and over the smaller text, for one that is a part.
        dice = 2.0 * hits / (self.sizes[found] + len(codes))
        part = hits / np.minimum(self.sizes[found], len(codes))
        score = dice + 0.5 * part
        if len(found) > _CANDIDATES:
            best = np.argpartition(-score, _CANDIDATES)[:_CANDIDATES]
            found = found[best]
        return sorted(int(number) for number in found)


def _points(text: str) -> _Ints:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.int64)


def _codes(points: _Ints, owner: _Ints | None) -> tuple[_Ints, _Ints]:
    """Return a number for each piece of three characters, and the text that it lies in.

    Pieces over the border of two texts are left out. Code points have 21 bits, so three fit.
    """
    if len(points) < 3:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    codes = (points[:-2] << 42) | (points[1:-1] << 21) | points[2:]
    if owner is None:
        return codes, np.zeros(len(codes), np.int64)
    inside = owner[:-2] == owner[2:]
    return codes[inside], owner[:-2][inside]


def _holds(text: str, part: str) -> bool:
    """Return whether a text holds another as whole words; parts of one or two letters never."""
    return len(part) > 2 and f" {part} " in f" {text} "


def _by_words(a: str, b: str) -> float:
    """Score two texts by their words in any order, slightly below the same order."""
    return 0.95 * float(fuzz.token_sort_ratio(a, b))
