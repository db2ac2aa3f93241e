"""Is a rule well formed beyond its data class: snippets parse, and hold placeholders only.

Fields, tiers, trigger syntax and lengths are checked where a rule is read (``rules.model``);
:func:`read_rules` turns those problems into rejections of the same form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.rules.model import Rule, check_rules
from cypherforge.validators.generality import CODE_FIELDS, ForbiddenNames, Rejection, check_rule
from cypherforge.validators.words import is_placeholder

# A wrong example of these faults may be wrong because it does not parse.
_MAY_NOT_PARSE = {"syntax.parse", "syntax.dialect"}


def check_grammar(rule: Rule) -> list[Rejection]:
    """Return every way in which the rule's snippets break the form; empty if none does."""
    return list(_snippets(rule))


def validate_rules(data: Any, names: ForbiddenNames) -> tuple[list[Rule], list[Rejection]]:
    """Validate ``{"rules": [...]}``: the rules that survive all checks, and all rejections."""
    rules, problems = check_rules(data)
    rejections = [Rejection(p.rule, p.field, (0, 0), "", "", p.reason) for p in problems]
    survivors = []
    for rule in rules:
        found = check_grammar(rule) + check_rule(rule, names)
        rejections += found
        if not found:
            survivors.append(rule)
    return survivors, rejections


def _snippets(rule: Rule) -> Iterator[Rejection]:
    for field in CODE_FIELDS:
        text = getattr(rule, field) or ""
        if not text:
            continue
        try:
            tree = parse(text)
        except CypherSyntaxError as error:
            if field == "wrong" and _MAY_NOT_PARSE & set(rule.codes):
                continue
            reason = f"the snippet does not parse: {error}"
            yield Rejection(rule.id, field, error.span, error.token, "", reason)
            continue
        for node in tree.walk():
            if isinstance(node, ast.LabelName | ast.Name) and not is_placeholder(
                node.name, strict=True
            ):
                # A component of a date or a point is the language's own word.
                if isinstance(node, ast.Name) and node.name in _COMPONENTS:
                    continue
                reason = (
                    f"{node.name!r} is no placeholder; write NodeLabel, relType or propertyKey, "
                    "with a letter or digit behind where there are several"
                )
                yield Rejection(rule.id, field, node.span, node.name, "", reason)


_COMPONENTS = frozenset(
    """
    year quarter month week day hour minute second millisecond microsecond nanosecond dayOfWeek
    dayOfYear years months days hours minutes seconds milliseconds epochMillis epochSeconds x y z
    latitude longitude height srid timezone
    """.split()
)
