"""Commands for schema and administration, read by the templates of ``commands``."""

from __future__ import annotations

from cypherforge.cypher import ast
from cypherforge.cypher.commands import VERB_WORDS, Form, forms
from cypherforge.cypher.parser_clauses import CLAUSES, ClauseParser
from cypherforge.cypher.parser_projections import PAGING
from cypherforge.cypher.tokens import NAMES


class SchemaParser(ClauseParser):
    """The part of the parser that reads commands."""

    __slots__ = ("_expected", "_furthest", "_tail")

    def command(self) -> ast.Command:
        """A command, or several: ``SHOW TRANSACTIONS YIELD ... TERMINATE TRANSACTIONS ...``."""
        kinds = self.kinds
        first = self.i
        verb = self._verb(first)
        writes = False
        clauses: list[ast.Node] = []
        while True:
            word = kinds[self.i]
            writes = writes or word != "SHOW"
            self._one_command(word)
            clauses += self._tail
            if not (self._tail and kinds[self.i] in ("SHOW", "TERMINATE")):
                break
        start, end = self.span(first)
        return ast.Command((start, end), verb, writes, self.text[start:end], clauses)

    def _one_command(self, word: str) -> None:
        kinds = self.kinds
        first = self.i
        self._furthest = first
        self._expected: list[str] = []
        best = -1
        tail: list[ast.Node] = []
        for form in forms(word):
            self.i = first
            self._tail: list[ast.Node] = []
            if self._fits(form):
                end = self.i
                if kinds[end] in ("end", ";", "}") or (
                    self._tail and kinds[end] in ("SHOW", "TERMINATE")
                ):
                    return
                if end > best:
                    best, tail = end, self._tail
        self._tail = tail
        if best >= self._furthest:
            self.refuse(best, *(self._expected if best == self._furthest else ()), "the end")
        self.refuse(self._furthest, *dict.fromkeys(self._expected))

    def _verb(self, i: int) -> str:
        words = [self._word(i)]
        while self.kinds[i + 1] in NAMES and self._word(i + 1) in VERB_WORDS:
            i += 1
            words.append(self._word(i))
        return " ".join(words)

    # ---------------------------------------------------------------- templates

    def _fits(self, form: Form) -> bool:
        """Read ``form``; False, at the old place, where the tokens do not fit."""
        first = self.i
        kind = form.kind
        if kind == "all":
            if self._fits_all(form.parts, 0):
                return True
        elif kind == "any":
            for part in form.parts:
                if self._fits(part):
                    return True
        elif kind == "maybe":
            self._fits(form.parts[0])
            return True
        elif kind == "word":
            if self.at_word(form.text):
                self.i += 1
                return True
            self._wants(form.text)
        elif kind == "sign":
            if self.kinds[first] == form.text:
                self.i += 1
                return True
            self._wants(form.text)
        elif self._fits_hole(form.text):
            return True
        self.i = first
        return False

    def _fits_all(self, parts: tuple[Form, ...], at: int) -> bool:
        """Read the parts in order; an optional part is left out where the rest fits only so."""
        if at == len(parts):
            return True
        first = self.i
        part = parts[at]
        if self._fits(part) and self._fits_all(parts, at + 1):
            return True
        if part.kind == "maybe" and self.i >= first:
            self.i = first
            if self._fits_all(parts, at + 1):
                return True
        self.i = first
        return False

    def _wants(self, what: str) -> None:
        if self.i > self._furthest:
            self._furthest = self.i
            self._expected = []
        if self.i == self._furthest:
            self._expected.append(what)

    def _fits_hole(self, what: str) -> bool:
        kinds = self.kinds
        kind = kinds[self.i]
        if what == "rest" or what.startswith("to "):
            return self._skip_to(what[3:] if what != "rest" else "")
        if what == "element":
            if kind != "(":
                self._wants("a pattern: (")
                return False
            self._node()
            if kinds[self.i] in ("-", "<"):
                self._relationship()
                self._node()
        elif what == "tail":
            if kind not in ("YIELD", "WHERE"):
                self._wants("YIELD")
                self._wants("WHERE")
                return False
            self._tail = self._show_tail()
        elif what == "type":
            self.type_name()
        elif what in ("value", "values"):
            if kind in ("end", ";", "YIELD", "WHERE"):
                self._wants("a value")
                return False
            self.expression()
            while what == "values" and kinds[self.i] == ",":
                self.i += 1
                self.expression()
        else:
            one = what.removesuffix("s")
            if not self._one(one):
                return False
            while what.endswith("s") and kinds[self.i] == ",":
                self.i += 1
                if not self._one(one):
                    return False
        return True

    def _one(self, what: str) -> bool:
        """A name, a dotted name or a key; False where there is none."""
        kinds = self.kinds
        if what == "key":
            first = self.i
            if kinds[first] not in NAMES:
                self._wants("a property such as n.name")
                return False
            self.dotted_name()
            if self.i - first != 3:
                self.i = first + 1
                self._wants(".")
                return False
            return True
        if kinds[self.i] == "$":
            self.operand()
        elif kinds[self.i] in NAMES:
            if what == "name":
                self.i += 1
            else:
                self.dotted_name()
        elif kinds[self.i] == "str" and what == "dotted":
            self.i += 1
        else:
            self._wants("a name")
            return False
        return True

    def _skip_to(self, word: str) -> bool:
        """Go to ``word``, or to the end where it is empty, over brackets in pairs."""
        kinds = self.kinds
        first = self.i
        while kinds[self.i] not in ("end", ";") and not (word and self.at_word(word)):
            if kinds[self.i] == "bad":
                self.refuse(self.i)
            if kinds[self.i] in ("(", "[", "{"):
                close = self._closing(self.i)
                if kinds[close] == "end":
                    self.refuse(self.i, problem=f"`{kinds[self.i]}` is not closed")
                self.i = close
            self.i += 1
        if word and not self.at_word(word):
            self._wants(word)
            return False
        if self.i == first:
            self._wants("the rest of the command")
            return False
        return True

    def _show_tail(self) -> list[ast.Node]:
        """``YIELD items [ORDER BY ...] [WHERE p] [RETURN ...]`` or ``WHERE p``."""
        kinds = self.kinds
        nodes: list[ast.Node] = []
        if kinds[self.i] == "YIELD":
            items, _star, where = self._yield()
            nodes += items
            if where is None and kinds[self.i] in PAGING:
                nodes.append(self._order_and_page())
                where = self._where()
            if where is not None:
                nodes.append(where)
            if kinds[self.i] == "RETURN":
                nodes.append(CLAUSES["RETURN"](self))
        else:
            where = self._where()
            if where is not None:
                nodes.append(where)
        return nodes
