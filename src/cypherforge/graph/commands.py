"""Commands over graphs and schemas: parse, call one function, print."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from cypherforge.core.cli_support import (
    DatabaseOption,
    ExcludeOption,
    JsonOption,
    NoValuesOption,
    UserOption,
)
from cypherforge.core.console import echo, echo_json, format_table
from cypherforge.core.progress import ConsoleProgress
from cypherforge.graph.connect import connect
from cypherforge.graph.formats import FORMATS
from cypherforge.graph.introspect import SAMPLE, introspect
from cypherforge.graph.narrow import narrow
from cypherforge.graph.policy import ValuePolicy
from cypherforge.graph.render import render_schema
from cypherforge.graph.schema import Schema
from cypherforge.graph.schema_check import check_schema, diff_schemas
from cypherforge.graph.sources import open_schema
from cypherforge.graph.statistics import Statistics, collect_statistics

SourceArgument = Annotated[
    str,
    typer.Argument(
        help="A graph (example, embedded:FOLDER, a URI), a schema file in any known format, or -."
    ),
]
SampleOption = Annotated[
    int, typer.Option("--sample", help="Nodes a label and relationships a type to read; -1: all.")
]
GraphArgument = Annotated[
    str, typer.Argument(help="example, embedded:FOLDER, bolt://..., neo4j://... or memgraph://...")
]


def show_schema(
    source: SourceArgument = "example",
    format: Annotated[
        str, typer.Option("--format", help=f"compact, raw, {', '.join(FORMATS)}.")
    ] = "compact",
    budget: Annotated[
        int | None, typer.Option("--budget", min=1, help="Tokens the text may have.")
    ] = None,
    question: Annotated[
        str | None, typer.Option("--question", help="Keep the part that this question needs.")
    ] = None,
    values: Annotated[
        bool, typer.Option("--values", help="Example values in the compact form.")
    ] = False,
    sample: SampleOption = SAMPLE,
    exclude: ExcludeOption = None,
    no_values: NoValuesOption = False,
    user: UserOption = None,
    database: DatabaseOption = None,
    json: JsonOption = False,
) -> None:
    """Print the schema of a graph or file, in any format, within a token budget.

    What the budget or the question left out, and warnings, go to standard error.
    """
    policy = ValuePolicy.of(exclude, no_values)
    schema = open_schema(source, sample=sample, policy=policy, user=user, database=database)
    left_out: tuple[str, ...] = ()
    if question is not None:
        narrowed = narrow(schema, question)
        schema, left_out = narrowed.schema, narrowed.left_out
    rendering = render_schema(schema, format, budget, values=values, policy=policy)
    dropped = (*left_out, *rendering.dropped)
    warnings = [*schema.warnings, *_misspelt(policy, schema)]
    if json:
        echo_json(
            {
                "source": schema.source,
                "format": format,
                "text": rendering.text,
                "tokens": rendering.tokens,
                "left_out": list(dropped),
                "warnings": warnings,
                "schema": schema.to_json(),
            }
        )
        return
    echo(rendering.text)
    _warn(warnings)
    if dropped:
        shown = ", ".join(dropped[:20]) + (", ..." if len(dropped) > 20 else "")
        echo(f"left out ({len(dropped)}): {shown}", sys.stderr)


def check_schema_command(
    source: SourceArgument,
    sample: SampleOption = SAMPLE,
    user: UserOption = None,
    database: DatabaseOption = None,
    json: JsonOption = False,
) -> None:
    """Say what is wrong or doubtful with a schema; exit code 1 if something is wrong."""
    schema = open_schema(source, sample=sample, user=user, database=database)
    problems = check_schema(schema)
    wrong = any(problem.severity == "error" for problem in problems)
    if json:
        echo_json(
            {
                "ok": not wrong,
                "source": schema.source,
                **_size(schema),
                "problems": [asdict(problem) for problem in problems],
                "warnings": list(schema.warnings),
            }
        )
    else:
        numbers = ", ".join(f"{count} {what}" for what, count in _size(schema).items())
        echo(f"{schema.source}: {numbers}")
        for problem in problems:
            line = f"{problem.severity}: {problem.where}: {problem.message}"
            echo(f"{line} ({problem.hint})" if problem.hint else line)
        _warn(schema.warnings)
        if not problems:
            echo("nothing doubtful")
    if wrong:
        raise typer.Exit(1)


def diff_schemas_command(
    first: SourceArgument,
    second: SourceArgument,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Also optional flags, counts, label combinations, constraints and indexes.",
        ),
    ] = False,
    sample: SampleOption = SAMPLE,
    user: UserOption = None,
    database: DatabaseOption = None,
    json: JsonOption = False,
) -> None:
    """Say what two schemas, of graphs or files, declare differently; exit code 1 if anything."""
    schemas = [
        open_schema(source, sample=sample, user=user, database=database)
        for source in (first, second)
    ]
    found = diff_schemas(*schemas, strict=strict)
    if json:
        echo_json({"same": not found, "differences": [asdict(item) for item in found]})
    elif not found:
        echo("the same")
    else:
        rows = [[x.kind, x.what, _side(x.first), _side(x.second)] for x in found]
        echo(format_table(["what", "name", "first", "second"], rows))
    if found:
        raise typer.Exit(1)


def show_graph(
    graph: GraphArgument = "example",
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Distinct values and ranges of every property.")
    ] = False,
    sample: SampleOption = SAMPLE,
    exclude: ExcludeOption = None,
    no_values: NoValuesOption = False,
    user: UserOption = None,
    database: DatabaseOption = None,
    json: JsonOption = False,
) -> None:
    """Show what a graph is and holds: engine, labels, types, endpoint pairs, reciprocity."""
    policy = ValuePolicy.of(exclude, no_values)
    with connect(graph, user=user, database=database) as opened:
        schema = introspect(opened, sample=sample, policy=policy, examples=0)
        fingerprint = opened.fingerprint()
        numbers = (
            collect_statistics(opened, schema, policy=policy, sample=sample) if statistics else None
        )
        about = {
            "uri": opened.uri,
            "engine": opened.engine,
            "read_only": opened.read_only,
            "fingerprint": fingerprint,
        }
    if json:
        echo_json(
            {
                **about,
                "schema": schema.to_json(),
                "warnings": list(schema.warnings),
                "statistics": None if numbers is None else numbers.to_json(),
            }
        )
        return
    for key, value in about.items():
        echo(f"{key.replace('_', ' ')}: {str(value).lower() if value in (True, False) else value}")
    echo()
    labels = [[x.name, _count(x.count), str(len(x.properties))] for x in schema.labels.values()]
    echo(format_table(["label", "nodes", "properties"], labels))
    echo()
    pairs = [
        [
            p.type,
            p.start or "(none)",
            p.end or "(none)",
            _count(p.count),
            _share(schema.types[p.type].reciprocity),
        ]
        for p in schema.patterns
    ]
    echo(format_table(["type", "from", "to", "relationships", "also reversed"], pairs))
    if numbers is not None:
        echo()
        echo(_properties(numbers))
    _warn(schema.warnings)


def export_graph_command(
    graph: GraphArgument,
    folder: Annotated[Path, typer.Argument(help="Folder to write; made if absent.")],
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", help="LABEL.property that is not written.")
    ] = None,
    user: UserOption = None,
    database: DatabaseOption = None,
    json: JsonOption = False,
) -> None:
    """Write a graph as neutral files, which embedded:FOLDER opens again."""
    from cypherforge.graph.transfer import export_graph

    with connect(graph, user=user, database=database) as opened:
        counts = export_graph(
            opened, folder, policy=ValuePolicy.of(exclude), progress=ConsoleProgress()
        )
    _report({"folder": str(folder), "nodes": counts[0], "relationships": counts[1]}, json)


def load_graph_command(
    folder: Annotated[Path, typer.Argument(help="Folder of neutral files.")],
    graph: Annotated[str, typer.Argument(help="Server to write to: bolt://..., memgraph://...")],
    append: Annotated[
        bool, typer.Option("--append", help="Add to a database that holds something already.")
    ] = False,
    user: UserOption = None,
    database: DatabaseOption = None,
    json: JsonOption = False,
) -> None:
    """Create the nodes and relationships of neutral files in an empty database."""
    from cypherforge.graph.transfer import load_graph

    with connect(graph, read_only=False, user=user, database=database) as opened:
        counts = load_graph(folder, opened, append=append, progress=ConsoleProgress())
    _report({"graph": graph, "nodes": counts[0], "relationships": counts[1]}, json)


def _report(values: dict[str, Any], json: bool) -> None:
    if json:
        echo_json(values)
    else:
        echo(", ".join(f"{key}: {value}" for key, value in values.items()))


def _size(schema: Schema) -> dict[str, int]:
    return {
        "labels": len(schema.labels),
        "types": len(schema.types),
        "patterns": len(schema.patterns),
        "properties": sum(len(x.properties) for x in schema.labels.values())
        + sum(len(x.properties) for x in schema.types.values()),
    }


def _misspelt(policy: ValuePolicy, schema: Schema) -> list[str]:
    return [f"--exclude {name} names nothing in this schema" for name in policy.unknown(schema)]


def _warn(warnings: Iterable[str]) -> None:
    for text in warnings:
        echo(f"warning: {text}", sys.stderr)


def _side(value: str | None) -> str:
    return "-" if value is None else value or "yes"


def _count(value: int | None) -> str:
    return "?" if value is None else str(value)


def _share(value: float | None) -> str:
    return "?" if value is None else f"{100 * value:.0f} %"


def _properties(numbers: Statistics) -> str:
    rows = [
        [
            owner if kind == "node" else f"[:{owner}]",
            name,
            _share(item.coverage),
            _count(item.distinct),
            "" if item.low is None else f"{item.low} .. {item.high}",
        ]
        for (kind, owner, name), item in sorted(numbers.properties.items())
    ]
    return format_table(["of", "property", "coverage", "distinct", "range"], rows)
