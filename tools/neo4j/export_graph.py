#!/usr/bin/env python3
"""Write a Neo4j database as neutral files: nodes.jsonl.gz, relationships.jsonl.gz, schema.json.

    export_graph.py bolt://127.0.0.1:7687 FOLDER        (needs the `neo4j` package)

A line is {"id": n, "labels": [...], "properties": {...}} or {"id": n, "type": t, "start": n,
"end": n, "properties": {...}}; ids are 0, 1, 2 ... in the database's own order. JSON cannot hold
every Cypher value, so those are tagged: {"$date": "2020-02-29"}, {"$datetime": ...},
{"$localdatetime": ...}, {"$time": ...}, {"$localtime": ...}, {"$duration": "P1D"},
{"$point": {"srid": 4326, "coordinates": [x, y]}}, {"$float": "NaN"}, {"$bytes": base64}.
"""

import base64
import gzip
import json
import math
import sys
from pathlib import Path

import neo4j.time
from neo4j import GraphDatabase
from neo4j.spatial import Point


def plain(value):
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": str(value)}
    if isinstance(value, neo4j.time.DateTime):
        return {"$datetime" if value.tzinfo else "$localdatetime": value.iso_format()}
    if isinstance(value, neo4j.time.Date):
        return {"$date": value.iso_format()}
    if isinstance(value, neo4j.time.Time):
        return {"$time" if value.tzinfo else "$localtime": value.iso_format()}
    if isinstance(value, neo4j.time.Duration):
        return {"$duration": value.iso_format()}
    if isinstance(value, Point):
        return {"$point": {"srid": value.srid, "coordinates": list(value)}}
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    return value


def main(uri: str, folder: str) -> None:
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    driver = GraphDatabase.driver(uri, notifications_min_severity="OFF")

    def write(name, rows):
        count = 0
        with gzip.GzipFile(out / name, "wb", mtime=0) as file:
            for row in rows:
                row["properties"] = {k: plain(v) for k, v in sorted(row["properties"].items())}
                file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                count += 1
        return count

    number = {}
    with driver.session(default_access_mode="READ") as session:

        def nodes():
            query = "MATCH (n) RETURN id(n) AS i, labels(n) AS labels, properties(n) AS properties ORDER BY i"
            for row in session.run(query):
                number[row["i"]] = len(number)
                yield {
                    "id": number[row["i"]],
                    "labels": row["labels"],
                    "properties": row["properties"],
                }

        def relationships():
            query = (
                "MATCH (a)-[r]->(b) RETURN type(r) AS type, id(a) AS a, id(b) AS b, "
                "properties(r) AS properties ORDER BY id(r)"
            )
            for i, row in enumerate(session.run(query)):
                yield {
                    "id": i,
                    "type": row["type"],
                    "start": number[row["a"]],
                    "end": number[row["b"]],
                    "properties": row["properties"],
                }

        counts = write("nodes.jsonl.gz", nodes()), write("relationships.jsonl.gz", relationships())
        schema = {
            "apoc.meta.schema": session.run(
                "CALL apoc.meta.schema({sample: -1}) YIELD value RETURN value"
            ).single()[0],
            "constraints": [
                dict(r)
                for r in session.run(
                    "SHOW CONSTRAINTS YIELD type, entityType, labelsOrTypes, properties"
                )
            ],
            "indexes": [
                dict(r)
                for r in session.run(
                    "SHOW INDEXES YIELD type, entityType, labelsOrTypes, properties, owningConstraint WHERE owningConstraint IS NULL"
                )
            ],
        }
    (out / "schema.json").write_text(
        json.dumps(schema, indent=1, sort_keys=True, default=str) + "\n"
    )
    print(f"{out}: {counts[0]} nodes, {counts[1]} relationships")


if __name__ == "__main__":
    main(*sys.argv[1:3])
