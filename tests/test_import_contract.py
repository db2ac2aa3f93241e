"""Rooms import from floors below: held on the mirror, and a planted violation is seen."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it is installed, where every room can be seen by static tools."""
    tool = ROOT / "tools" / "typecheck.py"
    if not tool.is_file():
        pytest.skip("no tools folder beside the tests: not a checkout")
    spec = importlib.util.spec_from_file_location("typecheck_tool", tool)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # Not the checkout's own mirror: a type checker may be reading that one.
    vars(module)["MIRROR"] = tmp_path_factory.mktemp("mirror")
    folder: Path = module.mirror()
    return folder


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            str(Path(sys.executable).with_name("lint-imports")),
            str(ROOT / "pyproject.toml"),
            "--no-cache",
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_every_room_is_in_the_mirror_and_the_contract_holds(mirror: Path) -> None:
    package = mirror / "cypherforge"
    rooms = {path.name for path in package.iterdir() if (path / "__init__.py").is_file()}
    assert {"artifacts", "miner", "synth", "templates", "validators", "core", "runtime"} <= rooms
    done = lint(mirror)
    assert done.returncode == 0, done.stdout


def test_a_forbidden_import_is_seen(mirror: Path) -> None:
    victim = mirror / "cypherforge" / "core" / "errors.py"
    whole = victim.read_text(encoding="utf-8")
    victim.write_text(whole + "\nimport cypherforge.miner\n", encoding="utf-8")
    try:
        done = lint(mirror)
    finally:
        victim.write_text(whole, encoding="utf-8")
    assert done.returncode == 1, done.stdout
    assert "cypherforge.core is not allowed to import cypherforge.miner" in done.stdout
