"""The trace: every step that led from a question to its answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its part of the pipeline, one line for people, and the details as JSON values."""

    part: str
    text: str
    details: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The step as a JSON object."""
        return {
            "part": self.part,
            "text": self.text,
            "details": dict(self.details),
            "seconds": round(self.seconds, 3),
        }


Listener = Callable[[Step], None]


@dataclass(slots=True)
class Trace:
    """Steps in order; ``listener`` sees each as it happens."""

    steps: list[Step] = field(default_factory=list)
    listener: Listener | None = None

    def add(self, part: str, text: str, seconds: float = 0.0, **details: Any) -> None:
        """Record a step."""
        step = Step(part, text, details, seconds)
        self.steps.append(step)
        if self.listener is not None:
            self.listener(step)

    def to_json(self) -> list[dict[str, Any]]:
        """All steps as JSON objects."""
        return [step.to_json() for step in self.steps]
