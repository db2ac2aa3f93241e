"""A run of ``synth pairs``: schema, statistics, predicates, sample, pairs, artifact."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cypherforge.artifacts.run_folder import RunFolder
from cypherforge.artifacts.store import Artifact
from cypherforge.core.datasets import load_dataset
from cypherforge.core.errors import InputError, UsageError
from cypherforge.core.files import dumps
from cypherforge.core.progress import NullProgress, Progress
from cypherforge.cypher.names import quote_name
from cypherforge.graph.base import Graph
from cypherforge.graph.embedded import EmbeddedGraph
from cypherforge.graph.introspect import introspect
from cypherforge.graph.policy import ALL_VALUES, ValuePolicy
from cypherforge.graph.statistics import collect_statistics
from cypherforge.synth.effort import measure
from cypherforge.synth.generate import Generated, Generator, PairOptions
from cypherforge.synth.holdout import Holdout
from cypherforge.synth.pairs import KIND, VERSION
from cypherforge.synth.predicates import Predicates, find_predicates
from cypherforge.synth.sample import draw_sample
from cypherforge.synth.trees import Drawer

#: Named anew when its rows change, so that no run goes on from rows of another kind.
JOURNAL = "pairs-2"
#: Nodes of a label from which on its names are indexed on the embedded engine.
INDEXED_FROM = 100


def make_pairs(
    graph: Graph,
    name: str,
    folder: Path,
    options: PairOptions,
    *,
    policy: ValuePolicy = ALL_VALUES,
    holdout: Holdout | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Artifact:
    """Write the pairs of a graph to ``folder/pairs``; a finished run is returned as it is.

    Raises ``InputError`` where a graph gives nothing to ask, and what the graph and the run folder
    raise.
    """
    progress = progress or NullProgress()
    holdout = holdout or Holdout()
    remembered = {
        **options.to_json(),
        "graph": name,
        "fingerprint": graph.fingerprint(),
        "engine": graph.engine,
        "excluded": sorted(map(list, policy.excluded)),
        "holdout": [sorted(holdout.ways), len(holdout.questions), len(holdout.entities)],
    }
    with RunFolder(folder, remembered, fresh=fresh) as run:
        done = run.stage_done(KIND)
        if done is not None:
            return done
        predicates = read_predicates(graph, policy)
        if isinstance(graph, EmbeddedGraph):
            # The embedded engine has no index of its own; a server's are its owner's.
            for label, attribute in looked_up(predicates):
                graph.index(label, attribute)
        sample = draw_sample(graph, predicates, random.Random(f"{options.seed}/sample"), progress)
        drawer = Drawer(
            predicates,
            sample,
            shared_names(graph, predicates),
            holdout.blocks_value,
            options.values,
        )
        generator = Generator(graph, name, drawer, options, holdout, measure(graph, predicates))
        begun, cpu_begun = time.monotonic(), time.process_time()
        made = generator.run(run.journal(JOURNAL), progress)
        seconds, cpu_seconds = time.monotonic() - begun, time.process_time() - cpu_begun
        if not made.pairs:
            raise InputError(
                "no pair could be made: " + (_most(made.dropped) or "no family fits this graph"),
                where=graph.uri,
                hint="see what the graph holds with: cypherforge schema show GRAPH",
            )
        rows = sorted(made.pairs, key=lambda p: p["id"])
        with run.stage(KIND, KIND, VERSION, remembered, seed=options.seed) as out:
            out.summary = summary(made, predicates)
            # Drawing, running and checking, since the last interruption; without schema, statistics
            # and sample.
            out.usage = {"seconds": round(seconds, 1), "cpu_seconds": round(cpu_seconds, 1)}
            out.write_jsonl("pairs.jsonl", rows)
            out.write_parquet("pairs.parquet", [_flat(row) for row in rows])
            out.write_jsonl("predicates.jsonl", [predicates.to_json()])
            out.write_jsonl(
                "dropped.jsonl",
                [
                    {"reason": reason, "drafts": number, "example": made.examples.get(reason, "")}
                    for reason, number in sorted(made.dropped.items())
                ],
            )
        run.drop_journal(JOURNAL)
        return Artifact.open(run.path / KIND, KIND)


def read_predicates(graph: Graph, policy: ValuePolicy = ALL_VALUES) -> Predicates:
    """The predicates of a graph. Raises ``InputError`` for an empty graph."""
    schema = introspect(graph)
    if not schema.labels:
        raise InputError(
            "the graph holds no labelled node, so there is nothing to ask",
            where=graph.uri,
            hint="load data, or name another graph or database",
        )
    statistics = collect_statistics(graph, schema)
    return find_predicates(schema, statistics, policy)


def looked_up(predicates: Predicates) -> list[tuple[str, str]]:
    """Label and property of what entities are called by, where the label has many nodes.

    The embedded planner begins at whatever index is smallest, be it that of nine regions with
    thousands of places each, though the query names one person too.
    """
    found: dict[tuple[str, str], None] = {}
    for label in predicates.labels:
        if predicates.counts[label] < INDEXED_FROM:
            continue
        keys = [a for a in predicates.attributes[label] if a.role == "key" and a.unique]
        for attribute in (*predicates.names[label][:1], *keys[:1]):
            found[label, attribute.name] = None
    return list(found)


def shared_names(graph: Graph, predicates: Predicates) -> frozenset[tuple[str, str, Any]]:
    """Names that several nodes of a label share, so that they mean none of them."""
    found: set[tuple[str, str, Any]] = set()
    for label in predicates.labels:
        for attribute in predicates.names[label]:
            if attribute.unique:
                continue
            query = (
                f"MATCH (n:{quote_name(label)}) WHERE n.{quote_name(attribute.name)} IS NOT NULL "
                f"WITH n.{quote_name(attribute.name)} AS value, count(*) AS nodes "
                "WHERE nodes > 1 RETURN value"
            )
            rows = graph.run(query, timeout=120, limit=100_000).rows
            found.update((label, attribute.name, row[0]) for row in rows)
    return frozenset(found)


def read_holdout(path: Path | None, split: str, ways: Sequence[str]) -> Holdout:
    """What must not leak of a dataset. Raises ``InputError``, ``UsageError``."""
    if path is None:
        if split:
            raise UsageError("--exclude-split names a split of no dataset", hint="add --holdout")
        return Holdout()
    dataset = load_dataset(path)
    examples = dataset.split(split).examples if split else dataset.examples
    if not examples:
        raise UsageError(
            f"no example has the split {split!r}",
            where=str(path),
            hint=f"its splits are {', '.join(n or '(none)' for n in dataset.splits)}",
        )
    return Holdout.of(examples, ways)


def summary(made: Generated, predicates: Predicates) -> dict[str, Any]:
    """The figures people read."""
    pairs = made.pairs
    entities = Counter(e["node"] for p in pairs for e in p["entities"])
    return {
        "pairs": len(pairs),
        "drafts": made.drafts,
        "dropped": dict(sorted(made.dropped.items())),
        "by_relations": _counted(str(p["relations"]) for p in pairs),
        "by_family": _counted(p["family"] for p in pairs),
        "by_target": _counted(p["target"] for p in pairs),
        "skeletons": len({p["skeleton"] for p in pairs}),
        "shapes": len({dumps(p["shape"]) for p in pairs}),
        "entities": len(entities),
        "most_used_entity": max(entities.values(), default=0),
        "ran_dry": made.short,
        "predicates_dropped": [[d.what, d.reason] for d in predicates.dropped],
    }


def _counted(items: Any) -> dict[str, int]:
    return dict(sorted(Counter(items).items()))


def _most(dropped: Counter[str]) -> str:
    return dropped.most_common(1)[0][0] if dropped else ""


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A pair as a table row: what is nested as JSON text."""
    return {
        key: dumps(value) if isinstance(value, dict | list) else ("" if value is None else value)
        for key, value in row.items()
    }


def text_report(made: Artifact) -> str:
    """What a run made, for a terminal."""
    s = made.manifest.summary
    usage = made.manifest.run.usage
    lines = [
        f"{s['pairs']} verified pairs in {made.folder} ({made.digest[:19]})",
        f"  drawn and checked in {usage.get('seconds', 0)} s, {usage.get('cpu_seconds', 0)} s of CPU",
        f"  relations: {_pairs(s['by_relations'])}",
        f"  families:  {_pairs(s['by_family'])}",
        f"  about:     {_pairs(s['by_target'])}",
        f"  {s['skeletons']} skeletons, {s['shapes']} shapes, {s['entities']} entities, "
        f"none named in more than {s['most_used_entity']} pairs",
    ]
    if s["dropped"]:
        dropped = sorted(s["dropped"].items(), key=lambda item: (-item[1], item[0]))
        lines.append("  dropped drafts: " + "; ".join(f"{n} {why}" for why, n in dropped))
    if s["predicates_dropped"]:
        lines.append(
            "  not asked about: " + "; ".join(f"{w} ({why})" for w, why in s["predicates_dropped"])
        )
    if s["ran_dry"]:
        lines.append("  ran dry: " + "; ".join(f"{k} at {n}" for k, n in s["ran_dry"].items()))
    first = next(iter(made.read_jsonl("pairs.jsonl")))
    lines += [f"e.g. {first['question']}", f"     {first['cypher']}"]
    return "\n".join(lines)


def _pairs(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.items())
