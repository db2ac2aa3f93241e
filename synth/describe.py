"""A grounded tree in words: "users from the state 'Nevada' who watched a movie of 2014".

The noun phrase is built from the conditions that the Cypher has, one for one, so that nothing is
asked that the query does not test, and nothing tested that is not asked.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from cypherforge.synth.phrases import phrase
from cypherforge.synth.trees import Condition, Grounded
from cypherforge.synth.words import a, listed, noun, plural


class Spoken(Protocol):
    """A clause, "watched by Ann", or in full "that was watched by Ann"."""

    def __call__(self, *, full: bool) -> str:
        """Its text."""


_FROM = frozenset("country state city region continent nationality province county town".split())
_COMPARED = {">": "greater than", "<": "less than", ">=": "at least", "<=": "at most", "=": ""}
_TIMED = {">": "after", "<": "before", ">=": "on or after", "<=": "on or before", "=": "on"}
_YEARS = {">": "after {}", "<": "before {}", ">=": "{} or later", "<=": "{} or earlier", "=": "{}"}


def shown(value: Any) -> str:
    """A value as a question quotes it: texts in quotes that it does not hold, others bare."""
    if isinstance(value, str):
        if "'" in value and '"' in value:
            return f"\u201c{value}\u201d"
        return f'"{value}"' if "'" in value and '"' not in value else f"'{value}'"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def compared(condition: Condition) -> str:
    """The predicate of a comparison: "is greater than 3", "is after 2019-06-01"."""
    role, op, value = condition.attribute.role, condition.op, shown(condition.value)
    if role == "year":
        return f"is {_YEARS[op].format(value)}"
    if role in ("date", "datetime"):
        return f"is {_TIMED[op]} {value}"
    return f"is {_COMPARED[op]} {value}".replace("  ", " ")


def naming(label: str, conditions: list[Condition]) -> str:
    """One particular node: "movie 'Dune'", "user with user ID 370"."""
    head = noun(label)
    if len(conditions) == 1:
        attribute, value = conditions[0].attribute, conditions[0].value
        short = attribute.word.lower()
        if isinstance(value, str) and (
            attribute.role == "name" or short in (head.lower(), f"{head.lower()} name", f"{head.lower()} title")
            or head.lower().endswith(f" {short}")
        ):  # fmt: skip
            return f"{head} {shown(value)}"
    said = listed([f"{c.attribute.word} {shown(c.value)}" for c in conditions])
    return f"{head} with {said}"


def with_text(condition: Condition) -> str:
    """An equality after the noun: "with gender 'Female'", "from the state 'Nevada'"."""
    attribute = condition.attribute
    if attribute.role == "boolean":
        return f"with {attribute.word} {shown(condition.value)}"
    if attribute.word in _FROM:
        return f"from the {attribute.word} {shown(condition.value)}"
    return f"with {attribute.word} {shown(condition.value)}"


def noun_phrase(
    grounded: Grounded, node: int, *, many: bool, head: str = "", first: Spoken | None = None
) -> str:
    """A node that is not one particular entity, with all that is asked of it, without article.

    ``first`` says one more thing of it, before the other clauses.
    """
    label = grounded.tree.labels[node]
    head = head or (plural(noun(label)) if many else noun(label))
    withs: list[str] = []
    clauses: list[str] = []
    for c in grounded.of_node(node):
        if c.op == "=" and c.attribute.role not in ("date", "datetime", "year", "number"):
            withs.append(with_text(c))
        else:
            clauses.append(f"whose {c.attribute.word} {compared(c)}")
    spoken = [first] if first is not None else []
    spoken += [partial(clause, grounded, i, many=many) for i in grounded.tree.children(node)]
    # "watched by Ann" alone, but "that were watched by Ann and that have the genre 'War'".
    texts = [say(full=False) for say in spoken]
    if clauses or not all(map(_is_reduced, texts)):
        texts = [
            say(full=True) if _is_reduced(text) else text
            for say, text in zip(spoken, texts, strict=True)
        ]
    ahead = texts[:1] if first is not None else []
    clauses = [*ahead, *clauses, *texts[len(ahead) :]]
    reduced = [text for text in clauses if _is_reduced(text)]
    clauses = [text for text in clauses if not _is_reduced(text)]
    said = " ".join([head, _joined(withs), listed(reduced)])
    if clauses:
        said += (" and " if reduced else " ") + listed(clauses)
    return " ".join(said.split())


def either_of(one: Spoken, other: Spoken) -> str:
    """Two clauses with "or" between: both reduced, or both whole."""
    texts = one(full=False), other(full=False)
    if not all(map(_is_reduced, texts)):
        texts = one(full=True), other(full=True)
    return " or ".join(texts)


def _joined(withs: list[str]) -> str:
    same = [w for w in withs if w.startswith("with ")]
    rest = [w for w in withs if not w.startswith("with ")]
    merged = "with " + listed([w[5:] for w in same]) if same else ""
    return " ".join([*rest, merged])


def _is_reduced(text: str) -> bool:
    return not text.startswith(("who ", "that ", "whose "))


def clause(grounded: Grounded, hop: int, *, many: bool, full: bool = False) -> str:
    """What a hop says of its parent, with the conditions on the relationship.

    ``full``: with its pronoun and verb, where it could stand without.
    """
    step = grounded.tree.hops[hop]
    relation = step.relation
    spoken = phrase(relation.type, relation.start, relation.end)
    target = thing(grounded, step.child)
    extra = conditions_of_hop(grounded, hop)
    last = step.forward or spoken.noun or spoken.by or spoken.text == "with"
    if extra and last and grounded.tree.children(step.child):
        # After the target's own clauses it would be said of their relationships.
        target, extra = f", {extra}, {target}", ""
    if step.forward:
        text = spoken.forward(relation.start, target, many=many)
    else:
        text = spoken.backward(relation.end, target, many=many, full=full)
    return f"{text} {extra}".strip().replace(" , with ", ", with ", 1)


def conditions_of_hop(grounded: Grounded, hop: int) -> str:
    """The conditions on a relationship: "with a watch count greater than 3"."""
    return listed(
        [
            f"with {c.attribute.word} {_on(c)}{shown(c.value)}"
            if c.op == "="
            else f"with {a(c.attribute.word)} {_amount(c)}"
            for c in grounded.of_hop(hop)
        ]
    )


def _on(condition: Condition) -> str:
    return "on " if condition.attribute.role in ("date", "datetime") else ""


def _amount(condition: Condition) -> str:
    if condition.attribute.role in ("date", "datetime"):
        return f"{_TIMED[condition.op]} {shown(condition.value)}"
    if condition.op in (">", "<"):
        return f"{_COMPARED[condition.op]} {shown(condition.value)}"
    return f"of {_COMPARED[condition.op]} {shown(condition.value)}"


def thing(grounded: Grounded, node: int) -> str:
    """A node as the object of a clause: "the movie 'Dune'", "a movie that has the genre 'War'"."""
    entity = [c for c in grounded.of_node(node) if c.entity]
    if entity:
        said = "the " + naming(grounded.tree.labels[node], entity)
        more = [clause(grounded, i, many=False) for i in grounded.tree.children(node)]
        return " ".join([said, listed(more)]).strip()
    return a(noun_phrase(grounded, node, many=False))


def conditions_in_words(grounded: Grounded) -> list[str]:
    """Each condition alone, for the analysed form: "movie watched with title 'Dune'"."""
    said = []
    reached = {0, *(hop.child for hop in grounded.tree.hops)}
    for c in grounded.of_node(0):
        said.append(f"{c.attribute.word} {compared(c)}")
    for node in range(len(grounded.tree.labels)):
        if node not in reached:
            said.append(f"the other is the {_bare(grounded, node)}")
    for i, hop in enumerate(grounded.tree.hops):
        r = hop.relation
        verb = phrase(r.type, r.start, r.end)
        pair = (hop.parent, hop.child) if hop.forward else (hop.child, hop.parent)
        start, end = (_bare(grounded, node) for node in pair)
        said.append(
            f"{start} {verb.singular} {end}"
            if verb.singular
            else f"{verb.noun} of {start} is {end}"
        )
        for c in grounded.of_hop(i):
            said.append(f"{c.attribute.word} of this {compared(c)}")
        if not grounded.bound(hop.child):
            for c in grounded.of_node(hop.child):
                said.append(
                    f"{noun(grounded.tree.labels[hop.child])} {c.attribute.word} {compared(c)}"
                )
    return said


def _bare(grounded: Grounded, node: int) -> str:
    entity = [c for c in grounded.of_node(node) if c.entity]
    label = grounded.tree.labels[node]
    return naming(label, entity) if entity else noun(label)
