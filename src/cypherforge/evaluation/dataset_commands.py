"""Commands over datasets: ``eval audit``, ``split``, ``leaks``, ``empties``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cypherforge.core.cli_support import (
    ColumnsOption,
    DatabaseOption,
    JsonOption,
    LimitOption,
    SeedOption,
    UserOption,
)
from cypherforge.core.console import echo, echo_json
from cypherforge.core.datasets import Dataset
from cypherforge.core.errors import UsageError
from cypherforge.core.executor import ThreadExecutor
from cypherforge.core.files import atomic_write, dumps
from cypherforge.core.progress import ConsoleProgress
from cypherforge.evaluation.audit import audit, audit_summary
from cypherforge.evaluation.commands import (
    DatasetsOption,
    EachOption,
    GraphsOption,
    TimeoutOption,
    TrueEmptyOption,
    WorkersOption,
    load_all,
)
from cypherforge.evaluation.empties import true_empties
from cypherforge.evaluation.opening import Opening, open_graphs
from cypherforge.evaluation.plan import choose, cut, graph_specs
from cypherforge.evaluation.report import percent
from cypherforge.evaluation.splits import By, leaks, split, split_summary


def audit_command(
    dataset: DatasetsOption = None,
    graph: GraphsOption = None,
    true_empty: TrueEmptyOption = None,
    columns: ColumnsOption = None,
    each: EachOption = None,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    out: Annotated[
        Path | None, typer.Option("--out", help="JSON Lines file: one finding a gold.")
    ] = None,
    workers: WorkersOption = 2,
    timeout: TimeoutOption = 15.0,
    user: UserOption = None,
    database: DatabaseOption = None,
    json: JsonOption = False,
) -> None:
    """Run every gold: what fails, times out, is empty, contradicts another, or is left open.

    Exit code 1 if a gold fails, times out, is refused, is empty or contradicts another.
    """
    asked = cut(load_all(dataset, true_empty, columns), each=each, limit=limit, seed=seed)
    how = Opening(workers=workers, timeout=timeout, user=user, database=database)
    with open_graphs(graph_specs(graph or [], asked.graphs), how) as graphs:
        findings = audit(
            asked,
            graphs,
            timeout=timeout,
            executor=ThreadExecutor(workers),
            progress=ConsoleProgress(),
        )
    summary = audit_summary(findings)
    if out is not None:
        atomic_write(out, "".join(dumps(f.to_json()) + "\n" for f in findings))
    bad = [f for f in findings if f.status != "sound" or f.contradicts]
    if json:
        echo_json({**summary, "findings": [f.to_json() for f in findings if f in bad or f.open]})
    else:
        for finding in bad:
            said = finding.reason or ", ".join(finding.contradicts)
            echo(
                f"{finding.id}: {'contradicts' if finding.contradicts else finding.status}: {said}"
            )
        echo(
            f"{summary['questions']} golds; "
            + ", ".join(f"{n} {status}" for status, n in summary["status"].items())
            + f"; {summary['contradicting']} contradict another; the graph does not settle "
            f"{summary['underdetermined']} ({percent(summary['underdetermined_share'])})"
        )
        for kind, count in summary["underdetermined_by_kind"].items():
            echo(f"  {kind}: {count}")
    raise typer.Exit(1 if bad else 0)


def split_command(
    dataset: DatasetsOption = None,
    by: Annotated[str, typer.Option("--by", help="gold, graph or shape.")] = "gold",
    out: Annotated[
        Path | None, typer.Option("--out", help="JSON Lines file with the questions and splits.")
    ] = None,
    train_share: Annotated[
        float, typer.Option("--train-share", help="About so much is for training.")
    ] = 0.7,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Split questions into train and test that do not leak, and say what the split shares."""
    ways: dict[str, By] = {"gold": "gold", "graph": "graph", "shape": "shape"}
    if by not in ways:
        raise UsageError(f"no split by {by!r}", hint="--by gold, graph or shape")
    loaded = load_all(dataset, None, columns)
    done = split(loaded, ways[by], train_share=train_share, seed=seed)
    if out is not None:
        atomic_write(
            out,
            "".join(
                dumps(
                    {
                        "id": e.id,
                        "question": e.question,
                        "cypher": e.cypher,
                        "graph": e.graph,
                        "split": e.split,
                    }
                )
                + "\n"
                for e in done.examples
            ),
        )
    _say_leaks(done.split("train"), done.split("test"), {**split_summary(done), "by": by}, json)


def leaks_command(
    train: Annotated[Path, typer.Argument(help="Questions to train on.")],
    test: Annotated[
        Path | None,
        typer.Argument(help="Questions to test on; without it, the splits of the first file."),
    ] = None,
    columns: ColumnsOption = None,
    json: JsonOption = False,
) -> None:
    """How much of a test set lies in a training set. Exit code 1 if a gold does."""
    first = load_all([train], None, columns)
    if test is None:
        left, right = first.split("train"), first.split("test")
        if not left.examples or not right.examples:
            raise UsageError(
                "the file has no train and test split", hint="name a second file, or eval split"
            )
    else:
        left, right = first, load_all([test], None, columns)
    _say_leaks(left, right, {"train": len(left), "test": len(right)}, json)
    if any(leak.count for leak in leaks(left.examples, right.examples)[:2]):
        raise typer.Exit(1)


def empties_command(
    dataset: DatasetsOption = None,
    graph: GraphsOption = None,
    out: Annotated[Path, typer.Option("--out", help="JSON Lines file to write.")] = Path(
        "true_empty.jsonl"
    ),
    size: Annotated[int, typer.Option("--size", min=1, help="Questions of each graph.")] = 60,
    columns: ColumnsOption = None,
    seed: SeedOption = 0,
    timeout: TimeoutOption = 15.0,
    user: UserOption = None,
    database: DatabaseOption = None,
    json: JsonOption = False,
) -> None:
    """Make questions whose right answer is no row, each proved by execution."""
    loaded = load_all(dataset, None, columns)
    how = Opening(timeout=timeout, user=user, database=database)
    rows: list[str] = []
    counts: dict[str, int] = {}
    with open_graphs(graph_specs(graph or [], loaded.graphs), how) as graphs:
        for name in loaded.graphs:
            part = loaded.of_graph(name)
            drawn = choose(part.examples, len(part), seed)
            made = true_empties(drawn, graphs[name], count=size, seed=seed)
            counts[name] = len(made)
            rows += [
                dumps(
                    {
                        "id": e.id,
                        "question": e.question,
                        "cypher": e.cypher,
                        "graph": e.graph,
                        **e.meta,
                    }
                )
                + "\n"
                for e in made
            ]
    atomic_write(out, "".join(rows))
    if json:
        echo_json({"out": str(out), "questions": counts})
        return
    for name, count in counts.items():
        echo(f"{name}: {count} questions without an answer")
    echo(str(out))


def _say_leaks(train: Dataset, test: Dataset, facts: dict[str, Any], json: bool) -> None:
    found = leaks(train.examples, test.examples)
    if json:
        rows = [
            {"kind": k.kind, "count": k.count, "share": k.share, "pairs": k.pairs} for k in found
        ]
        echo_json({**facts, "leaks": rows})
        return
    echo(f"{len(train)} train, {len(test)} test; of the test questions training has seen")
    for leak in found:
        echo(f"  {leak.kind}: {leak.count} ({percent(leak.share)})")
