"""The value index finds what is stored, whatever the case, accents, quotes or small slips."""

import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cypherforge.core.errors import InputError, UsageError
from cypherforge.graph.embedded import EmbeddedGraph
from cypherforge.graph.introspect import introspect
from cypherforge.graph.neutral import NodeRow, RelationshipRow
from cypherforge.graph.policy import ValuePolicy
from cypherforge.graph.value_index import Update, ValueIndex
from cypherforge.graph.value_text import normalise, squeeze

FILMS = [
    "Game of Thrones",
    "The Matrix",
    "The Matrix Reloaded",
    "Café de Flore",
    "Amélie",
    "O'Brien’s Wake",
    "Spider-Man",
    "2001: A Space Odyssey",
    "千と千尋の神隠し",
    "Æon Flux",
    "!!!",
]


@pytest.fixture
def films() -> ValueIndex:
    index = ValueIndex()
    index.replace("Movie", "title", FILMS)
    index.replace("Person", "name", ["Matrix", "O'Brien", "Müller"])
    index.replace("ACTED_IN", "role", ["Amélie"], relationship=True)
    return index


@pytest.mark.parametrize(
    ("asked", "stored", "match"),
    [
        ("O'Brien", "O'Brien", "exact"),
        ("O’Brien", "O'Brien", "normalised"),
        ("obrien", "O'Brien", "normalised"),
        ("game of thrones", "Game of Thrones", "normalised"),
        ("  GAME   OF THRONES ", "Game of Thrones", "normalised"),
        ("Cafe de flore", "Café de Flore", "normalised"),
        ("Cafe\u0301 de Flore", "Café de Flore", "normalised"),
        ("amelie", "Amélie", "normalised"),
        ("aeon flux", "Æon Flux", "normalised"),
        ("muller", "Müller", "normalised"),
        ("spider man", "Spider-Man", "normalised"),
        ("spider–man", "Spider-Man", "normalised"),
        ("2001 a space odyssey", "2001: A Space Odyssey", "normalised"),
        ("!!!", "!!!", "exact"),
        ("千と千尋の神隠し", "千と千尋の神隠し", "exact"),
        ("Café", "Café de Flore", "contains"),
        ("space odyssey", "2001: A Space Odyssey", "contains"),
        ("the film Game of Thrones", "Game of Thrones", "contains"),
        ("Gmae of Throns", "Game of Thrones", "fuzzy"),
        ("Thrones, Game of", "Game of Thrones", "fuzzy"),
    ],
)
def test_the_stored_form_is_found(films: ValueIndex, asked: str, stored: str, match: str) -> None:
    hit = films.find(asked)[0]
    assert (hit.value, hit.match) == (stored, match)


def test_one_text_in_several_places_gives_each(films: ValueIndex) -> None:
    hits = films.find("Amelie")
    assert [(h.place, h.relationship) for h in hits] == [
        ("ACTED_IN.role", True),
        ("Movie.title", False),
    ]
    assert [h.place for h in films.find("matrix", owner="Person")] == ["Person.name"]
    best = films.find("matrix")
    assert [h.value for h in best[:3]] == ["Matrix", "The Matrix", "The Matrix Reloaded"]
    assert [h.score for h in best] == sorted((h.score for h in best), reverse=True)


def test_what_is_not_there_is_not_found(films: ValueIndex) -> None:
    assert films.find("Casablanca") == []
    assert films.find("") == films.find("   ") == ValueIndex().find("x") == []
    assert films.holds("Movie", "title", "The Matrix") is True
    assert films.holds("Movie", "title", "the matrix") is False
    assert films.holds("Movie", "tagline", "x") is None


def test_values_that_a_question_names_are_found_in_place(films: ValueIndex) -> None:
    question = "Did O’Brien see 'the matrix' or Game of Thrones, or Amélie?"
    found = films.mentions(question)
    assert [(m.text, m.hits[0].value) for m in found] == [
        ("O’Brien", "O'Brien"),
        ("the matrix", "The Matrix"),
        ("Game of Thrones", "Game of Thrones"),
        ("Amélie", "Amélie"),
    ]
    assert all(question[m.start : m.end] == m.text for m in found)


def test_a_plain_lower_case_word_is_no_mention(films: ValueIndex) -> None:
    films.replace("Word", "text", ["in", "matrix"])
    assert [m.text for m in films.mentions("who acted in a matrix of 'matrix'")] == ["matrix"]


@given(st.text(max_size=20))
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert squeeze(once) == squeeze(text)


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=12))
def test_every_value_is_found_by_itself_and_in_the_other_unicode_form(value: str) -> None:
    if not squeeze(value):
        return
    index = ValueIndex()
    index.replace("A", "p", [value])
    hits = index.find(value)
    assert hits
    assert hits[0].match == "exact"
    assert index.find(unicodedata.normalize("NFD", value))[0].value == value


# From a graph, on disk, over time


def rows(*extra: NodeRow) -> list[NodeRow]:
    return [
        NodeRow(0, ("User",), {"name": "Zoë", "email": "zoe@x.org", "age": 3}),
        NodeRow(1, ("User",), {"name": "Bob", "nick": ["Bobby", "B"], "bio": "word " * 100}),
        *extra,
    ]


LINKS = [RelationshipRow(0, "SAID", 0, 1, {"what": "Good morning"})]


@pytest.fixture(scope="module")
def users() -> Iterator[EmbeddedGraph]:
    with EmbeddedGraph.from_rows(rows(), LINKS) as graph:
        yield graph


def test_built_from_texts_and_lists_of_a_graph(users: EmbeddedGraph) -> None:
    index = ValueIndex.build(users, introspect(users))
    assert index.places == ("SAID.what", "User.bio", "User.email", "User.name", "User.nick")
    assert index.find("bobby")[0].place == "User.nick"
    assert index.find("good morning")[0].relationship
    # Prose is left out: the index cannot tell whether it is there.
    assert index.holds("User", "bio", "word " * 100) is None


def test_excluded_values_are_never_read_nor_loaded(users: EmbeddedGraph, tmp_path: Path) -> None:
    policy = ValuePolicy.of(["User.email"])
    index = ValueIndex.build(users, introspect(users), policy=policy)
    index.save(tmp_path)
    assert "zoe@x.org" not in (tmp_path / "values.jsonl").read_text(encoding="utf-8")
    assert [hit.place for hit in index.find("zoe@x.org")] == ["User.name"]
    with pytest.raises(UsageError):
        index.replace("User", "email", ["a@b"])
    whole = ValueIndex.build(users, introspect(users))
    whole.save(tmp_path)
    assert "User.email" not in ValueIndex.load(tmp_path, policy=policy).places
    nothing = ValueIndex.build(users, introspect(users), policy=ValuePolicy(no_values=True))
    assert len(nothing) == 0


def test_saved_and_loaded_it_answers_the_same(users: EmbeddedGraph, tmp_path: Path) -> None:
    index = ValueIndex.build(users, introspect(users))
    index.save(tmp_path)
    again = ValueIndex.load(tmp_path)
    assert len(again) == len(index)
    assert again.find("zoe") == index.find("zoe")
    first = (tmp_path / "values.jsonl").read_bytes()
    again.save(tmp_path)
    assert (tmp_path / "values.jsonl").read_bytes() == first
    assert again.update(users, introspect(users)) == Update(unchanged=len(index))


def test_an_update_reads_only_what_changed(users: EmbeddedGraph) -> None:
    index = ValueIndex.build(users, introspect(users))
    more = NodeRow(2, ("User",), {"name": "Chloé"})
    with EmbeddedGraph.from_rows(rows(more), []) as changed:
        update = index.update(changed, introspect(changed))
    assert update == Update(added=1, removed=1, unchanged=5)
    assert index.find("chloe")[0].value == "Chloé"
    assert index.find("good morning") == []


def test_a_damaged_index_says_so(tmp_path: Path, films: ValueIndex) -> None:
    with pytest.raises(InputError):
        ValueIndex.load(tmp_path)
    films.save(tmp_path)
    file = tmp_path / "values.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace("Matrix", "Matrox"), encoding="utf-8")
    with pytest.raises(InputError, match="damaged"):
        ValueIndex.load(tmp_path)
    file.write_text('{"format": "other"}\n')
    with pytest.raises(InputError):
        ValueIndex.load(tmp_path)


def test_a_property_with_more_values_than_read_proves_no_absence(users: EmbeddedGraph) -> None:
    index = ValueIndex.build(users, introspect(users), max_values=1)
    assert "User.name" in index.cut
    assert index.holds("User", "name", "Nobody") is None


def test_a_hundred_thousand_values_in_milliseconds() -> None:
    syllables = [
        "ka",
        "lo",
        "mi",
        "ra",
        "te",
        "no",
        "si",
        "vu",
        "ber",
        "gan",
        "tor",
        "wen",
        "dal",
        "fer",
        "hil",
        "quin",
        "ost",
        "mar",
        "lev",
        "zan",
    ]
    count = len(syllables)
    names = [
        f"{syllables[i % count]}{syllables[i // count % count]} "
        f"{syllables[i // count**2 % count]}{syllables[i // 3 % count]}{i % 97}".title()
        for i in range(100_000)
    ]
    index = ValueIndex()
    index.replace("Person", "name", [*names, "O'Brien", "Café Müller", "Game of Thrones"])
    assert len(index) > 90_000
    index.find("warm up")
    asked = [
        "obrien",
        "cafe muller",
        "game of thrones",
        "Gmae of Throns",
        "Kalo Mirate",
        *names[::2500],
    ]
    started = time.process_time()
    for text in asked:
        index.find(text)
    # The aim is 5 ms; processor time and a margin, for machines shared with other work.
    assert (time.process_time() - started) / len(asked) < 0.010
    for text, stored in zip(
        asked, ["O'Brien", "Café Müller", "Game of Thrones", "Game of Thrones"], strict=False
    ):
        assert index.find(text)[0].value == stored
