"""Accuracy against tokens written, as a picture, from the rows of ``runtime_table.py``.

    python benchmarks/plot_tokens.py ROWS [ROWS ...] --arms conf --out FIGURE.svg

``--arms`` keeps the arms whose name starts so (commas between several). A point is an arm's execution
accuracy over all its questions, its bar the 95 % bootstrap interval. Needs matplotlib, which the project
itself does not.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

from cypherforge.core.files import read_jsonl
from cypherforge.evaluation.statistics import mean_interval


def main() -> None:
    """Draw; see the module's text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="+", type=Path)
    parser.add_argument("--arms", default="")
    parser.add_argument("--title", default="Execution accuracy against tokens written")
    parser.add_argument("--out", type=Path, required=True, help="FILE.svg or FILE.png")
    options = parser.parse_args()
    starts = tuple(options.arms.split(","))
    newest: dict[tuple[str, str], dict[str, Any]] = {}
    for path in options.rows:
        for _, row in read_jsonl(path):
            if row["arm"].startswith(starts):
                newest[row["arm"], row["id"]] = row
    arms: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for (arm, _), row in newest.items():
        arms[arm].append(row)
    draw(arms, options.title, options.out)


def draw(arms: dict[str, list[dict[str, Any]]], title: str, out: Path) -> None:
    """One mark an arm; arms of one place share a label."""
    figure, axes = plt.subplots(figsize=(9, 5.5))
    places: dict[tuple[float, float], list[str]] = defaultdict(list)
    for arm, rows in arms.items():
        interval = mean_interval([row["ex"] for row in rows])
        tokens = sum(row["tokens"] for row in rows) / len(rows)
        key = (round(tokens), round(100 * interval.value, 1))
        if key not in places:
            low, high = (100 * abs(edge - interval.value) for edge in (interval.low, interval.high))
            axes.errorbar(*key, yerr=[[low], [high]], fmt="o", capsize=3, color="C0", alpha=0.6)
        places[key].append(arm)
    for (tokens, score), names in places.items():
        axes.annotate(
            "\n".join(names), (tokens, score), xytext=(6, 0), textcoords="offset points", fontsize=7.5,
            va="center",
        )  # fmt: skip
    counts = sorted({len(rows) for rows in arms.values()})
    axes.set_xlabel("tokens written a question")
    axes.set_ylabel("execution accuracy, % (bars: 95 % interval)")
    axes.set_title(f"{title}\n{' or '.join(map(str, counts))} questions an arm", fontsize=10)
    axes.set_ylim(0, 100)
    axes.margins(x=0.18)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(out, metadata={"Date": None} if out.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
