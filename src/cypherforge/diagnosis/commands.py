"""``diagnose``: which faults one draft has, or how often each code occurs in an artifact."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from cypherforge.core.cli_support import (
    DatabaseOption,
    JsonOption,
    LimitOption,
    UserOption,
)
from cypherforge.core.console import echo, echo_json
from cypherforge.core.errors import UsageError
from cypherforge.core.files import atomic_write
from cypherforge.diagnosis.diagnose import diagnose
from cypherforge.diagnosis.model import Fault
from cypherforge.diagnosis.page import render_page
from cypherforge.diagnosis.pairs import read_pairs
from cypherforge.diagnosis.tally import tally
from cypherforge.graph.base import Graph
from cypherforge.graph.schema import Schema

_BASIS = {
    "graph": "Diagnosed anew, repairs run on the graph.",
    "recorded": "As the run found and confirmed them.",
    "trees": "By the syntax trees alone: no repair was run.",
}


def diagnose_command(
    draft: Annotated[
        str,
        typer.Argument(help="The draft; or, alone, an artifact or file of drafts with golds."),
    ],
    gold: Annotated[str | None, typer.Argument(help="The gold.")] = None,
    graph: Annotated[
        str | None, typer.Option("--graph", help="Confirm the faults by running the repairs here.")
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", help="A schema file, or a folder of NAME.json, one a graph."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the counts and examples as a page: .html or .md."),
    ] = None,
    limit: LimitOption = None,
    database: DatabaseOption = None,
    user: UserOption = None,
    as_json: JsonOption = False,
) -> None:
    """Name the faults of a draft in the order of repair, or count those of many drafts.

    Exit code of one draft 0: no fault; 1: some. An artifact brings the faults that its run found and
    confirmed; with --graph or --schema its drafts are diagnosed anew.

    Examples: cypherforge diagnose "MATCH (m)-[:ACTED_IN]->(p) RETURN p" "MATCH (p)-[:ACTED_IN]->(m)
    RETURN p" --graph example; cypherforge diagnose RUN/failures --out faults.html
    """
    if out is not None and (gold is not None or out.suffix not in (".html", ".md")):
        raise UsageError(
            "--out takes a file .html or .md, for an artifact or a file of drafts", where=str(out)
        )
    with _opened(graph, database, user) as opened:
        schemas = _schemas(schema)
        if gold is not None:
            if isinstance(schemas, dict):
                raise UsageError("one pair takes one schema", where=str(schema))
            known = schemas or (opened.schema() if opened is not None else None)
            faults = diagnose(draft, gold, opened, known)
            if as_json:
                echo_json({"faults": [fault.to_json() for fault in faults]})
            else:
                echo(_page(draft, faults))
            raise typer.Exit(1 if faults else 0)
        pairs = read_pairs(Path(draft))[:limit]
        if schemas is None and opened is not None:
            schemas = opened.schema()
        counted = tally(pairs, opened, schemas)
    if out is not None:
        anew = graph is not None or schemas is not None
        recorded = not anew and any(pair.recorded is not None for pair in pairs)
        basis = _BASIS["graph" if graph else "recorded" if recorded else "trees"]
        atomic_write(out, render_page(counted, draft, basis=basis, markdown=out.suffix == ".md"))
    if as_json:
        echo_json(counted.to_json())
    elif out is not None:
        echo(counted.headline())
    else:
        echo(counted.to_text())


def _page(draft: str, faults: list[Fault]) -> str:
    if not faults:
        return "no fault"
    lines = []
    for number, fault in enumerate(faults, 1):
        state = {True: "confirmed", False: "not confirmed", None: "not run"}[fault.confirmed]
        lines.append(f"{number}. {fault.code} ({state}): {fault.reason}")
        lines += [f"   at: {draft[start:end]}" for start, end in fault.spans]
        if fault.repair is not None:
            lines.append(f"   repaired so far: {fault.repair}")
    return "\n".join(lines)


def _opened(
    spec: str | None, database: str | None, user: str | None
) -> AbstractContextManager[Graph | None]:
    if spec is None:
        return nullcontext()
    from cypherforge.graph.connect import connect

    return connect(spec, database=database, user=user)


def _schemas(path: Path | None) -> Schema | dict[str, Schema] | None:
    if path is None:
        return None
    if path.is_dir():
        return {file.stem: Schema.parse(file) for file in sorted(path.glob("*.json"))}
    return Schema.parse(path)
