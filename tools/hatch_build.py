"""Build hook: ``cli.py`` is one file, which ``sources`` (folders only) cannot move."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CliIntoPackage(BuildHookInterface):
    """Ship the checkout's ``cli.py`` as ``cypherforge/cli.py`` in a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file; an editable install imports it in place and must not get a stale copy."""
        if version != "editable":
            build_data["force_include"]["cli.py"] = "cypherforge/cli.py"
