"""From command-line options to what the stages need: graphs, models, budgets, run folders."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from cypherforge.core.datasets import Dataset, Example
from cypherforge.core.errors import UsageError
from cypherforge.core.executor import ThreadExecutor
from cypherforge.core.paths import answers_folder
from cypherforge.core.progress import Progress
from cypherforge.graph.base import Graph
from cypherforge.graph.connect import connect
from cypherforge.graph.policy import ALL_VALUES, ValuePolicy
from cypherforge.llm.base import ChatModel
from cypherforge.llm.budget import Budget, Meter
from cypherforge.llm.prices import Prices, parse_price
from cypherforge.llm.specs import open_model
from cypherforge.miner.stages import Services

EXAMPLE = "example"
RECORD_COMMAND = (
    "cypherforge mine example --model NAME@URL --record artifacts/example/answers.jsonl --fresh"
)


def example_folder() -> Path:
    """The folder of the example that comes with the package."""
    return Path(str(files("cypherforge.artifacts") / "example"))


@dataclass(frozen=True, slots=True)
class Limits:
    """A run's budget; None is no limit. ``prices`` are ``MODEL=PROMPT,COMPLETION`` a million."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    prices: tuple[str, ...] = ()

    def budget(self) -> Budget:
        """The budget. Raises ``UsageError`` for a price that cannot be read."""
        return Budget(
            self.calls, self.tokens, self.money, prices=Prices(dict(map(parse_price, self.prices)))
        )


def graph_specs(given: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Which graph answers the questions of which name.

    One spec serves a dataset of one graph; several graphs take ``NAME=SPEC`` each.
    """
    if not given:
        raise UsageError("no graph is given", hint="--graph URI, embedded:PATH or example")
    named = dict(spec.split("=", 1) for spec in given if _is_named(spec))
    plain = [spec for spec in given if not _is_named(spec)]
    if len(plain) > 1 or (plain and (named or len(names) > 1)):
        raise UsageError(
            f"the dataset asks {len(names)} graphs: {', '.join(names)}",
            hint="pass --graph NAME=URI for each",
        )
    if plain:
        return {name: plain[0] for name in names}
    missing = [name for name in names if name not in named]
    if missing:
        raise UsageError(
            f"no graph is given for the questions of {', '.join(missing)}",
            hint="pass --graph NAME=URI for each graph of the dataset",
        )
    return {name: named[name] for name in names}


def _is_named(spec: str) -> bool:
    head, found, _ = spec.partition("=")
    return bool(found) and ":" not in head and "/" not in head


@contextlib.contextmanager
def open_services(
    specs: Mapping[str, str],
    model: str,
    progress: Progress,
    *,
    limits: Limits,
    record: Path | None = None,
    workers: int = 2,
    user: str | None = None,
    database: str | None = None,
    timeout: float = 15.0,
    policy: ValuePolicy = ALL_VALUES,
) -> Iterator[tuple[Services, Meter]]:
    """Open every graph and the model; graphs are closed at the end."""
    meter = Meter()
    backbone = open_backbone(model, progress, limits, meter, record)
    with contextlib.ExitStack() as stack:
        graphs: dict[str, Graph] = {}
        opened: dict[str, Graph] = {}
        for name, spec in specs.items():
            if spec not in opened:
                graph = connect(spec, user=user, database=database, timeout=timeout)
                opened[spec] = stack.enter_context(graph)
            graphs[name] = opened[spec]
        yield Services(graphs, backbone, ThreadExecutor(workers), progress, policy), meter


def open_backbone(
    model: str, progress: Progress, limits: Limits, meter: Meter, record: Path | None = None
) -> ChatModel:
    """The model of a spec, behind the cache that all runs share."""
    return open_model(
        model,
        cache=answers_folder(),
        budget=limits.budget(),
        record=record,
        meter=meter,
        progress=progress,
        record_command=RECORD_COMMAND,
    )


def named_graph(dataset: Dataset, name: str) -> Dataset:
    """The dataset with ``name`` for questions that name no graph."""
    examples = tuple(
        e if e.graph else Example(e.id, e.question, e.cypher, name, e.split, e.meta)
        for e in dataset.examples
    )
    return Dataset(name=dataset.name, examples=examples, problems=dataset.problems)
