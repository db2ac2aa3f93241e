"""Families that aggregate: counts without fan-out, averages and the like, by value or over all."""

from __future__ import annotations

from collections.abc import Callable

from cypherforge.cypher.names import quote_name
from cypherforge.graph.base import Result
from cypherforge.synth.describe import clause, noun_phrase
from cypherforge.synth.family_base import (
    Workshop,
    camel,
    finish,
    ways,
)
from cypherforge.synth.pairs import Draft
from cypherforge.synth.predicates import Attribute
from cypherforge.synth.trees import Grounded, PatternText, Values
from cypherforge.synth.words import noun, plural

_AGGREGATES = {"avg": "average", "min": "minimum", "max": "maximum", "sum": "total"}
_TIMES = {"min": "earliest", "max": "latest"}


def counting(shop: Workshop, relations: int) -> Draft | None:
    """How many there are; counted once each where a path could reach them twice."""
    found = shop.grounded(relations, bare=0.1, open_leaf=0.25)
    if found is None:
        return None
    held = Values()
    match = PatternText(found, held)
    n, label = match.nodes[0], found.tree.labels[0]
    alias = quote_name(camel(noun(label), "count"))
    draw = shop.rng.random()
    if draw < 0.25:
        text = f"{match.match} WITH DISTINCT {n} RETURN count(DISTINCT {n}) AS {alias}"
    else:
        # One hop to one particular node reaches each node once; a longer way may do so often.
        fan = "DISTINCT " if found.tree.hops else ""
        text = f"{match.match} RETURN count({fan}{n}) AS {alias}"
    whom = noun_phrase(found, 0, many=True)
    question, others = ways(
        shop,
        how_many(found) or f"How many {whom} are there?",
        f"What is the number of {whom}?",
        f"What is the total number of {whom}?",
        f"Count the {whom}.",
        f"Give me the count of {whom}.",
    )
    return finish(
        found, "count", text, held, relations, question, others, "the number", plural(noun(label))
    )


def how_many(found: Grounded) -> str:
    """ "How many users watched the movie 'Dune'?", where one clause says it all; else empty."""
    tree = found.tree
    if len(tree.children(0)) != 1 or found.of_node(0) or not tree.hops[0].forward:
        return ""
    text = clause(found, 0, many=True)
    for relative in ("who ", "that "):
        if text.startswith(relative):
            return f"How many {plural(noun(tree.labels[0]))} {text.removeprefix(relative)}?"
    return ""


def aggregate(shop: Workshop, relations: int) -> Draft | None:
    """Average, least, greatest or sum of a number: of the nodes, each once, or of relationships."""
    kinds: dict[str, tuple[str, ...]] = {
        "number": ("number",), "time": ("year", "date"), "year of a date": ("date",)
    }  # fmt: skip
    rich = {k: shop.rich(lambda a, roles=roles: a.role in roles) for k, roles in kinds.items()}  # type: ignore[misc]
    attributes = shop.drawer.predicates.rel_attributes.values()
    linked = any(a.role == "number" for items in attributes for a in items)
    kind = shop.kind("aggregate", [k for k in kinds if rich[k]] + ["relationship"] * linked)
    if not kind or kind == "relationship":
        return _over_relationships(shop, relations) if kind else None
    label = shop.drawer.rarest(rich[kind], lambda n: ("target", n))
    shop.drawer.use("target", label)
    found = shop.grounded(relations, label=label, bare=0.25)
    if found is None:
        return None
    pool = [a for a in shop.drawer.predicates.attributes[label]
            if a.role in kinds[kind] and shop.has(found, a)
            and not any(c.attribute.name == a.name for c in found.of_node(0))]  # fmt: skip
    if not pool:
        return None
    attribute = shop.rng.choice(pool)
    held = Values()
    match = PatternText(found, held)
    n = match.nodes[0]
    dotted, word = f"{n}.{quote_name(attribute.name)}", attribute.word
    function = shop.rng.choice(list(_AGGREGATES if attribute.role == "number" else _TIMES))
    if kind == "year of a date":
        dotted, word = f"{dotted}.year", f"year of {attribute.word}"
    said = (_AGGREGATES if attribute.role == "number" else _TIMES)[function]
    distinct = f" WITH DISTINCT {n}" if found.tree.hops or shop.rng.random() < 0.3 else ""
    alias = quote_name(camel(said, word))
    text = f"{match.match}{distinct} RETURN {function}({dotted}) AS {alias}"
    whom = noun_phrase(found, 0, many=True)
    question, others = ways(
        shop,
        f"What is the {said} {word} of the {whom}?",
        f"Find the {said} {word} among the {whom}.",
        f"Calculate the {said} {word} of all {whom}.",
        f"Return the {said} {word} of the {whom}.",
    )
    return finish(
        found,
        "aggregate",
        text,
        held,
        relations,
        question,
        others,
        f"{said} {word}",
        plural(noun(label)),
    )


def _over_relationships(shop: Workshop, relations: int) -> Draft | None:
    draw = shop.drawer
    rich = [
        r for r in draw.predicates.relations
        if any(a.role == "number" for a in draw.predicates.rel_attributes[r.type])
    ]  # fmt: skip
    relation = shop.rng.choice(rich)
    tree = draw.tree_of(relation, shop.rng.random() < 0.5)
    found = draw.ground(tree)
    if found is None:
        return None
    for _ in range(relations - 1):
        condition = draw.literal(found)
        if condition is None:
            return None
        found.conditions.append(condition)
    if not any(c.node == 1 for c in found.conditions) and shop.rng.random() < 0.8:
        found.conditions += draw.entity(found, 1)
    attribute = shop.rng.choice(
        [a for a in draw.predicates.rel_attributes[relation.type] if a.role == "number"]
    )
    if any(c.attribute == attribute for c in found.conditions):
        return None
    if found.edges[0].properties.get(attribute.name) is None:
        return None
    held = Values()
    match = PatternText(found, held, [0])
    function = shop.rng.choice(list(_AGGREGATES))
    said, word = _AGGREGATES[function], attribute.word
    alias = quote_name(camel(said, word))
    text = (
        f"{match.match} RETURN {function}({match.rels[0]}.{quote_name(attribute.name)}) AS {alias}"
    )
    whom = noun_phrase(found, 0, many=True)
    question, others = ways(
        shop,
        f"Over all {whom}, what is the {said} {word}?",
        f"What is the {said} {word} over all {whom}?",
        f"Taking all {whom}, calculate the {said} {word}.",
    )
    return finish(found, "aggregate", text, held, relations, question, others, f"{said} {word}",
                  plural(noun(tree.labels[0])))  # fmt: skip


# ---------------------------------------------------------------- groups


def by_value(shop: Workshop, relations: int) -> Draft | None:
    """A count or an average for each value of a category: "for each state, how many users"."""
    kinds: dict[str, Callable[[Attribute], bool]] = {
        "value": lambda a: a.few, "year": lambda a: a.role == "date"
    }  # fmt: skip
    rich = {k: shop.rich(fits) for k, fits in kinds.items()}
    kind = shop.kind("by value", [k for k in kinds if rich[k]])
    if not kind:
        return None
    label = shop.drawer.rarest(rich[kind], lambda n: ("target", n))
    found = shop.some(label, relations - 1)
    if found is None:
        return None
    attributes = shop.drawer.predicates.attributes[label]
    pool = [a for a in attributes if kinds[kind](a)
            and not any(c.attribute.name == a.name for c in found.of_node(0))]  # fmt: skip
    if not pool:
        return None
    key = shop.rng.choice(pool)
    held = Values()
    match = PatternText(found, held)
    n = match.nodes[0]
    group, word = f"{n}.{quote_name(key.name)}", key.word
    if kind == "year":
        group, word = f"{group}.year", f"year of {key.word}"
    null = (
        ""
        if key.complete
        else f"{' AND' if match.where else ' WHERE'} {n}.{quote_name(key.name)} IS NOT NULL"
    )
    numbers = [a for a in attributes if a.role == "number" and a != key]
    fan = "DISTINCT " if found.tree.hops else ""
    count = f"count({fan}{n}) AS {quote_name(camel(noun(label), 'count'))}"
    whom = noun_phrase(found, 0, many=True)
    if numbers and not found.tree.hops and shop.rng.random() < 0.4:
        number = shop.rng.choice(numbers)
        mean = f"avg({n}.{quote_name(number.name)}) AS {quote_name(camel('average', number.word))}"
        returned, what = mean, f"the average {number.word} of the {whom}"
        if shop.rng.random() < 0.4:
            returned, what = (
                f"{mean}, {count}",
                f"the average {number.word} and the number of {whom}",
            )
    else:
        returned, what = count, f"the number of {whom}"
    text = f"{match.match}{null} RETURN {group} AS {quote_name(camel(word))}, {returned}"
    question, others = ways(
        shop,
        f"For each {word}, what is {what}? Return the {word} and the {_figure(returned)}.",
        f"For each {word}, give the {word} and {what}.",
        f"Group by {word}: return each {word} with {what}.",
        f"List each {word} together with {what}.",
    )
    return finish(found, "group", text, held, relations, question, others, f"{what} by {word}",
                  plural(noun(label)), check=several)  # fmt: skip


def _figure(returned: str) -> str:
    if ", count(" in returned:
        return "two figures"
    return "average" if returned.startswith("avg(") else "number"


def several(result: Result) -> str:
    """What is wrong with groups, or an order, of one row only."""
    return "" if len(result.rows) > 1 else "one group only"
