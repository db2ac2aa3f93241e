"""``gate check``: is a query, or each query of a file, safe and fit for the schema."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cypherforge.core.cli_support import DatabaseOption, JsonOption, UserOption
from cypherforge.core.console import echo, echo_json
from cypherforge.core.errors import InputError, UsageError
from cypherforge.core.files import decode, loads, read_bytes, read_text
from cypherforge.cypher.tokens import Tokens
from cypherforge.graph.base import Graph
from cypherforge.graph.schema import Schema
from cypherforge.validators.findings import Finding
from cypherforge.validators.gate import Gate, Mode, Verdict


@dataclass(frozen=True, slots=True)
class Item:
    """One query to check, or, with ``problem``, an input row that holds none."""

    where: str
    query: str
    problem: str | None = None


def check(
    path: Annotated[
        str | None,
        typer.Argument(
            help="A .cypher/.cql file (statements end at ;), a .jsonl file (field cypher), or - for "
            "one query a line on standard input."
        ),
    ] = None,
    query: Annotated[str | None, typer.Option("--query", help="One query as text.")] = None,
    graph: Annotated[
        str | None,
        typer.Option("--graph", help="Judge against this graph too: its schema, and EXPLAIN."),
    ] = None,
    schema: Annotated[
        str | None, typer.Option("--schema", help="A schema file, in any known format.")
    ] = None,
    dialect: Annotated[
        str | None, typer.Option("--dialect", help="neo4j-5, cypher-25 or memgraph.")
    ] = None,
    mode: Annotated[
        str, typer.Option("--mode", help="all: every finding; short: stop at the first error.")
    ] = "all",
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", help="A procedure or function to let pass; may be given again."),
    ] = None,
    writes: Annotated[
        bool, typer.Option("--writes", help="Judge writing queries like reading ones.")
    ] = False,
    database: DatabaseOption = None,
    user: UserOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check queries; with --json one object a query, each on a line of its own.

    Exit code 0: no finding of severity error; 1: some.

    Example: cypherforge gate check --query "MATCH (n) DELETE n"
    """
    if (path is None) == (query is None):
        raise UsageError("give either a path (or -) or --query", hint="see `gate check --help`")
    if mode not in ("all", "short"):
        raise UsageError(f"no such mode: {mode!r}", hint="--mode all or --mode short")
    items = iter([Item("query", query)]) if query is not None else read_items(str(path))
    with _opened(graph, database, user, not writes) as opened:
        declared = _schema(schema)
        chosen: Mode = "short" if mode == "short" else "all"
        gate = Gate(
            declared, opened, not writes, mode=chosen, dialect=dialect, allow=tuple(allow or ())
        )
        wrong = 0
        for item in items:
            verdict = _bad_row(item) if item.problem else gate.check(item.query)
            wrong += not verdict.ok
            _print(item, verdict, as_json)
    raise typer.Exit(1 if wrong else 0)


def read_items(path: str) -> Iterator[Item]:
    """Yield the queries of a file or, for ``-``, of standard input (one a line).

    A row that holds no query comes with its problem, so that output and input stay in step. Raises
    ``InputError`` if the file cannot be read at all.
    """
    if path == "-":
        for number, line in enumerate(sys.stdin, 1):
            if line.strip():
                yield Item(f"line {number}", line.strip())
        return
    name = path.removesuffix(".gz").lower()
    if name.endswith(".jsonl"):
        yield from _jsonl(path)
    elif name.endswith((".cypher", ".cql", ".cyp")):
        text = read_text(Path(path))
        for start, statement in split_statements(text):
            yield Item(f"{path}:{text.count(chr(10), 0, start) + 1}", statement)
    else:
        raise InputError(
            "neither .cypher, .cql nor .jsonl", where=path, hint="rename it, or use --query or -"
        )


def _jsonl(path: str) -> Iterator[Item]:
    text = decode(read_bytes(path), path)
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip(" \t\r"):
            continue
        where = f"{path}, row {number}"
        try:
            row = loads(line)
        except ValueError as error:
            yield Item(where, "", f"not JSON: {error}")
            continue
        query = row.get("cypher") if isinstance(row, dict) else None
        if isinstance(query, str):
            yield Item(where, query)
        else:
            yield Item(where, "", "no text in the field cypher")


def split_statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield (offset, statement) for text whose statements are divided by semicolons.

    Semicolons in strings, names and comments divide nothing; statements without a token are left out.
    """
    tokens = Tokens(text)
    start: int | None = None
    last = 0
    for kind, begin, end in zip(tokens.kinds, tokens.starts, tokens.ends, strict=True):
        if kind in (";", "end"):
            if start is not None:
                yield start, text[start:last]
            start = None
        else:
            start = begin if start is None else start
            last = end


def _bad_row(item: Item) -> Verdict:
    message = f"{item.where}: {item.problem}"
    return Verdict((Finding("error", "parse", "input.row", message),))


def _print(item: Item, verdict: Verdict, as_json: bool) -> None:
    if as_json:
        echo_json(verdict.to_json(), indent=None)
        return
    echo(f"{item.where}: {'ok' if verdict.ok else 'not ok'}")
    for finding in verdict.findings:
        place = ""
        if finding.span is not None and item.query:
            line = item.query.count("\n", 0, finding.span[0]) + 1
            column = finding.span[0] - (item.query.rfind("\n", 0, finding.span[0]) + 1) + 1
            place = f" at {line}:{column}"
        echo(f"  {finding.severity} {finding.code}{place}: {finding.message}")
        if finding.suggestion:
            echo(f"    try: {finding.suggestion}")


def _opened(
    spec: str | None, database: str | None, user: str | None, read_only: bool
) -> AbstractContextManager[Graph | None]:
    if spec is None:
        return nullcontext()
    from cypherforge.graph.connect import connect

    return connect(spec, read_only=read_only, database=database, user=user)


def _schema(path: str | None) -> Schema | None:
    return Schema.parse(Path(path)) if path is not None else None
