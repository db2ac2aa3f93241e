"""A grouping key that nothing shows: ``WITH t, p, count(g) AS goals RETURN t.name, goals``.

The rows of such a query repeat what they show, once for each value of the key that is not shown.
"""

from __future__ import annotations

from collections.abc import Iterator

from cypherforge.cypher import ast
from cypherforge.cypher.answer_kinds import is_aggregate
from cypherforge.cypher.bindings import resolve
from cypherforge.cypher.edits import Edit
from cypherforge.runtime.fixes import OnTree


class FixGroupKeys(OnTree):
    """A node that the last WITH groups by, and that RETURN neither shows nor uses, is left out.

    Only where another key stays, nothing filters the groups, and RETURN does not aggregate again: a
    count of counts needs its inner key.
    """

    name = "group_keys"

    def changes(self, query: ast.Query) -> Iterator[tuple[list[Edit], str]]:
        """See ``OnTree.changes``."""
        if not isinstance(query.body, ast.SingleQuery):
            return
        clauses = query.body.clauses
        if len(clauses) < 2:
            return
        grouping, shown = clauses[-2], clauses[-1]
        if not isinstance(grouping, ast.With) or not isinstance(shown, ast.Return):
            return
        if grouping.star or shown.star or grouping.where is not None:
            return
        if grouping.order_by is not None or grouping.limit is not None or grouping.skip is not None:
            return
        if not any(is_aggregate(item.expression) for item in grouping.items):
            return
        if any(is_aggregate(item.expression) for item in shown.items):
            return
        bindings = resolve(query)
        used = {node.name for node in shown.walk() if isinstance(node, ast.Variable)}
        keys = [item for item in grouping.items if not is_aggregate(item.expression)]
        hidden = [
            item
            for item in keys
            if isinstance(item.expression, ast.Variable)
            and (entity := bindings.of(item.expression)) is not None
            and entity.kind in ("node", "relationship")
            and (item.alias or item.expression).name not in used
        ]
        if not hidden or len(hidden) == len(keys):
            return
        names = ", ".join(query.text[slice(*item.span)] for item in hidden)
        kept = [query.text[slice(*i.span)] for i in grouping.items if i not in hidden]
        place = (grouping.items[0].span[0], grouping.items[-1].span[1])
        note = f"grouped by {names} too, which no row shows: left out"
        yield [Edit(*place, ", ".join(kept))], note
