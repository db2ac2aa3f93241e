"""Do golds give the same rows on the embedded graph as on Neo4j? Prints each that does not.

    python benchmarks/embedded_agreement.py GOLDS GRAPH [--neo4j URI] [--cache FILE]
                                            [--verdicts FILE [--recheck]]

GOLDS is a folder of JSON files whose entries have the field "Cypher", or a file with one query a
line; GRAPH the neutral files of the graph that the server at URI holds. The server's rows are kept
in the cache, so that a second run needs no server. Verdicts are kept as they come, so that a run
that was stopped goes on where it was; with --recheck those that did not agree are judged again.

Rows are compared as multisets, and in order where RETURN sorts by its columns. Where Cypher leaves
the answer open, a pair has a class of its own, which is printed, too: the rows that LIMIT keeps
among equal sort keys, the order of collect(), the last digit of an average that rows are grouped
by. Both engines must agree up to that clause for it.
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
from cypherforge.cypher.ast import (
    FunctionCall,
    Index,
    IntegerLiteral,
    Projection,
    Return,
    SingleQuery,
    Slice,
    Variable,
)
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.compare import same_rows
from cypherforge.graph.connect import connect

LIMIT = 100_000
AGREED = ("same",)


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
    agreed = verdicts["same"]
    left_open = sum(n for verdict, n in verdicts.items() if verdict.startswith("open"))
    print(
        f"\n{options.graph.name}: {agreed} of {total} the same ({agreed / total:.2%}), "
        f"with what Cypher leaves open {(agreed + left_open) / total:.2%}"
    )
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
            except QueryTimeout:
                raise  # Another run may give it more time.
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
    body = parse(query).body
    clauses = body.clauses if isinstance(body, SingleQuery) else []
    last = clauses[-1] if clauses and isinstance(clauses[-1], Return) else None
    keys = places(last) if last is not None else []
    if _agree(wanted, found, keys):
        return "same", ""
    difference = _difference(wanted, found, keys)
    if _agree(_lists_sorted(wanted), _lists_sorted(found), keys):
        return "open: order of collect()", difference
    averaged = any(isinstance(cell, float) for row in wanted.rows for cell in row)
    if averaged and _split_alike(wanted, found):
        return "open: groups by an average that is rounded otherwise", difference
    for clause in clauses:
        if isinstance(clause, Projection):
            reason = open_at(query, clause, server, graph)
            if reason:
                return f"open: {reason}", difference
    return "DIFFERENT", difference


def open_at(query: str, clause: Projection, server: Server, graph: Graph) -> str | None:
    """What this projection leaves open, if both engines agree up to it.

    LIMIT keeps any of the rows whose sort key is equal at the cut, and collect() any order.
    """
    makes_lists = any(
        isinstance(node, FunctionCall) and node.lower_name == "collect"
        for item in clause.items
        for node in item.expression.walk()
    )
    takes_places = any(
        isinstance(node, Index | Slice)
        or (isinstance(node, FunctionCall) and node.lower_name in ("head", "last", "reduce"))
        for node in parse(query).walk()
    )
    if clause.limit is None and not (makes_lists and takes_places):
        return None
    ends = [x.span[0] for x in (clause.skip, clause.limit) if x is not None]
    where = getattr(clause, "where", None)
    ends += [where.span[0]] if where is not None else [clause.span[1]]
    word = len("RETURN" if isinstance(clause, Return) else "WITH")
    start = clause.span[0]
    whole = f"{query[:start]}RETURN{query[start + word : min(ends)]}"
    try:
        wanted, found = server.run(whole), graph.run(whole)
    except (CypherForgeError, Unknown):
        return None
    keys = places(clause)
    if not _agree(_lists_sorted(wanted), _lists_sorted(found), keys):
        return None
    if clause.limit is None:
        return "order of collect()"
    if clause.order_by is None:
        return "rows that LIMIT keeps"
    cuts = [0]
    for part in (clause.skip, clause.limit):
        if part is not None and isinstance(part.count, IntegerLiteral):
            cuts.append(cuts[-1] + part.count.value)
    rows = _columns(wanted, keys).rows
    tie = any(0 < cut < len(rows) and rows[cut - 1] == rows[cut] for cut in cuts)
    return "rows that LIMIT keeps among equal keys" if tie or not keys else None


def places(clause: Projection) -> list[int]:
    """Which columns ORDER BY sorts by; none if one of its keys is no column."""
    names = {item.column: i for i, item in enumerate(clause.items)}
    expressions = {item.expression: i for i, item in enumerate(clause.items)}
    found = []
    for item in clause.order_by.items if clause.order_by else []:
        key = item.expression
        place = names.get(key.name) if isinstance(key, Variable) else expressions.get(key)
        if place is None:
            return []
        found.append(place)
    return found


def _agree(wanted: Result, found: Result, keys: list[int]) -> bool:
    if not same_rows(wanted, found):
        return False
    return not keys or same_rows(wanted, found, ordered=True, sort_key=keys) is not False


def _columns(result: Result, kept: list[int]) -> Result:
    return Result(
        tuple(result.columns[i] for i in kept),
        tuple(tuple(row[i] for i in kept) for row in result.rows),
    )


def _split_alike(wanted: Result, found: Result) -> bool:
    """Whether the two differ only where one of them splits a group by the last digit of a float.

    An average is summed up in the order of the rows, so its last digit is nobody's. Groups that
    neither splits must have the same counts.
    """
    left, right = _groups(wanted), _groups(found)
    if left.keys() != right.keys():
        return False
    split = {key for key in left if len(left[key]) > 1 or len(right[key]) > 1}
    return bool(split) and all(left[key] == right[key] for key in left.keys() - split)


def _groups(result: Result) -> dict[str, list[tuple[int, ...]]]:
    """The integers of each row, by all its other cells, floats rounded."""
    groups: dict[str, list[tuple[int, ...]]] = {}
    for row in result.rows:
        counts = tuple(x for x in row if isinstance(x, int) and not isinstance(x, bool))
        others = [x for x in row if not isinstance(x, int) or isinstance(x, bool)]
        key = repr([f"{x:.9g}" if isinstance(x, float) else x for x in others])
        groups.setdefault(key, []).append(counts)
    return groups


def _lists_sorted(result: Result) -> Result:
    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return sorted((plain(item) for item in value), key=repr)
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return value

    rows = tuple(tuple(plain(cell) for cell in row) for row in result.rows)
    return Result(result.columns, rows, result.truncated)


def _difference(wanted: Result, found: Result, keys: list[int]) -> str:
    if same_rows(wanted, found):
        return f"the same {len(found.rows)} rows in another order, by columns {keys}"
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
