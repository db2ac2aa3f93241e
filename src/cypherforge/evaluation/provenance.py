"""Which nodes a query looks at: the provenance subgraph behind PSJS.

CypherBench (Feng et al., 2025): the nodes matched by the leading MATCH clauses, before anything is
aggregated, cut or left out; the similarity of two queries is the Jaccard index of these sets.
"""

from __future__ import annotations

from collections.abc import Iterator

from cypherforge.core.errors import QueryError
from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.edits import Edit, apply_edits
from cypherforge.cypher.names import quote_name
from cypherforge.graph.base import Graph

#: Nodes beyond which a provenance is not compared.
MAX_NODES = 1_000_000


def provenance_similarity(
    pred: str, gold: str, graph: Graph, *, timeout: float | None = None
) -> float:
    """Return PSJS, 0 to 1; 0 if either does not parse or its pattern does not run.

    Two queries without any MATCH look at nothing, and alike: 1.
    """
    try:
        mine = _nodes(pred, graph, timeout)
        theirs = _nodes(gold, graph, timeout)
    except (CypherSyntaxError, QueryError):
        return 0.0
    union = mine | theirs
    return len(mine & theirs) / len(union) if union else 1.0


def provenance_queries(query: ast.Query, id_function: str = "elementId") -> list[str]:
    """Return queries that together give the ids of all nodes the query matches, one a row."""
    return [text for part in _parts(query.body) if (text := _query(query, part, id_function))]


def _nodes(text: str, graph: Graph, timeout: float | None) -> frozenset[object]:
    function = "elementId" if graph.engine.startswith("neo4j") else "id"
    found: set[object] = set()
    for query in provenance_queries(parse(text), function):
        found.update(row[0] for row in graph.run(query, timeout=timeout, limit=MAX_NODES).rows)
    return frozenset(found)


def _parts(body: ast.Body) -> Iterator[ast.SingleQuery]:
    if isinstance(body, ast.Union):
        for part in body.parts:
            yield from _parts(part)
    elif isinstance(body, ast.SingleQuery):
        first = body.clauses[0] if body.clauses else None
        if isinstance(first, ast.CallSubquery):
            yield from _parts(first.body)
        else:
            yield body


def _query(query: ast.Query, part: ast.SingleQuery, function: str) -> str | None:
    text = query.text
    pieces: list[str] = []
    names: list[str] = []
    taken = {node.name for node in query.walk() if isinstance(node, ast.Variable)}
    for clause in _leading(part):
        if isinstance(clause, ast.With):
            assert clause.where is not None
            pieces.append(f"WITH * {text[slice(*clause.where.span)]}")
            continue
        start, end = clause.span
        edits = []
        for node in _node_patterns(clause):
            if node.variable is not None:
                names.append(node.variable.name)
                continue
            name = _fresh("node", taken)
            taken.add(name)
            names.append(name)
            place = text.index("(", node.span[0]) + 1 - start
            edits.append(Edit(place, place, name))
        pieces.append(apply_edits(text[start:end], edits))
    if not names:
        return None
    unique = ", ".join(quote_name(name) for name in dict.fromkeys(names))
    each = _fresh("node", taken)
    return (
        f"{' '.join(pieces)} UNWIND [{unique}] AS {each} WITH {each} WHERE {each} IS NOT NULL "
        f"RETURN DISTINCT {function}({each}) AS id"
    )


def _fresh(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        name, number = f"{wanted}{number}", number + 1
    return name


def _leading(part: ast.SingleQuery) -> Iterator[ast.Match | ast.With]:
    """The MATCH clauses at the head, and conditions behind a WITH that renames nothing."""
    for clause in part.clauses:
        if isinstance(clause, ast.Match):
            yield clause
        elif isinstance(clause, ast.With):
            if any(item.alias is not None for item in clause.items):
                return
            if clause.order_by is not None or clause.skip is not None or clause.limit is not None:
                return
            if clause.where is not None:
                yield clause
        else:
            return


def _node_patterns(clause: ast.Match) -> Iterator[ast.NodePattern]:
    for part in clause.patterns:
        for element in part.elements:
            if isinstance(element, ast.NodePattern):
                yield element
