"""The stages as functions over artifacts: each is done once in a run folder, and then read back.

``stage(run, inputs, options, progress) -> Artifact``. A stage that is interrupted goes on from its
journal; a stage that is done is not done again.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cypherforge.artifacts.run_folder import RunFolder
from cypherforge.artifacts.store import Artifact, ArtifactRef
from cypherforge.core.datasets import Dataset, Example
from cypherforge.core.errors import UsageError
from cypherforge.core.executor import Executor
from cypherforge.core.progress import Progress
from cypherforge.graph.base import Graph
from cypherforge.graph.policy import ALL_VALUES, ValuePolicy
from cypherforge.graph.render import render_schema
from cypherforge.graph.schema import Schema
from cypherforge.llm.base import ChatModel, ChatRequest
from cypherforge.miner.attempts import Attempt, Bench
from cypherforge.miner.check import Checker
from cypherforge.miner.collect import Collected, collect
from cypherforge.miner.inputs import Questions
from cypherforge.miner.prove import Proof, ProveOptions, Prover
from cypherforge.miner.stratify import StratifyOptions, stratify
from cypherforge.rules.model import Evidence, Rule, dump_rules
from cypherforge.runtime.prompts import PROMPT_VERSION, Exemplar, draft_request

Write = Callable[[Sequence[Attempt]], list[Rule]]


@dataclass(frozen=True, slots=True)
class Services:
    """What stages work with: graphs by name, the backbone, threads, progress."""

    graphs: Mapping[str, Graph]
    model: ChatModel
    executor: Executor
    progress: Progress
    policy: ValuePolicy = ALL_VALUES


# ---------------------------------------------------------------- questions and schemas


def questions_stage(run: RunFolder, dataset: Dataset, questions: Questions) -> Artifact:
    """``questions``: train and held-out questions as they are used, and rows set aside."""
    if done := run.stage_done("questions"):
        return done
    with run.stage("questions", params={"dataset": dataset.digest}) as out:
        for name, examples in (("train", questions.train), ("heldout", questions.heldout)):
            out.write_jsonl(f"{name}.jsonl", [example_row(e) for e in examples])
        out.write_jsonl("problems.jsonl", [asdict(p) for p in dataset.problems])
        out.summary = {
            "train": len(questions.train),
            "heldout": len(questions.heldout),
            "split_here": questions.assigned,
            "bad_rows": len(dataset.problems),
        }
    return _done(run, "questions")


def schemas_stage(
    run: RunFolder, graphs: Mapping[str, Graph], policy: ValuePolicy = ALL_VALUES
) -> Artifact:
    """``schemas``: each graph's schema, once; what is drafted later sees exactly this."""
    if done := run.stage_done("schemas"):
        return done
    with run.stage("schemas") as out:
        for name, graph in sorted(graphs.items()):
            schema = policy.apply(graph.schema())
            out.write_text(f"{name or 'graph'}.json", json.dumps(schema.to_json(), indent=1))
        out.summary = {"engines": {name: g.engine for name, g in sorted(graphs.items())}}
    return _done(run, "schemas")


def read_schemas(artifact: Artifact, graphs: Iterable[str]) -> dict[str, Schema]:
    """The schemas of an artifact by graph name."""
    return {
        name: Schema.from_json(json.loads(artifact.read_text(f"{name or 'graph'}.json")))
        for name in graphs
    }


def policy_params(policy: ValuePolicy) -> dict[str, Any]:
    """What a manifest and a run folder remember of the values held back."""
    held = sorted(f"{owner}.{name}" for owner, name in policy.excluded)
    return {"values": not policy.no_values, **({"exclude": held} if held else {})}


def benches(services: Services, schemas: Mapping[str, Schema]) -> dict[str, Bench]:
    """Where the questions of each graph run."""
    return {
        name: Bench(graph, schemas[name], services.model, policy=services.policy)
        for name, graph in services.graphs.items()
    }


def request_maker(
    schemas: Mapping[str, Schema],
) -> Callable[[Example, Sequence[Rule]], ChatRequest]:
    """Drafts of an example with some rules; without rules, the zero-shot prompt."""
    texts = {name: render_schema(schema).text for name, schema in schemas.items()}

    def request(
        example: Example, rules: Sequence[Rule] = (), exemplars: Sequence[Exemplar] = ()
    ) -> ChatRequest:
        return draft_request(
            texts[example.graph],
            example.question,
            rules=[rule.prompt_text() for rule in rules],
            exemplars=exemplars,
        )

    return request


# ---------------------------------------------------------------- stages


def stratify_stage(
    run: RunFolder, questions: Artifact, options: StratifyOptions, progress: Progress
) -> Artifact:
    """``subset``: the questions to draft, each with its group and why it is there."""
    if done := run.stage_done("subset"):
        progress.say(f"stratify: already done, {_brief(done)}")
        return done
    result = stratify(read_examples(questions, "train"), options, progress)
    params = asdict(options)
    with run.stage("subset", params=params, inputs=[questions.ref]) as out:
        out.write_jsonl(
            "subset.jsonl",
            [
                {**example_row(c.example), "group": c.group, "why": c.reason, "covers": c.covers}
                for c in result.chosen
            ],
        )
        out.write_jsonl("groups.jsonl", _groups(result.group_sizes))
        out.write_jsonl("unparsable.jsonl", [{"id": i, "why": w} for i, w in result.unparsable])
        out.summary = result.summary()
    return _done(run, "subset")


def collect_stage(
    run: RunFolder, subset: Artifact, schemas: Artifact, services: Services
) -> Artifact:
    """``failures``: every draft with its outcome, and the questions that were set aside."""
    if done := run.stage_done("failures"):
        services.progress.say(f"collect: already done, {_brief(done)}")
        return done
    known = read_schemas(schemas, services.graphs)
    request = request_maker(known)
    with run.stage(
        "failures",
        params={
            "model": services.model.name,
            "prompt": PROMPT_VERSION,
            **policy_params(services.policy),
        },
        inputs=[subset.ref, schemas.ref],
    ) as out:
        result = collect(
            read_examples(subset, "subset"),
            benches(services, known),
            lambda example: request(example, ()),
            run.journal("collect"),
            executor=services.executor,
            progress=services.progress,
        )
        _write_collected(out, result)
        out.models = [services.model.name]
        out.summary = result.summary()
    run.drop_journal("collect")
    return _done(run, "failures")


def write_stage(
    run: RunFolder, failures: Artifact, agent: str, write: Write, progress: Progress
) -> Artifact:
    """``candidates``: rules as they were written, not yet checked."""
    if done := run.stage_done("candidates"):
        progress.say(f"rules write: already done, {_brief(done)}")
        return done
    failed = [a for a in read_attempts(failures) if a.failed]
    progress.start("rules write")
    rules = write(failed)
    with run.stage("candidates", params={"agent": agent}, inputs=[failures.ref]) as out:
        out.write_yaml("rules.yaml", {"rules": dump_rules(rules)})
        cited = {i for rule in rules for i in rule.cites}
        out.summary = {
            "rules": len(rules),
            "cited": len(cited),
            "uncited": sum(f.id not in cited for f in failed),
        }
    progress.finish(f"{len(rules)} rules from {len(failed)} failures, {len(cited)} cited")
    return _done(run, "candidates")


def check_stage(
    run: RunFolder, candidates: Artifact, checker: Checker, inputs: Sequence[ArtifactRef],
    progress: Progress,
) -> Artifact:  # fmt: skip
    """``checked``: the rules that are general, and why others are not."""
    if done := run.stage_done("checked"):
        progress.say(f"rules check: already done, {_brief(done)}")
        return done
    progress.start("rules check")
    rules = read_rules(candidates)
    result = checker.check(rules)
    with run.stage("checked", inputs=[candidates.ref, *inputs]) as out:
        out.write_yaml("rules.yaml", {"rules": dump_rules(result.accepted)})
        out.write_jsonl("rejections.jsonl", [asdict(r) for r in result.rejections])
        out.summary = {
            "accepted": len(result.accepted),
            "rejected": len(rules) - len(result.accepted),
        }
    progress.finish(f"{len(result.accepted)} of {len(rules)} rules are general")
    for rejection in result.rejections:
        progress.warn(str(rejection))
    return _done(run, "checked")


def prove_stage(
    run: RunFolder,
    checked: Artifact,
    questions: Artifact,
    schemas: Artifact,
    services: Services,
    options: ProveOptions,
) -> Artifact:
    """``proof``: rules with their evidence, and every held-out draft of every arm."""
    if done := run.stage_done("proof"):
        services.progress.say(f"rules prove: already done, {_brief(done)}")
        return done
    known = read_schemas(schemas, services.graphs)
    rules = read_rules(checked)
    heldout = read_examples(questions, "heldout")
    if not heldout:
        raise UsageError(
            "there is no held-out question to prove rules on",
            hint="give a dataset with a test split, or raise --limit",
        )
    prover = Prover(
        heldout,
        benches(services, known),
        request_maker(known),
        run.journal,
        options,
        executor=services.executor,
        progress=services.progress,
    )
    with run.stage(
        "proof",
        params={"model": services.model.name, **asdict(options)},
        inputs=[checked.ref, questions.ref, schemas.ref],
    ) as out:
        proof = prover.prove(rules)
        engines = ",".join(sorted({g.engine for g in services.graphs.values()}))
        proven = with_evidence(rules, proof, services.model.name, engines)
        out.write_yaml("rules.yaml", {"rules": dump_rules(proven)})
        out.write_jsonl("proofs.jsonl", [asdict(p) for p in proof.proofs])
        rows = [
            {"arm": arm, **a.to_row()}
            for arm, done in prover.attempts.items()
            for a in done.attempts
        ]
        out.write_jsonl("attempts.jsonl", rows)
        out.models = [services.model.name]
        out.summary = proof.summary()
    for arm in prover.attempts:
        run.drop_journal(f"prove-{arm}")
    return _done(run, "proof")


def with_evidence(rules: Sequence[Rule], proof: Proof, model: str, engine: str) -> list[Rule]:
    """Rules with what was measured: kept if chosen, dropped if harmful, else demoted."""
    proofs = {p.rule: p for p in proof.proofs}
    proven = []
    for rule in rules:
        p = proofs[rule.id]
        evidence = Evidence(
            failures=p.failures,
            passes=p.passes,
            fixed=len(p.fixed),
            broken=len(p.broken),
            lift=p.lift.mean,
            low=p.lift.low,
            high=p.lift.high,
            prompt_tokens=max(0, p.tokens),
            verdict="kept" if p.chosen else "dropped" if p.status == "harmful" else "demoted",
            model=model,
            engine=engine,
        )
        proven.append(rule.model_copy(update={"evidence": evidence}))
    return proven


# ---------------------------------------------------------------- rows


def example_row(example: Example) -> dict[str, Any]:
    """A question as a JSON object."""
    return {
        "id": example.id,
        "question": example.question,
        "cypher": example.cypher,
        "graph": example.graph,
        "split": example.split,
    }


def read_examples(artifact: Artifact, name: str) -> list[Example]:
    """The questions of ``name.jsonl``."""
    names = ("id", "question", "cypher", "graph", "split")
    rows = artifact.read_jsonl(f"{name}.jsonl")
    return [Example(**{key: row[key] for key in names}) for row in rows]


def read_attempts(artifact: Artifact) -> list[Attempt]:
    """The attempts of a ``failures`` artifact."""
    return [Attempt.from_row(row) for row in artifact.read_jsonl("attempts.jsonl")]


def read_rules(artifact: Artifact) -> list[Rule]:
    """The rules of an artifact's ``rules.yaml``."""
    return [Rule.model_validate(row) for row in artifact.read_yaml("rules.yaml")["rules"]]


def one_graph(examples: Iterable[Example], name: str) -> list[Example]:
    """The same questions, all asked of the graph ``name``."""
    return [replace(example, graph=name) for example in examples]


def stage_input(path: Path, name: str) -> Artifact:
    """The artifact ``name`` in a run folder, or ``path`` itself if it is one."""
    inside = path / name
    return Artifact.open(inside if (inside / "manifest.json").is_file() else path, name)


def _write_collected(out: Any, result: Collected) -> None:
    out.write_jsonl("attempts.jsonl", [a.to_row() for a in result.attempts])
    out.write_jsonl("aside.jsonl", [asdict(a) for a in result.aside])


def _groups(sizes: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"group": group, "questions": count} for group, count in sizes.items()]


def _brief(artifact: Artifact) -> str:
    summary = artifact.manifest.summary
    plain = {k: v for k, v in summary.items() if isinstance(v, int | str)}
    return ", ".join(f"{v} {k.replace('_', ' ')}" for k, v in plain.items())


def _done(run: RunFolder, name: str) -> Artifact:
    artifact = run.stage_done(name)
    if artifact is None:
        raise UsageError(f"the stage {name!r} left no artifact", where=str(run.path))
    return artifact
