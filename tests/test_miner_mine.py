"""The main job against a real embedded graph and an endpoint on loopback that errs on purpose."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import world_of_films as world

from cypherforge.artifacts.bundle import Bundle
from cypherforge.artifacts.store import Artifact, find_artifacts


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("films")
    return {
        "graph": world.write_graph(folder / "graph"),
        "dataset": world.write_questions(folder / "films.jsonl"),
    }


@pytest.fixture
def server() -> Iterator[world.ModelServer]:
    served = world.ModelServer()
    yield served
    served.close()


def command(films: dict[str, Path], url: str, out: Path, *more: str) -> list[str]:
    return [
        sys.executable,
        "-P",
        "-m",
        "cypherforge",
        "mine",
        "--dataset",
        str(films["dataset"]),
        "--graph",
        f"embedded:{films['graph']}",
        "--model",
        f"clumsy@{url}",
        "--out",
        str(out),
        "--json",
        *more,
    ]


def environment(cache: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "CYPHERFORGE_CACHE": str(cache), **more}


def run(arguments: list[str], cache: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments,
        env=environment(cache, **more),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def digests(run_folder: Path) -> dict[str, str]:
    found = {p.name: Artifact.open(p).digest for p in find_artifacts(run_folder)}
    return {**found, "bundle": Bundle.load(run_folder / "bundle.cfb").digest}


@pytest.fixture(scope="module")
def mined(films: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One undisturbed run, for the tests that look at its outcome."""
    served = world.ModelServer()
    folder = tmp_path_factory.mktemp("undisturbed")
    done = run(command(films, served.url, folder / "run"), folder / "cache", PYTHONHASHSEED="1")
    served.close()
    assert done.returncode == 0, done.stderr
    return {"summary": json.loads(done.stdout), "run": folder / "run", "server": served}


def test_it_finds_the_slips_that_the_model_makes(mined: dict[str, Any]) -> None:
    summary = mined["summary"]
    assert summary["questions"]["train"] == 11
    assert summary["questions"]["heldout"] == 11
    # Three of the four "act in" questions are kept (one group), and all three casts: the model
    # reverses the arrow of the former and miscounts the latter.
    assert summary["collect"]["failures"] == {"error": 0, "empty": 3, "different": 3}
    assert summary["collect"]["codes"]["direction.reversed"] == 3


def test_a_rule_that_helps_is_proven_and_one_that_does_not_is_not(mined: dict[str, Any]) -> None:
    rules = {r["id"]: r for tier in mined["summary"]["rules"]["by_tier"].values() for r in tier}
    arrow = rules["arrow-as-declared"]
    # Four held-out "act in" questions: told of arrows, the model gets all of them right.
    assert (arrow["fixed"], arrow["broken"], arrow["status"]) == (4, 0, "proven")
    assert arrow["chosen"]
    assert arrow["lift"][0] == pytest.approx(4 / 11, abs=1e-3)
    others = [r for name, r in rules.items() if name != "arrow-as-declared"]
    assert not any(r["chosen"] for r in others)
    proof = mined["summary"]["prove"]
    assert (proof["baseline_correct"], proof["set_correct"]) == (4, 8)


def test_the_bundle_carries_the_evidence(mined: dict[str, Any]) -> None:
    bundle = Bundle.load(mined["run"] / "bundle.cfb")
    arrow = next(r for r in bundle.rules if r["id"] == "arrow-as-declared")
    assert arrow["evidence"]["fixed"] == 4
    assert arrow["evidence"]["verdict"] == "kept"
    assert len(bundle.exemplars) == 11
    assert bundle.embeddings.shape[0] == 11


def test_run_again_it_is_done_at_once(mined: dict[str, Any], films: dict[str, Path]) -> None:
    asked = mined["server"].asked.total()
    again = run(command(films, mined["server"].url, mined["run"]), mined["run"].parent / "cache")
    assert again.returncode == 0, again.stderr
    assert again.stderr.count("already done") == 6
    assert mined["server"].asked.total() == asked


def test_other_options_are_refused_by_name(mined: dict[str, Any], films: dict[str, Path]) -> None:
    changed = run(
        command(films, mined["server"].url, mined["run"], "--seed", "5"), mined["run"].parent
    )
    assert changed.returncode == 2
    assert "seed" in changed.stderr
    assert "--fresh" in changed.stderr


@pytest.mark.slow
def test_killed_anywhere_it_goes_on_and_ends_with_the_same_data(
    films: dict[str, Path], mined: dict[str, Any], tmp_path: Path
) -> None:
    served = world.ModelServer(delay=0.05)
    arguments = command(films, served.url, tmp_path / "run")
    kills = 0
    for wait in (3.0, 0.4, 0.8, 1.2):
        process = subprocess.Popen(
            arguments,
            env=environment(tmp_path / "cache", PYTHONHASHSEED=str(kills)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        before = served.answered.total()
        deadline = time.monotonic() + 60
        while (
            served.answered.total() - before < 6
            and process.poll() is None
            and time.monotonic() < deadline
        ):
            time.sleep(0.02)
        time.sleep(wait / 10)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += process.returncode == -signal.SIGKILL
    done = run(arguments, tmp_path / "cache")
    served.close()
    assert done.returncode == 0, done.stderr
    assert kills >= 2
    assert digests(tmp_path / "run") == digests(mined["run"])
    # At a kill at most the calls in flight repeat: two workers.
    repeated = sum(n - 1 for n in served.asked.values())
    assert repeated <= 2 * kills


def test_two_runs_on_one_folder(films: dict[str, Path], tmp_path: Path) -> None:
    served = world.ModelServer(delay=5.0)
    arguments = command(films, served.url, tmp_path / "run")
    first = subprocess.Popen(
        arguments,
        env=environment(tmp_path / "cache"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while not served.asked and time.monotonic() < deadline:
            time.sleep(0.05)
        second = run(arguments, tmp_path / "cache")
    finally:
        first.kill()
        first.wait()
        served.close()
    assert second.returncode == 3
    assert "another process" in second.stderr


def test_an_unreachable_model_is_one_line_and_loses_nothing(
    films: dict[str, Path], tmp_path: Path
) -> None:
    arguments = command(films, "http://127.0.0.1:9/v1", tmp_path / "run")
    done = run(arguments, tmp_path / "cache", CYPHERFORGE_RETRIES="0")
    assert done.returncode == 3
    assert done.stderr.strip().splitlines()[-1].startswith("error: ")
    assert (tmp_path / "run" / "subset" / "manifest.json").is_file()
    assert not (tmp_path / "run" / "failures").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (
            ["mine", "--dataset", "nowhere.jsonl", "--graph", "example", "--model", "none"],
            2,
            "nowhere",
        ),
        (["mine"], 2, "mine example"),
        (["mine", "other"], 2, "other"),
        (["mine", "example", "--agent", "magic"], 2, "handoff:DIR"),
        (["mine", "example", "--literals", "some"], 2, "all, once or none"),
        (["mine", "example", "--model", "gpt"], 2, "NAME@URL"),
    ],
)
def test_bad_options_are_one_line(
    arguments: list[str], code: int, words: str, tmp_path: Path
) -> None:
    done = run(
        [sys.executable, "-P", "-m", "cypherforge", *arguments, "--out", str(tmp_path / "r")],
        tmp_path,
    )
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr
