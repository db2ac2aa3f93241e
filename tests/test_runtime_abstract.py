"""Exemplars of other graphs without their names: the same placeholders in question and query."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from cypherforge.cypher import parse
from cypherforge.graph.schema import Schema
from cypherforge.runtime.abstract import AbstractStore, abstract_pair, masked
from cypherforge.runtime.prompts import Exemplar

SCHEMA = Schema.parse(
    """
    (:Author {firstName: STRING})
    (:Book {title: STRING, pages: INTEGER})
    (:Author)-[:WROTE]->(:Book)
    """
)


class Words:
    """An embedder that counts words: texts of the same words are the same."""

    name = "words"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        made = np.zeros((len(texts), 512), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                made[row, sum(map(ord, word)) % 512] += 1
            made[row] /= np.linalg.norm(made[row]) or 1
        return made


@pytest.mark.parametrize(
    ("question", "cypher", "wanted", "query"),
    [
        (
            "Which movies of the 'Drama' genre did Users watch?",
            "MATCH (u:User)-[w:WATCHED]->(m:Movie)-[:HAS]->(:Genre {name: 'Drama'}) "
            "RETURN DISTINCT m.title AS movieTitle",
            "Which LabelB of the 'valueA' LabelC did LabelA REL_A?",
            "MATCH (n1:LabelA)-[r1:REL_A]->(n2:LabelB)-[:REL_B]->(:LabelC {propertyA: 'valueA'}) "
            "RETURN DISTINCT n2.propertyB AS x1",
        ),
        (
            "How many visits were there per country after 2020-01-02?",
            "MATCH (v:Visit)-[:AT]->(c:Country) WHERE v.start > date('2020-01-02') "
            "WITH c, count(v) AS n WHERE n > 3 RETURN c.name, n ORDER BY n DESC LIMIT 5",
            "How many LabelA were there per LabelB after 2020-01-02?",
            "MATCH (n1:LabelA)-[:REL_A]->(n2:LabelB) WHERE n1.propertyA > date('2020-01-02') "
            "WITH n2, count(n1) AS x1 WHERE x1 > 3 RETURN n2.propertyB, x1 ORDER BY x1 DESC LIMIT 5",
        ),
        (
            "List the first names, and the year of each birthday",
            "MATCH (p:Person) RETURN p.firstName, p.birthday.year AS year",
            "List the propertyA, and the year of each propertyB",
            "MATCH (n1:LabelA) RETURN n1.propertyA, n1.propertyB.year AS x1",
        ),
    ],
)
def test_names_become_placeholders_in_question_and_query(
    question: str, cypher: str, wanted: str, query: str
) -> None:
    made = abstract_pair(Exemplar(question, cypher))
    assert made is not None
    assert made[0] == Exemplar(wanted, query)
    assert parse(made[0].cypher) is not None


def test_a_query_that_does_not_parse_gives_nothing() -> None:
    assert abstract_pair(Exemplar("Which?", "SELECT 1")) is None
    assert AbstractStore.of([Exemplar("Which?", "SELECT 1")], SCHEMA, Words()) is None


def test_a_question_is_masked_by_its_own_schema() -> None:
    assert masked("How many books has the author 'Ann Lee' with first name Ann?", SCHEMA) == (
        "How many thing has the thing 'value' with property Ann?"
    )


def test_exemplars_are_chosen_by_the_manner_of_asking() -> None:
    pairs = [
        Exemplar(
            "What is the average rating of the hotels in 'Rome'?",
            "MATCH (h:Hotel {city: 'Rome'}) RETURN avg(h.rating)",
        ),
        Exemplar(
            "How many hotels has the chain 'Alto'?",
            "MATCH (:Chain {name: 'Alto'})-[:OWNS]->(h:Hotel) RETURN count(h)",
        ),
        Exemplar(
            "How many hotels has the chain 'Bello'?",
            "MATCH (:Chain {name: 'Bello'})-[:OWNS]->(h:Hotel) RETURN count(h)",
        ),
        Exemplar("Which hotels are there?", "MATCH (h:Hotel) RETURN h.name"),
    ]
    store = AbstractStore.of(pairs, SCHEMA, Words())
    assert store is not None
    count = "MATCH (:LabelA {propertyA: 'valueA'})-[:REL_A]->(n1:LabelB) RETURN count(n1)"
    chosen = store.choose("How many books has the author 'Ann'?", 2)
    # The nearest stands last, and what became the same query stands once.
    assert chosen[-1].cypher == count
    assert [e.cypher for e in chosen].count(count) == 1
    averaged = store.choose("What is the average number of pages of the books in 'French'?", 1)
    assert averaged[0].cypher == "MATCH (n1:LabelA {propertyA: 'valueA'}) RETURN avg(n1.propertyB)"
    shown = " ".join(e.question + e.cypher for e in [*chosen, *averaged])
    assert not {"Hotel", "hotels", "Alto", "Rome", "rating", "chain"} & set(
        shown.replace("'", " ").split()
    )
