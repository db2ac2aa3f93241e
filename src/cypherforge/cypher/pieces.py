"""Pieces that a query's text is made of, some of them still without a name or an order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Mention:
    """One use of a variable, by number."""

    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Bag:
    """Pieces whose order means nothing, ``between`` them; ``unique``: nor do repetitions."""

    items: tuple[Piece, ...]
    between: Piece = ", "
    unique: bool = False


Piece = str | Mention | Bag | Sequence["Piece"]


def flatten(piece: Piece) -> str:
    """The text of a piece without mentions."""
    out: list[str] = []
    stack = [piece]
    while stack:
        top = stack.pop()
        if isinstance(top, str):
            out.append(top)
        elif isinstance(top, Bag):
            stack.extend(reversed(join(top.items, top.between)))
        elif isinstance(top, Mention):
            raise TypeError(f"{top!r} has no name yet")
        else:
            stack.extend(reversed(top))
    return "".join(out)


def join(pieces: Iterable[Piece], between: Piece = ", ") -> list[Piece]:
    """Pieces with another between each two."""
    out: list[Piece] = []
    for piece in pieces:
        if out:
            out.append(between)
        out.append(piece)
    return out
