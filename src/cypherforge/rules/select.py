"""Which rules a draft's prompt carries: universal ones, and those whose trigger matches."""

from __future__ import annotations

from collections.abc import Iterable

from cypherforge.graph.schema import Schema
from cypherforge.rules.model import Rule, Tier
from cypherforge.rules.triggers import trigger_matches

_ORDER: dict[Tier, int] = {"universal": 0, "schema": 1, "question": 2}


def applicable(rules: Iterable[Rule], schema: Schema, question: str) -> list[Rule]:
    """The rules that apply to a question on a graph, in the order in which a prompt lists them.

    Universal first, then by schema, then by question (the most particular stands nearest to the
    question); within a tier by id. The order does not depend on the order of ``rules``.
    """
    chosen = [rule for rule in rules if trigger_matches(rule.trigger, schema, question)]
    return sorted(chosen, key=lambda rule: (_ORDER[rule.tier], rule.id))
