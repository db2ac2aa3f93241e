"""Which value types an expression may have, as far as the query and the loaded graph tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Bindings

Kinds = frozenset[str] | None
"""Names as ``introspect.value_type`` gives them, lists as ``LIST``; None: anything."""

TEMPORAL: Final = frozenset(
    {"DATE", "DATE_TIME", "LOCAL_DATE_TIME", "TIME", "LOCAL_TIME", "DURATION"}
)
NUMBER: Final = frozenset({"INTEGER", "FLOAT"})
NULL: Final[frozenset[str]] = frozenset()
"""The type of what is always null: no type at all."""

_CONSTRUCTORS = {
    "date": "DATE",
    "datetime": "DATE_TIME",
    "localdatetime": "LOCAL_DATE_TIME",
    "time": "TIME",
    "localtime": "LOCAL_TIME",
    "duration": "DURATION",
}
_RESULTS = {
    "STRING": "tostring tolower toupper lower upper trim ltrim rtrim btrim substring left right "
    "replace type elementid randomuuid valuetype normalize tostringornull",
    "INTEGER": "tointeger size length count id timestamp char_length character_length sign "
    "tointegerornull",
    "FLOAT": "tofloat sqrt exp log log10 rand pi e round ceil floor stdev stdevp percentilecont "
    "sin cos tan cot asin acos atan atan2 degrees radians haversin point.distance tofloatornull",
    "BOOLEAN": "toboolean exists isempty isnan point.withinbbox tobooleanornull",
    "LIST": "collect keys labels nodes relationships range split tail tostringlist tointegerlist "
    "tofloatlist tobooleanlist",
    "MAP": "properties",
    "POINT": "point",
}
_RESULT_OF = {name: kind for kind, names in _RESULTS.items() for name in names.split()}
_ELEMENT_OF = {
    "range": "INTEGER",
    "keys": "STRING",
    "labels": "STRING",
    "split": "STRING",
    "nodes": "NODE",
    "relationships": "RELATIONSHIP",
}
_SAME_AS_ARGUMENTS = frozenset({"min", "max", "coalesce", "nullif", "abs"})
_COMPARISONS = frozenset(
    ["=", "<>", "<", "<=", ">", ">=", "=~", "IN", "CONTAINS", "STARTS WITH", "ENDS WITH"]
    + ["AND", "OR", "XOR", "NOT"]
)


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What is known of the loaded graph; equal to itself only, so that it can be a key.

    Names are sorted; ``kinds`` holds the value types of each property key; ``geographic``: there are
    points on the globe; ``renamed``: what a type that shares its name with a label is called inside.
    """

    labels: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    kinds: Mapping[str, frozenset[str]] = field(default_factory=dict)
    geographic: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)


class Kinder:
    """Answers for one query; ``of`` never fails and never guesses."""

    def __init__(self, facts: Facts, bindings: Bindings) -> None:
        self._facts = facts
        self._bindings = bindings

    def of(self, node: ast.Expression, depth: int = 0) -> Kinds:
        """All types that the expression may have when it is not null; None where nothing tells."""
        if depth > 20:
            return None
        match node:
            case ast.IntegerLiteral():
                return frozenset({"INTEGER"})
            case ast.FloatLiteral():
                return frozenset({"FLOAT"})
            case ast.StringLiteral():
                return frozenset({"STRING"})
            case ast.BooleanLiteral() | ast.Comparison() | ast.IsNull() | ast.Quantified():
                return frozenset({"BOOLEAN"})
            case ast.NullLiteral():
                return NULL
            case ast.ListLiteral() | ast.ListComprehension() | ast.Slice():
                return frozenset({"LIST"})
            case ast.PatternComprehension():
                return frozenset({"LIST"})
            case ast.MapLiteral() | ast.MapProjection():
                return frozenset({"MAP"})
            case ast.CountStar():
                return frozenset({"INTEGER"})
            case ast.Variable():
                return self._variable(node, depth)
            case ast.PropertyAccess():
                return self._property(node, depth)
            case ast.FunctionCall():
                return self._call(node, depth)
            case ast.Index() if self.of(node.subject, depth + 1) == frozenset({"LIST"}):
                return self._element(node.subject, depth)
            case ast.Unary():
                return (
                    frozenset({"BOOLEAN"}) if node.op == "NOT" else self.of(node.operand, depth + 1)
                )
            case ast.Binary():
                return self._binary(node, depth)
            case ast.Case():
                parts = [branch.result for branch in node.branches]
                return self._union([*parts, *([node.default] if node.default else [])], depth)
        return None

    def may_be(self, node: ast.Expression, wanted: frozenset[str]) -> bool:
        """Whether the expression may have one of these types."""
        kinds = self.of(node)
        return kinds is None or bool(kinds & wanted)

    def is_only(self, node: ast.Expression, wanted: frozenset[str]) -> bool:
        """Whether the expression has one of these types, or is null."""
        kinds = self.of(node)
        return kinds is not None and bool(kinds) and kinds <= wanted

    def _union(self, nodes: list[ast.Expression], depth: int) -> Kinds:
        found: frozenset[str] = NULL
        for node in nodes:
            kinds = self.of(node, depth + 1)
            if kinds is None:
                return None
            found |= kinds
        return found

    def _variable(self, node: ast.Variable, depth: int) -> Kinds:
        entity = self._bindings.of(node)
        if entity is None:
            return None
        if entity.kind != "value":
            return frozenset({entity.kind.upper()})
        if entity.source is None:
            return None
        if not entity.element:
            return self.of(entity.source, depth + 1)
        return self._element(entity.source, depth)

    def _element(self, source: ast.Expression, depth: int) -> Kinds:
        """Types of the elements of a list."""
        if depth > 20:
            return None
        if isinstance(source, ast.ListLiteral):
            return self._union(source.items, depth)
        if isinstance(source, ast.Variable):
            entity = self._bindings.of(source)
            if entity is not None and entity.source is not None and not entity.element:
                return self._element(entity.source, depth + 1)
        if isinstance(source, ast.FunctionCall):
            if source.lower_name == "collect":
                return self.of(source.args[0], depth + 1)
            kind = _ELEMENT_OF.get(source.lower_name)
            return frozenset({kind}) if kind else None
        return None

    def _property(self, node: ast.PropertyAccess, depth: int) -> Kinds:
        subject = self.of(node.subject, depth + 1)
        if subject is None or "MAP" in subject:
            return None
        if subject <= {"NODE", "RELATIONSHIP"}:
            return self._facts.kinds.get(node.key.name, NULL)
        if subject <= TEMPORAL:
            text = node.key.name.lower() in ("timezone", "offset")
            return frozenset({"STRING" if text else "INTEGER"})
        return None

    def _call(self, node: ast.FunctionCall, depth: int) -> Kinds:
        name = node.lower_name
        head = name.partition(".")[0]
        if head in _CONSTRUCTORS:
            return frozenset({_CONSTRUCTORS[head]})
        if name in ("head", "last") and node.args:
            return self._element(node.args[0], depth)
        if name in _RESULT_OF:
            return frozenset({_RESULT_OF[name]})
        if name in _SAME_AS_ARGUMENTS:
            return self._union(node.args, depth)
        if name in ("sum", "avg") and len(node.args) == 1:
            kinds = self.of(node.args[0], depth + 1)
            return NUMBER if kinds is not None and kinds <= NUMBER else kinds
        return None

    def _binary(self, node: ast.Binary, depth: int) -> Kinds:
        if node.op in _COMPARISONS:
            return frozenset({"BOOLEAN"})
        left, right = self.of(node.left, depth + 1), self.of(node.right, depth + 1)
        if left is None or right is None:
            return None
        if left <= NUMBER and right <= NUMBER:
            return NUMBER
        if node.op in "+-" and left <= TEMPORAL and right <= {"DURATION"}:
            return left
        if node.op in "+-" and left <= {"DURATION"} and right <= TEMPORAL:
            return right
        if left | right <= NUMBER | {"DURATION"}:
            return frozenset({"DURATION"})
        if node.op in ("+", "||") and left | right <= NUMBER | {"STRING"}:
            return frozenset({"STRING"})
        return None
