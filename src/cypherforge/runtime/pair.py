"""A question and a query for it, both read: what the checks of the runtime look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.bindings import Bindings, resolve
from cypherforge.graph.schema import Schema
from cypherforge.runtime.question import Question, read_question

_COMPARING = ("=", "<>", "<", "<=", ">", ">=", "IN", "CONTAINS", "STARTS WITH", "ENDS WITH", "=~")
#: A comparison read from its other side.
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


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


def conditions(pair: Pair) -> Iterator[tuple[ast.Expression, str, bool]]:
    """Literals that something is compared with, by which operator, and whether that is a count."""
    for node in pair.query.walk():
        if isinstance(node, ast.NodePattern | ast.RelationshipPattern):
            if isinstance(node.properties, ast.MapLiteral):
                for entry in node.properties.entries:
                    yield entry.value, "=", False
        elif isinstance(node, ast.Binary) and node.op in _COMPARING:
            left, right = node.left, node.right
            if isinstance(left, ast.Literal_):
                yield left, TURNED.get(node.op, node.op), _computed(pair, right)
            elif isinstance(right, ast.ListLiteral):
                for item in right.items:
                    yield item, "=", _computed(pair, left)
            else:
                yield inner(right), node.op, _computed(pair, left)


def inner(node: ast.Expression) -> ast.Expression:
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
    return not isinstance(inner(node), ast.PropertyAccess)
