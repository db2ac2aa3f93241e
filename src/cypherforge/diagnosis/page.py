"""A tally as a page: counts by code, and real examples of each, as HTML or Markdown."""

from __future__ import annotations

import re
from typing import Any

from cypherforge.core.files import dumps
from cypherforge.diagnosis.model import UNKNOWN
from cypherforge.diagnosis.tally import CodeCount, Example, Tally
from cypherforge.rules.taxonomy import taxonomy
from cypherforge.templates import render

_STATES = {True: "confirmed", False: "not confirmed", None: "not run"}
_CLASSES = {True: "yes", False: "no", None: "term"}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|!])")
# A row with a whole document in a cell must not drown the page.
_ROW_CHARACTERS = 300


def render_page(tally: Tally, source: str, *, basis: str = "", markdown: bool = False) -> str:
    """Render the page. ``source`` says what was diagnosed, ``basis`` in a sentence how.

    The HTML stands alone (no script, no file, no network); all that comes from drafts, golds and
    graphs is escaped.
    """
    kind = "md" if markdown else "html"
    page = render(
        f"pages/diagnosis.{kind}.jinja",
        drafts=tally.drafts,
        right=tally.right,
        confirmed=tally.confirmed,
        source=source,
        basis=basis,
        codes=[_code(code, count, tally.drafts) for code, count in tally.ordered()],
        reasons=sorted(tally.reasons.items(), key=lambda item: (-item[1], item[0])),
        md=_plain,
    )
    return page + "\n"


def _code(code: str, count: CodeCount, drafts: int) -> dict[str, Any]:
    if code == UNKNOWN:
        name, definition = "cannot tell", "The draft's rows are wrong, and no code describes why."
    else:
        entry = taxonomy()[code]
        name, definition = entry.name, entry.definition
    return {
        "code": code,
        "name": name,
        "definition": definition,
        "first": count.first,
        "all": count.all,
        "confirmed": count.confirmed,
        "percent": round(100 * count.first / max(drafts, 1), 1),
        "examples": [_example(example) for example in count.examples],
    }


def _example(example: Example) -> dict[str, Any]:
    pair, fault = example.pair, example.fault
    longest = max((len(run) for run in re.findall("`+", pair.draft + pair.gold)), default=0)
    return {
        "id": pair.id,
        "question": " ".join(pair.question.split()),
        "draft": _marked(pair.draft, fault.spans),
        "draft_text": pair.draft,
        "gold": pair.gold,
        "repair": fault.repair or "",
        "reason": fault.reason,
        "error": pair.error,
        "state": _STATES[fault.confirmed],
        "state_class": _CLASSES[fault.confirmed],
        "draft_rows": [_row(row) for row in pair.draft_rows],
        "gold_rows": [_row(row) for row in pair.gold_rows],
        "fence": "`" * max(3, longest + 1),
    }


def _marked(text: str, spans: tuple[tuple[int, int], ...]) -> list[tuple[str, bool]]:
    """The text in pieces, with those that a span covers marked."""
    pieces: list[tuple[str, bool]] = []
    place = 0
    for start, end in sorted(spans):
        start, end = max(start, place), min(end, len(text))
        if start < end:
            pieces += [(text[place:start], False), (text[start:end], True)]
            place = end
    return [piece for piece in (*pieces, (text[place:], False)) if piece[0]]


def _row(row: Any) -> str:
    text = dumps(row)
    return text if len(text) <= _ROW_CHARACTERS else text[:_ROW_CHARACTERS] + "…"


def _plain(text: str) -> str:
    """Text in one line that Markdown shows as it stands."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))
