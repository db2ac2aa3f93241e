"""Which groups of a train set do synthesised pairs cover? Prints the share, and what is missing.

    python benchmarks/pair_coverage.py TRAIN PAIRS [PAIRS ...]
    python benchmarks/pair_coverage.py --make FOLDER

TRAIN is a dataset with golds; PAIRS are files of pairs (``pairs.jsonl``). Groups are those of
``stratify``: MATCH shape, RETURN kind, operators. ``--make`` writes a made-up graph of clubs and
players that has what few graphs have at once: lists, dates, numbers, intervals with open ends.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from pathlib import Path

from neo4j.time import Date

from cypherforge.core.datasets import load_dataset
from cypherforge.graph.neutral import NodeRow, RelationshipRow, write_neutral
from cypherforge.miner.stratify import UNPARSABLE, stratify


def main() -> int:
    """Compare, or make the graph."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train", type=Path, nargs="?")
    parser.add_argument("pairs", type=Path, nargs="*")
    parser.add_argument("--make", type=Path, help="write the made-up graph there and stop")
    options = parser.parse_args()
    if options.make:
        make_graph(options.make)
        return 0
    wanted = groups([options.train])
    found = groups(options.pairs)
    wanted.pop(UNPARSABLE, None)
    missing = {g: n for g, n in wanted.items() if g not in found}
    share = 1 - len(missing) / len(wanted)
    asked = 1 - sum(missing.values()) / sum(wanted.values())
    print(f"{len(wanted) - len(missing)} of {len(wanted)} groups covered: {share:.1%}")
    print(f"they hold {asked:.1%} of the {sum(wanted.values())} questions")
    print(f"the pairs have {len(found)} groups")
    for group, number in sorted(missing.items(), key=lambda item: -item[1]):
        print(f"  missing ({number}): {group}")
    return 0 if share >= 0.95 else 1


def groups(paths: list[Path]) -> Counter[str]:
    """How many examples of these files each group has."""
    counted: Counter[str] = Counter()
    for path in paths:
        counted.update(stratify(load_dataset(path).examples).group_sizes)
    return counted


def make_graph(folder: Path) -> None:
    """Clubs, players, awards, countries: 330 nodes, the same each time."""
    rng = random.Random(7)
    folder.mkdir(parents=True, exist_ok=True)
    countries = ["Norland", "Sudland", "Estland", "Westland", "Midland"]
    awards = ["Golden Boot", "Silver Glove", "Fair Play", "Best Newcomer", "Top Scorer"]
    surnames = "Alder Birch Cole Dunn Early Frost Gale Hurst Ives Jory Kent Lowe".split()
    given = "Ada Ben Cleo Dan Ella Finn Gwen Hugo Iris Jack Kim Leo Maya Ned Olga Pia".split()
    nodes = [NodeRow(i, ("Country",), {"name": n}) for i, n in enumerate(countries)]
    nodes += [NodeRow(10 + i, ("Award",), {"name": n}) for i, n in enumerate(awards)]
    links: list[RelationshipRow] = []

    def link(kind: str, start: int, end: int, **properties: object) -> None:
        links.append(RelationshipRow(len(links), kind, start, end, properties))

    for i in range(60):
        owners = rng.sample([f"{g} {s}" for g in given for s in surnames], rng.randint(1, 2))
        nodes.append(
            NodeRow(
                100 + i,
                ("Club",),
                {
                    "name": f"FC {surnames[i % 12]}ton {i}",
                    "founded_year": 1880 + rng.randrange(120),
                    "owners": owners,
                },
            )
        )
        link("basedIn", 100 + i, rng.randrange(5))
    for i in range(260):
        born = Date(1950 + rng.randrange(55), 1 + rng.randrange(12), 1 + rng.randrange(28))
        nodes.append(
            NodeRow(
                1000 + i,
                ("Player",),
                {
                    "name": f"{given[i % 16]} {surnames[i % 12]} {i}",
                    "date_of_birth": born,
                    "height_cm": 160 + rng.randrange(40),
                    "nicknames": rng.sample(
                        ["Flash", "Rock", "Kid", "Ace", "Wall", "Fox"], rng.randint(1, 3)
                    ),
                },
            )
        )
        for _ in range(rng.randint(1, 4)):
            start = 1990 + rng.randrange(25)
            dates: dict[str, object] = {"start_year": start}
            if rng.random() < 0.7:
                dates["end_year"] = start + rng.randrange(6)
            link("playsFor", 1000 + i, 100 + rng.randrange(60), **dates)
        link("citizenOf", 1000 + i, rng.randrange(5))
        if rng.random() < 0.4:
            link("receivesAward", 1000 + i, 10 + rng.randrange(5))
    write_neutral(folder, nodes, links)


if __name__ == "__main__":
    sys.exit(main())
