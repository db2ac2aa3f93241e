"""From options to what a run needs: graphs, models behind the shared cache, one budget."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from cypherforge.core.executor import ThreadExecutor
from cypherforge.core.paths import answers_folder
from cypherforge.core.progress import Progress
from cypherforge.evaluation.matrix import Services
from cypherforge.graph.base import Graph
from cypherforge.graph.connect import connect
from cypherforge.llm.base import ChatModel
from cypherforge.llm.budget import Budget, Meter
from cypherforge.llm.prices import Prices, parse_price
from cypherforge.llm.specs import open_model

EXAMPLE = "example"


def example_file(name: str) -> Path:
    """A file of the example that comes with the package."""
    return Path(str(files("cypherforge.artifacts") / EXAMPLE / name))


@dataclass(frozen=True, slots=True)
class Opening:
    """How graphs and models are opened. Budgets hold for all models together."""

    workers: int = 2
    timeout: float = 15.0
    user: str | None = None
    database: str | None = None
    values: bool = True
    provenance: bool = True
    bundle: str = ""
    max_calls: int | None = None
    max_tokens: int | None = None
    max_money: float | None = None
    prices: tuple[str, ...] = ()
    record: Path | None = None
    command: str = ""

    def price_list(self) -> Prices:
        """Own prices before the table's. Raises UsageError for one that cannot be read."""
        return Prices(dict(map(parse_price, self.prices)))


@contextlib.contextmanager
def open_services(
    specs: Mapping[str, str], models: Sequence[str], progress: Progress, how: Opening
) -> Iterator[tuple[Services, Meter]]:
    """Open every graph and model; graphs are closed at the end."""
    meter = Meter()
    prices = how.price_list()
    budget = Budget(how.max_calls, how.max_tokens, how.max_money, prices=prices)
    opened_models = {
        spec: open_chat(spec, progress, meter=meter, budget=budget, record=how.record)
        for spec in dict.fromkeys(models)
    }
    with open_graphs(specs, how) as graphs:
        yield (
            Services(
                graphs,
                opened_models,
                prices,
                ThreadExecutor(how.workers),
                progress,
                how.timeout,
                how.values,
                how.provenance,
                how.bundle or None,
                how.command,
            ),
            meter,
        )


@contextlib.contextmanager
def open_graphs(specs: Mapping[str, str], how: Opening) -> Iterator[dict[str, Graph]]:
    """Open each graph once, whatever number of names it has."""
    with contextlib.ExitStack() as stack:
        by_spec: dict[str, Graph] = {}
        graphs: dict[str, Graph] = {}
        for name, spec in specs.items():
            if spec not in by_spec:
                graph = connect(spec, user=how.user, database=how.database, timeout=how.timeout)
                by_spec[spec] = stack.enter_context(graph)
            graphs[name] = by_spec[spec]
        yield graphs


def open_chat(
    spec: str,
    progress: Progress,
    *,
    meter: Meter,
    budget: Budget | None = None,
    record: Path | None = None,
) -> ChatModel:
    """A model behind the cache that all runs share."""
    return open_model(
        spec,
        cache=answers_folder(),
        budget=budget,
        record=record,
        meter=meter,
        progress=progress,
        record_command="cypherforge eval run ... --model NAME@URL --record FILE",
    )
