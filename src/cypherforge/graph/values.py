"""Values of a result: their Python form, stable JSON and back, and a short form for people.

Temporal and spatial values are the ``neo4j`` driver's types, whatever the engine; entities are the
frozen classes below. JSON has no place for most Cypher types, so they are tagged:

==============================  ====================================================================
``{"$date": "2020-02-29"}``     also ``$time $localtime $datetime $localdatetime $duration``, ISO 8601
``{"$point": {...}}``           ``srid`` and ``coordinates``
``{"$float": "NaN"}``           also ``inf`` and ``-inf``
``{"$bytes": "..."}``           base64
``{"$vector": {...}}``          ``element`` (``f32`` ...) and ``values``
``{"$node": {...}}``            also ``$relationship`` and ``$path``
``{"$unreadable": {...}}``      a value the driver could not read
``{"$map": {...}}``             a map with a key that starts with ``$``
==============================  ====================================================================
"""

from __future__ import annotations

import base64
import datetime
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytz
from neo4j.spatial import CartesianPoint, Point, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

from cypherforge.core.errors import InputError


@dataclass(frozen=True, slots=True)
class NodeValue:
    """A node: ``id`` is the engine's own and means nothing outside one database."""

    id: str
    labels: frozenset[str]
    properties: Mapping[str, Any] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.id, self.labels))


@dataclass(frozen=True, slots=True)
class RelationshipValue:
    """A relationship; ``start`` and ``end`` are ids of nodes, known even where no node is returned."""

    id: str
    type: str
    start: str
    end: str
    properties: Mapping[str, Any] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.id, self.type))


@dataclass(frozen=True, slots=True)
class PathValue:
    """A path: n + 1 nodes and n relationships, in the order they were walked."""

    nodes: tuple[NodeValue, ...]
    relationships: tuple[RelationshipValue, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorValue:
    """A VECTOR: ``element`` is ``f32 f64 i8 i16 i32 i64``. The driver's own has no equality."""

    element: str
    values: tuple[float | int, ...]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A value that the installed driver or engine cannot read; ``type_name`` says what it was."""

    type_name: str
    advice: str = ""


# ---------------------------------------------------------------- JSON


def to_json(value: Any) -> Any:
    """A value as plain JSON data; ``from_json`` gives an equal one back.

    Maps come out with their keys sorted. Raises ``TypeError`` for what is no Cypher value.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": _float_name(value)}
    # Driver types come before tuples and lists: Duration and Point are tuples.
    for kind, encode in _ENCODERS:
        if isinstance(value, kind):
            return encode(value)
    if isinstance(value, Mapping):
        plain = {str(k): to_json(value[k]) for k in sorted(value, key=str)}
        return {"$map": plain} if any(k.startswith("$") for k in plain) else plain
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    raise TypeError(f"not a Cypher value: {type(value).__name__}")


def from_json(data: Any) -> Any:
    """The value that ``to_json`` wrote. Raises ``InputError`` for an unknown or broken tag."""
    if isinstance(data, list):
        return [from_json(item) for item in data]
    if not isinstance(data, dict):
        return data
    if len(data) == 1:
        (key, inner) = next(iter(data.items()))
        if key.startswith("$"):
            decode = _DECODERS.get(key)
            if decode is None:
                raise InputError(f"unknown value tag {key!r}", hint=f"one of {_TAGS}")
            try:
                return decode(inner)
            except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
                raise InputError(f"broken value {json.dumps(data)[:120]}: {error}") from error
    return {key: from_json(item) for key, item in data.items()}


def _float_name(value: float) -> str:
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _iso_time(value: Time) -> str:
    text = f"{value.hour:02}:{value.minute:02}:{value.second:02}"
    if value.nanosecond:
        text += f".{value.nanosecond:09}".rstrip("0")
    return text


def _iso_offset(value: Time | DateTime) -> str:
    offset = value.utcoffset()
    if offset is None:
        return ""
    seconds = round(offset.total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("+", seconds)
    text = f"{sign}{seconds // 3600:02}:{seconds % 3600 // 60:02}"
    return text + (f":{seconds % 60:02}" if seconds % 60 else "")


def _iso_datetime(value: DateTime) -> str:
    text = f"{value.date().iso_format()}T{_iso_time(value.time())}{_iso_offset(value)}"
    zone = zone_name(value)
    return f"{text}[{zone}]" if zone else text


def zone_name(value: DateTime) -> str:
    """The name of a moment's zone; "" for UTC, for a mere offset and for none."""
    zone = getattr(value.tzinfo, "key", None) or getattr(value.tzinfo, "zone", None)
    return str(zone) if zone and zone != "UTC" else ""


def iso_duration(value: Duration) -> str:
    """ISO 8601 with months, days and seconds apart, as Cypher keeps them: ``P1M2DT3.5S``."""
    months, days, seconds, nanoseconds = value.months, value.days, value.seconds, value.nanoseconds
    text = "P"
    years = int(months / 12)
    rest = months - 12 * years
    text += f"{years}Y" if years else ""
    text += f"{rest}M" if rest else ""
    text += f"{days}D" if days else ""
    total = seconds * 1_000_000_000 + nanoseconds
    if total:
        sign, total = ("-", -total) if total < 0 else ("", total)
        hours, total = divmod(total, 3_600_000_000_000)
        minutes, total = divmod(total, 60_000_000_000)
        whole, fraction = divmod(total, 1_000_000_000)
        text += "T"
        text += f"{sign}{hours}H" if hours else ""
        text += f"{sign}{minutes}M" if minutes else ""
        if whole or fraction:
            text += f"{sign}{whole}" + (f".{fraction:09}".rstrip("0") if fraction else "") + "S"
    return text if text != "P" else "PT0S"


def iso(value: Date | Time | DateTime | Duration) -> str:
    """The ISO 8601 text of a temporal value, with nanoseconds and the name of the zone."""
    if isinstance(value, DateTime):
        return _iso_datetime(value)
    if isinstance(value, Date):
        return str(value.iso_format())
    if isinstance(value, Time):
        return _iso_time(value) + _iso_offset(value)
    return iso_duration(value)


def _node_json(value: NodeValue) -> dict[str, Any]:
    return {
        "id": value.id,
        "labels": sorted(value.labels),
        "properties": _plain_map(value.properties),
    }


def _relationship_json(value: RelationshipValue) -> dict[str, Any]:
    return {
        "id": value.id,
        "type": value.type,
        "start": value.start,
        "end": value.end,
        "properties": _plain_map(value.properties),
    }


def _plain_map(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: to_json(value[key]) for key in sorted(value)}


def _vector_json(value: VectorValue) -> dict[str, Any]:
    return {"element": value.element, "values": [to_json(item) for item in value.values]}


def _stdlib_datetime(value: datetime.datetime) -> Any:
    return to_json(DateTime.from_native(value))


_ENCODERS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (DateTime, lambda v: {"$datetime" if v.tzinfo else "$localdatetime": _iso_datetime(v)}),
    (Date, lambda v: {"$date": iso(v)}),
    (Time, lambda v: {"$time" if v.tzinfo else "$localtime": iso(v)}),
    (Duration, lambda v: {"$duration": iso_duration(v)}),
    (
        Point,
        lambda v: {"$point": {"srid": v.srid, "coordinates": [to_json(float(x)) for x in v]}},
    ),
    (bytes, lambda v: {"$bytes": base64.b64encode(v).decode()}),
    (bytearray, lambda v: {"$bytes": base64.b64encode(v).decode()}),
    (NodeValue, lambda v: {"$node": _node_json(v)}),
    (RelationshipValue, lambda v: {"$relationship": _relationship_json(v)}),
    (
        PathValue,
        lambda v: {
            "$path": {
                "nodes": [_node_json(n) for n in v.nodes],
                "relationships": [_relationship_json(r) for r in v.relationships],
            }
        },
    ),
    (VectorValue, lambda v: {"$vector": _vector_json(v)}),
    (Unreadable, lambda v: {"$unreadable": {"type": v.type_name, "advice": v.advice}}),
    # Python's own types come from YAML and Parquet, never from an engine.
    (datetime.datetime, _stdlib_datetime),
    (datetime.date, lambda v: to_json(Date.from_native(v))),
    (datetime.time, lambda v: to_json(Time.from_native(v))),
    (
        datetime.timedelta,
        lambda v: to_json(
            Duration(days=v.days, seconds=v.seconds, nanoseconds=v.microseconds * 1000)
        ),
    ),
)

_DATE = r"(?P<year>\d{1,4})-(?P<month>\d{2})-(?P<day>\d{2})"
_TIME = r"(?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<fraction>\d{1,9}))?)?"
_ZONE = r"(?:(?P<offset>Z|[+-]\d{2}(?::?\d{2}(?::?\d{2})?)?))?(?:\[(?P<zone>[^\]]+)\])?"
_DATE_RE = re.compile(_DATE)
_TIME_RE = re.compile(_TIME + _ZONE)
_DATETIME_RE = re.compile(_DATE + "T" + _TIME + _ZONE)
_NUMBER = r"(-?\d+(?:\.\d+)?)"
_DURATION_RE = re.compile(
    rf"(-)?P(?:{_NUMBER}Y)?(?:{_NUMBER}M)?(?:{_NUMBER}W)?(?:{_NUMBER}D)?"
    rf"(?:T(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?"
)


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError(f"not ISO 8601: {text!r}")
    return match


def _clock(match: re.Match[str]) -> tuple[int, int, int, int]:
    return (
        int(match["hour"]),
        int(match["minute"]),
        int(match["second"] or 0),
        int((match["fraction"] or "0").ljust(9, "0")),
    )


def _offset_zone(text: str) -> datetime.timezone:
    if text == "Z":
        return datetime.UTC
    digits = text[1:].replace(":", "").ljust(6, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:4]) * 60 + int(digits[4:6])
    return datetime.timezone(datetime.timedelta(seconds=-seconds if text[0] == "-" else seconds))


def parse_date(text: str) -> Date:
    """An ISO date. Raises ``ValueError``."""
    match = _matched(_DATE_RE, text)
    return Date(int(match["year"]), int(match["month"]), int(match["day"]))


def parse_time(text: str) -> Time:
    """An ISO time, with an offset or without. Raises ``ValueError``."""
    match = _matched(_TIME_RE, text)
    zone = _offset_zone(match["offset"]) if match["offset"] else None
    return Time(*_clock(match), tzinfo=zone)


def parse_datetime(text: str) -> DateTime:
    """An ISO date and time; ``[Europe/Berlin]`` may follow the offset. Raises ``ValueError``."""
    match = _matched(_DATETIME_RE, text)
    naive = DateTime(int(match["year"]), int(match["month"]), int(match["day"]), *_clock(match))
    if match["zone"]:
        # The driver's own zone database, so that both make the same value.
        try:
            zone = pytz.timezone(match["zone"])
        except pytz.UnknownTimeZoneError as error:
            raise ValueError(f"unknown time zone {match['zone']!r}") from error
        choices = [zone.localize(naive, is_dst=flag) for flag in (True, False)]
        if match["offset"]:
            # In the hour that occurs twice, the offset tells which of the two it is.
            wanted = _offset_zone(match["offset"]).utcoffset(None)
            choices = [c for c in choices if c.utcoffset() == wanted]
            if not choices:
                raise ValueError(f"{match['offset']} is no offset of {match['zone']} at that time")
        found: DateTime = choices[0]
        return found
    if match["offset"]:
        return naive.replace(tzinfo=_offset_zone(match["offset"]))
    return naive


def parse_duration(text: str) -> Duration:
    """An ISO duration; months, days and seconds stay apart. Raises ``ValueError``."""
    match = _matched(_DURATION_RE, text)
    if text[-1] in "PT":
        raise ValueError(f"not ISO 8601: {text!r}")
    sign = -1 if match[1] else 1
    years, months, weeks, days, hours, minutes = (
        sign * (float(g) if g and "." in g else int(g or 0)) for g in match.groups()[1:7]
    )
    whole, _, fraction = (match[8] or "0").partition(".")
    nanoseconds = int(fraction.ljust(9, "0")[:9] or 0)
    if whole.startswith("-"):
        nanoseconds = -nanoseconds
    return Duration(
        years=years,
        months=months,
        weeks=weeks,
        days=days,
        hours=hours,
        minutes=minutes,
        seconds=sign * int(whole),
        nanoseconds=sign * nanoseconds,
    )


def make_point(srid: int, coordinates: list[float]) -> Point:
    """A point of the driver's class for this SRID, so that equal points are of equal class."""
    values = tuple(float(x) for x in coordinates)
    if len(values) not in (2, 3):
        raise ValueError(f"a point has two or three coordinates, not {len(values)}")
    kinds: dict[tuple[int, int], type[Point]] = {
        (4326, 2): WGS84Point,
        (4979, 3): WGS84Point,
        (7203, 2): CartesianPoint,
        (9157, 3): CartesianPoint,
    }
    kind = kinds.get((srid, len(values)))
    if kind is not None:
        return kind(values)
    point = Point(values)
    point.srid = srid
    return point


def _read_node(data: dict[str, Any]) -> NodeValue:
    return NodeValue(data["id"], frozenset(data["labels"]), _read_map(data["properties"]))


def _read_relationship(data: dict[str, Any]) -> RelationshipValue:
    return RelationshipValue(
        data["id"], data["type"], data["start"], data["end"], _read_map(data["properties"])
    )


def _read_map(data: dict[str, Any]) -> dict[str, Any]:
    return {key: from_json(item) for key, item in data.items()}


def _read_float(text: str) -> float:
    value = float(text)
    if math.isfinite(value):
        raise ValueError(f"{text!r} needs no tag")
    return value


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "$date": parse_date,
    "$time": parse_time,
    "$localtime": parse_time,
    "$datetime": parse_datetime,
    "$localdatetime": parse_datetime,
    "$duration": parse_duration,
    "$point": lambda d: make_point(int(d["srid"]), [from_json(x) for x in d["coordinates"]]),
    "$float": _read_float,
    "$bytes": lambda d: base64.b64decode(d, validate=True),
    "$vector": lambda d: VectorValue(d["element"], tuple(from_json(x) for x in d["values"])),
    "$node": _read_node,
    "$relationship": _read_relationship,
    "$path": lambda d: PathValue(
        tuple(_read_node(n) for n in d["nodes"]),
        tuple(_read_relationship(r) for r in d["relationships"]),
    ),
    "$unreadable": lambda d: Unreadable(d["type"], d["advice"]),
    "$map": _read_map,
}
_TAGS = ", ".join(_DECODERS)


# ---------------------------------------------------------------- for people

LONG_LIST = 24
"""Numeric lists longer than this are shown as ``<vector n>``: embeddings tell nobody anything."""


def display(value: Any, limit: int = 200) -> str:
    """A value for people and models: long vectors elided, the whole cut to ``limit`` characters.

    A string comes out bare, inside another value quoted. Never a Python ``repr``.
    """
    text = value if isinstance(value, str) else _shown(value)
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else _float_name(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Date | Time | DateTime | Duration):
        return iso(value)
    if isinstance(value, Point):
        return f"point({', '.join(repr(float(x)) for x in value)}; srid {value.srid})"
    if isinstance(value, bytes | bytearray):
        return f"<{len(value)} bytes>"
    if isinstance(value, VectorValue):
        return f"<vector {len(value.values)}>"
    if isinstance(value, Unreadable):
        return f"<unreadable {value.type_name}>"
    if isinstance(value, NodeValue):
        return _shown_node(value)
    if isinstance(value, RelationshipValue):
        return f"[:{_name(value.type)}{_shown_properties(value.properties)}]"
    if isinstance(value, PathValue):
        return _shown_path(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_name(k)}: {_shown(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        if len(value) > LONG_LIST and all(
            isinstance(x, int | float) and not isinstance(x, bool) for x in value
        ):
            return f"<vector {len(value)}>"
        return "[" + ", ".join(_shown(item) for item in value) + "]"
    return _shown(from_json(to_json(value)))


def _shown_node(value: NodeValue) -> str:
    labels = "".join(f":{_name(label)}" for label in sorted(value.labels))
    return f"({labels}{_shown_properties(value.properties)})"


def _shown_properties(properties: Mapping[str, Any]) -> str:
    return f" {_shown(dict(sorted(properties.items())))}" if properties else ""


def _shown_path(value: PathValue) -> str:
    text = _shown_node(value.nodes[0]) if value.nodes else "()"
    for before, link, after in zip(value.nodes, value.relationships, value.nodes[1:], strict=False):
        arrow = ("-", "->") if link.start == before.id else ("<-", "-")
        text += f"{arrow[0]}{_shown(link)}{arrow[1]}{_shown_node(after)}"
    return text


_PLAIN_NAME = re.compile(r"[^\W\d]\w*")


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"
