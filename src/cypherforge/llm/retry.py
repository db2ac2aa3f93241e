"""The one layer that retries, with one pause that all threads of a model share.

When a server turns a call away and says how long to wait, every thread waits that long, and none spends a retry
on it. Other failures are retried with growing waits of the thread's own. What cannot get better (401, no quota, a
prompt that is too long) is never retried.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type

from cypherforge.core.errors import ModelUnavailable
from cypherforge.llm.base import ChatAnswer, ChatModel, ChatRequest
from cypherforge.llm.budget import Meter
from cypherforge.llm.failures import AttemptFailed

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Attempts in all, first wait and longest wait in seconds, and how long pauses may keep one call waiting."""

    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 30.0
    patience: float = 900.0

    def backoff(self, failures: int) -> float:
        """Seconds to wait after so many failures, with jitter so that threads do not come back together."""
        wait = min(self.first_wait * 2.0 ** (failures - 1), self.longest_wait)
        return wait * random.uniform(0.75, 1.0)


class Pause:
    """One pause for all threads: while it lasts, nobody sends anything."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        on_wait: Callable[[float, str], None] | None = None,
    ) -> None:
        """``on_wait(seconds, reason)`` is told of each pause once, not once a thread."""
        self.clock = clock
        self.sleep = sleep
        self._on_wait = on_wait
        self._lock = threading.Lock()
        self._until = float("-inf")
        self._begun = float("-inf")

    def hold(self, seconds: float, reason: str) -> None:
        """Pause all threads for ``seconds`` from now, unless a longer pause is on."""
        with self._lock:
            now = self.clock()
            news = now >= self._until
            self._begun = now
            self._until = max(self._until, now + seconds)
        if news:
            self.tell(seconds, reason)

    def tell(self, seconds: float, reason: str) -> None:
        """Show a wait and why it is made."""
        if self._on_wait is not None:
            self._on_wait(seconds, reason)

    def begun_since(self, moment: float) -> bool:
        """Whether a pause has begun after ``moment`` of the clock."""
        with self._lock:
            return self._begun > moment

    def wait(self) -> float:
        """Wait until no pause is on; gives the seconds waited."""
        start = self.clock()
        while True:
            with self._lock:
                left = self._until - self.clock()
            if left <= 0:
                return self.clock() - start
            self.sleep(left)


@dataclass(slots=True)
class _Call:
    """One call's failures so far."""

    failures: int = 0
    timeouts: int = 0
    paused: float = 0.0
    sent_at: float = 0.0
    seen: int = 0
    wait: float = 0.0


@dataclass(slots=True)
class Retrier:
    """Calls a function until it succeeds or gives up; safe for many threads."""

    meter: Meter
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    pause: Pause = field(default_factory=Pause)
    _answered: bool = False

    def call(self, attempt: Callable[[], T]) -> T:
        """The result of ``attempt``. Raises ModelUnavailable after the last failure, other errors at once."""
        call = _Call()

        def once() -> T:
            waited = self.pause.wait()
            if waited > 0:
                call.paused += waited
                self.meter.add(waited=waited)
            call.sent_at = self.pause.clock()
            result = attempt()
            self._answered = True
            return result

        def digest(state: RetryCallState) -> _Call:
            # tenacity asks for the wait and for the end, in that order, after each failure: count it once.
            if state.attempt_number > call.seen and state.outcome is not None:
                call.seen = state.attempt_number
                error = state.outcome.exception()
                assert isinstance(error, AttemptFailed)
                self._count(call, error)
            return call

        retrying = Retrying(
            retry=retry_if_exception_type(AttemptFailed),
            wait=lambda state: digest(state).wait,
            stop=lambda state: self._ended(digest(state), state),
            before_sleep=lambda state: self.meter.add(retries=1),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return retrying(once)
        except AttemptFailed as error:
            tried = "once" if call.seen == 1 else f"{call.seen} times"
            raise ModelUnavailable(
                f"{error.message} (tried {tried})",
                where=error.where,
                hint=error.hint or "start it again when the model answers: what was done is kept",
            ) from None

    def _count(self, call: _Call, error: AttemptFailed) -> None:
        call.wait = 0.0
        if error.kind in ("rate", "server"):
            self._answered = True
        if error.kind == "rate":
            # Sent before the pause that is on now: nothing new, and no retry spent.
            known = self.pause.begun_since(call.sent_at)
            if error.wait is None:
                if not known:
                    call.failures += 1
                    self.pause.hold(
                        self.policy.backoff(call.failures), f"{error.message}, backing off"
                    )
                return
            if error.wait <= 0 and not known:
                call.failures += 1
            self.pause.hold(error.wait, f"{error.message}, it asks to wait")
            return
        call.failures += 1
        call.timeouts += error.kind == "timeout"
        call.wait = self.policy.backoff(call.failures) if error.wait is None else error.wait

    def _ended(self, call: _Call, state: RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome is not None else None
        if call.failures >= self.policy.attempts or call.paused >= self.policy.patience:
            return True
        # A server that was never there will hardly come up while we wait; a hanging one costs minutes a try.
        unreachable = isinstance(error, AttemptFailed) and error.kind == "connection"
        if (unreachable and not self._answered and call.failures >= 2) or call.timeouts >= 2:
            return True
        if call.wait > 0 and isinstance(error, AttemptFailed):
            self.pause.tell(call.wait, error.message)
        return False

    def _sleep(self, seconds: float) -> None:
        if seconds > 0:
            self.pause.sleep(seconds)
            self.meter.add(waited=seconds)


@dataclass(frozen=True, slots=True)
class RetryingModel:
    """A model whose failed attempts are retried."""

    inner: ChatModel
    retrier: Retrier

    @property
    def name(self) -> str:
        """The name of the model inside."""
        return self.inner.name

    def chat(self, request: ChatRequest) -> ChatAnswer:
        """The answer of the first attempt that gets one. Raises ModelUnavailable after the last."""
        return self.retrier.call(lambda: self.inner.chat(request))
