"""``diagnose`` on the command line: one pair, and a file of drafts."""

import json
from pathlib import Path

from typer.testing import CliRunner

from cypherforge.artifacts.store import ArtifactWriter
from cypherforge.cli import app

runner = CliRunner()


def test_one_pair_for_people() -> None:
    draft, gold = "MATCH (n:A) RETURN n", "MATCH (n:A) RETURN n.name"
    result = runner.invoke(app, ["diagnose", draft, gold])
    assert result.exit_code == 1
    assert "1. return.item (not run)" in result.stdout
    assert "repaired so far: MATCH (n:A) RETURN n.name" in result.stdout


def test_one_pair_as_json(tmp_path: Path) -> None:
    schema = tmp_path / "s.txt"
    schema.write_text("(:A {name: STRING})-[:R]->(:B)\n", encoding="utf-8")
    arguments = ["diagnose", "MATCH (n:X) RETURN n.name", "MATCH (n:A) RETURN n.name"]
    result = runner.invoke(app, [*arguments, "--schema", str(schema), "--json"])
    (fault,) = json.loads(result.stdout)["faults"]
    assert fault["code"] == "schema.label" and fault["family"] == "schema"
    assert fault["repair"] == "MATCH (n:A) RETURN n.name"
    assert fault["spans"] == [[9, 10]]


def test_many_drafts_are_counted_with_examples(tmp_path: Path) -> None:
    path = tmp_path / "drafts.jsonl"
    rows = [
        {"id": str(i), "draft": f"MATCH (n:A) RETURN n // {i}", "gold": "MATCH (n:A) RETURN n.x"}
        for i in range(5)
    ]
    rows.append({"id": "ok", "draft": "x", "gold": "y", "outcome": "correct"})
    rows.append({"id": "p", "draft": "MATCH (n RETURN n.x", "gold": "MATCH (n) RETURN n.x"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = runner.invoke(app, ["diagnose", str(path), "--json"])
    value = json.loads(result.stdout)
    assert result.exit_code == 0 and value["drafts"] == 6
    assert value["codes"]["return.item"]["first"] == 5
    assert len(value["codes"]["return.item"]["examples"]) == 3
    assert value["codes"]["syntax.parse"]["all"] == 1
    page = runner.invoke(app, ["diagnose", str(path), "--limit", "2"]).stdout
    assert page.startswith("2 drafts") and "return.item" in page


def test_a_row_without_gold_is_named(tmp_path: Path) -> None:
    path = tmp_path / "drafts.jsonl"
    path.write_text('{"draft": "RETURN 1"}\n', encoding="utf-8")
    result = runner.invoke(app, ["diagnose", str(path)])
    assert result.exit_code == 2 and "row 1" in result.output


def _failures(folder: Path) -> Path:
    """An artifact as `collect` writes it, of two failures with what the run found."""
    faults = [{"code": "return.item", "confirmed": True, "reason": "an entity <asked> for"}]
    row = {
        "question": "Who is <b>Ann</b>?",
        "draft": "MATCH (n:A) RETURN n // <script>alert(1)</script>",
        "gold": "MATCH (n:A) RETURN n.name",
        "graph": "g",
        "outcome": "different",
        "error": "",
        "draft_rows": [[{"$node": "<i>1</i>"}]],
        "gold_rows": [["Ann"]],
        "faults": faults,
    }
    with ArtifactWriter(folder, "failures", 1, {}) as out:
        out.write_jsonl("attempts.jsonl", [{"id": f"q{i}", **row} for i in range(2)])
    return folder


def test_an_artifact_becomes_a_page_of_what_its_run_confirmed(tmp_path: Path) -> None:
    source, page = _failures(tmp_path / "failures"), tmp_path / "faults.html"
    result = runner.invoke(app, ["diagnose", str(source), "--out", str(page)])
    assert result.exit_code == 0
    assert result.stdout.strip() == "2 drafts, 0 without a fault, 2 with every fault confirmed"
    html = page.read_text(encoding="utf-8")
    assert '<td class="n">2</td><td class="n">2</td><td class="n">2</td>' in html
    assert html.count("Who is &lt;b&gt;Ann&lt;/b&gt;?") == 2
    for raw in ("<b>", "<script", "<i>", "http://", "https://"):
        assert raw not in html


def test_a_page_marks_the_place_of_the_fault(tmp_path: Path) -> None:
    rows = [{"id": "1", "draft": "MATCH (n:A) RETURN n.b", "gold": "MATCH (n:A) RETURN n.c"}]
    path, page = tmp_path / "drafts.json", tmp_path / "faults.html"
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert runner.invoke(app, ["diagnose", str(path), "--out", str(page)]).exit_code == 0
    html = page.read_text(encoding="utf-8")
    assert "<mark>n.b</mark>" in html and "no repair was run" in html


def test_a_page_in_markdown_escapes_the_question(tmp_path: Path) -> None:
    source, page = _failures(tmp_path / "failures"), tmp_path / "faults.md"
    assert runner.invoke(app, ["diagnose", str(source), "--out", str(page)]).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "### Who is \\<b\\>Ann\\</b\\>?" in text
    assert "| `return.item` |" in text and "| 2 | 2 | 2 |" in text


def test_a_page_of_another_kind_is_refused(tmp_path: Path) -> None:
    result = runner.invoke(app, ["diagnose", str(tmp_path), "--out", "faults.pdf"])
    assert result.exit_code == 2 and ".html or .md" in result.output


def test_the_drafts_of_an_eval_run_are_read_with_their_golds(tmp_path: Path) -> None:
    trial = {
        "id": "q1",
        "arm": "zero-shot",
        "graph": "g",
        "verdict": "different",
        "cypher": "MATCH (n:A) RETURN n",
        "reason": "",
        "rows": [],
        "faults": [],
    }
    golds = {"id": "q1", "question": "Who?", "gold": "MATCH (n:A) RETURN n.name"}
    with ArtifactWriter(tmp_path / "trials", "eval-trials", 1, {}) as out:
        out.write_jsonl("golds.jsonl", [golds])
        out.write_jsonl("trials.jsonl", [trial, {**trial, "verdict": "correct"}])
    result = runner.invoke(app, ["diagnose", str(tmp_path / "trials"), "--json"])
    value = json.loads(result.stdout)
    assert value["drafts"] == 1
    (example,) = value["codes"]["return.item"]["examples"]
    assert example["id"] == "q1 (zero-shot)" and example["question"] == "Who?"
