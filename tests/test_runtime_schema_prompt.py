"""What the drafts of ``full`` see of a schema."""

from __future__ import annotations

from cypherforge.graph.schema import Schema
from cypherforge.graph.value_index import ValueIndex
from cypherforge.runtime.schema_prompt import prompt_schema

TEXT = """
(:Reader {name: STRING, status: STRING, code: STRING, age: INTEGER})
(:Book {title: STRING})
(:Shop {name: STRING})
(:Reader)-[:LENT {weeks: INTEGER}]->(:Book)
(:Shop)-[:LENT {weeks: INTEGER}]->(:Book)
(:Shop)-[:SELLS]->(:Book)
"""


def test_properties_of_a_relationship_stand_behind_its_path_once() -> None:
    text = prompt_schema(Schema.parse(TEXT))
    assert "(r:Reader)-[rel:LENT]->(b:Book)  rel.weeks INTEGER" in text
    assert "(s:Shop)-[rel:LENT]->(b:Book)\n" in text
    assert "(s:Shop)-[:SELLS]->(b:Book)" in text
    assert "{" not in text


def test_few_short_texts_are_listed_and_codes_or_many_are_not() -> None:
    index = ValueIndex()
    index.replace("Reader", "status", ["Active", "On hold", "it's gone"])
    index.replace("Reader", "code", ["10", "11"])
    index.replace("Reader", "name", [f"Reader {n}" for n in range(40)])
    text = prompt_schema(Schema.parse(TEXT), index)
    assert "status STRING ('Active' | 'On hold' | 'it\\'s gone')" in text
    assert "code STRING," in text
    assert "Reader 3" not in text
    assert "'10'" not in text


def test_names_that_need_quotes_get_them_and_no_two_labels_share_a_variable() -> None:
    text = prompt_schema(
        Schema.parse("(:`A b` {`x y`: STRING})\n(:Art {p: STRING})\n(:`A b`)-[:`HAS ONE`]->(:Art)")
    )
    assert "`A b`) `x y` STRING" in text
    assert "-[:`HAS ONE`]->" in text
    variables = [
        line[1 : line.index(":")] for line in text.splitlines()[1:3] if line.startswith("(")
    ]
    assert len(set(variables)) == 2
