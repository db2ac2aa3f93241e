"""Expressions: precedence climbing that returns at once from plain atoms.

Levels, loosest first, as in Neo4j's grammar: OR, XOR, AND, NOT, comparisons (chains), predicates
(``IN``, ``STARTS WITH``, ``IS NULL`` ...; only one), ``+ - ||``, ``* / %``, ``^``, signs, postfix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from cypherforge.cypher import ast
from cypherforge.cypher.ast import Binary, FunctionCall, Name, PropertyAccess, Span, Variable
from cypherforge.cypher.parser_base import ParserBase, integer_value
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
_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
_AFTER_VARIABLE = frozenset(_LEVELS) | frozenset(
    [".", "[", ")", "]", "}", ",", ":", ";", "|", "..", "end", "AS", "THEN"]
)
"""What shows that a keyword in the place of an operand is a variable after all."""
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
_AFTER_NODE_NAME = frozenset((")", ":", "{", "$", "WHERE", "IS"))
_AFTER_ARROW = frozenset(("(", "+", "*", "{"))
_TYPES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        [
            "ARRAY",
            "BIGINT",
            "BOOL",
            "BOOLEAN",
            "DATE",
            "DURATION",
            "EDGE",
            "FLOAT",
            "FLOAT32",
            "FLOAT64",
            "INT",
            "INT8",
            "INT16",
            "INT32",
            "INT64",
            "INTEGER",
            "INTEGER8",
            "INTEGER16",
            "INTEGER32",
            "INTEGER64",
            "LIST",
            "MAP",
            "NODE",
            "NOTHING",
            "NULL",
            "PATH",
            "PATHS",
            "POINT",
            "REAL",
            "RELATIONSHIP",
            "SMALLINT",
            "STRING",
            "VARCHAR",
            "VERTEX",
        ],
        ("",),
    ),
    "LOCAL": ("TIME", "DATETIME"),
    "ZONED": ("TIME", "DATETIME"),
    "TIME": ("WITH TIME ZONE", "WITHOUT TIME ZONE", "WITH TIMEZONE", "WITHOUT TIMEZONE"),
    "TIMESTAMP": ("WITH TIME ZONE", "WITHOUT TIME ZONE", "WITH TIMEZONE", "WITHOUT TIMEZONE"),
    "SIGNED": ("INTEGER",),
    "PROPERTY": ("VALUE",),
    "ANY": ("NODE", "VERTEX", "EDGE", "RELATIONSHIP", "MAP", "PROPERTY VALUE", "VALUE", ""),
}
"""First words of types, and the words that may follow."""


class ExpressionParser(ParserBase):
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
            kind in _AFTER_VARIABLE
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
        if word in _FORMS and self.at_word("NORMALIZED"):
            self.i += 1
            return ast.IsNormalized(self._from(start), left, word, negated)
        if word == "LABELED" and (kinds[i + 1] in NAMES or kinds[i + 1] in "(!%$"):
            return ast.LabelTest(self._from(start), left, self.label_expression(), negated)
        self.i = i
        if negated or not (kind in NAMES or kind in ("(", "!", "%", "$")):
            self.refuse(i, "NULL", "NOT NULL", ":: and a type", "NORMALIZED", "a label")
        labels = self.label_expression()
        return ast.LabelTest(self._from(start), left, labels)

    def _from(self, start: int) -> Span:
        return start, self.ends[self.i - 1]

    # ---------------------------------------------------------------- types

    def type_name(self) -> str:
        """A type such as ``LIST<INTEGER NOT NULL> | FLOAT``: upper case, single-spaced."""
        first = self.i
        self._type()
        while self.kinds[self.i] == "|":
            self.i += 1
            self._type()
        words: list[str] = []
        for i in range(first, self.i):
            word = self.values[i].upper()
            if words and words[-1] != "<" and word not in "<>":
                words.append(" ")
            words.append(word)
        return "".join(words)

    def _type(self) -> None:
        kinds = self.kinds
        word = self._word(self.i) if kinds[self.i] in NAMES else ""
        if word not in _TYPES:
            self.refuse(self.i, "a type")
        for rest in _TYPES[word]:
            words = rest.split()
            if all(self.at_word(w, k) for k, w in enumerate(words, 1)):
                self.i += 1 + len(words)
                break
        else:
            self.refuse(self.i + 1, *_TYPES[word])
        if word in ("LIST", "ARRAY") or (word == "ANY" and kinds[self.i] == "<"):
            self.take("<")
            self._type()
            while kinds[self.i] == "|":
                self.i += 1
                self._type()
            self.take(">")
        self._type_suffix()

    def _type_suffix(self) -> None:
        kinds = self.kinds
        while True:
            if kinds[self.i] == "NOT" and kinds[self.i + 1] == "NULL":
                self.i += 2
            elif kinds[self.i] == "!" or self.at_word("LIST") or self.at_word("ARRAY"):
                self.i += 1
            else:
                return

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
        if after not in _AFTER_VARIABLE and (after not in KEYWORDS or after == "BY"):
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
            elif kind == "ALL" and kinds[i + 1] not in _AFTER_VARIABLE and kinds[i + 1] != "(":
                i += 1
            self.i = i
            expression = self.expression
            args.append(expression())
            i = self.i
            while kinds[i] == ",":
                self.i = i + 1
                args.append(expression())
                i = self.i
            if kinds[i] != ")":
                self.refuse(i, ",", ")")
            self.i = i + 1
        return FunctionCall((name_span[0], self.ends[self.i - 1]), name, name_span, args, distinct)

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

    # ---------------------------------------------------------------- literals

    def _float(self, i: int) -> ast.Expression:
        self.i = i + 1
        value = float(self.values[i].rstrip("dDfF").replace("_", ""))
        return ast.FloatLiteral((self.starts[i], self.ends[i]), value)

    def _named_float(self, i: int) -> ast.Expression | None:
        """``Infinity``, ``INF``, ``NaN``: no variables in Neo4j unless back-ticked."""
        if self.kinds[i + 1] in (".", "(", "{"):
            return None
        self.i = i + 1
        value = float("nan" if self.kinds[i] == "NAN" else "inf")
        return ast.FloatLiteral((self.starts[i], self.ends[i]), value)

    def _word_literal(self, i: int) -> ast.Expression | None:
        kind = self.kinds[i]
        if self.kinds[i + 1] in ("(", "{"):
            return None
        self.i = i + 1
        span = (self.starts[i], self.ends[i])
        if kind == "NULL":
            return ast.NullLiteral(span)
        return ast.BooleanLiteral(span, kind == "TRUE")

    def _parameter(self, i: int) -> ast.Expression:
        j = i + 1
        kind = self.kinds[j]
        if kind not in NAMES and kind != "int":
            self.refuse(j, "the name of a parameter")
        self.i = j + 1
        return ast.Parameter((self.starts[i], self.ends[j]), self.values[j])

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

    def map_literal(self) -> ast.Expression:
        """``{...}``, at the opening brace; ``{name}`` is the parameter of old."""
        kinds = self.kinds
        starts, ends, values = self.starts, self.ends, self.values
        first = i = self.i
        if kinds[i + 1] in NAMES and kinds[i + 2] == "}":
            self.i = i + 3
            return ast.Parameter((starts[i], ends[i + 2]), values[i + 1], True)
        entries: list[ast.MapEntry] = []
        i += 1
        if kinds[i] != "}":
            expression = self.expression
            while True:
                if kinds[i] not in NAMES:
                    self.refuse(i, "a property name", *(() if entries else ("}",)))
                if kinds[i + 1] != ":":
                    self.refuse(i + 1, ":")
                self.i = i + 2
                value = expression()
                entries.append(
                    ast.MapEntry(
                        (starts[i], ends[self.i - 1]), Name((starts[i], ends[i]), values[i]), value
                    )
                )
                i = self.i
                if kinds[i] == ",":
                    i += 1
                elif kinds[i] == "}":
                    break
                else:
                    self.refuse(i, ",", "}")
        self.i = i + 1
        return ast.MapLiteral((starts[first], ends[i]), entries)

    def _map(self, i: int) -> ast.Expression:
        return self.map_literal()

    def _map_projection(self, i: int) -> ast.Expression:
        """``n {.a, .*, b: 1, c}``, at the variable."""
        kinds = self.kinds
        starts, ends, values = self.starts, self.ends, self.values
        subject = Variable((starts[i], ends[i]), values[i])
        items: list[ast.MapProjectionItem] = []
        self.i = i + 2
        while kinds[self.i] != "}" or items:
            j = self.i
            if kinds[j] == ".":
                if kinds[j + 1] == "*":
                    self.i = j + 2
                    items.append(ast.MapProjectionItem(self.span(j), "all"))
                else:
                    self.i = j + 1
                    key = self.name("a property name")
                    items.append(ast.MapProjectionItem(self.span(j), "property", key))
            else:
                if kinds[j] not in NAMES:
                    self.refuse(j, "a property name", ".", ".*", "}")
                if kinds[j + 1] == ":":
                    key = Name((starts[j], ends[j]), values[j])
                    self.i = j + 2
                    value = self.expression()
                    items.append(ast.MapProjectionItem(self.span(j), "entry", key, value))
                else:
                    held = self.variable()
                    items.append(ast.MapProjectionItem(self.span(j), "variable", None, held))
            if kinds[self.i] == "}":
                break
            if kinds[self.i] != ",":
                self.refuse(self.i, ",", "}")
            self.i += 1
        self.i += 1
        return ast.MapProjection(self.span(i), subject, items)

    # ---------------------------------------------------------------- brackets

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
        return kinds[j] in _AFTER_ARROW

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

    def _case(self, i: int) -> ast.Expression | None:
        kinds = self.kinds
        j = i + 1
        after = kinds[j]
        if after in _AFTER_VARIABLE and (
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

    def _subquery(self, i: int) -> ast.Expression | None:
        """``EXISTS { }``, ``COUNT { }``, ``COLLECT { }``, and ``count(*)``."""
        kinds = self.kinds
        kind = kinds[i]
        after = kinds[i + 1]
        if after == "{" and kinds[i + 2] != ".":
            self.i = i + 2
            body: ast.Body = self.match_short_form() if self._is_short_form() else self.body()
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
            or (kinds[i] in NAMES and self._word(i) in ("ANY", "ALL", "SHORTEST"))
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
        if word in ("BOTH", "LEADING", "TRAILING") and kinds[j + 1] not in _AFTER_VARIABLE:
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
            if kinds[j] not in NAMES or self._word(j) not in _FORMS:
                self.refuse(j, *_FORMS)
            args.append(ast.Variable((self.starts[j], self.ends[j]), self._word(j)))
            self.i = j + 1
        self.take(")")
        name_span = (self.starts[i], self.ends[i])
        return FunctionCall(self.span(i), self.values[i], name_span, args)


_AtomReader = Callable[[ExpressionParser, int], ast.Expression | None]

_ATOMS: dict[str, _AtomReader] = {
    "float": ExpressionParser._float,
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
