"""Bounded threads around blocking calls: results in input order, whatever finishes first.

Stages that map over rows take an :class:`Executor`; :class:`ThreadExecutor` is the default.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Executor(Protocol):
    """Applies a function to every item, in any order, and gives the results in input order."""

    def map(
        self,
        fn: Callable[[Item], Outcome],
        items: Iterable[Item],
        *,
        on_result: Callable[[Item, Outcome], None] | None = None,
        stop: threading.Event | None = None,
    ) -> Iterator[Outcome]:
        """See :func:`map_ordered`."""


@dataclass(frozen=True, slots=True)
class ThreadExecutor:
    """Threads of this process."""

    workers: int = 4

    def map(
        self,
        fn: Callable[[Item], Outcome],
        items: Iterable[Item],
        *,
        on_result: Callable[[Item, Outcome], None] | None = None,
        stop: threading.Event | None = None,
    ) -> Iterator[Outcome]:
        """See :func:`map_ordered`."""
        return map_ordered(fn, items, workers=self.workers, on_result=on_result, stop=stop)


@dataclass(slots=True)
class _Slot:
    item: Any
    done: threading.Event
    result: Any = None
    error: BaseException | None = None
    ran: bool = False


def map_ordered(
    fn: Callable[[Item], Outcome],
    items: Iterable[Item],
    *,
    workers: int = 4,
    on_result: Callable[[Item, Outcome], None] | None = None,
    stop: threading.Event | None = None,
    grace: float = 10.0,
) -> Iterator[Outcome]:
    """Yield ``fn(item)`` for every item, in input order, computed by ``workers`` threads.

    ``on_result(item, result)`` is called as soon as an item is done, in finishing order, one call at a time:
    the place to keep results, for it also sees those that finish after an interruption. The first exception, in
    input order, is raised at its place; no item is begun after one has failed, and those begun are finished
    and kept. The same when ``stop`` is set (the results end early) and at Ctrl-C, which waits ``grace`` seconds
    at most for calls in flight. At most 16 items a worker are ahead of the reader.
    """
    if workers < 1:
        raise ValueError("workers must be at least 1")
    halt = threading.Event()
    work: queue.SimpleQueue[_Slot | None] = queue.SimpleQueue()
    report = threading.Lock()

    def loop() -> None:
        while (slot := work.get()) is not None:
            try:
                if not (halt.is_set() or (stop is not None and stop.is_set())):
                    slot.result = fn(slot.item)
                    slot.ran = True
                    if on_result is not None:
                        with report:
                            on_result(slot.item, slot.result)
            except BaseException as error:  # noqa: BLE001 - raised again by the reader, in order
                slot.error = error
                halt.set()
            finally:
                slot.done.set()

    # Daemons: a second Ctrl-C must be able to leave while a call hangs.
    threads = [threading.Thread(target=loop, daemon=True) for _ in range(workers)]
    pending: list[_Slot] = []
    source = iter(items)
    try:
        for thread in threads:
            thread.start()
        exhausted = False
        while True:
            while not exhausted and not halt.is_set() and len(pending) < 16 * workers:
                try:
                    slot = _Slot(next(source), threading.Event())
                except StopIteration:
                    exhausted = True
                    break
                pending.append(slot)
                work.put(slot)
            if not pending:
                return
            slot = pending[0]
            slot.done.wait()
            if slot.error is not None:
                raise slot.error
            if not slot.ran:
                # Stopped here; an error, if one caused it, stands further on.
                for later in pending:
                    later.done.wait()
                    if later.error is not None:
                        raise later.error
                return
            pending.pop(0)
            yield slot.result
    finally:
        halt.set()
        for _ in threads:
            work.put(None)
        deadline = time.monotonic() + grace
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
