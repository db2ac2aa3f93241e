"""Small operations on a draft's text, each a list of edits by position."""

from __future__ import annotations

import re

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Entity, Link, conjuncts
from cypherforge.cypher.edits import Edit
from cypherforge.diagnosis.summary import Condition, Summary

_AND = re.compile(r"\s*AND\s*", re.IGNORECASE)


def inner(text: str, pattern: ast.RelationshipPattern) -> str:
    """Return what stands in a relationship's brackets, brackets included; empty without any."""
    written = text[slice(*pattern.span)]
    start = written.find("[")
    return written[start : written.rindex("]") + 1] if start >= 0 else ""


def arrow(body: str, direction: str) -> str:
    """Return a relationship: ``body`` in brackets between dashes, with the arrow head asked for."""
    left = "<-" if direction == "left" else "-"
    right = "->" if direction == "right" else "-"
    return f"{left}{body}{right}"


def seen_from(link: Link, node: Entity) -> str:
    """Return the direction of a link when it is walked from one of its nodes."""
    if not link.directed:
        return "both"
    return "right" if link.start is node else "left"


def redirect(text: str, link: Link, direction: str) -> list[Edit]:
    """Give a relationship another arrow: ``right``, ``left`` or ``both`` as written."""
    start, end = link.pattern.span
    edits: list[Edit] = []
    head, tail = text[start] == "<", text[end - 1] == ">"
    if head and direction != "left":
        edits.append(Edit(start, start + 1, ""))
    if not head and direction == "left":
        edits.append(Edit(start, start, "<"))
    if tail and direction != "right":
        edits.append(Edit(end - 1, end, ""))
    if not tail and direction == "right":
        edits.append(Edit(end, end, ">"))
    return edits


def set_types(text: str, pattern: ast.RelationshipPattern, types: str) -> list[Edit]:
    """Give a relationship other types (``A|B``); none: take them away."""
    if pattern.types is not None:
        start, end = pattern.types.span
        if not types:
            start = text.rindex(":", pattern.span[0], start)
        return [Edit(start, end, types)]
    if not types:
        return []
    if pattern.variable is not None:
        return [Edit(pattern.variable.span[1], pattern.variable.span[1], f":{types}")]
    bracket = text.find("[", *pattern.span)
    if bracket >= 0:
        return [Edit(bracket + 1, bracket + 1, f":{types}")]
    dash = text.index("-", *pattern.span) + 1
    return [Edit(dash, dash, f"[:{types}]")]


def set_length(text: str, pattern: ast.RelationshipPattern, length: str) -> list[Edit]:
    """Give a relationship another length (``*1..3``); none: a single one."""
    if pattern.quantifier is not None:
        return [Edit(*pattern.quantifier.span, length)]
    for node in (pattern.types, pattern.variable):
        if node is not None:
            return [Edit(node.span[1], node.span[1], length)]
    bracket = text.find("[", *pattern.span)
    if bracket >= 0:
        return [Edit(bracket + 1, bracket + 1, length)]
    dash = text.index("-", *pattern.span) + 1
    return [Edit(dash, dash, f"[{length}]")]


def set_labels(text: str, entity: Entity, labels: str) -> list[Edit]:
    """Give a node other labels (``A|B``), wherever they are written; none: take them away."""
    edits: list[Edit] = []
    patterns = [node for node in entity.nodes if isinstance(node, ast.NodePattern)]
    for pattern in patterns:
        if pattern.labels is None:
            continue
        start, end = pattern.labels.span
        if not labels:
            start = text.rindex(":", pattern.span[0], start)
        edits.append(Edit(start, end, labels))
    if edits or not labels or not patterns:
        return edits
    first = patterns[0]
    place = first.variable.span[1] if first.variable is not None else first.span[0] + 1
    return [Edit(place, place, f":{labels}")]


def add_condition(clause: ast.Match, text: str, started: set[int]) -> list[Edit]:
    """Let a MATCH have one more condition. ``started``: clauses that an earlier edit gave a WHERE."""
    if clause.where is not None:
        predicate = clause.where.predicate
        end = clause.where.span[1]
        if isinstance(predicate, ast.Binary) and predicate.op in ("OR", "XOR"):
            start = predicate.span[0]
            return [Edit(start, start, "("), Edit(end, end, f") AND {text}")]
        return [Edit(end, end, f" AND {text}")]
    last = clause.hints[-1] if clause.hints else clause.patterns[-1]
    word = "AND" if id(clause) in started else "WHERE"
    started.add(id(clause))
    return [Edit(last.span[1], last.span[1], f" {word} {text}")]


def drop_condition(summary: Summary, condition: Condition) -> list[Edit]:
    """Take a condition away, with the AND or the comma that joined it."""
    text = summary.text
    if isinstance(condition.node, ast.MapEntry):
        return _drop_entry(text, condition)
    for where in _wheres(condition):
        predicate, span = where
        parts = list(conjuncts(predicate))
        place = next((i for i, part in enumerate(parts) if part is condition.node), None)
        if place is None:
            continue
        if len(parts) == 1:
            start = span[0]
            while start and text[start - 1].isspace():
                start -= 1
            return [Edit(start, span[1], "")]
        here = parts[place].span
        if place and _AND.fullmatch(text, parts[place - 1].span[1], here[0]):
            return [Edit(parts[place - 1].span[1], here[1], "")]
        if place + 1 < len(parts) and _AND.fullmatch(text, here[1], parts[place + 1].span[0]):
            return [Edit(here[0], parts[place + 1].span[0], "")]
        return [Edit(*here, "true")]
    return [Edit(*condition.node.span, "true")]


def _wheres(condition: Condition) -> list[tuple[ast.Expression, tuple[int, int]]]:
    clause = condition.clause
    if isinstance(clause, ast.Match | ast.With) and clause.where is not None:
        return [(clause.where.predicate, clause.where.span)]
    return []


def _drop_entry(text: str, condition: Condition) -> list[Edit]:
    holder = condition.holder
    assert holder is not None and isinstance(holder.properties, ast.MapLiteral)
    entries = holder.properties.entries
    if len(entries) == 1:
        start, end = holder.properties.span
        while text[start - 1].isspace():
            start -= 1
        return [Edit(start, end, "")]
    place = next(i for i, entry in enumerate(entries) if entry is condition.node)
    if place:
        return [Edit(entries[place - 1].span[1], entries[place].span[1], "")]
    return [Edit(entries[0].span[0], entries[1].span[0], "")]


def drop_item(items: list[ast.ProjectionItem], item: ast.ProjectionItem) -> list[Edit]:
    """Take one column away from a projection that has others."""
    place = next(i for i, other in enumerate(items) if other is item)
    if place:
        return [Edit(items[place - 1].span[1], item.span[1], "")]
    return [Edit(item.span[0], items[1].span[0], "")]


def without_links(
    summary: Summary, gone_links: set[int], gone_nodes: set[int]
) -> list[Edit] | None:
    """Take relationships and nodes (by ``id``) out of the pattern; None if a path forbids it."""
    edits: list[Edit] = []
    bindings = summary.bindings
    for match in summary.matches:
        kept: list[str] = []
        changed = False
        for part in match.patterns:
            segments, touched = _segments(summary, part, gone_links, gone_nodes)
            if touched and (part.variable is not None or part.function or part.selector):
                return None
            changed = changed or touched
            if not touched:
                kept.append(summary.text[slice(*part.span)])
                continue
            for segment in segments:
                only = segment[0]
                if len(segment) == 1 and isinstance(only, ast.NodePattern):
                    entity = bindings.of(only)
                    plain = only.labels is None and only.properties is None
                    elsewhere = entity is not None and any(n is not only for n in entity.nodes)
                    if plain and (elsewhere or only.variable is None):
                        continue
                kept.append(summary.text[segment[0].span[0] : segment[-1].span[1]])
        if not changed:
            continue
        if kept:
            span = match.patterns[0].span[0], match.patterns[-1].span[1]
            edits.append(Edit(*span, ", ".join(kept)))
        elif match.where is None or _only_about(summary, match, gone_nodes):
            start, end = match.span
            text = summary.text
            while end < len(text) and text[end].isspace():
                end += 1
            edits.append(Edit(start, end, ""))
        else:
            return None
    return edits


def _only_about(summary: Summary, match: ast.Match, gone: set[int]) -> bool:
    """Whether a MATCH's conditions speak of nothing but what goes."""
    assert match.where is not None
    for node in match.where.walk():
        if isinstance(node, ast.Variable):
            entity = summary.bindings.of(node)
            if entity is not None and id(entity) not in gone:
                return False
    return True


def _segments(
    summary: Summary, part: ast.PatternPart, gone_links: set[int], gone_nodes: set[int]
) -> tuple[list[list[ast.PathElement]], bool]:
    """The pieces that a path falls into, and whether it lost anything."""
    segments: list[list[ast.PathElement]] = [[]]
    touched = False
    for element in part.elements:
        if isinstance(element, ast.RelationshipPattern):
            if id(element) in gone_links:
                touched = True
                segments.append([])
            else:
                segments[-1].append(element)
            continue
        entity = summary.bindings.of(element)
        if entity is not None and id(entity) in gone_nodes:
            touched = True
            continue
        segments[-1].append(element)
    clean = []
    for segment in segments:
        while segment and isinstance(segment[0], ast.RelationshipPattern):
            segment.pop(0)
        while segment and isinstance(segment[-1], ast.RelationshipPattern):
            segment.pop()
        if segment:
            clean.append(segment)
    return clean, touched
