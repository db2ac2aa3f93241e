r"""What stands between a model's text and a query: chat tokens, markdown escapes, headers.

Everything here looks at the text between string literals, comments and back-ticked names only;
those stay as the model wrote them. It works on text that need not be Cypher at all, so it cannot
use the lexer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: String literals, comments and back-ticked names; one that is never closed runs to the end.
OPAQUE = re.compile(
    r"""'(?:[^'\\]++|\\.)*+(?:'|\Z|\\\Z)"""
    r"""|"(?:[^"\\]++|\\.)*+(?:"|\Z|\\\Z)"""
    r"""|`[^`]*+(?:``[^`]*+)*+(?:`|\Z)"""
    r"""|//[^\r\n]*+"""
    r"""|/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|\*?\Z)""",
    re.DOTALL,
)

_END_OF_TURN = (
    r"<\|(?:im_end|eot_id|eom_id|endoftext|end_of_text|end|return|call|eot|END_OF_TURN_TOKEN)\|>"
    r"|</s>|<end_of_turn>|<eos>|<\uff5cend\u2581of\u2581sentence\uff5c>|\[/?INST\]|<\|im_start\|>"
    r"|<\|start_header_id\|>|<start_of_turn>|<\|start\|>|<\uff5c(?:User|Assistant)\uff5c>"
)
_OTHER_TOKEN = r"<\|[A-Za-z_0-9]{1,32}\|>|<s>|<bos>|<pad>|<unk>|<\uff5c[^<>\s]{1,32}\uff5c>"
END_OF_TURN = re.compile(_END_OF_TURN)
SPECIAL_TOKEN = re.compile(f"{_END_OF_TURN}|{_OTHER_TOKEN}")

_MARKDOWN_ESCAPE = re.compile(r"\\([_*\[\](){}<>|~+\-.!#=&:;,/`'\"$^%])")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&apos;": "'", "&amp;": "&"}
_ENTITY = re.compile("|".join(map(re.escape, _ENTITIES)))
_ESCAPED_SPACE = re.compile(r"\\[nrt]")
_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\ufeff]")
_VALID_ESCAPE = frozenset("\\'\"bfnrtuU0`")

_LANGUAGE_LINE = re.compile(r"\A\s*[Cc](?:ypher|YPHER)[ \t\r]*\n\s*(?=[A-Z(/])")
_HEADER_WORD = re.compile(r"\s*CYPHER(?=\s)", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"\s*,?\s*([A-Za-z_]\w*)\s*=\s*")
_VERSION = re.compile(r"\s+(?:5|25)(?=\s)")
_CONSOLE_PARAMETER = re.compile(r"\s*:params?\s+", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(?:\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_WORD_VALUE = re.compile(r"(true|false|null)\b", re.IGNORECASE)
_KEY = re.compile(r"\s*([A-Za-z_]\w*|`[^`]+`|'[^'\\]*'|\"[^\"\\]*\")\s*:\s*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}

#: Options of Neo4j's ``CYPHER`` prefix, lower case: they are not parameters.
NEO4J_OPTIONS = frozenset(
    [
        "planner",
        "runtime",
        "version",
        "expressionengine",
        "operatorengine",
        "interpretedpipesfallback",
        "replan",
        "connectcomponentsplanner",
        "updatestrategy",
        "parallelruntimesupport",
        "eageranalyzer",
        "labelinference",
        "inferschemaparts",
        "statefulshortestplanningmode",
        "planvarexpandinto",
        "debug",
        "cachehint",
    ]
)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A query as it can be parsed, the parameters its header gave, and what was done to it."""

    text: str
    parameters: Mapping[str, Any]
    notes: tuple[str, ...]


def clean(raw: str) -> Cleaned:
    """Take from ``raw`` what is not Cypher; ``notes`` says in words what was taken or is odd."""
    notes: list[str] = []
    text = _drop_special_tokens(raw, notes)
    text = outside(text, lambda piece: _plain(piece, notes))
    _note_bad_escapes(text, notes)
    parameters, text = split_header(_LANGUAGE_LINE.sub("", text))
    if parameters:
        notes.append(f"parameters read from the header: {', '.join(parameters)}")
    return Cleaned(text.strip().rstrip(";").rstrip(), parameters, tuple(dict.fromkeys(notes)))


def outside(text: str, change: Callable[[str], str]) -> str:
    """``text`` with ``change`` applied to all that is no string, comment or quoted name."""
    pieces: list[str] = []
    done = 0
    for match in OPAQUE.finditer(text):
        pieces += (change(text[done : match.start()]), match[0])
        done = match.end()
    pieces.append(change(text[done:]))
    return "".join(pieces)


def masked(text: str) -> str:
    """``text`` with the inside of strings, comments and quoted names blanked, equally long."""
    blank = OPAQUE.sub(_mask, text)
    # The semicolon of ``&gt;`` ends no statement.
    return _ENTITY.sub(_mask, blank) if "&" in blank else blank


def _mask(match: re.Match[str]) -> str:
    return match[0][0] + "\0" * (len(match[0]) - 1)


def statements(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the non-empty statements of ``text``, cut at ``;`` outside strings and comments."""
    start = 0
    blank = masked(text)
    while start <= len(text):
        end = blank.find(";", start)
        end = len(text) if end < 0 else end
        if text[start:end].strip():
            yield start, end
        start = end + 1


def _drop_special_tokens(text: str, notes: list[str]) -> str:
    blank = masked(text)
    pieces: list[str] = []
    done = 0
    for match in SPECIAL_TOKEN.finditer(blank):
        if not text[: match.start()].strip():
            done = match.end()
            continue
        pieces.append(text[done : match.start()])
        notes.append(f"chat token {match[0]} removed")
        done = match.end()
        if END_OF_TURN.match(match[0]):
            # What follows would be somebody else's turn.
            return "".join(pieces)
    pieces.append(text[done:])
    return "".join(pieces)


def _plain(piece: str, notes: list[str]) -> str:
    if "\\" in piece:
        piece, n = _MARKDOWN_ESCAPE.subn(r"\1", piece)
        if n:
            notes.append("markdown escapes removed")
        piece, n = _ESCAPED_SPACE.subn("\n", piece)
        if n:
            notes.append("escaped line ends resolved")
    if "&" in piece:
        piece, n = _ENTITY.subn(lambda m: _ENTITIES[m[0]], piece)
        if n:
            notes.append("HTML entities resolved")
    return _INVISIBLE.sub("", piece).replace("\r\n", "\n").replace("\r", "\n")


def _note_bad_escapes(text: str, notes: list[str]) -> None:
    for match in OPAQUE.finditer(text):
        if match[0][0] in "'\"":
            for escape in re.finditer(r"\\(.)", match[0], re.DOTALL):
                if escape[1] not in _VALID_ESCAPE:
                    notes.append(f"a string holds {escape[0]!r:.8}, which is no Cypher escape")


# ---------------------------------------------------------------- parameters before the query


def split_header(text: str) -> tuple[dict[str, Any], str]:
    """Parameters written before the query, and the query; Neo4j's own options stay in it.

    Forms: ``name='Ann', since=1999 MATCH ...``, the same after ``CYPHER``, and a console's
    ``:param name => 'Ann'``. Text in which they do not parse is returned as it is.
    """
    parameters: dict[str, Any] = {}
    rest = text
    while match := _CONSOLE_PARAMETER.match(rest):
        line, _, after = rest[match.end() :].partition("\n")
        found = _console_line(line)
        if found is None:
            return {}, text
        parameters |= found
        rest = after
    word = _HEADER_WORD.match(rest)
    pos = word.end() if word else 0
    kept = ""
    if word and (version := _VERSION.match(rest, pos)):
        kept = version[0]
        pos = version.end()
    header: dict[str, Any] = {}
    while match := _ASSIGNMENT.match(rest, pos):
        if match[1].lower() in NEO4J_OPTIONS:
            option = re.compile(r"\s*\w+\s*=\s*\w+").match(rest, pos)
            if not word or option is None:
                break
            kept += option[0]
            pos = option.end()
            continue
        value = read_literal(rest, match.end())
        if value is None:
            break
        header[match[1]], pos = value
    if header and rest[pos:].strip():
        query = rest[pos:].lstrip(" \t\r\n,;")
        rest = f"CYPHER{kept} {query}" if kept else query
        parameters |= header
    return parameters, rest


def _console_line(line: str) -> dict[str, Any] | None:
    body = line.strip().rstrip(";")
    if body.startswith("{"):
        found = read_literal(body, 0)
        return found[0] if found and isinstance(found[0], dict) else None
    match = re.match(r"(\w+)\s*(?:=>|:|=)\s*", body)
    value = read_literal(body, match.end()) if match else None
    return {match[1]: value[0]} if match and value else None


def read_literal(text: str, pos: int) -> tuple[Any, int] | None:
    """The Cypher literal at ``pos`` as a Python value, and where it ends; None if there is none."""
    if pos >= len(text):
        return None
    if text[pos] in "'\"":
        match = OPAQUE.match(text, pos)
        if match is None or len(match[0]) < 2 or match[0][-1] != text[pos]:
            return None
        return _ESCAPE.sub(_unescape, match[0][1:-1]), match.end()
    if match := _NUMBER.match(text, pos):
        digits = match[0]
        return (int(digits) if digits.lstrip("+-").isdigit() else float(digits)), match.end()
    if match := _WORD_VALUE.match(text, pos):
        return {"true": True, "false": False, "null": None}[match[1].lower()], match.end()
    if text[pos] == "[":
        return _read_list(text, pos)
    if text[pos] == "{":
        return _read_map(text, pos)
    return None


def _unescape(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return _SIMPLE_ESCAPES.get(match[2], match[2])


def _skip_space(text: str, pos: int) -> int:
    while pos < len(text) and text[pos].isspace():
        pos += 1
    return pos


def _read_list(text: str, pos: int) -> tuple[list[Any], int] | None:
    items: list[Any] = []
    pos = _skip_space(text, pos + 1)
    while pos < len(text) and text[pos] != "]":
        item = read_literal(text, pos)
        if item is None:
            return None
        items.append(item[0])
        pos = _skip_space(text, item[1])
        if text[pos : pos + 1] == ",":
            pos = _skip_space(text, pos + 1)
        elif text[pos : pos + 1] != "]":
            return None
    return (items, pos + 1) if pos < len(text) else None


def _read_map(text: str, pos: int) -> tuple[dict[str, Any], int] | None:
    entries: dict[str, Any] = {}
    pos = _skip_space(text, pos + 1)
    while pos < len(text) and text[pos] != "}":
        key = _KEY.match(text, pos)
        value = read_literal(text, key.end()) if key else None
        if key is None or value is None:
            return None
        entries[key[1].strip("`'\"")] = value[0]
        pos = _skip_space(text, value[1])
        if text[pos : pos + 1] == ",":
            pos = _skip_space(text, pos + 1)
        elif text[pos : pos + 1] != "}":
            return None
    return (entries, pos + 1) if pos < len(text) else None
