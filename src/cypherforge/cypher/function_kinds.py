"""What Cypher's built-in functions do, by kind; names in lower case."""

from __future__ import annotations

AGGREGATES = frozenset(
    [
        "count",
        "sum",
        "avg",
        "min",
        "max",
        "collect",
        "stdev",
        "stdevp",
        "percentilecont",
        "percentiledisc",
    ]
)

#: Keys that select a component of a temporal value, lower case.
TEMPORAL_COMPONENTS = frozenset(
    [
        "year",
        "quarter",
        "month",
        "week",
        "weekyear",
        "day",
        "ordinalday",
        "weekday",
        "dayofweek",
        "dayofquarter",
        "hour",
        "minute",
        "second",
        "millisecond",
        "microsecond",
        "nanosecond",
        "timezone",
        "offset",
        "epochmillis",
        "epochseconds",
        "quarters",
        "years",
        "months",
        "weeks",
        "days",
        "hours",
        "minutes",
        "seconds",
        "milliseconds",
    ]
)

_KINDS = {
    "string function": (
        "tolower toupper lower upper trim ltrim rtrim btrim substring left right replace split "
        "reverse normalize char_length character_length"
    ),
    "temporal function": (
        "date datetime localdatetime time localtime duration timestamp date.truncate "
        "datetime.truncate localdatetime.truncate time.truncate localtime.truncate date.realtime "
        "date.transaction date.statement datetime.fromepoch datetime.fromepochmillis "
        "datetime.realtime datetime.transaction datetime.statement duration.between "
        "duration.inmonths duration.indays duration.inseconds duration_between"
    ),
    "math function": (
        "abs ceil ceiling floor round sign sqrt exp log log10 ln pi e sin cos tan cot asin acos "
        "atan atan2 degrees radians haversin rand isnan power"
    ),
    "conversion": (
        "tointeger toint tofloat tostring toboolean tointegerornull tofloatornull "
        "tostringornull tobooleanornull tointegerlist tofloatlist tostringlist tobooleanlist"
    ),
    "null function": "coalesce nullif",
    "entity function": (
        "labels type id elementid properties keys startnode endnode graph.names exists"
    ),
    "path function": "nodes relationships rels length shortestpath allshortestpaths",
    "list function": "size head last tail range isempty",
    "spatial function": "point point.distance distance point.withinbbox",
    "vector function": (
        "vector.similarity.cosine vector.similarity.euclidean vector_distance vector_norm"
    ),
}

FUNCTION_KIND: dict[str, str] = {
    name: kind for kind, names in _KINDS.items() for name in names.split()
}
"""Function name in lower case to its kind; absent for functions of libraries."""

LIST_FUNCTIONS = frozenset(
    [
        "labels",
        "keys",
        "nodes",
        "relationships",
        "rels",
        "range",
        "split",
        "tail",
        "tointegerlist",
        "tofloatlist",
        "tostringlist",
        "tobooleanlist",
    ]
)
BOOLEAN_FUNCTIONS = frozenset(
    ["exists", "isempty", "isnan", "toboolean", "tobooleanornull", "point.withinbbox"]
)
ENTITY_FUNCTIONS = frozenset(("startnode", "endnode"))
COUNTING_FUNCTIONS = frozenset(["size", "length", "char_length", "character_length"])

WORD_ARGUMENTS = {
    "normalize": 1,
    "property_exists": 1,
    "vector": 2,
    "vector_distance": 2,
    "vector_norm": 1,
}
"""Which argument of a function is a word: ``normalize(s, NFC)``. The tree has it as a variable."""
