"""The configuration file: which one, what it may say, and what it becomes."""

from pathlib import Path
from typing import Annotated

import click
import pytest
import typer
from typer.testing import CliRunner

from cypherforge.core.cli_support import RootGroup, lazy_group, new_app
from cypherforge.core.config import Config, load_config
from cypherforge.core.errors import InputError, UsageError

TEXT = """
graph = "example"
no-values = true

[mine]
limit = 200

[rules.write]
agent = "handoff:review"
graph = "bolt://h"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CYPHERFORGE_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_nearest_file_is_taken(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_config() == Config()
    own = home / "xdg" / "cypherforge" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text("limit = 1")
    assert load_config().values == {"limit": 1}
    (home / "cypherforge.toml").write_text("limit = 2")
    assert load_config().values == {"limit": 2}
    (home / "third.toml").write_text("limit = 3")
    monkeypatch.setenv("CYPHERFORGE_CONFIG", "third.toml")
    assert load_config().values == {"limit": 3}
    assert load_config(own).values == {"limit": 1}


def test_a_command_has_general_options_and_its_own(home: Path) -> None:
    (home / "cypherforge.toml").write_text(TEXT)
    config = load_config()
    assert config.options("mine") == {"graph": "example", "no_values": True, "limit": 200}
    assert config.options("rules write") == {
        "graph": "bolt://h",
        "no_values": True,
        "agent": "handoff:review",
    }
    assert config.options("ask") == {"graph": "example", "no_values": True}


def test_click_takes_it_as_defaults_and_what_is_typed_wins(home: Path) -> None:
    (home / "cypherforge.toml").write_text(TEXT)

    @click.group()
    def root() -> None:
        pass

    @root.command()
    @click.option("--limit", type=int)
    @click.option("--no-values", is_flag=True)
    def mine(limit: int, no_values: bool) -> tuple[int, bool]:
        return limit, no_values

    defaults = load_config().default_map(["mine", "rules write"])

    def run(*words: str) -> object:
        return root.main(list(words), standalone_mode=False, default_map=defaults)

    assert run("mine") == (200, True)
    assert run("mine", "--limit", "3") == (3, True)


def test_bad_files_are_one_line_with_the_way_out(home: Path) -> None:
    file = home / "cypherforge.toml"
    with pytest.raises(InputError, match="no such file"):
        load_config("none.toml")
    file.write_text("graph = ")
    with pytest.raises(UsageError, match="not TOML"):
        load_config()
    for text in ('password = "x"', '[mine]\nopenai_api_key = "sk-1"'):
        file.write_text(text)
        with pytest.raises(UsageError, match="looks like a secret.*export") as caught:
            load_config()
        assert "sk-1" not in str(caught.value)
    file.write_text("[mime]\nlimit = 1")
    with pytest.raises(UsageError, match="no command 'mime'.*mine"):
        load_config().default_map(["mine"])


def show(
    graphs: Annotated[list[str] | None, typer.Option("--graph")] = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
    limit: int = 1,
) -> None:
    """A command like ours: names of options are not names of parameters."""
    typer.echo(f"{graphs} {as_json} {limit}")


def test_the_command_line_takes_the_file_s_options_by_their_names(home: Path) -> None:
    table = {"show": (f"{__name__}:show", "x"), "rules list": (f"{__name__}:show", "x")}
    app = new_app(cls=lazy_group(table, {"rules": "x"}, RootGroup))
    app.callback()(lambda: None)

    def run(text: str, *words: str) -> str:
        (home / "cypherforge.toml").write_text(text)
        result = CliRunner().invoke(app, list(words))
        return f"{result.exit_code} {result.output.strip()}"

    general = 'graph = "bolt://h"\njson = true\nlimit = 5\nunknown-here = 1\n'
    assert run(general, "show") == "0 ['bolt://h'] True 5"
    assert run(general, "show", "--graph", "a", "--limit", "7") == "0 ['a'] True 7"
    assert run(general + "[rules.list]\nlimit = 6\n", "rules", "list") == "0 ['bolt://h'] True 6"
    assert run(general + "[rules.list]\nlimit = 6\n", "show") == "0 ['bolt://h'] True 5"
    wrong = run("[show]\nlimt = 6\n", "show")
    assert wrong.startswith("2 error: cypherforge.toml: 'show' has no option 'limt' (it has graph")
    assert run("[sow]\nlimit = 6\n", "show").startswith(
        "2 error: cypherforge.toml: no command 'sow'"
    )
