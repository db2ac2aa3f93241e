"""Conditions written inside a pattern's inline map: ``{age: > 18}``, ``{name: STARTS WITH 'x'}``.

An inline map can only ask for equality. Such an entry moves into the WHERE of its clause; a node
without a variable is given one.
"""

from __future__ import annotations

from collections.abc import Iterator

from cypherforge.cypher.dialects.source import Change, Source
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.tokens import string_value

_SIGNS = frozenset([">", "<", ">=", "<=", "<>", "!=", "=~", "="])
_WORDS = frozenset(["STARTS", "ENDS", "CONTAINS", "IN", "IS", "NOT", "LIKE", "ILIKE", "BETWEEN"])
#: Names of comparisons in nested maps, as document databases and other query languages write them.
_NAMED = {
    "GT": ">",
    "GTE": ">=",
    "GE": ">=",
    "LT": "<",
    "LTE": "<=",
    "LE": "<=",
    "NE": "<>",
    "NEQ": "<>",
    "EQ": "=",
    "IN": "IN",
    "CONTAINS": "CONTAINS",
    "STARTSWITH": "STARTS WITH",
    "ENDSWITH": "ENDS WITH",
    "REGEX": "=~",
}
_SIGN_KEYS = frozenset([">", ">=", "<", "<=", "<>", "="])


def inline_conditions(source: Source) -> Iterator[Change]:
    """Entries of pattern maps that are no ``key: value``; one change a map."""
    for brace in range(1, source.count):
        if source.kinds[brace] == "{" and brace in source.partner:
            opening = _element(source, brace)
            start = -1 if opening is None else source.clause_start(opening)
            if opening is not None and source.words[start] in ("MATCH", "OPTIONAL"):
                change = _map(source, opening, brace, source.partner[brace])
                if change is not None:
                    yield change


def _element(source: Source, brace: int) -> int | None:
    """The bracket of the node or relationship whose map this is, or None."""
    depth = source.depths[brace] - 1
    i = brace - 1
    while i >= 0 and source.depths[i] > depth:
        if source.kinds[i] not in (
            ":",
            "|",
            "&",
            "!",
            "*",
            "..",
            "int",
            "%",
        ) and not source.is_name(i):
            return None
        if source.words[i] in ("WHERE", "IN", "AND", "RETURN", "EXISTS", "COUNT"):
            return None
        i -= 1
    if i < 0 or source.kinds[i] not in ("(", "[") or i not in source.partner:
        return None
    before, after = source.kinds[i - 1] if i else "", source.kinds[source.partner[i] + 1]
    if source.kinds[i] == "[":
        return i if before == "-" and after == "-" else None
    is_call = i > 0 and source.kinds[i - 1] == "name" and after not in ("-", "<")
    return None if is_call else i


def _map(source: Source, opening: int, brace: int, close: int) -> Change | None:
    entries = list(source.commas(brace + 1, close)) if close > brace + 1 else []
    name = _variable(source, opening, brace)
    variable = name or _fresh(source)
    conditions: list[str] = []
    kept: list[str] = []
    changed = False
    for first, last in entries:
        found = _condition(source, first, last, variable)
        if found is None:
            kept.append(source.piece(first, last))
        else:
            changed = True
            conditions += [c for c in found if c.startswith(variable)]
            kept += [c for c in found if not c.startswith(variable)]
    if not changed:
        return None
    span = source.span(brace, close + 1)
    message = "an inline map only asks for equality"
    edits: list[Edit] = []
    if kept:
        edits.append(source.replace(brace, close + 1, f"{{{', '.join(kept)}}}"))
    else:
        edits.append(source.drop(brace, close + 1))
    if conditions:
        if source.kinds[opening] == "[" and "*" in source.kinds[opening:close]:
            return Change(
                "map.condition", f"{message}; over a variable length it has no other place", span
            )
        place = _where(source, opening, " AND ".join(conditions))
        if place is None:
            return Change("map.condition", message, span)
        edits += place
        if name is None:
            edits.append(source.after(opening, variable))
    return Change("map.condition", f"{message}: written as a condition", span, tuple(edits))


def _variable(source: Source, opening: int, brace: int) -> str | None:
    first = opening + 1
    if first < brace and source.is_name(first) and source.kinds[first + 1] in (":", "{", "*", "|"):
        return source.text[source.starts[first] : source.ends[first]]
    return None


def _fresh(source: Source) -> str:
    number = 1
    names = set(source.values)
    while f"x{number}" in names:
        number += 1
    return f"x{number}"


def _condition(source: Source, first: int, last: int, variable: str) -> list[str] | None:
    """Conditions for WHERE, or entries ``key: value``; None for an entry that is one already."""
    key = first
    if source.kinds[first + 1] == "." and last - first > 3:
        key = first + 2  # {n.age > 18}
    if not source.is_name(key):
        return None
    written = source.text[source.starts[key] : source.ends[key]]
    subject = f"{variable}.{written}"
    after = key + 1
    value = after + 1 if source.kinds[after] == ":" else after
    sign = source.kinds[value]
    if value >= last:
        return None
    if sign in ("=", "==") and source.kinds[after] != ":":
        return [f"{written}: {source.piece(value + 1, last)}"]
    if sign in _SIGNS or source.words[value] in _WORDS:
        if source.words[value] == "NOT" and source.words[value + 1] not in _WORDS | {"NULL"}:
            return [f"{subject} <> {source.piece(value + 1, last)}"]
        if source.words[value] == "NOT" and source.words[value + 1] == "NULL":
            return [f"{subject} IS NOT NULL"]
        return [f"{subject} {source.piece(value, last)}"]
    if sign == "{" and source.partner.get(value) == last - 1:
        return _nested(source, value, last - 1, written, subject)
    return None


def _nested(source: Source, brace: int, close: int, key: str, subject: str) -> list[str] | None:
    """``{age: {gt: 18}}``, ``{age: {`$gt`: 18}}``, ``{age: {age: 18}}``."""
    found: list[str] = []
    for first, last in source.commas(brace + 1, close):
        colon = source.find((":",), first, last, source.depths[first])
        if colon == last:
            return None
        name = source.piece(first, colon).strip("`")
        if source.kinds[first] == "str":
            name = string_value(source.values[first])
        value = source.piece(colon + 1, last)
        operator = (
            name if name in _SIGN_KEYS else _NAMED.get(name.lstrip("$").replace("_", "").upper())
        )
        if operator is not None:
            found.append(f"{subject} {operator} {value}")
        elif name == key:
            found.append(f"{key}: {value}")
        else:
            return None
    return found or None


def _where(source: Source, opening: int, condition: str) -> list[Edit] | None:
    """Edits that add a condition to the clause of a pattern."""
    start = source.clause_start(opening)
    depth = source.depths[opening]
    if start < 0 or source.words[start] not in ("MATCH", "OPTIONAL"):
        return None
    head = max(start, _subquery_start(source, opening))
    end = source.clause_end(opening)
    where = source.find(("WHERE",), opening, end, depth)
    if where == end:
        where = source.find(("WHERE",), head, opening, depth)
        where = end if where == opening else where
    if where == end:
        return [source.after(end - 1, f" WHERE {condition}")]
    edits = [source.after(where, f" {condition} AND")]
    loose = any(
        source.words[i] in ("OR", "XOR") and source.depths[i] == depth for i in range(where, end)
    )
    if loose:
        edits += [source.before(where + 1, "("), source.after(end - 1, ")")]
    return edits


def _subquery_start(source: Source, i: int) -> int:
    depth = source.depths[i]
    for j in range(i, -1, -1):
        if source.depths[j] < depth:
            return j
    return -1
