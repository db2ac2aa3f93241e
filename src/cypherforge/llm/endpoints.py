"""A real endpoint with everything around one attempt: budget, retries, and more room for a cut-off answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cypherforge.core.errors import BudgetExhausted
from cypherforge.core.progress import Progress
from cypherforge.llm.base import ChatAnswer, ChatModel, ChatRequest
from cypherforge.llm.budget import Budget, Meter, MeteredModel
from cypherforge.llm.prices import Prices
from cypherforge.llm.retry import Pause, Retrier, RetryingModel, RetryPolicy
from cypherforge.llm.specs import ModelSpec


@dataclass(frozen=True, slots=True)
class RoomierModel:
    """Asks once more, with more tokens, where an answer was cut off and the budget allows it."""

    inner: ChatModel

    @property
    def name(self) -> str:
        """The name of the model inside."""
        return self.inner.name

    def chat(self, request: ChatRequest) -> ChatAnswer:
        """The answer; ``length`` only if it was cut off twice, or the budget forbids the second call."""
        answer = self.inner.chat(request)
        if answer.finish != "length" or not request.roomy:
            return answer
        # Nothing but reasoning so far: that needs far more room than an answer that was nearly done.
        factor = 2 if answer.text.strip() else 4
        try:
            return self.inner.chat(replace(request, max_tokens=request.max_tokens * factor))
        except BudgetExhausted:
            return answer


def on_wait(progress: Progress, name: str, seconds: float, reason: str) -> None:
    """Tell people of a wait and its reason."""
    progress.warn(f"{name}: {reason}; waiting {seconds:.1f} s")


def make_retrier(
    name: str, meter: Meter, progress: Progress | None, policy: RetryPolicy | None = None
) -> Retrier:
    """A retrier that shows every wait."""
    tell = None
    if progress is not None:
        shown = progress

        def tell(seconds: float, reason: str) -> None:
            on_wait(shown, name, seconds, reason)

    return Retrier(meter, policy or RetryPolicy(), Pause(on_wait=tell))


def open_endpoint(
    spec: ModelSpec,
    *,
    meter: Meter,
    budget: Budget | None = None,
    prices: Prices | None = None,
    progress: Progress | None = None,
    timeout: float = 180.0,
    policy: RetryPolicy | None = None,
) -> ChatModel:
    """The model of a spec of kind openai, anthropic or url. Raises ModelAuthError where its key is missing."""
    endpoint: ChatModel
    if spec.kind == "anthropic":
        from cypherforge.llm.anthropic_api import AnthropicEndpoint

        endpoint = AnthropicEndpoint(spec, timeout)
    else:
        from cypherforge.llm.openai_api import OpenAIEndpoint

        endpoint = OpenAIEndpoint(spec, timeout)
    metered = MeteredModel(endpoint, meter, budget, prices or Prices())
    retrier = make_retrier(endpoint.name, meter, progress, policy)
    return RoomierModel(RetryingModel(metered, retrier))
