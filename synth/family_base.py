"""What the families of questions share: drawing a match, choosing columns, finishing a draft."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cypherforge.cypher.names import quote_name
from cypherforge.synth.describe import conditions_in_words
from cypherforge.synth.pairs import Draft
from cypherforge.synth.phrases import phrase
from cypherforge.synth.predicates import Attribute
from cypherforge.synth.trees import Drawer, Grounded, Hop, Values
from cypherforge.synth.words import is_person, listed, noun, plural, sentence, words

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
                 literals: bool = True, least_hops: int = 0,
                 bare: float = 0.0) -> Grounded | None:  # fmt: skip
        """A match with so many relations: hops and literal conditions together.

        ``bare`` is the share of those with one relation that get no condition at all.
        """
        draw = self.drawer
        # Now and then all of them hops: a condition on values is the commoner draw otherwise.
        literals = literals and not (draw.predicates.relations and self.rng.random() < 0.3)
        split = [h for h in range(least_hops, relations + 1) if literals or h == relations]
        if not draw.predicates.relations:
            split = [h for h in split if h == 0]
        if not split:
            return None
        if relations == 1 and least_hops == 0 and self.rng.random() < bare:
            tree = draw.tree(0, label=label)
            return draw.ground(tree) if tree else None
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
        return None if tangled(found) else found

    def kind(self, family: str, kinds: Sequence[str]) -> str:
        """The variant of a family that gave the least so far; "" where the graph allows none."""
        if not kinds:
            return ""
        chosen = min(
            self.rng.sample(kinds, len(kinds)), key=lambda k: self.drawer.count(("kind", family, k))
        )
        self.drawer.use("kind", family, chosen)
        return chosen

    def some(self, label: str, relations: int) -> Grounded | None:
        """As ``grounded`` for a label; with no relation at all just a node of it."""
        if relations > 0:
            return self.grounded(relations, label=label)
        tree = self.drawer.tree(0, label=label)
        return self.drawer.ground(tree) if tree else None

    def rich(self, fits: Callable[[Attribute], bool]) -> list[str]:
        """The labels that have an attribute that fits."""
        of = self.drawer.predicates
        return [n for n in of.labels if any(fits(a) for a in of.attributes[n])]

    def has(self, found: Grounded, attribute: Attribute) -> bool:
        """Whether the target of a match has a value of the attribute."""
        values = self.drawer.sample.nodes[found.nodes[0]]
        return values.get(attribute.name) is not None

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


def spoken(attribute: Attribute) -> str:
    """An attribute's word; "manufacturer name" of a manufacturer is its "name"."""
    word, owner = attribute.word, noun(attribute.owner)
    rest = word.removeprefix(f"{owner} ")
    return rest if rest in ("name", "title", "description", "type", "code") else word


def asked(columns: list[Attribute], many: bool) -> str:
    """The columns in words: "first names and last names"."""
    return listed([plural(spoken(a)) if many else spoken(a) for a in columns])


def columns_of(columns: list[Attribute], whom: str, *, every: bool = False) -> str:
    """What is asked of several nodes: "the names of the movies", "all outcomes".

    ``every``: "the names of all movies".
    """
    article = "all" if every else "the"
    if called_so(columns):
        return f"{article} {whom}"
    return f"the {asked(columns, True)} of {article} {whom}"


def called_so(columns: list[Attribute]) -> bool:
    """Whether the only column is what the label itself is called: the outcome of an outcome."""
    return len(columns) == 1 and columns[0].word == noun(columns[0].owner)


def finish(found: Grounded, family: str, text: str, values: Values, relations: int, question: str,
           others: list[str], what: str, target: str, search: str = "", more: Sequence[str] = (),
           **rest: object) -> Draft:  # fmt: skip
    """The draft with the forms that all families share.

    ``more``: conditions of the query that ``found`` does not hold, in words.
    """
    conditions = [*conditions_in_words(found), *more]
    analysed = f"Target: {target}. Return: {what}."
    if conditions:
        analysed += f" Conditions: {'; '.join(conditions)}."
    naive = (
        f"Find {target}{' where ' + listed(conditions) if conditions else ''} and return {what}."
    )
    short = search or _search(found, what)
    return Draft(family, text, values, found, relations, sentence(question), sentence(naive), analysed,
                 tuple(dict.fromkeys(sentence(o) for o in others if o)), short, **rest)  # type: ignore[arg-type]  # fmt: skip


def _search(found: Grounded, what: str) -> str:
    """The question as one types it into a search box: nouns, values, what is wanted."""
    said = [
        *(noun(n) for n in found.tree.labels),
        *(str(c.value) for c in found.conditions),
        *what.replace(",", "").replace(" and ", " ").replace("the ", "").split(" "),
    ]
    return " ".join(dict.fromkeys(said))


def camel(*parts: str) -> str:
    """Words as a column's name: "movie count" becomes `movieCount`."""
    spoken = words(" ".join(parts)).split(" ")
    return spoken[0].lower() + "".join(w[:1].upper() + w[1:] for w in spoken[1:])


def once(shop: Workshop, found: Grounded, n: str, returned: str) -> str:
    """RETURN of the target's properties, each node once, in one of the ways people write it.

    A match without a hop has each node once anyway. Where the plain form would give a row twice
    the verification finds out and drops it.
    """
    draw = shop.rng.random()
    if draw < 0.35:
        return f" WITH DISTINCT {n} RETURN {returned}"
    if found.tree.hops and draw < 0.65:
        return f" RETURN DISTINCT {returned}"
    return f" RETURN {returned}"


def ways(shop: Workshop, *forms: str) -> tuple[str, list[str]]:
    """One form as the question, the others as paraphrases; the first is the likeliest."""
    forms = tuple(f for f in forms if f)
    first = 0 if shop.rng.random() < 0.5 else shop.rng.randrange(len(forms))
    return forms[first], [*forms[:first], *forms[first + 1 :]]


def about(hop: Hop, *, many: bool = False, child_many: bool = True, full: bool = False) -> str:
    """The clause of a hop's child with a pronoun for the parent: "watched by them".

    ``many``: the parent is spoken of in the plural; a person is "they" in any case.
    """
    relation = hop.relation
    parent = relation.start if hop.forward else relation.end
    they = many or is_person(parent)
    said = phrase(relation.type, relation.start, relation.end)
    if not hop.forward:
        return said.forward(relation.start, "them" if they else "it", many=child_many)
    # "that they played in", but "watched by them", "of it": the pronoun is subject or object.
    subject = not (said.by or said.noun or said.text == "with")
    word = ("they" if they else "it") if subject else ("them" if they else "it")
    return said.backward(relation.end, word, many=child_many, plural=they, full=full)


def tangled(found: Grounded) -> bool:
    """Whether a clause would stand inside another's subject: "that a squad that Ann leads is for"."""
    for hop in found.tree.hops:
        said = phrase(hop.relation.type, hop.relation.start, hop.relation.end)
        if hop.forward or said.by or said.noun or said.text == "with" or found.bound(hop.child):
            continue
        if found.tree.children(hop.child) or any(c.op != "=" for c in found.of_node(hop.child)):
            return True
    return False
