"""What all parts of the parser share: the token lists, the place in them, and refusals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NoReturn

from cypherforge.cypher import ast
from cypherforge.cypher.errors import CypherSyntaxError
from cypherforge.cypher.tokens import NAMES, Tokens, broken_escape

MAX_DEPTH = 150
"""Brackets that may nest in a query; deeper ones are refused before they exhaust the stack."""

AFTER_VARIABLE = frozenset(
    [
        "OR",
        "XOR",
        "AND",
        "=",
        "<>",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "=~",
        "IN",
        "CONTAINS",
        "STARTS",
        "ENDS",
        "IS",
        "::",
        "+",
        "-",
        "||",
        "*",
        "/",
        "%",
        "^",
        ".",
        "[",
        ")",
        "]",
        "}",
        ",",
        ":",
        ";",
        "|",
        "..",
        "end",
        "AS",
        "THEN",
    ]
)
"""What shows that a keyword in the place of an operand is a variable after all."""

_OPENERS = frozenset("([{")
_CLOSERS = frozenset(")]}")


class ParserBase(ABC):
    """The state of one parse. ``i`` is the index of the next token.

    ``groups``: whether GROUP BY is Cypher here, as in Cypher 25; elsewhere the word is SQL's, and
    refused by name. ``interpolated``: whether the text may hold strings such as ``s'a {x}'``.
    """

    __slots__ = (
        "bars",
        "comprehension",
        "ends",
        "groups",
        "i",
        "kinds",
        "plain_lists",
        "starts",
        "text",
        "values",
    )

    def __init__(self, text: str, groups: bool = True, interpolated: bool = False) -> None:
        tokens = Tokens(text, interpolated)
        self.groups = groups
        self.text = text
        self.kinds = tokens.kinds
        self.starts = tokens.starts
        self.ends = tokens.ends
        self.values = tokens.values
        self.i = 0
        self.plain_lists: set[int] = set()
        self.comprehension = -1
        self.bars: dict[int, int] = {}
        kinds = self.kinds
        if "\\u" in text:
            self._check_escapes()
        if kinds.count("(") + kinds.count("[") + kinds.count("{") > MAX_DEPTH:
            self._check_depth()

    # The doors between the layers: patterns hold expressions, expressions hold queries.

    @abstractmethod
    def expression(self, floor: int = 1) -> ast.Expression:
        """An expression whose operators bind at least as tightly as ``floor``."""

    @abstractmethod
    def map_literal(self) -> ast.Expression:
        """``{...}``, at the opening brace."""

    @abstractmethod
    def pattern_part(self) -> ast.PatternPart:
        """One path of a pattern."""

    @abstractmethod
    def label_expression(self) -> ast.LabelExpression:
        """A label expression, after its colon."""

    @abstractmethod
    def body(self) -> ast.Body:
        """A query without options, up to what ends it."""

    @abstractmethod
    def match_short_form(self) -> ast.SingleQuery:
        """The short form of a subquery: a pattern and an optional WHERE."""

    # ---------------------------------------------------------------- helpers

    def span(self, first: int) -> ast.Span:
        """From token ``first`` to the last token read."""
        return self.starts[first], self.ends[self.i - 1]

    def take(self, kind: str) -> None:
        """Step over a token of this kind."""
        if self.kinds[self.i] != kind:
            self.refuse(self.i, kind)
        self.i += 1

    def at_word(self, word: str, offset: int = 0) -> bool:
        """Whether the token is this word (upper case), which has no kind of its own."""
        i = self.i + offset
        return self.kinds[i] in NAMES and self._word(i) == word

    def take_word(self, word: str) -> None:
        """Step over a word."""
        if not self.at_word(word):
            self.refuse(self.i, word)
        self.i += 1

    def _word(self, i: int) -> str:
        start = self.starts[i]
        return "" if self.text[start : start + 1] == "`" else self.values[i].upper()

    def name(self, what: str = "a name") -> ast.Name:
        """A name, keyword or not."""
        i = self.i
        if self.kinds[i] not in NAMES:
            self.refuse(i, what)
        self.i = i + 1
        return ast.Name((self.starts[i], self.ends[i]), self.values[i])

    def variable(self) -> ast.Variable:
        """A variable, keyword or not."""
        i = self.i
        if self.kinds[i] not in NAMES:
            self.refuse(i, "a variable")
        self.i = i + 1
        return ast.Variable((self.starts[i], self.ends[i]), self.values[i])

    def dotted_name(self) -> tuple[str, ast.Span]:
        """``a.b.c`` and its span."""
        i = self.i
        self.name()
        while self.kinds[self.i] == ".":
            self.i += 1
            self.name()
        return "".join(self.values[i : self.i]), self.span(i)

    def integer(self) -> int:
        """An unsigned integer, by value."""
        i = self.i
        if self.kinds[i] != "int":
            self.refuse(i, "an integer")
        self.i = i + 1
        return integer_value(self.values[i])

    def refuse(self, i: int, *expected: str, problem: str | None = None) -> NoReturn:
        """Raise for token ``i``."""
        start, end = self.starts[i], self.ends[i]
        token = self.text[start:end]
        if self.kinds[i] == "bad" and problem is None:
            problem = _bad(token)
            if token[0] in "'\"`/":
                end = start + (2 if token[0] == "/" else 1)
                expected = ()
        if problem is None:
            problem = f"unexpected {_quoted(token)}" if token else "the query ends too early"
        raise CypherSyntaxError(problem, text=self.text, span=(start, end), expected=expected)

    def _check_escapes(self) -> None:
        bad = broken_escape(self.text)
        if bad >= 0:
            raise CypherSyntaxError(
                "`\\u` needs four hexadecimal digits",
                text=self.text,
                span=(bad, bad + 2),
                expected=("\\uXXXX", "a doubled backslash"),
            )

    def _check_depth(self) -> None:
        depth = 0
        for i, kind in enumerate(self.kinds):
            if kind in _OPENERS:
                depth += 1
                if depth > MAX_DEPTH:
                    self.refuse_depth(i)
            elif kind in _CLOSERS and depth:
                depth -= 1

    def refuse_depth(self, i: int) -> NoReturn:
        """Raise because the query nests too deeply at token ``i``."""
        self.refuse(i, problem=f"too deep: the query nests more than some {MAX_DEPTH} levels")


def integer_value(literal: str) -> int:
    """The value of an integer literal in any of its forms."""
    prefix = literal[:2].lower()
    if prefix == "0x":
        return int(literal, 16)
    if prefix == "0o":
        return int(literal, 8)
    # CPython limits decimal conversion to some thousand digits; no engine takes more than 19.
    return int(literal[:40]) if len(literal) > 40 else int(literal)


def _quoted(token: str) -> str:
    shown = token if len(token) <= 40 else token[:37] + "..."
    return f"`{shown}`"


def _bad(token: str) -> str:
    if token[0].isdigit() or token[0] == ".":
        return f"{_quoted(token)} is not a number"
    if token[0] in "'\"":
        return f"the string that starts with {token[0]} is not closed"
    if token[0] == "`":
        return "the name that starts with a back-tick is not closed"
    if token[0] == "/":
        return "the comment that starts with /* is not closed"
    return f"unexpected {_quoted(token)}: no Cypher token starts with it"
