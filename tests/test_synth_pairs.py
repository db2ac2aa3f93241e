"""Pairs from a graph: verified, seeded, resumable, free of what is held out, clear where none can be."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import world_of_films as world
from neo4j.time import Date

from cypherforge.artifacts.journal import Journal
from cypherforge.artifacts.store import Artifact
from cypherforge.core.datasets import Example, load_dataset
from cypherforge.core.errors import InputError, OptionsChanged, UsageError
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.compare import same_rows
from cypherforge.graph.connect import connect
from cypherforge.graph.embedded import EmbeddedGraph
from cypherforge.graph.neutral import NodeRow, RelationshipRow
from cypherforge.graph.policy import ValuePolicy
from cypherforge.synth.check import check_pairs
from cypherforge.synth.effort import measure
from cypherforge.synth.generate import PairOptions
from cypherforge.synth.holdout import Holdout
from cypherforge.synth.predicates import Attribute
from cypherforge.synth.run import make_pairs, read_predicates
from cypherforge.synth.trees import Condition, Grounded, Hop, Tree

SIZE = 60


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    with connect(world.write_graph(tmp_path_factory.mktemp("films"))) as graph:
        yield graph


@pytest.fixture(scope="module")
def made(films: Graph, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return make_pairs(films, "films", tmp_path_factory.mktemp("run"), PairOptions(size=SIZE))


@pytest.fixture(scope="module")
def pairs(made: Artifact) -> list[dict[str, Any]]:
    return list(made.read_jsonl("pairs.jsonl"))


def test_every_pair_runs_again_with_its_recorded_rows(
    films: Graph, pairs: list[dict[str, Any]]
) -> None:
    assert len(pairs) == SIZE
    for pair in pairs:
        rows = films.run(pair["cypher"])
        assert rows.rows
        assert same_rows(Result.from_json(pair["result"]), rows, ordered=pair["ordered"])


def test_checking_finds_a_result_that_was_changed(
    films: Graph, pairs: list[dict[str, Any]]
) -> None:
    forged = json.loads(json.dumps(pairs[0]))
    forged["result"]["rows"] = [["nobody"] * len(forged["result"]["columns"])]
    checked = check_pairs([forged, pairs[1]], films)
    assert checked.same == 1
    assert checked.different == [(pairs[0]["id"], "other rows")]


def test_a_pair_records_every_field(pairs: list[dict[str, Any]]) -> None:
    fields = (
        "id graph question cypher family shape target relations skeleton analysed naive paraphrases"
        " search entities literals ordered result scores status comments split"
    )
    for pair in pairs:
        assert set(pair) == set(fields.split())
        assert pair["question"] not in pair["paraphrases"]
        assert pair["question"][0].isupper() and pair["question"][-1] in ".?"
    assert any(pair["entities"] for pair in pairs) and any(pair["literals"] for pair in pairs)


def test_no_two_pairs_ask_the_same(pairs: list[dict[str, Any]]) -> None:
    assert (
        len({p["cypher"] for p in pairs}) == len({p["question"].casefold() for p in pairs}) == SIZE
    )


def test_relation_counts_are_spread_as_in_the_paper(pairs: list[dict[str, Any]]) -> None:
    counts = Counter(p["relations"] for p in pairs)
    assert abs(counts[1] - 24) <= 6 and abs(counts[2] - 18) <= 6
    assert counts[3] and counts[4]


def test_values_of_a_question_are_those_of_its_cypher(pairs: list[dict[str, Any]]) -> None:
    for pair in pairs:
        for item in [*pair["entities"], *pair["literals"]]:
            assert str(item["value"]) in pair["cypher"]
            assert str(item["value"]) in pair["question"]


def test_pairs_load_as_a_dataset(made: Artifact, pairs: list[dict[str, Any]]) -> None:
    for name in ("pairs.jsonl", "pairs.parquet"):
        dataset = load_dataset(made.folder / name)
        assert [e.id for e in dataset.examples] == [p["id"] for p in pairs]
        assert [e.cypher for e in dataset.examples] == [p["cypher"] for p in pairs]
        assert dataset.graphs == ("films",)


def test_a_seed_reproduces_and_another_does_not(
    films: Graph, made: Artifact, tmp_path: Path
) -> None:
    again = make_pairs(films, "films", tmp_path / "again", PairOptions(size=SIZE))
    other = make_pairs(films, "films", tmp_path / "other", PairOptions(size=SIZE, seed=1))
    assert again.digest == made.digest != other.digest


def test_a_run_that_was_cut_off_ends_with_the_same_pairs(
    films: Graph, made: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, left = Journal.append, [9]

    def cut(self: Journal, key: str, row: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return append(self, key, row)

    monkeypatch.setattr(Journal, "append", cut)
    with pytest.raises(KeyboardInterrupt):
        make_pairs(films, "films", tmp_path, PairOptions(size=SIZE))
    monkeypatch.setattr(Journal, "append", append)
    assert make_pairs(films, "films", tmp_path, PairOptions(size=SIZE)).digest == made.digest
    with pytest.raises(OptionsChanged):
        make_pairs(films, "films", tmp_path, PairOptions(size=SIZE, seed=3))


_KILLED = """
import os, signal, sys
from pathlib import Path
from cypherforge.artifacts.journal import Journal
from cypherforge.graph.connect import connect
from cypherforge.synth.generate import PairOptions
from cypherforge.synth.run import make_pairs

append, left, written = Journal.append, int(sys.argv[3]), sys.argv[4] == "written"

def killed(self, key, row):
    global left
    left -= 1
    row = row if left == 0 and not written else append(self, key, row)
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return row

Journal.append = killed
with connect(sys.argv[1]) as graph:
    make_pairs(graph, "films", Path(sys.argv[2]), PairOptions(size=int(sys.argv[5])))
"""


@pytest.mark.slow
def test_a_run_killed_again_and_again_ends_with_the_same_pairs(
    films: Graph, made: Artifact, tmp_path: Path
) -> None:
    world.write_graph(tmp_path / "films")
    # At once, with a batch that was not yet written down, and right after one that was.
    for number, (left, moment) in enumerate([(1, "lost"), (9, "lost"), (6, "written")]):
        done = subprocess.run(
            [sys.executable, "-c", _KILLED, str(tmp_path / "films"), str(tmp_path / "run"),
             str(left), moment, str(SIZE)],
            check=False,
            env={**os.environ, "PYTHONHASHSEED": str(number)},
        )  # fmt: skip
        assert done.returncode == -signal.SIGKILL
    assert (
        make_pairs(films, "films", tmp_path / "run", PairOptions(size=SIZE)).digest == made.digest
    )


def test_families_and_relations_can_be_chosen(films: Graph, tmp_path: Path) -> None:
    options = PairOptions(size=10, families=("count",), relations=(2,))
    rows = list(make_pairs(films, "films", tmp_path, options).read_jsonl("pairs.jsonl"))
    assert {(p["family"], p["relations"]) for p in rows} == {("count", 2)}


def test_nothing_that_is_held_out_leaks(
    films: Graph, pairs: list[dict[str, Any]], tmp_path: Path
) -> None:
    held = [Example(p["id"], p["question"], p["cypher"], "films") for p in pairs[::2]]
    ways = ["question", "entity", "skeleton"]
    holdout = Holdout.of(held, ways)
    try:
        made = make_pairs(films, "films", tmp_path, PairOptions(size=15), holdout=holdout)
    except InputError:
        pytest.fail("some skeletons must be left")
    rows = list(made.read_jsonl("pairs.jsonl"))
    for pair in rows:
        again = Holdout.of([Example("x", pair["question"], pair["cypher"], "films")], ways)
        assert not again.questions & holdout.questions
        assert not again.skeletons & holdout.skeletons
        assert not again.entities & holdout.entities
    with pytest.raises(InputError, match="held out: graph"):
        make_pairs(
            films, "films", tmp_path / "g", PairOptions(size=5), holdout=Holdout.of(held, ["graph"])
        )
    with pytest.raises(UsageError, match="colour"):
        Holdout.of(held, ["colour"])


def test_excluded_properties_and_values_stay_out(films: Graph, tmp_path: Path) -> None:
    policy = ValuePolicy.of(["Person.born"])
    rows = list(
        make_pairs(films, "films", tmp_path / "a", PairOptions(size=15), policy=policy).read_jsonl(
            "pairs.jsonl"
        )
    )
    assert not any("born" in p["cypher"] for p in rows)
    bare = list(
        make_pairs(
            films, "films", tmp_path / "b", PairOptions(size=8, values=False),
            policy=ValuePolicy.of([], no_values=True),
        ).read_jsonl("pairs.jsonl")
    )  # fmt: skip
    names = {*world.PEOPLE, *world.MOVIES}
    for pair in bare:
        assert not pair["entities"] and not pair["literals"]
        assert "columns" not in pair["result"]
        assert not any(f"'{name}'" in json.dumps(pair) for name in names)


# ---------------------------------------------------------------- graphs that give little


def test_an_empty_graph_says_so(tmp_path: Path) -> None:
    with (
        EmbeddedGraph.from_rows([], []) as graph,
        pytest.raises(InputError, match="nothing to ask"),
    ):
        make_pairs(graph, "empty", tmp_path, PairOptions(size=5))


def test_one_label_without_relationships_is_still_asked_about(tmp_path: Path) -> None:
    nodes = [NodeRow(i, ("City",), {"name": f"City{i}", "people": 100 + i}) for i in range(12)]
    with EmbeddedGraph.from_rows(nodes, []) as graph:
        rows = list(
            make_pairs(graph, "cities", tmp_path, PairOptions(size=15)).read_jsonl("pairs.jsonl")
        )
    assert {p["target"] for p in rows} == {"City"}
    assert {"lookup", "list", "count"} <= {p["family"] for p in rows}


def test_a_graph_without_text_is_asked_by_its_numbers(tmp_path: Path) -> None:
    nodes = [
        NodeRow(i, ("Cell",), {"nr": i, "size": i % 4, "seen": Date(2020, 1 + i % 9, 3)})
        for i in range(20)
    ]
    links = [RelationshipRow(i, "NEXT_TO", i, (i * 7 + 1) % 20) for i in range(20)]
    with EmbeddedGraph.from_rows(nodes, links) as graph:
        rows = list(
            make_pairs(graph, "cells", tmp_path, PairOptions(size=15)).read_jsonl("pairs.jsonl")
        )
    assert len(rows) == 15


def test_a_hub_does_not_crowd_out_the_rest(tmp_path: Path) -> None:
    nodes = [NodeRow(0, ("Site",), {"name": "Hub"})]
    nodes += [NodeRow(i, ("Site",), {"name": f"Site{i}"}) for i in range(1, 40)]
    nodes += [NodeRow(1000 + i, ("Page",), {"name": f"Page{i}"}) for i in range(500)]
    links = [RelationshipRow(i, "LINKS_TO", 1000 + i, 0) for i in range(500)]
    links += [RelationshipRow(2000 + i, "LINKS_TO", 1000 + i, 1 + i % 39) for i in range(80)]
    with EmbeddedGraph.from_rows(nodes, links) as graph:
        rows = list(
            make_pairs(graph, "web", tmp_path, PairOptions(size=30)).read_jsonl("pairs.jsonl")
        )
    named = Counter(e["value"] for p in rows for e in p["entities"])
    assert named["Hub"] <= 0.2 * sum(named.values())
    assert len(named) >= 10


def test_predicates_that_nobody_asks_for_are_dropped_with_a_reason() -> None:
    nodes = [
        NodeRow(i, ("Shop",), {
            "name": f"Shop{i}", "latitude": 1.5 * i, "logoUrl": f"http://x/{i}", "twitter": f"@{i}",
            "created_at": Date(2020, 1, 1), "rating": i % 5,
        })
        for i in range(10)
    ]  # fmt: skip
    nodes.append(NodeRow(99, ("_Meta",), {"v": 1}))
    with EmbeddedGraph.from_rows(nodes, []) as graph:
        found = read_predicates(graph)
    assert {d.what: d.reason for d in found.dropped} == {
        "Shop.latitude": "coordinates",
        "Shop.logoUrl": "media address",
        "Shop.twitter": "account on another site",
        "Shop.created_at": "metadata",
        "_Meta": "system label",
    }
    assert [a.name for a in found.attributes["Shop"]] == ["name", "rating"]


def test_what_a_hub_would_blow_up_is_not_asked(tmp_path: Path) -> None:
    """2,000 pages on one site meet each other there 4,000,000 times."""
    nodes = [NodeRow(0, ("Site",), {"name": "Hub"}), NodeRow(1, ("Site",), {"name": "Other"})]
    nodes += [NodeRow(10 + i, ("Page",), {"title": f"Page {i}"}) for i in range(2000)]
    links = [RelationshipRow(i, "LOCATED_ON", 10 + i, int(i % 500 == 0)) for i in range(2000)]
    with EmbeddedGraph.from_rows(nodes, links) as graph:
        effort = measure(graph, read_predicates(graph))
    (relation,) = {key[0] for key in effort.degrees}
    assert effort.greatest_hub == 1996
    there = Tree(("Page", "Site"), (Hop(relation, 0, 1, True),))
    back = Tree(("Page", "Site", "Page"), (*there.hops, Hop(relation, 1, 2, False)))
    one = Attribute("node", "Page", "title", "STRING", "name", 1.0, 2000)
    given = Condition(("node", 2), one, "=", "Page 1", True)
    assert effort.rows(Grounded(there, ["", ""], [])) == 2000
    # 1996 pages find 1996 others, 4 find 4.
    assert effort.rows(Grounded(back, ["", "", ""], [])) == pytest.approx(1996**2 + 4**2)
    assert effort.rows(Grounded(back, ["", "", ""], [], [given])) < 2000
