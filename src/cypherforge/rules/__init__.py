"""The rule model, triggers, selection; the taxonomy."""

from cypherforge.rules.model import Evidence, Rule, Trigger, load_rules, rules_schema
from cypherforge.rules.taxonomy import Code, Family, Taxonomy

__all__ = [
    "Code",
    "Evidence",
    "Family",
    "Rule",
    "Taxonomy",
    "Trigger",
    "load_rules",
    "rules_schema",
]
