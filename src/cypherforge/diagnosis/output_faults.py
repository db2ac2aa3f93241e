"""Differences of what comes back: aggregates, grouping, DISTINCT, columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Entity
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.function_kinds import AGGREGATES
from cypherforge.cypher.names import quote_name
from cypherforge.diagnosis import surgery
from cypherforge.diagnosis.align import Alignment
from cypherforge.diagnosis.condition_faults import undeclared
from cypherforge.diagnosis.difference import Difference, difference
from cypherforge.diagnosis.expressions import Canonical, Form, has_aggregate
from cypherforge.diagnosis.model import Edition
from cypherforge.diagnosis.page_faults import PageFaults
from cypherforge.diagnosis.render import Renderer
from cypherforge.diagnosis.summary import Summary
from cypherforge.graph.schema import Schema

# Tells whether the draft's rows equal the gold's once these columns are left out of the draft's and
# of the gold's; None where there are no rows to look at.
ColumnTest = Callable[[list[int], list[int]], bool | None]


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    place: int
    item: ast.ProjectionItem
    form: Form


class OutputFaults:
    """Finds them for one aligned pair. ``only_columns`` is asked with rows at hand."""

    def __init__(
        self,
        alignment: Alignment,
        renderer: Renderer,
        schema: Schema | None,
        only_columns: ColumnTest | None = None,
    ) -> None:
        self.found = alignment
        self.draft, self.gold = alignment.draft, alignment.gold
        self.renderer = renderer
        self.schema = schema
        self.only_columns = only_columns
        self.mine, self.theirs = alignment.forms()

    def all(self) -> list[Difference]:
        """Return every difference of the output."""
        return [*self.columns(), *self.distinct(), *PageFaults(self.found, self.renderer).all()]

    def make(
        self, code: str, nodes: list[ast.Node], reason: str, build: Callable[[], list[Edit] | None]
    ) -> Difference:
        """Make a difference over the spans of draft nodes."""
        return difference(code, [n.span for n in nodes], reason, self.renderer, build)

    # ------------------------------------------------------------ columns

    def columns(self) -> Iterator[Difference]:
        """Yield columns that differ, and keys of aggregates."""
        own, wanted = self.draft.returned, self.gold.returned
        if own is None or wanted is None:
            return
        if own.star != wanted.star:
            yield self.make(
                "return.columns",
                [own],
                "one of the two returns *",
                lambda: self._whole_return(own, wanted),
            )
            return
        mine = [_Column(i, x, self.mine.form(x.expression)) for i, x in enumerate(own.items)]
        theirs = [_Column(i, x, self.theirs.form(x.expression)) for i, x in enumerate(wanted.items)]
        _remove_common(mine, theirs)
        pairs = _paired(mine, theirs, self.found.edition)
        for column, other in pairs:
            mine.remove(column)
            theirs.remove(other)
        for column, other in pairs:
            yield self._pair(own, column, other)
        if mine or theirs:
            yield self._left(own, wanted, mine, theirs)
        elif not pairs:
            yield from self.grouping()

    def _pair(self, own: ast.Return, column: _Column, other: _Column) -> Difference:
        a, b = self._narrow(column.item.expression, other.item.expression)
        code, reason = self._pair_code(a, b, column.form, other.form)
        return self.make(code, [a], reason, lambda: [Edit(*a.span, self.renderer.render(b))])

    def _narrow(
        self, mine: ast.Expression, theirs: ast.Expression
    ) -> tuple[ast.Expression, ast.Expression]:
        """The smallest pair of sub-expressions that makes the difference."""
        mine = _source(self.draft, mine)
        theirs = _source(self.gold, theirs)
        if type(mine) is not type(theirs) or isinstance(mine, ast.PropertyAccess):
            return mine, theirs
        if isinstance(mine, ast.FunctionCall) and isinstance(theirs, ast.FunctionCall):
            if mine.lower_name != theirs.lower_name or mine.distinct != theirs.distinct:
                return mine, theirs
        left = [n for n in mine.children() if isinstance(n, ast.Expression)]
        right = [n for n in theirs.children() if isinstance(n, ast.Expression)]
        if len(left) != len(right) or len(left) != len(list(mine.children())):
            return mine, theirs
        odd = [
            (x, y)
            for x, y in zip(left, right, strict=True)
            if self.mine.form(x) != self.theirs.form(y)
        ]
        if len(odd) != 1:
            return mine, theirs
        inner = self._narrow(*odd[0])
        # What an aggregate counts is the aggregate's fault, unless an inner one or a name is at fault.
        outer = isinstance(mine, ast.FunctionCall) and mine.lower_name in AGGREGATES
        deeper = self.mine.form(inner[0])[0] == "aggregate" or self._unknown_key(inner[0])
        if outer and not deeper:
            return mine, theirs
        return inner

    def _pair_code(
        self, a: ast.Expression, b: ast.Expression, form: Form, other: Form
    ) -> tuple[str, str]:
        x, y = self.mine.form(a), self.theirs.form(b)
        if x[0] == "aggregate" and y[0] == "aggregate":
            return self._aggregate_code(a, x, y)
        unknown = self._unknown_key(a)
        if unknown is not None:
            return "schema.property", f"no property {unknown}"
        if y[0] == "aggregate" and not has_aggregate(x):
            return "aggregation.function", f"the gold has the {y[1]} of it"
        if has_aggregate(x) != has_aggregate(y):
            return "aggregation.function", "one of the two aggregates where the other does not"
        if has_aggregate(form) and (has_aggregate(x) or has_aggregate(y)):
            return "aggregation.function", "the value is computed in another way"
        whole = {"entity", "draft", "gold"}
        if (x[0] in whole) != (y[0] in whole):
            if x[0] in whole:
                return "return.item", "a whole entity where the gold returns a value of it"
            return "return.item", "a value where the gold returns the whole entity"
        return "return.columns", "another column than the gold's"

    def _aggregate_code(self, node: ast.Expression, x: Form, y: Form) -> tuple[str, str]:
        if x[1] != y[1]:
            return "aggregation.function", f"{x[1]} where the gold has {y[1]}"
        if x[3] == y[3] or x[3] == (("*",),) or y[3] == (("*",),):
            if x[2] != y[2]:
                missing = "DISTINCT is missing" if y[2] else "DISTINCT drops what the gold counts"
                if y[2] and self._fans_out(node):
                    return "aggregation.fanout", f"several paths multiply the rows; {missing}"
                return "aggregation.distinct", missing
        unknown = self._unknown_key(node)
        if unknown is not None:
            return "schema.property", f"no property {unknown}"
        if self.found.edition > 1 and len(x[3]) == len(y[3]) == 1:
            if _part_of(y[3][0], x[3][0]):
                return "return.item", f"the whole value where the gold takes its {y[3][0][2]}"
            if _part_of(x[3][0], y[3][0]):
                return "return.item", f"its {x[3][0][2]} where the gold takes the whole value"
        if x[2] != y[2] and y[2] and self._fans_out(node):
            return "aggregation.fanout", "several paths multiply the rows before the aggregate"
        return "aggregation.function", f"{x[1]} of something else than in the gold"

    def _unknown_key(self, node: ast.Node) -> str | None:
        for below in node.walk():
            if isinstance(below, ast.PropertyAccess):
                entity = self.draft.bindings.of(below.subject)
                if undeclared(self.schema, entity, below.key.name):
                    return below.key.name
        return None

    def _fans_out(self, node: ast.Expression) -> bool:
        """Whether hops beside the way from the grouping key to what is counted multiply the rows.

        A loose end that a literal pins down does not. Without a key the far end of a plain chain
        does not either: then one thing is only reached on several ways.
        """
        counted = _entities(self.draft, node)
        keys: set[int] = set()
        for projection in self.draft.projections:
            if _holds(self.draft, projection, node):
                for item in projection.items:
                    if not has_aggregate(self.mine.form(item.expression)):
                        keys |= _entities(self.draft, item.expression)
        pinned: set[int] = set()
        for condition in self.draft.conditions:
            if condition.owner is not None:
                pinned.add(id(condition.owner))
            else:
                pinned |= _entities(self.draft, condition.value)
        degree: Counter[int] = Counter()
        for link in self.draft.links:
            degree[id(link.start)] += 1
            degree[id(link.end)] += 1
        loose = {
            id(end)
            for link in self.draft.links
            for end in (link.start, link.end)
            if id(end) not in counted | keys | pinned
            and degree[id(end)] == 1
            and id(link.relationship) not in counted | keys
        }
        return len(loose) >= (1 if keys else 2)

    def _left(
        self, own: ast.Return, wanted: ast.Return, mine: list[_Column], theirs: list[_Column]
    ) -> Difference:
        nodes: list[ast.Node] = [column.item for column in mine] or [own]
        unknown = [k for column in mine if (k := self._unknown_key(column.item.expression))]
        grouped = self._grouped(own, wanted)
        if unknown:
            code, reason = "schema.property", f"no property {unknown[0]}"
        elif grouped and not self._columns_only(mine, theirs):
            code, reason = "aggregation.grouping", "grouped by other keys than the gold"
        else:
            code = "return.columns"
            extra = ", ".join(column.item.column for column in mine)
            missing = ", ".join(column.item.column for column in theirs)
            reason = "; ".join(
                text
                for text in (
                    f"not asked: {extra}" if extra else "",
                    f"missing: {missing}" if missing else "",
                )
                if text
            )
        return self.make(code, nodes, reason, lambda: self._exchange(own, mine, theirs))

    def _columns_only(self, mine: list[_Column], theirs: list[_Column]) -> bool:
        if self.only_columns is None:
            return False
        return bool(self.only_columns([c.place for c in mine], [c.place for c in theirs]))

    def _grouped(self, own: ast.Return, wanted: ast.Return) -> bool:
        """Whether both group by something and aggregate in their RETURN."""

        def split(items: list[ast.ProjectionItem], forms: Canonical) -> tuple[int, int]:
            kinds = [_aggregates_here(item.expression) for item in items]
            return sum(kinds), len(kinds) - sum(kinds)

        (a, keys), (b, other) = split(own.items, self.mine), split(wanted.items, self.theirs)
        return bool(a and b and keys and other)

    def _exchange(
        self, own: ast.Return, mine: list[_Column], theirs: list[_Column]
    ) -> list[Edit] | None:
        edits: list[Edit] = []
        rest = list(theirs)
        for column in mine:
            if rest:
                other = rest.pop(0)
                edits.append(Edit(*column.item.span, self._item(other.item)))
            elif len(own.items) - len(mine) + len(theirs) > 0:
                edits += surgery.drop_item(own.items, column.item)
        if rest:
            last = own.items[-1].span[1]
            edits.append(Edit(last, last, "".join(f", {self._item(c.item)}" for c in rest)))
        return edits

    def _item(self, item: ast.ProjectionItem) -> str:
        text = self.renderer.render(item.expression)
        return f"{text} AS {quote_name(item.alias.name)}" if item.alias is not None else text

    def _whole_return(self, own: ast.Return, wanted: ast.Return) -> list[Edit] | None:
        if wanted.star:
            return None
        start = self.draft.text.index("*", own.span[0])
        end = own.items[-1].span[1] if own.items else start + 1
        return [Edit(start, end, ", ".join(self._item(item) for item in wanted.items))]

    # ------------------------------------------------------------ grouping

    def grouping(self) -> Iterator[Difference]:
        """The same aggregates over other keys, where no column shows it."""
        mine, theirs = self._keys(self.draft, self.mine), self._keys(self.gold, self.theirs)
        for form, (keys, projection) in mine.items():
            other = theirs.get(form)
            if other is not None and keys != other[0]:
                staged = any(has_aggregate(key) for key in other[0])
                if staged and not any(has_aggregate(key) for key in keys):
                    yield self.make(
                        "aggregation.fanout",
                        [projection],
                        "the gold aggregates one path before it walks the next",
                        partial(self._all_distinct, projection),
                    )
                    return
                yield self.make(
                    "aggregation.grouping",
                    [projection],
                    "the aggregate is grouped by other keys than the gold's",
                    lambda: None,
                )
                return

    def _all_distinct(self, projection: ast.Projection) -> list[Edit] | None:
        """DISTINCT in every count and list; None where an aggregate would lose values by it."""
        edits = []
        for item in projection.items:
            for node in item.walk():
                if isinstance(node, ast.CountStar):
                    return None
                if not isinstance(node, ast.FunctionCall) or node.lower_name not in AGGREGATES:
                    continue
                if node.lower_name in ("min", "max") or node.distinct:
                    continue
                if node.lower_name not in ("count", "collect"):
                    return None
                start = node.args[0].span[0]
                edits.append(Edit(start, start, "DISTINCT "))
        return edits

    def _keys(
        self, summary: Summary, forms: Canonical
    ) -> dict[Form, tuple[frozenset[Form], ast.Projection]]:
        found: dict[Form, tuple[frozenset[Form], ast.Projection]] = {}
        for projection in summary.projections:
            items = [(item, forms.form(item.expression)) for item in projection.items]
            here = [form for item, form in items if _aggregates_here(item.expression)]
            if not here:
                continue
            keys = frozenset(form for item, form in items if not _aggregates_here(item.expression))
            for form in here:
                found.setdefault(form, (keys, projection))
        return found

    # ------------------------------------------------------------ DISTINCT

    def distinct(self) -> Iterator[Difference]:
        """Yield a DISTINCT on one side only."""
        mine, theirs = _deduplicated(self.draft, self.mine), _deduplicated(self.gold, self.theirs)
        own, wanted = self.draft.returned, self.gold.returned
        if own is None or wanted is None or bool(mine) == bool(theirs):
            return
        if mine:
            projection, _ = mine[-1]
            start = projection.items[0].span[0]
            begin = self.draft.text.upper().index("DISTINCT", projection.span[0])
            yield self.make(
                "return.unasked",
                [projection],
                "a DISTINCT that the gold does not have",
                lambda: [Edit(begin, start, "")],
            )
            return
        projection, _ = theirs[-1]
        reason = "the gold drops repeated rows"
        if isinstance(projection, ast.Return):
            start = own.items[0].span[0] if own.items else own.span[1]
            yield self.make(
                "aggregation.distinct", [own], reason, lambda: [Edit(start, start, "DISTINCT ")]
            )
            return
        first = self.draft.projections[0] if self.draft.projections else own
        yield self.make(
            "aggregation.distinct",
            [first],
            reason,
            lambda: self._distinct_before(first, projection),
        )

    def _distinct_before(
        self, first: ast.Projection, projection: ast.Projection
    ) -> list[Edit] | None:
        names = []
        for item in projection.items:
            names.append(self._item(item))
        start = first.span[0]
        if isinstance(first, ast.With):
            # A WITH that only carries the same things needs no second one before it.
            forms = {self.mine.form(item.expression) for item in first.items}
            if forms == {self.theirs.form(item.expression) for item in projection.items}:
                begin = first.items[0].span[0]
                return [Edit(begin, begin, "DISTINCT ")]
        return [Edit(start, start, f"WITH DISTINCT {', '.join(names)} ")]


def _source(summary: Summary, node: ast.Expression) -> ast.Expression:
    """What an alias stands for, through all WITHs."""
    for _ in range(20):
        if not isinstance(node, ast.Variable):
            return node
        entity = summary.bindings.of(node)
        if entity is None or entity.kind != "value" or entity.source is None or entity.element:
            return node
        node = entity.source
    return node


def _aggregates_here(node: ast.Expression) -> bool:
    """Whether an expression itself aggregates, not an alias in it."""
    return any(
        isinstance(below, ast.CountStar)
        or (isinstance(below, ast.FunctionCall) and below.lower_name in AGGREGATES)
        for below in node.walk()
    )


def _entities(summary: Summary, node: ast.Node) -> set[int]:
    """Nodes and relationships that an expression speaks of, through aliases."""
    found: set[int] = set()
    stack: list[ast.Node] = [node]
    seen: set[int] = set()
    while stack:
        for below in stack.pop().walk():
            if not isinstance(below, ast.Variable):
                continue
            entity: Entity | None = summary.bindings.of(below)
            if entity is None or id(entity) in seen:
                continue
            seen.add(id(entity))
            if entity.kind == "value" and entity.source is not None:
                stack.append(entity.source)
            else:
                found.add(id(entity))
    return found


def _holds(summary: Summary, projection: ast.Projection, node: ast.Node) -> bool:
    return any(below is node for item in projection.items for below in item.walk())


def _remove_common(mine: list[_Column], theirs: list[_Column]) -> None:
    for column in list(mine):
        twin = next((other for other in theirs if other.form == column.form), None)
        if twin is not None:
            mine.remove(column)
            theirs.remove(twin)


def _paired(
    mine: list[_Column], theirs: list[_Column], edition: Edition
) -> list[tuple[_Column, _Column]]:
    scored = sorted(
        ((-_score(a, b, edition), a.place, b.place, a, b) for a in mine for b in theirs),
        key=lambda entry: entry[:3],
    )
    used: set[int] = set()
    pairs = []
    for score, _, _, a, b in scored:
        if score > -3 or id(a) in used or id(b) in used:
            continue
        used |= {id(a), id(b)}
        pairs.append((a, b))
    return pairs


def _score(a: _Column, b: _Column, edition: Edition) -> float:
    x, y = a.form, b.form
    score = 0.0
    if has_aggregate(x) and has_aggregate(y):
        score += 4.0
        if x[0] == y[0] == "aggregate":
            score += 2.0 * (x[1] == y[1]) + 2.0 * (x[3] == y[3])
    elif has_aggregate(x) != has_aggregate(y):
        same = edition > 1 and (_aggregated(x, y) or _aggregated(y, x))
        score += 4.0 if same else -2.0
    else:
        owner_x, owner_y = _owner(x), _owner(y)
        if owner_x is not None and owner_x == owner_y:
            whole = ("entity", "draft", "gold")
            if (x[0] in whole) != (y[0] in whole):
                score += 5.0
            else:
                score += 3.0
        elif x[0] == y[0] == "property" and x[2] == y[2]:
            score += 2.0
    if a.item.column.casefold() == b.item.column.casefold():
        score += 2.0
    return score + (1.0 if a.place == b.place else 0.0)


def _part_of(form: Form, whole: Form) -> bool:
    """Whether a form is a component of a stored value, as the seconds of a duration."""
    return bool(form[0] == whole[0] == "property" and form[1] == whole)


def _aggregated(form: Form, plain: Form) -> bool:
    """Whether a form aggregates a plain one, or the entity that the plain one shows something of."""
    if form[0] != "aggregate" or len(form[3]) != 1:
        return False
    inner = form[3][0]
    return bool(inner == plain or (inner == _owner(plain)))


def _owner(form: Form) -> Form | None:
    """The entity that a column shows something of."""
    while form[0] in ("property", "call"):
        if form[0] == "call":
            if not form[2]:
                return None
            form = form[2][0]
        else:
            form = form[1]
    return form if form[0] in ("entity", "draft", "gold") else None


def _deduplicated(
    summary: Summary, forms: Canonical
) -> list[tuple[ast.Projection, frozenset[Form]]]:
    """The projections that drop repeated rows; an aggregating one never has any."""
    return [
        (p, frozenset(forms.form(item.expression) for item in p.items))
        for p in summary.projections
        if p.distinct and p.items and not any(_aggregates_here(i.expression) for i in p.items)
    ]
