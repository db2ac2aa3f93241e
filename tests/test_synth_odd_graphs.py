"""Names and values that are no plain English words, in questions."""

import pytest

from cypherforge.synth.describe import clause, shown
from cypherforge.synth.predicates import Attribute, Relation, Role
from cypherforge.synth.trees import Condition, Grounded, Hop, Tree, usable
from cypherforge.synth.words import noun, words


def test_ordinals_and_dimensions_are_one_word() -> None:
    assert words("2nd place") == "2nd place"
    assert words("3DModel") == "3D model"
    assert words("COVID19CASES") == "covid 19 cases"


def test_a_plural_label_gives_back_its_singular() -> None:
    assert noun("movies") == "movie"
    assert noun("categories") == "category"


@pytest.mark.parametrize(
    ("name", "kind", "word"),
    [
        ("pages", "INTEGER", "number of pages"),
        ("numOrders", "INTEGER", "number of orders"),
        ("status", "INTEGER", "status"),
        ("age", "INTEGER", "age"),
        ("sales", "FLOAT", "sales"),
        ("isActive", "BOOLEAN", "active flag"),
        ("has_children", "BOOLEAN", "has-children flag"),
        ("born", "DATE", "birth date"),
        ("since", "DATE", "start date"),
    ],
)
def test_properties_are_nouns(name: str, kind: str, word: str) -> None:
    roles: dict[str, Role] = {"BOOLEAN": "boolean", "DATE": "date"}
    assert Attribute("node", "Book", name, kind, roles.get(kind, "number"), 1.0, 9, 9).word == word


def test_a_value_with_both_quotes_stands_in_others() -> None:
    assert shown("T '1' \"q\"") == "“T '1' \"q\"”"


@pytest.mark.parametrize("value", ["a  b", "a\nb", " a", "", "x" * 200, None, ["a"]])
def test_a_value_that_a_sentence_would_change_is_not_asked_for(value: object) -> None:
    assert not usable(value)


def test_a_relationships_condition_stands_before_the_clauses_of_its_end() -> None:
    rides = Relation("Station", "NEXT", "Station", 9)
    tree = Tree(("Station",) * 3, (Hop(rides, 0, 1, True), Hop(rides, 1, 2, True)))
    zone = Attribute("relationship", "NEXT", "delay", "INTEGER", "number", 1.0, 9, 9)
    found = Grounded(tree, [""] * 3, [], [Condition(("hop", 0), zone, ">=", 5)])
    assert clause(found, 0, many=True) == (
        "whose next is, with a delay of at least 5, a station whose next is a station"
    )
