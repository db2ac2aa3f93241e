"""Exemplars synthesized from the target graph itself, made once and kept in the cache folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path

from cypherforge.artifacts.bundle import Bundle
from cypherforge.core.errors import CypherForgeError, InputError
from cypherforge.core.files import digest
from cypherforge.core.paths import cache_folder
from cypherforge.core.progress import NullProgress, Progress
from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.graph.base import Graph
from cypherforge.graph.schema import Schema
from cypherforge.runtime.prompts import Exemplar

#: Whoever makes pairs of a graph registers a function here: (graph, folder, progress) -> pairs.
GROUP = "cypherforge.exemplars"
Maker = Callable[[Graph, Path, Progress | None], Sequence[tuple[str, str]]]


def target_exemplars(
    graph: Graph, schema: Schema, progress: Progress | None = None
) -> list[Exemplar]:
    """Question-Cypher pairs of this graph; none where it gives nothing to ask.

    They are made at the first question to a graph and its schema, which may take a minute, and
    read from the cache folder afterwards.
    """
    told = progress or NullProgress()
    key = digest(f"{graph.uri}\0{schema.digest}").removeprefix("sha256:")[:24]
    folder = cache_folder() / "exemplars" / key
    if not folder.is_dir():
        told.say("reading the graph for exemplars of its own, once")
    for point in entry_points(group=GROUP):
        make: Maker = point.load()
        try:
            return [Exemplar(question, cypher) for question, cypher in make(graph, folder, told)]
        except InputError as error:
            told.warn(f"no exemplars of this graph: {error.message}")
        except CypherForgeError as error:
            told.warn(f"exemplars of this graph could not be made: {error.message}")
    return []


def fitting(bundle: Bundle, schema: Schema) -> bool:
    """Whether most of a bundle's exemplars speak of labels and types that this schema has."""
    fit = 0
    for item in bundle.exemplars:
        try:
            query = parse(item.cypher)
        except CypherSyntaxError:
            continue
        names = {node.name for node in query.walk() if isinstance(node, ast.LabelName)}
        fit += bool(names) and names <= {*schema.labels, *schema.types}
    return 2 * fit > len(bundle.exemplars)
