"""Variables that nothing binds (misspelt, dropped by a WITH, never there), or that are bound as two things."""

from __future__ import annotations

from collections.abc import Iterator

from rapidfuzz import fuzz

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Bindings, resolve
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name

_ALIKE = 75.0


def unbound(query: ast.Query) -> list[ast.Variable]:
    """Return the uses of variables that are bound nowhere where they stand, in source order."""
    bindings = resolve(query)
    loose = [
        node
        for node in query.walk()
        if isinstance(node, ast.Variable) and bindings.of(node) is None
    ]
    # What a procedure yields without an alias is declared by a name, not by a variable.
    return sorted(loose, key=lambda node: node.span)


def clash(query: ast.Query) -> ast.Variable | None:
    """Return the first variable that a pattern uses as another kind of thing than it was bound as."""
    bindings = resolve(query)
    for element in query.walk():
        if not isinstance(element, ast.NodePattern | ast.RelationshipPattern):
            continue
        if element.variable is None:
            continue
        entity = bindings.of(element.variable)
        kind = "node" if isinstance(element, ast.NodePattern) else "relationship"
        if entity is not None and entity.kind not in (kind, "value"):
            return element.variable
    return None


def clash_repairs(query: ast.Query, variable: ast.Variable) -> Iterator[tuple[list[Edit], str]]:
    """Yield ways to part what one variable names: the nodes get another, or the rest does."""
    bindings = resolve(query)
    shared = bindings.of(variable)
    assert shared is not None
    nodes = {
        id(element.variable): element.variable
        for element in query.walk()
        if isinstance(element, ast.NodePattern) and element.variable is not None
    }
    taken = {entity.name for entity in bindings.entities}
    fresh = next(n for i in range(2, 99) if (n := f"{variable.name}{i}") not in taken)
    as_node = [use for use in shared.uses if id(use) in nodes]
    declared = {id(v) for e in shared.nodes if (v := getattr(e, "variable", None)) is not None}
    as_other = [use for use in shared.uses if id(use) in declared and id(use) not in nodes]
    reason = f"{variable.name} is bound as a node and as a {_other_kind(shared.kind)}"
    for uses in (as_other, as_node):
        if uses:
            yield [Edit(*use.span, quote_name(fresh)) for use in uses], reason


def _other_kind(kind: str) -> str:
    return "relationship" if kind == "node" else kind


def scope_repairs(query: ast.Query, variable: ast.Variable) -> Iterator[tuple[list[Edit], str]]:
    """Yield ways to bind a loose variable: carry it through the WITHs, or mean a similar name."""
    bindings = resolve(query)
    carried = list(_carry(query, variable, bindings))
    if carried:
        yield carried, f"WITH does not carry {variable.name} on"
    names = sorted({e.name for e in bindings.entities if e.name} - {variable.name})
    uses = [u for u in unbound(query) if u.name == variable.name]
    ranked = sorted((-fuzz.ratio(variable.name.casefold(), n.casefold()), n) for n in names)
    for score, name in ranked[:1]:
        if -score >= _ALIKE:
            edits = [Edit(*use.span, quote_name(name)) for use in uses]
            yield edits, f"{variable.name} is bound nowhere; {name} is"


def _carry(query: ast.Query, variable: ast.Variable, bindings: Bindings) -> Iterator[Edit]:
    """Add the variable to each WITH between where it was bound and where it is used."""
    bound = [e for e in bindings.entities if e.name == variable.name and e.uses]
    before = [e for e in bound if e.uses[0].span[0] < variable.span[0]]
    if not before:
        return
    start = before[-1].uses[0].span[0]
    for node in query.walk():
        if not isinstance(node, ast.With) or node.star or not node.items:
            continue
        if start < node.span[0] and node.span[1] <= variable.span[0]:
            names = {item.column for item in node.items}
            if variable.name not in names:
                end = node.items[-1].span[1]
                yield Edit(end, end, f", {quote_name(variable.name)}")
