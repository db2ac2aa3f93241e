"""Fixes without a model: what the schema and the data settle, and what they leave alone."""

from collections.abc import Iterable

import pytest

from cypherforge.cypher import parse
from cypherforge.graph.schema import Schema
from cypherforge.graph.value_index import ValueIndex
from cypherforge.runtime.fixes import (
    AlignDirections,
    FixLiterals,
    FixOwners,
    FixRelTypes,
    RedirectSelfLoops,
    RepairDialect,
    apply_all,
    schema_fixes,
)
from cypherforge.runtime.literals import bindings_of, question_notes

# The paper's own examples (CypherGuard, section 3.3): movies, their genres, directors, and spouses.
PAPER = Schema.parse(
    """
    (:Movie {name: STRING, tagline: STRING})-[:hasGenre]->(:Genre {name: STRING})
    (:Movie)-[:directedBy]->(:Person {name: STRING, nickname: STRING})
    (:Person)-[:hasSpouse]->(:Person)
    (:Movie)-[:starring]->(:Person)
    """
)


def fixed(text: str, *only: str) -> str:
    fixes = [f for f in schema_fixes(PAPER) if not only or f.name in only]
    return apply_all(fixes, text)[0]


def test_an_undeclared_type_becomes_the_one_between_its_labels() -> None:
    text = "MATCH (m:Movie)-[:inGenre]->(g:Genre) RETURN m.name"
    assert fixed(text) == "MATCH (m:Movie)-[:hasGenre]->(g:Genre) RETURN m.name"


def test_labels_are_known_from_other_places_of_the_query() -> None:
    text = "MATCH (m:Movie) MATCH (g:Genre) MATCH (m)-[:inGenre]->(g) RETURN m.name"
    assert ":hasGenre]" in fixed(text)


def test_of_several_types_the_one_spelt_alike_is_taken_and_others_are_named() -> None:
    text = "MATCH (m:Movie)-[:DIRECTED_BY]->(p:Person) RETURN p.name"
    result = FixRelTypes(PAPER).apply(text)
    assert ":directedBy]" in result.text
    assert "starring" in result.notes[0]


def test_without_both_labels_a_type_is_left_and_flagged() -> None:
    text = "MATCH (m:Movie)-[:inGenre]->(g) RETURN g"
    result = FixRelTypes(PAPER).apply(text)
    assert result.text == text
    assert "inGenre" in result.notes[0]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "MATCH (p:Person)-[:directedBy]->(m:Movie) RETURN m.name",
            "MATCH (p:Person)<-[:directedBy]-(m:Movie) RETURN m.name",
        ),
        (
            "MATCH (g:Genre)-[r:hasGenre]->(m) RETURN m.name",
            "MATCH (g:Genre)<-[r:hasGenre]-(m) RETURN m.name",
        ),
        (
            "MATCH (p:Person)<-[:directedBy]-(m:Movie)<-[:hasGenre]-(g:Genre) RETURN p",
            "MATCH (p:Person)<-[:directedBy]-(m:Movie)-[:hasGenre]->(g:Genre) RETURN p",
        ),
        (
            "MATCH (p:Person) WHERE EXISTS { (p)-[:directedBy]->(:Movie) } RETURN p",
            "MATCH (p:Person) WHERE EXISTS { (p)<-[:directedBy]-(:Movie) } RETURN p",
        ),
    ],
)
def test_an_arrow_declared_only_the_other_way_is_turned(text: str, wanted: str) -> None:
    assert fixed(text, "directions") == wanted


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (m:Movie)-[:directedBy]->(p:Person) RETURN p",
        "MATCH (a:Person)-[:hasSpouse]->(b:Person) RETURN a",
        "MATCH (a)-[:directedBy]->(b) RETURN a",
        "MATCH (a:Genre)-[:directedBy]->(b:Genre) RETURN a",
        "MATCH (a:Person)-->(b:Movie) WHERE 'x-[:directedBy]->y' = a.name RETURN b",
        "this is no Cypher -[:directedBy]->",
    ],
)
def test_what_the_schema_does_not_settle_stays(text: str) -> None:
    if "-->" in text:
        # An arrow without a type may be any type.
        assert fixed(text, "directions") == text
    else:
        assert fixed(text) == text


def test_comments_and_strings_stay_byte_for_byte() -> None:
    text = (
        "MATCH (p:Person) // (p)-[:directedBy]->(m)\n"
        "-[:directedBy]->  /* [:inGenre] */ (m:Movie {name: '-[:inGenre]->'})\nRETURN m.name"
    )
    wanted = text.replace("-[:directedBy]->  /*", "<-[:directedBy]-  /*")
    assert fixed(text) == wanted


def test_an_undirected_loop_gets_a_direction_only_where_the_type_is_reciprocal() -> None:
    text = "MATCH (:Person {name: 'Ann'})-[:hasSpouse]-(b:Person) RETURN count(b)"
    # The paper's politics graph stores 95.2 % of its edges both ways.
    turned = RedirectSelfLoops(PAPER, lambda _: 0.952).apply(text)
    assert turned.text == text.replace("-[:hasSpouse]-(b", "-[:hasSpouse]->(b")
    assert RedirectSelfLoops(PAPER, lambda _: 0.5).apply(text).text == text
    assert RedirectSelfLoops(PAPER).apply(text).text == text
    other = "MATCH (:Movie)-[:directedBy]-(b:Person) RETURN count(b)"
    assert RedirectSelfLoops(PAPER, lambda _: 1.0).apply(other).text == other


def test_directions_are_aligned_after_types_are_fixed() -> None:
    text = "MATCH (g:Genre)-[:inGenre]->(m:Movie) RETURN m.name"
    assert fixed(text) == "MATCH (g:Genre)<-[:hasGenre]-(m:Movie) RETURN m.name"


WATCHED = Schema.parse(
    "(:User {name: STRING})-[:WATCHED {watchCount: INTEGER}]->(:Movie {title: STRING, year: INTEGER})"
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "MATCH (u:User)-[w:WATCHED]->(m:Movie) RETURN avg(m.watchCount), m.watchCount",
            "MATCH (u:User)-[w:WATCHED]->(m:Movie) RETURN avg(w.watchCount), w.watchCount",
        ),
        (
            "MATCH (u:User)-[:WATCHED]->(m:Movie) RETURN avg(m.watchCount), u.watchCount",
            "MATCH (u:User)-[rel:WATCHED]->(m:Movie) RETURN avg(rel.watchCount), rel.watchCount",
        ),
        (
            "MATCH (u:User)-[w:WATCHED]->(m:Movie) WHERE u.year > 2000 RETURN u.name",
            "MATCH (u:User)-[w:WATCHED]->(m:Movie) WHERE m.year > 2000 RETURN u.name",
        ),
    ],
)
def test_a_property_is_read_from_what_has_it(text: str, wanted: str) -> None:
    assert FixOwners(WATCHED).apply(text).text == wanted


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (u:User)-[w:WATCHED]->(m:Movie) RETURN m.title, w.watchCount",
        # Two movies have a year: which is meant, nobody can tell.
        "MATCH (m:Movie)<-[:WATCHED]-(u:User)-[:WATCHED]->(n:Movie) RETURN u.year",
        "MATCH (u:User)-->(m:Movie) RETURN m.watchCount",
        "MATCH (u)-[w:WATCHED]->(m:Movie) RETURN u.year",
        "MATCH (u:User)-[w:WATCHED]->(m:Movie) WITH u RETURN u.year",
    ],
)
def test_a_property_whose_owner_is_unsure_stays(text: str) -> None:
    assert FixOwners(WATCHED).apply(text).text == text


def test_dialect_is_repaired_before_the_first_execution() -> None:
    fix = RepairDialect("neo4j-5", PAPER.names())
    repaired = fix.apply("MATCH (m:Movie) WHERE m.name LIKE 'A%' RETURN m.name")
    parse(repaired.text)
    assert "STARTS WITH 'A'" in repaired.text
    assert repaired.notes


# ---------------------------------------------------------------- literals


def index(values: Iterable[tuple[str, str, tuple[str, ...]]]) -> ValueIndex:
    made = ValueIndex()
    for owner, key, stored in values:
        made.replace(owner, key, stored)
    return made


INDEX = index(
    [
        ("Person", "name", ("Ann Lee", "Zoë Berg", "Bob")),
        ("Person", "nickname", ("Shorty",)),
        ("Genre", "name", ("Thriller", "Drama")),
        ("Movie", "name", ("Drama", "Heat")),
    ]
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("MATCH (p:Person {name: 'ann lee'}) RETURN p", "'Ann Lee'"),
        ("MATCH (p:Person) WHERE p.name = 'Zoe Berg' RETURN p", "'Zoë Berg'"),
        ("MATCH (g:Genre) WHERE g.name IN ['thriller'] RETURN g", "'Thriller'"),
        ("MATCH (p:Person {name: 'Shorty'}) RETURN p", "{nickname: 'Shorty'}"),
        ("MATCH (p:Person) WHERE 'shorty' = p.name RETURN p", "'Shorty' = p.nickname"),
    ],
)
def test_a_literal_is_written_as_it_is_stored(text: str, wanted: str) -> None:
    assert wanted in FixLiterals(PAPER, INDEX).apply(text).text


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (p:Person {name: 'Ann Lee'}) RETURN p",
        # Nothing like it is stored: the right answer may be no row.
        "MATCH (p:Person {name: 'Nobody'}) RETURN p",
        "MATCH (p:Person {name: 'Ann'}) RETURN p",
        "MATCH (p:Person) WHERE p.name CONTAINS 'ann' RETURN p",
        "MATCH (p:Person) WHERE toLower(p.name) = 'ann lee' RETURN p",
        "MATCH (p:Person) WHERE p.name <> 'ann lee' RETURN p",
        # Another label has it: that is not for a fix of literals.
        "MATCH (g:Genre {name: 'Heat'}) RETURN g",
    ],
)
def test_a_literal_that_is_right_or_unsure_stays(text: str) -> None:
    assert FixLiterals(PAPER, INDEX).apply(text).text == text


def test_bindings_come_from_maps_equalities_folded_comparisons_and_lists() -> None:
    query = parse(
        "MATCH (m:Movie {name: 'Lincoln'})-[:starring]->(p) "
        "WHERE toLower(p.name) = 'ann' AND m.tagline IN ['a', 'b'] AND p.name <> 'x' RETURN p"
    )
    found = [(b.owners, b.key, b.value, b.exact) for b in bindings_of(query, PAPER)]
    assert found == [
        (("Movie",), "name", "Lincoln", True),
        (("Genre", "Movie", "Person"), "name", "ann", False),
        (("Movie",), "tagline", "a", True),
        (("Movie",), "tagline", "b", True),
    ]


def test_a_question_is_grounded_with_label_and_property() -> None:
    notes = question_notes("Which thriller did ANN LEE direct before 'Heat'?", INDEX, PAPER)
    assert "(:Person {name: 'Ann Lee'})" in notes
    assert "(:Movie {name: 'Heat'})" in notes
    assert question_notes("How many people are there?", INDEX, PAPER) == []


def test_a_value_of_several_places_is_offered_with_each() -> None:
    assert question_notes("List films of the 'Drama' kind", INDEX, PAPER) == [
        "(:Genre {name: 'Drama'})",
        "(:Movie {name: 'Drama'})",
    ]


def test_a_value_in_a_list_is_offered_with_in() -> None:
    bands = Schema.parse("(:Band {name: STRING, genres: LIST<STRING>})")
    notes = question_notes("Which bands play Jazz?", index([("Band", "genres", ("jazz",))]), bands)
    assert notes == ["(x:Band) WHERE 'jazz' IN x.genres"]


def test_align_keeps_quantified_paths() -> None:
    text = "MATCH (p:Person)-[:directedBy*1..2]->(m:Movie) RETURN m"
    assert AlignDirections(PAPER).apply(text).text == text
