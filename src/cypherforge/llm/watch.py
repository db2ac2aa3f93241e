"""Watching an answer while it comes: each token is shown to a function, which may cut the answer off.

A watch is of the calling thread, not of the request: it passes through caches, retries and budgets
without changing any key. An endpoint that streams log probabilities heeds it; elsewhere, and for an
answer from a cache, it sees nothing and the answer comes whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from cypherforge.llm.base import TokenLogprob

#: Sees a token; False cuts the answer off after it.
Watch = Callable[[TokenLogprob], bool]
#: The note of an answer that was cut: its ``finish`` is ``length``, so it is never cached.
CUT = "cut off while it streamed"

_watch: ContextVar[Watch | None] = ContextVar("cypherforge_watch", default=None)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """While this lasts, ``watch`` sees the tokens of this thread's answers."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def current_watch() -> Watch | None:
    """The watch of this thread; None if nobody watches."""
    return _watch.get()
