"""The two texts of the LangChain and Neo4j-labs packages: markdown, and the older flat one.

Both have three parts under ``Node properties``, ``Relationship properties`` and ``The
relationships``. The markdown part lists ``- **Label**`` and below it ``- `name`: TYPE`` with an
example, a range or all values; the flat part has ``Label {name: TYPE}`` a line or joined by
commas, and its oldest version Python dictionaries. The packages print names bare; names that are
back-ticked, and label combinations (``:`A`:`B```), are read and written as Cypher writes them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from cypherforge.core.errors import InputError
from cypherforge.graph.formats.arrows import (
    Arrow,
    Scanner,
    arrow_text,
    collect,
    line_name,
    map_text,
    parse_arrows,
    read_owner,
    unquote,
)
from cypherforge.graph.formats.common import from_row, normal_pairs, value_note, with_note
from cypherforge.graph.schema import Label, LabelSet, Property, RelType, Schema
from cypherforge.graph.type_names import type_name

_PART = re.compile(
    r"\s*(?:#+\s*)?\**\s*(?P<part>node\s+properties|relationship\s+properties|(?:the\s+)?"
    r"relationships)\b(?:\s+(?:are|is))?(?:\s+the\s+following)?\s*"
    r"(?:\(sampled(?:\s+(?P<sample>\d+))?\))?\s*:?\s*\**\s*:?\s*$",
    re.IGNORECASE,
)
_OWNER = re.compile(r"\s*[-*]\s+\*\*(?P<name>.+)\*\*\s*:?\s*$")
_QUOTED = re.compile(r"`((?:[^`]|``)+)`")
#: A combination as ``db.schema.nodeTypeProperties`` names it: :`A`:`B`.
COMBINATION = re.compile(r"(?::`(?:[^`]|``)+`){2,}")


def matches_markdown(text: str, data: object) -> bool:
    """Return whether there is a properties heading and an owner line ``- **Name**`` below it."""
    return data is None and _headed(text) and any(map(_OWNER.match, text.split("\n")))


def matches_flat(text: str, data: object) -> bool:
    """Return whether there is a properties heading."""
    return data is None and _headed(text)


def _headed(text: str) -> bool:
    found = [match["part"].lower() for match in map(_PART.match, text.split("\n")) if match]
    return any("properties" in part for part in found)


class _Parts:
    """The three parts of a text, gathered while its lines go by."""

    def __init__(self) -> None:
        self.labels: list[Label] = []
        self.types: list[RelType] = []
        self.sets: list[LabelSet] = []
        self.arrows: list[Arrow] = []
        self.sampled: bool = False
        self.sample_size: int | None = None

    def owner(self, part: str, name: str, properties: tuple[Property, ...]) -> None:
        if part == "relationship":
            self.types.append(RelType(unquote(name), properties))
            return
        if COMBINATION.fullmatch(name):
            names = tuple(unquote(quoted) for quoted in re.findall(r"`(?:[^`]|``)+`", name))
            self.sets.append(LabelSet(names))
            self.labels += [Label(item, properties) for item in names]
        else:
            self.labels.append(Label(unquote(name), properties))

    def known(self) -> set[str]:
        return {item.name for item in self.labels} | {item.name for item in self.types}

    def schema(self) -> Schema:
        patterns = [pattern for arrow in self.arrows for pattern in arrow.patterns()]
        inner = collect(self.arrows)
        types = [*self.types, *inner.types.values()]
        return Schema.build(
            [*self.labels, *inner.labels.values()],
            types,
            normal_pairs(types, patterns),
            co_labels=[*self.sets, *inner.co_labels],
            sampled=self.sampled,
            sample_size=self.sample_size,
        )

    def relationships(self, number: int, line: str) -> None:
        if line.startswith("["):
            for item in _literal(line, number):
                if isinstance(item, Mapping):
                    item = f"(:{item['start']})-[:{item['type']}]->(:{item['end']})"
                self.relationships(number, str(item))
            return
        found = parse_arrows(re.sub(r"^[-*]\s+", "", line), self.known())
        if found is None:
            _wrong(number, line, "not an arrow such as (:A)-[:R]->(:B)")
        for item in found:
            if isinstance(item, Arrow):
                self.arrows.append(item)


def parse_markdown(text: str, data: object) -> Schema:
    """Read the markdown text; raises ``InputError`` naming the line it cannot read."""
    parts = _Parts()
    owner, properties = "", []  # type: str, list[Property]
    part = ""
    for number, line, heading in _lines(text):
        entry = _OWNER.match(line) if not heading else None
        if (heading or entry) and owner:
            parts.owner(part, owner, tuple(properties))
            owner, properties = "", []
        if heading:
            part = _enter(parts, heading)
        elif entry:
            owner, properties = entry["name"].strip(), []
        elif part == "arrows":
            parts.relationships(number, line.strip())
        elif owner:
            properties.append(_property(number, line))
        else:
            _wrong(number, line, "not under a label or type")
    if owner:
        parts.owner(part, owner, tuple(properties))
    return parts.schema()


def parse_flat(text: str, data: object) -> Schema:
    """Read the flat text; raises ``InputError`` naming the line it cannot read."""
    parts = _Parts()
    part = ""
    for number, line, heading in _lines(text):
        stripped = line.strip()
        if heading:
            part = _enter(parts, heading)
        elif part == "arrows":
            parts.relationships(number, stripped)
        elif stripped.startswith(("[", "{")):
            rows = _literal(stripped, number)
            for row in rows if isinstance(rows, list) else [rows]:
                name = row.get("labels", row.get("type"))
                name = name[0] if isinstance(name, list) and name else name
                found = tuple(from_row(item) for item in row.get("properties") or ())
                parts.owner(part, str(name), found)
        else:
            for name, found in _owners(number, stripped):
                parts.owner(part, name, found)
    return parts.schema()


def _enter(parts: _Parts, heading: re.Match[str]) -> str:
    if "(sampled" in heading[0].lower():
        parts.sampled = True
        parts.sample_size = int(heading["sample"]) if heading["sample"] else None
    name = heading["part"].lower()
    return "arrows" if "properties" not in name else name.split()[0]


def _lines(text: str) -> Iterator[tuple[int, str, re.Match[str] | None]]:
    """Yield number, line and heading of the lines that are not blank; CR ends are dropped."""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if line.strip():
            yield number, line, _PART.match(line)


def _property(number: int, line: str) -> Property:
    """Read ``- `name`: TYPE note`` or ``- `name: TYPE` note``."""
    body = re.sub(r"^\s*[-*]\s+", "", line)
    quoted = _QUOTED.match(body)
    if quoted:
        rest = body[quoted.end() :]
        if rest.startswith(":"):
            name, kind_and_note = unquote(quoted[0]), rest[1:]
        else:
            name, colon, kind = quoted[1].rpartition(":")
            if not colon:
                _wrong(number, line, "a property without a type")
            name, kind_and_note = name.strip(), f"{kind} {rest}"
    else:
        name, colon, kind_and_note = body.partition(":")
        name = name.strip()
        if not colon:
            _wrong(number, line, "a property without a type")
    kind, note = _split_type(kind_and_note)
    return with_note(Property(name, type_name(kind)), note)


_TYPE = re.compile(
    r"\s*((?:[\w\s|<>,\[\]()]*?))\s*(?=(?:Example:|Available options:|Min:|Min Size:)|$)"
)


def _split_type(text: str) -> tuple[str, str]:
    match = _TYPE.match(text)
    if match is None or not match[1].strip():
        word, _, note = text.strip().partition(" ")
        return word or "UNKNOWN", note
    return match[1], text[match.end() :]


def _owners(number: int, line: str) -> Iterator[tuple[str, tuple[Property, ...]]]:
    """Read ``A {p: STRING},B {}`` or several on lines of their own."""
    scanner = Scanner(re.sub(r"^[-*]\s+", "", line))
    while not scanner.done():
        combined = COMBINATION.match(scanner.text, scanner.at)
        if combined:
            scanner.at = combined.end()
            yield combined[0], scanner.properties() or ()
        else:
            found = read_owner(scanner)
            if found is None:
                _wrong(number, line, "not a label or type with its properties")
            yield found
        scanner.maybe(",")


def _literal(text: str, number: int) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        _wrong(number, text, "not readable")


def _wrong(number: int, line: str, what: str) -> NoReturn:
    raise InputError(f"{what}: {line.strip()[:80]!r}", where=f"line {number}")


def render_markdown(schema: Schema) -> str:
    """Return the markdown text, with examples, ranges and all values where they are known."""
    lines = [f"Node properties{_sampled(schema)}:"]
    for label in schema.labels.values():
        lines += _entry(line_name(label.name), label.properties)
    lines += [f"- **{_combined(item)}**" for item in schema.co_labels]
    lines.append("Relationship properties:")
    for rel in schema.types.values():
        if rel.properties or not schema.patterns_of(rel.name):
            lines += _entry(line_name(rel.name), rel.properties)
    lines.append("The relationships:")
    lines += [arrow_text(schema, pattern, properties=False) for pattern in schema.patterns]
    return "\n".join(lines)


def render_flat(schema: Schema) -> str:
    """Return the flat text: names and types only."""
    lines = [f"Node properties{_sampled(schema)}:"]
    for label in schema.labels.values():
        lines.append(f"{line_name(label.name)} {map_text(label.properties).strip() or '{}'}")
    lines += [f"{_combined(item)} {{}}" for item in schema.co_labels]
    lines.append("Relationship properties:")
    for rel in schema.types.values():
        if rel.properties or not schema.patterns_of(rel.name):
            lines.append(f"{line_name(rel.name)} {map_text(rel.properties).strip() or '{}'}")
    lines.append("The relationships:")
    lines += [arrow_text(schema, pattern, properties=False) for pattern in schema.patterns]
    return "\n".join(lines)


def _sampled(schema: Schema) -> str:
    if not schema.sampled:
        return ""
    return f" (sampled {schema.sample_size})" if schema.sample_size else " (sampled)"


def _combined(item: LabelSet) -> str:
    return "".join(":" + _ticked(name) for name in item.labels)


def _ticked(name: str) -> str:
    text = line_name(name)
    return text if text.startswith("`") else f"`{text}`"


def _entry(name: str, properties: tuple[Property, ...]) -> Iterator[str]:
    yield f"- **{name}**"
    for item in properties:
        yield f"  - {_ticked(item.name)}: {item.type} {value_note(item)}".rstrip()
