"""Whether a result is one of several right ones.

The right answers are described by the gold's whole rows: rows in groups of equal sort key, of which
each group gives so many; in some columns a cell may be any order of a list, an element of it, or a
stretch of it. Column order is free as everywhere, one mapping for all rows.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cypherforge.evaluation.doubts import ListColumn
from cypherforge.graph.base import Result
from cypherforge.graph.compare import ValueKeys

#: Column mappings that are tried before the search is given up.
MAPPINGS = 200

Key = Hashable


@dataclass(frozen=True, slots=True)
class RightAnswers:
    """A set of right answers.

    ``rows`` hold whole lists in the ``lists`` columns. ``groups`` gives each row its group, ``counts``
    how many rows of a group an answer has. ``ordered``: groups come in order.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    groups: tuple[int, ...]
    counts: tuple[int, ...]
    ordered: bool
    lists: tuple[ListColumn, ...] = ()
    source: str = ""

    def contains(self, pred: Result) -> bool | None:
        """Whether a result is one of them; None: not decided."""
        total = sum(self.counts)
        if pred.truncated or len(pred.rows) != total:
            return False
        if not total:
            return True
        if len(pred.columns) != len(self.columns):
            return False
        keys = ValueKeys((self.rows, pred.rows), ends=pred.source == self.source != "")
        kinds = {column.index: column for column in self.lists}
        wide = [[keys.key(row[i]) for row in self.rows] for i in range(len(self.columns))]
        mine = [[keys.key(row[i]) for row in pred.rows] for i in range(len(self.columns))]
        for tries, mapping in enumerate(_mappings(wide, mine, kinds)):
            if tries >= MAPPINGS:
                return None
            if self._fits(wide, [mine[i] for i in mapping], kinds):
                return True
        return False

    def _fits(
        self,
        wide: Sequence[Sequence[Key]],
        mine: Sequence[Sequence[Key]],
        kinds: dict[int, ListColumn],
    ) -> bool:
        """Whether each of the result's rows can be a row of its own, of the right group."""
        exact = [i for i in range(len(wide)) if i not in kinds or kinds[i].kind == "bag"]
        chosen = [i for i in kinds if kinds[i].kind != "bag"]

        def fixed(table: Sequence[Sequence[Key]], row: int) -> tuple[Key, ...]:
            return tuple(_bag(table[i][row]) if i in kinds else table[i][row] for i in exact)

        pool: dict[tuple[int, tuple[Key, ...]], list[int]] = defaultdict(list)
        for row, group in enumerate(self.groups):
            pool[group if self.ordered else 0, fixed(wide, row)].append(row)
        places = [g for g, count in enumerate(self.counts) for _ in range(count)]
        for row in range(len(mine[0])):
            candidates = pool[places[row] if self.ordered else 0, fixed(mine, row)]
            for at, candidate in enumerate(candidates):
                if all(_taken(mine[i][row], wide[i][candidate], kinds[i]) for i in chosen):
                    del candidates[at]
                    break
            else:
                return False
        return True


def _mappings(
    wide: Sequence[Sequence[Key]],
    mine: Sequence[Sequence[Key]],
    kinds: dict[int, ListColumn],
) -> Iterator[tuple[int, ...]]:
    """For each gold column a column of the result whose values all occur in it."""
    options = []
    for i, column in enumerate(wide):
        known = _values(column, kinds.get(i))
        options.append([j for j, other in enumerate(mine) if _within(other, known, kinds.get(i))])
    for mapping in itertools.product(*options):
        if len(set(mapping)) == len(mapping):
            yield mapping


def _values(column: Sequence[Key], kind: ListColumn | None) -> set[Key]:
    if kind is None:
        return set(column)
    if kind.kind == "bag":
        return {_bag(key) for key in column}
    return {item for key in column for item in _items(key)} | {("null",)}


def _within(column: Sequence[Key], known: set[Key], kind: ListColumn | None) -> bool:
    if kind is None or kind.kind == "element":
        return known.issuperset(column)
    if kind.kind == "bag":
        return all(_bag(key) in known for key in column)
    return all(known.issuperset(_items(key)) for key in column)


def _items(key: Key) -> tuple[Key, ...]:
    """The items of a list's key; none for anything else."""
    if isinstance(key, tuple) and len(key) == 2 and key[0] == "list":
        return tuple(key[1])
    return ()


def _bag(key: Key) -> Key:
    """A list's key without its order, whatever is nested in it; other keys as they are."""
    if isinstance(key, tuple) and len(key) == 2 and key[0] == "list":
        return ("bag", frozenset(Counter(_bag(item) for item in key[1]).items()))
    return key


def _taken(value: Key, whole: Key, column: ListColumn) -> bool:
    """Whether a cell can have been taken from a list, in some order of it."""
    items = _items(whole)
    if column.kind == "element":
        if len(items) <= column.lower:
            return value == ("null",)
        return value in items
    size = len(items[column.lower : column.upper])
    mine = _items(value)
    return len(mine) == size and not Counter(mine) - Counter(items)
