"""Reading queries out of model answers: the field reports H10-H13, H30, H31 and their kin."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cypherforge.cypher import (
    AmbiguousAnswer,
    NoQuery,
    extract_candidates,
    extract_query,
    last_query,
)

ALL = "MATCH (n) RETURN n"

ONE_QUERY = {
    "chat token": (
        "MATCH (p:P) RETURN p.name\nLIMIT 10\n<|im_end|>",
        "MATCH (p:P) RETURN p.name\nLIMIT 10",
    ),
    "end of sequence": (f"{ALL}</s>", ALL),
    "end of turn, next turn": (f"{ALL}<|eot_id|><|start_header_id|>user", ALL),
    "gemma": (f"{ALL}<end_of_turn>\n", ALL),
    "token in a string": (
        "MATCH (n {x: '</s>'}) RETURN n</s>",
        "MATCH (n {x: '</s>'}) RETURN n",
    ),
    "fence without tag": (f"```\n{ALL}\n```", ALL),
    "fence with tag": (f"Here:\n\n```cypher\n{ALL};\n```\nDone.", ALL),
    "fence on one line": (f"```cypher {ALL}```", ALL),
    "tildes": (f"~~~cypher\n{ALL}\n~~~", ALL),
    "four back-ticks": (f"````cypher\n{ALL}\n````", ALL),
    "unclosed": (f"```cypher\n{ALL}", ALL),
    "unknown tag": (f"```sql\n{ALL}\n```", ALL),
    "CRLF": ("```cypher\r\nMATCH (n)\r\nRETURN n\r\n```\r\n", "MATCH (n)\nRETURN n"),
    "indented": (
        "1. So:\n   ```cypher\n   MATCH (n)\n     WHERE n.x\n   RETURN n\n   ```",
        "MATCH (n)\n  WHERE n.x\nRETURN n",
    ),
    "quoted": ("> ```cypher\n> MATCH (n)\n> RETURN n\n> ```", "MATCH (n)\nRETURN n"),
    "label in the fence": (f"```cypher\nCypher: {ALL}\n```", ALL),
    "result beside it": (f'```json\n{{"rows": [1]}}\n```\n```cypher\n{ALL}\n```', ALL),
    "thought": (
        f"<think>maybe ```cypher\nMATCH (x) RETURN x\n``` no</think>\n```cypher\n{ALL}\n```",
        ALL,
    ),
    "thought, bare": (f"<think>```cypher\nMATCH (x) RETURN x\n```</think> {ALL}", ALL),
    "thought opened by the template": (f"MATCH (x) RETURN x? No.\n</think>\n\n{ALL}", ALL),
    "harmony": (
        f"<|channel|>analysis<|message|>MATCH (x) RETURN x<|end|><|channel|>final<|message|>{ALL}<|return|>",
        ALL,
    ),
    "answer line": (f"Answer:\n{ALL}", ALL),
    "prefix": (f"Cypher query: {ALL}", ALL),
    "bold prefix": (f"**Cypher Query:** {ALL}", ALL),
    "language line": (f"cypher\n{ALL}", ALL),
    "markup": (f"<cypher>{ALL}</cypher>", ALL),
    "inline code": ("Use `MATCH (n:P) RETURN n` for it.", "MATCH (n:P) RETURN n"),
    "prose after": (f"{ALL}\n\nThis doesn't need more.", ALL),
    "prose on the next line": (
        "MATCH (n)\nRETURN n.name\nThis query returns all names.",
        "MATCH (n)\nRETURN n.name",
    ),
    "prose on the same line": (f"{ALL}. This returns all nodes.", ALL),
    "blank lines inside": (
        "MATCH (n)\n\nWHERE n.x = 1\n\nRETURN n\n\nNote: it's fine.",
        "MATCH (n)\n\nWHERE n.x = 1\n\nRETURN n",
    ),
    "json": (
        json.dumps({"cypher": 'MATCH (n {a: "x"})\nRETURN n', "why": ALL}),
        'MATCH (n {a: "x"})\nRETURN n',
    ),
    "json in a fence": (f'```json\n{{"cypher": "{ALL}"}}\n```', ALL),
    "json in prose": (f'Sure! {{"query": "{ALL}"}} Hope it helps.', ALL),
    "nested json": (json.dumps({"result": {"cypher_query": ALL}}), ALL),
    "tool call": (json.dumps({"name": "run", "arguments": json.dumps({"query": ALL})}), ALL),
    "python dict": (f"{{'cypher': '{ALL}'}}", ALL),
    "json string": (json.dumps(ALL), ALL),
    "json cut off": (f'{{"cypher": "{ALL}', ALL),
    "fence in json": (json.dumps({"cypher": f"```cypher\n{ALL}\n```"}), ALL),
    "python": (f'```python\nsession.run("{ALL}")\n```', ALL),
    "escaped line ends": ("MATCH (n)\\nRETURN n", "MATCH (n) \nRETURN n"),
    "markdown escapes": (
        "MATCH (p)-[:ACTED\\_IN\\*1..3]->(m) WHERE m.title = 'a\\_b' RETURN p",
        "MATCH (p)-[:ACTED_IN*1..3]->(m) WHERE m.title = 'a\\_b' RETURN p",
    ),
    "entities": ("MATCH (a)-[:X]-&gt;(b) RETURN a", "MATCH (a)-[:X]->(b) RETURN a"),
    "twice the same": (f"```cypher\n{ALL}\n```\nor\n```cypher\nMATCH (n)  RETURN n;\n```", ALL),
    "explained": (
        f"```cypher\n{ALL}\n```\n- `MATCH (n)` finds\n- MATCH (n) walks\n- `RETURN n` gives",
        ALL,
    ),
    "options stay": (
        "CYPHER 25 runtime=slotted MATCH (n) RETURN n",
        "CYPHER 25 runtime=slotted MATCH (n) RETURN n",
    ),
    "foreign words stay": (
        "MATCH (n) RETURN n.a, count(*) GROUP BY n.a",
        "MATCH (n) RETURN n.a, count(*) GROUP BY n.a",
    ),
    "broken": ("MATCH (n:Person RETURN n", "MATCH (n:Person RETURN n"),
    "union": (
        "MATCH (a) RETURN a\nUNION\nMATCH (b) RETURN b AS a",
        "MATCH (a) RETURN a\nUNION\nMATCH (b) RETURN b AS a",
    ),
    "fence in a string": (
        "MATCH (n {x: '```cypher MATCH```'}) RETURN n",
        "MATCH (n {x: '```cypher MATCH```'}) RETURN n",
    ),
    "query in a string": (
        "MATCH (n {x: 'see: MATCH (y) RETURN y'}) RETURN n",
        "MATCH (n {x: 'see: MATCH (y) RETURN y'}) RETURN n",
    ),
    "inline where": (
        "MATCH (p:Person WHERE p.age > 3) RETURN p",
        "MATCH (p:Person WHERE p.age > 3) RETURN p",
    ),
    "lower case": ("match (n:Person) return n.name", "match (n:Person) return n.name"),
    "procedure": ("CALL db.labels()", "CALL db.labels()"),
}


@pytest.mark.parametrize(("answer", "query"), ONE_QUERY.values(), ids=ONE_QUERY)
def test_the_only_query_is_found(answer: str, query: str) -> None:
    assert extract_query(answer) == query
    assert last_query(answer).text == query


@pytest.mark.parametrize(
    "answer",
    [
        "",
        " \n",
        "Sorry, I can't return that: no node should match a password.",
        "I can't: match (the password) is not allowed",
        "With this I can help. Return the name. Show me more. Create a plan.",
        "```\nI cannot do this\n```",
        "```cypher\n// not possible\n```",
        '{"cypher": null, "reason": "no such label"}',
        '{"rows": [1, 2]}',
        "<think>```cypher\nMATCH (x) RETURN x\n``` hmm",
        "<|channel|>analysis<|message|>MATCH (x) RETURN x",
    ],
)
def test_no_query_is_made_of_prose_or_thoughts(answer: str) -> None:
    assert extract_candidates(answer) == []
    with pytest.raises(NoQuery):
        extract_query(answer)
    with pytest.raises(NoQuery):
        last_query(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "```cypher\nMATCH (a) RETURN a\n```\nBetter:\n```cypher\nMATCH (b:B) RETURN b\n```",
        "MATCH (a) RETURN a\n\nMATCH (b:B) RETURN b",
        "```cypher\nMATCH (a) RETURN a\n\nMATCH (b:B) RETURN b\n```",
        "MATCH (a) RETURN a; MATCH (b:B) RETURN b;",
        "1. MATCH (a) RETURN a\n2. MATCH (b:B) RETURN b",
        '{"queries": ["MATCH (a) RETURN a", "MATCH (b:B) RETURN b"]}',
    ],
)
def test_several_queries_are_ambiguous_and_the_last_is_taken_by_name(answer: str) -> None:
    with pytest.raises(AmbiguousAnswer) as caught:
        extract_query(answer)
    assert [c.text for c in caught.value.candidates] == [
        "MATCH (a) RETURN a",
        "MATCH (b:B) RETURN b",
    ]
    chosen = last_query(answer)
    assert chosen.text == "MATCH (b:B) RETURN b"
    assert "took the last" in chosen.notes[-1]


def test_a_block_tagged_as_cypher_wins_over_a_later_one_that_is_not() -> None:
    answer = "```cypher\nMATCH (a) RETURN a\n```\nnot\n```\nMATCH (b) RETURN b\n```"
    assert last_query(answer).text == "MATCH (a) RETURN a"


@pytest.mark.parametrize("word", ["", "CYPHER ", "cypher "])
def test_values_before_the_query_become_typed_parameters(word: str) -> None:
    query = "MATCH (p {name: $name}) WHERE p.x > $since AND p.l IN $l RETURN p"
    found = last_query(f"{word}name='Ann', since=1999 l=[1.5, true, null] {query}")
    assert found.text == query
    assert found.parameters == {"name": "Ann", "since": 1999, "l": [1.5, True, None]}
    assert found.missing == ()


def test_parameters_without_a_value_are_named() -> None:
    query = "MATCH (p {name: $name, x: '$no'}) WHERE p.y = $`a b` RETURN p // $neither"
    assert last_query(query).missing == ("name", "a b")


def test_parameters_beside_the_query_in_json_are_kept() -> None:
    answer = json.dumps({"cypher": "MATCH (n {x: $a}) RETURN n", "parameters": {"a": 1}})
    assert last_query(answer).parameters == {"a": 1}
    assert last_query(answer).missing == ()


def test_an_invalid_escape_in_a_string_is_reported() -> None:
    notes = last_query(r"MATCH (n {x: 'a\_b'}) RETURN n").notes
    assert any(r"\_" in note for note in notes)


@pytest.mark.parametrize(
    "answer", [ALL, f"Look:\n```cypher\n{ALL}\n```\nok", f"So: {ALL}", f"`{ALL}`"]
)
def test_spans_point_into_the_answer(answer: str) -> None:
    (found,) = extract_candidates(answer)
    assert answer[slice(*found.span)] == ALL


@given(st.text(alphabet="`~<>{}[]()'\"\\/:;,.|*-_ \nMATCHRETURNmatchn$=1", max_size=80))
def test_any_text_is_answered(text: str) -> None:
    for wrapped in (text, f"```cypher\n{text}", f'{{"cypher": "{text}', f"MATCH (n) {text}"):
        for candidate in extract_candidates(wrapped):
            assert candidate.text.strip()
            assert 0 <= candidate.span[0] <= candidate.span[1] <= len(wrapped)


@given(st.text(max_size=20))
def test_a_string_literal_survives_whatever_it_holds(value: str) -> None:
    from cypherforge.cypher.names import quote_string

    query = f"MATCH (n {{x: {quote_string(value)}}}) RETURN n"
    assert extract_query(query) == query
    assert extract_query(json.dumps({"cypher": query})) == query
