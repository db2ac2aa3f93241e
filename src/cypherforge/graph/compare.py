"""Whether two results are the same answer.

Rows are a multiset; column names and column order are free, but one column mapping has to hold for
all rows (cells are never matched row by row). Numbers are compared by value, integers exactly and
floats within a relative 1e-10, since sums depend on the order of the rows. A list is a sequence,
NaN equals NaN, null equals null. Nodes are their labels and properties, so that two engines can be
compared; relationships their type and properties, and their ends' ids too where both results come
from one database.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Final

from neo4j.spatial import Point
from neo4j.time import Date, DateTime, Duration, Time

from cypherforge.core.errors import UsageError
from cypherforge.graph.base import Result
from cypherforge.graph.values import (
    NodeValue,
    PathValue,
    RelationshipValue,
    Unreadable,
    VectorValue,
    iso,
    zone_name,
)

TOLERANCE: Final = 1e-10
"""Relative distance below which two floats are the same number."""

WORK: Final = 3_000_000
"""Cells that the search for a column mapping may touch before it gives up as "not decided"."""

Key = Hashable
_FLOATLESS: Final = frozenset([str, int, bool, type(None), Date, DateTime, Time])
Keys = list[list[Key]]


def same_rows(
    a: Result,
    b: Result,
    *,
    ordered: bool = False,
    sort_key: Sequence[int | str] | None = None,
    sort_values: Sequence[Any] | None = None,
    work: int = WORK,
) -> bool | None:
    """Whether ``b`` answers what ``a`` answers; None: not decided.

    Not decided: a result was cut by a row limit, or the search for a column mapping passed ``work``
    cells. With ``ordered`` the rows must come in the same order, but rows of ``a`` whose sort key is
    equal may change places: ``sort_key`` names columns of ``a`` (by name or index), ``sort_values``
    gives one value per row of ``a`` where the key is not among the columns. With neither, every
    place counts. Raises ``UsageError`` for a sort key that ``a`` does not have.
    """
    if len(a.columns) != len(b.columns) and (a.rows or b.rows):
        return False
    if a.truncated or b.truncated:
        return None
    if len(a.rows) != len(b.rows):
        return False
    if not a.rows:
        return True
    same_source = bool(a.source) and a.source == b.source
    keys = ValueKeys((a.rows, b.rows), ends=same_source)
    left, right = keys.columns(a), keys.columns(b)
    if ordered:
        places = _places(a, left, sort_key, sort_values, keys)
        return _matched([places, *left], [places, *right], 1, work)
    return _matched(left, right, 0, work)


def same_value(a: Any, b: Any) -> bool:
    """Whether two single values are the same, by the rules of ``same_rows``."""
    keys = ValueKeys((((a,),), ((b,),)), ends=False)
    return keys.key(a) == keys.key(b)


def _places(
    a: Result,
    columns: Keys,
    sort_key: Sequence[int | str] | None,
    sort_values: Sequence[Any] | None,
    keys: ValueKeys,
) -> list[Key]:
    """A number for each row: equal for neighbours with equal sort key, growing otherwise."""
    count = len(a.rows)
    if sort_values is not None:
        if len(sort_values) != count:
            raise UsageError(f"{len(sort_values)} sort values for {count} rows")
        by_row: list[Key] = [keys.key(value) for value in sort_values]
    elif sort_key is not None:
        by_row = list(zip(*(columns[_index(a, name)] for name in sort_key), strict=True))
    else:
        return list(range(count))
    places: list[Key] = []
    place = -1
    for i, key in enumerate(by_row):
        if i == 0 or key != by_row[i - 1]:
            place += 1
        places.append(place)
    return places


def _index(a: Result, name: int | str) -> int:
    if isinstance(name, str):
        if name in a.columns:
            return a.columns.index(name)
    elif 0 <= name < len(a.columns):
        return name
    raise UsageError(f"no column {name!r} to sort by", hint=f"one of {', '.join(a.columns)}")


# ---------------------------------------------------------------- one mapping for all rows


def _matched(left: Keys, right: Keys, fixed: int, work: int) -> bool | None:
    """Whether some permutation of ``right`` beyond ``fixed`` makes the two equal as multisets."""
    rows = len(left[0])
    if _rows_equal(left, right):
        return True
    signatures_left = [frozenset(Counter(column).items()) for column in left]
    signatures_right = [frozenset(Counter(column).items()) for column in right]
    if Counter(signatures_left) != Counter(signatures_right):
        return False
    # Columns with fewest candidates first: most are settled at once, and prune the others.
    candidates = {
        i: [j for j in range(fixed, len(right)) if signatures_right[j] == signatures_left[i]]
        for i in range(fixed, len(left))
    }
    order = sorted(candidates, key=lambda i: (len(candidates[i]), -len(signatures_left[i])))
    # Rows seen so far as one number each, refined column by column.
    start_left = _numbered([tuple(row) for row in zip(*left[:fixed], strict=True)] or [()] * rows)
    start_right = _numbered(
        [tuple(row) for row in zip(*right[:fixed], strict=True)] or [()] * rows, start_left[1]
    )
    if Counter(start_left[0]) != Counter(start_right[0]):
        return False
    budget = work

    def search(depth: int, seen_left: list[int], seen_right: list[int], used: set[int]) -> bool:
        nonlocal budget
        if depth == len(order):
            return True
        column = order[depth]
        refined, table = _refine(seen_left, left[column])
        wanted = Counter(refined)
        tried: set[tuple[Key, ...]] = set()
        for j in candidates[column]:
            if j in used:
                continue
            # Equal columns are interchangeable: one of them stands for all.
            as_tuple = tuple(right[j])
            if as_tuple in tried:
                continue
            tried.add(as_tuple)
            budget -= rows
            if budget < 0:
                raise _OutOfWork
            other, _ = _refine(seen_right, right[j], table)
            if Counter(other) == wanted and search(depth + 1, refined, other, used | {j}):
                return True
        return False

    try:
        return search(0, start_left[0], start_right[0], set())
    except _OutOfWork:
        return None


class _OutOfWork(Exception):
    pass


def _rows_equal(left: Keys, right: Keys) -> bool:
    return Counter(zip(*left, strict=True)) == Counter(zip(*right, strict=True))


def _numbered(
    rows: Sequence[Key], table: dict[Key, int] | None = None
) -> tuple[list[int], dict[Key, int]]:
    table = {} if table is None else table
    return [table.setdefault(row, len(table)) for row in rows], table


def _refine(
    seen: list[int], column: list[Key], table: dict[Key, int] | None = None
) -> tuple[list[int], dict[Key, int]]:
    return _numbered(list(zip(seen, column, strict=True)), table)


# ---------------------------------------------------------------- a key for each value


class ValueKeys:
    """Hashable keys such that two values are the same exactly where their keys are equal.

    Floats need to know each other: those within the tolerance of one another share a key.
    """

    def __init__(self, rows: Sequence[Sequence[Sequence[Any]]], *, ends: bool) -> None:
        self._ends = ends
        floats = {
            value
            for result in rows
            for row in result
            for cell in row
            # Most cells are of these, and a look at each would cost more than the rest.
            if type(cell) not in _FLOATLESS
            for value in _floats(cell)
            if math.isfinite(value)
        }
        self._starts: list[float] = []
        last: float | None = None
        for value in sorted(floats):
            if last is None or not _close(last, value):
                self._starts.append(value)
            last = value

    def columns(self, result: Result) -> Keys:
        """Keys column by column."""
        return [[self.key(row[i]) for row in result.rows] for i in range(len(result.columns))]

    def key(self, value: Any) -> Key:
        """The key of a value."""
        if type(value) is str:
            return value
        if value is None:
            return ("null",)
        if isinstance(value, bool):
            return ("bool", value)
        if isinstance(value, str):
            return value
        if isinstance(value, int):
            return ("number", value)
        if isinstance(value, float):
            return self._number(value)
        if isinstance(value, DateTime):
            clock = (*value.year_month_day, *value.hour_minute_second_nanosecond)
            if value.tzinfo is None:
                return ("localdatetime", *clock)
            return ("datetime", *clock, value.utcoffset(), zone_name(value))
        if isinstance(value, Date):
            return ("date", iso(value))
        if isinstance(value, Time):
            return ("time" if value.tzinfo else "localtime", iso(value))
        if isinstance(value, Duration):
            return ("duration", value.months, value.days, self._number(_clock_part(value)))
        if isinstance(value, Point):
            return ("point", value.srid, *(self._number(float(x)) for x in value))
        if isinstance(value, bytes | bytearray):
            return ("bytes", bytes(value))
        if isinstance(value, NodeValue):
            return ("node", value.labels, self._map(value.properties))
        if isinstance(value, RelationshipValue):
            ends = (value.start, value.end) if self._ends else ()
            return ("relationship", value.type, self._map(value.properties), *ends)
        if isinstance(value, PathValue):
            forward = tuple(
                link.start == node.id
                for node, link in zip(value.nodes, value.relationships, strict=False)
            )
            return (
                "path",
                tuple(self.key(node) for node in value.nodes),
                tuple(self.key(link) for link in value.relationships),
                forward,
            )
        if isinstance(value, VectorValue):
            return ("vector", value.element, tuple(self.key(x) for x in value.values))
        if isinstance(value, Unreadable):
            return ("unreadable", value.type_name)
        if isinstance(value, Mapping):
            return ("map", self._map(value))
        if isinstance(value, list | tuple):
            return ("list", tuple(self.key(item) for item in value))
        raise TypeError(f"not a Cypher value: {type(value).__name__}")

    def _map(self, value: Mapping[str, Any]) -> Key:
        return frozenset((key, self.key(item)) for key, item in value.items())

    def _number(self, value: float) -> Key:
        if math.isnan(value):
            return ("number", "NaN")
        if math.isinf(value):
            return ("number", value)
        whole = round(value)
        if _close(value, whole):
            return ("number", whole)
        return ("float", self._starts[bisect.bisect_right(self._starts, value) - 1])


def _clock_part(value: Duration) -> float:
    # An average of durations has a float's errors, of nanoseconds; months and days stay apart.
    return float(value.seconds) + float(value.nanoseconds) / 1e9


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-12)


def _floats(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, Point):
        yield from (float(x) for x in value)
    elif isinstance(value, Duration):
        yield _clock_part(value)
    elif isinstance(value, NodeValue | RelationshipValue):
        for item in value.properties.values():
            yield from _floats(item)
    elif isinstance(value, PathValue):
        for entity in (*value.nodes, *value.relationships):
            yield from _floats(entity)
    elif isinstance(value, VectorValue):
        yield from (float(x) for x in value.values if isinstance(x, float))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _floats(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _floats(item)
