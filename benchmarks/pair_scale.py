"""Pairs from a graph of many nodes with one hub: load time, memory, how long the pairs took.

    python benchmarks/pair_scale.py FOLDER --nodes 1000000 --size 60

Pages, all of them on one site; a thousand other sites, users who like pages. The graph's files are
kept in FOLDER and used again. CPU seconds of the process with its JVM; memory is resident size.
"""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from cypherforge.core.progress import NullProgress
from cypherforge.graph.connect import connect
from cypherforge.graph.neutral import NodeRow, RelationshipRow, write_neutral
from cypherforge.synth.generate import PairOptions
from cypherforge.synth.run import make_pairs, text_report

SITES, USERS = 1_000, 10_000


class Clock(NullProgress):
    """Says after each stage how much time and memory it took."""

    def __init__(self) -> None:
        self.began = time.process_time()

    def say_now(self, what: str) -> None:
        """Print the processor time since the last line, and the memory now and at most."""
        now = time.process_time()
        print(f"{now - self.began:8.1f} s  {resident():6d} MB now  {peak():6d} MB at most  {what}")
        sys.stdout.flush()
        self.began = now

    def finish(self, summary: str) -> None:
        """See ``Progress.finish``."""
        self.say_now(summary)


def main() -> None:
    """Make the graph where it is not there, load it, draw pairs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--size", type=int, default=60)
    options = parser.parse_args()
    clock = Clock()
    if not (options.folder / "nodes.jsonl.gz").exists():
        options.folder.mkdir(parents=True, exist_ok=True)
        write_neutral(options.folder, nodes(options.nodes), relationships(options.nodes))
        clock.say_now("files written")
    with connect(f"embedded:{options.folder}") as graph:
        clock.say_now("loaded")
        out = options.folder / "run"
        shutil.rmtree(out, ignore_errors=True)
        made = make_pairs(graph, "scale", out, PairOptions(size=options.size), progress=clock)
        clock.say_now("all done")
        print(text_report(made))


def nodes(pages: int) -> Iterator[NodeRow]:
    """Sites, users, pages."""
    for i in range(SITES):
        yield NodeRow(i, ("Site",), {"name": f"site-{i}.example"})
    for i in range(USERS):
        yield NodeRow(SITES + i, ("User",), {"name": f"User {i}", "age": 18 + i * 7 % 60})
    for i in range(pages):
        yield NodeRow(
            SITES + USERS + i, ("Page",), {"title": f"Page {i}", "views": i * 7919 % 100_003}
        )


def relationships(pages: int) -> Iterator[RelationshipRow]:
    """Each page on the hub, each twentieth on another site too; ten likes of each user."""
    rng = random.Random(1)
    first = SITES + USERS
    for i in range(pages):
        yield RelationshipRow(i, "LOCATED_ON", first + i, 0, {})
    for i in range(pages // 20):
        yield RelationshipRow(
            pages + i, "LOCATED_ON", first + rng.randrange(pages), rng.randrange(1, SITES), {}
        )
    for i in range(10 * USERS):
        yield RelationshipRow(
            2 * pages + i, "LIKED", SITES + i % USERS, first + rng.randrange(pages), {}
        )


def resident() -> int:
    """Resident memory in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024
    return 0


def peak() -> int:
    """The most resident memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
