"""Writing a piece of the gold into the draft: the same text, with the draft's variable names."""

from __future__ import annotations

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Entity
from cypherforge.cypher.edits import Edit, apply_edits
from cypherforge.cypher.names import quote_name
from cypherforge.diagnosis.align import Alignment
from cypherforge.diagnosis.expressions import Form, has_aggregate


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


def _variables(node: ast.Node) -> list[ast.Variable]:
    return [below for below in node.walk() if isinstance(below, ast.Variable)]
