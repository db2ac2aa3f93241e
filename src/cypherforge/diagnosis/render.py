"""Writing a piece of the gold into the draft: the same text, with the draft's variable names."""

from __future__ import annotations

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Entity
from cypherforge.cypher.edits import Edit, apply_edits
from cypherforge.cypher.names import quote_name
from cypherforge.diagnosis import surgery
from cypherforge.diagnosis.align import Alignment
from cypherforge.diagnosis.expressions import Form, has_aggregate
from cypherforge.diagnosis.summary import Condition, Summary


class CannotRender(Exception):
    """The draft has no name for something the gold speaks of; the text says what."""


class Renderer:
    """Renders expressions of the gold for the draft.

    Nodes of the draft without a name are given one when they are needed; ``naming`` returns the
    edits for that. ``adopt`` tells names of gold entities that a repair brings into the draft.
    """

    def __init__(self, alignment: Alignment) -> None:
        self.alignment = alignment
        self.draft, self.gold = alignment.draft, alignment.gold
        self._taken = {
            node.name for node in self.draft.query.walk() if isinstance(node, ast.Variable)
        }
        self._given: dict[int, tuple[str, Edit | None]] = {}
        self._adopted: dict[int, str] = {}
        self._needed: list[Edit] = []
        self._stand_ins: dict[int, Entity] = {}
        mine, theirs = alignment.forms()
        self._gold_forms = theirs
        self._aliases: dict[Form, str] = {}
        for entity in self.draft.bindings.entities:
            if entity.kind == "value" and entity.source is not None and entity.name:
                self._aliases.setdefault(mine.form(entity.source), entity.name)

    def fresh(self, wanted: str | None) -> str:
        """Return a variable name that the draft does not use, like the wanted one."""
        base = wanted or "other"
        name, number = base, 2
        while name in self._taken:
            name, number = f"{base}{number}", number + 1
        self._taken.add(name)
        return name

    def adopt(self, entity: Entity) -> str:
        """Give a gold entity that the draft lacks a name of its own in the draft."""
        if id(entity) not in self._adopted:
            self._adopted[id(entity)] = self.fresh(entity.name)
        return self._adopted[id(entity)]

    def brings(self, entity: Entity) -> bool:
        """Return whether a repair already brings this entity of the gold into the draft."""
        return id(entity) in self._adopted

    def name(self, entity: Entity) -> str:
        """Return what the draft calls an entity of the gold. Raises CannotRender."""
        if id(entity) in self._adopted:
            return self._adopted[id(entity)]
        partner = self.alignment.draft_of.get(id(entity))
        if partner is None:
            raise CannotRender(f"the draft has nothing that is {entity.name or 'this node'!r}")
        return self.own_name(partner)

    def own_name(self, entity: Entity) -> str:
        """Return the name of a draft's entity; an anonymous one is given one."""
        if entity.name is not None:
            return entity.name
        if id(entity) not in self._given:
            name = self.fresh("n" if entity.kind == "node" else "r")
            self._given[id(entity)] = (name, self._naming(entity, name))
        name, edit = self._given[id(entity)]
        if edit is not None and edit not in self._needed:
            self._needed.append(edit)
        return name

    def _naming(self, entity: Entity, name: str) -> Edit | None:
        pattern = entity.nodes[0]
        text = self.draft.text
        if isinstance(pattern, ast.NodePattern):
            place = text.index("(", pattern.span[0]) + 1
            return Edit(place, place, name)
        if isinstance(pattern, ast.RelationshipPattern):
            bracket = text.find("[", *pattern.span)
            if bracket >= 0:
                return Edit(bracket + 1, bracket + 1, name)
            written = text[slice(*pattern.span)]
            dash = pattern.span[0] + written.index("-") + 1
            return Edit(dash, dash, f"[{name}]")
        return None

    def naming(self) -> list[Edit]:
        """Return the edits that name what was rendered since the last call."""
        needed, self._needed = self._needed, []
        return needed

    def render(self, node: ast.Node) -> str:
        """Return the gold's text of a node in the draft's names. Raises CannotRender."""
        start, end = node.span
        edits = []
        for variable in _variables(node):
            edits.append(
                Edit(variable.span[0] - start, variable.span[1] - start, self._variable(variable))
            )
        return apply_edits(self.gold.text[start:end], edits)

    def tail(self) -> list[Edit]:
        """Replace all that the draft does behind its patterns by what the gold does there.

        Raises CannotRender where the gold's part speaks of what the draft has not bound.
        """
        mine, theirs = tail_of(self.draft), tail_of(self.gold)
        if mine is None or theirs is None:
            raise CannotRender("one of the two has no RETURN")
        bound = _declared_before(self.draft, mine)
        end = self.draft.single.span[1]
        start = theirs.span[0]
        head = _declared_before(self.gold, theirs)
        self._stand_ins = self._standing_in(bound, head)
        edits = []
        last = start
        for clause in self.gold.single.clauses:
            if clause.span[0] < start:
                continue
            for variable in _variables(clause):
                name = self._tail_name(variable, bound, head)
                edits.append(Edit(variable.span[0] - start, variable.span[1] - start, name))
            last = clause.span[1]
        text = apply_edits(self.gold.text[start:last], edits)
        return [*self._head(mine, bound, head), Edit(mine.span[0], end, text)]

    def _head(self, mine: ast.Projection, bound: set[int], head: set[int]) -> list[Edit]:
        """Take out of the draft's first patterns what the gold matches only behind its first step."""
        partners = self.alignment.gold_of
        stand_ins = {id(entity) for entity in self._stand_ins.values()}
        late = {
            id(node)
            for node in self.draft.nodes
            if id(node) in bound - stand_ins
            and id(node) in partners
            and id(partners[id(node)]) not in head
        }
        links = {
            id(link.pattern)
            for link, gold in self.alignment.links
            if link.pattern.span[0] < mine.span[0] and id(gold.relationship) not in head
        }
        if not late and not links:
            return []
        edits = surgery.without_links(self.draft, links, late)
        if edits is None or any(
            late & self._spoken_of(c) for c in self.draft.conditions if c.holder is None
        ):
            raise CannotRender("the draft matches at once what the gold matches in steps")
        return edits

    def _spoken_of(self, condition: Condition) -> set[int]:
        return {id(self.draft.bindings.of(v)) for v in _variables(condition.value)}

    def _standing_in(self, bound: set[int], head: set[int]) -> dict[int, Entity]:
        """Draft nodes for what the gold matches first, where they are paired with a later match.

        A gold that finds an extreme first and matches again has each node twice, the draft once.
        """
        free = [
            node
            for node in self.draft.nodes
            if id(node) in bound and id(self.alignment.gold_of.get(id(node))) not in head
        ]
        found: dict[int, Entity] = {}
        for entity in self.gold.nodes:
            if id(entity) in head and id(entity) not in self.alignment.draft_of:
                twin = next((node for node in free if node.names == entity.names), None)
                if twin is not None:
                    free.remove(twin)
                    found[id(entity)] = twin
        return found

    def _tail_name(self, variable: ast.Variable, bound: set[int], head: set[int]) -> str:
        entity = self.gold.bindings.of(variable)
        if entity is None or entity.kind == "value":
            return quote_name(variable.name)
        partner = self._stand_ins.get(id(entity)) or self.alignment.draft_of.get(id(entity))
        if partner is not None and id(partner) in bound:
            return quote_name(self.own_name(partner))
        if id(entity) in head and id(entity) not in self._adopted:
            raise CannotRender(f"the draft has nothing that is {variable.name!r}")
        return quote_name(self.adopt(entity))

    def _variable(self, variable: ast.Variable) -> str:
        entity = self.gold.bindings.of(variable)
        if entity is None:
            return quote_name(variable.name)
        if entity.kind != "value":
            return quote_name(self.name(entity))
        if id(entity) in self.alignment.draft_of or id(entity) in self._adopted:
            return quote_name(self.name(entity))
        if entity.source is None:
            return quote_name(variable.name)
        form = self._gold_forms.form(entity.source)
        if form in self._aliases:
            return quote_name(self._aliases[form])
        if entity.element or has_aggregate(form):
            raise CannotRender(f"the draft computes nothing like {variable.name!r}")
        source = self.render(entity.source)
        simple = isinstance(entity.source, ast.PropertyAccess | ast.Literal_ | ast.FunctionCall)
        return source if simple else f"({source})"


def tail_of(summary: Summary) -> ast.Projection | None:
    """The first projection that does more than carry variables on to the next MATCH."""
    clauses = summary.single.clauses
    for place, clause in enumerate(clauses):
        if not isinstance(clause, ast.Projection):
            if not isinstance(clause, ast.Match):
                return None
            continue
        rest = clauses[place + 1 :]
        if not (isinstance(clause, ast.With) and _carries_only(clause) and rest):
            return clause
        if not any(isinstance(later, ast.Match) for later in rest):
            return clause
    return None


def _carries_only(clause: ast.With) -> bool:
    plain = not clause.distinct and clause.where is None
    paged = clause.order_by is not None or clause.skip is not None or clause.limit is not None
    return (
        plain
        and not paged
        and all(
            item.alias is None and isinstance(item.expression, ast.Variable)
            for item in clause.items
        )
    )


def _declared_before(summary: Summary, clause: ast.Clause) -> set[int]:
    """Nodes, relationships and paths whose patterns stand before a clause."""
    found: set[int] = set()
    for match in summary.matches:
        if match.span[0] >= clause.span[0]:
            continue
        for node in match.walk():
            if isinstance(node, ast.NodePattern | ast.RelationshipPattern | ast.Variable):
                found.add(id(summary.bindings.of(node)))
    return found


def _variables(node: ast.Node) -> list[ast.Variable]:
    return [below for below in node.walk() if isinstance(below, ast.Variable)]
