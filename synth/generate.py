"""The run: families and relation counts by quota, drafts verified on the graph, doubles dropped.

Work goes in batches. A batch draws one skeleton of one family and some matches of it; its chance
depends on the run's seed and its number alone, and what it gave is one line of the journal, so a
run that was killed goes on where it was and ends with the same pairs.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cypherforge.artifacts.journal import Journal
from cypherforge.core.errors import QueryError, QueryTimeout
from cypherforge.core.progress import NullProgress, Progress
from cypherforge.cypher import parse
from cypherforge.cypher.shapes import Shape, shape_of
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.compare import same_rows
from cypherforge.graph.values import to_json
from cypherforge.synth.families import FAMILIES, Builder, Workshop
from cypherforge.synth.holdout import Holdout, plain
from cypherforge.synth.pairs import Draft
from cypherforge.synth.trees import Drawer, Tree

#: Shares of one, two, three and four relations (KG2Cypher, section 3.4).
SHARES: Mapping[int, float] = {1: 0.4, 2: 0.3, 3: 0.2, 4: 0.1}
ROWS = 1000
TIMEOUT = 5.0
_GIVE_UP = 20


@dataclass(frozen=True, slots=True)
class PairOptions:
    """``families`` and ``relations`` empty: all. ``matches``: so many a skeleton at most."""

    size: int = 200
    families: tuple[str, ...] = ()
    relations: tuple[int, ...] = ()
    seed: int = 0
    values: bool = True
    matches: int = 50

    def to_json(self) -> dict[str, Any]:
        """What the run folder remembers."""
        return {
            "size": self.size,
            "families": list(self.families),
            "relations": list(self.relations),
            "seed": self.seed,
            "values": self.values,
            "matches": self.matches,
        }


@dataclass
class Generated:
    """Verified pairs in the order they were made, what was dropped and why, what ran dry.

    ``examples`` has one query for each reason to drop a draft.
    """

    pairs: list[dict[str, Any]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    drafts: int = 0
    batches: int = 0
    short: dict[str, int] = field(default_factory=dict)


class Generator:
    """Makes the pairs of one graph."""

    def __init__(
        self,
        graph: Graph,
        name: str,
        drawer: Drawer,
        options: PairOptions,
        holdout: Holdout | None = None,
        families: Mapping[str, tuple[Builder, float, tuple[int, ...]]] = FAMILIES,
    ) -> None:
        self.graph = graph
        self.name = name
        self.options = options
        self.holdout = holdout or Holdout()
        self.shop = Workshop(drawer)
        self.families = {
            n: f for n, f in families.items() if not options.families or n in options.families
        }
        self.result = Generated()
        self._seen: set[str] = set()
        self._skeletons: Counter[str] = Counter()
        self._shapes: dict[str, Shape] = {}
        self._slow: set[str] = set()
        self._failures: Counter[tuple[str, int]] = Counter()
        self._made: Counter[tuple[str, int]] = Counter()
        shares = {
            k: v for k, v in SHARES.items() if not options.relations or k in options.relations
        }
        self._wanted = {
            (family, count): weight * share
            for family, (_, weight, counts) in self.families.items()
            for count, share in shares.items()
            if count in counts
        }
        self._shares = shares
        self._repeat = max(2, min(10, options.size // 100))

    # ------------------------------------------------------------ the run

    def run(self, journal: Journal | None = None, progress: Progress | None = None) -> Generated:
        """Make pairs until there are enough, or every family has run dry."""
        progress = progress or NullProgress()
        progress.start("pairs", self.options.size)
        done = self.result
        while len(done.pairs) < self.options.size:
            cell = self._next_cell()
            if cell is None:
                break
            key = str(done.batches)
            known = journal.get(key) if journal is not None else None
            row = known or self._batch(*cell)
            if known is None and journal is not None:
                row = journal.append(key, row)
            before = len(done.pairs)
            self._take(cell, row)
            progress.advance(len(done.pairs) - before)
        for (family, count), number in sorted(self._failures.items()):
            if number >= _GIVE_UP:
                done.short[f"{family}, {count} relations"] = self._made[family, count]
        progress.finish(f"{len(done.pairs)} pairs, {sum(done.dropped.values())} drafts dropped")
        return done

    def _next_cell(self) -> tuple[str, int] | None:
        """The family and relation count that lags most; the counts of relations come first."""
        open_cells = [c for c in self._wanted if self._failures[c] < _GIVE_UP]
        if not open_cells:
            return None
        counts: Counter[int] = Counter()
        families: Counter[str] = Counter()
        for (family, count), number in self._made.items():
            counts[count] += number
            families[family] += number
        count = min(
            sorted({c[1] for c in open_cells}), key=lambda k: ((counts[k] + 1) / self._shares[k], k)
        )
        names = [c[0] for c in open_cells if c[1] == count]
        name = min(
            names,
            key=lambda n: (
                (self._made[n, count] + 1) / self.families[n][1]
                + families[n] / 20 / self.families[n][1],
                n,
            ),
        )
        return name, count

    def _take(self, cell: tuple[str, int], row: Mapping[str, Any]) -> None:
        done = self.result
        done.batches += 1
        done.drafts += row["drafts"]
        done.dropped.update(row["dropped"])
        self._slow |= set(row["slow"])
        done.examples = {**row["examples"], **done.examples}
        for pair in row["pairs"]:
            self._seen.update(_marks_of(pair))
            self._skeletons[pair["skeleton"]] += 1
        for used in row["used"]:
            self.shop.drawer.used[tuple(used)] += 1
        room = self.options.size - len(done.pairs)
        done.pairs += row["pairs"][:room]
        self._made[cell] += len(row["pairs"])
        self._failures[cell] = 0 if row["pairs"] else self._failures[cell] + 1

    def _batch(self, family: str, count: int) -> dict[str, Any]:
        number = self.result.batches
        drawer = self.shop.drawer
        drawer.pick = random.Random(f"{self.options.seed}/{number}/values")
        pairs: list[dict[str, Any]] = []
        dropped: Counter[str] = Counter()
        examples: dict[str, str] = {}
        too_slow: frozenset[str] = frozenset()
        drafts = 0
        seen: set[str] = set()
        used = drawer.used
        drawer.used = used.copy()
        for at in range(self._repeat):
            # The same skeleton again, with other nodes.
            drawer.rng = random.Random(f"{self.options.seed}/{number}/form")
            draft = self.families[family][0](self.shop, count)
            if draft is None:
                if at == 0:
                    dropped["no match of the skeleton in the sample"] += 1
                if at >= 2 and not pairs:
                    break
                continue
            drafts += 1
            slow = _costly(draft.grounded.tree)
            if slow & self._slow:
                dropped["goes over what was too slow"] += 1
                break
            for node in draft.grounded.nodes:
                drawer.used["node", node] += 1
            try:
                made = self._verify(draft, seen, literal=not pairs)
            except QueryTimeout:
                dropped[f"more than {TIMEOUT:g} s"] += 1
                examples.setdefault(f"more than {TIMEOUT:g} s", draft.written())
                too_slow |= slow
                break
            except QueryError as error:
                made = f"the engine refuses it: {type(error).__name__}"
            if isinstance(made, str):
                dropped[made] += 1
                examples.setdefault(made, draft.written())
            else:
                seen.update(_marks_of(made))
                pairs.append(made)
                last = draft
            if "\x00" not in draft.text:
                # Without a value every match of the skeleton gives the same query.
                break
        grown = drawer.used - used
        drawer.used = used
        if pairs:
            drawer.used, kept = used.copy(), used
            drawer.note(last.grounded)
            grown += drawer.used - kept
            drawer.used = kept
        return {
            "pairs": pairs,
            "dropped": dict(dropped),
            "examples": examples,
            "slow": sorted(too_slow),
            "drafts": drafts,
            "used": [list(key) for key in sorted(grown.elements(), key=str)],
        }

    # ------------------------------------------------------------ verification

    def _verify(self, draft: Draft, seen: set[str], literal: bool) -> dict[str, Any] | str:
        """The pair's record, or why there is none."""
        written = draft.written()
        for mark in _marks(written, draft.question, draft.family):
            if mark in self._seen or mark in seen:
                return "asked already"
        if self.holdout.ways:
            reason = self.holdout.reason(self.name, draft.question, parse(written))
            if reason:
                return reason
        skeleton = draft.text
        if self._skeletons[_mask(skeleton)] + len(seen) // 3 >= self.options.matches:
            return "enough of this skeleton"
        text, parameters = draft.parametrised()
        result = self.graph.run(text, parameters, timeout=TIMEOUT, limit=ROWS)
        reason = _unfit(result, draft)
        if reason:
            return reason
        if literal and text != written:
            # What is recorded is the text with its values: the first of a skeleton runs as such.
            other = self.graph.run(written, timeout=TIMEOUT, limit=ROWS)
            if same_rows(result, other, ordered=draft.ordered) is not True:
                return "its text and its parametrised form differ"
        if draft.probe:
            probe, parameters = draft.parametrised(draft.probe)
            keys = [
                row[-1]
                for row in self.graph.run(probe, parameters, timeout=TIMEOUT, limit=ROWS).rows
            ]
            if len(keys) <= draft.keep:
                return "no more than are asked for: nothing to choose from"
            if _tied(keys, draft.keep):
                return "a tie decides the order"
        return self._record(draft, written, result)

    def _shape(self, draft: Draft, written: str) -> Shape:
        """The shape, which values do not change."""
        if draft.text not in self._shapes:
            self._shapes[draft.text] = shape_of(written)
        return self._shapes[draft.text]

    def _record(self, draft: Draft, written: str, result: Result) -> dict[str, Any]:
        grounded = draft.grounded
        tree = grounded.tree
        shape = self._shape(draft, written)
        entities = []
        literals = []
        for each in (grounded, *draft.others):
            for c in each.conditions:
                row = {
                    "owner": c.attribute.owner,
                    "property": c.attribute.name,
                    "value": to_json(c.value),
                }
                if c.entity and c.node is not None:
                    entities.append({**row, "node": each.nodes[c.node]})
                else:
                    literals.append({**row, "op": c.op})
        return {
            "id": f"{self.name}-{hashlib.sha256(written.encode()).hexdigest()[:12]}",
            "graph": self.name,
            "question": draft.question,
            "cypher": written,
            "family": draft.family,
            "shape": {
                "match": shape.match,
                "returns": shape.returns,
                "operators": sorted(shape.operators),
            },
            "target": tree.labels[0],
            "relations": draft.relations,
            "skeleton": _mask(draft.text),
            "analysed": draft.analysed,
            "naive": draft.naive,
            "paraphrases": list(draft.paraphrases),
            "search": draft.search,
            "entities": entities,
            "literals": literals,
            "ordered": draft.ordered,
            "result": result.to_json() if self.options.values else {"rows": len(result.rows)},
            "scores": None,
            "status": "verified",
            "comments": [],
            "split": "",
        }


def _marks(cypher: str, question: str, family: str) -> tuple[str, str, str]:
    """What two pairs must not share: the query, the question, its words in any order."""
    said = plain(question)
    return f"c {cypher}", f"q {said}", f"b {family} {' '.join(sorted(said.split()))}"


def _marks_of(pair: Mapping[str, Any]) -> tuple[str, str, str]:
    return _marks(pair["cypher"], pair["question"], pair["family"])


def _costly(tree: Tree) -> frozenset[str]:
    """What may make a tree slow: going back over the relation one came by (a hub meets itself).

    A tree without such a place stands for itself.
    """
    found = set()
    for hop in tree.hops:
        for other in tree.hops:
            if other.relation == hop.relation and (
                (other.parent == hop.child and other.forward != hop.forward)
                or (
                    other is not hop and other.parent == hop.parent and other.forward == hop.forward
                )
            ):
                r = hop.relation
                found.add(f"{r.start} {r.type} {r.end} {hop.forward}")
    return frozenset(found) or frozenset({tree.key})


def _mask(text: str) -> str:
    return "?".join(text.split("\x00")[::2])


def _unfit(result: Result, draft: Draft) -> str:
    """What is wrong with a result, empty if it may be recorded."""
    if not result.rows:
        return "no rows"
    if result.truncated:
        return f"more than {ROWS} rows"
    cells = [cell for row in result.rows for cell in row]
    empty: tuple[Any, ...] = (None,) if draft.falsy else (None, 0, [])
    if all(cell in empty for cell in cells):
        return "only nulls and zeros"
    if any(all(row[i] is None for row in result.rows) for i in range(len(result.columns))):
        return "a column of nulls"
    if draft.distinct_rows and len(set(map(repr, result.rows))) < len(result.rows):
        return "equal rows: who is meant twice?"
    return draft.check(result)


def _tied(keys: Sequence[Any], keep: int) -> bool:
    if any(key is None for key in keys):
        return True
    if keep:
        # The last that is shown and the first that is not; within what is shown order counts too.
        keys = keys[: keep + 1]
    return any(a == b for a, b in itertools.pairwise(keys))
