"""Families that retrieve: a property, a list, a table, distinct values, what is not so."""

from __future__ import annotations

from collections.abc import Callable

from cypherforge.cypher.names import quote_name
from cypherforge.synth.describe import clause, conditions_of_hop, noun_phrase, shown, thing
from cypherforge.synth.family_base import (
    Workshop,
    about,
    asked,
    called_so,
    columns_of,
    columns_text,
    finish,
    once,
    ways,
)
from cypherforge.synth.pairs import Draft
from cypherforge.synth.phrases import phrase
from cypherforge.synth.predicates import Attribute
from cypherforge.synth.trees import Condition, Grounded, PatternText, Tree, Values, usable
from cypherforge.synth.words import listed, noun, plural, singular


def lookup(shop: Workshop, relations: int) -> Draft | None:
    """A property of one entity: "What is the year of the movie 'Dune'?"."""
    if relations != 1:
        return None
    draw = shop.drawer
    tree = draw.tree(0)
    found = draw.ground(tree) if tree else None
    if found is None:
        return None
    found.conditions = draw.entity(found, 0)
    if not found.conditions:
        return None
    label = found.tree.labels[0]
    used = {c.attribute.name for c in found.conditions}
    values = draw.sample.nodes[found.nodes[0]]
    pool = [
        a for a in draw.predicates.attributes[label]
        if a.name not in used and values.get(a.name) is not None
    ]  # fmt: skip
    if not pool:
        return None
    columns = [draw.rarest(pool, lambda a: ("asked", a.owner, a.name))]
    if len(pool) > 1 and shop.rng.random() < 0.3:
        columns.append(shop.rng.choice([a for a in pool if a not in columns]))
    for a in columns:
        draw.use("asked", a.owner, a.name)
    held = Values()
    match = PatternText(found, held)
    text = match.match + once(shop, found, match.nodes[0], columns_text(match.nodes[0], columns))
    what, whom = asked(columns, False), thing(found, 0)
    question, others = ways(
        shop,
        f"What {'is' if len(columns) == 1 else 'are'} the {what} of {whom}?",
        f"Retrieve the {what} of {whom}.",
        f"Find {whom} and return the {what}.",
        f"Give the {what} for {whom}.",
        f"Tell me the {what} of {whom}.",
        f"I need the {what} of {whom}.",
    )
    return finish(found, "lookup", text, held, 1, question, others, what, noun(label))


def listing(shop: Workshop, relations: int) -> Draft | None:
    """Names of what fulfils all conditions."""
    found = shop.grounded(relations, bare=0.1)
    if found is None:
        return None
    columns = shop.output(found)
    if not columns:
        return None
    held = Values()
    match = PatternText(found, held)
    n = match.nodes[0]
    text = match.match + once(shop, found, n, columns_text(n, columns))
    what, whom = asked(columns, True), noun_phrase(found, 0, many=True)
    the, every = columns_of(columns, whom), columns_of(columns, whom, every=True)
    question, others = ways(
        shop,
        f"What are {the}?",
        f"List {every}.",
        f"Retrieve {every}.",
        "" if called_so(columns) else f"Find all {whom}. Return their {what}.",
        f"Show {the}.",
        f"Give me {the}.",
    )
    target = plural(noun(found.tree.labels[0]))
    return finish(found, "list", text, held, relations, question, others, what, target)


def table(shop: Workshop, relations: int) -> Draft | None:
    """Rows over a relation: names of both ends, and what the relationship holds."""
    found = shop.grounded(relations, least_hops=1, open_leaf=0.7)
    if found is None:
        return None
    draw = shop.drawer
    hop = next((h for h in found.tree.hops if h.parent == 0 and not found.bound(h.child)), None)
    if hop is None:
        return None
    near = [a for a in draw.predicates.names[found.tree.labels[0]] if not _tested(found, 0, a.name)]
    far = [
        a for a in draw.predicates.names[found.tree.labels[hop.child]]
        if not _tested(found, hop.child, a.name)
    ]  # fmt: skip
    if not near or not far or found.tree.labels[0] == found.tree.labels[hop.child]:
        return None
    number = found.tree.hops.index(hop)
    extra = [a for a in draw.predicates.rel_attributes[hop.relation.type]
             if found.edges[number].properties.get(a.name) is not None
             and not any(c.attribute == a for c in found.of_hop(number))]  # fmt: skip
    extra = [shop.rng.choice(extra)] if extra and shop.rng.random() < 0.5 else []
    held = Values()
    match = PatternText(found, held, [number] if extra else [])
    items = [columns_text(match.nodes[0], near), columns_text(match.nodes[hop.child], far)]
    said = _rows_in_words(found, number, asked(near, False), asked(far, False))
    for a in extra:
        items.append(f"{match.rels[number]}.{quote_name(a.name)}")
        said.append(f"the {a.word}")
    single = shop.rng.random() < 0.5 and not extra
    text = f"{match.match} RETURN {'DISTINCT ' if single else ''}{', '.join(items)}"
    what = listed(said)
    question, others = ways(
        shop,
        f"List {what}.",
        f"Return {what}.",
        f"Retrieve {what}.",
        f"Show {what}, one row for each combination.",
    )
    target = plural(noun(found.tree.labels[0]))
    return finish(found, "table", text, held, relations, question, others, what, target)


def _rows_in_words(found: Grounded, number: int, near: str, far: str) -> list[str]:
    """ "the name of each genre", "the title of each movie that has it"."""
    hop = found.tree.hops[number]
    rest = Grounded(
        Tree(found.tree.labels, tuple(h for h in found.tree.hops if h is not hop)),
        found.nodes,
        [e for i, e in enumerate(found.edges) if i != number],
        [
            Condition(("hop", c.place[1] - (c.place[1] > number)), c.attribute, c.op, c.value)
            if c.place[0] == "hop"
            else c
            for c in found.conditions
            if c.place != ("hop", number)
        ],
    )
    extra = conditions_of_hop(found, number)

    def joined(*, full: bool) -> str:
        return f"{about(hop, child_many=False, full=full)} {extra}".strip()

    return [
        f"the {near} of each {noun_phrase(rest, 0, many=False)}",
        f"the {far} of each {noun_phrase(rest, hop.child, many=False, first=joined)}",
    ]


def _tested(found: Grounded, node: int, name: str) -> bool:
    return any(c.attribute.name == name and c.op == "=" for c in found.of_node(node))


def between(shop: Workshop, relations: int) -> Draft | None:
    """What a relationship between two entities holds."""
    if relations != 1:
        return None
    draw = shop.drawer
    rich = [r for r in draw.predicates.relations if draw.predicates.rel_attributes[r.type]]
    if not rich:
        return None
    relation = draw.rarest(rich, lambda r: ("between", r.start, r.type, r.end))
    tree = draw.tree_of(relation)
    found = draw.ground(tree)
    if found is None:
        return None
    first, second = draw.entity(found, 0), draw.entity(found, 1)
    pool = [a for a in draw.predicates.rel_attributes[relation.type]
            if found.edges[0].properties.get(a.name) is not None]  # fmt: skip
    if not first or not second or not pool:
        return None
    found.conditions = first + second
    attribute = shop.rng.choice(pool)
    held = Values()
    match = PatternText(found, held, [0])
    text = f"{match.match} RETURN {match.rels[0]}.{quote_name(attribute.name)}"
    spoken = phrase(relation.type, relation.start, relation.end)
    start = thing(_alone(found, 0), 0)
    end = thing(_alone(found, 1), 0)
    fact = (
        f"{end} is the {spoken.noun} of {start}"
        if spoken.noun
        else f"{start} {spoken.singular} {end}"
    )
    word = attribute.word
    question, others = ways(
        shop,
        f"What is the {word} recorded where {fact}?",
        f"{fact}: what is the {word}?",
        f"Retrieve the {word} for the fact that {fact}.",
        f"Given that {fact}, what is the {word}?",
    )
    return finish(found, "between", text, held, 1, question, others, word, noun(relation.start))


def _alone(found: Grounded, node: int) -> Grounded:
    """One node of a match as a match of its own."""
    conditions = [
        Condition(("node", 0), c.attribute, c.op, c.value, c.entity) for c in found.of_node(node)
    ]
    return Grounded(Tree((found.tree.labels[node],)), [found.nodes[node]], [], conditions)


def values_of(shop: Workshop, relations: int) -> Draft | None:
    """The different values of a property among what fulfils the conditions."""
    kinds: dict[str, Callable[[Attribute], bool]] = {
        "value": lambda a: a.few, "item": lambda a: a.role == "list"
    }  # fmt: skip
    rich = {kind: shop.rich(fits) for kind, fits in kinds.items()}
    kind = shop.kind("values", [k for k in kinds if rich[k]])
    if not kind:
        return None
    label = shop.drawer.rarest(rich[kind], lambda n: ("target", n))
    if kind == "item" and shop.rng.random() < (0.5 if relations == 1 else 0.2):
        found = shop.some(label, relations - 1)
    else:
        found = shop.grounded(relations, label=label)
    if found is None:
        return None
    pool = [a for a in shop.drawer.predicates.attributes[label]
            if kinds[kind](a) and not any(c.attribute == a for c in found.of_node(0))]  # fmt: skip
    if not pool:
        return None
    attribute = shop.rng.choice(pool)
    held = Values()
    match = PatternText(found, held)
    n = match.nodes[0]
    dotted = f"{n}.{quote_name(attribute.name)}"
    if kind == "item":
        item = quote_name("item")
        text = f"{match.match} WITH DISTINCT {n} UNWIND {dotted} AS {item} RETURN DISTINCT {item}"
    else:
        null = (
            ""
            if attribute.complete
            else f"{' AND' if match.where else ' WHERE'} {dotted} IS NOT NULL"
        )
        text = f"{match.match}{null} RETURN DISTINCT {dotted}"
    # A list is mostly called in the plural already: "owners".
    word = singular(attribute.word) if kind == "item" else attribute.word
    what, whom = plural(word), noun_phrase(found, 0, many=True)
    question, others = ways(
        shop,
        f"What are the different {what} of the {whom}?",
        f"List the distinct {what} of all {whom}.",
        f"Which {what} occur among the {whom}?",
        f"What unique {what} do the {whom} have?",
    )
    return finish(found, "values", text, held, relations, question, others, f"the different {what}",
                  plural(noun(label)))  # fmt: skip


def without(shop: Workshop, relations: int) -> Draft | None:
    """Negation: no such relation, another value, not in the list."""
    draw = shop.drawer
    if draw.values:
        lists = ["not in list", "in list"] if shop.rich(lambda a: a.role == "list") else []
        kind = shop.kind("negation", ["no relation", "other value", *lists])
        if kind != "no relation":
            return _other_value(shop, relations, kind)
    found = shop.grounded(relations, least_hops=1)
    if found is None:
        return None
    hops = [
        i
        for i, h in enumerate(found.tree.hops)
        if h.parent == 0 and not found.tree.children(h.child)
    ]
    if not hops:
        return None
    denied = hops[-1]
    if denied != len(found.tree.hops) - 1:
        return None
    columns = list(draw.predicates.names[found.tree.labels[0]])
    if any(_tested(found, 0, a.name) for a in columns):
        return None
    hop = found.tree.hops[denied]
    rest = Grounded(
        Tree(found.tree.labels[:-1], found.tree.hops[:-1]),
        found.nodes[:-1],
        found.edges[:-1],
        [c for c in found.conditions if c.place not in (("node", hop.child), ("hop", denied))],
    )
    if any(c.place == ("hop", denied) for c in found.conditions):
        return None
    held = Values()
    match = PatternText(rest, held)
    inner = PatternText(found, held)
    n = match.nodes[0]
    child = inner.node_text(hop.child)
    if child.where:
        return None
    arrow = (
        f"-[:{quote_name(hop.relation.type)}]->"
        if hop.forward
        else f"<-[:{quote_name(hop.relation.type)}]-"
    )
    bare = child.text.replace(f"({inner.nodes[hop.child]}:", "(:", 1)
    denial = f"NOT ({n}){arrow}{bare}"
    if shop.rng.random() < 0.4:
        denial = f"NOT EXISTS {{ ({n}){arrow}{bare} }}"
    text = f"{match.match}{' AND' if match.where else ' WHERE'} {denial}"
    text += once(shop, rest, n, columns_text(n, columns))
    what, whom = asked(columns, True), noun_phrase(rest, 0, many=True)
    told = clause(found, denied, many=True)
    those = "those " + told
    question, others = ways(
        shop,
        f"List {columns_of(columns, whom, every=True)} except {those}.",
        f"What are {columns_of(columns, whom)}, leaving out {those}?",
        f"Which {whom} are not among {those}? Return their {what}.",
        f"Find {columns_of(columns, whom)}, excluding {those}.",
    )
    target = plural(noun(found.tree.labels[0]))
    draft = finish(rest, "negation", text, held, relations, question, others, what, target)
    draft.analysed += f" Not: {told}."
    draft.naive = f"{draft.naive[:-1]}, except for {those}."
    draft.others = (Grounded(found.tree, found.nodes, found.edges, found.of_node(hop.child)),)
    return draft


def _other_value(shop: Workshop, relations: int, kind: str) -> Draft | None:
    draw = shop.drawer
    in_list = kind.endswith("in list")
    roles = ("list",) if in_list else ("category", "text", "name", "number", "year")
    rich = shop.rich(lambda a: a.role in roles)
    if not rich:
        return None
    label = draw.rarest(rich, lambda n: ("target", n))
    found = shop.some(label, relations - 1)
    if found is None:
        return None
    pool = [a for a in draw.predicates.attributes[label]
            if a.role in roles and a.coverage > 0.5 and a.distinct != 1
            and not any(c.attribute.name == a.name for c in found.of_node(0))]  # fmt: skip
    columns = list(draw.predicates.names[label])
    if not pool or any(_tested(found, 0, a.name) for a in columns):
        return None
    attribute = shop.rng.choice(pool)
    # What a list must hold is one of the match's own items, so that there is an answer.
    own = kind == "in list"
    node = found.nodes[0] if own else draw.pick.choice(draw.sample.by_label[label])
    other = draw.sample.nodes[node].get(attribute.name)
    if in_list:
        other = (
            other[0] if isinstance(other, list) and other and isinstance(other[0], str) else None
        )
    if not usable(other) or isinstance(other, str) and (len(other) > 60 or draw.blocked(other)):
        return None
    held = Values()
    match = PatternText(found, held)
    n = match.nodes[0]
    dotted = f"{n}.{quote_name(attribute.name)}"
    mark = held.mark(other)
    keep = kind != "in list"
    test = f"{dotted} <> {mark}" if not in_list else f"{'NOT ' if keep else ''}{mark} IN {dotted}"
    text = f"{match.match}{' AND' if match.where else ' WHERE'} {test}"
    text += once(shop, found, n, columns_text(n, columns))
    what, whom, word = asked(columns, True), noun_phrase(found, 0, many=True), attribute.word
    said = f"whose {word} is not {shown(other)}"
    if in_list:
        said = f"whose {word} {'do not include' if keep else 'include'} {shown(other)}"
    joined = f"{whom} {'and' if found.tree.hops or 'whose' in whom else ''} {said}"
    question, others = ways(
        shop,
        f"What are {columns_of(columns, joined)}?",
        f"List {columns_of(columns, joined, every=True)}.",
        f"Retrieve {columns_of(columns, joined, every=True)}.",
    )
    return finish(found, "negation" if keep else "list", text, held, relations, question, others, what,
                  plural(noun(label)), more=[said.removeprefix("whose ")])  # fmt: skip
