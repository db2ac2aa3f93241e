"""Expressions: precedence climbing that returns at once from plain atoms.

Levels, loosest first, as in Neo4j's grammar: OR, XOR, AND, NOT, comparisons (chains), predicates
(``IN``, ``STARTS WITH``, ``IS NULL`` ...; only one), ``+ - ||``, ``* / %``, ``^``, signs, postfix.
"""

from __future__ import annotations

from collections.abc import Callable

from cypherforge.cypher import ast
from cypherforge.cypher.ast import Binary, FunctionCall, Name, PropertyAccess, Span, Variable
from cypherforge.cypher.parser_base import AFTER_VARIABLE, integer_value
from cypherforge.cypher.parser_forms import FORMS
from cypherforge.cypher.parser_literals import LiteralParser
from cypherforge.cypher.tokens import KEYWORDS, NAMES, string_value

_COMPARISON, _PREDICATE, _SUM = 5, 6, 7
_LEVELS = {
    "OR": 1,
    "XOR": 2,
    "AND": 3,
    **dict.fromkeys(("=", "<>", "!=", "<", "<=", ">", ">="), _COMPARISON),
    **dict.fromkeys(("=~", "IN", "CONTAINS", "STARTS", "ENDS", "IS", "::"), _PREDICATE),
    **dict.fromkeys(("+", "-", "||"), _SUM),
    **dict.fromkeys(("*", "/", "%"), 8),
    "^": 9,
}
_NOT = 4
_level_of = _LEVELS.get
_POSTFIX = frozenset((".", "[", ":"))
_CLAUSE_WORDS = frozenset(
    [
        "MATCH",
        "RETURN",
        "WITH",
        "WHERE",
        "UNWIND",
        "CREATE",
        "MERGE",
        "SET",
        "DELETE",
        "REMOVE",
        "CALL",
        "FOREACH",
        "UNION",
        "ORDER",
    ]
)


class ExpressionParser(LiteralParser):
    """The part of the parser that reads expressions."""

    __slots__ = ()

    def expression(self, floor: int = 1) -> ast.Expression:
        """An expression whose operators bind at least as tightly as ``floor``."""
        kinds = self.kinds
        first = self.i
        if kinds[first] == "NOT":
            left = self._not(floor)
        else:
            left = self.operand()
        level = _level_of(kinds[self.i], 0)
        if level < floor or not level:
            return left
        ends = self.ends
        start = self.starts[first]
        while True:
            i = self.i
            op = kinds[i]
            level = _level_of(op, 0)
            if level < floor or not level:
                return left
            if level == _COMPARISON:
                left = self._comparison(left, start)
            elif level == _PREDICATE:
                left = self._predicate(left, start)
                if _level_of(kinds[self.i], 0) >= _PREDICATE:
                    self.refuse(self.i, "the end of the expression", "a comparison", "AND", "OR")
            else:
                if op == "-" and self.values[i] != "-":
                    self.refuse(i, "-")
                self.i = i + 1
                right = self.expression(level + 1)
                left = Binary((start, ends[self.i - 1]), op, left, right)

    def _not(self, floor: int) -> ast.Expression:
        """``NOT x``; a plain loop, since any number of them may stand in a row."""
        kinds = self.kinds
        first = i = self.i
        while kinds[i] == "NOT":
            i += 1
        kind = kinds[i]
        if (
            kind in AFTER_VARIABLE
            and kind not in ("[", "-", "+")
            and not (kind in NAMES and kinds[i + 1] == "(")
        ):
            i -= 1
            if i == first:
                return self.operand()
        if floor > _NOT:
            self.refuse(first, "an expression")
        self.i = i
        operand = self.expression(_COMPARISON)
        end = self.ends[self.i - 1]
        for j in range(i - 1, first - 1, -1):
            operand = ast.Unary((self.starts[j], end), "NOT", operand)
        return operand

    def _comparison(self, left: ast.Expression, start: int) -> ast.Expression:
        kinds = self.kinds
        i = self.i
        op = kinds[i]
        self.i = i + 1
        right = self.expression(_PREDICATE)
        i = self.i
        if _level_of(kinds[i]) != _COMPARISON:
            return Binary((start, self.ends[i - 1]), op, left, right)
        operands, ops = [left, right], [op]
        while _level_of(kinds[i]) == _COMPARISON:
            ops.append(kinds[i])
            self.i = i + 1
            operands.append(self.expression(_PREDICATE))
            i = self.i
        return ast.Comparison((start, self.ends[i - 1]), operands, ops)

    def _predicate(self, left: ast.Expression, start: int) -> ast.Expression:
        kinds = self.kinds
        i = self.i
        op = kinds[i]
        if op == "IS":
            return self._is(left, start)
        if op == "::":
            self.i = i + 1
            type_name = self.type_name()
            return ast.IsTyped((start, self.ends[self.i - 1]), left, type_name)
        if op == "STARTS" or op == "ENDS":
            i += 1
            if kinds[i] != "WITH":
                self.refuse(i, "WITH")
            op += " WITH"
        self.i = i + 1
        right = self.expression(_SUM)
        return Binary((start, self.ends[self.i - 1]), op, left, right)

    def _is(self, left: ast.Expression, start: int) -> ast.Expression:
        kinds = self.kinds
        i = self.i + 1
        negated = kinds[i] == "NOT"
        if negated:
            i += 1
        kind = kinds[i]
        self.i = i + 1
        if kind == "NULL":
            return ast.IsNull((start, self.ends[i]), left, negated)
        word = self._word(i) if kind in NAMES else ""
        if kind == "::" or (word == "TYPED" and kinds[i + 1] in NAMES):
            type_name = self.type_name()
            return ast.IsTyped(self._from(start), left, type_name, negated)
        if word == "NORMALIZED":
            return ast.IsNormalized(self._from(start), left, "NFC", negated)
        if word in FORMS and self.at_word("NORMALIZED"):
            self.i += 1
            return ast.IsNormalized(self._from(start), left, word, negated)
        if word == "LABELED" and (kinds[i + 1] in NAMES or kinds[i + 1] in "(!%$"):
            labels = self.label_expression()
            return ast.LabelTest(self._from(start), left, labels, negated)
        self.i = i
        if not (kind in NAMES or kind in ("(", "!", "%", "$")):
            self.refuse(i, "NULL", "NOT NULL", ":: and a type", "NORMALIZED", "a label")
        labels = self.label_expression()
        return ast.LabelTest(self._from(start), left, labels, negated)

    def _from(self, start: int) -> Span:
        return start, self.ends[self.i - 1]

    # ---------------------------------------------------------------- operands

    def operand(self) -> ast.Expression:
        """An atom with what may follow it: properties, indexes, labels; a sign may lead."""
        kinds = self.kinds
        i = self.i
        kind = kinds[i]
        if kind == "name":
            after = kinds[i + 1]
            if after == ".":
                if kinds[i + 2] not in NAMES:
                    self.refuse(i + 2, "a property name")
                after = kinds[i + 3]
                if after != "." and after != "(":
                    starts = self.starts
                    ends = self.ends
                    values = self.values
                    start = starts[i]
                    j = i + 2
                    end = ends[j]
                    self.i = i + 3
                    atom: ast.Expression = PropertyAccess(
                        (start, end),
                        Variable((start, ends[i]), values[i]),
                        Name((starts[j], end), values[j]),
                    )
                    if after in _POSTFIX:
                        return self._postfix(atom, i)
                    return atom
                atom = self._dotted(i)
            elif after == "(":
                atom = self._call(i)
            elif after == "{":
                atom = self._map_projection(i)
            else:
                self.i = i + 1
                atom = Variable((self.starts[i], self.ends[i]), self.values[i])
        elif kind == "str":
            self.i = i + 1
            atom = ast.StringLiteral((self.starts[i], self.ends[i]), string_value(self.values[i]))
        elif kind == "int":
            self.i = i + 1
            atom = ast.IntegerLiteral((self.starts[i], self.ends[i]), integer_value(self.values[i]))
        else:
            read = _ATOMS.get(kind)
            special = read(self, i) if read is not None else None
            atom = special if special is not None else self._keyword_name(i)
            if kind == "-" or kind == "+":
                return atom
        if kinds[self.i] in _POSTFIX:
            return self._postfix(atom, i)
        return atom

    def _keyword_name(self, i: int) -> ast.Expression:
        """A keyword in the place of an operand: a variable, function or namespace of that name."""
        kinds = self.kinds
        if kinds[i] not in NAMES:
            self.refuse(i, "an expression")
        after = kinds[i + 1]
        if after == "." and kinds[i + 2] in NAMES:
            return self._dotted(i)
        if after == "(" and kinds[i] not in _CLAUSE_WORDS:
            return self._call(i)
        if after == "{" and kinds[i + 2] in (".", "}"):
            return self._map_projection(i)
        if after not in AFTER_VARIABLE and (after not in KEYWORDS or after == "BY"):
            self.refuse(i, "an expression")
        self.i = i + 1
        return Variable((self.starts[i], self.ends[i]), self.values[i])

    def _dotted(self, i: int) -> ast.Expression:
        """``a.b.c`` or ``a.b.c(...)``."""
        kinds = self.kinds
        starts, ends, values = self.starts, self.ends, self.values
        j = i + 1
        while kinds[j] == "." and kinds[j + 1] in NAMES:
            j += 2
        if kinds[j] == "(":
            return self._arguments("".join(values[i:j]), i, j)
        start = starts[i]
        node: ast.Expression = Variable((start, ends[i]), values[i])
        for k in range(i + 2, j, 2):
            end = ends[k]
            node = PropertyAccess((start, end), node, Name((starts[k], end), values[k]))
        self.i = j
        return node

    def _call(self, i: int) -> ast.Expression:
        return self._arguments(self.values[i], i, i + 1)

    def _arguments(self, name: str, first: int, i: int) -> ast.Expression:
        """A call whose opening parenthesis is token ``i``."""
        kinds = self.kinds
        name_span = (self.starts[first], self.ends[i - 1])
        i += 1
        args: list[ast.Expression] = []
        distinct = False
        if kinds[i] == ")":
            self.i = i + 1
        else:
            kind = kinds[i]
            if kind == "DISTINCT":
                if kinds[i + 1] not in (")", ",", "."):
                    distinct = True
                    i += 1
            elif kind == "ALL" and kinds[i + 1] not in AFTER_VARIABLE and kinds[i + 1] != "(":
                i += 1
            self.i = i
            expression = self.expression
            args.append(expression())
            last = i
            i = self.i
            while kinds[i] == ",":
                self.i = last = i + 1
                args.append(expression())
                i = self.i
            if kinds[i] != ")":
                if len(args) != 3 or name.lower() != "vector":
                    self.refuse(i, ",", ")")
                args[2] = self._type_argument(last)
                i = self.i
                if kinds[i] != ")":
                    self.refuse(i, ")")
            self.i = i + 1
        return FunctionCall((name_span[0], self.ends[self.i - 1]), name, name_span, args, distinct)

    def _type_argument(self, i: int) -> ast.Expression:
        """A type of several words, as in ``vector(xs, 3, INTEGER NOT NULL)``; kept as a variable."""
        self.i = i
        name = self.type_name()
        return Variable(self.span(i), name)

    def _postfix(self, node: ast.Expression, first: int) -> ast.Expression:
        kinds = self.kinds
        ends = self.ends
        start = self.starts[first]
        while True:
            i = self.i
            kind = kinds[i]
            if kind == ".":
                self.i = i + 1
                key = self.name("a property name")
                node = PropertyAccess((start, ends[i + 1]), node, key)
            elif kind == "[":
                node = self._subscript(node, start)
            elif kind == ":":
                self.i = i + 1
                labels = self.label_expression()
                node = ast.LabelTest((start, ends[self.i - 1]), node, labels)
            else:
                return node

    def _subscript(self, node: ast.Expression, start: int) -> ast.Expression:
        kinds = self.kinds
        i = self.i + 1
        self.i = i
        lower = upper = None
        if kinds[i] != "..":
            lower = self.expression()
            if kinds[self.i] == "]":
                self.i += 1
                return ast.Index((start, self.ends[self.i - 1]), node, lower)
            if kinds[self.i] != "..":
                self.refuse(self.i, "]", "..")
        self.i += 1
        if kinds[self.i] != "]":
            upper = self.expression()
            if kinds[self.i] != "]":
                self.refuse(self.i, "]")
        self.i += 1
        return ast.Slice((start, self.ends[self.i - 1]), node, lower, upper)

    def _sign(self, i: int) -> ast.Expression:
        """Leading signs; a plain loop, since any number of them may stand in a row."""
        kinds = self.kinds
        j = i
        while kinds[j] == "-" or kinds[j] == "+":
            j += 1
        self.i = j
        operand = self.operand()
        end = self.ends[self.i - 1]
        for k in range(j - 1, i - 1, -1):
            operand = ast.Unary((self.starts[k], end), kinds[k], operand)
        return operand

    # ---------------------------------------------------------------- forms with words

    def _case(self, i: int) -> ast.Expression | None:
        kinds = self.kinds
        j = i + 1
        after = kinds[j]
        if after in AFTER_VARIABLE and (
            after not in ("[", "-", "+") or "WHEN" not in kinds[j : self._end_of_case(j)]
        ):
            return None
        self.i = j
        subject = None
        if after != "WHEN":
            subject = self.expression()
        branches: list[ast.CaseBranch] = []
        while kinds[self.i] == "WHEN":
            first = self.i
            self.i += 1
            conditions = [self._when_operand(subject)]
            while subject is not None and kinds[self.i] == ",":
                self.i += 1
                conditions.append(self._when_operand(subject))
            self.take("THEN")
            result = self.expression()
            branches.append(ast.CaseBranch(self.span(first), conditions, result))
        if not branches:
            self.refuse(self.i, "WHEN")
        default = None
        if kinds[self.i] == "ELSE":
            self.i += 1
            default = self.expression()
        if kinds[self.i] != "END":
            self.refuse(self.i, *(() if default else ("WHEN", "ELSE")), "END")
        self.i += 1
        return ast.Case(self.span(i), subject, branches, default)

    def _end_of_case(self, i: int) -> int:
        """Index of the next END, or of the end of the query."""
        try:
            return self.kinds.index("END", i)
        except ValueError:
            return len(self.kinds)

    def _when_operand(self, subject: ast.Expression | None) -> ast.Expression:
        """A condition. In the simple form it may begin with an operator: ``WHEN < 18``.

        Then its left operand is the subject of the CASE, with an empty span before the operator.
        """
        kind = self.kinds[self.i]
        if subject is None or kind == "NOT":
            return self.expression()
        level = _level_of(kind, 0)
        if level not in (_COMPARISON, _PREDICATE) or self.kinds[self.i + 1] in ("THEN", ","):
            return self.expression()
        start = self.starts[self.i]
        held = ast.CaseSubject((start, start))
        if level == _COMPARISON:
            return self._comparison(held, start)
        return self._predicate(held, start)


_AtomReader = Callable[[ExpressionParser, int], ast.Expression | None]

_ATOMS: dict[str, _AtomReader] = {
    "float": ExpressionParser._float,
    "s-begin": ExpressionParser._interpolated,
    "INF": ExpressionParser._named_float,
    "INFINITY": ExpressionParser._named_float,
    "NAN": ExpressionParser._named_float,
    "TRUE": ExpressionParser._word_literal,
    "FALSE": ExpressionParser._word_literal,
    "NULL": ExpressionParser._word_literal,
    "$": ExpressionParser._parameter,
    "-": ExpressionParser._sign,
    "+": ExpressionParser._sign,
    "{": ExpressionParser._map,
    "(": ExpressionParser._parenthesis,
    "[": ExpressionParser._list,
    "SHORTESTPATH": ExpressionParser._shortest_path,
    "ALLSHORTESTPATHS": ExpressionParser._shortest_path,
    "CASE": ExpressionParser._case,
    "EXISTS": ExpressionParser._subquery,
    "COUNT": ExpressionParser._subquery,
    "COLLECT": ExpressionParser._subquery,
    "ALL": ExpressionParser._quantified,
    "ANY": ExpressionParser._quantified,
    "NONE": ExpressionParser._quantified,
    "SINGLE": ExpressionParser._quantified,
    "REDUCE": ExpressionParser._reduce,
    "ALLREDUCE": ExpressionParser._reduce,
    "TRIM": ExpressionParser._trim,
    "NORMALIZE": ExpressionParser._normalize,
}
