"""Do golds give the same rows on the embedded graph as on Neo4j? Prints each that does not.

    python benchmarks/embedded_agreement.py GOLDS GRAPH [--neo4j URI] [--cache FILE]
                                            [--verdicts FILE [--recheck]]

GOLDS is a folder of JSON files whose entries have the field "Cypher", or a file with one query a
line; GRAPH the neutral files of the graph that the server at URI holds. The server's rows are kept
in the cache, so that a second run needs no server. Verdicts are kept as they come, so that a run
that was stopped goes on where it was; with --recheck those that did not agree are judged again.

Rows are compared as multisets. A pair counts as the same, too, where Cypher leaves the answer open:
which rows LIMIT keeps among equal sort keys, and the order of what collect() collects.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from cypherforge.core.errors import CypherForgeError, NotSupported, QueryError, QueryTimeout
from cypherforge.cypher import parse
from cypherforge.cypher.ast import Return, SingleQuery
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.compare import same_rows
from cypherforge.graph.connect import connect

LIMIT = 100_000
AGREED = ("same", "same (open)", "neo4j fails too")


def main() -> int:
    """Run the comparison; exit code 1 where fewer than 99 % agree."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("golds", type=Path)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--neo4j", help="URI of a server with the same graph")
    parser.add_argument("--cache", type=Path, help="where the server's rows are kept")
    parser.add_argument("--verdicts", type=Path, help="where verdicts are kept; goes on from there")
    parser.add_argument("--recheck", action="store_true", help="judge what did not agree again")
    parser.add_argument("--timeout", type=float, default=15.0)
    parser.add_argument("--only", help="compare only queries that contain this text")
    parser.add_argument("--server-only", action="store_true", help="fill the cache and stop")
    options = parser.parse_args()
    golds = read_golds(options.golds)
    if options.only:
        golds = Counter({q: n for q, n in golds.items() if options.only in q})
    server = Server(options.neo4j, options.cache, options.timeout)
    if options.server_only:
        for query in golds:
            with contextlib.suppress(QueryError):
                server.run(query)
        return 0
    known = Journal(options.verdicts, options.recheck)
    verdicts: Counter[str] = Counter()
    began = time.process_time()
    with connect(f"embedded:{options.graph}", timeout=options.timeout, limit=LIMIT) as graph:
        for number, (query, copies) in enumerate(golds.items(), 1):
            try:
                verdict, detail = known.get(query) or known.put(query, judge(query, server, graph))
            except Unknown:
                verdicts["not asked: no server, not in the cache"] += copies
                continue
            verdicts[verdict] += copies
            if verdict not in AGREED:
                print(f"--- {verdict} x{copies}: {detail}\n{query.strip()}", flush=True)
            if number % 500 == 0:
                print(f"{number}/{len(golds)}", file=sys.stderr, flush=True)
    left_out = ("neo4j fails too", "not asked: no server, not in the cache")
    total = sum(n for verdict, n in verdicts.items() if verdict not in left_out)
    agreed = verdicts["same"] + verdicts["same (open)"]
    print(f"\n{options.graph.name}: {agreed} of {total} agree ({agreed / total:.2%})")
    for verdict, count in verdicts.most_common():
        print(f"  {count:6} {verdict}")
    print(f"  {time.process_time() - began:.0f} s of processor time")
    return 0 if agreed >= 0.99 * total else 1


def read_golds(path: Path) -> Counter[str]:
    """Each distinct query with the number of its copies, in file order."""
    if path.is_file():
        return Counter(line for line in path.read_text().splitlines() if line.strip())
    golds: Counter[str] = Counter()
    for file in sorted(path.glob("*.json")):
        golds.update(entry["Cypher"] for entry in json.loads(file.read_text()))
    return golds


class Unknown(Exception):
    """Neither a server nor the cache has the rows of this query."""


class Journal:
    """Verdicts on disk, one a line, each written when it is known."""

    def __init__(self, path: Path | None, recheck: bool) -> None:
        self._path = path
        self._known: dict[str, tuple[str, str]] = {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                with contextlib.suppress(ValueError):  # a line cut when the run was stopped
                    row = json.loads(line)
                    self._known[row["key"]] = (row["verdict"], row["detail"])
        if recheck:
            self._known = {k: v for k, v in self._known.items() if v[0] in AGREED}

    def get(self, query: str) -> tuple[str, str] | None:
        """The verdict, unless there is none yet."""
        return self._known.get(digest(query))

    def put(self, query: str, verdict: tuple[str, str]) -> tuple[str, str]:
        """Keep a verdict, and return it."""
        if self._path is not None:
            row = {"key": digest(query), "verdict": verdict[0], "detail": verdict[1]}
            with self._path.open("a") as file:
                file.write(json.dumps(row) + "\n")
        return verdict


def digest(query: str) -> str:
    """The key of a query in both files."""
    return hashlib.sha256(query.encode()).hexdigest()


class Server:
    """Rows of the reference server, each query run once ever."""

    def __init__(self, uri: str | None, cache: Path | None, timeout: float) -> None:
        self._graph: Graph | None = connect(uri, timeout=timeout, limit=LIMIT) if uri else None
        self._cache = cache
        self._known: dict[str, Any] = {}
        if cache is not None and cache.exists():
            for line in cache.read_text().splitlines():
                row = json.loads(line)
                self._known[row["key"]] = row["answer"]

    def run(self, query: str) -> Result:
        """Its rows. Raises ``QueryError`` where the server failed."""
        key = digest(query)
        if key not in self._known:
            if self._graph is None:
                raise Unknown
            try:
                answer: Any = self._graph.run(query).to_json()
            except QueryError as error:
                answer = {"error": type(error).__name__, "text": str(error)}
            self._known[key] = answer
            if self._cache is not None:
                with self._cache.open("a") as file:
                    file.write(json.dumps({"key": key, "answer": answer}) + "\n")
        answer = self._known[key]
        if "error" in answer:
            raise QueryError(f"{answer['error']}: {answer['text']}")
        return Result.from_json(answer)


def judge(query: str, server: Server, graph: Graph) -> tuple[str, str]:
    """What came of one query, and a line about it."""
    try:
        wanted = server.run(query)
    except QueryError as error:
        try:
            found = graph.run(query)
        except CypherForgeError:
            return "neo4j fails too", str(error)
        return "neo4j fails, embedded answers", f"{error}; {len(found.rows)} rows"
    try:
        found = graph.run(query)
    except NotSupported as error:
        return "refused", str(error)
    except QueryTimeout as error:
        return "timeout", str(error)
    except CypherForgeError as error:
        return "error", f"{type(error).__name__}: {error}"
    if wanted.columns != found.columns:
        return "columns", f"{wanted.columns} against {found.columns}"
    if same_rows(wanted, found):
        return "same", ""
    if is_open(query, wanted, found, server, graph):
        return "same (open)", ""
    return "DIFFERENT", _difference(wanted, found)


def is_open(query: str, wanted: Result, found: Result, server: Server, graph: Graph) -> bool:
    """Whether the two differ only in what Cypher leaves open."""
    if same_rows(_lists_sorted(wanted), _lists_sorted(found)):
        return True
    body = parse(query).body
    last = body.clauses[-1] if isinstance(body, SingleQuery) else None
    if not isinstance(last, Return) or last.limit is None or len(wanted.rows) != len(found.rows):
        return False
    # Without the cut both must be the same; and the rows kept must have the same sort keys.
    cut = last.skip or last.limit
    if any(c.span[1] > last.limit.span[1] for c in (last.skip,) if c is not None):
        return False
    whole = query[: cut.span[0]] + query[last.limit.span[1] :]
    try:
        if not same_rows(_lists_sorted(server.run(whole)), _lists_sorted(graph.run(whole))):
            return False
    except (CypherForgeError, Unknown):
        return False
    if last.order_by is None:
        return True
    names = {item.column: i for i, item in enumerate(last.items)} | {
        item.text: i for i, item in enumerate(last.items)
    }
    places = [
        names.get(query[item.expression.span[0] : item.expression.span[1]])
        for item in last.order_by.items
    ]
    if any(place is None for place in places):
        return True
    return bool(same_rows(_columns(wanted, places), _columns(found, places), ordered=True))


def _columns(result: Result, places: list[int | None]) -> Result:
    kept = [place for place in places if place is not None]
    return Result(
        tuple(result.columns[i] for i in kept),
        tuple(tuple(row[i] for i in kept) for row in result.rows),
    )


def _lists_sorted(result: Result) -> Result:
    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return sorted((plain(item) for item in value), key=repr)
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return value

    rows = tuple(tuple(plain(cell) for cell in row) for row in result.rows)
    return Result(result.columns, rows, result.truncated)


def _difference(wanted: Result, found: Result) -> str:
    left = Counter(map(repr, wanted.rows))
    right = Counter(map(repr, found.rows))
    missing = list((left - right).elements())[:2]
    extra = list((right - left).elements())[:2]
    return (
        f"{len(wanted.rows)} rows against {len(found.rows)}; "
        f"only on Neo4j {_cut(missing)}; only embedded {_cut(extra)}"
    )


def _cut(rows: list[str]) -> str:
    return " | ".join(row[:160] for row in rows) or "none"


if __name__ == "__main__":
    sys.exit(main())
