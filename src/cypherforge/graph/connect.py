"""From what a user writes to a graph: ``example``, ``embedded:FOLDER``, a folder, a URI."""

from __future__ import annotations

import os
from importlib.resources import as_file, files
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from cypherforge.core.errors import UsageError
from cypherforge.graph.base import DEFAULT_LIMIT, DEFAULT_TIMEOUT, Graph
from cypherforge.graph.neutral import is_neutral

SCHEMES = (
    "bolt",
    "bolt+s",
    "bolt+ssc",
    "neo4j",
    "neo4j+s",
    "neo4j+ssc",
    "memgraph",
    "memgraph+s",
    "memgraph+ssc",
)
PASSWORDS = ("CYPHERFORGE_PASSWORD", "NEO4J_PASSWORD")
USERS = ("CYPHERFORGE_USER", "NEO4J_USERNAME")


def connect(
    spec: str | Path,
    *,
    read_only: bool = True,
    user: str | None = None,
    database: str | None = None,
    impersonate: str | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    limit: int = DEFAULT_LIMIT,
) -> Graph:
    """Open a graph.

    ``spec``: ``example`` (the graph that comes with the package), ``embedded:FOLDER`` or a folder of
    neutral files, or a URI (``bolt://``, ``neo4j+s://``, ``memgraph://`` ...). A password is read from
    the environment only (``CYPHERFORGE_PASSWORD``, else ``NEO4J_PASSWORD``), so that it stands in no
    shell history and no log; the user likewise unless given. ``timeout`` (seconds) and ``limit``
    (rows) hold for each query that gives no other.

    Raises ``UsageError``, ``InputError``, ``GraphUnavailable`` or ``GraphAuthError``.
    """
    text = str(spec)
    if isinstance(spec, str) and "://" in text:
        return _connect_bolt(text, read_only, user, database, impersonate, timeout, limit)
    for option, value in (("user", user), ("database", database), ("impersonate", impersonate)):
        if value is not None:
            raise UsageError(
                f"{option} means nothing for an embedded graph", where=text, hint="leave it out"
            )
    if not read_only:
        raise UsageError("an embedded graph is read-only", where=text, hint="edit its files")
    from cypherforge.graph.embedded import EmbeddedGraph

    if text == "example" and not Path(text).is_dir():
        with as_file(files("cypherforge.artifacts") / "example") as folder:
            return EmbeddedGraph(folder, uri="example", timeout=timeout, limit=limit)
    folder = Path(text.removeprefix("embedded:")).expanduser()
    if not is_neutral(folder):
        raise UsageError(
            "not a graph: no folder with nodes.jsonl.gz and relationships.jsonl.gz, and no URI",
            where=text,
            hint="e.g. example, embedded:FOLDER, bolt://127.0.0.1:7687, neo4j+s://HOST",
        )
    return EmbeddedGraph(folder, timeout=timeout, limit=limit)


def from_environment(names: tuple[str, ...]) -> str | None:
    """The first of these environment variables that is set and not empty."""
    return next((os.environ[name] for name in names if os.environ.get(name)), None)


def _connect_bolt(
    uri: str,
    read_only: bool,
    user: str | None,
    database: str | None,
    impersonate: str | None,
    timeout: float,
    limit: int,
) -> Graph:
    parts = urlsplit(uri)
    if parts.scheme not in SCHEMES:
        raise UsageError(
            f"unknown scheme {parts.scheme!r}", where=uri, hint=f"one of {', '.join(SCHEMES)}"
        )
    if parts.password is not None:
        clean = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        raise UsageError(
            "a password in the URI ends up in logs and histories",
            where=clean,
            hint="set CYPHERFORGE_PASSWORD instead",
        )
    if parts.username:
        user = user or parts.username
        uri = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    from cypherforge.graph.bolt import BoltGraph

    return BoltGraph(
        uri,
        user=user or from_environment(USERS),
        password=from_environment(PASSWORDS),
        database=database,
        impersonate=impersonate,
        read_only=read_only,
        timeout=timeout,
        limit=limit,
    )
