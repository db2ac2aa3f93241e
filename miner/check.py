"""Check: which candidate rules are well formed and name nothing of any graph."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cypherforge.core.datasets import Example
from cypherforge.graph.schema import Schema
from cypherforge.rules.model import Rule
from cypherforge.validators.generality import ForbiddenNames, Rejection, check_rule
from cypherforge.validators.grammar import check_grammar


@dataclass(frozen=True, slots=True)
class Checked:
    """Rules that may be bundled, and every reason why another one may not."""

    accepted: tuple[Rule, ...]
    rejections: tuple[Rejection, ...]


class Checker:
    """Knows every name of the graphs that rules are mined from and tested on."""

    def __init__(self, schemas: Mapping[str, Schema], examples: Iterable[Example]) -> None:
        self._names = ForbiddenNames.collect(schemas, examples)

    def rejections(self, rule: Rule) -> list[Rejection]:
        """Why the rule may not be bundled; empty if it may."""
        return [*check_grammar(rule), *check_rule(rule, self._names)]

    def reasons(self, rule: Rule) -> list[str]:
        """The rejections as sentences, for an agent."""
        return [str(rejection) for rejection in self.rejections(rule)]

    def check(self, rules: Sequence[Rule]) -> Checked:
        """Check all rules, in their order."""
        accepted: list[Rule] = []
        rejections: list[Rejection] = []
        for rule in rules:
            found = self.rejections(rule)
            rejections += found
            if not found:
                accepted.append(rule)
        return Checked(tuple(accepted), tuple(rejections))
