"""What expressions may be: types, functions, and where aggregates and patterns may stand.

Types are the sets of ``analysis_types``; a scope maps the variables that can be seen to them. An
expression is at fault only where no value could fit, as in Neo4j: properties and parameters fit
wherever a stored value does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from cypherforge.cypher import analysis_types as t
from cypherforge.cypher import ast
from cypherforge.cypher.analysis_functions import (
    AGGREGATES,
    NAMESPACES,
    REPLACED,
    Signature,
    functions,
)
from cypherforge.cypher.analysis_types import ANY, ANY_LIST, BOOLEAN, ENTITY, name_of
from cypherforge.cypher.ast import Binary, FunctionCall, PropertyAccess, Span, Variable
from cypherforge.cypher.function_kinds import WORD_ARGUMENTS

Scope = dict[str, int]
Category = Literal["parse", "reference", "type", "constraint", "dialect"]

_LOGICAL = frozenset(("AND", "OR", "XOR"))
_COMPARING = frozenset(("=", "<>", "<", "<=", ">", ">=", "STARTS WITH", "ENDS WITH", "CONTAINS"))
_MAX_INTEGER = 2**63
_PERCENTILES = ("percentilecont", "percentiledisc")
_RANDOM = frozenset(("rand", "randomuuid"))


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a query that parses.

    ``code`` has a family before its dot: ``scope type aggregation projection clause pattern
    function literal dialect schema direction filter``. ``span`` counts in code points.
    ``suggestion`` says what to write instead, where that is clear; ``expected`` lists the names of
    the schema that would have fitted.
    """

    severity: Literal["error", "warning", "info"]
    category: Category
    code: str
    message: str
    span: Span
    suggestion: str | None = None
    expected: tuple[str, ...] = ()


class ExpressionAnalysis(ABC):
    """The part of the analysis that looks at expressions."""

    __slots__ = ("aggregates", "findings", "functions", "may_aggregate", "text", "version")

    def __init__(self, text: str, version: int) -> None:
        self.text = text
        self.version = version
        self.functions = functions(version)
        self.findings: list[Finding] = []
        self.aggregates = 0
        self.may_aggregate = False

    @abstractmethod
    def subquery(self, node: ast.SubqueryExpression, scope: Scope) -> int:
        """Look at a subquery in an expression; its type."""

    @abstractmethod
    def pattern_predicate(self, part: ast.PatternPart, scope: Scope) -> None:
        """Look at a pattern in an expression, which declares nothing."""

    @abstractmethod
    def pattern_comprehension(self, node: ast.PatternComprehension, scope: Scope) -> int:
        """Look at a pattern comprehension; its type."""

    @abstractmethod
    def labels(self, node: ast.LabelExpression, scope: Scope, is_word: bool = False) -> None:
        """Look at a label expression."""

    # ---------------------------------------------------------------- findings

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        suggestion: str | None = None,
        category: Category | None = None,
    ) -> None:
        """Add an error."""
        if category is None:
            category = _CATEGORIES.get(code.partition(".")[0], "constraint")
        self.findings.append(Finding("error", category, code, message, span, suggestion))

    def newer(self, what: str, span: Span) -> None:
        """Report what Cypher 5 does not have."""
        self.report(
            "dialect.version", f"{what} is Cypher 25, not 5", span, "prefix the query: CYPHER 25"
        )

    def undefined(self, node: Variable) -> int:
        """Report a variable that is not in scope."""
        self.report("scope.undefined", f"variable `{node.name}` is not defined", node.span)
        return ANY

    def mismatch(self, node: ast.Node, found: int, *expected: int) -> None:
        """Report a type that cannot fit."""
        mask = 0
        for kind in expected:
            mask |= kind
        message = f"type mismatch: expected {name_of(mask)} but was {name_of(found)}"
        self.report("type.mismatch", message, node.span)

    def expect(self, node: ast.Expression, scope: Scope, expected: int) -> int:
        """The type of an expression, which must be one of ``expected``."""
        found = self.type_of(node, scope)
        if not found & expected:
            self.mismatch(node, found, expected)
        return found

    # ---------------------------------------------------------------- types

    def type_of(self, node: ast.Expression, scope: Scope) -> int:
        """Look at an expression; its type."""
        kind = type(node)
        if kind is PropertyAccess:
            subject = node.subject  # type: ignore[attr-defined]
            if type(subject) is Variable:
                found = scope.get(subject.name)
                if found is None:
                    return self.undefined(subject)
            else:
                found = self.type_of(subject, scope)
            if not found & ~ENTITY:
                return t.STORED
            if not found & t.WITH_PROPERTIES:
                self.mismatch(subject, found, t.WITH_PROPERTIES)
            return ANY
        if kind is Variable:
            found = scope.get(node.name)  # type: ignore[attr-defined]
            return self.undefined(node) if found is None else found  # type: ignore[arg-type]
        known = _CONSTANTS.get(kind)
        if known is not None:
            return known
        return _READERS[kind](self, node, scope)

    def boolean(self, node: ast.Expression, scope: Scope) -> int:
        """Look at a condition: here, a pattern stands for its existence."""
        if type(node) is ast.PatternExpression and node.pattern.function is None:
            self.pattern_predicate(node.pattern, scope)
            return BOOLEAN
        found = self.type_of(node, scope)
        if not found & BOOLEAN:
            # Where it need not be a list, Neo4j would turn one into a condition.
            if found & ANY_LIST and found & ~ANY_LIST:
                return BOOLEAN
            if found & ANY_LIST:
                self.report(
                    "type.mismatch",
                    "a list is no condition",
                    node.span,
                    f"NOT isEmpty({self.source(node)})",
                )
            else:
                self.mismatch(node, found, BOOLEAN)
        return BOOLEAN

    def source(self, node: ast.Node) -> str:
        """The text of a node."""
        return self.text[node.span[0] : node.span[1]]

    # ---------------------------------------------------------------- literals

    def _integer(self, node: ast.IntegerLiteral, scope: Scope) -> int:
        if node.value >= _MAX_INTEGER:
            self.report("literal.range", "the integer is too large", node.span)
        return t.INTEGER

    def _float(self, node: ast.FloatLiteral, scope: Scope) -> int:
        if node.value in (float("inf"), float("-inf")) and self.source(node)[0] not in "iI":
            self.report("literal.range", "the floating point number is too large", node.span)
        return t.FLOAT

    def _parameter(self, node: ast.Parameter, scope: Scope) -> int:
        if node.old_style:
            self.report(
                "dialect.parameter",
                f"the parameter syntax {{{node.name}}} is gone",
                node.span,
                f"${node.name}",
                "dialect",
            )
        return ANY

    def _list(self, node: ast.ListLiteral, scope: Scope) -> int:
        element = 0
        for item in node.items:
            element = t.common(element, self.type_of(item, scope))
        return t.list_of(element) if element else ANY_LIST

    def _map(self, node: ast.MapLiteral, scope: Scope) -> int:
        for entry in node.entries:
            self.type_of(entry.value, scope)
        return t.MAP

    # ---------------------------------------------------------------- operators

    def _interpolated(self, node: ast.InterpolatedString, scope: Scope) -> int:
        if self.version < 25:
            self.newer("an interpolated string", node.span)
        for part in node.parts:
            self.type_of(part, scope)
        return t.STRING

    def _binary(self, node: Binary, scope: Scope) -> int:
        # Down the left side in a loop: a chain of thousands of ANDs is as deep as it is long.
        chain: list[Binary] = []
        left: ast.Expression = node
        while type(left) is Binary:
            chain.append(left)
            left = left.left
        logical = chain[-1].op in _LOGICAL
        found = self.boolean(left, scope) if logical else self.type_of(left, scope)
        while chain:
            node = chain.pop()
            op = node.op
            if op in _LOGICAL:
                if not found & (BOOLEAN | ANY_LIST):
                    self.mismatch(node.left, found, BOOLEAN)
                self.boolean(node.right, scope)
                found = BOOLEAN
            elif op in _COMPARING:
                self.type_of(node.right, scope)
                if type(node.right) is ast.NullLiteral:
                    self._null_comparison(node)
                found = BOOLEAN
            else:
                right = self.type_of(node.right, scope)
                found = _OPERATORS[op](self, node, found, right)
        return found

    def _null_comparison(self, node: Binary) -> None:
        """``n.x = null``: no error, but null whatever ``n.x`` is."""
        test = {"=": "IS NULL", "<>": "IS NOT NULL"}.get(node.op)
        self.findings.append(
            Finding(
                "warning",
                "type",
                "literal.null",
                f"{self.source(node)} is null, whatever {self.source(node.left)} is",
                node.span,
                f"{self.source(node.left)} {test}" if test else None,
            )
        )

    def _in(self, node: Binary, left: int, right: int) -> int:
        if not right & ANY_LIST:
            self.mismatch(node.right, right, ANY_LIST)
        return BOOLEAN

    def _regex(self, node: Binary, left: int, right: int) -> int:
        for side, found in ((node.left, left), (node.right, right)):
            if not found & t.STRING:
                self.mismatch(side, found, t.STRING)
        return BOOLEAN

    def _unknown_operator(self, node: Binary, left: int, right: int) -> int:
        place = self.text.find("!=", node.left.span[1])
        self.report(
            "dialect.operator", "there is no operator `!=`", (place, place + 2), "<>", "dialect"
        )
        return BOOLEAN

    def _add(self, node: Binary, left: int, right: int) -> int:
        result = 0
        for mine, other in _SUMS:
            if left & mine and right & other:
                result |= _sum_of(mine, left, right)
        if result:
            return result
        allowed = 0
        for mine, other in _SUMS:
            if left & mine:
                allowed |= other
        if allowed:
            self.mismatch(node.right, right, allowed)
        else:
            self.mismatch(node.left, left, *(mine for mine, _ in _SUMS))
        return ANY

    def _arithmetic(self, node: Binary, left: int, right: int) -> int:
        result = allowed = possible = 0
        for mine, other, given in _ARITHMETIC[node.op]:
            possible |= mine
            if left & mine:
                allowed |= other
                if right & other:
                    result |= given or left | right
        if result:
            return result & (t.NUMBER | t.TEMPORAL | t.DURATION)
        if allowed:
            self.mismatch(node.right, right, allowed)
        else:
            self.mismatch(node.left, left, possible)
        return ANY

    def _concat(self, node: Binary, left: int, right: int) -> int:
        for side, found in ((node.left, left), (node.right, right)):
            if not found & (t.STRING | ANY_LIST):
                self.mismatch(side, found, t.STRING, ANY_LIST)
                return ANY
        if not (left & right & t.STRING or (left & ANY_LIST and right & ANY_LIST)):
            self.mismatch(node.right, right, t.STRING if left & t.STRING else ANY_LIST)
        return (left | right) & (t.STRING | ANY_LIST)

    def _comparison(self, node: ast.Comparison, scope: Scope) -> int:
        for operand in node.operands:
            self.type_of(operand, scope)
        for op in node.ops:
            if op == "!=":
                self.report("dialect.operator", "there is no operator `!=`", node.span, "<>")
        return BOOLEAN

    def _unary(self, node: ast.Unary, scope: Scope) -> int:
        operand = node.operand
        if node.op == "NOT":
            return self.boolean(operand, scope)
        if type(operand) is ast.IntegerLiteral:
            if operand.value > _MAX_INTEGER or (node.op == "+" and operand.value == _MAX_INTEGER):
                self.report("literal.range", "the integer is too large", node.span)
            return t.INTEGER
        wanted = t.NUMBER if node.op == "-" else t.NUMBER | t.TEMPORAL | t.DURATION
        return self.expect(operand, scope, wanted) & wanted or t.NUMBER

    def _is_null(self, node: ast.IsNull, scope: Scope) -> int:
        self.type_of(node.operand, scope)
        return BOOLEAN

    def _label_test(self, node: ast.LabelTest, scope: Scope) -> int:
        self.expect(node.subject, scope, ENTITY)
        self.labels(
            node.labels, scope, self.source(node)[node.subject.span[1] - node.span[0]] != ":"
        )
        return BOOLEAN

    def _index(self, node: ast.Index, scope: Scope) -> int:
        subject = self.type_of(node.subject, scope)
        index = self.type_of(node.index, scope)
        if not subject & (ANY_LIST | t.MAP | ENTITY | t.TEMPORAL | t.DURATION):
            self.mismatch(node.subject, subject, ANY_LIST, t.MAP, ENTITY)
        elif not subject & (t.MAP | ENTITY) and subject & ANY_LIST:
            if not index & t.INTEGER:
                self.mismatch(node.index, index, t.INTEGER)
            return t.element_of(subject)
        elif not subject & ANY_LIST and not index & t.STRING:
            self.mismatch(node.index, index, t.STRING)
        return ANY

    def _slice(self, node: ast.Slice, scope: Scope) -> int:
        found = self.expect(node.subject, scope, ANY_LIST)
        for bound in (node.lower, node.upper):
            if bound is not None:
                self.expect(bound, scope, t.INTEGER)
        return found & ANY_LIST or ANY_LIST

    # ---------------------------------------------------------------- forms

    def _case(self, node: ast.Case, scope: Scope) -> int:
        subject = node.subject
        if subject is not None:
            self.type_of(subject, scope)
        result = 0
        for branch in node.branches:
            for condition in branch.conditions:
                if subject is None:
                    self.boolean(condition, scope)
                else:
                    self.type_of(condition, scope)
            result |= self.type_of(branch.result, scope)
        if node.default is not None:
            result |= self.type_of(node.default, scope)
        return result

    def _with(self, scope: Scope, names: Scope, look: Callable[[Scope], int]) -> int:
        """Look at the inside of a comprehension, where ``names`` are variables and nothing may
        aggregate.
        """
        before = self.may_aggregate
        self.may_aggregate = False
        try:
            return look({**scope, **names})
        finally:
            self.may_aggregate = before

    def _list_comprehension(self, node: ast.ListComprehension, scope: Scope) -> int:
        source = self.expect(node.source, scope, ANY_LIST)
        element = t.element_of(source & ANY_LIST or ANY_LIST)

        def look(inner: Scope) -> int:
            if node.where is not None:
                self.boolean(node.where, inner)
            if node.projection is None:
                return t.list_of(element)
            return t.list_of(self.type_of(node.projection, inner))

        return self._with(scope, {node.variable.name: element}, look)

    def _quantified(self, node: ast.Quantified, scope: Scope) -> int:
        source = self.expect(node.source, scope, ANY_LIST)
        element = t.element_of(source & ANY_LIST or ANY_LIST)
        where = node.where
        if where is None:
            name = node.quantifier
            self.report("function.arity", f"{name}(...) requires a WHERE predicate", node.span)
            return BOOLEAN
        condition = where
        names = {node.variable.name: element}
        return self._with(scope, names, lambda inner: self.boolean(condition, inner))

    def _reduce(self, node: ast.Reduce, scope: Scope) -> int:
        initial = self.type_of(node.initial, scope)
        source = self.expect(node.source, scope, ANY_LIST)
        if node.variable.name == node.accumulator.name:
            self._declared(node.variable)
        names = {
            node.accumulator.name: ANY,
            node.variable.name: t.element_of(source & ANY_LIST or ANY_LIST),
        }

        def look(inner: Scope) -> int:
            step = self.type_of(node.expression, inner)
            if node.predicate is not None:
                self.boolean(node.predicate, inner)
                return BOOLEAN
            return step | initial

        return self._with(scope, names, look)

    def _declared(self, node: Variable) -> None:
        self.report("scope.declared", f"variable `{node.name}` is already declared", node.span)

    def _map_projection(self, node: ast.MapProjection, scope: Scope) -> int:
        self.expect(node.subject, scope, t.MAP | ENTITY)
        for item in node.items:
            if item.value is not None:
                self.type_of(item.value, scope)
        return t.MAP

    def _trim(self, node: ast.Trim, scope: Scope) -> int:
        if node.characters is not None:
            self.expect(node.characters, scope, t.STRING)
        self.expect(node.source, scope, t.STRING)
        return t.STRING

    def _normalized(self, node: ast.IsNormalized, scope: Scope) -> int:
        self.type_of(node.operand, scope)
        return BOOLEAN

    def _typed(self, node: ast.IsTyped, scope: Scope) -> int:
        self.type_of(node.operand, scope)
        return BOOLEAN

    def _pattern(self, node: ast.PatternExpression, scope: Scope) -> int:
        self.pattern_predicate(node.pattern, scope)
        if node.pattern.function is not None:
            single = node.pattern.function == "shortestpath"
            return t.PATH if single else t.list_of(t.PATH)
        source = self.source(node)
        self.report(
            "pattern.place",
            "a pattern stands for its existence, and only where a condition stands",
            node.span,
            f"COUNT {{ {source} }} or EXISTS {{ {source} }}",
        )
        return t.list_of(t.PATH)

    # ---------------------------------------------------------------- calls

    def _count_star(self, node: ast.CountStar, scope: Scope) -> int:
        self._aggregate("count", node)
        return t.INTEGER

    def _aggregate(self, name: str, node: ast.Node) -> None:
        self.aggregates += 1
        if not self.may_aggregate:
            self.report(
                "aggregation.place",
                f"the aggregate {name}(...) cannot stand here",
                node.span,
                "aggregate in a WITH before, and use its column here",
            )

    def _call(self, node: FunctionCall, scope: Scope) -> int:
        name = node.name.lower()
        signature = self.functions.get(name)
        if signature is None:
            return self._unknown_function(node, name, scope)
        if name in AGGREGATES:
            return self._aggregate_call(node, name, signature, scope)
        if node.distinct:
            self.report("function.distinct", f"{node.name} takes no DISTINCT", node.span)
        if name == "exists":
            return self._exists(node, scope)
        return self._apply(node, name, signature, scope)

    def _aggregate_call(
        self, node: FunctionCall, name: str, signature: Signature, scope: Scope
    ) -> int:
        self._aggregate(node.name, node)
        before, outer = self.aggregates, self.may_aggregate
        self.may_aggregate = True  # what is nested is reported once, below
        result = self._apply(node, name, signature, scope)
        self.may_aggregate = outer
        if self.aggregates > before:
            self.report("aggregation.nested", "an aggregate cannot hold an aggregate", node.span)
        for argument in node.args:
            for inner in argument.walk() if not _is_plain(argument) else ():
                if type(inner) is FunctionCall and inner.name.lower() in _RANDOM:
                    self.report("aggregation.random", "an aggregate cannot hold rand()", inner.span)
        return result

    def _apply(self, node: FunctionCall, name: str, signature: Signature, scope: Scope) -> int:
        args = node.args
        wanted = signature.args
        types: list[int] = []
        for i, argument in enumerate(args):
            if i < len(wanted):
                if i == WORD_ARGUMENTS.get(name):
                    types.append(wanted[i])
                    self._word_argument(name, argument)
                    continue
                if name == "size" and type(argument) is ast.PatternExpression:
                    self._size_of_pattern(node, argument, scope)
                    return t.INTEGER
                types.append(self.expect(argument, scope, wanted[i]))
            else:
                types.append(self.type_of(argument, scope))
        if len(args) < len(wanted) - signature.optional:
            self._arity(node, "too few", signature)
        elif len(args) > len(wanted) and not signature.variadic:
            self._arity(node, "too many", signature)
        elif name in _RESULTS:
            return _RESULTS[name](types)
        elif name == "point" and type(args[0]) is ast.MapLiteral:
            self._point(args[0])
        elif name in _PERCENTILES:
            self._percentile(args[1])
        return signature.result

    def _word_argument(self, name: str, argument: ast.Expression) -> None:
        """Look at an argument that is a word, such as the type in ``vector(xs, 3, FLOAT32)``."""
        allowed = _WORDS.get(name)
        if type(argument) is Variable:
            word = argument.name.upper().removeprefix("SIGNED ").removesuffix(" NOT NULL")
            if allowed is None or word in allowed:
                return
        wanted = f"one of {', '.join(allowed)}" if allowed else "a property name"
        self.report(
            "type.word",
            f"{name}() takes no {self.source(argument)} here, but a word",
            argument.span,
            wanted,
        )

    def _arity(self, node: FunctionCall, problem: str, signature: Signature) -> None:
        least = len(signature.args) - signature.optional
        most = "or more" if signature.variadic else f"to {len(signature.args)}"
        wanted = str(least) if least == len(signature.args) else f"{least} {most}"
        self.report(
            "function.arity",
            f"{problem} arguments for {node.name}: it takes {wanted}, here are {len(node.args)}",
            node.span,
        )

    def _size_of_pattern(
        self, node: FunctionCall, pattern: ast.PatternExpression, scope: Scope
    ) -> None:
        self.pattern_predicate(pattern.pattern, scope)
        self.report(
            "pattern.place",
            "size() cannot count a pattern",
            node.span,
            f"COUNT {{ {self.source(pattern)} }}",
        )

    def _exists(self, node: FunctionCall, scope: Scope) -> int:
        if len(node.args) != 1:
            self._arity(node, "wrong number of", self.functions["exists"])
            return BOOLEAN
        argument = node.args[0]
        if type(argument) is ast.PatternExpression:
            return self.boolean(argument, scope)
        self.type_of(argument, scope)
        property_like = isinstance(argument, (PropertyAccess, ast.Index))
        self.report(
            "dialect.exists",
            "exists() takes a pattern only",
            node.span,
            f"{self.source(argument)} IS NOT NULL" if property_like else None,
            "dialect",
        )
        return BOOLEAN

    def _point(self, node: ast.MapLiteral) -> None:
        keys = {entry.key.name.lower() for entry in node.entries}
        if not ({"x", "y"} <= keys or {"latitude", "longitude"} <= keys):
            shown = ", ".join(entry.key.name for entry in node.entries)
            self.report(
                "type.point",
                f"a map with the keys {shown} is no point",
                node.span,
                "point({x: 1, y: 2}) or point({latitude: 1, longitude: 2})",
            )

    def _percentile(self, node: ast.Expression) -> None:
        if isinstance(node, ast.NullLiteral) or (
            isinstance(node, (ast.IntegerLiteral, ast.FloatLiteral)) and not 0 <= node.value <= 1
        ):
            self.report(
                "literal.range",
                f"the percentile is a number from 0.0 to 1.0, not {self.source(node)}",
                node.span,
            )

    def _unknown_function(self, node: FunctionCall, name: str, scope: Scope) -> int:
        for argument in node.args:
            self.type_of(argument, scope)
        space, dot, _ = name.partition(".")
        # A dotted name may be a plug-in's; only the database knows.
        if not dot or space in NAMESPACES:
            hint = REPLACED.get(name)
            self.report(
                "function.unknown",
                f"unknown function {node.name}",
                node.name_span,
                f"use {hint}" if hint else None,
                "reference",
            )
        return ANY


def _is_plain(node: ast.Expression) -> bool:
    kind = type(node)
    return kind is Variable or (kind is PropertyAccess and type(node.subject) is Variable)  # type: ignore[attr-defined]


def _first(types: list[int]) -> int:
    return types[0] if types else ANY


def _numeric(types: list[int]) -> int:
    return types[0] & (t.NUMBER | t.DURATION) or t.NUMBER


def _any_of(types: list[int]) -> int:
    result = 0
    for kind in types:
        result |= kind
    return result


_WORDS = {
    "normalize": ("NFC", "NFD", "NFKC", "NFKD"),
    "vector": tuple(
        """FLOAT FLOAT64 FLOAT32 INTEGER INTEGER64 INTEGER32 INTEGER16 INTEGER8 INT INT64 INT32
        INT16 INT8""".split()
    ),
    "vector_distance": ("EUCLIDEAN", "EUCLIDEAN_SQUARED", "MANHATTAN", "COSINE", "DOT", "HAMMING"),
    "vector_norm": ("EUCLIDEAN", "MANHATTAN"),
}

_RESULTS: dict[str, Callable[[list[int]], int]] = {
    "coalesce": _any_of,
    "nullif": _first,
    "max": _first,
    "min": _first,
    "sum": _numeric,
    "avg": _numeric,
    "abs": lambda types: types[0] & t.NUMBER or t.NUMBER,
    "collect": lambda types: t.list_of(types[0]),
    "head": lambda types: t.element_of(types[0] & ANY_LIST or ANY_LIST),
    "last": lambda types: t.element_of(types[0] & ANY_LIST or ANY_LIST),
    "tail": lambda types: types[0] & ANY_LIST or ANY_LIST,
    "reverse": lambda types: types[0] & (t.STRING | ANY_LIST) or t.STRING | ANY_LIST,
}
"""Results that depend on the arguments."""

_SUMS = (
    (t.NUMBER, t.NUMBER),
    (t.STRING, t.STRING | t.NUMBER),
    (t.NUMBER, t.STRING),
    (t.TEMPORAL, t.DURATION),
    (t.DURATION, t.TEMPORAL | t.DURATION),
    (ANY_LIST, ANY),
    (ANY & ~ANY_LIST, ANY_LIST),
)
"""What ``+`` adds: types of the left and of the right side."""


def _sum_of(mine: int, left: int, right: int) -> int:
    both = left | right
    if mine is ANY_LIST or mine == ANY & ~ANY_LIST:
        return ANY_LIST
    return both & (t.NUMBER | t.STRING | t.TEMPORAL | t.DURATION)


_ARITHMETIC: dict[str, tuple[tuple[int, int, int], ...]] = {
    "-": (
        (t.NUMBER, t.NUMBER, 0),
        (t.DURATION, t.DURATION, t.DURATION),
        (t.TEMPORAL, t.DURATION, t.TEMPORAL),
    ),
    "*": (
        (t.NUMBER, t.NUMBER, 0),
        (t.DURATION, t.NUMBER, t.DURATION),
        (t.NUMBER, t.DURATION, t.DURATION),
    ),
    "/": ((t.NUMBER, t.NUMBER, 0), (t.DURATION, t.NUMBER, t.DURATION)),
    "%": ((t.NUMBER, t.NUMBER, 0),),
    "^": ((t.NUMBER, t.NUMBER, t.FLOAT),),
}
"""Left side, right side, and result (0: as the sides are)."""

_OPERATORS: dict[str, Callable[[ExpressionAnalysis, Binary, int, int], int]] = {
    "IN": ExpressionAnalysis._in,
    "=~": ExpressionAnalysis._regex,
    "!=": ExpressionAnalysis._unknown_operator,
    "+": ExpressionAnalysis._add,
    "||": ExpressionAnalysis._concat,
    **dict.fromkeys(_ARITHMETIC, ExpressionAnalysis._arithmetic),
}

_CONSTANTS: dict[type, int] = {
    ast.StringLiteral: t.STRING,
    ast.StringPart: t.STRING,
    ast.BooleanLiteral: BOOLEAN,
    ast.NullLiteral: ANY,
    ast.CaseSubject: ANY,
}

_READERS: dict[type, Callable[[Any, Any, Scope], int]] = {
    ast.IntegerLiteral: ExpressionAnalysis._integer,
    ast.FloatLiteral: ExpressionAnalysis._float,
    ast.Parameter: ExpressionAnalysis._parameter,
    ast.InterpolatedString: ExpressionAnalysis._interpolated,
    ast.ListLiteral: ExpressionAnalysis._list,
    ast.MapLiteral: ExpressionAnalysis._map,
    ast.Binary: ExpressionAnalysis._binary,
    ast.Comparison: ExpressionAnalysis._comparison,
    ast.Unary: ExpressionAnalysis._unary,
    ast.IsNull: ExpressionAnalysis._is_null,
    ast.IsTyped: ExpressionAnalysis._typed,
    ast.IsNormalized: ExpressionAnalysis._normalized,
    ast.LabelTest: ExpressionAnalysis._label_test,
    ast.Index: ExpressionAnalysis._index,
    ast.Slice: ExpressionAnalysis._slice,
    ast.Case: ExpressionAnalysis._case,
    ast.ListComprehension: ExpressionAnalysis._list_comprehension,
    ast.Quantified: ExpressionAnalysis._quantified,
    ast.Reduce: ExpressionAnalysis._reduce,
    ast.MapProjection: ExpressionAnalysis._map_projection,
    ast.Trim: ExpressionAnalysis._trim,
    ast.PatternExpression: ExpressionAnalysis._pattern,
    ast.CountStar: ExpressionAnalysis._count_star,
    ast.FunctionCall: ExpressionAnalysis._call,
    ast.SubqueryExpression: lambda self, node, scope: self.subquery(node, scope),
    ast.PatternComprehension: lambda self, node, scope: self.pattern_comprehension(node, scope),
}

_CATEGORIES: dict[str, Category] = {
    "scope": "reference",
    "type": "type",
    "function": "reference",
    "literal": "type",
    "dialect": "dialect",
}
