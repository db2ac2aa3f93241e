"""The asynchronous twin: answers awaited, and the steps of the trace as they happen.

The database drivers and the model clients block, so each question runs in a thread of its own; the
event loop stays free.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

from cypherforge.runtime.pipeline import Answer
from cypherforge.runtime.trace import Listener, Step


class Answers(Protocol):
    """A strategy, or anything else that answers with a listener."""

    def answer(self, question: str, *, listener: Listener | None = None) -> Answer:
        """Answer one question."""


async def answer(strategy: Answers, question: str) -> Answer:
    """Await an answer. Raises as the strategy does."""
    return await asyncio.to_thread(strategy.answer, question)


async def stream(strategy: Answers, question: str) -> AsyncIterator[Step | Answer]:
    """The steps as they happen, and at the end the answer. Raises as the strategy does.

    A consumer that stops early leaves the question to end in its thread.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Step | None] = asyncio.Queue()

    def listener(step: Step) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, step)

    def work() -> Answer:
        try:
            return strategy.answer(question, listener=listener)
        finally:
            loop.call_soon_threadsafe(queue.put_nowait, None)

    task = asyncio.create_task(asyncio.to_thread(work))
    while (step := await queue.get()) is not None:
        yield step
    yield await task
