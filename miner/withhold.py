"""Which sample rows may be kept: ``--exclude LABEL.property`` and ``--no-values`` hold in mining too.

A row says nothing of where its values come from, so the query is asked, and where that does not
settle it the rows are withheld.
"""

from collections.abc import Iterable
from typing import Any

from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.graph.base import Result
from cypherforge.graph.policy import ALL_VALUES, ValuePolicy
from cypherforge.graph.schema import Label, RelType, Schema
from cypherforge.graph.values import NodeValue, PathValue, RelationshipValue


def may_show(query: str, result: Result, schema: Schema, policy: ValuePolicy) -> bool:
    """Return whether rows of a query can be kept without any value that the policy holds back.

    They can if the query names no excluded property (of any owner: which one a variable has is not
    always to be seen), computes no property name, calls nothing that could read one, and returns
    neither entities nor maps.
    """
    if policy == ALL_VALUES:
        return True
    if policy.no_values:
        return False
    try:
        body = parse(query)
    except CypherSyntaxError:
        return False
    held = _held(schema, policy)
    for node in body.walk():
        if isinstance(node, ast.Name) and node.name in held:
            return False
        if isinstance(node, ast.Index) and not isinstance(node.index, ast.IntegerLiteral):
            return False
        if isinstance(node, ast.CallProcedure):
            return False
        if isinstance(node, ast.FunctionCall) and "." in node.name:
            return False
    return not _has_entities(value for row in result.rows for value in row)


def _held(schema: Schema, policy: ValuePolicy) -> set[str]:
    names: set[str] = set()
    owners: list[Label | RelType] = [*schema.labels.values(), *schema.types.values()]
    for owner, name in policy.excluded:
        if name != "*":
            names.add(name)
            continue
        for item in owners:
            if owner in ("*", item.name):
                names.update(p.name for p in item.properties)
    return names


def _has_entities(values: Iterable[Any]) -> bool:
    for value in values:
        if isinstance(value, (NodeValue, RelationshipValue, PathValue, dict)):
            return True
        if isinstance(value, (list, tuple)) and _has_entities(value):
            return True
    return False
