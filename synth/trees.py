"""Skeletons: trees of relations around what is asked for, grounded in real nodes.

KG2Cypher, section 3.4: structures of one to four relations, each found in the graph. Node 0 is
what is asked for; a hop leads from a node that stands already to a new one.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from neo4j.time import Date, DateTime

from cypherforge.cypher.names import quote_name
from cypherforge.graph.formats.arrows import line_name
from cypherforge.synth.predicates import Attribute, Predicates, Relation
from cypherforge.synth.sample import Edge, Sample

_T = TypeVar("_T")

#: What is counted: a kind of thing and its name in parts.
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Hop:
    """A relation from node ``parent`` to node ``child``; ``forward`` if the parent is its start."""

    relation: Relation
    parent: int
    child: int
    forward: bool


@dataclass(frozen=True, slots=True)
class Tree:
    """Labels by node number, hops in the order they were added."""

    labels: tuple[str, ...]
    hops: tuple[Hop, ...] = ()

    def children(self, node: int) -> list[int]:
        """Numbers of the hops that lead away from a node."""
        return [i for i, hop in enumerate(self.hops) if hop.parent == node]

    @property
    def leaves(self) -> list[int]:
        """Nodes, other than the target, that no hop leaves."""
        return [n for n in range(1, len(self.labels)) if not self.children(n)]

    @property
    def key(self) -> str:
        """The skeleton as text: labels and types, no values."""
        if not self.hops:
            return f"(:{self.labels[0]})"
        return ", ".join(
            f"({h.parent}:{self.labels[h.parent]}){'-' if h.forward else '<-'}[:{h.relation.type}]"
            f"{'->' if h.forward else '-'}({h.child}:{self.labels[h.child]})"
            for h in self.hops
        )


@dataclass(frozen=True, slots=True)
class Condition:
    """``place`` is ``("node", n)`` or ``("hop", n)``; ``entity``: it says which node is meant."""

    place: tuple[str, int]
    attribute: Attribute
    op: str
    value: Any
    entity: bool = False

    @property
    def node(self) -> int | None:
        """The node's number, None for a condition on a relationship."""
        return self.place[1] if self.place[0] == "node" else None


@dataclass
class Grounded:
    """A tree with the nodes and relationships of one real match, and the conditions drawn."""

    tree: Tree
    nodes: list[str]
    edges: list[Edge]
    conditions: list[Condition] = field(default_factory=list)

    def of_node(self, node: int) -> list[Condition]:
        """The conditions on a node."""
        return [c for c in self.conditions if c.place == ("node", node)]

    def of_hop(self, hop: int) -> list[Condition]:
        """The conditions on a relationship."""
        return [c for c in self.conditions if c.place == ("hop", hop)]

    def bound(self, node: int) -> bool:
        """Whether a node is one particular entity."""
        return any(c.entity for c in self.of_node(node))


class Drawer:
    """Draws trees, matches and conditions; what was used often is drawn less.

    ``ambiguous`` holds (label, property, value) that several nodes share: nobody is called by it.
    ``blocked`` says of a text that no question may hold it; without ``values`` none holds any.
    """

    def __init__(
        self,
        predicates: Predicates,
        sample: Sample,
        ambiguous: frozenset[tuple[str, str, Any]] = frozenset(),
        blocked: Callable[[str], bool] = lambda _: False,
        values: bool = True,
    ) -> None:
        self.predicates = predicates
        self.sample = sample
        self.ambiguous = ambiguous
        self.blocked = blocked
        self.values = values
        #: What the run used so far, and what the draft in hand adds to it.
        self.used: Counter[Key] = Counter()
        self.fresh: Counter[Key] = Counter()
        #: ``rng`` chooses structure, ``pick`` nodes and values: a batch repeats the former.
        self.rng = random.Random(0)
        self.pick = random.Random(0)

    def rarest(
        self,
        items: Sequence[_T],
        key: Callable[[_T], Key],
        tries: int = 4,
        rng: random.Random | None = None,
    ) -> _T:
        """Of a few drawn at random the one that was used least."""
        drawn = [(rng or self.rng).choice(items) for _ in range(tries)]
        return min(drawn, key=lambda item: self.count(key(item)))

    def count(self, key: Key) -> int:
        """How often something was used."""
        return self.used.get(key, 0) + self.fresh.get(key, 0)

    def use(self, *key: Any) -> None:
        """Count something as used by the draft in hand."""
        self.fresh[key] += 1

    # ------------------------------------------------------------ trees

    def tree(self, hops: int, *, label: str | None = None) -> Tree | None:
        """A tree of that many hops; None where the graph has none that was found at once."""
        named = [n for n in self.predicates.labels if self.predicates.names[n]]
        pool = [n for n in named if self.predicates.relations_of(n)] if hops else named
        if label is None:
            if not pool:
                return None
            label = self.rarest(pool, lambda n: ("target", n))
        # Counted when drawn: what cannot be asked must not be drawn again and again.
        self.use("target", label)
        labels = [label]
        grown: list[Hop] = []
        for _ in range(hops):
            options = []
            for parent in range(len(labels)):
                for relation, forward in self.predicates.relations_of(labels[parent]):
                    if self._fits(grown, parent, relation, forward):
                        options.append((relation, parent, forward))
            if not options:
                return None
            relation, parent, forward = self.rarest(
                options, lambda o: ("relation", o[0].start, o[0].type, o[0].end, o[2])
            )
            self.use("relation", relation.start, relation.type, relation.end, forward)
            grown.append(Hop(relation, parent, len(labels), forward))
            labels.append(relation.end if forward else relation.start)
        return Tree(tuple(labels), tuple(grown))

    def tree_of(self, relation: Relation, forward: bool = True) -> Tree:
        """The tree of one relation, from its start (or its end)."""
        ends = (relation.start, relation.end) if forward else (relation.end, relation.start)
        return Tree(ends, (Hop(relation, 0, 1, forward),))

    def _fits(self, hops: list[Hop], parent: int, relation: Relation, forward: bool) -> bool:
        same = [h for h in hops if h.relation == relation]
        if len(same) >= 2 or any(h.parent == parent and h.forward == forward for h in same):
            return False
        # Back over the relation one came by only where it is a real "shares with".
        came = next((h for h in hops if h.child == parent), None)
        return (
            came is None
            or came.relation != relation
            or came.forward != (not forward)
            or len(hops) == 1
        )

    # ------------------------------------------------------------ matches

    def ground(self, tree: Tree, start: str | None = None) -> Grounded | None:
        """A match of a tree in the sample, from a node that was used least; None if it has none."""
        pool = self.sample.by_label.get(tree.labels[0], [])
        if not pool:
            return None
        for _ in range(4):
            first = start or self.rarest(pool, lambda n: ("node", n), 4, self.pick)
            nodes, edges = [first], []
            for hop in tree.hops:
                options = [
                    e for e in self.sample.edges(hop.relation, nodes[hop.parent], hop.forward)
                    if e not in edges
                    and (e.end if hop.forward else e.start) not in nodes
                ]  # fmt: skip
                if not options:
                    break
                edge = self.rarest(
                    options,
                    lambda e, hop=hop: ("node", e.end if hop.forward else e.start),  # type: ignore[misc]
                    3,
                    self.pick,
                )
                edges.append(edge)
                nodes.append(edge.end if hop.forward else edge.start)
            else:
                return Grounded(tree, nodes, edges)
        return None

    # ------------------------------------------------------------ conditions

    def entity(self, grounded: Grounded, node: int) -> list[Condition]:
        """Conditions that say which node is meant: by its name, else by its key; [] if none does."""
        if not self.values:
            return []
        label = grounded.tree.labels[node]
        values = self.sample.nodes[grounded.nodes[node]]
        names = self.predicates.names[label]
        keys = [a for a in self.predicates.attributes[label] if a.role == "key" and a.unique]
        ways: list[tuple[Attribute, ...]] = []
        if names and (len(names) > 1 or names[0].unique or self._one(label, names[0], values)):
            ways.append(names)
        ways += [(key,) for key in keys[:1] if (key,) not in ways]
        if not ways:
            return []
        first = 0 if len(ways) == 1 or self.rng.random() < (0.75 if len(names) == 1 else 0.4) else 1
        chosen = ways[first]
        if any(
            not usable(values.get(a.name)) or self._is_blocked(values.get(a.name)) for a in chosen
        ):
            return []
        return [Condition(("node", node), a, "=", values[a.name], True) for a in chosen]

    def _one(self, label: str, attribute: Attribute, values: Any) -> bool:
        return (label, attribute.name, values.get(attribute.name)) not in self.ambiguous

    def _is_blocked(self, value: Any) -> bool:
        return isinstance(value, str) and self.blocked(value)

    def literal(
        self,
        grounded: Grounded,
        *,
        roles: Sequence[str] = (),
        places: Sequence[tuple[str, int]] = (),
    ) -> Condition | None:
        """A condition that the match fulfils, on a node that is no named entity or on a hop."""
        if not self.values:
            return None
        options: list[tuple[tuple[str, int], Attribute, Any]] = []
        tree = grounded.tree
        taken = {(c.place, c.attribute.name) for c in grounded.conditions}
        for place in places or [("node", n) for n in range(len(tree.labels))] + [
            ("hop", i) for i in range(len(tree.hops))
        ]:
            if place[0] == "node":
                if grounded.bound(place[1]):
                    continue
                attributes = self.predicates.attributes[tree.labels[place[1]]]
                values = self.sample.nodes[grounded.nodes[place[1]]]
            else:
                attributes = self.predicates.rel_attributes[tree.hops[place[1]].relation.type]
                values = grounded.edges[place[1]].properties
            for attribute in attributes:
                value = values.get(attribute.name)
                if not usable(value) or (place, attribute.name) in taken or self._is_blocked(value):
                    continue
                if roles and attribute.role not in roles:
                    continue
                if attribute.role in ("duration", "list") or attribute.distinct == 1:
                    continue
                # A key, or what is nearly one, says which node is meant: alone or not at all.
                if attribute.role == "key" or (attribute.unique and attribute.type == "STRING"):
                    continue
                if attribute.sharp and any(p == place for p, _ in taken):
                    continue
                options.append((place, attribute, value))
        if not options:
            return None
        blunt = [o for o in options if not o[1].sharp]
        if blunt and len(blunt) < len(options) and self.rng.random() < 0.7:
            options = blunt
        place, attribute, value = self.rarest(
            options, lambda o: ("attribute", o[1].owner, o[1].name)
        )
        return self._condition(place, attribute, value)

    def _condition(self, place: tuple[str, int], attribute: Attribute, value: Any) -> Condition:
        if attribute.role in ("number", "year", "date", "datetime"):
            other = self._other_value(attribute, value)
            if attribute.role == "datetime":
                value, other = value.date(), other.date()
            if other < value:
                return Condition(place, attribute, ">" if self.rng.random() < 0.75 else ">=", other)
            if other > value:
                return Condition(place, attribute, "<" if self.rng.random() < 0.75 else "<=", other)
            op = "=" if self.rng.random() < 0.5 or attribute.type == "FLOAT" else ">="
            return Condition(place, attribute, op, value)
        return Condition(place, attribute, "=", value)

    def _other_value(self, attribute: Attribute, value: Any) -> Any:
        if attribute.kind == "node":
            for _ in range(3):
                node = self.pick.choice(self.sample.by_label[attribute.owner])
                found = self.sample.nodes[node].get(attribute.name)
                if type(found) is type(value):
                    return found
        return value

    # ------------------------------------------------------------ bookkeeping

    def note(self, grounded: Grounded) -> None:
        """Count what a pair used, so that the next ones draw something else."""
        for c in grounded.conditions:
            self.use("attribute", c.attribute.owner, c.attribute.name)


def usable(value: Any) -> bool:
    """Whether a value may stand in a question: short, printable, on one line, single-spaced."""
    if isinstance(value, str):
        return (
            0 < len(value.strip()) <= 80
            and value.isprintable()
            and value == " ".join(value.split())
        )
    if isinstance(value, float):
        return abs(value) < 1e15
    return isinstance(value, bool | int | Date | DateTime)


# ---------------------------------------------------------------- Cypher of a tree


def variables(labels: Sequence[str]) -> list[str]:
    """A variable for each node: its label's initial, numbered where it would repeat."""
    names: list[str] = []
    for label in labels:
        letter = next((c.lower() for c in label if c.isalpha() and c.isascii()), "n")
        # `r` is for relationships.
        letter = "n" if letter == "r" else letter
        name, number = letter, 2
        while name in names:
            name, number = f"{letter}{number}", number + 1
        names.append(name)
    return names


def label_text(label: str) -> str:
    """A label as people write it: only a variable named so needs the quotes of `Case`."""
    return line_name(label)


@dataclass
class Values:
    """Values of one query; each stands in its text as a mark until it is written out."""

    items: list[Any] = field(default_factory=list)

    def mark(self, value: Any) -> str:
        """The mark of a value, to be put into the text."""
        self.items.append(value)
        return f"\x00{len(self.items) - 1}\x00"


def test_of(dotted: str, condition: Condition, values: Values) -> str:
    """A condition as Cypher: ``u.age > 3``; times are compared by their date."""
    role = condition.attribute.role
    if role == "date":
        return f"{dotted} {condition.op} date({values.mark(str(condition.value))})"
    if role == "datetime":
        return f"date({dotted}) {condition.op} date({values.mark(str(condition.value))})"
    return f"{dotted} {condition.op} {values.mark(condition.value)}"


@dataclass(frozen=True, slots=True)
class NodeText:
    """A node pattern, and the conditions that stand in WHERE."""

    text: str
    where: tuple[str, ...]


class PatternText:
    """The MATCH of a grounded tree: pattern, inline maps, and what must stand in WHERE."""

    def __init__(self, grounded: Grounded, values: Values, need: Sequence[int] = ()) -> None:
        """``need`` names the hops whose relationship needs a variable."""
        tree = grounded.tree
        self.nodes = variables(tree.labels)
        needed = sorted({*need, *(c.place[1] for c in grounded.conditions if c.place[0] == "hop")})
        self.rels = {
            hop: ("r" if len(needed) == 1 else f"r{i + 1}") for i, hop in enumerate(needed)
        }
        self.where: list[str] = []
        self._grounded = grounded
        self._values = values
        self._shown: set[int] = set()
        head = self._node(0)
        rest = self._parts_from(0)
        self.pattern = ", ".join([head + rest[0], *rest[1:]])

    def _node(self, node: int) -> str:
        name = self.nodes[node]
        if node in self._shown:
            return f"({name})"
        self._shown.add(node)
        entries = []
        for c in self._grounded.of_node(node):
            dotted = f"{name}.{quote_name(c.attribute.name)}"
            if c.op == "=" and c.attribute.role not in ("date", "datetime"):
                entries.append(f"{quote_name(c.attribute.name)}: {self._values.mark(c.value)}")
            else:
                self.where.append(test_of(dotted, c, self._values))
        inner = f" {{{', '.join(entries)}}}" if entries else ""
        return f"({name}:{label_text(self._grounded.tree.labels[node])}{inner})"

    def _parts_from(self, node: int) -> list[str]:
        hops = self._grounded.tree.children(node)
        if not hops:
            return [""]
        first = self._hop(hops[0])
        rest = self._parts_from(self._grounded.tree.hops[hops[0]].child)
        found = [first + rest[0], *rest[1:]]
        for i in hops[1:]:
            more = self._parts_from(self._grounded.tree.hops[i].child)
            found += [self._node(node) + self._hop(i) + more[0], *more[1:]]
        return found

    def _hop(self, number: int) -> str:
        hop = self._grounded.tree.hops[number]
        name = self.rels.get(number, "")
        for c in self._grounded.of_hop(number):
            dotted = f"{name}.{quote_name(c.attribute.name)}"
            self.where.append(test_of(dotted, c, self._values))
        inner = f"[{name}:{quote_name(hop.relation.type)}]"
        arrow = f"-{inner}->" if hop.forward else f"<-{inner}-"
        return arrow + self._node(hop.child)

    def node_text(self, node: int) -> NodeText:
        """One node's pattern again, with what its test needs in WHERE."""
        self._shown.discard(node)
        before = len(self.where)
        text = self._node(node)
        return NodeText(text, tuple(self.where[before:]))

    @property
    def match(self) -> str:
        """The whole MATCH with its WHERE."""
        where = f" WHERE {' AND '.join(self.where)}" if self.where else ""
        return f"MATCH {self.pattern}{where}"
