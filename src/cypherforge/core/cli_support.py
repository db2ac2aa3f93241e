"""What every command shares: lazy groups, errors as one line and an exit code, common options.

A command is a plain function with typer annotations in its room's ``commands.py``; ``cli.py`` names
it as ``"package.module:function"`` and it is imported only when it is called, so that ``--help``
stays fast however heavy the rooms are.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cypherforge.core.console import echo, error_line
from cypherforge.core.errors import BudgetExhausted, CypherForgeError

INTERRUPTED = 130
_CONFIG = "cypherforge.config"

# ---------------------------------------------------------------- options that many commands take

GraphOption = Annotated[
    str,
    typer.Option(
        "--graph",
        help="example, embedded:PATH, bolt://..., neo4j://... or memgraph://...",
    ),
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        help="Backbone: openai:NAME, anthropic:NAME, NAME@URL, scripted:FILE, recorded:FILE or "
        "none.",
    ),
]
AgentOption = Annotated[
    str, typer.Option("--agent", help="Who writes the rules: none, handoff:DIR or api:SPEC.")
]
JudgeOption = Annotated[str, typer.Option("--judge", help="Model that judges; as --model.")]
EmbedOption = Annotated[
    str, typer.Option("--embed", help="Embedder: wordllama, tfidf, openai:NAME or NAME@URL.")
]
DatasetOption = Annotated[
    Path | None, typer.Option("--dataset", help="File or folder of question-Cypher pairs.")
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        help="OURS=THEIRS for question, cypher, id, graph, split: question=Frage,id=Nr.",
    ),
]
OutOption = Annotated[Path | None, typer.Option("--out", help="Run folder to write.")]
BundleOption = Annotated[
    str, typer.Option("--bundle", help="Rule bundle: a .cfb file, or default.")
]
LimitOption = Annotated[
    int | None, typer.Option("--limit", min=1, help="Take only so many inputs.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of everything drawn at random.")]
FreshOption = Annotated[
    bool, typer.Option("--fresh", help="Start over instead of resuming what is there.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Print counts and projected cost; call no model.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
DatabaseOption = Annotated[
    str | None, typer.Option("--database", help="Database name on the server.")
]
UserOption = Annotated[
    str | None,
    typer.Option("--user", help="Database user; the password comes from CYPHERFORGE_PASSWORD."),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option("--exclude", help="LABEL.property whose values stay out of everything written."),
]
NoValuesOption = Annotated[
    bool,
    typer.Option("--no-values", help="Keep all database values out of prompts and artifacts."),
]


def tolerate_narrow_code_pages() -> None:
    """Replace what a stream cannot encode, for a report must not die of a name it prints."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError, io.UnsupportedOperation):
                stream.reconfigure(errors="replace")


# ---------------------------------------------------------------- lazy groups


def apply_config(ctx: Any, name: str, command: Any) -> None:
    """Turn the configuration's option names into defaults of this command's parameters.

    Raises UsageError for an option in the command's own table that it does not have.
    """
    config = ctx.meta.get(_CONFIG)
    options = (ctx.default_map or {}).get(name)
    if config is None or not options or isinstance(command, TyperGroup):
        return
    path = " ".join([*ctx.command_path.split()[1:], name])
    by_option = {
        text.lstrip("-").replace("-", "_"): param for param in command.params for text in param.opts
    }
    config.check_own(path, by_option)
    defaults = {}
    for key, value in options.items():
        if key in by_option:
            param = by_option[key]
            many = getattr(param, "multiple", False) and not isinstance(value, list)
            defaults[param.name] = [value] if many else value
    ctx.default_map[name] = defaults


class LazyGroup(TyperGroup):
    """A command group that imports a command when it is called, not when it is listed.

    Subclasses are made by :func:`lazy_group`; ``targets`` maps a name to
    ``("module:attribute", help)``. The attribute is a function, or a ``typer.Typer`` for a group.
    """

    targets: Mapping[str, tuple[str, str]] = {}
    paths: tuple[str, ...] = ()

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the order of the table."""
        return list(dict.fromkeys([*self.targets, *self.commands]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, imported now; None if there is none of that name."""
        if cmd_name not in self.commands and cmd_name in self.targets:
            self.commands[cmd_name] = load_command(cmd_name, self.targets[cmd_name][0])
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            apply_config(ctx, cmd_name, command)
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands with the table's help, importing none."""
        rows = []
        for name in self.list_commands(ctx):
            if name in self.targets:
                rows.append((name, self.targets[name][1]))
            else:
                rows.append((name, self.commands[name].get_short_help_str(limit=200)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class RootGroup(LazyGroup):
    """The root: turns the library's errors into one line and an exit code."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line."""
        tolerate_narrow_code_pages()
        return super().main(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run one command; see the error tree for the exit codes.

        Options that are not typed come from the configuration file, where there is one.
        """
        # Imported here, for --help needs no configuration and has to be fast.
        from cypherforge.core.config import load_config

        try:
            config = load_config()
            ctx.meta[_CONFIG] = config
            ctx.default_map = config.default_map(self.paths)
            return super().invoke(ctx)
        except BudgetExhausted as error:
            echo(error_line(error), sys.stderr)
            echo("what was done is kept; run again to resume", sys.stderr)
            raise typer.Exit(error.exit_code) from error
        except CypherForgeError as error:
            echo(error_line(error), sys.stderr)
            raise typer.Exit(error.exit_code) from error
        except KeyboardInterrupt as error:
            echo("interrupted: what was done is kept; run again to resume", sys.stderr)
            raise typer.Exit(INTERRUPTED) from error


def new_app(**settings: Any) -> typer.Typer:
    """A Typer without markup: brackets in a query must reach the terminal as they are."""
    return typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        **settings,
    )


def load_command(name: str, target: str) -> Any:
    """Import ``"module:attribute"`` and make it a command of that name."""
    module, _, attribute = target.partition(":")
    found = getattr(import_module(module), attribute)
    if isinstance(found, typer.Typer):
        command = typer.main.get_command(found)
        command.name = name
        return command
    app = new_app()
    app.command(name)(found)
    return typer.main.get_command(app)


def lazy_group(
    table: Mapping[str, tuple[str, str]],
    groups: Mapping[str, str],
    base: type[LazyGroup] = LazyGroup,
) -> type[LazyGroup]:
    """The group class for the commands of ``table`` (``"group name": (target, help)``).

    Names with a space belong to the group of their first word, whose help is in ``groups``.
    """
    own: dict[str, tuple[str, str]] = {}
    below: dict[str, dict[str, tuple[str, str]]] = {}
    for path, entry in table.items():
        first, _, rest = path.partition(" ")
        if rest:
            own.setdefault(first, ("", groups[first]))
            below.setdefault(first, {})[rest] = entry
        else:
            own[first] = entry

    class Group(base):  # type: ignore[valid-type,misc]
        targets = own
        paths = tuple(table)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name in below and cmd_name not in self.commands:
                app = new_app(cls=lazy_group(below[cmd_name], groups), help=groups[cmd_name])
                app.callback()(_nothing)
                command = typer.main.get_command(app)
                command.name = cmd_name
                self.commands[cmd_name] = command
            return super().get_command(ctx, cmd_name)

    return Group


def _nothing() -> None:
    """A group's own callback: only its commands do something."""
