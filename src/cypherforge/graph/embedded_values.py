"""Values to and from ArcadeDB's Java objects."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jpype
from neo4j.spatial import Point
from neo4j.time import Date, DateTime, Duration, Time

from cypherforge.core.errors import UsageError
from cypherforge.graph.values import (
    NodeValue,
    PathValue,
    RelationshipValue,
    Unreadable,
    VectorValue,
    iso,
    make_point,
    parse_datetime,
    parse_time,
)

_CRS = {4326: "WGS-84", 4979: "WGS-84-3D", 7203: "cartesian", 9157: "cartesian-3D"}


class Converter:
    """Converts values; made once a database, since Java classes are found by name."""

    def __init__(self) -> None:
        find = jpype.JClass
        self._date = find("java.time.LocalDate")
        self._local_datetime = find("java.time.LocalDateTime")
        self._zoned = find("java.time.ZonedDateTime")
        self._local_time = find("java.time.LocalTime")
        self._offset_time = find("java.time.OffsetTime")
        self._duration = find("com.arcadedb.query.opencypher.temporal.CypherDuration")
        self._map = find("java.util.LinkedHashMap")
        self._list = find("java.util.ArrayList")
        self._bytes = jpype.JArray(jpype.JByte)
        self._long = find("java.lang.Long")
        self._double = find("java.lang.Double")
        self._boolean = find("java.lang.Boolean")
        vertex, edge = find("com.arcadedb.graph.Vertex"), find("com.arcadedb.graph.Edge")
        temporal = "com.arcadedb.query.opencypher.temporal.Cypher"
        self._readers: list[tuple[Any, Callable[[Any], Any]]] = [
            (find("java.lang.String"), str),
            (find("java.lang.Boolean"), bool),
            (find("java.lang.Double"), float),
            (find("java.lang.Float"), float),
            (find("java.lang.Number"), lambda v: _number(str(v))),
            (find("java.lang.Character"), str),
            (vertex, self._node),
            (edge, self._relationship),
            (find("com.arcadedb.query.opencypher.traversal.TraversalPath"), self._path),
            (find(f"{temporal}Date"), lambda v: self._read_date(v.getValue())),
            (find(f"{temporal}DateTime"), lambda v: self._read_zoned(v.getValue())),
            (find(f"{temporal}LocalDateTime"), lambda v: parse_datetime(str(v.getValue()))),
            (find(f"{temporal}Time"), lambda v: parse_time(str(v.getValue()))),
            (find(f"{temporal}LocalTime"), lambda v: parse_time(str(v.getValue()))),
            (self._duration, self._read_duration),
            (self._date, self._read_date),
            (self._zoned, self._read_zoned),
            (self._local_datetime, lambda v: parse_datetime(str(v))),
            (self._offset_time, lambda v: parse_time(str(v))),
            (self._local_time, lambda v: parse_time(str(v))),
            (find("com.arcadedb.query.sql.executor.Result"), self._result),
            (find("java.util.Map"), self._read_map),
            (find("java.util.Collection"), lambda v: [self.to_python(x) for x in v]),
            (self._bytes, lambda v: bytes(x & 0xFF for x in v)),
            (jpype.JArray, lambda v: [self.to_python(x) for x in v]),
        ]
        self._typed_rows = find("com.arcadedb.python.TypedRows")
        self._known: dict[type, Callable[[Any], Any]] = {}
        #: The names of relationship types that are called otherwise inside.
        self.type_names: dict[str, str] = {}

    # ------------------------------------------------------------ to Java

    def to_java(self, value: Any) -> Any:
        """A Java object that the engine stores and compares as Neo4j would."""
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bool):
            return self._boolean.valueOf(value)
        if isinstance(value, int):
            if not -(2**63) <= value < 2**63:
                raise UsageError(f"an integer has 64 bits, and {value} does not fit")
            return self._long.valueOf(value)
        if isinstance(value, float):
            return self._double.valueOf(value)
        if isinstance(value, DateTime):
            kind = self._zoned if value.tzinfo else self._local_datetime
            return kind.parse(iso(value))
        if isinstance(value, Date):
            return self._date.of(value.year, value.month, value.day)
        if isinstance(value, Time):
            kind = self._offset_time if value.tzinfo else self._local_time
            return kind.parse(iso(value))
        if isinstance(value, Duration):
            # Nanoseconds of this class are never negative, its seconds may be.
            seconds, nanoseconds = divmod(
                value.seconds * 1_000_000_000 + value.nanoseconds, 1_000_000_000
            )
            return self._duration(value.months, value.days, seconds, nanoseconds)
        if isinstance(value, Point):
            return self._point(value)
        if isinstance(value, bytes | bytearray):
            return self._bytes([x - 256 if x > 127 else x for x in value])
        if isinstance(value, VectorValue):
            return self.to_java(list(value.values))
        if isinstance(value, Mapping):
            made = self._map()
            for key, item in value.items():
                made.put(str(key), self.to_java(item))
            return made
        if isinstance(value, list | tuple):
            items = self._list()
            for item in value:
                items.add(self.to_java(item))
            return items
        raise UsageError(f"a {type(value).__name__} cannot be stored or be a parameter")

    def _point(self, value: Point) -> Any:
        made = self._map()
        crs = _CRS.get(value.srid or 0)
        if crs is None:
            raise UsageError(f"a point of SRID {value.srid} is not known")
        coordinates = [self._double.valueOf(float(x)) for x in value]
        if crs.startswith("WGS"):
            for key, item in zip(("longitude", "latitude", "height"), coordinates, strict=False):
                made.put(key, item)
        for key, item in zip(("x", "y", "z"), coordinates, strict=False):
            made.put(key, item)
        made.put("crs", crs)
        made.put("srid", self._long.valueOf(value.srid))
        return made

    # ------------------------------------------------------------ to Python

    def rows(self, found: Any, most: int) -> list[dict[str, Any]]:
        """The next rows of a result set by column, at most so many.

        They come as one JSON text a batch, with what JSON cannot carry beside it: to ask for each
        value from here takes longer than most queries do.
        """
        rows: list[dict[str, Any]] = []
        drained = False
        while not drained and len(rows) < most:
            text, side, drained = self._typed_rows.nextRows(found, most - len(rows))
            batch: list[dict[str, Any]] = json.loads(str(text), object_hook=self._untagged(side))
            for row in batch:
                for name, value in row.items():
                    if isinstance(value, dict | list):
                        row[name] = _with_points(value)
            rows += batch
        return rows

    def rows_with_bytes(self, found: Any, most: int) -> list[dict[str, Any]]:
        """As ``rows``, each value asked for: in a batch bytes would come as a list of numbers."""
        return [
            {str(name): self.to_python(row.getProperty(name)) for name in row.getPropertyNames()}
            for row in found.stream().limit(most).toList().toArray()
        ]

    def _untagged(self, side: Sequence[Any]) -> Callable[[dict[str, Any]], Any]:
        """What stands for a value that JSON cannot carry, as that value."""

        def read(value: dict[str, Any]) -> Any:
            tagged = value.get(_TAG)
            if tagged is None:
                return value
            kind, inside = tagged
            if kind == "x":
                return self.to_python(side[inside])
            if kind == "r":
                names, values = side[inside]
                return {str(n): self.to_python(v) for n, v in zip(names, values, strict=True)}
            return _TAGGED[kind](inside)

        return read

    def to_python(self, value: Any) -> Any:
        """One of our values. Java classes that stand for no value come out as ``Unreadable``."""
        if value is None:
            return None
        kind = type(value)
        reader = self._known.get(kind)
        if reader is None:
            reader = next((r for k, r in self._readers if isinstance(value, k)), _unreadable)
            self._known[kind] = reader
        return reader(value)

    def _node(self, value: Any) -> NodeValue:
        labels = jpype.JClass("com.arcadedb.query.opencypher.Labels").getLabels(value)
        return NodeValue(
            str(value.getIdentity()), frozenset(str(x) for x in labels), self._properties(value)
        )

    def _relationship(self, value: Any) -> RelationshipValue:
        inner = str(value.getTypeName())
        return RelationshipValue(
            str(value.getIdentity()),
            self.type_names.get(inner, inner),
            str(value.getOut()),
            str(value.getIn()),
            self._properties(value),
        )

    def _path(self, value: Any) -> PathValue:
        return PathValue(
            tuple(self._node(v) for v in value.getVertices()),
            tuple(self._relationship(e) for e in value.getEdges()),
        )

    def _properties(self, value: Any) -> dict[str, Any]:
        found = value.propertiesAsMap()
        return {str(k): self.to_python(v) for k, v in found.items() if not str(k).startswith("@")}

    def _result(self, value: Any) -> Any:
        if value.isVertex():
            return self._node(value.getVertex().get())
        if value.isEdge():
            return self._relationship(value.getEdge().get())
        return {str(k): self.to_python(value.getProperty(k)) for k in value.getPropertyNames()}

    def _read_map(self, value: Any) -> Any:
        return _map_or_point({str(k): self.to_python(v) for k, v in value.items()})

    def _read_date(self, value: Any) -> Date:
        return _day(int(value.toEpochDay()))

    def _read_zoned(self, value: Any) -> DateTime:
        return _moment(str(value))

    def _read_duration(self, value: Any) -> Duration:
        return Duration(
            months=value.getMonths(),
            days=value.getDays(),
            seconds=value.getSeconds(),
            nanoseconds=value.getNanosAdjustment(),
        )


_UTC = {"UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT", "UCT", "Zulu", "Etc/UCT", "Etc/Zulu"}

#: 0001-01-01 in days before 1970-01-01, plus one: how ordinals count.
_EPOCH = 719_163


# The same moments come back with every query; to read one takes longer than to find it.
@lru_cache(maxsize=100_000)
def _moment(text: str) -> DateTime:
    """A ZonedDateTime as Java writes it, its region in brackets."""
    moment, _, zone = text.partition("[")
    found = parse_datetime(moment if zone.rstrip("]") in _UTC else text)
    return found if found.tzinfo is not None else found.replace(tzinfo=datetime.UTC)


@lru_cache(maxsize=100_000)
def _day(epoch_day: int) -> Date:
    return Date.from_ordinal(_EPOCH + epoch_day)


def _number(text: str) -> int | float:
    return float(text) if "." in text or "E" in text else int(text)


#: How ``TypedRows`` marks a value that JSON cannot carry exactly.
_TAG = "\x01"
_TAGGED: Mapping[str, Callable[[Any], Any]] = {
    "n": _number,
    "i": _number,
    "D": lambda text: _day(datetime.date.fromisoformat(text).toordinal() - _EPOCH),
    "T": parse_datetime,
    "Z": _moment,
    "s": list,
}


def _map_or_point(plain: dict[str, Any]) -> Any:
    if plain.keys() >= {"x", "y", "crs", "srid"}:
        axes = [plain[k] for k in ("x", "y", "z") if k in plain]
        return make_point(int(plain["srid"]), axes)
    return plain


def _with_points(value: Any) -> Any:
    """Lists and maps in which a point is a map, as they are meant."""
    if isinstance(value, list):
        return [_with_points(item) for item in value]
    if isinstance(value, dict):
        return _map_or_point({key: _with_points(item) for key, item in value.items()})
    return value


def holds_bytes(value: Any) -> bool:
    """Whether a parameter is made of bytes, or has some inside."""
    if isinstance(value, Mapping):
        return any(holds_bytes(item) for item in value.values())
    if isinstance(value, list | tuple):
        return any(holds_bytes(item) for item in value)
    return isinstance(value, bytes | bytearray)


def _unreadable(value: Any) -> Unreadable:
    return Unreadable(str(value.getClass().getName()))
