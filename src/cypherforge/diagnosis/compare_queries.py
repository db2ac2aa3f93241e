"""All differences between a draft and a gold that both parse, in the order of repair."""

from __future__ import annotations

from dataclasses import replace

from cypherforge.cypher import ast
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.function_kinds import AGGREGATES
from cypherforge.diagnosis.align import Alignment, align
from cypherforge.diagnosis.condition_faults import ConditionFaults
from cypherforge.diagnosis.difference import Difference
from cypherforge.diagnosis.expressions import Canonical, Form
from cypherforge.diagnosis.model import Edition
from cypherforge.diagnosis.output_faults import ColumnTest, OutputFaults
from cypherforge.diagnosis.pattern_faults import PatternFaults
from cypherforge.diagnosis.render import CannotRender, Renderer, tail_of
from cypherforge.diagnosis.summary import Summary, summarise
from cypherforge.graph.schema import Schema


def differences(
    draft: ast.Query,
    gold: ast.Query,
    schema: Schema | None = None,
    only_columns: ColumnTest | None = None,
    *,
    whole_tail: bool = False,
    edition: Edition = 2,
) -> list[Difference] | str:
    """Return the differences, or in words why the two cannot be compared.

    ``whole_tail``: repair all that stands behind the patterns at once, by what the gold has there.
    """
    mine, theirs = summarise(draft), summarise(gold)
    if not mine or not theirs:
        return "one of the two is a command, not a query"
    wanted, own = (len(s) + sum(part.unions for part in s) for s in (theirs, mine))
    if wanted != own or len(mine) != len(theirs):
        # Laid over each other, alternatives would look like hops too many or too few.
        reason = f"the gold joins {wanted} alternatives by UNION, the draft has {own}"
        return [Difference("pattern.topology", (mine[0].single.span,), None, reason)]
    found: list[Difference] = []
    for a, b in zip(mine, theirs, strict=True):
        found += _of_part(
            a, b, schema, only_columns if len(mine) == 1 else None, whole_tail, edition
        )
    return sorted(found, key=lambda d: d.rank)


def _of_part(
    draft: Summary,
    gold: Summary,
    schema: Schema | None,
    only_columns: ColumnTest | None,
    whole_tail: bool,
    edition: Edition,
) -> list[Difference]:
    alignment = align(draft, gold, schema, edition)
    renderer = Renderer(alignment)
    started: set[int] = set()
    patterns = PatternFaults(alignment, renderer, schema, started)
    found = patterns.all()
    conditions = ConditionFaults(
        alignment,
        renderer,
        schema,
        started,
        patterns.settled_conditions,
        patterns.gone_conditions,
    )
    found += conditions.all()
    found += OutputFaults(alignment, renderer, schema, only_columns).all()
    found = _hops_as_tests(found, draft)
    if not found:
        return _shared_matches(alignment)
    ties = _lost_ties(found, draft, gold, alignment.forms()[1])
    if ties is not None:
        found = ties
    if whole_tail or any(d.edits is None for d in found):
        found = _by_tail(found, draft, renderer)
    return found


def _shared_matches(found: Alignment) -> list[Difference]:
    """Hops in one MATCH where the gold has two, or the reverse: one MATCH uses no edge twice."""
    for i, (mine, theirs) in enumerate(found.links):
        for other, twin in found.links[i + 1 :]:
            same_types = mine.relationship.names & other.relationship.names
            together = mine.clause is other.clause
            if same_types and together != (theirs.clause is twin.clause):
                word = "one" if together else "two"
                return [
                    Difference(
                        "pattern.topology",
                        (mine.pattern.span, other.pattern.span),
                        None,
                        f"{word} MATCH for two hops of a type: one MATCH uses no relationship twice",
                    )
                ]
    return []


def _hops_as_tests(found: list[Difference], draft: Summary) -> list[Difference]:
    """A hop in the pattern where the gold only tests that it exists, or the reverse: one fault."""
    result = list(found)
    for extra in found:
        if extra.code != "pattern.extra_hop" or not extra.types:
            continue
        twin = next(
            (d for d in result if d.code == "pattern.missing_hop" and d.types == extra.types), None
        )
        if twin is None or extra not in result or extra.edits is None or twin.edits is None:
            continue
        if bool(twin.spans) == bool(extra.spans) and not (twin.spans == () or extra.spans == ()):
            continue
        code, reason = "pattern.topology", "tested where the gold matches, or the reverse"
        if not twin.spans and _aggregates(draft):
            code = "aggregation.fanout"
            reason = "the hop multiplies the rows; the gold only tests that it exists"
        merged = Difference(
            code, extra.spans, tuple(dict.fromkeys((*extra.edits, *twin.edits))), reason
        )
        result = [merged if d is extra else d for d in result if d is not twin]
    return result


def _aggregates(summary: Summary) -> bool:
    return any(
        isinstance(node, ast.CountStar)
        or (isinstance(node, ast.FunctionCall) and node.lower_name in AGGREGATES)
        for projection in summary.projections
        for node in projection.walk()
    )


def _lost_ties(
    found: list[Difference], draft: Summary, gold: Summary, forms: Canonical
) -> list[Difference] | None:
    """The gold compares with the extreme value, the draft keeps one row of an order: one fault."""
    limited = [p for p in draft.projections if p.limit is not None and p.order_by is not None]
    if not limited or any(p.limit is not None for p in gold.projections):
        return None
    if not any(_is_extreme(forms.form(c.value)) for c in gold.conditions):
        return None
    page = limited[-1]
    assert page.order_by is not None and page.limit is not None
    rest = [
        d
        for d in found
        if d.code not in ("return.unasked", "filter.missing", "aggregation.function")
        and not (d.code == "pattern.missing_hop" and not d.types)
    ]
    lost = Difference(
        "return.order",
        (page.order_by.span, page.limit.span),
        None,
        "the limit keeps one of several that share the extreme value",
    )
    return [*rest, lost]


def _is_extreme(form: Form) -> bool:
    if form[0] != "=":
        return False
    return any(
        side[:1] == ("aggregate",) and side[1] in ("max", "min") for side in form[1:] if side
    )


def _by_tail(found: list[Difference], draft: Summary, renderer: Renderer) -> list[Difference]:
    """Repair what has no edit of its own by taking over all that the gold does behind its patterns."""
    try:
        tail = renderer.tail()
    except CannotRender:
        renderer.naming()
        return found
    start = tail_of(draft)
    assert start is not None
    begin = start.span[0]
    result: list[Difference] = []
    edits: tuple[Edit, ...] = tuple(dict.fromkeys([*renderer.naming(), *tail]))
    for difference in sorted(found, key=lambda d: d.rank):
        inside = difference.edits is None or all(e.start >= begin for e in difference.edits)
        if inside and (difference.edits is None or difference.edits):
            reason = difference.reason.split("; no repair:")[0]
            result.append(replace(difference, edits=edits, reason=reason))
            edits = ()
        else:
            result.append(difference)
    return result
