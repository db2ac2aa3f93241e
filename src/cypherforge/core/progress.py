"""How a stage tells people what it is doing: on stderr, never mixed with data.

On a terminal a bar; anywhere else plain lines with percent, without colour codes or spinners. Texts are
printed as they are: brackets are no markup and ``:word:`` is no emoji.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import (
    Progress as Bar,
)
from rich.text import Text

from cypherforge.core.console import echo, fit, on_terminal, printable


class Progress(Protocol):
    """What stages report to. Implementations are thread-safe."""

    def start(self, stage: str, total: int | None = None) -> None:
        """A stage begins; ``total`` items are expected where that is known."""

    def advance(self, n: int = 1, note: str = "") -> None:
        """``n`` more items are done."""

    def finish(self, summary: str = "") -> None:
        """The stage is over; ``summary`` is its result in one line."""

    def say(self, text: str) -> None:
        """Something worth a line."""

    def warn(self, text: str) -> None:
        """Something that people should look at."""


class NullProgress:
    """Says nothing."""

    def start(self, stage: str, total: int | None = None) -> None:
        """Nothing."""

    def advance(self, n: int = 1, note: str = "") -> None:
        """Nothing."""

    def finish(self, summary: str = "") -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing."""

    def warn(self, text: str) -> None:
        """Nothing."""


class ConsoleProgress:
    """Progress for people: a bar on a terminal, plain lines elsewhere.

    Plain lines come at each tenth of the total, or each ``every`` seconds, whichever is rarer.
    """

    def __init__(self, stream: TextIO | None = None, *, every: float = 5.0) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._every = every
        self._lock = threading.RLock()
        self._stage = ""
        self._total: int | None = None
        self._done = 0
        self._said = 0
        self._said_at = 0.0
        self._bar: Bar | None = None
        self._task = TaskID(0)
        # The bar's characters need a Unicode terminal; elsewhere lines do.
        encoding = (getattr(self._stream, "encoding", None) or "ascii").lower()
        self._rich = on_terminal(self._stream) and encoding.startswith("utf")

    def start(self, stage: str, total: int | None = None) -> None:
        """A stage begins; the one before, if it never finished, is closed."""
        with self._lock:
            self._close_bar()
            self._stage, self._total, self._done, self._said = stage, total, 0, 0
            self._said_at = time.monotonic()
            if not self._rich:
                echo(f"{stage} ..." if total is None else f"{stage}: 0/{total}", self._stream)
                return
            console = Console(file=self._stream, markup=False, emoji=False, highlight=False)
            self._bar = Bar(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[note]}", markup=False),
                console=console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._bar.start()
            self._task = self._bar.add_task(printable(stage, self._stream), total=total, note="")

    def advance(self, n: int = 1, note: str = "") -> None:
        """``n`` more items are done."""
        with self._lock:
            self._done += n
            if self._bar is not None:
                self._bar.update(self._task, advance=n, note=fit(printable(note, self._stream), 40))
                return
            now = time.monotonic()
            step = max(1, (self._total or 0) // 10)
            if self._done - self._said < step or now - self._said_at < self._every:
                return
            self._said, self._said_at = self._done, now
            share = f" ({100 * self._done // self._total} %)" if self._total else ""
            total = f"/{self._total}" if self._total else ""
            echo(f"{self._stage}: {self._done}{total}{share}", self._stream)

    def finish(self, summary: str = "") -> None:
        """The stage is over."""
        with self._lock:
            self._close_bar()
            echo(f"{self._stage}: {summary or 'done'}", self._stream)

    def say(self, text: str) -> None:
        """A line, above the bar where there is one."""
        with self._lock:
            if self._bar is not None:
                self._bar.console.print(Text(printable(text, self._stream)), soft_wrap=True)
            else:
                echo(text, self._stream)

    def warn(self, text: str) -> None:
        """A line that starts with ``warning:``."""
        self.say(f"warning: {text}")

    def _close_bar(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
