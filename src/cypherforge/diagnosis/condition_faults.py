"""Differences of the conditions: literals, properties, operators, nulls, what is missing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Entity
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name
from cypherforge.diagnosis import surgery
from cypherforge.diagnosis.align import Alignment
from cypherforge.diagnosis.condition_atoms import (
    Atom,
    Item,
    about_pattern,
    atom_of,
    kind_of,
    likeness,
    same_literal,
    value_code,
    walked_types,
)
from cypherforge.diagnosis.difference import Difference, difference
from cypherforge.diagnosis.expressions import Canonical, Form, has_aggregate
from cypherforge.diagnosis.render import CannotRender, Renderer
from cypherforge.diagnosis.summary import Condition, Summary
from cypherforge.graph.schema import Schema


class ConditionFaults:
    """Finds them for one aligned pair; ``settled`` are conditions that other faults deal with.

    ``gone`` are those of them that the draft loses with nodes that the gold does not have.
    """

    def __init__(
        self,
        alignment: Alignment,
        renderer: Renderer,
        schema: Schema | None,
        started: set[int],
        settled: set[int],
        gone: Sequence[Condition] = (),
    ) -> None:
        self.found = alignment
        self.draft, self.gold = alignment.draft, alignment.gold
        self.renderer = renderer
        self.schema = schema
        self.started = started
        mine, theirs = alignment.forms()
        maps = alignment.edition > 1
        self._mine = _items(self.draft, mine, settled, maps)
        self._theirs = _items(self.gold, theirs, settled, maps)
        self._gone = [_item(condition, mine, maps) for condition in gone]

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
                result.append(self._misplaced(item) or self._asked(item))
        return result

    def _make(self, code: str, reason: str, mine: Item, theirs: Item) -> Difference:
        return difference(
            code,
            [mine.condition.node.span],
            reason,
            self.renderer,
            lambda: self._replace(mine, theirs),
        )

    # ------------------------------------------------------------ pairing

    def _pairs(self) -> list[tuple[Item, Item]]:
        scored = sorted(
            (
                (-likeness(m, t), i, j)
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

    def _code(self, mine: Item, theirs: Item) -> tuple[str, str]:
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
        kinds = kind_of(a.value), kind_of(b.value)
        if kinds[0] != kinds[1] and None not in kinds and "other" not in kinds:
            reason = f"a {kinds[0]} where the gold compares a {kinds[1]}"
            if a.op != b.op and self.found.edition > 1:
                return "filter.operator", f"{a.op} where the gold has {b.op}; {reason}"
            return "filter.literal_type", reason
        if a.op == b.op and a.wrappers == b.wrappers:
            return value_code(a, b)
        if a.op == b.op:
            if {"tolower", "toupper"} & set(a.wrappers) ^ set(b.wrappers):
                return "entity.literal", "upper and lower case are treated differently"
            return "filter.operator", "the compared value is derived differently"
        return "filter.operator", f"{a.op} where the gold has {b.op}"

    def _elsewhere(self, mine: Item, a: Atom, b: Atom) -> tuple[str, str]:
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

    def _own(self, item: Item) -> Difference:
        condition = item.condition
        code, reason = "filter.missing", "a condition of the draft's own"
        keys = [n.key.name for n in condition.value.walk() if isinstance(n, ast.PropertyAccess)]
        if isinstance(condition.node, ast.MapEntry):
            keys.append(condition.node.key.name)
        unknown = [key for key in keys if self._undeclared(condition, key)]
        if unknown:
            code, reason = "schema.property", f"no property {unknown[0]}"
        elif about_pattern(item.form):
            code, reason = "pattern.extra_hop", "the gold asks for no such pattern"
        elif item.atom is not None and item.atom.op in ("IS NULL", "IS NOT NULL"):
            code, reason = "filter.null", "the gold does not test for null"
        return difference(
            code,
            [condition.node.span],
            reason,
            self.renderer,
            lambda: surgery.drop_condition(self.draft, condition),
            walked_types(item.form) if code == "pattern.extra_hop" else frozenset(),
        )

    def _misplaced(self, item: Item) -> Difference | None:
        """A literal of the gold that the draft looks for on a node that the gold does not have."""
        for own in self._gone:
            if own.atom is None or item.atom is None or not same_literal(own.atom, item.atom):
                continue
            self._gone.remove(own)
            code, reason = self._elsewhere(own, own.atom, item.atom)
            return difference(
                code,
                [own.condition.node.span],
                reason,
                self.renderer,
                lambda: self._add(item),
            )
        return None

    def _asked(self, item: Item) -> Difference:
        code, reason = "filter.missing", f"the gold also asks {self._shown(item.condition)}"
        if about_pattern(item.form):
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
            walked_types(item.form) if code == "pattern.missing_hop" else frozenset(),
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

    def _replace(self, mine: Item, theirs: Item) -> list[Edit]:
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

    def _add(self, item: Item, clause: ast.Clause | None = None) -> list[Edit]:
        condition = item.condition
        text = self._text(condition)
        if has_aggregate(item.form) or not isinstance(condition.clause, ast.Match):
            return self._add_behind(item, text)
        home = clause if isinstance(clause, ast.Match) else self._home(condition)
        return surgery.add_condition(home, text, self.started)

    def _add_behind(self, item: Item, text: str) -> list[Edit]:
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


def _items(summary: Summary, canonical: Canonical, settled: set[int], maps: bool) -> list[Item]:
    return [_item(c, canonical, maps) for c in summary.conditions if id(c) not in settled]


def _item(condition: Condition, canonical: Canonical, maps: bool) -> Item:
    form: Form
    if isinstance(condition.node, ast.MapEntry):
        assert condition.owner is not None
        owner = canonical.leaf(condition.owner)
        subject = ("property", owner, condition.node.key.name)
        form = ("=", *sorted((subject, canonical.form(condition.node.value)), key=repr))
    else:
        form = canonical.form(condition.node)
    return Item(condition, form, atom_of(form, maps))


def _remove_equal(mine: list[Item], theirs: list[Item]) -> None:
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


def _remove_chains(mine: list[Item], theirs: list[Item]) -> None:
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
