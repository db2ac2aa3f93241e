"""A strategy as a part of other libraries: LangChain, LlamaIndex, neo4j-graphrag.

Each module needs its library, which comes with the extra of its name; without it, importing the
module raises MissingExtra.
"""

from __future__ import annotations

from typing import Any

from cypherforge.core.errors import MissingExtra
from cypherforge.graph.values import display
from cypherforge.runtime.pipeline import Answer

#: Rows that a text for another model holds.
ROWS = 25


def missing(extra: str, error: ImportError) -> MissingExtra:
    """The error for a library that is not installed."""
    return MissingExtra(
        f"{error.name or extra} is not installed", hint=f'pip install "cypherforge[{extra}]"'
    )


def as_text(answer: Answer, rows: int = ROWS) -> str:
    """An answer for a model or a person to read; an outcome without rows says so."""
    lines = []
    if answer.outcome == "answered":
        lines.append(" | ".join(answer.columns))
        lines += [" | ".join(display(v) for v in row) for row in answer.rows[:rows]]
        if len(answer.rows) > rows:
            lines.append(f"({len(answer.rows)} rows, {rows} shown)")
    else:
        lines.append(f"{answer.outcome}: {answer.reason}")
    lines += [f"doubtful: {warning}" for warning in answer.warnings]
    return "\n".join(lines)


def metadata(answer: Answer) -> dict[str, Any]:
    """What goes along with an answer: outcome, query, reason, warnings."""
    return {
        "outcome": answer.outcome,
        "cypher": answer.cypher,
        "reason": answer.reason,
        "warnings": list(answer.warnings),
    }
