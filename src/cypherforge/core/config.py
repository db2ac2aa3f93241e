"""One TOML file with the options one would otherwise type each time.

Keys are the long options; a table of a command's name holds what is for that command alone::

    graph = "bolt://127.0.0.1:7687"
    model = "qwen@http://127.0.0.1:8091/v1"

    [mine]
    limit = 200

    [rules.write]
    agent = "handoff:review"

What is typed wins over the file. Secrets have no place in it: passwords and keys come from the environment.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cypherforge.core.errors import UsageError
from cypherforge.core.files import read_text

_SECRET = re.compile(r"password|passwd|secret|token$|api_?key|credential", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Config:
    """The content of the file, and which one it is; empty where there is none."""

    path: Path | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    def options(self, command: str) -> dict[str, Any]:
        """The options for a command (``mine``, ``rules write``): general ones, then its own, names with ``_``."""
        found: dict[str, Any] = {}
        table: Any = self.values
        for word in ["", *command.split()]:
            table = table.get(word, {}) if word else table
            if not isinstance(table, Mapping):
                break
            found.update({_name(k): v for k, v in table.items() if not isinstance(v, Mapping)})
        return found

    def check_own(self, command: str, known: Iterable[str]) -> None:
        """Raises UsageError where the command's own table has an option that is not ``known``."""
        table: Any = self.values
        for word in command.split():
            table = table.get(word, {})
        names = sorted(known)
        for key, value in table.items():
            if not isinstance(value, Mapping) and _name(key) not in names:
                raise UsageError(
                    f"{command!r} has no option {key!r}",
                    where=str(self.path),
                    hint=f"it has {', '.join(name.replace('_', '-') for name in names)}",
                )

    def default_map(self, commands: Iterable[str]) -> dict[str, Any]:
        """What click takes as defaults, for these commands. Raises UsageError for a table of no command."""
        known = set(commands)
        for path in _tables(self.values):
            if path not in known and not any(name.startswith(f"{path} ") for name in known):
                raise UsageError(
                    f"no command {path!r}",
                    where=str(self.path),
                    hint=f"tables are named like commands: {', '.join(sorted(known))}",
                )
        result: dict[str, Any] = {}
        for command in sorted(known):
            *groups, last = command.split()
            below = result
            for group in groups:
                below = below.setdefault(group, {})
            below.setdefault(last, {}).update(self.options(command))
        return result


def load_config(path: Path | str | None = None) -> Config:
    """The file named, else ``CYPHERFORGE_CONFIG``, ``./cypherforge.toml`` or the user's own; else nothing.

    Raises UsageError: named but absent, not TOML, a secret in it.
    """
    named = path or os.environ.get("CYPHERFORGE_CONFIG")
    if named:
        found: Path | None = Path(named).expanduser()
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        places = (Path("cypherforge.toml"), base / "cypherforge" / "config.toml")
        found = next((place for place in places if place.is_file()), None)
    if found is None:
        return Config()
    try:
        values = tomllib.loads(read_text(found))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"not TOML: {error}", where=str(found), hint="mend that line") from None
    for name in _keys(values):
        if _SECRET.search(name):
            raise UsageError(
                f"{name!r} looks like a secret",
                where=str(found),
                hint="export CYPHERFORGE_PASSWORD, OPENAI_API_KEY, ... instead",
            )
    return Config(found, values)


def _name(key: str) -> str:
    return key.replace("-", "_")


def _keys(values: Mapping[str, Any]) -> Iterable[str]:
    for key, value in values.items():
        yield key
        if isinstance(value, Mapping):
            yield from _keys(value)


def _tables(values: Mapping[str, Any], above: str = "") -> Iterable[str]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            path = f"{above} {key}".strip()
            yield path
            yield from _tables(value, path)
