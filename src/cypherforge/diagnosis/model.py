"""What a diagnosis says: a fault, its code, and the repair that it implies."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

#: The order of telling faults. 1: what the gold differs in comes first, as runs recorded before
#: December 2026 were diagnosed. 2: a hop that the schema does not have as drawn, and a literal that
#: is looked for at another node, are told first.
Edition = Literal[1, 2]

#: Code of a draft that differs from its gold in a way that no code describes.
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a draft.

    ``code`` is of the taxonomy, or ``unknown`` where the diagnosis cannot tell (``reason`` says
    why). ``spans`` are (start, end) in code points of the draft. ``repair`` is the whole query with
    this fault and all before it repaired, None if no repair can be built. ``confirmed``: True if the
    repairs together give gold's result, False if they do not, None if that was not tried.
    """

    code: str
    family: str
    spans: tuple[tuple[int, int], ...]
    repair: str | None
    confirmed: bool | None
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return the fault as plain data."""
        return asdict(self)


def family_of(code: str) -> str:
    """Return the family of a code: what stands before its dot."""
    return code.split(".", 1)[0]
