"""Families that aggregate: counts without fan-out, averages, groups, the most, the extremes."""

from __future__ import annotations

from dataclasses import dataclass

from cypherforge.cypher.names import quote_name
from cypherforge.graph.base import Result
from cypherforge.synth.describe import clause, noun_phrase
from cypherforge.synth.family_base import (
    Workshop,
    about,
    asked,
    camel,
    columns_text,
    finish,
    ways,
)
from cypherforge.synth.pairs import Draft
from cypherforge.synth.predicates import Attribute
from cypherforge.synth.trees import Grounded, Hop, PatternText, Tree, Values, label_text
from cypherforge.synth.words import noun, plural

_AGGREGATES = {"avg": "average", "min": "minimum", "max": "maximum", "sum": "total"}
_TIMES = {"min": "earliest", "max": "latest"}
_NUMBERS = ("number", "year", "date")


def counting(shop: Workshop, relations: int) -> Draft | None:
    """How many there are; counted once each where a path could reach them twice."""
    found = shop.grounded(relations, bare=0.1)
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
    if shop.rng.random() < 0.3:
        return _over_relationships(shop, relations)
    rich = [
        n for n in shop.drawer.predicates.labels
        if any(a.role in _NUMBERS for a in shop.drawer.predicates.attributes[n])
    ]  # fmt: skip
    if not rich:
        return None
    label = shop.drawer.rarest(rich, lambda n: ("target", n))
    shop.drawer.used["target", label] += 1
    found = shop.grounded(relations, label=label, bare=0.25)
    if found is None:
        return None
    pool = [a for a in shop.drawer.predicates.attributes[label]
            if a.role in _NUMBERS and shop.has(found, a)
            and not any(c.attribute.name == a.name for c in found.of_node(0))]  # fmt: skip
    if not pool:
        return None
    attribute = shop.rng.choice(pool)
    held = Values()
    match = PatternText(found, held)
    n = match.nodes[0]
    dotted, word = f"{n}.{quote_name(attribute.name)}", attribute.word
    function = shop.rng.choice(list(_AGGREGATES if attribute.role == "number" else _TIMES))
    if attribute.role == "date" and shop.rng.random() < 0.5:
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
    if not rich:
        return None
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
    rich = [n for n in shop.drawer.predicates.labels
            if any(a.few for a in shop.drawer.predicates.attributes[n])]  # fmt: skip
    timed = [n for n in shop.drawer.predicates.labels
             if any(a.role == "date" for a in shop.drawer.predicates.attributes[n])]  # fmt: skip
    if not rich and not timed:
        return None
    label = shop.drawer.rarest(rich + timed, lambda n: ("target", n))
    found = _conditioned(shop, label, relations - 1)
    if found is None:
        return None
    attributes = shop.drawer.predicates.attributes[label]
    pool = [a for a in attributes if (a.few or a.role == "date")
            and not any(c.attribute.name == a.name for c in found.of_node(0))]  # fmt: skip
    if not pool:
        return None
    key = shop.rng.choice(pool)
    held = Values()
    match = PatternText(found, held)
    n = match.nodes[0]
    group, word = f"{n}.{quote_name(key.name)}", key.word
    if key.role == "date":
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
                  plural(noun(label)), check=_several)  # fmt: skip


def _figure(returned: str) -> str:
    if ", count(" in returned:
        return "two figures"
    return "average" if returned.startswith("avg(") else "number"


def _several(result: Result) -> str:
    return "" if len(result.rows) > 1 else "one group only"


def _conditioned(shop: Workshop, label: str, relations: int) -> Grounded | None:
    if relations <= 0:
        tree = shop.drawer.tree(0, label=label)
        return shop.drawer.ground(tree) if tree else None
    return shop.grounded(relations, label=label)


@dataclass
class Around:
    """A group's pieces: the conditioned nodes, the hop whose ends are counted, the texts."""

    found: Grounded
    hop: Hop
    match: PatternText
    held: Values
    columns: list[Attribute]
    grouped: str
    alias: str
    optional: bool

    @property
    def each(self) -> str:
        """One of the grouped nodes in words."""
        return noun_phrase(self.found, 0, many=False)

    @property
    def all(self) -> str:
        """The grouped nodes in words."""
        return noun_phrase(self.found, 0, many=True)

    @property
    def counted(self) -> str:
        """What is counted around one of them: "movies watched by them"."""
        return f"{plural(noun(_far(self.hop)))} {about(self.hop)}"

    @property
    def counted_of_all(self) -> str:
        """The same where several are spoken of."""
        return f"{plural(noun(_far(self.hop)))} {about(self.hop, many=True)}"

    @property
    def returned(self) -> str:
        """RETURN items: the names, then the number."""
        return f"{columns_text(self.match.nodes[0], self.columns)}, {self.alias}"


def _around(shop: Workshop, relations: int, *, optional: bool = False) -> Around | None:
    """Nodes with conditions, each with the number of nodes at the other end of one more hop."""
    draw = shop.drawer
    chain = shop.grounded(relations - 1, least_hops=0) if relations > 1 else None
    if relations > 1:
        found = chain
    else:
        tree = draw.tree(0)
        found = draw.ground(tree) if tree else None
    if found is None:
        return None
    label = found.tree.labels[0]
    taken = {(h.relation, h.forward) for h in found.tree.hops if h.parent == 0}
    options = [o for o in draw.predicates.relations_of(label) if o not in taken]
    columns = [a for a in draw.predicates.names[label]
               if not any(c.attribute == a and c.op == "=" for c in found.of_node(0))]  # fmt: skip
    if not options or not columns:
        return None
    relation, forward = draw.rarest(
        options, lambda o: ("counted", o[0].start, o[0].type, o[0].end, o[1])
    )
    draw.used["counted", relation.start, relation.type, relation.end, forward] += 1
    far = relation.end if forward else relation.start
    whole = Tree(
        (*found.tree.labels, far),
        (*found.tree.hops, Hop(relation, 0, len(found.tree.labels), forward)),
    )
    hop = whole.hops[-1]
    names = PatternText(Grounded(whole, [*found.nodes, ""], [], []), Values()).nodes
    held = Values()
    match = PatternText(found, held)
    n, m = names[0], names[-1]
    arrow = (
        f"-[:{quote_name(relation.type)}]->" if forward else f"<-[:{quote_name(relation.type)}]-"
    )
    path = f"({n}){arrow}({m}:{label_text(far)})"
    if optional:
        text = f"{match.match} OPTIONAL MATCH {path}"
    elif match.where or found.tree.hops:
        text = f"{match.match} MATCH {path}" if match.where else f"MATCH {match.pattern}, {path}"
    else:
        text = f"MATCH {match.pattern}{path.removeprefix(f'({n})')}"
    alias = quote_name(camel(noun(far), "count"))
    while alias in names:
        alias += "s"
    grouped = f"{text} WITH {n}, count(DISTINCT {m}) AS {alias}"
    return Around(found, hop, match, held, columns, grouped, alias, optional)


def by_node(shop: Workshop, relations: int) -> Draft | None:
    """For each node the number of nodes around it."""
    made = _around(shop, relations)
    return None if made is None else _grouped(shop, made, "group", relations)


def optional(shop: Workshop, relations: int) -> Draft | None:
    """As ``by_node``, with those that have none, at 0."""
    made = _around(shop, relations, optional=True)
    return None if made is None else _grouped(shop, made, "optional", relations)


def _grouped(shop: Workshop, made: Around, family: str, relations: int) -> Draft:
    text = f"{made.grouped} RETURN {made.returned}"
    what = asked(made.columns, False)
    zero = ", 0 where there are none" if made.optional else ""
    question, others = ways(
        shop,
        f"For each {made.each}, return the {what} and the number of {made.counted}{zero}.",
        f"List the {asked(made.columns, True)} of the {made.all} and, for each, the number of {made.counted}{zero}.",
        f"For each {made.each}, how many {made.counted} are there{zero}? Return the {what} and the number.",
    )
    draft = finish(made.found, family, text, made.held, relations, question, others,
                   f"{what}, number of {made.counted}", plural(noun(made.found.tree.labels[0])))  # fmt: skip
    if family == "group" and not made.found.conditions:
        draft.check = _several
    return draft


def most(shop: Workshop, relations: int) -> Draft | None:
    """The first few by a count, where no tie decides who is among them; or those above a bound."""
    made = _around(shop, relations)
    if made is None:
        return None
    what, number = asked(made.columns, True), plural(noun(_far(made.hop)))
    label = plural(noun(made.found.tree.labels[0]))
    if shop.rng.random() < 0.4:
        least = shop.rng.choice([2, 2, 3, 4, 5, 10])
        text = f"{made.grouped} WHERE {made.alias} > {least} RETURN {made.returned}"
        question, others = ways(
            shop,
            f"Which {made.all} have more than {least} {made.counted_of_all}? Return the {what} and the number.",
            f"List the {what} of the {made.all} with more than {least} {made.counted_of_all}, and how many.",
            f"Find the {made.all} that count more than {least} {made.counted_of_all}. Return their {what} and the number.",
        )
        return finish(made.found, "having", text, made.held, relations, question, others,
                      f"{what}, number above {least}", label)  # fmt: skip
    keep = shop.rng.choice([1, 1, 2, 3, 3, 5])
    tail = f" ORDER BY {made.alias} DESC LIMIT "
    text = f"{made.grouped} RETURN {made.returned}{tail}{keep}"
    broken = shop.rng.random() < 0.4
    if broken:
        names = columns_text(made.match.nodes[0], made.columns)
        text = f"{made.grouped} RETURN {made.returned} ORDER BY {made.alias} DESC, {names} LIMIT {keep}"
    probe = f"{made.grouped} RETURN {made.alias}{tail}{keep + 1}"
    one = asked(made.columns, False)
    if keep == 1:
        question, others = ways(
            shop,
            f"Which {made.each} has the most {made.counted}? Return the {one} and the number.",
            f"What is the {one} of the {made.each} with the most {made.counted}, and how many are there?",
            f"Find the {made.each} with the highest number of {made.counted}. Return the {one} and the number.",
        )
    else:
        question, others = ways(
            shop,
            f"What are the {what} of the top {keep} {made.all} by number of {made.counted_of_all}? Return the number too.",
            f"Find the {keep} {made.all} with the most {made.counted_of_all}. Return the {what} and the number, highest first.",
            f"List the top {keep} {made.all} by their number of {made.counted_of_all}, with the {what} and the number.",
        )
    if broken:
        tie = f" Break ties by {one}."
        question, others = question + tie, [o + tie for o in others]
        probe = ""
    return finish(made.found, "top", text, made.held, relations, question, others,
                  f"{what}, number of {number}, first {keep}", label,
                  ordered=True, probe=probe, keep=keep)  # fmt: skip


def _far(hop: Hop) -> str:
    return hop.relation.end if hop.forward else hop.relation.start


# ---------------------------------------------------------------- extremes and orders


def extreme(shop: Workshop, relations: int) -> Draft | None:
    """First by a property, all that tie for it, or a whole order."""
    rich = [n for n in shop.drawer.predicates.labels
            if any(a.role in (*_NUMBERS, "datetime") for a in shop.drawer.predicates.attributes[n])]  # fmt: skip
    if not rich:
        return None
    label = shop.drawer.rarest(rich, lambda n: ("target", n))
    found = (
        _conditioned(shop, label, relations - 1)
        if shop.rng.random() < 0.3
        else shop.grounded(relations, label=label)
    )
    if found is None:
        return None
    pool = [
        a for a in shop.drawer.predicates.attributes[label] if a.role in (*_NUMBERS, "datetime")
    ]
    columns = [a for a in shop.drawer.predicates.names[label]
               if not any(c.attribute == a and c.op == "=" for c in found.of_node(0))]  # fmt: skip
    pool = [
        a
        for a in pool
        if shop.has(found, a)
        and not any(c.attribute == a and c.op == "=" for c in found.of_node(0))
    ]
    if not columns or not pool:
        return None
    key = shop.rng.choice(pool)
    held = Values()
    match = PatternText(found, held)
    n = match.nodes[0]
    dotted = f"{n}.{quote_name(key.name)}"
    down = shop.rng.random() < 0.5
    timed = key.role != "number"
    best = ("latest" if down else "earliest") if timed else ("highest" if down else "lowest")
    null = "" if key.complete else f"{' AND' if match.where else ' WHERE'} {dotted} IS NOT NULL"
    start = f"{match.match}{null}"
    returned = columns_text(n, columns)
    whom, what, many = noun_phrase(found, 0, many=True), asked(columns, False), asked(columns, True)
    target = plural(noun(label))
    kind = shop.rng.choice(
        ["first", "ties", "sort", "sort"] if not timed else ["first", "first", "ties", "sort"]
    )
    if kind == "ties":
        top = f"{start} WITH {'max' if down else 'min'}({dotted}) AS best"
        text = f"{top} {match.match}{' AND' if match.where else ' WHERE'} {dotted} = best RETURN DISTINCT {returned}"
        question, others = ways(
            shop,
            f"Which of the {whom} have the {best} {key.word}? Return the {many} of all that tie.",
            f"Find all {whom} that share the {best} {key.word} among them, and return their {many}.",
        )
        return finish(
            found,
            "ties",
            text,
            held,
            relations,
            question,
            others,
            f"{many} at the {best} {key.word}",
            target,
        )
    distinct = f" WITH DISTINCT {n}" if found.tree.hops or shop.rng.random() < 0.5 else ""
    order = f" ORDER BY {dotted}{' DESC' if down else ''}"
    if kind == "first":
        text = f"{start}{distinct} RETURN {returned}{order} LIMIT 1"
        probe = f"{start}{distinct} RETURN {returned}, {dotted} AS sortKey{order} LIMIT 2"
        question, others = ways(
            shop,
            f"Which of the {whom} has the {best} {key.word}? Return the {what}.",
            f"What is the {what} of the one with the {best} {key.word} among the {whom}?",
            f"Among the {whom}, find the one with the {best} {key.word} and return the {what}.",
        )
        return finish(found, "superlative", text, held, relations, question, others, f"{what} of the {best} {key.word}",
                      target, ordered=True, probe=probe, keep=1)  # fmt: skip
    way = {
        (True, True): "from the latest to the earliest",
        (True, False): "from the earliest to the latest",
        (False, True): "from the highest to the lowest",
        (False, False): "from the lowest to the highest",
    }[timed, down]
    text = f"{start}{distinct} RETURN {returned}{order}"
    probe = f"{start}{distinct} RETURN {returned}, {dotted} AS sortKey{order}"
    if not key.unique and shop.rng.random() < 0.7:
        text += f", {returned}"
        probe = ""
        way += f", then by {what}"
    question, others = ways(
        shop,
        f"What are the {many} of the {whom}, sorted by {key.word} {way}?",
        f"List the {many} of the {whom}, ordered by {key.word} {way}.",
        f"Sort the {whom} by {key.word} {way} and return their {many}.",
    )
    return finish(found, "sort", text, held, relations, question, others, f"{many} by {key.word}", target,
                  ordered=True, probe=probe, check=_several)  # fmt: skip
