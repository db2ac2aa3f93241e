"""Audit, splits, leaks, and questions without an answer."""

from collections.abc import Mapping
from typing import Any

import pytest
from canned_graph import CannedGraph, rows

from cypherforge.core.datasets import Dataset, Example
from cypherforge.core.errors import QueryTimeout, UsageError
from cypherforge.evaluation.audit import audit, audit_summary
from cypherforge.evaluation.empties import true_empties
from cypherforge.evaluation.splits import leaks, shape_key, split
from cypherforge.graph.base import Result


def dataset(*rows_: tuple[str, str, str], graph: str = "g") -> Dataset:
    return Dataset("d", tuple(Example(i, question, cypher, graph) for i, question, cypher in rows_))


def test_an_audit_tells_what_is_wrong_with_golds() -> None:
    graph = CannedGraph(
        {
            "RETURN 1 AS a": rows((1,)),
            "RETURN 2 AS a": rows((2,)),
            "RETURN 3 AS a": rows((1,)),
            "none": Result(("a",), ()),
            "slow": QueryTimeout("15 s are over"),
            "MATCH (p) RETURN collect(p.name)": rows((["x", "y"],)),
        }
    )
    found = audit(
        dataset(
            ("one", "What is it?", "RETURN 1 AS a"),
            ("two", "what is  it", "RETURN 2 AS a"),
            ("three", "Is it something else?", "RETURN 3 AS a"),
            ("empty", "Is there one?", "none"),
            ("slow", "How long?", "slow"),
            ("bad", "Does it run?", "RETRUN"),
            ("open", "Who?", "MATCH (p) RETURN collect(p.name)"),
        ),
        {"g": graph},
    )
    by_id = {f.id: f for f in found}
    assert [f.id for f in found] == ["one", "two", "three", "empty", "slow", "bad", "open"]
    assert by_id["one"].contradicts == ("two",) and by_id["two"].contradicts == ("one",)
    assert by_id["three"].contradicts == ()
    assert [by_id[i].status for i in ("empty", "slow", "bad")] == ["empty", "times out", "fails"]
    assert (by_id["open"].open, by_id["open"].open_status) == (("list order",), "set")
    summary = audit_summary(found)
    assert (summary["contradicting"], summary["underdetermined"]) == (2, 1)
    assert summary["status"]["sound"] == 4


FILMS = dataset(
    ("a", "Who acted in Alien?", "MATCH (p)-[:ACTED_IN]->(m {title: 'Alien'}) RETURN p.name"),
    ("b", "Who played in Heat?", "MATCH (x)-[:ACTED_IN]->(f {title: 'Heat'}) RETURN x.name"),
    ("c", "How many films are there?", "MATCH (m:Movie) RETURN count(m)"),
    ("d", "How many people?", "MATCH (p:Person) RETURN count(p)"),
)


def test_equal_golds_but_for_names_stay_together() -> None:
    for seed in range(6):
        sides = {e.id: e.split for e in split(FILMS, "gold", seed=seed).examples}
        assert sides["a"] == sides["b"]


def test_equal_shapes_stay_together() -> None:
    assert shape_key(FILMS.examples[2].cypher) == shape_key(FILMS.examples[3].cypher)
    for seed in range(6):
        sides = {e.id: e.split for e in split(FILMS, "shape", seed=seed).examples}
        assert sides["c"] == sides["d"]


def test_a_split_by_graph_holds_whole_graphs_out() -> None:
    both = Dataset(
        "d", tuple(Example(f"{g}{i}", "q", "RETURN 1", g) for g in "xyz" for i in range(9))
    )
    done = split(both, "graph", seed=3)
    train, test = done.split("train"), done.split("test")
    assert train.examples and test.examples
    assert not set(train.graphs) & set(test.graphs)
    with pytest.raises(UsageError, match="one graph"):
        split(FILMS, "graph")


def test_a_leak_report_goes_from_words_to_shapes() -> None:
    by_id = {e.id: e for e in FILMS.examples}
    found = {k.kind: k for k in leaks([by_id["a"], by_id["c"]], [by_id["b"], by_id["d"]])}
    assert found["the same question"].count == 0
    assert found["the same gold"].count == 0
    assert found["the same gold but for names of variables and literals"].pairs == (("b", "a"),)
    assert found["the same shape"].count == 2
    assert found["a graph that training has"].share == 1.0


class Ferries(CannedGraph):
    """Two ferries; a name that it does not hold finds nothing."""

    def run(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        limit: int | None = None,
    ) -> Result:
        self.asked.append(query)
        if "DISTINCT" in query:
            return rows(("Grey Heron",), ("Kittiwake",))
        if "count(" in query:
            return rows((0,))
        known = any(f"'{name}'" in query for name in ("Kittiwake", "kittiwake", "Grey Heron"))
        return rows((1999,)) if known else Result(("f.built",), ())


def test_true_empties_are_proved_by_execution() -> None:
    graph = Ferries({})
    built = "MATCH (f:Ferry {name: 'Kittiwake'}) RETURN f.built"
    count = "MATCH (f:Ferry) WHERE f.name = 'Kittiwake' RETURN count(f)"
    made = true_empties(
        [
            Example("1", "What year was the Kittiwake built?", built, "g"),
            Example("2", "How many ferries are called Kittiwake?", count, "g"),
            Example("3", "Which ferries are there?", "MATCH (f:Ferry) RETURN f.name", "g"),
        ],
        graph,
        count=3,
    )
    # A count has a row whatever it finds, and the third question names no value.
    (one,) = made
    by = str(one.meta["by"])
    assert one.meta["made_from"] == "1" and one.meta["true_empty"] is True
    assert by not in ("Kittiwake", "Grey Heron")
    assert one.question == f"What year was the {by} built?"
    assert one.cypher == built.replace("Kittiwake", by)
    # The new name was looked up, and its gold was run.
    assert any("toLower" in query and by.lower() in query for query in graph.asked)
    assert one.cypher in graph.asked
