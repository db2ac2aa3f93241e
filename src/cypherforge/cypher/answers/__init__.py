"""Reading the query out of a model's answer.

Models wrap what they are asked for: in fenced blocks, JSON, thoughts, chat tokens, prefixes,
explanations, markdown escapes, parameter headers. ``extract_candidates`` finds every query in an
answer, ``extract_query`` insists that there is one, and ``last_query`` takes the last and says so.
Nothing is invented: prose is never turned into a query, and what a string holds stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from cypherforge.core.errors import ModelAnswerError
from cypherforge.cypher.answers import values
from cypherforge.cypher.answers.cleaning import clean, masked, outside, statements
from cypherforge.cypher.answers.layout import (
    Fence,
    blank,
    dedent,
    fences,
    without_markup,
    without_thoughts,
)
from cypherforge.cypher.answers.prose import (
    length,
    parses,
    queries,
    starts_like_query,
    trim,
)

Source = Literal["fence", "json", "inline", "text"]

#: Tags that say "this block is the query".
CYPHER_TAGS = frozenset(
    ["cypher", "cql", "opencypher", "neo4j", "neo4j-cypher", "gql", "cyp", "memgraph"]
)
_OTHER_LANGUAGES = frozenset(
    [
        "python",
        "py",
        "bash",
        "sh",
        "shell",
        "javascript",
        "js",
        "typescript",
        "ts",
        "java",
        "yaml",
        "yml",
        "xml",
        "html",
        "csv",
        "toml",
        "diff",
    ]
)
_PARAMETER = re.compile(r"\$(?:([^\W\d]\w*|\d+)|`([^`]+)`)")
_QUOTED_PARAMETER = re.compile(r"\$`((?:[^`]|``)+)`")
_COMPLETE = re.compile(
    r"\b(?:RETURN|FINISH|CREATE|MERGE|DELETE|SET|REMOVE|CALL|SHOW|INSERT|DROP)\b", re.IGNORECASE
)
_ESCAPED_LINE_END = re.compile(
    r"\\n(?=\s*(?:OPTIONAL|MATCH|WHERE|WITH|RETURN|ORDER|LIMIT|SKIP|UNION|UNWIND|CALL)\b)"
)
_QUOTED = re.compile(
    r'''"""(.+?)"""|\'\'\'(.+?)\'\'\'|"((?:[^"\\\n]|\\.)+)"|\'((?:[^\'\\\n]|\\.)+)\'|`([^`]+)`''',
    re.DOTALL,
)
_INLINE = re.compile(r"(?<!`)(`{1,2})(?!`)([^\n]+?)\1(?!`)")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One query in an answer.

    ``text`` is clean: no fence, chat token, markdown escape or final semicolon. ``span`` is the
    place in the answer that it came from (of the whole object, for JSON). ``tag`` is the fence's
    tag in lower case or the JSON key. ``parameters`` are values the answer gave along.
    ``notes`` says in words what was done.
    """

    text: str
    span: tuple[int, int]
    source: Source
    tag: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def tagged(self) -> bool:
        """Whether the answer itself calls this the Cypher query."""
        return self.tag in CYPHER_TAGS if self.source == "fence" else "cypher" in self.tag.lower()

    @property
    def missing(self) -> tuple[str, ...]:
        """Parameters used but not given by the answer, in order of use."""
        names: dict[str, None] = {}
        for match in _PARAMETER.finditer(masked(self.text)):
            names.setdefault(match[1] or "", None)
        for match in _QUOTED_PARAMETER.finditer(self.text):
            names.setdefault(match[1].replace("``", "`"), None)
        return tuple(n for n in names if n and "\0" not in n and n not in self.parameters)


class NoQuery(ModelAnswerError):
    """The answer holds no query: an apology, an empty answer, a thought that never ended."""


class AmbiguousAnswer(ModelAnswerError):
    """The answer holds several different queries; ``candidates`` has them in order."""

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        candidates: tuple[Candidate, ...] = (),
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.candidates = candidates


def extract_candidates(answer: str) -> list[Candidate]:
    """Every query in the answer, in order; those that are equal but for white space once only."""
    visible, _ = without_thoughts(answer)
    if "\n" not in visible.strip() and visible.strip()[:1] not in ("{", "[", '"'):
        visible = _ESCAPED_LINE_END.sub(" \n", visible)
    whole = _make(visible, (0, len(visible)), "text", "")
    if whole is not None and starts_like_query(visible) and parses(whole.text):
        return [whole]
    found = list(_in_whole_json(visible))
    if not found:
        found = list(_in_fences(visible))
        rest = visible
        for fence in fences(visible):
            rest = blank(rest, *fence.outer)
        rest = without_markup(rest)
        # A bare piece beside a fence is mostly a mention; a complete query is not.
        beside = [c for c in _in_text(rest) if not found or _is_complete(c)]
        found = sorted(found + beside, key=lambda c: c.span)
    return _distinct(found)


def extract_query(answer: str) -> str:
    """The only query in the answer.

    Raises NoQuery where there is none, AmbiguousAnswer where there are several different ones.
    """
    candidates = _candidates_or_raise(answer)
    if len(candidates) > 1:
        raise AmbiguousAnswer(
            f"the answer holds {len(candidates)} different queries",
            where=f"first {_short(candidates[0].text)!r}, last {_short(candidates[-1].text)!r}",
            hint="ask for one query only, or take the last one with last_query",
            candidates=tuple(candidates),
        )
    return candidates[0].text


def last_query(answer: str) -> Candidate:
    """The last query after all thoughts: the last in a block tagged as Cypher, if there is any.

    Where there was a choice, ``notes`` says so. Raises NoQuery where there is none.
    """
    candidates = _candidates_or_raise(answer)
    tagged = [c for c in candidates if c.tagged]
    chosen = (tagged or candidates)[-1]
    if len(candidates) == 1:
        return chosen
    kind = f" tagged {chosen.tag!r}" if tagged else ""
    note = f"ambiguous answer: took the last{kind} of {len(candidates)} queries"
    return replace(chosen, notes=(*chosen.notes, note))


def _candidates_or_raise(answer: str) -> list[Candidate]:
    candidates = extract_candidates(answer)
    if candidates:
        return candidates
    _, endless = without_thoughts(answer)
    if endless:
        raise NoQuery(
            "the model was still thinking when its answer ended",
            hint="give it more output tokens; nothing is taken from a thought",
        )
    if not answer.strip():
        raise NoQuery("the answer is empty")
    raise NoQuery(
        "the answer holds no query",
        where=f"it says {_short(answer)!r}",
        hint="ask again for Cypher alone, or treat the question as unanswerable",
    )


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def _distinct(found: list[Candidate]) -> list[Candidate]:
    """Without repetitions and without fragments of another candidate (quoted to explain it)."""
    keys = [" ".join(c.text.split()) for c in found]
    kept: list[Candidate] = []
    for i, candidate in enumerate(found):
        repeated = keys[i] in keys[:i]
        fragment = any(keys[i] != key and keys[i] in key for key in keys)
        mention = candidate.source in ("inline", "text") or not _is_complete(candidate)
        if not repeated and not (fragment and mention):
            kept.append(candidate)
    return kept


def _is_complete(candidate: Candidate) -> bool:
    """Whether it could run: a mention of a pattern in an explanation could not."""
    words = outside(candidate.text, lambda piece: piece)
    return _COMPLETE.search(words) is not None and parses(candidate.text)


def _make(
    raw: str,
    span: tuple[int, int],
    source: Source,
    tag: str,
    given: Mapping[str, Any] | None = None,
) -> Candidate | None:
    cleaned = clean(raw)
    if not cleaned.text or not re.sub(r"//.*|/\*.*?\*/|\s", "", cleaned.text, flags=re.DOTALL):
        return None
    parameters = {**(given or {}), **cleaned.parameters}
    if source != "json":
        start = span[0] + len(raw) - len(raw.lstrip())
        span = (start, max(start, span[1] - len(raw) + len(raw.rstrip())))
    return Candidate(cleaned.text, span, source, tag, parameters, cleaned.notes)


# ---------------------------------------------------------------- JSON


def _in_whole_json(visible: str) -> Iterator[Candidate]:
    text = visible.strip()
    if text[:1] in ("{", "[") or (text[:1] == text[-1:] == '"'):
        start = visible.index(text[0])
        yield from _in_json(text, (start, start + len(text)))


def _in_json(text: str, span: tuple[int, int]) -> Iterator[Candidate]:
    """Queries in JSON text, whole or broken."""
    try:
        value = values.decode(text)
    except ValueError:
        pieces = list(values.embedded(text))
        if any(True for _, _, v in pieces for _ in _in_value(v, span)):
            for start, end, inner in pieces:
                yield from _in_value(inner, (span[0] + start, span[0] + end))
            return
        for key, query in values.loose(text):
            for candidate in _in_string(key, query, {}, span, 0):
                yield replace(candidate, notes=(*candidate.notes, "the JSON around it is broken"))
        return
    yield from _in_value(value, span)


def _in_value(value: Any, span: tuple[int, int], depth: int = 0) -> Iterator[Candidate]:
    for key, text, parameters in values.query_strings(value):
        yield from _in_string(key, text, parameters, span, depth)


def _in_string(
    key: str, text: str, parameters: Mapping[str, Any], span: tuple[int, int], depth: int
) -> Iterator[Candidate]:
    stripped = text.strip()
    if depth < 3 and stripped[:1] in ("{", "["):
        try:
            yield from _in_value(values.decode(stripped), span, depth + 1)
            return
        except ValueError:
            pass
    blocks = fences(text)
    pieces = [dedent(text[slice(*b.span)], b.margin) for b in blocks] if blocks else [text]
    for piece in pieces:
        for start, end in statements(piece):
            raw = piece[start:end]
            if starts_like_query(raw) and (made := _make(raw, span, "json", key, parameters)):
                yield made


# ---------------------------------------------------------------- fences


def _in_fences(visible: str) -> Iterator[Candidate]:
    for fence in fences(visible):
        yield from _in_fence(visible[slice(*fence.span)], fence)


def _in_fence(content: str, fence: Fence) -> Iterator[Candidate]:
    text = content.strip()
    tagged = fence.tag in CYPHER_TAGS
    if text[:1] in ("{", "["):
        inside = list(_in_json(text, fence.span))
        if inside or not tagged:
            yield from inside
            return
    if fence.tag in _OTHER_LANGUAGES:
        for match in _QUOTED.finditer(content):
            raw = next(g for g in match.groups() if g)
            if starts_like_query(raw) and (made := _make(raw, fence.span, "fence", fence.tag)):
                yield made
        return
    body = dedent(content, fence.margin)
    for start, end in _blocks(body):
        raw = body[start:end]
        # Places are exact where the text is the source's own; else they are the block's.
        at = fence.span[0] + start if body == content else None
        pieces = [(0, len(raw))] if starts_like_query(raw) else list(queries(raw))
        if not pieces and tagged and _is_code(raw):
            pieces = [(0, len(raw))]
        for first, last in pieces:
            span = fence.span if at is None else (at + first, at + last)
            made = _make(raw[first:last], span, "fence", fence.tag)
            if made is not None:
                yield _tidied(made, fence.closed)


def _tidied(made: Candidate, closed: bool) -> Candidate:
    """Without prose that followed the query inside its block."""
    notes = made.notes if closed else (*made.notes, "the fence is not closed")
    text = made.text
    if not parses(text):
        shorter = text[: length(text)].rstrip("; \n")
        text = shorter if parses(shorter) else trim(text)
        if text != made.text:
            notes = (*notes, "prose after it left out")
    return replace(made, text=text, notes=notes)


def _blocks(body: str) -> Iterator[tuple[int, int]]:
    """Statements of a fence: cut at semicolons, or at blank lines where only the parts parse."""
    for start, end in statements(body):
        text = body[start:end]
        parts = [m.span() for m in re.finditer(r"\S(?:.|\n(?![ \t\r]*\n))*", text)]
        if (
            1 < len(parts) <= 20
            and all(starts_like_query(text[a:b]) for a, b in parts)
            and not parses(text)
            and all(parses(clean(text[a:b]).text) for a, b in parts)
        ):
            for a, b in parts:
                yield start + a, start + b
        else:
            yield start, end


def _is_code(raw: str) -> bool:
    """Whether a tagged block that starts with no known clause may still be meant as a query."""
    return re.search(r"[(\[{]", raw) is not None or re.match(r"\s*[A-Z]{4,}\s", raw) is not None


# ---------------------------------------------------------------- running text


def _in_text(text: str) -> Iterator[Candidate]:
    found = False
    for start, end, value in values.embedded(text):
        for candidate in _in_value(value, (start, end)):
            found = True
            yield candidate
        text = blank(text, start, end)
    inline: list[Candidate] = []
    for match in _INLINE.finditer(text):
        content = match[2].strip()
        if starts_like_query(content) and _COMPLETE.search(content):
            made = _make(content, match.span(2), "inline", "")
            if made is not None and parses(made.text):
                inline.append(made)
    for candidate in inline:
        text = blank(text, candidate.span[0] - 1, candidate.span[1] + 1)
    bare: list[Candidate] = []
    for start, end in queries(text):
        made = _make(text[start:end], (start, end), "text", "")
        if made is None:
            continue
        trimmed = trim(made.text)
        notes = made.notes if trimmed == made.text else (*made.notes, "prose after it left out")
        bare.append(replace(made, text=trimmed, notes=notes))
    if not found:
        yield from inline
        yield from bare
