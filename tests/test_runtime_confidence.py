"""Confidence filtering: measures by hand, filters, votes, and the whole strategy."""

import math
from typing import Any

import pytest

from cypherforge.core.errors import NotSupported, UsageError
from cypherforge.graph.base import Graph
from cypherforge.graph.schema import Schema
from cypherforge.llm.base import ChatAnswer, ChatRequest, TokenLogprob
from cypherforge.llm.scripted import ScriptedModel
from cypherforge.llm.watch import CUT, current_watch
from cypherforge.runtime.confidence import (
    PRESETS,
    Falling,
    confidence,
    group_confidences,
    naive_grammar,
    token_confidence,
)
from cypherforge.runtime.pipeline import Answer
from cypherforge.runtime.strategies import open_strategy

RIGHT = "MATCH (p:Person {name: 'Ann'})-[:ACTED_IN]->(m:Movie) RETURN m.title"
OTHER = RIGHT.replace("Ann", "Bob")
REVERSED = RIGHT.replace("-[:ACTED_IN]->", "<-[:ACTED_IN]-")


@pytest.fixture(scope="module")
def schema(graph: Graph) -> Schema:
    return graph.schema()


def tokens(*peaks: float) -> tuple[TokenLogprob, ...]:
    """Tokens whose second alternative has this log probability: the lower, the surer the first."""
    return tuple(TokenLogprob("x", -0.1, (("x", -0.1), ("y", peak))) for peak in peaks)


def drafts(*given: tuple[str, float]) -> Any:
    """Answers by number: a query, and how far its alternatives lie below."""

    def script(request: ChatRequest) -> ChatAnswer:
        query, peak = given[min(request.sample, len(given) - 1)]
        text = f"```cypher\n{query}\n```"
        return ChatAnswer(text, completion_tokens=20, logprobs=tokens(*[peak] * 20))

    return script


def ask(graph: Graph, schema: Schema, script: Any, name: str = "conf", **options: Any) -> Answer:
    model = ScriptedModel(script)
    way = open_strategy(name, graph=graph, model=model, schema=schema, **options)
    return way.answer("In which movies did Ann act?")


def test_a_token_is_sure_where_its_alternatives_are_unlikely() -> None:
    # DeepConf: the negative mean log probability of the top-k: -(-0.1 - 3.9) / 2.
    assert token_confidence(tokens(-3.9)[0]) == pytest.approx(2.0)
    assert token_confidence(tokens(-0.5)[0]) == pytest.approx(0.3)
    assert token_confidence(TokenLogprob("x", -0.2)) == -0.2
    impossible = TokenLogprob("x", 0.0, (("x", 0.0), ("y", -math.inf)))
    assert token_confidence(impossible) == 0.0


def test_groups_slide_and_measures_read_them() -> None:
    # Confidences 1, 2, 3, 4 (the alternative lies at -(2c - 0.1)).
    four = tokens(*(-(2 * c - 0.1) for c in (1.0, 2.0, 3.0, 4.0)))
    assert group_confidences(four, 2) == pytest.approx([1.5, 2.5, 3.5])
    assert confidence(four, "lowest", 2) == pytest.approx(1.5)
    assert confidence(four, "bottom", 2) == pytest.approx(1.5)
    assert confidence(four, "mean") == pytest.approx(2.5)
    assert confidence((), "mean") is None


@pytest.mark.parametrize(
    ("query", "passes"),
    [
        (RIGHT, True),
        ("MATCH (n RETURN n", False),
        ("MATCH (n) RETURN RETURN n", False),
        ("hello (world)", False),
        ("MATCH (n) WHERE n.name = 'a)b RETURN RETURN' RETURN n", True),
        ("MATCH (n)] RETURN n", False),
    ],
)
def test_the_naive_grammar_checks_brackets_clauses_and_repeats(query: str, passes: bool) -> None:
    assert naive_grammar(query) is passes


def test_the_vote_is_weighted_by_confidence(graph: Graph, schema: Schema) -> None:
    # Two unsure drafts say Bob, one very sure one says Ann.
    script = drafts((OTHER, -2.0), (OTHER, -2.0), (RIGHT, -30.0))
    answer = ask(graph, schema, script, drafts=3, keep=1.0)
    assert answer.cypher == RIGHT
    script = drafts((OTHER, -20.0), (OTHER, -20.0), (RIGHT, -30.0))
    assert ask(graph, schema, script, drafts=3, keep=1.0).cypher == OTHER


def test_the_unsure_share_is_dropped_first(graph: Graph, schema: Schema) -> None:
    script = drafts((OTHER, -2.0), (OTHER, -2.1), (OTHER, -2.2), (RIGHT, -4.0), (RIGHT, -4.1))
    answer = ask(graph, schema, script, keep=0.4)
    assert answer.cypher == RIGHT
    step = next(s for s in answer.trace.steps if s.part == "filter")
    assert (step.details["drawn"], step.details["sure"]) == (5, 2)


def test_filters_drop_what_does_not_parse_and_what_points_the_wrong_way(
    graph: Graph, schema: Schema
) -> None:
    broken = "MATCH (p:Person RETURN p"
    script = drafts((broken, -9.0), (REVERSED, -9.0), (RIGHT, -3.0))
    assert ask(graph, schema, script, drafts=3, keep=1.0).cypher == RIGHT
    loose = ask(graph, schema, script, "conf-formal", drafts=3, keep=1.0)
    assert loose.cypher == REVERSED


def test_when_all_is_filtered_away_it_says_so_or_falls_back(graph: Graph, schema: Schema) -> None:
    script = drafts((REVERSED, -3.0))
    answer = ask(graph, schema, script)
    assert answer.outcome == "failed"
    assert "filtered away" in answer.reason
    assert ask(graph, schema, script, fallback="surest").outcome == "empty"


def test_votes_on_results_join_queries_that_return_the_same(graph: Graph, schema: Schema) -> None:
    same = "MATCH (m:Movie)<-[:ACTED_IN]-(p:Person) WHERE p.name = 'Ann' RETURN m.title"
    script = drafts((OTHER, -4.0), (RIGHT, -3.0), (same, -3.0))
    options: dict[str, Any] = {"drafts": 3, "keep": 1.0}
    assert set(ask(graph, schema, script, "conf-result", **options).rows) == {("Ash",), ("Cedar",)}


def test_online_stops_on_consensus_and_counts_tokens_up_to_the_cut(
    graph: Graph, schema: Schema
) -> None:
    agreed = ask(graph, schema, drafts((RIGHT, -3.0)), "conf-online", drafts=8)
    assert sum(step.part == "draft" for step in agreed.trace.steps) == 3
    script = drafts((RIGHT, -3.0), (OTHER, -3.0), (RIGHT, -3.0), (OTHER, -1.0))
    cut = ask(graph, schema, script, "conf-online", drafts=4)
    kept = next(s for s in cut.trace.steps if s.part == "kept")
    # The fourth falls below the threshold in its first group of 16 tokens.
    assert kept.details["tokens"] == 3 * 20 + 16
    assert 3 not in kept.details["drafts"]
    assert cut.cypher == RIGHT


def test_presets_are_the_papers() -> None:
    assert PRESETS["moderate"] == {"temperature": 0.9, "top_p": 0.99, "top_k": 60}
    assert PRESETS["diverse"] == {"temperature": 1.2, "top_p": 0.999, "top_k": 80}


def test_without_log_probabilities_it_says_so(graph: Graph, schema: Schema) -> None:
    with pytest.raises(NotSupported, match="log probabilities"):
        ask(graph, schema, lambda _: f"```cypher\n{RIGHT}\n```")
    with pytest.raises(UsageError, match="preset"):
        ask(graph, schema, drafts((RIGHT, -3.0)), preset="wild")


def test_a_draft_that_falls_is_cut_while_it_streams(graph: Graph, schema: Schema) -> None:
    # Warm-up: three of confidence 1; the fourth falls after 24 of 60 tokens, the fifth does not.
    streamed: list[int] = []

    def script(request: ChatRequest) -> ChatAnswer:
        sure, unsure = tokens(-1.9)[0], tokens(-0.3)[0]
        row = [sure] * 24 + [unsure if request.sample == 3 else sure] * 36
        # Each draft is another query, so that no consensus ends the sampling.
        query = RIGHT.replace("m.title", f"m.title, {request.sample}")
        watch = current_watch()
        for count, token in enumerate(row, 1):
            if watch is not None and not watch(token):
                streamed.append(count)
                return ChatAnswer(
                    query[:count], "length", 9, count, logprobs=tuple(row[:count]), note=CUT
                )
        text = f"```cypher\n{query}\n```"
        return ChatAnswer(text, completion_tokens=60, logprobs=tuple(row))

    answer = ask(graph, schema, script, "conf-online", keep=1.0)
    # One unsure token (0.2 for 1.0) in a group of 16 is below the threshold of 1.0.
    assert streamed == [25]
    cut = [step for step in answer.trace.steps if step.part == "cut"]
    assert [step.details["tokens"] for step in cut] == [25]
    kept = next(step for step in answer.trace.steps if step.part == "kept")
    assert kept.details["tokens"] == 4 * 60 + 25
    assert 3 not in kept.details["drafts"]
    assert answer.outcome == "answered"


def test_a_watch_waits_for_a_whole_group() -> None:
    watch = Falling(1.0, 3)
    sure, unsure = tokens(-1.9)[0], tokens(-0.3)[0]
    assert [watch(t) for t in (unsure, sure, sure, sure, unsure)] == [
        True, True, False, True, False
    ]  # fmt: skip
