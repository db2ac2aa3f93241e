"""The rule model, triggers, selection; the taxonomy."""
