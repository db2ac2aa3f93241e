"""Render a schema for a prompt: one fixed order, inside a token budget, saying what was left out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from cypherforge.core.errors import UsageError
from cypherforge.cypher.names import quote_string
from cypherforge.graph.formats import FORMATS
from cypherforge.graph.formats.arrows import (
    arrow_text,
    line_name,
    map_text,
    node_text,
    sampled_note,
)
from cypherforge.graph.policy import ALL_VALUES, ValuePolicy
from cypherforge.graph.schema import Label, Pattern, Property, RelType, Scalar, Schema

#: Example values a property in the compact form, and the characters of each that are shown.
SHOWN_VALUES, SHOWN_LENGTH = 3, 40
#: Properties that come with their label as long as the label itself fits a budget.
AT_ONCE = 2

_AIMS = 20

_Owner = TypeVar("_Owner", Label, RelType)

_PIECES = re.compile(r"[A-Za-z]+|\d|[^\x00-\x7f]|[^\sA-Za-z\d\x80-\U0010ffff]+|\n|[^\S\n]{2,}")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True, slots=True)
class Rendering:
    """The text, its estimated tokens, and what the budget left out.

    ``dropped`` names labels (``Label``), types (``[:TYPE]``), endpoint pairs
    (``(:A)-[:T]->(:B)``) and properties (``Label.name``, ``[:TYPE].name``), in a fixed order.
    """

    text: str
    dropped: tuple[str, ...] = ()
    tokens: int = 0


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text from above, for a tokenizer we do not have.

    A word part counts a token per six letters (``camelCase`` is two parts), a run of marks one per
    two, a digit, a line end and a character outside ASCII one each.
    """
    total = 0
    for piece in _PIECES.findall(text):
        if piece[0].isascii() and piece[0].isalpha():
            total += sum(-(-len(part) // 6) for part in _HUMPS.findall(piece))
        else:
            total += -(-len(piece) // 2) if piece[0].isascii() and not piece.isspace() else 1
    return total


def compact(schema: Schema, *, values: bool = False) -> str:
    """Return node labels with typed properties, then whole arrows, one a line, sorted.

    A label that only occurs on nodes with another one is shown as such, ``(:Crew:Person)``, and
    the arrows it shares with that one are not repeated. With ``values``, example values follow the
    type: ``name: STRING 'Ann', 'Bob'``.
    """
    note = _examples if values else None
    wider = _wider_labels(schema)
    lines = [*sampled_note(schema), "Node labels:"]
    for label in schema.labels.values():
        above = wider.get(label.name)
        names = f"{line_name(label.name)}:{line_name(above)}" if above else line_name(label.name)
        shown = label.properties
        if above:
            shared = {item.name for item in schema.labels[above].properties}
            shown = tuple(item for item in shown if item.name not in shared)
        lines.append(f"(:{names}{map_text(shown, note)})")
    said = {frozenset(pair) for pair in wider.items()}
    together = [item for item in schema.co_labels if frozenset(item.labels) not in said]
    if together:
        lines.append("Labels that occur together:")
        lines += [node_text(Label(""), item.labels) for item in together]
    lines.append("Relationships:")
    lines += [
        arrow_text(schema, pattern, note=note)
        for pattern in schema.patterns
        if not _said_of_wider(schema, pattern, wider)
    ]
    lines += [
        f"()-[:{line_name(rel.name)}{map_text(rel.properties, note)}]->()"
        for rel in schema.types.values()
        if not schema.patterns_of(rel.name)
    ]
    return "\n".join(lines)


def _wider_labels(schema: Schema) -> dict[str, str]:
    """Return each label all of whose nodes carry a commoner one too, with the commonest of those.

    Only counts can tell, so a schema without them (a text, a sample) has none.
    """
    wider: dict[str, str] = {}
    if schema.sampled:
        return wider
    for label in schema.labels.values():
        sets = [item for item in schema.co_labels if label.name in item.labels]
        if not sets or label.count is None or sum(x.count or 0 for x in sets) != label.count:
            continue
        always = set.intersection(*(set(item.labels) for item in sets))
        counts = {name: schema.labels[name].count or 0 for name in always if name in schema.labels}
        above = max(counts, key=lambda name: (counts[name], name))
        if counts[above] > label.count:
            wider[label.name] = above
    return wider


def _said_of_wider(schema: Schema, pattern: Pattern, wider: dict[str, str]) -> bool:
    ends = (wider.get(pattern.start, pattern.start), wider.get(pattern.end, pattern.end))
    return ends != (pattern.start, pattern.end) and schema.has_direction(
        ends[0], pattern.type, ends[1]
    )


def render_schema(
    schema: Schema,
    format: str = "compact",
    budget: int | None = None,
    *,
    values: bool = False,
    policy: ValuePolicy = ALL_VALUES,
    count: Callable[[str], int] = estimate_tokens,
) -> Rendering:
    """Render a schema in ``compact``, ``raw`` (the text as it was given) or one of the formats.

    With a ``budget`` in tokens (as ``count`` counts them) the least important is left out: first
    properties (sparse ones, then those beyond the first two of each label), then the labels with
    the fewest nodes and what joins them; the text ends with what was left out where the format
    has comments. ``policy`` holds for example values in every format. Raises ``UsageError`` if the
    format is unknown, if ``raw`` has no text, or if not even one label fits.
    """
    if format == "raw":
        return _raw(schema, budget, policy, count)
    write = _writer(format, values)
    shown = policy.apply(schema) if policy != ALL_VALUES else schema
    text = write(shown)
    tokens = count(text)
    if budget is None or tokens <= budget:
        return Rendering(text, (), tokens)
    comments = format in ("compact", "arrows")
    items = _by_importance(shown)

    def fitted(kept: int) -> tuple[str, int]:
        body = write(_subset(shown, items[:kept]))
        if comments:
            body += "\n" + _left_out(items[kept:])
        return body, count(body)

    kept, text = 0, ""
    low, high, size_low, size_high = 0, len(items), 0, tokens
    for turn in range(_AIMS):
        if high - low <= 1 or size_low >= 0.98 * budget:
            break
        # Sizes grow almost in line with the items, so aim a little low; halve where that fails.
        share = (0.99 * budget - size_low) / (size_high - size_low) if turn < _AIMS // 2 else 0.5
        middle = min(max(low + int((high - low) * share), low + 1), high - 1)
        body, size = fitted(middle)
        if size <= budget:
            low, size_low, kept, text, tokens = middle, size, middle, body, size
        else:
            high, size_high = middle, size
    if kept == 0:
        raise UsageError(
            f"a budget of {budget} tokens does not hold one label of this schema",
            hint="raise the budget, or narrow the schema to the labels that matter",
        )
    dropped = sorted(items[kept:], key=_order)
    return Rendering(text, tuple(_display(item) for item in dropped), tokens)


def _raw(
    schema: Schema, budget: int | None, policy: ValuePolicy, count: Callable[[str], int]
) -> Rendering:
    if not schema.raw:
        raise UsageError(
            "this schema has no text of its own", hint="it was read from a database: use compact"
        )
    if policy != ALL_VALUES:
        raise UsageError(
            "the raw text may hold values that --exclude or --no-values keeps back",
            hint="use compact",
        )
    tokens = count(schema.raw)
    if budget is not None and tokens > budget:
        raise UsageError(
            f"the raw text has {tokens} tokens, the budget is {budget}", hint="use compact"
        )
    return Rendering(schema.raw, (), tokens)


def _writer(format: str, values: bool) -> Callable[[Schema], str]:
    if format == "compact":
        return lambda schema: compact(schema, values=values)
    if format not in FORMATS:
        raise UsageError(
            f"no schema format {format!r}", hint=f"one of compact, raw, {', '.join(FORMATS)}"
        )
    return FORMATS[format].render


#: (kind, owner, name): a label, a type, a pattern "start|type|end" or a property of either.
_Item = tuple[str, str | Pattern, str]


def _by_importance(schema: Schema) -> list[_Item]:
    """Return everything that can be left out, the most important first.

    Labels with the most nodes come first, each with its first properties (keys, then the commonest)
    and with the patterns to labels before it; then further properties in rounds, one an owner, and
    sparse ones last.
    """
    place: dict[str, int] = {"": -1}
    ranked = sorted(schema.labels.values(), key=lambda x: (-(x.count or 0), x.name))
    items: list[_Item] = []
    waiting = sorted(schema.patterns, key=lambda p: (-(p.count or 0), p.start, p.type, p.end))
    by_last: dict[str, list[Pattern]] = {}
    for number, label in enumerate(ranked):
        place[label.name] = number
    for pattern in waiting:
        last = max((pattern.start, pattern.end), key=lambda name: place[name])
        by_last.setdefault(last, []).append(pattern)
    keyed: set[tuple[str, str, str]] = {
        (c.entity, c.name, key) for c in schema.constraints for key in c.properties
    }
    rounds: list[tuple[int, int, str, _Item]] = []
    first: dict[tuple[str, str], list[_Item]] = {}
    for kind, entity, owners in (
        ("label-property", "NODE", list[Label | RelType](schema.labels.values())),
        ("type-property", "RELATIONSHIP", list[Label | RelType](schema.types.values())),
    ):
        for owner in owners:
            for turn, item in enumerate(_ranked(owner, entity, keyed)):
                entry: _Item = (kind, owner.name, item.name)
                if turn < AT_ONCE and not item.sparse:
                    first.setdefault((kind, owner.name), []).append(entry)
                else:  # sparse properties go before any other, whatever their turn
                    late = turn + (10_000 if item.sparse else 0)
                    rounds.append((late, kind == "type-property", owner.name, entry))
    seen: set[str] = set()

    def add_type(name: str) -> None:
        if name not in seen:
            seen.add(name)
            items.extend(first.get(("type-property", name), ()))

    for label in ranked:
        items.append(("label", label.name, ""))
        items += first.get(("label-property", label.name), ())
        for pattern in by_last.get(label.name, ()):
            items.append(("pattern", pattern, ""))
            add_type(pattern.type)
    for pattern in by_last.get("", ()):
        items.append(("pattern", pattern, ""))
        add_type(pattern.type)
    for rel in schema.types.values():
        if not schema.patterns_of(rel.name):
            items.append(("type", rel.name, ""))
            add_type(rel.name)
    items += [entry[3] for entry in sorted(rounds, key=lambda r: (*r[:3], r[3][2]))]
    return items


def _ranked(
    owner: Label | RelType, entity: str, keyed: set[tuple[str, str, str]]
) -> list[Property]:
    """Return the properties of an owner, keys first, then the commonest, sparse ones last."""
    return sorted(
        owner.properties,
        key=lambda p: (
            p.sparse,
            (entity, owner.name, p.name) not in keyed,
            -(p.coverage if p.coverage is not None else 1.0),
            p.name,
        ),
    )


def _subset(schema: Schema, items: list[_Item]) -> Schema:
    labels = {owner for kind, owner, _ in items if kind == "label"}
    patterns = {owner for kind, owner, _ in items if kind == "pattern"}
    types = {owner for kind, owner, _ in items if kind == "type"}
    types |= {pattern.type for pattern in patterns if isinstance(pattern, Pattern)}
    keys = {(kind, owner, name) for kind, owner, name in items if kind.endswith("property")}
    return replace(
        schema,
        labels={
            name: _keep(label, "label-property", keys)
            for name, label in schema.labels.items()
            if name in labels
        },
        types={
            name: _keep(rel, "type-property", keys)
            for name, rel in schema.types.items()
            if name in types
        },
        patterns=tuple(p for p in schema.patterns if p in patterns),
        co_labels=tuple(x for x in schema.co_labels if labels.issuperset(x.labels)),
    )


def _keep(owner: _Owner, kind: str, keys: set[_Item]) -> _Owner:
    return replace(
        owner,
        properties=tuple(p for p in owner.properties if (kind, owner.name, p.name) in keys),
    )


def _order(item: _Item) -> tuple[int, str, str]:
    kinds = ("label", "type", "pattern", "label-property", "type-property")
    return kinds.index(item[0]), _display(item), item[2]


def _display(item: _Item) -> str:
    kind, owner, name = item
    if isinstance(owner, Pattern):
        start, end = (f"(:{line_name(x)})" if x else "()" for x in (owner.start, owner.end))
        return f"{start}-[:{line_name(owner.type)}]->{end}"
    shown = line_name(owner) if kind.startswith("label") else f"[:{line_name(owner)}]"
    return f"{shown}.{line_name(name)}" if name else shown


def _left_out(items: list[_Item]) -> str:
    """Return one comment line with the numbers; the names are in ``Rendering.dropped``."""
    parts = []
    for what, kinds in (
        ("label", ("label",)),
        ("relationship", ("pattern", "type")),
        ("property", ("label-property", "type-property")),
    ):
        number = sum(item[0] in kinds for item in items)
        if number:
            plural = "properties" if what == "property" else f"{what}s"
            parts.append(f"{number} {plural if number > 1 else what}")
    return f"// left out: {', '.join(parts)}"


def _examples(item: Property) -> str:
    shown = [_example(value) for value in item.values[:SHOWN_VALUES]]
    return f" {', '.join(shown)}" if shown else ""


def _example(value: Scalar) -> str:
    if isinstance(value, str):
        return quote_string(
            value if len(value) <= SHOWN_LENGTH else value[: SHOWN_LENGTH - 1] + "…"
        )
    return str(value).lower() if isinstance(value, bool) else str(value)
