"""Families over more than one pattern: unions, paths, comparisons, times."""

from __future__ import annotations

from functools import partial

from cypherforge.cypher.names import quote_name
from cypherforge.synth.describe import clause, either_of, noun_phrase, shown, thing
from cypherforge.synth.family_base import (
    Workshop,
    asked,
    camel,
    columns_of,
    columns_text,
    finish,
    once,
    ways,
)
from cypherforge.synth.pairs import Draft
from cypherforge.synth.predicates import Attribute, Relation
from cypherforge.synth.trees import Condition, Grounded, PatternText, Tree, Values
from cypherforge.synth.words import a as _a
from cypherforge.synth.words import noun, plural


def either(shop: Workshop, relations: int) -> Draft | None:
    """Nodes that one of two relations leads to, each once, or their number."""
    if relations != 2:
        return None
    draw = shop.drawer
    pool = [n for n in draw.predicates.labels
            if draw.predicates.names[n] and len(draw.predicates.relations_of(n)) > 1]  # fmt: skip
    if not pool or not draw.values:
        return None
    label = draw.rarest(pool, lambda n: ("united", n))
    draw.use("united", label)
    parts = []
    for relation, forward in shop.rng.sample(draw.predicates.relations_of(label), 2):
        found = draw.ground(draw.tree_of(relation, forward))
        if found is None:
            return None
        found.conditions = draw.entity(found, 1)
        if not found.conditions:
            return None
        parts.append(found)
    columns = list(draw.predicates.names[label])
    held = Values()
    first, second = PatternText(parts[0], held), PatternText(parts[1], held)
    n = first.nodes[0]
    if second.nodes[0] != n:
        return None
    text = (
        f"CALL {{ {first.match} RETURN {n}, {first.nodes[1]} AS other UNION "
        f"{second.match} RETURN {n}, {second.nodes[1]} AS other }} WITH DISTINCT {n} "
    )
    told = either_of(*(partial(clause, part, 0, many=True) for part in parts))
    whom = plural(noun(label))
    if shop.kind("union", ["names", "number"]) == "number":
        text += f"RETURN count({n}) AS {quote_name(camel(noun(label), 'count'))}"
        what = "the number"
        question, others = ways(
            shop,
            f"How many {whom} are there {told}?",
            f"Count the {whom} {told}.",
            f"What is the number of {whom} {told}, or both?",
        )
    else:
        text += f"RETURN {columns_text(n, columns)}"
        what = asked(columns, True)
        question, others = ways(
            shop,
            f"What are {columns_of(columns, whom)} {told}?",
            f"List {columns_of(columns, whom, every=True)} {told}.",
            f"Find {columns_of(columns, whom, every=True)} {told}, or both.",
        )
    draft = finish(parts[0], "union", text, held, relations, question, others, what, whom)
    draft.others = (parts[1],)
    draft.analysed = f"Target: {whom}. Return: {what}. Conditions: {told}."
    draft.naive = f"Find {what} of {whom} {told}."
    return draft


def path(shop: Workshop, relations: int) -> Draft | None:
    """How far two entities are apart, over relationships of any type and direction."""
    draw = shop.drawer
    tree = draw.tree(relations)
    if tree is None or any(h.parent != i for i, h in enumerate(tree.hops)):
        return None
    found = draw.ground(tree)
    if found is None:
        return None
    ends = Grounded(
        Tree((tree.labels[0], tree.labels[-1])), [found.nodes[0], found.nodes[-1]], [], []
    )
    first, last = draw.entity(ends, 0), draw.entity(ends, 1)
    if not first or not last:
        return None
    ends.conditions = first + last
    held = Values()
    match = PatternText(ends, held)
    a, b = match.node_text(0).text, match.node_text(1).text
    bound = max(2, relations + 1)
    text = (
        f"MATCH {a}, {b} MATCH way = shortestPath(({match.nodes[0]})-[*..{bound}]-({match.nodes[1]})) "
        "RETURN length(way) AS steps"
    )
    one = _entity_text(first, tree.labels[0])
    two = _entity_text(last, tree.labels[-1])
    question, others = ways(
        shop,
        f"How many relationships does the shortest path between {one} and {two} have?",
        f"What is the length of the shortest path from {one} to {two}?",
        f"How many steps apart are {one} and {two}, going over relationships of any kind?",
    )
    return finish(ends, "path", text, held, relations, question, others, "length of the shortest path",
                  noun(tree.labels[0]))  # fmt: skip


def _entity_text(conditions: list[Condition], label: str) -> str:
    alone = [Condition(("node", 0), c.attribute, c.op, c.value, True) for c in conditions]
    return thing(Grounded(Tree((label,)), [""], [], alone), 0)


def comparison(shop: Workshop, relations: int) -> Draft | None:
    """Two entities by one property: which is more, whether they are equal, the difference."""
    if relations > 2:
        return None
    draw = shop.drawer
    kind = shop.kind("comparison", ["more", "equal", "difference"])
    roles = ("number", "year") if kind == "difference" else ("number", "year", "date")
    rich = shop.rich(lambda a: a.role in roles)
    if not rich:
        return None
    label = draw.rarest(rich, lambda n: ("compared", n))
    draw.use("compared", label)
    tree = draw.tree(0, label=label)
    if tree is None:
        return None
    one, two = draw.ground(tree), draw.ground(tree)
    if one is None or two is None or one.nodes == two.nodes:
        return None
    both = Grounded(Tree((label, label)), [one.nodes[0], two.nodes[0]], [], [])
    first, second = draw.entity(both, 0), draw.entity(both, 1)
    pool = [a for a in draw.predicates.attributes[label] if a.role in roles]
    key = shop.rng.choice(pool)
    left = draw.sample.nodes[both.nodes[0]].get(key.name)
    right = draw.sample.nodes[both.nodes[1]].get(key.name)
    if not first or not second or left is None or right is None or len(first) != len(second):
        return None
    if [c.attribute for c in first] != [c.attribute for c in second]:
        return None
    both.conditions = first + second
    held = Values()
    match = PatternText(both, held)
    n, m = match.nodes
    head = f"MATCH {match.node_text(0).text}, {match.node_text(1).text}"
    a, b = f"{n}.{quote_name(key.name)}", f"{m}.{quote_name(key.name)}"
    said = [_entity_text(c, label) for c in (first, second)]
    told = f"{said[0]} or {said[1]}"
    name = first[0].attribute
    if kind == "more":
        if left == right:
            return None
        word = "later" if key.role in ("year", "date") else "higher"
        text = (
            f"{head} RETURN CASE WHEN {a} > {b} THEN {n}.{quote_name(name.name)} "
            f"ELSE {m}.{quote_name(name.name)} END AS answer"
        )
        question, others = ways(
            shop,
            f"Which has the {word} {key.word}, {told}? Return the {name.word}.",
            f"Of {said[0]} and {said[1]}, return the {name.word} of the one with the {word} {key.word}.",
        )
        what = f"{name.word} of the one with the {word} {key.word}"
    elif kind == "equal":
        text = f"{head} RETURN {a} = {b} AS answer"
        question, others = ways(
            shop,
            f"Do {said[0]} and {said[1]} have the same {key.word}?",
            f"Is the {key.word} of {said[0]} the same as that of {said[1]}?",
        )
        what = f"whether the {key.word} is the same"
    else:
        text = f"{head} RETURN {a} - {b} AS answer"
        question, others = ways(
            shop,
            f"What is the {key.word} of {said[0]} minus that of {said[1]}?",
            f"By how much does the {key.word} of {said[0]} exceed that of {said[1]}?",
        )
        what = f"difference in {key.word}"
    draft = finish(
        both, "comparison", text, held, relations, question, others, what, plural(noun(label))
    )
    # False and zero are answers here, and "a = b" of two nulls is not.
    draft.falsy = True
    return draft


def in_year(shop: Workshop, relations: int) -> Draft | None:
    """What falls into a year: by the year of a date."""
    draw = shop.drawer
    if not draw.values:
        return None
    rich = shop.rich(lambda a: a.role in ("date", "datetime"))
    spans = ["still", "during"] if relations <= 2 and _spans(shop) else []
    kind = shop.kind("time", (["year", "month"] if rich else []) + spans)
    if not kind or kind in spans:
        return _interval(shop, relations, kind) if kind else None
    label = draw.rarest(rich, lambda n: ("target", n))
    found = shop.some(label, relations - 1)
    if found is None:
        return None
    attributes = [a for a in draw.predicates.attributes[label] if a.role in ("date", "datetime")]
    key = shop.rng.choice(attributes)
    value = draw.sample.nodes[found.nodes[0]].get(key.name)
    columns = [a for a in draw.predicates.names[label]
               if not any(c.attribute == a and c.op == "=" for c in found.of_node(0))]  # fmt: skip
    if value is None or any(c.attribute == key for c in found.conditions) or not columns:
        return None
    held = Values()
    match = PatternText(found, held)
    n = match.nodes[0]
    dotted = f"{n}.{quote_name(key.name)}"
    mark = held.mark(value.year)
    test, told = f"{dotted}.year = {mark}", f"whose {key.word} is in {shown(value.year)}"
    if kind == "month":
        test += f" AND {dotted}.month = {held.mark(value.month)}"
        told = f"whose {key.word} is in {_MONTHS[value.month - 1]} {value.year}"
    stated = told.removeprefix("whose ")
    text = f"{match.match}{' AND' if match.where else ' WHERE'} {test}"
    whom = noun_phrase(found, 0, many=True)
    joined = f"{whom} {'and ' if found.tree.hops or 'whose' in whom else ''}{told}"
    if shop.rng.random() < 0.4:
        text += f" RETURN count(DISTINCT {n}) AS {quote_name(camel(noun(label), 'count'))}"
        what = "the number"
        question, others = ways(
            shop,
            f"How many {joined} are there?",
            f"What is the total number of {joined}?",
            f"Count the {joined}.",
        )
    else:
        text += once(shop, found, n, columns_text(n, columns))
        what = asked(columns, True)
        question, others = ways(
            shop,
            f"What are {columns_of(columns, joined)}?",
            f"List {columns_of(columns, joined, every=True)}.",
            f"Retrieve {columns_of(columns, joined, every=True)}.",
        )
    return finish(found, "time", text, held, relations, question, others, what,
                  plural(noun(label)), more=[stated])  # fmt: skip


_MONTHS = (
    "January February March April May June July August September October November December".split()
)


def _spans(shop: Workshop) -> list[tuple[Relation, Attribute, Attribute]]:
    """Relations whose relationships have a beginning and an end."""
    of = shop.drawer.predicates
    found = []
    for relation in of.relations:
        ends = _ends_of(of.rel_attributes[relation.type])
        if ends is not None:
            found.append((relation, *ends))
    return found


def _interval(shop: Workshop, relations: int, kind: str) -> Draft | None:
    """Who or what was related in a year, or still is: relationships with a start and an open end."""
    draw = shop.drawer
    relation, begin, end = shop.rng.choice(_spans(shop))
    found = draw.ground(draw.tree_of(relation, shop.rng.random() < 0.6))
    if found is None:
        return None
    found.conditions = draw.entity(found, 1)
    label = found.tree.labels[0]
    columns = list(draw.predicates.names[label])
    year = found.edges[0].properties.get(begin.name)
    if not found.conditions or year is None:
        return None
    if relations == 2:
        extra = draw.literal(found, places=[("node", 0)])
        if extra is None or any(a.name == extra.attribute.name for a in columns):
            return None
        found.conditions.append(extra)
    held = Values()
    match = PatternText(found, held, [0])
    r, n = match.rels[0], match.nodes[0]
    start, stop = f"{r}.{quote_name(begin.name)}", f"{r}.{quote_name(end.name)}"
    whom = noun_phrase(found, 0, many=True)
    if kind == "still" and end.coverage < 0.95:
        test = f"{start} IS NOT NULL AND {stop} IS NULL"
        told = f"with {_a(begin.word)} but no {end.word}"
        stated = f"{begin.word} of this is known; {end.word} of this is not"
    else:
        mark = held.mark(year)
        test = f"{start} <= {mark} AND ({stop} >= {mark} OR {stop} IS NULL)"
        told = (
            f"with {_a(begin.word)} of at most {shown(year)} and {_a(end.word)} of at least {shown(year)}, "
            f"or no {end.word}"
        )
        stated = (
            f"{begin.word} of this is at most {shown(year)}; "
            f"{end.word} of this is at least {shown(year)} or missing"
        )
    text = f"{match.match}{' AND' if match.where else ' WHERE'} {test}"
    text += f" WITH DISTINCT {n} RETURN {columns_text(n, columns)}"
    what = asked(columns, True)
    question, others = ways(
        shop,
        f"What are {columns_of(columns, whom)} {told}?",
        f"List {columns_of(columns, whom, every=True)} {told}.",
        f"Retrieve {columns_of(columns, whom)} {told}.",
    )
    return finish(found, "time", text, held, relations, question, others, what,
                  plural(noun(label)), more=[stated])  # fmt: skip


def _ends_of(attributes: tuple[Attribute, ...]) -> tuple[Attribute, Attribute] | None:
    """The attributes that begin and end a relationship, both whole numbers."""
    numbers = [a for a in attributes if a.type == "INTEGER"]
    begin = next(
        (a for a in numbers if a.word.split(" ")[0] in ("start", "from", "since", "begin")), None
    )
    end = next((a for a in numbers if a.word.split(" ")[0] in ("end", "to", "until")), None)
    return (begin, end) if begin is not None and end is not None else None
