"""Operators and words of SQL and of programming languages inside expressions and clauses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cypherforge.cypher.dialects.source import CLAUSES, Change, Source
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name, quote_string
from cypherforge.cypher.tokens import string_value

_REGEX_SIGNS = re.compile(r"([\\.^$|?*+()\[\]{}])")
_CASTS = {
    "INTEGER": "toInteger",
    "INT": "toInteger",
    "BIGINT": "toInteger",
    "SIGNED": "toInteger",
    "FLOAT": "toFloat",
    "DOUBLE": "toFloat",
    "DECIMAL": "toFloat",
    "NUMERIC": "toFloat",
    "REAL": "toFloat",
    "STRING": "toString",
    "TEXT": "toString",
    "VARCHAR": "toString",
    "CHAR": "toString",
    "BOOLEAN": "toBoolean",
    "DATE": "date",
    "DATETIME": "datetime",
    "TIMESTAMP": "datetime",
}


def signs(source: Source) -> Iterator[Change]:
    """``!=``, ``==``, ``&&`` and ``!`` before a condition."""
    kinds = source.kinds
    for i in range(source.count):
        if kinds[i] == "!=":
            edit = source.replace(i, i + 1, "<>")
            yield Change("operator.not_equal", "`!=` is `<>`", source.span(i, i + 1), (edit,))
        elif kinds[i] in ("=", "&") and kinds[i + 1] == kinds[i]:
            if source.ends[i] != source.starts[i + 1]:
                continue
            sign, word = ("==", "=") if kinds[i] == "=" else ("&&", " AND ")
            if sign == "&&" and source.text[: source.starts[i]][-1:].isspace():
                word = "AND" if source.text[source.ends[i + 1] :][:1].isspace() else "AND "
            edit = source.replace(i, i + 2, word)
            code = "operator.equal" if sign == "==" else "operator.and"
            message = f"`{sign}` is `{word.strip()}`"
            yield Change(code, message, source.span(i, i + 2), (edit,))
        elif kinds[i] == "!" and source.words[i - 1] in ("WHERE", "AND", "OR", "XOR", "WHEN"):
            edit = source.replace(i, i + 1, "NOT ")
            yield Change("operator.not", "`!` is NOT", source.span(i, i + 1), (edit,))


def negated(source: Source) -> Iterator[Change]:
    """``x NOT IN xs``, ``x NOT CONTAINS 'y'``, ``x NOT STARTS WITH 'y'``: NOT goes in front."""
    for i in range(1, source.count):
        if source.words[i] != "NOT" or source.words[i + 1] not in (
            "IN",
            "CONTAINS",
            "STARTS",
            "ENDS",
        ):
            continue
        if source.words[i - 1] in ("WHERE", "AND", "OR", "XOR", "NOT", "WHEN", "(", "IS"):
            continue
        start = source.operand_start(i)
        edits = (source.before(start, "NOT "), source.drop(i, i + 1))
        what = source.words[i + 1]
        message = f"NOT stands before the operand, not before {what}"
        yield Change("sql.not_in", message, source.span(i, i + 2), edits)


def like(source: Source) -> Iterator[Change]:
    """``x [NOT] LIKE 'a%'`` and ``ILIKE``: STARTS WITH, ENDS WITH, CONTAINS, or a regular expression."""
    for i in range(1, source.count):
        word = source.words[i]
        if word not in ("LIKE", "ILIKE") or source.kinds[i - 1] in (".", ":", "$"):
            continue
        negation = source.words[i - 1] == "NOT"
        span = source.span(i, i + 2)
        if source.kinds[i + 1] != "str":
            yield Change("sql.like", "LIKE with a pattern that is computed has no clear form", span)
            continue
        first = i - 1 if negation else i
        start = source.operand_start(first)
        operator, value = _like(string_value(source.values[i + 1]), word == "ILIKE")
        edits = [source.replace(first, i + 2, f"{operator} {quote_string(value)}")]
        if negation:
            edits.insert(0, source.before(start, "NOT "))
        yield Change("sql.like", f"{word} is {operator} here", span, tuple(edits))


def _like(pattern: str, ignore_case: bool) -> tuple[str, str]:
    body = pattern.strip("%")
    if not ignore_case and "%" not in body and "_" not in body and body:
        left, right = pattern.startswith("%"), pattern.endswith("%")
        operator = {
            (True, True): "CONTAINS",
            (False, True): "STARTS WITH",
            (True, False): "ENDS WITH",
            (False, False): "=",
        }[left, right]
        return operator, body
    regex = _REGEX_SIGNS.sub(r"\\\1", pattern).replace("%", ".*").replace("_", ".")
    return "=~", f"(?{'i' if ignore_case else ''}s){regex}"


def between(source: Source) -> Iterator[Change]:
    """``x BETWEEN a AND b``: two comparisons."""
    for i in range(1, source.count):
        if source.words[i] != "BETWEEN" or source.kinds[i - 1] in (".", ":", "$"):
            continue
        negation = source.words[i - 1] == "NOT"
        first = i - 1 if negation else i
        start = source.operand_start(first)
        middle = source.operand_end(i + 1)
        if source.words[middle] != "AND":
            continue
        end = source.operand_end(middle + 1)
        subject = source.piece(start, first)
        edits = (
            source.before(start, "NOT (" if negation else "("),
            source.replace(first, i + 1, ">="),
            source.replace(middle, middle + 1, f"AND {subject} <="),
            source.after(end - 1, ")"),
        )
        message = "BETWEEN is two comparisons"
        yield Change("sql.between", message, source.span(i, end), edits)


def null_comparisons(source: Source) -> Iterator[Change]:
    """``x = NULL`` in a condition: Cypher, though never true; so only reported, not rewritten."""
    kinds = source.kinds
    for i in range(1, source.count):
        if kinds[i] in ("=", "<>", "!=") and source.words[i + 1] == "NULL" and kinds[i + 2] != "(":
            if not _in_condition(source, i):
                continue
            test = "IS NULL" if kinds[i] == "=" else "IS NOT NULL"
            message = f"nothing equals null: `{test}` may be meant"
            yield Change("sql.null", message, source.span(i, i + 2))


def null_forms(source: Source) -> Iterator[Change]:
    """``IS NULL()``, ``x NOT NULL``, ``EXISTS n.p``."""
    kinds, words = source.kinds, source.words
    for i in range(1, source.count):
        if (
            words[i] == "NULL"
            and words[i - 1] in ("IS", "NOT")
            and kinds[i + 1 : i + 3] == ["(", ")"]
        ):
            edit = source.drop(i + 1, i + 3)
            yield Change("sql.null", "IS NULL takes no brackets", source.span(i, i + 3), (edit,))
        elif words[i] == "NOT" and words[i + 1] == "NULL" and _ends_operand(source, i - 1):
            edit = source.before(i, "IS ")
            yield Change("sql.null", "NOT NULL is IS NOT NULL", source.span(i, i + 2), (edit,))
        elif words[i] == "EXISTS" and source.is_name(i + 1) and kinds[i + 2] == ".":
            end = source.operand_end(i + 1, sums=False)
            edits = (
                Edit(source.starts[i], source.starts[i + 1], ""),
                source.after(end - 1, " IS NOT NULL"),
            )
            message = "EXISTS takes a pattern; a property is tested by IS NOT NULL"
            yield Change("removed.exists", message, source.span(i, end), edits)


def _ends_operand(source: Source, i: int) -> bool:
    if source.is_name(i):
        return source.words[i] not in _BEFORE_OPERAND
    return source.kinds[i] in (")", "]")


_BEFORE_OPERAND = frozenset(
    ["WHERE", "AND", "OR", "XOR", "NOT", "IS", "IN", "THEN", "ELSE", "WHEN", "RETURN", "WITH", "BY"]
)


def _in_condition(source: Source, i: int) -> bool:
    """Whether token ``i`` stands in a WHERE (and not in SET, a map or the columns)."""
    depth = source.depths[i]
    for j in range(i - 1, -1, -1):
        if source.depths[j] < depth:
            if source.kinds[j] == "{" and source.words[j - 1] not in ("EXISTS", "COUNT", "COLLECT"):
                return False
            depth = source.depths[j]
        if source.depths[j] == depth:
            if source.words[j] in ("WHERE", "HAVING", "FILTER"):
                return True
            if source.words[j] in CLAUSES or source.words[j] in ("ORDER", "CASE", "|"):
                return False
    return False


def counting(source: Source) -> Iterator[Change]:
    """``COUNT DISTINCT x``, ``COUNT UNIQUE x``, ``count(DISTINCT x, y)``, ``COUNT x``."""
    for i in range(source.count):
        if source.words[i] not in ("COUNT", "SUM", "AVG", "MIN", "MAX", "COLLECT"):
            continue
        name = source.values[i]
        if source.words[i + 1] in ("DISTINCT", "UNIQUE"):
            last = source.operand_end(i + 2, sums=False)
            inner = source.piece(i + 2, last)
            if source.kinds[i + 2] == "(" and source.partner.get(i + 2) == last - 1:
                inner = source.piece(i + 3, last - 1)
            edit = source.replace(i, last, f"{name}(DISTINCT {inner})")
            message = f"{name} DISTINCT x is {name}(DISTINCT x)"
            yield Change("sql.count_distinct", message, source.span(i, last), (edit,))
        elif (
            source.words[i] == "COUNT"
            and source.kinds[i + 1] == "("
            and source.words[i + 2] == "DISTINCT"
        ):
            parts = list(source.commas(i + 3, source.partner.get(i + 1, i + 3)))
            if len(parts) > 1:
                first, last = parts[0][0], parts[-1][1]
                edit = source.replace(first, last, f"[{source.piece(first, last)}]")
                message = "distinct combinations are counted as distinct lists"
                yield Change("sql.count_distinct", message, source.span(first, last), (edit,))


def selects(source: Source) -> Iterator[Change]:
    """``MATCH ... SELECT x`` and a scalar ``(SELECT max(a.x) FROM Label a)``; others are reported."""
    for i in range(source.count):
        if source.words[i] != "SELECT" or source.kinds[i - 1] in (".", ":", "$"):
            continue
        depth = source.depths[i]
        if i and source.kinds[i - 1] == "(" and i - 1 in source.partner:
            close = source.partner[i - 1]
            edit = _scalar(source, i, close)
            message = "a scalar SELECT is the first value that a COLLECT subquery gives"
            yield Change(
                "sql.select", message, source.span(i - 1, close + 1), (edit,) if edit else ()
            )
            continue
        seen = [source.words[j] for j in range(i) if source.depths[j] == depth]
        end = source.clause_end(i)
        if "MATCH" in seen and "RETURN" not in seen and "FROM" not in source.words[i:end]:
            edit = source.replace(i, i + 1, "RETURN")
            yield Change("sql.select", "SELECT is RETURN", source.span(i, i + 1), (edit,))
        else:
            yield Change("sql.select", "a SELECT of SQL, not Cypher", source.span(i, i + 1))


def _scalar(source: Source, i: int, close: int) -> Edit | None:
    depth = source.depths[i]
    start = source.find(("FROM",), i, close, depth)
    where = source.find(("WHERE",), start, close, depth)
    table = list(range(start + 1, where))
    if start == close or len(table) not in (2, 3) or not all(map(source.is_name, table)):
        return None
    if len(table) == 3 and source.words[table[1]] != "AS":
        return None
    if not source.aggregates(i + 1, start):
        return None
    label, variable = source.values[table[0]], source.values[table[-1]]
    condition = f" {source.piece(where, close)}" if where < close else ""
    pattern = f"({quote_name(variable)}:{quote_name(label)})"
    returned = source.piece(i + 1, start)
    text = f"COLLECT {{ MATCH {pattern}{condition} RETURN {returned} }}[0]"
    return source.replace(i - 1, close + 1, text)


def casts(source: Source) -> Iterator[Change]:
    """``CAST(x AS INTEGER)`` and ``EXTRACT(YEAR FROM x)``."""
    for i in range(source.count):
        if source.kinds[i + 1] != "(" or i + 1 not in source.partner:
            continue
        close = source.partner[i + 1]
        depth = source.depths[i + 1] + 1
        if source.words[i] == "CAST":
            word = source.find(("AS",), i + 2, close, depth)
            function = _CASTS.get(source.words[word + 1]) if word < close else None
            if function is not None:
                edit = source.replace(i, close + 1, f"{function}({source.piece(i + 2, word)})")
                message = f"CAST is {function}()"
                yield Change("sql.cast", message, source.span(i, close + 1), (edit,))
        elif source.words[i] == "EXTRACT" and source.words[i + 3] == "FROM":
            component = source.values[i + 2].lower()
            inner = source.piece(i + 4, close)
            subject = inner if re.fullmatch(r"[\w.]+", inner) else f"({inner})"
            edit = source.replace(i, close + 1, f"{subject}.{component}")
            message = f"EXTRACT({component} FROM x) is x.{component}"
            yield Change("sql.extract", message, source.span(i, close + 1), (edit,))


def quotes(source: Source) -> Iterator[Change]:
    """Names in quotes: ``AS 'Total'``, ``n."name"``, ``(:"Person")``."""
    kinds = source.kinds
    for i in range(1, source.count):
        if kinds[i] != "str":
            continue
        before = kinds[i - 1]
        label = (
            before == ":"
            and i > 1
            and (
                kinds[i - 2] in ("(", "[") or (source.is_name(i - 2) and kinds[i - 3] in ("(", "["))
            )
        )
        if before == "." or source.words[i - 1] == "AS" or label:
            name = quote_name(string_value(source.values[i]))
            message = "a name takes no quotes, but back-ticks where it needs them"
            edit = source.replace(i, i + 1, name)
            yield Change("quotes.name", message, source.span(i, i + 1), (edit,))


def subqueries(source: Source) -> Iterator[Change]:
    """``size{(a)--()}``, and conditions joined inside ``EXISTS { (a)--(b) AND ... }``."""
    for i in range(source.count):
        if source.kinds[i + 1] != "{" or i + 1 not in source.partner:
            continue
        close = source.partner[i + 1]
        if source.words[i] in ("SIZE", "LENGTH") and source.kinds[i + 2] == "(":
            edit = source.replace(i, i + 1, "COUNT")
            message = "patterns are counted by COUNT { }"
            yield Change("removed.size_pattern", message, source.span(i, i + 1), (edit,))
        elif source.words[i] == "EXISTS" and source.kinds[i + 2] == "(":
            yield from _exists(source, i, close)


def _exists(source: Source, i: int, close: int) -> Iterator[Change]:
    depth = source.depths[i + 2]
    end = source.find(("WHERE", "MATCH", "RETURN", "WITH"), i + 2, close, depth)
    places = [
        j
        for j in range(i + 2, end)
        if source.depths[j] == depth and source.words[j] in ("AND", "OR")
    ]
    if not places:
        return
    starts = [i + 2, *(p + 1 for p in places)]
    ends = [*places, end]
    patterns = [_is_pattern(source, a, b) for a, b in zip(starts, ends, strict=True)]
    span = source.span(i, close + 1)
    if {source.words[p] for p in places} == {"OR"}:
        if end == close and all(patterns):
            tests = [
                f"EXISTS {{ {source.piece(a, b)} }}" for a, b in zip(starts, ends, strict=True)
            ]
            edit = source.replace(i, close + 1, f"({' OR '.join(tests)})")
            yield Change("subquery.or", "each alternative is an EXISTS of its own", span, (edit,))
            return
        yield Change("subquery.or", "EXISTS { } holds one pattern, no condition", span)
        return
    if any(source.words[p] == "OR" for p in places) or not patterns[0]:
        yield Change("subquery.and", "EXISTS { } holds one pattern, no condition", span)
        return
    first = next((k for k, p in enumerate(patterns) if not p), len(patterns))
    if not all(patterns[:first]) or any(patterns[first:]):
        yield Change("subquery.and", "EXISTS { } holds one pattern, no condition", span)
        return
    edits: list[Edit] = []
    for k, place in enumerate(places, 1):
        if k < first:
            edits.append(Edit(source.ends[place - 1], source.ends[place], ","))
        elif k == first:
            edits.append(source.replace(place, place + 1, "WHERE"))
    if end < close:
        if first < len(patterns):
            edits.append(source.replace(end, end + 1, "AND"))
        elif source.words[end] != "WHERE":
            return
    message = "patterns are joined by commas, and conditions follow a WHERE"
    yield Change("subquery.and", message, span, tuple(edits))


def _is_pattern(source: Source, first: int, last: int) -> bool:
    """Whether tokens read ``(a)-[...]->(b)``."""
    if source.kinds[first] != "(" or first not in source.partner:
        return False
    after = source.partner[first] + 1
    return after < last and source.kinds[after] in ("-", "<")
