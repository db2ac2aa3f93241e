"""Bounded threads: order, interruption, failures in their place."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cypherforge.core.executor import ThreadExecutor, map_ordered


def test_results_come_in_input_order_whatever_finishes_first() -> None:
    finished: list[int] = []
    done = [threading.Event() for _ in range(9)]
    done[8].set()

    def after_the_next(n: int) -> int:
        assert done[n + 1].wait(60)
        return n * n

    def keep(n: int, _: int) -> None:
        finished.append(n)
        done[n].set()

    results = list(map_ordered(after_the_next, range(8), workers=8, on_result=keep))
    assert results == [n * n for n in range(8)]
    assert finished == list(range(7, -1, -1))


def test_no_more_than_the_workers_run_at_once_and_input_is_taken_lazily() -> None:
    running, most, taken = 0, 0, 0
    lock = threading.Lock()

    def work(n: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.002)
        with lock:
            running -= 1
        return n

    def source() -> object:
        nonlocal taken
        for n in range(1000):
            taken += 1
            yield n

    results = ThreadExecutor(workers=3).map(work, source())  # type: ignore[arg-type]
    assert next(results) == 0
    assert taken <= 3 * 16
    assert list(results) == list(range(1, 1000))
    assert most <= 3


def test_a_failure_is_raised_in_its_place_and_what_was_begun_is_kept() -> None:
    kept: list[int] = []
    begun: list[int] = []

    def work(n: int) -> int:
        begun.append(n)
        if n == 3:
            raise KeyError("three")
        time.sleep(0.05)
        return n

    results = map_ordered(work, range(100), workers=4, on_result=lambda n, _: kept.append(n))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError, match="three"):
        next(results)
    assert sorted(kept) == [n for n in sorted(begun) if n != 3]
    assert len(begun) < 10


def test_stop_ends_the_results_early() -> None:
    stop = threading.Event()
    kept: list[int] = []

    def work(n: int) -> int:
        if n == 5:
            stop.set()
        return n

    results = list(
        map_ordered(work, range(1000), workers=2, stop=stop, on_result=lambda n, _: kept.append(n))
    )
    assert results == list(range(len(results)))
    assert 5 <= len(results) < 1000
    assert set(results) <= set(kept)


def test_an_error_of_on_result_surfaces() -> None:
    def fail(item: int, result: int) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        list(map_ordered(lambda n: n, range(5), on_result=fail))


def test_nothing_and_nonsense() -> None:
    assert list(map_ordered(str, [])) == []
    with pytest.raises(ValueError, match="at least 1"):
        list(map_ordered(str, [1], workers=0))


def test_control_c_keeps_what_was_in_flight(tmp_path: Path) -> None:
    log = tmp_path / "log"
    # A shell starts background jobs with the interrupt ignored, and children inherit that.
    code = f"""
import signal
import sys
import time
from cypherforge.core.executor import map_ordered
signal.signal(signal.SIGINT, signal.default_int_handler)
def work(n):
    sys.stdout.write(f"begun {{n}}\\n")
    sys.stdout.flush()
    time.sleep(0.5)
    return n
def keep(n, result):
    with open({str(log)!r}, "a") as file:
        file.write(f"{{n}}\\n")
for _ in map_ordered(work, range(1000), workers=4, on_result=keep):
    pass
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    begun = [process.stdout.readline() for _ in range(4)]
    os.kill(process.pid, signal.SIGINT)
    rest, _ = process.communicate(timeout=120)
    kept = {int(n) for n in log.read_text().split()}
    assert kept == {int(line.split()[1]) for line in [*begun, *rest.splitlines()]}
    assert len(kept) <= 8
    assert process.returncode != 0
