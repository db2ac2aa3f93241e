"""Whether the graph settles a gold's answer; see ``determine``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from cypherforge.evaluation.execution import GoldRun
from cypherforge.graph.base import Graph, Result

Status = Literal["settled", "set", "aside"]


@dataclass(frozen=True, slots=True)
class Determinacy:
    """``settled``: one right answer. ``set``: several, ``right`` tells them. ``aside``: cannot be scored.

    ``kinds`` name what leaves the answer open, ``reason`` says it in words.
    """

    status: Status = "settled"
    kinds: tuple[str, ...] = ()
    reason: str = ""
    right: Callable[[Result], bool | None] | None = field(default=None, compare=False)


SETTLED = Determinacy()


def determine(gold: GoldRun, graph: Graph, *, timeout: float | None = None) -> Determinacy:
    """Say whether the graph settles the gold's answer."""
    return SETTLED
