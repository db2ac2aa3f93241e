"""Patterns: nodes, relationships, paths and label expressions."""

from __future__ import annotations

from typing import Literal

from cypherforge.cypher import ast
from cypherforge.cypher.ast import LabelName, NodePattern, RelationshipPattern, Variable
from cypherforge.cypher.parser_expressions import ExpressionParser
from cypherforge.cypher.tokens import NAMES

_NO_VARIABLE = frozenset((")", ":", "{", "WHERE", "IS", "$", "]", "*"))
"""What may follow the variable of a node or relationship."""


_PATH_MODES = frozenset(("WALK", "TRAIL", "ACYCLIC"))


class PatternParser(ExpressionParser):
    """The part of the parser that reads patterns."""

    __slots__ = ()

    def pattern_list(self) -> list[ast.PatternPart]:
        """Paths, separated by commas."""
        parts = [self.pattern_part()]
        while self.kinds[self.i] == ",":
            self.i += 1
            parts.append(self.pattern_part())
        return parts

    def pattern_part(self) -> ast.PatternPart:
        """One path, with its variable, selector or function."""
        kinds = self.kinds
        first = i = self.i
        variable = function = selector = None
        kind = kinds[i]
        if kind in NAMES:
            if kinds[i + 1] == "=":
                variable = Variable((self.starts[i], self.ends[i]), self.values[i])
                self.i = i = i + 2
                kind = kinds[i]
            if kind == "SHORTESTPATH" or kind == "ALLSHORTESTPATHS":
                function = kind.lower()
                self.i = i + 1
                self.take("(")
                elements = self._path()
                if kinds[self.i] != ")":
                    self.refuse(self.i, ")", "a relationship")
                self.i += 1
                return ast.PatternPart(self.span(first), elements, variable, function)
            if kind in NAMES:
                selector = self._selector()
        elements = self._path()
        return ast.PatternPart(
            (self.starts[first], self.ends[self.i - 1]), elements, variable, function, selector
        )

    def _selector(self) -> str:
        """``ANY 2 PATHS``, ``SHORTEST 1 PATH GROUPS`` ...: words and numbers up to the path."""
        kinds = self.kinds
        first = self.i
        words = [self._word(first)]
        self.i += 1
        if words[0] in ("ANY", "ALL") and self.at_word("SHORTEST"):
            words.append("SHORTEST")
            self.i += 1
        elif words[0] in ("ANY", "SHORTEST"):
            if kinds[self.i] == "int":
                words.append(self.values[self.i])
                self.i += 1
            elif kinds[self.i] == "$":
                self.operand()
                words.append(self.text[self.starts[self.i - 2] : self.ends[self.i - 1]])
        elif words[0] != "ALL" and words[0] not in _PATH_MODES:
            self.refuse(first, "a pattern")
        counted = self.i - first > 1
        if words[0] not in _PATH_MODES and kinds[self.i] in NAMES:
            mode = self._word(self.i)
            if mode in _PATH_MODES:
                words.append(mode)
                self.i += 1
        for word in ("PATH", "PATHS"):
            if self.at_word(word):
                words.append(word)
                self.i += 1
                break
        if words[0] == "SHORTEST":
            for word in ("GROUP", "GROUPS"):
                if self.at_word(word):
                    words.append(word)
                    self.i += 1
                    break
            else:
                if not counted:
                    self.refuse(self.i, "GROUP", "GROUPS", "a number after SHORTEST")
        return " ".join(words)

    def _path(self) -> list[ast.PathElement]:
        """Nodes and relationships in turn; parenthesized paths stand where a node may start."""
        kinds = self.kinds
        elements: list[ast.PathElement] = []
        after_arrow = False
        while True:
            i = self.i
            if kinds[i] != "(":
                self.refuse(i, "a node: (" if elements else "a pattern: (")
            after = kinds[i + 1]
            if not after_arrow and (
                after == "(" or (after in NAMES and kinds[i + 2] == "=" and kinds[i + 3] == "(")
            ):
                elements.append(self._parenthesized())
                if kinds[self.i] != "(":
                    return elements
                continue
            elements.append(self._node())
            kind = kinds[self.i]
            after_arrow = kind == "-" or kind == "<"
            if after_arrow:
                elements.append(self._relationship())
            elif kind != "(":
                return elements

    def _parenthesized(self) -> ast.ParenthesizedPath:
        """``((a)-->(b) WHERE p){1,3}``."""
        kinds = self.kinds
        first = self.i
        self.i += 1
        pattern = self.pattern_part()
        where = None
        if kinds[self.i] == "WHERE":
            self.i += 1
            where = self.expression()
        if kinds[self.i] != ")":
            self.refuse(self.i, ")")
        self.i += 1
        quantifier = self._quantifier() if kinds[self.i] in ("+", "*", "{") else None
        return ast.ParenthesizedPath(self.span(first), pattern, where, quantifier)

    def _quantifier(self) -> ast.Quantifier:
        """``+``, ``*``, ``{2}``, ``{1,3}``, ``{,3}``, ``{1,}`` after a relationship or a path."""
        kinds = self.kinds
        first = self.i
        kind = kinds[first]
        self.i += 1
        lower: int | None
        upper: int | None = None
        if kind == "+":
            lower = 1
        elif kind == "*":
            lower = 0
        else:
            lower = self.integer() if kinds[self.i] == "int" else None
            if kinds[self.i] == ",":
                self.i += 1
                if kinds[self.i] == "int":
                    upper = self.integer()
            elif lower is None:
                self.refuse(self.i, "an integer", ",")
            else:
                upper = lower
            if kinds[self.i] != "}":
                self.refuse(self.i, "}")
            self.i += 1
        return ast.Quantifier(self.span(first), lower, upper, True)

    def _node(self) -> NodePattern:
        kinds = self.kinds
        starts = self.starts
        ends = self.ends
        first = self.i
        i = first + 1
        kind = kinds[i]
        labels: ast.LabelExpression | None = None
        variable = properties = where = None
        if kind in NAMES and (kind == "name" or kinds[i + 1] in _NO_VARIABLE):
            variable = Variable((starts[i], ends[i]), self.values[i])
            i += 1
            kind = kinds[i]
        if kind != ")":
            if kind == ":" or kind == "IS":
                i += 1
                if kinds[i] in NAMES and kinds[i + 1] in (")", "{"):
                    labels = LabelName((starts[i], ends[i]), self.values[i])
                    self.i = i = i + 1
                else:
                    self.i = i
                    labels = self.label_expression()
                    i = self.i
                kind = kinds[i]
            if kind == "{":
                self.i = i
                properties = self.map_literal()
                i = self.i
                kind = kinds[i]
            elif kind == "$":
                self.i = i
                properties = self._parameter(i)
                i = self.i
                kind = kinds[i]
            if kind == "WHERE":
                self.i = i + 1
                where = self.expression()
                i = self.i
                kind = kinds[i]
            if kind != ")":
                expected = [")"]
                if where is None:
                    expected.append("WHERE")
                    if properties is None:
                        expected.insert(0, "{")
                        if labels is None:
                            expected.insert(0, ":")
                self.refuse(i, *expected)
        self.i = i + 1
        return NodePattern((starts[first], ends[i]), variable, labels, properties, where)

    def _relationship(self) -> RelationshipPattern:
        kinds = self.kinds
        starts = self.starts
        ends = self.ends
        first = i = self.i
        left = kinds[i] == "<"
        if left:
            i += 1
            if kinds[i] != "-":
                self.refuse(i, "-")
        i += 1
        types: ast.LabelExpression | None = None
        variable = quantifier = properties = where = None
        kind = kinds[i]
        if kind == "[":
            i += 1
            kind = kinds[i]
            if kind in NAMES and (kind == "name" or kinds[i + 1] in _NO_VARIABLE):
                variable = Variable((starts[i], ends[i]), self.values[i])
                i += 1
                kind = kinds[i]
            if kind == ":" or kind == "IS":
                i += 1
                if kinds[i] in NAMES and kinds[i + 1] in ("]", "{", "*"):
                    types = LabelName((starts[i], ends[i]), self.values[i])
                    i += 1
                else:
                    self.i = i
                    types = self.label_expression()
                    i = self.i
                kind = kinds[i]
            if kind == "*":
                self.i = i
                quantifier = self._star()
                i = self.i
                kind = kinds[i]
            if kind == "{":
                self.i = i
                properties = self.map_literal()
                i = self.i
                kind = kinds[i]
            elif kind == "$":
                self.i = i
                properties = self._parameter(i)
                i = self.i
                kind = kinds[i]
            if kind == "WHERE":
                self.i = i + 1
                where = self.expression()
                i = self.i
                kind = kinds[i]
            if kind != "]":
                expected = ["]"]
                if where is None:
                    expected.append("WHERE")
                    if properties is None:
                        expected.insert(0, "{")
                        if quantifier is None:
                            expected.insert(0, "*")
                            if types is None:
                                expected.insert(0, ":")
                self.refuse(i, *expected)
            i += 1
            kind = kinds[i]
            if kind != "-":
                self.refuse(i, "-")
        elif kind != "-":
            self.refuse(i, "-", "[")
        i += 1
        direction: Literal["right", "left", "both"]
        if kinds[i] == ">":
            i += 1
            direction = "both" if left else "right"
        else:
            direction = "left" if left else "both"
        self.i = i
        kind = kinds[i]
        if kind != "(" and (kind == "+" or kind == "*" or kind == "{"):
            if quantifier is not None:
                self.refuse(i, "a node: (")
            quantifier = self._quantifier()
            i = self.i
        return RelationshipPattern(
            (starts[first], ends[i - 1]),
            direction,
            variable,
            types,
            quantifier,
            properties,
            where,
        )

    def _star(self) -> ast.Quantifier:
        """``*``, ``*2``, ``*1..3``, ``*..3``, ``*1..``."""
        kinds = self.kinds
        first = self.i
        self.i += 1
        lower = self.integer() if kinds[self.i] == "int" else None
        upper = lower
        if kinds[self.i] == "..":
            self.i += 1
            upper = self.integer() if kinds[self.i] == "int" else None
        return ast.Quantifier(self.span(first), lower, upper)

    # ---------------------------------------------------------------- labels

    def label_expression(self) -> ast.LabelExpression:
        """A label expression, after its colon: ``A|B``, ``A&!B``, ``%``, ``A:B``, ``$(x)``."""
        kinds = self.kinds
        first = self.i
        operands = [self._label_conjunction()]
        while kinds[self.i] == "|" and not self.is_projection_bar(self.i):
            self.i += 2 if kinds[self.i + 1] == ":" else 1
            operands.append(self._label_conjunction())
        if len(operands) == 1:
            return operands[0]
        return ast.LabelBoolean((self.starts[first], self.ends[self.i - 1]), "|", operands)

    def _label_conjunction(self) -> ast.LabelExpression:
        kinds = self.kinds
        first = self.i
        operands = [self._label_not()]
        while kinds[self.i] == "&" or kinds[self.i] == ":":
            self.i += 1
            operands.append(self._label_not())
        if len(operands) == 1:
            return operands[0]
        return ast.LabelBoolean((self.starts[first], self.ends[self.i - 1]), "&", operands)

    def _label_not(self) -> ast.LabelExpression:
        kinds = self.kinds
        starts = self.starts
        first = i = self.i
        while kinds[i] == "!":
            i += 1
        kind = kinds[i]
        label: ast.LabelExpression
        if kind in NAMES:
            self.i = i + 1
            label = LabelName((starts[i], self.ends[i]), self.values[i])
        elif kind == "(":
            self.i = i + 1
            label = self.label_expression()
            if kinds[self.i] != ")":
                self.refuse(self.i, "&", "|", ")")
            self.i += 1
        elif kind == "%":
            self.i = i + 1
            label = ast.LabelWildcard((starts[i], self.ends[i]))
        elif kind == "$":
            label = self._dynamic_label(i)
        else:
            self.refuse(i, "a label or relationship type")
        end = self.ends[self.i - 1]
        for j in range(i - 1, first - 1, -1):
            label = ast.LabelNot((starts[j], end), label)
        return label

    def label_chain(self) -> ast.LabelExpression:
        """Labels as SET and REMOVE take them, after the first colon: ``A:B:$(x)``."""
        kinds = self.kinds
        first = self.i
        operands = [self._one_label()]
        while kinds[self.i] == ":":
            self.i += 1
            operands.append(self._one_label())
        if len(operands) == 1:
            return operands[0]
        return ast.LabelBoolean(self.span(first), "&", operands)

    def _one_label(self) -> ast.LabelExpression:
        i = self.i
        if self.kinds[i] == "$":
            return self._dynamic_label(i)
        label = self.name("a label")
        return LabelName(label.span, label.name)

    def _dynamic_label(self, i: int) -> ast.LabelDynamic:
        self.i = i + 1
        quantifier = ""
        if self.kinds[self.i] in ("ANY", "ALL"):
            quantifier = self.kinds[self.i].lower()
            self.i += 1
        self.take("(")
        expression = self.expression()
        self.take(")")
        return ast.LabelDynamic(self.span(i), expression, quantifier)
