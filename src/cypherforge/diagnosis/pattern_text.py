"""Parts of the gold's pattern, written so that they fit into the draft."""

from __future__ import annotations

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Entity, Link
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name
from cypherforge.diagnosis import surgery
from cypherforge.diagnosis.align import Alignment
from cypherforge.diagnosis.pattern_links import label_text
from cypherforge.diagnosis.render import CannotRender, Renderer


class PatternText:
    """Writes for one aligned pair.

    ``started``: MATCH clauses that an edit gave a WHERE. ``settled``: conditions that were written
    along with a pattern.
    """

    def __init__(self, alignment: Alignment, renderer: Renderer, started: set[int]) -> None:
        self.found = alignment
        self.draft, self.gold = alignment.draft, alignment.gold
        self.renderer = renderer
        self.started = started
        self.settled: set[int] = set()

    def home(self, entity: Entity) -> ast.Match:
        """The MATCH that declares a node of the draft."""
        for match in self.draft.matches:
            for part in match.patterns:
                for node in part.walk():
                    if isinstance(node, ast.NodePattern) and self.draft.bindings.of(node) is entity:
                        return match
        raise CannotRender("the node is declared by no MATCH")

    def last_home(self, entities: list[Entity]) -> ast.Match:
        """The MATCH to which a pattern on these nodes of the draft can be added.

        Where WITH carries all of them on to a later MATCH, it is that one: the first WITH would
        drop what is new.
        """
        home = max((self.home(entity) for entity in entities), key=lambda match: match.span)
        for match in self.draft.matches:
            steps = [
                step
                for step in self.draft.projections
                if home.span[0] < step.span[0] < match.span[0]
            ]
            if steps and not match.optional and all(self._carries(s, entities) for s in steps):
                home = match
        return home

    def _carries(self, step: ast.Projection, entities: list[Entity]) -> bool:
        carried = {
            id(self.draft.bindings.of(item.expression))
            for item in step.items
            if isinstance(item.expression, ast.Variable)
        }
        return step.star or all(id(entity) in carried for entity in entities)

    def clause(self, link: Link) -> ast.Match:
        """The MATCH that a link stands in."""
        assert isinstance(link.clause, ast.Match)
        return link.clause

    def body(self, link: Link, body: str) -> str:
        """A gold relationship's brackets, its variable named so that the draft can hold it."""
        pattern = link.pattern
        if pattern.variable is None:
            return body
        name = self.renderer.adopt(link.relationship)
        start = pattern.variable.span[0] - pattern.span[0]
        offset = self.gold.text[slice(*pattern.span)].find("[")
        at = start - offset
        return body[:at] + quote_name(name) + body[at + len(pattern.variable.name) :]

    def new_node(self, node: Entity) -> str:
        """A gold node that the draft lacks, with labels and what its pattern asks."""
        name = self.renderer.adopt(node)
        written = next((n for n in node.nodes if isinstance(n, ast.NodePattern)), None)
        labels = label_text(node)
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
                self.settled.add(id(condition))
        return f"{text})"

    def written(self, link: Link, adopted: set[int] | None = None) -> str:
        """A gold link as a path between the draft's nodes, new ones written out in full."""
        adopted = set() if adopted is None else adopted
        body = self.body(link, surgery.inner(self.gold.text, link.pattern))
        ends = []
        for node in (link.left, link.right):
            if id(node) in self.found.draft_of or id(node) in adopted:
                ends.append(f"({quote_name(self.renderer.name(node))})")
            else:
                ends.append(self.new_node(node))
                adopted.add(id(node))
        return f"{ends[0]}{surgery.arrow(body, surgery.seen_from(link, link.left))}{ends[1]}"

    def condition_texts(self, nodes: list[Entity]) -> list[str]:
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
                self.settled.add(id(condition))
                texts.append(self.renderer.render(condition.value))
        return texts

    def conditions_of(self, path: list[Link], clause: ast.Match) -> list[Edit]:
        """Edits that add the gold's conditions on the new nodes of a path."""
        nodes = {id(n): n for k in path for n in (k.left, k.right)}
        new = [n for key, n in nodes.items() if key not in self.found.draft_of]
        edits: list[Edit] = []
        for text in self.condition_texts(new):
            edits += surgery.add_condition(clause, text, self.started)
        return edits
