"""What a run is: questions, graphs, arms; from options or from one TOML file.

::

    dataset = "questions.jsonl"        # or a list of files and folders
    true_empty = "true_empty.jsonl"    # questions whose right answer is no row
    strategies = ["zero-shot", "naive-retry"]
    models = ["openai:gpt-5.4-mini", "qwen@http://127.0.0.1:8091/v1"]
    seeds = [0]
    each = 25                          # questions of each graph; limit = N: of all together

    [graphs]
    wwc = "bolt://127.0.0.1:7687"
"""

from __future__ import annotations

import hashlib
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cypherforge.core.datasets import Dataset, Example, Problem, load_dataset
from cypherforge.core.errors import InputError, UsageError
from cypherforge.core.files import digest, dumps, read_text
from cypherforge.cypher import CypherSyntaxError, normal_form
from cypherforge.evaluation.golds import TRUE_EMPTY
from cypherforge.runtime.strategies import STRATEGIES

EXAMPLE = "example"


@dataclass(frozen=True, slots=True)
class Arm:
    """A strategy with a model and a seed."""

    strategy: str
    model: str
    seed: int = 0

    @property
    def id(self) -> str:
        """A name for people and files; the model without its address."""
        seed = f" seed {self.seed}" if self.seed else ""
        return f"{self.strategy} · {model_name(self.model)}{seed}"


@dataclass(frozen=True, slots=True)
class Matrix:
    """Strategies × models × seeds, over the questions of some graphs."""

    strategies: tuple[str, ...]
    models: tuple[str, ...]
    seeds: tuple[int, ...] = (0,)

    @property
    def arms(self) -> tuple[Arm, ...]:
        """All arms; those of one model together, so that they share drafts while these are warm."""
        return tuple(
            Arm(strategy, model, seed)
            for model in self.models
            for seed in self.seeds
            for strategy in self.strategies
        )

    def check(self) -> None:
        """Raises UsageError for an unknown strategy, for nothing to run and for arms alike."""
        for name in self.strategies:
            if name not in STRATEGIES:
                raise UsageError(f"no strategy {name!r}", hint=f"there are {', '.join(STRATEGIES)}")
        if not self.arms:
            raise UsageError(
                "nothing to run", hint="--strategy zero-shot,naive-retry --model SPEC, or --matrix"
            )
        names = [arm.id for arm in self.arms]
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            raise UsageError(
                f"two arms are called {double!r}", hint="models need names of their own"
            )


@dataclass(frozen=True, slots=True)
class Settings:
    """What a TOML file says; None or empty where it says nothing."""

    dataset: tuple[Path, ...] = ()
    true_empty: tuple[Path, ...] = ()
    strategies: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    graphs: tuple[str, ...] = ()
    each: int | None = None
    limit: int | None = None
    judge: str = ""
    second_judge: str = ""
    bundle: str = ""


def read_matrix(path: Path) -> Settings:
    """Read a matrix file; paths in it are relative to its folder. Raises InputError, UsageError."""
    try:
        values = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", where=str(path), hint="mend that line") from None
    known = set(Settings.__dataclass_fields__) | {"seed"}
    unknown = sorted(set(values) - known)
    if unknown:
        raise UsageError(
            f"no such setting: {unknown[0]!r}",
            where=str(path),
            hint=f"there are {', '.join(sorted(known))}",
        )

    def many(name: str) -> list[Any]:
        value = values.get(name, [])
        return value if isinstance(value, list) else [value]

    def paths(name: str) -> tuple[Path, ...]:
        return tuple(p if p.is_absolute() else path.parent / p for p in map(Path, many(name)))

    graphs = values.get("graphs", {})
    if not isinstance(graphs, dict):
        raise UsageError(
            "graphs is not a table", where=str(path), hint='[graphs] with lines NAME = "SPEC"'
        )
    return Settings(
        dataset=paths("dataset"),
        true_empty=paths("true_empty"),
        strategies=tuple(map(str, many("strategies"))),
        models=tuple(map(str, many("models"))),
        seeds=tuple(int(seed) for seed in many("seeds") or many("seed")),
        graphs=tuple(f"{name}={spec}" for name, spec in graphs.items()),
        each=values.get("each"),
        limit=values.get("limit"),
        judge=str(values.get("judge", "")),
        second_judge=str(values.get("second_judge", "")),
        bundle=str(values.get("bundle", "")),
    )


def load_questions(
    paths: Sequence[Path], true_empty: Sequence[Path], *, columns: dict[str, str] | None = None
) -> Dataset:
    """Load all questions as one dataset, those of ``true_empty`` marked. Raises InputError.

    Questions that name no graph ask the one that their dataset is named after. Ids that two files
    share get the dataset's name in front.
    """
    loaded = [(load_dataset(path, columns=columns), False) for path in paths]
    loaded += [(load_dataset(path, columns=columns), True) for path in true_empty]
    problems: list[Problem] = []
    examples: list[Example] = []
    taken: set[str] = set()
    for dataset, empty in loaded:
        problems += dataset.problems
        for example in dataset.examples:
            name = example.id if example.id not in taken else f"{dataset.name}:{example.id}"
            while name in taken:
                name += "'"
            taken.add(name)
            meta = {**example.meta, TRUE_EMPTY: True} if empty else example.meta
            graph = example.graph or dataset.name
            examples.append(replace(example, id=name, graph=graph, meta=meta))
    if not examples:
        raise InputError("no question to ask", hint="--dataset PATH")
    title = "+".join(dict.fromkeys(dataset.name for dataset, _ in loaded))
    return Dataset(title, tuple(examples), tuple(problems))


def choose(examples: Iterable[Example], count: int, seed: int = 0) -> tuple[Example, ...]:
    """Draw ``count`` examples: equally many of each file, no two with one normal form of the gold.

    Drawn by a hash of graph and normal form, so that a smaller count is a part of a larger one.
    Golds that do not parse stand last.
    """
    ranked: dict[str, list[tuple[str, str, Example]]] = defaultdict(list)
    salt = f"{seed}\0" if seed else ""
    for example in examples:
        try:
            form = normal_form(example.cypher)
        except CypherSyntaxError:
            form = f"\uffff{example.cypher}"
        rank = hashlib.sha256(f"{salt}{example.graph}\0{form}".encode()).hexdigest()
        ranked[str(example.meta.get("file", ""))].append((rank, example.id, example))
    queues = [sorted(rows, key=lambda row: row[:2]) for _, rows in sorted(ranked.items())]
    chosen: list[Example] = []
    seen: set[str] = set()
    while len(chosen) < count and any(queues):
        for queue in queues:
            while queue:
                rank, _, example = queue.pop(0)
                if rank not in seen:
                    seen.add(rank)
                    chosen.append(example)
                    break
    return tuple(chosen[:count])


def cut(dataset: Dataset, *, each: int | None, limit: int | None, seed: int = 0) -> Dataset:
    """At most ``each`` questions of each graph and ``limit`` in all.

    ``each`` counts true-empty questions by themselves; of ``limit`` they keep their share.
    """
    examples = list(dataset.examples)
    if each is not None:
        kept: list[Example] = []
        for graph in dataset.graphs:
            for empty in (False, True):
                group = [e for e in examples if e.graph == graph and _empty(e) is empty]
                kept += choose(group, each, seed)
        examples = kept
    if limit is not None and limit < len(examples):
        share = round(limit * sum(map(_empty, examples)) / len(examples))
        examples = [
            *choose((e for e in examples if not _empty(e)), limit - share, seed),
            *choose((e for e in examples if _empty(e)), share, seed),
        ]
    return Dataset(dataset.name, tuple(examples), dataset.problems)


def graph_specs(given: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Which graph answers the questions of which name.

    One spec serves a dataset of one graph; several graphs take ``NAME=SPEC`` each. Raises
    UsageError.
    """
    named: dict[str, str] = {}
    plain: list[str] = []
    for spec in given:
        head, found, rest = spec.partition("=")
        if found and ":" not in head and "/" not in head:
            named[head] = rest
        else:
            plain.append(spec)
    if len(plain) == 1 and not named and len(names) == 1:
        return {names[0]: plain[0]}
    missing = [name for name in names if name not in named]
    if missing or plain:
        raise UsageError(
            f"which graph answers the questions of {', '.join(missing or names)}?",
            hint="pass --graph NAME=URI for each graph of the dataset",
        )
    return {name: named[name] for name in names}


def model_name(spec: str) -> str:
    """A model's spec without its address."""
    return spec.split("@", 1)[0]


def options_digest(dataset: Dataset) -> str:
    """A digest of the questions, the marks of true-empty ones among them."""
    return digest(dumps([dataset.digest, sorted(e.id for e in dataset.examples if _empty(e))]))


def _empty(example: Example) -> bool:
    return bool(example.meta.get(TRUE_EMPTY))
