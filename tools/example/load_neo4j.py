"""Load neutral graph files into an empty Neo4j: ``load_neo4j.py bolt://HOST:PORT [FOLDER]``.

Reads nodes.jsonl.gz, relationships.jsonl.gz and schema.json (by default those of the example) and
creates everything, constraints and indexes first. User and password come from NEO4J_USER (default
``neo4j``) and NEO4J_PASSWORD (unset: no authentication). A database that holds nodes is refused.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

from neo4j import GraphDatabase
from neo4j.spatial import CartesianPoint, Point, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

EXAMPLE = Path(__file__).resolve().parents[2] / "artifacts" / "example"
Run = Callable[..., list[dict[str, Any]]]
"""Run a query with keyword parameters and return its rows."""

READERS: dict[str, Callable[[Any], Any]] = {
    "$date": Date.from_iso_format,
    "$datetime": lambda text: at_offset(DateTime.from_iso_format(text)),
    "$localdatetime": DateTime.from_iso_format,
    "$time": Time.from_iso_format,
    "$localtime": Time.from_iso_format,
    "$duration": Duration.from_iso_format,
    "$float": float,
    "$point": lambda value: POINTS[value["srid"]](value["coordinates"]),
}
POINTS: dict[int, type[Point]] = {
    4326: WGS84Point,
    4979: WGS84Point,
    7203: CartesianPoint,
    9157: CartesianPoint,
}


def at_offset(moment: DateTime) -> DateTime:
    """Return the moment with a plain offset: the driver would store "Z" as the named zone UTC."""
    return moment.replace(tzinfo=timezone(moment.utcoffset() or timedelta()))


def native(value: Any) -> Any:
    """Return a tagged JSON value as the driver's own type."""
    if isinstance(value, list):
        return [native(item) for item in value]
    if isinstance(value, dict):
        ((tag, inner),) = value.items()
        return READERS[tag](inner)
    return value


def quoted(name: str) -> str:
    """Return a label, type or property name in back-ticks."""
    return "`" + name.replace("`", "``") + "`"


def rows(path: Path) -> list[dict[str, Any]]:
    """Read a gzipped JSONL file; properties come as the driver's types."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        read = [json.loads(line) for line in file]
    for row in read:
        row["properties"] = {key: native(value) for key, value in row["properties"].items()}
    return read


def create(run: Run, folder: Path) -> tuple[int, int]:
    """Create the graph of ``folder`` with ``run``; return the numbers of nodes and relationships."""
    nodes = rows(folder / "nodes.jsonl.gz")
    by_labels: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in nodes:
        by_labels[tuple(row["labels"])].append(row)
    ids: dict[int, str] = {}
    for labels, group in by_labels.items():
        names = "".join(f":{quoted(label)}" for label in labels)
        made = run(
            f"UNWIND $rows AS row CREATE (n{names}) SET n = row.properties "
            "RETURN row.id AS id, elementId(n) AS element",
            rows=group,
        )
        ids.update((row["id"], row["element"]) for row in made)
    links = rows(folder / "relationships.jsonl.gz")
    by_type: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in links:
        by_type[row["type"]].append({**row, "start": ids[row["start"]], "end": ids[row["end"]]})
    for kind, group in by_type.items():
        run(
            "UNWIND $rows AS row MATCH (a) WHERE elementId(a) = row.start "
            "MATCH (b) WHERE elementId(b) = row.end "
            f"CREATE (a)-[r:{quoted(kind)}]->(b) SET r = row.properties",
            rows=group,
        )
    return len(nodes), len(links)


def constrain(run: Run, folder: Path) -> None:
    """Create the constraints and range indexes that schema.json lists."""
    schema = json.loads((folder / "schema.json").read_text(encoding="utf-8"))
    rules = [("CONSTRAINT", "REQUIRE", " IS UNIQUE", row) for row in schema["constraints"]]
    rules += [("INDEX", "ON", "", row) for row in schema["indexes"] if row["type"] == "RANGE"]
    for what, verb, tail, row in rules:
        label, key = row["labelsOrTypes"][0], row["properties"][0]
        run(f"CREATE {what} IF NOT EXISTS FOR (n:{quoted(label)}) {verb} (n.{quoted(key)}){tail}")


def main(uri: str, folder: Path = EXAMPLE) -> None:
    """Load ``folder`` into the database at ``uri``."""
    password = os.environ.get("NEO4J_PASSWORD")
    auth = (os.environ.get("NEO4J_USER", "neo4j"), password) if password else None
    with GraphDatabase.driver(uri, auth=auth) as driver, driver.session() as session:

        def run(query: str, **parameters: Any) -> list[dict[str, Any]]:
            return session.run(query, parameters).data()

        count = run("MATCH (n) RETURN count(n) AS nodes")[0]["nodes"]
        if count:
            raise SystemExit(f"{uri} holds {count} nodes already: load into an empty database")
        constrain(run, folder)
        nodes, links = create(run, folder)
    print(f"{uri}: {nodes} nodes, {links} relationships")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    main(sys.argv[1], *map(Path, sys.argv[2:3]))
