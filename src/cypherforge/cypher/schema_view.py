"""What the language needs to know of a schema; ``graph.schema.Schema`` is one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol


class PropertyView(Protocol):
    """A property: its name, and the types of its values by Neo4j's names (``STRING`` ...)."""

    @property
    def name(self) -> str:
        """The property key."""

    @property
    def types(self) -> tuple[str, ...]:
        """All types that its values have."""


class OwnerView(Protocol):
    """A label or a relationship type, and its properties."""

    @property
    def properties(self) -> Sequence[PropertyView]:
        """All of them."""

    def property(self, name: str) -> PropertyView | None:
        """The property of that name, None if there is none."""


class PatternView(Protocol):
    """``(:start)-[:type]->(:end)``."""

    @property
    def start(self) -> str:
        """The label at the tail of the arrow."""

    @property
    def type(self) -> str:
        """The relationship type."""

    @property
    def end(self) -> str:
        """The label at the head of the arrow."""


class SchemaView(Protocol):
    """Labels, types and patterns; ``sampled``: some may exist that are not listed."""

    @property
    def labels(self) -> Mapping[str, OwnerView]:
        """Node labels by name."""

    @property
    def types(self) -> Mapping[str, OwnerView]:
        """Relationship types by name."""

    @property
    def patterns(self) -> Sequence[PatternView]:
        """All pairs of ends of all types."""

    @property
    def sampled(self) -> bool:
        """Whether names may be missing."""

    @property
    def empty(self) -> bool:
        """Whether there is neither a label nor a type."""

    def patterns_between(self, a: str, b: str) -> Sequence[PatternView]:
        """The patterns that join two labels, in either direction."""

    def property_of(self, label: str, key: str) -> PropertyView | None:
        """A property of a label."""

    def type_property_of(self, rel_type: str, key: str) -> PropertyView | None:
        """A property of a relationship type."""

    def labels_with(self, key: str) -> Sequence[str]:
        """The labels that have a property of that name."""

    def together(self, labels: Iterable[str]) -> bool | None:
        """Whether one node can carry all these labels; None if that is not known."""
