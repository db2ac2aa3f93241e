"""Whether the graph settles a gold's answer, and if not, which answers are right.

``doubts`` finds what may leave an answer open; here the graph is asked whether it does. A LIMIT is
open only if it cuts rows that differ and sort alike, a collected list only if it has two different
items, today's date only if another day changes the answer. Where the set of right answers can be
written down, a result is right if it is a member; else the question is set aside with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from cypherforge.core.errors import QueryError
from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.edits import Edit, apply_edits
from cypherforge.cypher.function_kinds import AGGREGATES
from cypherforge.cypher.names import quote_name
from cypherforge.cypher.rewrite import add_item, set_limit, set_skip
from cypherforge.evaluation.doubts import CHANCE, NOW, Doubts, ListColumn, doubts
from cypherforge.evaluation.execution import (
    GOLD_ROWS,
    GoldRun,
    last_return,
    place_of,
    same_answer,
)
from cypherforge.evaluation.membership import RightAnswers
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.compare import ValueKeys, same_rows

Status = Literal["settled", "set", "aside"]

#: Rows before a LIMIT within a query that are read to see whether it cuts a tie.
INNER_ROWS = 20_000
#: Ways to cut a tie with LIMIT 1 within a query that are all followed to the end.
ALTERNATIVES = 12


@dataclass(frozen=True, slots=True)
class Determinacy:
    """``settled``: one right answer. ``set``: several, ``right`` tells them. ``aside``: not scorable.

    ``kinds`` name what leaves the answer open, ``reason`` says it in words.
    """

    status: Status = "settled"
    kinds: tuple[str, ...] = ()
    reason: str = ""
    right: Callable[[Result], bool | None] | None = field(default=None, compare=False)


SETTLED = Determinacy()


class _Aside(Exception):
    """The answer is open, and its right answers cannot be written down."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


def determine(gold: GoldRun, graph: Graph, *, timeout: float | None = None) -> Determinacy:
    """Say whether the graph settles the gold's answer. Raises only what an unreachable graph raises."""
    try:
        tree = parse(gold.query)
    except CypherSyntaxError:
        return SETTLED
    found = doubts(tree)
    if not found:
        return SETTLED
    try:
        return _Check(gold, tree, found, graph, timeout).run()
    except _Aside as error:
        return Determinacy("aside", (error.kind,), error.reason)


class _Check:
    def __init__(
        self, gold: GoldRun, tree: ast.Query, found: Doubts, graph: Graph, timeout: float | None
    ) -> None:
        self.gold = gold
        self.tree = tree
        self.found = found
        self.graph = graph
        self.timeout = timeout

    def run(self) -> Determinacy:
        """Check each doubt; raises _Aside for the first that makes the question unscorable."""
        for kind, reason in self.found.reasons:
            raise _Aside(kind, reason)
        self._now()
        self._shortest()
        last = last_return(self.tree)
        if self.found.chance and not (last is not None and _only_sorts_by_chance(self.tree, last)):
            raise _Aside("chance", "a random number decides")
        inner = [clause for clause in self.found.limits if clause is not last]
        sets = [found for clause in inner if (found := self._inner_limit(clause)) is not None]
        final = self._final(last) if last is not None else SETTLED
        if sets and final.status == "set":
            raise _Aside("limit", "a LIMIT within the query cuts a tie, and the answer is open too")
        if len(sets) > 1:
            raise _Aside("limit", "several LIMITs within the query cut ties")
        return sets[0] if sets else final

    def _ask(self, query: str, kind: str, limit: int = GOLD_ROWS) -> Result:
        try:
            return self.graph.run(query, timeout=self.timeout, limit=limit)
        except QueryError as error:
            raise _Aside(kind, f"cannot be checked: {error.message}") from error

    # ------------------------------------------------------------ time, paths

    def _now(self) -> None:
        if not self.found.now:
            return
        edits = []
        for call in self.found.now:
            text = self.tree.text[slice(*call.span)]
            edits.append(Edit(*call.span, NOW[call.lower_name].format(call=text)))
        shifted = self._ask(apply_edits(self.gold.query, edits), "today")
        if not same_rows(self.gold.result, shifted):
            raise _Aside("today", "the answer depends on the day on which it is asked")

    def _shortest(self) -> None:
        edits = []
        for part in self.found.shortest:
            start = self.tree.text.lower().find("shortestpath", part.span[0])
            if start < 0:
                raise _Aside("shortest path", "one of several shortest paths is taken")
            edits.append(Edit(start, start + len("shortestPath"), "allShortestPaths"))
        if not edits:
            return
        every = self._ask(apply_edits(self.gold.query, edits), "shortest path")
        keys = ValueKeys((self.gold.result.rows, every.rows), ends=True)
        mine, theirs = (
            {tuple(map(keys.key, row)) for row in r.rows} for r in (self.gold.result, every)
        )
        if mine != theirs:
            raise _Aside("shortest path", "there are several shortest paths, and one is taken")

    # ------------------------------------------------------------ a LIMIT within the query

    def _inner_limit(self, clause: ast.Projection) -> Determinacy | None:
        """Follow each way of cutting a tie with LIMIT 1; None where nothing is open."""
        skip, limit = _count(clause.skip), _count(clause.limit, INNER_ROWS)
        keys = _keys(clause)
        extra = "".join(
            f", {_key_text(self.tree, clause, key)} AS {quote_name(f'sort key {n}')}"
            for n, key in enumerate(keys)
        )
        end = clause.items[-1].span[1] if clause.items else None
        text = self.tree.text
        if end is None:
            raise _Aside("limit", "a LIMIT behind WITH * that is not checked")
        head = text[: clause.span[0]]
        body = text[clause.span[0] : end]
        order = f" {text[slice(*clause.order_by.span)]}" if clause.order_by and keys else ""
        query = f"{head}RETURN{body[len('WITH') :]}{extra}{order}"
        rows = self._ask(query, "limit", INNER_ROWS)
        if rows.truncated:
            raise _Aside("limit", f"a LIMIT within the query cuts more than {INNER_ROWS} rows")
        width = len(rows.columns) - len(keys)
        groups = _groups(rows, width, len(keys))
        open_groups = _cut_groups(rows, width, groups, skip, limit)
        if not open_groups:
            return None
        if limit != 1:
            raise _Aside("limit", "a LIMIT within the query cuts rows that sort alike")
        places = [i for i, group in enumerate(groups) if group in open_groups]
        if len(places) > ALTERNATIVES:
            raise _Aside("limit", f"LIMIT 1 within the query takes one of {len(places)} rows")
        edits = set_skip(self.tree, clause, None) if clause.skip is not None else []
        assert clause.limit is not None
        start = clause.limit.span[0]
        answers = []
        for place in places:
            turned = [*edits, Edit(start, start, f"SKIP {place} ")]
            answers.append(self._ask(apply_edits(text, turned), "limit"))
        runs = [GoldRun(self.gold.query, answer, self.gold.sort) for answer in answers]
        if all(same_answer(answer, self.gold) for answer in answers):
            return None

        def right(pred: Result) -> bool | None:
            verdicts = [same_answer(pred, run) for run in (self.gold, *runs)]
            if True in verdicts:
                return True
            return None if None in verdicts else False

        reason = f"LIMIT 1 within the query takes one of {len(places)} rows that sort alike"
        return Determinacy("set", ("limit",), reason, right)

    # ------------------------------------------------------------ the rows that are returned

    def _final(self, last: ast.Return) -> Determinacy:
        limited = last in self.found.limits
        columns = self.found.columns
        if not limited and not columns:
            return SETTLED
        skip = _count(last.skip) if limited else 0
        limit = _count(last.limit, GOLD_ROWS) if limited else None
        chosen = [column for column in columns if column.kind != "bag"]
        if chosen and (last.distinct or _regroups(last, chosen)):
            raise _Aside("list order", "rows are grouped by an element of a list without an order")
        keys = _keys(last)
        places = [place_of(key.expression, last) for key in keys]
        missing = [key for key, place in zip(keys, places, strict=True) if place is None]
        wide = self._wide(last, chosen, missing, limited)
        width = len(self.gold.result.columns)
        rows = [row[:width] for row in wide.rows]
        fetched = iter(range(width, width + len(missing)))
        by = [place if place is not None else next(fetched) for place in places]
        ordered = bool(keys)
        groups = _grouped(wide, by) if ordered else [0] * len(rows)
        stop = len(rows) if limit is None else min(len(rows), skip + limit)
        counts = [0] * (max(groups, default=-1) + 1)
        for group in groups[skip:stop]:
            counts[group] += 1
        if sum(counts) != len(self.gold.result.rows):
            raise _Aside("limit", "the gold returns other rows when it is asked again")
        kinds: dict[str, str] = {}
        if limited and _cut_groups(Result(wide.columns, tuple(rows)), width, groups, skip, limit):
            kinds["limit"] = "LIMIT cuts rows that sort alike"
            if not ordered:
                kinds["limit"] = "LIMIT takes some of the rows, in no order"
        for column in columns:
            if any(_varies(row[column.index]) for row in rows):
                what = (
                    "the order of a collected list"
                    if column.kind == "bag"
                    else ("an element of a list without an order")
                )
                kinds["list order"] = what
        if not kinds:
            return SETTLED
        right = RightAnswers(
            self.gold.result.columns,
            tuple(rows),
            tuple(groups),
            tuple(counts),
            ordered,
            tuple(columns),
            self.gold.result.source,
        )
        return Determinacy("set", tuple(kinds), "; ".join(kinds.values()), right.contains)

    def _wide(
        self,
        last: ast.Return,
        chosen: Sequence[ListColumn],
        missing: Sequence[ast.SortItem],
        limited: bool,
    ) -> Result:
        """All rows that LIMIT chose from, lists whole, with the sort keys behind the columns."""
        if not limited and not chosen and not missing:
            return self.gold.result
        edits = [Edit(*column.span, column.source) for column in chosen]
        if last.skip is not None:
            edits += set_skip(self.tree, last, None)
        if last.limit is not None:
            edits += set_limit(self.tree, last, None)
        if missing:
            texts = [_key_text(self.tree, last, key) for key in missing]
            named = [f"{t} AS {quote_name(f'sort key {n}')}" for n, t in enumerate(texts)]
            edits += add_item(self.tree, last, ", ".join(named))
        wide = self._ask(apply_edits(self.gold.query, edits), "limit")
        if wide.truncated:
            raise _Aside("limit", f"LIMIT chooses from more than {GOLD_ROWS} rows")
        return wide


# ---------------------------------------------------------------- parts


def _count(node: ast.Skip | ast.Limit | None, absent: int = 0) -> int:
    if node is None:
        return absent
    if not isinstance(node.count, ast.IntegerLiteral):
        raise _Aside("limit", "a LIMIT or SKIP that is not a number")
    return node.count.value


def _keys(clause: ast.Projection) -> list[ast.SortItem]:
    """The sort keys, up to the first that is left to chance."""
    keys: list[ast.SortItem] = []
    for key in clause.order_by.items if clause.order_by else ():
        if any(isinstance(n, ast.FunctionCall) and n.lower_name in CHANCE for n in key.walk()):
            break
        keys.append(key)
    return keys


def _key_text(tree: ast.Query, clause: ast.Projection, key: ast.SortItem) -> str:
    """A sort key as a column: names that this clause gives are replaced by what they stand for."""
    given = {item.alias.name: item.expression for item in clause.items if item.alias is not None}
    start, end = key.expression.span
    edits = [
        Edit(
            node.span[0] - start,
            node.span[1] - start,
            f"({tree.text[slice(*given[node.name].span)]})",
        )
        for node in key.expression.walk()
        if isinstance(node, ast.Variable) and node.name in given
    ]
    return apply_edits(tree.text[start:end], edits)


def _only_sorts_by_chance(tree: ast.Query, last: ast.Return) -> bool:
    order = last.order_by
    inside = order.span if order else (0, 0)
    calls = [n for n in tree.walk() if isinstance(n, ast.FunctionCall) and n.lower_name in CHANCE]
    return all(inside[0] <= call.span[0] < inside[1] for call in calls)


def _groups(rows: Result, width: int, keys: int) -> list[int]:
    """A number for each row: neighbours with equal sort key share it; without keys all do."""
    return _grouped(rows, range(width, width + keys)) if keys else [0] * len(rows.rows)


def _grouped(rows: Result, by: Sequence[int]) -> list[int]:
    keys = ValueKeys((rows.rows,), ends=True)
    numbers: list[int] = []
    before: Any = None
    for row in rows.rows:
        key = tuple(keys.key(row[i]) for i in by)
        numbers.append(numbers[-1] + (key != before) if numbers else 0)
        before = key
    return numbers


def _cut_groups(
    rows: Result, width: int, groups: Sequence[int], skip: int, limit: int | None
) -> set[int]:
    """Groups of which SKIP and LIMIT take a part, where their rows differ."""
    stop = len(groups) if limit is None else skip + limit
    keys = ValueKeys((rows.rows,), ends=True)
    found = set()
    for border in (skip, stop):
        if 0 < border < len(groups) and groups[border - 1] == groups[border]:
            group = groups[border]
            members = {
                tuple(keys.key(cell) for cell in row[:width])
                for row, number in zip(rows.rows, groups, strict=True)
                if number == group
            }
            if len(members) > 1:
                found.add(group)
    return found


def _varies(cell: Any) -> bool:
    """Whether a list has two different items."""
    if not isinstance(cell, list | tuple) or len(cell) < 2:
        return False
    keys = ValueKeys((((cell,),),), ends=True)
    return len({keys.key(item) for item in cell}) > 1


def _regroups(last: ast.Return, chosen: Sequence[ListColumn]) -> bool:
    """Whether an element taken in an earlier clause is grouped by in the last."""
    start, end = last.span
    earlier = any(not start <= column.span[0] < end for column in chosen)
    return earlier and any(
        isinstance(n, ast.CountStar)
        or (isinstance(n, ast.FunctionCall) and n.lower_name in AGGREGATES)
        for item in last.items
        for n in item.expression.walk()
    )
