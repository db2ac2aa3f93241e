"""The record of one question-Cypher pair, and the draft that becomes it once it is verified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cypherforge.cypher.names import quote_string
from cypherforge.graph.base import Result
from cypherforge.synth.trees import Grounded, Values

KIND, VERSION = "pairs", 1


@dataclass
class Draft:
    """A pair before its query ran.

    ``text`` holds marks where ``values`` stand. ``ordered``: the rows' order is asked for.
    ``probe`` is a query whose rows must differ in their last column, as far as the order or a
    limit depends on it (``keep``: the limit; 0 for a whole order). ``distinct_rows``: equal rows
    would be asked for twice. ``falsy``: false and zero are answers. ``check`` says
    what is wrong with a result, "" if nothing. ``others``: more matches whose conditions it has.
    ``reach``: what it goes over, where that is more than ``grounded``.
    """

    family: str
    text: str
    values: Values
    grounded: Grounded
    relations: int
    question: str
    naive: str
    analysed: str
    paraphrases: tuple[str, ...]
    search: str
    ordered: bool = False
    probe: str = ""
    keep: int = 0
    distinct_rows: bool = True
    falsy: bool = False
    check: Callable[[Result], str] = lambda _: ""
    others: Sequence[Grounded] = field(default_factory=tuple)
    reach: Grounded | None = None

    def written(self) -> str:
        """The query with its values written out."""
        return self._filled(self.text, literal)

    def parametrised(self, text: str | None = None) -> tuple[str, dict[str, Any]]:
        """The query (or a probe) with parameters in the values' places."""
        query = self.text if text is None else text
        return (
            self._filled(query, None),
            {f"p{i}": v for i, v in enumerate(self.values.items) if f"\x00{i}\x00" in query},
        )

    def _filled(self, text: str, form: Callable[[Any], str] | None) -> str:
        for i, value in enumerate(self.values.items):
            text = text.replace(f"\x00{i}\x00", form(value) if form else f"$p{i}")
        return text


def literal(value: Any) -> str:
    """A value as Cypher text."""
    if isinstance(value, str):
        return quote_string(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return repr(value)
