"""Doubts about a query from question, query and schema alone: no database, no model.

Each check compares what the question says in words with what the query does, and names a code of the
taxonomy. They doubt, they never change. :func:`doubts` counts them, for whoever has to choose between
queries; :mod:`cypherforge.runtime.silent` adds what the database shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Entity
from cypherforge.cypher.schema_check import check_schema
from cypherforge.graph.narrow import word_parts
from cypherforge.graph.schema import Label, RelType, Schema
from cypherforge.graph.value_text import squeeze
from cypherforge.runtime.doubts_asked import ASKED
from cypherforge.runtime.pair import Pair, Suspicion, conditions, read_pair
from cypherforge.runtime.question import digits, said

#: Factors by which a query may state a number in another unit.
_UNITS = (60, 3600, 24, 86400, 7, 12, 365, 100, 1000, 1_000_000)


def doubts(question: str, query: str, schema: Schema) -> int:
    """How many things speak against a query, from its text alone; 0 for one that does not parse.

    For choosing between queries that all ran: it says nothing of whether a query runs.
    """
    pair = read_pair(question, query, schema)
    return len(static_suspicions(pair)) if pair is not None else 0


def static_suspicions(pair: Pair, only: frozenset[str] = frozenset()) -> list[Suspicion]:
    """What question, query and schema say against a query; ``only`` keeps some checks, by name."""
    return [
        found for name, check in STATIC.items() if not only or name in only for found in check(pair)
    ]


# ---------------------------------------------------------------- names and values


def _schema(pair: Pair) -> Iterator[Suspicion]:
    """Names, ends and literals that do not fit the schema."""
    for finding in check_schema(pair.query, pair.schema):
        yield Suspicion(finding.code, finding.message)


def _unused_name(pair: Pair) -> Iterator[Suspicion]:
    """A name in quotes that the query does not hold."""
    known = {squeeze(name) for name in pair.schema.names()}
    text = squeeze(pair.query.text)
    strings = [squeeze(n.value) for n in pair.nodes(ast.StringLiteral)]
    for item in pair.question.quoted:
        name = squeeze(item.text)
        if name in known or name in text or name.replace(" ", "") in text.replace(" ", ""):
            continue
        if any(s and s in name for s in strings):
            continue
        yield Suspicion("filter.missing", f"the question names '{item.text}', the query does not")


def _unused_number(pair: Pair) -> Iterator[Suspicion]:
    """A number or date of the question that the query does not hold, in any unit."""
    held = _numbers(pair)
    for number in pair.question.numbers:
        if not _near(number, held):
            yield Suspicion("filter.missing", f"the question says {number}, the query does not")
    for date in pair.question.dates:
        if not all(number in held for number in digits(date)):
            yield Suspicion("filter.missing", f"the question says {date}, the query does not")


def _numbers(pair: Pair) -> set[str]:
    """All numbers that a query holds, in literals and in names."""
    return set(digits(pair.query.text))


def _near(number: str, held: set[str]) -> bool:
    if (number.lstrip("0") or "0") in held:
        return True
    value = float(number)
    wanted = {value - 1, value + 1, value / 100}
    wanted |= {value * unit for unit in _UNITS}
    wanted |= {value / unit for unit in _UNITS}
    return any(float(one) in wanted for one in held)


def _own_value(pair: Pair) -> Iterator[Suspicion]:
    """A condition on a value that the question does not say."""
    question = pair.question
    text = squeeze(question.text)
    stems = set(question.words)
    numbers = {n.lstrip("0") or "0" for n in question.numbers} | set(question.implied)
    numbers |= {n for word in question.words for n in digits(word)}
    for value, op, counted in conditions(pair):
        if isinstance(value, ast.StringLiteral):
            plain = squeeze(value.value)
            parts = set(word_parts(value.value))
            if len(plain) <= 3 or plain in text or parts & stems:
                continue
            if any(_alike(part, stem) for part in parts for stem in stems):
                continue
            yield Suspicion(
                "filter.missing", f"the query asks for '{value.value}', the question does not"
            )
        elif isinstance(value, ast.IntegerLiteral | ast.FloatLiteral):
            number = f"{value.value:g}" if isinstance(value.value, float) else str(value.value)
            if op != "=" and value.value in (0, 1):
                continue
            if value.value == 0 and (question.negated or counted):
                continue
            if counted and value.value in (0, 1, 2):
                continue
            if number in numbers or _near(number, numbers):
                continue
            yield Suspicion("filter.missing", f"the query asks for {number}, the question does not")


def _alike(part: str, stem: str) -> bool:
    """Whether two stems are one word in two forms: ``german`` and ``germani``."""
    size = min(len(part), len(stem))
    return size >= 4 and part[: max(4, size - 2)] == stem[: max(4, size - 2)]


# ---------------------------------------------------------------- what the question names


def _unread_property(pair: Pair) -> Iterator[Suspicion]:
    """A property that the question names whole, and the query reads nowhere."""
    question, schema = pair.question, pair.schema
    owners: list[Label | RelType] = [*schema.labels.values(), *schema.types.values()]
    names = {item.name for owner in owners for item in owner.properties}
    labels = {tuple(word_parts(name)) for name in (*schema.labels, *schema.types)}
    words = _named_in(pair)
    for name in sorted(names):
        parts = word_parts(name)
        # One word may mean anything; the word of a label means the node.
        if len(parts) < 2 or tuple(parts) in labels or not said(question.words, name):
            continue
        if not set(parts) <= words:
            yield Suspicion("return.columns", f"the question names {name}, the query does not")


def _unwalked(pair: Pair) -> Iterator[Suspicion]:
    """A label or a relationship type that the question names, and the query has not."""
    question, schema = pair.question, pair.schema
    used = _named_in(pair)
    quoted = {part for item in question.quoted for part in word_parts(item.text)}
    reached = {label for entity in pair.bindings.nodes for label in _possible(pair, entity)}
    for name in schema.labels:
        parts = word_parts(name)
        if name in reached or set(parts) <= used or set(parts) & quoted:
            continue
        if said(question.words, name):
            yield Suspicion("pattern.missing_hop", f"the question names {name}, the query does not")


def _named_in(pair: Pair) -> set[str]:
    """The stems of all names and texts of a query, without those that it gives itself."""
    texts: list[str] = []
    for node in pair.query.walk():
        if isinstance(node, ast.Name | ast.LabelName):
            texts.append(node.name)
        elif isinstance(node, ast.StringLiteral):
            texts.append(node.value)
        elif isinstance(node, ast.FunctionCall):
            texts.append(node.name)
    return {part for text in texts for part in word_parts(text)}


def _misnamed(pair: Pair) -> Iterator[Suspicion]:
    """``t.name AS teamName`` where t is no Team, though the schema has one."""
    labels = {tuple(word_parts(label)): label for label in pair.schema.labels}
    for projection in pair.nodes(ast.Return):
        for item in projection.items:
            access = item.expression
            if item.alias is None or not isinstance(access, ast.PropertyAccess):
                continue
            entity = pair.bindings.of(access.subject)
            key = word_parts(access.key.name)
            said_by = word_parts(item.alias.name)
            label = labels.get(tuple(said_by[: len(said_by) - len(key)]))
            if entity is None or entity.kind != "node" or label is None or not entity.names:
                continue
            if pair.schema.property_of(label, access.key.name) is None:
                continue
            if said_by[len(said_by) - len(key) :] == key and label not in entity.names:
                shown = " or ".join(sorted(entity.names))
                yield Suspicion(
                    "return.item", f"{item.alias.name} is read from a {shown}, not from a {label}"
                )


def _possible(pair: Pair, entity: Entity) -> frozenset[str]:
    """The labels of a node; of one without, those that its relationships lead to."""
    if entity.names:
        return entity.names
    found: set[str] = set()
    for link in pair.bindings.links:
        if entity in (link.left, link.right):
            for kind in link.relationship.names or pair.schema.types:
                found.update(*pair.schema.labels_of(kind))
    return frozenset(found)


def _unasked_hop(pair: Pair) -> Iterator[Suspicion]:
    """A node at the end of a path that the question does not name and nothing uses."""
    links = pair.bindings.links
    words = set(pair.question.words)
    if any(True for _ in pair.nodes(ast.CountStar)):
        return
    for entity in pair.bindings.nodes:
        touching = [link for link in links if entity in (link.left, link.right)]
        if len(touching) != 1 or not entity.names or _used(entity):
            continue
        if _used(touching[0].relationship):
            continue
        names = [*entity.names, *touching[0].relationship.names]
        if any(set(word_parts(name)) & words for name in names):
            continue
        label = min(entity.names)
        yield Suspicion("pattern.extra_hop", f"a step to {label}, which the question does not name")


def _used(entity: Entity) -> bool:
    """Whether anything but its one pattern speaks of a node or a relationship."""
    held = [
        node for node in entity.nodes if isinstance(node, ast.NodePattern | ast.RelationshipPattern)
    ]
    if len(held) != 1 or held[0].properties is not None or held[0].where is not None:
        return True
    return len(entity.uses) > 1


STATIC: dict[str, Callable[[Pair], Iterator[Suspicion]]] = {
    "schema": _schema,
    "unused_name": _unused_name,
    "unused_number": _unused_number,
    "own_value": _own_value,
    **ASKED,
    "unread_property": _unread_property,
    "unwalked": _unwalked,
    "unasked_hop": _unasked_hop,
    "misnamed": _misnamed,
}
