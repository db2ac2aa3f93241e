"""The matrix: every arm answers every question; concurrent, resumable, with the cost of each arm.

One run folder holds one matrix. Each finished trial is written to a journal at once; a run that was
killed goes on there, and no answer that was received is asked for again. When all is done, the
artifact ``trials`` holds golds and trials in a fixed order: equal data whatever was interrupted, with
times and what was reused in the manifest only.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cypherforge.artifacts.bundle import Bundle
from cypherforge.artifacts.journal import Journal
from cypherforge.artifacts.run_folder import RunFolder
from cypherforge.artifacts.store import Artifact
from cypherforge.core.datasets import Dataset
from cypherforge.core.executor import Executor, ThreadExecutor
from cypherforge.core.progress import NullProgress, Progress
from cypherforge.evaluation.costs import Cost, CountingGraph, CountingModel, Ledger
from cypherforge.evaluation.golds import Gold, Golds
from cypherforge.evaluation.plan import Arm, Matrix
from cypherforge.evaluation.trials import Bench, Trial
from cypherforge.graph.base import Graph
from cypherforge.graph.render import render_schema
from cypherforge.graph.schema import Schema
from cypherforge.llm.base import ChatModel, estimate_tokens
from cypherforge.llm.prices import Prices
from cypherforge.runtime.prompts import zero_shot_request
from cypherforge.runtime.strategies import open_strategy

STAGE = "trials"
VERSION = 1
#: What a cost has in time or in what was reused: not the same in every run.
FLEETING = ("model_seconds", "database_seconds", "reused", "untimed")


@dataclass(frozen=True, slots=True)
class Services:
    """What a run works with: graphs by name, models by spec, threads, progress."""

    graphs: Mapping[str, Graph]
    models: Mapping[str, ChatModel]
    prices: Prices = field(default_factory=Prices)
    executor: Executor = field(default_factory=lambda: ThreadExecutor(2))
    progress: Progress = field(default_factory=NullProgress)
    timeout: float | None = None
    values: bool = True
    provenance: bool = True
    bundle: str | Path | Bundle | None = None
    command: str = ""


def run_matrix(run: RunFolder, dataset: Dataset, matrix: Matrix, services: Services) -> Artifact:
    """Try every question in every arm; what the run folder holds already is not tried again.

    Raises what graphs and models raise when they cannot go on; what was done is kept.
    """
    if done := run.stage_done(STAGE):
        return done
    progress = services.progress
    journal, times = run.journal("trials"), run.journal("times")
    seen = run.journal("golds")
    schemas = _schemas(run, services.graphs)
    golds = Golds(services.graphs, timeout=services.timeout)
    benches = {
        (arm.id, graph): _bench(arm, graph, schemas[graph], services, times)
        for arm in matrix.arms
        for graph in dataset.graphs
    }
    todo = [
        (example, arm)
        for example in dataset.examples
        for arm in matrix.arms
        if trial_key(arm, example.id) not in journal
    ]
    total = len(dataset) * len(matrix.arms)
    progress.start("eval", total)
    if len(todo) < total:
        progress.advance(total - len(todo), "already done")

    def work(item: tuple[Any, Arm]) -> tuple[Gold, Trial]:
        example, arm = item
        gold = golds.get(example)
        return gold, benches[arm.id, example.graph].run(gold)

    def keep(item: tuple[Any, Arm], result: tuple[Gold, Trial]) -> None:
        gold, trial = result
        if gold.example.id not in seen:
            seen.append(gold.example.id, gold.to_json(values=services.values))
        journal.append(trial_key(item[1], trial.id), trial.to_row())
        progress.advance()

    for _ in services.executor.map(work, todo, on_result=keep):
        pass
    artifact = _write(run, dataset, matrix, services, benches)
    progress.finish(_said(artifact))
    for name in ("trials", "golds", "times"):
        run.drop_journal(name)
    return artifact


def trial_key(arm: Arm, example_id: str) -> str:
    """The journal's key of one trial."""
    return f"{arm.id}\n{example_id}"


def projected(
    dataset: Dataset, matrix: Matrix, schemas: Mapping[str, Schema], prices: Prices
) -> dict[str, Any]:
    """What a run would ask for, before anything is asked: calls and tokens of the first drafts.

    Arms of one model share a draft where they need the same prompt; repairs come on top, at most
    as ``most_calls`` says.
    """
    from cypherforge.evaluation.plan import model_name

    texts = {name: render_schema(schema).text for name, schema in schemas.items()}
    prompt = sum(
        estimate_tokens(zero_shot_request(texts[e.graph], e.question).prompt_chars())
        for e in dataset.examples
    )
    drafts = len(dataset)
    answer = drafts * 80
    models = []
    for model in matrix.models:
        price = prices.of(model_name(model))
        arms = len(matrix.strategies) * len(matrix.seeds)
        models.append(
            {
                "model": model_name(model),
                "drafts": drafts,
                "drafts_if_nothing_is_shared": drafts * arms,
                "prompt_tokens": prompt,
                "completion_tokens": answer,
                "money": round(price.cost(prompt, answer), 4) if price else None,
            }
        )
    return {
        "questions": drafts,
        "graphs": {name: len(dataset.of_graph(name)) for name in dataset.graphs},
        "arms": [arm.id for arm in matrix.arms],
        "trials": drafts * len(matrix.arms),
        "models": models,
    }


# ---------------------------------------------------------------- parts


def _schemas(run: RunFolder, graphs: Mapping[str, Graph]) -> dict[str, Schema]:
    """Each graph's schema, read once: a resumed run sees the one it began with."""
    if not (done := run.stage_done("schemas")):
        with run.stage("schemas") as out:
            for name, graph in sorted(graphs.items()):
                out.write_text(f"{name}.json", json.dumps(graph.schema().to_json(), indent=1))
            out.summary = {"engines": {name: g.engine for name, g in sorted(graphs.items())}}
        done = run.stage_done("schemas")
        assert done is not None
    return {name: Schema.from_json(json.loads(done.read_text(f"{name}.json"))) for name in graphs}


def _bench(arm: Arm, graph: str, schema: Schema, services: Services, times: Journal) -> Bench:
    ledger = Ledger()
    opened = services.graphs[graph]
    model = services.models[arm.model]
    strategy = open_strategy(
        arm.strategy,
        graph=CountingGraph(opened, ledger),
        model=CountingModel(model, ledger, times, services.prices.of(model.name)),
        schema=schema,
        bundle=services.bundle,
        seed=arm.seed,
    )
    return Bench(
        arm.id,
        strategy,
        ledger,
        opened,
        schema,
        services.timeout,
        services.values,
        services.provenance,
    )


def _write(
    run: RunFolder,
    dataset: Dataset,
    matrix: Matrix,
    services: Services,
    benches: Mapping[tuple[str, str], Bench],
) -> Artifact:
    journal, seen = run.journal("trials"), run.journal("golds")
    trials = [
        Trial.from_row(journal[trial_key(arm, example.id)])
        for arm in matrix.arms
        for example in dataset.examples
    ]
    usage: dict[str, Any] = {"command": services.command}
    for arm in matrix.arms:
        mine = [t for t in trials if t.arm == arm.id and t.scored]
        stray = Cost()
        for graph in dataset.graphs:
            stray.add(benches[arm.id, graph].ledger.unassigned)
        usage[arm.id] = _times(mine, stray)
    arms = [
        {"id": a.id, "strategy": a.strategy, "model": services.models[a.model].name, "seed": a.seed}
        for a in matrix.arms
    ]
    params = {
        "arms": arms,
        "dataset": dataset.name,
        "dataset_digest": dataset.digest,
        "graphs": {name: services.graphs[name].engine for name in dataset.graphs},
    }
    with run.stage(STAGE, "eval-trials", VERSION, params) as out:
        out.write_jsonl("golds.jsonl", [seen[e.id] for e in dataset.examples])
        out.write_jsonl("trials.jsonl", [_lasting(t).to_row() for t in trials])
        out.write_jsonl("problems.jsonl", [str(problem) for problem in dataset.problems])
        out.models = [model.name for model in services.models.values()]
        out.usage = usage
        out.summary = {
            arm.id: {
                "n": sum(t.scored for t in trials if t.arm == arm.id),
                "correct": sum(t.verdict == "correct" for t in trials if t.arm == arm.id),
            }
            for arm in matrix.arms
        }
    done = run.stage_done(STAGE)
    assert done is not None
    return done


def _lasting(trial: Trial) -> Trial:
    """The trial without what differs from run to run."""
    cost = {name: value for name, value in trial.cost.items() if name not in FLEETING}
    return replace(trial, cost=cost)


def _times(trials: Sequence[Trial], stray: Cost) -> dict[str, Any]:
    costs = [Cost.from_json(t.cost) for t in trials]
    seconds = sorted(c.seconds for c in costs)
    return {
        "seconds": round(sum(seconds) + stray.seconds, 2),
        "seconds_median": round(statistics.median(seconds), 3) if seconds else None,
        "seconds_p95": round(seconds[int(0.95 * (len(seconds) - 1))], 3) if seconds else None,
        "model_seconds": round(sum(c.model_seconds for c in costs) + stray.model_seconds, 2),
        "reused": sum(c.reused for c in costs) + stray.reused,
        "untimed": sum(c.untimed for c in costs) + stray.untimed,
        "unassigned": stray.to_json(),
    }


def _said(artifact: Artifact) -> str:
    parts = [
        f"{name} {row['correct']}/{row['n']}" for name, row in artifact.manifest.summary.items()
    ]
    return "; ".join(parts)
