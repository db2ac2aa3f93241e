"""Differences in how a matched hop is walked: optional or not, its length, shortest paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Entity
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name
from cypherforge.diagnosis import surgery
from cypherforge.diagnosis.align import Alignment
from cypherforge.diagnosis.difference import Difference, difference
from cypherforge.diagnosis.pattern_links import bounds, length_text, optional
from cypherforge.diagnosis.render import Renderer


class TopologyFaults:
    """Finds them for one aligned pair."""

    def __init__(self, alignment: Alignment, renderer: Renderer) -> None:
        self.found = alignment
        self.draft, self.gold = alignment.draft, alignment.gold
        self.renderer = renderer

    def make(self, code: str, nodes: Iterable[ast.Node], reason: str, build: object) -> Difference:
        """Make a difference over the spans of draft nodes."""
        return difference(code, [n.span for n in nodes], reason, self.renderer, build)  # type: ignore[arg-type]

    def all(self) -> Iterator[Difference]:
        """Yield optional parts, lengths and path functions that differ."""
        text = self.draft.text
        turned: set[int] = set()
        for mine, theirs in self.found.links:
            clause, other = mine.clause, theirs.clause
            assert isinstance(clause, ast.Match) and isinstance(other, ast.Match)
            if clause.optional != other.optional and id(clause) not in turned:
                turned.add(id(clause))
                yield self._turn(clause, other.optional)
            own, wanted = bounds(mine.pattern), bounds(theirs.pattern)
            if own != wanted:
                length = theirs.pattern.quantifier
                written = self.gold.text[slice(*length.span)] if length is not None else ""
                edits = surgery.set_length(text, mine.pattern, written)
                reason = (
                    f"a path of length {length_text(own)} where the gold has {length_text(wanted)}"
                )
                yield self.make("pattern.topology", [mine.pattern], reason, lambda e=edits: e)
            if (mine.part.function or mine.part.selector) != (
                theirs.part.function or theirs.part.selector
            ):
                yield self.make(
                    "pattern.topology",
                    [mine.part],
                    "only one of the two asks for shortest paths",
                    lambda: None,
                )

    def _turn(self, clause: ast.Match, wanted: bool) -> Difference:
        start = clause.span[0]
        if wanted:
            reason = "has to be OPTIONAL: the gold keeps rows without it"
            edits = self._make_optional(clause)
        else:
            reason = "must not be OPTIONAL: the gold drops rows without it"
            place = self.draft.text.upper().index("MATCH", start)
            edits = [Edit(start, place, "")]
        return self.make("pattern.topology", [clause], reason, lambda: edits)

    def _make_optional(self, clause: ast.Match) -> list[Edit] | None:
        """OPTIONAL before a MATCH of its own, or the optional hops split off behind the rest."""
        start = clause.span[0]
        first = self.draft.matches[0]
        mine = [m for m in self.found.links if m[0].clause is clause]
        if clause is not first and all(optional(theirs) for _, theirs in mine):
            return [Edit(start, start, "OPTIONAL ")]
        split = [(m, t) for m, t in mine if optional(t)]
        gone = {id(m.pattern) for m, _ in split}
        rest = surgery.without_links(self.draft, gone, set())
        if rest is None or len(rest) != 1 or not rest[0].text:
            return None
        pieces = []
        for mine_link, _ in split:
            left = self.renderer.own_name(mine_link.left)
            right = self.renderer.own_name(mine_link.right)
            body = surgery.inner(self.draft.text, mine_link.pattern)
            direction = surgery.seen_from(mine_link, mine_link.left)
            far = self.draft.text[slice(*mine_link.right.nodes[0].span)]
            near = self.draft.text[slice(*mine_link.left.nodes[0].span)]
            if self._kept(mine_link.left, gone):
                pieces.append(f"({quote_name(left)}){surgery.arrow(body, direction)}{far}")
            else:
                pieces.append(f"{near}{surgery.arrow(body, direction)}({quote_name(right)})")
        loose = {
            id(node) for m, _ in split for node in (m.left, m.right) if not self._kept(node, gone)
        }
        rest = surgery.without_links(self.draft, gone, loose)
        if rest is None or len(rest) != 1 or not rest[0].text:
            return None
        return [*rest, Edit(clause.span[1], clause.span[1], f" OPTIONAL MATCH {', '.join(pieces)}")]

    def _kept(self, node: Entity, gone: set[int]) -> bool:
        """Whether a node stays in the pattern when those links have gone."""
        stays = any(
            node in (k.left, k.right) and id(k.pattern) not in gone for k in self.draft.links
        )
        gold = self.found.gold_of.get(id(node))
        needed = gold is not None and any(
            isinstance(m, ast.Match)
            and not m.optional
            and any(
                self.gold.bindings.of(e) is gold
                for part in m.patterns
                for e in part.elements
                if isinstance(e, ast.NodePattern)
            )
            for m in self.gold.matches
        )
        return stays or needed
