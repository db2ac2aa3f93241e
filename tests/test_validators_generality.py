"""A rule may hold no name of any graph, whatever its spelling; English words stay words."""

import pytest

from cypherforge.core.datasets import Example
from cypherforge.graph.schema import Label, Pattern, Property, RelType, Schema
from cypherforge.rules.model import Rule
from cypherforge.validators.generality import (
    ForbiddenName,
    ForbiddenNames,
    check_rule,
    scan_code,
    scan_prose,
)
from cypherforge.validators.grammar import check_grammar, validate_rules
from cypherforge.validators.words import is_placeholder, ordinary, pieces

FILMS = Schema.build(
    [
        Label("Movie", (Property("title"), Property("releaseYear", "INTEGER"))),
        Label("Person", (Property("name"), Property("footedness"))),
        Label("Case", (Property("count", "INTEGER"),)),
    ],
    [RelType("hasSpouse"), RelType("ACTED_IN", (Property("role"),)), RelType("MATCH")],
    [
        Pattern("Person", "hasSpouse", "Person"),
        Pattern("Person", "ACTED_IN", "Movie"),
        Pattern("Case", "MATCH", "Case"),
    ],
)
NAMES = ForbiddenNames.collect(
    {"films": FILMS},
    [
        Example("q1", "?", "MATCH (p:Person {name: 'Aristide Maillol'}) RETURN p", "films"),
        Example(
            "q2", "?", "MATCH (p:Person) WHERE p.role IN [\"goalkeeper\", 'red'] RETURN p", "films"
        ),
    ],
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hasSpouse", ("has", "spouse")),
        ("HAS_SPOUSES", ("has", "spouse")),
        ("has-spouse", ("has", "spouse")),
        ("HTTPServer2Nodes", ("http", "server", "2", "node")),
        ("countries", ("country",)),
        ("classes of boxes", ("class", "of", "box")),
        ("status", ("status",)),
        ("Musée d'Orsay", ("musée", "d", "orsay")),
    ],
)
def test_pieces_ignore_spelling(text: str, expected: tuple[str, ...]) -> None:
    assert pieces(text) == expected


def test_ordinary_words() -> None:
    assert all(ordinary(w) for w in ("country", "Countries", "counted", "year", "person", "1999"))
    assert not any(ordinary(w) for w in ("taxon", "footedness", "xref", "maillol"))


@pytest.mark.parametrize(
    "name",
    ["NodeLabel", "NodeLabelA", "relType2", "propertyKey", "n", "total", "otherNode", "dateKey"],
)
def test_placeholders(name: str) -> None:
    assert is_placeholder(name)


@pytest.mark.parametrize("name", ["name", "date", "Movie", "hasSpouse", "movieLabel"])
def test_names_are_no_placeholders(name: str) -> None:
    assert not is_placeholder(name)


def tokens(text: str) -> list[str]:
    return [token for _, token, _ in scan_prose(text, NAMES)]


@pytest.mark.parametrize(
    "text",
    [
        "A person may have a name, and the count of cases matters; match the title exactly.",
        "MATCH once, then WITH DISTINCT. Case decides: use CASE, never the raw string.",
        "Person counts double when both directions are stored.",
        "Write `MATCH (n:NodeLabel) RETURN count(DISTINCT n) AS total`, or `n.propertyKey`.",
        "The word red stands in a question; has a spouse is plain English where both are words.",
        "Use `CASE WHEN n.propertyKey IS NULL THEN 0 ELSE 1 END` and `count(n)`.",
    ],
)
def test_ordinary_words_may_stand_in_prose(text: str) -> None:
    assert tokens(text) == []


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("Follow hasSpouse in one direction.", "hasSpouse"),
        ("Follow has_spouses in one direction.", "has_spouses"),
        ("Never walk HAS_SPOUSE twice.", "HAS_SPOUSE"),
        ("The footedness of players is optional.", "footedness"),
        ("Join the Movie node first.", "Movie"),
        ("Join `person` to the other end.", "person"),
        ("Compare n.releaseYear as a number.", "releaseYear"),
        ("Sculptures by Aristide Maillol are rare.", "Aristide Maillol"),
        ("Sculptures by aristide maillol are rare.", "aristide maillol"),
        ("Roles such as Goalkeeper need care.", "Goalkeeper"),
        ("Use `(p:Person)` and `n.title = $value`.", "Person"),
        ("Beware of ACTED_IN relationships.", "ACTED_IN"),
        ("Read movieTitle rather than the label.", "movieTitle"),
    ],
)
def test_names_of_a_graph_are_found_in_prose(text: str, token: str) -> None:
    assert token in tokens(text)


def code_tokens(text: str) -> list[str]:
    return [token for _, token, _ in scan_code(text, NAMES)]


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:NodeLabel)-[:relType]->(m) WITH n, count(m) AS total RETURN n.propertyKey, total",
        "MATCH (n:NodeLabel) RETURN CASE WHEN n.propertyKey > 1 THEN 'yes' ELSE 'no' END",
        "MATCH (p:NodeLabel {propertyKey: $value}) RETURN p",
        "(a:NodeLabelA)-[:relType]->(b)",
        "count(DISTINCT n)",
        "WHERE n.propertyKey IS NOT NULL",
    ],
)
def test_placeholders_pass_in_code(text: str) -> None:
    assert code_tokens(text) == []


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("MATCH (n:Person) RETURN n.propertyKey", "Person"),
        ("MATCH (n:NodeLabel) RETURN n.name", "name"),
        ("MATCH (person:NodeLabel) RETURN person", "person"),
        ("MATCH (n:NodeLabel)-[:MATCH]->(m) RETURN m", "MATCH"),
        ("MATCH (n:Case) RETURN n", "Case"),
        ("MATCH (n:NodeLabel {propertyKey: 'Red'}) RETURN n", "'Red'"),
        ("MATCH (n:NodeLabel {propertyKey: $personName}) RETURN n", "$personName"),
        ("n.count", "count"),
        ("MATCH (n:Person RETURN n", "Person"),
    ],
)
def test_in_code_an_ordinary_word_is_no_excuse(text: str, token: str) -> None:
    assert token in code_tokens(text)


def rule(**changes: object) -> Rule:
    fields: dict[str, object] = {
        "id": "U1",
        "tier": "universal",
        "title": "Count things, not rows",
        "situation": "A pattern with two branches is counted.",
        "why": "Each branch multiplies the rows of the other.",
        "correction": "Write `count(DISTINCT n)`.",
        "boundary": "Leave it where rows are what is asked for.",
        "codes": ["aggregation.fanout"],
        "wrong": "MATCH (n:NodeLabel)--(m) RETURN count(n) AS total",
        "right": "MATCH (n:NodeLabel)--(m) RETURN count(DISTINCT n) AS total",
    }
    return Rule.model_validate({**fields, **changes})


def test_a_general_rule_passes() -> None:
    assert check_rule(rule(), NAMES) == []
    assert check_grammar(rule()) == []


def test_a_rejection_names_rule_field_span_token_and_graph() -> None:
    (found,) = check_rule(rule(situation="Two hasSpouse edges are counted."), NAMES)
    assert (found.rule, found.field, found.token, found.graph) == (
        "U1",
        "situation",
        "hasSpouse",
        "films",
    )
    assert "Two hasSpouse edges"[slice(*found.span)] == "hasSpouse"
    assert "films" in str(found) and "hasSpouse" in str(found) and "U1" in str(found)


def test_trigger_words_are_checked_too() -> None:
    asked = rule(tier="question", trigger={"words": ["how many", "footedness"]})
    (found,) = check_rule(asked, NAMES)
    assert found.token == "footedness"


def test_a_snippet_must_parse_and_hold_placeholders() -> None:
    broken = rule(right="MATCH (n:NodeLabel RETURN n")
    assert [r.field for r in check_grammar(broken)] == ["right"]
    named = rule(right="MATCH (n:Zebra)-[:eats]->(m) RETURN n.stripes")
    assert [r.token for r in check_grammar(named)] == ["Zebra", "eats", "stripes"]
    dated = rule(right="MATCH (n:NodeLabel) RETURN n.dateKey.year")
    assert check_grammar(dated) == []


def test_a_wrong_snippet_may_fail_to_parse_if_that_is_the_fault() -> None:
    text = "MATCH (n:NodeLabel RETURN n"
    assert check_grammar(rule(wrong=text, codes=["syntax.parse"])) == []
    assert [r.field for r in check_grammar(rule(wrong=text))] == ["wrong"]


def test_survivors_and_rejections_of_a_whole_file() -> None:
    good = rule().model_dump(mode="json", exclude_none=True)
    bad = {**good, "id": "U2", "why": "Because Movie nodes repeat, it is wrong."}
    odd = {**good, "id": "U3", "tier": "nonsense"}
    survivors, rejections = validate_rules({"rules": [good, bad, odd]}, NAMES)
    assert [r.id for r in survivors] == ["U1"]
    assert {r.rule for r in rejections} == {"U2", "U3"}


def test_one_letter_entities_do_not_outlaw_prose() -> None:
    names = ForbiddenNames([ForbiddenName("entity", "g", "A"), ForbiddenName("entity", "g", "M")])
    assert scan_prose("A rule may say A.", names) == []
    assert [t for _, t, _ in scan_code("RETURN 'M'", names)] == ["'M'"]


def test_words_of_the_language_pass_though_a_graph_has_properties_of_that_name() -> None:
    # A graph with properties `date` and `year`: most have such, and rules must speak of dates.
    names = ForbiddenNames(
        [ForbiddenName("property", "cup", "date"), ForbiddenName("property", "cup", "year")]
    )
    assert not scan_prose("A property of type DATE or DATE_TIME is compared.", names)
    assert not scan_prose("SQL's functions (YEAR, LIKE) do not exist.", names)
    assert not scan_code("WHERE n.propertyKey.year = 2019", names)
    assert not scan_code("RETURN date($value).year", names)
    # The properties themselves are found all the same.
    assert [token for _, token, _ in scan_code("WHERE n.year = 2019", names)] == ["year"]
    assert [token for _, token, _ in scan_code("RETURN n.propertyKey.date", names)] == ["date"]
