"""Draft: one model call, and the query read out of its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cypherforge.cypher.answers import NoQuery, last_query
from cypherforge.llm.base import ChatAnswer, ChatModel, ChatRequest


@dataclass(frozen=True, slots=True)
class Draft:
    """The drafted query, or None with the reason; ``answer`` is what the model said.

    ``parameters`` are values that the answer gave along with the query; ``notes`` say how the
    query was read out of it.
    """

    query: str | None
    answer: ChatAnswer | None
    reason: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


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
        found = last_query(answer.text)
    except NoQuery as error:
        return Draft(None, answer, error.message)
    if found.missing:
        return Draft(None, answer, f"missing_parameter({found.missing[0]})", notes=found.notes)
    return Draft(found.text, answer, "", found.parameters, found.notes)
