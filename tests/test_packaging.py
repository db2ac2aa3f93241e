"""The wheel holds everything, every module imports, and the command line starts anywhere."""

import importlib
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import cypherforge
from cypherforge.core.errors import MissingExtra

ROOT = Path(__file__).resolve().parents[1]
# Folders at the top that are not part of the package.
OUTSIDE = {"tests", "tools", "docs", "benchmarks", "build", "dist", "runs", "src"}


@pytest.fixture(scope="module")
def build() -> dict[str, Any]:
    """The build section of pyproject.toml."""
    path = ROOT / "pyproject.toml"
    if not path.is_file():
        pytest.skip("not a checkout")
    section: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))["tool"]["hatch"][
        "build"
    ]
    return section


def test_every_top_level_package_is_listed_three_times(build: dict[str, Any]) -> None:
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")} - OUTSIDE
    wheel = build["targets"]["wheel"]
    for room in sorted(rooms):
        assert room in build["targets"]["sdist"]["only-include"], f'add "{room}" to sdist'
        assert room in wheel["only-include"], f'add "{room}" to wheel only-include'
        line = f'{room} = "cypherforge/{room}"'
        assert wheel["sources"].get(room) == f"cypherforge/{room}", f"add {line} to wheel.sources"
    listed = set(wheel["only-include"]) - {"src/cypherforge"}
    assert listed == rooms, "a listed room does not exist"


def test_no_bare_python_file_at_the_top() -> None:
    if not (ROOT / "pyproject.toml").is_file():
        pytest.skip("not a checkout")
    assert {path.name for path in ROOT.glob("*.py")} == {"cli.py"}
    assert not (ROOT / "tests" / "__init__.py").exists()


def test_every_module_imports() -> None:
    names = [
        module.name
        for module in pkgutil.walk_packages(cypherforge.__path__, "cypherforge.")
        if not module.name.startswith(("cypherforge.tests", "cypherforge.tools"))
        and module.name != "cypherforge.__main__"
    ]
    assert "cypherforge.artifacts.store" in names and "cypherforge.core.errors" in names
    for name in names:
        try:
            importlib.import_module(name)
        except MissingExtra:
            # Classes that another library's user hands to it derive from that library's own.
            assert name.startswith("cypherforge.runtime.adapters."), name


def test_no_shipped_file_is_ignored_by_git(build: dict[str, Any]) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no git repository")
    shipped = build["targets"]["wheel"]["only-include"]
    done = subprocess.run(
        ["git", "ls-files", "--others", "--ignored", "--exclude-standard", "--", *shipped],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    # hatchling drops ignored files even where they are tracked.
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--ignored", "--exclude-standard", "--", *shipped],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    ignored = [
        line
        for line in [*done.stdout.splitlines(), *tracked.stdout.splitlines()]
        if "__pycache__" not in line
    ]
    assert ignored == []


@pytest.mark.parametrize("package", ["artifacts", "rules", "templates", "miner"])
def test_data_files_are_found_by_resource(package: str) -> None:
    from importlib.resources import files

    wanted = {
        "artifacts": "shapes.yaml",
        "rules": "taxonomy.yaml",
        "templates": "prompts",
        "miner": "mechanisms.yaml",
    }[package]
    resource = files(f"cypherforge.{package}") / wanted
    assert resource.is_file() or resource.is_dir()


def test_the_command_line_starts_from_anywhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "cypherforge", "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "artifacts" in done.stdout and "bundle" in done.stdout
