"""Datasets: every layout, every door, and bad rows named by file, row and column."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cypherforge.core.datasets import Dataset, Example, assign_splits, load_dataset, parse_columns
from cypherforge.core.errors import InputError, UsageError

PAIRS = [("How many?", "MATCH (n) RETURN count(n)"), ("Who?", "MATCH (p:Person) RETURN p.name")]


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def pairs(dataset: Dataset) -> list[tuple[str, str]]:
    return [(e.question, e.cypher) for e in dataset.examples]


CSV = "question,cypher\n" + "".join(f"{q},{c}\n" for q, c in PAIRS)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("plain.csv", CSV.encode()),
        ("mark.csv", ("\ufeff" + CSV).encode()),
        ("quoted.csv", ("\ufeff" + CSV.replace("question,", '"question",', 1)).encode()),
        ("utf16.csv", CSV.encode("utf-16")),
        ("crlf.csv", CSV.replace("\n", "\r\n").encode()),
        ("semicolon.csv", CSV.replace(",", ";").encode()),
        ("tab.tsv", CSV.replace(",", "\t").encode()),
        ("no_suffix", CSV.encode()),
    ],
)
def test_spreadsheets_of_every_kind_give_the_same_rows(
    tmp_path: Path, name: str, data: bytes
) -> None:
    (tmp_path / name).write_bytes(data)
    dataset = load_dataset(tmp_path / name)
    assert pairs(dataset) == PAIRS
    assert dataset.problems == ()


def test_every_format_gives_the_same_rows(tmp_path: Path) -> None:
    rows = [{"question": q, "cypher": c} for q, c in PAIRS]
    write_jsonl(tmp_path / "a.jsonl", rows)
    write_jsonl(tmp_path / "lines.json", rows)
    (tmp_path / "b.json").write_text(json.dumps(rows))
    (tmp_path / "c.json").write_text(json.dumps({"version": 1, "data": rows}))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "d.parquet")
    for file in tmp_path.iterdir():
        assert pairs(load_dataset(file)) == PAIRS, file.name


def test_a_huge_cell_and_doubled_quotes_and_line_breaks(tmp_path: Path) -> None:
    cypher = "MATCH (n {name: 'a \"b\", c'})\nRETURN n"
    with open(tmp_path / "a.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "cypher", "schema"])
        writer.writerow(["one", cypher, "x" * 200_000])
        writer.writerow(["two", cypher, ""])
    dataset = load_dataset(tmp_path / "a.csv")
    assert pairs(dataset) == [("one", cypher), ("two", cypher)]
    assert len(dataset.examples[0].meta["schema"]) == 200_000


def test_an_unquoted_cell_with_quotes_inside_is_taken_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('question,cypher,note\nq,c,{"a":""}\nr,d,\n')
    dataset = load_dataset(tmp_path / "a.csv")
    assert [e.meta["note"] for e in dataset.examples] == ['{"a":""}', ""]


def test_malformed_cells_are_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(
        "question,cypher\n"
        "one,RETURN 1\n"
        'two,"RETURN 2"x\n'
        "three,RETURN 3, 4\n"
        'four,"RETURN 4\n'
        "five,RETURN 5\n"
        "six\n"
        "seven,RETURN 7\n"
    )
    dataset = load_dataset(file)
    assert [e.question for e in dataset.examples] == ["one", "five", "seven"]
    assert [(p.row, p.column) for p in dataset.problems] == [
        (3, "cypher"),
        (4, ""),
        (5, "cypher"),
        (7, "cypher"),
    ]
    assert "malformed" in dataset.problems[0].reason
    assert "3 cells, the header has 2" in dataset.problems[1].reason
    assert "never closed" in dataset.problems[2].reason
    assert dataset.problems[3].reason == "is empty"
    assert dataset.set_aside == 4
    assert str(dataset.problems[0]).startswith(f"{file}, row 3, column 'cypher': ")


def test_jsonl_with_odd_line_separators_and_a_lone_surrogate(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(
        '{"question":"a\u2028b\u0085c","cypher":"RETURN 1"}\n'.encode()
        + b'{"question":"d \\ud83d","cypher":"RETURN 2"}\n'
    )
    dataset = load_dataset(file)
    assert [e.question for e in dataset.examples] == ["a\u2028b\u0085c", "d \ufffd"]
    assert [(p.row, p.column, p.kept) for p in dataset.problems] == [(2, "question", True)]
    assert dataset.set_aside == 0
    assert dataset.digest.startswith("sha256:")


def test_rows_that_cannot_be_used_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(
        '{"question":"q","cypher":"RETURN 1"}\n'
        '{"question":"q"\n'
        "[1]\n"
        '{"question":"q","cypher":null}\n'
        '{"question":7,"cypher":"RETURN 1"}\n'
        '{"cypher":"RETURN 1"}\n'
    )
    dataset = load_dataset(file)
    assert len(dataset) == 1
    assert [(p.row, p.column, p.reason) for p in dataset.problems] == [
        (2, "", "not JSON: Expecting ',' delimiter at character 16"),
        (3, "", "is an array, not an object with named columns"),
        (4, "cypher", "is empty"),
        (5, "question", "is not text"),
        (6, "question", "is empty"),
    ]


def test_errors_of_whole_files_name_the_way_out(tmp_path: Path) -> None:
    def fails(path: Path, match: str, **options: Any) -> None:
        with pytest.raises(InputError, match=match) as caught:
            load_dataset(path, **options)
        assert "\n" not in str(caught.value)
        assert caught.value.exit_code == 2

    fails(tmp_path / "none.csv", "no such file or folder")
    fails(tmp_path, "no dataset file in this folder")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    fails(empty, "holds no questions")
    (tmp_path / "head.csv").write_text("question,cypher\n")
    fails(tmp_path / "head.csv", "holds no questions")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    fails(tmp_path / "other.csv", r"no question and no cypher column among a, b.*--columns")
    fails(tmp_path / "other.csv", "no column 'z'.*it has a, b", columns={"question": "z"})
    (tmp_path / "bad.jsonl").write_text('{"question":"","cypher":"x"}\n')
    fails(tmp_path / "bad.jsonl", "row 1: none of its 1 rows can be used.*is empty")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    fails(tmp_path / "bad.parquet", "not a readable Parquet file")
    (tmp_path / "bad.json").write_text('{"a": [')
    fails(tmp_path / "bad.json", "not JSON")
    with pytest.raises(UsageError, match="no such dataset column: 'gold'"):
        load_dataset(tmp_path, columns={"gold": "x"})


def test_columns_are_mapped_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Frage,Abfrage,Nr\nWer?,RETURN 1,7\n")
    dataset = load_dataset(
        tmp_path / "a.csv",
        columns={"question": "Frage", "cypher": "Abfrage", "id": "Nr"},
        graph="g",
    )
    assert dataset.examples == (Example("7", "Wer?", "RETURN 1", "g"),)


def test_column_mappings_are_read_from_the_command_line() -> None:
    assert parse_columns(["question=NL Question, short,cypher=q=1", "id=n"]) == {
        "question": "NL Question, short",
        "cypher": "q=1",
        "id": "n",
    }
    for bad in ("question", "question=", "gold=x"):
        with pytest.raises(UsageError, match="not a column mapping.*question, cypher, id"):
            parse_columns([bad])


def test_public_layouts_are_recognised(tmp_path: Path) -> None:
    write_jsonl(
        tmp_path / "bench.jsonl",
        [{"qid": "u1", "graph": "nba", "gold_cypher": "RETURN 1", "nl_question": "q"}],
    )
    row = {
        "question": "q",
        "schema": "s",
        "cypher": "RETURN 1",
        "data_source": "neo4jLabs",
        "instance_id": "i_1",
        "database_reference_alias": "neo4jlabs_demo_db_movies",
    }
    (tmp_path / "hub").mkdir()
    for split in ("train", "test"):
        pq.write_table(
            pa.Table.from_pylist([row | {"instance_id": split}]),
            tmp_path / "hub" / f"{split}-00000-of-00001.parquet",
        )
    bench = load_dataset(tmp_path / "bench.jsonl").examples
    assert bench == (Example("u1", "q", "RETURN 1", "nba"),)
    hub = load_dataset(tmp_path / "hub")
    assert [(e.id, e.split, e.graph) for e in hub.examples] == [
        ("test", "test", "neo4jlabs_demo_db_movies"),
        ("train", "train", "neo4jlabs_demo_db_movies"),
    ]
    assert hub.splits == {"test": 1, "train": 1}


def test_zograscope_keeps_its_length_partition_apart(tmp_path: Path) -> None:
    head = "id,nl,mr,template_id,type\n"
    for name in ("train_v1", "test_v1", "length_train_v1", "length_test_v1"):
        (tmp_path / f"zograscope_{name}.csv").write_text(f"{head}1,q,RETURN 1,5,count\n")
    dataset = load_dataset(tmp_path)
    assert dataset.splits == {"test": 1, "train": 1}
    assert dataset.graphs == ("pole",)
    assert [p.kept for p in dataset.problems] == [True, True]
    alone = load_dataset(tmp_path / "zograscope_length_test_v1.csv")
    assert alone.splits == {"test": 1}


def test_a_folder_is_one_dataset_and_limit_takes_from_its_files_in_turn(tmp_path: Path) -> None:
    folder = tmp_path / "wwc"
    folder.mkdir()
    for kind, count in (("aggregation", 1), ("lookup", 5), ("ranking", 5)):
        write_jsonl(
            folder / f"{kind}.jsonl",
            [
                {"question": f"{kind} {n}", "cypher": "RETURN 1", "unique_id": f"{n}"}
                for n in range(count)
            ],
        )
    whole = load_dataset(folder)
    assert (whole.name, len(whole)) == ("wwc", 11)
    assert len({e.id for e in whole.examples}) == 11
    assert [e.question for e in load_dataset(folder, limit=6).examples] == [
        "aggregation 0",
        *(f"lookup {n}" for n in range(3)),
        *(f"ranking {n}" for n in range(2)),
    ]


def test_a_graph_picks_its_rows_where_rows_name_graphs(tmp_path: Path) -> None:
    file = write_jsonl(
        tmp_path / "a.jsonl",
        [{"question": "q", "cypher": "RETURN 1", "graph": g} for g in ("art", "nba", "art")],
    )
    assert len(load_dataset(file, graph="art")) == 2
    with pytest.raises(InputError, match="no question asks graph 'x'.*it has art, nba"):
        load_dataset(file, graph="x")


def test_splits_go_by_the_gold_and_by_nothing_else() -> None:
    golds = [f"MATCH (n:L{i % 200}) RETURN n" for i in range(1000)]
    dataset = Dataset("d", tuple(Example(str(i), f"q{i}", g) for i, g in enumerate(golds)))
    split = assign_splits(dataset, str.lower)
    where: dict[str, set[str]] = {}
    for example in split.examples:
        where.setdefault(example.cypher, set()).add(example.split)
    assert all(len(places) == 1 for places in where.values())
    assert 0.6 < split.splits["train"] / 1000 < 0.8
    backwards = assign_splits(Dataset("d", dataset.examples[::-1]), str.lower)
    assert {e.id: e.split for e in backwards.examples} == {e.id: e.split for e in split.examples}
    kept = assign_splits(Dataset("d", (Example("1", "q", "c", split="dev"),)), str)
    assert kept.examples[0].split == "dev"


@pytest.mark.shared
@pytest.mark.parametrize(
    ("path", "count", "graphs"),
    [
        ("cypherbench/train.jsonl", 8534, 4),
        ("mind-the-query/automated/wwc", 2946, 1),
        ("mind-the-query/automated/er", 2846, 1),
        ("mind-the-query/automated/covid", 2437, 1),
        ("mind-the-query/automated/healthcare", 2566, 1),
        ("mind-the-query/manual", 5892, 4),
        ("text2cypher/text2cypher_gpt4turbo.csv", 9846, 16),
    ],
)
def test_real_datasets_are_read_whole(shared: Path, path: str, count: int, graphs: int) -> None:
    dataset = load_dataset(shared / "data" / path)
    assert (len(dataset), len(dataset.graphs), dataset.problems) == (count, graphs, ())
    assert len({e.id for e in dataset.examples}) == count


@pytest.mark.shared
def test_human_verdicts_are_at_hand_under_one_name(shared: Path) -> None:
    dataset = load_dataset(shared / "data/mind-the-query/manual/wwc")
    verdicts = [(e.meta["logical"], bool(e.meta["reason"])) for e in dataset.examples]
    assert len(verdicts) == 1503
    # 113 + 19 golds were judged illogical by the reviewers (counted in the files with grep).
    assert sum(logical == "0" for logical, _ in verdicts) == 132
