"""Bundles: one deterministic file, equal on the way back, and any changed byte is an error."""

import hashlib
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from cypherforge.artifacts.bundle import Bundle, Exemplar, Shape, diff, shipped_shapes
from cypherforge.cli import app
from cypherforge.core.errors import ArtifactError, InputError, NewerFormat, Tampered

RULE: dict[str, Any] = {
    "id": "R1",
    "tier": "universal",
    "title": "Count entities, not paths",
    "codes": ["aggregation.distinct"],
    "cites": ["q1", "q2"],
    "evidence": {
        "failures": 10,
        "passes": 12,
        "fixed": 4,
        "broken": 1,
        "lift": 0.136,
        "low": 0.02,
        "high": 0.25,
        "prompt_tokens": 60,
        "verdict": "kept",
    },
}


def sample(**changes: Any) -> Bundle:
    parts: dict[str, Any] = {
        "name": "sample",
        "version": "1.2.3",
        "rules": (RULE,),
        "exemplars": (
            Exemplar("q1", "Who plays for 人物?", "MATCH (n) RETURN n", "wwc"),
            Exemplar("q2", "How many “games”?", "MATCH (n) RETURN count(n)", "wwc"),
        ),
        "embeddings": np.array([[0.6, 0.8], [1.0, 0.0]], dtype=np.float32),
        "embedder": "wordllama",
        "taxonomy": {"version": 1, "families": []},
        "schemas": {"wwc": "(:Team)"},
        "sources": {"proof": "sha256:00"},
    }
    return Bundle(**{**parts, **changes})


TEXT = st.text(st.characters(exclude_categories=()), max_size=15)
ROWS = st.dictionaries(
    TEXT, TEXT | st.integers(-(2**53), 2**53) | st.lists(TEXT, max_size=2), max_size=3
)


@st.composite
def bundles(draw: st.DrawFn) -> Bundle:
    rules = [
        {**draw(ROWS), "id": f"R{n}", "tier": "universal"} for n in range(draw(st.integers(0, 3)))
    ]
    count, width = draw(st.integers(0, 4)), draw(st.integers(1, 5))
    numbers = st.floats(-1, 1, width=32)
    table = draw(st.lists(st.lists(numbers, min_size=width, max_size=width), min_size=count,
                          max_size=count))  # fmt: skip
    return Bundle(
        name=draw(TEXT),
        rules=tuple(rules),
        exemplars=tuple(
            Exemplar(f"q{n}", draw(TEXT), draw(TEXT), draw(TEXT)) for n in range(count)
        ),
        embeddings=np.array(table, dtype=np.float32).reshape(count, width if count else 0),
        embedder="some" if count else "",
        schemas=draw(st.dictionaries(TEXT, TEXT, max_size=2)),
        thresholds=draw(st.dictionaries(TEXT, st.floats(0, 1), max_size=2)),
    )


@settings(max_examples=60, deadline=None)
@given(bundle=bundles())
def test_a_bundle_comes_back_as_it_was(bundle: Bundle) -> None:
    data = bundle.to_bytes()
    back = Bundle.from_bytes(data)
    assert back == bundle
    assert back.rules == bundle.rules
    assert back.exemplars == bundle.exemplars
    assert np.array_equal(back.embeddings, bundle.embeddings)
    assert back.to_bytes() == data


def test_the_bytes_are_those_of_every_machine() -> None:
    # A change here changes what older readers see: raise FORMAT and the compatibility range.
    one = sample(embeddings=np.array([[0.6, 0.8], [1.0, -1e-9]], dtype=np.float64))
    assert one.to_bytes() == sample().to_bytes()
    with zipfile.ZipFile(io.BytesIO(one.to_bytes())) as archive:
        assert archive.namelist() == sorted(archive.namelist())
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        header = json.loads(archive.read("bundle.json"))
        rules = archive.read("rules.jsonl")
    assert header["parts"]["rules.jsonl"] == "sha256:" + hashlib.sha256(rules).hexdigest()
    assert json.loads(rules) == RULE


def test_any_changed_byte_is_an_error() -> None:
    whole = sample(shapes=shipped_shapes()[:1]).to_bytes()
    for place in range(len(whole)):
        with pytest.raises(ArtifactError):
            Bundle.from_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    for cut in (0, 1, len(whole) // 2, len(whole) - 1):
        with pytest.raises(ArtifactError):
            Bundle.from_bytes(whole[:cut])
    with pytest.raises(ArtifactError):
        Bundle.from_bytes(whole + b"\n")


def test_a_rule_edited_in_the_archive_is_tampering(tmp_path: Path) -> None:
    path = sample().save(tmp_path / "b.cfb")
    edited = tmp_path / "edited.cfb"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(edited, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"Count entities", b"Count nothing!"))
        new.comment = old.comment
    with pytest.raises(Tampered, match="changed after it was built"):
        Bundle.load(edited)
    result = CliRunner().invoke(app, ["bundle", "verify", str(edited)])
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1 and str(edited) in result.stderr


def test_what_is_no_bundle_is_said(tmp_path: Path) -> None:
    (tmp_path / "b.cfb").write_text("rules: []")
    with pytest.raises(ArtifactError, match="not a rule bundle"):
        Bundle.load(tmp_path / "b.cfb")
    with pytest.raises(InputError, match="no such bundle"):
        Bundle.load(tmp_path / "c.cfb")


def test_a_newer_format_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cypherforge.artifacts.bundle.FORMAT", 7)
    data = sample().to_bytes()
    monkeypatch.undo()
    with pytest.raises(NewerFormat, match="bundle format 7"):
        Bundle.from_bytes(data)
    with pytest.raises(NewerFormat, match=r"cypherforge 99\.0\.0 or newer"):
        Bundle.from_bytes(sample(compatible=("99.0.0", "100.0.0")).to_bytes())
    with pytest.raises(ArtifactError, match=r"before 0\.0\.1"):
        Bundle.from_bytes(sample(compatible=("0.0.0", "0.0.1")).to_bytes())


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": "one"},
        {"rules": (RULE, RULE)},
        {"embedder": ""},
        {"embeddings": np.zeros((3, 2))},
        {"embeddings": np.array([[np.nan, 0], [0, 1]])},
    ],
)
def test_parts_that_do_not_fit_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        sample(**wrong)


def test_shipped_shapes_are_a_dozen_or_more_in_placeholders() -> None:
    from cypherforge.cypher import parse

    shapes = shipped_shapes()
    assert len(shapes) >= 12
    for shape in shapes:
        parse(shape.cypher)
        assert all(word == word.lower() for word in shape.keywords)


def test_diff_names_what_changed() -> None:
    old = sample()
    new = sample(
        version="1.3.0",
        rules=({**RULE, "title": "Count things"}, {**RULE, "id": "R2"}),
        exemplars=(replace(old.exemplars[0], cypher="RETURN 1"), Exemplar("q3", "", "", "wwc")),
        shapes=(Shape("new", "t", ("k",), "RETURN 1"), *shipped_shapes()),
        thresholds={**old.thresholds, "reciprocity": 0.8},
    )
    found = diff(old, new)
    assert found.rules_added == ("R2",)
    assert found.rules_removed == ()
    assert found.rules_changed == {"R1": ("title",)}
    assert (found.exemplars_added, found.exemplars_removed) == (("q3",), ("q2",))
    assert found.exemplars_changed == ("q1",)
    assert found.shapes == ("new",)
    assert found.settings == {
        "version": ("1.2.3", "1.3.0"),
        "threshold reciprocity": (0.9, 0.8),
    }
    assert diff(old, sample()).same and not found.same


def test_commands_show_the_same_as_the_file(tmp_path: Path) -> None:
    old = sample().save(tmp_path / "old.cfb")
    new = sample(version="2.0.0").save(tmp_path / "new.cfb")
    run = CliRunner()
    shown = json.loads(run.invoke(app, ["bundle", "show", str(old), "--json"]).stdout)
    assert shown["rules"] == [RULE]
    assert (shown["version"], shown["exemplars"], shown["dimensions"]) == ("1.2.3", 2, 2)
    text = run.invoke(app, ["bundle", "show", str(old)]).stdout
    assert "fixed 4 of 10, broke 1 of 12, lift +0.136 [+0.020, +0.250]" in text
    assert run.invoke(app, ["bundle", "verify", str(old)]).exit_code == 0
    compared = run.invoke(app, ["bundle", "diff", str(old), str(new), "--json"])
    assert json.loads(compared.stdout)["settings"] == {"version": ["1.2.3", "2.0.0"]}
    assert "1.2.3 -> 2.0.0" in run.invoke(app, ["bundle", "diff", str(old), str(new)]).stdout
