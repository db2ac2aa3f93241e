"""Artifacts, run folders and journals: complete or absent, resumable, and any change is noticed."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cypherforge.artifacts.journal import Journal
from cypherforge.artifacts.run_folder import RunFolder
from cypherforge.artifacts.store import Artifact, ArtifactRef, ArtifactWriter, find_artifacts
from cypherforge.core.errors import (
    ArtifactError,
    InputError,
    NewerFormat,
    OptionsChanged,
    RunLocked,
    StorageError,
    Tampered,
)

IN_TMP = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXT
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def write(folder: Path, rows: list[Any], **options: Any) -> Artifact:
    with ArtifactWriter(folder, "thing", 1, options) as out:
        out.write_jsonl("rows.jsonl", rows)
    return Artifact.open(folder, "thing")


def run_python(code: str, *args: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


# ---------------------------------------------------------------- artifacts


@IN_TMP
@given(rows=st.lists(VALUES, max_size=6))
def test_what_is_written_is_read_back(tmp_path: Path, rows: list[Any]) -> None:
    artifact = write(tmp_path / "a", rows)
    artifact.verify()
    assert list(artifact.read_jsonl("rows.jsonl")) == rows
    assert artifact.manifest.files["rows.jsonl"].rows == len(rows)


def test_tables_texts_and_yaml_come_back(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "1", "n": 2, "names": ["Zoë", "人物"]},
        {"id": "\ud83d", "n": None, "names": []},
    ]
    with ArtifactWriter(tmp_path / "a", "thing") as out:
        out.write_parquet("t.parquet", rows)
        out.write_yaml("rules.yaml", {"b": 1, "a": ["x\ud83d"]})
        out.write_text("sub/notes.txt", "one\ntwo\ud83d")
    artifact = Artifact.open(tmp_path / "a")
    assert artifact.read_parquet("t.parquet") == [rows[0], {"id": "\ufffd", "n": None, "names": []}]
    assert artifact.read_yaml("rules.yaml") == {"b": 1, "a": ["x\ufffd"]}
    assert artifact.read_text("sub/notes.txt") == "one\ntwo\ufffd"
    artifact.verify()


def test_digest_leaves_out_time_usage_and_place(tmp_path: Path) -> None:
    digests = []
    for year, place in ((2001, "here"), (2030, "there")):
        folder = tmp_path / place
        with ArtifactWriter(
            folder,
            "thing",
            1,
            {"limit": 5},
            [ArtifactRef("input", "sha256:00", place)],
            7,
            clock=lambda year=year: datetime(year, 1, 1, tzinfo=UTC),  # type: ignore[misc]
        ) as out:
            out.write_jsonl("rows.jsonl", [1])
            out.usage = {"calls": year}
            out.models = [place]
        digests.append(Artifact.open(folder).digest)
    assert digests[0] == digests[1]
    assert write(tmp_path / "b", [2], limit=5).digest != write(tmp_path / "c", [1], limit=5).digest
    assert write(tmp_path / "b", [1], limit=4).digest != write(tmp_path / "c", [1], limit=5).digest


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), ArtifactWriter(tmp_path / "a", "thing") as out:
        out.write_jsonl("rows.jsonl", [1])
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_failed_rewrite_leaves_the_old_one(tmp_path: Path) -> None:
    before = write(tmp_path / "a", [1]).digest
    with pytest.raises(RuntimeError), ArtifactWriter(tmp_path / "a", "thing") as out:
        out.write_jsonl("rows.jsonl", [2])
        raise RuntimeError
    assert Artifact.open(tmp_path / "a").digest == before
    assert write(tmp_path / "a", [2]).digest != before
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("name", ["thesis.txt", "manifest.json"])
def test_other_peoples_folders_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / name).write_text('{"name": "mine"}')
    with pytest.raises(InputError, match="not an artifact"):
        write(tmp_path / "a", [1])
    with pytest.raises(InputError, match="holds other files"):
        RunFolder(tmp_path, {}, fresh=True)
    assert (tmp_path / "a" / name).read_text() == '{"name": "mine"}'
    assert find_artifacts(tmp_path) == []


@pytest.mark.parametrize("name", ["rows.jsonl", "manifest.json"])
def test_any_changed_byte_is_an_error(tmp_path: Path, name: str) -> None:
    write(tmp_path / "a", ["x", {"y": 1}])
    path = tmp_path / "a" / name
    whole = path.read_bytes()
    for place in range(0, len(whole), 1 if name == "rows.jsonl" else 7):
        for wrong in (whole[place] ^ 1, 0x20):
            if wrong == whole[place]:
                continue
            path.write_bytes(whole[:place] + bytes([wrong]) + whole[place + 1 :])
            with pytest.raises(ArtifactError):
                Artifact.open(tmp_path / "a").verify()
            assert find_artifacts(tmp_path) == [tmp_path / "a"]
    path.write_bytes(whole)
    Artifact.open(tmp_path / "a").verify()


def test_missing_and_added_files_are_errors(tmp_path: Path) -> None:
    artifact = write(tmp_path / "a", [1])
    (tmp_path / "a" / "more.txt").write_text("x")
    with pytest.raises(Tampered, match="more.txt does not belong"):
        artifact.verify()
    (tmp_path / "a" / "more.txt").unlink()
    (tmp_path / "a" / "rows.jsonl").unlink()
    with pytest.raises(Tampered, match="rows.jsonl is missing"):
        list(Artifact.open(tmp_path / "a").read_jsonl("rows.jsonl"))


def test_newer_format_and_wrong_kind_are_named(tmp_path: Path) -> None:
    write(tmp_path / "a", [1])
    with pytest.raises(InputError, match="a 'thing' artifact; a 'subset' is needed"):
        Artifact.open(tmp_path / "a", "subset")
    path = tmp_path / "a" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 9}))
    with pytest.raises(NewerFormat, match="format 9"):
        Artifact.open(tmp_path / "a")
    with pytest.raises(InputError, match="no artifact here"):
        Artifact.open(tmp_path / "nowhere")


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    code = """
        import resource, signal, sys
        from pathlib import Path
        from cypherforge.artifacts.store import ArtifactWriter
        from cypherforge.core.errors import StorageError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            with ArtifactWriter(Path(sys.argv[1]), "thing") as out:
                out.write_text("small.txt", "x")
                out.write_text("large.txt", "x" * 5000)
        except StorageError as error:
            print(error)
    """
    done = run_python(code, tmp_path / "a")
    assert "large.txt" in done.stdout, done.stderr
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- journals


@IN_TMP
@given(items=st.lists(st.tuples(TEXT, VALUES), max_size=6), share=st.floats(0, 1))
def test_a_journal_cut_anywhere_keeps_its_whole_lines(
    tmp_path: Path, items: list[tuple[str, Any]], share: float
) -> None:
    path = tmp_path / "j.jsonl"
    path.unlink(missing_ok=True)
    lengths = []
    with Journal(path) as journal:
        for key, row in items:
            assert journal.append(key, row) == row
            lengths.append(path.stat().st_size)
    cut = int(share * path.stat().st_size)
    os.truncate(path, cut)
    whole = [item for item, end in zip(items, lengths, strict=True) if end <= cut]
    with Journal(path) as journal:
        assert journal.rows == dict(whole)
        journal.append("after", 1)
    with Journal(path) as journal:
        assert journal.rows == {**dict(whole), "after": 1}


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        for number in range(3):
            journal.append(str(number), number)
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], lines[1][:9], *lines[2:]]))
    with pytest.raises(ArtifactError, match="line 2 is not a journal entry"):
        Journal(path)


def test_every_item_that_append_returned_survives_sigkill(tmp_path: Path) -> None:
    code = """
        import os, signal, sys, threading
        from pathlib import Path
        from cypherforge.artifacts.run_folder import RunFolder
        run = RunFolder(Path(sys.argv[1]), {"n": 1})
        journal = run.journal("drafts")
        for number in range(40):
            journal.append(f"q{number}", {"answer": number})
            print(number, flush=True)
            if number == 25:
                with run.stage("half") as out:
                    out.write_text("x", "y")
                    os.kill(os.getpid(), signal.SIGKILL)
    """
    done = run_python(code, tmp_path / "run")
    assert done.returncode == -signal.SIGKILL
    said = [int(line) for line in done.stdout.split()]
    assert said[-1] == 25
    with RunFolder(tmp_path / "run", {"n": 1}) as run:
        assert list(run.journal("drafts").keys()) == [f"q{number}" for number in said]
        assert run.stage_done("half") is None
        assert not list((tmp_path / "run").glob(".*"))


def test_a_full_disk_leaves_the_journal_readable(tmp_path: Path) -> None:
    code = """
        import resource, signal, sys
        from pathlib import Path
        from cypherforge.artifacts.journal import Journal
        from cypherforge.core.errors import StorageError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (250, 250))
        journal = Journal(Path(sys.argv[1]))
        try:
            for number in range(100):
                journal.append(str(number), "x" * 30)
        except StorageError:
            print(len(journal))
    """
    done = run_python(code, tmp_path / "j.jsonl")
    kept = int(done.stdout)
    assert 2 <= kept <= 6
    with Journal(tmp_path / "j.jsonl") as journal:
        assert list(journal.keys()) == [str(number) for number in range(kept)]
    assert (tmp_path / "j.jsonl").read_bytes().endswith(b"\n")


# ---------------------------------------------------------------- run folders


def test_a_stage_that_is_done_is_found_again(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run", {"limit": 3}) as run:
        assert run.stage_done("subset") is None
        with run.stage("subset", params={"limit": 3}) as out:
            out.write_jsonl("rows.jsonl", [1, 2, 3])
    with RunFolder(tmp_path / "run", {"limit": 3}) as run:
        artifact = run.stage_done("subset")
        assert artifact is not None
        assert list(artifact.read_jsonl("rows.jsonl")) == [1, 2, 3]
    assert find_artifacts(tmp_path) == [tmp_path / "run" / "subset"]


def test_an_interrupted_run_ends_with_the_same_data(tmp_path: Path) -> None:
    def work(run: RunFolder, stop_after: int | None) -> list[str]:
        asked: list[str] = []
        journal = run.journal("drafts")
        for number in range(6):
            key = f"q{number}"
            if key not in journal:
                if stop_after is not None and len(asked) == stop_after:
                    raise KeyboardInterrupt
                asked.append(key)
                journal.append(key, {"draft": number * number, "pair": (1, 2)})
        with run.stage("drafts") as out:
            out.write_jsonl("drafts.jsonl", [journal[f"q{n}"] for n in range(6)])
        return asked

    with RunFolder(tmp_path / "one", {}) as run:
        work(run, None)
    with pytest.raises(KeyboardInterrupt), RunFolder(tmp_path / "two", {}) as run:
        work(run, 4)
    with RunFolder(tmp_path / "two", {}) as run:
        assert work(run, None) == ["q4", "q5"]
    digests = {Artifact.open(tmp_path / name / "drafts").digest for name in ("one", "two")}
    assert len(digests) == 1


def test_changed_options_are_refused_by_name(tmp_path: Path) -> None:
    RunFolder(tmp_path / "run", {"limit": 200, "model": "a", "same": [1]}).close()
    with pytest.raises(OptionsChanged) as refused:
        RunFolder(tmp_path / "run", {"limit": 2, "model": "a", "seed": 1, "same": (1,)})
    text = str(refused.value)
    assert "limit was 200, now 2" in text and "seed was not set, now 1" in text
    assert "model" not in text and "--fresh" in text and "--out" in text
    assert refused.value.exit_code == 2
    # Refusing must let go of the folder.
    RunFolder(tmp_path / "run", {"limit": 200, "model": "a", "same": [1]}).close()


def test_fresh_starts_over_and_keeps_what_is_not_its_own(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run", {"limit": 1}) as run:
        run.journal("drafts").append("q", 1)
        with run.stage("subset") as out:
            out.write_text("x", "y")
    (tmp_path / "run" / "notes.txt").write_text("mine")
    (tmp_path / "run" / "site").mkdir()
    (tmp_path / "run" / "site" / "manifest.json").write_text("{}")
    with RunFolder(tmp_path / "run", {"limit": 2}, fresh=True) as run:
        assert run.stage_done("subset") is None
        assert len(run.journal("drafts")) == 0
    assert (tmp_path / "run" / "notes.txt").read_text() == "mine"
    assert (tmp_path / "run" / "site" / "manifest.json").exists()


def test_a_second_process_is_refused_and_told_who_works(tmp_path: Path) -> None:
    code = """
        import sys
        from cypherforge.artifacts.run_folder import RunFolder
        from cypherforge.core.errors import RunLocked
        try:
            RunFolder(sys.argv[1], {})
        except RunLocked as error:
            print(error.exit_code, error)
    """
    with RunFolder(tmp_path / "run", {}):
        done = run_python(code, tmp_path / "run")
        assert done.stdout.startswith("3 "), done.stderr
        assert f"process {os.getpid()} on " in done.stdout
        with pytest.raises(RunLocked):
            RunFolder(tmp_path / "run", {})
    assert run_python(code, tmp_path / "run").stdout == ""


def test_folders_that_are_no_run_are_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="holds other files"):
        RunFolder(tmp_path / "run", {}, fresh=True)
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["thesis.txt"]
    with pytest.raises(InputError, match="is a file"):
        RunFolder(tmp_path / "run" / "thesis.txt", {})
    with pytest.raises(StorageError):
        RunFolder(tmp_path / "run" / "thesis.txt" / "below", {})


@pytest.mark.parametrize("lock", ["", "process 1 on x, y"])
def test_a_run_killed_at_its_very_start_goes_on(tmp_path: Path, lock: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "lock").write_text(lock)
    with RunFolder(tmp_path / "run", {"n": 1}) as run:
        assert run.stage_done("subset") is None


def test_a_run_of_a_newer_version_is_refused_by_name(tmp_path: Path) -> None:
    RunFolder(tmp_path / "run", {}).close()
    (tmp_path / "run" / "run.json").write_text('{"format": 3, "options": {}}')
    with pytest.raises(NewerFormat, match="format 3"):
        RunFolder(tmp_path / "run", {})


def test_a_stage_that_was_edited_is_an_error(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run", {}) as run:
        with run.stage("subset") as out:
            out.write_text("x", "y")
        (tmp_path / "run" / "subset" / "x").write_text("z")
        with pytest.raises(Tampered, match="x was edited"):
            run.stage_done("subset")
