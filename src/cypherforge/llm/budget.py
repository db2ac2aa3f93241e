"""Counting what is sent, and stopping before it is too much.

A :class:`Meter` counts; a :class:`Budget` refuses the call that would pass a limit, before it is sent, so that a
run ends cleanly and can be resumed. Both may be shared by many threads and by several models.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cypherforge.core.errors import BudgetExhausted, UsageError
from cypherforge.llm.base import ChatAnswer, ChatModel, ChatRequest, estimate_tokens
from cypherforge.llm.failures import AttemptFailed
from cypherforge.llm.prices import Price, Prices


@dataclass(slots=True)
class Meter:
    """What was used. ``calls`` counts every attempt that reached a model, rate-limited ones apart."""

    calls: int = 0
    failed: int = 0
    rate_limited: int = 0
    retries: int = 0
    cache_hits: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    money: float = 0.0
    waited: float = 0.0
    unpriced: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, **counts: float) -> None:
        """Add to the named counters."""
        with self._lock:
            for name, amount in counts.items():
                setattr(self, name, getattr(self, name) + amount)

    def add_answer(self, model: str, answer: ChatAnswer, price: Price | None) -> None:
        """Count one answer and its tokens, at ``price`` where that is known."""
        with self._lock:
            self.calls += 1
            self.prompt_tokens += answer.prompt_tokens
            self.completion_tokens += answer.completion_tokens
            if price is None:
                self.unpriced.add(model)
            else:
                self.money += price.cost(answer.prompt_tokens, answer.completion_tokens)

    @property
    def tokens(self) -> int:
        """Prompt and answer tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def to_json(self) -> dict[str, Any]:
        """The counters, sorted; ``money`` is null where a model without a known price was used."""
        with self._lock:
            return {
                "cache_hits": self.cache_hits,
                "calls": self.calls,
                "completion_tokens": self.completion_tokens,
                "failed": self.failed,
                "money": None if self.unpriced else round(self.money, 6),
                "prompt_tokens": self.prompt_tokens,
                "rate_limited": self.rate_limited,
                "retries": self.retries,
                "waited": round(self.waited, 1),
            }


@dataclass(slots=True)
class Reservation:
    """What one call may use at most, until it is settled."""

    calls: int
    tokens: int
    money: float


class Budget:
    """Limits in calls, tokens and US dollars; None is no limit.

    A call is let through only if what is used and what it may need at most (prompt by estimate, answer by
    ``max_tokens``) stay within every limit; while other calls are in flight it waits for their true figures before
    it is refused. Limits below zero raise UsageError.
    """

    def __init__(
        self,
        calls: int | None = None,
        tokens: int | None = None,
        money: float | None = None,
        *,
        prices: Prices | None = None,
    ) -> None:
        for name, limit in (("calls", calls), ("tokens", tokens), ("money", money)):
            if limit is not None and limit < 0:
                raise UsageError(f"a budget of {name} cannot be {limit}", hint="give 0 or more")
        self.calls, self.tokens, self.money = calls, tokens, money
        self.prices = prices or Prices()
        self._used = Reservation(0, 0, 0.0)
        self._flying = Reservation(0, 0, 0.0)
        self._change = threading.Condition()

    def check_price(self, model: str) -> None:
        """Refuse a money budget for a model whose price is not known. Raises UsageError."""
        if self.money is not None and self.prices.of(model) is None:
            raise UsageError(
                f"no price is known for model {model!r}, so a money budget cannot hold",
                hint=f"give it: --price {model}=PROMPT,COMPLETION in dollars per million tokens",
            )

    def reserve(self, model: str, request: ChatRequest) -> Reservation:
        """Set aside what the call may need. Raises BudgetExhausted, naming the limit."""
        return self.reserve_tokens(
            model, estimate_tokens(request.prompt_chars()), request.max_tokens
        )

    def reserve_tokens(self, model: str, prompt: int, completion: int) -> Reservation:
        """As :meth:`reserve`, for so many tokens."""
        price = self.prices.of(model)
        need = Reservation(1, prompt + completion, price.cost(prompt, completion) if price else 0.0)
        with self._change:
            while (over := self._over(need)) is not None and self._flying.calls:
                self._change.wait()
            if over is not None:
                raise BudgetExhausted(
                    over, hint="what was done is kept; start it again with a larger budget"
                )
            _add(self._flying, need, 1)
        return need

    def settle(self, reserved: Reservation, used: Reservation) -> None:
        """Replace a reservation by what the call used."""
        with self._change:
            _add(self._flying, reserved, -1)
            _add(self._used, used, 1)
            self._change.notify_all()

    def _over(self, need: Reservation) -> str | None:
        for name, unit in (("calls", "calls"), ("tokens", "tokens"), ("money", "dollars")):
            limit = getattr(self, name)
            if limit is None:
                continue
            used = getattr(self._used, name)
            if used + getattr(self._flying, name) + getattr(need, name) > limit + 1e-12:
                more = getattr(need, name)
                figures = (
                    f"{used:g} of {limit:g} {unit} used, the next call may need {more:g}"
                    if name != "calls"
                    else f"{used} of {limit} calls used"
                )
                return f"the budget is spent: {figures}"
        return None


def _add(total: Reservation, part: Reservation, sign: int) -> None:
    total.calls += sign * part.calls
    total.tokens += sign * part.tokens
    total.money += sign * part.money


@dataclass(frozen=True, slots=True)
class MeteredModel:
    """Counts every attempt of the model inside, and asks the budget before it."""

    inner: ChatModel
    meter: Meter
    budget: Budget | None = None
    prices: Prices = field(default_factory=Prices)

    @property
    def name(self) -> str:
        """The name of the model inside."""
        return self.inner.name

    def chat(self, request: ChatRequest) -> ChatAnswer:
        """One attempt. Raises BudgetExhausted before the call that would pass a limit."""
        reserved = self.budget.reserve(self.name, request) if self.budget else None
        used = Reservation(0, 0, 0.0)
        try:
            answer = self.inner.chat(request)
        except Exception as error:
            if isinstance(error, AttemptFailed) and error.kind == "rate":
                self.meter.add(rate_limited=1)
            else:
                used.calls = 1
                self.meter.add(calls=1, failed=1)
            raise
        else:
            price = self.prices.of(self.name)
            used = Reservation(1, answer.prompt_tokens + answer.completion_tokens, 0.0)
            if price is not None:
                used.money = price.cost(answer.prompt_tokens, answer.completion_tokens)
            self.meter.add_answer(self.name, answer, price)
            return answer
        finally:
            if self.budget is not None and reserved is not None:
                self.budget.settle(reserved, used)


@dataclass(frozen=True, slots=True)
class Projection:
    """What a number of requests would cost at most; ``money`` is None where the price is not known."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    money: float | None
    price: Price | None

    def __str__(self) -> str:
        money = "price unknown" if self.money is None else f"at most ${self.money:.2f}"
        return (
            f"{self.calls} calls, about {self.prompt_tokens} prompt tokens, "
            f"at most {self.completion_tokens} answer tokens, {money}"
        )


def project(
    model: str, requests: Iterable[ChatRequest], prices: Prices | None = None
) -> Projection:
    """For ``--dry-run``: the calls, tokens and cost of these requests, nothing being sent."""
    calls = prompt = completion = 0
    for request in requests:
        calls += 1
        prompt += estimate_tokens(request.prompt_chars())
        completion += request.max_tokens
    price = (prices or Prices()).of(model)
    money = None if price is None else price.cost(prompt, completion)
    return Projection(calls, prompt, completion, money, price)
