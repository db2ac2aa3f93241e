"""All differences between a draft and a gold that both parse, in the order of repair."""

from __future__ import annotations

from cypherforge.cypher import ast
from cypherforge.diagnosis.align import align
from cypherforge.diagnosis.condition_faults import ConditionFaults
from cypherforge.diagnosis.difference import Difference
from cypherforge.diagnosis.output_faults import ColumnTest, OutputFaults
from cypherforge.diagnosis.pattern_faults import PatternFaults
from cypherforge.diagnosis.render import Renderer
from cypherforge.diagnosis.summary import Summary, summarise
from cypherforge.graph.schema import Schema


def differences(
    draft: ast.Query,
    gold: ast.Query,
    schema: Schema | None = None,
    only_columns: ColumnTest | None = None,
) -> list[Difference] | str:
    """Return the differences, or in words why the two cannot be compared."""
    mine, theirs = summarise(draft), summarise(gold)
    if len(mine) != len(theirs):
        return f"the gold joins {len(theirs)} queries by UNION, the draft {len(mine)}"
    if not mine:
        return "one of the two is a command, not a query"
    found: list[Difference] = []
    for a, b in zip(mine, theirs, strict=True):
        found += _of_part(a, b, schema, only_columns if len(mine) == 1 else None)
    return sorted(found, key=lambda d: d.rank)


def _of_part(
    draft: Summary, gold: Summary, schema: Schema | None, only_columns: ColumnTest | None
) -> list[Difference]:
    alignment = align(draft, gold)
    renderer = Renderer(alignment)
    started: set[int] = set()
    patterns = PatternFaults(alignment, renderer, schema, started)
    found = patterns.all()
    conditions = ConditionFaults(alignment, renderer, schema, started, patterns.settled_conditions)
    found += conditions.all()
    found += OutputFaults(alignment, renderer, schema, only_columns).all()
    return found
