"""The pipeline on a real embedded graph, with scripted models."""

from pathlib import Path

import pytest

from cypherforge.artifacts.bundle import Bundle, Exemplar
from cypherforge.core.errors import UsageError
from cypherforge.graph.base import Graph
from cypherforge.llm.base import ChatAnswer, ChatRequest
from cypherforge.llm.scripted import ScriptedModel
from cypherforge.runtime.commands import EXIT_CODES
from cypherforge.runtime.exemplars import by_keywords
from cypherforge.runtime.pipeline import Answer, Pipeline
from cypherforge.runtime.prompts import draft_request, zero_shot_request


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Bundle(name="empty").save(tmp_path_factory.mktemp("bundle") / "empty.cfb")


def ask(graph: Graph, bundle: Path, answer: str | ChatAnswer) -> Answer:
    model = ScriptedModel(lambda _: answer)
    return Pipeline.from_bundle(bundle, graph=graph, model=model).ask("Which movies?")


def test_rows_come_as_an_answer(graph: Graph, bundle: Path) -> None:
    text = "Sure:\n```cypher\nMATCH (m:Movie) RETURN m.title ORDER BY m.title LIMIT 2\n```"
    answer = ask(graph, bundle, text)
    assert answer.outcome == "answered"
    assert answer.columns == ("m.title",)
    assert answer.rows == (("Ash",), ("Birch",))
    assert [step.part for step in answer.trace.steps] == ["draft", "gate", "execute"]


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("MATCH (m:Movie {title: 'Nowhere'}) RETURN m.title", "empty"),
        ("MATCH (m:Movie) DETACH DELETE m", "refused"),
        ("MATCH (m:Movie) SET m.title = 'x' RETURN m", "refused"),
        ("CALL apoc.load.json('file:///etc/passwd') YIELD value RETURN value", "refused"),
        ("LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row", "refused"),
        ("MATCH (m:Movie) RETURN m.title GROUP BY m.title", "failed"),
        ("MATCH (m:Film) RETURN m.title", "failed"),
        ("Sorry, I can't return that: no node should match a password.", "failed"),
    ],
)
def test_everything_else_has_an_outcome_with_a_reason(
    graph: Graph, bundle: Path, text: str, outcome: str
) -> None:
    answer = ask(graph, bundle, text)
    assert answer.outcome == outcome
    assert answer.rows == ()
    assert answer.reason
    assert EXIT_CODES[answer.outcome] == {"empty": 1, "refused": 4, "failed": 5}[outcome]


def test_nothing_was_written(graph: Graph, bundle: Path) -> None:
    ask(graph, bundle, "MATCH (m:Movie) DETACH DELETE m")
    assert graph.run("MATCH (m:Movie) RETURN count(m)").rows == ((6,),)


def test_a_cut_off_answer_is_no_answer(graph: Graph, bundle: Path) -> None:
    cut = ChatAnswer("MATCH (m:Movie) RETURN m.title ORDER BY m.released DESC", "length")
    answer = ask(graph, bundle, cut)
    assert answer.outcome == "failed"
    assert "cut off" in answer.reason


def test_values_written_before_the_query_become_parameters(graph: Graph, bundle: Path) -> None:
    text = "year=1994 MATCH (m:Movie) WHERE m.released > $year RETURN m.title"
    assert ask(graph, bundle, text).rows == (("Fir",),)
    missing = ask(graph, bundle, "MATCH (m:Movie) WHERE m.released > $year RETURN m.title")
    assert missing.outcome == "failed"
    assert "missing_parameter(year)" in missing.reason


def test_an_empty_question_is_a_mistake_of_the_caller(graph: Graph, bundle: Path) -> None:
    with pytest.raises(UsageError):
        Pipeline.from_bundle(bundle, graph=graph, model=ScriptedModel(lambda _: "")).ask("  ")


def test_the_prompt_shows_three_exemplars_the_nearest_last(graph: Graph, tmp_path: Path) -> None:
    from cypherforge.llm.specs import open_embedder

    questions = ["When was Ann born?", "Which movies did Bob direct?", "How long is Ash?", "Hello"]
    embedder = open_embedder("wordllama")
    made = Bundle(
        name="films",
        exemplars=tuple(
            Exemplar(f"e{i}", q, f"RETURN {i}", "films") for i, q in enumerate(questions)
        ),
        embeddings=embedder.embed(questions),
        embedder=embedder.name,
    )
    seen: list[ChatRequest] = []

    def script(request: ChatRequest) -> str:
        seen.append(request)
        return "RETURN 1"

    path = made.save(tmp_path / "films.cfb")
    Pipeline.from_bundle(path, graph=graph, model=ScriptedModel(script)).ask("When was Bob born?")
    prompt = seen[0].messages[-1].content
    assert prompt.count("Question: ") == 4
    assert prompt.index("When was Ann born?") > prompt.index("Which movies did Bob direct?")
    assert prompt.endswith("Question: When was Bob born?")


def test_braces_in_a_question_reach_the_prompt_unchanged() -> None:
    question = "What is the {name} field, {{ twice }}, and {% if x %} {0}?"
    request = draft_request("(:A)", question, rules=["use {name: 'x'} {{ y }}"])
    assert question in request.messages[-1].content
    assert "use {name: 'x'} {{ y }}" in request.messages[-1].content


def test_without_rules_and_exemplars_a_draft_is_zero_shot() -> None:
    assert draft_request("(:A)", "Who?") == zero_shot_request("(:A)", "Who?")
    content = zero_shot_request("(:A)-[:R]->(:B)", "Who?").messages[-1].content
    assert content == "Schema:\n(:A)-[:R]->(:B)\n\nQuestion: Who?"


def test_shapes_are_chosen_by_keywords() -> None:
    keywords = [("how many", "count"), ("each", "per"), ("oldest",)]
    assert by_keywords("How many people acted in each film?", keywords, 2) == [0, 1]
    assert by_keywords("Who?", keywords, 2) == []
