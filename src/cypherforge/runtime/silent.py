"""Silent faults: what may be wrong with a query although rows came, with evidence from the database.

The papers leave these open. First come the doubts that question, query and schema raise
(:mod:`cypherforge.runtime.doubts`), then checks of the rows and of the database, each with at most
one further query. Only two change the query, for there the database settles it: a null that ORDER BY
put first before a LIMIT, and an undirected pattern over a type that is stored in both directions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cypherforge.core.errors import QueryError, UsageError
from cypherforge.cypher import ast
from cypherforge.cypher.answer_kinds import is_aggregate
from cypherforge.cypher.bindings import Bindings, Entity
from cypherforge.cypher.edits import Edit, apply_edits
from cypherforge.cypher.rewrite import add_condition, add_item, set_distinct, set_limit
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.compare import same_rows
from cypherforge.graph.narrow import word_parts
from cypherforge.graph.schema import Schema
from cypherforge.graph.values import display
from cypherforge.runtime.doubts import STATIC, static_suspicions
from cypherforge.runtime.fixes import Reciprocity, RedirectSelfLoops
from cypherforge.runtime.pair import Suspicion, read_pair

#: Seconds that a check's own query may take.
TIMEOUT = 5.0
#: Rows up to which duplicates are looked for.
ROWS = 5_000
_ORDER = (
    r"\b(order|sort|rank|alphabetical|ascending|descending|chronolog\w*|first|last|top|bottom"
    r"|most|least|highest|lowest|largest|smallest|biggest|longest|shortest|oldest|youngest|newest"
    r"|earliest|latest|recent\w*|best|worst|max\w*|min\w*|greatest|fewest|more|less)\b"
)
_NUMBER = (
    r"\b(\d+|one|two|three|four|five|six|seven|eight|nine|ten|twenty|fifty|hundred|a|an|any"
    r"|some|sample|example|few)\b"
)
_ORDER_WORDS = re.compile(_ORDER, re.IGNORECASE)
_LIMIT_WORDS = re.compile(f"{_ORDER}|{_NUMBER}", re.IGNORECASE)
_EACH_ONCE = re.compile(
    r"\b(distinct|unique|different|which|list|who|find|what are)\b", re.IGNORECASE
)
#: "for each state", and what says that the group has further keys.
_ONE_EACH = re.compile(r"\b(?:for each|for every|per|by each) (\w+)", re.IGNORECASE)
_MORE_KEYS = re.compile(r"\s*(?:'s\b|and\b|,?\s*\w+ (?:and|in|within|for) \w+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Subject:
    """A query that returned rows, and what the checks need to judge it."""

    question: str
    query: ast.Query
    result: Result
    bindings: Bindings
    last: ast.Return | None
    run: Callable[[str], Result | None]

    @property
    def text(self) -> str:
        return self.query.text


@dataclass(frozen=True)
class SilentChecks:
    """The checks of one graph. ``only`` keeps some of them, by name; none: all."""

    graph: Graph
    schema: Schema
    only: frozenset[str] = frozenset()
    measure: Reciprocity | None = None
    _checks: dict[str, Callable[[_Subject], Iterable[Suspicion]]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        every: dict[str, Callable[[_Subject], Iterable[Suspicion]]] = {
            "null_first": _null_first,
            "reciprocity": self._reciprocity,
            "fanout": _fanout,
            "ties": _ties,
            "order": _unasked_order,
            "limit": _unasked_limit,
            "join": _never_meet,
            "distinct": _duplicates,
            "null": self._dropped_nulls,
            "hollow": _hollow,
            "null_column": _null_columns,
            "finer_group": _finer_group,
        }
        unknown = sorted(self.only - {*every, *STATIC})
        if unknown:
            known = ", ".join([*STATIC, *every])
            raise UsageError(f"no check {unknown[0]!r}", hint=f"there are {known}")
        kept = {n: check for n, check in every.items() if not self.only or n in self.only}
        object.__setattr__(self, "_checks", kept)

    def check(
        self,
        question: str,
        text: str,
        result: Result,
        *,
        count_probe: Callable[[], None] = lambda: None,
    ) -> list[Suspicion]:
        """What may be wrong with a query that returned these rows; nothing for one without rows.

        ``count_probe`` is called for each further query. Never raises for a query that fails.
        """
        if not result.rows:
            return []
        pair = read_pair(question, text, self.schema)
        if pair is None:
            return []

        def run(other: str) -> Result | None:
            count_probe()
            try:
                return self.graph.run(other, timeout=TIMEOUT)
            except QueryError:
                return None

        last = _last_return(pair.query)
        subject = _Subject(question, pair.query, result, pair.bindings, last, run)
        found = static_suspicions(pair, self.only)
        for check in self._checks.values():
            found.extend(check(subject))
        return found

    def _reciprocity(self, subject: _Subject) -> Iterator[Suspicion]:
        measure = self.measure or Reciprocity(self.graph)
        fixed = RedirectSelfLoops(self.schema, measure).apply(subject.text)
        if fixed.text != subject.text:
            yield Suspicion("direction.undirected", fixed.notes[0], fixed.text, True)

    def _dropped_nulls(self, subject: _Subject) -> Iterator[Suspicion]:
        """``x.p <> v`` and NOT drop nodes without the property: how many are there?"""
        for node in _walk(subject.query, ast.Binary):
            negated = node.op == "<>"
            access = node.left
            if not negated or not isinstance(access, ast.PropertyAccess):
                continue
            entity = _entity(subject.bindings, access)
            labels = sorted(entity.names) if entity is not None and entity.kind == "node" else []
            known = [self.schema.property_of(label, access.key.name) for label in labels]
            lacking = [p for p in known if p is not None and p.optional]
            if lacking:
                share = 1 - min(p.coverage or 0.0 for p in lacking)
                seen = f"{share:.0%} of the nodes" if lacking[0].coverage is not None else "nodes"
                yield Suspicion(
                    "filter.null", f"{seen} without {access.key.name} are left out by <>"
                )


# ---------------------------------------------------------------- checks


def _fanout(subject: _Subject) -> Iterator[Suspicion]:
    """Does a count change under DISTINCT?"""
    calls = [
        node
        for node in _walk(subject.query, ast.FunctionCall)
        if node.lower_name in ("count", "collect") and not node.distinct and node.args
    ]
    if not calls or not subject.bindings.links:
        return
    edits = [edit for call in calls for edit in set_distinct(subject.query, call, True)]
    other = apply_edits(subject.text, edits)
    again = subject.run(other)
    # Without ORDER BY the same rows may come in another order.
    if again is not None and same_rows(again, subject.result) is False:
        before, after = _first_difference(subject.result, again)
        yield Suspicion("aggregation.fanout", f"counted once each, {before} becomes {after}", other)


def _ties(subject: _Subject) -> Iterator[Suspicion]:
    """Does the row after the LIMIT have the same sort key as the last one?"""
    last, count = subject.last, _limit(subject.last)
    if last is None or count is None or last.order_by is None or last.skip is not None:
        return
    wider = _with_keys(subject, count + 1)
    again = subject.run(wider) if wider else None
    if again is None or len(again.rows) <= count:
        return
    keys = len(last.order_by.items)
    inside, outside = again.rows[count - 1][-keys:], again.rows[count][-keys:]
    if inside == outside:
        shown = ", ".join(display(value) for value in inside)
        yield Suspicion("return.order", f"the row after LIMIT {count} ties with it at {shown}")


def _null_first(subject: _Subject) -> Iterator[Suspicion]:
    """In descending order nulls come first: does a LIMIT keep them?"""
    last, count = subject.last, _limit(subject.last)
    if last is None or count is None or last.order_by is None:
        return
    first = last.order_by.items[0]
    if not first.descending:
        return
    wider = _with_keys(subject, count)
    again = subject.run(wider) if wider else None
    keys = len(last.order_by.items)
    if again is None or not again.rows or again.rows[0][-keys] is not None:
        return
    key = subject.text[slice(*first.expression.span)]
    mended = _not_null(subject, first.expression)
    yield Suspicion(
        "filter.null", f"the first row has no {key}: null sorts first", mended, mended is not None
    )


def _unasked_order(subject: _Subject) -> Iterator[Suspicion]:
    last = subject.last
    if last is None or last.order_by is None or last.limit is not None:
        return
    if len(subject.result.rows) > 1 and not _ORDER_WORDS.search(subject.question):
        yield Suspicion("return.unasked", "rows are sorted; the question asks for no order")


def _unasked_limit(subject: _Subject) -> Iterator[Suspicion]:
    """Does a LIMIT that nobody asked for cut rows?"""
    last, count = subject.last, _limit(subject.last)
    if last is None or count is None or _LIMIT_WORDS.search(subject.question):
        return
    other = apply_edits(subject.text, set_limit(subject.query, last, None))
    again = subject.run(other)
    if again is not None and len(again.rows) > len(subject.result.rows):
        more = f"{len(again.rows)}{' or more' if again.truncated else ''}"
        evidence = f"LIMIT {count} keeps {len(subject.result.rows)} of {more} rows"
        yield Suspicion("return.unasked", evidence, other)


def _never_meet(subject: _Subject) -> Iterator[Suspicion]:
    """Are there parts of a MATCH that no relationship and no condition joins?"""
    for match in _walk(subject.query, ast.Match):
        nodes = [
            (element, subject.bindings.of(element))
            for part in match.patterns
            for element in part.elements
            if isinstance(element, ast.NodePattern)
        ]
        entities = list({id(e): e for _, e in nodes if e is not None}.values())
        if len(entities) < 2:
            continue
        joined = _Union(entities)
        for link in subject.bindings.links:
            joined.join([link.left, link.right, link.relationship])
        for expression in _conditions(subject.query):
            joined.join(
                [
                    entity
                    for variable in _variables(expression)
                    if (entity := subject.bindings.of(variable)) is not None
                ]
            )
        if joined.parts(entities) > 1:
            names = ", ".join(e.name or "()" for e in entities)
            rows = len(subject.result.rows)
            yield Suspicion(
                "pattern.join", f"nothing joins {names}: every pair counts, {rows} rows"
            )
            return


def _duplicates(subject: _Subject) -> Iterator[Suspicion]:
    """Do rows repeat, although the question asks what there is?"""
    last = subject.last
    if last is None or last.distinct or any(is_aggregate(i.expression) for i in last.items):
        return
    rows = subject.result.rows
    if not 1 < len(rows) <= ROWS or not _EACH_ONCE.search(subject.question):
        return
    distinct = len({display(list(row), 1_000_000) for row in rows})
    if distinct < len(rows):
        other = apply_edits(subject.text, set_distinct(subject.query, last, True))
        evidence = f"{len(rows)} rows, {distinct} of them different"
        yield Suspicion("aggregation.distinct", evidence, other)


def _hollow(subject: _Subject) -> Iterator[Suspicion]:
    """Is there one row that holds nothing: a count of 0, an aggregate of nothing?"""
    rows, last = subject.result.rows, subject.last
    if len(rows) != 1 or last is None or not any(is_aggregate(i.expression) for i in last.items):
        return
    if all(value in (None, 0, [], ()) and value is not False for value in rows[0]):
        texts = any(True for _ in _walk(subject.query, ast.StringLiteral))
        code = "entity.literal" if texts else "pattern.topology"
        yield Suspicion(code, f"nothing was found to aggregate: {display(list(rows[0]))}")


def _null_columns(subject: _Subject) -> Iterator[Suspicion]:
    """Is a column null in every row?"""
    rows = subject.result.rows
    for place, column in enumerate(subject.result.columns):
        if all(row[place] is None for row in rows):
            yield Suspicion("schema.property", f"{column} is null in all {len(rows)} rows")


def _finer_group(subject: _Subject) -> Iterator[Suspicion]:
    """Is there more than one row for what the question wants one row each of?"""
    last, rows = subject.last, subject.result.rows
    match = _ONE_EACH.search(subject.question)
    if last is None or match is None or len(rows) > ROWS:
        return
    if len(_ONE_EACH.findall(subject.question)) > 1 or _MORE_KEYS.match(
        subject.question, match.end()
    ):
        return
    wanted = set(word_parts(match[1]))
    whole = _grouped_items(subject)
    for place, item in enumerate(last.items[: len(rows[0])]):
        text = subject.text[slice(*item.expression.span)]
        if not wanted & set(word_parts(f"{text} {item.column}")) or not whole:
            continue
        values = {display(row[place], 1_000_000) for row in rows}
        if len(values) < len(rows):
            evidence = f"{len(rows)} rows for {len(values)} of {item.column}"
            yield Suspicion("aggregation.grouping", evidence)
            return


def _grouped_items(subject: _Subject) -> bool:
    """Whether the query makes groups: an aggregate stands beside a key."""
    return any(
        any(marks) and not all(marks)
        for projection in _walk(subject.query, ast.Projection)
        if (marks := [is_aggregate(item.expression) for item in projection.items])
    )


# ---------------------------------------------------------------- helpers


class _Union:
    """Which entities hang together."""

    def __init__(self, entities: Sequence[Entity]) -> None:
        self._root: dict[int, int] = {id(e): id(e) for e in entities}

    def find(self, entity: Entity) -> int:
        key = self._root.setdefault(id(entity), id(entity))
        while self._root[key] != key:
            key = self._root[key]
        return key

    def join(self, entities: Sequence[Entity]) -> None:
        for other in entities[1:]:
            self._root[self.find(other)] = self.find(entities[0])

    def parts(self, entities: Sequence[Entity]) -> int:
        return len({self.find(entity) for entity in entities})


def _walk(query: ast.Query, kind: type[Any]) -> Iterator[Any]:
    return (node for node in query.walk() if isinstance(node, kind))


def _conditions(query: ast.Query) -> Iterator[ast.Expression]:
    for node in query.walk():
        if (
            isinstance(node, ast.Binary)
            and node.op not in ("AND", "OR", "XOR")
            or isinstance(node, ast.Comparison)
        ):
            yield node


def _variables(expression: ast.Node) -> Iterator[ast.Variable]:
    return (node for node in expression.walk() if isinstance(node, ast.Variable))


def _entity(bindings: Bindings, access: ast.PropertyAccess) -> Entity | None:
    subject = access.subject
    return bindings.of(subject) if isinstance(subject, ast.Variable) else None


def _last_return(query: ast.Query) -> ast.Return | None:
    body = query.body
    if isinstance(body, ast.SingleQuery) and body.clauses:
        last = body.clauses[-1]
        return last if isinstance(last, ast.Return) else None
    return None


def _limit(last: ast.Return | None) -> int | None:
    if last is None or last.limit is None or not isinstance(last.limit.count, ast.IntegerLiteral):
        return None
    return last.limit.count.value


def _with_keys(subject: _Subject, limit: int) -> str | None:
    """The query with its sort keys as further columns and another limit, where Cypher allows it."""
    last = subject.last
    if last is None or last.order_by is None or last.star:
        return None
    edits: list[Edit] = list(set_limit(subject.query, last, limit))
    items = {item.alias.name: item.expression for item in last.items if item.alias is not None}
    for number, key in enumerate(last.order_by.items):
        expression: ast.Expression = key.expression
        if isinstance(expression, ast.Variable) and expression.name in items:
            expression = items[expression.name]
        elif last.distinct and all(expression != item.expression for item in last.items):
            return None
        text = subject.text[slice(*expression.span)]
        edits += add_item(subject.query, last, text, f"sort key {number}")
    return apply_edits(subject.text, edits)


def _not_null(subject: _Subject, key: ast.Expression) -> str | None:
    """The query without the entities that lack the sort key, where that is a plain property."""
    last = subject.last
    if isinstance(key, ast.Variable) and last is not None:
        named = {i.alias.name: i.expression for i in last.items if i.alias is not None}
        key = named.get(key.name, key)
    if not isinstance(key, ast.PropertyAccess) or not isinstance(
        subject.query.body, ast.SingleQuery
    ):
        return None
    before = subject.query.body.clauses[-2] if len(subject.query.body.clauses) > 1 else None
    if not isinstance(before, ast.Match) or before.optional:
        return None
    text = subject.text[slice(*key.span)]
    return apply_edits(subject.text, add_condition(subject.query, before, f"{text} IS NOT NULL"))


def _first_difference(a: Result, b: Result) -> tuple[str, str]:
    """The first row that only the one has, and one that only the other has."""
    mine, theirs = ([display(list(row), 1_000) for row in one.rows] for one in (a, b))
    only = [row for row in mine if row not in set(theirs)]
    other = [row for row in theirs if row not in set(mine)]
    if only and other:
        return only[0], other[0]
    return f"{len(a.rows)} rows", f"{len(b.rows)} rows"
