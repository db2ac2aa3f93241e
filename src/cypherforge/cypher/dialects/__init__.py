"""Words of other languages in what models write: repaired where their meaning is clear.

``repair_dialect`` runs before parsing. It works on tokens, since such text need not parse, then on
the tree once it does. A repair never guesses: what has no form of the same meaning is reported and
left. On text that is Cypher of the dialect already it changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial

from cypherforge.cypher.answers.cleaning import masked, outside
from cypherforge.cypher.dialects import maps, projections, words
from cypherforge.cypher.dialects.features import DIALECTS, dialect_findings
from cypherforge.cypher.dialects.functions import foreign_parts
from cypherforge.cypher.dialects.names import unquoted_names
from cypherforge.cypher.dialects.source import Change, Source
from cypherforge.cypher.edits import Edit, apply_edits
from cypherforge.cypher.errors import CypherSyntaxError
from cypherforge.cypher.parser import parse

__all__ = ["DIALECTS", "Repaired", "Step", "dialect_findings", "repair_dialect"]

_ROUNDS = 16
_Repair = Callable[[Source], Iterator[Change]]
#: What parses all the same, and is no Cypher, or never what was meant.
_ALWAYS: tuple[_Repair, ...] = (
    words.signs,
    words.null_comparisons,
    words.counting,
    maps.inline_conditions,
)
#: What the parser refuses.
_UNPARSABLE: tuple[_Repair, ...] = (
    words.quotes,
    words.negated,
    words.like,
    words.between,
    words.null_forms,
    words.selects,
    words.casts,
    words.subqueries,
    projections.paging,
    projections.grouping,
)
_SQL_WORDS = frozenset(
    ["FROM", "JOIN", "INNER", "LEFT", "OVER", "PARTITION", "EXCEPT", "INTERSECT", "ILIKE", "RLIKE"]
    + ["REGEXP", "HAVING", "GROUP", "SELECT", "QUALIFY", "NULLS", "TOP", "FETCH", "BETWEEN", "LIKE"]
)
_SMART_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
_COMMENT = re.compile(r"(?m)(^[ \t]*--(?=[ \t]*[A-Za-z])|#+(?=[ \t]*[A-Za-z]))")


@dataclass(frozen=True, slots=True)
class Step:
    """One foreign part: ``applied`` tells whether it was rewritten or only reported.

    ``span`` counts in the text as given. ``code`` has a family before its dot: ``sql operator map
    removed function subquery quotes name shortest_path``.
    """

    code: str
    message: str
    span: tuple[int, int]
    dialect: str
    applied: bool


@dataclass(frozen=True, slots=True)
class Repaired:
    """The text after all repairs, and what was done or found, in the order of doing."""

    text: str
    steps: tuple[Step, ...]

    @property
    def changed(self) -> bool:
        """Whether anything was rewritten."""
        return any(step.applied for step in self.steps)


def repair_dialect(text: str, dialect: str = "neo4j-5", names: Collection[str] = ()) -> Repaired:
    """Rewrite what is not of this dialect, keeping the meaning.

    ``dialect``: ``neo4j-5``, ``cypher-25``, ``memgraph`` or ``embedded``. ``names``: all names of
    the schema; those that need back-ticks are recognised where they lack them.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"no dialect {dialect!r}: one of {', '.join(DIALECTS)}")
    repairer = _Repairer(text, dialect)
    if not _parses(text):
        repairer.spelling()
    unparsable: list[_Repair] = [
        *_ALWAYS,
        *_UNPARSABLE,
        partial(unquoted_names, names=frozenset(names)),
    ]
    for _ in range(_ROUNDS):
        source = Source(repairer.text)
        repairs = list(_ALWAYS) if _parses(repairer.text) else unparsable
        if not repairer.round([c for repair in repairs for c in repair(source)]):
            break
    for _ in range(_ROUNDS):
        try:
            query = parse(repairer.text)
        except CypherSyntaxError as error:
            repairer.report(error)
            break
        if not repairer.round(list(foreign_parts(query, dialect))):
            break
    if repairer.text != text and not _parses(repairer.text) and _parses(text):
        # A repair must never break what the parser takes.
        left = tuple(replace(step, applied=False) for step in repairer.steps)
        return Repaired(text, left)
    return Repaired(repairer.text, tuple(repairer.steps))


def _parses(text: str) -> bool:
    try:
        parse(text)
    except CypherSyntaxError:
        return False
    return True


class _Repairer:
    """The text so far, and all edits that led to it."""

    def __init__(self, text: str, dialect: str) -> None:
        self.text = text
        self.dialect = dialect
        self.steps: list[Step] = []
        self.history: list[list[Edit]] = []

    def spelling(self) -> None:
        """Quotation marks of word processors, and comments of other languages."""
        edits: list[Edit] = []
        plain = outside(self.text, lambda piece: piece.translate(_SMART_QUOTES))
        if plain != self.text:
            places = [i for i, (a, b) in enumerate(zip(self.text, plain, strict=True)) if a != b]
            edits = [Edit(i, i + 1, plain[i]) for i in places]
            span = (places[0], places[-1] + 1)
            change = Change("quotes.smart", "quotation marks are ' or \"", span, tuple(edits))
            self.round([change])
        for match in reversed(list(_COMMENT.finditer(masked(self.text)))):
            edit = Edit(*match.span(1), "//")
            self.round(
                [Change("comment.foreign", "a comment starts with //", match.span(1), (edit,))]
            )

    def round(self, changes: list[Change]) -> bool:
        """Apply the changes that do not touch each other; tell whether there were any."""
        chosen: list[Edit] = []
        for change in sorted(changes, key=lambda c: (c.span[0], -c.span[1])):
            applied = bool(change.edits) and not _touches(change.edits, chosen)
            if change.edits and not applied:
                continue
            step = Step(
                change.code,
                change.message,
                (self.original(change.span[0]), self.original(change.span[1])),
                self.dialect,
                applied,
            )
            if step not in self.steps:
                self.steps.append(step)
            if applied:
                chosen += change.edits
        if not chosen:
            return False
        self.text = apply_edits(self.text, chosen)
        self.history.append(sorted(chosen, key=lambda e: (e.start, e.end)))
        return True

    def report(self, error: CypherSyntaxError) -> None:
        """Name the word of SQL that the parser stopped at, if it is one."""
        if error.token.upper() in _SQL_WORDS:
            message = f"{error.token.upper()} is a word of SQL; nothing in Cypher means just that"
            span = (self.original(error.span[0]), self.original(error.span[1]))
            if all(step.span[0] > span[0] or step.span[1] < span[1] for step in self.steps):
                self.steps.append(Step("sql.word", message, span, self.dialect, False))

    def original(self, place: int) -> int:
        """Where a place of the present text was in the text as given."""
        for edits in reversed(self.history):
            place = _before_edits(place, edits)
        return place


def _before_edits(place: int, edits: list[Edit]) -> int:
    """Where a place after these edits, which are sorted, was before them."""
    shift = 0
    for edit in edits:
        start = edit.start + shift
        if place <= start:
            break
        if place < start + len(edit.text):
            return edit.end
        shift += len(edit.text) - (edit.end - edit.start)
    return place - shift


def _touches(edits: tuple[Edit, ...], chosen: list[Edit]) -> bool:
    return any(e.start <= c.end and c.start <= e.end for e in edits for c in chosen)
