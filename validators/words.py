"""Words and word pieces: how a name of a graph is recognised whatever its spelling.

``hasSpouse``, ``HAS_SPOUSE``, ``has spouses`` and ``Has-Spouse`` all have the pieces
``("has", "spouse")``: lower case, singular, without separators.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_RUN = re.compile(r"[^\W\d_]+|\d+")
# A capital after a small letter starts a piece, and so does the last capital before small letters.
_CAMEL = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_PLURAL = ("ss", "us", "is", "as")


def pieces(text: str) -> tuple[str, ...]:
    """Return the word pieces of a name or a phrase: lower case and singular."""
    found: list[str] = []
    for run in _RUN.findall(text):
        found.extend(singular(part.casefold()) for part in _CAMEL.split(run) if part)
    return tuple(found)


def singular(word: str) -> str:
    """Return an English word without its plural ending, by spelling alone.

    It need not be right, only the same for a word and its plural.
    """
    if len(word) < 4 or word.endswith(_NOT_PLURAL) or not word.endswith("s"):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1]


@cache
def english() -> frozenset[str]:
    """Return the ordinary English words that a rule's prose may use."""
    text = files("cypherforge.validators").joinpath("english.txt").read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    words = {word for line in lines for word in line.split()}
    return frozenset(words | {singular(word) for word in words})


def ordinary(word: str) -> bool:
    """Return whether a word is ordinary English (numbers are); case does not matter."""
    lower = word.casefold()
    return lower.isdigit() or lower in english() or singular(lower) in english()


# Pieces of which placeholders are made; the generic ones may also stand alone.
_HEADS = frozenset("label node type rel relationship property prop key value".split())
_GENERIC = frozenset(
    """
    count total num number item row result group path list alias start end source target first
    second third other another middle mid left right inner outer hub anchor limit threshold step
    same shared any some max min sum avg size entity extreme best top
    """.split()
)
_QUALIFIERS = frozenset(
    """
    date datetime time duration point text string numeric integer float boolean temporal sort sorted
    filter filtered counted nested parent child from to in out self mutual answer asked
    unknown wrong right declared undeclared missing extra shared closing
    """.split()
)


def is_placeholder(name: str, *, strict: bool = False) -> bool:
    """Return whether a name is one of the neutral ones rules are written in.

    ``NodeLabel``, ``relType2``, ``propertyKey``, ``otherNode``, ``total``, ``n1``; but neither
    ``date`` nor ``name``, which graphs really use. ``strict``: as labels, types and keys have to be,
    with a word such as Label, Type or Key in it.
    """
    parts = pieces(name)
    letters = [part for part in parts if not part.isdigit()]
    if not letters:
        return bool(parts) and not strict
    known = _HEADS | _GENERIC | _QUALIFIERS
    if not all(part in known or len(part) <= 2 for part in letters):
        return False
    return any(part in _HEADS for part in letters) or (
        not strict and all(part in _GENERIC or len(part) == 1 for part in letters)
    )
