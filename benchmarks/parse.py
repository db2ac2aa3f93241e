"""How many queries a second: our parser and analysis, beside other parsers where installed.

    python benchmarks/parse.py DATA [--limit N] [--peers N] [--seed S] [--neo4j-grammar FOLDER]

DATA is a folder; every distinct query in its JSON, JSONL and CSV files counts (fields ``query``,
``cypher``, ``Cypher``, ``gold_cypher``). All parsers run in one process and one thread, in turns, on
queries of the same sample; seconds are of processor time, the best of three rounds, caches warm.
The peers are slow: they get the first N queries of the sample, and ours is measured on those too.

Peers, each skipped with the reason where it is not there: Neo4j's own grammar through ANTLR's
Python runtime (FOLDER is what ``neo4j_grammar.py`` wrote), ``cypherast`` (a tree without positions)
and ``antlr4-cypher`` (openCypher's grammar, likewise through ANTLR).
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
OWN = ("lexer", "parser, spans included", "analysis (on top)")


def main() -> int:
    """Print the table; exit code 1 where the folder holds no query."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "--limit", type=int, default=8_000, help="queries for our own parser (0: all)"
    )
    parser.add_argument("--peers", type=int, default=1_000, help="queries for the peers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--neo4j-grammar", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.neo4j_grammar:
        sys.path.insert(0, str(options.neo4j_grammar))

    found = sorted(set(queries(options.data)))
    random.Random(options.seed).shuffle(found)
    sample = [query for query in found if accepted(parse, query)]
    if not sample:
        print(f"no query in {options.data}", file=sys.stderr)
        return 1
    share = len(sample) / len(found)
    sample = sample[: options.limit or None]
    characters = sum(map(len, sample)) / len(sample)
    print(f"{len(found):,} distinct queries, {share:.1%} parse; sample of {len(sample):,}")
    print(f"{characters:.0f} characters a query; Python {sys.version.split()[0]}\n")

    gc.collect()
    gc.freeze()
    for name, rate in zip(OWN, own_rates(sample), strict=True):
        print(f"{name:<36}{rate:>10,.0f} q/s")
    subset = sample[: options.peers]
    print(f"\nbeside peers, {len(subset):,} queries")
    beside(subset)
    return 0


def own_rates(sample: list[str]) -> list[float]:
    """Items a second of each of ``OWN``."""
    trees = [parse(query) for query in sample]
    return rates([(Tokens, sample), (parse, sample), (analyse, trees)])


def beside(sample: list[str]) -> None:
    """Print our parser beside the peers that are there."""
    readers: dict[str, Callable[[str], object]] = {"this parser": parse}
    for name, load in PEERS.items():
        try:
            readers[name] = load()
        except ImportError as error:
            print(f"{name:<36}{'':>10}       skipped: {error}")
    parsed = [sum(accepted(read, query) for query in sample) for read in readers.values()]
    found = rates([(read, sample) for read in readers.values()])
    for name, count, rate in zip(readers, parsed, found, strict=True):
        shown = f"{count / len(sample):.1%} parsed, ours is {found[0] / rate:.1f} x"
        print(f"{name:<36}{rate:>10,.0f} q/s   {shown}")


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


def rates(works: list[tuple[Callable[[Any], object], list[Any]]]) -> list[float]:
    """Items a second of each in its fastest round; all take turns, and refusals count as work."""
    fastest = [float("inf")] * len(works)
    for _ in range(ROUNDS):
        for number, (work, items) in enumerate(works):
            gc.collect()
            start = time.process_time()
            for item in items:
                try:
                    work(item)
                except Exception:  # noqa: BLE001, S110 -- see accepted()
                    pass
            fastest[number] = min(fastest[number], time.process_time() - start)
    return [len(items) / seconds for (_, items), seconds in zip(works, fastest, strict=True)]


def cypherast() -> Callable[[str], object]:
    """The parser of ``cypherast``."""
    module = importlib.import_module("cypherast")

    def read(query: str) -> object:
        # It takes no semicolon at the end.
        return module.parse_one(query.rstrip().removesuffix(";"))

    return read


def neo4j_grammar() -> Callable[[str], object]:
    """Neo4j's grammar through ANTLR's Python runtime; errors raise."""
    lexer = importlib.import_module("CypherPreLexer").CypherPreLexer
    parser = importlib.import_module("CypherPreParser").CypherPreParser
    return through_antlr(lexer, parser, "preparsedStatement")


def opencypher_grammar() -> Callable[[str], object]:
    """openCypher's grammar through ANTLR's Python runtime; errors raise."""
    grammar = importlib.import_module("antlr4_cypher")
    return through_antlr(grammar.CypherLexer, grammar.CypherParser, "script")


def through_antlr(lexer_class: Any, parser_class: Any, rule: str) -> Callable[[str], object]:
    """A parser of ANTLR's, begun at a rule of its grammar; what it leaves but a ``;`` is an error."""
    runtime = importlib.import_module("antlr4")
    over = (runtime.Token.EOF, parser_class.literalNames.index("';'"))

    def read(query: str) -> object:
        lexer = lexer_class(runtime.InputStream(query))
        lexer.removeErrorListeners()
        parser = parser_class(runtime.CommonTokenStream(lexer))
        parser.removeErrorListeners()
        # The faster way of prediction, as its authors advise.
        parser._interp.predictionMode = runtime.PredictionMode.SLL
        tree = getattr(parser, rule)()
        if parser.getNumberOfSyntaxErrors() or parser.getCurrentToken().type not in over:
            raise ValueError("refused")
        return tree

    return read


PEERS: dict[str, Callable[[], Callable[[str], object]]] = {
    "Neo4j's grammar, ANTLR": neo4j_grammar,
    "cypherast": cypherast,
    "antlr4-cypher": opencypher_grammar,
}


if __name__ == "__main__":
    raise SystemExit(main())
