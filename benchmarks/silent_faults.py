"""What the silent-fault checks say of golds, and of wrong drafts that ran.

    python benchmarks/silent_faults.py golds [--graphs er,wwc] [--each 50]
    python benchmarks/silent_faults.py drafts [--model qwen2.5-coder-1.5b]

``golds``: how many are flagged, by which check, and how many are changed (the goal: at most one in
200). ``drafts``: of the drafts of ``draft_collection.py`` whose outcome is ``different``, how many
are flagged (the goal: one in four). Prints counts; questions and golds stay where they are.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from draft_collection import FOLDER, GRAPHS, data_folder, dataset, read_rows

from cypherforge.core.errors import CypherForgeError, QueryError
from cypherforge.evaluation.plan import choose
from cypherforge.graph.base import Graph
from cypherforge.graph.compare import same_rows
from cypherforge.graph.connect import connect
from cypherforge.runtime.silent import SilentChecks


def main() -> int:
    """Check golds or drafts; see the module's text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("golds", "drafts"))
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="commas between them")
    parser.add_argument("--graph", action="append", default=[], metavar="NAME=SPEC")
    parser.add_argument("--each", type=int, default=50, help="golds of each graph")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b", help="name of the drafts' file")
    options = parser.parse_args()
    specs = dict(given.split("=", 1) for given in options.graph)
    outcomes = read_rows(FOLDER / f"{options.model}.outcomes.jsonl")
    drafts = read_rows(FOLDER / f"{options.model}.jsonl")
    for name in options.graphs.split(","):
        examples = dataset(options.data, name).examples
        if options.what == "golds":
            pairs = [(e.question, e.cypher) for e in choose(examples, options.each)]
        else:
            questions = {e.id: e.question for e in examples}
            pairs = [
                (questions[key], str(drafts[key]["draft"]))
                for key, row in outcomes.items()
                if row["graph"] == name and row["outcome"] == "different"
            ]
        spec = specs.get(name) or f"embedded:{options.data / 'graphs' / name}"
        with connect(spec) as graph:
            print(f"{name}: {count(graph, pairs)}", flush=True)
    return 0


def count(graph: Graph, pairs: Iterable[tuple[str, str]]) -> str:
    """Flagged and changed queries, and flags by code."""
    checks = SilentChecks(graph, graph.schema())
    total = flagged = changed = probes = 0
    codes: Counter[str] = Counter()

    def probe() -> None:
        nonlocal probes
        probes += 1

    for question, query in pairs:
        try:
            result = graph.run(query)
        except QueryError:
            continue
        total += 1
        found = checks.check(question, query, result, count_probe=probe)
        flagged += bool(found)
        codes.update({item.code for item in found})
        for item in found:
            if item.settled and item.query is not None:
                # A change that leaves the rows as they are is none.
                changed += same_rows(result, graph.run(item.query)) is not True
    by_code = ", ".join(f"{code} {n}" for code, n in codes.most_common())
    return f"{total} ran, {flagged} flagged, {changed} changed, {probes} probes; {by_code or 'no flag'}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CypherForgeError as stop:
        sys.exit(str(stop))
