"""How a model's answer is laid out: thoughts, fenced blocks, markup tags. Places are code points.

Thoughts are blanked rather than cut, so that all places keep counting in the answer as given.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_THOUGHT = r"think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
_OPEN = re.compile(
    rf"""(?<!['"`\\])(?:<(?:{_THOUGHT})>|\[THINK\]|<\|START_THINKING\|>)""", re.IGNORECASE
)
_CLOSE = re.compile(
    rf"""(?<!['"\\])(?:</(?:{_THOUGHT})>|\[/THINK\]|<\|END_THINKING\|>)""", re.IGNORECASE
)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]{0,80}?<\|message\|>")

_FENCE = re.compile(r"(?:(?<=\n)|\A)([ \t>]*)(`{3,}|~{3,})|(?<=[^`\n])(`{3,})(?=[\w\n])")
_CLAUSE_WORD = re.compile(
    r"(?:MATCH|OPTIONAL|WITH|UNWIND|CALL|RETURN|MERGE|CREATE|EXPLAIN|PROFILE|SHOW|USE|LOAD|LET)\b"
    r"(?=\s*\S)"
)
_MARKUP = re.compile(
    r"""(?<!['"`])</?(?:cypher|query|answer|final_answer|output|result|code|pre|sql|response"""
    r"""|cypher_query|statement|tool_call|function_call)(?:\s[^<>]{0,80})?>""",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Fence:
    """One fenced block: ``span`` of its content, ``outer`` span with the fences, its tag."""

    span: tuple[int, int]
    outer: tuple[int, int]
    tag: str
    closed: bool
    margin: str


def blank(text: str, start: int, end: int) -> str:
    """``text`` with ``[start:end]`` replaced by an empty line, equally long."""
    return text[:start] + "\n" * min(1, end - start) + " " * (end - start - 1) + text[end:]


def without_thoughts(answer: str) -> tuple[str, bool]:
    """The answer with the model's thoughts blanked, and whether the last thought never ended.

    ``<think>...</think>`` and its kin; a closing tag alone ends a thought that the chat template
    opened; of harmony's channels only the final one is the answer.
    """
    text = answer
    channels = list(_CHANNEL.finditer(text))
    if channels:
        final = [c for c in channels if c[1].lower() == "final"]
        if not final:
            return blank(text, 0, len(text)), True
        text = blank(text, 0, final[-1].end())
    pos = 0
    while opened := _OPEN.search(text, pos):
        closed = _CLOSE.search(text, opened.end())
        if closed is None:
            return blank(text, opened.start(), len(text)), True
        text = blank(text, opened.start(), closed.end())
        pos = closed.end()
    strays = list(_CLOSE.finditer(text))
    if strays:
        text = blank(text, 0, strays[-1].end())
    return text, False


def without_markup(text: str) -> str:
    """``text`` with tags such as ``<cypher>`` blanked: what they hold stands on lines of its own."""
    pieces: list[str] = []
    done = 0
    for match in _MARKUP.finditer(text):
        pieces += (text[done : match.start()], "\n", " " * (len(match[0]) - 1))
        done = match.end()
    pieces.append(text[done:])
    return "".join(pieces)


def fences(text: str) -> list[Fence]:
    """All fenced blocks, back-ticks or tildes, indented, quoted, or never closed."""
    found: list[Fence] = []
    pos = 0
    while opening := _FENCE.search(text, pos):
        mark = opening[2] or opening[3]
        margin = opening[1] or ""
        tag, start = _tag(text, opening.end())
        closing = re.compile(rf"{mark[0]}{{{len(mark)},}}").search(text, start)
        end = closing.start() if closing else len(text)
        outer_end = closing.end() if closing else len(text)
        found.append(
            Fence((start, end), (opening.start(), outer_end), tag, closing is not None, margin)
        )
        pos = max(outer_end, opening.end())
    return found


def _tag(text: str, pos: int) -> tuple[str, int]:
    """The fence's tag in lower case, and where its content starts."""
    line_end = text.find("\n", pos)
    line_end = len(text) if line_end < 0 else line_end
    info = text[pos:line_end]
    if _CLAUSE_WORD.match(info.lstrip()):
        return "", pos
    if info.lstrip()[:1] in ("{", "["):
        return "", pos + len(info) - len(info.lstrip()) if info[:1] != "{" else pos
    word = re.match(r"\s*\{?\.?([\w+#.-]*)\}?", info)
    assert word is not None
    rest = info[word.end() :].strip()
    # On one line with its fence: ```cypher MATCH (n) RETURN n```
    if rest and (_CLAUSE_WORD.match(rest) or "`" in rest or "~~~" in rest or rest[0] in "{["):
        return word[1].lower(), pos + word.end()
    return word[1].lower(), min(line_end + 1, len(text))


def dedent(content: str, margin: str) -> str:
    """The lines of a fence without the margin of its opening line (a quote mark, an indent)."""
    if not margin:
        return content
    quoted = ">" in margin
    width = len(margin)
    lines: list[str] = []
    for line in content.split("\n"):
        if quoted:
            line = re.sub(r"^[ \t]*(?:>[ \t]?)+", "", line, count=1)
        else:
            line = line[min(width, len(line) - len(line.lstrip(" \t"))) :]
        lines.append(line)
    return "\n".join(lines)
