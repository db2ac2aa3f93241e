"""SQL's ways to end a query: GROUP BY, HAVING, a WHERE after RETURN, FETCH FIRST, TOP, OFFSET.

Cypher groups by the columns that aggregate nothing, and filters groups by a WITH and a WHERE.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cypherforge.cypher.dialects.source import Change, Source
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name

_TAIL = ("GROUP", "HAVING", "WHERE", "ORDER", "SKIP", "OFFSET", "LIMIT", "FETCH", "QUALIFY")


@dataclass(frozen=True, slots=True)
class _Item:
    """One column: its expression's tokens, and its alias if it has one."""

    first: int
    last: int
    alias: str | None


class _Projection:
    """RETURN or WITH at token ``head``, cut into columns and what follows them."""

    def __init__(self, source: Source, head: int) -> None:
        self.source = source
        self.head = head
        self.end = source.clause_end(head)
        depth = source.depths[head]
        first = head + 1
        if source.words[first] in ("DISTINCT", "ALL"):
            first += 1
        self.items_end = source.find(_TAIL, first, self.end, depth)
        self.items = [self._item(a, b) for a, b in source.commas(first, self.items_end)]
        self.parts: dict[str, tuple[int, int]] = {}
        start = self.items_end
        while start < self.end:
            stop = source.find(_TAIL, start + 1, self.end, depth)
            self.parts.setdefault(source.words[start], (start, stop))
            start = stop

    def _item(self, first: int, last: int) -> _Item:
        source = self.source
        if last - first > 2 and source.words[last - 2] == "AS" and source.is_name(last - 1):
            return _Item(first, last - 2, source.values[last - 1])
        return _Item(first, last, None)

    def name(self, item: _Item) -> str:
        """The column's name in what follows: its alias, its variable, or its text in back-ticks."""
        if item.alias is not None:
            return quote_name(item.alias)
        return quote_name(self.source.piece(item.first, item.last))


def grouping(source: Source) -> Iterator[Change]:
    """GROUP BY, HAVING and WHERE after the columns of a RETURN or WITH."""
    for head in range(source.count):
        if source.words[head] not in ("RETURN", "WITH") or source.kinds[head - 1] in (
            ".",
            ":",
            "$",
        ):
            continue
        if source.words[head] == "WITH" and source.words[head - 1] in ("STARTS", "ENDS"):
            continue
        projection = _Projection(source, head)
        foreign: list[str] = [w for w in ("GROUP", "HAVING", "QUALIFY") if w in projection.parts]
        if source.words[head] == "RETURN" and "WHERE" in projection.parts:
            foreign.append("WHERE")
        if foreign and projection.items:
            yield from _regroup(source, projection)


def _regroup(source: Source, projection: _Projection) -> Iterator[Change]:
    parts = projection.parts
    is_return = source.words[projection.head] == "RETURN"
    group = parts.get("GROUP")
    having = parts.get("HAVING") or parts.get("QUALIFY")
    where = parts.get("WHERE") if is_return else None
    if group is not None and source.words[group[0] + 1] != "BY":
        return
    edits: list[Edit] = []
    missing: list[str] = []
    if group is not None:
        span = source.span(*group)
        found = _missing_keys(source, projection, group)
        if found is None:
            message = "GROUP BY names keys that the columns do not follow from"
            yield Change("sql.group_by", message, span)
            return
        missing = found
        edits.append(source.drop(*group))
    conditions = [p for p in (where, having) if p is not None]
    if not conditions and not missing:
        message = "GROUP BY dropped: Cypher groups by the columns that aggregate nothing"
        yield Change("sql.group_by", message, source.span(*(group or (0, 1))), tuple(edits))
        return
    span = source.span(*(conditions[0] if conditions else group or (0, 1)))
    code = "sql.having" if conditions else "sql.group_by"
    staged = _stage(source, projection, conditions, missing, is_return)
    if staged is None:
        yield Change(code, "the condition speaks of what the columns no longer hold", span)
        return
    edits += staged
    what = "WITH ... WHERE" if conditions else "a WITH that holds the keys"
    yield Change(code, f"grouping of SQL written as {what}", span, tuple(edits))


def _missing_keys(
    source: Source, projection: _Projection, group: tuple[int, int]
) -> list[str] | None:
    """Keys that no column holds; None where the columns would have to be grouped otherwise."""
    keys = {source.key(a, b): source.piece(a, b) for a, b in source.commas(group[0] + 2, group[1])}
    plain = [i for i in projection.items if not source.aggregates(i.first, i.last)]
    held = {source.key(i.first, i.last) for i in plain} | {i.alias for i in plain if i.alias}
    missing = {key: text for key, text in keys.items() if key not in held and not key.isdigit()}
    if not missing:
        return []
    for item in plain:
        key = source.key(item.first, item.last)
        if not (key in keys or (item.alias in keys) or key.split(" . ")[0] in keys):
            return None
    return list(missing.values())


def _stage(
    source: Source,
    projection: _Projection,
    conditions: list[tuple[int, int]],
    missing: list[str],
    is_return: bool,
) -> list[Edit] | None:
    """Edits that compute the columns in a WITH, filter them, and return them after."""
    edits: list[Edit] = []
    names: dict[str, str] = {}
    returned: list[str] = []
    added: list[str] = []
    for item in projection.items:
        text = source.piece(item.first, item.last)
        key = source.key(item.first, item.last)
        if text == "*":
            return None
        follows = [k for k in missing if key.startswith(f"{k} . ") and " " not in k]
        if missing and follows:
            # A property of a key: read after grouping, from the key.
            returned.append(
                source.piece(item.first, item.last)
                if item.alias is None
                else f"{text} AS {quote_name(item.alias)}"
            )
            continue
        name = projection.name(item)
        returned.append(name)
        names[key] = name
        if item.alias is None and name != text:
            added.append(f"{text} AS {name}")
        else:
            added.append(
                source.piece(item.first, item.last if item.alias is None else item.last + 2)
            )
    visible = {n.strip("`").replace("``", "`") for n in names.values()}
    kept: list[str] = []
    for number, key in enumerate(missing, 1):
        simple = key.isidentifier()
        kept.append(key if simple else f"{key} AS group_key_{number}")
        visible.add(key)
    wanted: list[str] = []
    for first, last in conditions:
        for a, b in source.aggregates(first + 1, last):
            key = source.key(a, b)
            if key not in names:
                names[key] = f"having_{len(wanted) + 1}"
                visible.add(names[key])
                wanted.append(f"{source.piece(a, b)} AS {names[key]}")
    order = projection.parts.get("ORDER")
    ranges = [(first + 1, last) for first, last in conditions] + ([order] if order else [])
    replaced: list[tuple[int, int, str]] = []
    for first, last in ranges:
        replaced += _occurrences(source, first, last, names)
    covered = [range(a, b) for a, b, _ in replaced]
    for first, last in conditions:
        free = [i for i in range(first + 1, last) if not any(i in r for r in covered)]
        used = {v for i in free for v in source.variables(i, i + 1)}
        if not used <= visible:
            return None
    if not is_return:
        # WITH may be followed by its own WHERE: only the words change.
        first, last = conditions[0] if conditions else (0, 0)
        if len(conditions) != 1 or missing or wanted:
            return None
        edits.append(source.replace(first, first + 1, "WHERE"))
        edits += [source.replace(a, b, text) for a, b, text in replaced if first <= a < last]
        return edits
    start = projection.items[0].first
    end = projection.items[-1]
    last_token = end.last if end.alias is None else end.last + 2
    edits.append(source.replace(projection.head, projection.head + 1, "WITH"))
    edits.append(source.replace(start, last_token, ", ".join([*kept, *added, *wanted])))
    for number, (first, _) in enumerate(conditions):
        edits.append(source.replace(first, first + 1, "AND" if number else "WHERE"))
    edits += [source.replace(a, b, text) for a, b, text in replaced]
    tail = [
        p
        for word, p in projection.parts.items()
        if word in ("ORDER", "SKIP", "OFFSET", "LIMIT", "FETCH")
    ]
    place = min((p[0] for p in tail), default=None)
    if place is not None and conditions and place < conditions[-1][0]:
        return None
    columns = f"RETURN {', '.join(returned)}"
    if place is None:
        edits.append(source.after(projection.end - 1, f" {columns}"))
    else:
        edits.append(source.before(place, f"{columns} "))
    return edits


def _occurrences(
    source: Source, first: int, last: int, names: dict[str, str]
) -> Iterator[tuple[int, int, str]]:
    """Where tokens spell one of these expressions, the longest first, and its name."""
    lengths = sorted({key.count(" ") + 1 for key in names}, reverse=True)
    i = first
    while i < last:
        for size in lengths:
            if i + size <= last and source.kinds[i - 1] != "." and source.kinds[i + size] != ".":
                name = names.get(source.key(i, i + size))
                if name is not None:
                    if name != source.piece(i, i + size):
                        yield i, i + size, name
                    i += size
                    break
        else:
            i += 1


def paging(source: Source) -> Iterator[Change]:
    """FETCH FIRST n ROWS ONLY, TOP n, LIMIT m, n and LIMIT n OFFSET m, NULLS FIRST and LAST."""
    words = source.words
    for i in range(source.count):
        word = words[i]
        if word == "FETCH" and words[i + 1] in ("FIRST", "NEXT"):
            number = i + 2 if source.kinds[i + 2] in ("int", "$") else -1
            last = i + 2 if number < 0 else source.operand_end(number)
            count = "1" if number < 0 else source.piece(number, last)
            while words[last] in ("ROW", "ROWS", "ONLY"):
                last += 1
            edit = source.replace(i, last, f"LIMIT {count}")
            yield Change("sql.fetch", "FETCH FIRST is LIMIT", source.span(i, last), (edit,))
        elif (
            word == "TOP"
            and words[i - 1] in ("RETURN", "DISTINCT", "SELECT")
            and source.kinds[i + 1] == "int"
        ):
            end = source.clause_end(i)
            if "LIMIT" not in words[i:end]:
                edits = (
                    source.drop(i, i + 2),
                    source.after(end - 1, f" LIMIT {source.values[i + 1]}"),
                )
                yield Change("sql.top", "TOP is LIMIT at the end", source.span(i, i + 2), edits)
        elif word == "LIMIT" and source.kinds[i - 1] != ".":
            yield from _limit(source, i)
        elif word in ("OFFSET", "SKIP") and words[i + 2] in ("ROW", "ROWS"):
            edit = source.drop(i + 2, i + 3)
            yield Change("sql.offset", "SKIP takes no ROWS", source.span(i, i + 3), (edit,))
        elif word == "NULLS" and words[i + 1] in ("FIRST", "LAST"):
            yield from _nulls(source, i)


def _limit(source: Source, i: int) -> Iterator[Change]:
    after = source.operand_end(i + 1)
    if source.kinds[after] == "," and source.kinds[after + 1] == "int":
        skip, count = source.piece(i + 1, after), source.values[after + 1]
        edit = source.replace(i, after + 2, f"SKIP {skip} LIMIT {count}")
        yield Change(
            "sql.limit", "LIMIT m, n is SKIP m LIMIT n", source.span(i, after + 2), (edit,)
        )
    elif source.words[after] in ("OFFSET", "SKIP"):
        last = source.operand_end(after + 1)
        if source.words[last] in ("ROW", "ROWS"):
            return
        skip, count = source.piece(after + 1, last), source.piece(i + 1, after)
        edit = source.replace(i, last, f"SKIP {skip} LIMIT {count}")
        yield Change("sql.offset", "SKIP stands before LIMIT", source.span(i, last), (edit,))


def _nulls(source: Source, i: int) -> Iterator[Change]:
    descending = source.words[i - 1] in ("DESC", "DESCENDING")
    last = source.words[i + 1] == "LAST"
    span = source.span(i, i + 2)
    if descending != last:
        message = "Cypher sorts nulls there anyway"
        yield Change("sql.nulls", message, span, (source.drop(i, i + 2),))
        return
    key_end = i - 1 if source.words[i - 1] in ("ASC", "ASCENDING", "DESC", "DESCENDING") else i
    start = source.operand_start(key_end)
    key = source.piece(start, key_end)
    order = " DESC" if not last else ""
    edits = (source.before(start, f"{key} IS NULL{order}, "), source.drop(i, i + 2))
    yield Change("sql.nulls", "nulls are sorted by a key of their own", span, edits)
