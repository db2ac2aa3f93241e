"""Train and test that do not leak: splits by normalised gold, by graph or by shape; leak reports.

Benchmarks repeat themselves: a split by rows puts the same gold, but for a name, on both sides.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from cypherforge.core.datasets import Dataset, Example, assign_splits
from cypherforge.core.errors import UsageError
from cypherforge.cypher import CypherSyntaxError, normal_form, parse, shape_of
from cypherforge.cypher.normal import gold_key

By = Literal["gold", "graph", "shape"]

#: Ids that a leak report names at most, for each kind.
NAMED = 20


def split(dataset: Dataset, by: By, *, train_share: float = 0.7, seed: int = 0) -> Dataset:
    """Split a dataset anew into ``train`` and ``test``; earlier splits are forgotten.

    ``gold``: golds equal but for variables, literals and aliases stay together. ``graph``: whole
    graphs, those of ``test`` unseen in training. ``shape``: whole shapes of MATCH and RETURN with
    their operators. Raises UsageError for a share outside 0..1, or for one graph alone.
    """
    if not 0 < train_share < 1:
        raise UsageError(f"a share lies between 0 and 1, not {train_share}")
    blank = Dataset(
        dataset.name, tuple(replace(e, split="") for e in dataset.examples), dataset.problems
    )
    if by == "graph":
        return _by_graph(blank, train_share, seed)
    key = gold_key if by == "gold" else shape_key
    salted: Callable[[str], str] = (lambda text: f"{seed}\0{key(text)}") if seed else key
    if by == "gold":
        return assign_splits(blank, salted, train_share)
    # A shape is one thing whatever the graph.
    sides = {e.id: _side(salted(e.cypher), train_share) for e in blank.examples}
    return Dataset(
        blank.name,
        tuple(replace(e, split=sides[e.id]) for e in blank.examples),
        blank.problems,
    )


def shape_key(cypher: str) -> str:
    """A text that is equal for queries of one shape; text that does not parse stands alone."""
    try:
        shape = shape_of(parse(cypher))
    except CypherSyntaxError:
        return f"not Cypher: {cypher}"
    return repr((shape.match, shape.returns, sorted(shape.operators)))


@dataclass(frozen=True, slots=True)
class Leak:
    """Test questions that training has seen, by one way of looking; ``pairs`` are (test, train)."""

    kind: str
    count: int
    share: float
    pairs: tuple[tuple[str, str], ...]


def leaks(train: Sequence[Example], test: Sequence[Example]) -> list[Leak]:
    """How much of ``test`` lies in ``train``, from the same words to the same shape.

    Golds count within their graph, shapes across graphs.
    """
    ways: list[tuple[str, Callable[[Example], Any]]] = [
        ("the same question", lambda e: (e.graph, " ".join(e.question.casefold().split()))),
        ("the same gold", lambda e: (e.graph, _safe(normal_form, e.cypher))),
        ("the same gold but for names of variables and literals", _by_gold),
        ("the same shape", lambda e: shape_key(e.cypher)),
        ("a graph that training has", lambda e: e.graph),
    ]
    found = []
    for kind, key in ways:
        seen: dict[Any, str] = {}
        for example in train:
            seen.setdefault(key(example), example.id)
        pairs = [(e.id, seen[k]) for e in test if (k := key(e)) in seen]
        share = len(pairs) / len(test) if test else 0.0
        found.append(Leak(kind, len(pairs), share, tuple(pairs[:NAMED])))
    return found


def split_summary(dataset: Dataset) -> dict[str, Any]:
    """Questions of each split, by graph."""
    by_graph: dict[str, Counter[str]] = defaultdict(Counter)
    for example in dataset.examples:
        by_graph[example.graph][example.split] += 1
    return {
        "splits": dataset.splits,
        "graphs": {name: dict(sorted(counts.items())) for name, counts in sorted(by_graph.items())},
    }


def _by_graph(dataset: Dataset, train_share: float, seed: int) -> Dataset:
    names = dataset.graphs
    if len(names) < 2:
        raise UsageError(
            f"one graph cannot be split by graph: {names[0] if names else 'none'}",
            hint="split by gold or by shape",
        )
    ranked = sorted(names, key=lambda name: _hash(f"{seed}\0{name}"))
    wanted = train_share * len(dataset)
    train: set[str] = set()
    count = 0
    for name in ranked[:-1]:
        if count >= wanted and train:
            break
        train.add(name)
        count += len(dataset.of_graph(name))
    return Dataset(
        dataset.name,
        tuple(replace(e, split="train" if e.graph in train else "test") for e in dataset.examples),
        dataset.problems,
    )


def _side(key: str, train_share: float) -> str:
    return "train" if _hash(key) / 2**64 < train_share else "test"


def _hash(text: str) -> int:
    data = text.encode("utf-8", "replace")
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "big")


def _by_gold(example: Example) -> tuple[str, str]:
    return example.graph, gold_key(example.cypher)


def _safe(form: Callable[[str], str], cypher: str) -> str:
    try:
        return form(cypher)
    except CypherSyntaxError:
        return f"not Cypher: {' '.join(cypher.split())}"
