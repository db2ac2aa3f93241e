"""Values held back stay out of the sample rows that mining keeps."""

from __future__ import annotations

import pytest

from cypherforge.graph.base import Result
from cypherforge.graph.policy import ALL_VALUES, ValuePolicy
from cypherforge.graph.schema import Label, Property, Schema
from cypherforge.graph.values import NodeValue
from cypherforge.miner.withhold import may_show

SCHEMA = Schema.build(
    labels=[
        Label("Person", (Property("name", "STRING"), Property("salary", "FLOAT"))),
        Label("Town", (Property("name", "STRING"), Property("size", "INTEGER"))),
    ]
)


def rows(*values: object) -> Result:
    return Result(("c",), tuple((value,) for value in values))


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("MATCH (p:Person) RETURN p.name", True),
        ("MATCH (p:Person) RETURN count(*) AS people", True),
        ("MATCH (p:Person) RETURN p.salary", False),
        ("MATCH (p:Person) RETURN p.`salary` AS s", False),
        ("MATCH (p:Person) WITH p.salary AS x RETURN x + 1", False),
        ("MATCH (p:Person) RETURN p {.salary}", False),
        ("MATCH (p:Person) RETURN [k IN keys(p) | p[k]]", False),
        ("MATCH (p:Person) RETURN apoc.map.values(p, keys(p))", False),
        ("CALL db.something() YIELD value RETURN value", False),
        ("MATCH (p:Person RETURN p.name", False),
    ],
)
def test_rows_are_kept_only_where_the_query_cannot_carry_the_value(query: str, kept: bool) -> None:
    policy = ValuePolicy.of(["Person.salary"])
    assert may_show(query, rows(1), SCHEMA, policy) is kept
    assert may_show(query, rows(1), SCHEMA, ALL_VALUES)
    assert not may_show(query, rows(1), SCHEMA, ValuePolicy.of(no_values=True))


def test_a_whole_node_or_a_map_is_never_kept_beside_an_exclusion() -> None:
    policy = ValuePolicy.of(["Person.salary"])
    node = NodeValue("1", frozenset({"Person"}), {"salary": 9.5})
    query = "MATCH (p:Person) RETURN p"
    assert not may_show(query, rows(node), SCHEMA, policy)
    assert not may_show(query, rows([node]), SCHEMA, policy)
    assert not may_show("MATCH (p) RETURN properties(p)", rows({"salary": 1}), SCHEMA, policy)


def test_a_whole_label_stands_for_its_properties() -> None:
    policy = ValuePolicy.of(["Town"])
    assert not may_show("MATCH (t:Town) RETURN t.size", rows(1), SCHEMA, policy)
    assert may_show("MATCH (p:Person) RETURN p.salary", rows(1), SCHEMA, policy)
