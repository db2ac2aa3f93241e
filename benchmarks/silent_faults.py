"""What the silent-fault checks say of golds, and of drafts that returned rows.

    python benchmarks/silent_faults.py golds [--graphs er,wwc] [--each 50]
    python benchmarks/silent_faults.py drafts [--model qwen2.5-coder-1.5b] [--fixed]

``golds``: how many are flagged, by which check, and how many are changed (the goal: at most one in
200). With ``--static`` all golds are looked at, without a database, and changes are not counted.

``drafts``: draft and gold of each row of ``draft_collection.py`` are run; of the drafts whose rows
are not the gold's, how many are flagged (the goal: one in four), and how many of the right ones.
``--fixed`` applies the runtime's fixes first, as ``full`` does, and takes what is still wrong: what
the fixes mend, nobody needs to be warned of. Prints counts; questions and golds stay where they are.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from draft_collection import FOLDER, GRAPHS, data_folder, dataset, read_rows, run_one

from cypherforge.core.errors import CypherForgeError, QueryError
from cypherforge.evaluation.plan import choose
from cypherforge.graph.base import Graph
from cypherforge.graph.compare import same_rows
from cypherforge.graph.connect import connect
from cypherforge.graph.schema import Schema
from cypherforge.runtime.doubts import static_suspicions
from cypherforge.runtime.fixes import (
    Fix,
    FixLiterals,
    FixOwners,
    RepairDialect,
    apply_all,
    schema_fixes,
)
from cypherforge.runtime.guarded import shared_index
from cypherforge.runtime.pair import Suspicion, read_pair
from cypherforge.runtime.silent import SilentChecks
from cypherforge.validators.gate import dialect_of


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
    parser.add_argument("--static", action="store_true", help="all golds, without a database")
    parser.add_argument("--fixed", action="store_true", help="drafts after the runtime's fixes")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b", help="name of the drafts' file")
    options = parser.parse_args()
    specs = dict(given.split("=", 1) for given in options.graph)
    drafts = read_rows(FOLDER / f"{options.model}.jsonl")
    for name in options.graphs.split(","):
        examples = dataset(options.data, name)
        folder = options.data / "graphs" / name
        if options.what == "golds" and options.static:
            schema = Schema.parse(str(folder / "schema.json"))
            told = golds_by_text(schema, ((e.question, e.cypher) for e in examples.examples))
            print(f"{name}: {told}", flush=True)
            continue
        with connect(specs.get(name) or f"embedded:{folder}") as graph:
            if options.what == "golds":
                chosen = choose(examples.examples, options.each)
                print(f"{name}: {golds(graph, ((e.question, e.cypher) for e in chosen))}")
                continue
            fixes = every_fix(graph) if options.fixed else ()
            wrong, right = Tally(), Tally()
            checks = SilentChecks(graph, graph.schema())
            for row in drafts.values():
                if row["graph"] != name or row["draft"] is None:
                    continue
                example = examples.get(row["id"])
                query, _ = apply_all(fixes, row["draft"])
                outcome = run_one(graph, row | {"draft": query}, example)["outcome"]
                if outcome in ("correct", "different"):
                    result = graph.run(query, row["parameters"])
                    found = checks.check(example.question, query, result)
                    (right if outcome == "correct" else wrong).add(found)
            print(f"{name}: wrong drafts with rows: {wrong}", flush=True)
            print(f"{name}: right drafts: {right}", flush=True)
    return 0


@dataclass(slots=True)
class Tally:
    """How many queries were looked at and flagged, and by which codes."""

    total: int = 0
    flagged: int = 0
    codes: Counter[str] = field(default_factory=Counter)

    def add(self, found: Sequence[Suspicion]) -> None:
        """Count one query with what was found."""
        self.total += 1
        self.flagged += bool(found)
        self.codes.update({item.code for item in found})

    def __str__(self) -> str:
        by_code = ", ".join(f"{code} {n}" for code, n in self.codes.most_common())
        share = f"{self.flagged / self.total:.1%}" if self.total else "-"
        return f"{self.total}, {self.flagged} flagged ({share}); {by_code or 'no flag'}"


def every_fix(graph: Graph) -> tuple[Fix, ...]:
    """The fixes of ``full``, in its order."""
    schema = graph.schema()
    return (
        RepairDialect(dialect_of(graph), schema.names()),
        *schema_fixes(schema, graph),
        FixOwners(schema),
        FixLiterals(schema, shared_index(graph, schema)),
    )


def golds_by_text(schema: Schema, pairs: Iterable[tuple[str, str]]) -> Tally:
    """What question, query and schema alone say against golds."""
    tally = Tally()
    for question, query in pairs:
        pair = read_pair(question, query, schema)
        if pair is not None:
            tally.add(static_suspicions(pair))
    return tally


def golds(graph: Graph, pairs: Iterable[tuple[str, str]]) -> str:
    """Flagged and changed golds, and flags by code."""
    checks = SilentChecks(graph, graph.schema())
    tally = Tally()
    changed = probes = 0

    def probe() -> None:
        nonlocal probes
        probes += 1

    for question, query in pairs:
        try:
            result = graph.run(query)
        except QueryError:
            continue
        found = checks.check(question, query, result, count_probe=probe)
        tally.add(found)
        for item in found:
            if item.settled and item.query is not None:
                # A change that leaves the rows as they are is none.
                changed += same_rows(result, graph.run(item.query)) is not True
    return f"golds: {tally}; {changed} changed, {probes} probes"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CypherForgeError as stop:
        sys.exit(str(stop))
