"""Hand-off: let any coding agent write the rules, through a folder.

The folder gets the prompt, the failures, their clusters and a JSON Schema. Whoever works there
writes ``rules.yaml``; the next run reads it and validates it like any other.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from cypherforge.core.errors import CypherForgeError
from cypherforge.core.files import atomic_write, dumps
from cypherforge.miner.attempts import Attempt
from cypherforge.miner.cluster import cluster
from cypherforge.rules.model import PROMPT_WORDS, Predicate, Rule, load_rules, rules_schema
from cypherforge.rules.taxonomy import taxonomy
from cypherforge.templates import render

RULES = "rules.yaml"


class HandoffPending(CypherForgeError):
    """The folder is written, and the rules are not there yet."""


def mining_prompt() -> str:
    """The fixed prompt of the miner (CypherGuard, figure 3, in our words)."""
    return render(
        "prompts/mine_rules.jinja",
        predicates=get_args(Predicate),
        words=PROMPT_WORDS,
        codes=taxonomy().codes,
    )


def failure_view(failure: Attempt) -> dict[str, Any]:
    """What an agent sees of a failure."""
    row = failure.to_row()
    for name in ("gold_digest", "prompt_tokens", "completion_tokens"):
        del row[name]
    return row


def hand_off(folder: Path, failures: Sequence[Attempt]) -> list[Rule]:
    """Read ``rules.yaml`` from ``folder``, or write what an agent needs to make it.

    Raises ``HandoffPending`` after writing, ``InputError`` naming file, rule and field where the
    rules are not valid.
    """
    if (folder / RULES).exists():
        return load_rules(folder / RULES)
    folder.mkdir(parents=True, exist_ok=True)
    prompt = (
        f"{mining_prompt()}\n\n## Files here\n\n"
        "- `failures.jsonl`: the failures, one a line\n"
        "- `clusters.json`: a first grouping of them\n"
        "- `rules.schema.json`: JSON Schema of the result\n\n"
        f"Write the result as `{RULES}` in this folder: a mapping with the key `rules`.\n"
    )
    atomic_write(folder / "PROMPT.md", prompt)
    atomic_write(
        folder / "failures.jsonl", "".join(dumps(failure_view(f)) + "\n" for f in failures)
    )
    clusters = [{"name": c.name, "codes": c.codes, "ids": c.ids} for c in cluster(failures)]
    atomic_write(folder / "clusters.json", json.dumps(clusters, indent=1) + "\n")
    atomic_write(folder / "rules.schema.json", json.dumps(rules_schema(), indent=1) + "\n")
    raise HandoffPending(
        f"{len(failures)} failures are handed off; {RULES} is not there yet",
        where=str(folder),
        hint=f"let an agent follow PROMPT.md and write {RULES}, then run the same command again",
    )
