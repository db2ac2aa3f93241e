"""Making a draft parse by the smallest changes: what a slip of the pen or of another language needs.

Each step looks at the place where the parser stopped, tries the few changes that fit there, and
keeps the one after which the parser gets furthest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rapidfuzz import fuzz

from cypherforge.cypher import CypherSyntaxError, parse
from cypherforge.cypher.edits import Edit, apply_edits
from cypherforge.cypher.tokens import KEYWORDS, Tokens

MAX_STEPS = 4
_ALIKE = 70.0
_PUNCTUATION = (")", "]", "}", "(", ",", ":", "->", "-")
_CLAUSES = frozenset(
    "MATCH OPTIONAL WHERE WITH RETURN ORDER SKIP LIMIT UNWIND UNION CALL end".split()
)


@dataclass(frozen=True, slots=True)
class ParseRepair:
    """``text`` parses; ``code`` is ``syntax.parse`` or ``syntax.dialect``; ``span`` of the draft."""

    text: str
    code: str
    span: tuple[int, int]
    reason: str


@dataclass(frozen=True, slots=True)
class _Try:
    edits: tuple[Edit, ...]
    dialect: bool
    reason: str


def repair_parse(text: str) -> ParseRepair | None:
    """Return the draft so changed that it parses; None if no few changes do it.

    ``text`` must not parse as it is.
    """
    first: tuple[int, int] | None = None
    dialect = False
    reasons: list[str] = []
    current = text
    for _ in range(MAX_STEPS):
        try:
            parse(current)
        except CypherSyntaxError as error:
            first = first or error.span
            best: tuple[int, str, _Try] | None = None
            for attempt in _attempts(current, error):
                changed = apply_edits(current, attempt.edits)
                reach = _reach(changed) - (len(changed) - len(current))
                if best is None or reach > best[0]:
                    best = (reach, changed, attempt)
                if reach >= len(current) + 1:
                    break
            if best is None or best[0] <= error.span[0]:
                return None
            current, attempt = best[1], best[2]
            dialect = dialect or attempt.dialect
            reasons.append(attempt.reason)
        else:
            break
    else:
        try:
            parse(current)
        except CypherSyntaxError:
            return None
    assert first is not None
    code = "syntax.dialect" if dialect or looks_foreign(text) else "syntax.parse"
    return ParseRepair(current, code, first, "; ".join(reasons))


def looks_foreign(text: str) -> bool:
    """Return whether a text that does not parse is written in another query language."""
    tokens = Tokens(text)
    words = {value.upper() for value in tokens.values}
    return bool(words & {"SELECT", "HAVING", "GROUP", "JOIN"}) or "==" in text


def _reach(text: str) -> int:
    """How far the parser gets; past the end if the text parses."""
    try:
        parse(text)
    except CypherSyntaxError as error:
        return error.span[0]
    return len(text) + 1


def _attempts(text: str, error: CypherSyntaxError) -> Iterator[_Try]:
    tokens = Tokens(text)
    start = error.span[0]
    count = len(tokens.starts) - 4
    index = next((i for i in range(count) if tokens.starts[i] >= start), count)
    for near in (index, index - 1, index - 2):
        if 0 <= near < count:
            yield from _foreign(text, tokens, near)
    for near in (index, index - 1):
        if 0 <= near < count:
            word = text[tokens.starts[near] : tokens.ends[near]]
            yield from _misspelt(word, tokens.starts[near], tokens.ends[near])
    if start < len(text):
        yield _Try((Edit(start, len(text), ""),), False, "text behind the query")
    for sign in _PUNCTUATION:
        yield _Try((Edit(start, start, sign),), False, f"{sign} is missing")
    if 0 <= index < count:
        word = text[tokens.starts[index] : tokens.ends[index]]
        edit = Edit(tokens.starts[index], tokens.ends[index], "")
        yield _Try((edit,), False, f"{word} does not belong there")


def _misspelt(word: str, start: int, end: int) -> Iterator[_Try]:
    if not word.isalpha() or len(word) < 3:
        return
    upper = word.upper()
    scored = sorted(
        (-fuzz.ratio(upper, keyword), keyword) for keyword in KEYWORDS if keyword != upper
    )
    for score, keyword in scored[:2]:
        if -score >= _ALIKE:
            yield _Try((Edit(start, end, keyword),), False, f"{word} for {keyword}")


def _between(text: str, tokens: Tokens, index: int) -> Iterator[_Try]:
    """``x BETWEEN a AND b`` of SQL, as ``a <= x <= b``."""
    kinds, starts, ends = tokens.kinds, tokens.starts, tokens.ends
    begin = index
    while begin and kinds[begin - 1] not in ("WHERE", "AND", "OR", "XOR", "NOT", "("):
        begin -= 1
    middle = index + 1
    while middle < len(starts) and kinds[middle] not in ("AND", "end", *_CLAUSES):
        middle += 1
    if begin == index or middle == index + 1 or kinds[middle] != "AND":
        return
    value = text[starts[begin] : ends[index - 1]]
    low = text[starts[index + 1] : ends[middle - 1]]
    edit = Edit(starts[begin], ends[middle], f"{low} <= {value} <=")
    yield _Try((edit,), True, "BETWEEN is not Cypher; a chain of <= is")


def _foreign(text: str, tokens: Tokens, index: int) -> Iterator[_Try]:
    kinds, starts, ends = tokens.kinds, tokens.starts, tokens.ends
    word = text[starts[index] : ends[index]].upper()
    if word == "GROUP" and kinds[index + 1] == "BY":
        stop = index + 2
        while kinds[stop] not in _CLAUSES and tokens.values[stop].upper() != "HAVING":
            stop += 1
        yield _Try((Edit(starts[index], starts[stop], ""),), True, "GROUP BY is not Cypher")
    if word == "LIKE" and kinds[index + 1] == "str":
        literal = text[starts[index + 1] : ends[index + 1]]
        body = literal[1:-1]
        inner = body.strip("%")
        op = "CONTAINS"
        if body.startswith("%") != body.endswith("%"):
            op = "ENDS WITH" if body.startswith("%") else "STARTS WITH"
        elif inner == body:
            op = "="
        edits = (
            Edit(starts[index], ends[index], op),
            Edit(starts[index + 1], ends[index + 1], f"{literal[0]}{inner}{literal[-1]}"),
        )
        yield _Try(edits, True, "LIKE is not Cypher")
    if word == "BETWEEN":
        yield from _between(text, tokens, index)
    if word == "=" and kinds[index + 1] == "=":
        yield _Try((Edit(starts[index + 1], ends[index + 1], ""),), True, "== is not Cypher")
    if word == "NOT" and kinds[index + 1] in ("IN", "CONTAINS", "STARTS", "ENDS"):
        begin = index - 1
        while begin > 0 and kinds[begin - 1] not in ("WHERE", "AND", "OR", "(", "XOR"):
            begin -= 1
        edits = (
            Edit(starts[begin], starts[begin], "NOT "),
            Edit(starts[index], starts[index + 1], ""),
        )
        yield _Try(edits, True, f"NOT stands before the whole, not before {kinds[index + 1]}")
    if word == "WHERE":
        yield _Try((Edit(starts[index], ends[index], "AND"),), False, "a second WHERE")
    if word in ("SELECT", "FROM"):
        edit = Edit(starts[index], ends[index], "RETURN" if word == "SELECT" else "MATCH")
        yield _Try((edit,), True, f"{word} is not Cypher")
