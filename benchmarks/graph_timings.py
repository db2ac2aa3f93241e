"""How long opening an embedded graph and looking up values takes, in processor and wall time.

    python benchmarks/graph_timings.py [FOLDER]

FOLDER holds a graph's neutral files; without it, a graph of 5,000 nodes and 60,000 relationships is
made up. The value index is filled with 100,000 made-up names, and asked for 300 of them with a
letter left out or in lower case.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SYLLABLES = "ka lo mi ra te no si vu ber gan tor wen dal fer hil quin ost mar lev zan".split()
FIRST = "James Mary Zoë José Anaïs Linda Robert Patricia Søren Michael Elizabeth O'Hara".split()


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print what a block took."""
    wall, processor = time.perf_counter(), time.process_time()
    yield
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{what:42} {processor:7.2f} s processor {wall:7.2f} s wall", flush=True)


def main() -> None:
    """Measure both, and print a line for each step."""
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as scratch:
        with timed("import"):
            from cypherforge.graph.embedded import EmbeddedGraph, start_jvm
            from cypherforge.graph.neutral import NodeRow, RelationshipRow, write_neutral
            from cypherforge.graph.value_index import ValueIndex
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(scratch) / "graph"
        if len(sys.argv) == 1:
            nodes = [NodeRow(i, ("Person",), {"id": i, "name": name(rng)}) for i in range(5_000)]
            links = [
                RelationshipRow(i, "KNOWS", rng.randrange(5_000), rng.randrange(5_000), {"w": i})
                for i in range(60_000)
            ]
            write_neutral(folder, nodes, links)
        with timed("start of the JVM"):
            start_jvm()
        with timed("load"):
            graph = EmbeddedGraph(folder)
        with graph, timed("first query"):
            ((count,),) = graph.run("MATCH ()-[r]->() RETURN count(r)").rows
        print(f"{count:,} relationships")

        names = {name(rng) for _ in range(200_000)}
        names = set(sorted(names)[:100_000])
        index = ValueIndex()
        with timed(f"index of {len(names):,} values"):
            index.replace("Person", "name", names)
            index.find("nobody")
        asked = [cut(text, rng) for text in rng.sample(sorted(names), 300)]
        took = []
        for text in asked:
            began = time.process_time()
            index.find(text)
            took.append(1000 * (time.process_time() - began))
        print(
            f"look-up: median {statistics.median(took):.2f} ms, 95 of 100 below "
            f"{sorted(took)[284]:.2f} ms, slowest {max(took):.2f} ms (processor)"
        )
        with timed("save"):
            index.save(Path(scratch) / "index")
        with timed("read again, first look-up included"):
            ValueIndex.load(Path(scratch) / "index").find("nobody")


def name(rng: random.Random) -> str:
    """A made-up name."""
    last = "".join(rng.choices(SYLLABLES, k=rng.randint(2, 4))).title()
    return f"{rng.choice(FIRST)} {last}"


def cut(text: str, rng: random.Random) -> str:
    """The text in lower case, or with its fourth letter left out."""
    return text.lower() if rng.random() < 0.5 else text[:3] + text[4:]


if __name__ == "__main__":
    main()
