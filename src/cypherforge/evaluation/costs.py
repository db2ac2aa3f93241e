"""What one question costs in one arm: calls, tokens, money, database operations, seconds.

A strategy is opened once with a counting model and a counting graph. What it uses is charged to the
question that the calling thread works on, as if the arm ran alone: a draft that another arm or an
earlier run has paid for counts here too, and is counted as ``reused`` besides.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from cypherforge.artifacts.journal import Journal
from cypherforge.graph.base import Graph, Plan, Result
from cypherforge.graph.schema import Schema
from cypherforge.graph.statistics import Statistics
from cypherforge.llm.base import ChatAnswer, ChatModel, ChatRequest, request_key
from cypherforge.llm.prices import Price


@dataclass(slots=True)
class Cost:
    """What was used. ``money`` in US dollars, None where a price is not known.

    ``seconds`` is what the models and the database took: for an answer that was reused, what it took
    when this run got it, else nothing (``untimed`` counts those). ``database`` counts queries and
    plans, scoring left out.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    money: float | None = 0.0
    database: int = 0
    model_seconds: float = 0.0
    database_seconds: float = 0.0
    reused: int = 0
    untimed: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def tokens(self) -> int:
        """Prompt and answer tokens together."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def seconds(self) -> float:
        """Seconds of models and database together."""
        return self.model_seconds + self.database_seconds

    def add(self, other: Cost) -> None:
        """Add what another has used."""
        with self._lock:
            self.calls += other.calls
            self.prompt_tokens += other.prompt_tokens
            self.completion_tokens += other.completion_tokens
            known = self.money is not None and other.money is not None
            self.money = (self.money or 0.0) + (other.money or 0.0) if known else None
            self.database += other.database
            self.model_seconds += other.model_seconds
            self.database_seconds += other.database_seconds
            self.reused += other.reused
            self.untimed += other.untimed

    def to_json(self) -> dict[str, Any]:
        """The counts as plain data."""
        row = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "_lock"}
        row["model_seconds"] = round(self.model_seconds, 4)
        row["database_seconds"] = round(self.database_seconds, 4)
        if self.money is not None:
            row["money"] = round(self.money, 8)
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Cost:
        """What ``to_json`` wrote."""
        return cls(**row)


_CURRENT: ContextVar[Cost | None] = ContextVar("cost of the question", default=None)


class Ledger:
    """Charges to the question at hand; what threads of a strategy's own use goes to ``unassigned``."""

    def __init__(self) -> None:
        self.unassigned = Cost()

    @contextmanager
    def question(self) -> Iterator[Cost]:
        """Charge everything inside to one question."""
        cost = Cost()
        token = _CURRENT.set(cost)
        try:
            yield cost
        finally:
            _CURRENT.reset(token)

    def charge(self, cost: Cost) -> None:
        """Add to the question that this thread works on."""
        (_CURRENT.get() or self.unassigned).add(cost)


@dataclass(frozen=True, slots=True)
class CountingModel:
    """Charges each answer. ``times`` remembers how long an answer took when it was really got."""

    inner: ChatModel
    ledger: Ledger
    times: Journal
    price: Price | None

    @property
    def name(self) -> str:
        """The name of the model inside."""
        return self.inner.name

    def chat(self, request: ChatRequest) -> ChatAnswer:
        """The answer of the model inside."""
        begun = time.monotonic()
        answer = self.inner.chat(request)
        took = time.monotonic() - begun
        key = request_key(self.name, request)
        known = self.times.get(key)
        reused = answer.cached or known is not None
        if not answer.cached and known is None:
            self.times.append(key, round(took, 4))
            known = took
        money = None
        if self.price is not None:
            money = self.price.cost(answer.prompt_tokens, answer.completion_tokens)
        self.ledger.charge(
            Cost(
                calls=1,
                prompt_tokens=answer.prompt_tokens,
                completion_tokens=answer.completion_tokens,
                money=money,
                model_seconds=float(known or 0.0),
                reused=int(reused),
                untimed=int(known is None),
            )
        )
        return answer


class CountingGraph:
    """A graph that charges every query and plan to the question at hand."""

    def __init__(self, inner: Graph, ledger: Ledger) -> None:
        self._inner = inner
        self._ledger = ledger

    @property
    def uri(self) -> str:
        """See ``Graph.uri``."""
        return self._inner.uri

    @property
    def engine(self) -> str:
        """See ``Graph.engine``."""
        return self._inner.engine

    @property
    def read_only(self) -> bool:
        """See ``Graph.read_only``."""
        return self._inner.read_only

    def run(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        limit: int | None = None,
    ) -> Result:
        """See ``Graph.run``."""
        with self._charged():
            return self._inner.run(query, parameters, timeout=timeout, limit=limit)

    def explain(self, query: str, parameters: Mapping[str, Any] | None = None) -> Plan:
        """See ``Graph.explain``."""
        with self._charged():
            return self._inner.explain(query, parameters)

    def schema(self) -> Schema:
        """See ``Graph.schema``."""
        return self._inner.schema()

    def statistics(self) -> Statistics:
        """See ``Graph.statistics``."""
        return self._inner.statistics()

    def sample(
        self, *, label: str | None = None, type: str | None = None, size: int = 3
    ) -> tuple[Any, ...]:
        """See ``Graph.sample``."""
        with self._charged():
            return self._inner.sample(label=label, type=type, size=size)

    def fingerprint(self) -> str:
        """See ``Graph.fingerprint``."""
        return self._inner.fingerprint()

    def close(self) -> None:
        """Nothing: the graph belongs to the run."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def _charged(self) -> Iterator[None]:
        begun = time.monotonic()
        try:
            yield
        finally:
            took = time.monotonic() - begun
            self._ledger.charge(Cost(database=1, database_seconds=took))
