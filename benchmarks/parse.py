"""How many queries a second: our parser and analysis, beside other parsers where installed.

    python benchmarks/parse.py DATA [--limit N] [--peers N] [--seed S]

DATA is a folder; every distinct query in its JSON, JSONL and CSV files counts (fields ``query``,
``cypher``, ``Cypher``, ``gold_cypher``). All parsers run in one process and one thread, in turns, on
queries of the same sample; seconds are of processor time, the best of three rounds, caches warm.
The peers are slow: they get the first N queries of the sample, and ours is measured on those too.

Peers, each skipped with the reason where it is not installed: ``cypherast`` (a tree without
positions) and ``antlr4-cypher`` (openCypher's grammar through ANTLR's Python runtime).
"""

from __future__ import annotations

import argparse
import csv
import gc
import importlib
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cypherforge.cypher import CypherSyntaxError, parse
from cypherforge.cypher.analysis import analyse
from cypherforge.cypher.tokens import Tokens

FIELDS = ("query", "cypher", "Cypher", "gold_cypher")
ROUNDS = 3


def main() -> int:
    """Print the table; exit code 1 where the folder holds no query."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--limit", type=int, default=8_000, help="queries for our own parser")
    parser.add_argument("--peers", type=int, default=400, help="queries for the peers")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    found = sorted(set(queries(options.data)))
    random.Random(options.seed).shuffle(found)
    sample = [query for query in found if accepted(parse, query)]
    if not sample:
        print(f"no query in {options.data}", file=sys.stderr)
        return 1
    share = len(sample) / len(found)
    sample = sample[: options.limit]
    characters = sum(map(len, sample)) / len(sample)
    print(f"{len(found):,} distinct queries, {share:.1%} parse; sample of {len(sample):,}")
    print(f"{characters:.0f} characters a query; Python {sys.version.split()[0]}\n")

    gc.collect()
    gc.freeze()
    trees = [parse(query) for query in sample]
    own = {
        "lexer": best(Tokens, sample),
        "parser, spans included": best(parse, sample),
        "analysis (on top)": best(analyse, trees),
    }
    for name, rate in own.items():
        print(f"{name:<36}{rate:>10,.0f} q/s")
    subset = sample[: options.peers]
    print(f"\nbeside peers, {len(subset):,} queries")
    ours = best(parse, subset)
    print(f"{'this parser':<36}{ours:>10,.0f} q/s   100.0 % parsed")
    for name, load in PEERS.items():
        try:
            peer = load()
        except ImportError as error:
            print(f"{name:<36}{'':>10}       skipped: {error}")
            continue
        parsed = sum(accepted(peer, query) for query in subset) / len(subset)
        rate = best(peer, subset)
        print(f"{name:<36}{rate:>10,.0f} q/s   {parsed:.1%} parsed   ours is {ours / rate:.1f} x")
    return 0


def queries(folder: Path) -> Iterator[str]:
    """Every query in the files of a folder."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".jsonl":
            for line in path.read_text(encoding="utf-8").split("\n"):
                if line:
                    yield from of_fields(json.loads(line))
        elif path.suffix == ".json":
            yield from of_fields(json.loads(path.read_text(encoding="utf-8")))
        elif path.suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    yield from of_fields(row)


def of_fields(value: Any) -> Iterator[str]:
    """Strings under one of the fields, however deep."""
    if isinstance(value, list):
        for item in value:
            yield from of_fields(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str):
                if key in FIELDS and item.strip():
                    yield item
            else:
                yield from of_fields(item)


def accepted(read: Callable[[str], object], query: str) -> bool:
    """Whether a parser takes the query."""
    try:
        read(query)
    except CypherSyntaxError:
        return False
    except Exception:  # noqa: BLE001 -- a peer may raise whatever it likes
        return False
    return True


def best(work: Callable[[Any], object], items: list[Any]) -> float:
    """Items a second in the fastest round; refusals count as work."""
    fastest = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for item in items:
            try:
                work(item)
            except Exception:  # noqa: BLE001, S110 -- see accepted()
                pass
        fastest = min(fastest, time.process_time() - start)
    return len(items) / fastest


def cypherast() -> Callable[[str], object]:
    """The parser of ``cypherast``."""
    module = importlib.import_module("cypherast")
    read: Callable[[str], object] = module.parse_one
    return read


def antlr() -> Callable[[str], object]:
    """openCypher's grammar through ANTLR's Python runtime; errors raise."""
    runtime = importlib.import_module("antlr4")
    grammar = importlib.import_module("antlr4_cypher")

    def read(query: str) -> object:
        lexer = grammar.CypherLexer(runtime.InputStream(query))
        lexer.removeErrorListeners()
        parser = grammar.CypherParser(runtime.CommonTokenStream(lexer))
        parser.removeErrorListeners()
        # The faster way of prediction, as its authors advise.
        parser._interp.predictionMode = runtime.PredictionMode.SLL
        tree = parser.script()
        if parser.getNumberOfSyntaxErrors():
            raise ValueError("refused")
        return tree

    return read


PEERS: dict[str, Callable[[], Callable[[str], object]]] = {
    "cypherast": cypherast,
    "antlr4-cypher": antlr,
}


if __name__ == "__main__":
    raise SystemExit(main())
