"""Running a gold and a prediction for scoring: results, errors, and by what the gold is sorted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cypherforge.core.errors import InputError, QueryError
from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.answer_kinds import is_aggregate
from cypherforge.cypher.edits import Edit, apply_edits
from cypherforge.cypher.outline import outer_order
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.compare import same_rows

#: Rows that a gold may return and still be compared whole.
GOLD_ROWS = 200_000


@dataclass(frozen=True, slots=True)
class SortKey:
    """By what a gold's rows are sorted; rows with equal keys may change places.

    ``columns`` are indexes of returned columns, ``values`` one key a row where the key is not among
    them. With neither, nothing is known of ties, and every place counts.
    """

    columns: tuple[int, ...] | None = None
    values: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True)
class GoldRun:
    """A gold's rows, and its sort key if its outer query sorts."""

    query: str
    result: Result
    sort: SortKey | None = None

    @property
    def ordered(self) -> bool:
        """Whether the order of the rows matters."""
        return self.sort is not None


def run_gold(gold: str, graph: Graph, *, timeout: float | None = None) -> GoldRun:
    """Run a gold. Raises InputError if it fails or returns more rows than can be compared.

    A gold that fails says nothing about a prediction: the question has to be set aside.
    """
    try:
        result = graph.run(gold, timeout=timeout, limit=GOLD_ROWS)
    except QueryError as error:
        raise InputError(
            f"the gold fails: {error.message}", where=gold, hint="set this question aside"
        ) from error
    if result.truncated:
        raise InputError(
            f"the gold returns more than {GOLD_ROWS} rows", where=gold, hint="set it aside"
        )
    return GoldRun(gold, result, _sort_key(gold, result, graph, timeout))


def run_prediction(
    pred: str, gold: GoldRun, graph: Graph, *, timeout: float | None = None
) -> Result | QueryError:
    """Run a prediction; its error is a result too. One row more than gold's is enough to know."""
    try:
        return graph.run(pred, timeout=timeout, limit=len(gold.result.rows) + 1)
    except QueryError as error:
        return error


def same_answer(pred: Result, gold: GoldRun) -> bool | None:
    """Return whether the rows are the gold's, columns in any order; None: not decided."""
    if pred.truncated:
        return False
    sort = gold.sort
    return same_rows(
        gold.result,
        pred,
        ordered=sort is not None,
        sort_key=sort.columns if sort is not None else None,
        sort_values=sort.values if sort is not None else None,
    )


def _sort_key(gold: str, result: Result, graph: Graph, timeout: float | None) -> SortKey | None:
    try:
        tree = parse(gold)
    except CypherSyntaxError:
        return None
    order = outer_order(tree)
    if order is None:
        return None
    returned = last_return(tree)
    if returned is None or returned.order_by is not order or len(result.rows) < 2:
        return SortKey()
    places = [place_of(key.expression, returned) for key in order.items]
    known = [place for place in places if place is not None]
    if len(known) == len(places) and not returned.star:
        return SortKey(columns=tuple(known))
    return _fetched(gold, result, graph, timeout, order, returned)


def last_return(tree: ast.Query) -> ast.Return | None:
    """The RETURN that gives the rows; None where parts of a UNION or a subquery do."""
    body = tree.body
    while isinstance(body, ast.Next) and body.parts:
        body = body.parts[-1]
    if isinstance(body, ast.SingleQuery) and body.clauses:
        last = body.clauses[-1]
        return last if isinstance(last, ast.Return) else None
    return None


def place_of(key: ast.Expression, returned: ast.Return) -> int | None:
    """The column that a sort key is, by alias or by being the same expression."""
    for place, item in enumerate(returned.items):
        if item.expression == key:
            return place
        if isinstance(key, ast.Variable) and item.alias is not None and item.alias.name == key.name:
            return place
    return None


def _fetched(
    gold: str,
    result: Result,
    graph: Graph,
    timeout: float | None,
    order: ast.OrderBy,
    returned: ast.Return,
) -> SortKey:
    """Run the gold once more with its sort key as further columns, where Cypher allows that."""
    if (
        returned.distinct
        or returned.star
        or any(is_aggregate(i.expression) for i in returned.items)
    ):
        return SortKey()
    end = returned.items[-1].span[1]
    keys = ", ".join(
        f"{gold[slice(*key.expression.span)]} AS `sort key {number}`"
        for number, key in enumerate(order.items)
    )
    try:
        wider = graph.run(
            apply_edits(gold, [Edit(end, end, f", {keys}")]), timeout=timeout, limit=GOLD_ROWS
        )
    except QueryError:
        return SortKey()
    width = len(result.columns)
    narrowed = Result(result.columns, tuple(row[:width] for row in wider.rows), source=wider.source)
    # Ties may have come in another order this time: then the keys belong to other rows.
    if not same_rows(narrowed, result, ordered=True):
        return SortKey()
    return SortKey(values=tuple(list(row[width:]) for row in wider.rows))
