"""Finding a query that stands in running text: where it starts, and where prose takes over.

A query starts at the start of a line, after a colon, or after a sentence; with a clause keyword and
what may follow it. It ends where no Cypher can go on: a query cannot continue with a bare word, so
a line that starts with one, after a line that is complete, is prose again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cypherforge.cypher import ast
from cypherforge.cypher.answers.cleaning import END_OF_TURN, masked, split_header
from cypherforge.cypher.errors import CypherSyntaxError
from cypherforge.cypher.parser import parse

_NAME = r"(?:`[^`]+`|[^\W\d]\w*)"
_PATTERN = (
    rf"(?:\(|{_NAME}\s*=\s*|(?:ALL|ANY|SHORTEST|DIFFERENT|REPEATABLE|TRAIL|WALK|ACYCLIC)\b[^.\n]{{0,60}}\("
    r"|(?:all)?shortestPaths?\s*\()"
)
_CLAUSE = (
    rf"(?:OPTIONAL\s+)?MATCH\s*{_PATTERN}|UNWIND\s+[\[\w$(`'\"{{]|(?:OPTIONAL\s+)?CALL\s*[{{(]"
    rf"|(?:OPTIONAL\s+)?CALL\s+{_NAME}(?:\.{_NAME})+|MERGE\s*{_PATTERN}|CREATE\s*\("
    r"|CREATE\s+(?:OR\s+REPLACE\s+)?(?:\w+\s+)?(?:INDEX|CONSTRAINT)\b|INSERT\s*\(|LOAD\s+CSV\b"
    r"|FOREACH\s*\(|LET\s+\w+\s*=|SHOW\s+[A-Z]{4,}|SELECT\s[^.\n]*\bFROM\b|USE\s+[\w.`]+\s+MATCH\b"
)
_WEAK = r"WITH\s+\S|RETURN\s+\S|USE\s+\S"
_PREFIX = r"(?:(?:EXPLAIN|PROFILE|CYPHER(?:\s+(?:\d+|\w+\s*=\s*\w+))*)\s+)*"

STRONG = re.compile(rf"{_PREFIX}(?:{_CLAUSE})", re.IGNORECASE)
WEAK = re.compile(rf"{_PREFIX}(?:{_WEAK})", re.IGNORECASE)
_HEADER = re.compile(
    r"(?:CYPHER\s+(?:(?:5|25)\s+)?)?\w+\s*=\s*['\"\d\[{tf+-]|:params?\s", re.IGNORECASE
)
_BOUNDARY = re.compile(
    r"(?m)(?:^[ \t>]*(?:(?:[-*+\u2022]|\d{1,2}[.)])[ \t]+)?(?:\*\*|__)?(?:cypher\b\s+(?=[A-Z]))?"
    r"|[:.!?;\u2014]['\"*_\u201d]*[ \t]+|['\"\u201c\u00ab])"
)
_COMMENTS = re.compile(r"(?:\s+|//[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.DOTALL)

#: Words a line of a query may start with when the line before it is complete.
_CONTINUES = re.compile(
    r"""(?:WHERE|AND|OR|XOR|NOT|IN|IS|AS|ON|BY|SET|REMOVE|DELETE|DETACH|ORDER|SKIP|OFFSET|LIMIT|ASC"""
    r"""|DESC|ASCENDING|DESCENDING|YIELD|UNION|ALL|DISTINCT|WHEN|THEN|ELSE|END|CASE|STARTS|ENDS"""
    r"""|CONTAINS|USING|MATCH|OPTIONAL|WITH|UNWIND|CALL|RETURN|MERGE|CREATE|FOREACH|LET|FILTER|NEXT"""
    r"""|FINISH|GROUP|HAVING|FETCH|FROM|JOIN|LIKE|INSERT|USE|LOAD)(?![\w.])""",
    re.IGNORECASE,
)
_OPEN_END = re.compile(
    r"""(?:[,(\[{.|=<>+*/%^&:$-]|\b(?:MATCH|WHERE|AND|OR|XOR|NOT|IN|IS|AS|ON|BY|SET|REMOVE|DELETE"""
    r"""|ORDER|SKIP|LIMIT|YIELD|UNION|ALL|WHEN|THEN|ELSE|CASE|STARTS|ENDS|WITH|CONTAINS|UNWIND|CALL"""
    r"""|RETURN|DISTINCT|MERGE|CREATE|COUNT|EXISTS|COLLECT|NEXT|LET|FILTER|EXPLAIN|PROFILE|FROM))\Z""",
    re.IGNORECASE,
)
_STARTS_STATEMENT = re.compile(
    r"(?:OPTIONAL\s+)?(?:MATCH|UNWIND|CALL|MERGE|CREATE|WITH)\b", re.IGNORECASE
)
_FINAL_RETURN = re.compile(
    r"\b(?:RETURN|FINISH)\b(?!.*\b(?:UNION|NEXT|MATCH|WITH)\b)", re.IGNORECASE | re.DOTALL
)
_BULLET = re.compile(
    r"(?:[-*+\u2022]|\d{1,2}[.)])\s+[*_`\"'\w]|\*\*|#{1,6}\s|>|\|\s|---|___|\u2022"
)
_CYPHER_SIGNS = re.compile(r"[()\[\]{}=<>$]|\w\.\w|\*|'")
_SENTENCE_END = re.compile(r"[.!?:;]['\")\u201d]?\s*\Z")


def parses(text: str) -> bool:
    """Whether ``text`` is one query: two of them in a row parse as clauses, but RETURN ends one."""
    try:
        body = parse(text).body
    except CypherSyntaxError:
        return False
    return not isinstance(body, ast.SingleQuery) or not any(
        isinstance(clause, ast.Return | ast.Finish) for clause in body.clauses[:-1]
    )


def starts_like_query(text: str) -> bool:
    """Whether ``text``, comments and parameters before it aside, starts as only a query does."""
    start = _COMMENTS.match(text)
    body = text[start.end() if start else 0 :]
    if _HEADER.match(body):
        body = split_header(body)[1]
    return STRONG.match(body) is not None or (WEAK.match(body) is not None and parses(body))


def queries(text: str) -> Iterator[tuple[int, int]]:
    """Spans of what may be queries in running text, in order, not overlapping."""
    pos = 0
    found = False
    while match := _BOUNDARY.search(text, pos):
        start = match.end()
        if start < len(text) and _begins(text, start):
            end = start + length(text[start:])
            raw = text[start:end]
            if _HEADER.match(raw) or _sure(raw):
                found = True
                yield start, end
                pos = max(end, start + 1)
                continue
        pos = match.end() if match.end() > match.start() else match.end() + 1
        if pos > len(text):
            break
    if not found and (loose := re.search(rf"\bMATCH\s*{_PATTERN}", text)):
        yield loose.start(), loose.start() + length(text[loose.start() :])


def _begins(text: str, start: int) -> bool:
    if STRONG.match(text, start) or WEAK.match(text, start):
        return True
    if not _HEADER.match(text, start):
        return False
    parameters, query = split_header(text[start:])
    return bool(parameters) and STRONG.match(query) is not None


def _sure(raw: str) -> bool:
    """Whether text that starts with a clause keyword is a query and not English.

    A strong start need not parse: a broken query is a query. A weak one (RETURN, WITH, USE) must.
    """
    word = raw.split(None, 1)[0]
    if STRONG.match(raw):
        return (
            word.isupper()
            or re.search(r"\breturn\b", raw, re.IGNORECASE) is not None
            or parses(raw)
        )
    return (word.isupper() or _CYPHER_SIGNS.search(raw) is not None) and parses(raw.rstrip("; \n"))


def length(text: str) -> int:
    """How much of ``text``, which starts with a query, is the query."""
    blank = masked(text)
    stop = END_OF_TURN.search(blank)
    limit = stop.start() if stop else len(text)
    semicolon = blank.find(";", 0, limit)
    if semicolon >= 0:
        limit = semicolon
    end = pos = 0
    depth = 0
    while pos < limit:
        line_end = blank.find("\n", pos, limit)
        line_end = limit if line_end < 0 else line_end
        line = text[pos:line_end].strip()
        before = blank[:end].rstrip()
        gap = "\n\n" in text[end:pos].replace(" ", "").replace("\t", "") + "\n" and end > 0
        if line and end and not _goes_on(line, before, depth, gap):
            break
        code = re.sub(r"//.*", "", blank[pos:line_end])
        depth += sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))
        if line:
            end = line_end
        pos = line_end + 1
    return end


def _goes_on(line: str, before: str, depth: int, gap: bool) -> bool:
    """Whether ``line`` continues the query ``before`` it, whose last line is complete or not."""
    before = re.sub(r"//\0*\Z", "", before).rstrip()
    if line.startswith(("//", "/*")):
        return True
    if depth > 0 or _OPEN_END.search(before):
        return not (gap and _is_prose(line))
    if _BULLET.match(line):
        return False
    if gap and _STARTS_STATEMENT.match(line) and _FINAL_RETURN.search(before):
        return False
    if _CONTINUES.match(line):
        return not _is_prose(line)
    return line[0] in ")]},|-+=<>/%^.;*"


def _is_prose(line: str) -> bool:
    words = re.findall(r"[^\W\d_]+", line)
    if _CYPHER_SIGNS.search(line.rstrip(".!?:")):
        return len(words) > 8 and _SENTENCE_END.search(line) is not None and line[0].isupper()
    if _SENTENCE_END.search(line) and len(words) >= 3 and not line.rstrip().endswith(";"):
        return True
    return len(words) > 6 and sum(w.islower() for w in words) >= len(words) - 1


def trim(text: str) -> str:
    """``text`` without a sentence that goes on after the query on its last line.

    Only where the rest is no Cypher by far and what stands before it parses: a clause of another
    dialect must never be cut off silently.
    """
    try:
        parse(text)
    except CypherSyntaxError as error:
        place = error.span[0]
    else:
        return text
    bare = text.rstrip(" \t\r\n.,!?'\"*_`\u201d")
    if bare != text and parses(bare):
        return bare
    sentences = re.finditer(r"[.!?,](?=\s+\S)|\s+(?=\()|\s+[-\u2013\u2014]\s", text[:place])
    for cut in [*(m.start() for m in sentences if m.start()), place]:
        rest = text[cut:].strip(" .!?,")
        words = re.findall(r"[^\W\d_]+", rest)
        if len(words) >= 2 and not _looks_like_code(rest) and parses(text[:cut].rstrip()):
            return text[:cut].rstrip()
    return text


_CODE_WORDS = re.compile(
    r"\b(?:GROUP|HAVING|FETCH|LIKE|JOIN|FROM|SELECT|ORDER|LIMIT|SKIP|MATCH|WHERE|RETURN|WITH|UNION"
    r"|OVER|PARTITION|BETWEEN|ILIKE|RLIKE|TOP|OFFSET|FOR|CALL|UNWIND|ASC|DESC)\b"
)


def _looks_like_code(rest: str) -> bool:
    return (
        _CODE_WORDS.search(rest) is not None or re.search(r"[\[\]{}=<>$]|\w\.\w", rest) is not None
    )
