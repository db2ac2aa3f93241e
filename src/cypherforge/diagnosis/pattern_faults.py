"""Differences of the pattern graph: hops and nodes that only one side has, and joins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Entity, Link
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name
from cypherforge.diagnosis import surgery
from cypherforge.diagnosis.align import Alignment
from cypherforge.diagnosis.difference import Difference, difference
from cypherforge.diagnosis.name_faults import NameFaults
from cypherforge.diagnosis.pattern_links import (
    components,
    from_anchor,
    path_between,
    same_types,
    types_of,
)
from cypherforge.diagnosis.pattern_text import PatternText
from cypherforge.diagnosis.render import CannotRender, Renderer
from cypherforge.diagnosis.summary import Condition
from cypherforge.diagnosis.topology_faults import TopologyFaults
from cypherforge.graph.schema import Schema


class PatternFaults:
    """Finds them for one aligned pair. ``started``: MATCH clauses that an edit gave a WHERE.

    ``gone_conditions``: conditions of the draft that go with nodes that the gold does not have.
    """

    def __init__(
        self,
        alignment: Alignment,
        renderer: Renderer,
        schema: Schema | None,
        started: set[int],
    ) -> None:
        self.found = alignment
        self.draft, self.gold = alignment.draft, alignment.gold
        self.renderer = renderer
        self.schema = schema
        self.started = started
        self.names = NameFaults(alignment, renderer, schema)
        self.text = PatternText(alignment, renderer, started)
        self.settled_nodes: set[int] = set()
        self.gone_conditions: list[Condition] = []
        self._open_draft = list(alignment.draft_links)
        self._open_gold = list(alignment.gold_links)

    @property
    def settled_conditions(self) -> set[int]:
        """Conditions of either side that are dealt with along with a pattern."""
        return self.text.settled

    def all(self) -> list[Difference]:
        """Return every difference of the pattern graph."""
        return [
            *self.names.all(),
            *self.joins(),
            *self.detours(),
            *self.moved(),
            *self.missing(),
            *self.extra(),
            *TopologyFaults(self.found, self.renderer).all(),
        ]

    def make(self, code: str, nodes: Iterable[ast.Node], reason: str, build: object) -> Difference:
        """Make a difference over the spans of draft nodes."""
        return difference(code, [n.span for n in nodes], reason, self.renderer, build)  # type: ignore[arg-type]

    def joins(self) -> Iterator[Difference]:
        """A node of the gold that the draft has twice, so that its two sides never meet."""
        for mine in list(self._open_draft):
            for theirs in list(self._open_gold):
                if mine not in self._open_draft or theirs not in self._open_gold:
                    continue
                if not same_types(mine, theirs):
                    continue
                for double, other in ((mine.left, mine.right), (mine.right, mine.left)):
                    if id(double) in self.found.gold_of:
                        continue
                    partner = self._joined(double, other, theirs)
                    if partner is None:
                        continue
                    self._open_draft.remove(mine)
                    self._open_gold.remove(theirs)
                    self.settled_nodes.add(id(double))
                    yield self.make(
                        "pattern.join",
                        double.nodes,
                        f"{double.name or 'a second node'} and {partner.name or 'the first'} have "
                        "to be one node",
                        lambda d=double, p=partner: self._merge(d, p),
                    )
                    break

    def _joined(self, double: Entity, other: Entity, theirs: Link) -> Entity | None:
        far = self.found.gold_of.get(id(other))
        if far is None:
            return None
        for shared, end in ((theirs.left, theirs.right), (theirs.right, theirs.left)):
            partner = self.found.draft_of.get(id(shared))
            if end is not far or partner is None or partner is double:
                continue
            if not double.names or not partner.names or double.names & partner.names:
                return partner
        return None

    def _merge(self, double: Entity, partner: Entity) -> list[Edit]:
        name = self.renderer.own_name(partner)
        edits = [Edit(*node.span, f"({quote_name(name)})") for node in double.nodes]
        covered = [node.span for node in double.nodes]
        for use in double.uses:
            if not any(start <= use.span[0] < end for start, end in covered):
                edits.append(Edit(*use.span, quote_name(name)))
        for condition in self.draft.conditions:
            if condition.owner is double:
                self.text.settled.add(id(condition))
        return edits

    def detours(self) -> Iterator[Difference]:
        """One hop where the gold has two or more, and the reverse."""
        for mine in list(self._open_draft):
            a, b = self.found.gold_of.get(id(mine.left)), self.found.gold_of.get(id(mine.right))
            if a is None or b is None:
                continue
            path = path_between(a, b, self._open_gold, self.found.draft_of)
            if path is None:
                continue
            self._open_draft.remove(mine)
            for link in path:
                self._open_gold.remove(link)
            code, reason = self._told(
                [mine], "pattern.missing_hop", f"one hop where the gold has {len(path)}"
            )
            yield self.make(
                code,
                [mine.pattern],
                reason,
                lambda m=mine, p=path, start=a: self._longer(m, p, start),
            )
        for theirs in list(self._open_gold):
            left = self.found.draft_of.get(id(theirs.left))
            right = self.found.draft_of.get(id(theirs.right))
            if left is None or right is None:
                continue
            way = path_between(left, right, self._open_draft, self.found.gold_of)
            if way is None:
                continue
            self._open_gold.remove(theirs)
            gone = set()
            for link in way:
                self._open_draft.remove(link)
                gone |= {id(link.start), id(link.end)}
            gone -= {id(left), id(right)}
            self.settled_nodes |= gone
            code, reason = self._told(
                way, "pattern.extra_hop", f"{len(way)} hops where the gold has one"
            )
            yield self.make(
                code,
                [link.pattern for link in way],
                reason,
                lambda t=theirs, w=way, start=left, g=gone: self._shorter(t, w, start, g),
            )

    def _told(self, links: list[Link], code: str, reason: str) -> tuple[str, str]:
        """What the schema says of hops that the gold does not walk, or else this code."""
        named = self.names.by_schema(links)
        return (code, reason) if named is None else (named[0], f"{named[1]}; {reason}")

    def _longer(self, mine: Link, path: list[Link], start: Entity) -> list[Edit]:
        here, written = start, ""
        for link in path:
            there = link.right if link.left is here else link.left
            body = surgery.inner(self.gold.text, link.pattern)
            written += surgery.arrow(self.text.body(link, body), surgery.seen_from(link, here))
            if id(there) not in self.found.draft_of:
                written += self.text.new_node(there)
            here = there
        edits = [Edit(*mine.pattern.span, written)]
        return edits + self.text.conditions_of(path, self.text.clause(mine))

    def _shorter(
        self, theirs: Link, way: list[Link], start: Entity, gone: set[int]
    ) -> list[Edit] | None:
        parts = {id(link.part) for link in way}
        if len(parts) != 1:
            return None
        span = (
            min(link.pattern.span[0] for link in way),
            max(link.pattern.span[1] for link in way),
        )
        first = min(way, key=lambda link: link.pattern.span[0])
        begin = first.left
        gold_begin = self.found.gold_of.get(id(begin))
        if gold_begin is None:
            return None
        body = self.text.body(theirs, surgery.inner(self.gold.text, theirs.pattern))
        edits = [Edit(*span, surgery.arrow(body, surgery.seen_from(theirs, gold_begin)))]
        for condition in self._about(gone):
            if condition.holder is None:
                edits += surgery.drop_condition(self.draft, condition)
        return edits

    def moved(self) -> Iterator[Difference]:
        """A hop of the same type that hangs on another node than the gold's."""
        for mine in list(self._open_draft):
            for theirs in self._open_gold:
                if not same_types(mine, theirs):
                    continue
                partners = {
                    id(self.found.gold_of.get(id(node)))
                    for node in (mine.left, mine.right)
                    if id(node) in self.found.gold_of
                }
                shared = [n for n in (theirs.left, theirs.right) if id(n) in partners]
                both = all(id(n) in self.found.draft_of for n in (theirs.left, theirs.right))
                if len(shared) != 1 or not both:
                    continue
                self._open_draft.remove(mine)
                self._open_gold.remove(theirs)
                code = "pattern.topology"
                forth = self.names.declared(mine, mine.start, mine.end)
                if forth is False and self.names.declared(mine, mine.end, mine.start) is False:
                    code = "schema.endpoints"
                gone = self._loose(mine)
                yield self.make(
                    code,
                    [mine.pattern],
                    "the hop hangs on another node than the gold's",
                    lambda m=mine, t=theirs, g=gone: self._rehang(m, t, g),
                )
                break

    def _loose(self, link: Link) -> set[int]:
        """Nodes that are in the pattern only for this link and have no partner."""
        loose = set()
        for node in (link.left, link.right):
            others = [k for k in self.draft.links if k is not link and node in (k.left, k.right)]
            if not others and id(node) not in self.found.gold_of:
                loose.add(id(node))
        self.settled_nodes |= loose
        return loose

    def _rehang(self, mine: Link, theirs: Link, gone: set[int]) -> list[Edit] | None:
        edits = surgery.without_links(self.draft, {id(mine.pattern)}, gone)
        if edits is None:
            return None
        written = self.text.written(theirs)
        if len(edits) == 1 and edits[0].text:
            edit = edits[0]
            return [Edit(edit.start, edit.end, f"{edit.text}, {written}")]
        return None

    # ------------------------------------------------------------ missing and extra

    def missing(self) -> Iterator[Difference]:
        """Yield what the gold walks and the draft does not."""
        free = [node for node in self.found.gold_nodes if not self.renderer.brings(node)]
        for links, nodes in components(self._open_gold, free):
            nodes = [n for n in nodes if id(n) not in self.found.draft_of]
            anchors = [n for k in links for n in (k.left, k.right) if id(n) in self.found.draft_of]
            what = " and ".join(
                sorted({"|".join(sorted(k.relationship.names)) or "a hop" for k in links})
            )
            reason = f"the gold also walks {what}" if links else "the gold has one more node"
            yield difference(
                "pattern.missing_hop",
                [self.found.draft_of[id(a)].nodes[0].span for a in anchors[:1]],
                reason,
                self.renderer,
                partial(self._add, links, nodes, anchors),
                types_of(links),
            )

    def _add(self, links: list[Link], nodes: list[Entity], anchors: list[Entity]) -> list[Edit]:
        matches = self.draft.matches
        if not matches:
            raise CannotRender("the draft has no MATCH")
        clause = matches[-1]
        if anchors:
            clause = self.text.last_home([self.found.draft_of[id(a)] for a in anchors])
        adopted: set[int] = set()
        pieces: list[str] = []
        ordered = from_anchor(links, self.found.draft_of)
        for link in ordered:
            pieces.append(self.text.written(link, adopted))
        if not links:
            pieces += [self.text.new_node(node) for node in nodes]
        optional = bool(links) and all(
            isinstance(k.clause, ast.Match) and k.clause.optional for k in links
        )
        conditions = self.text.condition_texts(nodes)
        if optional and not clause.optional:
            text = f" OPTIONAL MATCH {', '.join(pieces)}"
            if conditions:
                text += f" WHERE {' AND '.join(conditions)}"
            return [Edit(clause.span[1], clause.span[1], text)]
        last = clause.patterns[-1].span[1]
        edits = [Edit(last, last, f", {', '.join(pieces)}")]
        for condition in conditions:
            edits += surgery.add_condition(clause, condition, self.started)
        return edits

    def extra(self) -> Iterator[Difference]:
        """Yield what the draft walks and the gold does not."""
        free = [n for n in self.found.draft_nodes if id(n) not in self.settled_nodes]
        for links, nodes in components(self._open_draft, free):
            nodes = [n for n in nodes if id(n) not in self.found.gold_of]
            gone = {id(n) for n in nodes}
            self.settled_nodes |= gone
            what = " and ".join(
                sorted({"|".join(sorted(k.relationship.names)) or "a hop" for k in links})
            )
            reason = f"the gold does not walk {what}" if links else "the gold has no such node"
            spans: list[ast.Node] = [k.pattern for k in links] or [n.nodes[0] for n in nodes]
            dropped = self._about(gone)
            self.text.settled |= {id(c) for c in dropped}
            self.gone_conditions += dropped if self.found.edition > 1 else []
            code, reason = self._told(links, "pattern.extra_hop", reason)
            found = difference(
                code,
                [node.span for node in spans],
                reason,
                self.renderer,
                partial(self._remove, links, gone, dropped),
                types_of(links),
            )
            yield replace(found, removes=code != "pattern.extra_hop")

    def _remove(
        self, links: list[Link], gone: set[int], dropped: list[Condition]
    ) -> list[Edit] | None:
        edits = surgery.without_links(self.draft, {id(k.pattern) for k in links}, gone)
        if edits is None:
            return None
        cut = [edit for edit in edits if not edit.text]
        for condition in dropped:
            if condition.holder is None:
                span = condition.node.span
                if not any(e.start <= span[0] and span[1] <= e.end for e in cut):
                    edits += surgery.drop_condition(self.draft, condition)
        return edits

    def _about(self, entities: set[int]) -> list[Condition]:
        """The draft's conditions that speak of any of these entities."""
        found = []
        for condition in self.draft.conditions:
            used = {id(condition.owner)} if condition.owner is not None else set()
            for node in condition.value.walk():
                if isinstance(node, ast.Variable):
                    used.add(id(self.draft.bindings.of(node)))
            if used & entities:
                found.append(condition)
        return found
