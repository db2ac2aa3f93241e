"""What a question says in words that a query must take up: names, numbers, comparisons, counts.

Plain English by patterns, no model: good enough to doubt a query, not to write one. Nothing here
knows a graph; names of a schema are compared by :func:`said`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from cypherforge.graph.narrow import word_parts

Relation = Literal["more", "least", "less", "most", "unsure"]

_QUOTED = re.compile(
    r"(?:(?<=[\s(=:,])|^)(?:'((?:[^']|'(?=\w))+)'|\"([^\"]+)\"|“([^”]+)”|‘([^’]+)’)"
)
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w])")
#: Numbers, dates and times: no letter but those of time zones.
_TIME = re.compile(r"[\d\s:.,/+TZ-]*(?:UTC|GMT)?\s*$", re.IGNORECASE)
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
#: Numbers that words say.
NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
} | {"once": 1, "single": 1, "twice": 2, "both": 2, "pair": 2, "dozen": 12, "twenty": 20,
     "thirty": 30, "fifty": 50, "hundred": 100, "thousand": 1000, "million": 1_000_000}  # fmt: skip
_MONTHS = {
    name: number
    for number, month in enumerate(
        "january february march april may june july august september october november december".split(),
        1,
    )
    for name in (month, month[:3])
}
#: Words before a number or a date, and how what is asked for stands to it. The longer go first.
_BEFORE: tuple[tuple[str, Relation], ...] = (
    (r"no (?:more|greater|higher|later|longer) than|not (?:exceeding|more than|later than)", "most"),
    (r"no (?:less|fewer|lower|earlier) than|not less than", "least"),
    (r"(?:greater|more|higher|larger|less|fewer|lower|smaller) than or equal(?:s)? to", "unsure"),
    (r"at least|a minimum of|minimum of|from|since|starting (?:from|in|on)|on or after", "least"),
    (r"at most|a maximum of|maximum of|up to|until|on or before", "most"),
    (r"(?:more|greater|higher|larger|later|longer|older|bigger|taller) than|exceed(?:s|ing|ed)?"
     r"|over|above|after|beyond", "more"),
    (r"(?:less|fewer|lower|smaller|earlier|shorter|younger) than|under|below|before|prior to",
     "less"),
)  # fmt: skip
_AFTER = re.compile(r"\s*(?:\w+\s+)?(or (?:more|later|above|higher|greater|after)"
                    r"|or (?:less|fewer|earlier|below|lower|before))\b", re.IGNORECASE)  # fmt: skip
_PHRASES = re.compile(
    "|".join(rf"(?P<p{i}>\b(?:{text})\b)" for i, (text, _) in enumerate(_BEFORE)), re.IGNORECASE
)
#: Between the phrase and its number may stand a few words: ``after the year 2000``.
_GAP = re.compile(r"^\s*(?:(?:the|a|an|year|date|age|of|on|in|user|id|ID)\s+){0,4}$", re.IGNORECASE)
_NEGATION = re.compile(
    r"\b(not|no|never|without|neither|nor|none|nobody|exclud\w+|except|other than|don't|doesn't"
    r"|didn't|isn't|aren't|wasn't|weren't|haven't|hasn't|lack(?:s|ing)?)\b",
    re.IGNORECASE,
)
#: What a question asks a query to do, by the words that say so.
ASKS: dict[str, re.Pattern[str]] = {
    name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for name, words in {
        "count": "how many|(?:the|total|and|with|distinct|unique) number of",
        "average": "average|mean",
        "sum": "total|sum|combined",
        "share": "percent\\w*|proportion|ratio",
        "most": "most|highest|largest|biggest|greatest|maximum|top|longest|latest|newest",
        "least": "least|lowest|smallest|fewest|minimum|shortest|earliest",
        "each": "for each|for every|per|by each|of each|in each|each",
        "distinct": "distinct|unique|different",
    }.items()
}
#: Where these words are no superlative.
_AT_LEAST = re.compile(r"\bat (?:least|most)\b|\bmost recent\w*\b|\bno (?:more|less)\b",
                       re.IGNORECASE)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quoted:
    """A text in quotes, and where it stands."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Compared:
    """A number (as written, without commas) and how what is asked for stands to it."""

    number: str
    relation: Relation


@dataclass(frozen=True, slots=True)
class Question:
    """A question read: ``words`` are the stems of its words in order."""

    text: str
    words: tuple[str, ...]
    quoted: tuple[Quoted, ...]
    numbers: tuple[str, ...]
    dates: tuple[str, ...]
    compared: tuple[Compared, ...]
    implied: frozenset[str] = field(default_factory=frozenset)

    def has(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern occurs outside what stands in quotes."""
        return pattern.search(self.plain) is not None

    @property
    def plain(self) -> str:
        """The text with everything in quotes blanked."""
        return blanked(self.text, self.quoted)

    @property
    def negated(self) -> bool:
        """Whether it says no or not."""
        return self.has(_NEGATION)


def blanked(text: str, quoted: Sequence[Quoted]) -> str:
    """A text with the quoted stretches replaced by blanks, so that places stay."""
    for item in quoted:
        text = text[: item.start] + " " * (item.end - item.start) + text[item.end :]
    return text


def read_question(text: str) -> Question:
    """Read a question.

    What stands in quotes is a number or a date if it looks like one, else a name.
    ``implied`` holds numbers that words say: ``three``, ``twice``, ``April``.
    """
    found = [
        Quoted(next(g for g in m.groups() if g), m.start(), m.end()) for m in _QUOTED.finditer(text)
    ]
    names = tuple(q for q in found if not _TIME.match(q.text))
    inside = [q for q in found if q not in names]
    plain = blanked(text, found)
    matches = list(_NUMBER.finditer(plain))
    numbers = [m[0].replace(",", "") for m in matches]
    places = [(m.start(), number) for m, number in zip(matches, numbers, strict=True)]
    dates: list[str] = []
    for item in inside:
        parts = _DIGITS.findall(item.text)
        if len(parts) == 1:
            numbers.append(parts[0])
        else:
            dates.append(item.text)
        if parts:
            places.append((item.start, parts[0]))
    said = re.findall(r"[a-z]+", text.lower())
    implied = {str(NUMBER_WORDS[w]) for w in said if w in NUMBER_WORDS}
    implied |= {str(_MONTHS[w]) for w in said if w in _MONTHS}
    return Question(
        text,
        tuple(word_parts(text)),
        names,
        tuple(dict.fromkeys(numbers)),
        tuple(dict.fromkeys(dates)),
        tuple(_compared(text, plain, sorted(places))),
        frozenset(implied),
    )


def _compared(text: str, plain: str, places: Sequence[tuple[int, str]]) -> list[Compared]:
    result: list[Compared] = []
    for match in _PHRASES.finditer(plain):
        relation = _BEFORE[int(str(match.lastgroup)[1:])][1]
        following = next(((p, n) for p, n in places if p >= match.end()), None)
        if following is not None and _GAP.match(text[match.end() : following[0]] + " "):
            result.append(Compared(following[1], relation))
    for place, number in places:
        after = _AFTER.match(plain, place + len(number))
        if after is not None:
            more = re.search("more|later|above|higher|greater|after", after[1]) is not None
            result = [c for c in result if c.number != number]
            result.append(Compared(number, "least" if more else "most"))
    return result


def asked_for(question: Question) -> frozenset[str]:
    """The operations that a question asks for: names of :data:`ASKS`, ``compare`` and ``not``."""
    text = _AT_LEAST.sub(" ", question.plain)
    found = {name for name, pattern in ASKS.items() if pattern.search(text)}
    if question.compared:
        found.add("compare")
    if question.negated:
        found.add("not")
    return frozenset(found)


def said(words: Sequence[str], name: str) -> bool:
    """Whether a question says a name of the schema whole: all its parts, one after the other.

    >>> said(read_question("the first names of users").words, "firstName")
    True
    """
    parts = word_parts(name)
    size = len(parts)
    return bool(parts) and any(
        list(words[i : i + size]) == parts for i in range(len(words) - size + 1)
    )


def digits(text: str) -> list[str]:
    """The numbers of a text, without leading zeros."""
    return [number.lstrip("0") or "0" for number in _DIGITS.findall(text)]
