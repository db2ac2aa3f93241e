"""Every command that the README shows is run, in its order, by its own text.

A live database and a live model stand in for by the embedded graph and an endpoint on loopback.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import world_of_films as world

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8") if (ROOT / "README.md").exists() else ""
INSTALL = 'python3 -m venv .venv && .venv/bin/pip install -e ".[dev]" && '


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands() -> list[str]:
    return [line for block in blocks("sh") for line in block.strip().splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("readme")
    world.write_graph(work / "graph")
    world.write_questions(work / "questions.jsonl")
    return work


def run(arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CYPHERFORGE_CACHE": str(cwd / "cache"), "HOME": str(cwd)}
    return subprocess.run(
        arguments,
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


def test_ci_runs_the_two_commands() -> None:
    first, second = commands()[:2]
    assert first == INSTALL + ".venv/bin/cypherforge mine example"
    assert second == ".venv/bin/pytest"
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for part in ('pip install -q -e ".[dev]"', ".venv/bin/cypherforge mine example", second):
        assert part in script


def test_every_command_works(folder: Path) -> None:
    server = world.ModelServer()
    try:
        for line in commands():
            if line == ".venv/bin/pytest":
                continue
            text = line.removeprefix(INSTALL).removeprefix(".venv/bin/")
            text = text.replace("bolt://127.0.0.1:7687", f"embedded:{folder / 'graph'}")
            text = text.replace("http://127.0.0.1:8091/v1", server.url)
            program, *arguments = shlex.split(text)
            assert program == "cypherforge", line
            done = run([sys.executable, "-P", "-m", "cypherforge", *arguments], folder)
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
            assert "Traceback" not in done.stderr
    finally:
        server.close()


def test_the_python_works(folder: Path) -> None:
    (code,) = blocks("python")
    done = run([sys.executable, "-P", "-c", code], folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("answered")


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
