"""Writing expressions and patterns, with parentheses where the tree needs them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from math import isinf, isnan
from typing import Any

from cypherforge.cypher import ast
from cypherforge.cypher.function_kinds import WORD_ARGUMENTS
from cypherforge.cypher.names import quote_name, quote_string
from cypherforge.cypher.pieces import Piece, join
from cypherforge.cypher.tokens import KEYWORDS

#: Keywords that are common names of columns and safe as such.
_COMMON_NAMES = frozenset(["COUNT", "COLLECT", "START", "FILTER", "NEXT", "SHOW", "STOP", "CSV"])
_QUOTED_VARIABLES = KEYWORDS - _COMMON_NAMES

_BINARY_LEVEL = {
    "OR": 1,
    "XOR": 2,
    "AND": 3,
    **dict.fromkeys(("=", "<>", "!=", "<", "<=", ">", ">="), 5),
    **dict.fromkeys(("=~", "IN", "CONTAINS", "STARTS WITH", "ENDS WITH"), 6),
    **dict.fromkeys(("+", "-", "||"), 7),
    **dict.fromkeys(("*", "/", "%"), 8),
    "^": 9,
}
_POSTFIX, _ATOM = 11, 12
_FUNCTIONS = {"shortestpath": "shortestPath", "allshortestpaths": "allShortestPaths"}


def level(node: ast.Node) -> int:
    """How tightly an expression binds, from OR (1) to atoms (12)."""
    if isinstance(node, ast.Binary):
        return _BINARY_LEVEL[node.op]
    if isinstance(node, ast.Unary):
        return 4 if node.op == "NOT" else 10
    if isinstance(node, ast.Comparison):
        return 5
    if isinstance(node, ast.IsNull | ast.IsTyped | ast.IsNormalized):
        return 6
    if isinstance(node, ast.LabelTest):
        return 6 if node.negated else _POSTFIX
    if isinstance(node, ast.IntegerLiteral | ast.FloatLiteral | ast.PatternExpression):
        # No property can be read off them without parentheses.
        return _POSTFIX - 1
    return _ATOM


class ExpressionWriter(ABC):
    """Expressions and patterns to pieces."""

    @abstractmethod
    def write(self, node: ast.Node) -> Piece:
        """Any node."""

    def maybe(self, before: str, node: ast.Node | None) -> Piece:
        """``before`` and the node, or nothing."""
        return "" if node is None else [before, self.write(node)]

    def all(self, nodes: Iterable[ast.Node], between: str = ", ") -> Piece:
        """Several nodes."""
        return join([self.write(n) for n in nodes], between)

    # ------------------------------------------------------------ names and literals

    def variable(self, node: ast.Variable) -> Piece:
        """A variable where it is used."""
        if node.name.upper() in _QUOTED_VARIABLES:
            return f"`{node.name}`"
        return quote_name(node.name)

    def binding(self, node: ast.Variable) -> Piece:
        """A variable where it is bound."""
        return self.variable(node)

    def element(self, node: ast.Variable) -> Piece:
        """A variable in a pattern: bound there, or bound before and met again."""
        return self.variable(node)

    def literal(self, text: str) -> Piece:
        """A string or number."""
        return text

    def _name(self, node: ast.Name) -> Piece:
        return quote_name(node.name)

    def _parameter(self, node: ast.Parameter) -> Piece:
        name = node.name if node.name.isdecimal() else quote_name(node.name)
        return f"{{{name}}}" if node.old_style else f"${name}"

    def _integer(self, node: ast.IntegerLiteral) -> Piece:
        return self.literal(str(node.value))

    def _float(self, node: ast.FloatLiteral) -> Piece:
        value = node.value
        if isnan(value):
            return "NaN"
        return "Infinity" if isinf(value) else self.literal(repr(value))

    def _string(self, node: ast.StringLiteral) -> Piece:
        return self.literal(quote_string(node.value))

    def _string_part(self, node: ast.StringPart) -> Piece:
        body = quote_string(node.value)[1:-1]
        return self.literal(body.replace("{", "\\{").replace("}", "\\}"))

    def _interpolated(self, node: ast.InterpolatedString) -> Piece:
        parts = [
            self.write(p) if type(p) is ast.StringPart else ["{", self.write(p), "}"]
            for p in node.parts
        ]
        return ["s'", *parts, "'"]

    def _list(self, node: ast.ListLiteral) -> Piece:
        items = [self.write(i) for i in node.items]
        if node.items and level(node.items[0]) < _POSTFIX - 1:
            # [x IN xs] would be a list comprehension.
            items[0] = ["(", items[0], ")"]
        return ["[", *join(items), "]"]

    def _map(self, node: ast.MapLiteral) -> Piece:
        entries: list[Piece] = [
            [self.write(e.key), ": ", self.write(e.value)] for e in node.entries
        ]
        return ["{", *join(entries), "}"]

    # ------------------------------------------------------------ expressions

    def operand(self, node: ast.Expression, floor: int) -> Piece:
        """An expression, in parentheses where it binds less tightly than ``floor``."""
        piece = self.write(node)
        return piece if level(node) >= floor else ["(", piece, ")"]

    def _binary(self, node: ast.Binary) -> Piece:
        own = _BINARY_LEVEL[node.op]
        # The left side may be of the same level; comparisons and predicates do not chain.
        pieces: list[Piece] = []
        left: ast.Expression = node.left
        chain = [(node.op, node.right)]
        while own not in (5, 6) and isinstance(left, ast.Binary) and level(left) == own:
            chain.append((left.op, left.right))
            left = left.left
        pieces.append(self.operand(left, own + 1))
        for op, right in reversed(chain):
            pieces += (f" {op} ", self.operand(right, own + 1))
        return pieces

    def _comparison(self, node: ast.Comparison) -> Piece:
        pieces: list[Piece] = [self.operand(node.operands[0], 6)]
        for op, operand in zip(node.ops, node.operands[1:], strict=True):
            pieces += (f" {op} ", self.operand(operand, 6))
        return pieces

    def _unary(self, node: ast.Unary) -> Piece:
        ops = [node.op]
        operand = node.operand
        while isinstance(operand, ast.Unary) and (operand.op == "NOT") == (node.op == "NOT"):
            ops.append(operand.op)
            operand = operand.operand
        if node.op == "NOT":
            return ["NOT " * len(ops), self.operand(operand, 5)]
        tight = isinstance(operand, ast.IntegerLiteral | ast.FloatLiteral)
        return ["".join(ops), self.write(operand) if tight else self.operand(operand, _POSTFIX)]

    def _is_null(self, node: ast.IsNull) -> Piece:
        return [self.operand(node.operand, 7), " IS NOT NULL" if node.negated else " IS NULL"]

    def _is_typed(self, node: ast.IsTyped) -> Piece:
        negation = "NOT " if node.negated else ""
        return [self.operand(node.operand, 7), f" IS {negation}:: {node.type_name}"]

    def _is_normalized(self, node: ast.IsNormalized) -> Piece:
        negation = "NOT " if node.negated else ""
        form = "" if node.form == "NFC" else f"{node.form} "
        return [self.operand(node.operand, 7), f" IS {negation}{form}NORMALIZED"]

    def _label_test(self, node: ast.LabelTest) -> Piece:
        labels = self.labels(node.labels)
        if node.negated:
            return [self.operand(node.subject, 7), " IS NOT LABELED ", labels]
        return [self.operand(node.subject, _POSTFIX), ":", labels]

    def _property(self, node: ast.PropertyAccess) -> Piece:
        return [self.operand(node.subject, _POSTFIX), ".", self.write(node.key)]

    def _index(self, node: ast.Index) -> Piece:
        return [self.operand(node.subject, _POSTFIX), "[", self.write(node.index), "]"]

    def _slice(self, node: ast.Slice) -> Piece:
        lower = self.maybe("", node.lower)
        return [
            self.operand(node.subject, _POSTFIX),
            "[",
            lower,
            "..",
            self.maybe("", node.upper),
            "]",
        ]

    def _call(self, node: ast.FunctionCall) -> Piece:
        name = self.function_name(node.name)
        args = [self.write(a) for a in node.args]
        word = WORD_ARGUMENTS.get(node.lower_name, len(args))
        if word < len(args):
            args[word] = getattr(node.args[word], "name", args[word])
        return [name, "(", "DISTINCT " if node.distinct else "", *join(args), ")"]

    def function_name(self, name: str) -> str:
        """A dotted name; as a function it may be a keyword, which needs no back-ticks."""
        return ".".join(
            part if part.upper() in KEYWORDS else quote_name(part) for part in name.split(".")
        )

    def _trim(self, node: ast.Trim) -> Piece:
        side = f"{node.side} " if node.side else ""
        characters = self.maybe("", node.characters)
        return [
            "trim(",
            side,
            characters,
            " " if characters else "",
            "FROM ",
            self.write(node.source),
            ")",
        ]

    def _case(self, node: ast.Case) -> Piece:
        pieces: list[Piece] = ["CASE", self.maybe(" ", node.subject)]
        for branch in node.branches:
            conditions = join([self.write(c) for c in branch.conditions])
            pieces += (" WHEN ", conditions, " THEN ", self.write(branch.result))
        return [*pieces, self.maybe(" ELSE ", node.default), " END"]

    def _list_comprehension(self, node: ast.ListComprehension) -> Piece:
        source = self.write(node.source)
        pieces: list[Piece] = ["[", self.binding(node.variable), " IN ", source]
        if node.where is not None:
            pieces += (" WHERE ", self.guarded(node.where))
        return [*pieces, self.maybe(" | ", node.projection), "]"]

    def guarded(self, node: ast.Expression) -> Piece:
        """A condition before a bar, which must not be taken for the bar of labels."""
        return ["(", self.write(node), ")"] if _has_label_bar(node) else self.write(node)

    def _pattern_comprehension(self, node: ast.PatternComprehension) -> Piece:
        pieces: list[Piece] = ["[", self.write(node.pattern)]
        if node.where is not None:
            pieces += (" WHERE ", self.guarded(node.where))
        return [*pieces, " | ", self.write(node.projection), "]"]

    def _reduce(self, node: ast.Reduce) -> Piece:
        initial, source = self.write(node.initial), self.write(node.source)
        return [
            f"{node.function}(",
            self.binding(node.accumulator),
            " = ",
            initial,
            ", ",
            self.binding(node.variable),
            " IN ",
            source,
            " | ",
            self.write(node.expression),
            self.maybe(", ", node.predicate),
            ")",
        ]

    def _quantified(self, node: ast.Quantified) -> Piece:
        source = self.write(node.source)
        variable = self.binding(node.variable)
        return [
            f"{node.quantifier}(",
            variable,
            " IN ",
            source,
            self.maybe(" WHERE ", node.where),
            ")",
        ]

    def _map_projection(self, node: ast.MapProjection) -> Piece:
        return [self.write(node.subject), " {", *join(self.map_items(node)), "}"]

    def map_items(self, node: ast.MapProjection) -> list[Piece]:
        """The items of a map projection."""
        items: list[Piece] = []
        for item in node.items:
            if item.kind == "all":
                items.append(".*")
            elif item.kind == "property" and item.key is not None:
                items.append([".", self.write(item.key)])
            elif item.key is not None and item.value is not None:
                items.append([self.write(item.key), ": ", self.write(item.value)])
            elif item.value is not None:
                items.append(self.write(item.value))
            elif item.key is not None:
                items.append(self.write(item.key))
        return items

    def _pattern(self, node: ast.PatternExpression) -> Piece:
        return self.write(node.pattern)

    def _subquery_expression(self, node: ast.SubqueryExpression) -> Piece:
        return [f"{node.kind} {{ ", self.inner_body(node.body, short=node.kind != "COLLECT"), " }"]

    def inner_body(self, body: ast.Body, short: bool) -> Piece:
        """The body of a subquery, without MATCH and RETURN where it can be."""
        if short and isinstance(body, ast.SingleQuery) and len(body.clauses) == 1:
            match = body.clauses[0]
            if (
                isinstance(match, ast.Match)
                and not (match.optional or match.hints or match.mode or match.search)
                and isinstance(match.patterns[0].elements[0], ast.NodePattern)
            ):
                return [self.patterns(match), self.maybe(" ", match.where)]
        return self.write(body)

    def patterns(self, node: ast.Match | ast.Create) -> Piece:
        """The comma parts of a clause."""
        return self.all(node.patterns)

    # ------------------------------------------------------------ labels and patterns

    def labels(self, node: ast.LabelExpression, floor: int = 1) -> Piece:
        """A label expression, after its colon."""
        if isinstance(node, ast.LabelName):
            return quote_name(node.name)
        if isinstance(node, ast.LabelWildcard):
            return "%"
        if isinstance(node, ast.LabelDynamic):
            return [f"${node.quantifier}(", self.write(node.expression), ")"]
        if isinstance(node, ast.LabelNot):
            return ["!", self.labels(node.operand, 3)]
        assert isinstance(node, ast.LabelBoolean)
        own = 1 if node.op == "|" else 2
        inner = join([self.labels(o, own + 1) for o in node.operands], node.op)
        return inner if own >= floor else ["(", *inner, ")"]

    def _node(self, node: ast.NodePattern) -> Piece:
        inside: list[Piece] = []
        if node.variable is not None:
            inside.append(self.element(node.variable))
        if node.labels is not None:
            inside += (":", self.labels(node.labels))
        if node.properties is not None:
            inside += (" " if inside else "", self.write(node.properties))
        if node.where is not None:
            inside += (" " if inside else "", "WHERE ", self.write(node.where))
        return ["(", *inside, ")"]

    def _relationship(self, node: ast.RelationshipPattern) -> Piece:
        inside: list[Piece] = []
        quantifier = node.quantifier
        if node.variable is not None:
            inside.append(self.element(node.variable))
        if node.types is not None:
            inside += (":", self.labels(node.types))
        if quantifier is not None and not quantifier.gql:
            inside.append(self.write(quantifier))
        if node.properties is not None:
            inside += (" " if inside else "", self.write(node.properties))
        if node.where is not None:
            inside += (" " if inside else "", "WHERE ", self.write(node.where))
        return [
            "<-" if node.direction == "left" else "-",
            ["[", *inside, "]"] if inside else "",
            "->" if node.direction == "right" else "-",
            self.write(quantifier) if quantifier is not None and quantifier.gql else "",
        ]

    def _quantifier(self, node: ast.Quantifier) -> Piece:
        lower = "" if node.lower is None else str(node.lower)
        upper = "" if node.upper is None else str(node.upper)
        if node.gql:
            if not upper and lower in ("0", "1"):
                return "*" if lower == "0" else "+"
            return f"{{{lower}}}" if lower == upper and lower else f"{{{lower},{upper}}}"
        if lower == upper:
            return f"*{lower}"
        return f"*{lower}..{upper}"

    def _parenthesized(self, node: ast.ParenthesizedPath) -> Piece:
        return [
            "(",
            self.write(node.pattern),
            self.maybe(" WHERE ", node.where),
            ")",
            self.maybe("", node.quantifier),
        ]

    def _part(self, node: ast.PatternPart) -> Piece:
        path: Piece = [self.write(e) for e in node.elements]
        if node.function:
            path = [_FUNCTIONS[node.function], "(", path, ")"]
        elif node.selector:
            path = [node.selector, " ", path]
        return path if node.variable is None else [self.element(node.variable), " = ", path]

    def fixed(self, node: Any) -> Piece:
        """``true``, ``false`` or ``null``."""
        return {True: "true", False: "false", None: "null"}[node.value]


def _has_label_bar(node: ast.Node) -> bool:
    return any(
        isinstance(n, ast.LabelBoolean) and n.op == "|" or isinstance(n, ast.LabelTest)
        for n in node.walk()
    )
