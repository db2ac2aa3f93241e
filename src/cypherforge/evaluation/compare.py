"""Two runs side by side: which questions change sides, in both directions, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cypherforge.core.errors import UsageError
from cypherforge.evaluation.summary import Run, compare_trials


def compare_runs(
    first: Run,
    second: Run,
    first_arm: str | None = None,
    second_arm: str | None = None,
    *,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Compare arms over the questions that both runs scored by the same gold.

    True-empty questions have flips of their own and count in no figure.

    Without names, arms of the same name are compared; two runs of one arm each compare these, and
    one run with itself its arms with their baseline. Raises UsageError where nothing fits.
    """
    pairs = _pairs(first, second, first_arm, second_arm)
    same = {i for i in first.golds if i in second.golds and _gold(first, i) == _gold(second, i)}
    found = []
    for a, b in pairs:
        ordinary = {i for i in same if not first.golds[i]["true_empty"]}
        row = compare_trials(a, first.trials[a], b, second.trials[b], ordinary, seed=seed)
        empties = compare_trials(a, first.trials[a], b, second.trials[b], same - ordinary)
        row["first_run"], row["second_run"] = str(first.folder), str(second.folder)
        row["flips"] = {
            side: [
                {
                    "id": i,
                    "graph": first.golds[i]["graph"],
                    "true_empty": first.golds[i]["true_empty"],
                    "question": first.golds[i]["question"],
                    "before": first.trials[a][i].verdict,
                    "after": second.trials[b][i].verdict,
                    "draft_before": first.trials[a][i].cypher,
                    "draft_after": second.trials[b][i].cypher,
                }
                for i in (*row.get(side, ()), *empties.get(side, ()))
            ]
            for side in ("fixed", "broken")
        }
        found.append(row)
    return found


def comparison_text(row: Mapping[str, Any]) -> str:
    """A comparison for the terminal."""
    head = f"{row['first']} ({row['first_run']}) → {row['second']} ({row['second_run']})"
    if not row["n"]:
        return f"{head}\nno question in common"
    same = row["equivalence"]
    lines = [
        head,
        f"{row['n']} questions: {len(row['fixed'])} fixed, {len(row['broken'])} broken, "
        f"McNemar p = {row['mcnemar_p']:.3f}",
        f"difference {100 * row['difference']:+.1f} points, 95 % interval "
        f"{100 * row['low']:+.1f} to {100 * row['high']:+.1f}",
    ]
    if same is not None:
        said = "shown" if same["equivalent"] else "not shown"
        lines.append(
            f"equal within {100 * same['margin']:.0f} points: {said} (TOST p = {same['p']:.3f})"
        )
    if row["questions_needed"]:
        lines.append(
            f"a difference like this needs {row['questions_needed']} questions to be seen with a "
            "power of 80 %"
        )
    for side in ("fixed", "broken"):
        for flip in row["flips"][side]:
            mark = " (true-empty)" if flip["true_empty"] else ""
            lines.append(
                f"{side}{mark}: {flip['id']} [{flip['before']} → {flip['after']}] {flip['question']}"
            )
    return "\n".join(lines)


def _gold(run: Run, example_id: str) -> tuple[str, str]:
    gold = run.golds[example_id]
    return str(gold["question"]), str(gold["gold"])


def _pairs(
    first: Run, second: Run, first_arm: str | None, second_arm: str | None
) -> list[tuple[str, str]]:
    mine, theirs = [a["id"] for a in first.arms], [a["id"] for a in second.arms]
    for given, known in ((first_arm, mine), (second_arm, theirs)):
        if given is not None and given not in known:
            raise UsageError(f"no arm {given!r}", hint=f"there are {', '.join(known)}")
    if first_arm is not None or second_arm is not None:
        return [
            (a, b)
            for a in ([first_arm] if first_arm else mine)
            for b in ([second_arm] if second_arm else theirs)
        ]
    if first.artifact.digest == second.artifact.digest:
        pairs = [
            (base["id"], arm["id"])
            for arm in first.arms
            if (base := first.baseline(arm)) is not None
        ]
        if pairs:
            return pairs
    if len(mine) == len(theirs) == 1:
        return [(mine[0], theirs[0])]
    shared = [(arm, arm) for arm in mine if arm in theirs]
    if not shared:
        raise UsageError(
            "the runs have no arm in common",
            hint=f"--first-arm, one of {', '.join(mine)}; --second-arm, one of {', '.join(theirs)}",
        )
    return shared
