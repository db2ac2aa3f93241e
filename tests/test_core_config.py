"""The configuration file: which one, what it may say, and what it becomes."""

from pathlib import Path

import click
import pytest

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
