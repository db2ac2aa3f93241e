"""The English of synthesised questions: words of names, number, articles, clauses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cypherforge.synth.describe import either_of, noun_phrase, shown
from cypherforge.synth.phrases import phrase
from cypherforge.synth.predicates import Attribute, Relation
from cypherforge.synth.trees import Condition, Grounded, Hop, Tree
from cypherforge.synth.words import a, article, listed, noun, plural, sentence, singular, words


@pytest.mark.parametrize(
    ("name", "spoken"),
    [
        ("movieId", "movie ID"),
        ("IpAddress", "IP address"),
        ("healthstatus", "health status"),
        ("primaryid", "primary ID"),
        ("IN_TOURNAMENT", "in tournament"),
        ("birth_year", "birth year"),
        ("dob", "date of birth"),
        ("releaseYear2", "release year 2"),
        ("größe", "größe"),
        ("starttime", "start time"),
    ],
)
def test_names_become_words(name: str, spoken: str) -> None:
    assert words(name) == spoken


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("match", "matches"),
        ("country", "countries"),
        ("day", "days"),
        ("person", "people"),
        ("date of birth", "dates of birth"),
        ("movie ID", "movie IDs"),
        ("series", "series"),
        ("status", "statuses"),
        ("taxon", "taxa"),
        ("IP address", "IP addresses"),
    ],
)
def test_plurals_and_back(one: str, many: str) -> None:
    assert plural(one) == many
    if " of " not in one:
        assert singular(many) == one


@pytest.mark.parametrize(
    ("text", "with_article"),
    [
        ("user", "a user"),
        ("hour", "an hour"),
        ("IP address", "an IP address"),
        ("event", "an event"),
        ("university", "a university"),
        ("umbrella", "an umbrella"),
        ("uninteresting fact", "an uninteresting fact"),
        ("URL", "a URL"),
        ("European city", "a European city"),
        ("honest answer", "an honest answer"),
    ],
)
def test_articles_go_by_sound(text: str, with_article: str) -> None:
    assert a(text) == with_article


@pytest.mark.parametrize(
    ("start", "rel_type", "end", "forward", "backward"),
    [
        ("User", "WATCHED", "Movie", "who watched X", "watched by X"),
        ("User", "USES", "IpAddress", "who use X", "used by X"),
        ("Match", "IN_TOURNAMENT", "Tournament", "that are in X", "that X is in"),
        ("Person", "PLAYED_IN", "Match", "who played in X", "that X played in"),
        ("Person", "SCORED_GOAL", "Match", "who scored a goal in X", "that X scored a goal in"),
        ("Country", "PART_OF", "Continent", "that are part of X", "that X is part of"),
        ("Case", "HAS_REACTION", "Reaction", "that have X", "of X"),
        ("Case", "IS_PRIMARY_SUSPECT", "Drug", "whose primary suspect is X",
         "that are primary suspects of X"),
        ("Case", "REPORTED_BY", "Source", "that were reported by X", "that reported X"),
        ("Visit", "LOCATED_AT", "Place", "that are located at X", "that X is located at"),
        ("Case", "FALLS_UNDER", "AgeGroup", "that fall under X", "that X falls under"),
        ("Movie", "createdBy", "Person", "that were created by X", "who created X"),
        ("Taxon", "feedsOn", "Taxon", "that feed on X", "that X feeds on"),
        ("Person", "FRIEND_OF", "Person", "who are friends of X", "that X is a friend of"),
        ("Person", "WROTE", "Book", "who wrote X", "written by X"),
        ("Person", "MANAGER", "Person", "whose manager is X", "who are managers of X"),
        ("River", "FLOWS_INTO", "Sea", "that flow into X", "that X flows into"),
        ("River", "DRAINS", "Sea", "that drain X", "drained by X"),
        ("Drug", "UPREGULATES", "Gene", "that upregulate X", "upregulated by X"),
        ("Drug", "CAN_TREAT", "Disease", "that can treat X", "that X can treat"),
        ("Disease", "TREATED_WITH", "Drug", "that are treated with X", "that X is treated with"),
        ("Disease", "RELATED", "Disease", "that are related to X", "that X is related to"),
        ("Disease", "IS_A", "Disease", "that are kinds of X", "that X is a kind of"),
        ("Person", "PARENT_OF", "Person", "who are parents of X", "that X is a parent of"),
        ("Sea", "SAME_AS", "Sea", "that are the same as X", "that X is the same as"),
        ("Sensor", "NEXT_TO", "Sensor", "that are next to X", "that X is next to"),
        ("Sensor", "IS_NEXT_TO", "Sensor", "that are next to X", "that X is next to"),
        ("River", "FLOWING_TO", "Sea", "that are flowing to X", "that X is flowing to"),
        ("Student", "CARRIED", "Book", "who carried X", "carried by X"),
        ("Book", "CONSISTS_OF", "Part", "that consist of X", "that X consists of"),
        ("Person", "PARENT", "Person", "whose parent is X", "who are parents of X"),
        ("Book", "AUTHOR", "Person", "whose author is X", "who are authors of X"),
        ("Person", "AUTHOR", "Book", "who author X", "authored by X"),
        ("Customer", "customer_movie", "Movie", "who have X", "of X"),
    ],
)  # fmt: skip
def test_types_are_spoken_from_both_ends(
    start: str, rel_type: str, end: str, forward: str, backward: str
) -> None:
    spoken = phrase(rel_type, start, end)
    assert spoken.forward(start, "X") == forward
    assert spoken.backward(end, "X") == backward


@given(st.text(min_size=1, max_size=30))
def test_any_name_can_be_spoken(name: str) -> None:
    assert words(name)
    assert plural(noun(name)) or not noun(name)
    spoken = phrase(name, "Person", name)
    assert "X" in spoken.forward("Person", "X")
    assert "X" in spoken.backward(name, "X")
    assert article(name) in ("a", "an")


@given(st.lists(st.text("abc", min_size=1), max_size=4))
def test_lists_name_every_item(items: list[str]) -> None:
    said = listed(items)
    assert all(item in said for item in items)
    assert said.count(" and ") == (len(items) > 1)


def test_a_sentence_starts_with_a_capital() -> None:
    assert sentence("the  IDs of 'a b'?") == "The IDs of 'a b'?"


def _named(owner: str, name: str, node: int, value: object, *, entity: bool = True) -> Condition:
    attribute = Attribute("node", owner, name, "STRING", "name", 1.0, 9, 9)
    return Condition(("node", node), attribute, "=", value, entity)


WATCHED = Relation("User", "WATCHED", "Movie", 9)
HAS = Relation("Movie", "HAS", "Genre", 9)


def test_a_participle_beside_other_clauses_is_a_whole_clause() -> None:
    tree = Tree(("Movie", "User", "Genre"), (Hop(WATCHED, 0, 1, False), Hop(HAS, 0, 2, True)))
    found = Grounded(tree, ["", "", ""], [])
    found.conditions = [_named("User", "name", 1, "Ann"), _named("Genre", "name", 2, "War")]
    said = noun_phrase(found, 0, many=True)
    assert said == "movies that were watched by the user 'Ann' and that have the genre 'War'"

    alone = Grounded(Tree(tree.labels[:2], tree.hops[:1]), ["", ""], [], found.conditions[:1])
    assert noun_phrase(alone, 0, many=True) == "movies watched by the user 'Ann'"


def test_clauses_with_or_are_both_whole_or_both_short() -> None:
    def falls(*, full: bool) -> str:
        return "that fall under X"

    def registered(*, full: bool) -> str:
        return "that were registered by Y" if full else "registered by Y"

    assert either_of(falls, registered) == "that fall under X or that were registered by Y"
    assert either_of(registered, registered) == "registered by Y or registered by Y"


def test_a_row_says_its_relation_before_other_conditions() -> None:
    def has(*, full: bool) -> str:
        return "that has it"

    suspect = Relation("Case", "IS_PRIMARY_SUSPECT", "Drug", 9)
    tree = Tree(("Case", "Drug"), (Hop(suspect, 0, 1, True),))
    found = Grounded(tree, ["", ""], [], [_named("Drug", "name", 1, "X")])
    said = noun_phrase(found, 0, many=False, first=has)
    assert said == "case that has it and whose primary suspect is the drug 'X'"


def test_a_text_with_an_apostrophe_stands_in_double_quotes() -> None:
    assert shown("45+2'") == '"45+2\'"'
    assert shown("Dune") == "'Dune'"
