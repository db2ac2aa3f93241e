"""A strategy as a LangChain tool (extra ``langchain``)."""

from __future__ import annotations

from cypherforge.runtime.adapters import as_text, missing
from cypherforge.runtime.aio import Answers
from cypherforge.runtime.aio import answer as answer_later
from cypherforge.runtime.pipeline import Answer

try:
    from langchain_core.tools import StructuredTool
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise missing("langchain", error) from error

DESCRIPTION = (
    "Answers a question about the graph database. Give the whole question in natural language; "
    "rows come back, or the reason why there are none."
)


def as_tool(
    strategy: Answers, *, name: str = "ask_graph", description: str = DESCRIPTION
) -> StructuredTool:
    """A tool with one argument, ``question``; the answer object is the tool's artifact."""

    def ask(question: str) -> tuple[str, Answer]:
        found = strategy.answer(question)
        return as_text(found), found

    async def ask_later(question: str) -> tuple[str, Answer]:
        found = await answer_later(strategy, question)
        return as_text(found), found

    return StructuredTool.from_function(
        func=ask,
        coroutine=ask_later,
        name=name,
        description=description,
        response_format="content_and_artifact",
    )
