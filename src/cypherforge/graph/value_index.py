"""The value index: from what a question says to the value that the graph stores.

It holds the distinct short texts of a graph's properties, found again whatever the case, accents,
quotes, dashes and blanks (:func:`normalise`), by parts, and by spelling that is nearly right: three-
letter pieces narrow the candidates, rapidfuzz ranks them. It is kept in a folder and updated
property by property; what ``--exclude`` and ``--no-values`` hold back is never read.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cypherforge.core.errors import InputError, QueryError, UsageError
from cypherforge.core.files import atomic_write, digest, dumps, loads, read_text
from cypherforge.cypher.names import quote_name
from cypherforge.graph.introspect import TIMEOUT
from cypherforge.graph.policy import ALL_VALUES, ValuePolicy
from cypherforge.graph.schema import Label, RelType, Schema
from cypherforge.graph.value_tables import Match, Place, Tables
from cypherforge.graph.value_text import squeeze

if TYPE_CHECKING:
    from cypherforge.graph.base import Graph

#: Longer texts are prose, not names: they are left out.
MAX_LENGTH = 120
#: Distinct values kept a property; one with more is marked as cut.
MAX_VALUES = 200_000
#: Fuzzy hits score at least this (0..100).
LEAST_SCORE = 70.0

_FORMAT = "cypherforge value index 1"
_WORDS = re.compile(r"\w+(?:'\w+)*")


@dataclass(frozen=True, slots=True)
class Hit:
    """A stored value of property ``name``, how it was found, and how near it is (0..100)."""

    owner: str
    name: str
    value: str
    match: Match
    score: float
    relationship: bool = False

    @property
    def place(self) -> str:
        """``Owner.property``."""
        return f"{self.owner}.{self.name}"


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch ``[start, end)`` of a question that is a stored value, and where it is stored."""

    start: int
    end: int
    text: str
    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """What an update changed, in values."""

    added: int = 0
    removed: int = 0
    unchanged: int = 0


class ValueIndex:
    """An index of values. Look-ups are thread-safe; updates take the lock."""

    def __init__(self, *, fingerprint: str = "", policy: ValuePolicy = ALL_VALUES) -> None:
        self.fingerprint = fingerprint
        self.policy = policy
        self._values: dict[Place, tuple[str, ...]] = {}
        self._cut: set[Place] = set()
        self._tables: Tables | None = None
        self._lock = threading.RLock()

    @classmethod
    def build(
        cls,
        graph: Graph,
        schema: Schema,
        *,
        policy: ValuePolicy = ALL_VALUES,
        max_length: int = MAX_LENGTH,
        max_values: int = MAX_VALUES,
    ) -> ValueIndex:
        """Read the values of a graph; see :meth:`update`."""
        index = cls(policy=policy)
        index.update(graph, schema, max_length=max_length, max_values=max_values)
        return index

    def update(
        self,
        graph: Graph,
        schema: Schema,
        *,
        max_length: int = MAX_LENGTH,
        max_values: int = MAX_VALUES,
    ) -> Update:
        """Bring the index up to date: nothing is read if the graph's fingerprint is unchanged.

        Properties that are gone, or that the policy now keeps back, leave the index. Only texts and
        lists of texts of at most ``max_length`` characters are taken, ``max_values`` a property.
        """
        fingerprint = graph.fingerprint()
        places = [
            (relationship, owner.name, item.name)
            for relationship, owners in ((False, schema.labels), (True, schema.types))
            for owner in _owners(owners)
            for item in owner.properties
            if any("STRING" in kind or kind == "LIST" for kind in item.types)
            and self.policy.allows(owner.name, item.name)
        ]
        with self._lock:
            if fingerprint == self.fingerprint and set(places) == set(self._values):
                return Update(unchanged=len(self))
            total = Update()
            for place in [known for known in self._values if known not in places]:
                total = _sum(total, self.replace(place[1], place[2], (), relationship=place[0]))
            for place in places:
                found, cut = _read(graph, place, max_length, max_values)
                total = _sum(total, self.replace(place[1], place[2], found, relationship=place[0]))
                self._values.setdefault(place, ())
                (self._cut.add if cut else self._cut.discard)(place)
            self.fingerprint = fingerprint
            return total

    def replace(
        self, owner: str, name: str, values: Iterable[str], *, relationship: bool = False
    ) -> Update:
        """Set the values of one property. Raises ``UsageError`` if the policy keeps them back."""
        new = tuple(sorted(set(values)))
        if new and not self.policy.allows(owner, name):
            raise UsageError(f"values of {owner}.{name} are excluded from the index")
        place = (relationship, owner, name)
        with self._lock:
            old = set(self._values.get(place, ()))
            if new:
                self._values[place] = new
            else:
                self._values.pop(place, None)
            added, kept = len(set(new) - old), len(old & set(new))
            if added or kept < len(old):
                self._tables = None
            return Update(added, len(old) - kept, kept)

    def __len__(self) -> int:
        return sum(len(values) for values in self._values.values())

    @property
    def places(self) -> tuple[str, ...]:
        """The properties in the index, as ``Owner.property``."""
        return tuple(sorted(f"{owner}.{name}" for _, owner, name in self._values))

    @property
    def cut(self) -> tuple[str, ...]:
        """The properties with more values than were read: a miss there proves nothing."""
        return tuple(sorted(f"{owner}.{name}" for _, owner, name in self._cut))

    def find(
        self,
        text: str,
        *,
        owner: str | None = None,
        name: str | None = None,
        limit: int = 5,
        least: float = LEAST_SCORE,
    ) -> list[Hit]:
        """Return the stored values nearest to a text, the best first.

        The text itself, then values equal once normalised, then values that hold it or that it
        holds as whole words, then values spelt alike (a score of at least ``least``). ``owner`` and
        ``name`` keep to a label or type and a property. Ties are broken by value and place.
        """
        wanted = squeeze(text)
        if not wanted or limit < 1:
            return []
        tables = self._ready()
        hits: list[Hit] = []
        for number, match, score in tables.nearest(wanted, least):
            for value, place in tables.stored[number]:
                if (owner is not None and place[1] != owner) or (
                    name is not None and place[2] != name
                ):
                    continue
                same = match == "normalised" and value == text
                hits.append(
                    Hit(
                        place[1],
                        place[2],
                        value,
                        "exact" if same else match,
                        100.0 if same else score,
                        place[0],
                    )
                )
        hits.sort(
            key=lambda hit: (_RANK[hit.match], -hit.score, len(hit.value), hit.value, hit.place)
        )
        return hits[:limit]

    def holds(self, owner: str, name: str, value: str) -> bool | None:
        """Return whether a property has exactly this value; None if the index cannot tell."""
        for relationship in (False, True):
            place = (relationship, owner, name)
            if place in self._values:
                if value in self._ready().exact.get(place, ()):
                    return True
                return None if place in self._cut or len(value) > MAX_LENGTH else False
        return None

    def few(self, owner: str, name: str, most: int) -> tuple[str, ...]:
        """Return all values of a property, sorted, if they are at most so many; else none."""
        for relationship in (False, True):
            place = (relationship, owner, name)
            values = self._values.get(place, ())
            if values and place not in self._cut:
                return values if len(values) <= most else ()
        return ()

    def mentions(self, question: str, *, longest: int = 8, limit: int = 5) -> list[Mention]:
        """Return the stored values that a question names, longest first, without overlap.

        Stretches of up to ``longest`` words are looked up as whole values, normalised; a single
        short lower-case word counts only in quotes, for ``in`` and ``the`` are values somewhere.
        """
        tables = self._ready()
        words = list(_WORDS.finditer(question))
        taken = [False] * len(words)
        found: list[Mention] = []
        for size in range(min(longest, len(words)), 0, -1):
            for first in range(len(words) - size + 1):
                if any(taken[first : first + size]):
                    continue
                start, end = words[first].start(), words[first + size - 1].end()
                text = question[start:end]
                number = tables.numbers.get(squeeze(text))
                if number is None or (size == 1 and _too_plain(question, start, end)):
                    continue
                hits = self.find(text, limit=limit, least=100.0)
                if hits:
                    taken[first : first + size] = [True] * size
                    found.append(Mention(start, end, text, tuple(hits)))
        return sorted(found, key=lambda item: item.start)

    # On disk

    def save(self, folder: Path) -> None:
        """Write the index; a crash leaves the old one."""
        with self._lock:
            body = [
                {
                    "relationship": place[0],
                    "owner": place[1],
                    "property": place[2],
                    "cut": place in self._cut,
                    "values": list(values),
                }
                for place, values in sorted(self._values.items())
            ]
            text = "".join(dumps(row) + "\n" for row in body)
            head = {
                "format": _FORMAT,
                "fingerprint": self.fingerprint,
                "excluded": sorted(map(list, self.policy.excluded)),
                "no_values": self.policy.no_values,
                "digest": digest(text),
            }
            atomic_write(folder / "values.jsonl", dumps(head) + "\n" + text)

    @classmethod
    def load(cls, folder: Path, *, policy: ValuePolicy = ALL_VALUES) -> ValueIndex:
        """Read an index; what ``policy`` keeps back is dropped at once.

        Raises ``InputError`` if there is none, or if it is damaged or of another format.
        """
        path = folder / "values.jsonl"
        try:
            first, _, text = read_text(path).partition("\n")
            head = loads(first)
            if head["format"] != _FORMAT:
                raise InputError(f"a value index of another format: {head['format']!r}")
            if head["digest"] != digest(text):
                raise InputError("the value index is damaged", hint="delete it and build it anew")
            index = cls(fingerprint=head["fingerprint"], policy=policy)
            for line in text.split("\n"):
                if not line:
                    continue
                row = loads(line)
                place = (bool(row["relationship"]), str(row["owner"]), str(row["property"]))
                if policy.allows(place[1], place[2]):
                    index._values[place] = tuple(row["values"])
                    if row["cut"]:
                        index._cut.add(place)
        except InputError as error:
            where = error.where or str(path)
            raise InputError(error.message, where=where, hint=error.hint) from error
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"not a value index: {error}", where=str(path)) from error
        return index

    def _ready(self) -> Tables:
        tables = self._tables
        if tables is None:
            with self._lock:
                tables = self._tables or Tables(self._values)
                self._tables = tables
        return tables


_RANK: dict[str, int] = {"exact": 0, "normalised": 1, "contains": 2, "fuzzy": 3}


def _too_plain(question: str, start: int, end: int) -> bool:
    """Return whether a lone word is too ordinary to be a value unless it stands in quotes."""
    word = question[start:end]
    quoted = question[start - 1 : start] in ("'", '"', "“", "‘", "«") and start > 0
    return not quoted and not any(char.isupper() or char.isdigit() for char in word)


def _owners(table: Mapping[str, Label] | Mapping[str, RelType]) -> Iterator[Label | RelType]:
    yield from table.values()


def _sum(a: Update, b: Update) -> Update:
    return Update(a.added + b.added, a.removed + b.removed, a.unchanged + b.unchanged)


def _read(graph: Graph, place: Place, max_length: int, max_values: int) -> tuple[list[str], bool]:
    """Return the distinct short texts of a property, and whether there were more than asked for."""
    relationship, owner, name = place
    match = f"()-[n:{quote_name(owner)}]->()" if relationship else f"(n:{quote_name(owner)})"
    dotted = f"n.{quote_name(name)}"
    query = f"MATCH {match} WHERE {dotted} IS NOT NULL RETURN DISTINCT {dotted} AS v"
    try:
        result = graph.run(query, timeout=TIMEOUT, limit=max_values)
    except QueryError as error:
        raise QueryError(
            f"the values of {owner}.{name} cannot be read: {error.message}",
            code=error.code,
            hint=f"leave them out with --exclude {owner}.{name}",
        ) from error
    found: set[str] = set()
    for (value,) in result.rows:
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, str) and 0 < len(item) <= max_length and squeeze(item):
                found.add(item)
    return sorted(found), result.truncated
