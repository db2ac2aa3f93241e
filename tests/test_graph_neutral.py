"""Neutral files: what is written is read back, and what is broken is named by file and line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from neo4j.spatial import WGS84Point
from neo4j.time import Date, Duration

from cypherforge.core.errors import InputError, StorageError
from cypherforge.graph import neutral
from cypherforge.graph.neutral import NodeRow, RelationshipRow

NODES = [
    NodeRow(0, ("Person", "Actor"), {"name": "Zoë\u2028", "born": Date(1970, 1, 2)}),
    NodeRow(1, (), {}),
    NodeRow(2, ("A B",), {"at": WGS84Point((1.0, 2.0)), "for": Duration(months=1), "nan": [1, 2]}),
]
LINKS = [RelationshipRow(0, "KNOWS `x`", 0, 2, {"since": 3.5}), RelationshipRow(1, "R", 2, 2)]


def test_written_rows_come_back(tmp_path: Path) -> None:
    assert neutral.write_neutral(tmp_path, NODES, LINKS, {"a": 1}) == (3, 2)
    back = list(neutral.read_nodes(tmp_path))
    assert [set(n.labels) for n in back] == [set(n.labels) for n in NODES]
    assert [n.properties for n in back] == [n.properties for n in NODES]
    assert list(neutral.read_relationships(tmp_path)) == LINKS
    assert neutral.read_schema(tmp_path) == {"a": 1}
    assert neutral.is_neutral(tmp_path)


def test_equal_rows_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        neutral.write_neutral(tmp_path / name, NODES, LINKS)
    for name in ("nodes.jsonl.gz", "relationships.jsonl.gz"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert neutral.digest(tmp_path / "a") == neutral.digest(tmp_path / "b")
    neutral.write_neutral(tmp_path / "b", NODES, LINKS[:1])
    assert neutral.digest(tmp_path / "a") != neutral.digest(tmp_path / "b")


def test_plain_files_have_the_digest_of_the_packed(tmp_path: Path) -> None:
    neutral.write_neutral(tmp_path, NODES, LINKS)
    packed = neutral.digest(tmp_path)
    for name in ("nodes.jsonl", "relationships.jsonl"):
        file = tmp_path / f"{name}.gz"
        (tmp_path / name).write_bytes(gzip.decompress(file.read_bytes()))
        file.unlink()
    assert neutral.digest(tmp_path) == packed
    assert len(list(neutral.read_nodes(tmp_path))) == 3


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[1]", "a row is a JSON object"),
        ('{"id": 1}', "no field 'labels'"),
        ('{"id": 1.5, "labels": []}', "an id is"),
        ('{"id": 1, "labels": "A"}', "list of strings"),
        ('{"id": 1, "labels": [], "properties": []}', "properties are"),
        ('{"id": 1, "labels": [], "properties": {"d": {"$date": "x"}}}', "broken value"),
    ],
)
def test_broken_rows_name_file_and_line(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "nodes.jsonl").write_text('{"id": 0, "labels": []}\n' + line + "\n")
    with pytest.raises(InputError, match="nodes.jsonl:2") as caught:
        list(neutral.read_nodes(tmp_path))
    assert reason in str(caught.value)


def test_missing_and_damaged_files(tmp_path: Path) -> None:
    assert not neutral.is_neutral(tmp_path)
    with pytest.raises(InputError, match="nodes.jsonl"):
        list(neutral.read_nodes(tmp_path))
    neutral.write_neutral(tmp_path, NODES, LINKS)
    file = tmp_path / "nodes.jsonl.gz"
    file.write_bytes(file.read_bytes()[:-12])
    with pytest.raises(InputError, match="cannot be read"):
        list(neutral.read_nodes(tmp_path))
    with pytest.raises(InputError, match="cannot be read"):
        neutral.digest(tmp_path)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        neutral.write_neutral(tmp_path / "file", NODES, LINKS)


@pytest.mark.shared
def test_reference_files_keep_their_content(shared: Path, tmp_path: Path) -> None:
    source = shared / "data" / "graphs" / "er"
    counts = neutral.write_neutral(
        tmp_path, neutral.read_nodes(source), neutral.read_relationships(source)
    )
    assert counts == (1237, 1819)
    for file in ("nodes.jsonl.gz", "relationships.jsonl.gz"):
        before, after = (
            [json.loads(x) for x in gzip.decompress((folder / file).read_bytes()).splitlines()]
            for folder in (source, tmp_path)
        )
        assert before == after
