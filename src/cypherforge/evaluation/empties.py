"""Questions whose right answer is no row, made from golds that have one.

A literal that the question names is replaced, in question and gold alike, by one that the database
does not hold: a name one letter off, or two stored names crossed. Execution proves that the gold
then returns nothing, and that the new literal stands nowhere in the property. What a strategy makes
of such a question is told apart: loosening a filter until rows come is not an answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cypherforge.core.datasets import Example
from cypherforge.core.errors import QueryError
from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.edits import apply_edits
from cypherforge.cypher.names import quote_name, quote_string
from cypherforge.cypher.rewrite import replace_literal
from cypherforge.graph.base import Graph

#: Stored values of a property that are read to make new ones from.
VALUES = 400
#: Replacements that are tried for one literal.
TRIES = 12


@dataclass(frozen=True, slots=True)
class _Place:
    """A string literal that a property is compared with: ``owner`` is the label, if it is known."""

    node: ast.StringLiteral
    owner: str
    name: str


def true_empties(
    examples: Iterable[Example], graph: Graph, *, count: int, seed: int = 0
) -> list[Example]:
    """Make up to ``count`` questions without an answer, in the order of what they are made from.

    Each has the id of its source with ``-empty`` and ``meta`` with ``true_empty``, ``made_from``,
    ``replaced`` and ``by``. Raises what an unreachable graph raises.
    """
    made: list[Example] = []
    seen: set[str] = set()
    for example in examples:
        if len(made) == count:
            break
        new = _empty(example, graph, seed)
        if new is not None and new.question not in seen:
            seen.add(new.question)
            made.append(new)
    return made


def _empty(example: Example, graph: Graph, seed: int) -> Example | None:
    try:
        query = parse(example.cypher)
    except CypherSyntaxError:
        return None
    if _always_has_rows(query):
        return None
    for place in _places(query):
        old = place.node.value
        # The question has to name the literal, once and as it is: else its words stay true.
        if len(old) < 3 or example.question.count(old) != 1:
            continue
        values = _stored(graph, place)
        if old not in values:
            continue
        for new in _replacements(old, values, f"{seed}\0{example.id}"):
            if _held(graph, place, new):
                continue
            cypher = apply_edits(query.text, replace_literal(query, place.node, new))
            try:
                before, after = graph.run(example.cypher, limit=1), graph.run(cypher, limit=1)
            except QueryError:
                break
            if not before.rows or after.rows:
                break
            return Example(
                id=f"{example.id}-empty",
                question=example.question.replace(old, new),
                cypher=cypher,
                graph=example.graph,
                split=example.split,
                meta={
                    "true_empty": True,
                    "made_from": example.id,
                    "replaced": old,
                    "by": new,
                },
            )
    return None


def _always_has_rows(query: ast.Query) -> bool:
    """Whether a query gives a row whatever it finds: an aggregate without a group, OPTIONAL first."""
    body = query.body
    if not isinstance(body, ast.SingleQuery) or not body.clauses:
        return True
    first = body.clauses[0]
    return not isinstance(first, ast.Match) or first.optional


def _places(query: ast.Query) -> Iterator[_Place]:
    """String literals in property maps and equalities of the query, with label and property."""
    labels: dict[str, str] = {}
    for node in query.walk():
        if isinstance(node, ast.NodePattern) and node.variable is not None and node.labels:
            names = [n.name for n in node.labels.walk() if isinstance(n, ast.LabelName)]
            if len(names) == 1:
                labels.setdefault(node.variable.name, names[0])
    for node in query.walk():
        if isinstance(node, ast.NodePattern) and isinstance(node.properties, ast.MapLiteral):
            names = []
            if node.labels is not None:
                names = [n.name for n in node.labels.walk() if isinstance(n, ast.LabelName)]
            owner = names[0] if len(names) == 1 else ""
            for entry in node.properties.entries:
                if owner and isinstance(entry.value, ast.StringLiteral):
                    yield _Place(entry.value, owner, entry.key.name)
        elif isinstance(node, ast.Binary) and node.op == "=":
            left, right = node.left, node.right
            if isinstance(left, ast.PropertyAccess) and isinstance(right, ast.StringLiteral):
                if isinstance(left.subject, ast.Variable) and left.subject.name in labels:
                    yield _Place(right, labels[left.subject.name], left.key.name)


def _stored(graph: Graph, place: _Place) -> list[str]:
    name = quote_name(place.name)
    query = (
        f"MATCH (n:{quote_name(place.owner)}) WHERE n.{name} IS NOT NULL "
        f"RETURN DISTINCT n.{name} AS value ORDER BY value LIMIT {VALUES}"
    )
    try:
        rows = graph.run(query, limit=VALUES).rows
    except QueryError:
        return []
    return [row[0] for row in rows if isinstance(row[0], str)]


def _held(graph: Graph, place: _Place, value: str) -> bool:
    """Whether the property holds the value, in any case."""
    name = quote_name(place.name)
    query = (
        f"MATCH (n:{quote_name(place.owner)}) WHERE toLower(n.{name}) = "
        f"{quote_string(value.lower())} RETURN 1 AS held LIMIT 1"
    )
    try:
        return bool(graph.run(query, limit=1).rows)
    except QueryError:
        return True


def _replacements(old: str, values: Sequence[str], salt: str) -> Iterator[str]:
    """Names that might be stored: halves of two stored ones crossed, then one letter changed."""
    digest = hashlib.sha256(salt.encode("utf-8", "replace")).digest()
    start = int.from_bytes(digest[:4], "big")
    words = old.split()
    known = {value.casefold() for value in values}
    found: list[str] = []
    if len(words) > 1:
        others = [v.split() for v in values if v != old and len(v.split()) > 1]
        turned = others[start % len(others) :] + others[: start % len(others)] if others else []
        found += [" ".join([*words[:-1], other[-1]]) for other in turned[: TRIES // 2]]
    letters = [i for i, char in enumerate(old) if char.isalpha() and i > 0]
    for offset in range(min(TRIES, len(letters))):
        at = letters[(start + offset) % len(letters)]
        twin = _neighbour(old[at])
        found.append(f"{old[:at]}{twin}{old[at + 1 :]}")
    if not letters:
        found += [f"{old}{digit}" for digit in "713"]
    yield from (new for new in dict.fromkeys(found) if new.casefold() not in known)


def _neighbour(char: str) -> str:
    """Another letter of the same sort: a vowel for a vowel, in the same case."""
    for row in ("aeiou", "bdpt", "cgkq", "fvw", "lrmn", "szxj", "hy"):
        lower = char.lower()
        if lower in row:
            twin = row[(row.index(lower) + 1) % len(row)]
            return twin.upper() if char.isupper() else twin
    return "e"
