"""What a model costs, in US dollars per million tokens: a dated table, and prices of one's own.

Prices change; the table says when each was read and where. A price that is not known is never guessed: a money
budget refuses such a model until its price is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cypherforge.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million prompt tokens and per million answer tokens."""

    prompt: float
    completion: float
    source: str = "own"
    read_on: str = ""

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """US dollars for so many tokens."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1_000_000


_OPENAI = ("developers.openai.com/api/docs/pricing", "2026-06")
_OPENAI_OLD = ("openai.com/api/pricing", "2025-08")
_ANTHROPIC = ("platform.claude.com/docs/en/about-claude/pricing", "2026-10")

TABLE: Mapping[str, Price] = {
    "openai:gpt-5.5": Price(5.0, 30.0, *_OPENAI),
    "openai:gpt-5.4": Price(2.5, 15.0, *_OPENAI),
    "openai:gpt-5.4-mini": Price(0.75, 4.5, *_OPENAI),
    "openai:gpt-5.4-nano": Price(0.2, 1.25, *_OPENAI),
    "openai:gpt-5": Price(1.25, 10.0, *_OPENAI_OLD),
    "openai:gpt-5-mini": Price(0.25, 2.0, *_OPENAI_OLD),
    "openai:gpt-5-nano": Price(0.05, 0.4, *_OPENAI_OLD),
    "openai:gpt-4.1": Price(2.0, 8.0, *_OPENAI_OLD),
    "openai:gpt-4.1-mini": Price(0.4, 1.6, *_OPENAI_OLD),
    "openai:gpt-4.1-nano": Price(0.1, 0.4, *_OPENAI_OLD),
    "openai:gpt-4o": Price(2.5, 10.0, *_OPENAI_OLD),
    "openai:gpt-4o-mini": Price(0.15, 0.6, *_OPENAI_OLD),
    "openai:gpt-4-turbo": Price(10.0, 30.0, *_OPENAI_OLD),
    "openai:o3": Price(2.0, 8.0, *_OPENAI_OLD),
    "openai:o4-mini": Price(1.1, 4.4, *_OPENAI_OLD),
    "openai:text-embedding-3-small": Price(0.02, 0.0, *_OPENAI_OLD),
    "openai:text-embedding-3-large": Price(0.13, 0.0, *_OPENAI_OLD),
    "anthropic:claude-opus-5-5": Price(4.0, 20.0, *_ANTHROPIC),
    "anthropic:claude-opus-5": Price(5.0, 25.0, *_ANTHROPIC),
    "anthropic:claude-opus-4-8": Price(5.0, 25.0, *_ANTHROPIC),
    "anthropic:claude-opus-4-7": Price(5.0, 25.0, *_ANTHROPIC),
    "anthropic:claude-opus-4-6": Price(5.0, 25.0, *_ANTHROPIC),
    "anthropic:claude-opus-4-5": Price(5.0, 25.0, *_ANTHROPIC),
    "anthropic:claude-opus-4-1": Price(15.0, 75.0, *_ANTHROPIC),
    "anthropic:claude-sonnet-5-5": Price(2.0, 10.0, *_ANTHROPIC),
    "anthropic:claude-sonnet-4-6": Price(3.0, 15.0, *_ANTHROPIC),
    "anthropic:claude-sonnet-4-5": Price(3.0, 15.0, *_ANTHROPIC),
    "anthropic:claude-sonnet-4": Price(3.0, 15.0, *_ANTHROPIC),
    "anthropic:claude-haiku-4-5": Price(1.0, 5.0, *_ANTHROPIC),
    "anthropic:claude-3-5-haiku": Price(0.8, 4.0, *_ANTHROPIC),
}
"""Standard rates for prompts below 200,000 tokens; discounts (batches, cached prompts) are left out."""

FREE = Price(0.0, 0.0, "nothing is sent")


@dataclass(frozen=True, slots=True)
class Prices:
    """Own prices first, then the table. Names are those of models: ``openai:NAME``, ``anthropic:NAME``, NAME."""

    own: Mapping[str, Price] = field(default_factory=dict)

    def of(self, model: str) -> Price | None:
        """The price of a model, or None where it is not known.

        A dated release (``gpt-4o-2024-08-06``, ``claude-sonnet-4-5-20250929``, ``-latest``) has the price of its
        family.
        """
        if model.startswith(("scripted:", "recorded:")) or model == "none":
            return FREE
        for table in (self.own, TABLE):
            if model in table:
                return table[model]
            family = model.removesuffix("-latest")
            parts = family.split("-")
            while parts and parts[-1].isdigit() and len(parts[-1]) in (2, 4, 8):
                parts.pop()
                if "-".join(parts) in table:
                    return table["-".join(parts)]
            if family in table:
                return table[family]
        return None


def parse_price(text: str) -> tuple[str, Price]:
    """``NAME=PROMPT,COMPLETION`` in US dollars per million tokens. Raises UsageError."""
    name, found, numbers = text.rpartition("=")
    try:
        prompt, completion = (float(part) for part in numbers.split(","))
    except ValueError:
        found = ""
        prompt = completion = 0.0
    if not found or not name or not (0 <= prompt < 1e6 and 0 <= completion < 1e6):
        raise UsageError(
            f"not a price: {text!r}",
            hint="write NAME=PROMPT,COMPLETION in dollars per million tokens, e.g. qwen=0.2,0.6",
        )
    return name, Price(prompt, completion)
