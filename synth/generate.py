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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cypherforge.artifacts.journal import Journal
from cypherforge.core.collector import settled
from cypherforge.core.errors import QueryError, QueryTimeout
from cypherforge.core.progress import NullProgress, Progress
from cypherforge.cypher import parse
from cypherforge.cypher.shapes import Shape, shape_of
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.compare import same_rows
from cypherforge.graph.values import to_json
from cypherforge.synth.effort import ROWS_GONE_OVER, Effort
from cypherforge.synth.families import FAMILIES, Builder, Workshop
from cypherforge.synth.holdout import Holdout, plain
from cypherforge.synth.pairs import Draft
from cypherforge.synth.trees import Drawer, Key

#: Shares of one, two, three and four relations (KG2Cypher, section 3.4).
SHARES: Mapping[int, float] = {1: 0.4, 2: 0.3, 3: 0.2, 4: 0.1}
ROWS = 1000
#: A net only: what is asked for is limited by an estimate, which no machine's load changes.
TIMEOUT = 60.0
_GIVE_UP = 20
#: Matches that one batch tries of a skeleton, and how many may fail alike before the first pair.
_REPEAT = 10
_IN_VAIN = 3
#: Batches between two looks away from what was made: some hundred pairs.
_SETTLED_AFTER = 100
#: Families that give a row, or several, for each node.
_ROW_A_NODE = frozenset(["list", "table", "group", "optional", "sort", "negation"])
_MANY_ROWS = f"more than {ROWS} rows"


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


@dataclass
class _Batch:
    """What one skeleton gives: pairs, and what was dropped.

    ``first`` has, by text, the first draft that ran as it is written, with its rows;
    ``parametrised`` what is wrong with the form that takes parameters, "" if nothing.
    """

    pairs: list[dict[str, Any]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    drafts: int = 0
    seen: set[str] = field(default_factory=set)
    last: Draft | None = None
    first: dict[str, tuple[Draft, Result]] = field(default_factory=dict)
    parametrised: dict[str, str] = field(default_factory=dict)

    def drop(self, reason: str, draft: Draft | None = None) -> None:
        """Count a reason, with the query of the first draft that it dropped."""
        self.dropped[reason] += 1
        if draft is not None and reason not in self.examples:
            self.examples[reason] = draft.written()


class Generator:
    """Makes the pairs of one graph."""

    def __init__(
        self,
        graph: Graph,
        name: str,
        drawer: Drawer,
        options: PairOptions,
        holdout: Holdout | None = None,
        effort: Effort | None = None,
        families: Mapping[str, tuple[Builder, float, tuple[int, ...]]] = FAMILIES,
    ) -> None:
        self.graph = graph
        self.name = name
        self.options = options
        self.holdout = holdout or Holdout()
        self.effort = effort
        self.shop = Workshop(drawer)
        self.families = {
            n: f for n, f in families.items() if not options.families or n in options.families
        }
        self.result = Generated()
        self._seen: set[str] = set()
        self._skeletons: Counter[str] = Counter()
        self._shapes: dict[str, Shape] = {}
        self._failures: Counter[tuple[str, int]] = Counter()
        self._made: Counter[tuple[str, int]] = Counter()
        shares = {
            k: v for k, v in SHARES.items() if not options.relations or k in options.relations
        }
        total = sum(self.families[f][1] * shares[k] for f, k in self._cells(shares))
        self._wanted = {
            (f, k): options.size * self.families[f][1] * shares[k] / total
            for f, k in self._cells(shares)
        }
        self._shares = shares

    def _cells(self, shares: Mapping[int, float]) -> list[tuple[str, int]]:
        """Families with the counts of relations that they can have."""
        return [
            (f, k) for f, (_, _, counts) in self.families.items() for k in shares if k in counts
        ]

    # ------------------------------------------------------------ the run

    def run(self, journal: Journal | None = None, progress: Progress | None = None) -> Generated:
        """Make pairs until there are enough, or every family has run dry."""
        progress = progress or NullProgress()
        progress.start("pairs", self.options.size)
        with settled() as settle:
            self._fill(journal, progress, settle)
        done = self.result
        for (family, count), number in sorted(self._failures.items()):
            if number >= _GIVE_UP:
                done.short[f"{family}, {count} relations"] = self._made[family, count]
        progress.finish(f"{len(done.pairs)} pairs, {sum(done.dropped.values())} drafts dropped")
        return done

    def _fill(
        self, journal: Journal | None, progress: Progress, settle: Callable[[], None]
    ) -> None:
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
            if done.batches % _SETTLED_AFTER == 0:
                settle()

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
        done.examples = {**row["examples"], **done.examples}
        for pair in row["pairs"]:
            self._seen.update(_marks_of(pair))
            self._skeletons[pair["skeleton"]] += 1
        for key, number in row["used"]:
            self.shop.drawer.used[tuple(key)] += number
        room = self.options.size - len(done.pairs)
        done.pairs += row["pairs"][:room]
        self._made[cell] += len(row["pairs"])
        self._failures[cell] = 0 if row["pairs"] else self._failures[cell] + 1

    def _batch(self, family: str, count: int) -> dict[str, Any]:
        number = self.result.batches
        drawer = self.shop.drawer
        drawer.pick = random.Random(f"{self.options.seed}/{number}/values")
        batch = _Batch()
        met: Counter[Key] = Counter()
        grown: Counter[Key] = Counter()
        # A family that gives few pairs gives them from several skeletons.
        for at in range(max(2, min(_REPEAT, round(self._wanted[family, count] / 8)))):
            # The same skeleton again, with other nodes.
            drawer.rng = random.Random(f"{self.options.seed}/{number}/form")
            drawer.fresh = met.copy()
            draft = self.families[family][0](self.shop, count)
            if at == 0:
                grown = drawer.fresh.copy()
            if draft is None:
                if at == 0:
                    batch.drop("no match of the skeleton in the sample")
                if at >= 2 and not batch.pairs:
                    break
                continue
            batch.drafts += 1
            for node in draft.grounded.nodes:
                met["node", node] += 1
            go_on = self._try(draft, batch)
            # Without a value every match of the skeleton gives the same query.
            if not go_on or "\x00" not in draft.text:
                break
        if batch.last is not None:
            drawer.fresh = Counter()
            drawer.note(batch.last.grounded)
            grown += drawer.fresh
            for key in [k for k in grown if k[0] == "kind"]:
                # A variant that seldom succeeds is tried the more.
                grown[key] += 3 * len(batch.pairs)
        drawer.fresh = Counter()
        return {
            "pairs": batch.pairs,
            "dropped": dict(batch.dropped),
            "examples": batch.examples,
            "drafts": batch.drafts,
            "used": [[list(key), n] for key, n in sorted((grown + met).items(), key=str)],
        }

    def _try(self, draft: Draft, batch: _Batch) -> bool:
        """Take a draft into the batch or drop it; False where another of the skeleton is no use."""
        too_much = self._too_much(draft, self.effort) if self.effort is not None else ""
        if too_much:
            batch.drop(too_much, draft)
            return False
        try:
            made = self._verify(draft, batch)
        except QueryTimeout:
            batch.drop(f"more than {TIMEOUT:g} s", draft)
            return False
        except QueryError as error:
            made = f"the engine refuses it: {type(error).__name__}"
        if isinstance(made, str):
            batch.drop(made, draft)
            # What three matches of a skeleton could not give, the others seldom give; what gives
            # too many rows takes the longest.
            limit = 1 if made == _MANY_ROWS else _IN_VAIN
            return bool(batch.pairs) or batch.dropped[made] < limit
        batch.seen.update(_marks_of(made))
        batch.pairs.append(made)
        batch.last = draft
        return True

    def _too_much(self, draft: Draft, effort: Effort) -> str:
        """Why a draft is not run at all, "" where it may be."""
        if draft.family == "path":
            # Any relationship may be gone along, so the greatest hub is soon met.
            over: float = effort.greatest_hub
        else:
            over = effort.rows(draft.reach or draft.grounded)
        if over > ROWS_GONE_OVER:
            return f"would go over more than {ROWS_GONE_OVER:,} rows"
        if draft.family in _ROW_A_NODE and effort.heads(draft.grounded) > 1.5 * ROWS:
            return f"would give more than {ROWS} rows"
        return ""

    # ------------------------------------------------------------ verification

    def _verify(self, draft: Draft, batch: _Batch) -> dict[str, Any] | str:
        """The pair's record, or why there is none."""
        written = draft.written()
        for mark in _marks(written, draft.question, draft.family):
            if mark in self._seen or mark in batch.seen:
                return "asked already"
        if self.holdout.ways:
            reason = self.holdout.reason(self.name, draft.question, parse(written))
            if reason:
                return reason
        kept = sum(p["skeleton"] == _mask(draft.text) for p in batch.pairs)
        if self._skeletons[_mask(draft.text)] + kept >= self.options.matches:
            return "enough of this skeleton"
        if draft.probe:
            keys = [row[-1] for row in self._run(*draft.parametrised(draft.probe)).rows]
            if len(keys) <= draft.keep:
                return "no more than are asked for: nothing to choose from"
            if _tied(keys, draft.keep):
                return "a tie decides the order"
        first = batch.first.get(draft.text)
        if first is None:
            # What is recorded is the text with its values: the first of a skeleton runs as such.
            result = self._run(written)
        else:
            if draft.text not in batch.parametrised:
                same = same_rows(
                    first[1], self._run(*first[0].parametrised()), ordered=draft.ordered
                )
                batch.parametrised[draft.text] = (
                    "" if same else "its text and its parametrised form differ"
                )
            if batch.parametrised[draft.text]:
                return batch.parametrised[draft.text]
            result = self._run(*draft.parametrised())
        reason = _unfit(result, draft)
        if reason:
            return reason
        batch.first.setdefault(draft.text, (draft, result))
        return self._record(draft, written, result)

    def _run(self, text: str, parameters: Mapping[str, Any] | None = None) -> Result:
        return self.graph.run(text, parameters, timeout=TIMEOUT, limit=ROWS)

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


def _mask(text: str) -> str:
    return "?".join(text.split("\x00")[::2])


def _unfit(result: Result, draft: Draft) -> str:
    """What is wrong with a result, empty if it may be recorded."""
    if not result.rows:
        return "no rows"
    if result.truncated:
        return _MANY_ROWS
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
