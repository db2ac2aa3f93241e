"""Doubts about a query from question, query and schema alone: no database, no model.

Each check compares what the question says in words with what the query does, and names a code of the
taxonomy. They doubt, they never change. :func:`doubts` counts them, for whoever has to choose between
queries; :mod:`cypherforge.runtime.silent` adds what the database shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.bindings import Bindings, Entity, resolve
from cypherforge.cypher.function_kinds import AGGREGATES
from cypherforge.cypher.schema_check import check_schema
from cypherforge.graph.narrow import word_parts
from cypherforge.graph.schema import Label, RelType, Schema
from cypherforge.graph.value_text import squeeze
from cypherforge.runtime.question import (
    ASKS,
    Question,
    asked_for,
    digits,
    read_question,
    said,
)

_AVERAGED = re.compile(r"\b(averag\w*|mean|typical\w*|ratio|rate|per|on average)\b", re.IGNORECASE)
_COMPARING = ("=", "<>", "<", "<=", ">", ">=", "IN", "CONTAINS", "STARTS WITH", "ENDS WITH", "=~")
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
#: What a comparison may be, whose number is the question's: ``more than 5`` is ``> 5``.
_FITTING = {
    "more": (">",),
    "least": (">=",),
    "less": ("<",),
    "most": ("<=",),
}
#: The same with the number next to it, of whole numbers: ``more than 5`` is ``>= 6``.
_NEXT = {"more": (1, ">="), "least": (-1, ">"), "less": (-1, "<="), "most": (1, "<")}
#: Factors by which a query may state a number in another unit.
_UNITS = (60, 3600, 24, 86400, 7, 12, 365, 100, 1000, 1_000_000)


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A possible fault: the taxonomy's code, what was seen, and the query that would mend it.

    ``settled``: the database decides it, so the runtime takes ``query``; else it is only told.
    """

    code: str
    evidence: str
    query: str | None = None
    settled: bool = False

    def to_json(self) -> dict[str, Any]:
        """The suspicion as a JSON object."""
        return {
            "code": self.code,
            "evidence": self.evidence,
            "query": self.query,
            "settled": self.settled,
        }


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and a query for it, both read."""

    question: Question
    query: ast.Query
    bindings: Bindings
    schema: Schema

    def calls(self) -> frozenset[str]:
        """The functions that the query calls; ``count`` for every way of counting."""
        names = set()
        for node in self.query.walk():
            if isinstance(node, ast.FunctionCall):
                names.add(node.lower_name)
            elif isinstance(node, ast.CountStar) or (
                isinstance(node, ast.SubqueryExpression) and node.kind == "COUNT"
            ):
                names.add("count")
        return frozenset(names)

    def nodes(self, *kinds: type[Any]) -> Iterator[Any]:
        """The nodes of some kinds, in source order."""
        return (node for node in self.query.walk() if isinstance(node, kinds))

    def sorted_by(self) -> Iterator[ast.OrderBy]:
        """Every ORDER BY of the query."""
        return self.nodes(ast.OrderBy)


def read_pair(question: str, text: str, schema: Schema) -> Pair | None:
    """Read a question and a query; None for a query that does not parse."""
    try:
        query = parse(text)
    except CypherSyntaxError:
        return None
    return Pair(read_question(question), query, resolve(query), schema)


def doubts(question: str, query: str, schema: Schema) -> int:
    """How many things speak against a query, from its text alone; 0 for one that does not parse.

    For choosing between queries that all ran: it says nothing of whether a query runs.
    """
    pair = read_pair(question, query, schema)
    return len(static_suspicions(pair)) if pair is not None else 0


def static_suspicions(pair: Pair, only: frozenset[str] = frozenset()) -> list[Suspicion]:
    """What question, query and schema say against a query; ``only`` keeps some checks, by name."""
    return [
        found for name, check in STATIC.items() if not only or name in only for found in check(pair)
    ]


# ---------------------------------------------------------------- names and values


def _schema(pair: Pair) -> Iterator[Suspicion]:
    """Names, ends and literals that do not fit the schema."""
    for finding in check_schema(pair.query, pair.schema):
        yield Suspicion(finding.code, finding.message)


def _unused_name(pair: Pair) -> Iterator[Suspicion]:
    """A name in quotes that the query does not hold."""
    known = {squeeze(name) for name in pair.schema.names()}
    text = squeeze(pair.query.text)
    strings = [squeeze(n.value) for n in pair.nodes(ast.StringLiteral)]
    for item in pair.question.quoted:
        name = squeeze(item.text)
        if name in known or name in text or name.replace(" ", "") in text.replace(" ", ""):
            continue
        if any(s and s in name for s in strings):
            continue
        yield Suspicion("filter.missing", f"the question names '{item.text}', the query does not")


def _unused_number(pair: Pair) -> Iterator[Suspicion]:
    """A number or date of the question that the query does not hold, in any unit."""
    held = _numbers(pair)
    for number in pair.question.numbers:
        if not _near(number, held):
            yield Suspicion("filter.missing", f"the question says {number}, the query does not")
    for date in pair.question.dates:
        if not all(number in held for number in digits(date)):
            yield Suspicion("filter.missing", f"the question says {date}, the query does not")


def _numbers(pair: Pair) -> set[str]:
    """All numbers that a query holds, in literals and in names."""
    return set(digits(pair.query.text))


def _near(number: str, held: set[str]) -> bool:
    if (number.lstrip("0") or "0") in held:
        return True
    value = float(number)
    wanted = {value - 1, value + 1, value / 100}
    wanted |= {value * unit for unit in _UNITS}
    wanted |= {value / unit for unit in _UNITS}
    return any(float(one) in wanted for one in held)


def _own_value(pair: Pair) -> Iterator[Suspicion]:
    """A condition on a value that the question does not say."""
    question = pair.question
    text = squeeze(question.text)
    stems = set(question.words)
    numbers = {n.lstrip("0") or "0" for n in question.numbers} | set(question.implied)
    numbers |= {n for word in question.words for n in digits(word)}
    for value, op, counted in _conditions(pair):
        if isinstance(value, ast.StringLiteral):
            plain = squeeze(value.value)
            parts = set(word_parts(value.value))
            if len(plain) <= 3 or plain in text or parts & stems:
                continue
            if any(_alike(part, stem) for part in parts for stem in stems):
                continue
            yield Suspicion(
                "filter.missing", f"the query asks for '{value.value}', the question does not"
            )
        elif isinstance(value, ast.IntegerLiteral | ast.FloatLiteral):
            number = f"{value.value:g}" if isinstance(value.value, float) else str(value.value)
            if op != "=" and value.value in (0, 1):
                continue
            if value.value == 0 and (question.negated or counted):
                continue
            if counted and value.value in (0, 1, 2):
                continue
            if number in numbers or _near(number, numbers):
                continue
            yield Suspicion("filter.missing", f"the query asks for {number}, the question does not")


def _alike(part: str, stem: str) -> bool:
    """Whether two stems are one word in two forms: ``german`` and ``germani``."""
    size = min(len(part), len(stem))
    return size >= 4 and part[: max(4, size - 2)] == stem[: max(4, size - 2)]


def _conditions(pair: Pair) -> Iterator[tuple[ast.Expression, str, bool]]:
    """Literals that something is compared with, by which operator, and whether that is a count."""
    for node in pair.query.walk():
        if isinstance(node, ast.NodePattern | ast.RelationshipPattern):
            if isinstance(node.properties, ast.MapLiteral):
                for entry in node.properties.entries:
                    yield entry.value, "=", False
        elif isinstance(node, ast.Binary) and node.op in _COMPARING:
            left, right = node.left, node.right
            if isinstance(left, ast.Literal_):
                yield left, _TURNED.get(node.op, node.op), _computed(pair, right)
            elif isinstance(right, ast.ListLiteral):
                for item in right.items:
                    yield item, "=", _computed(pair, left)
            else:
                yield _inner(right), node.op, _computed(pair, left)


def _inner(node: ast.Expression) -> ast.Expression:
    """A literal out of the function that makes a value of it: ``date('2020-01-01')``."""
    while isinstance(node, ast.FunctionCall) and len(node.args) == 1:
        node = node.args[0]
    return node


def _computed(pair: Pair, node: ast.Expression) -> bool:
    """Whether an expression is a count or another computed value, not a stored property."""
    if isinstance(node, ast.Variable):
        entity = pair.bindings.of(node)
        source = entity.source if entity is not None else None
        return source is not None and not isinstance(source, ast.PropertyAccess)
    return not isinstance(_inner(node), ast.PropertyAccess)


# ---------------------------------------------------------------- comparisons


def _operator(pair: Pair) -> Iterator[Suspicion]:
    """``more than 5`` without ``> 5``."""
    for asked in pair.question.compared:
        if asked.relation == "unsure":
            continue
        ops = {op for value, op in _compared_with(pair) if value == float(asked.number)}
        # Where the number is not compared at all, another check says so.
        if not ops or "<>" in ops or "IN" in ops:
            continue
        if ops & set(_FITTING[asked.relation]):
            continue
        step, op = _NEXT[asked.relation]
        if any(v == float(asked.number) + step and o == op for v, o in _compared_with(pair)):
            continue
        code = "filter.operator"
        shown = " and ".join(sorted(ops))
        yield Suspicion(
            code, f"the question says {_SAYS[asked.relation]} {asked.number}, the query has {shown}"
        )


_SAYS = {"more": "more than", "least": "at least", "less": "less than", "most": "at most"}


def _compared_with(pair: Pair) -> Iterator[tuple[float, str]]:
    """The first number of each literal that something is compared with, and the operator."""
    for node in pair.query.walk():
        if isinstance(node, ast.Comparison):
            for left, op, right in zip(node.operands, node.ops, node.operands[1:], strict=False):
                for value, turned in ((_number(right), op), (_number(left), _TURNED.get(op, op))):
                    if value is not None:
                        yield value, turned
    for expression, op, _ in _conditions(pair):
        value = _number(expression)
        if value is not None:
            yield value, op


def _number(node: ast.Expression) -> float | None:
    node = _inner(node)
    if isinstance(node, ast.IntegerLiteral | ast.FloatLiteral):
        return float(node.value)
    if isinstance(node, ast.StringLiteral):
        found = digits(node.value)
        return float(found[0]) if found else None
    return None


def _negation(pair: Pair) -> Iterator[Suspicion]:
    """``not``, ``never``, ``without`` in the question, and nothing of the kind in the query."""
    if not pair.question.negated:
        return
    for node in pair.query.walk():
        if isinstance(node, ast.IsNull | ast.Quantified | ast.Case):
            return
        if isinstance(node, ast.Unary) and node.op == "NOT":
            return
        if isinstance(node, ast.Binary) and node.op in ("<>", "<", "<=", "XOR"):
            return
        if isinstance(node, ast.BooleanLiteral | ast.IntegerLiteral) and not node.value:
            return
        if isinstance(node, ast.SubqueryExpression) or (
            isinstance(node, ast.Match) and node.optional
        ):
            return
    yield Suspicion("filter.null", "the question negates, the query does not")


# ---------------------------------------------------------------- aggregates


def _aggregate(pair: Pair) -> Iterator[Suspicion]:
    """An aggregate that is asked for and not computed, or computed and not asked for."""
    calls, asked = pair.calls(), asked_for(pair.question)
    numeric = calls & (AGGREGATES | {"size", "length", "reduce"})
    if "count" in asked and not numeric and not _reads_number(pair):
        yield Suspicion("aggregation.function", "the question asks how many, nothing is counted")
    divides = any(node.op == "/" for node in pair.nodes(ast.Binary))
    averages = calls & {"avg", "percentilecont", "percentiledisc"}
    if "average" in asked and not averages and not divides and not _stored(pair, "average"):
        yield Suspicion("aggregation.function", "the question asks for an average, none is made")
    if "avg" in calls and not pair.question.has(_AVERAGED):
        yield Suspicion("aggregation.function", "an average is made that nobody asked for")
    if "share" in asked and not divides and not _stored(pair, "share"):
        yield Suspicion("aggregation.function", "the question asks for a share, nothing is divided")


def _reads_number(pair: Pair) -> bool:
    """Whether a projection holds a stored number: the graph may hold the count itself."""
    for projection in pair.nodes(ast.With, ast.Return):
        for node in projection.walk():
            entity = (
                pair.bindings.of(node.subject) if isinstance(node, ast.PropertyAccess) else None
            )
            if entity is None:
                continue
            look = (
                pair.schema.type_property_of
                if entity.kind == "relationship"
                else pair.schema.property_of
            )
            for name in entity.names or pair.schema.labels:
                item = look(name, node.key.name)
                if item is not None and {"INTEGER", "FLOAT"} & set(item.types):
                    return True
    return False


def _stored(pair: Pair, asked: str) -> bool:
    """Whether a property that the query reads has a word in its name by which something is asked."""
    pattern = ASKS[asked]
    return any(
        pattern.search(" ".join(word_parts(node.key.name))) or pattern.search(node.key.name)
        for node in pair.nodes(ast.PropertyAccess)
    )


def _superlative(pair: Pair) -> Iterator[Suspicion]:
    """``highest`` without an order or an extreme, or with the order turned round."""
    asked = asked_for(pair.question)
    most = "most" in asked
    if most == ("least" in asked):
        return
    calls = pair.calls()
    orders = list(pair.sorted_by())
    if not orders:
        if not calls & {"max", "min", "reduce", "head", "last"} and not _subquery(pair):
            yield Suspicion("return.order", "the question asks for an extreme, nothing is sorted")
        return
    wanted = "max" if most else "min"
    if calls & {"max", "min"}:
        return
    falling = [order.items[0].descending for order in orders]
    if all(down != most for down in falling) and any(True for _ in pair.nodes(ast.Limit)):
        word = "most" if most else "least"
        turned = "descending" if falling[0] else "ascending"
        yield Suspicion(
            "return.order", f"the question asks for the {word} ({wanted}), sorted {turned}"
        )


def _subquery(pair: Pair) -> bool:
    return any(True for _ in pair.nodes(ast.SubqueryExpression, ast.Quantified))


def _ungrouped(pair: Pair) -> Iterator[Suspicion]:
    """``for each X`` and one aggregate over everything."""
    if "each" not in asked_for(pair.question):
        return
    grouped = aggregated = False
    for projection in pair.nodes(ast.With, ast.Return):
        has = [_aggregates(item.expression) for item in projection.items]
        aggregated = aggregated or any(has)
        grouped = grouped or (any(has) and not all(has)) or projection.star
    if aggregated and not grouped and not _subquery(pair):
        yield Suspicion("aggregation.grouping", "the question asks for each, nothing is grouped")


def _undistinct(pair: Pair) -> Iterator[Suspicion]:
    """``distinct`` in the question, and over a join neither DISTINCT nor a group."""
    if "distinct" not in asked_for(pair.question) or not pair.bindings.links:
        return
    for node in pair.query.walk():
        if isinstance(node, ast.With | ast.Return) and (
            node.distinct or any(_aggregates(i.expression) for i in node.items[1:])
        ):
            return
        if isinstance(node, ast.FunctionCall) and node.distinct:
            return
    yield Suspicion("aggregation.distinct", "the question says distinct, the query does not")


def _aggregates(expression: ast.Expression) -> bool:
    return any(
        isinstance(node, ast.CountStar)
        or (isinstance(node, ast.FunctionCall) and node.lower_name in AGGREGATES)
        for node in expression.walk()
    )


# ---------------------------------------------------------------- what the question names


def _unread_property(pair: Pair) -> Iterator[Suspicion]:
    """A property that the question names whole, and the query reads nowhere."""
    question, schema = pair.question, pair.schema
    owners: list[Label | RelType] = [*schema.labels.values(), *schema.types.values()]
    names = {item.name for owner in owners for item in owner.properties}
    labels = {tuple(word_parts(name)) for name in (*schema.labels, *schema.types)}
    words = _named_in(pair)
    for name in sorted(names):
        parts = word_parts(name)
        # One word may mean anything; the word of a label means the node.
        if len(parts) < 2 or tuple(parts) in labels or not said(question.words, name):
            continue
        if not set(parts) <= words:
            yield Suspicion("return.columns", f"the question names {name}, the query does not")


def _unwalked(pair: Pair) -> Iterator[Suspicion]:
    """A label or a relationship type that the question names, and the query has not."""
    question, schema = pair.question, pair.schema
    used = _named_in(pair)
    quoted = {part for item in question.quoted for part in word_parts(item.text)}
    reached = {label for entity in pair.bindings.nodes for label in _possible(pair, entity)}
    for name in schema.labels:
        parts = word_parts(name)
        if name in reached or set(parts) <= used or set(parts) & quoted:
            continue
        if said(question.words, name):
            yield Suspicion("pattern.missing_hop", f"the question names {name}, the query does not")


def _named_in(pair: Pair) -> set[str]:
    """The stems of all names and texts of a query, without those that it gives itself."""
    texts: list[str] = []
    for node in pair.query.walk():
        if isinstance(node, ast.Name | ast.LabelName):
            texts.append(node.name)
        elif isinstance(node, ast.StringLiteral):
            texts.append(node.value)
        elif isinstance(node, ast.FunctionCall):
            texts.append(node.name)
    return {part for text in texts for part in word_parts(text)}


def _misnamed(pair: Pair) -> Iterator[Suspicion]:
    """``t.name AS teamName`` where t is no Team, though the schema has one."""
    labels = {tuple(word_parts(label)): label for label in pair.schema.labels}
    for projection in pair.nodes(ast.Return):
        for item in projection.items:
            access = item.expression
            if item.alias is None or not isinstance(access, ast.PropertyAccess):
                continue
            entity = pair.bindings.of(access.subject)
            key = word_parts(access.key.name)
            said_by = word_parts(item.alias.name)
            label = labels.get(tuple(said_by[: len(said_by) - len(key)]))
            if entity is None or entity.kind != "node" or label is None or not entity.names:
                continue
            if pair.schema.property_of(label, access.key.name) is None:
                continue
            if said_by[len(said_by) - len(key) :] == key and label not in entity.names:
                shown = " or ".join(sorted(entity.names))
                yield Suspicion(
                    "return.item", f"{item.alias.name} is read from a {shown}, not from a {label}"
                )


def _possible(pair: Pair, entity: Entity) -> frozenset[str]:
    """The labels of a node; of one without, those that its relationships lead to."""
    if entity.names:
        return entity.names
    found: set[str] = set()
    for link in pair.bindings.links:
        if entity in (link.left, link.right):
            for kind in link.relationship.names or pair.schema.types:
                found.update(*pair.schema.labels_of(kind))
    return frozenset(found)


def _unasked_hop(pair: Pair) -> Iterator[Suspicion]:
    """A node at the end of a path that the question does not name and nothing uses."""
    links = pair.bindings.links
    words = set(pair.question.words)
    if any(True for _ in pair.nodes(ast.CountStar)):
        return
    for entity in pair.bindings.nodes:
        touching = [link for link in links if entity in (link.left, link.right)]
        if len(touching) != 1 or not entity.names or _used(entity):
            continue
        if _used(touching[0].relationship):
            continue
        names = [*entity.names, *touching[0].relationship.names]
        if any(set(word_parts(name)) & words for name in names):
            continue
        label = min(entity.names)
        yield Suspicion("pattern.extra_hop", f"a step to {label}, which the question does not name")


def _used(entity: Entity) -> bool:
    """Whether anything but its one pattern speaks of a node or a relationship."""
    held = [
        node for node in entity.nodes if isinstance(node, ast.NodePattern | ast.RelationshipPattern)
    ]
    if len(held) != 1 or held[0].properties is not None or held[0].where is not None:
        return True
    return len(entity.uses) > 1


STATIC: dict[str, Callable[[Pair], Iterator[Suspicion]]] = {
    "schema": _schema,
    "unused_name": _unused_name,
    "unused_number": _unused_number,
    "own_value": _own_value,
    "operator": _operator,
    "negation": _negation,
    "aggregate": _aggregate,
    "superlative": _superlative,
    "ungrouped": _ungrouped,
    "undistinct": _undistinct,
    "unread_property": _unread_property,
    "unwalked": _unwalked,
    "unasked_hop": _unasked_hop,
    "misnamed": _misnamed,
}
