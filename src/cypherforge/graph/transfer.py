"""Move whole graphs: from any engine into neutral files, and from the files into a server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cypherforge.core.errors import InputError, UsageError
from cypherforge.core.progress import NullProgress, Progress
from cypherforge.cypher.names import quote_name
from cypherforge.graph.introspect import introspect
from cypherforge.graph.neutral import (
    NodeRow,
    RelationshipRow,
    read_nodes,
    read_relationships,
    write_neutral,
)
from cypherforge.graph.policy import ALL_VALUES, ValuePolicy
from cypherforge.graph.values import NodeValue, RelationshipValue

if TYPE_CHECKING:
    from cypherforge.graph.base import Graph

#: Rows a query, and seconds that one may take.
BATCH, TIMEOUT = 5_000, 600.0

_ALL_ROWS = 100_000_000


def export_graph(
    graph: Graph,
    folder: Path,
    *,
    policy: ValuePolicy = ALL_VALUES,
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Write a graph as neutral files with its schema; returns the numbers of both kinds of rows.

    Nodes are numbered from 0 in the order of the engine's ids, so equal graphs give equal files.
    Properties that ``policy`` keeps back are left out. The graph has to fit into memory.
    """
    progress = progress or NullProgress()
    progress.start("schema", None)
    schema = introspect(graph, sample=-1, policy=policy)
    progress.start("nodes", None)
    found = graph.run("MATCH (n) RETURN n", timeout=TIMEOUT, limit=_ALL_ROWS).rows
    nodes = sorted((row[0] for row in found if isinstance(row[0], NodeValue)), key=_by_id)
    numbers = {node.id: number for number, node in enumerate(nodes)}
    progress.start("relationships", None)
    found = graph.run("MATCH ()-[r]->() RETURN r", timeout=TIMEOUT, limit=_ALL_ROWS).rows
    links = sorted((row[0] for row in found if isinstance(row[0], RelationshipValue)), key=_by_id)
    counts = write_neutral(
        folder,
        (
            NodeRow(
                numbers[node.id],
                tuple(sorted(node.labels)),
                _allowed(policy, node.labels, node.properties),
            )
            for node in nodes
        ),
        (
            RelationshipRow(
                number,
                link.type,
                numbers[link.start],
                numbers[link.end],
                _allowed(policy, (link.type,), link.properties),
            )
            for number, link in enumerate(links)
        ),
        schema.to_json(),
    )
    progress.finish(f"{counts[0]} nodes, {counts[1]} relationships")
    return counts


def load_graph(
    folder: Path,
    graph: Graph,
    *,
    append: bool = False,
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Create the nodes and relationships of neutral files on a server; returns their numbers.

    Raises ``UsageError`` if the graph is read-only, or holds something already and ``append`` is
    not given: a second load would double everything. Constraints and indexes are not created.
    """
    progress = progress or NullProgress()
    if graph.read_only:
        raise UsageError("the graph is open for reading only", where=graph.uri)
    present = graph.run("MATCH (n) RETURN count(n)").rows[0][0]
    if present and not append:
        raise UsageError(
            f"the database holds {present} nodes already",
            where=graph.uri,
            hint="load into an empty one, or add to it with --append",
        )
    identity = "id" if graph.engine.startswith("memgraph") else "elementId"
    ids: dict[Any, Any] = {}
    progress.start("nodes", None)
    for labels, rows in _batches(read_nodes(folder), lambda row: row.labels):
        names = "".join(f":{quote_name(name)}" for name in labels)
        query = f"UNWIND $rows AS row CREATE (n{names}) SET n = row.p RETURN row.i, {identity}(n)"
        given = [{"i": number, "p": row.properties} for number, row in enumerate(rows)]
        result = graph.run(query, {"rows": given}, timeout=TIMEOUT, limit=_ALL_ROWS)
        for number, made in result.rows:
            ids[rows[number].id] = made
        progress.advance(len(rows))
    total = 0
    progress.start("relationships", None)
    for (name,), links in _batches(read_relationships(folder), lambda row: (row.type,)):
        query = (
            "UNWIND $rows AS row "
            f"MATCH (a) WHERE {identity}(a) = row.s MATCH (b) WHERE {identity}(b) = row.e "
            f"CREATE (a)-[r:{quote_name(name)}]->(b) SET r = row.p RETURN count(r)"
        )
        given = [_ends(link, ids, folder) for link in links]
        made = graph.run(query, {"rows": given}, timeout=TIMEOUT).rows[0][0]
        if made != len(links):
            raise InputError(f"only {made} of {len(links)} relationships {name} were created")
        total += made
        progress.advance(len(links))
    progress.finish(f"{len(ids)} nodes, {total} relationships")
    return len(ids), total


def _ends(link: RelationshipRow, ids: Mapping[Any, Any], folder: Path) -> dict[str, Any]:
    for end in (link.start, link.end):
        if end not in ids:
            raise InputError(
                f"relationship {link.id} ends at node {end}, which is absent", where=str(folder)
            )
    return {"s": ids[link.start], "e": ids[link.end], "p": link.properties}


def _batches(rows: Iterable[Any], key: Any) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Yield rows of one kind together, at most ``BATCH`` at a time."""
    waiting: dict[tuple[str, ...], list[Any]] = {}
    for row in rows:
        batch = waiting.setdefault(key(row), [])
        batch.append(row)
        if len(batch) >= BATCH:
            yield key(row), waiting.pop(key(row))
    yield from waiting.items()


def _allowed(
    policy: ValuePolicy, owners: Iterable[str], properties: Mapping[str, Any]
) -> dict[str, Any]:
    owners = list(owners) or [""]
    return {
        key: value
        for key, value in properties.items()
        if all(policy.allows(owner, key) for owner in owners)
    }


def _by_id(value: NodeValue | RelationshipValue) -> list[tuple[int, int | str]]:
    """Sort ids by their numbers: ``4:...:9`` comes before ``4:...:10``."""
    parts = re.findall(r"\d+|\D+", value.id)
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts]
