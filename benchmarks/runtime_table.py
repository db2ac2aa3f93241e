"""What each part of the runtime adds: execution accuracy of arms over the Mind-the-Query graphs.

    python benchmarks/runtime_table.py --model NAME@URL --graphs er,covid --n 10 --arms zero-shot,full
    python benchmarks/runtime_table.py --rows FILE [--rows FILE ...]

An arm is a strategy, with parts left out (``full-loop-vote``) or added (``cypherguard+dialect``), with
options (``conf:drafts=3:keep=0.4``), and after ``@`` the exemplars it is shown: ``none``, ``bundle``, ``pairs`` (synthesized from the graph:
``--pairs FOLDER`` holds runs of ``synth pairs``, ``GRAPH/pairs/pairs.jsonl``), ``both`` or ``train`` (golds of the same graph whose normal
form without literals is not the question's own). The questions are those that
``draft_collection.py`` chooses by hash. Answers of the model are kept in the cache folder, so arms
share drafts and a run that is started again asks only for what is missing.

Rows go to ``--out`` (JSON Lines: id, arm, outcome, score, calls, tokens, seconds, query). Neither
questions nor golds are written. ``--rows`` prints the Markdown table of such files: execution
accuracy with its 95 % interval, and what each arm gains over zero-shot on the questions both have.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from draft_collection import GRAPHS, data_folder, dataset
from numpy.typing import NDArray

from cypherforge.artifacts.bundle import Bundle
from cypherforge.core.datasets import Example
from cypherforge.core.errors import CypherForgeError, InputError
from cypherforge.core.executor import ThreadExecutor
from cypherforge.core.files import dumps, read_jsonl
from cypherforge.core.paths import answers_folder
from cypherforge.cypher import CypherSyntaxError, normal_form
from cypherforge.evaluation.execution import GoldRun, run_gold, same_answer
from cypherforge.evaluation.plan import choose
from cypherforge.evaluation.statistics import mean_interval
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.connect import connect
from cypherforge.graph.schema import Schema
from cypherforge.llm.base import ChatModel, Embedder
from cypherforge.llm.specs import open_embedder, open_model
from cypherforge.runtime.guarded import PROFILES
from cypherforge.runtime.prompts import Exemplar
from cypherforge.runtime.strategies import STRATEGIES, Strategy, open_strategy

ARMS = "zero-shot,cypherguard@none,vote-vote,vote,full@none"


@dataclass(frozen=True, slots=True)
class Arm:
    """A strategy with parts off and on, and where its exemplars come from."""

    text: str
    strategy: str
    off: tuple[str, ...]
    on: tuple[str, ...]
    exemplars: str
    options: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Arm:
        """Read ``full-loop+shapes@train``, ``conf:keep=0.4``."""
        whole, _, source = text.partition("@")
        head, *options = whole.split(":")
        name = next(n for n in sorted(STRATEGIES, key=len, reverse=True) if head.startswith(n))
        parts = re.findall(r"([-+])([a-z_]+)", head[len(name) :])
        off = tuple(part for sign, part in parts if sign == "-")
        on = tuple(part for sign, part in parts if sign == "+")
        given = [option.split("=", 1) for option in options]
        return cls(text, name, off, on, source or "none", tuple((k, number(v)) for k, v in given))


def number(text: str) -> Any:
    """An option's value: a number where it is one."""
    return float(text) if "." in text else int(text) if text.isdigit() else text


def main() -> int:
    """Run the arms; see the module's text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", action="append", type=Path, default=[], help="print their table")
    parser.add_argument("--model", help="NAME@URL, openai:NAME ...")
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="commas between them")
    parser.add_argument("--graph", action="append", default=[], metavar="NAME=SPEC")
    parser.add_argument("--n", type=int, default=25, help="questions of each graph")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first of them")
    parser.add_argument(
        "--unlike", type=Path, metavar="BUNDLE", help="leave out golds of a form that it has"
    )
    parser.add_argument("--arms", default=ARMS)
    parser.add_argument("--bundle", default="default")
    parser.add_argument("--pairs", type=Path, help="folder of runs of synth pairs")
    parser.add_argument("--workers", type=int, default=4, help="questions at once")
    parser.add_argument("--out", type=Path, help="rows, JSON Lines")
    options = parser.parse_args()
    if options.rows:
        print(markdown([row for path in options.rows for _, row in read_jsonl(path)]))
        return 0
    if options.model is None:
        parser.error("--model is missing")
    specs = dict(given.split("=", 1) for given in options.graph)
    model = open_model(options.model, cache=answers_folder(), timeout=900.0)
    arms = [Arm.parse(text) for text in options.arms.split(",")]
    rows: list[dict[str, Any]] = []
    for name in options.graphs.split(","):
        spec = specs.get(name) or f"embedded:{options.data / 'graphs' / name}"
        with connect(spec) as graph:
            rows += run_graph(name, graph, arms, model, options)
    for name in [*dict.fromkeys(row["graph"] for row in rows), ""]:
        for arm in arms:
            chosen = [
                r for r in rows if r["arm"] == arm.text and r["graph"] in (name or r["graph"])
            ]
            show(name or "all", arm.text, chosen)
    return 0


def run_graph(
    name: str, graph: Graph, arms: Sequence[Arm], model: ChatModel, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """The rows of all arms on one graph, each arm told as it ends."""
    schema = graph.schema()
    every = dataset(options.data, name).examples
    golds: list[tuple[Example, GoldRun]] = []
    pool = choose(every, len(every))
    if options.unlike is not None:
        known_golds = {shape(e.cypher) for e in Bundle.load(options.unlike).exemplars}
        pool = [e for e in pool if shape(e.cypher) not in known_golds]
    for example in pool[options.skip : options.skip + options.n]:
        try:
            run = run_gold(example.cypher, graph)
        except InputError:
            continue
        if run.result.rows:
            golds.append((example, run))
    rows: list[dict[str, Any]] = []
    for arm in arms:
        known: dict[str, Strategy] = {}

        def opened(
            example: Example, arm: Arm = arm, known: dict[str, Strategy] = known
        ) -> Strategy:
            key = example.id if arm.exemplars == "train" else ""
            if key not in known:
                shown = exemplars_for(arm, name, example, every, options)
                known[key] = open_arm(arm, graph, schema, model, shown, options.bundle)
            return known[key]

        def one(pair: tuple[Example, GoldRun], arm: Arm = arm) -> dict[str, Any]:
            example, gold = pair
            begun = time.monotonic()
            answer = opened(example).answer(example.question)
            seconds = time.monotonic() - begun
            result = Result(
                answer.columns, answer.rows, answer.truncated, source=gold.result.source
            )
            right = answer.outcome in ("answered", "empty", "unanswerable") and bool(
                same_answer(result, gold)
            )
            steps = [s for s in answer.trace.steps if "completion_tokens" in s.details]
            # An online arm of confidence filtering pays for a cut draft up to its cut.
            kept = [s.details["tokens"] for s in answer.trace.steps if s.part == "kept"]
            return {
                "id": example.id,
                "graph": name,
                "arm": arm.text,
                "outcome": answer.outcome,
                "ex": float(right),
                "calls": len(steps),
                "tokens": sum(kept or (s.details["completion_tokens"] for s in steps)),
                "prompt_tokens": sum(s.details["prompt_tokens"] for s in steps),
                "seconds": round(seconds, 2),
                "query": answer.cypher,
                "reason": answer.reason[:300],
                "trace": [f"[{s.part}] {s.text[:400]}" for s in answer.trace.steps],
            }

        found = list(ThreadExecutor(options.workers).map(one, golds))
        rows += found
        show(name, arm.text, found)
        if options.out is not None:
            options.out.parent.mkdir(parents=True, exist_ok=True)
            with options.out.open("a", encoding="utf-8") as file:
                file.writelines(dumps(row) + "\n" for row in found)
    return rows


def open_arm(
    arm: Arm,
    graph: Graph,
    schema: Schema,
    model: ChatModel,
    exemplars: list[Exemplar] | None,
    bundle: str,
) -> Strategy:
    """Open the strategy of an arm."""
    parts: dict[str, Any] = dict(arm.options)
    if arm.strategy in PROFILES:
        # Many questions run at once: each keeps to one place of the endpoint.
        parts |= {"parts_off": arm.off, "parts_on": arm.on, "at_once": 1}
        if arm.exemplars in ("pairs", "both", "train"):
            parts["embedder"] = embedder()
    return open_strategy(
        arm.strategy,
        graph=graph,
        model=model,
        schema=schema,
        bundle=bundle if arm.exemplars in ("bundle", "both") else None,
        exemplars=exemplars,
        **parts,
    )


class Remembering:
    """An embedder that embeds each text once."""

    def __init__(self, inner: Embedder) -> None:
        self.name = inner.name
        self._inner = inner
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See ``Embedder.embed``."""
        new = [t for t in dict.fromkeys(texts) if t not in self._known]
        if new:
            self._known.update(zip(new, self._inner.embed(new), strict=True))
        return np.stack([self._known[t] for t in texts])


@cache
def embedder() -> Remembering:
    """The offline embedder, opened once."""
    return Remembering(open_embedder("wordllama"))


def exemplars_for(
    arm: Arm, graph: str, example: Example, every: Sequence[Example], options: argparse.Namespace
) -> list[Exemplar] | None:
    """What the arm's prompts may show; None leaves it to the bundle."""
    if arm.exemplars in ("pairs", "both"):
        if options.pairs is None:
            raise InputError("no pairs", hint="pass --pairs FOLDER")
        path = options.pairs / graph / "pairs" / "pairs.jsonl"
        pairs = [Exemplar(row["question"], row["cypher"]) for _, row in read_jsonl(path)]
        if arm.exemplars == "pairs":
            return pairs
        mined = Bundle.load(options.bundle).exemplars
        return [*(Exemplar(e.question, e.cypher) for e in mined), *pairs]
    if arm.exemplars == "train":
        own = shape(example.cypher)
        return [Exemplar(e.question, e.cypher) for e in every if shape(e.cypher) != own]
    return None


_shapes: dict[str, str] = {}


def shape(cypher: str) -> str:
    """A gold's normal form without literals and aliases: equal ones are one question twice."""
    if cypher not in _shapes:
        try:
            _shapes[cypher] = normal_form(cypher, literals=False, aliases=False)
        except CypherSyntaxError:
            _shapes[cypher] = cypher
    return _shapes[cypher]


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """The table of all arms, a line a graph and arm, the newest row of a question counting."""
    newest = {(row["arm"], row["graph"], row["id"]): row for row in rows}
    base = {key[1:]: row["ex"] for key, row in newest.items() if key[0] == "zero-shot"}
    lines = [
        "| graph | arm | questions | EX | 95 % interval | against zero-shot, points | won | lost "
        "| no rows, failed | calls | tokens written | seconds |",
        "| --- | --- | ---: | ---: | --- | --- | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    graphs = [*dict.fromkeys(key[1] for key in newest), ""]
    for graph in graphs:
        for arm in dict.fromkeys(key[0] for key in newest):
            chosen = [
                r for key, r in newest.items() if key[0] == arm and key[1] in (graph or key[1])
            ]
            if not chosen or (not graph and len({r["graph"] for r in chosen}) < 2):
                continue
            lines.append(line(graph or "all", arm, chosen, base))
    return "\n".join(lines)


def line(
    graph: str, arm: str, rows: Sequence[dict[str, Any]], base: dict[tuple[str, str], float]
) -> str:
    """One line of the Markdown table."""
    interval = mean_interval([row["ex"] for row in rows])
    pairs = [
        (row["ex"], base[row["graph"], row["id"]])
        for row in rows
        if (row["graph"], row["id"]) in base
    ]
    gain = ""
    if pairs and arm != "zero-shot":
        found = mean_interval([a - b for a, b in pairs])
        gain = f"{100 * found.value:+.0f} [{100 * found.low:+.0f}, {100 * found.high:+.0f}]"
    won, lost = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    empty, failed = (sum(r["outcome"] == kind for r in rows) for kind in ("empty", "failed"))
    calls, tokens, seconds = (
        sum(r[key] for r in rows) / len(rows) for key in ("calls", "tokens", "seconds")
    )
    return (
        f"| {graph} | {arm} | {len(rows)} | {100 * interval.value:.0f} "
        f"| {100 * interval.low:.0f}..{100 * interval.high:.0f} | {gain} | {won} | {lost} "
        f"| {empty}, {failed} | {calls:.1f} | {tokens:.0f} | {seconds:.0f} |"
    )


def show(graph: str, arm: str, rows: Sequence[dict[str, Any]]) -> None:
    """One line of the table."""
    if not rows:
        return
    scores = [row["ex"] for row in rows]
    interval = mean_interval(scores)
    outcomes = {k: sum(r["outcome"] == k for r in rows) for k in ("answered", "empty", "failed")}

    def mean(key: str) -> float:
        return sum(row[key] for row in rows) / len(rows)

    print(
        f"{graph:<11} {arm:<34} n {len(rows):>3}  EX {100 * sum(scores) / len(rows):5.1f} "
        f"[{100 * interval.low:5.1f}, {100 * interval.high:5.1f}]  "
        f"answered {outcomes['answered']:>3} empty {outcomes['empty']:>3} "
        f"failed {outcomes['failed']:>3}  "
        f"calls {mean('calls'):.2f} tokens {mean('tokens'):.0f} seconds {mean('seconds'):.1f}",
        flush=True,
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CypherForgeError as stop:
        sys.exit(str(stop))
