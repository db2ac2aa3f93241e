"""What mining starts from: a dataset with train and held-out questions, cut and split alike."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from cypherforge.core.datasets import Dataset, Example, assign_splits
from cypherforge.core.errors import InputError
from cypherforge.cypher import CypherSyntaxError
from cypherforge.cypher.normal import gold_key

TRAIN_NAMES = frozenset({"train", "training"})
TRAIN_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class Questions:
    """Train and held-out questions. ``assigned``: the dataset had no split and was split here."""

    train: tuple[Example, ...]
    heldout: tuple[Example, ...]
    assigned: bool


def sample(examples: tuple[Example, ...], limit: int | None, seed: int) -> tuple[Example, ...]:
    """At most ``limit`` examples, drawn by a hash, in their order.

    The first rows of a file are seldom like the rest, so a cut takes from everywhere.
    """
    if limit is None or limit >= len(examples):
        return examples

    def rank(example: Example) -> str:
        text = f"{seed}\0{example.graph}\0{example.id}\0{example.question}"
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()

    chosen = set(sorted(range(len(examples)), key=lambda i: (rank(examples[i]), i))[:limit])
    return tuple(example for i, example in enumerate(examples) if i in chosen)


def split_key(cypher: str) -> str:
    """What keeps two examples in one split: the gold but for variables, literals and aliases."""
    try:
        return gold_key(cypher)
    except CypherSyntaxError:
        return cypher


def prepare(
    dataset: Dataset,
    *,
    limit: int | None = None,
    seed: int = 0,
    key: Callable[[str], str] = split_key,
) -> Questions:
    """Cut the dataset to ``limit`` questions and separate train from held-out.

    A dataset that has a train split keeps it, and everything else is held out; without one, 70 %
    by a hash of the normalised gold are train, equal golds together. Raises ``InputError`` where
    nothing is left to train on.
    """
    examples = sample(dataset.examples, limit, seed)
    assigned = not any(e.split.lower() in TRAIN_NAMES for e in examples)
    if assigned:
        cut = Dataset(name=dataset.name, examples=examples, problems=dataset.problems)
        examples = assign_splits(cut, key, TRAIN_SHARE).examples
    train = tuple(e for e in examples if e.split.lower() in TRAIN_NAMES)
    heldout = tuple(e for e in examples if e.split.lower() not in TRAIN_NAMES)
    if not train:
        raise InputError(
            "no train question is left", where=dataset.name, hint="raise --limit or check the split"
        )
    return Questions(train, heldout, assigned)
