"""What the validators say about a query: one finding a fault, the same form for every backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "info"]
Category = Literal["parse", "reference", "type", "constraint", "safety", "cost", "dialect"]
Backend = Literal["parse", "readonly", "schema", "analysis", "explain", "regex", "mirror", "cost"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, or worth knowing.

    ``span`` is (start, end) in code points of the checked text, None where no place can be named.
    ``suggestion`` is what to write instead (a name or a sentence), ``expected`` the names or words
    that would have fitted, ``backend`` the check that found it.
    """

    severity: Severity
    category: Category
    code: str
    message: str
    span: tuple[int, int] | None = None
    suggestion: str | None = None
    backend: Backend = "parse"
    expected: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the plain form that ``gate check --json`` prints."""
        return {
            "severity": self.severity,
            "category": self.category,
            "code": self.code,
            "span": list(self.span) if self.span is not None else None,
            "message": self.message,
            "suggestion": self.suggestion,
            "backend": self.backend,
            "expected": list(self.expected),
        }
