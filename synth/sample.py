"""A bounded piece of a graph in memory, drawn so that hubs do not crowd out the rest.

Nodes are drawn uniformly over each label, from places all over the store; then the relationships
around them are read, at most a few for one node, pattern and direction, and once more around what
was reached. Pairs are proposed from this piece and verified on the whole graph, so its size bounds
the memory whatever the size of the graph.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cypherforge.core.progress import NullProgress, Progress
from cypherforge.cypher.names import quote_name
from cypherforge.graph.base import Graph
from cypherforge.synth.predicates import Predicates, Relation

#: Nodes drawn of each label, relationships kept of one node in one pattern and direction.
CORE, FAN = 120, 5
#: Nodes of each label, reached from the drawn ones, around which relationships are read again.
RING = 80
_LISTED = 4000
_PLACES = 24
_CHUNK = 80


@dataclass(frozen=True, slots=True)
class Edge:
    """A relationship of the sample: ids of its ends, its properties."""

    start: str
    end: str
    properties: Mapping[str, Any]


@dataclass
class Sample:
    """Nodes by id with their properties, those of each label, relationships by pattern and end."""

    nodes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    by_label: dict[str, list[str]] = field(default_factory=dict)
    out: dict[tuple[Relation, str], list[Edge]] = field(default_factory=dict)
    into: dict[tuple[Relation, str], list[Edge]] = field(default_factory=dict)

    def edges(self, relation: Relation, node: str, forward: bool) -> list[Edge]:
        """The relationships of a pattern that start (or end) at a node."""
        return (self.out if forward else self.into).get((relation, node), [])

    @property
    def size(self) -> tuple[int, int]:
        """Nodes and relationships."""
        return len(self.nodes), sum(map(len, self.out.values()))


def draw_sample(
    graph: Graph,
    predicates: Predicates,
    rng: random.Random,
    progress: Progress | None = None,
    *,
    core: int = CORE,
    fan: int = FAN,
    ring: int = RING,
) -> Sample:
    """Read the sample; equal seeds give equal samples of an equal graph on the same engine."""
    progress = progress or NullProgress()
    sample = Sample()
    progress.start("sample", len(predicates.labels) + 2 * len(predicates.relations))
    drawn = {}
    for label in predicates.labels:
        drawn[label] = _draw_ids(graph, label, predicates.counts[label], core, rng)
        _read_nodes(graph, predicates, label, drawn[label], sample)
        progress.advance(1, label)
    reached: dict[str, set[str]] = defaultdict(set)
    for relation in predicates.relations:
        for forward in (True, False):
            near = drawn[relation.start if forward else relation.end]
            far = _expand(graph, predicates, relation, near, forward, fan, sample)
            reached[relation.end if forward else relation.start].update(far)
        progress.advance(1, relation.type)
    frontier = {}
    for label in predicates.labels:
        fresh = sorted(reached[label] - set(sample.nodes))
        frontier[label] = fresh if len(fresh) <= ring else rng.sample(fresh, ring)
        _read_nodes(graph, predicates, label, frontier[label], sample)
    for relation in predicates.relations:
        for forward in (True, False):
            near = frontier[relation.start if forward else relation.end]
            _expand(graph, predicates, relation, near, forward, fan, sample)
        progress.advance(1, relation.type)
    _forget_unknown(sample)
    for label in predicates.labels:
        sample.by_label[label] = list(drawn[label]) + frontier[label]
    nodes, edges = sample.size
    progress.finish(f"{nodes} nodes and {edges} relationships in memory")
    return sample


def _draw_ids(graph: Graph, label: str, count: int, wanted: int, rng: random.Random) -> list[str]:
    match = f"MATCH (n:{quote_name(label)}) RETURN elementId(n) AS id"
    if count <= _LISTED:
        ids = sorted({row[0] for row in graph.run(match, limit=_LISTED + 1).rows})
        return ids if len(ids) <= wanted else rng.sample(ids, wanted)
    found: dict[str, None] = {}
    each = -(-wanted // _PLACES)
    for _ in range(_PLACES):
        place = rng.randrange(max(1, count - each))
        rows = graph.run(f"{match} SKIP {place} LIMIT {each}", timeout=120).rows
        found.update(dict.fromkeys(row[0] for row in rows))
    return list(found)[:wanted]


def _read_nodes(
    graph: Graph, predicates: Predicates, label: str, ids: Sequence[str], sample: Sample
) -> None:
    keys = [a.name for a in predicates.attributes[label]]
    columns = ", ".join(f"n.{quote_name(k)} AS p{i}" for i, k in enumerate(keys))
    query = (
        f"UNWIND $ids AS id MATCH (n:{quote_name(label)}) WHERE elementId(n) = id "
        f"RETURN id{', ' if columns else ''}{columns}"
    )
    for chunk in _chunks(ids):
        for row in graph.run(query, {"ids": chunk}, timeout=120).rows:
            known = sample.nodes.get(row[0], {})
            sample.nodes[row[0]] = {**known, **dict(zip(keys, row[1:], strict=True))}


def _expand(
    graph: Graph,
    predicates: Predicates,
    relation: Relation,
    ids: Sequence[str],
    forward: bool,
    fan: int,
    sample: Sample,
) -> list[str]:
    """Read relationships around nodes; returns the ids at their other ends."""
    keys = [a.name for a in predicates.rel_attributes[relation.type]]
    columns = "".join(f", r.{quote_name(k)} AS p{i}" for i, k in enumerate(keys))
    # The end that is known comes first: one engine starts where the pattern starts.
    near, far = (relation.start, relation.end) if forward else (relation.end, relation.start)
    tail, head = ("-", "->") if forward else ("<-", "-")
    match = (
        f"MATCH (a:{quote_name(near)}){tail}[r:{quote_name(relation.type)}]{head}"
        f"(b:{quote_name(far)}) WHERE elementId(a) = id "
        f"RETURN id, elementId(b) AS other{columns}"
    )
    found: list[str] = []
    for chunk in _chunks(ids):
        bound = len(chunk) * fan * 6
        rows = graph.run(
            f"UNWIND $ids AS id {match} LIMIT {bound}", {"ids": chunk}, timeout=120
        ).rows
        if len(rows) == bound:
            # A hub filled the page: each node is asked for a few of its own.
            rows = tuple(
                row
                for one in chunk
                for row in graph.run(
                    f"UNWIND $ids AS id {match} LIMIT {fan}", {"ids": [one]}, timeout=120
                ).rows
            )
        found += _keep(rows, keys, relation, forward, fan, sample)
    return found


def _keep(
    rows: Iterable[tuple[Any, ...]],
    keys: Sequence[str],
    relation: Relation,
    forward: bool,
    fan: int,
    sample: Sample,
) -> list[str]:
    found = []
    taken: dict[str, int] = defaultdict(int)
    for row in rows:
        if taken[row[0]] >= fan:
            continue
        taken[row[0]] += 1
        start, end = (row[0], row[1]) if forward else (row[1], row[0])
        edge = Edge(start, end, dict(zip(keys, row[2:], strict=True)))
        for side, node in ((sample.out, start), (sample.into, end)):
            edges = side.setdefault((relation, node), [])
            if edge not in edges and len(edges) < 4 * fan:
                edges.append(edge)
        found.append(row[1])
    return found


def _forget_unknown(sample: Sample) -> None:
    """Drop relationships to nodes whose properties were not read."""
    for side in (sample.out, sample.into):
        for key in list(side):
            kept = [e for e in side[key] if e.start in sample.nodes and e.end in sample.nodes]
            if kept:
                side[key] = kept
            else:
                del side[key]


def _chunks(ids: Sequence[str]) -> Iterable[list[str]]:
    for at in range(0, len(ids), _CHUNK):
        yield list(ids[at : at + _CHUNK])
