"""The lexer: Cypher text to tokens, by one regular expression.

The work is done by loops that run in C: ``findall`` cuts the text into pieces, a dictionary gives
each piece its kind, sums of lengths give the places. The kind of a token is

- the upper-case word, for a keyword (any keyword may also be a name: the parser decides),
- the sign itself, for operators and brackets,
- ``name``, ``int``, ``float``, ``str`` for the rest,
- ``bad`` for what no Cypher token starts with, and ``end`` after the last one.

``\\uXXXX`` escapes may stand anywhere in a query, so they are resolved before cutting; the places
still count in the text as given.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, compress

KEYWORDS = frozenset(
    [
        "ALL",
        "ALLREDUCE",
        "ALLSHORTESTPATHS",
        "ALTER",
        "AND",
        "ANY",
        "AS",
        "ASC",
        "ASCENDING",
        "BY",
        "CALL",
        "CASE",
        "COLLECT",
        "CONTAINS",
        "COUNT",
        "CREATE",
        "CSV",
        "CYPHER",
        "DEALLOCATE",
        "DELETE",
        "DENY",
        "DESC",
        "DESCENDING",
        "DETACH",
        "DISTINCT",
        "DROP",
        "DRYRUN",
        "ELSE",
        "ENABLE",
        "END",
        "ENDS",
        "EXISTS",
        "EXPLAIN",
        "FALSE",
        "FILTER",
        "FINISH",
        "FOR",
        "FOREACH",
        "FROM",
        "GRANT",
        "IN",
        "INF",
        "INFINITY",
        "INSERT",
        "IS",
        "LET",
        "LIMIT",
        "LOAD",
        "MATCH",
        "MERGE",
        "NAN",
        "NEXT",
        "NODETACH",
        "NONE",
        "NORMALIZE",
        "NOT",
        "NULL",
        "OFFSET",
        "ON",
        "OPTIONAL",
        "OR",
        "ORDER",
        "PROFILE",
        "REALLOCATE",
        "REDUCE",
        "REMOVE",
        "RENAME",
        "RETURN",
        "REVOKE",
        "SEARCH",
        "SET",
        "SHORTESTPATH",
        "SHOW",
        "SINGLE",
        "SKIP",
        "START",
        "STARTS",
        "STOP",
        "TERMINATE",
        "THEN",
        "TRIM",
        "TRUE",
        "UNION",
        "UNWIND",
        "USE",
        "USING",
        "WHEN",
        "WHERE",
        "WITH",
        "XOR",
        "YIELD",
    ]
)
"""Words with a kind of their own. All of them may be names too."""

NAMES = KEYWORDS | {"name"}
"""Kinds that can be a name."""

_SIGNS = r"<=|>=|<>|=~|\+=|!=|\|\||\.\.|::|[-()\[\]{},.:;=<>+*/%^|&!$@?#~\\]"
_NUMBER = (
    r"(?:\d[\d_]*+)?\.\d[\d_]*+(?:[eE][+-]?\d[\d_]*+)?\w*+"
    r"|\d[\d_]*+[eE][+-]?\d[\d_]*+\w*+"
    r"|\d\w*+"
)
# Possessive loops, and what is not closed taken to the end as one bad token: no text can make the
# lexer read the same characters again and again.
_REST = (
    r"|//[^\n\r]*+|/\*[^*]*+\*++(?:[^/*][^*]*+\*++)*+/|/\*[\s\S]*+"
    rf"|{_NUMBER}|{_SIGNS}"
    r"|'[^'\\]*+(?:\\[\s\S][^'\\]*+)*+'|'[\s\S]*+"
    r'|"[^"\\]*+(?:\\[\s\S][^"\\]*+)*+"|"[\s\S]*+'
    r"|`[^`]*+(?:``[^`]*+)*+`(?!`)|`[\s\S]*+"
    r"|[\s\S]"
)
_ASCII = re.compile(r"[ \n\t\r\f\v\x1c-\x1f]+|[A-Za-z_][\w$]*+" + _REST)

_DASHES = "\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_LEFT_HEADS = "\u27e8\u3008\ufe64\uff1c"
_RIGHT_HEADS = "\u27e9\u3009\ufe65\uff1e"

_CLOSED = re.compile(
    r"'[^'\\]*+(?:\\[\s\S][^'\\]*+)*+'"
    r'|"[^"\\]*+(?:\\[\s\S][^"\\]*+)*+"'
    r"|`[^`]*+(?:``[^`]*+)*+`|/\*[^*]*+\*++(?:[^/*][^*]*+\*++)*+/"
)
_OPENS = re.compile(r"(?<![\w$`.])[sS]['\"]")
_TEXT = {q: re.compile(rf"(?:[^{{}}\\{q}]|\\[\s\S])++|[\s\S]") for q in "'\""}
_INTEGER = re.compile(r"0x(?:_?[0-9a-fA-F])+|0o(?:_?[0-7])+|(?:0|[1-9](?:_?\d)*)")
_FLOAT = re.compile(
    r"(?:(?:\d(?:_?\d)*)?\._?\d(?:_?\d)*(?:_?[eE][+-]?\d(?:_?\d)*)?"
    r"|\d(?:_?\d)*_?[eE][+-]?\d(?:_?\d)*)[dDfF]?"
)
_ESCAPE = re.compile(r"\\(?:u+([0-9a-fA-F]{4})|[\s\S])")


@cache
def _unicode_pattern() -> re.Pattern[str]:
    """The lexer for text beyond ASCII: Java's identifier letters, as Neo4j has them."""
    first, later = [], []
    for code in range(0x80, 0x10000):
        char = chr(code)
        category = unicodedata.category(char)
        if category[0] == "L" or category in ("Nl", "Sc", "Pc"):
            first.append(code)
        elif category in ("Mn", "Mc", "Nd") or char in "\u200c\u200d":
            later.append(code)
    start = _ranges(first)
    part = _ranges(sorted(first + later))
    space = r"[\s\u180e]+"
    return re.compile(rf"{space}|[A-Za-z_{start}][\w${part}]*+" + _REST)


def _ranges(codes: list[int]) -> str:
    """A regular expression's character ranges for sorted code points."""
    parts: list[str] = []
    begin = last = codes[0]
    for code in [*codes[1:], -1]:
        if code != last + 1:
            parts.append(f"{chr(begin)}-{chr(last)}")
            begin = code
        last = code
    return "".join(parts)


class _Kinds(dict[str, str]):
    """Kind of each piece of text; '' for white space and comments. Remembers what it has seen."""

    LIMIT = 50_000

    def __missing__(self, piece: str) -> str:
        kind = _classify(piece)
        if len(self) < self.LIMIT and len(piece) < 40:
            self[piece] = kind
        return kind


def _classify(piece: str) -> str:
    char = piece[0]
    if char.isalpha() or char == "_":
        word = piece.upper()
        return word if word in KEYWORDS and piece.isascii() else "name"
    if char.isspace() or char == "\u180e":
        return ""
    if char.isdecimal() and char.isascii() or (char == "." and piece[1:2].isdecimal()):
        if _INTEGER.fullmatch(piece):
            return "int"
        return "float" if _FLOAT.fullmatch(piece) else "bad"
    if char in "'\"`":
        if _CLOSED.fullmatch(piece) is None:
            return "bad"
        return "name" if char == "`" else "str"
    if char == "/" and len(piece) > 1:
        return "" if piece[1] == "/" or _CLOSED.fullmatch(piece) else "bad"
    if char in "?#@~\\":
        return "bad"
    if char in _DASHES:
        return "-"
    if char in _LEFT_HEADS:
        return "<"
    if char in _RIGHT_HEADS:
        return ">"
    if char.isascii():
        return piece if char >= " " else "bad"
    return "name" if unicodedata.category(char) in ("Nl", "Sc", "Pc") else "bad"


_KINDS = _Kinds()
_kind_of = _KINDS.__getitem__
_QUIET_END = ["end"] * 4


class Tokens:
    """The tokens of a text as parallel lists, ending in a few ``end`` tokens for looking ahead.

    ``values`` has names without back-ticks and escapes resolved; ``text[starts[i]:ends[i]]`` is a
    token as written.
    """

    __slots__ = ("ends", "kinds", "starts", "text", "values")

    def __init__(self, text: str, interpolated: bool = False) -> None:
        self.text = text
        places: list[int] | None = None
        source = text
        if "\\u" in text:
            source, places = _resolve_escapes(text)
        pattern = _ASCII if source.isascii() else _unicode_pattern()
        if interpolated:
            pieces, kinds = _cut_interpolated(pattern, source)
        else:
            pieces = pattern.findall(source)
            kinds = list(map(_kind_of, pieces))
        bounds = list(accumulate(map(len, pieces), initial=0))
        if places is not None:
            bounds = [places[b] for b in bounds]
        self.values: list[str] = list(compress(pieces, kinds))
        self.starts: list[int] = list(compress(bounds, kinds))
        del bounds[0]
        self.ends: list[int] = list(compress(bounds, kinds))
        self.kinds: list[str] = [k for k in kinds if k]
        if "`" in source:
            self.values = [
                v[1:-1].replace("``", "`") if v[0] == "`" and len(v) > 1 and k == "name" else v
                for v, k in zip(self.values, filter(None, kinds), strict=True)
            ]
        end = len(text)
        self.kinds += _QUIET_END
        self.values += ("", "", "", "")
        self.starts += (end, end, end, end)
        self.ends += (end, end, end, end)


def may_interpolate(text: str) -> bool:
    """Whether an interpolated string may begin somewhere; cheap, and at times true by chance."""
    return _OPENS.search(text) is not None


def _cut_interpolated(pattern: re.Pattern[str], source: str) -> tuple[list[str], list[str]]:
    """Pieces and kinds of a text with interpolated strings, by a lexer with two modes.

    ``s'`` is ``s-begin``, text up to a brace or the quote is ``s-text``, the quote ``s-end``; between
    the braces stand ordinary tokens, further interpolated strings among them.
    """
    pieces: list[str] = []
    kinds: list[str] = []
    # The quotes of the strings around the place, and the braces open in each one's expression
    # (-1: the place is in its text).
    strings: list[tuple[str, int]] = []
    i = 0
    while i < len(source):
        quote, depth = strings[-1] if strings else ("", 0)
        if quote and depth < 0:
            piece = _TEXT[quote].match(source, i)[0]  # type: ignore[index]
            kind = "s-text"
            if piece == quote:
                kind = "s-end"
                strings.pop()
            elif piece == "{":
                kind = piece
                strings[-1] = (quote, 0)
            elif piece in "}\\":
                kind = "bad"
        elif source[i] in "sS" and source[i + 1 : i + 2] in ("'", '"'):
            piece, kind = source[i : i + 2], "s-begin"
            strings.append((piece[1], -1))
        else:
            piece = pattern.match(source, i)[0]  # type: ignore[index]
            kind = _kind_of(piece)
            if quote and kind in ("{", "}"):
                strings[-1] = (quote, depth + (1 if kind == "{" else -1))
        pieces.append(piece)
        kinds.append(kind)
        i += len(piece)
    return pieces, kinds


def _resolve_escapes(text: str) -> tuple[str, list[int]]:
    """The text with ``\\uXXXX`` replaced, and for each of its places the place in ``text``."""
    parts: list[str] = []
    places: list[int] = []
    last = 0
    for match in _ESCAPE.finditer(text):
        if match[1] is None:
            continue
        start, end = match.span()
        parts += text[last:start], chr(int(match[1], 16))
        places += range(last, start)
        places.append(start)
        last = end
    parts.append(text[last:])
    places += range(last, len(text) + 1)
    return "".join(parts), places


def broken_escape(text: str) -> int:
    """Place of the first ``\\u`` without its four digits, or -1."""
    for match in _ESCAPE.finditer(text):
        if match[0] == "\\u":
            return match.start()
    return -1


@dataclass(frozen=True, slots=True)
class Token:
    """One token or, with ``kind`` empty, white space and comments between tokens."""

    kind: str
    text: str
    start: int
    end: int


def tokenize(text: str) -> Iterator[Token]:
    """All tokens and the trivia between them, in order; their texts join to ``text``.

    Never fails: what is not Cypher comes as ``bad`` tokens.
    """
    tokens = Tokens(text)
    place = 0
    for kind, start, end in zip(tokens.kinds, tokens.starts, tokens.ends, strict=True):
        if start > place:
            yield Token("", text[place:start], place, start)
        if kind == "end":
            return
        yield Token(kind, text[start:end], start, end)
        place = end


_STRING_ESCAPE = re.compile(r"\\([\s\S])")
_ESCAPED_BRACE = re.compile(r"(\\\\)|\\([{}])")
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def string_value(literal: str, braces: bool = False) -> str:
    """The value of a string literal, quotes included; unknown escapes stand for themselves.

    ``braces``: it is text of an interpolated string, where braces are escaped too.
    """
    body = literal[1:-1]
    if "\\" not in body:
        return body
    if braces:
        body = _ESCAPED_BRACE.sub(r"\1\2", body)
    return _STRING_ESCAPE.sub(_unescape, body)


def _unescape(match: re.Match[str]) -> str:
    char = match[1]
    if char in "\\'\"`":
        return char
    return _ESCAPED.get(char, match[0])
