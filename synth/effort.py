"""How many rows a query goes over, estimated before it runs.

A limit in seconds would give a slow machine other pairs than a fast one; an estimate from counts
is the same everywhere. It is rough: it knows how often each relation occurs, how unevenly it is
spread over its ends (a hub meets itself over and over), and which nodes are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cypherforge.core.errors import QueryError
from cypherforge.cypher.names import quote_name
from cypherforge.graph.base import Graph
from cypherforge.synth.predicates import Predicates, Relation
from cypherforge.synth.trees import Grounded

#: What may be gone over; the embedded engine does so much in half a second.
ROWS_GONE_OVER = 50_000


@dataclass(frozen=True, slots=True)
class Degree:
    """Relationships of a relation at a node of one end.

    ``mean`` over all nodes of the label; ``met`` over relationships: what one finds who came by
    such a relationship; ``most`` at the greatest hub.
    """

    mean: float
    met: float
    most: int


@dataclass(frozen=True)
class Effort:
    """Estimates for one graph; ``degrees`` by relation and True for its start."""

    counts: Mapping[str, int]
    degrees: Mapping[tuple[Relation, bool], Degree]

    @property
    def greatest_hub(self) -> int:
        """The most relationships that one node has in one relation."""
        return max((d.most for d in self.degrees.values()), default=0)

    def rows(self, found: Grounded) -> float:
        """Rows that a match of the tree goes over, begun where it is least."""
        starts = [0, *(n for n in range(len(found.tree.labels)) if found.bound(n))]
        return min(self._from(found, start) for start in starts)

    def heads(self, found: Grounded) -> float:
        """Nodes that fit the root of a tree which names no entity; 0 where it names one.

        An equality leaves one value's share, a comparison half, a hop those that have one.
        """
        if any(found.bound(node) for node in range(len(found.tree.labels))):
            return 0.0
        left = float(self.counts.get(found.tree.labels[0], 0))
        for c in found.conditions:
            values = c.attribute.distinct
            left *= 1 / values if c.op == "=" and values else 0.5
        for hop in found.tree.hops:
            degree = self.degrees.get((hop.relation, hop.forward))
            if hop.parent == 0 and degree is not None:
                left *= min(1.0, degree.mean)
        return left

    def _from(self, found: Grounded, start: int) -> float:
        given = found.bound(start)
        rows = 1.0 if given else float(self.counts.get(found.tree.labels[start], 0))
        most = rows
        reached: dict[int, tuple[Relation, bool] | None] = {start: None}
        waiting = list(found.tree.hops)
        while waiting:
            hop = next((h for h in waiting if h.parent in reached or h.child in reached), None)
            if hop is None:
                break
            waiting.remove(hop)
            down = hop.parent in reached
            near, far = (hop.parent, hop.child) if down else (hop.child, hop.parent)
            at_start = hop.forward == down
            degree = self.degrees.get((hop.relation, at_start))
            if degree is not None:
                hub = (given and near == start) or reached[near] == (hop.relation, at_start)
                rows *= degree.met if hub else degree.mean
            # Who comes to ``far`` by this relation stands at its other end.
            reached[far] = (hop.relation, not at_start)
            most = max(most, rows)
        return most


def measure(graph: Graph, predicates: Predicates) -> Effort:
    """Count relationships by node, two queries for each relation."""
    degrees = {}
    for relation in predicates.relations:
        pattern = (
            f"MATCH (a:{quote_name(relation.start)})-[r:{quote_name(relation.type)}]->"
            f"(b:{quote_name(relation.end)})"
        )
        for at_start in (True, False):
            query = (
                f"{pattern} WITH {'a' if at_start else 'b'} AS n, count(r) AS d "
                "RETURN sum(d * d) AS squares, max(d) AS most"
            )
            try:
                squares, most = graph.run(query, timeout=300).rows[0]
            except QueryError:
                # Too much to count: as if one node had them all.
                squares, most = relation.count**2, relation.count
            nodes = predicates.counts[relation.start if at_start else relation.end]
            degrees[relation, at_start] = Degree(
                relation.count / max(1, nodes), (squares or 0) / max(1, relation.count), most or 0
            )
    return Effort(predicates.counts, degrees)
