"""Changing a query by position: each operation returns edits of ``query.text``.

Nothing is written anew that need not change: what lies outside the edits, comments and strings
among it, stays byte for byte, and a comment inside a part that is taken away is kept. Nodes are
those of ``query``; edits of several operations on different nodes may be applied together
(``edits.apply_edits``). An operation that makes no sense on its node raises ``ValueError``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from cypherforge.cypher import ast
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name, quote_string
from cypherforge.cypher.parser import parse
from cypherforge.cypher.render_expressions import level
from cypherforge.cypher.tokens import Tokens, tokenize

Direction = Literal["right", "left", "both"]
Holder = ast.Match | ast.With | ast.CallProcedure | ast.NodePattern | ast.RelationshipPattern


class _Source:
    """A query's tokens by place."""

    def __init__(self, query: ast.Query) -> None:
        self.text = query.text
        self.tokens = Tokens(query.text)

    def at(self, place: int) -> int:
        """Index of the first token that starts at or after ``place``."""
        return bisect_left(self.tokens.starts, place)

    def before(self, place: int) -> int:
        """Index of the last token that ends at or before ``place``."""
        return bisect_right(self.tokens.ends, place) - 1

    def find(self, kind: str, start: int) -> int:
        """Index of the first token of a kind at or after a place."""
        return self.tokens.kinds.index(kind, self.at(start))

    def whole(self, node: ast.Node) -> tuple[int, int]:
        """The span of an operand together with the parentheses around it."""
        start, end = node.span
        kinds = self.tokens.kinds
        while True:
            left, right = self.before(start), self.at(end)
            if left < 0 or kinds[left] != "(" or kinds[right] != ")":
                return start, end
            start, end = self.tokens.starts[left], self.tokens.ends[right]

    def cut(self, start: int, end: int) -> Edit:
        """Take a part away, but for the comments in it."""
        comments = [
            piece
            for token in tokenize(self.text[start:end])
            if not token.kind
            for piece in _comments(token.text)
        ]
        if not comments:
            return Edit(start, end, "")
        last = "\n" if comments[-1].startswith("//") else ""
        return Edit(start, end, " " + "\n".join(comments) + last)

    def cut_with_space_before(self, start: int, end: int) -> Edit:
        """Take a part away together with the white space before it."""
        while start and self.text[start - 1].isspace():
            start -= 1
        # A line comment that ends there needs its line end.
        line = self.text.rfind("\n", 0, start) + 1
        if any(c.startswith("//") and line <= start for c in _comments(self.text[line:start])):
            start += 1
        return self.cut(start, end)


def _comments(trivia: str) -> Iterable[str]:
    place = 0
    while True:
        starts = [p for p in (trivia.find("//", place), trivia.find("/*", place)) if p >= 0]
        if not starts:
            return
        start = min(starts)
        mark = "\n" if trivia[start + 1] == "/" else "*/"
        end = trivia.find(mark, start + 2)
        end = len(trivia) if end < 0 else end + (0 if mark == "\n" else 2)
        yield trivia[start:end].rstrip("\r")
        place = end


# ---------------------------------------------------------------- patterns


def set_direction(
    query: ast.Query, hop: ast.RelationshipPattern, direction: Direction
) -> list[Edit]:
    """Give a relationship the arrow ``right``, ``left`` or none (``both``)."""
    source = _Source(query)
    first, last = source.at(hop.span[0]), source.before(hop.span[1])
    quantifier = hop.quantifier
    if quantifier is not None and quantifier.gql:
        last = source.before(quantifier.span[0])
    tokens = source.tokens
    edits: list[Edit] = []
    for index, kind, wanted in ((first, "<", "left"), (last, ">", "right")):
        present = tokens.kinds[index] == kind
        if present and direction != wanted:
            edits.append(Edit(tokens.starts[index], tokens.ends[index], ""))
        elif not present and direction == wanted:
            place = tokens.starts[index] if kind == "<" else tokens.ends[index]
            edits.append(Edit(place, place, kind))
    return edits


def flip_relationship(query: ast.Query, hop: ast.RelationshipPattern) -> list[Edit]:
    """Turn an arrow round. An undirected relationship has none: ValueError."""
    if hop.direction == "both":
        raise ValueError("an undirected relationship cannot be flipped")
    return set_direction(query, hop, "left" if hop.direction == "right" else "right")


def set_types(query: ast.Query, hop: ast.RelationshipPattern, types: Sequence[str]) -> list[Edit]:
    """Give a relationship other types, any of them; none: it may be of any type."""
    written = "|".join(quote_name(t) for t in types)
    return _set_after_colon(query, hop, hop.types, written, "[")


def set_labels(query: ast.Query, node: ast.NodePattern, labels: Sequence[str]) -> list[Edit]:
    """Give a node other labels, all of them; none: it may have any."""
    written = ":".join(quote_name(label) for label in labels)
    return _set_after_colon(query, node, node.labels, written, "(")


def _set_after_colon(
    query: ast.Query,
    element: ast.NodePattern | ast.RelationshipPattern,
    old: ast.LabelExpression | None,
    new: str,
    bracket: str,
) -> list[Edit]:
    source = _Source(query)
    if old is not None:
        start, end = source.whole(old) if bracket == "[" else old.span
        if new:
            return [Edit(start, end, new)]
        colon = source.before(start)
        return [source.cut(source.tokens.starts[colon], end)]
    if not new:
        return []
    return _insert_inside(source, element, f":{new}", element.variable)


def _insert_inside(
    source: _Source,
    element: ast.NodePattern | ast.RelationshipPattern,
    text: str,
    after: ast.Node | None,
) -> list[Edit]:
    """Insert into a node or a relationship, after a part of it, with brackets where none are."""
    if after is not None:
        return [Edit(after.span[1], after.span[1], text)]
    tokens = source.tokens
    index = source.at(element.span[0])
    if isinstance(element, ast.NodePattern):
        return [Edit(tokens.ends[index], tokens.ends[index], text)]
    index += tokens.kinds[index] == "<"
    if tokens.kinds[index + 1] == "[":
        place = tokens.ends[index + 1]
        return [Edit(place, place, text)]
    return [Edit(tokens.ends[index], tokens.ends[index], f"[{text}]")]


def set_length(query: ast.Query, hop: ast.RelationshipPattern, length: str) -> list[Edit]:
    """Give a relationship a length such as ``*1..3``; ``""``: a single one."""
    source = _Source(query)
    if hop.quantifier is None:
        return _insert_inside(source, hop, length, hop.types or hop.variable) if length else []
    if hop.quantifier.gql and length:
        return [
            source.cut(*hop.quantifier.span),
            *_insert_inside(source, hop, length, hop.types or hop.variable),
        ]
    return [Edit(*hop.quantifier.span, length)]


def set_optional(query: ast.Query, match: ast.Match, optional: bool) -> list[Edit]:
    """Make a MATCH optional, or not."""
    source = _Source(query)
    start = match.span[0]
    if match.optional == optional:
        return []
    if optional:
        # The short form of a subquery has no MATCH.
        short = source.tokens.kinds[source.at(start)] != "MATCH"
        return [Edit(start, start, "OPTIONAL MATCH " if short else "OPTIONAL ")]
    return [source.cut(start, source.tokens.starts[source.at(start) + 1])]


# ---------------------------------------------------------------- names and values


def rename_type(
    query: ast.Query, node: ast.LabelName | ast.RelationshipPattern, name: str
) -> list[Edit]:
    """Rename a relationship type where it is written; a relationship must have exactly one."""
    name_node = _only_name(node.types) if isinstance(node, ast.RelationshipPattern) else node
    return [Edit(*name_node.span, quote_name(name))]


def rename_label(query: ast.Query, node: ast.LabelName | ast.NodePattern, name: str) -> list[Edit]:
    """Rename a label where it is written; a node must have exactly one."""
    name_node = _only_name(node.labels) if isinstance(node, ast.NodePattern) else node
    return [Edit(*name_node.span, quote_name(name))]


def _only_name(labels: ast.LabelExpression | None) -> ast.LabelName:
    if isinstance(labels, ast.LabelName):
        return labels
    raise ValueError("not exactly one label or type: rename one by its own node")


def rename_property(
    query: ast.Query,
    node: ast.PropertyAccess | ast.MapEntry | ast.MapProjectionItem | ast.Name,
    name: str,
) -> list[Edit]:
    """Rename a property key where it is read, matched or projected."""
    key = node if isinstance(node, ast.Name) else node.key
    if key is None:
        raise ValueError("this item of a map projection names no property")
    return [Edit(*key.span, quote_name(name))]


def rename_variable(query: ast.Query, uses: Iterable[ast.Variable], name: str) -> list[Edit]:
    """Rename a variable at all the places given (``bindings.resolve`` finds those of an entity)."""
    return [Edit(*span, quote_name(name)) for span in sorted({v.span for v in uses})]


def replace_literal(query: ast.Query, node: ast.Expression, value: Any) -> list[Edit]:
    """Put another value in the place of an expression: str, int, float, bool, None, list, dict."""
    return [Edit(*node.span, _literal(value))]


def replace_expression(query: ast.Query, node: ast.Expression, text: str) -> list[Edit]:
    """Put other Cypher in the place of an expression, in parentheses where it is not an atom."""
    return [Edit(*node.span, _operand(text, 12))]


def _literal(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(value), repr(value))
    if isinstance(value, str):
        return quote_string(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{quote_name(k)}: {_literal(v)}' for k, v in value.items())}}}"
    raise ValueError(f"a {type(value).__name__} has no literal in Cypher")


def _operand(text: str, floor: int) -> str:
    """``text`` as an operand: in parentheses where it binds less tightly than ``floor``."""
    body = parse(f"RETURN {text}").body
    assert isinstance(body, ast.SingleQuery)
    clause = body.clauses[0]
    assert isinstance(clause, ast.Return)
    return text if level(clause.items[0].expression) >= floor else f"({text})"


# ---------------------------------------------------------------- conditions


def add_condition(query: ast.Query, holder: Holder | ast.Filter, *conditions: str) -> list[Edit]:
    """Let a clause or a pattern element have more conditions, with a WHERE where it has none."""
    source = _Source(query)
    added = " AND ".join(_operand(c, 3) for c in conditions)
    predicate = _predicate(holder)
    if predicate is not None:
        start, end = source.whole(predicate)
        if level(predicate) < 3 and (start, end) == predicate.span:
            return [Edit(start, start, "("), Edit(end, end, f") AND {added}")]
        return [Edit(end, end, f" AND {added}")]
    return [Edit(place := _where_place(source, holder), place, f" WHERE {added}")]


def _predicate(holder: Holder | ast.Filter) -> ast.Expression | None:
    if isinstance(holder, ast.Filter):
        return holder.predicate
    where = holder.where
    return where.predicate if isinstance(where, ast.Where) else where


def _where_place(source: _Source, holder: Holder | ast.Filter) -> int:
    """Where a WHERE can be inserted: after all that may stand before it."""
    if isinstance(holder, ast.Match):
        parts: list[ast.Node] = [*holder.patterns, *holder.hints]
        if holder.search is not None:
            parts.append(holder.search)
        return max(p.span[1] for p in parts)
    if isinstance(holder, ast.NodePattern):
        return source.tokens.starts[source.before(holder.span[1])]
    if isinstance(holder, ast.RelationshipPattern):
        inside = [holder.variable, holder.types, holder.quantifier, holder.properties]
        ends = [p.span[1] for p in inside if p is not None and p is not _gql(holder)]
        if not ends:
            raise ValueError("a condition needs a variable of the relationship to speak of")
        return max(ends)
    if isinstance(holder, ast.CallProcedure) and not (holder.yields or holder.yield_star):
        raise ValueError("a procedure without YIELD takes no WHERE")
    return holder.span[1]


def _gql(hop: ast.RelationshipPattern) -> ast.Quantifier | None:
    return hop.quantifier if hop.quantifier is not None and hop.quantifier.gql else None


def drop_condition(
    query: ast.Query,
    holder: Holder | ast.Filter,
    condition: ast.Expression | ast.MapEntry,
) -> list[Edit]:
    """Take one condition away: a part that AND joins, or an entry of an inline map.

    With the last condition the WHERE or the map goes too; of a FILTER, the clause.
    """
    source = _Source(query)
    if isinstance(condition, ast.MapEntry):
        return _drop_entry(source, holder, condition)
    predicate = _predicate(holder)
    if predicate is None:
        raise ValueError("the holder has no condition")
    if predicate is condition:
        if isinstance(holder, ast.Filter):
            return [source.cut_with_space_before(*holder.span)]
        start, end = source.whole(predicate)
        keyword = source.before(start)
        return [source.cut_with_space_before(source.tokens.starts[keyword], end)]
    stack = [predicate]
    while stack:
        node = stack.pop()
        if not (isinstance(node, ast.Binary) and node.op == "AND"):
            continue
        left, right = source.whole(node.left), source.whole(node.right)
        if node.left is condition:
            return [source.cut(left[0], right[0])]
        if node.right is condition:
            return [source.cut(left[1], right[1])]
        stack += (node.left, node.right)
    raise ValueError("the condition is no part of the holder's conjunction")


def _drop_entry(source: _Source, holder: Holder | ast.Filter, entry: ast.MapEntry) -> list[Edit]:
    properties = getattr(holder, "properties", None)
    entries = properties.entries if isinstance(properties, ast.MapLiteral) else []
    if properties is not None and len(entries) == 1 and entries[0] is entry:
        return [source.cut_with_space_before(*properties.span)]
    return [_drop_of_list(source, entries, entry)]


def _drop_of_list(source: _Source, items: Sequence[ast.Node], item: ast.Node) -> Edit:
    """Take one of several items away, with the comma before it (of the first: after it)."""
    place = next((i for i, other in enumerate(items) if other is item), None)
    if place is None:
        raise ValueError("the item is none of these")
    if place:
        return source.cut(items[place - 1].span[1], item.span[1])
    return source.cut(item.span[0], items[1].span[0])


# ---------------------------------------------------------------- projections


def set_distinct(
    query: ast.Query, node: ast.Projection | ast.FunctionCall, distinct: bool
) -> list[Edit]:
    """DISTINCT of RETURN and WITH, or of an aggregate such as ``count(x)``; or not."""
    if node.distinct == distinct:
        return []
    source = _Source(query)
    tokens = source.tokens
    if isinstance(node, ast.FunctionCall):
        if not node.args:
            raise ValueError("a function without an argument takes no DISTINCT")
        index = source.at(node.name_span[1])
        inserted = "DISTINCT "
    else:
        index = source.at(node.span[0])
        inserted = " DISTINCT"
    if distinct:
        return [Edit(tokens.ends[index], tokens.ends[index], inserted)]
    index += 1
    return [source.cut(tokens.starts[index], tokens.starts[index + 1])]


def set_order_by(query: ast.Query, node: ast.Projection, keys: str | None) -> list[Edit]:
    """ORDER BY these keys (``n.x DESC, n.y``); None: no order."""
    return _set_tail(query, node, "ORDER BY", node.order_by, keys, 0)


def set_skip(query: ast.Query, node: ast.Projection, count: int | str | None) -> list[Edit]:
    """SKIP so many rows (a number or an expression); None: none."""
    return _set_tail(query, node, "SKIP", node.skip, count, 1)


def set_limit(query: ast.Query, node: ast.Projection, count: int | str | None) -> list[Edit]:
    """LIMIT to so many rows (a number or an expression); None: no limit."""
    return _set_tail(query, node, "LIMIT", node.limit, count, 2)


def _set_tail(
    query: ast.Query,
    node: ast.Projection,
    word: str,
    old: ast.Node | None,
    new: int | str | None,
    rank: int,
) -> list[Edit]:
    source = _Source(query)
    if old is not None:
        if new is None:
            return [source.cut_with_space_before(*old.span)]
        if isinstance(old, ast.OrderBy):
            start = source.whole(old.items[0].expression)[0]
        else:
            start = source.whole(next(old.children()))[0]
        return [Edit(start, old.span[1], str(new))]
    if new is None:
        return []
    earlier = [p for p in (node.order_by, node.skip, node.limit)[:rank] if p is not None]
    place = earlier[-1].span[1] if earlier else _items_end(source, node)
    return [Edit(place, place, f" {word} {new}")]


def _items_end(source: _Source, node: ast.Projection) -> int:
    if node.items:
        return node.items[-1].span[1]
    return source.tokens.ends[source.find("*", node.span[0])]


def add_item(
    query: ast.Query, node: ast.Projection, expression: str, alias: str | None = None
) -> list[Edit]:
    """One more column at the end."""
    place = _items_end(_Source(query), node)
    written = expression if alias is None else f"{expression} AS {quote_name(alias)}"
    return [Edit(place, place, f", {written}")]


def drop_item(query: ast.Query, node: ast.Projection, item: ast.ProjectionItem) -> list[Edit]:
    """Take one column away; the only one cannot go: ValueError."""
    source = _Source(query)
    if len(node.items) == 1:
        if not node.star or node.items[0] is not item:
            raise ValueError("the only column cannot be taken away")
        star = source.tokens.ends[source.find("*", node.span[0])]
        return [source.cut(star, item.span[1])]
    return [_drop_of_list(source, node.items, item)]
