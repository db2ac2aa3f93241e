"""Strategies awaited, streamed, and lent to other libraries; each with the real package."""

import asyncio
from typing import Any

import pytest

from cypherforge.core.errors import UsageError
from cypherforge.graph.base import Graph
from cypherforge.llm.scripted import ScriptedModel
from cypherforge.runtime.adapters import as_text
from cypherforge.runtime.aio import answer, stream
from cypherforge.runtime.pipeline import Answer
from cypherforge.runtime.strategies import Strategy, open_strategy
from cypherforge.runtime.trace import Step, Trace

QUERY = "MATCH (p:Person {name: 'Ann'})-[:ACTED_IN]->(m:Movie) RETURN m.title ORDER BY m.title"
QUESTION = "In which movies did Ann act?"


@pytest.fixture(scope="module")
def strategy(graph: Graph) -> Strategy:
    model = ScriptedModel(lambda _: f"```cypher\n{QUERY}\n```")
    return open_strategy("cypherguard", graph=graph, model=model)


def test_an_answer_can_be_awaited_and_many_at_once(strategy: Strategy) -> None:
    async def ask() -> list[Answer]:
        return await asyncio.gather(*(answer(strategy, QUESTION) for _ in range(4)))

    assert [a.rows for a in asyncio.run(ask())] == [(("Ash",), ("Cedar",))] * 4


def test_steps_come_as_they_happen_and_the_answer_last(strategy: Strategy) -> None:
    async def watch() -> list[Step | Answer]:
        return [event async for event in stream(strategy, QUESTION)]

    *steps, last = asyncio.run(watch())
    assert isinstance(last, Answer)
    assert steps == last.trace.steps


def test_a_fault_reaches_the_one_who_awaits(strategy: Strategy) -> None:
    async def watch() -> None:
        async for _ in stream(strategy, "  "):
            pass

    with pytest.raises(UsageError):
        asyncio.run(watch())


def test_an_answer_without_rows_says_so_in_text() -> None:
    text = as_text(Answer("empty", "RETURN 1", (), (), Trace(), "nothing was found"))
    assert text == "empty: nothing was found"
    many = Answer("answered", "", ("n",), tuple((i,) for i in range(30)), Trace(), warnings=("x",))
    assert as_text(many).splitlines()[-2:] == ["(30 rows, 25 shown)", "doubtful: x"]


def test_langchain_calls_it_as_a_tool(strategy: Strategy) -> None:
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    from cypherforge.runtime.adapters.langchain import as_tool

    tool = as_tool(strategy)
    assert tool.name == "ask_graph"
    assert list(tool.args) == ["question"]
    assert tool.invoke({"question": QUESTION}) == "m.title\nAsh\nCedar"
    call = {"name": "ask_graph", "args": {"question": QUESTION}, "id": "1", "type": "tool_call"}
    message: Any = tool.invoke(call)
    assert message.artifact.cypher == QUERY
    assert asyncio.run(tool.ainvoke({"question": QUESTION})) == "m.title\nAsh\nCedar"


def test_llama_index_queries_it(strategy: Strategy) -> None:
    pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
    from cypherforge.runtime.adapters.llama_index import GraphQueryEngine

    engine = GraphQueryEngine(strategy)
    response: Any = engine.query(QUESTION)
    assert str(response) == "m.title\nAsh\nCedar"
    assert response.metadata["cypher"] == QUERY
    assert len(response.source_nodes) == 1
    assert str(asyncio.run(engine.aquery(QUESTION))) == "m.title\nAsh\nCedar"


def test_graphrag_retrieves_rows(strategy: Strategy) -> None:
    pytest.importorskip("neo4j_graphrag", reason="neo4j-graphrag is not installed")
    import neo4j

    from cypherforge.runtime.adapters.graphrag import CypherforgeRetriever

    # The driver connects only when it is asked, and it never is.
    with neo4j.GraphDatabase.driver("bolt://127.0.0.1:1") as driver:
        retriever = CypherforgeRetriever(driver, strategy)
        found = retriever.search(query_text=QUESTION)
    assert [item.content for item in found.items] == ["m.title: Ash", "m.title: Cedar"]
    assert found.metadata is not None
    assert found.metadata["outcome"] == "answered"
