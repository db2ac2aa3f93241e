"""The requests that the runtime sends. One template serves every draft.

With no rule, shape or exemplar the prompt is the **zero-shot prompt** (CypherGuard, section 4:
schema and question only). It is the baseline of every lift that is claimed, so its templates do
not change without a new ``PROMPT_VERSION``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cypherforge.llm.base import ChatRequest, Message
from cypherforge.templates import render

PROMPT_VERSION = 1

# A gold of the benchmarks has some 60 tokens, the longest 300; a small model that passes this
# walks in circles, and every token of it is waited for.
MAX_TOKENS = 320


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A question with its gold query, shown to the model."""

    question: str
    cypher: str


def draft_request(
    schema_text: str,
    question: str,
    *,
    rules: Sequence[str] = (),
    shapes: Sequence[str] = (),
    exemplars: Sequence[Exemplar] = (),
    max_tokens: int = MAX_TOKENS,
) -> ChatRequest:
    """Build the request for a draft: schema, rules, shapes, exemplars, then the question.

    The parts that many questions share stand first, so that an endpoint's prefix cache serves
    them.
    """
    user = render(
        "prompts/draft_user.jinja",
        schema=schema_text,
        rules=list(rules),
        shapes=list(shapes),
        exemplars=list(exemplars),
        question=" ".join(question.split()),
    )
    system = render("prompts/draft_system.jinja")
    return ChatRequest(
        messages=(Message("system", system), Message("user", user)), max_tokens=max_tokens
    )


def zero_shot_request(schema_text: str, question: str) -> ChatRequest:
    """The frozen baseline: schema with directions, and the question; nothing else."""
    return draft_request(schema_text, question)
