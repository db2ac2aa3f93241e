"""Every Cypher value goes to stable JSON and back, and is shown to people without reprs."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

import pytest
import pytz
from hypothesis import given, settings
from hypothesis import strategies as st
from neo4j.spatial import CartesianPoint, Point, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

from cypherforge.core.errors import InputError
from cypherforge.graph.compare import same_value
from cypherforge.graph.values import (
    NodeValue,
    PathValue,
    RelationshipValue,
    Unreadable,
    VectorValue,
    display,
    from_json,
    iso,
    make_point,
    parse_datetime,
    parse_duration,
    parse_time,
    to_json,
)

NANO = 1_000_000_000


def _zones() -> st.SearchStrategy[datetime.tzinfo]:
    minutes = st.integers(-18 * 60, 18 * 60)
    return minutes.map(lambda m: datetime.timezone(datetime.timedelta(minutes=m)))


def _dates() -> st.SearchStrategy[Date]:
    return st.dates().map(lambda d: Date(d.year, d.month, d.day))


def _times() -> st.SearchStrategy[Time]:
    return st.builds(
        Time,
        st.integers(0, 23),
        st.integers(0, 59),
        st.integers(0, 59),
        st.integers(0, NANO - 1),
        st.none() | _zones(),
    )


def _datetimes() -> st.SearchStrategy[DateTime]:
    return st.builds(
        lambda d, t: DateTime(
            d.year, d.month, d.day, t.hour, t.minute, t.second, t.nanosecond, t.tzinfo
        ),
        _dates(),
        _times(),
    )


def _durations() -> st.SearchStrategy[Duration]:
    part = st.integers(-(10**9), 10**9)
    return st.builds(
        lambda m, d, s, n: Duration(months=m, days=d, seconds=s, nanoseconds=n),
        st.integers(-1200, 1200),
        part,
        part,
        st.integers(-NANO, NANO),
    )


def _points() -> st.SearchStrategy[Point]:
    number = st.floats(allow_nan=False)
    two = st.tuples(st.sampled_from([4326, 7203]), st.lists(number, min_size=2, max_size=2))
    three = st.tuples(st.sampled_from([4979, 9157]), st.lists(number, min_size=3, max_size=3))
    return (two | three).map(lambda pair: make_point(*pair))


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | _dates()
    | _times()
    | _datetimes()
    | _durations()
    | _points()
    | st.builds(VectorValue, st.just("i8"), st.lists(st.integers(-128, 127)).map(tuple))
    | st.builds(Unreadable, st.text(min_size=1))
)
KEYS = st.text() | st.sampled_from(["$date", "$map", "$node"])
PROPERTIES = st.dictionaries(KEYS, SCALARS | st.lists(SCALARS, max_size=3), max_size=3)
NODES = st.builds(NodeValue, st.text(), st.frozensets(st.text()), PROPERTIES)
LINKS = st.builds(RelationshipValue, st.text(), st.text(), st.text(), st.text(), PROPERTIES)
PATHS = st.builds(
    PathValue, st.lists(NODES, max_size=2).map(tuple), st.lists(LINKS, max_size=2).map(tuple)
)
VALUES = st.recursive(
    SCALARS | NODES | LINKS | PATHS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=60)
@given(VALUES)
def test_json_out_and_back_loses_nothing(value: Any) -> None:
    text = json.dumps(to_json(value), allow_nan=False, sort_keys=True)
    back = from_json(json.loads(text))
    assert back == value
    assert type(back) is type(value) or isinstance(value, Point)
    assert json.dumps(to_json(back), allow_nan=False, sort_keys=True) == text


@settings(deadline=None, max_examples=60)
@given(VALUES, st.integers(1, 60))
def test_display_is_short_and_never_fails(value: Any, limit: int) -> None:
    assert len(display(value, limit)) <= limit


@settings(deadline=None, max_examples=60)
@given(_datetimes())
def test_zone_and_nanoseconds_survive(value: DateTime) -> None:
    back = from_json(to_json(value))
    assert back.nanosecond == value.nanosecond
    assert back.utcoffset() == value.utcoffset()


@pytest.mark.parametrize(
    ("value", "data"),
    [
        # The tags of the neutral files, as Neo4j's own export writes them.
        (Date(2020, 2, 29), {"$date": "2020-02-29"}),
        (Duration(days=1), {"$duration": "P1D"}),
        (Duration(months=1, days=2, seconds=3, nanoseconds=4), {"$duration": "P1M2DT3.000000004S"}),
        (Duration(months=-14), {"$duration": "P-1Y-2M"}),
        (Duration(seconds=-1, nanoseconds=-500_000_000), {"$duration": "PT-1.5S"}),
        (Duration(), {"$duration": "PT0S"}),
        (float("nan"), {"$float": "NaN"}),
        (float("-inf"), {"$float": "-Infinity"}),
        (b"\x00\xff\x7f", {"$bytes": "AP9/"}),
        (CartesianPoint((1, 2)), {"$point": {"srid": 7203, "coordinates": [1.0, 2.0]}}),
        (WGS84Point((1, 2, 3)), {"$point": {"srid": 4979, "coordinates": [1.0, 2.0, 3.0]}}),
        ({"$date": "x"}, {"$map": {"$date": "x"}}),
        ({"b": 1, "a": None}, {"a": None, "b": 1}),
        (VectorValue("f32", (1.0, 2.5)), {"$vector": {"element": "f32", "values": [1.0, 2.5]}}),
    ],
)
def test_tags(value: Any, data: Any) -> None:
    assert to_json(value) == data


def test_neutral_files_of_other_tools_are_read() -> None:
    full = from_json({"$datetime": "2020-05-04T21:54:12.000000000+00:00"})
    assert full == DateTime(2020, 5, 4, 21, 54, 12, tzinfo=pytz.utc)
    assert from_json({"$localdatetime": "2020-05-04T21:54:12.5"}).nanosecond == 500_000_000
    assert from_json({"$time": "10:00:00Z"}).utcoffset() == datetime.timedelta(0)
    assert from_json({"$localtime": "10:00"}) == Time(10, 0)
    assert from_json({"$duration": "P1Y2M3W4DT5H6M7.008S"}) == Duration(
        months=14, days=25, seconds=5 * 3600 + 6 * 60 + 7, nanoseconds=8_000_000
    )


def test_named_zone_and_the_hour_that_occurs_twice() -> None:
    berlin = pytz.timezone("Europe/Berlin")
    for is_dst in (True, False):
        moment = berlin.localize(DateTime(2026, 10, 25, 2, 30), is_dst=is_dst)
        back = from_json(to_json(moment))
        assert back == moment
        assert str(back.tzinfo) == "Europe/Berlin"
    assert iso(berlin.localize(DateTime(2026, 1, 1))) == "2026-01-01T00:00:00+01:00[Europe/Berlin]"
    with pytest.raises(ValueError, match="no offset"):
        parse_datetime("2026-01-01T00:00:00+05:00[Europe/Berlin]")


def test_nan_comes_back_as_nan() -> None:
    assert math.isnan(from_json(to_json(float("nan"))))


def test_point_is_no_list_and_a_month_is_not_thirty_days() -> None:
    point = CartesianPoint((1.0, 2.0))
    assert to_json(point) != to_json([1.0, 2.0])
    assert not same_value(point, [1.0, 2.0])
    assert not same_value(point, WGS84Point((1.0, 2.0)))
    assert not same_value(Duration(months=1), Duration(days=30))
    assert not same_value(Duration(days=1), Duration(hours=24))
    assert not same_value(VectorValue("f32", (1.0,)), VectorValue("f64", (1.0,)))


def test_python_dates_from_yaml_become_cypher_values() -> None:
    assert to_json(datetime.date(2020, 1, 2)) == {"$date": "2020-01-02"}
    assert to_json(datetime.datetime(2020, 1, 2, 3, 4, 5, 6)) == {
        "$localdatetime": "2020-01-02T03:04:05.000006"
    }
    assert to_json(datetime.timedelta(days=1, seconds=2)) == {"$duration": "P1DT2S"}


@pytest.mark.parametrize(
    "data",
    [
        {"$date": "2020-13-01"},
        {"$date": "yesterday"},
        {"$duration": "P"},
        {"$duration": "P1DT"},
        {"$duration": 5},
        {"$point": {"srid": 4326, "coordinates": [1]}},
        {"$point": [1, 2]},
        {"$bytes": "not base64!"},
        {"$float": "1.5"},
        {"$node": {"id": "1"}},
        {"$nonsense": 1},
    ],
)
def test_broken_tags_are_named(data: Any) -> None:
    with pytest.raises(InputError) as caught:
        from_json(data)
    assert next(iter(data)) in str(caught.value)


def test_no_python_object_slips_through() -> None:
    with pytest.raises(TypeError):
        to_json(object())


@pytest.mark.parametrize("text", ["P", "PT", "-P", "P1", "1D", "P1H", ""])
def test_nonsense_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError):
        parse_duration(text)


def test_signs_of_durations() -> None:
    assert parse_duration("-P1DT2S") == Duration(days=-1, seconds=-2)
    assert parse_duration("PT-0.5S") == Duration(nanoseconds=-500_000_000)
    assert iso(parse_duration("PT-0.5S")) == "PT-0.5S"
    assert parse_time("10:00:00-05:30").utcoffset() == datetime.timedelta(hours=-5, minutes=-30)


def test_embeddings_are_elided_for_people() -> None:
    node = NodeValue("1", frozenset({"Movie", "Old Film"}), {"e": [0.1] * 1536, "name": "A"})
    assert display(node) == '(:Movie:`Old Film` {e: <vector 1536>, name: "A"})'
    assert display([1, 2, 3]) == "[1, 2, 3]"
    assert display(["x"] * 30, 20) == '["x", "x", "x", "x"…'


def test_display_of_entities_and_times() -> None:
    a = NodeValue("1", frozenset({"A"}))
    b = NodeValue("2", frozenset({"B"}))
    link = RelationshipValue("9", "KNOWS", "2", "1", {"since": Date(2020, 1, 2)})
    assert display(link) == "[:KNOWS {since: 2020-01-02}]"
    assert display(PathValue((a, b), (link,))) == "(:A)<-[:KNOWS {since: 2020-01-02}]-(:B)"
    assert display("plain [text]") == "plain [text]"
    assert display(None) == "null"
    assert display({"a b": True}) == "{`a b`: true}"
    assert display(b"abc") == "<3 bytes>"
