"""Conditions as subject, operator and value: how alike two are, and how their values differ."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from rapidfuzz import fuzz

from cypherforge.diagnosis.expressions import Form, has_aggregate
from cypherforge.diagnosis.summary import Condition

_SPELLED_ALIKE = 85.0
_ALIKE = 60.0
_LITERALS = ("StringLiteral", "number", "BooleanLiteral", "NullLiteral")
_COMPARISONS = ("=", "<>", "<", "<=", "IN", "CONTAINS", "STARTS WITH", "ENDS WITH", "=~")
_TURNED = {"<": ">", "<=": ">="}
_TEMPORAL = frozenset(
    "date datetime localdatetime time localtime duration tofloat tointeger tostring".split()
)


@dataclass(frozen=True, slots=True)
class Atom:
    """A condition as ``subject op value``; ``wrappers`` are the functions around the subject."""

    owner: Form | None
    key: str | None
    wrappers: tuple[str, ...]
    op: str
    value: Form | None
    negated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """One condition with its canonical form, and its parts where it has them."""

    condition: Condition
    form: Form
    atom: Atom | None


def atom_of(form: Form, maps: bool = True) -> Atom | None:
    """Return the parts of a condition's form; None where it is no comparison.

    ``maps``: a map is a value to compare with, as a string or a number is.
    """
    head = form[0]
    if head == "not":
        inside = atom_of(form[1], maps)
        if inside is None:
            return None
        return Atom(
            inside.owner, inside.key, inside.wrappers, inside.op, inside.value, not inside.negated
        )
    if head == "isnull":
        owner, key, wrappers = _subject(form[1])
        return Atom(owner, key, wrappers, "IS NOT NULL" if form[2] else "IS NULL", None)
    if head == "label":
        return Atom(form[1], None, (), "label", ("labels", form[2]), form[3])
    if head not in _COMPARISONS:
        return None
    left, right = form[1], form[2]
    op = head
    if _is_value(left, maps) and not _is_value(right, maps):
        left, right = right, left
        op = _TURNED.get(op, op)
    owner, key, wrappers = _subject(left)
    return Atom(owner, key, wrappers, op, right)


def _subject(form: Form) -> tuple[Form | None, str | None, tuple[str, ...]]:
    wrappers: list[str] = []
    while form[0] == "call" and form[2]:
        wrappers.append(form[1])
        form = form[2][0]
    if form[0] == "property":
        owner, key = form[1], form[2]
        # A component of a value, as in n.date.year: the property inside counts.
        while owner[0] == "property":
            wrappers.append(key)
            owner, key = owner[1], owner[2]
        return owner, key, tuple(wrappers)
    if form[0] == "aggregate":
        return ("aggregate", *form[1:2], *form[3:]), None, tuple(wrappers)
    return form, None, tuple(wrappers)


def _is_value(form: Form, maps: bool = True) -> bool:
    if form[0] in (*_LITERALS, "list", "Parameter") or (maps and form[0] == "MapLiteral"):
        return True
    return form[0] == "call" and (not form[2] or all(_is_value(arg) for arg in form[2]))


def _plain(form: Form | None) -> Any:
    """The Python value inside a literal, or inside the call that makes a date of it."""
    if form is None:
        return None
    if form[0] in _LITERALS:
        return form[1]
    if form[0] == "call" and len(form[2]) == 1 and form[2][0][0] in _LITERALS:
        return form[2][0][1]
    if form[0] == "list":
        return tuple(_plain(item) for item in form[1])
    return None


def kind_of(form: Form | None) -> str | None:
    """Return what kind of value a form is (a string, a number, a date ...)."""
    if form is None:
        return None
    if form[0] == "call" and form[1] in _TEMPORAL:
        return str(form[1])
    if form[0] == "list":
        kinds = {kind_of(item) for item in form[1]}
        return kinds.pop() if len(kinds) == 1 else "other"
    names = {
        "StringLiteral": "string",
        "number": "number",
        "BooleanLiteral": "boolean",
        "MapLiteral": "map",
    }
    return names.get(form[0], "other")


def likeness(mine: Item, theirs: Item) -> float:
    """Return how much two conditions speak of the same thing; 0: not at all."""
    a, b = mine.atom, theirs.atom
    if about_pattern(mine.form) or about_pattern(theirs.form):
        return 0.0
    if has_aggregate(mine.form) != has_aggregate(theirs.form):
        return 0.0
    if a is None or b is None:
        return _shared(mine.form, theirs.form)
    score = 0.0
    if a.owner == b.owner and a.key == b.key:
        score += 5.0
    elif a.owner == b.owner or a.key == b.key:
        score += 2.0
    if a.value is not None and b.value is not None:
        x, y = _plain(a.value), _plain(b.value)
        if a.value == b.value or (x is not None and x == y):
            score += 3.0
        elif isinstance(x, str) and isinstance(y, str) and _near(x, y) >= _ALIKE:
            score += 2.0
    return score + (a.op == b.op)


def same_literal(a: Atom, b: Atom) -> bool:
    """Return whether two conditions compare something with one string or number, case aside."""
    x, y = _plain(a.value), _plain(b.value)
    if isinstance(x, str) and isinstance(y, str):
        return bool(x) and x.casefold() == y.casefold()
    numbers = [v for v in (x, y) if isinstance(v, int | float) and not isinstance(v, bool)]
    return len(numbers) == 2 and x == y


def _shared(a: Form, b: Form) -> float:
    """Compound conditions are paired by the properties they both speak of."""
    mine, theirs = _properties(a), _properties(b)
    if not mine or not theirs:
        return 0.0
    return 6.0 * len(mine & theirs) / len(mine | theirs)


def _properties(form: Any) -> frozenset[str]:
    if not isinstance(form, tuple):
        return frozenset()
    found = {repr(form)} if form[:1] == ("property",) else set()
    for part in form:
        found |= _properties(part)
    return frozenset(found)


def about_pattern(form: Form) -> bool:
    """Return whether a condition tests that a pattern exists."""
    inside = form[1] if form[0] == "not" else form
    return isinstance(inside, tuple) and inside[:1] in (("exists",), ("count",))


def walked_types(form: Any) -> frozenset[str]:
    """The relationship types of the patterns inside a form."""
    if not isinstance(form, tuple):
        return frozenset()
    if form[:1] in (("arrow",), ("both",)) and len(form) == 5:
        return frozenset(form[2])
    return frozenset().union(*(walked_types(part) for part in form))


def _near(a: str, b: str) -> float:
    return float(fuzz.ratio(_folded(a), _folded(b)))


def _folded(text: str) -> str:
    """Letters and digits only, without case and accents."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in plain if c.isalnum())


def value_code(a: Atom, b: Atom) -> tuple[str, str]:
    """Return code and reason for two conditions whose values differ."""
    x, y = _plain(a.value), _plain(b.value)
    if isinstance(x, tuple) and isinstance(y, tuple):
        odd = [item for item in x if item not in y], [item for item in y if item not in x]
        if len(odd[0]) == len(odd[1]) == 1:
            x, y = odd[0][0], odd[1][0]
        else:
            return "filter.operator", "the list holds other values than the gold's"
    if isinstance(x, str) and isinstance(y, str):
        if any(c.isdigit() for c in y) and not any(c.isalpha() for c in y):
            same = _digits(x) == _digits(y)
            if same:
                return "filter.literal_type", f"{x!r} is not the format of {y!r}"
            return "filter.operator", f"{x!r} where the gold has {y!r}"
        mine, theirs = _folded(x), _folded(y)
        if mine == theirs or (_near(x, y) >= _SPELLED_ALIKE and not _inside(mine, theirs)):
            return "entity.literal", f"{x!r} is stored as {y!r}"
        return "entity.alias", f"{x!r} stands for {y!r}"
    if a.value == b.value:
        return "filter.operator", "the condition is put differently than the gold's"
    return "filter.operator", "the boundary is another than the gold's"


def _inside(a: str, b: str) -> bool:
    """Whether one is a proper part of the other by more than a plural's letter."""
    return (a in b or b in a) and abs(len(a) - len(b)) > 2


def _digits(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", text)]
