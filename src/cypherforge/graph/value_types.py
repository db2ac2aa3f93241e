"""Property types of values, and values as examples, whatever engine they came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neo4j.spatial import Point
from neo4j.time import Date, DateTime, Duration, Time

from cypherforge.graph.schema import Scalar
from cypherforge.graph.type_names import list_of, union_type
from cypherforge.graph.values import VectorValue, iso

#: The length that a text may have to be an example.
EXAMPLE_LENGTH = 60


def value_type(value: Any) -> str:
    """Return the canonical property type of a value as ``Graph.run`` returns it."""
    match value:
        case bool():
            return "BOOLEAN"
        case int():
            return "INTEGER"
        case float():
            return "FLOAT"
        case str():
            return "STRING"
        case DateTime():
            return "DATE_TIME" if value.tzinfo else "LOCAL_DATE_TIME"
        case Date():
            return "DATE"
        case Time():
            return "TIME" if value.tzinfo else "LOCAL_TIME"
        case Duration():  # before tuple: the driver's durations and points are tuples
            return "DURATION"
        case Point():
            return "POINT"
        case bytes() | bytearray():
            return "BYTES"
        case VectorValue():
            return "VECTOR"
        case list() | tuple():
            inner = {value_type(item) for item in value if item is not None}
            return list_of(union_type(inner)) if inner else "LIST"
        case Mapping():
            return "MAP"
    return "UNKNOWN"


def example_value(value: Any) -> Scalar | None:
    """Return a value as an example: short scalars, temporal values as ISO text, None for others."""
    match value:
        case bool() | int():
            return value
        case float():
            return value if abs(value) < float("inf") else None
        case str():
            return value if 0 < len(value) <= EXAMPLE_LENGTH else None
        case DateTime() | Date() | Time() | Duration():
            return iso(value)
    return None
