"""Questions with their gold queries, whatever file they come in.

Known layouts, recognised by their columns: CypherBench (``nl_question``/``question``, ``gold_cypher``/``cypher``,
``graph``), Mind-the-Query (folders of JSON, automated and manual), Neo4j's Text2Cypher (2024: Parquet with
``database_reference_alias``; the older crowd-sourced CSV: ``database``), ZOGRASCOPE (``nl``, ``mr``), and any table
with a question and a Cypher column; other names are mapped by ``columns``.

What cannot be used is never dropped silently: :attr:`Dataset.problems` names file, row and column.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from cypherforge.core.errors import InputError, UsageError
from cypherforge.core.files import Problem, clean_text, digest, dumps, has_lone_surrogate
from cypherforge.core.tables import SUFFIXES, Row, read_table

__all__ = ["Dataset", "Example", "Problem", "assign_splits", "load_dataset", "parse_columns"]

_NAMES: dict[str, tuple[str, ...]] = {
    "question": ("question", "nl_question", "nl", "natural_language_question", "natural_language"),
    "cypher": ("cypher", "gold_cypher", "cypher_query", "gold_query", "mr", "gold", "query"),
    "id": ("unique_id", "id", "qid", "instance_id", "example_id", "question_id"),
    "graph": ("graph", "database", "database_reference_alias", "source_dataset", "db", "db_id"),
    "split": ("split",),
}
_SPLITS = {
    "train": "train",
    "training": "train",
    "dev": "dev",
    "val": "dev",
    "valid": "dev",
    "validation": "dev",
    "test": "test",
}


@dataclass(frozen=True, slots=True)
class Example:
    """One question with its gold query; ``meta`` holds the other columns, the file and the row."""

    id: str
    question: str
    cypher: str
    graph: str = ""
    split: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Dataset:
    """Examples in the order of their files, and what was wrong with other rows."""

    name: str
    examples: tuple[Example, ...]
    problems: tuple[Problem, ...] = ()

    def __len__(self) -> int:
        return len(self.examples)

    @cached_property
    def digest(self) -> str:
        """``sha256:...`` of ids, questions, golds, graphs and splits; not of paths or other columns."""
        rows = [[e.id, e.question, e.cypher, e.graph, e.split] for e in self.examples]
        return digest(dumps(rows))

    @property
    def graphs(self) -> tuple[str, ...]:
        """The names of the graphs that are asked, sorted."""
        return tuple(sorted({e.graph for e in self.examples}))

    @property
    def splits(self) -> dict[str, int]:
        """How many examples each split has (``""``: none assigned), sorted by name."""
        return dict(sorted(Counter(e.split for e in self.examples).items()))

    @property
    def set_aside(self) -> int:
        """How many rows (or whole files) could not be used."""
        return sum(not problem.kept for problem in self.problems)

    def split(self, name: str) -> Dataset:
        """The examples of one split, without the problems."""
        return Dataset(self.name, tuple(e for e in self.examples if e.split == name))

    def of_graph(self, name: str) -> Dataset:
        """The examples that ask one graph, without the problems."""
        return Dataset(self.name, tuple(e for e in self.examples if e.graph == name))

    def get(self, example_id: str) -> Example:
        """The example with this id. Raises UsageError where there is none."""
        try:
            return self._by_id[example_id]
        except KeyError:
            raise UsageError(f"no example {example_id!r} in dataset {self.name!r}") from None

    @cached_property
    def _by_id(self) -> dict[str, Example]:
        return {e.id: e for e in self.examples}


def load_dataset(
    path: Path | str,
    *,
    columns: Mapping[str, str] | None = None,
    graph: str | None = None,
    limit: int | None = None,
) -> Dataset:
    """Read a file, or a folder with everything below it.

    ``columns`` maps our names (question, cypher, id, graph, split) to the file's. ``graph`` names the graph where
    the rows don't, and picks its rows where they do. ``limit`` takes that many examples, from the files of a
    folder in turn, so that each kind has its part. Ids that repeat get ``#2``, ``#3`` ... in file order.

    Raises InputError: no such file, nothing in it, a column missing, no row that can be used.
    """
    path = Path(path)
    for key in columns or {}:
        if key not in _NAMES:
            known = ", ".join(_NAMES)
            raise UsageError(f"no such dataset column: {key!r}", hint=f"ours are {known}")
    if limit is not None and limit < 1:
        raise UsageError(f"limit must be at least 1, not {limit}")
    problems: list[Problem] = []
    files = _files(path)
    groups: list[list[Example]] = []
    for file in files:
        try:
            groups.append(_load_file(file, path, columns or {}, graph, problems))
        except _NotADataset as error:
            # In a folder schema files and notes lie beside the questions; alone, a file must be a dataset.
            if len(files) == 1:
                raise InputError(str(error), where=str(file), hint=error.way_out) from None
            problems.append(Problem(str(file), 0, "", str(error), kept=True))
    examples = [example for group in groups for example in group]
    _check_usable(path, examples, problems, columns or {})
    if graph is not None and any(e.graph for e in examples):
        picked = [[e for e in group if e.graph == graph] for group in groups]
        if not any(picked):
            names = ", ".join(sorted({e.graph for e in examples}))
            raise InputError(
                f"no question asks graph {graph!r}", where=str(path), hint=f"it has {names}"
            )
        groups = picked
    if limit is not None:
        groups = _in_turn(groups, limit)
    final = _unique_ids(e for group in groups for e in group)
    return Dataset(_name(path), tuple(final), tuple(problems))


def parse_columns(texts: Iterable[str]) -> dict[str, str]:
    """``OURS=THEIRS`` options, several in one text joined by commas. Raises UsageError."""
    found: dict[str, str] = {}
    names = "|".join(_NAMES)
    for text in texts:
        for part in re.split(rf",(?=(?:{names})=)", text):
            ours, equals, theirs = part.partition("=")
            if not equals or not theirs or ours not in _NAMES:
                raise UsageError(
                    f"not a column mapping: {part!r}",
                    hint=f"write OURS=THEIRS, ours being one of {', '.join(_NAMES)}",
                )
            found[ours] = theirs
    return found


def assign_splits(dataset: Dataset, key: Callable[[str], str], train_share: float = 0.7) -> Dataset:
    """Put every example that has no split into ``train`` or ``test`` by a hash of graph and ``key(gold)``.

    Golds with equal keys stay together, so a question cannot leak into the held-out part by another name; the
    same gold goes the same way in every run, whatever else the dataset holds.
    """

    def place(example: Example) -> Example:
        if example.split:
            return example
        text = clean_text(f"{example.graph}\0{key(example.cypher)}")
        number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        return replace(example, split="train" if number / 2**64 < train_share else "test")

    return replace(dataset, examples=tuple(place(e) for e in dataset.examples))


class _NotADataset(Exception):
    """The file holds no questions; ``way_out`` is for people."""

    def __init__(self, message: str, way_out: str) -> None:
        super().__init__(message)
        self.way_out = way_out


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise InputError("no such file or folder", where=str(path), hint="check the path")
    if not path.is_dir():
        return [path]
    found = sorted(
        p
        for p in path.rglob("*")
        if p.is_file()
        and p.name.lower().removesuffix(".gz").endswith(SUFFIXES)
        and not any(part.startswith(".") for part in p.relative_to(path).parts)
    )
    if not found:
        raise InputError(
            "no dataset file in this folder",
            where=str(path),
            hint=f"looked for {', '.join(SUFFIXES)}",
        )
    return found


def _name(path: Path) -> str:
    name = path.resolve().name
    if path.is_dir():
        return name
    stem = name.split(".")[0]
    return path.resolve().parent.name if stem.lower() in _SPLITS else stem


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")


def _columns(rows: list[Row], given: Mapping[str, str]) -> dict[str, str]:
    """Our column names to the file's. Raises _NotADataset, or InputError where ``given`` names none."""
    present = list(dict.fromkeys(str(name) for _, row in rows for name in row))
    plain: dict[str, str] = {}
    for name in present:
        plain.setdefault(_plain(name), name)
    found: dict[str, str] = {}
    for ours, names in _NAMES.items():
        if ours in given:
            if given[ours] not in present:
                raise _NotADataset(f"no column {given[ours]!r}", f"it has {', '.join(present)}")
            found[ours] = given[ours]
            continue
        match = next((plain[name] for name in names if name in plain), None)
        if match is not None:
            found[ours] = match
    missing = [ours for ours in ("question", "cypher") if ours not in found]
    if missing:
        raise _NotADataset(
            f"no {' and no '.join(missing)} column among {', '.join(present)}",
            f"say which one it is: --columns {missing[0]}=NAME",
        )
    return found


def _load_file(
    file: Path,
    root: Path,
    given: Mapping[str, str],
    graph: str | None,
    problems: list[Problem],
) -> list[Example]:
    noted: list[Problem] = []
    rows = read_table(file, noted)
    if rows:
        names = _columns(rows, given)
        problems += noted
    else:
        problems += noted
        return []
    relative = file.relative_to(root).as_posix() if root.is_dir() else file.name
    stem = file.name.split(".")[0]
    words = re.split(r"[^a-z]+", stem.lower())
    # "validation" within a name also means that people validated it.
    split = _SPLITS.get(words[0]) or next((w for w in words if w in ("train", "dev", "test")), "")
    zograscope = _plain(names["question"]) == "nl" and _plain(names["cypher"]) == "mr"
    if zograscope and "length" in words and root.is_dir():
        # The length partition cuts the same samples anew: together they would leak into each other.
        reason = "another partition of the same samples: load it by its own path"
        problems.append(Problem(str(file), 0, "", reason, kept=True))
        return []
    used = set(names.values())
    examples: list[Example] = []
    for number, row in rows:
        values: dict[str, str] = {}
        for ours in ("question", "cypher"):
            value = row.get(names[ours])
            if not isinstance(value, str) or not value.strip():
                reason = "is empty" if value is None or value == "" else "is not text"
                if isinstance(value, str):
                    reason = "is empty"
                problems.append(Problem(str(file), number, names[ours], reason))
                break
            if has_lone_surrogate(value):
                reason = "a lone surrogate, replaced by U+FFFD"
                problems.append(Problem(str(file), number, names[ours], reason, kept=True))
                value = clean_text(value)
            values[ours] = value
        else:
            meta = {_meta_name(k): v for k, v in row.items() if k not in used}
            own = _word(row, names.get("id"))
            examples.append(
                Example(
                    id=own or f"{relative}:{number}",
                    question=values["question"].strip(),
                    cypher=values["cypher"].strip(),
                    graph=_word(row, names.get("graph")) or graph or ("pole" if zograscope else ""),
                    split=_split_name(_word(row, names.get("split"))) or split,
                    meta={**meta, "file": relative, "row": number},
                )
            )
    return examples


def _word(row: Mapping[str, Any], column: str | None) -> str:
    value = row.get(column) if column is not None else None
    return "" if value is None else clean_text(str(value)).strip()


def _split_name(name: str) -> str:
    return _SPLITS.get(name.lower(), name)


def _meta_name(column: str) -> str:
    # Mind-the-Query explains its columns within their names: "logical [0/1]", "reason/observation [...]".
    short = re.sub(r"\s*\[.*\]$", "", column, flags=re.DOTALL)
    return "reason" if short.startswith("reason/observatio") else short


def _check_usable(
    path: Path, examples: list[Example], problems: list[Problem], columns: Mapping[str, str]
) -> None:
    if examples:
        return
    bad = [problem for problem in problems if not problem.kept]
    if bad:
        raise InputError(
            f"none of its {len(bad)} rows can be used; the first: {bad[0].reason}",
            where=f"{bad[0].file}, row {bad[0].row}",
            hint="mend the file, or map its columns: --columns question=NAME,cypher=NAME",
        )
    if problems:
        raise InputError(
            f"no file in it is a dataset; {Path(problems[0].file).name}: {problems[0].reason}",
            where=str(path),
            hint="map the columns: --columns question=NAME,cypher=NAME",
        )
    raise InputError("holds no questions", where=str(path), hint="name a file with rows in it")


def _in_turn(groups: list[list[Example]], limit: int) -> list[list[Example]]:
    taken = [0] * len(groups)
    left = limit
    while left and any(n < len(group) for n, group in zip(taken, groups, strict=True)):
        for index, group in enumerate(groups):
            if left and taken[index] < len(group):
                taken[index] += 1
                left -= 1
    return [group[:n] for n, group in zip(taken, groups, strict=True)]


def _unique_ids(examples: Iterable[Example]) -> list[Example]:
    seen: Counter[str] = Counter()
    taken: set[str] = set()
    result: list[Example] = []
    for example in examples:
        name = example.id
        while name in taken:
            seen[example.id] += 1
            name = f"{example.id}#{seen[example.id] + 1}"
        taken.add(name)
        result.append(example if name == example.id else replace(example, id=name))
    return result
