"""Literals of another type than their property, and durations in the unit that was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from cypherforge.core.datasets import load_dataset
from cypherforge.graph.schema import Schema
from cypherforge.runtime.type_fix import FixTypes, FixUnits

SCHEMA = Schema.parse(
    """
(:Player {name: STRING, code: STRING, born: DATE, height: FLOAT, caps: INTEGER})
(:Game {start: DATE_TIME, kickoff: LOCAL_DATE_TIME, length: DURATION})
(:Player)-[:PLAYED {minutes: INTEGER, rest: DURATION}]->(:Game)
"""
)


@pytest.mark.parametrize(
    ("draft", "fixed"),
    [
        ("WHERE p.born < '1975-01-01' RETURN p", "WHERE p.born < date('1975-01-01') RETURN p"),
        ("WHERE '1975-01-01' > p.born RETURN p", "WHERE date('1975-01-01') > p.born RETURN p"),
        ("WHERE p.born < 1975 RETURN p", "WHERE p.born.year < 1975 RETURN p"),
        ("WHERE p.caps >= '20' RETURN p", "WHERE p.caps >= 20 RETURN p"),
        ("WHERE p.code = 20 RETURN p", "WHERE p.code = '20' RETURN p"),
        (
            "WHERE p.born = datetime('1975-01-01') RETURN p",
            "WHERE p.born = date('1975-01-01') RETURN p",
        ),
    ],
)
def test_of_a_player(draft: str, fixed: str) -> None:
    assert FixTypes(SCHEMA).apply(f"MATCH (p:Player) {draft}").text == f"MATCH (p:Player) {fixed}"


@pytest.mark.parametrize(
    ("draft", "fixed"),
    [
        (
            "WHERE g.start > '2020-04-16' RETURN g",
            "WHERE date(g.start) > date('2020-04-16') RETURN g",
        ),
        (
            "WHERE g.start > date('2020-04-16') RETURN g",
            "WHERE date(g.start) > date('2020-04-16') RETURN g",
        ),
        (
            "WHERE g.start > '2020-04-16T10:00:00Z' RETURN g",
            "WHERE g.start > datetime('2020-04-16T10:00:00Z') RETURN g",
        ),
        (
            "WHERE g.kickoff > '2020-04-16 10:00' RETURN g",
            "WHERE g.kickoff > localdatetime('2020-04-16T10:00') RETURN g",
        ),
        ("WHERE g.length > 5400 RETURN g", "WHERE g.length.seconds > 5400 RETURN g"),
        ("WHERE g.length > 'PT1H' RETURN g", "WHERE g.length > duration('PT1H') RETURN g"),
    ],
)
def test_of_a_game(draft: str, fixed: str) -> None:
    assert FixTypes(SCHEMA).apply(f"MATCH (g:Game) {draft}").text == f"MATCH (g:Game) {fixed}"


def test_inline_maps_hold_the_property_s_own_type() -> None:
    draft = "MATCH (p:Player {code: 7, caps: '3', born: '1975-01-01', name: 'Ann'}) RETURN p"
    assert FixTypes(SCHEMA).apply(draft).text == (
        "MATCH (p:Player {code: '7', caps: 3, born: date('1975-01-01'), name: 'Ann'}) RETURN p"
    )


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (p:Player) WHERE p.born < date('1975-01-01') AND p.caps > 3 RETURN p.name",
        "MATCH (g:Game) WHERE g.start > datetime('2020-04-16') RETURN g.length",
        "MATCH (g:Game) WHERE g.start.year = 2020 AND g.length.seconds > 60 RETURN g",
        "MATCH (p:Player) WHERE p.name > 'M' AND p.born < $day RETURN p",
        "MATCH (p:Player)-[r:PLAYED]->(g:Game) WHERE r.rest < g.length RETURN p",
        "MATCH (n) WHERE n.born < '1975-01-01' RETURN n",
    ],
)
def test_what_meets_its_type_or_has_none_stays(query: str) -> None:
    assert FixTypes(SCHEMA).apply(query).text == query


@pytest.mark.parametrize(
    ("draft", "fixed"),
    [
        ("RETURN avg(g.length)", "RETURN avg(g.length.seconds)"),
        ("RETURN avg(g.length) * 1000", "RETURN avg(g.length.seconds)"),
        ("RETURN avg(g.length * 1000) AS a", "RETURN avg(g.length.seconds) AS a"),
        (
            "WHERE g.length IS NOT NULL RETURN sum(g.length.seconds), max(g.length)",
            "WHERE g.length IS NOT NULL RETURN sum(g.length.seconds), max(g.length.seconds)",
        ),
    ],
)
def test_a_duration_in_the_unit_of_the_question(draft: str, fixed: str) -> None:
    asked = FixUnits(SCHEMA, "What is the average length (in seconds) of the games?")
    assert asked.apply(f"MATCH (g:Game) {draft}").text == f"MATCH (g:Game) {fixed}"
    plain = FixUnits(SCHEMA, "What is the average length of the games of the second day?")
    assert plain.apply(f"MATCH (g:Game) {draft}").text == f"MATCH (g:Game) {draft}"


@pytest.mark.shared
@pytest.mark.parametrize("graph", ["er", "covid", "wwc", "healthcare"])
def test_golds_are_all_but_never_touched(graph: str, shared: Path) -> None:
    schema = Schema.parse(shared / "data" / "graphs" / graph / "schema.json")
    golds = load_dataset(shared / "data" / "mind-the-query" / "automated" / graph).examples[::9]
    touched = []
    for gold in golds:
        text = FixTypes(schema).apply(gold.cypher).text
        text = FixUnits(schema, gold.question).apply(text).text
        if text != gold.cypher:
            touched.append((gold.cypher, text))
    assert len(touched) <= len(golds) / 100, touched
