"""When a rule applies: what the schema declares, or what the question's words show.

CypherGuard's tiers (section 3.2, Table 3): schema-conditioned rules apply when the schema declares
the feature, question-shape rules when the question's own wording shows the trigger.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Literal

from cypherforge.graph.schema import Property, Schema
from cypherforge.rules.model import Predicate, Trigger

# CypherGuard leaves its threshold open; ours: nine in ten edges are also stored reversed.
RECIPROCAL_FROM = 0.9
# Below this a type between like labels is stored once, whatever its meaning.
STORED_ONCE_BELOW = 0.1

_TEMPORAL = frozenset(
    {"DATE", "DATE_TIME", "LOCAL_DATE_TIME", "TIME", "LOCAL_TIME", "ZONED_DATETIME",
     "LOCAL_DATETIME", "ZONED_TIME"}
)  # fmt: skip


def _some_property(test: Callable[[Property], bool]) -> Callable[[Schema], bool]:
    def check(schema: Schema) -> bool:
        of_labels = any(test(p) for label in schema.labels.values() for p in label.properties)
        return of_labels or any(test(p) for kind in schema.types.values() for p in kind.properties)

    return check


def _self_types(schema: Schema) -> set[str]:
    return {pattern.type for pattern in schema.patterns if pattern.start == pattern.end}


def _reciprocal_type(schema: Schema) -> bool:
    shares = [schema.types[name].reciprocity for name in _self_types(schema)]
    return any(share is not None and share >= RECIPROCAL_FROM for share in shares)


def _mutual_type(schema: Schema) -> bool:
    shares = [schema.types[name].reciprocity for name in _self_types(schema)]
    return any(share is not None and share < STORED_ONCE_BELOW for share in shares)


def _several_patterns_per_type(schema: Schema) -> bool:
    return any(len(schema.patterns_of(name)) > 1 for name in schema.types)


def _several_types_per_pair(schema: Schema) -> bool:
    seen: dict[frozenset[str], set[str]] = {}
    for pattern in schema.patterns:
        seen.setdefault(frozenset((pattern.start, pattern.end)), set()).add(pattern.type)
    return any(len(types) > 1 for types in seen.values())


_PREDICATES: Mapping[Predicate, Callable[[Schema], bool]] = {
    "boolean_property": _some_property(lambda p: "BOOLEAN" in p.types),
    "date_property": _some_property(lambda p: bool(_TEMPORAL.intersection(p.types))),
    "list_property": _some_property(lambda p: any(t.startswith("LIST") for t in p.types)),
    "multi_label": lambda schema: bool(schema.co_labels),
    "mutual_type": _mutual_type,
    "reciprocal_type": _reciprocal_type,
    "relationship_property": lambda schema: any(t.properties for t in schema.types.values()),
    "self_relationship": lambda schema: bool(_self_types(schema)),
    "several_patterns_per_type": _several_patterns_per_type,
    "several_types_per_pair": _several_types_per_pair,
    "sparse_property": _some_property(lambda p: p.sparse),
}


def schema_matches(predicate: Predicate, schema: Schema) -> bool:
    """Whether the schema declares the feature. What was not measured is taken as absent."""
    return _PREDICATES[predicate](schema)


def question_matches(
    words: Iterable[str], question: str, mode: Literal["any", "all"] = "any"
) -> bool:
    """Whether the question holds one (or all) of the words or phrases.

    Whole words in any case; each word of a phrase may stand in the singular or the plural, and
    any blanks or hyphens may separate them. No words: False.
    """
    patterns = [_pattern(word) for word in words]
    test = any if mode == "any" else all
    return bool(patterns) and test(pattern.search(question) for pattern in patterns)


def trigger_matches(trigger: Trigger | None, schema: Schema, question: str) -> bool:
    """Whether a rule with this trigger applies; a rule without one always does."""
    if trigger is None:
        return True
    if trigger.words:
        return question_matches(trigger.words, question, trigger.mode)
    test = any if trigger.mode == "any" else all
    return test(schema_matches(predicate, schema) for predicate in trigger.predicates)


@lru_cache(maxsize=2000)
def _pattern(phrase: str) -> re.Pattern[str]:
    words = [_either_number(word) for word in re.split(r"[\s-]+", phrase.strip()) if word]
    joined = r"[\s-]+".join(words)
    return re.compile(rf"(?<!\w){joined}(?!\w)", re.IGNORECASE)


def _either_number(word: str) -> str:
    """A pattern for an English word in the singular or the plural."""
    lower = word.lower()
    # Short words are function words: "as", "is" and "has" are no plurals.
    if len(lower) <= 3 or not lower.isalpha():
        return re.escape(word) if len(lower) < 3 or lower == "has" else f"{re.escape(word)}(?:e?s)?"
    if lower.endswith("ies"):
        return f"{re.escape(word[:-3])}(?:ies|ie|y)"
    if lower.endswith("y") and lower[-2] not in "aeiou":
        return f"{re.escape(word[:-1])}(?:y|ies)"
    if lower.endswith(("ches", "shes", "sses", "xes")):
        return f"{re.escape(word[:-2])}(?:es)?"
    if lower.endswith("s") and not lower.endswith(("ss", "us", "is")):
        return f"{re.escape(word[:-1])}s?"
    return f"{re.escape(word)}(?:e?s)?"
