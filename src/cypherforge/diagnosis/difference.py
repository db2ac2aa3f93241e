"""One difference between draft and gold, with the edits that would remove it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from cypherforge.cypher.edits import Edit
from cypherforge.diagnosis.render import CannotRender, Renderer

Span = tuple[int, int]

# Families in the order in which a draft is repaired.
FAMILIES = ("syntax", "direction", "schema", "entity", "pattern", "aggregation", "filter", "return")


@dataclass(frozen=True, slots=True)
class Difference:
    """``edits`` None: no edit can be built, and ``reason`` says why.

    Empty ``edits``: those of another difference remove this one too. ``types`` are the relationship
    types that it is about, where it is about a hop. ``removes``: its repair takes a part of the
    pattern away for what the schema says of it.
    """

    code: str
    spans: tuple[Span, ...]
    edits: tuple[Edit, ...] | None
    reason: str
    types: frozenset[str] = frozenset()
    removes: bool = False

    @property
    def rank(self) -> int:
        """Place of the code's family in the order of repair."""
        return rank_of(self.code)


def rank_of(code: str) -> int:
    """Return the place of a code's family in the order of repair."""
    return FAMILIES.index(code.split(".", 1)[0])


def difference(
    code: str,
    spans: Iterable[Span],
    reason: str,
    renderer: Renderer,
    build: Callable[[], Iterable[Edit] | None],
    types: frozenset[str] = frozenset(),
) -> Difference:
    """Make a difference; ``build`` may raise CannotRender, which becomes part of the reason."""
    try:
        built = build()
        edits = None if built is None else tuple(dict.fromkeys([*renderer.naming(), *built]))
    except CannotRender as error:
        renderer.naming()
        edits, reason = None, f"{reason}; no repair: {error}"
    return Difference(code, tuple(spans), edits, reason, types)


def moved(difference: Difference, edits: list[Edit]) -> Difference | None:
    """A difference of the changed text, as one of the text before; None if they touch."""

    def back(at: int) -> int | None:
        shift = 0
        for edit in sorted(edits):
            begin = edit.start + shift
            if at <= begin:
                break
            if at < begin + len(edit.text):
                return None
            shift += len(edit.text) - (edit.end - edit.start)
        return at - shift

    def span(old: Span) -> Span | None:
        start, end = back(old[0]), back(old[1])
        return None if start is None or end is None else (start, end)

    spans = [place for old in difference.spans if (place := span(old)) is not None]
    if difference.edits is None:
        return replace(difference, spans=tuple(spans))
    changed = []
    for edit in difference.edits:
        place = span((edit.start, edit.end))
        if place is None:
            return None
        changed.append(Edit(*place, edit.text))
    return replace(difference, spans=tuple(spans), edits=tuple(changed))
