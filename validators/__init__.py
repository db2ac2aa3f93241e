"""The gate: is this query safe, and does it fit the schema."""

from cypherforge.validators.findings import Finding
from cypherforge.validators.gate import Gate, Verdict

__all__ = ["Finding", "Gate", "Verdict"]
