"""Doctor: what is reachable, how to mend what is not, and what would leave this machine.

Nothing is guessed: a graph is connected to and read, a model is asked for a word. Only what the
command line names is tried, so that no doctor's visit costs money by surprise.
"""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from typing import Annotated, Any, Literal

import typer

from cypherforge import __version__
from cypherforge.core.cli_support import DatabaseOption, JsonOption, UserOption
from cypherforge.core.config import load_config
from cypherforge.core.console import echo, echo_json, format_table
from cypherforge.core.errors import CypherForgeError, EnvironmentFault, QueryError
from cypherforge.core.paths import answers_folder

Status = Literal["ok", "note", "missing"]
# One attempt and a short wait: a doctor says that a server is slow, and does not wait for it.
MODEL_TIMEOUT = 60.0
SECRETS = (
    "CYPHERFORGE_PASSWORD",
    "NEO4J_PASSWORD",
    "CYPHERFORGE_API_KEY",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. ``missing`` stops work that needs it; ``fix`` is the way out."""

    subject: str
    status: Status
    detail: str
    fix: str = ""


def doctor(
    graph: Annotated[
        str, typer.Option("--graph", help="Graph to reach; none to leave it out.")
    ] = "example",
    model: Annotated[
        str, typer.Option("--model", help="Model to ask for a word, three short calls at most.")
    ] = "none",
    embed: Annotated[str, typer.Option("--embed", help="Embedder to try.")] = "wordllama",
    bundle: Annotated[str, typer.Option("--bundle", help="Bundle to load.")] = "default",
    user: UserOption = None,
    database: DatabaseOption = None,
    json: JsonOption = False,
) -> None:
    """Check graph, model, embedder, bundle and extras; say what would leave this machine.

    The options of the configuration file are shown as they are understood.

    Exit code 3 if something is missing that the options ask for.
    """
    checks = [
        *check_installation(),
        *check_bundle(bundle),
        *([] if graph == "none" else check_graph(graph, user, database)),
        *([] if model == "none" else check_model(model)),
        *([] if embed == "none" else check_embedder(embed)),
        *check_extras(),
    ]
    leaves = leaving(graph, model, embed)
    config = load_config()
    if json:
        echo_json(
            {
                "checks": [asdict(check) for check in checks],
                "leaves_machine": leaves,
                "config": {"path": str(config.path or ""), "values": config.values},
            }
        )
    else:
        rows = [[check.status, check.subject, check.detail] for check in checks]
        echo(format_table(["", "what", "found"], rows))
        for check in checks:
            if check.fix:
                echo(f"\n{check.subject}: {check.fix}")
        echo("\nLeaves this machine: " + ("nothing" if not leaves else ""))
        for line in leaves:
            echo(f"  {line}")
        echo(f"\nOptions from {config.path}:" if config.path else "\nOptions from a file: none")
        for line in option_lines(config.values):
            echo(f"  {line}")
    if any(check.status == "missing" for check in checks):
        raise typer.Exit(EnvironmentFault.exit_code)


def check_installation() -> Iterator[Check]:
    """Version, Python, the cache folder, which secrets are set (their names only)."""
    yield Check("cypherforge", "ok", f"{__version__}, Python {platform.python_version()}")
    folder = answers_folder()
    there = next(p for p in (folder, *folder.parents) if p.exists())
    if os.access(there, os.W_OK):
        yield Check("cache", "ok", str(folder))
    else:
        yield Check(
            "cache", "missing", f"{folder} cannot be written", "set CYPHERFORGE_CACHE to a folder"
        )
    secrets = [name for name in SECRETS if os.environ.get(name)]
    yield Check("secrets", "ok", ", ".join(secrets) or "none set")


def check_bundle(path: str) -> Iterator[Check]:
    """Whether the bundle loads and its digest fits."""
    from cypherforge.artifacts.bundle import Bundle

    try:
        bundle = Bundle.load(path)
    except CypherForgeError as error:
        yield _failed("bundle", error)
    else:
        yield Check(
            "bundle",
            "ok",
            f"{bundle.name} {bundle.version}: {len(bundle.rules)} rules, "
            f"{len(bundle.exemplars)} exemplars",
        )


def check_graph(spec: str, user: str | None = None, database: str | None = None) -> Iterator[Check]:
    """Whether the graph answers, holds something, can plan, and has APOC."""
    from cypherforge.graph.connect import connect

    try:
        with connect(spec, user=user, database=database) as graph:
            graph.run("RETURN 1 AS one")
            yield Check("graph", "ok", f"{graph.engine} at {graph.uri}")
            schema = graph.schema()
            if schema.empty:
                yield Check("schema", "missing", "the graph is empty", "load data into it")
            else:
                yield Check(
                    "schema",
                    "ok",
                    f"{len(schema.labels)} labels, {len(schema.types)} relationship types, "
                    f"{len(schema.patterns)} patterns" + (", sampled" if schema.sampled else ""),
                )
            for warning in schema.warnings:
                yield Check("schema", "note", warning)
            try:
                graph.explain("MATCH (n) RETURN n LIMIT 1")
                yield Check("explain", "ok", "queries are planned before they run")
            except QueryError as error:
                yield Check("explain", "note", error.message)
            if graph.engine.startswith("neo4j"):
                yield _apoc(lambda: str(graph.run("RETURN apoc.version() AS version").rows[0][0]))
    except CypherForgeError as error:
        yield _failed("graph", error)


def _apoc(version: Callable[[], str]) -> Check:
    try:
        return Check("apoc", "ok", version())
    except QueryError:
        return Check(
            "apoc",
            "note",
            "not installed: schemas of large graphs are read by Neo4j's own procedures",
            "to have it, put the apoc jar into the server's plugins folder and restart the server",
        )


def check_model(spec: str) -> Iterator[Check]:
    """Whether the model answers, and gives log probabilities and takes a grammar."""
    from cypherforge.llm.base import ChatModel, ChatRequest, Message
    from cypherforge.llm.budget import Meter
    from cypherforge.llm.specs import open_model, parse_spec

    model: ChatModel
    try:
        parsed = parse_spec(spec)
        if parsed.kind in ("scripted", "recorded"):
            yield Check("model", "ok", f"{open_model(spec).name}: replayed, nothing is sent")
            return
        from cypherforge.llm.endpoints import open_endpoint
        from cypherforge.llm.retry import RetryPolicy

        once = RetryPolicy(attempts=1)
        model = open_endpoint(parsed, meter=Meter(), timeout=MODEL_TIMEOUT, policy=once)
        asked = ChatRequest((Message("user", "Say the word yes."),), max_tokens=64)
        started = time.monotonic()
        answer = model.chat(asked)
        seconds = time.monotonic() - started
    except CypherForgeError as error:
        yield _failed("model", error)
        return
    if answer.usable:
        yield Check("model", "ok", f"{model.name} at {parsed.destination}, {seconds:.1f} s a call")
    else:
        yield Check("model", "note", f"{model.name} answers, but: {answer.finish} {answer.note}")
    yield _ability(
        "logprobs",
        lambda: bool(model.chat(replace(asked, logprobs=1)).logprobs),
        "confidence filtering can be used",
        "confidence filtering cannot be used with this endpoint",
    )
    if parsed.kind == "url":
        # A word the model would not say by itself tells a grammar that is obeyed from one ignored.
        grammar = replace(asked, grammar='root ::= "zq" [0-9] "qz"', max_tokens=16)
        yield _ability(
            "grammar",
            lambda: re.fullmatch(r"zq\dqz", model.chat(grammar).text.strip()) is not None,
            "drafts can be bound to the schema (GBNF)",
            "drafts cannot be bound by a GBNF grammar here",
        )


def _ability(subject: str, test: Callable[[], bool], able: str, unable: str) -> Check:
    try:
        works = test()
    except CypherForgeError as error:
        return Check(subject, "note", f"{unable}: {error.message}")
    return Check(subject, "ok", able) if works else Check(subject, "note", unable)


def check_embedder(spec: str) -> Iterator[Check]:
    """Whether the embedder turns a sentence into numbers."""
    from cypherforge.llm.specs import open_embedder

    try:
        embedder = open_embedder(spec, corpus=["how many nodes are there"], timeout=MODEL_TIMEOUT)
        width = embedder.embed(["how many nodes are there"]).shape[1]
    except CypherForgeError as error:
        yield _failed("embedder", error)
    else:
        yield Check("embedder", "ok", f"{embedder.name}, {width} dimensions")


def check_extras() -> Iterator[Check]:
    """For each extra of this package, which of its distributions are not installed."""
    wanted: dict[str, list[str]] = {}
    for line in metadata.requires("cypherforge") or []:
        match = re.match(r"([A-Za-z0-9._-]+).*;.*\bextra\s*==\s*['\"]([^'\"]+)['\"]", line)
        if match:
            wanted.setdefault(match[2], []).append(match[1])
    for extra, names in sorted(wanted.items()):
        absent = [name for name in names if not _installed(name)]
        if absent:
            yield Check(
                f"extra {extra}",
                "note",
                f"not installed: {', '.join(absent)}",
                f'pip install "cypherforge[{extra}]"',
            )
        else:
            yield Check(f"extra {extra}", "ok", ", ".join(names))


def leaving(graph: str, model: str, embed: str) -> list[str]:
    """What would be sent to other machines with these options, and to whom; empty if nothing."""
    from urllib.parse import urlsplit

    from cypherforge.llm.specs import parse_spec, public_url

    lines = []
    if "://" in graph:
        host = urlsplit(graph).hostname or ""
        if host not in ("localhost", "127.0.0.1", "::1"):
            lines.append(f"queries, with the values they compare, go to {public_url(graph)}")
    for role, spec, what in (
        ("--model", model, "schema with example values, questions, exemplars and rules"),
        ("--embed", embed, "questions"),
    ):
        if spec in ("none", "wordllama", "tfidf"):
            continue
        try:
            parsed = parse_spec(spec)
        except CypherForgeError:
            continue
        if parsed.leaves_machine:
            lines.append(f"{what} go to {parsed.destination} ({role} {parsed.name})")
    return lines


def option_lines(values: Mapping[str, Any], command: str = "") -> list[str]:
    """A configuration for people: ``--graph example`` for all, ``mine --limit 200`` for one."""
    lines = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            lines += option_lines(value, f"{command}{key} ")
        else:
            lines.append(f"{command}--{key.replace('_', '-')} {value}")
    return sorted(lines, key=lambda line: (not line.startswith("--"), line))


def _installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _failed(subject: str, error: CypherForgeError) -> Check:
    place = f"{error.where}: " if error.where else ""
    return Check(subject, "missing", f"{place}{error.message}", error.hint or "")
