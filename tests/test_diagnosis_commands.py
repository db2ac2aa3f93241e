"""``diagnose`` on the command line: one pair, and a file of drafts."""

import json
from pathlib import Path

from typer.testing import CliRunner

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
