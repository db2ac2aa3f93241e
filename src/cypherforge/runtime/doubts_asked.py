"""Doubts about comparisons and aggregates: what the question asks to be done, and the query does.

Part of :mod:`cypherforge.runtime.doubts`; each check yields what it suspects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from cypherforge.cypher import ast
from cypherforge.cypher.answer_kinds import is_aggregate
from cypherforge.cypher.function_kinds import AGGREGATES
from cypherforge.graph.narrow import word_parts
from cypherforge.runtime.pair import TURNED, Pair, Suspicion, conditions, inner
from cypherforge.runtime.question import ASKS, asked_for, digits

_AVERAGED = re.compile(r"\b(averag\w*|mean|typical\w*|ratio|rate|per|on average)\b", re.IGNORECASE)
#: What a comparison may be, whose number is the question's: ``more than 5`` is ``> 5``.
_FITTING = {
    "more": (">",),
    "least": (">=",),
    "less": ("<",),
    "most": ("<=",),
}
#: The same with the number next to it, of whole numbers: ``more than 5`` is ``>= 6``.
_NEXT = {"more": (1, ">="), "least": (-1, ">"), "less": (-1, "<="), "most": (1, "<")}

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
                for value, turned in ((_number(right), op), (_number(left), TURNED.get(op, op))):
                    if value is not None:
                        yield value, turned
    for expression, op, _ in conditions(pair):
        value = _number(expression)
        if value is not None:
            yield value, op


def _number(node: ast.Expression) -> float | None:
    node = inner(node)
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
        has = [is_aggregate(item.expression) for item in projection.items]
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
            node.distinct or any(is_aggregate(i.expression) for i in node.items[1:])
        ):
            return
        if isinstance(node, ast.FunctionCall) and node.distinct:
            return
    yield Suspicion("aggregation.distinct", "the question says distinct, the query does not")


ASKED: dict[str, Callable[[Pair], Iterator[Suspicion]]] = {
    "operator": _operator,
    "negation": _negation,
    "aggregate": _aggregate,
    "superlative": _superlative,
    "ungrouped": _ungrouped,
    "undistinct": _undistinct,
}
