"""Which node and which relationship of the draft is which of the gold: two pattern graphs laid over
each other.

Nodes are paired by labels, by the values and keys they are compared by, by the types around them
and by what the paired neighbours say; names and order only break ties. Patterns are small, so a
greedy start improved by exchanges finds the best pairing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rapidfuzz import fuzz

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Entity, Link
from cypherforge.diagnosis.expressions import Canonical, Form
from cypherforge.diagnosis.model import Edition
from cypherforge.diagnosis.summary import Summary
from cypherforge.graph.schema import Schema

_NEAR = 75.0


@dataclass(slots=True, eq=False)
class _Features:
    labels: frozenset[str]
    guess: frozenset[str]
    values: frozenset[str]
    keys: frozenset[str]
    types: Counter[str]
    returned: bool


@dataclass(slots=True)
class Alignment:
    """The pairing: ``gold_of`` and ``draft_of`` by ``id`` of an entity, ``links`` pairs of links.

    ``edition`` goes with it to all that compare the two.
    """

    draft: Summary
    gold: Summary
    gold_of: dict[int, Entity] = field(default_factory=dict)
    draft_of: dict[int, Entity] = field(default_factory=dict)
    links: list[tuple[Link, Link]] = field(default_factory=list)
    draft_links: list[Link] = field(default_factory=list)
    gold_links: list[Link] = field(default_factory=list)
    edition: Edition = 2

    def pair(self, draft: Entity, gold: Entity) -> None:
        """Say that two entities are the same thing."""
        self.gold_of[id(draft)] = gold
        self.draft_of[id(gold)] = draft

    @property
    def draft_nodes(self) -> list[Entity]:
        """Nodes of the draft without a partner."""
        return [node for node in self.draft.nodes if id(node) not in self.gold_of]

    @property
    def gold_nodes(self) -> list[Entity]:
        """Nodes of the gold without a partner."""
        return [node for node in self.gold.nodes if id(node) not in self.draft_of]

    def forms(self) -> tuple[Canonical, Canonical]:
        """Return the form makers of draft and gold, in which paired entities have one name."""
        numbers: dict[int, int] = {}
        for number, (draft_id, gold) in enumerate(self.gold_of.items()):
            numbers[draft_id] = numbers[id(gold)] = number

        def leaf(side: str) -> object:
            def name(entity: Entity) -> Form:
                number = numbers.get(id(entity))
                return ("entity", number) if number is not None else (side, id(entity))

            return name

        return (
            Canonical(self.draft.bindings, leaf("draft")),  # type: ignore[arg-type]
            Canonical(self.gold.bindings, leaf("gold")),  # type: ignore[arg-type]
        )


def align(
    draft: Summary, gold: Summary, schema: Schema | None = None, edition: Edition = 2
) -> Alignment:
    """Lay the draft's pattern graph over the gold's; a schema tells what bare nodes must be."""
    found = Alignment(draft, gold, edition=edition)
    search = _Search(draft, gold, schema)
    for draft_index, gold_index in search.best():
        found.pair(draft.nodes[draft_index], gold.nodes[gold_index])
    _pair_lonely(found)
    _pair_links(found)
    _pair_values(found)
    return found


def _pair_lonely(found: Alignment) -> None:
    """Pair nodes without relationships by place: what else could they be."""
    linked = {id(n) for s in (found.draft, found.gold) for k in s.links for n in (k.left, k.right)}
    mine = [node for node in found.draft_nodes if id(node) not in linked]
    theirs = [node for node in found.gold_nodes if id(node) not in linked]
    if len(mine) == len(theirs):
        for draft, gold in zip(mine, theirs, strict=True):
            found.pair(draft, gold)


def _guesses(summary: Summary, schema: Schema | None) -> dict[int, frozenset[str]]:
    """Labels that the types around them leave nodes without a label."""
    guesses: dict[int, frozenset[str]] = {}
    if schema is None:
        return guesses
    for link in summary.links:
        names = link.relationship.names
        if not names or not link.directed or not names <= set(schema.types):
            continue
        starts = frozenset(p.start for name in names for p in schema.patterns_of(name))
        ends = frozenset(p.end for name in names for p in schema.patterns_of(name))
        for node, labels in ((link.start, starts), (link.end, ends)):
            if not node.names and labels:
                known = guesses.get(id(node), labels)
                guesses[id(node)] = known & labels or known
    return guesses


def _features(summary: Summary, schema: Schema | None) -> list[_Features]:
    guesses = _guesses(summary, schema)
    values: dict[int, set[str]] = {id(node): set() for node in summary.nodes}
    keys: dict[int, set[str]] = {id(node): set() for node in summary.nodes}
    types: dict[int, Counter[str]] = {id(node): Counter() for node in summary.nodes}
    returned: set[int] = set()
    for condition in summary.conditions:
        owners: set[int] = set()
        if condition.owner is not None:
            owners.add(id(condition.owner))
            if isinstance(condition.node, ast.MapEntry) and id(condition.owner) in keys:
                keys[id(condition.owner)].add(condition.node.key.name)
        literals = []
        for node in condition.value.walk():
            if isinstance(node, ast.Variable):
                entity = summary.bindings.of(node)
                if entity is not None:
                    owners.add(id(entity))
            elif isinstance(node, ast.StringLiteral | ast.IntegerLiteral | ast.FloatLiteral):
                literals.append(str(node.value).casefold())
        for owner in owners & values.keys():
            values[owner].update(literals)
    for node in summary.single.walk():
        if isinstance(node, ast.PropertyAccess):
            entity = summary.bindings.of(node.subject)
            if entity is not None and id(entity) in keys:
                keys[id(entity)].add(node.key.name)
    for projection in summary.projections[-1:]:
        for node in projection.walk():
            if isinstance(node, ast.Variable):
                entity = summary.bindings.of(node)
                while entity is not None and entity.kind == "value" and entity.source is not None:
                    inner = [n for n in entity.source.walk() if isinstance(n, ast.Variable)]
                    entity = summary.bindings.of(inner[0]) if inner else None
                if entity is not None:
                    returned.add(id(entity))
    for link in summary.links:
        for end, side in ((link.start, ">"), (link.end, "<")):
            for name in link.relationship.names or {""}:
                types[id(end)][name] += 1
                types[id(end)][name + side] += 1
    return [
        _Features(
            node.names,
            guesses.get(id(node), frozenset()),
            frozenset(values[id(node)]),
            frozenset(keys[id(node)]),
            types[id(node)],
            id(node) in returned,
        )
        for node in summary.nodes
    ]


def _similar_labels(a: frozenset[str], b: frozenset[str]) -> float:
    if not a and not b:
        return 1.0
    if not a or not b:
        return 0.5
    if a & b:
        return 4.0
    near = max(fuzz.ratio(x.casefold(), y.casefold()) for x in a for y in b)
    return 2.0 if near >= _NEAR else -2.0


def _similar_values(a: frozenset[str], b: frozenset[str]) -> float:
    if not a or not b:
        return 0.0
    same = len(a & b)
    score = 3.0 * same
    for value in sorted(a - b):
        near = max((fuzz.ratio(value, other) for other in b - a), default=0.0)
        inside = any(value in other or other in value for other in b - a if other and value)
        if near >= _NEAR or (inside and len(value) > 2):
            score += 2.0
    return score


class _Search:
    def __init__(self, draft: Summary, gold: Summary, schema: Schema | None) -> None:
        self.draft, self.gold = draft, gold
        mine, theirs = _features(draft, schema), _features(gold, schema)
        self.similar = [
            [self._similarity(i, j, a, b) for j, b in enumerate(theirs)] for i, a in enumerate(mine)
        ]
        place = {id(node): i for i, node in enumerate(draft.nodes)}
        self.between: dict[tuple[int, int], list[Link]] = {}
        for link in draft.links:
            i, j = place[id(link.start)], place[id(link.end)]
            self.between.setdefault((i, j), []).append(link)
            self.between.setdefault((j, i), []).append(link)
        place = {id(node): i for i, node in enumerate(gold.nodes)}
        self.wanted = [(place[id(k.start)], place[id(k.end)], k) for k in gold.links]

    def _similarity(self, i: int, j: int, a: _Features, b: _Features) -> float:
        score = _similar_labels(a.labels, b.labels)
        if not a.labels or not b.labels:
            own, other = a.labels or a.guess, b.labels or b.guess
            if own and other:
                score += 1.5 if own & other else -1.5
        score += _similar_values(a.values, b.values)
        score += min(1.5, 0.5 * len(a.keys & b.keys))
        score += 0.7 * sum((a.types & b.types).values())
        score += 0.5 * (a.returned and b.returned)
        if self.draft.nodes[i].name == self.gold.nodes[j].name is not None:
            score += 0.3
        return score - 0.05 * abs(i - j)

    def best(self) -> list[tuple[int, int]]:
        size, other = len(self.draft.nodes), len(self.gold.nodes)
        image: list[int | None] = [None] * other
        free = set(range(size))
        for score, i, j in sorted(
            (-self.similar[i][j], i, j) for i in range(size) for j in range(other)
        ):
            if image[j] is None and i in free and score < 0:
                image[j] = i
                free.discard(i)
        total = self.score(image)
        improved = True
        while improved:
            improved = False
            for j in range(other):
                options: list[list[int | None]] = []
                for k in range(j + 1, other):
                    trial = list(image)
                    trial[j], trial[k] = trial[k], trial[j]
                    options.append(trial)
                unused: set[int] = set(range(size)) - {x for x in image if x is not None}
                for candidate in (*sorted(unused), None):
                    trial = list(image)
                    trial[j] = candidate
                    options.append(trial)
                for trial in options:
                    score = self.score(trial)
                    if score > total + 1e-9:
                        image, total, improved = trial, score, True
        return [(i, j) for j, i in enumerate(image) if i is not None]

    def score(self, image: list[int | None]) -> float:
        total = sum(self.similar[i][j] for j, i in enumerate(image) if i is not None)
        used: set[int] = set()
        for start, end, link in self.wanted:
            a, b = image[start], image[end]
            if a is None or b is None:
                continue
            best, choice = 0.0, None
            for candidate in self.between.get((a, b), ()):
                if id(candidate) in used:
                    continue
                value = 2.0 + _similar_types(candidate, link)
                if candidate.start is self.draft.nodes[a]:
                    value += 0.5
                if value > best:
                    best, choice = value, candidate
            if choice is not None:
                used.add(id(choice))
                total += best
        return total


def _similar_types(a: Link, b: Link) -> float:
    mine, theirs = a.relationship.names, b.relationship.names
    if mine & theirs or (not mine and not theirs):
        return 2.0
    return 0.5 if not mine or not theirs else 0.0


def _pair_links(found: Alignment) -> None:
    free = list(found.draft.links)
    for gold in found.gold.links:
        start, end = found.draft_of.get(id(gold.start)), found.draft_of.get(id(gold.end))
        choice, best = None, 0.0
        for link in free:
            if {id(link.start), id(link.end)} != {id(start), id(end)}:
                continue
            value = 1.0 + _similar_types(link, gold) + 0.5 * (link.start is start)
            if value > best:
                choice, best = link, value
        if choice is None:
            found.gold_links.append(gold)
        else:
            free.remove(choice)
            found.links.append((choice, gold))
            found.pair(choice.relationship, gold.relationship)
    found.draft_links = free


def _pair_values(found: Alignment) -> None:
    """Pair what UNWIND makes, by place: there is rarely more than one."""
    mine = [found.draft.bindings.of(u.variable) for u in found.draft.unwinds]
    theirs = [found.gold.bindings.of(u.variable) for u in found.gold.unwinds]
    for draft, gold in zip(mine, theirs, strict=False):
        if draft is not None and gold is not None and draft.source is None and gold.source is None:
            found.pair(draft, gold)
