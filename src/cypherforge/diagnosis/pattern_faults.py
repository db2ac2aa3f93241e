"""Differences of the pattern graph: directions, names, hops, joins, topology."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Entity, Link
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name
from cypherforge.diagnosis import surgery
from cypherforge.diagnosis.align import Alignment
from cypherforge.diagnosis.difference import Difference, difference
from cypherforge.diagnosis.render import CannotRender, Renderer
from cypherforge.diagnosis.summary import Condition
from cypherforge.graph.schema import Schema


class PatternFaults:
    """Finds them for one aligned pair. ``started``: MATCH clauses that an edit gave a WHERE."""

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
        self.settled_nodes: set[int] = set()
        self.settled_conditions: set[int] = set()
        self._open_draft = list(alignment.draft_links)
        self._open_gold = list(alignment.gold_links)

    def all(self) -> list[Difference]:
        """Return every difference of the pattern graph."""
        return [
            *self.directions(),
            *self.types(),
            *self.labels(),
            *self.joins(),
            *self.detours(),
            *self.moved(),
            *self.missing(),
            *self.extra(),
            *self.topology(),
        ]

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
                if self.found.gold_of.get(id(mine.start)) is not theirs.start:
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
            turned = "left" if mine.pattern.direction == "right" else "right"
            edits += surgery.redirect(text, mine, turned)
        hops = f"{len(reversed_)} of {directed} arrows" if directed > 1 else "the arrow"
        reason = f"{hops} against the gold's direction"
        yield self.make(code, [m.pattern for m, _ in reversed_], reason, lambda: edits)

    def _mixed(self, turned: set[int]) -> bool:
        """Whether a pattern that hangs together holds arrows that are right beside the turned."""
        for links, _ in _components(self.found.draft.links, self.found.draft.nodes):
            kinds = {id(link) in turned for link in links if link.directed}
            if len(kinds) == 2:
                return True
        return False

    def _arrowless(self, mine: Link, theirs: Link) -> str | None:
        """Code for an arrow on one side only; None where it means the same."""
        lone = mine if mine.directed else theirs
        start, end = lone.start, lone.end
        forth = self._declared(lone, start, end)
        back = self._declared(lone, end, start)
        if lone is mine and forth is False and back is True:
            return "direction.reversed"
        if forth is not None and back is not None:
            if not back:
                return None
        elif start.names and end.names and not start.names & end.names:
            return None
        return "direction.mutual" if lone is mine else "direction.undirected"

    def _declared(self, link: Link, start: Entity, end: Entity) -> bool | None:
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
            forth = self._declared(mine, mine.start, mine.end)
            back = self._declared(mine, mine.end, mine.start)
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
            wanted = _label_text(gold)
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
                    f"the node may be anything; the gold wants {_label_text(gold)}",
                )
            return "entity.label", f"the gold does not ask for {_label_text(node)}"
        reason = f"{_label_text(node)} where the gold has {_label_text(gold)}"
        if self.schema is not None:
            for mine, _ in self.found.links:
                if node in (mine.start, mine.end):
                    forth = self._declared(mine, mine.start, mine.end)
                    if forth is False and self._declared(mine, mine.end, mine.start) is False:
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

    # ------------------------------------------------------------ joins and detours

    def joins(self) -> Iterator[Difference]:
        """A node of the gold that the draft has twice, so that its two sides never meet."""
        for mine in list(self._open_draft):
            for theirs in list(self._open_gold):
                if mine not in self._open_draft or theirs not in self._open_gold:
                    continue
                if not _same_types(mine, theirs):
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
                self.settled_conditions.add(id(condition))
        return edits

    def detours(self) -> Iterator[Difference]:
        """One hop where the gold has two or more, and the reverse."""
        for mine in list(self._open_draft):
            a, b = self.found.gold_of.get(id(mine.left)), self.found.gold_of.get(id(mine.right))
            if a is None or b is None:
                continue
            path = _path(a, b, self._open_gold, self.found.draft_of)
            if path is None:
                continue
            self._open_draft.remove(mine)
            for link in path:
                self._open_gold.remove(link)
            yield self.make(
                "pattern.missing_hop",
                [mine.pattern],
                f"one hop where the gold has {len(path)}",
                lambda m=mine, p=path, start=a: self._longer(m, p, start),
            )
        for theirs in list(self._open_gold):
            left = self.found.draft_of.get(id(theirs.left))
            right = self.found.draft_of.get(id(theirs.right))
            if left is None or right is None:
                continue
            way = _path(left, right, self._open_draft, self.found.gold_of)
            if way is None:
                continue
            self._open_gold.remove(theirs)
            gone = set()
            for link in way:
                self._open_draft.remove(link)
                gone |= {id(link.start), id(link.end)}
            gone -= {id(left), id(right)}
            self.settled_nodes |= gone
            yield self.make(
                "pattern.extra_hop",
                [link.pattern for link in way],
                f"{len(way)} hops where the gold has one",
                lambda t=theirs, w=way, start=left, g=gone: self._shorter(t, w, start, g),
            )

    def _longer(self, mine: Link, path: list[Link], start: Entity) -> list[Edit]:
        here, written = start, ""
        for link in path:
            there = link.right if link.left is here else link.left
            body = surgery.inner(self.gold.text, link.pattern)
            written += surgery.arrow(self._body(link, body), surgery.seen_from(link, here))
            if id(there) not in self.found.draft_of:
                written += self._new_node(there)
            here = there
        edits = [Edit(*mine.pattern.span, written)]
        return edits + self._conditions_of(path, self._clause(mine))

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
        body = self._body(theirs, surgery.inner(self.gold.text, theirs.pattern))
        edits = [Edit(*span, surgery.arrow(body, surgery.seen_from(theirs, gold_begin)))]
        for condition in self._about(gone):
            if condition.holder is None:
                edits += surgery.drop_condition(self.draft, condition)
        return edits

    def moved(self) -> Iterator[Difference]:
        """A hop of the same type that hangs on another node than the gold's."""
        for mine in list(self._open_draft):
            for theirs in self._open_gold:
                if not _same_types(mine, theirs):
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
                forth = self._declared(mine, mine.start, mine.end)
                if forth is False and self._declared(mine, mine.end, mine.start) is False:
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
        written = self._written(theirs)
        if len(edits) == 1 and edits[0].text:
            edit = edits[0]
            return [Edit(edit.start, edit.end, f"{edit.text}, {written}")]
        return None

    # ------------------------------------------------------------ missing and extra

    def missing(self) -> Iterator[Difference]:
        """Yield what the gold walks and the draft does not."""
        free = [node for node in self.found.gold_nodes if not self.renderer.brings(node)]
        for links, nodes in _components(self._open_gold, free):
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
                _types_of(links),
            )

    def _add(self, links: list[Link], nodes: list[Entity], anchors: list[Entity]) -> list[Edit]:
        matches = self.draft.matches
        if not matches:
            raise CannotRender("the draft has no MATCH")
        clause = matches[-1]
        if anchors:
            clause = max(
                (self._home(self.found.draft_of[id(a)]) for a in anchors), key=lambda c: c.span
            )
        adopted: set[int] = set()
        pieces: list[str] = []
        ordered = _from_anchor(links, self.found.draft_of)
        for link in ordered:
            pieces.append(self._written(link, adopted))
        if not links:
            pieces += [self._new_node(node) for node in nodes]
        optional = bool(links) and all(
            isinstance(k.clause, ast.Match) and k.clause.optional for k in links
        )
        conditions = self._condition_texts(nodes)
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
        for links, nodes in _components(self._open_draft, free):
            nodes = [n for n in nodes if id(n) not in self.found.gold_of]
            gone = {id(n) for n in nodes}
            self.settled_nodes |= gone
            what = " and ".join(
                sorted({"|".join(sorted(k.relationship.names)) or "a hop" for k in links})
            )
            reason = f"the gold does not walk {what}" if links else "the gold has no such node"
            spans: list[ast.Node] = [k.pattern for k in links] or [n.nodes[0] for n in nodes]
            dropped = self._about(gone)
            self.settled_conditions |= {id(c) for c in dropped}
            yield difference(
                "pattern.extra_hop",
                [node.span for node in spans],
                reason,
                self.renderer,
                partial(self._remove, links, gone, dropped),
                _types_of(links),
            )

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

    # ------------------------------------------------------------ topology

    def topology(self) -> Iterator[Difference]:
        """Yield optional parts, lengths and path functions that differ."""
        text = self.draft.text
        turned: set[int] = set()
        for mine, theirs in self.found.links:
            clause, other = mine.clause, theirs.clause
            assert isinstance(clause, ast.Match) and isinstance(other, ast.Match)
            if clause.optional != other.optional and id(clause) not in turned:
                turned.add(id(clause))
                yield self._optional(clause, other.optional)
            own, wanted = _bounds(mine.pattern), _bounds(theirs.pattern)
            if own != wanted:
                length = theirs.pattern.quantifier
                written = self.gold.text[slice(*length.span)] if length is not None else ""
                edits = surgery.set_length(text, mine.pattern, written)
                reason = f"a path of length {_length(own)} where the gold has {_length(wanted)}"
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

    def _optional(self, clause: ast.Match, wanted: bool) -> Difference:
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
        if clause is not first and all(_optional(theirs) for _, theirs in mine):
            return [Edit(start, start, "OPTIONAL ")]
        split = [(m, t) for m, t in mine if _optional(t)]
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

    # ------------------------------------------------------------ gold text for the draft

    def _home(self, entity: Entity) -> ast.Match:
        """The MATCH that declares a node of the draft."""
        for match in self.draft.matches:
            for part in match.patterns:
                for node in part.walk():
                    if isinstance(node, ast.NodePattern) and self.draft.bindings.of(node) is entity:
                        return match
        raise CannotRender("the node is declared by no MATCH")

    def _clause(self, link: Link) -> ast.Match:
        assert isinstance(link.clause, ast.Match)
        return link.clause

    def _body(self, link: Link, body: str) -> str:
        """A gold relationship's brackets, its variable named so that the draft can hold it."""
        pattern = link.pattern
        if pattern.variable is None:
            return body
        name = self.renderer.adopt(link.relationship)
        start = pattern.variable.span[0] - pattern.span[0]
        offset = self.gold.text[slice(*pattern.span)].find("[")
        at = start - offset
        return body[:at] + quote_name(name) + body[at + len(pattern.variable.name) :]

    def _new_node(self, node: Entity) -> str:
        name = self.renderer.adopt(node)
        written = next((n for n in node.nodes if isinstance(n, ast.NodePattern)), None)
        labels = _label_text(node)
        text = f"({quote_name(name)}"
        if labels:
            text += f":{labels}"
        for pattern in node.nodes:
            if isinstance(pattern, ast.NodePattern) and pattern.properties is not None:
                text += f" {self.renderer.render(pattern.properties)}"
                break
        if written is not None and written.where is not None:
            text += f" WHERE {self.renderer.render(written.where)}"
        for condition in self.gold.conditions:
            if condition.owner is node:
                self.settled_conditions.add(id(condition))
        return f"{text})"

    def _written(self, link: Link, adopted: set[int] | None = None) -> str:
        """A gold link as a path between the draft's nodes, new ones written out in full."""
        adopted = set() if adopted is None else adopted
        body = self._body(link, surgery.inner(self.gold.text, link.pattern))
        ends = []
        for node in (link.left, link.right):
            if id(node) in self.found.draft_of or id(node) in adopted:
                ends.append(f"({quote_name(self.renderer.name(node))})")
            else:
                ends.append(self._new_node(node))
                adopted.add(id(node))
        return f"{ends[0]}{surgery.arrow(body, surgery.seen_from(link, link.left))}{ends[1]}"

    def _condition_texts(self, nodes: list[Entity]) -> list[str]:
        """The gold's WHERE conditions that speak of new nodes."""
        wanted = {id(n) for n in nodes}
        texts = []
        for condition in self.gold.conditions:
            if condition.holder is not None or not isinstance(condition.clause, ast.Match):
                continue
            used = {
                id(self.gold.bindings.of(n))
                for n in condition.value.walk()
                if isinstance(n, ast.Variable)
            }
            if used & wanted:
                self.settled_conditions.add(id(condition))
                texts.append(self.renderer.render(condition.value))
        return texts

    def _conditions_of(self, path: list[Link], clause: ast.Match) -> list[Edit]:
        nodes = {id(n): n for k in path for n in (k.left, k.right)}
        new = [n for key, n in nodes.items() if key not in self.found.draft_of]
        edits: list[Edit] = []
        for text in self._condition_texts(new):
            edits += surgery.add_condition(clause, text, self.started)
        return edits


def _types_of(links: list[Link]) -> frozenset[str]:
    return frozenset().union(*(link.relationship.names for link in links))


def _optional(link: Link) -> bool:
    return isinstance(link.clause, ast.Match) and link.clause.optional


def _same_types(a: Link, b: Link) -> bool:
    mine, theirs = a.relationship.names, b.relationship.names
    return bool(mine & theirs) or not mine or not theirs


def _label_text(entity: Entity) -> str:
    return "&".join(
        "|".join(quote_name(name) for name in sorted(options))
        if len(options) == 1 or len(set(entity.labels)) == 1
        else f"({'|'.join(quote_name(name) for name in sorted(options))})"
        for options in dict.fromkeys(entity.labels)
    )


def _bounds(pattern: ast.RelationshipPattern) -> tuple[int | None, int | None]:
    if pattern.quantifier is None:
        return (1, 1)
    lower = pattern.quantifier.lower
    return (1 if lower is None else lower, pattern.quantifier.upper)


def _length(bounds: tuple[int | None, int | None]) -> str:
    lower, upper = bounds
    return str(lower) if lower == upper else f"{lower}..{'' if upper is None else upper}"


def _path(
    start: Entity, end: Entity, links: list[Link], matched: dict[int, Entity]
) -> list[Link] | None:
    """A path of two or more links over nodes without a partner; None if there is none."""

    def search(here: Entity, used: list[Link]) -> list[Link] | None:
        for link in links:
            if link in used or here not in (link.left, link.right):
                continue
            there = link.right if link.left is here else link.left
            if there is end and used:
                return [*used, link]
            if there is not end and id(there) not in matched and len(used) < 4:
                found = search(there, [*used, link])
                if found is not None:
                    return found
        return None

    return search(start, [])


def _components(links: list[Link], nodes: list[Entity]) -> list[tuple[list[Link], list[Entity]]]:
    """Links that hang together over unpaired nodes, and unpaired nodes without a link."""
    free = {id(n) for n in nodes}
    groups: list[tuple[list[Link], dict[int, Entity]]] = []
    for link in links:
        ends = {id(n): n for n in (link.left, link.right) if id(n) in free}
        joined = [group for group in groups if group[1].keys() & ends.keys()]
        merged: tuple[list[Link], dict[int, Entity]] = ([], {})
        for group in joined:
            groups.remove(group)
            merged[0].extend(group[0])
            merged[1].update(group[1])
        merged[0].append(link)
        merged[1].update(ends)
        groups.append(merged)
    linked = {key for group in groups for key in group[1]}
    result = [(group[0], list(group[1].values())) for group in groups]
    result += [([], [node]) for node in nodes if id(node) not in linked]
    return result


def _from_anchor(links: list[Link], known: dict[int, Entity]) -> list[Link]:
    """Order links so that each but the first touches what is already there, anchors first."""
    reached = set(known)
    left = list(links)
    ordered: list[Link] = []
    while left:
        best = next((k for k in left if id(k.left) in reached or id(k.right) in reached), left[0])
        left.remove(best)
        ordered.append(best)
        reached |= {id(best.left), id(best.right)}
    return ordered
