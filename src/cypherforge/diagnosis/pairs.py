"""Drafts with their golds, from whatever holds them: artifacts of `collect`, `prove` and `eval`, or rows of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cypherforge.artifacts.store import Artifact, is_artifact
from cypherforge.core.errors import InputError
from cypherforge.core.files import loads, read_jsonl, read_text
from cypherforge.diagnosis.model import Fault, family_of

_DRAFT = ("draft", "pred", "pred_cypher", "prediction")
_GOLD = ("gold", "gold_cypher", "cypher")
_QUESTION = ("question", "nl_question")
# What a run says of drafts that have no fault, or were not scored.
_PASSED = ("correct", "undecided", "aside", "unanswerable", "refused")


@dataclass(frozen=True, slots=True)
class Pair:
    """A draft with its gold, from where it was read.

    ``recorded`` are the faults that the run which made the row found, None where it looked for none;
    ``draft_rows`` and ``gold_rows`` the first rows that it kept, as JSON values.
    """

    id: str
    draft: str
    gold: str
    graph: str = ""
    question: str = ""
    error: str = ""
    draft_rows: tuple[Any, ...] = ()
    gold_rows: tuple[Any, ...] = ()
    recorded: tuple[Fault, ...] | None = None


def read_pairs(path: Path) -> list[Pair]:
    """Read drafts with golds: an artifact of attempts or trials, a JSONL file or a JSON list.

    Rows that their run calls right, and rows without a draft, are passed over. Raises InputError
    where a row has no gold.
    """
    pairs = []
    for number, row in enumerate(_rows(path), 1):
        if not isinstance(row, Mapping):
            raise InputError("a row is no object", where=f"{path}, row {number}")
        if row.get("outcome") == "correct" or row.get("verdict") in _PASSED:
            continue
        draft, gold = _first(row, _DRAFT), _first(row, _GOLD)
        if gold is None:
            raise InputError(
                "no gold", where=f"{path}, row {number}", hint=f"one of {', '.join(_GOLD)}"
            )
        if draft is not None and draft.strip():
            pairs.append(
                Pair(
                    id=str(row.get("id", number)),
                    draft=draft,
                    gold=gold,
                    graph=str(row.get("graph", "")),
                    question=_first(row, _QUESTION) or "",
                    error=str(row.get("error") or ""),
                    draft_rows=tuple(row.get("draft_rows") or ()),
                    gold_rows=tuple(row.get("gold_rows") or ()),
                    recorded=_recorded(row.get("faults")),
                )
            )
    return pairs


def _rows(path: Path) -> Iterable[Any]:
    if is_artifact(path):
        artifact = Artifact.open(path)
        names = artifact.manifest.files
        if "trials.jsonl" in names:
            return _trials(artifact)
        if "attempts.jsonl" in names:
            return artifact.read_jsonl("attempts.jsonl")
        raise InputError(
            f"an artifact of kind {artifact.manifest.kind} holds no drafts",
            where=str(path),
            hint="give the folder `failures` or `proven` of a mining run, or `trials` of an eval run",
        )
    if path.suffix == ".jsonl":
        return (value for _, value in read_jsonl(path))
    if path.suffix == ".json":
        try:
            rows: Iterable[Any] = loads(read_text(path))
        except ValueError as error:
            raise InputError(f"not JSON: {error}", where=str(path)) from error
        return rows
    raise InputError(
        "neither an artifact nor .jsonl nor .json",
        where=str(path),
        hint="give a folder that `collect` wrote, or rows with draft and gold",
    )


def _trials(artifact: Artifact) -> Iterator[dict[str, Any]]:
    """Rows of an eval run: a trial holds the draft as ``cypher``, the golds have their own file."""
    golds = {row["id"]: row for row in artifact.read_jsonl("golds.jsonl")}
    for trial in artifact.read_jsonl("trials.jsonl"):
        gold = golds[trial["id"]]
        yield {
            "id": f"{trial['id']} ({trial['arm']})",
            "graph": trial["graph"],
            "verdict": trial["verdict"],
            "question": gold["question"],
            "gold": gold["gold"],
            "draft": trial["cypher"],
            "error": trial["reason"],
            "draft_rows": trial["rows"],
            "gold_rows": gold.get("rows") or (),
            "faults": trial["faults"],
        }


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((row[name] for name in names if isinstance(row.get(name), str)), None)


def _recorded(faults: Any) -> tuple[Fault, ...] | None:
    if not isinstance(faults, list | tuple) or not faults:
        return None
    return tuple(
        Fault(f["code"], family_of(f["code"]), (), None, f.get("confirmed"), f.get("reason", ""))
        for f in faults
    )
