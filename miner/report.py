"""The summary that people read at the end of ``mine``."""

from collections.abc import Mapping
from typing import Any

from cypherforge.core.console import fit, format_table


def text_report(summary: Mapping[str, Any], next_command: str) -> str:
    """Render what ``Mined.summary`` holds; widths fit a terminal of 100 columns."""
    parts = [_questions(summary), _failures(summary["collect"]), _rules(summary), _set(summary)]
    parts.append(f"Bundle: {summary['bundle']}\nNext:   {next_command}")
    return "\n\n".join(parts)


def _questions(summary: Mapping[str, Any]) -> str:
    s, q = summary["stratify"], summary["questions"]
    coverage = ", ".join(
        f"{kind} {c['covered']}/{c['total']}" for kind, c in s["coverage"].items() if c["total"]
    )
    split = " (split here by normalised gold)" if q["split_here"] else ""
    bad = f", {q['bad_rows']} bad rows" if q["bad_rows"] else ""
    return "\n".join(
        (
            "Questions",
            f"  {q['train']} train, {q['heldout']} held out{split}{bad}",
            f"  {s['groups']} groups, {s['kept']} kept, {s['backfilled']} backfilled",
            *([f"  {s['unparsable']} unparsable"] if s["unparsable"] else []),
            f"  covered: {coverage}",
        )
    )


def _failures(c: Mapping[str, Any]) -> str:
    failed = sum(c["failures"].values())
    kinds = {"error": "execution error", "empty": "empty result", "different": "other rows"}
    drafted, correct, aside = c["drafted"], c["correct"], c["set_aside"]
    lines = [
        "Zero-shot drafts",
        f"  {drafted} drafted, {correct} correct, {failed} failed, {aside} set aside",
        "  " + ", ".join(f"{kinds[k]} {n}" for k, n in c["failures"].items()),
    ]
    if c["codes"]:
        ranked = sorted(c["codes"].items(), key=lambda item: (-item[1], item[0]))
        rows = [(code, str(count)) for code, count in ranked]
        lines += ["", _indent(format_table(["fault", "drafts"], rows))]
        lines.append(f"  {c['confirmed']} of {failed} confirmed by executing the repair")
    return "\n".join(lines)


def _rules(summary: Mapping[str, Any]) -> str:
    r = summary["rules"]
    lines = [
        "Rules",
        f"  {r['written']} written, {r['accepted']} general, {r['rejected']} rejected",
    ]
    for tier, rules in r["by_tier"].items():
        if not rules:
            continue
        rows = [
            (
                "*" if rule["chosen"] else "",
                fit(rule["title"], 40),
                str(rule["cites"]),
                str(rule["tried"]),
                f"+{rule['fixed']}",
                f"-{rule['broken']}",
                _points(rule["lift"]),
                rule["status"],
            )
            for rule in rules
        ]
        table = format_table(
            ["", f"{tier} rules", "cites", "tried", "fixed", "broke", "lift (95 %)", ""], rows
        )
        lines += ["", _indent(table)]
    return "\n".join(lines)


def _set(summary: Mapping[str, Any]) -> str:
    p = summary["prove"]
    lines = [
        "Proof on held-out questions",
        f"  without rules: {p['baseline_correct']} of {p['heldout']} correct",
    ]
    if p["set_correct"] is None:
        lines.append("  no rule pays: the bundle carries them with their evidence, and uses none")
    else:
        lines.append(
            f"  with the {len(p['chosen'])} chosen rules (*): {p['set_correct']} of {p['heldout']} "
            f"correct, {p['set_fixed']} fixed, {p['set_broken']} broken, {_points(p['set_lift'])}"
        )
    return "\n".join(lines)


def _points(lift: list[float]) -> str:
    mean, low, high = (100 * x for x in lift)
    return f"{mean:+.1f} ({low:+.1f} .. {high:+.1f})"


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
