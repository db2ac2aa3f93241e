"""Small questions about a query as a whole."""

from __future__ import annotations

from cypherforge.cypher import ast


def outer_order(query: ast.Query) -> ast.OrderBy | None:
    """The ORDER BY that decides the order of the query's rows; None if nothing does.

    Only the outer query's counts: not that of a WITH, of a subquery or of one part of a UNION.
    """
    body = query.body
    while isinstance(body, ast.Next) and body.parts:
        body = body.parts[-1]
    if not isinstance(body, ast.SingleQuery) or not body.clauses:
        return None
    last = body.clauses[-1]
    if isinstance(last, ast.Return | ast.OrderAndPage):
        return last.order_by
    return None
