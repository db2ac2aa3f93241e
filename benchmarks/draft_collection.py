"""Drafts of a model over the Mind-the-Query graphs, kept by the ids of the questions.

    python benchmarks/draft_collection.py draft --model NAME@URL [--graphs er,wwc] [--each 100]
    python benchmarks/draft_collection.py run --graph er=bolt://127.0.0.1:7687 [--graph ...]
    python benchmarks/draft_collection.py show --graph er=bolt://127.0.0.1:7687 [--graph ...]

``draft`` asks the model zero-shot (the library's frozen prompt: schema and question) for questions
of each graph, and adds the drafts to ``benchmarks/drafts/MODEL.jsonl``. The questions are the first
by a hash of the gold's normal form, equally many of each file of the data set (simple and complex,
retrieval and aggregation, and the evaluation queries), and one for each normal form. A smaller
``--each`` takes the first of a larger one. What the file holds already is not asked again.

``run`` executes draft and gold of each row on the graph and adds the outcomes to
``MODEL.outcomes.jsonl``: correct, empty, error, different, or why the gold is set aside.

``show`` prints the wrong drafts to be labelled by reading, 150 over four graphs, chosen by a hash of
their ids: question, gold, draft and the first rows of both, and nothing that the diagnosis says.
Labels go to ``labels.jsonl``: ``{"id": ..., "code": ..., "also": [...], "reason": ...}``.

Neither file holds questions or golds: those are read from the data set (``--data``, else the
environment's CYPHERFORGE_SHARED + ``/data``, else ``../shared/data``).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from cypherforge.core.datasets import Dataset, Example, load_dataset
from cypherforge.core.errors import CypherForgeError, ModelAnswerError, QueryError
from cypherforge.core.executor import ThreadExecutor
from cypherforge.core.files import atomic_write, dumps
from cypherforge.core.paths import answers_folder
from cypherforge.core.progress import ConsoleProgress
from cypherforge.cypher import parse
from cypherforge.evaluation.plan import choose
from cypherforge.graph.base import Graph
from cypherforge.graph.compare import same_rows
from cypherforge.graph.connect import connect
from cypherforge.graph.render import render_schema
from cypherforge.graph.values import display
from cypherforge.llm.specs import open_model, parse_spec
from cypherforge.miner.attempts import rows_digest, sorts
from cypherforge.runtime.draft import Draft, draft
from cypherforge.runtime.prompts import PROMPT_VERSION, zero_shot_request
from cypherforge.validators.readonly import check_read_only

GRAPHS = ("er", "covid", "wwc", "healthcare")
FOLDER = Path(__file__).parent / "drafts"


def main() -> int:
    """Draft or run; see the module's text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=data_folder())
    steps = parser.add_subparsers(dest="step", required=True)
    drafting = steps.add_parser("draft", help="ask the model")
    drafting.add_argument("--model", required=True, help="NAME@URL, openai:NAME ...")
    drafting.add_argument("--graphs", default=",".join(GRAPHS), help="commas between them")
    drafting.add_argument("--each", type=int, default=100, help="questions of each graph")
    drafting.add_argument("--workers", type=int, default=4)
    drafting.add_argument(
        "--graph",
        action="append",
        default=[],
        metavar="NAME=SPEC",
        help="where a graph's schema is read; by default its neutral files",
    )
    running = steps.add_parser("run", help="execute drafts and golds")
    running.add_argument("--model", default="qwen2.5-coder-1.5b", help="name of the drafts' file")
    running.add_argument("--graph", action="append", required=True, metavar="NAME=SPEC")
    running.add_argument("--timeout", type=float, default=15.0, help="seconds a query")
    showing = steps.add_parser("show", help="print wrong drafts to label")
    showing.add_argument("--model", default="qwen2.5-coder-1.5b", help="name of the drafts' file")
    showing.add_argument("--graph", action="append", required=True, metavar="NAME=SPEC")
    showing.add_argument("--labels", type=int, default=150, help="over all four graphs")
    options = parser.parse_args()
    if not options.data.is_dir():
        parser.error(f"no data set at {options.data}: pass --data")
    return {"draft": draft_all, "run": run_all, "show": show_all}[options.step](options)


def data_folder() -> Path:
    """Where the data sets lie, unless said otherwise."""
    shared = os.environ.get("CYPHERFORGE_SHARED")
    return (Path(shared) if shared else Path(__file__).parents[2] / "shared") / "data"


def dataset(data: Path, graph: str) -> Dataset:
    """The automated questions of one graph."""
    return load_dataset(data / "mind-the-query" / "automated" / graph, graph=graph)


def read_rows(path: Path) -> dict[str, dict[str, Any]]:
    """The rows of a file by id; none where there is no file."""
    if not path.exists():
        return {}
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["id"]: row for row in rows}


def write_rows(path: Path, rows: dict[str, dict[str, Any]]) -> None:
    """Write the rows, sorted by graph and id, in place of the file."""
    ordered = sorted(rows.values(), key=lambda row: (GRAPHS.index(row["graph"]), row["id"]))
    atomic_write(path, "".join(dumps(row) + "\n" for row in ordered))


def draft_all(options: argparse.Namespace) -> int:
    """Ask for what the file lacks; every answer is written down at once."""
    specs = dict(given.split("=", 1) for given in options.graph)
    name = parse_spec(options.model).name
    path = FOLDER / f"{name.replace('/', '_')}.jsonl"
    rows = read_rows(path)
    progress = ConsoleProgress()
    model = open_model(options.model, cache=answers_folder(), progress=progress, timeout=900.0)
    lock = threading.Lock()
    for graph in options.graphs.split(","):
        todo = [
            e
            for e in choose(dataset(options.data, graph).examples, options.each)
            if e.id not in rows
        ]
        if not todo:
            continue
        spec = specs.get(graph) or f"embedded:{options.data / 'graphs' / graph}"
        with connect(spec) as source:
            schema = render_schema(source.schema()).text

        def ask(example: Example, schema: str = schema) -> Draft:
            try:
                return draft(model, zero_shot_request(schema, example.question))
            except ModelAnswerError as error:
                return Draft(None, None, error.message)

        def keep(example: Example, drafted: Draft) -> None:
            answer = drafted.answer
            with lock:
                rows[example.id] = {
                    "id": example.id,
                    "graph": example.graph,
                    "file": example.meta["file"],
                    "row": example.meta["row"],
                    "model": name,
                    "prompt": f"zero-shot {PROMPT_VERSION}",
                    "draft": drafted.query,
                    "parameters": dict(drafted.parameters),
                    "reason": drafted.reason,
                    "finish": answer.finish if answer else "",
                    "prompt_tokens": answer.prompt_tokens if answer else 0,
                    "completion_tokens": answer.completion_tokens if answer else 0,
                }
                write_rows(path, rows)
            progress.advance()

        progress.start(f"draft {graph}", len(todo))
        for _ in ThreadExecutor(options.workers).map(ask, todo, on_result=keep):
            pass
        progress.finish(f"{len(todo)} drafts of {graph}, {len(rows)} in {path}")
    return 0


def run_all(options: argparse.Namespace) -> int:
    """Execute drafts and golds of the given graphs, anew."""
    drafts = read_rows(FOLDER / f"{options.model}.jsonl")
    path = FOLDER / f"{options.model}.outcomes.jsonl"
    outcomes = read_rows(path)
    for given in options.graph:
        name, spec = given.split("=", 1)
        examples = dataset(options.data, name)
        rows = [row for row in drafts.values() if row["graph"] == name]
        counts: Counter[str] = Counter()
        with connect(spec, timeout=options.timeout) as graph:
            for row in rows:
                outcome = run_one(graph, row, examples.get(row["id"]))
                outcomes[row["id"]] = {"id": row["id"], "graph": name} | outcome
                counts[outcome["outcome"]] += 1
        write_rows(path, outcomes)
        print(f"{name}: " + ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())))
    return 0


def run_one(graph: Graph, row: dict[str, Any], example: Example) -> dict[str, Any]:
    """The outcome of one draft: as the miner classes it."""
    try:
        gold = graph.run(example.cypher)
    except QueryError as error:
        return {"outcome": "set aside", "engine": graph.engine, "why": f"gold fails: {error.code}"}
    if not gold.rows or gold.truncated:
        why = "gold returns nothing" if not gold.rows else "gold returns too many rows"
        return {"outcome": "set aside", "engine": graph.engine, "why": why}
    digests: dict[str, Any] = {"engine": graph.engine, "gold_rows": rows_digest(gold)}
    if row["draft"] is None:
        return {"outcome": "error", "why": "no query", **digests}
    for finding in check_read_only(row["draft"]):
        if finding.severity == "error":
            return {"outcome": "error", "why": f"refused: {finding.code}", **digests}
    try:
        result = graph.run(row["draft"], row["parameters"])
    except QueryError as error:
        return {"outcome": "error", "why": error.code or type(error).__name__, **digests}
    if not result.rows:
        return {"outcome": "empty", **digests}
    same = same_rows(result, gold, ordered=sorts(parse(example.cypher)))
    return {"outcome": "correct" if same else "different", **digests}


def to_label(model: str, graph: str, labels: int) -> list[dict[str, Any]]:
    """The graph's share of the wrong drafts that are labelled, first by a hash of the id."""
    outcomes = read_rows(FOLDER / f"{model}.outcomes.jsonl")
    wrong = [
        row
        for row in read_rows(FOLDER / f"{model}.jsonl").values()
        if row["graph"] == graph
        and row["draft"]
        and outcomes.get(row["id"], {}).get("outcome") in ("empty", "error", "different")
    ]
    wrong.sort(key=lambda row: hashlib.sha256(f"label\0{row['id']}".encode()).hexdigest())
    whole, rest = divmod(labels, len(GRAPHS))
    return wrong[: whole + (GRAPHS.index(graph) < rest)]


def show_all(options: argparse.Namespace) -> int:
    """Print what a reader needs for a label."""
    for given in options.graph:
        name, spec = given.split("=", 1)
        examples = dataset(options.data, name)
        with connect(spec) as graph:
            for row in to_label(options.model, name, options.labels):
                example = examples.get(row["id"])
                print(f"\n## {row['id']}\nQ: {example.question}")
                for letter, text in (("G", example.cypher), ("D", row["draft"])):
                    print(f"{letter}: {' '.join(text.split())}\n   {first_rows(graph, text)}")
    return 0


def first_rows(graph: Graph, text: str) -> str:
    """The number of rows and the first three, or the error."""
    if any(finding.severity == "error" for finding in check_read_only(text)):
        return "refused: it writes, or its text cannot be read"
    try:
        result = graph.run(text)
    except QueryError as error:
        return f"error: {error.message[:200]}"
    shown = [[display(value, 60) for value in values] for values in result.rows[:3]]
    return f"{len(result.rows)} rows, first {shown}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CypherForgeError as stop:
        sys.exit(str(stop))
