"""Families that count around nodes: for each, with zeros, the most, those above a bound."""

from __future__ import annotations

from dataclasses import dataclass

from cypherforge.cypher.names import quote_name
from cypherforge.synth.describe import noun_phrase
from cypherforge.synth.family_aggregation import several
from cypherforge.synth.family_base import (
    Workshop,
    about,
    asked,
    called_so,
    camel,
    columns_of,
    columns_text,
    finish,
    ways,
)
from cypherforge.synth.pairs import Draft
from cypherforge.synth.predicates import Attribute
from cypherforge.synth.trees import Grounded, Hop, PatternText, Tree, Values, label_text
from cypherforge.synth.words import noun, plural


@dataclass
class Around:
    """A group's pieces: the conditioned nodes, the hop whose ends are counted, the texts."""

    found: Grounded
    whole: Grounded
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
    draw.use("counted", relation.start, relation.type, relation.end, forward)
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
    reach = Grounded(whole, [*found.nodes, ""], found.edges, found.conditions)
    return Around(found, reach, hop, match, held, columns, grouped, alias, optional)


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
        f"List {columns_of(made.columns, made.all)} and, for each, the number of {made.counted}{zero}.",
        f"For each {made.each}, how many {made.counted} are there{zero}? Return the {what} and the number.",
    )
    draft = finish(made.found, family, text, made.held, relations, question, others,
                   f"{what}, number of {made.counted}", plural(noun(made.found.tree.labels[0])),
                   reach=made.whole)  # fmt: skip
    if family == "group" and not made.found.conditions:
        draft.check = several
    return draft


def most(shop: Workshop, relations: int) -> Draft | None:
    """The first few by a count, where no tie decides who is among them; or those above a bound."""
    made = _around(shop, relations)
    if made is None:
        return None
    what, number = asked(made.columns, True), plural(noun(_far(made.hop)))
    label = plural(noun(made.found.tree.labels[0]))
    kind = shop.kind("top", ["above", "first", "first of ties"])
    if kind == "above":
        least = shop.rng.choice([2, 2, 3, 4, 5, 10])
        text = f"{made.grouped} WHERE {made.alias} > {least} RETURN {made.returned}"
        those = "those" if called_so(made.columns) else f"the {what} of those"
        question, others = ways(
            shop,
            f"Which {made.all} have more than {least} {made.counted_of_all}? Return the {what} and the number.",
            f"Among the {made.all}, list {those} with more than {least} {made.counted_of_all}, and how many.",
            f"Find the {made.all} that count more than {least} {made.counted_of_all}. Return their {what} and the number.",
        )
        return finish(made.found, "having", text, made.held, relations, question, others,
                      f"{what} and number of {number} of those with more than {least}", label, reach=made.whole)  # fmt: skip
    keep = shop.rng.choice([1, 1, 2, 3, 3, 5])
    tail = f" ORDER BY {made.alias} DESC LIMIT "
    text = f"{made.grouped} RETURN {made.returned}{tail}{keep}"
    broken = kind == "first of ties"
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
            f"What are {columns_of(made.columns, f'top {keep} {made.all}')} by number of {made.counted_of_all}? Return the number too.",
            f"Find the {keep} {made.all} with the most {made.counted_of_all}. Return the {what} and the number, highest first.",
            f"List the top {keep} {made.all} by their number of {made.counted_of_all}, with the {what} and the number.",
        )
    if broken:
        tie = f" Break ties by {one}."
        question, others = question + tie, [o + tie for o in others]
        probe = ""
    return finish(made.found, "top", text, made.held, relations, question, others,
                  f"{what} and number of {number} of the {keep} with the most", label,
                  ordered=True, probe=probe, keep=keep, reach=made.whole)  # fmt: skip


def _far(hop: Hop) -> str:
    return hop.relation.end if hop.forward else hop.relation.start
