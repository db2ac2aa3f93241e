"""Differences of hops and nodes that are matched: arrows, types, labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Entity, Link
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name
from cypherforge.diagnosis import surgery
from cypherforge.diagnosis.align import Alignment
from cypherforge.diagnosis.difference import Difference, difference, rank_of
from cypherforge.diagnosis.pattern_links import components, label_text
from cypherforge.diagnosis.render import Renderer
from cypherforge.graph.schema import Schema


class NameFaults:
    """Finds them for one aligned pair."""

    def __init__(self, alignment: Alignment, renderer: Renderer, schema: Schema | None) -> None:
        self.found = alignment
        self.draft, self.gold = alignment.draft, alignment.gold
        self.renderer = renderer
        self.schema = schema

    def all(self) -> list[Difference]:
        """Return every such difference."""
        return [*self.directions(), *self.types(), *self.labels()]

    def make(self, code: str, nodes: Iterable[ast.Node], reason: str, build: object) -> Difference:
        """Make a difference over the spans of draft nodes."""
        return difference(code, [n.span for n in nodes], reason, self.renderer, build)  # type: ignore[arg-type]

    # ------------------------------------------------------------ directions

    def directions(self) -> Iterator[Difference]:
        """Yield arrows against the gold's, or on one side only."""
        text = self.draft.text
        reversed_: list[tuple[Link, Link]] = []
        directed = 0
        for mine, theirs in self.found.links:
            if mine.directed and theirs.directed:
                directed += 1
                if self._against(mine, theirs) and not self._turns_with_type(mine, theirs):
                    reversed_.append((mine, theirs))
            elif mine.directed != theirs.directed:
                found = self._arrowless(mine, theirs)
                if found == "direction.reversed":
                    reversed_.append((mine, theirs))
                    directed += 1
                elif found is not None:
                    direction = "both"
                    if theirs.directed:
                        at_left = self.found.gold_of.get(id(mine.left)) is theirs.start
                        direction = "right" if at_left else "left"
                    edits = surgery.redirect(text, mine, direction)
                    reason = {
                        "direction.undirected": "the gold has an arrow where the draft has none",
                        "direction.mutual": "the draft has an arrow where the gold has none",
                    }[found]
                    yield self.make(found, [mine.pattern], reason, lambda e=edits: e)
        if not reversed_:
            return
        code = (
            "direction.chain"
            if self._mixed({id(m) for m, _ in reversed_})
            else ("direction.reversed")
        )
        edits = []
        for mine, _ in reversed_:
            edits += self._turned(mine)
        hops = f"{len(reversed_)} of {directed} arrows" if directed > 1 else "the arrow"
        reason = f"{hops} against the gold's direction"
        yield self.make(code, [m.pattern for m, _ in reversed_], reason, lambda: edits)

    def _turned(self, mine: Link) -> list[Edit]:
        turned = "left" if mine.pattern.direction == "right" else "right"
        return surgery.redirect(self.draft.text, mine, turned)

    def _against(self, mine: Link, theirs: Link) -> bool:
        return self.found.gold_of.get(id(mine.start)) is not theirs.start

    def _turns_with_type(self, mine: Link, theirs: Link) -> bool:
        """Whether a hop of another type than the gold's has no fault of direction of its own.

        Its own type is stored as it is drawn, or between these labels in no direction.
        """
        if self.found.edition < 2 or mine.relationship.names & theirs.relationship.names:
            return False
        stored = self._stored(mine)
        return stored is not None and (stored[0] or not stored[1])

    def _stored(self, link: Link) -> tuple[bool, bool] | None:
        """Whether the schema has a link as drawn, and against its arrow; None: cannot be told."""
        if self.schema is None or not (link.start.names | link.end.names) <= set(
            self.schema.labels
        ):
            return None
        forth = self.declared(link, link.start, link.end)
        back = self.declared(link, link.end, link.start)
        return None if forth is None or back is None else (forth, back)

    def by_schema(self, links: Iterable[Link]) -> tuple[str, str] | None:
        """Code and reason for the first of these hops that the schema does not have as drawn.

        In the order of repair; None if the schema has them all, or cannot tell.
        """
        found: list[tuple[str, str]] = []
        for link in links:
            named = self._hop_by_schema(link)
            if named is not None:
                found.append(named)
        return min(found, key=lambda named: rank_of(named[0]), default=None)

    def _hop_by_schema(self, link: Link) -> tuple[str, str] | None:
        names = link.relationship.names
        if self.schema is None or not names or self.found.edition < 2:
            return None
        unknown = sorted(name for name in names if name not in self.schema.types)
        if unknown:
            return "schema.type", f"the schema has no type {unknown[0]}"
        stored = self._stored(link)
        if stored is None or stored[0] or (stored[1] and not link.directed):
            return None
        written = "|".join(sorted(names))
        if not stored[1]:
            return "schema.endpoints", f"{written} is never between these labels"
        code = "direction.chain" if self._mixed({id(link)}) else "direction.reversed"
        return code, f"{written} runs the other way between these labels"

    def _mixed(self, turned: set[int]) -> bool:
        """Whether a pattern that hangs together holds arrows that are right beside the turned."""
        for links, _ in components(self.found.draft.links, self.found.draft.nodes):
            kinds = {id(link) in turned for link in links if link.directed}
            if len(kinds) == 2:
                return True
        return False

    def _arrowless(self, mine: Link, theirs: Link) -> str | None:
        """Code for an arrow on one side only; None where it means the same."""
        lone = mine if mine.directed else theirs
        start, end = lone.start, lone.end
        forth = self.declared(lone, start, end)
        back = self.declared(lone, end, start)
        if lone is mine and forth is False and back is True:
            return "direction.reversed"
        if forth is not None and back is not None:
            if not back:
                return None
        elif start.names and end.names and not start.names & end.names:
            return None
        return "direction.mutual" if lone is mine else "direction.undirected"

    def declared(self, link: Link, start: Entity, end: Entity) -> bool | None:
        """Whether the schema has a link from start to end; None if that cannot be told."""
        types = link.relationship.names
        if self.schema is None or not types or not types <= set(self.schema.types):
            return None
        return any(
            (not start.names or p.start in start.names or self._together(p.start, start))
            and (not end.names or p.end in end.names or self._together(p.end, end))
            for name in types
            for p in self.schema.patterns_of(name)
        )

    def _together(self, label: str, entity: Entity) -> bool:
        assert self.schema is not None
        return any(self.schema.together((label, name)) for name in entity.names)

    # ------------------------------------------------------------ names

    def types(self) -> Iterator[Difference]:
        """Yield hops whose types are not the gold's."""
        text = self.draft.text
        for mine, theirs in self.found.links:
            own, wanted = mine.relationship.names, theirs.relationship.names
            if own == wanted:
                continue
            code, reason = self._type_code(mine, own, wanted)
            labels = "|".join(quote_name(name) for name in sorted(wanted))
            edits = surgery.set_types(text, mine.pattern, labels)
            if mine.directed and theirs.directed and self._against(mine, theirs):
                edits += self._turned(mine) if self._turns_with_type(mine, theirs) else []
            node = mine.pattern.types or mine.pattern
            yield self.make(code, [node], reason, lambda e=edits: e)

    def _type_code(
        self, mine: Link, own: frozenset[str], wanted: frozenset[str]
    ) -> tuple[str, str]:
        written = "|".join(sorted(own)) or "any type"
        asked = "|".join(sorted(wanted)) or "any type"
        if self.schema is None:
            if own and wanted:
                return "schema.type", f"{written} where the gold has {asked} (no schema to ask)"
        else:
            unknown = sorted(name for name in own if name not in self.schema.types)
            if unknown:
                return "schema.type", f"the schema has no type {unknown[0]}; the gold has {asked}"
            forth = self.declared(mine, mine.start, mine.end)
            back = self.declared(mine, mine.end, mine.start)
            if own and forth is False and back is False:
                return "schema.endpoints", f"{written} is never between these labels"
        return "pattern.topology", f"{written} where the gold walks {asked}"

    def labels(self) -> Iterator[Difference]:
        """Yield nodes whose labels are not the gold's."""
        for node in self.draft.nodes:
            gold = self.found.gold_of.get(id(node))
            if gold is None or node.names == gold.names:
                continue
            named = self._label_code(node, gold)
            if named is None:
                continue
            code, reason = named
            wanted = label_text(gold)
            edits = surgery.set_labels(self.draft.text, node, wanted)
            spans = [n for n in node.nodes if isinstance(n, ast.NodePattern)]
            labelled = [n.labels for n in spans if n.labels is not None]
            yield self.make(code, labelled or spans[:1], reason, lambda e=edits: e or None)

    def _label_code(self, node: Entity, gold: Entity) -> tuple[str, str] | None:
        own, wanted = node.names, gold.names
        if self.schema is not None:
            unknown = sorted(name for name in own if name not in self.schema.labels)
            if unknown:
                asked = " or ".join(sorted(wanted)) or "no label"
                return "schema.label", f"the schema has no label {unknown[0]}; the gold has {asked}"
        if not own or not wanted:
            bare, labelled = (node, gold) if not own else (gold, node)
            summary = self.draft if not own else self.gold
            if self._implied(bare, labelled.names, summary.links):
                return None
            if not own:
                return (
                    "filter.missing",
                    f"the node may be anything; the gold wants {label_text(gold)}",
                )
            return "entity.label", f"the gold does not ask for {label_text(node)}"
        reason = f"{label_text(node)} where the gold has {label_text(gold)}"
        if self.schema is not None:
            for mine, _ in self.found.links:
                if node in (mine.start, mine.end):
                    forth = self.declared(mine, mine.start, mine.end)
                    if forth is False and self.declared(mine, mine.end, mine.start) is False:
                        return "schema.endpoints", reason
        return "entity.label", reason

    def _implied(self, node: Entity, labels: frozenset[str], links: list[Link]) -> bool:
        """Whether the links around an unlabelled node leave it no other label than these."""
        around = [link for link in links if node in (link.start, link.end)]
        if self.schema is None:
            return any(link.relationship.names for link in around)
        for link in around:
            types = link.relationship.names
            if not types or not types <= set(self.schema.types) or link.pattern.quantifier:
                continue
            patterns = [p for name in types for p in self.schema.patterns_of(name)]
            ends: set[str] = set()
            if link.start is node or not link.directed:
                ends |= {p.start for p in patterns}
            if link.end is node or not link.directed:
                ends |= {p.end for p in patterns}
            other = link.end if link.start is node else link.start
            if other.names and other is not node:
                ends = {
                    side
                    for p in patterns
                    for side, far in ((p.start, p.end), (p.end, p.start))
                    if far in other.names and side in ends
                }
            if ends and ends <= labels:
                return True
        return False
