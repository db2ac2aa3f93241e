"""Narrow a schema to the part that a question needs.

A question names labels, types and properties by their word parts (``BusRoute`` as "bus routes"),
and values that the value index knows. What it names is kept, with the labels that own it, the
shortest paths that join those labels, and everything between them.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

from cypherforge.graph.formats.arrows import line_name
from cypherforge.graph.schema import Label, RelType, Schema

_PARTS = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
#: Parts that say too little alone: ``has_part`` is not named by "has", nor ``IN_GENRE`` by "in".
_WEAK = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "for",
        "from",
        "had",
        "has",
        "have",
        "in",
        "into",
        "is",
        "it",
        "its",
        "of",
        "on",
        "or",
        "that",
        "the",
        "this",
        "to",
        "was",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "whose",
        "with",
        "id",
        "how",
        "many",
        "much",
    ]
)


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A smaller schema; ``left_out`` names the labels and types that it lacks."""

    schema: Schema
    left_out: tuple[str, ...] = ()


def narrow(
    schema: Schema,
    question: str,
    *,
    values: Iterable[str] = (),
    hops: int = 0,
) -> Narrowed:
    """Return the part of a schema that a question names, joined up.

    ``values`` holds ``Owner.property`` of values that the question mentions, from the value index;
    ``hops`` adds the neighbours of what was found, so many steps out. If the question names nothing,
    the schema comes back whole: leaving out the wrong part costs more than tokens.
    """
    words = _words(question)
    labels, types = _named(schema, words)
    for place in values:
        owner = place.rpartition(".")[0]
        labels |= {owner} & set(schema.labels)
        types |= {owner} & set(schema.types)
    if not labels and not types:
        return Narrowed(schema)
    return restrict(schema, labels, types, hops=hops)


def restrict(
    schema: Schema, labels: Iterable[str], types: Iterable[str] = (), *, hops: int = 0
) -> Narrowed:
    """Return the part with these labels and types, the paths that join them, and their ends."""
    kept = {name for name in labels if name in schema.labels}
    wanted = {name for name in types if name in schema.types}
    for rel_type in wanted:
        # Of a type with several pairs, those that touch a named label are enough.
        patterns = schema.patterns_of(rel_type)
        touching = [p for p in patterns if kept & {p.start, p.end}] or patterns
        for pattern in touching:
            kept |= {pattern.start, pattern.end} - {""}
    for _ in range(max(hops, 0)):
        kept |= {
            end
            for p in schema.patterns
            if kept & {p.start, p.end}
            for end in (p.start, p.end)
            if end
        }
    kept |= _joining(schema, kept)
    for item in schema.co_labels:
        if kept & set(item.labels):
            kept |= set(item.labels)
    patterns = tuple(
        p for p in schema.patterns if {p.start, p.end} - {""} <= kept or p.type in wanted
    )
    patterns = tuple(p for p in patterns if {p.start, p.end} - {""} <= kept)
    used = {p.type for p in patterns} | wanted
    smaller = replace(
        schema,
        labels={n: x for n, x in schema.labels.items() if n in kept},
        types={n: x for n, x in schema.types.items() if n in used},
        patterns=patterns,
        co_labels=tuple(x for x in schema.co_labels if kept.issuperset(x.labels)),
        constraints=tuple(
            x for x in schema.constraints if x.name in (kept if x.entity == "NODE" else used)
        ),
        indexes=tuple(
            x for x in schema.indexes if set(x.names) <= (kept if x.entity == "NODE" else used)
        ),
        raw="",
    )
    left_out = [line_name(name) for name in schema.labels if name not in kept]
    left_out += [f"[:{line_name(name)}]" for name in schema.types if name not in used]
    return Narrowed(smaller, tuple(left_out))


def _named(schema: Schema, words: frozenset[str]) -> tuple[set[str], set[str]]:
    labels = {name for name in schema.labels if _says(words, name)}
    types = {name for name in schema.types if _says(words, name)}
    owners: list[tuple[Label | RelType, set[str]]] = [(x, labels) for x in schema.labels.values()]
    owners += [(x, types) for x in schema.types.values()]
    shared = _property_owners(owners)
    for owner, found in owners:
        for item in owner.properties:
            # A name that most owners have (``name``, ``id``) points at none of them.
            if shared[item.name] <= max(2, len(owners) // 3) and _says(words, item.name):
                found.add(owner.name)
    return labels, types


def _property_owners(owners: Iterable[tuple[Label | RelType, set[str]]]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for owner, _ in owners:
        for item in owner.properties:
            numbers[item.name] = numbers.get(item.name, 0) + 1
    return numbers


def _says(words: frozenset[str], name: str) -> bool:
    """Return whether the words hold a strong part of a name: one of two, or half of more."""
    parts = [part for part in _split(name) if part not in _WEAK] or _split(name)
    hits = sum(part in words for part in parts)
    return bool(hits) and hits * 2 >= len(parts)


def _words(text: str) -> frozenset[str]:
    return frozenset(_split(text))


def word_parts(text: str) -> list[str]:
    """The words of a text or of a name, in order, cut to their stems.

    >>> word_parts("BusRoutes_ofCity")
    ['bus', 'rout', 'of', 'citi']
    """
    return _split(text)


def _split(text: str) -> list[str]:
    parts = []
    for word in _PARTS.findall(text):
        for part in _HUMP.split(word):
            parts.append(_stem(_plain(part)))
    return parts


def _plain(word: str) -> str:
    decomposed = unicodedata.normalize("NFD", word.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _stem(word: str) -> str:
    """Cut the commonest English endings, so that ``acted``, ``acts`` and ``acting`` meet."""
    for ending, rest in (
        ("ies", "y"),
        ("sses", "ss"),
        ("ing", ""),
        ("ed", ""),
        ("es", ""),
        ("s", ""),
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + rest
            break
    if len(word) <= 3:
        return word
    # "movies" and "movie", "countries" and "country" must meet.
    return f"{word[:-1]}i" if word.endswith("y") else word.rstrip("e")


def _joining(schema: Schema, labels: set[str]) -> set[str]:
    """Return the labels on shortest paths that join all wanted labels into as few parts as can be."""
    neighbours: dict[str, set[str]] = {}
    for p in schema.patterns:
        if p.start and p.end:
            neighbours.setdefault(p.start, set()).add(p.end)
            neighbours.setdefault(p.end, set()).add(p.start)
    wanted = sorted(labels)
    joined: set[str] = set(wanted[:1])
    for _ in wanted[1:]:
        path = _path(neighbours, joined, set(wanted) - joined)
        if not path:  # an island: start a new part there
            joined |= set(sorted(set(wanted) - joined)[:1])
            continue
        joined |= set(path)
    return joined


def _path(neighbours: dict[str, set[str]], sources: set[str], targets: set[str]) -> list[str]:
    """Return the shortest path from any source to any target, the first by name if several."""
    before: dict[str, str | None] = {name: None for name in sorted(sources)}
    queue = deque(before)
    while queue:
        name = queue.popleft()
        if name in targets:
            path: list[str] = []
            step: str | None = name
            while step is not None:
                path.append(step)
                step = before[step]
            return path
        for other in sorted(neighbours.get(name, ())):
            if other not in before:
                before[other] = name
                queue.append(other)
    return []
