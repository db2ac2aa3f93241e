"""The report: one HTML file that stands alone, and the same figures as Markdown, JSON and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cypherforge.core.files import atomic_write, dumps
from cypherforge.evaluation.scores import INVARIANT
from cypherforge.evaluation.summary import MEANS, Run
from cypherforge.evaluation.trials import VERDICTS, Trial
from cypherforge.graph.values import display, from_json
from cypherforge.templates import render

#: Characters of a value that the page shows.
CELL = 200
RIGHT = ("correct", "aside")


def write_report(
    run: Run, summary: Mapping[str, Any], folder: Path, *, judged: Mapping[str, Any] | None = None
) -> list[Path]:
    """Write ``report.html``, ``.md``, ``.json`` and ``.csv``. Raises StorageError."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = {
        "report.html": html_page(run, summary, judged=judged),
        "report.md": markdown_page(run, summary),
        "report.json": dumps({**summary, "judged": judged}, indent=2) + "\n",
        "trials.csv": csv_table(run),
    }
    for name, text in contents.items():
        atomic_write(folder / name, text)
    return [folder / name for name in contents]


# ---------------------------------------------------------------- HTML


def html_page(
    run: Run, summary: Mapping[str, Any], *, judged: Mapping[str, Any] | None = None
) -> str:
    """The page: tables, charts, and every failing question with both results and the trace."""
    failures = [item for gold in run.golds.values() if (item := _failure(run, gold, judged))]
    totals = [sum(codes.values()) for arm in summary["arms"] for codes in arm["faults"].values()]
    filters = [
        ("graph", "graph", list(run.graphs)),
        ("arms", "failing arm", [arm["id"] for arm in run.arms]),
        ("verdicts", "verdict", [v for v in VERDICTS if v not in RIGHT]),
        ("families", "fault", sorted({f for item in failures for f in item["families"]})),
    ]
    if len(run.arms) > 1:
        filters.append(("flips", "changes sides", ["fixed", "broken"]))
    return render(
        "pages/evaluation.html.jinja",
        title=summary["dataset"],
        date=_date(run),
        summary=summary,
        most_faults=max(totals, default=1),
        other_scores=[(name, INVARIANT[name]) for name in MEANS if name != "executable"],
        filters=[f for f in filters if f[2]],
        unsettled=[
            gold
            for gold in run.golds.values()
            if gold["aside"] or gold["determinacy"]["status"] != "settled"
        ],
        failures=failures,
        judged=judged,
    )


def _failure(
    run: Run, gold: Mapping[str, Any], judged: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """A question that some arm fails, with the trials of all arms; None where none does."""
    trials = [(arm, run.trials[arm["id"]][gold["id"]]) for arm in run.arms]
    wrong = [trial for _, trial in trials if trial.verdict not in RIGHT]
    if not wrong:
        return None
    families = sorted({str(t.faults[0]["family"]) for t in wrong if t.faults})
    flips = set()
    for arm, trial in trials:
        base = run.baseline(arm)
        before = run.trials[base["id"]][gold["id"]] if base else trial
        if before.scored and trial.scored and before.ex != trial.ex:
            flips.add("fixed" if trial.ex else "broken")
    shown = [{"text": trial.verdict, "class": _class(trial)} for _, trial in trials]
    return {
        "gold": {**gold, "cells": cells(gold["rows"])},
        "trials": [_trial(trial, judged) for _, trial in trials],
        "failing": [trial.arm for trial in wrong],
        "verdicts": sorted({trial.verdict for trial in wrong}),
        "families": families,
        "flips": sorted(flips),
        "tags": shown,
    }


def _trial(trial: Trial, judged: Mapping[str, Any] | None) -> dict[str, Any]:
    said = (judged or {}).get("verdicts", {}).get(trial.arm, {}).get(trial.id)
    return {
        **trial.to_row(),
        "cells": cells(trial.rows),
        "class": _class(trial),
        "judged": said,
    }


def _class(trial: Trial) -> str:
    if trial.verdict == "correct":
        return "correct"
    return "open" if trial.verdict in ("undecided", "aside") else "wrong"


def cells(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    """Rows of JSON values as short texts."""
    return [[display(from_json(cell), CELL) for cell in row] for row in rows]


# ---------------------------------------------------------------- CSV


def csv_table(run: Run) -> str:
    """One line a trial: verdict, scores, cost; no questions, no queries, no values."""
    names = [name for name in MEANS]
    costs = ("calls", "prompt_tokens", "completion_tokens", "money", "database")
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        ["arm", "id", "graph", "kind", "true_empty", "verdict", "ex", *names, *costs, "code"]
    )
    for trials in run.trials.values():
        for trial in trials.values():
            gold = run.golds[trial.id]
            writer.writerow(
                [
                    trial.arm,
                    trial.id,
                    trial.graph,
                    gold["kind"],
                    int(gold["true_empty"]),
                    trial.verdict,
                    trial.ex if trial.scored else "",
                    *(trial.scores.get(name, "") for name in names),
                    *(trial.cost.get(name, "") for name in costs),
                    trial.faults[0]["code"] if trial.faults else "",
                ]
            )
    return stream.getvalue()


# ---------------------------------------------------------------- Markdown


def markdown_page(
    run: Run,
    summary: Mapping[str, Any],
    *,
    command: str = "",
    machine: str = "",
    title: str = "",
) -> str:
    """Figures without questions, golds or values: fit to be kept beside the code."""
    lines = [f"# {title or 'Evaluation of ' + str(summary['dataset'])}", ""]
    models = ", ".join(run.artifact.manifest.run.models)
    graphs = ", ".join(f"{name} ({engine})" for name, engine in summary["graphs"].items())
    facts = [
        ("Date", _date(run)),
        ("Models", models),
        ("Graphs", graphs),
        ("Machine", machine),
        ("Data digest", str(summary["digest"])),
    ]
    lines += [f"- {name}: {value}" for name, value in facts if value]
    if command:
        lines += ["", "```sh", command, "```"]
    lines += ["", *_arm_table(summary), ""]
    lines += [
        "EX: the rows are the gold's; 95 % bootstrap intervals over questions. Costs are what an arm "
        "needs by itself.",
    ]
    reused = {a["id"]: a["untimed"] for a in summary["arms"] if a["untimed"]}
    if reused:
        said = ", ".join(f"{count} of {name}" for name, count in reused.items())
        lines += ["", f"Answers that came from the cache have no seconds: {said}."]
    if summary["differences"]:
        lines += ["", "## Differences to the baseline", "", *_difference_table(summary)]
    lines += ["", "## EX by graph", "", *_graph_table(summary)]
    lines += ["", "## Failures by first fault", "", *_fault_table(summary)]
    lines += ["", "## Golds", "", *_gold_lines(summary["golds"])]
    if any(arm["true_empty"]["n"] for arm in summary["arms"]):
        lines += ["", "## Questions whose right answer is no row", "", *_empty_table(summary)]
    if any(arm["recovery"] for arm in summary["arms"]):
        lines += ["", "## Recovery", ""]
        for arm in summary["arms"]:
            if found := arm["recovery"]:
                lines.append(
                    f"- {arm['id']}: of {found['lost']} that the baseline left without rows, "
                    f"{found['rows']} have rows now, {found['correct']} are right."
                )
    lines += ["", "## Other scores", "", *_score_table(summary)]
    return "\n".join(lines) + "\n"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table; the first column to the left, the others to the right."""
    rule = ["---", *("---:" for _ in columns[1:])]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (columns, rule, *escaped)]


def percent(share: float | None) -> str:
    """A share for people."""
    return "–" if share is None else f"{100 * share:.1f} %"


def _interval(row: Mapping[str, Any]) -> str:
    if row["low"] is None:
        return "–"
    return f"{100 * row['low']:.1f} – {100 * row['high']:.1f}"


def _arm_table(summary: Mapping[str, Any]) -> list[str]:
    columns = "arm,n,EX,95 %,executable,empty,error,PSJS,calls,tokens,USD,queries,seconds".split(
        ","
    )
    return table(
        columns,
        [
            [
                arm["id"],
                str(arm["n"]),
                percent(arm["ex"]),
                _interval(arm),
                percent(arm["executable"]),
                str(arm["empty"]),
                str(arm["error"]),
                "–" if arm["psjs"] is None else f"{arm['psjs']:.3f}",
                str(arm["calls"]),
                str(arm["tokens"]),
                "unknown" if arm["money"] is None else f"{arm['money']:.4f}",
                str(arm["database"]),
                "–" if arm["seconds"] is None else f"{arm['seconds']:.1f}",
            ]
            for arm in summary["arms"]
        ],
    )


def _difference_table(summary: Mapping[str, Any]) -> list[str]:
    columns = ["arm", "against", "n", "points", "95 %", "fixed", "broken", "McNemar p"]
    columns += ["equal within 5 points (TOST p)", "questions needed for 80 % power"]
    rows = []
    for row in summary["differences"]:
        if not row["n"]:
            continue
        same = row["equivalence"]
        rows.append(
            [
                row["second"],
                row["first"],
                str(row["n"]),
                f"{100 * row['difference']:+.1f}",
                f"{100 * row['low']:+.1f} – {100 * row['high']:+.1f}",
                str(len(row["fixed"])),
                str(len(row["broken"])),
                f"{row['mcnemar_p']:.3f}",
                "–"
                if same is None
                else f"{'yes' if same['equivalent'] else 'not shown'} ({same['p']:.3f})",
                str(row["questions_needed"] or "–"),
            ]
        )
    return table(columns, rows)


def _graph_table(summary: Mapping[str, Any]) -> list[str]:
    arms = summary["arms"]
    rows = []
    for graph in summary["graphs"]:
        found = [arm["by_graph"][graph] for arm in arms]
        figures = [f"{percent(row['ex'])} ({_interval(row)})" for row in found]
        rows.append([graph, str(found[0]["n"]), *figures])
    return table(["graph", "n", *(arm["id"] for arm in arms)], rows)


def _fault_table(summary: Mapping[str, Any]) -> list[str]:
    arms = summary["arms"]
    codes = sorted({code for arm in arms for row in arm["faults"].values() for code in row})
    if not codes:
        return ["None."]

    def count(arm: Mapping[str, Any], code: str) -> int:
        return sum(row.get(code, 0) for row in arm["faults"].values())

    codes.sort(key=lambda code: (-sum(count(arm, code) for arm in arms), code))
    rows = [[code, *(str(count(arm, code)) for arm in arms)] for code in codes]
    return table(["code", *(arm["id"] for arm in arms)], rows)


def _gold_lines(golds: Mapping[str, Any]) -> list[str]:
    lines = [
        f"{golds['all']} questions: {golds['scored']} count, {golds['true_empty']} are truly empty, "
        f"{golds['aside']} are set aside. The graph does not settle {golds['underdetermined']} "
        f"({percent(golds['underdetermined_share'])}), of which {golds['scored_by_membership']} are "
        "scored by membership in the set of right answers.",
        "",
    ]
    lines += [f"- {n} × {kind}" for kind, n in golds["underdetermined_by_kind"].items()]
    lines += [f"- set aside, {n} × {why}" for why, n in golds["aside_by_reason"].items()]
    return lines if lines[-1] else lines[:-1]


def _empty_table(summary: Mapping[str, Any]) -> list[str]:
    names = ("n", "empty", "unanswerable", "rows", "failed")
    return table(
        ["arm", "questions", "left empty", "unanswerable", "turned into rows", "failed"],
        [[arm["id"], *(str(arm["true_empty"][n]) for n in names)] for arm in summary["arms"]],
    )


def _score_table(summary: Mapping[str, Any]) -> list[str]:
    arms = summary["arms"]
    rows = [
        [
            name,
            *("–" if arm[name] is None else f"{arm[name]:.3f}" for arm in arms),
            INVARIANT[name],
        ]
        for name in MEANS
    ]
    return table(["score", *(arm["id"] for arm in arms), "what it does not see"], rows)


def _date(run: Run) -> str:
    started = run.artifact.manifest.run.started
    try:
        return datetime.fromisoformat(started).astimezone(UTC).date().isoformat()
    except ValueError:
        return started
