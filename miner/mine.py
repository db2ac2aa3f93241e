"""The main job: questions in, rule bundle out."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cypherforge.artifacts.run_folder import RunFolder
from cypherforge.artifacts.store import Artifact
from cypherforge.core.datasets import Dataset
from cypherforge.core.progress import Progress
from cypherforge.llm.base import ChatModel, Embedder, estimate_tokens
from cypherforge.miner.agent import mine_with_agent
from cypherforge.miner.attempts import Attempt
from cypherforge.miner.bundling import build_bundle
from cypherforge.miner.check import Checker
from cypherforge.miner.handoff import hand_off
from cypherforge.miner.inputs import Questions, prepare, sample
from cypherforge.miner.prove import ProveOptions
from cypherforge.miner.stages import (
    Services,
    Write,
    check_stage,
    collect_stage,
    prove_stage,
    questions_stage,
    read_examples,
    read_schemas,
    request_maker,
    schemas_stage,
    stratify_stage,
    write_stage,
)
from cypherforge.miner.stratify import StratifyOptions, stratify
from cypherforge.miner.write import mechanisms, write_rules
from cypherforge.rules.model import Rule

BUNDLE = "bundle.cfb"


@dataclass(frozen=True, slots=True)
class MineOptions:
    """What changes the data of a run; time, threads and budgets do not.

    ``limit`` cuts the questions, ``heldout`` the held-out ones. ``agent`` is ``none``,
    ``handoff:DIR`` or ``api:SPEC``.
    """

    limit: int | None = None
    heldout: int | None = 100
    seed: int = 0
    agent: str = "none"
    embed: str = "wordllama"
    stratify: StratifyOptions = field(default_factory=StratifyOptions)
    prove: ProveOptions = field(default_factory=ProveOptions)

    def to_json(self) -> dict[str, Any]:
        """The options as a run folder remembers them."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Mined:
    """The artifacts of a run, and where its bundle lies."""

    questions: Artifact
    subset: Artifact
    failures: Artifact
    candidates: Artifact
    checked: Artifact
    proof: Artifact
    bundle: Path

    def summary(self) -> dict[str, Any]:
        """What ``mine --json`` prints."""
        proof = self.proof.manifest.summary
        return {
            "questions": dict(self.questions.manifest.summary),
            "stratify": dict(self.subset.manifest.summary),
            "collect": dict(self.failures.manifest.summary),
            "rules": {
                "written": self.candidates.manifest.summary["rules"],
                **dict(self.checked.manifest.summary),
                "by_tier": _by_tier(self.proof),
            },
            "prove": dict(proof),
            "bundle": str(self.bundle),
        }


def questions_of(dataset: Dataset, options: MineOptions) -> Questions:
    """Train and held-out questions after ``limit`` and ``heldout``."""
    questions = prepare(dataset, limit=options.limit, seed=options.seed)
    cut = sample(questions.heldout, options.heldout, options.seed)
    return Questions(questions.train, cut, questions.assigned)


def mine(
    run: RunFolder,
    dataset: Dataset,
    services: Services,
    embedder: Embedder,
    options: MineOptions,
    agent_model: ChatModel | None = None,
) -> Mined:
    """Run every stage that is not done yet.

    Raises ``HandoffPending`` where the rules are to be written by someone else, and whatever stops
    a stage; what was received is kept in ``run``.
    """
    progress = services.progress
    questions = questions_stage(run, dataset, questions_of(dataset, options))
    schemas = schemas_stage(run, services.graphs, services.policy)
    known = read_schemas(schemas, services.graphs)
    subset = stratify_stage(run, questions, options.stratify, progress)
    failures = collect_stage(run, subset, schemas, services)
    checker = Checker(
        known, [*read_examples(questions, "train"), *read_examples(questions, "heldout")]
    )
    write = writer(options.agent, checker, agent_model, progress)
    candidates = write_stage(run, failures, options.agent, write, progress)
    checked = check_stage(run, candidates, checker, [questions.ref, schemas.ref], progress)
    proof = prove_stage(run, checked, questions, schemas, services, options.prove)
    bundle = run.path / BUNDLE
    if not bundle.exists():
        progress.start("bundle")
        build_bundle(bundle, proof, questions, failures, known, embedder)
        progress.finish(str(bundle))
    else:
        progress.say(f"bundle: already done, {bundle}")
    return Mined(questions, subset, failures, candidates, checked, proof, bundle)


def writer(
    agent: str, checker: Checker, agent_model: ChatModel | None, progress: Progress
) -> Write:
    """Who writes the rules: diagnosis, a folder handed off, or an agent over an API."""

    def write(failures: Sequence[Attempt]) -> list[Rule]:
        if agent.startswith("handoff:"):
            return hand_off(Path(agent.removeprefix("handoff:")), failures)
        if agent_model is not None:
            session = mine_with_agent(agent_model, failures, checker.reasons, progress=progress)
            return list(session.accepted.values())
        return write_rules(failures)

    return write


def projected(dataset: Dataset, schemas: Mapping[str, Any], options: MineOptions) -> dict[str, Any]:
    """What a run would ask of the model, at most, before anything is asked."""
    questions = questions_of(dataset, options)
    subset = stratify(questions.train, options.stratify)
    per_rule = min(options.prove.per_rule, len(questions.heldout))
    rules = options.prove.rules or len(mechanisms()) // 3
    calls = {
        "collect": len(subset.chosen),
        "prove, zero-shot": len(questions.heldout),
        f"prove, some {rules} rules": rules * per_rule,
        "prove, chosen set": len(questions.heldout),
    }
    request = request_maker(schemas)
    first = questions.train[0]
    prompt = estimate_tokens(request(first, ()).prompt_chars())
    total = sum(calls.values())
    return {
        "train": len(questions.train),
        "heldout": len(questions.heldout),
        "subset": len(subset.chosen),
        "calls": calls,
        "calls_total": total,
        "prompt_tokens": total * prompt,
        "completion_tokens": total * 80,
    }


def _by_tier(proof: Artifact) -> dict[str, list[dict[str, Any]]]:
    measured = proof.manifest.summary["rules"]
    tiers: dict[str, list[dict[str, Any]]] = {"universal": [], "schema": [], "question": []}
    for row in proof.read_yaml("rules.yaml")["rules"]:
        tiers[row["tier"]].append(
            {
                "id": row["id"],
                "title": row["title"],
                "codes": row["codes"],
                "cites": len(row["cites"]),
                **measured[row["id"]],
            }
        )
    return tiers
