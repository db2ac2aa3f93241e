"""Bare lines: ``(:A {p: STRING})-[:R {q: INTEGER}]->(:B)``, and the arrows inside other formats.

Our own ``compact`` prompt form is this format under two headings. Names may be back-ticked (a
back-tick inside doubled, ``\\uXXXX`` read as Cypher reads it) or bare, and then may hold spaces,
as packages print ``-[:has part]->`` unquoted. ``(:A:B)`` is a node with both labels, ``(:A|B)``
one with either, ``()`` one without any. A combination of labels on a line of its own says that
the labels occur together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from cypherforge.core.errors import InputError
from cypherforge.cypher.names import quote_name
from cypherforge.graph.formats.common import normal_pairs
from cypherforge.graph.schema import Label, LabelSet, Pattern, Property, RelType, Schema
from cypherforge.graph.type_names import type_name

_QUOTED = re.compile(r"`((?:[^`]|``)*)`")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_HEADING = re.compile(r"\s*(?:#.*|\**[^()\[\]{}]{1,80}:\**\s*)$")
_SAMPLED = re.compile(r"\s*//\s*sampled(?:\s+(\d+))?\b", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*•]\s+|\d+[.)]\s+)")


@dataclass(frozen=True, slots=True)
class Node:
    """A node as written: alternatives, each a set of labels that stand together."""

    labels: tuple[tuple[str, ...], ...] = ()
    properties: tuple[Property, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Every label named; one empty name for ``()``."""
        return tuple(name for group in self.labels for name in group) or ("",)


@dataclass(frozen=True, slots=True)
class Arrow:
    """One arrow, turned so that it points from ``start`` to ``end``."""

    start: Node
    types: tuple[str, ...]
    properties: tuple[Property, ...] | None
    end: Node

    def patterns(self) -> list[Pattern]:
        """Return an endpoint pair for each label of the start, type, and label of the end."""
        names = None if self.properties is None else tuple(p.name for p in self.properties)
        return [
            Pattern(start, rel_type, end, None, names)
            for start in self.start.names
            for rel_type in self.types
            for end in self.end.names
        ]


class _Stop(Exception):
    """The text is not of this form; the position is for the error message."""


class Scanner:
    """A cursor over one line; its readers raise :class:`_Stop` where the text does not fit."""

    def __init__(self, text: str, known: Collection[str] = ()) -> None:
        self.text = text
        self.at = 0
        self.known = known

    def done(self) -> bool:
        """Return whether nothing but blanks is left."""
        self.space()
        return self.at >= len(self.text)

    def space(self) -> None:
        """Pass blanks."""
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1

    def peek(self, token: str) -> bool:
        """Return whether the token comes next."""
        self.space()
        return self.text.startswith(token, self.at)

    def take(self, *tokens: str) -> str:
        """Take one of the tokens."""
        self.space()
        for token in tokens:
            if self.text.startswith(token, self.at):
                self.at += len(token)
                return token
        raise _Stop

    def maybe(self, token: str) -> bool:
        """Take the token if it comes next."""
        if self.peek(token):
            self.at += len(token)
            return True
        return False

    def name(self, stops: str) -> str:
        """Read a back-ticked name, or a bare one up to any of ``stops``."""
        self.space()
        quoted = _QUOTED.match(self.text, self.at)
        if quoted:
            self.at = quoted.end()
            return unquote(quoted[0])
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in stops:
            self.at += 1
        name = self.text[start : self.at].strip()
        if not name or self.at >= len(self.text):
            raise _Stop
        return name

    def whole(self, closers: str) -> str | None:
        """Read a bare name that holds stop characters, if the schema is known to have it."""
        self.space()
        best = ""
        for name in self.known:
            if len(name) > len(best) and self.text.startswith(name, self.at):
                rest = self.text[self.at + len(name) :].lstrip(" ")
                if rest[:1] and rest[0] in closers:
                    best = name
        self.at += len(best)
        return best or None

    def properties(self) -> tuple[Property, ...] | None:
        """Read ``{p: STRING, ...}``; None if there is no brace."""
        if not self.maybe("{"):
            return None
        found: list[Property] = []
        if self.maybe("}"):
            return ()
        while True:
            name = self.name(":")
            self.take(":")
            found.append(Property(name, type_name(self.value())))
            if self.take(",", "}") == "}":
                return tuple(found)

    def value(self) -> str:
        """Read a type, up to a comma or brace outside its own brackets."""
        self.space()
        start, depth = self.at, 0
        while self.at < len(self.text):
            char = self.text[self.at]
            if depth <= 0 and char in ",}":
                break
            depth += (char in "<[(") - (char in ">])")
            self.at += 1
        text = self.text[start : self.at].strip()
        if not text:
            raise _Stop
        return text

    def node(self) -> Node:
        """Read a node in its parentheses."""
        self.take("(")
        if self.peek(":"):
            pass
        else:  # a variable is allowed, and dropped
            self.space()
            variable = re.compile(r"\w*").match(self.text, self.at)
            self.at = variable.end() if variable else self.at
        groups: list[tuple[str, ...]] = []
        if self.maybe(":"):
            groups.append(self.group())
            while self.maybe("|"):
                self.maybe(":")
                groups.append(self.group())
        properties = self.properties() or ()
        self.take(")")
        return Node(tuple(groups), properties)

    def group(self) -> tuple[str, ...]:
        """Read labels that stand together."""
        names = [self.whole("{)|") or self.name(":&|{)")]
        while self.maybe(":") or self.maybe("&"):
            names.append(self.name(":&|{)"))
        return tuple(names)

    def relationship(self) -> tuple[tuple[str, ...], tuple[Property, ...] | None]:
        """Read a relationship in its brackets: types and properties."""
        self.take("[")
        if not self.peek(":"):
            variable = re.compile(r"\w*").match(self.text, self.at)
            self.at = variable.end() if variable else self.at
        self.take(":")
        types = [self.whole("{]|") or self.name("|{]")]
        while self.maybe("|"):
            self.maybe(":")
            types.append(self.name("|{]"))
        properties = self.properties()
        self.take("]")
        return tuple(types), properties


def read_owner(scanner: Scanner) -> tuple[str, tuple[Property, ...]] | None:
    """Read ``Name {p: STRING}`` as far as it goes: the name as written, and its properties."""
    try:
        scanner.space()
        start = scanner.at
        scanner.name("{")
        name = scanner.text[start : scanner.at].strip()
        return name, scanner.properties() or ()
    except _Stop:
        return None


def unquote(text: str) -> str:
    """Return the name that a back-ticked text stands for; other text comes back as it is."""
    if len(text) >= 2 and text[0] == text[-1] == "`":
        text = text[1:-1].replace("``", "`")
        return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    return text


def line_name(name: str) -> str:
    """Return the name as Cypher writes it, on one line: line ends become ``\\u000a``."""
    if _WORD.fullmatch(name):  # a label ``Case`` needs no quotes, though a variable would
        return name
    text = quote_name(name)
    return text.replace("\n", "\\u000a").replace("\r", "\\u000d")


def parse_arrows(text: str, known: Collection[str] = ()) -> list[Arrow | Node] | None:
    """Read one line of comma-joined nodes and arrows; None if it is not such a line.

    A chain ``(:A)-[:R]->(:B)<-[:S]-(:C)`` gives two arrows. ``known`` holds names that a bare
    label or type may be although they hold a colon or another stop.
    """
    scanner = Scanner(text.strip().rstrip(",;"), known)
    found: list[Arrow | Node] = []
    try:
        while True:
            left = scanner.node()
            alone = True
            while scanner.peek("-") or scanner.peek("<-"):
                backwards = scanner.take("<-", "-") == "<-"
                types, properties = scanner.relationship()
                forwards = scanner.take("->", "-") == "->"
                right = scanner.node()
                if backwards:
                    found.append(Arrow(right, types, properties, left))
                if forwards or not backwards:
                    found.append(Arrow(left, types, properties, right))
                left, alone = right, False
            if alone:
                found.append(left)
            scanner.space()
            if scanner.at >= len(scanner.text):
                return found
            scanner.take(",")
    except _Stop:
        return None


def parse_arrow(text: str, known: Collection[str] = ()) -> Arrow | None:
    """Read a line that is exactly one arrow; None if it is not."""
    found = parse_arrows(text, known)
    if found and len(found) == 1 and isinstance(found[0], Arrow):
        return found[0]
    return None


def parse_names(text: str) -> tuple[str, ...]:
    """Read a label combination such as ``:`A`:`B```; the names in the order written."""
    node = parse_arrows(f"({text if text.startswith(':') else ':' + text})")
    return node[0].names if node and isinstance(node[0], Node) else (text,)


def collect(items: Iterable[Arrow | Node]) -> Schema:
    """Build a schema from nodes and arrows."""
    labels: list[Label] = []
    types: list[RelType] = []
    patterns: list[Pattern] = []
    sets: list[LabelSet] = []
    for item in items:
        for node in (item.start, item.end) if isinstance(item, Arrow) else (item,):
            for group in node.labels:
                labels.extend(Label(name, node.properties) for name in group)
                if len(group) > 1:
                    sets.append(LabelSet(group))
        if isinstance(item, Arrow):
            types.extend(RelType(name, item.properties or ()) for name in item.types)
            # Bare lines say all there is: an arrow without a map has no properties.
            patterns.extend(replace(p, properties=p.properties or ()) for p in item.patterns())
    return Schema.build(labels, types, normal_pairs(types, patterns), co_labels=sets)


def matches(text: str, data: object) -> bool:
    """Return whether most lines are nodes or arrows, and there is at least one."""
    lines = [line for line in _lines(text) if not _HEADING.match(line)]
    hits = sum(parse_arrows(line) is not None for line in lines)
    return hits > 0 and hits * 2 > len(lines)


def parse(text: str, data: object) -> Schema:
    """Read bare lines; headings and blank lines are passed over, other lines are an error."""
    items: list[Arrow | Node] = []
    sampled: re.Match[str] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        sampled = sampled or _SAMPLED.match(line)
        stripped = _BULLET.sub("", _comment(line)).strip()
        if not stripped or _HEADING.match(stripped):
            continue
        found = parse_arrows(stripped)
        if found is None:
            raise InputError(
                f"not a node or arrow: {stripped[:80]!r}",
                where=f"line {number}",
                hint="write (:A {p: STRING})-[:R {q: INTEGER}]->(:B), names in back-ticks",
            )
        items.extend(found)
    if sampled is None:
        return collect(items)
    size = int(sampled[1]) if sampled[1] else None
    return replace(collect(items), sampled=True, sample_size=size)


def _lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        stripped = _BULLET.sub("", _comment(line)).strip()
        if stripped:
            yield stripped


def _comment(line: str) -> str:
    return "" if line.lstrip().startswith("//") else line


def node_text(label: Label, names: Iterable[str] | None = None) -> str:
    """Return ``(:A {p: STRING})`` for a label, ``(:A:B)`` for a combination."""
    shown = "".join(f":{line_name(name)}" for name in (names or (label.name,)))
    return f"({shown}{map_text(label.properties)})"


def arrow_text(
    schema: Schema,
    pattern: Pattern,
    *,
    properties: bool = True,
    note: Callable[[Property], str] | None = None,
) -> str:
    """Return ``(:A)-[:R {q: INTEGER}]->(:B)`` for an endpoint pair, with its properties or not."""
    start, end = (
        f"(:{line_name(name)})" if name else "()" for name in (pattern.start, pattern.end)
    )
    inner = map_text(schema.properties_on(pattern), note) if properties else ""
    return f"{start}-[:{line_name(pattern.type)}{inner}]->{end}"


def map_text(properties: Iterable[Property], note: Callable[[Property], str] | None = None) -> str:
    """Return `` {p: STRING, q: INTEGER}`` with a leading space, or nothing if there is none."""
    parts = [
        f"{line_name(item.name)}: {item.type}{note(item) if note else ''}" for item in properties
    ]
    return f" {{{', '.join(parts)}}}" if parts else ""


def render(schema: Schema) -> str:
    """Return bare lines: each label, each label combination, each arrow; sorted, no heading."""
    lines = sampled_note(schema)
    lines += [node_text(label) for label in schema.labels.values()]
    lines += [node_text(Label(""), item.labels) for item in schema.co_labels]
    lines += [arrow_text(schema, pattern) for pattern in schema.patterns]
    lines += [
        f"()-[:{line_name(rel.name)}{map_text(rel.properties)}]->()"
        for rel in schema.types.values()
        if not schema.patterns_of(rel.name)
    ]
    return "\n".join(lines)


def sampled_note(schema: Schema) -> list[str]:
    """Return the comment line that says the schema comes from a sample; none if it does not."""
    if not schema.sampled:
        return []
    size = f" {schema.sample_size} a label or type" if schema.sample_size else ""
    return [f"// sampled{size}: further properties may exist"]
