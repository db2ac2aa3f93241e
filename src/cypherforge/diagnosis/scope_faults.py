"""Variables that nothing binds: misspelt, dropped by a WITH, or never there."""

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
