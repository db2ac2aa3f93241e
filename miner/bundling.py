"""Build the bundle: proven rules with their evidence, exemplars, shapes, taxonomy, schemas."""

from collections.abc import Mapping
from pathlib import Path

from cypherforge.artifacts.bundle import Bundle, Exemplar
from cypherforge.artifacts.store import Artifact
from cypherforge.graph.render import render_schema
from cypherforge.graph.schema import Schema
from cypherforge.llm.base import Embedder
from cypherforge.miner.stages import read_examples
from cypherforge.rules.taxonomy import taxonomy


def build_bundle(
    path: Path,
    proof: Artifact,
    questions: Artifact,
    failures: Artifact,
    schemas: Mapping[str, Schema],
    embedder: Embedder,
    *,
    name: str = "",
    version: str = "0.1.0",
) -> Bundle:
    """Write the bundle to ``path`` and return it.

    Every rule that passed the check is in it with its evidence, and its verdict says whether the
    runtime uses it. Exemplars are the train questions whose golds were not set aside; each
    question with each query once.
    """
    aside = {row["id"] for row in failures.read_jsonl("aside.jsonl")}
    exemplars: list[Exemplar] = []
    seen: set[tuple[str, str, str]] = set()
    for e in read_examples(questions, "train"):
        key = (e.graph, e.question, e.cypher)
        if e.id not in aside and key not in seen:
            seen.add(key)
            exemplars.append(Exemplar(e.id, e.question, e.cypher, e.graph))
    bundle = Bundle(
        name=name or "-".join(sorted(schemas)) or "bundle",
        version=version,
        rules=tuple(proof.read_yaml("rules.yaml")["rules"]),
        exemplars=tuple(exemplars),
        embeddings=embedder.embed([e.question for e in exemplars]),
        embedder=embedder.name,
        taxonomy=taxonomy().to_json(),
        schemas={graph: render_schema(schema).text for graph, schema in schemas.items()},
        sources={
            "proof": proof.digest,
            "questions": questions.digest,
            "failures": failures.digest,
            "models": list(proof.manifest.run.models),
            "set": dict(proof.manifest.summary),
        },
    )
    bundle.save(path)
    return bundle
