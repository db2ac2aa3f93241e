"""The example that ships: its graph, its questions, and the script that writes both."""

import gzip
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from neo4j import GraphDatabase

from cypherforge.cypher import parse
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.compare import same_rows
from cypherforge.graph.connect import connect

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "artifacts" / "example"
BUILD = ROOT / "tools" / "example" / "build_example.py"


def rows(name: str, folder: Path = FOLDER) -> list[dict[str, Any]]:
    data = (folder / name).read_bytes()
    text = gzip.decompress(data) if name.endswith(".gz") else data
    return [json.loads(line) for line in text.decode().split("\n")[:-1]]


QUESTIONS = rows("questions.jsonl")
TRUE_EMPTY = rows("true_empty.jsonl")
NODES = rows("nodes.jsonl.gz")
LINKS = rows("relationships.jsonl.gz")


def ordered(query: str) -> bool:
    """Whether the outer query sorts its rows."""
    return "ORDER BY" in query.rsplit("RETURN", 1)[-1]


@pytest.fixture(scope="module")
def embedded() -> Iterator[Graph]:
    with connect(f"embedded:{FOLDER}") as graph:
        yield graph


@pytest.fixture(scope="module")
def answers(embedded: Graph) -> dict[str, Result]:
    return {row["id"]: embedded.run(row["cypher"]) for row in [*QUESTIONS, *TRUE_EMPTY]}


def test_the_script_writes_the_shipped_files(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(BUILD), str(tmp_path)], check=True, capture_output=True)
    for name in ("schema.json", "questions.jsonl", "true_empty.jsonl"):
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), name
    for name in ("nodes.jsonl.gz", "relationships.jsonl.gz"):
        # Compressed bytes differ between zlib and zlib-ng: the content may not.
        made = gzip.decompress((tmp_path / name).read_bytes())
        assert made == gzip.decompress((FOLDER / name).read_bytes()), name


def test_the_build_does_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, str(BUILD), str(tmp_path / seed)],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
    for path in (tmp_path / "1").iterdir():
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes(), path.name


def test_the_graph_has_the_size_that_the_docs_say() -> None:
    labels = Counter(label for node in NODES for label in node["labels"])
    assert (len(NODES), len(LINKS)) == (381, 1594)
    assert labels == {
        "Band": 14,
        "Concert": 24,
        "Crew": 26,
        "Crossing": 150,
        "Document": 58,
        "Ferry": 9,
        "Person": 66,
        "Pier": 12,
        "Song": 44,
        "Venue": 9,
    }
    assert len({link["type"] for link in LINKS}) == 14


def test_friendship_is_stored_both_ways_and_management_one_way() -> None:
    pairs = {(link["start"], link["end"]) for link in LINKS if link["type"] == "FRIEND_OF"}
    assert len(pairs) == 124
    assert all((end, start) in pairs for start, end in pairs)
    assert all(start != end for start, end in pairs)
    bosses = {link["end"]: link["start"] for link in LINKS if link["type"] == "MANAGES"}
    assert len(bosses) == 25
    assert not any((end, start) in bosses.items() for start, end in bosses.items())


def test_every_trap_of_the_docs_is_in_the_data() -> None:
    values = {
        tag
        for node in NODES
        for value in node["properties"].values()
        for tag in (value if isinstance(value, dict) else [type(value).__name__])
    }
    assert values >= {"$date", "$datetime", "$duration", "$point", "float", "bool", "list", "str"}
    names = {node["properties"].get("name") or node["properties"].get("title") for node in NODES}
    assert names >= {"Anna Lind", "Anna Lindh", "O'Brien's Quay", 'The "Lantern" Jetty', "人魚"}
    assert any(len(node["labels"]) == 2 for node in NODES)
    people = [node["properties"] for node in NODES if "Person" in node["labels"]]
    assert 0 < sum("nickname" in person for person in people) < len(people) / 2
    labels = {node["id"]: "+".join(node["labels"]) for node in NODES}
    ends: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for link in LINKS:
        ends[link["type"]].add((labels[link["start"]], labels[link["end"]]))
    assert len({end for _, end in ends["MENTIONS"]}) >= 5
    assert ends["DEPARTS_FROM"] == ends["ARRIVES_AT"]


def test_the_schema_file_counts_what_the_graph_holds() -> None:
    meta = json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))["apoc.meta.schema"]
    types = Counter(link["type"] for link in LINKS)
    labels = Counter(label for node in NODES for label in node["labels"])
    said = {name: entry["count"] for name, entry in meta.items()}
    assert said == {**types, **labels}
    assert meta["Crossing"]["relationships"]["SAILED_BY"]["direction"] == "out"
    assert meta["Ferry"]["relationships"]["SAILED_BY"]["direction"] == "in"
    assert meta["Pier"]["labels"] == ["Venue"]


def test_questions_have_unique_ids_splits_and_families() -> None:
    every = [*QUESTIONS, *TRUE_EMPTY]
    assert len({row["id"] for row in every}) == len(every)
    assert len({row["question"] for row in every}) == len(every)
    splits = Counter(row["split"] for row in QUESTIONS)
    assert splits["train"] >= 170
    assert splits["test"] >= 70
    assert set(splits) == {"train", "test"}
    assert len(TRUE_EMPTY) >= 60
    assert {row["graph"] for row in every} == {"example"}
    families = {split: {r["family"] for r in QUESTIONS if r["split"] == split} for split in splits}
    assert families["train"] == families["test"]
    assert len(families["train"]) == 16


def test_every_gold_parses() -> None:
    for row in [*QUESTIONS, *TRUE_EMPTY]:
        parse(row["cypher"])


def test_no_test_gold_has_the_structure_of_a_train_gold() -> None:
    from cypherforge.cypher.normal import gold_key

    train = {gold_key(row["cypher"]) for row in QUESTIONS if row["split"] == "train"}
    test = [row for row in QUESTIONS if row["split"] == "test"]
    assert [row["id"] for row in test if gold_key(row["cypher"]) in train] == []


def test_every_gold_returns_rows(answers: dict[str, Result]) -> None:
    assert [row["id"] for row in QUESTIONS if not answers[row["id"]].rows] == []


def test_true_empty_golds_return_no_row(answers: dict[str, Result]) -> None:
    assert [row["id"] for row in TRUE_EMPTY if answers[row["id"]].rows] == []


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who wrote Twelve Bells?", {("Kwame Asante",)}),
        ("Who manages Emeka Obi?", {("Bartholomew Crane",)}),
        ("What did the Harbour Rules 1952 replace?", {("Harbour Rules 1911",)}),
        ("Which documents share their title with a song?", {("Grey Heron",), ("Widow's Lantern",)}),
        (
            "Whose nickname is the name of a pier? Give the person and the pier.",
            {("Petra Sund", "Tollgate")},
        ),
        (
            "At Opening Night 2024, how many bands played and how many songs were on the programme?",
            {(3, 6)},
        ),
        ("How many steps of management lie between Maeve O'Brien and Hana Nováková?", {(4,)}),
        ("What is the second longest ferry?", {("Second Tide",)}),
    ],
)
def test_golds_answer_what_the_story_says(
    answers: dict[str, Result], question: str, expected: set[tuple[Any, ...]]
) -> None:
    (row,) = [row for row in QUESTIONS if row["question"] == question]
    assert set(answers[row["id"]].rows) == expected


@pytest.mark.parametrize(
    ("question", "naive", "wrong"),
    [
        (
            "How many friends has Anna Lindh?",
            "MATCH (:Person {name: 'Anna Lindh'})-[:FRIEND_OF]-(p:Person) RETURN count(p)",
            [(14,)],
        ),
        (
            (
                "At Opening Night 2024, how many bands played and how many songs were on the "
                "programme?"
            ),
            (
                "MATCH (b:Band)-[:PLAYED_AT]->(c:Concert {title: 'Opening Night', edition: 2024})"
                "-[:INCLUDES]->(s:Song) RETURN count(b), count(s)"
            ),
            [(18, 18)],
        ),
        (
            "Which ferry sailed crossing K-1042?",
            "MATCH (:Crossing {number: 'K-1042'})<-[:SAILED_BY]-(f:Ferry) RETURN f.name",
            [],
        ),
        (
            "Which crossing carried the most passengers? Number and passengers.",
            "MATCH (c:Crossing) RETURN c.passengers ORDER BY c.passengers DESC LIMIT 1",
            [(None,)],
        ),
        (
            "Who plays in the Low Water Quartet?",
            "MATCH (p:Person)-[:MEMBER_OF]->(:Band {name: 'Low Water Quartet'}) RETURN p.name",
            [],
        ),
    ],
)
def test_naive_queries_fall_into_the_traps(
    embedded: Graph,
    answers: dict[str, Result],
    question: str,
    naive: str,
    wrong: list[tuple[Any, ...]],
) -> None:
    result = embedded.run(naive)
    assert list(result.rows) == wrong
    (row,) = [row for row in QUESTIONS if row["question"] == question]
    assert same_rows(answers[row["id"]], result) is False


@pytest.mark.neo4j
def test_neo4j_gives_the_same_rows(neo4j_uri: str, answers: dict[str, Result]) -> None:
    # In one transaction, rolled back: the server keeps whatever it holds.
    tool = run_path(str(ROOT / "tools" / "example" / "load_neo4j.py"))
    different = []
    with (
        GraphDatabase.driver(neo4j_uri, notifications_min_severity="OFF") as driver,
        driver.session() as session,
        session.begin_transaction() as work,
    ):

        def run(query: str, **parameters: Any) -> list[dict[str, Any]]:
            return work.run(query, parameters).data()

        if run("MATCH (n) RETURN count(n) AS nodes")[0]["nodes"] > 20_000:
            pytest.skip(f"{neo4j_uri} holds too much to make room for the example")
        run("MATCH (n) DETACH DELETE n")
        assert tool["create"](run, FOLDER) == (381, 1594)
        # A third of them, each family among them, keeps the suite short.
        for row in [*QUESTIONS, *TRUE_EMPTY][::3]:
            answer = work.run(row["cypher"])
            live = Result(
                columns=tuple(answer.keys()),
                rows=tuple(tuple(record.values()) for record in answer),
                truncated=False,
                seconds=0.0,
                notifications=(),
            )
            if not same_rows(live, answers[row["id"]], ordered=ordered(row["cypher"])):
                different.append(row["id"])
        work.rollback()
    assert different == []
