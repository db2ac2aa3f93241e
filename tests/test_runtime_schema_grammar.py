"""The schema grammar: what it lets through and what it does not, in its Lark form."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cypherforge.cypher import parse
from cypherforge.graph.schema import Schema
from cypherforge.runtime.grammar_forms import Chars, Grammar, Ref, alt, maybe, repeat, seq
from cypherforge.runtime.schema_grammar import kind_of, schema_grammar, variable_names

if TYPE_CHECKING:
    import lark
else:
    lark = pytest.importorskip("lark")

FILMS = Schema.parse(
    """
    (:Person {name: STRING, born: DATE})
    (:Movie {title: STRING, year: INTEGER, seen: BOOLEAN})
    (:Person)-[:ACTED_IN {role: STRING}]->(:Movie)
    (:Person)-[:KNOWS]->(:Person)
    """
)


@pytest.fixture(scope="module")
def films() -> "lark.Lark":
    return lark.Lark(schema_grammar(FILMS).lark(), parser="earley", lexer="dynamic")


def accepts(parser: "lark.Lark", text: str) -> bool:
    try:
        parser.parse(text)
    except lark.exceptions.LarkError:
        return False
    return True


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (m:Movie) RETURN m.title",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie {title: 'Heat'})\nRETURN DISTINCT p.name",
        "MATCH (m:Movie)<-[a:ACTED_IN]-(p:Person) WHERE m.year >= 1990 RETURN p.name, a.role",
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) WITH p, count(m) AS movies WHERE movies > 3 "
        "RETURN p.name, movies ORDER BY movies DESC LIMIT 5",
        "MATCH (p:Person)-[:KNOWS*1..3]->(p2:Person) RETURN count(DISTINCT p2) AS known",
        "MATCH (p:Person) WHERE NOT (p)-[:ACTED_IN]->(:Movie) RETURN p.name",
        "MATCH (p:Person) WHERE p.born < date('1960-01-01') RETURN p.born.year, count(*) AS n1",
        "MATCH (p:Person) WHERE toLower(p.name) = 'ann' OR p.name STARTS WITH 'B' RETURN p",
        "MATCH (p:Person) OPTIONAL MATCH (p)-[:ACTED_IN]->(m:Movie) RETURN p.name, collect(m.title)",
        # An entering type without an arrow head: the direction is put right afterwards.
        "MATCH (m:Movie)-[:ACTED_IN]-(p:Person) RETURN p.name",
        "MATCH (m:Movie) RETURN CASE WHEN m.year > 2000 THEN 'new' ELSE 'old' END AS age1",
    ],
)
def test_queries_of_the_schema_are_accepted_and_parse(films: "lark.Lark", text: str) -> None:
    assert accepts(films, text)
    parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (m:Movie)-[:ACTED_IN]->(p:Person) RETURN p.name",  # reversed
        "MATCH (p:Person)-[:DIRECTED]->(m:Movie) RETURN p.name",  # no such type
        "MATCH (f:Film) RETURN f",  # no such label
        "MATCH (m:Movie) RETURN m.name",  # another label's property
        "MATCH (m:Movie {title: 1990}) RETURN m.title",  # a literal of another type
        "MATCH (m:Movie {year: > 1990}) RETURN m.title",  # no Cypher
        "MATCH (m:Movie {year: {year: 1990}}) RETURN m.title",  # a map for a value
        "MATCH (m:Movie) WHERE m.year = '1990' RETURN m.title",
        "MATCH (m:Movie) DELETE m",
        "MATCH (m:Movie) SET m.year = 1 RETURN m",
        "SELECT * FROM Movie",
        "MATCH (m:Movie)",
        "MATCH (m:Movie)-[m:ACTED_IN]-(p:Person) RETURN p",  # one variable for both
    ],
)
def test_what_the_schema_does_not_have_cannot_be_written(films: "lark.Lark", text: str) -> None:
    assert not accepts(films, text)


@pytest.mark.parametrize(
    ("text", "lowered"),
    [
        ("MATCH (m:Movie {year: > 1990}) RETURN m.title", "WHERE m.year > 1990"),
        ("MATCH (m:Movie {title: CONTAINS 'Heat'}) RETURN m", "WHERE m.title CONTAINS 'Heat'"),
        ("MATCH (p:Person {born: < date('1960-01-01')}) RETURN p", "p.born < date('1960-01-01')"),
    ],
)
def test_conditions_in_maps_are_taken_where_they_are_lowered(text: str, lowered: str) -> None:
    from cypherforge.cypher.dialects import repair_dialect

    grammar = schema_grammar(FILMS, conditions=True)
    parser = lark.Lark(grammar.lark(), parser="earley", lexer="dynamic")
    assert accepts(parser, text)
    repaired = repair_dialect(text).text
    assert lowered in repaired
    parse(repaired)


def test_a_path_has_at_most_so_many_hops() -> None:
    parser = lark.Lark(schema_grammar(FILMS, hops=2).lark(), parser="earley", lexer="dynamic")
    hop = "-[:KNOWS]->(:Person)"
    assert accepts(parser, f"MATCH (p:Person){hop * 2} RETURN p.name")
    assert not accepts(parser, f"MATCH (p:Person){hop * 3} RETURN p.name")


def test_names_that_need_quotes_come_quoted() -> None:
    schema = Schema.parse("(:`Bus Stop` {`opening hours`: STRING})-[:`next to`]->(:`Bus Stop`)")
    gbnf = schema_grammar(schema).gbnf()
    assert '"`Bus Stop`"' in gbnf
    assert '"`opening hours`"' in gbnf
    assert '"`next to`"' in gbnf


def test_gbnf_refers_only_to_rules_it_defines() -> None:
    import re

    text = schema_grammar(FILMS, fenced=True).gbnf()
    assert text.startswith('root ::= "```cypher\\n" query "\\n```"\n')
    rules = dict(line.split(" ::= ", 1) for line in text.splitlines())
    # What stands outside of texts and classes are names, marks and bounds.
    for body in rules.values():
        bare = re.sub(r'"(\\.|[^"\\])*"|\[(\\.|[^\]\\])*\]|\{\d+,\d*\}', " ", body)
        assert set(re.findall(r"[a-z0-9-]+", bare)) <= set(rules)
        assert not re.search(r"[^a-z0-9\s()|?*+-]", bare)


def test_both_notations_of_a_small_grammar() -> None:
    grammar = Grammar()
    grammar.add("root", "a", maybe(Ref("two_b"), "c"), repeat(Chars("0-9"), 1, 3))
    grammar.add("two_b", alt("b", seq("b", "b")))
    assert grammar.gbnf() == ('root ::= "a" (two-b "c")? [0-9]{1,3}\ntwo-b ::= "b" "b"?\n')
    parser = lark.Lark(grammar.lark(), parser="earley", lexer="dynamic")
    for text, wanted in {"a1": True, "abbc12": True, "abc": False, "a1234": False}.items():
        assert accepts(parser, text) is wanted


def test_a_rule_that_is_missing_is_named() -> None:
    grammar = Grammar()
    grammar.add("root", Ref("nowhere"))
    with pytest.raises(ValueError, match="nowhere"):
        grammar.gbnf()


def test_variables_are_named_after_labels() -> None:
    assert {"m", "movie"} <= set(variable_names("Movie"))
    assert {"ag", "ageGroup", "group"} <= set(variable_names("AgeGroup"))


def test_kinds_of_properties() -> None:
    kinds = {p.name: kind_of(p) for x in FILMS.labels.values() for p in x.properties}
    assert kinds == {
        "name": "text",
        "born": "time",
        "title": "text",
        "year": "number",
        "seen": "flag",
    }


@pytest.mark.shared
@pytest.mark.parametrize(("graph", "share"), [("er", 0.85), ("wwc", 0.85)])
def test_most_golds_of_a_real_graph_are_in_its_grammar(
    shared: Path, graph: str, share: float
) -> None:
    from cypherforge.core.datasets import load_dataset
    from cypherforge.cypher.render import to_text

    schema = Schema.parse(shared / "data" / "graphs" / graph / "schema.json")
    parser = lark.Lark(schema_grammar(schema).lark(), parser="earley", lexer="dynamic")
    golds = load_dataset(shared / "data" / "mind-the-query" / "automated" / graph).examples[::150]
    # The layout is ours, the words are the gold's.
    taken = [accepts(parser, to_text(parse(gold.cypher)).replace("`", "")) for gold in golds]
    assert sum(taken) / len(taken) >= share


def test_what_alternatives_begin_with_is_written_once() -> None:
    grammar = Grammar()
    grammar.add("root", alt("movie", "mov", seq("m", Ref("end")), "t", seq("title", Ref("end"))))
    grammar.add("end", alt(seq(Ref("dot"), "year"), seq(Ref("dot"), "title"), Ref("dot")))
    grammar.add("dot", ".")
    assert grammar.gbnf() == (
        'root ::= "m" ("ov" "ie"? | end) | "t" ("itle" end)?\n'
        'end ::= dot ("year" | "title")?\n'
        'dot ::= "."\n'
    )
