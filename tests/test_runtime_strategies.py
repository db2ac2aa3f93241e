"""Strategies with parts around the model, on a real embedded graph with scripted models."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import world_of_films as world

from cypherforge.core.errors import UsageError
from cypherforge.graph.base import Graph
from cypherforge.graph.schema import Schema
from cypherforge.llm.base import ChatAnswer, ChatRequest, TokenLogprob
from cypherforge.llm.scripted import ScriptedModel
from cypherforge.runtime.pipeline import Answer
from cypherforge.runtime.strategies import STRATEGIES, open_strategy

RIGHT = "MATCH (p:Person {name: 'Ann'})-[:ACTED_IN]->(m:Movie) RETURN m.title"
REVERSED = "MATCH (p:Person {name: 'Ann'})<-[:ACTED_IN]-(m:Movie) RETURN m.title"
WRONG_CASE = RIGHT.replace("Ann", "ANN")
NOBODY = RIGHT.replace("Ann", "Nobody")
BROKEN = "MATCH (p:Person RETURN p.name"
ROWS = {("Ash",), ("Cedar",)}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CYPHERFORGE_CACHE", str(tmp_path))


@pytest.fixture(scope="module")
def schema(graph: Graph) -> Schema:
    return graph.schema()


class Script:
    """Answers call after call; the last answer serves all further ones."""

    def __init__(self, *answers: str) -> None:
        self.answers = answers
        self.seen: list[ChatRequest] = []

    def __call__(self, request: ChatRequest) -> str:
        self.seen.append(request)
        return self.answers[min(len(self.seen), len(self.answers)) - 1]

    def prompt(self, number: int) -> str:
        return self.seen[number].messages[-1].content


def fenced(query: str, code: str = "") -> str:
    head = f"Code: {code}\nCause: it was wrong.\n" if code else ""
    return f"{head}```cypher\n{query}\n```"


def ask(
    name: str,
    graph: Graph,
    schema: Schema,
    script: Callable[[ChatRequest], str | ChatAnswer],
    question: str = "In which movies did Ann act?",
    **options: Any,
) -> Answer:
    model = ScriptedModel(script)
    return open_strategy(name, graph=graph, model=model, schema=schema, **options).answer(question)


def parts(answer: Answer) -> list[str]:
    return [step.part for step in answer.trace.steps]


def by_sample(*queries: str) -> Callable[[ChatRequest], str]:
    """The drafts of a vote, by their number."""
    return lambda request: fenced(queries[min(request.sample, len(queries) - 1)])


# ---------------------------------------------------------------- cypherguard


def test_the_schema_puts_an_arrow_right_without_a_call(graph: Graph, schema: Schema) -> None:
    script = Script(fenced(REVERSED))
    answer = ask("cypherguard", graph, schema, script)
    assert answer.outcome == "answered"
    assert set(answer.rows) == ROWS
    assert len(script.seen) == 1
    assert parts(answer) == ["prompt", "draft", "fix", "execute", "spent"]


def test_each_part_can_be_left_out(graph: Graph, schema: Schema) -> None:
    script = Script(fenced(REVERSED))
    answer = ask("cypherguard", graph, schema, script, parts_off=["directions", "loop"])
    assert answer.outcome == "empty"
    assert "found nothing" in answer.reason
    with pytest.raises(UsageError, match="no part"):
        ask("cypherguard", graph, schema, script, parts_off=["wings"])


def test_an_empty_result_is_corrected_with_what_is_stored(graph: Graph, schema: Schema) -> None:
    script = Script(fenced(WRONG_CASE), fenced(RIGHT, "entity.literal"))
    answer = ask("cypherguard", graph, schema, script)
    assert set(answer.rows) == ROWS
    assert "'ANN' is not stored in Person.name. Stored values are: 'Ann'" in script.prompt(1)
    assert "returned no rows" in script.prompt(1)
    spent = answer.trace.steps[-1].details
    # One exact probe and one for the longest word.
    assert (spent["calls"], spent["executions"], spent["probes"]) == (2, 2, 2)


def test_an_error_is_shown_as_the_database_says_it(graph: Graph, schema: Schema) -> None:
    script = Script(fenced(BROKEN), fenced(RIGHT, "syntax.parse"))
    answer = ask("cypherguard", graph, schema, script)
    assert set(answer.rows) == ROWS
    assert "The database says:" in script.prompt(1)
    assert "flip" not in parts(answer)


def test_tier_one_turns_the_arrows_that_the_schema_leaves_open(graph: Graph) -> None:
    both = Schema.parse(
        "(:Person {name: STRING})-[:ACTED_IN]->(:Movie {title: STRING})-[:ACTED_IN]->(:Person)"
    )
    script = Script(fenced(REVERSED))
    answer = ask("cypherguard", graph, both, script)
    assert set(answer.rows) == ROWS
    assert len(script.seen) == 1
    assert "flip" in parts(answer)
    without = ask("cypherguard", graph, both, Script(fenced(REVERSED)), parts_off=["flip"])
    assert "flip" not in parts(without)


def test_an_unchanged_rewrite_stops_with_the_held_query(graph: Graph, schema: Schema) -> None:
    script = Script(fenced(NOBODY))
    answer = ask("cypherguard", graph, schema, script)
    assert answer.outcome == "empty"
    assert answer.cypher == NOBODY
    assert len(script.seen) == 2


def test_a_query_tried_before_stops_with_the_held_one(graph: Graph, schema: Schema) -> None:
    other = NOBODY.replace("Nobody", "None")
    script = Script(fenced(NOBODY), fenced(other, "entity.literal"), fenced(NOBODY, "filter.null"))
    answer = ask("cypherguard", graph, schema, script)
    assert answer.cypher == other
    assert len(script.seen) == 3


def test_the_same_code_twice_returns_the_newest(graph: Graph, schema: Schema) -> None:
    queries = [NOBODY.replace("Nobody", f"N{i}") for i in range(4)]
    script = Script(fenced(queries[0]), *(fenced(q, "entity.literal") for q in queries[1:]))
    answer = ask("cypherguard", graph, schema, script)
    assert answer.cypher == queries[2]
    assert len(script.seen) == 3


def test_at_most_three_corrections_and_never_past_the_budget(graph: Graph, schema: Schema) -> None:
    codes = ["entity.literal", "entity.alias", "entity.label", "filter.null", "return.item"]
    answers = [fenced(NOBODY)]
    answers += [fenced(NOBODY.replace("Nobody", f"N{i}"), c) for i, c in enumerate(codes)]
    script = Script(*answers)
    ask("cypherguard", graph, schema, script)
    assert len(script.seen) == 4
    tight = Script(*answers)
    ask("cypherguard", graph, schema, tight, max_calls=2)
    assert len(tight.seen) == 2


def test_a_rewrite_that_fails_does_not_replace_one_that_ran(graph: Graph, schema: Schema) -> None:
    script = Script(fenced(NOBODY), fenced(BROKEN, "syntax.parse"))
    answer = ask("cypherguard", graph, schema, script)
    assert answer.outcome == "empty"
    assert answer.cypher == NOBODY


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_no_strategy_lets_a_write_through(graph: Graph, schema: Schema, name: str) -> None:
    text = fenced("MATCH (m:Movie) DETACH DELETE m")
    # Confidence filtering wants log probabilities; the others do not look at them.
    tokens = tuple(TokenLogprob(char, -0.1, ((char, -0.1), ("x", -4.0))) for char in text)
    answer = ask(name, graph, schema, lambda _: ChatAnswer(text, logprobs=tokens))
    assert answer.outcome == "refused"
    assert graph.run("MATCH (m:Movie) RETURN count(m)").rows == ((6,),)


# ---------------------------------------------------------------- vote


def test_the_largest_group_with_rows_wins(graph: Graph, schema: Schema) -> None:
    other = RIGHT.replace("'Ann'", "'Bob'")
    same = "MATCH (m:Movie)<-[:ACTED_IN]-(q:Person) WHERE q.name = 'Ann' RETURN m.title AS t"
    answer = ask("vote", graph, schema, by_sample(other, NOBODY, RIGHT, same, NOBODY))
    assert set(answer.rows) == ROWS
    vote = next(step for step in answer.trace.steps if step.part == "vote")
    assert vote.details["groups"] == [[2, 3], [0], [1, 4]]


def test_three_drafts_that_agree_end_the_vote(graph: Graph, schema: Schema) -> None:
    script = Script(fenced(RIGHT))
    answer = ask("vote", graph, schema, script)
    assert set(answer.rows) == ROWS
    assert len(script.seen) == 3
    by_number = sorted(script.seen, key=lambda r: r.sample)
    assert [r.temperature for r in by_number] == [0.0, 0.8, 0.8]
    assert len({r.seed for r in by_number}) == 3
    assert all(r.grammar and "ACTED_IN" in r.grammar for r in by_number)


def test_of_groups_of_one_size_the_greedy_draft_wins(graph: Graph, schema: Schema) -> None:
    queries = [RIGHT.replace("Ann", name) for name in ("Eve", "Bob", "Cid", "Dora", "Ann")]
    answer = ask("vote", graph, schema, by_sample(*queries))
    assert answer.cypher == queries[0]


def test_a_count_of_nothing_yields_to_rows(graph: Graph, schema: Schema) -> None:
    none = "MATCH (p:Person {name: 'Nobody'}) RETURN count(p)"
    answer = ask("vote", graph, schema, by_sample(none, none, none, none, RIGHT))
    assert set(answer.rows) == ROWS


def test_drafts_that_all_fail_are_said_to_fail(graph: Graph, schema: Schema) -> None:
    answer = ask("vote", graph, schema, Script(fenced(BROKEN)))
    assert answer.outcome == "failed"
    assert answer.reason
    answer = ask("vote", graph, schema, Script("I do not know."))
    assert (answer.outcome, answer.cypher) == ("failed", "")


# ---------------------------------------------------------------- full


def test_full_grounds_the_question_and_writes_literals_as_stored(
    graph: Graph, schema: Schema
) -> None:
    script = Script(fenced(WRONG_CASE))
    answer = ask("full", graph, schema, script, "In which movies did Ann act?")
    assert set(answer.rows) == ROWS
    assert "(:Person {name: 'Ann'})" in script.prompt(0)
    assert "'ANN' is stored as 'Ann'" in "\n".join(s.text for s in answer.trace.steps)


def test_full_spends_at_most_five_calls(graph: Graph, schema: Schema) -> None:
    script = Script(*(fenced(NOBODY.replace("Nobody", f"N{i}")) for i in range(9)))
    answer = ask("full", graph, schema, script)
    assert answer.outcome == "empty"
    assert len(script.seen) == 5


def test_a_right_empty_stays_empty(graph: Graph, schema: Schema) -> None:
    # Ann directed Ash alone: nothing is the right answer, and all names are stored as written.
    right = "MATCH (:Person {name: 'Ann'})-[:DIRECTED]->(m:Movie {title: 'Elm'}) RETURN m.title"
    loose = "MATCH (:Person {name: 'Ann'})-[:DIRECTED]->(m:Movie) RETURN m.title"
    question = "Which movie called Elm did Ann direct?"
    answer = ask("full", graph, schema, by_sample(right, right, right, right, loose), question)
    assert answer.outcome == "empty"
    assert "found nothing" in answer.reason


def test_a_name_that_is_stored_nowhere_is_said_to_be_unknown(graph: Graph, schema: Schema) -> None:
    script = Script(fenced(NOBODY))
    answer = ask("full", graph, schema, script, "In which movies did 'Zebulon Quist' act?")
    assert answer.outcome == "unanswerable"
    assert "'Zebulon Quist'" in answer.reason
    assert (
        ask("full", graph, schema, Script(fenced(NOBODY)), "What did 'Ann' do?").outcome == "empty"
    )


def test_exemplars_of_the_graph_stand_in_the_prompt(graph: Graph, schema: Schema) -> None:
    from cypherforge.runtime.prompts import Exemplar

    # Five questions of one form take one place; others are left for other forms.
    pairs = [Exemplar(f"In which movies did {n} act?", f"RETURN '{n}'") for n in world.PEOPLE]
    pairs += [
        Exemplar("How many movies are there?", "MATCH (m:Movie) RETURN count(m)"),
        Exemplar("Which people acted?", "MATCH (p:Person)-[:ACTED_IN]->() RETURN p.name"),
    ]
    script = Script(fenced(RIGHT))
    ask("full", graph, schema, script, exemplars=pairs)
    assert script.prompt(0).count("Question: ") == 4
    assert script.prompt(0).count("RETURN '") == 1


def test_warnings_tell_what_may_be_wrong(graph: Graph, schema: Schema) -> None:
    top = (
        "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) "
        "RETURN m.title, count(p) AS actors ORDER BY actors DESC LIMIT 1"
    )
    answer = ask("full", graph, schema, Script(fenced(top)), "Which movie has most actors?")
    assert any("ties" in warning for warning in answer.warnings)
    assert answer.to_json()["warnings"] == list(answer.warnings)


def test_a_stored_name_that_the_query_leaves_out_is_told(graph: Graph, schema: Schema) -> None:
    def warnings(question: str, query: str) -> list[str]:
        found = ask("full", graph, schema, Script(fenced(query)), question)
        assert found.outcome == "answered"
        return [w for w in found.warnings if "the query does not" in w and "stored" in w]

    everyone = "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN count(DISTINCT m) AS movies"
    (told,) = warnings("In how many movies did Ann act?", everyone)
    assert "Ann, stored as (:Person {name: 'Ann'})" in told
    hers = everyone.replace("(p:Person)", "(p:Person {name: 'Ann'})")
    assert not warnings("In how many movies did Ann act?", hers)
    # A choice of values may be made by grouping; a first word has its capital anyway.
    each = "MATCH (p:Person)-[:ACTED_IN]->(m:Movie) RETURN p.name, count(m) AS movies"
    assert not warnings("How many movies did Ann and Bob act in, separately?", each)
    assert not warnings("Ann and others: in how many movies did people act?", everyone)


# ---------------------------------------------------------------- last-cq


def test_the_raw_error_is_shown_and_blind_retry_shows_nothing(graph: Graph, schema: Schema) -> None:
    raw, blind = Script(fenced(BROKEN), fenced(RIGHT)), Script(fenced(BROKEN), fenced(RIGHT))
    assert set(ask("last-cq", graph, schema, raw).rows) == ROWS
    assert set(ask("last-cq-blind", graph, schema, blind).rows) == ROWS
    assert "The database says:" in raw.prompt(1)
    assert "The database says:" not in blind.prompt(1)
    assert BROKEN in blind.prompt(1)


def test_hints_are_made_only_where_the_schema_check_finds_something(
    graph: Graph, schema: Schema
) -> None:
    found = Script(
        fenced("MATCH (f:Film) RETURN f.title, x"), "Use the label Movie.", fenced(RIGHT)
    )
    answer = ask("last-cq-hints", graph, schema, found)
    assert set(answer.rows) == ROWS
    assert "Use the label Movie." in found.prompt(2)


def test_an_empty_result_is_relaxed_once_where_a_literal_is_not_stored(
    graph: Graph, schema: Schema
) -> None:
    script = Script(fenced(NOBODY), fenced(RIGHT))
    answer = ask("last-cq", graph, schema, script)
    assert set(answer.rows) == ROWS
    assert "Use CONTAINS" in script.prompt(1)
    one = Script(fenced(NOBODY), fenced(RIGHT))
    ask("last-cq-relax-case", graph, schema, one)
    assert "toLower" in one.prompt(1)
    assert "CONTAINS" not in one.prompt(1)


def test_relaxation_leaves_a_right_empty_alone(graph: Graph, schema: Schema) -> None:
    empty = "MATCH (:Person {name: 'Ann'})-[:DIRECTED]->(m:Movie {title: 'Elm'}) RETURN m.title"
    script = Script(fenced(empty), fenced(RIGHT))
    answer = ask("last-cq", graph, schema, script)
    assert answer.outcome == "empty"
    assert len(script.seen) == 1


def test_no_refinement_is_the_first_draft(graph: Graph, schema: Schema) -> None:
    script = Script(fenced(BROKEN), fenced(RIGHT))
    assert ask("last-cq-no-refinement", graph, schema, script).outcome == "failed"
    assert len(script.seen) == 1


@pytest.mark.parametrize(
    ("drafts", "first", "voted"),
    [([NOBODY, RIGHT, RIGHT], RIGHT, RIGHT), ([RIGHT.replace("Ann", "Bob"), RIGHT, RIGHT], 0, 1)],
)
def test_best_of_three_takes_the_first_with_rows_or_votes(
    graph: Graph, schema: Schema, drafts: Sequence[str], first: Any, voted: Any
) -> None:
    of = by_sample(*drafts)
    taken = ask("last-cq-best-of-3", graph, schema, of).cypher
    assert taken == (first if isinstance(first, str) else drafts[first])
    taken = ask("last-cq-best-of-3-vote", graph, schema, of).cypher
    assert taken == (voted if isinstance(voted, str) else drafts[voted])


def test_unknown_strategies_are_named(graph: Graph, schema: Schema) -> None:
    with pytest.raises(UsageError, match="no strategy"):
        ask("magic", graph, schema, Script(""))
