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
    """One mark an arm; arms that wrote equally much stand side by side."""
    figure, axes = plt.subplots(figsize=(10, 5.5))
    beside: dict[int, int] = defaultdict(int)
    scores = {arm: mean_interval([row["ex"] for row in rows]) for arm, rows in arms.items()}
    for number, arm in enumerate(sorted(arms, key=lambda name: (-scores[name].value, name))):
        interval, rows = scores[arm], arms[arm]
        tokens = sum(row["tokens"] for row in rows) / len(rows)
        shift = 4 * beside[round(tokens)]
        beside[round(tokens)] += 1
        value = 100 * interval.value
        axes.errorbar(
            tokens + shift,
            value,
            yerr=[[value - 100 * interval.low], [100 * interval.high - value]],
            fmt="os^Dv"[number % 5],
            capsize=2,
            color=plt.get_cmap("tab20")(number % 20),
            label=f"{value:.0f}  {arm}",
        )
    counts = sorted({len(rows) for rows in arms.values()})
    axes.set_xlabel("tokens written a question (equal ones are drawn side by side)")
    axes.set_ylabel("execution accuracy, % (bars: 95 % interval)")
    axes.set_title(f"{title}\n{' or '.join(map(str, counts))} questions an arm", fontsize=10)
    axes.set_ylim(0, 100)
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(out, metadata={"Date": None} if out.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
