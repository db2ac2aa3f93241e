"""What question, query and schema alone say against a query: worked by hand on one small schema."""

import pytest

from cypherforge.graph.schema import Schema
from cypherforge.runtime.doubts import doubts, static_suspicions
from cypherforge.runtime.pair import read_pair
from cypherforge.runtime.question import Compared, read_question, said

SCHEMA = Schema.parse(
    """
    (:Library {name: STRING, openedYear: INTEGER})
    (:Book {title: STRING, pages: INTEGER, shelfMark: STRING, bought: DATE})
    (:Author {name: STRING})
    (:Author)-[:WROTE]->(:Book)
    (:Library)-[:HOLDS {copies: INTEGER}]->(:Book)
    """
)


def codes(question: str, query: str) -> list[str]:
    pair = read_pair(question, query, SCHEMA)
    assert pair is not None
    return [found.code for found in static_suspicions(pair)]


@pytest.mark.parametrize(
    ("question", "wrong", "right", "code"),
    [
        (
            "How many pages has the book 'Emma'?",
            "MATCH (b:Book {title: 'Persuasion'}) RETURN b.pages",
            "MATCH (b:Book {title: 'Emma'}) RETURN b.pages",
            "filter.missing",
        ),
        (
            "Which books have more than 300 pages?",
            "MATCH (b:Book) WHERE b.pages = 300 RETURN b.title",
            "MATCH (b:Book) WHERE b.pages >= 301 RETURN b.title",
            "filter.operator",
        ),
        (
            "Which books have 300 pages or fewer?",
            "MATCH (b:Book) WHERE b.pages < 300 RETURN b.title",
            "MATCH (b:Book) WHERE 300 >= b.pages RETURN b.title",
            "filter.operator",
        ),
        (
            "Which books were bought before '2020-03-05'?",
            "MATCH (b:Book) WHERE b.bought > date('2020-03-05') RETURN b.title",
            "MATCH (b:Book) WHERE b.bought < date('2020-03-05') RETURN b.title",
            "filter.operator",
        ),
        (
            "Which books have between 100 and 200 pages?",
            "MATCH (b:Book) WHERE b.pages >= 100 RETURN b.title",
            "MATCH (b:Book) WHERE 100 <= b.pages <= 200 RETURN b.title",
            "filter.missing",
        ),
        (
            "How many books did Ann write?",
            "MATCH (a:Author {name: 'Ann'})-[:WROTE]->(b:Book) RETURN b.title",
            "MATCH (a:Author {name: 'Ann'})-[:WROTE]->(b:Book) RETURN count(b)",
            "aggregation.function",
        ),
        (
            "What is the average number of pages of the books by Ann?",
            "MATCH (a:Author {name: 'Ann'})-[:WROTE]->(b:Book) RETURN sum(b.pages)",
            "MATCH (a:Author {name: 'Ann'})-[:WROTE]->(b:Book) RETURN avg(b.pages)",
            "aggregation.function",
        ),
        (
            "Which book has the most pages?",
            "MATCH (b:Book) RETURN b.title ORDER BY b.pages LIMIT 1",
            "MATCH (b:Book) RETURN b.title ORDER BY b.pages DESC LIMIT 1",
            "return.order",
        ),
        (
            "Which book has the fewest pages?",
            "MATCH (b:Book) RETURN b.title",
            "MATCH (b:Book) RETURN b.title ORDER BY b.pages LIMIT 1",
            "return.order",
        ),
        (
            "For each author, how many books are there?",
            "MATCH (a:Author)-[:WROTE]->(b:Book) RETURN count(b)",
            "MATCH (a:Author)-[:WROTE]->(b:Book) RETURN a.name, count(b)",
            "aggregation.grouping",
        ),
        (
            "Which distinct authors have books in a library?",
            "MATCH (a:Author)-[:WROTE]->(:Book)<-[:HOLDS]-(:Library) RETURN a.name",
            "MATCH (a:Author)-[:WROTE]->(:Book)<-[:HOLDS]-(:Library) RETURN DISTINCT a.name",
            "aggregation.distinct",
        ),
        (
            "Which books are not in a library?",
            "MATCH (b:Book)<-[:HOLDS]-(:Library) RETURN b.title",
            "MATCH (b:Book) WHERE NOT (b)<-[:HOLDS]-(:Library) RETURN b.title",
            "filter.null",
        ),
        (
            "Which authors have books in the library 'Bodleian'?",
            "MATCH (l:Library {name: 'Bodleian'})-[:HOLDS]->(b:Book) RETURN b.title",
            "MATCH (l:Library {name: 'Bodleian'})-[:HOLDS]->(:Book)<-[:WROTE]-(a:Author) "
            "RETURN a.name",
            "pattern.missing_hop",
        ),
        (
            "What are the titles and shelf marks of all books?",
            "MATCH (b:Book) RETURN b.title",
            "MATCH (b:Book) RETURN b.title, b.shelfMark",
            "return.columns",
        ),
        (
            "Which books did Ann write?",
            "MATCH (a:Author {name: 'Ann'})-[:WROTE]->(b:Book)<-[:HOLDS]-(:Library) RETURN b.title",
            "MATCH (a:Author {name: 'Ann'})-[:WROTE]->(b:Book) RETURN b.title",
            "pattern.extra_hop",
        ),
        (
            "What are the author names of the books in 'Bodleian'?",
            "MATCH (l:Library {name: 'Bodleian'})-[:HOLDS]->(:Book)<-[:WROTE]-(a:Author) "
            "RETURN l.name AS authorName",
            "MATCH (l:Library {name: 'Bodleian'})-[:HOLDS]->(:Book)<-[:WROTE]-(a:Author) "
            "RETURN a.name AS authorName",
            "return.item",
        ),
        (
            "How many copies has the library 'Bodleian'?",
            "MATCH (l:Library {name: 'Bodleian'})-[:HOLDS]->(b:Book) RETURN sum(b.copies)",
            "MATCH (l:Library {name: 'Bodleian'})-[h:HOLDS]->(:Book) RETURN sum(h.copies)",
            "schema.property",
        ),
        (
            "Which books did Ann write?",
            "MATCH (b:Book)-[:WROTE]->(a:Author {name: 'Ann'}) RETURN b.title",
            "MATCH (b:Book)<-[:WROTE]-(a:Author {name: 'Ann'}) RETURN b.title",
            "direction.reversed",
        ),
    ],
)
def test_a_wrong_query_is_doubted_and_a_right_one_is_not(
    question: str, wrong: str, right: str, code: str
) -> None:
    assert code in codes(question, wrong)
    assert codes(question, right) == []
    assert doubts(question, wrong, SCHEMA) > doubts(question, right, SCHEMA) == 0


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("Which books have over 2 thousand pages?", "MATCH (b:Book) WHERE b.pages > 2000 RETURN b"),
        (
            "Which books were bought in April 2020?",
            "MATCH (b:Book) WHERE b.bought >= date('2020-04-01') "
            "AND b.bought < date('2020-05-01') RETURN b.title",
        ),
        ("How many copies of books are there?", "MATCH ()-[h:HOLDS]->() RETURN sum(h.copies)"),
        ("Which authors wrote several books?", "MATCH (a:Author)-[:WROTE]->(b) "
         "WITH a, count(b) AS books WHERE books > 1 RETURN a.name"),
        ("Is it 'EMMA' by any other case?", "MATCH (b:Book) WHERE toLower(b.title) = 'emma' "
         "RETURN b.title"),
        ("Which authors have no books?", "MATCH (a:Author) OPTIONAL MATCH (a)-[:WROTE]->(b) "
         "WITH a, count(b) AS n WHERE n = 0 RETURN a.name"),
        ("What share of the books is long (over 500 pages), in percent?", "MATCH (b:Book) RETURN "
         "100.0 * sum(CASE WHEN b.pages > 500 THEN 1 ELSE 0 END) / count(b)"),
        ("Which authors wrote books of at least 100 pages? Return at most 5.", "MATCH "
         "(a:Author)-[:WROTE]->(b:Book) WHERE b.pages >= 100 RETURN a.name LIMIT 5"),
    ],
)  # fmt: skip
def test_other_ways_to_say_the_same_are_not_doubted(question: str, query: str) -> None:
    assert codes(question, query) == []


def test_a_query_that_does_not_parse_is_not_doubted() -> None:
    assert read_pair("Which?", "SELECT 1", SCHEMA) is None
    assert doubts("Which?", "SELECT 1", SCHEMA) == 0


def test_a_question_is_read() -> None:
    read = read_question(
        "Who wrote 'Ann's War' after 1,950, or at least 3 of them by '2020-04-01'?"
    )
    assert [q.text for q in read.quoted] == ["Ann's War"]
    assert read.numbers == ("1950", "3")
    assert read.dates == ("2020-04-01",)
    assert read.compared == (Compared("1950", "more"), Compared("3", "least"))
    assert not read.negated
    assert read_question("books that were never lent").negated


def test_names_are_said_in_any_form() -> None:
    words = read_question("The first names and countries of movies").words
    assert said(words, "firstName") and said(words, "Country") and said(words, "MOVIE")
    assert not said(words, "lastName")
