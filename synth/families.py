"""Families of questions: each turns a grounded tree into a query and the same in words."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cypherforge.cypher.names import quote_name
from cypherforge.synth.describe import clause, conditions_in_words, noun_phrase, thing
from cypherforge.synth.pairs import Draft
from cypherforge.synth.predicates import Attribute
from cypherforge.synth.trees import Condition, Drawer, Grounded, PatternText, Values
from cypherforge.synth.words import listed, noun, plural, sentence, words

Builder = Callable[["Workshop", int], Draft | None]


@dataclass
class Workshop:
    """What a family draws from."""

    drawer: Drawer

    @property
    def rng(self) -> random.Random:
        """The source of chance, set anew for each batch."""
        return self.drawer.rng

    def grounded(self, relations: int, *, label: str | None = None, open_leaf: float = 0.15,
                 literals: bool = True, least_hops: int = 0) -> Grounded | None:  # fmt: skip
        """A match with so many relations: hops and literal conditions together."""
        draw = self.drawer
        split = [h for h in range(least_hops, relations + 1) if literals or h == relations]
        if not split:
            return None
        hops = self.rng.choice(split)
        tree = draw.tree(hops, label=label)
        if tree is None:
            return None
        found = draw.ground(tree)
        if found is None:
            return None
        for _ in range(relations - hops):
            condition = draw.literal(found)
            if condition is None:
                return None
            found.conditions.append(condition)
        for leaf in tree.leaves:
            if not any(c.node == leaf for c in found.conditions) and self.rng.random() >= open_leaf:
                found.conditions += draw.entity(found, leaf)
        return found

    def output(self, found: Grounded, most: int = 2) -> list[Attribute]:
        """The attributes of the target that are asked for, its names first."""
        label = found.tree.labels[0]
        used = {c.attribute.name for c in found.of_node(0) if c.op == "="}
        columns = [a for a in self.drawer.predicates.names[label] if a.name not in used]
        if not columns or (len(columns) < most and self.rng.random() < 0.3):
            more = [
                a for a in self.drawer.predicates.attributes[label]
                if a.name not in used and a not in columns and a.coverage > 0.5 and a.role != "duration"
                and a.distinct != 1
            ]  # fmt: skip
            if more:
                columns.append(self.drawer.rarest(more, lambda a: ("asked", a.owner, a.name)))
        return columns


def columns_text(variable: str, columns: list[Attribute]) -> str:
    """RETURN items of a variable's properties."""
    return ", ".join(f"{variable}.{quote_name(a.name)}" for a in columns)


def asked(columns: list[Attribute], many: bool) -> str:
    """The columns in words: "first names and last names"."""
    return listed([plural(a.word) if many else a.word for a in columns])


def finish(found: Grounded, family: str, text: str, values: Values, relations: int, question: str,
           others: list[str], what: str, target: str, search: str = "", **rest: object) -> Draft:  # fmt: skip
    """The draft with the forms that all families share."""
    conditions = conditions_in_words(found)
    analysed = f"Target: {target}. Return: {what}."
    if conditions:
        analysed += f" Conditions: {'; '.join(conditions)}."
    naive = (
        f"Find {what} of {target}" + (f" where {listed(conditions)}" if conditions else "") + "."
    )
    short = search or _search(found, what)
    return Draft(family, text, values, found, relations, sentence(question), sentence(naive), analysed,
                 tuple(dict.fromkeys(sentence(o) for o in others if o)), short, **rest)  # type: ignore[arg-type]  # fmt: skip


def _search(found: Grounded, what: str) -> str:
    values = [str(c.value) for c in found.conditions]
    labels = [noun(n) for n in dict.fromkeys(found.tree.labels)]
    return " ".join([*labels, *values, *what.replace(",", "").replace(" and ", " ").split(" ")])


# ---------------------------------------------------------------- retrieval


def lookup(shop: Workshop, relations: int) -> Draft | None:
    """A property of one entity: "What is the year of the movie 'Dune'?"."""
    if relations != 1:
        return None
    tree = shop.drawer.tree(0)
    found = shop.drawer.ground(tree) if tree else None
    if found is None:
        return None
    found.conditions = shop.drawer.entity(found, 0)
    if not found.conditions:
        return None
    label = found.tree.labels[0]
    used = {c.attribute.name for c in found.conditions}
    values = shop.drawer.sample.nodes[found.nodes[0]]
    pool = [a for a in shop.drawer.predicates.attributes[label]
            if a.name not in used and values.get(a.name) is not None]  # fmt: skip
    if not pool:
        return None
    columns = [shop.drawer.rarest(pool, lambda a: ("asked", a.owner, a.name))]
    if len(pool) > 1 and shop.rng.random() < 0.3:
        columns.append(shop.rng.choice([a for a in pool if a not in columns]))
    for a in columns:
        shop.drawer.used["asked", a.owner, a.name] += 1
    held = Values()
    match = PatternText(found, held)
    text = f"{match.match} RETURN {columns_text(match.nodes[0], columns)}"
    what, whom = asked(columns, False), thing(found, 0)
    verb = "is" if len(columns) == 1 else "are"
    ways = [
        f"What {verb} the {what} of {whom}?",
        f"Retrieve the {what} of {whom}.",
        f"Find {whom} and return the {what}.",
        f"Tell me the {what} of {whom}.",
        f"Give the {what} for {whom}.",
    ]
    first = 0 if shop.rng.random() < 0.7 else 1
    return finish(
        found,
        "lookup",
        text,
        held,
        1,
        ways[first],
        ways[:first] + ways[first + 1 :],
        what,
        noun(label),
    )


def listing(shop: Workshop, relations: int) -> Draft | None:
    """Names of what fulfils all conditions."""
    found = shop.grounded(relations)
    if found is None:
        return None
    columns = shop.output(found)
    if not columns:
        return None
    held = Values()
    match = PatternText(found, held)
    text = f"{match.match} RETURN DISTINCT {columns_text(match.nodes[0], columns)}"
    if not found.tree.hops:
        text = text.replace("RETURN DISTINCT", "RETURN", 1)
    what, whom = asked(columns, True), noun_phrase(found, 0, many=True)
    ways = [
        f"What are the {what} of the {whom}?",
        f"List the {what} of all {whom}.",
        f"Retrieve the {what} of {whom}.",
        f"Find all {whom}. Return their {what}.",
        f"Which {whom} are there? Give their {what}.",
        f"Show the {what} of the {whom}.",
    ]
    first = shop.rng.choice([0, 0, 1, 2, 3])
    return finish(found, "list", text, held, relations, ways[first], ways[:first] + ways[first + 1 :],
                  what, plural(noun(found.tree.labels[0])))  # fmt: skip


# ---------------------------------------------------------------- aggregation


def counting(shop: Workshop, relations: int) -> Draft | None:
    """How many there are; counted once each where a path could reach them twice."""
    found = shop.grounded(relations)
    if found is None:
        return None
    held = Values()
    match = PatternText(found, held)
    label = found.tree.labels[0]
    fan = "DISTINCT " if found.tree.hops else ""
    alias = _camel(noun(label), "count")
    text = f"{match.match} RETURN count({fan}{match.nodes[0]}) AS {quote_name(alias)}"
    whom = noun_phrase(found, 0, many=True)
    direct = how_many(found)
    ways = [
        direct or f"How many {whom} are there?",
        f"What is the number of {whom}?",
        f"What is the total number of {whom}?",
        f"Count the {whom}.",
        f"Give me the count of {whom}.",
    ]
    first = shop.rng.choice([0, 0, 2])
    return finish(found, "count", text, held, relations, ways[first], ways[:first] + ways[first + 1 :],
                  "the number", plural(noun(label)))  # fmt: skip


def how_many(found: Grounded) -> str:
    """ "How many users watched the movie 'Dune'?", where one clause says it all; else empty."""
    tree = found.tree
    if len(tree.children(0)) != 1 or found.of_node(0) or not tree.hops[0].forward:
        return ""
    text = clause(found, 0, many=True)
    for pronoun in ("who ", "that "):
        if text.startswith(pronoun):
            verb = text.removeprefix(pronoun)
            return f"How many {plural(noun(tree.labels[0]))} {verb}?"
    return ""


_AGGREGATES = {
    "avg": ("average", "Average"),
    "min": ("minimum", "lowest"),
    "max": ("maximum", "highest"),
    "sum": ("total", "sum of the"),
}


def aggregate(shop: Workshop, relations: int) -> Draft | None:
    """Average, least, greatest or sum of a number of the target, each node counted once."""
    rich = [n for n in shop.drawer.predicates.labels
            if any(a.role in ("number", "year", "date") for a in shop.drawer.predicates.attributes[n])]  # fmt: skip
    if not rich:
        return None
    found = shop.grounded(relations, label=shop.drawer.rarest(rich, lambda n: ("target", n)))
    if found is None:
        return None
    label = found.tree.labels[0]
    pool = [a for a in shop.drawer.predicates.attributes[label]
            if a.role in ("number", "year", "date")
            and not any(c.attribute.name == a.name for c in found.of_node(0))]  # fmt: skip
    if not pool:
        return None
    attribute = shop.rng.choice(pool)
    ways_of = ["avg", "min", "max", "sum"] if attribute.role == "number" else ["min", "max"]
    function = shop.rng.choice(ways_of)
    held = Values()
    match = PatternText(found, held)
    n = match.nodes[0]
    once = f" WITH DISTINCT {n}" if found.tree.hops else ""
    said = _AGGREGATES[function][0]
    if attribute.role in ("year", "date"):
        said = {"min": "earliest", "max": "latest"}[function]
    alias = _camel(said, attribute.word)
    text = f"{match.match}{once} RETURN {function}({n}.{quote_name(attribute.name)}) AS {quote_name(alias)}"
    whom = noun_phrase(found, 0, many=True)
    ways = [
        f"What is the {said} {attribute.word} of the {whom}?",
        f"Find the {said} {attribute.word} among the {whom}.",
        f"Calculate the {said} {attribute.word} of all {whom}.",
        f"Return the {said} {attribute.word} of {whom}.",
    ]
    return finish(found, "aggregate", text, held, relations, ways[0], ways[1:],
                  f"{said} {attribute.word}", plural(noun(label)))  # fmt: skip


def _camel(*parts: str) -> str:
    spoken = words(" ".join(parts)).split(" ")
    return spoken[0].lower() + "".join(w[:1].upper() + w[1:] for w in spoken[1:])


FAMILIES: Mapping[str, tuple[Builder, float]] = {
    "lookup": (lookup, 2.0),
    "list": (listing, 4.0),
    "count": (counting, 2.0),
    "aggregate": (aggregate, 1.0),
}
_ = Condition
