"""Commands: ``ask`` and ``schema grammar``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cypherforge.core.cli_support import (
    BundleOption,
    DatabaseOption,
    GraphOption,
    JsonOption,
    UserOption,
)
from cypherforge.core.console import echo, echo_json, format_table
from cypherforge.core.datasets import load_dataset
from cypherforge.core.errors import UsageError
from cypherforge.core.paths import answers_folder
from cypherforge.core.progress import ConsoleProgress
from cypherforge.graph.connect import connect
from cypherforge.graph.narrow import narrow
from cypherforge.graph.sources import open_schema
from cypherforge.graph.values import display
from cypherforge.llm.specs import open_model
from cypherforge.runtime.guarded import PROFILES
from cypherforge.runtime.pipeline import Answer, Outcome, Pipeline
from cypherforge.runtime.prompts import Exemplar
from cypherforge.runtime.schema_grammar import HOPS, schema_grammar
from cypherforge.runtime.sentence import with_sentence
from cypherforge.runtime.strategies import open_strategy
from cypherforge.runtime.trace import Listener, Step

# architecture.md, "Doors": scripts tell the outcomes apart by these.
EXIT_CODES: dict[Outcome, int] = {
    "answered": 0,
    "empty": 1,
    "unanswerable": 1,
    "refused": 4,
    "failed": 5,
}
SHOWN_ROWS = 50


def ask_command(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    graph: GraphOption = "example",
    bundle: BundleOption = "default",
    model: Annotated[
        str,
        typer.Option(
            "--model", help="openai:NAME, anthropic:NAME, NAME@URL, scripted:FILE, recorded:FILE."
        ),
    ] = "recorded:example",
    strategy: Annotated[
        str | None,
        typer.Option(
            "--strategy",
            help="zero-shot, naive-retry, cypherguard, vote or full; without it: one draft, gated.",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option("--without", help="A part that the strategy leaves out; may be repeated."),
    ] = None,
    with_parts: Annotated[
        list[str] | None,
        typer.Option("--with", help="A part that it has not of itself: grammar, shapes ..."),
    ] = None,
    exemplars: Annotated[
        Path | None,
        typer.Option(
            help="Question-Cypher pairs to show: a run of synth pairs, or a dataset of this graph."
        ),
    ] = None,
    answer_sentence: Annotated[
        bool,
        typer.Option(
            "--answer", help="Also say the answer in one sentence that cites rows: one more call."
        ),
    ] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Show every step, on stderr.")] = False,
    rows: Annotated[int, typer.Option("--rows", min=1, help="Rows to show.")] = SHOWN_ROWS,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds a query may take.")] = 15.0,
    user: UserOption = None,
    database: DatabaseOption = None,
    json: JsonOption = False,
) -> None:
    """Answer a question: draft with the bundle's rules and exemplars, gate, execute.

    ``--strategy`` puts more around the model: ``full`` looks up what the question names, drafts
    under the schema's grammar and answers by vote, with at most five model calls.

    Exit code: 0 answered, 1 empty or unanswerable, 2 usage, 3 environment, 4 refused, 5 failed.
    """
    progress = ConsoleProgress()
    backbone = open_model(model, cache=answers_folder(), progress=progress)
    with connect(graph, user=user, database=database, timeout=timeout) as opened:
        listener = _printer(progress) if trace else None
        if strategy is None:
            if without or with_parts or exemplars:
                raise UsageError(
                    "--without, --with and --exemplars need --strategy", hint="e.g. --strategy full"
                )
            pipeline = Pipeline.from_bundle(bundle, graph=opened, model=backbone)
            answer = pipeline.ask(question, listener=listener)
        else:
            options: dict[str, Any] = {}
            if without:
                options["parts_off"] = without
            if with_parts:
                options["parts_on"] = with_parts
            if exemplars is not None:
                made = exemplars / "pairs" / "pairs.jsonl"
                pairs = load_dataset(made if made.is_file() else exemplars).examples
                options["exemplars"] = [Exemplar(pair.question, pair.cypher) for pair in pairs]
            if strategy in PROFILES:
                options["progress"] = progress
            way = open_strategy(strategy, graph=opened, model=backbone, bundle=bundle, **options)
            answer = way.answer(question, listener=listener)
    if answer_sentence:
        answer = with_sentence(answer, question, backbone, listener=listener)
    if json:
        echo_json(answer.to_json())
    else:
        _print(answer, rows)
    raise typer.Exit(EXIT_CODES[answer.outcome])


def grammar_command(
    source: Annotated[
        str,
        typer.Argument(help="A graph (example, embedded:FOLDER, a URI), a schema file, or -."),
    ] = "example",
    format: Annotated[str, typer.Option("--format", help="gbnf (llama.cpp) or lark.")] = "gbnf",
    hops: Annotated[
        int, typer.Option("--hops", min=1, help="Relationships that one path may have.")
    ] = HOPS,
    fenced: Annotated[
        bool, typer.Option("--fenced", help="The query stands in a ```cypher block.")
    ] = False,
    question: Annotated[
        str | None, typer.Option("--question", help="Keep the part of the schema it needs.")
    ] = None,
    user: UserOption = None,
    database: DatabaseOption = None,
    json: JsonOption = False,
) -> None:
    """Print a grammar of the read-only queries in which only what the schema declares can be written."""
    if format not in ("gbnf", "lark"):
        raise UsageError(f"no format {format!r}", hint="gbnf or lark")
    schema = open_schema(source, user=user, database=database)
    if question is not None:
        schema = narrow(schema, question).schema
    if schema.empty:
        raise UsageError("the schema has no labels", where=source)
    grammar = schema_grammar(schema, hops=hops, fenced=fenced)
    text = grammar.gbnf() if format == "gbnf" else grammar.lark()
    if json:
        echo_json({"format": format, "rules": len(grammar.used()), "grammar": text})
    else:
        echo(text.rstrip("\n"))


def _printer(progress: ConsoleProgress) -> Listener:
    def show(step: Step) -> None:
        progress.say(f"[{step.part}] {step.seconds:.2f} s")
        for name in ("rules", "exemplars", "shapes"):
            for item in step.details.get(name, ()):
                progress.say(f"    {name[:-1]}: {' '.join(str(item).split())}")
        for line in step.text.splitlines() or [""]:
            progress.say(f"    {line}")

    return show


def _print(answer: Answer, limit: int) -> None:
    if answer.outcome != "answered":
        echo(f"{answer.outcome}: {answer.reason}")
        if answer.cypher:
            echo(answer.cypher)
        return
    if answer.sentence:
        echo(answer.sentence)
        echo()
    shown = answer.rows[:limit]
    echo(format_table(answer.columns, [[display(value) for value in row] for row in shown]))
    echo()
    count = len(answer.rows)
    more = f", {limit} shown" if count > limit else ""
    cut = ", cut at the row limit" if answer.truncated else ""
    echo(f"{count} {'row' if count == 1 else 'rows'}{more}{cut}")
    echo(answer.cypher)
    for warning in answer.warnings:
        echo(f"doubtful: {warning}")
