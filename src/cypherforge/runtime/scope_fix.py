"""Variables that a draft uses outside their scope, brought back where nothing else can be meant.

A schema grammar cannot see scope, so these are what still fails: a variable that WITH dropped, an
expression written again behind the WITH that gave it a name, a pattern whose variable was forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cypherforge.cypher import ast
from cypherforge.cypher.answer_kinds import is_aggregate
from cypherforge.cypher.bindings import Bindings, Entity, resolve
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name
from cypherforge.cypher.rewrite import add_item
from cypherforge.graph.schema import Schema
from cypherforge.runtime.fixes import OnTree, unused
from cypherforge.runtime.schema_grammar import variable_names

_ANY = ("n", "r", "rel", "node")


@dataclass(frozen=True)
class FixAliases(OnTree):
    """Names for what WITH carries on without one: ``WITH u.state`` becomes ``WITH u.state AS state``.

    What is read behind it by the old words is brought to the name by :class:`FixScope`.
    """

    name = "aliases"

    def changes(self, query: ast.Query) -> Iterator[tuple[list[Edit], str]]:
        """See ``OnTree.changes``."""
        given: set[str] = set()
        for clause in query.walk():
            if not isinstance(clause, ast.With):
                continue
            for item in clause.items:
                if item.alias is not None or isinstance(item.expression, ast.Variable):
                    continue
                alias = unused(query, _called(item.expression), given)
                given.add(alias)
                end = item.expression.span[1]
                yield [Edit(end, end, f" AS {quote_name(alias)}")], f"WITH needs a name: {alias}"


def _called(expression: ast.Expression) -> str:
    """A name for an expression: its property's, after its function's."""
    if isinstance(expression, ast.PropertyAccess):
        return expression.key.name
    if isinstance(expression, ast.FunctionCall):
        inner = _called(expression.args[0]) if expression.args else ""
        return f"{expression.lower_name}{inner[:1].upper()}{inner[1:]}"
    return expression.name if isinstance(expression, ast.Variable) else "value"


@dataclass(frozen=True)
class FixScope(OnTree):
    """Names that are out of scope: read from their alias, carried on, or given to their pattern.

    A WITH that aggregates or drops repeats is never given a further column: that would group by it.
    """

    schema: Schema
    name = "scope"

    def changes(self, query: ast.Query) -> Iterator[tuple[list[Edit], str]]:
        """See ``OnTree.changes``."""
        bindings = resolve(query)
        given: set[int] = set()
        for single in query.walk():
            if not isinstance(single, ast.SingleQuery):
                continue
            carried: set[tuple[int, str]] = set()
            for place, clause in enumerate(single.clauses):
                for access, variable in _unbound(clause, bindings):
                    before = single.clauses[:place]
                    last = next((c for c in reversed(before) if isinstance(c, ast.With)), None)
                    if last is not None:
                        yield from self.renamed(query, last, access, variable, before, carried)
                    else:
                        yield from self.declared(query, before, access, variable, bindings, given)

    def renamed(
        self,
        query: ast.Query,
        last: ast.With,
        access: ast.PropertyAccess | None,
        variable: ast.Variable,
        before: Sequence[ast.Clause],
        carried: set[tuple[int, str]],
    ) -> Iterator[tuple[list[Edit], str]]:
        """The alias that the last WITH gave the same expression, else one more column of it."""
        written = access or variable
        text = _squeezed(query, written)
        for item in last.items:
            if item.alias is not None and _squeezed(query, item.expression) == text:
                alias = quote_name(item.alias.name)
                yield [Edit(*written.span, alias)], f"{text} is called {alias} after WITH"
                return
        if (id(last), variable.name) in carried or last.star or last.distinct:
            return
        if any(is_aggregate(item.expression) for item in last.items):
            return
        reach = before[: before.index(last)]
        cut = max((i for i, c in enumerate(reach) if isinstance(c, ast.With)), default=-1)
        near = reach[max(cut, 0) :]
        if any(_declares(clause, variable.name) for clause in near):
            carried.add((id(last), variable.name))
            note = f"{variable.name} is carried on by WITH"
            yield add_item(query, last, quote_name(variable.name)), note

    def declared(
        self,
        query: ast.Query,
        before: Sequence[ast.Clause],
        access: ast.PropertyAccess | None,
        variable: ast.Variable,
        bindings: Bindings,
        given: set[int],
    ) -> Iterator[tuple[list[Edit], str]]:
        """The only pattern without a variable that such a name and property can belong to."""
        if access is None:
            return
        found: list[ast.NodePattern | ast.RelationshipPattern] = []
        for clause in before:
            for node in clause.walk():
                if not isinstance(node, ast.NodePattern | ast.RelationshipPattern):
                    continue
                entity = bindings.of(node)
                if (
                    node.variable is None
                    and entity is not None
                    and self.fits(entity, variable.name, access.key.name)
                ):
                    found.append(node)
        if len(found) != 1 or id(found[0]) in given:
            return
        (pattern,) = found
        sign = "(" if isinstance(pattern, ast.NodePattern) else "["
        opening = query.text.find(sign, *pattern.span)
        if opening < 0:
            return
        given.add(id(pattern))
        edit = Edit(opening + 1, opening + 1, quote_name(variable.name))
        entity = bindings.of(pattern)
        names = "|".join(sorted(entity.names)) if entity is not None else ""
        yield [edit], f"{variable.name} is given to {names}"

    def fits(self, entity: Entity, variable: str, key: str) -> bool:
        """Whether a pattern could have this name and holds this property."""
        known = self.schema.labels if entity.kind == "node" else self.schema.types
        stem = variable.rstrip("0123456789").lower()
        return any(
            name in known
            and known[name].property(key) is not None
            and stem in (*variable_names(name), *_ANY)
            for name in entity.names
        )


def _unbound(
    clause: ast.Clause, bindings: Bindings
) -> Iterator[tuple[ast.PropertyAccess | None, ast.Variable]]:
    """Variables that stand for nothing, each with the property read from it."""
    subjects: dict[int, ast.PropertyAccess] = {}
    for node in clause.walk():
        if isinstance(node, ast.PropertyAccess) and isinstance(node.subject, ast.Variable):
            subjects[id(node.subject)] = node
    aliases = {
        id(item.alias) for item in getattr(clause, "items", ()) if getattr(item, "alias", None)
    }
    for node in clause.walk():
        if isinstance(node, ast.Variable) and bindings.of(node) is None and id(node) not in aliases:
            yield subjects.get(id(node)), node


def _declares(clause: ast.Clause, name: str) -> bool:
    """Whether a clause brings a name into scope."""
    if isinstance(clause, ast.Match):
        return any(
            node.variable is not None and node.variable.name == name
            for node in clause.walk()
            if isinstance(node, ast.NodePattern | ast.RelationshipPattern)
        )
    if isinstance(clause, ast.Unwind):
        return clause.variable.name == name
    if isinstance(clause, ast.With):
        return any(
            (item.alias.name if item.alias is not None else item.column) == name
            for item in clause.items
        )
    return False


def _squeezed(query: ast.Query, node: ast.Node) -> str:
    return "".join(query.text[slice(*node.span)].split())
