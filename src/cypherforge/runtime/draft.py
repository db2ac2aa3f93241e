"""Draft: one model call, and the query read out of its answer."""

from dataclasses import dataclass

from cypherforge.core.errors import CypherForgeError
from cypherforge.cypher.answers import last_query
from cypherforge.llm.base import ChatAnswer, ChatModel, ChatRequest


@dataclass(frozen=True, slots=True)
class Draft:
    """The drafted query, or None with the reason; ``answer`` is what the model said."""

    query: str | None
    answer: ChatAnswer | None
    reason: str = ""


def draft(model: ChatModel, request: ChatRequest) -> Draft:
    """Ask for a draft. An answer that was cut off is no answer, even where it parses.

    Raises the model's errors; never raises for an answer without a query.
    """
    answer = model.chat(request)
    if not answer.usable:
        reasons = {
            "length": f"the answer was cut off at {answer.completion_tokens} tokens",
            "refused": "the model refused",
            "empty": "the answer was empty",
        }
        return Draft(None, answer, reasons.get(answer.finish, f"finish: {answer.finish}"))
    try:
        return Draft(last_query(answer.text), answer)
    except CypherForgeError as error:
        return Draft(None, answer, error.message)
