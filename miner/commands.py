"""Commands: ``mine`` and its stages, each also alone."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cypherforge.artifacts.run_folder import RunFolder
from cypherforge.artifacts.store import Artifact
from cypherforge.core.cli_support import (
    AgentOption,
    ColumnsOption,
    DatabaseOption,
    DatasetOption,
    DryRunOption,
    EmbedOption,
    ExcludeOption,
    FreshOption,
    JsonOption,
    LimitOption,
    NoValuesOption,
    OutOption,
    SeedOption,
    UserOption,
)
from cypherforge.core.console import echo, echo_json
from cypherforge.core.datasets import Dataset, load_dataset, parse_columns
from cypherforge.core.errors import InputError, UsageError
from cypherforge.core.progress import ConsoleProgress
from cypherforge.graph.policy import ValuePolicy
from cypherforge.llm.budget import Meter
from cypherforge.llm.recorded import tidy_recording
from cypherforge.llm.specs import open_embedder
from cypherforge.miner.bundling import build_bundle
from cypherforge.miner.check import Checker
from cypherforge.miner.mine import MineOptions, mine, projected, questions_of, writer
from cypherforge.miner.prove import ProveOptions
from cypherforge.miner.report import text_report
from cypherforge.miner.setup import (
    EXAMPLE,
    Limits,
    example_folder,
    graph_specs,
    named_graph,
    open_backbone,
    open_services,
)
from cypherforge.miner.stages import (
    check_stage,
    collect_stage,
    policy_params,
    prove_stage,
    questions_stage,
    read_examples,
    read_schemas,
    schemas_stage,
    stage_input,
    stratify_stage,
    write_stage,
)
from cypherforge.miner.stratify import PER_GROUP, StratifyOptions
from cypherforge.runtime.pipeline import Pipeline

GraphsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--graph", help="Where questions run: a spec, or NAME=SPEC for each graph of the dataset."
    ),
]
BackboneOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="Backbone: openai:NAME, anthropic:NAME, NAME@URL, scripted:FILE, recorded:FILE.",
    ),
]
LiteralsOption = Annotated[
    str, typer.Option("--literals", help="Literals the subset must hold: all, once or none.")
]
PerGroupOption = Annotated[
    int,
    typer.Option(
        "--per-group", min=1, help="Questions of one shape that the subset keeps, to draft."
    ),
]
HeldoutOption = Annotated[
    int | None,
    typer.Option(
        "--heldout", min=1, help="Prove on at most so many held-out questions.", show_default="100"
    ),
]
RecordOption = Annotated[
    Path | None, typer.Option("--record", help="Add every answer to this recording.")
]
CallsOption = Annotated[int | None, typer.Option("--max-calls", help="Budget: model calls.")]
TokensOption = Annotated[int | None, typer.Option("--max-tokens", help="Budget: tokens.")]
MoneyOption = Annotated[float | None, typer.Option("--max-money", help="Budget: US dollars.")]
PriceOption = Annotated[
    list[str] | None,
    typer.Option("--price", help="MODEL=PROMPT,COMPLETION in dollars per million tokens."),
]
WorkersOption = Annotated[int, typer.Option("--workers", min=1, help="Questions at once.")]
TimeoutOption = Annotated[float, typer.Option("--timeout", help="Seconds a query may take.")]
TriesOption = Annotated[
    int | None,
    typer.Option(
        "--tries",
        min=1,
        help="Held-out failures, and passes, tried for one rule.",
        show_default="12",
    ),
]
RulesOption = Annotated[
    int | None,
    typer.Option("--max-rules", min=1, help="Measure only so many rules, the most cited first."),
]
BudgetOption = Annotated[
    int, typer.Option("--token-budget", min=1, help="Prompt tokens of the chosen rules together.")
]


HELDOUT, TRIES = 100, 12
# So many held-out questions are asked with the bundle when the example is recorded.
DEMOS = 8


def mine_command(
    name: Annotated[str | None, typer.Argument(help="example: the one that comes along.")] = None,
    dataset: DatasetOption = None,
    columns: ColumnsOption = None,
    graph: GraphsOption = None,
    model: BackboneOption = None,
    agent: AgentOption = "none",
    embed: EmbedOption = "wordllama",
    out: OutOption = None,
    limit: LimitOption = None,
    heldout: HeldoutOption = None,
    literals: LiteralsOption = "once",
    per_group: PerGroupOption = PER_GROUP,
    tries: TriesOption = None,
    max_rules: RulesOption = None,
    token_budget: BudgetOption = 600,
    seed: SeedOption = 0,
    record: RecordOption = None,
    workers: WorkersOption = 2,
    timeout: TimeoutOption = 15.0,
    user: UserOption = None,
    database: DatabaseOption = None,
    exclude: ExcludeOption = None,
    no_values: NoValuesOption = False,
    max_calls: CallsOption = None,
    max_tokens: TokensOption = None,
    max_money: MoneyOption = None,
    price: PriceOption = None,
    dry_run: DryRunOption = False,
    fresh: FreshOption = False,
    json: JsonOption = False,
) -> None:
    """Mine rules: stratify, collect failures, write, check and prove rules, bundle.

    Started again it goes on where it was. `cypherforge mine example` needs no key and no server.
    """
    if name not in (None, EXAMPLE):
        raise UsageError(
            f"no such example: {name!r}", hint="mine example, or mine --dataset PATH --graph URI"
        )
    if name == EXAMPLE:
        dataset = dataset or example_folder() / "questions.jsonl"
        graph = graph or [EXAMPLE]
        model = model or f"recorded:{EXAMPLE}"
        # Recording the example anew must fit into half an hour of a small local model.
        heldout, tries, max_rules = heldout or 60, tries or 6, max_rules or 8
    heldout, tries = heldout or HELDOUT, tries or TRIES
    if dataset is None or not graph or model is None:
        raise UsageError(
            "mine needs a dataset, a graph and a model",
            hint="--dataset PATH --graph URI --model SPEC, or: cypherforge mine example",
        )
    progress = ConsoleProgress()
    policy = ValuePolicy.of(exclude, no_values)
    limits = Limits(max_calls, max_tokens, max_money, tuple(price or ()))
    loaded = _load(dataset, progress, columns)
    specs = graph_specs(graph, loaded.graphs)
    options = MineOptions(
        limit=limit,
        heldout=heldout,
        seed=seed,
        agent=agent,
        embed=embed,
        stratify=StratifyOptions(per_group, _literals(literals)),
        prove=ProveOptions(
            failures=tries,
            passes=tries,
            rules=max_rules,
            token_budget=token_budget,
            seed=seed,
        ),
    )
    folder = out or Path("runs") / (name or loaded.name or "mine")
    remembered = {
        **options.to_json(),
        "dataset": loaded.digest,
        "graph": specs,
        "model": model,
        **policy_params(policy),
    }
    with open_services(
        specs,
        model,
        progress,
        limits=limits,
        record=record,
        workers=workers,
        user=user,
        database=database,
        timeout=timeout,
        policy=policy,
    ) as (services, meter):
        if dry_run:
            schemas = {graph_name: g.schema() for graph_name, g in services.graphs.items()}
            plan = projected(loaded, schemas, options)
            cost = _cost(model, plan, limits)
            plan["money"] = cost if cost is not None or json else "unknown price, see --price"
            _say(plan, json)
            return
        agent_model = None
        if agent.startswith("api:"):
            agent_model = open_backbone(agent.removeprefix("api:"), progress, limits, meter)
        elif agent != "none" and not agent.startswith("handoff:"):
            raise UsageError(f"not an agent: {agent!r}", hint="none, handoff:DIR or api:SPEC")
        embedder = open_embedder(embed)
        with RunFolder(folder, remembered, fresh=fresh) as run:
            mined = mine(run, loaded, services, embedder, options, agent_model)
        asked = [e.question for e in read_examples(mined.questions, "heldout")[:DEMOS]]
        if name == EXAMPLE and record is not None:
            # What the report proposes to ask must replay too.
            pipeline = Pipeline.from_bundle(
                mined.bundle, graph=services.graphs[loaded.graphs[0]], model=services.model
            )
            progress.start("ask", len(asked))
            for question in asked:
                progress.advance(1, pipeline.ask(question).outcome)
            progress.finish()
        if record is not None:
            tidy_recording(record)
        summary = {**mined.summary(), "usage": meter.to_json()}
    if json:
        echo_json(summary)
        return
    question = asked[0].replace('"', '\\"') if asked else "..."
    where = f"--graph {next(iter(specs.values()))} --bundle {mined.bundle}"
    echo(text_report(summary, f'cypherforge ask "{question}" {where} --model {model} --trace'))
    if meter.calls or meter.cache_hits:
        echo(
            f"Model:  {meter.calls} calls, {meter.cache_hits} answers known already, "
            f"{meter.prompt_tokens + meter.completion_tokens} tokens"
        )


def stratify_command(
    dataset: Annotated[Path, typer.Option("--dataset", help="Questions with golds.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the artifacts.")],
    columns: ColumnsOption = None,
    limit: LimitOption = None,
    literals: LiteralsOption = "once",
    per_group: PerGroupOption = PER_GROUP,
    seed: SeedOption = 0,
    fresh: FreshOption = False,
    json: JsonOption = False,
) -> None:
    """Choose the train questions to draft: at most three a group, nothing rare missed."""
    progress = ConsoleProgress()
    loaded = _load(dataset, progress, columns)
    options = MineOptions(
        limit=limit,
        heldout=None,
        seed=seed,
        stratify=StratifyOptions(per_group, _literals(literals)),
    )
    remembered = {"dataset": loaded.digest, **options.to_json()}
    with RunFolder(out, remembered, fresh=fresh) as run:
        questions = questions_stage(run, loaded, questions_of(loaded, options))
        subset = stratify_stage(run, questions, options.stratify, progress)
    _artifact(subset, json)


def collect_command(
    subset: Annotated[Path, typer.Argument(help="What stratify wrote.")],
    graph: GraphsOption,
    model: Annotated[str, typer.Option("--model", help="Backbone that drafts.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the artifacts.")],
    record: RecordOption = None,
    workers: WorkersOption = 2,
    timeout: TimeoutOption = 15.0,
    user: UserOption = None,
    database: DatabaseOption = None,
    exclude: ExcludeOption = None,
    no_values: NoValuesOption = False,
    max_calls: CallsOption = None,
    max_tokens: TokensOption = None,
    max_money: MoneyOption = None,
    price: PriceOption = None,
    fresh: FreshOption = False,
    json: JsonOption = False,
) -> None:
    """Draft the subset zero-shot, execute, and keep the failures."""
    progress = ConsoleProgress()
    policy = ValuePolicy.of(exclude, no_values)
    source = stage_input(subset, "subset")
    names = sorted({e.graph for e in read_examples(source, "subset")})
    specs = graph_specs(graph or [], names)
    remembered = {"subset": source.digest, "graph": specs, "model": model, **policy_params(policy)}
    with (
        open_services(
            specs,
            model,
            progress,
            limits=Limits(max_calls, max_tokens, max_money, tuple(price or ())),
            record=record,
            workers=workers,
            user=user,
            database=database,
            timeout=timeout,
            policy=policy,
        ) as (services, _),
        RunFolder(out, remembered, fresh=fresh) as run,
    ):
        schemas = schemas_stage(run, services.graphs, policy)
        failures = collect_stage(run, source, schemas, services)
    _artifact(failures, json)


def write_command(
    failures: Annotated[Path, typer.Argument(help="What collect wrote.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the artifacts.")],
    agent: AgentOption = "none",
    dataset: Annotated[
        list[Path] | None,
        typer.Option("--questions", help="What stratify wrote: names no rule may hold."),
    ] = None,
    max_calls: CallsOption = None,
    max_tokens: TokensOption = None,
    max_money: MoneyOption = None,
    price: PriceOption = None,
    fresh: FreshOption = False,
    json: JsonOption = False,
) -> None:
    """Write candidate rules from failures: by diagnosis, by hand-off, or by an agent."""
    progress = ConsoleProgress()
    source = stage_input(failures, "failures")
    schemas = stage_input(failures, "schemas")
    checker = _checker(schemas, dataset or [])
    meter = Meter()
    agent_model = None
    if agent.startswith("api:"):
        limits = Limits(max_calls, max_tokens, max_money, tuple(price or ()))
        agent_model = open_backbone(agent.removeprefix("api:"), progress, limits, meter)
    elif agent != "none" and not agent.startswith("handoff:"):
        raise UsageError(f"not an agent: {agent!r}", hint="none, handoff:DIR or api:SPEC")
    with RunFolder(out, {"failures": source.digest, "agent": agent}, fresh=fresh) as run:
        write = writer(agent, checker, agent_model, progress)
        candidates = write_stage(run, source, agent, write, progress)
    _artifact(candidates, json)


def check_command(
    rules: Annotated[Path, typer.Argument(help="What rules write wrote.")],
    schemas: Annotated[Path, typer.Option("--schemas", help="Where collect wrote the schemas.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the artifacts.")],
    questions: Annotated[
        list[Path] | None,
        typer.Option("--questions", help="What stratify wrote: names no rule may hold."),
    ] = None,
    fresh: FreshOption = False,
    json: JsonOption = False,
) -> None:
    """Check candidate rules: grammar, and no name of any graph. Exit 1 if one is rejected."""
    progress = ConsoleProgress()
    source = stage_input(rules, "candidates")
    known = stage_input(schemas, "schemas")
    with RunFolder(out, {"rules": source.digest, "schemas": known.digest}, fresh=fresh) as run:
        checker = _checker(known, questions or [])
        checked = check_stage(run, source, checker, [known.ref], progress)
    _artifact(checked, json)
    if checked.manifest.summary["rejected"]:
        raise typer.Exit(1)


def prove_command(
    rules: Annotated[Path, typer.Argument(help="What rules check wrote.")],
    questions: Annotated[Path, typer.Option("--questions", help="What stratify wrote.")],
    graph: GraphsOption,
    model: Annotated[str, typer.Option("--model", help="Backbone that drafts.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the artifacts.")],
    tries: TriesOption = None,
    max_rules: RulesOption = None,
    token_budget: BudgetOption = 600,
    seed: SeedOption = 0,
    record: RecordOption = None,
    workers: WorkersOption = 2,
    timeout: TimeoutOption = 15.0,
    user: UserOption = None,
    database: DatabaseOption = None,
    exclude: ExcludeOption = None,
    no_values: NoValuesOption = False,
    max_calls: CallsOption = None,
    max_tokens: TokensOption = None,
    max_money: MoneyOption = None,
    price: PriceOption = None,
    fresh: FreshOption = False,
    json: JsonOption = False,
) -> None:
    """Measure each rule on held-out questions: fixed, broken, lift with its interval."""
    progress = ConsoleProgress()
    policy = ValuePolicy.of(exclude, no_values)
    source = stage_input(rules, "checked")
    asked = stage_input(questions, "questions")
    specs = graph_specs(graph or [], sorted({e.graph for e in read_examples(asked, "heldout")}))
    tries = tries or TRIES
    options = ProveOptions(
        failures=tries, passes=tries, rules=max_rules, token_budget=token_budget, seed=seed
    )
    remembered = {
        "rules": source.digest,
        "questions": asked.digest,
        "graph": specs,
        "model": model,
        "tries": tries,
        "max_rules": max_rules,
        "token_budget": token_budget,
        "seed": seed,
        **policy_params(policy),
    }
    with (
        open_services(
            specs,
            model,
            progress,
            limits=Limits(max_calls, max_tokens, max_money, tuple(price or ())),
            record=record,
            workers=workers,
            user=user,
            database=database,
            timeout=timeout,
            policy=policy,
        ) as (services, _),
        RunFolder(out, remembered, fresh=fresh) as run,
    ):
        schemas = schemas_stage(run, services.graphs, policy)
        proof = prove_stage(run, source, asked, schemas, services, options)
    _artifact(proof, json)


def build_command(
    proof: Annotated[Path, typer.Argument(help="What rules prove wrote.")],
    questions: Annotated[Path, typer.Option("--questions", help="What stratify wrote.")],
    failures: Annotated[Path, typer.Option("--failures", help="What collect wrote.")],
    out: Annotated[Path, typer.Option("--out", help="The .cfb file to write.")],
    name: Annotated[str, typer.Option("--name", help="Name of the bundle.")] = "",
    version: Annotated[str, typer.Option("--version", help="Semantic version.")] = "0.1.0",
    embed: EmbedOption = "wordllama",
    json: JsonOption = False,
) -> None:
    """Build a rule bundle from what was proven."""
    measured = stage_input(proof, "proof")
    asked = stage_input(questions, "questions")
    graphs = sorted({e.graph for e in read_examples(asked, "train")})
    bundle = build_bundle(
        out,
        measured,
        asked,
        stage_input(failures, "failures"),
        read_schemas(stage_input(proof, "schemas"), graphs),
        open_embedder(embed),
        name=name,
        version=version,
    )
    summary = {"bundle": str(out), "digest": bundle.digest, "rules": len(bundle.rules)}
    _say(summary, json)


# ---------------------------------------------------------------- shared


def _load(path: Path, progress: ConsoleProgress, columns: list[str] | None = None) -> Dataset:
    loaded = load_dataset(path, columns=parse_columns(columns or ()))
    for problem in loaded.problems[:5]:
        progress.warn(f"{problem}; {'kept' if problem.kept else 'set aside'}")
    if len(loaded.problems) > 5:
        progress.warn(f"{len(loaded.problems) - 5} more of that kind: see problems.jsonl")
    if not loaded.examples:
        raise InputError("no usable question", where=str(path), hint="see the rows named above")
    return named_graph(loaded, loaded.name)


def _literals(text: str) -> Any:
    if text not in ("all", "once", "none"):
        raise UsageError(f"--literals takes all, once or none, not {text!r}")
    return text


def _checker(schemas: Artifact, questions: list[Path]) -> Checker:
    names = [n.removesuffix(".json") for n in schemas.manifest.files]
    examples = [
        example
        for path in questions
        for part in ("train", "heldout")
        for example in read_examples(stage_input(path, "questions"), part)
    ]
    return Checker(read_schemas(schemas, names), examples)


def _cost(model: str, plan: dict[str, Any], limits: Limits) -> float | None:
    name = model.split("@")[0]
    price = limits.budget().prices.of(name)
    if price is None:
        return None
    return round(price.cost(plan["prompt_tokens"], plan["completion_tokens"]), 4)


def _artifact(artifact: Artifact, json: bool) -> None:
    _say({"artifact": str(artifact.folder), **artifact.manifest.summary}, json)


def _say(summary: dict[str, Any], json: bool) -> None:
    if json:
        echo_json(summary)
        return
    for line in _lines(summary, ""):
        echo(line, sys.stdout)


def _lines(summary: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in summary.items():
        name = f"{indent}{str(key).replace('_', ' ')}"
        if isinstance(value, Mapping):
            yield f"{name}:{'' if value else ' none'}"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, (list, tuple)):
            yield f"{name}: {', '.join(map(str, value)) or 'none'}"
        else:
            yield f"{name}: {value}"
