"""Many-part questions: split by plain English, drafted part by part, joined where the whole fails."""

from pathlib import Path

import pytest

from cypherforge.cypher import parse
from cypherforge.graph.base import Graph
from cypherforge.graph.connect import connect
from cypherforge.llm.base import ChatRequest
from cypherforge.llm.scripted import ScriptedModel
from cypherforge.runtime.decompose import joined, split_question
from cypherforge.runtime.pipeline import Answer
from cypherforge.runtime.strategies import open_strategy

QUESTION = "How many movies are there, and how many people are there?"
MOVIES = "MATCH (m:Movie) RETURN count(m) AS movies"
PEOPLE = "MATCH (p:Person) RETURN count(p) AS people"
WHOLE = "MATCH (p:Person) WITH count(p) AS people MATCH (m:Movie) RETURN count(m) AS movies, people"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CYPHERFORGE_CACHE", str(tmp_path))


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (QUESTION, ("How many movies are there?", "How many people are there?")),
        (
            "What is the longest song? And who wrote it?",
            ("What is the longest song?", "Who wrote it?"),
        ),
        (
            "Find the oldest player, and then calculate the average age. Return name and age.",
            ("Find the oldest player.", "Calculate the average age."),
        ),
        ("Which movies did Ann and Bob watch?", None),
        ("Who wrote the song 'Stop, and what is love'?", None),
        ("Which bands and who?", None),
        ("How many songs are there? Return the count and what it counts.", None),
    ],
)
def test_parts_of_a_question(question: str, parts: tuple[str, ...] | None) -> None:
    assert split_question(question) == (parts or (question,))


def ask(graph: Graph, question: str, whole: str) -> tuple[Answer, list[str]]:
    seen: list[str] = []

    def script(request: ChatRequest) -> str:
        prompt = request.messages[-1].content
        seen.append(prompt)
        asked = prompt.rsplit("Question: ", 1)[1]
        if "Answer only this part: " in asked:
            query = MOVIES if "movies" in asked.rsplit("part: ", 1)[1] else PEOPLE
        else:
            query = whole
        return f"```cypher\n{query}\n```"

    strategy = open_strategy(
        "vote",
        graph=graph,
        model=ScriptedModel(script),
        parts_on=["decompose"],
        parts_off=["grammar"],
    )
    return strategy.answer(question), seen


def test_parts_are_drafted_first_and_shown_to_the_whole(graph: Graph) -> None:
    answer, seen = ask(graph, QUESTION, WHOLE)
    assert answer.rows == ((6, 8),)
    # Two parts, then three drafts of the whole: five calls, all the budget has.
    assert len(seen) == 5
    assert "Answer only this part: How many movies are there?" in seen[0]
    assert f"Question: How many people are there?\n```cypher\n{PEOPLE}\n```" in seen[2]
    steps = [step.part for step in answer.trace.steps]
    assert steps.index("decompose") < steps.index("part") < steps.index("vote")
    assert "join" not in steps
    assert answer.trace.steps[-1].details["calls"] == 5


def test_parts_of_one_row_answer_where_the_whole_finds_nothing(graph: Graph) -> None:
    nothing = "MATCH (p:Person {name: 'Nobody'})-[:ACTED_IN]->(m:Movie) RETURN p.name, m.title"
    query = joined([MOVIES, PEOPLE])
    assert query is not None
    assert parse(query) is not None
    answer, _ = ask(graph, QUESTION, nothing)
    joins = [step.text for step in answer.trace.steps if step.part == "join"]
    assert joins == [query]


def test_a_question_of_one_part_costs_nothing_more(graph: Graph) -> None:
    answer, seen = ask(graph, "How many movies are there?", MOVIES)
    assert answer.rows == ((6,),)
    assert len(seen) == 3
    assert not [step for step in answer.trace.steps if step.part in ("decompose", "part")]


def test_columns_of_joined_parts_keep_their_names_and_never_collide() -> None:
    text = joined(["MATCH (m:Movie) RETURN count(m)", f"{PEOPLE};", PEOPLE])
    assert text is not None
    assert text.splitlines()[-1] == (
        "RETURN part1_1 AS `count(m)`, part2_1 AS people, part3_1 AS `people 2`"
    )
    assert joined(["MATCH (m:Movie) RETURN *"]) is None
    assert joined(["no cypher"]) is None


@pytest.mark.neo4j
def test_joined_parts_run(neo4j_uri: str) -> None:
    query = joined(["UNWIND [1, 2] AS x RETURN sum(x)", "RETURN 'a' AS letter ORDER BY letter"])
    assert query is not None
    with connect(neo4j_uri) as live:
        result = live.run(query)
    assert result.columns == ("sum(x)", "letter")
    assert result.rows == ((3, "a"),)
