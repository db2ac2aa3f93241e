"""Rewriting by position. The oracle: the text's new tree equals the old one with the node changed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cypherforge.cypher import Edit, apply_edits, ast, parse, rewrite
from cypherforge.cypher.tokens import tokenize

QUERIES = [
    "MATCH (p:Person {name: 'a}b'})<-[:ACTED_IN]-(m:Movie) RETURN p.name, m.title",
    "MATCH (p:Person) < - [r:ACTED_IN {x: 1, y: 2}] - (m) /* -[:X]-> */ WHERE p.x = 1 AND (m.y = 2 OR m.z) RETURN p",
    "// was (m:Movie)-[:ACTED_IN]->(p)\nMATCH (p)\n  // here\n  -[:A|B*1..3]->(q), (q)--(r) RETURN DISTINCT p.x AS x, count(DISTINCT q) /* n */ ORDER BY x SKIP 1 LIMIT 5",
    "MATCH p = shortestPath((a:A)-[*..4]-(b:B)) WHERE (a.x = 'WHERE' AND NOT (b.y > 1)) AND a.z IN [1, 2] RETURN *",
    "MATCH ((x)-[:R]->(y) WHERE x.v < y.v){1,3} (z:`my label`) OPTIONAL MATCH (z)<-[s:S]-(w WHERE w.x = 1 AND w.y) WITH z, collect(w) AS ws ORDER BY z.x WHERE z.q = $q RETURN z {.a, b: 1}, ws[0]",
    "MATCH (a)-[r:R WHERE r.x = 1 // c\n]->(b) WITH DISTINCT a, b LIMIT 3 CALL (a) { MATCH (a)-->(c) RETURN count(c) AS n } RETURN n, 'x//y' AS t",
    "MATCH (a) WHERE a.x = 1 // why\n AND a.y = 2 // and\n RETURN a",
    "MATCH (a)-[:R]->{2}(b)<--(c) WHERE EXISTS { (a)-[:`T x`]->() WHERE a.q } RETURN *, a.x LIMIT 1",
]  # fmt: skip

Change = Callable[[Any], None]
Case = tuple[list[Edit], ast.Query]


def _cases(text: str) -> Iterator[tuple[str, list[Edit], ast.Query]]:
    """Every operation on every node it fits: its edits, and the tree that it should make."""
    query = parse(text)
    nodes = list(query.walk())

    def changed(index: int, change: Change) -> ast.Query:
        twin = copy.deepcopy(query)
        change(list(twin.walk())[index])
        return twin

    for i, node in enumerate(nodes):
        for name, edits, change in _operations(query, node):
            yield name, edits, changed(i, change)


def _set(field: str, value: Any) -> Change:
    return lambda node: setattr(node, field, value)


def _pop(place: int) -> Change:
    return lambda node: node.items.pop(place)


def _condition(text: str) -> ast.Expression:
    body: Any = parse(f"RETURN {text}").body
    expression: ast.Expression = body.clauses[0].items[0].expression
    return expression


def _with_condition(holder: Any, extra: ast.Expression) -> None:
    inline = isinstance(holder, ast.NodePattern | ast.RelationshipPattern)
    old = holder.where if inline or holder.where is None else holder.where.predicate
    new = extra if old is None else ast.Binary((0, 0), "AND", old, extra)
    holder.where = new if inline else ast.Where((0, 0), new)


def _without(holder: Any, path: list[str]) -> None:
    """Remove the conjunct that a path of left and right turns leads to."""
    inline = isinstance(holder, ast.NodePattern | ast.RelationshipPattern)
    root = holder.where if inline else holder.where.predicate

    def rest(node: Any, turns: list[str]) -> Any:
        if not turns:
            return None
        inner = rest(getattr(node, turns[0]), turns[1:])
        if inner is None:
            return getattr(node, "right" if turns[0] == "left" else "left")
        setattr(node, turns[0], inner)
        return node

    new = rest(root, path)
    holder.where = new if inline or new is None else ast.Where((0, 0), new)


def _conjunct_paths(node: Any) -> Iterator[tuple[list[str], ast.Expression]]:
    if isinstance(node, ast.Binary) and node.op == "AND":
        for side in ("left", "right"):
            for path, leaf in _conjunct_paths(getattr(node, side)):
                yield [side, *path], leaf
    else:
        yield [], node


def _operations(query: ast.Query, node: Any) -> Iterator[tuple[str, list[Edit], Change]]:
    name = ast.LabelName((0, 0), "new name")
    if isinstance(node, ast.RelationshipPattern):
        if node.direction != "both":
            turned = "left" if node.direction == "right" else "right"
            yield (
                "flip",
                rewrite.flip_relationship(query, node),
                lambda n: setattr(n, "direction", turned),
            )
        for way in ("left", "right", "both"):
            yield (
                way,
                rewrite.set_direction(query, node, way),
                _set("direction", way),
            )
        yield (
            "types",
            rewrite.set_types(query, node, ["new name"]),
            lambda n: setattr(n, "types", name),
        )
        yield "no types", rewrite.set_types(query, node, []), lambda n: setattr(n, "types", None)
        star = ast.Quantifier((0, 0), 2, 4)
        yield (
            "length",
            rewrite.set_length(query, node, "*2..4"),
            lambda n: setattr(n, "quantifier", star),
        )
        yield (
            "single",
            rewrite.set_length(query, node, ""),
            lambda n: setattr(n, "quantifier", None),
        )
    if isinstance(node, ast.NodePattern):
        yield (
            "labels",
            rewrite.set_labels(query, node, ["new name"]),
            lambda n: setattr(n, "labels", name),
        )
        yield "no labels", rewrite.set_labels(query, node, []), lambda n: setattr(n, "labels", None)
    if isinstance(node, ast.LabelName):
        yield "label", rewrite.rename_label(query, node, "a`b"), lambda n: setattr(n, "name", "a`b")
    if isinstance(node, ast.PropertyAccess):
        yield (
            "property",
            rewrite.rename_property(query, node, "a b"),
            lambda n: setattr(n.key, "name", "a b"),
        )
    if isinstance(node, ast.StringLiteral):
        yield (
            "literal",
            rewrite.replace_literal(query, node, "it's"),
            lambda n: setattr(n, "value", "it's"),
        )
    if isinstance(node, ast.Match | ast.With | ast.NodePattern) or (
        isinstance(node, ast.RelationshipPattern) and node.variable is not None
    ):
        extra = _condition("q.x = 1 OR q.y")
        edits = rewrite.add_condition(query, node, "q.x = 1 OR q.y")
        yield "add condition", edits, lambda n: _with_condition(n, extra)
        if node.where is not None:
            predicate = node.where.predicate if isinstance(node.where, ast.Where) else node.where
            for path, leaf in _conjunct_paths(predicate):
                edits = rewrite.drop_condition(query, node, leaf)
                yield "drop condition", edits, lambda n, p=path: _without(n, p)  # type: ignore[misc]
    if isinstance(node, ast.RelationshipPattern | ast.NodePattern) and isinstance(
        node.properties, ast.MapLiteral
    ):
        for k, entry in enumerate(node.properties.entries):

            def drop(n: Any, k: int = k) -> None:
                del n.properties.entries[k]
                n.properties = n.properties if n.properties.entries else None

            yield "drop entry", rewrite.drop_condition(query, node, entry), drop
    if isinstance(node, ast.Match):
        yield (
            "optional",
            rewrite.set_optional(query, node, not node.optional),
            lambda n: setattr(n, "optional", not n.optional),
        )
    if isinstance(node, ast.Projection) or (isinstance(node, ast.FunctionCall) and node.args):
        yield (
            "distinct",
            rewrite.set_distinct(query, node, not node.distinct),
            lambda n: setattr(n, "distinct", not n.distinct),
        )
    if isinstance(node, ast.Projection):
        one = ast.IntegerLiteral((0, 0), 7)
        key = ast.OrderBy((0, 0), [ast.SortItem((0, 0), _condition("q.x"), True)])
        yield (
            "order",
            rewrite.set_order_by(query, node, "q.x DESC"),
            lambda n: setattr(n, "order_by", key),
        )
        yield (
            "no order",
            rewrite.set_order_by(query, node, None),
            lambda n: setattr(n, "order_by", None),
        )
        yield (
            "skip",
            rewrite.set_skip(query, node, 7),
            lambda n: setattr(n, "skip", ast.Skip((0, 0), one)),
        )
        yield (
            "limit",
            rewrite.set_limit(query, node, 7),
            lambda n: setattr(n, "limit", ast.Limit((0, 0), one)),
        )
        yield "no limit", rewrite.set_limit(query, node, None), lambda n: setattr(n, "limit", None)
        item = ast.ProjectionItem((0, 0), _condition("q.x"), ast.Variable((0, 0), "a b"))
        yield (
            "add item",
            rewrite.add_item(query, node, "q.x", "a b"),
            lambda n: n.items.append(item),
        )
        if len(node.items) > 1:
            for k, old in enumerate(node.items):
                yield (
                    "drop item",
                    rewrite.drop_item(query, node, old),
                    _pop(k),
                )


def _comments(text: str) -> list[str]:
    return [t.text.strip() for t in tokenize(text) if not t.kind and t.text.strip()]


@pytest.mark.parametrize("text", QUERIES)
def test_an_operation_changes_its_node_and_nothing_else(text: str) -> None:
    done = 0
    for name, edits, expected in _cases(text):
        result = apply_edits(text, edits)
        assert parse(result) == expected, f"{name}: {result}"
        kept = "\n".join(_comments(result))
        for comment in _comments(text):
            assert all(line.strip() in kept for line in comment.splitlines()), f"{name}: {result}"
        done += 1
    assert done > 15


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("MATCH (p:Person) <- [:ACTED_IN] - (m) RETURN p", "MATCH (p:Person) - [:ACTED_IN] -> (m) RETURN p"),
        ("MATCH (m)-[:ACTED_IN*1..3]->(p) RETURN p", "MATCH (m)<-[:ACTED_IN*1..3]-(p) RETURN p"),
        ("MATCH (p:A|B)\n<-[:R]-(m) RETURN p", "MATCH (p:A|B)\n-[:R]->(m) RETURN p"),
        ("MATCH (p {n: 'a}b<-['})<-[:R]-(m) RETURN p", "MATCH (p {n: 'a}b<-['})-[:R]->(m) RETURN p"),
        ("MATCH (p)<--(m) // <--\nRETURN p", "MATCH (p)-->(m) // <--\nRETURN p"),
    ],
)  # fmt: skip
def test_flipping_in_place(before: str, after: str) -> None:
    query = parse(before)
    hop = next(n for n in query.walk() if isinstance(n, ast.RelationshipPattern))
    assert apply_edits(before, rewrite.flip_relationship(query, hop)) == after


def test_what_makes_no_sense_is_refused() -> None:
    query = parse("MATCH (a:A|B)--(b) RETURN count(*)")
    match: Any = query.body.clauses[0]  # type: ignore[union-attr]
    node, hop, _ = match.patterns[0].elements
    with pytest.raises(ValueError, match="undirected"):
        rewrite.flip_relationship(query, hop)
    with pytest.raises(ValueError, match="exactly one"):
        rewrite.rename_label(query, node, "C")
    with pytest.raises(ValueError, match="no condition"):
        rewrite.drop_condition(query, match, _condition("a.x"))
    with pytest.raises(ValueError, match="only column"):
        returned: Any = query.body.clauses[1]  # type: ignore[union-attr]
        rewrite.drop_item(query, returned, returned.items[0])
