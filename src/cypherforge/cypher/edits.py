"""Changes of a query by position: what lies outside them stays byte for byte."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace ``source[start:end]`` by ``text``; ``start == end`` inserts. In code points."""

    start: int
    end: int
    text: str


def apply_edits(source: str, edits: Iterable[Edit]) -> str:
    """``source`` with all edits made at once; insertions at one place keep their given order.

    Raises ValueError where two edits overlap or one lies outside the source: both are mistakes
    of the caller, and guessing which edit should win could change what a query means.
    """
    pieces: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if not 0 <= edit.start <= edit.end <= len(source):
            raise ValueError(f"{edit!r} lies outside a text of {len(source)} characters")
        if edit.start < done:
            raise ValueError(f"{edit!r} overlaps the edit before it, which ends at {done}")
        pieces += (source[done : edit.start], edit.text)
        done = edit.end
    pieces.append(source[done:])
    return "".join(pieces)
