"""Which fault a draft has, and the repair it implies."""

from cypherforge.diagnosis.diagnose import diagnose
from cypherforge.diagnosis.model import UNKNOWN, Fault

__all__ = ["UNKNOWN", "Fault", "diagnose"]
