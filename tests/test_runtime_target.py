"""Exemplars of the target graph: made once, kept, and never in the way of a question."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import world_of_films as world
from typer.testing import CliRunner

from cypherforge.artifacts.bundle import Bundle
from cypherforge.cli import app
from cypherforge.core.errors import InputError
from cypherforge.core.progress import Progress
from cypherforge.graph.base import Graph
from cypherforge.graph.connect import connect
from cypherforge.graph.schema import Schema
from cypherforge.llm.base import ChatRequest
from cypherforge.llm.scripted import ScriptedModel
from cypherforge.runtime import target
from cypherforge.runtime.prompts import Exemplar
from cypherforge.runtime.strategies import open_strategy
from cypherforge.synth import exemplars

FILMS = Schema.parse(
    "(:Person {name: STRING})\n(:Movie {title: STRING})\n(:Person)-[:ACTED_IN]->(:Movie)"
)


class Point:
    """An entry point whose function is known."""

    def __init__(self, pairs: Sequence[tuple[str, str]] | None) -> None:
        self.pairs = pairs
        self.folders: list[Path] = []

    def load(self) -> target.Maker:
        def make(
            graph: Graph, folder: Path, progress: Progress | None
        ) -> Sequence[tuple[str, str]]:
            self.folders.append(folder)
            if self.pairs is None:
                raise InputError("the graph is empty")
            return self.pairs

        return make


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setenv("CYPHERFORGE_CACHE", str(tmp_path / "cache"))
    return connect(f"embedded:{world.write_graph(tmp_path / 'graph')}")


def test_the_synthesizer_is_found_without_an_import() -> None:
    assert [point.value for point in entry_points(group=target.GROUP)] == [
        "cypherforge.synth.exemplars:target_pairs"
    ]


def test_pairs_of_the_graph_reach_the_prompt_of_full(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = ("Which movies did Bob act in?", "MATCH (p:Person {name: 'Bob'}) RETURN p.name")
    point = Point([pair])
    monkeypatch.setattr(target, "entry_points", lambda group: [point])
    seen: list[str] = []

    def answer(request: ChatRequest) -> str:
        seen.append(request.messages[-1].content)
        return "```cypher\nMATCH (p:Person {name: 'Ann'}) RETURN p.name\n```"

    full = open_strategy("full", graph=graph, model=ScriptedModel(answer))
    assert full.answer("Is there a person called Ann?").rows == (("Ann",),)
    assert pair[0] in seen[0] and pair[1] in seen[0]
    # The same graph and schema have the same folder, so they are made once.
    target.target_exemplars(graph, graph.schema())
    assert len(set(point.folders)) == 1


def test_own_exemplars_or_none_keep_the_graph_from_being_read(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = Point([("q", "MATCH (n) RETURN n")])
    monkeypatch.setattr(target, "entry_points", lambda group: [point])
    model = ScriptedModel(lambda request: "```cypher\nMATCH (p:Person) RETURN p.name\n```")
    for given in ([], [Exemplar("Who?", "MATCH (p:Person) RETURN p.name")]):
        open_strategy("full", graph=graph, model=model, exemplars=given)
    open_strategy("full", graph=graph, model=model, parts_off=["target"])
    assert point.folders == []


def test_a_graph_that_gives_nothing_is_asked_without_exemplars(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target, "entry_points", lambda group: [Point(None)])
    assert target.target_exemplars(graph, graph.schema()) == []


def test_pairs_once_made_stay_when_the_data_change(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exemplars, "SIZE", 8)
    made = exemplars.target_pairs(graph, tmp_path / "own")
    assert made
    monkeypatch.setattr(graph, "fingerprint", lambda: "other data")
    assert exemplars.target_pairs(graph, tmp_path / "own") == made


def test_a_bundle_fits_the_graph_that_its_exemplars_speak_of() -> None:
    example = Bundle.load("default")
    assert not target.fitting(example, FILMS)
    with connect("example") as opened:
        assert target.fitting(example, opened.schema())


def test_ask_takes_exemplars_and_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CYPHERFORGE_CACHE", str(tmp_path / "cache"))
    folder = world.write_graph(tmp_path / "graph")
    # A run of synth pairs holds its pairs there.
    pairs = tmp_path / "run" / "pairs" / "pairs.jsonl"
    pairs.parent.mkdir(parents=True)
    query = "MATCH (p:Person {name: 'Bob'}) RETURN p.name"
    pairs.write_text(json.dumps({"question": "Is Bob there?", "cypher": query}) + "\n", "utf-8")
    script = tmp_path / "script.jsonl"
    rules = [
        {"contains": ["Is Bob there?"], "answer": query.replace("Bob", "Ann")},
        {"answer": "RETURN 'no exemplar was shown' AS none"},
    ]
    script.write_text("".join(json.dumps(rule) + "\n" for rule in rules), "utf-8")
    ask = ["ask", "Is Ann there?", "--graph", f"embedded:{folder}", "--model", f"scripted:{script}"]
    given = ["--exemplars", str(tmp_path / "run"), "--with", "shapes", "--without", "checks"]
    found = CliRunner().invoke(app, [*ask, "--strategy", "full", *given, "--json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["rows"] == [["Ann"]]
    lost = CliRunner().invoke(app, [*ask, *given])
    assert lost.exit_code == 2
    assert "--strategy" in lost.output
