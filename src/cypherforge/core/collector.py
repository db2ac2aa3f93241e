"""Python's collector of unreachable objects, kept away from what lives as long as a run."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def settled() -> Iterator[Callable[[], None]]:
    """Leave what exists alone until the end; the function it gives does so with what came since.

    Each collection of the embedded graph's JVM asks for a full one here, so a long run that keeps
    what it makes would look at all of it again and again. Nothing is done where another has frozen
    objects already (``gc.freeze``).
    """
    if gc.get_freeze_count():
        yield lambda: None
        return
    gc.collect()
    gc.freeze()
    try:
        yield gc.freeze
    finally:
        gc.unfreeze()
