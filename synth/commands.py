"""Commands: ``synth pairs`` and ``synth check``."""

from pathlib import Path
from typing import Annotated

import typer

from cypherforge.artifacts.store import MANIFEST, Artifact
from cypherforge.core.cli_support import (
    DatabaseOption,
    ExcludeOption,
    FreshOption,
    JsonOption,
    NoValuesOption,
    OutOption,
    SeedOption,
    UserOption,
)
from cypherforge.core.console import echo, echo_json
from cypherforge.core.errors import UsageError
from cypherforge.core.progress import ConsoleProgress
from cypherforge.graph.connect import connect
from cypherforge.graph.policy import ValuePolicy
from cypherforge.synth.check import check_pairs
from cypherforge.synth.families import FAMILIES
from cypherforge.synth.generate import SHARES, PairOptions
from cypherforge.synth.pairs import KIND
from cypherforge.synth.run import make_pairs, read_holdout, text_report

FamiliesOption = Annotated[
    str, typer.Option("--families", help=f"Only these, by commas: {', '.join(FAMILIES)}.")
]
RelationsOption = Annotated[
    str, typer.Option("--relations", help="Only these counts of relations, by commas: 1,2,3,4.")
]
HoldoutOption = Annotated[
    Path | None, typer.Option("--holdout", help="Dataset of which nothing may leak.")
]
HoldoutSplitOption = Annotated[
    str, typer.Option("--exclude-split", help="Hold out only this split of --holdout.")
]
HoldoutByOption = Annotated[
    str,
    typer.Option("--holdout-by", help="What may not leak: graph, skeleton, entity, question."),
]


def pairs_command(
    graph: Annotated[
        str,
        typer.Argument(help="example, embedded:PATH, bolt://..., neo4j://... or memgraph://..."),
    ],
    size: Annotated[int, typer.Option("--size", min=1, help="How many pairs.")] = 200,
    families: FamiliesOption = "",
    relations: RelationsOption = "",
    exclude: ExcludeOption = None,
    no_values: NoValuesOption = False,
    holdout: HoldoutOption = None,
    exclude_split: HoldoutSplitOption = "",
    holdout_by: HoldoutByOption = "question,entity",
    name: Annotated[str, typer.Option("--name", help="The graph's name in the pairs.")] = "",
    seed: SeedOption = 0,
    user: UserOption = None,
    database: DatabaseOption = None,
    out: OutOption = None,
    fresh: FreshOption = False,
    json: JsonOption = False,
) -> None:
    """Make verified question-Cypher pairs from a graph, with no model.

    Started again it goes on where it was.
    """
    options = PairOptions(
        size=size,
        families=tuple(_known(families, list(FAMILIES), "family")),
        relations=tuple(int(n) for n in _known(relations, [str(k) for k in SHARES], "count")),
        seed=seed,
        values=not no_values,
    )
    held = read_holdout(holdout, exclude_split, [w for w in holdout_by.split(",") if w])
    called = name or _name_of(graph)
    folder = out or Path("runs") / f"pairs-{called}"
    with connect(graph, user=user, database=database) as opened:
        made = make_pairs(
            opened,
            called,
            folder,
            options,
            policy=ValuePolicy.of(exclude, no_values),
            holdout=held,
            fresh=fresh,
            progress=ConsoleProgress(),
        )
    if json:
        echo_json({"folder": str(made.folder), "digest": made.digest, **made.manifest.summary})
    else:
        echo(text_report(made))


def _known(text: str, known: list[str], what: str) -> list[str]:
    """The comma-separated items. Raises ``UsageError`` for one that is not known."""
    items = [item.strip() for item in text.split(",") if item.strip()]
    for item in items:
        if item not in known:
            raise UsageError(f"no such {what}: {item!r}", hint=f"one of {', '.join(known)}")
    return items


def _name_of(spec: str) -> str:
    if "://" in spec:
        return spec.split("://", 1)[1].rpartition("@")[2].split("/")[0].split(":")[0]
    return Path(spec.removeprefix("embedded:")).name or "graph"


def check_command(
    pairs: Annotated[Path, typer.Argument(help="What synth pairs wrote.")],
    graph: Annotated[str, typer.Option("--graph", help="A graph with the same data.")],
    user: UserOption = None,
    database: DatabaseOption = None,
    json: JsonOption = False,
) -> None:
    """Run every pair again and compare with the recorded result; exit code 1 if one differs."""
    made = Artifact.open(pairs if (pairs / MANIFEST).exists() else pairs / KIND, KIND)
    with connect(graph, user=user, database=database) as opened:
        checked = check_pairs(made.read_jsonl("pairs.jsonl"), opened, ConsoleProgress())
        engine = opened.engine
    if json:
        echo_json({"engine": engine, **checked.to_json()})
    else:
        echo(
            f"{checked.same} pairs give the same result on {engine}, {len(checked.different)} do not"
        )
        for name, reason in checked.different[:20]:
            echo(f"  {name}: {reason}")
    if checked.different:
        raise typer.Exit(1)
