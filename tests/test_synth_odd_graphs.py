"""Names and values that are no plain English words, in questions."""

import pytest

from cypherforge.synth.describe import clause, shown
from cypherforge.synth.phrases import phrase
from cypherforge.synth.predicates import Attribute, Relation, Role
from cypherforge.synth.trees import Condition, Grounded, Hop, Tree, usable
from cypherforge.synth.words import noun, words


@pytest.mark.parametrize(
    ("start", "rel_type", "end", "forward", "backward"),
    [
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
def test_types_of_many_kinds_are_spoken(
    start: str, rel_type: str, end: str, forward: str, backward: str
) -> None:
    spoken = phrase(rel_type, start, end)
    assert spoken.forward(start, "X") == forward
    assert spoken.backward(end, "X") == backward


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
