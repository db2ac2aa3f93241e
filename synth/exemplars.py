"""Exemplars of a graph for the runtime: pairs synthesized from it, kept, with no question of a user.

The runtime stands on a lower floor, so it finds this through the entry point group
``cypherforge.exemplars`` and not by an import.
"""

from __future__ import annotations

from pathlib import Path

from cypherforge.artifacts.store import MANIFEST, Artifact
from cypherforge.core.progress import Progress
from cypherforge.graph.base import Graph
from cypherforge.synth.generate import PairOptions
from cypherforge.synth.pairs import KIND
from cypherforge.synth.run import make_pairs

#: Pairs of one graph: what its families give once or twice each, in every number of relations.
SIZE = 250


def target_pairs(
    graph: Graph, folder: Path, progress: Progress | None = None
) -> list[tuple[str, str]]:
    """Questions with their queries, made once in ``folder`` and read from there afterwards.

    Raises ``InputError`` where a graph gives nothing to ask.
    """
    done = folder / KIND
    if (done / MANIFEST).is_file():
        # Kept whatever became of the data since: exemplars show how to ask, not what is stored.
        made = Artifact.open(done, KIND)
    else:
        made = make_pairs(graph, "target", folder, PairOptions(size=SIZE), progress=progress)
    return [(row["question"], row["cypher"]) for row in made.read_jsonl(f"{KIND}.jsonl")]
