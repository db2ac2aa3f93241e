"""Commands over runs: ``eval run``, ``report``, ``compare``, ``judge``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from cypherforge.artifacts.run_folder import RunFolder
from cypherforge.core.cli_support import (
    ColumnsOption,
    DatabaseOption,
    DryRunOption,
    ExcludeOption,
    FreshOption,
    JsonOption,
    LimitOption,
    NoValuesOption,
    OutOption,
    SeedOption,
    UserOption,
)
from cypherforge.core.console import echo, echo_json, format_table
from cypherforge.core.datasets import Dataset, parse_columns
from cypherforge.core.errors import UsageError
from cypherforge.core.executor import ThreadExecutor
from cypherforge.core.files import atomic_write, dumps, loads, read_text
from cypherforge.core.progress import ConsoleProgress
from cypherforge.evaluation.compare import compare_runs, comparison_text
from cypherforge.evaluation.judge import judge_humans, judge_run
from cypherforge.evaluation.matrix import projected, run_matrix
from cypherforge.evaluation.opening import (
    EXAMPLE,
    Opening,
    example_file,
    open_chat,
    open_graphs,
    open_services,
)
from cypherforge.evaluation.plan import (
    Matrix,
    Settings,
    cut,
    graph_specs,
    load_questions,
    options_digest,
    read_matrix,
)
from cypherforge.evaluation.report import markdown_page, percent, write_report
from cypherforge.evaluation.summary import Run, summarise
from cypherforge.llm.budget import Meter

#: Where a run's report lies, within its folder.
REPORT = "report"
#: What a judge said of a run, within its folder.
JUDGED = "judged.json"

GraphsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--graph", help="Where questions run: a spec, or NAME=SPEC for each graph of the dataset."
    ),
]
ModelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="openai:NAME, anthropic:NAME, NAME@URL, scripted:FILE, recorded:FILE; may be repeated.",
    ),
]
DatasetsOption = Annotated[
    list[Path] | None,
    typer.Option("--dataset", help="File or folder of question-Cypher pairs; may be repeated."),
]
StrategiesOption = Annotated[
    list[str] | None,
    typer.Option("--strategy", help="Names, with commas between them: zero-shot,naive-retry."),
]
TrueEmptyOption = Annotated[
    list[Path] | None,
    typer.Option("--true-empty", help="Questions whose right answer is no row."),
]
MatrixOption = Annotated[
    Path | None, typer.Option("--matrix", help="A TOML file that says all of this.")
]
EachOption = Annotated[
    int | None, typer.Option("--each", min=1, help="Take only so many questions of each graph.")
]
SeedsOption = Annotated[
    str | None, typer.Option("--seeds", help="Seeds of the arms, with commas between them.")
]
CallsOption = Annotated[int | None, typer.Option("--max-calls", help="Budget: model calls.")]
TokensOption = Annotated[int | None, typer.Option("--max-tokens", help="Budget: tokens.")]
MoneyOption = Annotated[float | None, typer.Option("--max-money", help="Budget: US dollars.")]
PriceOption = Annotated[
    list[str] | None,
    typer.Option("--price", help="MODEL=PROMPT,COMPLETION in dollars per million tokens."),
]
RecordOption = Annotated[
    Path | None, typer.Option("--record", help="Add every answer to this recording.")
]
WorkersOption = Annotated[int, typer.Option("--workers", min=1, help="Questions at once.")]
TimeoutOption = Annotated[float, typer.Option("--timeout", help="Seconds a query may take.")]


def run_command(
    name: Annotated[str | None, typer.Argument(help="example: the one that comes along.")] = None,
    dataset: DatasetsOption = None,
    graph: GraphsOption = None,
    model: ModelsOption = None,
    strategy: StrategiesOption = None,
    matrix: MatrixOption = None,
    true_empty: TrueEmptyOption = None,
    columns: ColumnsOption = None,
    each: EachOption = None,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    seeds: SeedsOption = None,
    out: OutOption = None,
    bundle: Annotated[
        str, typer.Option("--bundle", help="Rule bundle of strategies that take one.")
    ] = "",
    judge: Annotated[
        str, typer.Option("--judge", help="Model that judges each answer beside EX; as --model.")
    ] = "",
    second_judge: Annotated[
        str, typer.Option("--second-judge", help="Another one, to see how far judges agree.")
    ] = "",
    record: RecordOption = None,
    workers: WorkersOption = 2,
    timeout: TimeoutOption = 15.0,
    user: UserOption = None,
    database: DatabaseOption = None,
    exclude: ExcludeOption = None,
    no_values: NoValuesOption = False,
    no_psjs: Annotated[
        bool, typer.Option("--no-psjs", help="Leave out PSJS, which runs two more queries.")
    ] = False,
    max_calls: CallsOption = None,
    max_tokens: TokensOption = None,
    max_money: MoneyOption = None,
    price: PriceOption = None,
    dry_run: DryRunOption = False,
    fresh: FreshOption = False,
    json: JsonOption = False,
) -> None:
    """Run strategies × models × graphs, score, and write a report.

    Started again it goes on where it was. `--matrix FILE` reads a TOML file; options win over it.
    """
    if name not in (None, EXAMPLE):
        raise UsageError(f"no such example: {name!r}", hint="eval run example, or --dataset PATH")
    given = read_matrix(matrix) if matrix is not None else Settings()
    if name == EXAMPLE:
        dataset = dataset or [example_file("questions.jsonl")]
        graph = graph or [EXAMPLE]
        true_empty = true_empty or [example_file("true_empty.jsonl")]
    plan = Matrix(
        _names(strategy) or given.strategies or ("zero-shot",),
        tuple(model or given.models),
        _seeds(seeds) or given.seeds or (seed,),
    )
    plan.check()
    progress = ConsoleProgress()
    loaded = load_questions(
        dataset or given.dataset,
        true_empty or given.true_empty,
        columns=parse_columns(columns or ()),
    )
    for problem in loaded.problems[:5]:
        progress.warn(f"{problem}; {'kept' if problem.kept else 'set aside'}")
    asked = cut(loaded, each=each or given.each, limit=limit or given.limit, seed=seed)
    specs = graph_specs(graph or given.graphs, asked.graphs)
    how = Opening(
        workers=workers,
        timeout=timeout,
        user=user,
        database=database,
        # Rows cannot be told apart by property once they are computed: hold all of them back.
        values=not no_values and not exclude,
        provenance=not no_psjs,
        bundle=bundle or given.bundle,
        max_calls=max_calls,
        max_tokens=max_tokens,
        max_money=max_money,
        prices=tuple(price or ()),
        record=record,
        command=shlex.join(["cypherforge", *sys.argv[1:]]),
    )
    remembered = {
        "dataset": options_digest(asked),
        "graph": specs,
        "arms": [[a.strategy, a.model, a.seed] for a in plan.arms],
        "bundle": how.bundle,
        "timeout": timeout,
        "values": how.values,
        "psjs": how.provenance,
    }
    with open_services(specs, plan.models, progress, how) as (services, meter):
        if dry_run:
            schemas = {graph_name: g.schema() for graph_name, g in services.graphs.items()}
            _say_plan(projected(asked, plan, schemas, services.prices), json)
            return
        folder = out or Path("runs") / f"eval-{asked.name}"
        with RunFolder(folder, remembered, fresh=fresh) as run:
            run_matrix(run, asked, plan, services)
        finished = Run.open(folder)
        summary = summarise(finished, seed=seed)
        judged = None
        first_judge = judge or given.judge
        if first_judge:
            judged = _judge(
                finished, first_judge, second_judge or given.second_judge, workers, progress, meter
            )
            atomic_write(folder / JUDGED, dumps(judged))
        pages = write_report(finished, summary, folder / REPORT, judged=judged)
    if json:
        if judged is not None:
            summary = {**summary, "judged": judged}
        echo_json({**door(summary), "out": str(folder), "usage": meter.to_json()})
        return
    echo(arms_table(summary))
    echo(f"report: {pages[0]}")


def report_command(
    run: Annotated[Path, typer.Argument(help="What eval run wrote.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the report; the run's by default.")
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option("--results", help="Also write the figures, no questions, as Markdown here."),
    ] = None,
    machine: Annotated[
        str, typer.Option("--machine", help="What the results page says of the machine.")
    ] = "",
    title: Annotated[str, typer.Option("--title", help="Title of the results page.")] = "",
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Write the report of a finished run: HTML, Markdown, JSON, CSV."""
    finished = Run.open(run)
    summary = summarise(finished, seed=seed)
    kept = run / JUDGED
    judged = loads(read_text(kept)) if kept.is_file() else None
    pages = write_report(finished, summary, out or run / REPORT, judged=judged)
    if results is not None:
        command = str(finished.artifact.manifest.run.usage.get("command", ""))
        text = markdown_page(finished, summary, command=command, machine=machine, title=title)
        results.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(results, text)
        pages.append(results)
    if json:
        echo_json({**door(summary), "pages": [str(page) for page in pages]})
        return
    for page in pages:
        echo(str(page))


def compare_command(
    first: Annotated[Path, typer.Argument(help="A run that eval run wrote.")],
    second: Annotated[Path, typer.Argument(help="Another one, or the same.")],
    first_arm: Annotated[
        str | None, typer.Option("--first-arm", help="Arm of the first run, where it has several.")
    ] = None,
    second_arm: Annotated[
        str | None, typer.Option("--second-arm", help="Arm of the second run.")
    ] = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Which questions change sides between two runs, in both directions, and how sure that is."""
    pairs = compare_runs(Run.open(first), Run.open(second), first_arm, second_arm, seed=seed)
    if json:
        echo_json({"comparisons": pairs})
        return
    for number, pair in enumerate(pairs):
        if number:
            echo()
        echo(comparison_text(pair))


def judge_command(
    run: Annotated[Path, typer.Argument(help="What eval run wrote.")],
    judge: Annotated[str, typer.Option("--judge", help="Model that judges; as --model.")],
    second_judge: Annotated[str, typer.Option("--second-judge", help="Another one.")] = "",
    human: Annotated[
        list[Path] | None,
        typer.Option("--human", help="Questions with human verdicts in a column logical (0, 1)."),
    ] = None,
    graph: GraphsOption = None,
    each: EachOption = None,
    workers: WorkersOption = 2,
    timeout: TimeoutOption = 15.0,
    user: UserOption = None,
    database: DatabaseOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Let a model judge every answer of a run beside EX, and write the report anew."""
    progress, meter = ConsoleProgress(), Meter()
    finished = Run.open(run)
    judged = _judge(finished, judge, second_judge, workers, progress, meter)
    if human:
        labelled = cut(load_all(human, None, None), each=each, limit=None, seed=seed)
        how = Opening(workers=workers, timeout=timeout, user=user, database=database)
        with open_graphs(graph_specs(graph or [], labelled.graphs), how) as graphs:
            judged["human"] = judge_humans(
                labelled,
                graphs,
                open_chat(judge, progress, meter=meter),
                executor=ThreadExecutor(workers),
                progress=progress,
            )
    atomic_write(run / JUDGED, dumps(judged))
    pages = write_report(finished, summarise(finished, seed=seed), run / REPORT, judged=judged)
    if json:
        echo_json({**judged, "usage": meter.to_json()})
        return
    for name, row in judged["arms"].items():
        kappa = "" if row["kappa"] is None else f", kappa of both judges {row['kappa']:.2f}"
        echo(
            f"{name}: {row['n']} judged, correct {percent(row['correct'])}, partial "
            f"{percent(row['partial'])}, agrees with EX {percent(row['agrees_with_ex'])}{kappa}"
        )
    if judged["human"]:
        found = judged["human"]
        echo(f"people: {found['n']} verdicts, agreement {percent(found['agreement'])}")
    echo(f"report: {pages[0]}")


def door(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary with ``strategies``: per strategy the figures that scripts rely on.

    Where a strategy ran with several models or seeds, its key is the arm's whole name.
    """
    arms = summary["arms"]
    names = [arm["strategy"] for arm in arms]
    fields = ("n", "ex", "low", "high", "executable", "empty", "error", "calls", "tokens")
    strategies = {
        arm["strategy"] if names.count(arm["strategy"]) == 1 else arm["id"]: {
            field: arm[field] for field in (*fields, "seconds")
        }
        for arm in arms
    }
    return {"strategies": strategies, **summary}


def arms_table(summary: dict[str, Any]) -> str:
    """Arms for the terminal."""
    rows = [
        [
            arm["id"],
            str(arm["n"]),
            percent(arm["ex"]),
            f"{percent(arm['low'])} – {percent(arm['high'])}",
            percent(arm["executable"]),
            str(arm["empty"]),
            str(arm["error"]),
            str(arm["calls"]),
            str(arm["tokens"]),
            "?" if arm["money"] is None else f"{arm['money']:.4f}",
            str(arm["database"]),
            "" if arm["seconds"] is None else f"{arm['seconds']:.1f}",
        ]
        for arm in summary["arms"]
    ]
    columns = "arm n EX 95% executable empty error calls tokens USD queries seconds".split()
    return format_table(columns, rows)


def _say_plan(plan: dict[str, Any], json: bool) -> None:
    if json:
        echo_json(plan)
        return
    echo(f"{plan['questions']} questions, {len(plan['arms'])} arms, {plan['trials']} trials")
    for name, count in plan["graphs"].items():
        echo(f"  {name}: {count}")
    for row in plan["models"]:
        money = "price unknown, see --price" if row["money"] is None else f"{row['money']} USD"
        echo(
            f"{row['model']}: {row['drafts']} drafts shared by all arms that need them "
            f"({row['drafts_if_nothing_is_shared']} if none were), some "
            f"{row['prompt_tokens']} + {row['completion_tokens']} tokens, {money}; "
            "repairs come on top"
        )


def _judge(
    run: Run, first: str, second: str, workers: int, progress: ConsoleProgress, meter: Meter
) -> dict[str, Any]:
    return judge_run(
        run,
        open_chat(first, progress, meter=meter),
        open_chat(second, progress, meter=meter) if second else None,
        executor=ThreadExecutor(workers),
        progress=progress,
    )


def _names(texts: list[str] | None) -> tuple[str, ...]:
    names = [part.strip() for text in texts or () for part in text.split(",")]
    return tuple(name for name in names if name)


def _seeds(text: str | None) -> tuple[int, ...]:
    if not text:
        return ()
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"not seeds: {text!r}", hint="--seeds 0,1,2") from None


def load_all(
    paths: list[Path] | None, true_empty: list[Path] | None, columns: list[str] | None
) -> Dataset:
    """The questions of all files as one dataset."""
    return load_questions(paths or [], true_empty or [], columns=parse_columns(columns or ()))
