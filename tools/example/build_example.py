"""Build the example graph that ships with cypherforge: ``build_example.py [FOLDER]``.

Writes nodes.jsonl.gz, relationships.jsonl.gz, schema.json, questions.jsonl and true_empty.jsonl
from the hand-written facts in story.toml and the questions in questions/*.txt, both beside this
file. The rest (crossings, crews, friendships, catalogue dates) comes from a fixed seed, so that the
same Python code always writes the same data. Lines of the two graph files are
``{"id", "labels", "properties"}`` and ``{"id", "type", "start", "end", "properties"}``; values that
JSON cannot hold are tagged: ``{"$date"}``, ``{"$datetime"}``, ``{"$duration"}``, ``{"$point"}``.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[1] / "artifacts" / "example"
SEED = 1857
CROSSINGS = 150
CONSTRAINTS = [("Crossing", "number"), ("Document", "shelfmark"), ("Person", "id")]
INDEXES = [("Concert", "title"), ("Crossing", "departure"), ("Person", "name"), ("Song", "title")]


class Story:
    """The graph while it is built: ``nodes`` and ``relationships`` in the order of the files."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.random = random.Random(SEED)
        self.nodes: list[dict[str, Any]] = []
        self.relationships: list[dict[str, Any]] = []
        self.found: dict[tuple[str, str], int] = {}
        self.birthdays: dict[str, date] = {}

    def node(self, labels: list[str], key: str, /, **properties: Any) -> int:
        """Add a node, leaving out properties that are None, and return its id.

        ``found`` knows it by each of its labels and ``key``.
        """
        number = len(self.nodes)
        for label in labels:
            self.found.setdefault((label, key), number)
        kept = {key: value for key, value in sorted(properties.items()) if value is not None}
        self.nodes.append({"id": number, "labels": sorted(labels), "properties": kept})
        return number

    def link(self, start: int, kind: str, end: int, **properties: Any) -> None:
        """Add a relationship, leaving out properties that are None."""
        kept = {key: value for key, value in sorted(properties.items()) if value is not None}
        self.relationships.append(
            {
                "id": len(self.relationships),
                "type": kind,
                "start": start,
                "end": end,
                "properties": kept,
            }
        )

    def person(self, name: str) -> int:
        """Return the id of a person by name."""
        return self.found["Person", name]

    def day(self, first: date, last: date) -> date:
        """Draw a day from ``first`` to ``last``, both included."""
        return first + timedelta(days=self.random.randrange((last - first).days + 1))


def main(folder: Path) -> None:
    """Write the five files into ``folder``."""
    with (HERE / "story.toml").open("rb") as file:
        story = Story(tomllib.load(file))
    add_people(story)
    add_places_and_ferries(story)
    add_crossings(story)
    add_music(story)
    add_archive(story)
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(folder / "nodes.jsonl.gz", story.nodes)
    write_rows(folder / "relationships.jsonl.gz", story.relationships)
    schema = {
        "apoc.meta.schema": meta_schema(story.nodes, story.relationships),
        "constraints": [on(label, key, type="UNIQUENESS") for label, key in CONSTRAINTS],
        "indexes": [on(label, key, type="RANGE", owningConstraint=None) for label, key in INDEXES],
    }
    text = json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False)
    (folder / "schema.json").write_text(text + "\n", encoding="utf-8", newline="\n")
    questions = [*read_questions("train"), *read_questions("test")]
    write_rows(folder / "questions.jsonl", questions)
    write_rows(folder / "true_empty.jsonl", read_questions("true_empty"))
    print(f"{folder}: {len(story.nodes)} nodes, {len(story.relationships)} relationships")


def add_people(story: Story) -> None:
    """Add crew, townspeople and forebears; MANAGES, and FRIEND_OF in both directions."""
    facts = story.facts
    ranks = {row[0]: row for row in facts["crew"]}
    names = [*ranks, *facts["townspeople"]]
    forebears = dict(facts["forebears"])
    born = {**facts["born"], **forebears}
    native = facts["languages_of"]
    birthdays = story.birthdays
    for name in [*names, *forebears]:
        crew = ranks.get(name)
        first, last = (date(1955, 1, 1), date(1984, 12, 31))
        if crew:
            hired = date.fromisoformat(crew[3])
            first, last = date(hired.year - 30, 1, 1), date(hired.year - 19, 12, 31)
        birthday = story.day(first, last)
        while birthday in birthdays.values():
            birthday = story.day(first, last)
        birthdays[name] = date.fromisoformat(born[name]) if name in born else birthday
        unknown = name not in ranks and story.random.random() < 0.2
        count = story.random.choice([1, 1, 2, 2, 3])
        spoken = story.random.sample(facts["languages"][1:], count - 1)
        alive = name not in forebears
        story.node(
            ["Person", "Crew"] if crew else ["Person"],
            name,
            id=f"p{len(story.nodes) + 1:02d}",
            name=name,
            born=None if unknown and name not in born else tag("date", birthdays[name]),
            nickname=facts["nicknames"].get(name),
            languages=native.get(name, ["English", *spoken]) if alive else None,
            resident=story.random.random() < 0.7 if alive else None,
            rank=crew[1] if crew else None,
            wage=crew[2] if crew else None,
            hired=tag("date", crew[3]) if crew else None,
        )
    for name, _, _, hired, manager in facts["crew"]:
        if manager:
            later = max(date.fromisoformat(hired), date.fromisoformat(ranks[manager][3]))
            since = min(later + timedelta(days=story.random.randrange(400)), date(2024, 8, 30))
            story.link(
                story.person(manager), "MANAGES", story.person(name), since=tag("date", since)
            )
    pairs = {frozenset(row[:2]): row[2] for row in facts["friends"]["rows"]}
    loners = {"Marguerite Faure", "Yusuf Demir", "Matilda Roe", "Ivo Kessler"}
    sociable = [name for name in names if name not in loners]
    while len(pairs) < 62:
        one, other = story.random.sample(sociable, 2)
        grown = max(birthdays[one].year, birthdays[other].year) + 6
        pairs.setdefault(frozenset((one, other)), story.random.randrange(grown, 2025))
    for pair, since in pairs.items():
        one, other = sorted(story.person(name) for name in pair)
        story.link(one, "FRIEND_OF", other, since=since)
        story.link(other, "FRIEND_OF", one, since=since)


def add_places_and_ferries(story: Story) -> None:
    """Add piers (some of which are venues too), halls and ferries."""
    for name, district, opened, depth, covered, x, y, seats in story.facts["piers"]["rows"]:
        story.node(
            ["Pier", "Venue"] if seats else ["Pier"],
            name,
            name=name,
            district=district,
            opened=tag("date", opened),
            depth=depth,
            covered=covered,
            location=point(x, y),
            seats=seats or None,
        )
    for name, district, seats, x, y in story.facts["halls"]["rows"]:
        story.node(["Venue"], name, name=name, district=district, seats=seats, location=point(x, y))
    for name, built, capacity, length, electric, retired in story.facts["ferries"]["rows"]:
        story.node(
            ["Ferry"],
            name,
            name=name,
            built=built,
            capacity=capacity,
            length=length,
            electric=electric,
            retired=tag("date", retired) if retired else None,
        )


def add_crossings(story: Story) -> None:
    """Add the summer's crossings with ferry, both piers and crew."""
    draw = story.random
    facts = story.facts
    piers = [row[0] for row in facts["piers"]["rows"] if row[0] != "Old North Mole"]
    ferries = [row for row in facts["ferries"]["rows"] if not row[5]]
    # A new hand of 2024 may not have sailed yet: the crew without a crossing are a question.
    ranks: dict[str, list[str]] = defaultdict(list)
    for name, rank, *_ in facts["crew"]:
        if name not in ("Pádraig Ó Ceallaigh", "Maeve O'Brien"):
            ranks[rank].append(name)
    slots = draw.sample(range(92 * 192), CROSSINGS)
    for count, slot in enumerate(sorted(slots)):
        days, five_minutes = divmod(slot, 192)
        departure = datetime(2024, 6, 1, 6) + timedelta(days=days, minutes=5 * five_minutes)
        ferry = draw.choice(ferries)
        origin, target = draw.sample(range(len(piers)), 2)
        weather = draw.choice(["Calm", "Calm", "Breeze", "Breeze", "Rain", "Fog", "Gale"])
        cancelled = draw.random() < {"Gale": 0.4, "Fog": 0.25}.get(weather, 0.0)
        minutes = 9 + 4 * abs(origin - target) + draw.randrange(8)
        note = draw.choice(["school trip", "wedding party", "extra boat", "late", "bicycles only"])
        crossing = story.node(
            ["Crossing"],
            f"K-{1001 + count}",
            number=f"K-{1001 + count}",
            departure=tag("datetime", f"{departure.isoformat()}Z"),
            cancelled=cancelled,
            weather=weather,
            fare=round(2.5 + 0.15 * minutes, 2),
            duration=None if cancelled else {"$duration": f"PT{minutes}M"},
            passengers=None if cancelled else draw.randrange(4, ferry[2] + 1),
            note=note if draw.random() < 0.2 else None,
        )
        story.link(crossing, "DEPARTS_FROM", story.found["Pier", piers[origin]])
        story.link(crossing, "ARRIVES_AT", story.found["Pier", piers[target]])
        story.link(crossing, "SAILED_BY", story.found["Ferry", ferry[0]])
        if cancelled:
            continue
        crew = [
            (draw.choice([*ranks["master"], *ranks["mate"]]), "captain"),
            (draw.choice(ranks["engineer"]), "engineer"),
        ]
        hands = draw.sample(ranks["deckhand"], draw.choice([1, 1, 2]))
        for name, role in [*crew, *((name, "deckhand") for name in hands)]:
            hours = round(minutes / 60 * 4 + draw.randrange(1, 9)) / 4
            story.link(story.person(name), "WORKED_ON", crossing, role=role, hours=hours)


def add_music(story: Story) -> None:
    """Add songs with writers, bands with members, and the concerts of three festivals."""
    draw = story.random
    facts = story.facts
    for title, composed, seconds, language, writers in facts["songs"]["rows"]:
        song = story.node(
            ["Song"],
            title,
            title=title,
            composed=composed or None,
            traditional=not composed,
            seconds=seconds,
            language=language,
        )
        for writer in writers:
            name, part = writer.rsplit(": ", 1)
            for role in ("words", "music") if part == "both" else (part,):
                story.link(story.person(name), "WROTE", song, part=role)
    for name, founded, disbanded, genres, members in facts["bands"]["rows"]:
        band = story.node(
            ["Band"],
            name,
            name=name,
            founded=founded,
            disbanded=disbanded or None,
            genres=genres,
        )
        for member in members:
            who, instrument = member.rsplit(": ", 1)
            joined = max(founded, story.birthdays[who].year + 13) + draw.choice([0, 0, 1, 2, 3])
            story.link(story.person(who), "MEMBER_OF", band, instrument=instrument, joined=joined)
    for row in facts["concerts"]["rows"]:
        title, edition, starts, length, price, audience, sold_out, place, bands, songs = row
        concert = story.node(
            ["Concert"],
            f"{title} {edition}",
            title=title,
            edition=edition,
            starts=tag("datetime", starts),
            length={"$duration": length},
            price=None if price < 0 else float(price),
            audience=audience or None,
            soldOut=sold_out,
        )
        name = place.removeprefix("ferry:")
        label = "Venue" if name == place else "Ferry"
        story.link(concert, "HELD_AT", story.found[label, name])
        for position, name in enumerate(bands, 1):
            fee = draw.randrange(12, 60) * 12.5
            band = story.found["Band", name]
            story.link(band, "PLAYED_AT", concert, slot=position, fee=fee)
        for position, name in enumerate(songs, 1):
            song = story.found["Song", name]
            encore = position == len(songs) and position > 3
            story.link(concert, "INCLUDES", song, position=position, encore=encore)


def add_archive(story: Story) -> None:
    """Add the documents: writers, cataloguers, what they mention, and what replaced what."""
    draw = story.random
    facts = story.facts
    last: dict[str, int] = {}
    dates: set[date] = set()
    for count, row in enumerate(facts["documents"]["rows"], 1):
        title, kind, dated, pages, digitised, writer = row
        document = story.node(
            ["Document"],
            title,
            shelfmark=f"HA-{count:03d}",
            title=title,
            kind=kind,
            dated=tag("date", dated or None),
            pages=pages,
            digitised=digitised,
        )
        if writer:
            story.link(story.person(writer), "WROTE", document)
        for start in facts["documents"]["series"]:
            if title.startswith(start):
                if start in last:
                    story.link(document, "SUPERSEDES", last[start])
                last[start] = document
        for target in facts["mentions"].get(title, []):
            label, name = target.split(":", 1)
            page = draw.randrange(1, pages + 1) if pages > 1 and draw.random() < 0.6 else None
            story.link(document, "MENTIONS", story.found[label, name], page=page)
        keepers = draw.sample(facts["archivists"]["names"], draw.choice([1, 1, 2]))
        if not digitised and draw.random() < 0.6:
            continue
        earliest = max(date(2014, 1, 7), date.fromisoformat(dated) if dated else date.min)
        for name in keepers:
            day = story.day(earliest, date(2024, 9, 30))
            while day in dates:
                day = story.day(earliest, date(2024, 9, 30))
            dates.add(day)
            story.link(story.person(name), "CATALOGUED", document, date=tag("date", day))


def tag(kind: str, value: date | str | None) -> dict[str, str] | None:
    """Return a tagged temporal value, None for None."""
    return None if value is None else {f"${kind}": str(value)}


def point(longitude: float, latitude: float) -> dict[str, Any]:
    """Return a tagged WGS-84 point."""
    return {"$point": {"srid": 4326, "coordinates": [longitude, latitude]}}


def on(label: str, key: str, **more: Any) -> dict[str, Any]:
    """Return a row as SHOW CONSTRAINTS or SHOW INDEXES would."""
    return {"entityType": "NODE", "labelsOrTypes": [label], "properties": [key], **more}


def read_questions(split: str) -> Iterator[dict[str, str]]:
    """Read questions/SPLIT.txt: ``[family]`` lines, then blocks of a question line and its gold.

    A block's further lines are the gold, joined by blanks; blank lines part the blocks.
    """
    family = ""
    count = 0
    text = (HERE / "questions" / f"{split}.txt").read_text(encoding="utf-8")
    for block in text.split("\n\n"):
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        if lines and lines[0].startswith("[") and lines[0].endswith("]"):
            family = lines.pop(0)[1:-1]
        if not lines:
            continue
        count += 1
        yield {
            "id": f"example-{split.replace('_', '-')}-{count:03d}",
            "question": lines[0],
            "cypher": " ".join(lines[1:]),
            "graph": "example",
            "split": "test" if split == "true_empty" else split,
            "family": family,
        }


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write one JSON object a line; ``.gz`` without a time or a name in its header."""
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    if path.suffix == ".gz":
        buffer = io.BytesIO()
        with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as file:
            file.write(data)
        data = buffer.getvalue()
    path.write_bytes(data)


TAGS = {"$date": "DATE", "$datetime": "DATE_TIME", "$duration": "DURATION", "$point": "POINT"}
PLAIN = {bool: "BOOLEAN", int: "INTEGER", float: "FLOAT", str: "STRING", list: "LIST"}


def type_name(value: Any) -> str:
    """Return Neo4j's name of a stored value's type."""
    return TAGS[next(iter(value))] if isinstance(value, dict) else PLAIN[type(value)]


def meta_schema(
    nodes: list[dict[str, Any]], relationships: list[dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return what ``apoc.meta.schema`` says of the graph, with exact counts."""
    unique = set(CONSTRAINTS)
    indexed = unique | set(INDEXES)
    labels = {node["id"]: node["labels"] for node in nodes}
    meta: dict[str, dict[str, Any]] = {}
    for label in sorted({label for node in nodes for label in node["labels"]}):
        members = [node for node in nodes if label in node["labels"]]
        types = {k: type_name(v) for node in members for k, v in node["properties"].items()}
        properties = {
            key: {
                "existence": False,
                "indexed": (label, key) in indexed,
                "type": kind,
                "unique": (label, key) in unique,
            }
            for key, kind in sorted(types.items())
        }
        meta[label] = {
            "count": len(members),
            "labels": sorted({other for node in members for other in node["labels"]} - {label}),
            "properties": properties,
            "relationships": {},
            "type": "node",
        }
    for kind in sorted({link["type"] for link in relationships}):
        links = [link for link in relationships if link["type"] == kind]
        types = {k: type_name(v) for link in links for k, v in link["properties"].items()}
        properties = {
            key: {"array": value == "LIST", "existence": False, "indexed": False, "type": value}
            for key, value in sorted(types.items())
        }
        meta[kind] = {"count": len(links), "properties": properties, "type": "relationship"}
        ends: dict[tuple[str, str], set[str]] = defaultdict(set)
        counts: Counter[tuple[str, str]] = Counter()
        for link in links:
            for label in labels[link["start"]]:
                ends[label, "out"].update(labels[link["end"]])
                counts[label, "out"] += 1
            for label in labels[link["end"]]:
                ends[label, "in"].update(labels[link["start"]])
                counts[label, "in"] += 1
        # APOC keeps one entry a label and type; a label at both ends has direction "out".
        for (label, direction), others in sorted(ends.items()):
            meta[label]["relationships"][kind] = {
                "count": counts[label, direction],
                "direction": direction,
                "labels": sorted(others),
                "properties": properties,
            }
    return meta


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
