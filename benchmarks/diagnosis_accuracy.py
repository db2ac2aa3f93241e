"""How often the diagnosis is right, on drafts of a model that were labelled by reading.

    python benchmarks/diagnosis_accuracy.py labelled --graph er=bolt://... [--graph ...] [--out FILE]
    python benchmarks/diagnosis_accuracy.py others   --graph er=bolt://... [--graph ...]
    python benchmarks/diagnosis_accuracy.py trees FILE.json

``labelled`` diagnoses the drafts of ``benchmarks/drafts/labels.jsonl`` and compares the first fault
with the label, ``others`` the wrong drafts that have no label (to develop on). ``trees`` reads rows
with gold and prediction and reports what the syntax trees alone say. Times are CPU seconds of this
process without those spent in the graph's driver.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from draft_collection import FOLDER, data_folder, dataset, read_rows

from cypherforge.core.errors import CypherForgeError
from cypherforge.core.files import atomic_write, dumps
from cypherforge.diagnosis import diagnose
from cypherforge.diagnosis.model import UNKNOWN, Fault
from cypherforge.diagnosis.pairs import read_pairs
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.connect import connect
from cypherforge.graph.schema import Schema
from cypherforge.rules.taxonomy import taxonomy


def main() -> int:
    """Measure; see the module's text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("labelled", "others", "trees"))
    parser.add_argument("file", nargs="?", type=Path, help="for trees")
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--model", default="qwen2.5-coder-1.5b", help="name of the drafts' file")
    parser.add_argument("--graph", action="append", default=[], metavar="NAME=SPEC")
    parser.add_argument("--out", type=Path, help="one row a draft: what was found, by id")
    options = parser.parse_args()
    if options.what == "trees":
        if options.file is None:
            parser.error("trees takes a file")
        return trees(options.file)
    labels = read_labels()
    rows: list[dict[str, Any]] = []
    for given in options.graph:
        name, spec = given.split("=", 1)
        wanted = [
            draft
            for draft in wrong_drafts(options.model)
            if draft["graph"] == name and (draft["id"] in labels) == (options.what == "labelled")
        ]
        rows += diagnosed(options.data, name, spec, wanted)
    if options.out:
        atomic_write(options.out, "".join(dumps(row) + "\n" for row in rows))
    report(rows, labels)
    return 0


def read_labels() -> dict[str, dict[str, Any]]:
    """The labels by id; rows without an id are remarks. Raises KeyError for a code not known."""
    path = FOLDER / "labels.jsonl"
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines()) if path.exists() else ()
    labels = {row["id"]: row for row in rows if "id" in row}
    codes = {code.code for code in taxonomy().codes}
    for row in labels.values():
        for code in (row["code"], *row.get("also", ())):
            if code not in codes:
                raise KeyError(f"{row['id']}: no such code {code}")
    return labels


def wrong_drafts(model: str) -> Iterator[dict[str, Any]]:
    """Drafts with a query whose outcome is not the gold's."""
    outcomes = read_rows(FOLDER / f"{model}.outcomes.jsonl")
    for row in read_rows(FOLDER / f"{model}.jsonl").values():
        outcome = outcomes.get(row["id"], {}).get("outcome")
        if row["draft"] and outcome in ("empty", "error", "different"):
            yield row


class Timed:
    """A graph that counts the CPU seconds that its driver takes in this process."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.graph, name)

    def run(self, *args: Any, **kwargs: Any) -> Result:
        """As the graph's own."""
        began = time.process_time()
        try:
            return self.graph.run(*args, **kwargs)
        finally:
            self.seconds += time.process_time() - began


def diagnosed(
    data: Path, name: str, spec: str, drafts: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """One row a draft: codes, whether all are confirmed, the reasons of cannot-tell, CPU seconds."""
    examples = dataset(data, name)
    rows = []
    with connect(spec) as opened:
        schema = opened.schema()
        for draft in drafts:
            graph = Timed(opened)
            began = time.process_time()
            faults = one(draft["draft"], examples.get(draft["id"]).cypher, graph, schema)
            seconds = time.process_time() - began - graph.seconds
            named = [fault for fault in faults if fault.code != UNKNOWN]
            rows.append(
                {
                    "id": draft["id"],
                    "graph": name,
                    "codes": [fault.code for fault in named],
                    "confirmed": bool(faults) and all(fault.confirmed for fault in faults),
                    "cannot_tell": [f.reason for f in faults if f.code == UNKNOWN],
                    "seconds": seconds,
                }
            )
    return rows


def one(draft: str, gold: str, graph: Timed, schema: Schema) -> list[Fault]:
    """The faults; a diagnosis that stops is one that cannot tell, and is printed."""
    try:
        return diagnose(draft, gold, graph, schema)  # type: ignore[arg-type]
    except CypherForgeError:
        raise
    except Exception as error:  # noqa: BLE001
        print(f"diagnosis stopped: {type(error).__name__}: {error}\n  {draft}", file=sys.stderr)
        return [Fault(UNKNOWN, UNKNOWN, (), None, None, f"diagnosis stopped: {error}")]


def report(rows: list[dict[str, Any]], labels: dict[str, dict[str, Any]]) -> None:
    """Print the figures."""
    total = len(rows)
    if not total:
        print("no drafts")
        return
    confirmed = sum(row["confirmed"] for row in rows)
    told = sum(bool(row["cannot_tell"]) for row in rows if not row["confirmed"])
    print(f"{total} drafts, {confirmed} confirmed by execution ({confirmed / total:.1%})")
    print(f"of the other {total - confirmed}, {told} say what cannot be told, and why")
    seconds = sorted(row["seconds"] for row in rows)
    print(
        f"CPU apart from the graph: mean {1000 * sum(seconds) / total:.1f} ms, "
        f"median {1000 * seconds[total // 2]:.1f}, 95 % {1000 * seconds[int(total * 0.95)]:.1f}, "
        f"most {1000 * seconds[-1]:.1f}"
    )
    given = Counter(first(row) for row in rows)
    known = [row for row in rows if row["id"] in labels]
    if not known:
        for code, count in given.most_common():
            print(f"  {code:24} {count:4}")
        return
    right = sum(first(row) == labels[row["id"]]["code"] for row in known)
    accepted = sum(first(row) in accepted_codes(labels[row["id"]]) for row in known)
    print(f"first fault right: {right} of {len(known)} ({right / len(known):.1%})")
    print(f"  with the other codes of a label: {accepted} ({accepted / len(known):.1%})")
    true = Counter(labels[row["id"]]["code"] for row in known)
    print(f"{'code':24} {'true':>5} {'given':>6} {'both':>5}")
    for code in sorted({*true, *given}, key=lambda c: (-true[c], -given[c], c)):
        both = sum(first(r) == code == labels[r["id"]]["code"] for r in known)
        mark = "  more than twice" if given[code] > 2 * true[code] else ""
        print(f"{code:24} {true[code]:5} {given[code]:6} {both:5}{mark}")


def first(row: dict[str, Any]) -> str:
    """The code that comes first, ``unknown`` where there is none."""
    return str(row["codes"][0]) if row["codes"] else UNKNOWN


def accepted_codes(label: dict[str, Any]) -> set[str]:
    """The label's code, and those that it calls simultaneous."""
    return {label["code"], *label.get("also", ())}


def trees(path: Path) -> int:
    """Count first codes where there is nothing to run; right predictions apart, where rows say."""
    pairs = read_pairs(path)
    right = {
        str(number)
        for number, row in enumerate(json.loads(path.read_text(encoding="utf-8")), 1)
        if (row.get("metrics") or {}).get("execution_accuracy") == 1
    }
    given: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
    reasons: Counter[str] = Counter()
    seconds = []
    for pair in pairs:
        began = time.process_time()
        faults = diagnose(pair.draft, pair.gold)
        seconds.append(time.process_time() - began)
        given[pair.id in right][faults[0].code if faults else "no fault"] += 1
        if pair.id not in right:
            reasons.update(f.reason for f in faults if f.code == UNKNOWN)
    seconds.sort()
    print(
        f"{len(pairs)} pairs; CPU mean {1000 * sum(seconds) / len(pairs):.1f} ms, "
        f"median {1000 * seconds[len(pairs) // 2]:.1f}, most {1000 * seconds[-1]:.1f}"
    )
    for what, counts in (("wrong", given[False]), ("right", given[True])):
        print(f"{counts.total()} {what} predictions")
        for code, count in counts.most_common():
            print(f"  {code:24} {count:5}")
    for reason, count in reasons.most_common(8):
        print(f"  cannot tell, {count}: {reason[:100]}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CypherForgeError as stop:
        sys.exit(str(stop))
