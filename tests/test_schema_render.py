"""Schemas for prompts: the compact form, the budget, narrowing, and values held back."""

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import pytest

from cypherforge.core.errors import UsageError
from cypherforge.graph.connect import connect
from cypherforge.graph.formats import FORMATS
from cypherforge.graph.introspect import introspect
from cypherforge.graph.narrow import narrow, restrict
from cypherforge.graph.policy import ValuePolicy
from cypherforge.graph.render import compact, estimate_tokens, render_schema
from cypherforge.graph.schema import (
    Constraint,
    Label,
    LabelSet,
    Pattern,
    Property,
    RelType,
    Schema,
)

FILMS = Schema.parse(
    """
    (:Person {name: STRING, born: INTEGER})-[:ACTED_IN {role: STRING}]->(:Movie {title: STRING})
    (:Person)-[:DIRECTED]->(:Movie)
    (:Movie)-[:IN_GENRE]->(:Genre {name: STRING})
    (:Person)-[:FOLLOWS]->(:Person)
    (:Movie)-[:SHOWN_AT {day: DATE}]->(:Cinema {name: STRING})
    (:Cinema)-[:LIES_IN]->(:City {name: STRING, mayor: STRING})
    """
)


@lru_cache
def wide(labels: int = 400, properties: int = 30) -> Schema:
    """H03: a schema of 400 labels with 30 properties each, joined in a ring."""
    names = [f"Label{number:03}" for number in range(labels)]
    return Schema.build(
        [
            Label(
                name,
                tuple(
                    Property(f"property{n:02}", coverage=1.0 - n / 31) for n in range(properties)
                ),
                labels - number,
            )
            for number, name in enumerate(names)
        ],
        [],
        [Pattern(a, "LINKED_TO", b) for a, b in pairwise(names)],
    )


def test_compact_is_labels_then_whole_arrows_sorted_and_quoted_where_needed() -> None:
    schema = Schema.build(
        [Label("Tools", (Property("name"),)), Label("Case"), Label("Hash")],
        [RelType("has part", (Property("since", "DATE"),))],
        [Pattern("Tools", "has part", "Hash"), Pattern("Hash", "A", "Case")],
    )
    assert compact(schema) == (
        "Node labels:\n"
        "(:Case)\n"
        "(:Hash)\n"
        "(:Tools {name: STRING})\n"
        "Relationships:\n"
        "(:Hash)-[:A]->(:Case)\n"
        "(:Tools)-[:`has part` {since: DATE}]->(:Hash)"
    )


def crewed(*, crew: int = 3, both: int = 3, sampled: bool = False) -> Schema:
    """Some of 10 persons are crew, who alone serve on a ship; all may own one."""
    return Schema.build(
        [
            Label("Person", (Property("name"),), 10),
            Label("Crew", (Property("name"), Property("rank")), crew),
            Label("Ship", (), 2),
        ],
        [RelType("OWNS", (), 4), RelType("SERVES_ON", (), 3)],
        [
            Pattern("Person", "OWNS", "Ship", 4),
            Pattern("Crew", "OWNS", "Ship", 1),
            Pattern("Person", "SERVES_ON", "Ship", 3),
            Pattern("Crew", "SERVES_ON", "Ship", 3),
        ],
        co_labels=[LabelSet(("Crew", "Person"), both)],
        sampled=sampled,
    )


def test_a_label_within_a_commoner_one_is_shown_so_and_its_arrows_once() -> None:
    assert compact(crewed()) == (
        "Node labels:\n"
        "(:Crew:Person {rank: STRING})\n"
        "(:Person {name: STRING})\n"
        "(:Ship)\n"
        "Relationships:\n"
        "(:Person)-[:OWNS]->(:Ship)\n"
        "(:Person)-[:SERVES_ON]->(:Ship)"
    )


@pytest.mark.parametrize(
    "schema",
    [
        crewed(crew=4),  # one of the crew is no person
        crewed(crew=10, both=10),  # neither is the commoner one
        crewed(sampled=True),  # nobody can tell
    ],
)
def test_labels_that_merely_overlap_keep_all_they_have(schema: Schema) -> None:
    text = compact(schema)
    assert "(:Crew {name: STRING, rank: STRING})" in text
    assert "Labels that occur together:\n(:Crew:Person)\nRelationships:" in text
    assert "(:Crew)-[:SERVES_ON]->(:Ship)" in text


def test_an_arrow_that_only_the_narrower_label_has_stays() -> None:
    schema = crewed()
    kept = [x for x in schema.patterns if (x.start, x.type) != ("Person", "SERVES_ON")]
    assert "(:Crew)-[:SERVES_ON]->(:Ship)" in compact(replace(schema, patterns=tuple(kept)))


def test_the_example_graph_says_person_once() -> None:
    # Each of its 26 crew is a person; 5 of its 9 venues are piers.
    with connect("example") as graph:
        text = compact(introspect(graph))
    assert "\n(:Crew:Person)\n" in text
    assert "(:Crew)" not in text
    assert "Labels that occur together:\n(:Pier:Venue)\nRelationships:" in text
    assert "(:Concert)-[:HELD_AT]->(:Pier)\n(:Concert)-[:HELD_AT]->(:Venue)" in text


def test_compact_reads_back_as_the_same_schema() -> None:
    schema = replace(
        Schema.build(
            FILMS.labels.values(),
            FILMS.types.values(),
            FILMS.patterns,
            co_labels=[LabelSet(("Person", "City"))],
        ),
        sampled=True,
        sample_size=100,
    )
    assert Schema.parse(compact(schema)) == schema


@pytest.mark.parametrize("name", ["compact", *FORMATS])
def test_relationship_properties_stand_in_every_format_but_the_visualization(name: str) -> None:
    # H04: the model must see BOUGHT.quantity.
    schema = Schema.parse("(:C)-[:BOUGHT {quantity: INTEGER}]->(:P)")
    text = render_schema(schema, name).text
    assert "BOUGHT" in text
    assert ("quantity" in text) == (name != "visualization")


def test_examples_follow_the_type_and_quotes_inside_are_escaped() -> None:
    schema = Schema.build(
        [
            Label(
                "A",
                (
                    Property("p", values=("O'Brien", "x" * 50)),
                    Property("q", "BOOLEAN", values=(True,)),
                ),
            )
        ]
    )
    text = compact(schema, values=True)
    assert "p: STRING 'O\\'Brien', 'xxx" in text
    assert "…" in text
    assert "q: BOOLEAN true" in text


@pytest.mark.parametrize("name", ["compact", "markdown", "structured", "arrows"])
def test_the_budget_holds_and_says_what_it_left_out(name: str) -> None:
    schema = wide() if name == "compact" else wide(150, 15)
    whole = render_schema(schema, name)
    assert whole.tokens > 10_000
    part = render_schema(schema, name, budget=8_000)
    assert 7_000 < part.tokens == estimate_tokens(part.text) <= 8_000
    again = render_schema(schema, name, budget=8_000)
    assert again == part
    assert not whole.dropped
    assert len(part.dropped) == len(set(part.dropped)) > 100
    if name == "compact":
        kept = Schema.parse(part.text)
        # A label comes with its two commonest properties; the rarest property goes first.
        assert len(kept.labels) > 150
        full = [x for x in kept.labels.values() if len(x.properties) == 2]
        assert len(full) >= len(kept.labels) - 1
        assert "Label000.property29" in part.dropped
        assert part.text.splitlines()[-1].startswith(
            f"// left out: {400 - len(kept.labels)} labels"
        )


def test_a_tight_budget_keeps_the_commonest_labels_and_no_dangling_arrow() -> None:
    part = render_schema(wide(), "compact", budget=400)
    kept = Schema.parse(part.text)
    assert 5 < len(kept.labels) < 60
    assert list(kept.labels) == [f"Label{n:03}" for n in range(len(kept.labels))]
    for pattern in kept.patterns:
        assert f"(:{pattern.start} {{" in part.text.split("Relationships")[0]
    assert "Label399" in part.dropped


def test_sparse_properties_go_before_any_other_and_keys_stay() -> None:
    plain = [Property(f"plain{n}", coverage=1.0) for n in range(9)]
    schema = Schema.build(
        [Label("A", (*plain, Property("zid", coverage=0.9), Property("odd", coverage=0.1)))],
        constraints=[Constraint("UNIQUENESS", "NODE", "A", ("zid",))],
    )
    total = estimate_tokens(compact(schema))
    for budget in (total - 1, total - 8, total - 16):
        dropped = render_schema(schema, budget=budget).dropped
        assert "A.odd" in dropped
        assert "A.zid" not in dropped


def test_a_budget_that_holds_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="does not hold one label"):
        render_schema(FILMS, budget=3)


def test_another_tokenizer_can_count() -> None:
    part = render_schema(wide(50, 5), budget=1_000, count=len)
    assert len(part.text) == part.tokens <= 1_000


def test_raw_is_the_text_as_it_was_given() -> None:
    text = "Node properties:\nA {p: STRING}\nThe relationships:\n(:A)-[:R]->(:A)\n"
    assert render_schema(Schema.parse(text), "raw").text == text
    with pytest.raises(UsageError, match="raw text has"):
        render_schema(Schema.parse(text), "raw", budget=5)
    with pytest.raises(UsageError, match="no text of its own"):
        render_schema(Schema.build([Label("A")]), "raw")
    with pytest.raises(UsageError, match="one of compact"):
        render_schema(FILMS, "html")


@pytest.mark.parametrize(
    ("text", "least"),
    [("(:Person {name: STRING})", 7), ("人物データ", 5), ("HTTPServerError", 3), ("a" * 60, 10)],
)
def test_the_estimate_does_not_fall_below_what_tokenizers_need(text: str, least: int) -> None:
    assert estimate_tokens(text) >= least


# Narrowing


def test_a_question_keeps_what_it_names_and_the_way_between() -> None:
    narrowed = narrow(FILMS, "Which cities show movies of the genre drama?")
    assert list(narrowed.schema.labels) == ["Cinema", "City", "Genre", "Movie"]
    assert [p.type for p in narrowed.schema.patterns] == ["LIES_IN", "IN_GENRE", "SHOWN_AT"]
    assert narrowed.left_out == ("Person", "[:ACTED_IN]", "[:DIRECTED]", "[:FOLLOWS]")


def test_a_type_or_property_named_keeps_its_owner() -> None:
    assert list(narrow(FILMS, "Who acted in it?").schema.labels) == ["Movie", "Person"]
    assert list(narrow(FILMS, "Who is the mayor?").schema.labels) == ["City"]


def test_values_that_the_question_mentions_keep_their_owner() -> None:
    narrowed = narrow(FILMS, "What is on at Rex?", values=["Cinema.name"], hops=1)
    assert list(narrowed.schema.labels) == ["Cinema", "City", "Movie"]


def test_a_question_that_names_nothing_keeps_the_whole_schema() -> None:
    assert narrow(FILMS, "Tell me something.").schema is FILMS


def test_restrict_joins_what_is_apart_and_keeps_islands() -> None:
    joined = restrict(FILMS, ["Genre", "City"])
    assert list(joined.schema.labels) == ["Cinema", "City", "Genre", "Movie"]
    islands = Schema.parse("(:A)-[:R]->(:B)\n(:C)-[:S]->(:D)\n(:E)")
    assert list(restrict(islands, ["A", "E"]).schema.labels) == ["A", "E"]


# Values held back


def test_excluded_values_leave_every_format() -> None:
    schema = Schema.build(
        [
            Label(
                "User",
                (
                    Property("email", values=("a@b",), low="a@b", high="z"),
                    Property("name", values=("Ann",)),
                ),
            )
        ],
        [RelType("PAID", (Property("iban", values=("DE1",)),))],
        [Pattern("User", "PAID", "User")],
    )
    policy = ValuePolicy.of(["User.email", "PAID"])
    for name in ("compact", *FORMATS):
        text = render_schema(schema, name, values=True, policy=policy).text
        assert "a@b" not in text
        assert "DE1" not in text
    assert "Ann" in render_schema(schema, values=True, policy=policy).text
    assert "Ann" not in render_schema(schema, values=True, policy=ValuePolicy(no_values=True)).text
    with pytest.raises(UsageError, match="raw text may hold values"):
        render_schema(replace(schema, raw="x"), "raw", policy=policy)


@pytest.mark.parametrize(
    ("text", "held", "free"),
    [
        ("User.email", ("User", "email"), ("User", "name")),
        ("User", ("User", "name"), ("Users", "name")),
        ("*.email", ("Anything", "email"), ("User", "name")),
        ("`a.b`.`c d`", ("a.b", "c d"), ("a", "b")),
        ("`we``ird`", ("we`ird", "x"), ("we", "x")),
    ],
)
def test_exclusions_are_written_as_label_dot_property(
    text: str, held: tuple[str, str], free: tuple[str, str]
) -> None:
    policy = ValuePolicy.of([text])
    assert not policy.allows(*held)
    assert policy.allows(*free)


def test_a_misspelt_exclusion_is_noticed() -> None:
    policy = ValuePolicy.of(["Persn.name", "Person.nam", "*.role", "Movie"])
    assert policy.unknown(FILMS) == ("Persn.name", "Person.nam")
    with pytest.raises(UsageError, match="names nothing"):
        ValuePolicy.of([".x"])
