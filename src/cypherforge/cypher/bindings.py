"""What each variable of a query stands for: node, relationship, path or value, through all scopes.

One :class:`Entity` is one node, relationship, path or value of the query's meaning. A variable that
WITH carries on, renamed or not, stays the same entity; the same name used again after its scope has
ended is another one. Pattern nodes without a variable are entities too, so that the pattern graph
is whole: entities are its points, :class:`Link` its edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from cypherforge.cypher import ast

EntityKind = Literal["node", "relationship", "path", "value"]
Scope = dict[str, "Entity"]


@dataclass(slots=True, eq=False)
class Entity:
    """One thing that the query speaks of.

    ``labels`` (types of a relationship) is a conjunction of disjunctions: ``(n:A|B)`` gives one set
    of two, ``(n:A&B)`` two sets of one; what negations and wildcards say is left out. ``source`` is
    the expression that a value was made by; with ``element``, the list it was taken from. ``nodes``
    are the pattern elements that declare it, ``uses`` every variable that stands for it,
    declarations included.
    """

    kind: EntityKind
    name: str | None = None
    labels: list[frozenset[str]] = field(default_factory=list)
    source: ast.Expression | None = None
    element: bool = False
    nodes: list[ast.Node] = field(default_factory=list)
    uses: list[ast.Variable] = field(default_factory=list)

    @property
    def names(self) -> frozenset[str]:
        """All labels or types that it may carry, empty if none is written."""
        return frozenset().union(*self.labels)


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """One relationship of a pattern between two nodes, as written from ``left`` to ``right``.

    ``clause`` is the MATCH (CREATE, MERGE) that holds it, or the expression, for patterns inside
    one; ``part`` the path it belongs to.
    """

    relationship: Entity
    pattern: ast.RelationshipPattern
    left: Entity
    right: Entity
    part: ast.PatternPart
    clause: ast.Node

    @property
    def start(self) -> Entity:
        """The node the arrow leaves; the left one if there is no arrow."""
        return self.right if self.pattern.direction == "left" else self.left

    @property
    def end(self) -> Entity:
        """The node the arrow enters; the right one if there is no arrow."""
        return self.left if self.pattern.direction == "left" else self.right

    @property
    def directed(self) -> bool:
        """Whether the pattern has an arrow."""
        return self.pattern.direction != "both"


@dataclass(slots=True)
class Bindings:
    """Everything that :func:`resolve` finds."""

    entities: list[Entity] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    _of: dict[int, Entity] = field(default_factory=dict)

    def of(self, node: ast.Node) -> Entity | None:
        """The entity of a variable or of a pattern element; None for a name nothing declares."""
        return self._of.get(id(node))

    @property
    def nodes(self) -> list[Entity]:
        """The node entities, in order of appearance."""
        return [entity for entity in self.entities if entity.kind == "node"]


def label_sets(expression: ast.LabelExpression | None) -> list[frozenset[str]]:
    """A label expression as a conjunction of disjunctions; negations and wildcards say nothing."""
    if expression is None:
        return []
    if isinstance(expression, ast.LabelName):
        return [frozenset((expression.name,))]
    if isinstance(expression, ast.LabelBoolean):
        parts = [label_sets(operand) for operand in expression.operands]
        if expression.op == "&":
            return [one for part in parts for one in part]
        if all(parts):
            return [frozenset().union(*(one for part in parts for one in part))]
    return []


def conjuncts(predicate: ast.Expression | None) -> Iterator[ast.Expression]:
    """The parts of a predicate that AND joins, in source order."""
    if predicate is None:
        return
    if isinstance(predicate, ast.Binary) and predicate.op == "AND":
        yield from conjuncts(predicate.left)
        yield from conjuncts(predicate.right)
    else:
        yield predicate


def resolve(query: ast.Query) -> Bindings:
    """Bind every variable and pattern element of a query; unknown names are left unbound."""
    resolver = _Resolver()
    resolver.body(query.body, {})
    return resolver.found


class _Resolver:
    def __init__(self) -> None:
        self.found = Bindings()

    # ------------------------------------------------------------ entities

    def new(
        self, kind: EntityKind, name: str | None, source: ast.Expression | None = None
    ) -> Entity:
        entity = Entity(kind, name, source=source)
        self.found.entities.append(entity)
        return entity

    def bind(self, node: ast.Node, entity: Entity) -> None:
        self.found._of[id(node)] = entity
        if isinstance(node, ast.Variable):
            entity.uses.append(node)
        else:
            entity.nodes.append(node)

    def declare(
        self,
        variable: ast.Variable | None,
        scope: Scope,
        kind: EntityKind,
        source: ast.Expression | None = None,
        fresh: bool = False,
    ) -> Entity:
        """The entity of a declaring variable: the scope's, or a new one."""
        if variable is None:
            return self.new(kind, None, source)
        entity = None if fresh else scope.get(variable.name)
        if entity is None:
            entity = scope[variable.name] = self.new(kind, variable.name, source)
        self.bind(variable, entity)
        return entity

    # ------------------------------------------------------------ bodies and clauses

    def body(self, body: ast.Body, scope: Scope) -> Scope:
        """Resolve a body; return what its last RETURN gives out."""
        if isinstance(body, ast.SingleQuery):
            return self.clauses(body.clauses, scope)
        if isinstance(body, ast.Union):
            results = [self.body(part, dict(scope)) for part in body.parts]
            return results[0] if results else {}
        if isinstance(body, ast.Next):
            for part in body.parts:
                scope = self.body(part, dict(scope))
            return scope
        if isinstance(body, ast.When):
            for branch in body.branches:
                self.expression(branch.predicate, scope)
                result = self.body(branch.body, dict(scope))
            return result if body.branches else {}
        return {}

    def clauses(self, clauses: list[ast.Clause], scope: Scope) -> Scope:
        out: Scope = {}
        for clause in clauses:
            if isinstance(clause, ast.Return):
                out = self.projection(clause, scope)
            elif isinstance(clause, ast.With):
                before = dict(scope)
                scope = self.projection(clause, scope)
                if clause.where is not None:
                    self.predicate(clause.where.predicate, {**before, **scope})
            else:
                self.clause(clause, scope)
        return out

    def projection(self, clause: ast.Projection, scope: Scope) -> Scope:
        new: Scope = dict(scope) if clause.star else {}
        for item in clause.items:
            self.expression(item.expression, scope)
            entity = self.element(item.expression, scope, wanted="itself")
            name = item.alias or (
                item.expression if isinstance(item.expression, ast.Variable) else None
            )
            if name is None:
                continue
            if entity is None:
                entity = self.new("value", name.name, item.expression)
            new[name.name] = entity
            if item.alias is not None:
                self.bind(item.alias, entity)
        seen = {**scope, **new}
        for node in (clause.group_by, clause.order_by, clause.skip, clause.limit):
            if node is not None:
                self.expression(node, seen)
        return new

    def clause(self, clause: ast.Node, scope: Scope) -> None:
        if isinstance(clause, ast.Match | ast.Create):
            for part in clause.patterns:
                self.pattern(part, scope, clause)
            if isinstance(clause, ast.Match) and clause.where is not None:
                self.predicate(clause.where.predicate, scope)
        elif isinstance(clause, ast.Merge):
            self.pattern(clause.pattern, scope, clause)
            for action in clause.actions:
                self.expression(action, scope)
        elif isinstance(clause, ast.Unwind):
            self.expression(clause.expression, scope)
            entity = self.element(clause.expression, scope, wanted="element")
            if entity is None:
                taken = self.declare(clause.variable, scope, "value", clause.expression, fresh=True)
                taken.element = True
            else:
                scope[clause.variable.name] = entity
                self.bind(clause.variable, entity)
        elif isinstance(clause, ast.CallSubquery):
            self.call(clause, scope)
        elif isinstance(clause, ast.CallProcedure):
            for argument in clause.args or []:
                self.expression(argument, scope)
            for item in clause.yields:
                variable = item.alias or ast.Variable(item.field.span, item.field.name)
                self.declare(variable, scope, "value", fresh=True)
            if clause.where is not None:
                self.predicate(clause.where.predicate, scope)
        elif isinstance(clause, ast.Let):
            for let in clause.items:
                self.expression(let.expression, scope)
                self.declare(let.variable, scope, "value", let.expression, fresh=True)
        elif isinstance(clause, ast.Filter):
            self.predicate(clause.predicate, scope)
        elif isinstance(clause, ast.Foreach):
            self.expression(clause.source, scope)
            inner = dict(scope)
            self.declare(clause.variable, inner, "value", fresh=True)
            for below in clause.clauses:
                self.clause(below, inner)
        elif isinstance(clause, ast.LoadCsv):
            self.expression(clause.url, scope)
            self.declare(clause.variable, scope, "value", fresh=True)
        else:
            for child in clause.children():
                self.expression(child, scope)

    def call(self, clause: ast.CallSubquery, scope: Scope) -> None:
        if clause.scope is None or clause.scope_star:
            inner = dict(scope)
        else:
            inner = {}
            for variable in clause.scope:
                entity = scope.get(variable.name)
                if entity is not None:
                    inner[variable.name] = entity
                    self.bind(variable, entity)
        scope.update(self.body(clause.body, inner))

    # ------------------------------------------------------------ patterns

    def pattern(self, part: ast.PatternPart, scope: Scope, clause: ast.Node) -> None:
        if part.variable is not None:
            self.declare(part.variable, scope, "path", fresh=True)
        last: Entity | None = None
        pending: tuple[Entity, ast.RelationshipPattern, Entity | None] | None = None
        for element in part.elements:
            if isinstance(element, ast.RelationshipPattern):
                relationship = self.declare(element.variable, scope, "relationship")
                self.bind(element, relationship)
                relationship.labels += label_sets(element.types)
                pending = relationship, element, last
                self.inline(element, scope)
                continue
            if isinstance(element, ast.ParenthesizedPath):
                # Inside, names are groups; outside only its ends could be joined.
                self.pattern(element.pattern, scope, clause)
                self.expression(element.where, scope)
                pending = last = None
                continue
            node = self.declare(element.variable, scope, "node")
            self.bind(element, node)
            node.labels += label_sets(element.labels)
            self.inline(element, scope)
            if pending is not None and pending[2] is not None:
                link = Link(pending[0], pending[1], pending[2], node, part, clause)
                self.found.links.append(link)
            pending, last = None, node

    def inline(self, element: ast.NodePattern | ast.RelationshipPattern, scope: Scope) -> None:
        self.expression(element.properties, scope)
        if element.where is not None:
            self.predicate(element.where, scope)

    # ------------------------------------------------------------ expressions

    def predicate(self, predicate: ast.Expression, scope: Scope) -> None:
        for conjunct in conjuncts(predicate):
            if isinstance(conjunct, ast.LabelTest) and not conjunct.negated:
                subject = conjunct.subject
                entity = scope.get(subject.name) if isinstance(subject, ast.Variable) else None
                if entity is not None:
                    entity.labels += label_sets(conjunct.labels)
        self.expression(predicate, scope)

    def expression(self, node: ast.Node | None, scope: Scope) -> None:
        if node is None:
            return
        if isinstance(node, ast.Variable):
            entity = scope.get(node.name)
            if entity is not None:
                self.bind(node, entity)
        elif isinstance(node, ast.ListComprehension | ast.Quantified):
            self.expression(node.source, scope)
            inner = self.local(node.variable, node.source, scope)
            self.expression(node.where, inner)
            if isinstance(node, ast.ListComprehension):
                self.expression(node.projection, inner)
        elif isinstance(node, ast.Reduce):
            self.expression(node.initial, scope)
            self.expression(node.source, scope)
            inner = self.local(node.variable, node.source, scope)
            self.declare(node.accumulator, inner, "value", node.initial, fresh=True)
            self.expression(node.expression, inner)
            self.expression(node.predicate, inner)
        elif isinstance(node, ast.PatternComprehension):
            inner = dict(scope)
            self.pattern(node.pattern, inner, node)
            if node.where is not None:
                self.predicate(node.where, inner)
            self.expression(node.projection, inner)
        elif isinstance(node, ast.PatternExpression):
            self.pattern(node.pattern, dict(scope), node)
        elif isinstance(node, ast.SubqueryExpression):
            self.body(node.body, dict(scope))
        else:
            for child in node.children():
                self.expression(child, scope)

    def local(self, variable: ast.Variable, source: ast.Expression, scope: Scope) -> Scope:
        inner = dict(scope)
        entity = self.element(source, scope, wanted="element")
        if entity is None:
            self.declare(variable, inner, "value", fresh=True)
        else:
            inner[variable.name] = entity
            self.bind(variable, entity)
        return inner

    def element(
        self, expression: ast.Expression, scope: Scope, wanted: Literal["itself", "element"]
    ) -> Entity | None:
        """The entity that an expression is, or whose occurrences its list collects."""
        if isinstance(expression, ast.Variable):
            entity = scope.get(expression.name)
            if wanted == "itself" or entity is None:
                return entity
            if entity.source is None or entity.kind != "value":
                return None
            return self._collected(entity.source)
        if wanted == "element":
            return self._collected(expression)
        if isinstance(expression, ast.FunctionCall) and expression.lower_name in ("head", "last"):
            return self.element(expression.args[0], scope, "element") if expression.args else None
        if isinstance(expression, ast.Index):
            return self.element(expression.subject, scope, "element")
        return None

    def _collected(self, expression: ast.Expression) -> Entity | None:
        if (
            isinstance(expression, ast.FunctionCall)
            and expression.lower_name == "collect"
            and len(expression.args) == 1
            and isinstance(expression.args[0], ast.Variable)
        ):
            entity = self.found.of(expression.args[0])
            return entity if entity is not None and entity.kind != "value" else None
        return None
