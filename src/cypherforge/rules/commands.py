"""Commands over rules and the taxonomy: parse, call one function, print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cypherforge.core.cli_support import JsonOption
from cypherforge.core.console import echo, echo_json, format_table
from cypherforge.core.errors import Tampered
from cypherforge.core.files import atomic_write
from cypherforge.rules.model import Rule, check_rules, dump_rules, load_rules
from cypherforge.rules.taxonomy import taxonomy as shipped_taxonomy
from cypherforge.rules.taxonomy import taxonomy_page


def list_rules(
    source: Annotated[
        str, typer.Argument(help="A bundle (.cfb or default), or a rules.yaml.")
    ] = "default",
    full: Annotated[bool, typer.Option("--full", help="Each rule as a prompt shows it.")] = False,
    json: JsonOption = False,
) -> None:
    """List the rules of a bundle or of a rules file."""
    rules = _rules(source)
    if json:
        echo_json(dump_rules(rules))
    elif full:
        echo("\n\n".join(f"{rule.id} ({_when(rule)})\n{rule.prompt_text()}" for rule in rules))
    else:
        rows = [[rule.id, rule.tier, _when(rule), ", ".join(rule.codes), rule.title]
                for rule in rules]  # fmt: skip
        echo(format_table(["rule", "tier", "applies", "codes", "title"], rows))


def taxonomy(
    out: Annotated[Path | None, typer.Option("--out", help="Write the page to a file.")] = None,
    json: JsonOption = False,
) -> None:
    """Print the 32 fault codes with definition, example and guard, as a Markdown page."""
    if json:
        echo_json(shipped_taxonomy().to_json())
    elif out is not None:
        atomic_write(out, taxonomy_page())
    else:
        echo(taxonomy_page().rstrip("\n"))


def _rules(source: str) -> list[Rule]:
    if Path(source).suffix in (".yaml", ".yml", ".json"):
        return load_rules(Path(source))
    from cypherforge.artifacts.bundle import Bundle

    rules, problems = check_rules([dict(rule) for rule in Bundle.load(source).rules])
    if problems:
        raise Tampered(str(problems[0]), where=source, hint="build the bundle again")
    return rules


def _when(rule: Rule) -> str:
    if rule.trigger is None:
        return "always"
    names = rule.trigger.words or rule.trigger.predicates
    joint = " or " if rule.trigger.mode == "any" else " and "
    shown = joint.join(names[:4])
    return f"{shown} ..." if len(names) > 4 else shown
