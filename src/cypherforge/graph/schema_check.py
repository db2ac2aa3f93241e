"""What is doubtful in one schema, and what differs between two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from cypherforge.cypher.names import needs_quotes
from cypherforge.graph.formats.arrows import line_name
from cypherforge.graph.schema import Label, Pattern, Property, RelType, Schema
from cypherforge.graph.type_names import is_type_name, union_members

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """One doubtful thing: ``where`` as in ``Label.property`` or ``[:TYPE]``, and the way out."""

    severity: Severity
    code: str
    where: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that two schemas say differently; None where one does not have it."""

    kind: str
    what: str
    first: str | None
    second: str | None


def check_schema(schema: Schema) -> list[SchemaProblem]:
    """Return the problems of a schema, errors first.

    An error makes answers wrong or impossible (nothing declared, a type without endpoints, a
    property whose type nobody knows); a warning invites mistakes (names that differ in case only, a
    property of several types); a note is worth knowing (names that need back-ticks, a sample).
    """
    found = [*_structure(schema), *_names(schema), *_properties(schema)]
    if schema.sampled:
        size = f" of {schema.sample_size} a label or type" if schema.sample_size else ""
        found.append(
            SchemaProblem(
                "note",
                "sampled",
                "schema",
                f"read from a sample{size}: rare properties may be missing",
                "read everything with --sample -1",
            )
        )
    order = ("error", "warning", "note")
    return sorted(found, key=lambda x: (order.index(x.severity), x.code, x.where))


def _structure(schema: Schema) -> Iterator[SchemaProblem]:
    if not schema.labels:
        yield SchemaProblem("error", "empty", "schema", "declares no label")
    for name in schema.types:
        if not schema.patterns_of(name):
            yield SchemaProblem(
                "error",
                "no-endpoints",
                _type(name),
                "no pattern says between which labels it runs",
                f"add a line such as (:A)-[:{line_name(name)}]->(:B)",
            )
    joined = {end for p in schema.patterns for end in (p.start, p.end)}
    for name in schema.labels:
        if name not in joined and len(schema.labels) > 1:
            yield SchemaProblem("note", "island", _label(name), "no relationship reaches it")
    if any("" in (p.start, p.end) for p in schema.patterns):
        yield SchemaProblem(
            "warning", "unlabelled", "schema", "some relationships end at nodes without a label"
        )


def _names(schema: Schema) -> Iterator[SchemaProblem]:
    for kind, names in (("label", schema.labels), ("type", schema.types)):
        folded: dict[str, list[str]] = {}
        for name in names:
            folded.setdefault(name.casefold(), []).append(name)
            if needs_quotes(name):
                shown = _label(name) if kind == "label" else _type(name)
                yield SchemaProblem(
                    "note", "needs-back-ticks", shown, f"the {kind} is written in back-ticks"
                )
        for alike in folded.values():
            if len(alike) > 1:
                yield SchemaProblem(
                    "warning",
                    "case",
                    ", ".join(alike),
                    f"these {kind}s differ in case only: a model will mix them up",
                )
    for name in sorted(set(schema.labels) & set(schema.types)):
        yield SchemaProblem("note", "shared-name", name, "is a label and a relationship type")


def _properties(schema: Schema) -> Iterator[SchemaProblem]:
    for owner, shown in _owners(schema):
        for item in owner.properties:
            where = f"{shown}.{line_name(item.name)}"
            unknown = [x for x in item.types if not is_type_name(x) or x == "UNKNOWN"]
            if unknown:
                yield SchemaProblem(
                    "error", "unknown-type", where, f"has the type {' | '.join(unknown)}"
                )
            elif len(item.types) > 1:
                yield SchemaProblem(
                    "warning",
                    "several-types",
                    where,
                    f"holds {' and '.join(item.types)}: comparisons miss some values",
                )
            if item.sparse:
                share = f"{100 * (item.coverage or 0):.0f} %"
                yield SchemaProblem("note", "sparse", where, f"only {share} have it")


def diff_schemas(first: Schema, second: Schema, *, strict: bool = False) -> list[Difference]:
    """Return what differs: labels, types, endpoint pairs, properties and their types, in order.

    A bare ``LIST`` agrees with a list of anything, and a pair whose properties are not told apart
    with one whose are. ``strict`` also compares optional flags, counts, label combinations,
    constraints and indexes, which many formats do not hold.
    """
    found = list(_sets("label", first.labels, second.labels, _label))
    found += _sets("type", first.types, second.types, _type)
    for kind, ours, theirs, shown in (
        ("property", first.labels, second.labels, _label),
        ("property", first.types, second.types, _type),
    ):
        for name in sorted(set(ours) & set(theirs)):
            found += _owner(kind, f"{shown(name)}", ours[name], theirs[name], strict)
    mine = {(p.start, p.type, p.end): p for p in first.patterns}
    other = {(p.start, p.type, p.end): p for p in second.patterns}
    for key in sorted(set(mine) | set(other)):
        a, b = mine.get(key), other.get(key)
        if a is None or b is None:
            found.append(
                Difference(
                    "pattern",
                    _pattern(a or b),
                    None if a is None else "",
                    None if b is None else "",
                )
            )
        elif a.properties is not None and b.properties is not None and a.properties != b.properties:
            found.append(
                Difference(
                    "pair properties", _pattern(a), ", ".join(a.properties), ", ".join(b.properties)
                )
            )
        elif strict and a.count != b.count:
            found.append(Difference("count", _pattern(a), _text(a.count), _text(b.count)))
    if strict:
        for kind in ("co_labels", "constraints", "indexes"):
            ours_, theirs_ = set(getattr(first, kind)), set(getattr(second, kind))
            found += [
                Difference(kind, _text(x), "", None) for x in sorted(ours_ - theirs_, key=str)
            ]
            found += [
                Difference(kind, _text(x), None, "") for x in sorted(theirs_ - ours_, key=str)
            ]
    return found


def _sets(
    kind: str, first: Iterable[str], second: Iterable[str], shown: object
) -> Iterator[Difference]:
    ours, theirs = set(first), set(second)
    for name in sorted(ours ^ theirs):
        text = shown(name) if callable(shown) else name
        yield Difference(kind, text, "" if name in ours else None, "" if name in theirs else None)


def _owner(
    kind: str, shown: str, first: Label | RelType, second: Label | RelType, strict: bool
) -> Iterator[Difference]:
    ours, theirs = _by_name(first), _by_name(second)
    for name in sorted(set(ours) | set(theirs)):
        a, b = ours.get(name), theirs.get(name)
        where = f"{shown}.{line_name(name)}"
        if a is None or b is None:
            yield Difference(kind, where, a.type if a else None, b.type if b else None)
        elif not _same_type(a.type, b.type):
            yield Difference("type of property", where, a.type, b.type)
        elif strict and a.optional != b.optional:
            yield Difference("optional", where, str(a.optional), str(b.optional))
    if strict and first.count != second.count:
        yield Difference("count", shown, _text(first.count), _text(second.count))


def _by_name(owner: Label | RelType) -> Mapping[str, Property]:
    return {item.name: item for item in owner.properties}


def _same_type(first: str, second: str) -> bool:
    a = {"LIST" if x.startswith("LIST") else x for x in union_members(first)}
    b = {"LIST" if x.startswith("LIST") else x for x in union_members(second)}
    vague = "LIST" in union_members(first) or "LIST" in union_members(second)
    return first == second or (vague and a == b)


def _owners(schema: Schema) -> Iterator[tuple[Label | RelType, str]]:
    for label in schema.labels.values():
        yield label, _label(label.name)
    for rel in schema.types.values():
        yield rel, _type(rel.name)


def _label(name: str) -> str:
    return line_name(name)


def _type(name: str) -> str:
    return f"[:{line_name(name)}]"


def _pattern(pattern: Pattern | None) -> str:
    assert pattern is not None
    start, end = (f"(:{line_name(x)})" if x else "()" for x in (pattern.start, pattern.end))
    return f"{start}-[:{line_name(pattern.type)}]->{end}"


def _text(value: object) -> str:
    return "unknown" if value is None else str(value)
