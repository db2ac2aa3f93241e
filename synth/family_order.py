"""Families about an order: first by a property, all that tie for it, a sorted list."""

from __future__ import annotations

from cypherforge.cypher.names import quote_name
from cypherforge.synth.describe import noun_phrase
from cypherforge.synth.family_aggregation import several
from cypherforge.synth.family_base import Workshop, asked, columns_of, columns_text, finish, ways
from cypherforge.synth.pairs import Draft
from cypherforge.synth.trees import PatternText, Values
from cypherforge.synth.words import noun, plural

_ORDERED = ("number", "year", "date", "datetime")


def extreme(shop: Workshop, relations: int) -> Draft | None:
    """First by a property, all that tie for it, or a whole order."""
    rich = shop.rich(lambda a: a.role in _ORDERED)
    if not rich:
        return None
    kind = shop.kind("extreme", ["first", "ties", "sort"])
    label = shop.drawer.rarest(rich, lambda n: ("target", n))
    if shop.rng.random() < 0.3:
        found = shop.some(label, relations - 1)
    else:
        # Among few that a relation leads to, an order is more often free of ties.
        # A list is also asked for of all that have such a relation, whatever is at its other end.
        open_leaf = 0.4 if kind == "sort" else 0.15
        found = shop.grounded(
            relations, label=label, literals=shop.rng.random() < 0.5, open_leaf=open_leaf
        )
    if found is None:
        return None
    pool = [a for a in shop.drawer.predicates.attributes[label] if a.role in _ORDERED]
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
    broken = kind == "sort" and not key.unique and shop.rng.random() < 0.6
    null = f"{' AND' if match.where else ' WHERE'} {dotted} IS NOT NULL"
    # Without that test the probe drops the pair where a key is null.
    if key.complete or (kind != "ties" and not broken and shop.rng.random() < 0.5):
        null = ""
    start = f"{match.match}{null}"
    returned = columns_text(n, columns)
    whom, what, many = noun_phrase(found, 0, many=True), asked(columns, False), asked(columns, True)
    target = plural(noun(label))
    if kind == "ties":
        top = f"{start} WITH {'max' if down else 'min'}({dotted}) AS best"
        text = f"{top} {match.match}{' AND' if match.where else ' WHERE'} {dotted} = best RETURN DISTINCT {returned}"
        question, others = ways(
            shop,
            f"Which of the {whom} have the {best} {key.word}? Return the {many} of all that tie.",
            f"Among the {whom}, find all that have the {best} {key.word}, and return their {many}.",
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
    if broken:
        text += f", {returned}"
        probe = ""
        way += f", then by {what}"
    question, others = ways(
        shop,
        f"What are {columns_of(columns, whom)}, sorted by {key.word} {way}?",
        f"List {columns_of(columns, whom)}, ordered by {key.word} {way}.",
        f"Sort the {whom} by {key.word} {way} and return their {many}.",
    )
    return finish(found, "sort", text, held, relations, question, others, f"{many} by {key.word}", target,
                  ordered=True, probe=probe, check=several)  # fmt: skip
