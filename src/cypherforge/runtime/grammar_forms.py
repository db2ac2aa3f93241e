"""A context-free grammar as data, written out as GBNF (llama.cpp) or as Lark.

Both notations say the same: literal text, one character of a class, a reference to a rule, a
sequence, alternatives, a repetition. White space is text like any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Text:
    """Literal text; the empty one is the empty sequence."""

    text: str


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a class, written as inside the brackets of a regular expression.

    Both notations read ``^``, ranges, and the escapes ``\\n``, ``\\t`` and ``\\\\``.
    """

    members: str


@dataclass(frozen=True, slots=True)
class Ref:
    """A rule, by its name: lower-case letters and digits, words joined by ``_``."""

    name: str


@dataclass(frozen=True, slots=True)
class Seq:
    """Forms one after the other."""

    parts: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Alt:
    """One of several forms, at least one of them."""

    options: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Rep:
    """A form ``least`` to ``most`` times; ``most`` None: as often as may be."""

    part: Form
    least: int
    most: int | None


Form = Text | Chars | Ref | Seq | Alt | Rep
Loose = Form | str


def form(loose: Loose) -> Form:
    """A form; a plain string is literal text."""
    return Text(loose) if isinstance(loose, str) else loose


def seq(*parts: Loose) -> Form:
    """Forms one after the other."""
    return form(parts[0]) if len(parts) == 1 else Seq(tuple(map(form, parts)))


def alt(*options: Loose) -> Form:
    """One of these, each kept once, in the order given."""
    kept = tuple(dict.fromkeys(map(form, options)))
    if not kept:
        raise ValueError("a choice of nothing")
    return kept[0] if len(kept) == 1 else Alt(kept)


def words(texts: Iterable[str]) -> Form:
    """One of these texts."""
    return alt(*texts)


def factored(made: Form) -> Form:
    """The same language with what alternatives begin with written once.

    A decoder follows every alternative that still fits; those that begin alike are one until they
    differ. Alternatives inside alternatives are drawn up; the order of first appearance stays.
    """
    if isinstance(made, Seq):
        return Seq(tuple(map(factored, made.parts)))
    if isinstance(made, Rep):
        return Rep(factored(made.part), made.least, made.most)
    if not isinstance(made, Alt):
        return made
    return _tree([_atoms(option) for option in _options(made)])


def _options(made: Form) -> Iterable[Form]:
    if isinstance(made, Alt):
        for option in made.options:
            yield from _options(option)
    else:
        yield made


def _atoms(made: Form) -> tuple[Form, ...]:
    """A sequence cut into single characters and other forms."""
    if isinstance(made, Text):
        return tuple(map(Text, made.text))
    if isinstance(made, Seq):
        return tuple(atom for part in made.parts for atom in _atoms(part))
    return (factored(made),)


def _tree(sequences: list[tuple[Form, ...]]) -> Form:
    heads: dict[Form, list[tuple[Form, ...]]] = {}
    for sequence in dict.fromkeys(sequences):
        if sequence:
            heads.setdefault(sequence[0], []).append(sequence[1:])
    options: list[Form] = []
    for head, rests in heads.items():
        rest = _tree(rests)
        if isinstance(head, Text) and isinstance(rest, Text):
            options.append(Text(head.text + rest.text))
        elif isinstance(head, Text) and isinstance(rest, Seq) and isinstance(rest.parts[0], Text):
            options.append(Seq((Text(head.text + rest.parts[0].text), *rest.parts[1:])))
        elif rest == Text(""):
            options.append(head)
        else:
            options.append(Seq((head, *(rest.parts if isinstance(rest, Seq) else (rest,)))))
    if not options:
        return Text("")
    joined = options[0] if len(options) == 1 else Alt(tuple(options))
    # The empty sequence among others: all of them may be left out.
    return Rep(joined, 0, 1) if () in sequences else joined


def maybe(*parts: Loose) -> Form:
    """A sequence, or nothing."""
    return Rep(seq(*parts), 0, 1)


def repeat(part: Loose, least: int = 0, most: int | None = None) -> Form:
    """A form several times."""
    return Rep(form(part), least, most)


def separated(part: Loose, separator: Loose, most: int) -> Form:
    """One to ``most`` times a form, with separators."""
    return seq(part, Rep(seq(separator, part), 0, most - 1))


@dataclass(slots=True)
class Grammar:
    """Rules by name; ``root`` is where a text starts."""

    rules: dict[str, Form] = field(default_factory=dict)
    root: str = "root"

    def add(self, name: str, *parts: Loose) -> Ref:
        """Define a rule. Raises ValueError for a name that is taken by another form."""
        made = seq(*parts)
        if self.rules.setdefault(name, made) != made:
            raise ValueError(f"the rule {name} is defined twice")
        return Ref(name)

    def used(self) -> dict[str, Form]:
        """The rules that the root reaches, root first. Raises ValueError if one is missing."""
        order: dict[str, Form] = {}
        stack = [self.root]
        while stack:
            name = stack.pop()
            if name in order:
                continue
            if name not in self.rules:
                raise ValueError(f"no rule {name}")
            order[name] = self.rules[name]
            stack.extend(reversed(list(_references(order[name]))))
        return order

    def gbnf(self) -> str:
        """The grammar for llama.cpp; rule names get hyphens, for it knows no underscore."""
        lines = [f"root ::= {_gbnf(Ref(self.root))}"] if self.root != "root" else []
        lines += [f"{_hyphens(name)} ::= {_gbnf(factored(f))}" for name, f in self.used().items()]
        return "\n".join(lines) + "\n"

    def lark(self) -> str:
        """The grammar for Lark, with ``start`` as its start rule."""
        writer = _LarkWriter()
        lines = [f"{name}: {writer.write(f)}" for name, f in self.used().items()]
        lines += [f"{name}: {text}" for text, name in writer.parts.items()]
        return "\n".join([f"start: {self.root}", *lines]) + "\n"


def _references(made: Form) -> Iterable[str]:
    if isinstance(made, Ref):
        yield made.name
    elif isinstance(made, Seq):
        for part in made.parts:
            yield from _references(part)
    elif isinstance(made, Alt):
        for part in made.options:
            yield from _references(part)
    elif isinstance(made, Rep):
        yield from _references(made.part)


def _hyphens(name: str) -> str:
    return name.replace("_", "-")


def _grouped(text: str, made: Form) -> str:
    return f"({text})" if isinstance(made, Seq | Alt | Rep) else text


def _gbnf(made: Form) -> str:
    if isinstance(made, Text):
        # Non-ASCII stays as it is: llama.cpp reads the grammar as UTF-8.
        return json.dumps(made.text, ensure_ascii=False)
    if isinstance(made, Chars):
        return f"[{made.members}]"
    if isinstance(made, Ref):
        return _hyphens(made.name)
    if isinstance(made, Seq):
        return " ".join(
            _grouped(_gbnf(p), p) if isinstance(p, Alt) else _gbnf(p) for p in made.parts
        )
    if isinstance(made, Alt):
        return " | ".join(_gbnf(p) for p in made.options)
    mark = _MARKS.get((made.least, made.most))
    if mark is None:
        mark = f"{{{made.least},{'' if made.most is None else made.most}}}"
    return _grouped(_gbnf(made.part), made.part) + mark


_MARKS: Mapping[tuple[int, int | None], str] = {(0, 1): "?", (0, None): "*", (1, None): "+"}


class _LarkWriter:
    """Each choice and repetition inside a sequence becomes a rule of its own.

    Lark multiplies a rule out into plain sequences, and a few optional parts in one rule make
    hundreds of them.
    """

    def __init__(self) -> None:
        self.parts: dict[str, str] = {}

    def write(self, made: Form) -> str:
        if isinstance(made, Text):
            return json.dumps(made.text, ensure_ascii=False)
        if isinstance(made, Chars):
            return _pattern(made)
        if isinstance(made, Ref):
            return made.name
        if isinstance(made, Seq):
            return " ".join(map(self.part, made.parts))
        if isinstance(made, Alt):
            return " | ".join(map(self.part, made.options))
        most = "" if made.most is None else made.most
        if isinstance(made.part, Chars) and made.least:
            return f"{_pattern(made.part)[:-1]}{{{made.least},{most}}}/"
        inner = self.symbol(made.part)
        if made.least == 0 and made.most is not None:
            return f" | {inner}" if made.most == 1 else f" | {inner}~1..{most}"
        if made.most is None:
            return f"{inner}*" if made.least == 0 else f"{inner}~{made.least} {inner}*"
        return f"{inner}~{made.least}..{most}"

    def part(self, made: Form) -> str:
        if isinstance(made, Text | Chars | Ref):
            return self.write(made)
        if isinstance(made, Seq) and all(isinstance(p, Text | Chars | Ref) for p in made.parts):
            return self.write(made)
        return self.symbol(made)

    def symbol(self, made: Form) -> str:
        """One symbol, so that a mark of repetition after it means all of the form."""
        text = self.write(made)
        if isinstance(made, Text | Chars | Ref):
            return text
        return self.parts.setdefault(text, f"part{len(self.parts)}")


def _pattern(made: Chars) -> str:
    return f"/[{made.members.replace('/', chr(92) + '/')}]/"
