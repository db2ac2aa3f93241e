"""Differences of the conditions: literals, properties, operators, nulls, what is missing."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from rapidfuzz import fuzz

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Entity
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name
from cypherforge.diagnosis import surgery
from cypherforge.diagnosis.align import Alignment
from cypherforge.diagnosis.difference import Difference, difference
from cypherforge.diagnosis.expressions import Canonical, Form, has_aggregate
from cypherforge.diagnosis.render import CannotRender, Renderer
from cypherforge.diagnosis.summary import Condition, Summary
from cypherforge.graph.schema import Schema

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
class _Item:
    condition: Condition
    form: Form
    atom: Atom | None


class ConditionFaults:
    """Finds them for one aligned pair; ``settled`` are conditions that other faults deal with."""

    def __init__(
        self,
        alignment: Alignment,
        renderer: Renderer,
        schema: Schema | None,
        started: set[int],
        settled: set[int],
    ) -> None:
        self.found = alignment
        self.draft, self.gold = alignment.draft, alignment.gold
        self.renderer = renderer
        self.schema = schema
        self.started = started
        mine, theirs = alignment.forms()
        self._mine = _items(self.draft, mine, settled)
        self._theirs = _items(self.gold, theirs, settled)

    def all(self) -> list[Difference]:
        """Return every difference of the conditions."""
        _remove_equal(self._mine, self._theirs)
        pairs = self._pairs()
        result = []
        for mine, theirs in pairs:
            code, reason = self._code(mine, theirs)
            result.append(self._make(code, reason, mine, theirs))
        paired_mine = {id(m) for m, _ in pairs}
        paired_theirs = {id(t) for _, t in pairs}
        for item in self._mine:
            if id(item) not in paired_mine:
                result.append(self._own(item))
        for item in self._theirs:
            if id(item) not in paired_theirs:
                result.append(self._asked(item))
        return result

    def _make(self, code: str, reason: str, mine: _Item, theirs: _Item) -> Difference:
        return difference(
            code,
            [mine.condition.node.span],
            reason,
            self.renderer,
            lambda: self._replace(mine, theirs),
        )

    # ------------------------------------------------------------ pairing

    def _pairs(self) -> list[tuple[_Item, _Item]]:
        scored = sorted(
            (
                (-_score(m, t), i, j)
                for i, m in enumerate(self._mine)
                for j, t in enumerate(self._theirs)
            ),
        )
        used_mine: set[int] = set()
        used_theirs: set[int] = set()
        pairs = []
        for score, i, j in scored:
            if score > -4 or i in used_mine or j in used_theirs:
                continue
            used_mine.add(i)
            used_theirs.add(j)
            pairs.append((self._mine[i], self._theirs[j]))
        return pairs

    def _code(self, mine: _Item, theirs: _Item) -> tuple[str, str]:
        a, b = mine.atom, theirs.atom
        if a is None or b is None:
            return "filter.operator", "the condition is put differently than the gold's"
        if a.owner != b.owner or a.key != b.key:
            return self._elsewhere(mine, a, b)
        nulls = ("IS NULL", "IS NOT NULL")
        if (
            a.op in nulls
            or b.op in nulls
            or a.negated != b.negated
            or (a.value is not None and a.value[0] == "NullLiteral")
        ):
            return "filter.null", "null or negation is handled in another way"
        kinds = _kind(a.value), _kind(b.value)
        if kinds[0] != kinds[1] and None not in kinds and "other" not in kinds:
            return "filter.literal_type", f"a {kinds[0]} where the gold compares a {kinds[1]}"
        if a.op == b.op and a.wrappers == b.wrappers:
            return _value_code(a, b)
        if a.op == b.op:
            if {"tolower", "toupper"} & set(a.wrappers) ^ set(b.wrappers):
                return "entity.literal", "upper and lower case are treated differently"
            return "filter.operator", "the compared value is derived differently"
        return "filter.operator", f"{a.op} where the gold has {b.op}"

    def _elsewhere(self, mine: _Item, a: Atom, b: Atom) -> tuple[str, str]:
        if a.owner == b.owner:
            if a.key is not None and self._undeclared(mine.condition, a.key):
                return "schema.property", f"no property {a.key}; the gold compares {b.key}"
            return "entity.property", f"compared with {a.key}, the gold with {b.key}"
        if a.key is not None and self._undeclared(mine.condition, a.key):
            return "schema.property", f"the node has no property {a.key}"
        return "entity.label", "the value is looked for on another node than the gold's"

    def _undeclared(self, condition: Condition, key: str) -> bool:
        """Whether the schema says that what the condition is about has no such property."""
        entity = condition.owner
        if entity is None:
            for node in condition.value.walk():
                if isinstance(node, ast.PropertyAccess) and node.key.name == key:
                    entity = self.draft.bindings.of(node.subject)
                    break
        return undeclared(self.schema, entity, key)

    # ------------------------------------------------------------ unpaired

    def _own(self, item: _Item) -> Difference:
        condition = item.condition
        code, reason = "filter.missing", "a condition of the draft's own"
        keys = [n.key.name for n in condition.value.walk() if isinstance(n, ast.PropertyAccess)]
        if isinstance(condition.node, ast.MapEntry):
            keys.append(condition.node.key.name)
        unknown = [key for key in keys if self._undeclared(condition, key)]
        if unknown:
            code, reason = "schema.property", f"no property {unknown[0]}"
        elif _about_pattern(item.form):
            code, reason = "pattern.extra_hop", "the gold asks for no such pattern"
        elif item.atom is not None and item.atom.op in ("IS NULL", "IS NOT NULL"):
            code, reason = "filter.null", "the gold does not test for null"
        return difference(
            code,
            [condition.node.span],
            reason,
            self.renderer,
            lambda: surgery.drop_condition(self.draft, condition),
            _walked(item.form) if code == "pattern.extra_hop" else frozenset(),
        )

    def _asked(self, item: _Item) -> Difference:
        code, reason = "filter.missing", f"the gold also asks {self._shown(item.condition)}"
        if _about_pattern(item.form):
            code = "pattern.missing_hop"
        elif item.atom is not None and item.atom.op in ("IS NULL", "IS NOT NULL"):
            code, reason = "filter.null", f"the gold also tests {self._shown(item.condition)}"
        elif item.atom is not None and item.atom.op == "label":
            code = "filter.missing"
        return difference(
            code,
            [],
            reason,
            self.renderer,
            lambda: self._add(item),
            _walked(item.form) if code == "pattern.missing_hop" else frozenset(),
        )

    def _shown(self, condition: Condition) -> str:
        text = " ".join(self.gold.text[slice(*condition.node.span)].split())
        return text if len(text) <= 80 else f"{text[:77]}..."

    # ------------------------------------------------------------ edits

    def _text(self, condition: Condition) -> str:
        """A gold condition as an expression in the draft's names."""
        if isinstance(condition.node, ast.MapEntry):
            assert condition.owner is not None
            name = quote_name(self.renderer.name(condition.owner))
            key = quote_name(condition.node.key.name)
            return f"{name}.{key} = {self.renderer.render(condition.node.value)}"
        text = self.renderer.render(condition.node)
        loose = isinstance(condition.node, ast.Binary) and condition.node.op in ("OR", "XOR")
        return f"({text})" if loose else text

    def _replace(self, mine: _Item, theirs: _Item) -> list[Edit]:
        own, wanted = mine.condition, theirs.condition
        a, b = mine.atom, theirs.atom
        if isinstance(own.node, ast.MapEntry):
            simple = b is not None and b.op == "=" and not b.wrappers and not b.negated
            same_owner = a is not None and b is not None and a.owner == b.owner
            value = _value_node(wanted)
            if simple and same_owner and value is not None and b is not None and b.key:
                edits = []
                if own.node.key.name != b.key:
                    edits.append(Edit(*own.node.key.span, quote_name(b.key)))
                text = self.renderer.render(value)
                if text != self.draft.text[slice(*own.node.value.span)]:
                    edits.append(Edit(*own.node.value.span, text))
                return edits
            return [*surgery.drop_condition(self.draft, own), *self._add(theirs, own.clause)]
        return [Edit(*own.node.span, self._text(wanted))]

    def _add(self, item: _Item, clause: ast.Clause | None = None) -> list[Edit]:
        condition = item.condition
        text = self._text(condition)
        if has_aggregate(item.form) or not isinstance(condition.clause, ast.Match):
            return self._add_behind(item, text)
        home = clause if isinstance(clause, ast.Match) else self._home(condition)
        return surgery.add_condition(home, text, self.started)

    def _add_behind(self, item: _Item, text: str) -> list[Edit]:
        """Put a condition behind the WITH that computes what it compares."""
        needed = set(re.findall(r"\w+", text))
        for projection in self.draft.projections:
            if not isinstance(projection, ast.With):
                continue
            names = {i.column for i in projection.items}
            if not names & needed:
                continue
            if projection.where is not None:
                end = projection.where.span[1]
                return [Edit(end, end, f" AND {text}")]
            word = "AND" if id(projection) in self.started else "WHERE"
            self.started.add(id(projection))
            return [Edit(projection.span[1], projection.span[1], f" {word} {text}")]
        if has_aggregate(item.form):
            raise CannotRender("the draft has no WITH to put the condition behind")
        return surgery.add_condition(self._home(item.condition), text, self.started)

    def _home(self, condition: Condition) -> ast.Match:
        """The MATCH of the draft by which all that the condition speaks of is bound."""
        wanted: set[int] = set()
        entities: list[Entity | None] = [condition.owner]
        for node in condition.value.walk():
            if isinstance(node, ast.Variable):
                entities.append(self.gold.bindings.of(node))
        for entity in entities:
            partner = self.found.draft_of.get(id(entity)) if entity is not None else None
            if partner is not None:
                wanted.add(id(partner))
        home: ast.Match | None = None
        for match in self.draft.matches:
            here = _declared_in(self.draft, match)
            if here & wanted:
                home = match
            wanted -= here
        if home is None:
            if not self.draft.matches:
                raise CannotRender("the draft has no MATCH")
            home = self.draft.matches[-1]
        return home


def undeclared(schema: Schema | None, entity: Entity | None, key: str) -> bool:
    """Return whether the schema is sure that an entity has no property of that name."""
    if schema is None or entity is None or schema.sampled:
        return False
    if entity.kind == "relationship":
        names = [name for name in entity.names if name in schema.types]
        if entity.names and len(names) < len(entity.names):
            return False
        owners = names or list(schema.types)
        return not any(schema.type_property_of(name, key) for name in owners)
    if entity.kind != "node":
        return False
    if any(name not in schema.labels for name in entity.names):
        return False
    owners = sorted(entity.names) or list(schema.labels)
    if any(schema.property_of(name, key) for name in owners):
        return False
    return not any(
        schema.property_of(other, key)
        for item in schema.co_labels
        if set(item.labels) & set(owners)
        for other in item.labels
    )


def _declared_in(summary: Summary, match: ast.Match) -> set[int]:
    found = set()
    for part in match.patterns:
        for node in part.walk():
            if isinstance(node, ast.NodePattern | ast.RelationshipPattern):
                found.add(id(summary.bindings.of(node)))
    return found


def _items(summary: Summary, canonical: Canonical, settled: set[int]) -> list[_Item]:
    items = []
    for condition in summary.conditions:
        if id(condition) in settled:
            continue
        if isinstance(condition.node, ast.MapEntry):
            assert condition.owner is not None
            owner = canonical.leaf(condition.owner)
            subject = ("property", owner, condition.node.key.name)
            form = ("=", *sorted((subject, canonical.form(condition.node.value)), key=repr))
        else:
            form = canonical.form(condition.node)
        items.append(_Item(condition, form, _atom(form)))
    return items


def _remove_equal(mine: list[_Item], theirs: list[_Item]) -> None:
    """Take away what both sides say; a condition said twice counts once."""
    for side in (mine, theirs):
        seen: set[str] = set()
        for item in list(side):
            key = repr(item.form)
            if key in seen:
                side.remove(item)
            seen.add(key)
    _remove_chains(mine, theirs)
    _remove_chains(theirs, mine)
    common = {repr(m.form) for m in mine} & {repr(t.form) for t in theirs}
    mine[:] = [item for item in mine if repr(item.form) not in common]
    theirs[:] = [item for item in theirs if repr(item.form) not in common]


def _remove_chains(mine: list[_Item], theirs: list[_Item]) -> None:
    """``a < b < c`` says what two conditions of the other side say."""
    for item in list(mine):
        if item.form[0] != "AND":
            continue
        parts = {repr(part) for part in item.form[1]}
        twins = [other for other in theirs if repr(other.form) in parts]
        if len({repr(twin.form) for twin in twins}) == len(parts):
            mine.remove(item)
            for twin in twins:
                theirs.remove(twin)


def _atom(form: Form) -> Atom | None:
    head = form[0]
    if head == "not":
        inside = _atom(form[1])
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
    if _is_value(left) and not _is_value(right):
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


def _is_value(form: Form) -> bool:
    if form[0] in (*_LITERALS, "list", "Parameter"):
        return True
    return form[0] == "call" and (
        not form[2] or all(_is_value(arg) or arg[0] == "MapLiteral" for arg in form[2])
    )


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


def _kind(form: Form | None) -> str | None:
    if form is None:
        return None
    if form[0] == "call" and form[1] in _TEMPORAL:
        return str(form[1])
    if form[0] == "list":
        kinds = {_kind(item) for item in form[1]}
        return kinds.pop() if len(kinds) == 1 else "other"
    names = {"StringLiteral": "string", "number": "number", "BooleanLiteral": "boolean"}
    return names.get(form[0], "other")


def _score(mine: _Item, theirs: _Item) -> float:
    a, b = mine.atom, theirs.atom
    if _about_pattern(mine.form) or _about_pattern(theirs.form):
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


def _about_pattern(form: Form) -> bool:
    inside = form[1] if form[0] == "not" else form
    return isinstance(inside, tuple) and inside[:1] in (("exists",), ("count",))


def _walked(form: Any) -> frozenset[str]:
    """The relationship types of the patterns inside a form."""
    if not isinstance(form, tuple):
        return frozenset()
    if form[:1] in (("arrow",), ("both",)) and len(form) == 5:
        return frozenset(form[2])
    return frozenset().union(*(_walked(part) for part in form))


def _near(a: str, b: str) -> float:
    return float(fuzz.ratio(_folded(a), _folded(b)))


def _folded(text: str) -> str:
    """Letters and digits only, without case and accents."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in plain if c.isalnum())


def _value_code(a: Atom, b: Atom) -> tuple[str, str]:
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


def _value_node(condition: Condition) -> ast.Expression | None:
    node = condition.node
    if isinstance(node, ast.MapEntry):
        return node.value
    if isinstance(node, ast.Binary) and node.op == "=":
        if isinstance(node.left, ast.PropertyAccess):
            return node.right
        if isinstance(node.right, ast.PropertyAccess):
            return node.left
    return None
