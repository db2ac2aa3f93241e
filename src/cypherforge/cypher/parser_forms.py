"""Expressions in brackets and with words of their own: lists, comprehensions, subqueries, reduce."""

from __future__ import annotations

from typing import cast

from cypherforge.cypher import ast
from cypherforge.cypher.ast import FunctionCall, Variable
from cypherforge.cypher.parser_base import AFTER_VARIABLE
from cypherforge.cypher.parser_types import TypeParser
from cypherforge.cypher.tokens import NAMES

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
"""Unicode normal forms."""
_STARTS_PATTERN = frozenset(
    ["ANY", "ALL", "SHORTEST", "WALK", "TRAIL", "ACYCLIC", "REPEATABLE", "DIFFERENT"]
)
_AFTER_NODE_NAME = frozenset((")", ":", "{", "$", "WHERE", "IS"))


class FormParser(TypeParser):
    """The part of the parser that reads expressions in brackets and with words of their own."""

    __slots__ = ()

    def _parenthesis(self, i: int) -> ast.Expression:
        """A parenthesised expression, or a pattern as a predicate."""
        kinds = self.kinds
        if self._is_pattern(i):
            self.i = i
            part = self.pattern_part()
            return ast.PatternExpression(part.span, part)
        self.i = i + 1
        node = self.expression()
        if kinds[self.i] != ")":
            self.refuse(self.i, ")")
        self.i += 1
        return node

    def _is_pattern(self, i: int) -> bool:
        """Whether the parenthesis at ``i`` opens a node of a pattern, as in ``(a)-[:R]->(b)``.

        ``(a)-(b)`` and ``(a)-[1]`` are subtractions.
        """
        kinds = self.kinds
        if kinds[i] != "(":
            return False
        after = kinds[i + 1]
        if after in NAMES:
            if kinds[i + 2] not in _AFTER_NODE_NAME:
                return False
        elif after not in _AFTER_NODE_NAME:
            return False
        j = self._closing(i) + 1
        if kinds[j] == "<":
            j += 1
        if kinds[j] != "-":
            return False
        if kinds[j + 1] == "[":
            j = self._closing(j + 1) + 1
            if kinds[j] != "-":
                return False
        elif kinds[j + 1] == "-":
            j += 1
        else:
            return False
        j += 1
        if kinds[j] == ">":
            j += 1
        return kinds[j] == "("

    def _closing(self, i: int) -> int:
        """Index of the bracket that closes the one at ``i`` (or of the last token)."""
        depth = 0
        kinds = self.kinds
        for j in range(i, len(kinds)):
            kind = kinds[j]
            if kind == "(" or kind == "[" or kind == "{":
                depth += 1
            elif kind == ")" or kind == "]" or kind == "}":
                depth -= 1
                if depth == 0:
                    return j
        return len(kinds) - 4

    def _shortest_path(self, i: int) -> ast.Expression | None:
        if self.kinds[i + 1] != "(":
            return None
        part = self.pattern_part()
        return ast.PatternExpression(part.span, part)

    def _list(self, i: int) -> ast.Expression:
        """A list, a list comprehension or a pattern comprehension."""
        kinds = self.kinds
        j = i + 1
        kind = kinds[j]
        if kind == "]":
            self.i = j + 1
            return ast.ListLiteral((self.starts[i], self.ends[j]), [])
        if i not in self.plain_lists:
            comprehension: ast.Expression | None = None
            if kind in NAMES and kinds[j + 1] == "IN":
                comprehension = self._list_comprehension(i)
            elif (
                kind == "("
                and self._is_pattern(j)
                or kind in NAMES
                and kinds[j + 1] == "="
                and self._is_pattern(j + 2)
            ):
                comprehension = self._pattern_comprehension(i)
            if comprehension is not None:
                return comprehension
            # Remembered, or nested lists would be read twice at every level.
            self.plain_lists.add(i)
        self.i = j
        items = [self.expression()]
        while kinds[self.i] == ",":
            self.i += 1
            items.append(self.expression())
        if kinds[self.i] != "]":
            self.refuse(self.i, ",", "]")
        self.i += 1
        return ast.ListLiteral((self.starts[i], self.ends[self.i - 1]), items)

    def _list_comprehension(self, i: int) -> ast.Expression | None:
        """``[x IN xs ...]``; None where it is a list of a membership test: ``[x IN xs, 1]``."""
        kinds = self.kinds
        self.i = i + 1
        variable = self.variable()
        self.i += 1
        source = self.expression()
        where = projection = None
        if kinds[self.i] == "WHERE":
            where = self._comprehension_where(i)
        if kinds[self.i] == "|":
            self.i += 1
            projection = self.expression()
        if kinds[self.i] != "]":
            if where is None and projection is None and kinds[self.i] == ",":
                return None
            self.refuse(self.i, *(() if projection else ("|",)), "]")
        self.i += 1
        return ast.ListComprehension(self.span(i), variable, source, where, projection)

    def _comprehension_where(self, i: int) -> ast.Expression:
        """The condition of the comprehension whose bracket is token ``i``."""
        outer, self.comprehension = self.comprehension, i
        self.i += 1
        where = self.expression()
        self.comprehension = outer
        return where

    def is_projection_bar(self, i: int) -> bool:
        """Whether bar ``i`` ends the condition of the comprehension around it.

        ``[n IN ns WHERE n:A|B | n.x]``: its last bar outside of other brackets does; the bars
        before belong to labels.
        """
        first = self.comprehension
        if first < 0:
            return False
        if first not in self.bars:
            kinds = self.kinds
            depth, bar = 0, -1
            for j in range(first, self._closing(first)):
                kind = kinds[j]
                if kind == "(" or kind == "[" or kind == "{":
                    depth += 1
                elif kind == ")" or kind == "]" or kind == "}":
                    depth -= 1
                elif kind == "|" and depth == 1:
                    bar = j
            self.bars[first] = bar
        return self.bars[first] == i

    def _pattern_comprehension(self, i: int) -> ast.Expression | None:
        """``[(a)-->(b) | x]``; None where it is a list of patterns as predicates."""
        kinds = self.kinds
        self.i = i + 1
        pattern = self.pattern_part()
        where = None
        if kinds[self.i] == "WHERE":
            where = self._comprehension_where(i)
        if kinds[self.i] != "|":
            return None
        self.i += 1
        projection = self.expression()
        if kinds[self.i] != "]":
            self.refuse(self.i, "]")
        self.i += 1
        return ast.PatternComprehension(self.span(i), pattern, where, projection)

    # ---------------------------------------------------------------- forms with words

    def _subquery(self, i: int) -> ast.Expression | None:
        """``EXISTS { }``, ``COUNT { }``, ``COLLECT { }``, and ``count(*)``."""
        kinds = self.kinds
        kind = kinds[i]
        after = kinds[i + 1]
        if after == "{" and kinds[i + 2] != ".":
            self.i = i + 2
            short = kind != "COLLECT" and self._is_short_form()
            body: ast.Body = self.match_short_form() if short else self.body()
            self.take("}")
            return ast.SubqueryExpression(self.span(i), cast("ast.SubqueryKind", kind), body)
        if kind == "COUNT" and after == "(" and kinds[i + 2] == "*" and kinds[i + 3] == ")":
            self.i = i + 4
            return ast.CountStar(self.span(i))
        return None

    def _is_short_form(self) -> bool:
        kinds = self.kinds
        i = self.i
        return (
            kinds[i] == "("
            or (kinds[i] in NAMES and kinds[i + 1] == "=")
            or (kinds[i] in ("SHORTESTPATH", "ALLSHORTESTPATHS") and kinds[i + 1] == "(")
            or (kinds[i] in NAMES and self._word(i) in _STARTS_PATTERN)
        )

    def _binding(self) -> tuple[Variable, ast.Expression]:
        """``x IN xs``."""
        variable = self.variable()
        if self.kinds[self.i] != "IN":
            self.refuse(self.i, "IN")
        self.i += 1
        return variable, self.expression()

    def _quantified(self, i: int) -> ast.Expression | None:
        """``all(x IN xs WHERE p)`` and its kin."""
        kinds = self.kinds
        if kinds[i + 1] != "(" or kinds[i + 2] not in NAMES or kinds[i + 3] != "IN":
            return None
        self.i = i + 2
        variable, source = self._binding()
        where = None
        if kinds[self.i] == "WHERE":
            self.i += 1
            where = self.expression()
        if kinds[self.i] != ")":
            self.refuse(self.i, *(() if where else ("WHERE",)), ")")
        self.i += 1
        return ast.Quantified(self.span(i), kinds[i].lower(), variable, source, where)

    def _reduce(self, i: int) -> ast.Expression | None:
        """``reduce(acc = 0, x IN xs | acc + x)`` and ``allReduce``."""
        kinds = self.kinds
        if kinds[i + 1] != "(" or kinds[i + 2] not in NAMES or kinds[i + 3] != "=":
            return None
        self.i = i + 2
        accumulator = self.variable()
        self.i += 1
        initial = self.expression()
        self.take(",")
        variable, source = self._binding()
        self.take("|")
        step = self.expression()
        predicate = None
        if kinds[i] == "ALLREDUCE":
            self.take(",")
            predicate = self.expression()
        if kinds[self.i] != ")":
            self.refuse(self.i, ")")
        self.i += 1
        name = "reduce" if kinds[i] == "REDUCE" else "allReduce"
        return ast.Reduce(
            self.span(i), accumulator, initial, variable, source, step, predicate, name
        )

    def _trim(self, i: int) -> ast.Expression | None:
        """``trim(BOTH 'x' FROM s)``; None where it is called as an ordinary function."""
        kinds = self.kinds
        if kinds[i + 1] != "(":
            return None
        j = i + 2
        word = self._word(j) if kinds[j] in NAMES else ""
        side = ""
        if word in ("BOTH", "LEADING", "TRAILING") and kinds[j + 1] not in AFTER_VARIABLE:
            side = word
            j += 1
        elif "FROM" not in kinds[j : self._closing(i + 1)]:
            return None
        self.i = j
        characters = None if kinds[j] == "FROM" else self.expression()
        self.take("FROM")
        source = self.expression()
        self.take(")")
        return ast.Trim(self.span(i), side, characters, source)

    def _normalize(self, i: int) -> ast.Expression | None:
        """``normalize(s, NFD)``: the form is kept as a variable of that name."""
        kinds = self.kinds
        if kinds[i + 1] != "(":
            return None
        self.i = i + 2
        args = [self.expression()]
        if kinds[self.i] == ",":
            j = self.i + 1
            if kinds[j] not in NAMES or self._word(j) not in FORMS:
                self.refuse(j, *FORMS)
            args.append(ast.Variable((self.starts[j], self.ends[j]), self._word(j)))
            self.i = j + 1
        self.take(")")
        name_span = (self.starts[i], self.ends[i])
        return FunctionCall(self.span(i), self.values[i], name_span, args)
