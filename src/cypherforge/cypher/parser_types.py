"""Names of types, as in ``x IS :: LIST<INTEGER NOT NULL> | FLOAT``."""

from __future__ import annotations

from cypherforge.cypher.parser_base import ParserBase
from cypherforge.cypher.tokens import NAMES

_PLAIN_TYPES = """
    ARRAY BIGINT BOOL BOOLEAN DATE DURATION EDGE FLOAT FLOAT32 FLOAT64 INT INT8 INT16 INT32 INT64
    INTEGER INTEGER8 INTEGER16 INTEGER32 INTEGER64 LIST MAP NODE NOTHING NULL PATH PATHS POINT REAL
    RELATIONSHIP SMALLINT STRING UUID VARCHAR VECTOR VERTEX
"""
_TYPES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_PLAIN_TYPES.split(), ("",)),
    "LOCAL": ("TIME", "DATETIME"),
    "ZONED": ("TIME", "DATETIME"),
    "TIME": ("WITH TIME ZONE", "WITHOUT TIME ZONE", "WITH TIMEZONE", "WITHOUT TIMEZONE"),
    "TIMESTAMP": ("WITH TIME ZONE", "WITHOUT TIME ZONE", "WITH TIMEZONE", "WITHOUT TIMEZONE"),
    "SIGNED": ("INTEGER",),
    "PROPERTY": ("VALUE",),
    "ANY": ("NODE", "VERTEX", "EDGE", "RELATIONSHIP", "MAP", "PROPERTY VALUE", "VALUE", ""),
}
"""First words of types, and the words that may follow."""


class TypeParser(ParserBase):
    """The part of the parser that reads names of types."""

    __slots__ = ()

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
            if words and words[-1] not in "<(" and word not in "<>(),":
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
        elif word == "VECTOR":
            if kinds[self.i] == "<":
                self.i += 1
                self._type()
                self.take(">")
            if kinds[self.i] == "(":
                self.i += 1
                self.integer()
                if kinds[self.i] == ",":
                    self.i += 1
                    self._type()
                self.take(")")
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
