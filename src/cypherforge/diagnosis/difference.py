"""One difference between draft and gold, with the edits that would remove it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cypherforge.cypher.edits import Edit
from cypherforge.diagnosis.render import CannotRender, Renderer

Span = tuple[int, int]

# Families in the order in which a draft is repaired.
FAMILIES = ("syntax", "direction", "schema", "entity", "pattern", "aggregation", "filter", "return")


@dataclass(frozen=True, slots=True)
class Difference:
    """``edits`` None: no edit can be built, and ``reason`` says why.

    Empty ``edits``: those of another difference remove this one too. ``types`` are the relationship
    types that it is about, where it is about a hop.
    """

    code: str
    spans: tuple[Span, ...]
    edits: tuple[Edit, ...] | None
    reason: str
    types: frozenset[str] = frozenset()

    @property
    def rank(self) -> int:
        """Place of the code's family in the order of repair."""
        return FAMILIES.index(self.code.split(".", 1)[0])


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
