"""Tokens of text that need not parse, with what repairs ask of them: brackets, operands, clauses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cypherforge.cypher.edits import Edit
from cypherforge.cypher.function_kinds import AGGREGATES
from cypherforge.cypher.tokens import NAMES, Tokens

OPENING = {"(": ")", "[": "]", "{": "}"}
CLOSING = frozenset(OPENING.values())

#: Words that start a clause: what an expression or a list of columns cannot go on past.
CLAUSES = frozenset(
    [
        "MATCH",
        "OPTIONAL",
        "WITH",
        "RETURN",
        "UNWIND",
        "CALL",
        "CREATE",
        "MERGE",
        "SET",
        "DELETE",
        "DETACH",
        "REMOVE",
        "FOREACH",
        "LOAD",
        "UNION",
        "USE",
        "FINISH",
        "LET",
        "FILTER",
        "NEXT",
        "INSERT",
        ";",
        "end",
    ]
)
_ARITHMETIC = frozenset(["+", "-", "*", "/", "%", "^"])
#: What stands before an operand: after these a bracket is no call and no subscript.
_VALUES = frozenset(["int", "float", "str", ")", "]", "}", "TRUE", "FALSE", "NULL", "END"])


@dataclass(frozen=True, slots=True)
class Change:
    """One repair: its edits (none: only reported), the place it is about, and what it says."""

    code: str
    message: str
    span: tuple[int, int]
    edits: tuple[Edit, ...] = ()


class Source:
    """A text and its tokens, by index. ``kinds`` as in the lexer; ``words`` in upper case."""

    def __init__(self, text: str) -> None:
        self.text = text
        tokens = Tokens(text)
        self.kinds = tokens.kinds
        self.values = tokens.values
        self.starts = tokens.starts
        self.ends = tokens.ends
        self.words = [
            v.upper() if k in NAMES and not text.startswith("`", s) else k
            for k, v, s in zip(self.kinds, self.values, self.starts, strict=True)
        ]
        self.count = self.kinds.index("end")
        self.depths, self.partner = self._brackets()

    def _brackets(self) -> tuple[list[int], dict[int, int]]:
        depths: list[int] = []
        partner: dict[int, int] = {}
        stack: list[int] = []
        for i, kind in enumerate(self.kinds):
            if kind in CLOSING:
                while stack:
                    opened = stack.pop()
                    if OPENING[self.kinds[opened]] == kind:
                        partner[opened], partner[i] = i, opened
                        break
            depths.append(len(stack))
            if kind in OPENING:
                stack.append(i)
        return depths, partner

    # ------------------------------------------------------------ text

    def piece(self, first: int, last: int) -> str:
        """The source from token ``first`` up to, not including, token ``last``."""
        return self.text[self.starts[first] : self.ends[last - 1]] if last > first else ""

    def key(self, first: int, last: int) -> str:
        """Tokens in one spelling, to compare expressions: words of the language ignore case."""
        return " ".join(
            self.values[i]
            if self.kinds[i] == "name"
            else self.words[i]
            if self.kinds[i] in NAMES
            else self.text[self.starts[i] : self.ends[i]]
            for i in range(first, last)
        )

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Where the tokens from ``first`` up to ``last`` stand."""
        return self.starts[first], self.ends[last - 1]

    def replace(self, first: int, last: int, text: str) -> Edit:
        """Put text in the place of tokens."""
        return Edit(*self.span(first, last), text)

    def before(self, i: int, text: str) -> Edit:
        """Insert before a token."""
        return Edit(self.starts[i], self.starts[i], text)

    def after(self, i: int, text: str) -> Edit:
        """Insert after a token."""
        return Edit(self.ends[i], self.ends[i], text)

    def drop(self, first: int, last: int) -> Edit:
        """Take tokens away with the white space before them."""
        start = self.starts[first]
        while start and self.text[start - 1] in " \t\r\n" and start > self.ends[first - 1]:
            start -= 1
        return Edit(start if first else self.starts[0], self.ends[last - 1], "")

    # ------------------------------------------------------------ structure

    def is_name(self, i: int) -> bool:
        """Whether a token can be a name."""
        return self.kinds[i] in NAMES

    def find(self, words: tuple[str, ...], first: int, last: int, depth: int) -> int:
        """Index of the first of these words at a depth, or ``last``."""
        for i in range(first, last):
            if self.depths[i] == depth and self.words[i] in words and self.kinds[i - 1] != ".":
                return i
        return last

    def clause_end(self, i: int) -> int:
        """Where the clause of token ``i`` ends: at the next clause or the end of its brackets."""
        depth = self.depths[i]
        j = i + 1
        while j < self.count:
            if self.depths[j] < depth or (self.kinds[j] in CLOSING and self.depths[j] == depth - 1):
                return j
            if (
                self.depths[j] == depth
                and self.words[j] in CLAUSES
                and self.kinds[j - 1] not in (".", ":", "AS", "$")
                and not (self.words[j] == "WITH" and self.words[j - 1] in ("STARTS", "ENDS"))
            ):
                return j
            j += 1
        return self.count

    def clause_start(self, i: int) -> int:
        """The clause word that token ``i`` belongs to, at its depth or around it; -1: none."""
        depth = self.depths[i]
        for j in range(i - 1, -1, -1):
            depth = min(depth, self.depths[j])
            if (
                self.depths[j] == depth
                and self.words[j] in CLAUSES
                and self.kinds[j - 1] not in (".", ":", "$")
                and not (self.words[j] == "WITH" and self.words[j - 1] in ("STARTS", "ENDS"))
            ):
                return j
        return -1

    def commas(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The parts between commas, at the depth of the first token."""
        depth = self.depths[first]
        start = first
        for i in range(first, last):
            if self.kinds[i] == "," and self.depths[i] == depth:
                yield start, i
                start = i + 1
        if start < last:
            yield start, last

    def operand_start(self, i: int) -> int:
        """Index of the first token of the operand that ends before token ``i``.

        A sum or product is one operand: comparisons bind less tightly.
        """
        j = self._atom_start(i)
        while j > 0 and self.kinds[j - 1] in _ARITHMETIC and j < i:
            if not (self.kinds[j - 2] in _VALUES or self.is_name(j - 2)):
                return j - 1  # a sign
            j = self._atom_start(j - 1)
        return j

    def _atom_start(self, i: int) -> int:
        j = i - 1
        while j >= 0:
            kind = self.kinds[j]
            if kind in CLOSING:
                j = self.partner.get(j, j)
                # What is called, indexed or projected belongs to it.
                if (
                    j > 0
                    and (self.is_name(j - 1) and self.words[j - 1] not in _NOT_CALLED)
                    or (self.kinds[j] == "[" and j > 0 and self.kinds[j - 1] in CLOSING)
                ):
                    j -= 1
                    if self.kinds[j] in CLOSING:
                        j += 1
                        i = j
                        return self._atom_start(i)
            if j > 1 and self.kinds[j - 1] == ".":
                j -= 2
                if self.kinds[j] in CLOSING or self.is_name(j):
                    j += 1
                    return self._atom_start(j)
                continue
            if j > 0 and self.kinds[j - 1] == "$":
                j -= 1
            return j
        return 0

    def operand_end(self, i: int, sums: bool = True) -> int:
        """Index after the operand that starts at token ``i``; with ``sums``, a whole sum."""
        j = i
        while self.kinds[j] in ("-", "+"):
            j += 1
        if self.kinds[j] == "$":
            j += 1
        if self.kinds[j] in OPENING:
            j = self.partner.get(j, j)
        j += 1
        while j < self.count:
            kind = self.kinds[j]
            if kind == "." and self.is_name(j + 1):
                j += 2
            elif (
                kind in ("(", "[", "{")
                and j in self.partner
                and self.is_name(j - 1)
                and kind != "{"
                or kind == "["
                and j in self.partner
            ):
                j = self.partner[j] + 1
            elif sums and kind in _ARITHMETIC:
                return self.operand_end(j + 1, sums)
            else:
                break
        return min(j, self.count)

    def aggregates(self, first: int, last: int) -> list[tuple[int, int]]:
        """Calls of aggregating functions among these tokens, outermost first."""
        found: list[tuple[int, int]] = []
        i = first
        while i < last:
            if (
                self.values[i].lower() in AGGREGATES
                and self.kinds[i + 1] == "("
                and i + 1 in self.partner
                and self.kinds[i - 1] != "."
            ):
                end = self.partner[i + 1] + 1
                found.append((i, end))
                i = end
            else:
                i += 1
        return found

    def variables(self, first: int, last: int) -> set[str]:
        """Names among these tokens that stand for variables: no property, label or function."""
        return {
            self.values[i]
            for i in range(first, last)
            if self.kinds[i] == "name"
            and self.kinds[i - 1] not in (".", ":", "$", "|", "&", "!")
            and self.kinds[i + 1] not in ("(", ":")
        }


_NOT_CALLED = frozenset(
    ["AND", "OR", "XOR", "NOT", "WHERE", "IN", "WITH", "RETURN", "BY", "ON", "WHEN", "THEN", "ELSE"]
    + ["CONTAINS", "STARTS", "ENDS", "IS", "AS", "DISTINCT", "HAVING", "BETWEEN", "LIKE", "CASE"]
    + ["MATCH", "UNWIND", "SET", "LIMIT", "SKIP", "MERGE", "CREATE", "UNION", "ALL", "OPTIONAL"]
)
