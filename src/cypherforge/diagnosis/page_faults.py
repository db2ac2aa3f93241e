"""Differences of ORDER BY, SKIP and LIMIT."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cypherforge.cypher import ast
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name
from cypherforge.diagnosis.align import Alignment
from cypherforge.diagnosis.difference import Difference, difference
from cypherforge.diagnosis.expressions import Canonical, Form, has_aggregate
from cypherforge.diagnosis.render import CannotRender, Renderer
from cypherforge.diagnosis.summary import Summary


@dataclass(frozen=True, slots=True)
class _Page:
    """ORDER BY, SKIP and LIMIT of one projection; ``followed``: a MATCH comes behind it."""

    projection: ast.Projection
    order: tuple[tuple[Form, bool], ...]
    skip: Form | None
    limit: Form | None
    followed: bool


class PageFaults:
    """Finds them for one aligned pair."""

    def __init__(self, alignment: Alignment, renderer: Renderer) -> None:
        self.draft, self.gold = alignment.draft, alignment.gold
        self.renderer = renderer
        self.mine, self.theirs = alignment.forms()

    def make(
        self, code: str, nodes: list[ast.Node], reason: str, build: Callable[[], list[Edit] | None]
    ) -> Difference:
        """Make a difference over the spans of draft nodes."""
        return difference(code, [n.span for n in nodes], reason, self.renderer, build)

    def all(self) -> Iterator[Difference]:
        """Yield differences of ORDER BY, SKIP and LIMIT."""
        mine, theirs = _pages(self.draft, self.mine), _pages(self.gold, self.theirs)
        if [_cuts(p) for p in mine] == [_cuts(p) for p in theirs]:
            return
        own = self.draft.returned
        if own is None:
            return
        if not theirs:
            nodes = [n for page in mine for n in _page_nodes(page.projection)]
            yield self.make(
                "return.unasked", nodes, "the gold neither sorts nor cuts", lambda: _cut(nodes)
            )
            return
        if not mine:
            page = theirs[-1]
            yield self.make(
                "return.order",
                [own],
                "the gold sorts or cuts its rows",
                lambda: self._append(own, page),
            )
            return
        a, b = mine[-1], theirs[-1]
        nodes = _page_nodes(a.projection)
        if _cuts(a)[:3] == _cuts(b)[:3] and a.followed != b.followed:
            reason = "cut at another step than in the gold: before or behind further patterns"
            yield self.make("return.order", nodes, reason, lambda: None)
            return
        unasked = (a.order == b.order or not b.order) and (
            (a.limit is not None and b.limit is None) or (a.order and not b.order)
        )
        code = "return.unasked" if unasked else "return.order"
        reason = _page_reason(a, b)
        yield self.make(code, nodes, reason, lambda: self._repage(a, b))

    def _append(self, own: ast.Return, page: _Page) -> list[Edit] | None:
        if not isinstance(page.projection, ast.Return):
            raise CannotRender("the gold sorts before its last step")
        return [Edit(own.span[1], own.span[1], f" {self._page_text(page)}")]

    def _repage(self, a: _Page, b: _Page) -> list[Edit] | None:
        nodes = _page_nodes(a.projection)
        start = nodes[0].span[0]
        end = nodes[-1].span[1]
        return [Edit(start, end, self._page_text(b))]

    def _page_text(self, page: _Page) -> str:
        pieces = []
        projection = page.projection
        if projection.order_by is not None:
            keys = []
            for key in projection.order_by.items:
                text = self._sort_key(key.expression, projection)
                keys.append(f"{text} DESC" if key.descending else text)
            pieces.append(f"ORDER BY {', '.join(keys)}")
        if projection.skip is not None:
            pieces.append(f"SKIP {self.renderer.render(projection.skip.count)}")
        if projection.limit is not None:
            pieces.append(f"LIMIT {self.renderer.render(projection.limit.count)}")
        return " ".join(pieces)

    def _sort_key(self, expression: ast.Expression, projection: ast.Projection) -> str:
        """A sort key in the draft's names: by the column that is the same, where there is one."""
        own = self.draft.returned
        form = self.theirs.form(expression)
        if own is not None:
            for item in own.items:
                if self.mine.form(item.expression) == form:
                    if item.alias is not None:
                        return quote_name(item.alias.name)
                    return self.draft.text[slice(*item.expression.span)]
            # The column may come into the draft by another repair, under the gold's alias.
            for item in projection.items:
                if item.alias is not None and self.theirs.form(item.expression) == form:
                    if has_aggregate(form):
                        return quote_name(item.alias.name)
        return self.renderer.render(expression)


def _pages(summary: Summary, forms: Canonical) -> list[_Page]:
    pages = []
    for projection in summary.projections:
        if projection.order_by is None and projection.limit is None and projection.skip is None:
            continue
        order = projection.order_by.items if projection.order_by is not None else []
        pages.append(
            _Page(
                projection,
                tuple((forms.form(key.expression), key.descending) for key in order),
                forms.form(projection.skip.count) if projection.skip is not None else None,
                forms.form(projection.limit.count) if projection.limit is not None else None,
                any(match.span[0] > projection.span[0] for match in summary.matches),
            )
        )
    return pages


def _cuts(page: _Page) -> tuple[object, ...]:
    # Where it is cut matters only if it is cut: an order in between is lost anyway.
    cut = page.skip is not None or page.limit is not None
    return page.order, page.skip, page.limit, page.followed if cut else None


def _page_nodes(projection: ast.Projection) -> list[ast.Node]:
    nodes = (projection.order_by, projection.skip, projection.limit)
    return sorted((n for n in nodes if n is not None), key=lambda n: n.span)


def _cut(nodes: list[ast.Node]) -> list[Edit]:
    return [Edit(node.span[0], node.span[1], "") for node in nodes]


def _page_reason(a: _Page, b: _Page) -> str:
    if a.limit != b.limit:
        if b.limit is None:
            return "cut at a number of rows that the gold does not cut at"
        return "cut at another number of rows than the gold"
    if [key for key, _ in a.order] == [key for key, _ in b.order]:
        return "sorted the other way round"
    return "sorted by something else than the gold"
