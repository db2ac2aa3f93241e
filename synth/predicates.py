"""Which statements of a graph are worth asking about (KG2Cypher, section 3.3).

A predicate is a pattern that was observed: a relation to another node, or a property. Rules drop
what nobody asks for: metadata, coordinates, media addresses, account names of other sites, system
fields, blobs. Every drop has its reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cypherforge.graph.policy import ALL_VALUES, ValuePolicy
from cypherforge.graph.schema import Label, Property, RelType, Schema
from cypherforge.graph.statistics import PropertyStatistics, Statistics
from cypherforge.synth.words import noun, singular, words

Role = Literal[
    "name", "key", "category", "text", "number", "year", "date", "datetime", "duration", "boolean",
    "list",
]  # fmt: skip
Kind = Literal["node", "relationship"]

_TYPES: dict[str, Role] = {
    "STRING": "text",
    "INTEGER": "number",
    "FLOAT": "number",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "DATE_TIME": "datetime",
    "LOCAL_DATE_TIME": "datetime",
    "DURATION": "duration",
    "LIST<STRING>": "list",
}
_NAMES = (
    "name", "title", "fullname", "full_name", "label", "displayname", "display_name", "caption",
)  # fmt: skip
_IDS = re.compile(r"(?:^|_|(?<=[a-z]))(?:id|Id|ID|key|uuid|guid|code|number|no)$|^id$|^ID$")
_DROPPED = (
    ("metadata", re.compile(r"^_|^(?:created|updated|modified|inserted|loaded|imported)_?(?:at|on|by|date|time)?$"
                            r"|^(?:version|checksum|hash|etag|revision|batch_?id|source_?file)$", re.IGNORECASE)),
    ("coordinates", re.compile(r"^(?:lat|lon|lng|long|latitude|longitude|coordinates?|geo\w*|point)$"
                               r"|_(?:lat|lon|lng)$", re.IGNORECASE)),
    ("media address", re.compile(r"(?:^|_)(?:url|uri|href|link|image|img|thumbnail|poster|photo|picture|logo"
                                 r"|icon|avatar|video|trailer|website|homepage|wiki(?:pedia|data)?)(?:_?url|s)?$"
                                 r"|[a-z](?:Url|URL|Uri|Image|Thumbnail|Poster|Photo|Logo)$", re.IGNORECASE)),
    ("account on another site", re.compile(r"twitter|facebook|instagram|tiktok|youtube|linkedin|snapchat"
                                           r"|^(?:imdb|tmdb|spotify|discogs|wikidata)_?(?:id|url)?$", re.IGNORECASE)),
    ("embedding", re.compile(r"embedding|^vector$|_vec$", re.IGNORECASE)),
)  # fmt: skip
_SYSTEM_LABEL = re.compile(
    r"^_|^(?:Bloom|Migration|Neo4jMigration|SchemaMeta|System)", re.IGNORECASE
)
LONG = 120
_UNITS = frozenset("cm mm km kg mg ml usd eur".split())
#: Moments that are called by a participle or a preposition: `born`, `since`.
_MOMENTS = {
    "born": "birth", "died": "death", "founded": "founding", "established": "founding",
    "released": "release", "published": "publication", "opened": "opening", "closed": "closing",
    "built": "construction", "started": "start", "ended": "end", "joined": "joining",
    "hired": "hiring", "signed": "signing", "issued": "issue", "ordered": "order",
    "since": "start", "from": "start", "until": "end", "till": "end", "to": "end",
}  # fmt: skip
_MOMENT_ROLES = {"year": "year", "date": "date", "datetime": "time"}


@dataclass(frozen=True, slots=True)
class Attribute:
    """A property that may be asked for: ``role`` says how, ``word`` is its name in English."""

    kind: Kind
    owner: str
    name: str
    type: str
    role: Role
    coverage: float
    count: int
    distinct: int | None = None
    low: Any = None
    high: Any = None

    @property
    def unique(self) -> bool:
        """Whether each value stands on one node only, and every node has one."""
        return self.distinct is not None and self.distinct == self.count and self.coverage > 0.999

    @property
    def complete(self) -> bool:
        """Whether every node or relationship has it."""
        return self.coverage > 0.999

    @property
    def word(self) -> str:
        """The property in English; a leading repetition of the owner is kept, as names have it."""
        said = words(self.name)
        head, _, last = said.rpartition(" ")
        if said.lower() in _MOMENTS and self.role in _MOMENT_ROLES:
            return f"{_MOMENTS[said.lower()]} {_MOMENT_ROLES[self.role]}"
        if self.role == "boolean":
            first, _, rest = said.partition(" ")
            if rest and first.lower() in ("is", "was"):
                return f"{rest} flag"
            return f"{first}-{rest} flag" if rest and first.lower() in ("has", "can") else said
        if self.role == "number" and self.type == "INTEGER" and " of " not in said:
            things = said.removeprefix("number ")
            if singular(things) != things and last != "IDs":
                return f"number of {things}"
        return f"{head} in {last}" if head and last in _UNITS else said

    @property
    def sharp(self) -> bool:
        """Whether a value of it, a text, fits hardly more than one node."""
        many = self.distinct is not None and 2 * self.distinct >= self.count
        return many and self.type == "STRING"

    @property
    def few(self) -> bool:
        """Whether its values repeat so much that grouping by them says something."""
        return (
            self.distinct is not None
            and 2 <= self.distinct <= 60
            and self.count >= 3 * self.distinct
        )


@dataclass(frozen=True, slots=True)
class Relation:
    """An endpoint pair of a type that holds relationships, and how many."""

    start: str
    type: str
    end: str
    count: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """A predicate that is not asked about, and why."""

    what: str
    reason: str


@dataclass(frozen=True)
class Predicates:
    """What may be asked: labels with their attributes, relations, relationship attributes.

    ``names`` gives, per label, the attributes by which its nodes are called in an answer;
    ``merged`` the types whose objects have several labels under one identifier.
    """

    counts: Mapping[str, int]
    attributes: Mapping[str, tuple[Attribute, ...]]
    rel_attributes: Mapping[str, tuple[Attribute, ...]]
    relations: tuple[Relation, ...]
    names: Mapping[str, tuple[Attribute, ...]]
    dropped: tuple[Dropped, ...] = ()
    merged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that can be asked about, sorted."""
        return tuple(sorted(self.counts))

    def attribute(self, label: str, name: str) -> Attribute | None:
        """The attribute of a label by its name."""
        return next((a for a in self.attributes.get(label, ()) if a.name == name), None)

    def relations_of(self, label: str) -> tuple[tuple[Relation, bool], ...]:
        """The relations that touch a label; True where it is the start."""
        found = []
        for relation in self.relations:
            if relation.start == label:
                found.append((relation, True))
            if relation.end == label:
                found.append((relation, False))
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        """What a person wants to check: predicates kept, merged and dropped."""
        return {
            "labels": dict(sorted(self.counts.items())),
            "attributes": {
                owner: {a.name: a.role for a in items}
                for owner, items in sorted({**self.attributes, **self.rel_attributes}.items())
                if items
            },
            "relations": [[r.start, r.type, r.end, r.count] for r in self.relations],
            "merged": {name: list(ends) for name, ends in sorted(self.merged.items())},
            "dropped": [[d.what, d.reason] for d in self.dropped],
        }


def find_predicates(
    schema: Schema, statistics: Statistics, policy: ValuePolicy = ALL_VALUES
) -> Predicates:
    """Choose the predicates of a graph; a policy's excluded properties are dropped as such."""
    dropped: list[Dropped] = []
    counts: dict[str, int] = {}
    attributes: dict[str, tuple[Attribute, ...]] = {}
    for label in schema.labels.values():
        total = statistics.labels.get(label.name, label.count or 0)
        if _SYSTEM_LABEL.match(label.name):
            dropped.append(Dropped(label.name, "system label"))
        elif not total:
            dropped.append(Dropped(label.name, "no node has it"))
        else:
            counts[label.name] = total
            attributes[label.name] = _attributes("node", label, statistics, policy, dropped)
    relations = []
    for pattern in schema.patterns:
        known = statistics.patterns.get((pattern.start, pattern.type, pattern.end))
        number = pattern.count if known is None else known
        what = f"({pattern.start})-[{pattern.type}]->({pattern.end})"
        if pattern.start not in counts or pattern.end not in counts:
            dropped.append(Dropped(what, "an end has no label, or a system label"))
        elif number == 0:
            dropped.append(Dropped(what, "no relationship has it"))
        else:
            relations.append(Relation(pattern.start, pattern.type, pattern.end, number or 1))
    used = {r.type for r in relations}
    rel_attributes = {
        rel.name: _attributes("relationship", rel, statistics, policy, dropped)
        for rel in schema.types.values()
        if rel.name in used
    }
    merged = {}
    for name in sorted(used):
        ends = tuple(sorted({r.end for r in relations if r.type == name}))
        if len(ends) > 1:
            merged[name] = ends
    names = {}
    for label_name, items in attributes.items():
        names[label_name] = _naming(label_name, items)
        if not names[label_name]:
            dropped.append(Dropped(label_name, "no property to name its nodes by: only counted"))
    return Predicates(
        counts,
        attributes,
        rel_attributes,
        tuple(sorted(relations, key=lambda r: (r.start, r.type, r.end))),
        names,
        tuple(dropped),
        merged,
    )


def _attributes(
    kind: Kind,
    owner: Label | RelType,
    statistics: Statistics,
    policy: ValuePolicy,
    dropped: list[Dropped],
) -> tuple[Attribute, ...]:
    kept = []
    for item in owner.properties:
        numbers = statistics.properties.get((kind, owner.name, item.name))
        reason = _reason_to_drop(owner.name, item, numbers, policy)
        if reason:
            dropped.append(Dropped(f"{owner.name}.{item.name}", reason))
            continue
        coverage = numbers.coverage if numbers else (item.coverage or 0.0)
        role = _role(item, numbers)
        kept.append(
            Attribute(
                kind,
                owner.name,
                item.name,
                item.type,
                role,
                coverage,
                numbers.count if numbers else 0,
                numbers.distinct if numbers else item.distinct,
                numbers.low if numbers else item.low,
                numbers.high if numbers else item.high,
            )
        )
    return tuple(kept)


def _reason_to_drop(
    owner: str, item: Property, numbers: PropertyStatistics | None, policy: ValuePolicy
) -> str:
    if (owner, item.name) in policy.excluded or ("*", item.name) in policy.excluded:
        return "excluded"
    if (owner, "*") in policy.excluded:
        return "excluded"
    for reason, pattern in _DROPPED:
        if pattern.search(item.name):
            return reason
    if item.type == "POINT":
        return "coordinates"
    if item.type not in _TYPES:
        return f"type {item.type}"
    if numbers is not None and numbers.count == 0:
        return "no value"
    texts = [v for v in item.values if isinstance(v, str)]
    if texts and all(re.match(r"(?:https?|ftp)://", v) for v in texts):
        return "media address"
    if texts and min(map(len, texts)) > LONG:
        return "long text"
    if texts and all(v.lstrip()[:1] in ("{", "[") and v.rstrip()[-1:] in ("}", "]") for v in texts):
        return "a blob of JSON"
    return ""


def _role(item: Property, numbers: PropertyStatistics | None) -> Role:
    role = _TYPES[item.type]
    if role == "number":
        low, high = (numbers.low, numbers.high) if numbers else (None, None)
        spoken = words(item.name).split(" ")
        of_time = spoken[-1] == "year" or " ".join(spoken).lower() in _MOMENTS
        if item.type == "INTEGER" and of_time and _between(low, high, 1000, 2200):
            return "year"
        if _IDS.search(item.name) and numbers and numbers.distinct:
            if numbers.distinct >= 0.5 * numbers.count and "ID" in spoken or spoken[-1] == "key":
                return "key"
        return "number"
    if role == "text" and numbers and numbers.distinct:
        if item.name.lower() in _NAMES:
            return "name"
        if _IDS.search(item.name) and numbers.distinct >= 0.9 * numbers.count:
            return "key"
        if numbers.distinct <= 60 and numbers.count >= 2 * numbers.distinct:
            return "category"
    return role


def _between(low: Any, high: Any, least: int, most: int) -> bool:
    return isinstance(low, int) and isinstance(high, int) and least <= low and high <= most


def _naming(label: str, items: Iterable[Attribute]) -> tuple[Attribute, ...]:
    """The attributes that say which node is meant: a name, a person's two names, else a key."""
    pool = [a for a in items if a.coverage > 0.9]
    by_name = {a.name.lower().replace("_", ""): a for a in pool}
    for wanted in ("name", "title", "fullname", "displayname", "label", "caption"):
        if wanted in by_name and by_name[wanted].type == "STRING":
            return (by_name[wanted],)
    own = noun(label).lower()
    for attribute in pool:
        word = attribute.word.lower()
        if attribute.type == "STRING" and word in (own, f"{own} name", f"{own} title"):
            return (attribute,)
    named = [
        a for a in pool
        if a.type == "STRING" and a.word.split(" ")[-1] in ("name", "title") and a.role != "category"
        and not a.word.startswith(("first", "last", "short", "nick", "middle"))
    ]  # fmt: skip
    if named:
        return (named[0],)
    if "firstname" in by_name and "lastname" in by_name:
        return (by_name["firstname"], by_name["lastname"])
    for wanted in ("description", "address", "code", "email", "number"):
        if wanted in by_name and by_name[wanted].unique:
            return (by_name[wanted],)
    keys = [a for a in pool if a.unique and a.type in ("STRING", "INTEGER")]
    keys.sort(key=lambda a: (a.role != "key", a.type != "STRING", len(a.name), a.name))
    if keys:
        return (keys[0],)
    texts = [
        a
        for a in pool
        if a.type == "STRING" and a.role != "category" and a.distinct and a.distinct > 1
    ]
    texts.sort(key=lambda a: (-(a.distinct or 0), a.name))
    return (texts[0],) if texts else ()
