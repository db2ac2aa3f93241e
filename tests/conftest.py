"""Shared fixtures. No test may reach a network, a key or a paid model."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import world_of_films as world
from hypothesis import settings

from cypherforge.graph.base import Graph
from cypherforge.graph.connect import connect

# A busy machine is no failure: what a property says has no clock in it.
settings.register_profile("cypherforge", deadline=None)
settings.load_profile("cypherforge")

ROOT = Path(__file__).resolve().parents[1]
KEPT = ("CYPHERFORGE_TEST_NEO4J", "CYPHERFORGE_SHARED")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The development data folder; the test is skipped where it is absent."""
    folder = Path(os.environ.get("CYPHERFORGE_SHARED", ROOT.parent / "shared"))
    if not (folder / "data" / "README.md").is_file():
        pytest.skip(f"no development data at {folder}; set CYPHERFORGE_SHARED to its folder")
    return folder


@pytest.fixture(scope="session")
def neo4j_uri() -> str:
    """A real Neo4j; the test is skipped where there is none."""
    uri = os.environ.get("CYPHERFORGE_TEST_NEO4J", "")
    if not uri:
        pytest.skip("no Neo4j: set CYPHERFORGE_TEST_NEO4J, e.g. to what tools/neo4j prints")
    return uri


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    """The small graph of films, embedded; for modules that have no graph of their own."""
    folder = world.write_graph(tmp_path_factory.mktemp("films") / "graph")
    with connect(f"embedded:{folder}") as opened:
        yield opened


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        ours = name.startswith("CYPHERFORGE_") and name not in KEPT
        if ours or name.startswith(("OPENAI_", "ANTHROPIC_", "NEO4J_")):
            monkeypatch.delenv(name)


def pytest_sessionfinish() -> None:
    """A bare ``import miner`` would load a second copy of a room: fail loudly."""
    rooms = {"artifacts", "cli", "miner", "synth", "templates", "validators"}
    doubles = [
        name
        for name, module in list(sys.modules.items())
        if name.split(".")[0] in rooms
        and Path(getattr(module, "__file__", None) or "/").is_relative_to(ROOT)
    ]
    if doubles:
        raise pytest.UsageError(f"imported under bare names: {sorted(doubles)}")
