"""Literal grounding: which stored value a query's literal means (CypherGuard, section 3.4).

A **binding** says which value a query expects on which property of which labels. The paper probes
the database, exactly and then for the longest word; a value index, where there is one, answers the
same from memory and finds other spellings too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cypherforge.core.errors import QueryError
from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Bindings, Entity, resolve
from cypherforge.cypher.errors import CypherSyntaxError
from cypherforge.cypher.names import quote_name, quote_string
from cypherforge.cypher.parser import parse
from cypherforge.graph.base import Graph
from cypherforge.graph.schema import Schema
from cypherforge.graph.value_index import Hit, ValueIndex
from cypherforge.graph.value_text import squeeze

#: Bindings looked at a query, probes of each, candidates shown: the paper's numbers.
BINDINGS, CANDIDATES = 3, 3
_FOLDED = ("tolower", "lower", "toupper", "upper")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Binding:
    """``value`` is expected under ``key`` of one of ``owners`` (all labels: none is written).

    ``exact``: compared as it is, not folded to one case. ``sole``: no other value of the query
    depends on where this one's key is written. ``name`` is the key's place, ``literal`` the value's.
    """

    owners: tuple[str, ...]
    key: str
    value: str | int | float
    literal: ast.Expression
    name: ast.Name | None
    exact: bool
    sole: bool = True
    relationship: bool = False


def bindings_of(query: ast.Query, schema: Schema) -> list[Binding]:
    """The bindings of a query, in source order: inline maps, equalities, IN, folded comparisons."""
    bindings = resolve(query)
    found: list[Binding] = []
    for entity in bindings.entities:
        for node in entity.nodes:
            properties = getattr(node, "properties", None)
            if isinstance(properties, ast.MapLiteral):
                for entry in properties.entries:
                    found += _binding(schema, entity, entry.key, entry.value, exact=True)
    for node in query.walk():
        if isinstance(node, ast.Binary):
            found += _compared(schema, bindings, node)
    return sorted(found, key=lambda b: b.literal.span)


def _compared(schema: Schema, bindings: Bindings, node: ast.Binary) -> Iterator[Binding]:
    if node.op == "IN" and isinstance(node.right, ast.ListLiteral):
        access, exact = _access(node.left)
        entity = _entity(bindings, access)
        if access is not None and entity is not None:
            for item in node.right.items:
                only = len(node.right.items) == 1
                yield from _binding(schema, entity, access.key, item, exact=exact, sole=only)
    elif node.op == "=":
        for one, other in ((node.left, node.right), (node.right, node.left)):
            access, exact = _access(one)
            entity = _entity(bindings, access)
            if access is not None and entity is not None:
                literal, folded = _unfolded(other)
                exact = exact and not folded
                yield from _binding(schema, entity, access.key, literal, exact=exact)


def _access(node: ast.Expression) -> tuple[ast.PropertyAccess | None, bool]:
    """The property read, and whether it is read as stored, not folded to one case."""
    inner, folded = _unfolded(node)
    return (inner if isinstance(inner, ast.PropertyAccess) else None), not folded


def _unfolded(node: ast.Expression) -> tuple[ast.Expression, bool]:
    if isinstance(node, ast.FunctionCall) and node.lower_name in _FOLDED and len(node.args) == 1:
        return node.args[0], True
    return node, False


def _entity(bindings: Bindings, access: ast.PropertyAccess | None) -> Entity | None:
    if access is None or not isinstance(access.subject, ast.Variable):
        return None
    return bindings.of(access.subject)


def _binding(
    schema: Schema,
    entity: Entity,
    key: ast.Name,
    value: ast.Expression,
    *,
    exact: bool,
    sole: bool = True,
) -> Iterator[Binding]:
    if entity.kind not in ("node", "relationship"):
        return
    if not isinstance(value, ast.StringLiteral | ast.IntegerLiteral | ast.FloatLiteral):
        return
    relationship = entity.kind == "relationship"
    known = schema.types if relationship else schema.labels
    owners = tuple(sorted(entity.names & set(known))) or tuple(known)
    yield Binding(owners, key.name, value.value, value, key, exact, sole, relationship)


def stored_as_written(query: ast.Query, schema: Schema, index: ValueIndex) -> bool:
    """Whether a query compares texts, and each of them is stored where it is compared."""
    texts = [b for b in bindings_of(query, schema) if isinstance(b.value, str)]
    return bool(texts) and all(
        any(index.holds(owner, b.key, str(b.value)) is True for owner in b.owners) for b in texts
    )


# ---------------------------------------------------------------- notes for the correction prompt


def grounding_notes(
    query: ast.Query,
    schema: Schema,
    *,
    graph: Graph,
    index: ValueIndex | None = None,
    count_probe: Callable[[], None] = lambda: None,
) -> list[str]:
    """What the database says of the literals of a query that found nothing, a sentence each.

    Looks at three bindings, probes each at most twice; ``count_probe`` is called for every query
    sent. Literals that are stored as written give no note.
    """
    notes: list[str] = []
    for binding in bindings_of(query, schema)[:BINDINGS]:
        if index is not None and isinstance(binding.value, str):
            note = _from_index(binding, index)
        else:
            note = _from_graph(binding, graph, count_probe)
        if note:
            notes.append(note)
    return notes


def _shown(binding: Binding) -> str:
    owner = binding.owners[0] if len(binding.owners) == 1 else "any label"
    return f"{owner}.{binding.key}"


def _note(binding: Binding, candidates: list[str]) -> str:
    if candidates:
        stored = ", ".join(repr(c) for c in candidates)
        return (
            f"{binding.value!r} is not stored in {_shown(binding)}. Stored values are: {stored}. "
            "Copy one of them exactly."
        )
    return (
        f"{binding.value!r} is not stored in {_shown(binding)}, nor anything like it. "
        "Use another property or another label."
    )


def _from_index(binding: Binding, index: ValueIndex) -> str:
    value = str(binding.value)
    held = [index.holds(owner, binding.key, value) for owner in binding.owners]
    if any(h is True for h in held) or all(h is None for h in held):
        return ""
    hits = [
        h for o in binding.owners for h in index.find(value, owner=o, name=binding.key, limit=3)
    ]
    hits.sort(key=lambda hit: -hit.score)
    near = list(dict.fromkeys(h.value for h in hits))[:CANDIDATES]
    elsewhere = [h for h in index.find(value, limit=5, least=100.0) if h.place != _shown(binding)]
    note = _note(binding, near)
    if elsewhere:
        places = ", ".join(
            f"(:{h.owner} {{{h.name}: {h.value!r}}})"
            for h in elsewhere[:CANDIDATES]
            if not h.relationship
        )
        if places:
            note += f" It is stored as {places}."
    return note


def _from_graph(binding: Binding, graph: Graph, count_probe: Callable[[], None]) -> str:
    name = quote_name(binding.key)
    sole = quote_name(binding.owners[0]) if len(binding.owners) == 1 else ""
    label = f":{sole}" if sole else ""
    match = f"()-[n{label}]->()" if binding.relationship else f"(n{label})"
    try:
        count_probe()
        exact = f"MATCH {match} WHERE n.{name} = $value RETURN 1 AS found LIMIT 1"
        if graph.run(exact, {"value": binding.value}).rows:
            return ""
        if not isinstance(binding.value, str):
            return _note(binding, [])
        words = _WORD.findall(binding.value)
        if not words:
            return _note(binding, [])
        count_probe()
        longest = max(words, key=len)
        like = (
            f"MATCH {match} WHERE toLower(toString(n.{name})) CONTAINS toLower($word) "
            f"RETURN DISTINCT n.{name} AS value ORDER BY value LIMIT {CANDIDATES}"
        )
        rows = graph.run(like, {"word": longest}).rows
    except QueryError:
        return ""
    return _note(binding, [str(row[0]) for row in rows])


# ---------------------------------------------------------------- question grounding

_QUOTED = re.compile(r"(?:(?<=\s)|^)(?:'([^']+)'|\"([^\"]+)\"|“([^”]+)”)")
#: A stored value at least this near (0..100) may be what a quoted name means.
_NEAR = 85.0


def unknown_names(question: str, schema: Schema, index: ValueIndex) -> list[str]:
    """The names in quotes that neither a stored value nor a name of the schema is like.

    Numbers and dates are left out: they need not be stored to be asked for. So is everything where
    the index holds not all values of the graph.
    """
    if index.cut or not len(index):
        return []
    known = {squeeze(name) for name in schema.names()}
    unknown = []
    for match in _QUOTED.finditer(question):
        name = next(group for group in match.groups() if group)
        if not any(char.isalpha() for char in name) or squeeze(name) in known:
            continue
        if not index.find(name, limit=1, least=_NEAR):
            unknown.append(name)
    return unknown


def unheld_names(
    question: str, query: str, parameters: Mapping[str, Any], schema: Schema, index: ValueIndex
) -> list[str]:
    """Stored values that a question names and its query does not hold, each with its pattern.

    Only names: words with a capital, not the question's first, stored as they are written in three
    places at most, and no name of the schema. Two of one place are a choice ("for Sick and for
    Healthy separately"), which a query may make by grouping. A query that does not parse holds
    everything.
    """
    try:
        parsed = parse(query)
    except CypherSyntaxError:
        return []
    strings = {squeeze(n.value) for n in parsed.walk() if isinstance(n, ast.StringLiteral)}
    strings |= {squeeze(value) for value in parameters.values() if isinstance(value, str)}
    text = squeeze(query)
    known = {squeeze(name) for name in schema.names()}
    unheld: dict[tuple[str, str], list[str]] = {}
    for mention in index.mentions(question):
        hits = [hit for hit in mention.hits if hit.match == "exact"]
        name = squeeze(mention.text)
        if not 0 < len(hits) <= 3 or not mention.start or not mention.text[0].isupper():
            continue
        if name in text or name in known or name.removesuffix("s") in known:
            continue
        if any(held and (held in name or name in held) for held in strings):
            continue
        said = f"{mention.text}, stored as {_pattern(hits[0], schema)}"
        unheld.setdefault((hits[0].owner, hits[0].name), []).append(said)
    return [said for place in unheld.values() if len(place) == 1 for said in place]


def question_notes(question: str, index: ValueIndex, schema: Schema, *, most: int = 6) -> list[str]:
    """What stored values a question names, each as the pattern that finds it.

    One line a place: ``(:Country {name: 'Germany'})``; ``(x:Band) WHERE 'jazz' IN x.genres`` for a
    property that holds lists. A value stored under more than three places
    says nothing of where it belongs, so it is left out.
    """
    lines: list[str] = []
    for mention in index.mentions(question):
        exact = [hit for hit in mention.hits if hit.match in ("exact", "normalised")]
        if len(exact) > 3:
            continue
        for hit in exact:
            line = _pattern(hit, schema)
            if line not in lines:
                lines.append(line)
    return lines[:most]


def _pattern(hit: Hit, schema: Schema) -> str:
    """The pattern that finds a stored value."""
    owner, name, value = quote_name(hit.owner), quote_name(hit.name), quote_string(hit.value)
    known = schema.type_property_of if hit.relationship else schema.property_of
    item = known(hit.owner, hit.name)
    if item is not None and item.type.startswith("LIST"):
        inside = f"()-[x:{owner}]->()" if hit.relationship else f"(x:{owner})"
        return f"{inside} WHERE {value} IN x.{name}"
    inside = f"{owner} {{{name}: {value}}}"
    return f"()-[:{inside}]->()" if hit.relationship else f"(:{inside})"
