"""Functions, components and comparisons that ArcadeDB computes otherwise than Neo4j.

Rewrites like those of ``embedded_rewrites``; they need to know the types of expressions.
"""

from __future__ import annotations

from collections.abc import Callable

from cypherforge.core.errors import NotSupported, QueryRuntimeError
from cypherforge.cypher import ast
from cypherforge.cypher.edits import Edit
from cypherforge.graph.embedded_kinds import TEMPORAL, Facts
from cypherforge.graph.embedded_look import Look, look_at

_CLOCKED = frozenset({"DATE_TIME", "LOCAL_DATE_TIME", "TIME", "LOCAL_TIME"})
_DURATION = frozenset({"DURATION"})
_ORDERED = frozenset({"<", "<=", ">", ">="})

_DATE_FIELDS = (
    "year quarter month week weekYear day ordinalDay weekDay dayOfWeek dayOfQuarter".split()
)
_TIME_FIELDS = "hour minute second millisecond microsecond nanosecond".split()
_ZONE_FIELDS = "timezone offset offsetMinutes offsetSeconds".split()
_DURATION_FIELDS = (
    "years quarters quartersOfYear months monthsOfYear monthsOfQuarter weeks days daysOfWeek hours "
    "minutes minutesOfHour seconds secondsOfMinute milliseconds millisecondsOfSecond microseconds "
    "microsecondsOfSecond nanoseconds nanosecondsOfSecond"
).split()
_EPOCH = ["epochMillis", "epochSeconds"]
_FIELDS: dict[str, list[str]] = {
    "DATE": _DATE_FIELDS,
    "TIME": _TIME_FIELDS + _ZONE_FIELDS,
    "LOCAL_TIME": _TIME_FIELDS,
    "DATE_TIME": _DATE_FIELDS + _TIME_FIELDS + _ZONE_FIELDS + _EPOCH,
    "LOCAL_DATE_TIME": _DATE_FIELDS + _TIME_FIELDS,
    "DURATION": _DURATION_FIELDS,
}
_SPELLING = {name.lower(): name for names in _FIELDS.values() for name in names}

# Neo4j takes the radius at the equator, ArcadeDB the mean one.
_NEO4J_RADIUS = 6378140.0
_ARCADE_RADIUS = 6371000.0


def innermost(edits: list[Edit]) -> list[Edit]:
    """Of edits that hold one another only the innermost: the others' turn comes afterwards."""
    kept: list[Edit] = []
    for edit in sorted(edits, key=lambda e: (e.end - e.start, e.start)):
        if not any(edit.start <= k.start and k.end <= edit.end for k in kept):
            kept.append(edit)
    return kept


def numbers(query: ast.Query, facts: Facts) -> list[Edit]:
    """``1_000`` as ``1000``: ArcadeDB reads no digit groups."""
    look = look_at(query, facts)
    written: list[ast.IntegerLiteral | ast.FloatLiteral] = [
        *look.of(ast.IntegerLiteral),
        *look.of(ast.FloatLiteral),
    ]
    return [Edit(*n.span, repr(n.value)) for n in written if "_" in look.source(n)]


def components(query: ast.Query, facts: Facts) -> list[Edit]:
    """``d.Year`` as ``d.year``: Neo4j ignores case there, ArcadeDB gives null.

    A component that the type does not have is an error in Neo4j, and null in ArcadeDB.
    """
    look = look_at(query, facts)
    edits = []
    written = {entry.key.name for entry in look.of(ast.MapEntry)}
    for node in look.of(ast.PropertyAccess):
        key = node.key.name
        kinds = look.kinds.of(node.subject)
        if kinds and kinds <= TEMPORAL:
            known = {name.lower() for kind in kinds for name in _FIELDS[kind]}
            if key.lower() not in known:
                raise QueryRuntimeError(
                    f"no such field: {key}", where=look.source(node), hint="see the temporal types"
                )
        elif kinds is not None or key in facts.keys or key in written:
            continue
        right = _SPELLING.get(key.lower(), key)
        if right != key:
            edits.append(Edit(*node.key.span, right))
    return edits


def duration_order(query: ast.Query, facts: Facts) -> list[Edit]:
    """``<`` between durations is null in Neo4j, which gives them no order outside ORDER BY."""
    look = look_at(query, facts)
    edits = []
    guarded = {
        id(node.default)
        for node in look.of(ast.Case)
        if "STARTS WITH 'DURATION'" in look.source(node)
    }
    compared: list[tuple[ast.Expression, list[ast.Expression]]] = [
        *((n, [n.left, n.right]) for n in look.of(ast.Binary) if n.op in _ORDERED),
        *((n, n.operands) for n in look.of(ast.Comparison) if _ORDERED & set(n.ops)),
    ]
    for node, sides in compared:
        if id(node) in guarded:
            continue
        if any(look.kinds.is_only(side, _DURATION) for side in sides):
            edits.append(Edit(*node.span, "(null = true)"))
        elif all(look.kinds.may_be(s, _DURATION) for s in sides) and _has_durations(look, facts):
            # Only the value itself tells.
            test = f"valueType({look.source(sides[0])}) STARTS WITH 'DURATION'"
            text = f"(CASE WHEN {test} THEN null ELSE {look.source(node)} END)"
            edits.append(Edit(*node.span, text))
    return innermost(edits)


def _has_durations(look: Look, facts: Facts) -> bool:
    return any("DURATION" in kinds for kinds in facts.kinds.values()) or any(
        call.lower_name.startswith("duration") for call in look.of(ast.FunctionCall)
    )


def duration_aggregates(query: ast.Query, facts: Facts) -> list[Edit]:
    """``sum`` and ``avg`` of durations, which ArcadeDB refuses, component by component."""
    look = look_at(query, facts)
    edits = []
    for call in look.calls("sum", "avg"):
        if call.distinct or len(call.args) != 1 or not look.kinds.is_only(call.args[0], _DURATION):
            continue
        inner, name = look.source(call.args[0]), call.lower_name
        parts = ", ".join(
            f"{unit}: {name}(({inner}).{field})"
            for unit, field in (
                ("months", "months"),
                ("days", "days"),
                ("seconds", "seconds"),
                ("nanoseconds", "nanosecondsOfSecond"),
            )
        )
        none = "0" if name == "sum" else "null"
        edits.append(
            Edit(
                *call.span, f"CASE count({inner}) WHEN 0 THEN {none} ELSE duration({{{parts}}}) END"
            )
        )
    return innermost(edits)


def texts(query: ast.Query, facts: Facts) -> list[Edit]:
    """``toString`` of a time of day: ArcadeDB leaves out seconds that are 0 and pads fractions."""
    look = look_at(query, facts)
    edits = []
    clocked = any(kinds & _CLOCKED for kinds in facts.kinds.values()) or any(
        call.lower_name.partition(".")[0] in ("datetime", "localdatetime", "time", "localtime")
        for call in look.of(ast.FunctionCall)
    )
    for call in look.calls("tostring", "tostringornull"):
        if len(call.args) != 1 or not clocked or not look.kinds.may_be(call.args[0], _CLOCKED):
            continue
        kinds = look.kinds.of(call.args[0])
        if kinds is None or len(kinds) != 1:
            raise NotSupported(
                f"`{look.source(call)}` of what may be a time is not supported on the embedded "
                "graph, use Neo4j",
                hint="apply toString to one known type",
            )
        (kind,) = kinds
        edits.append(Edit(*call.span, _clock_text(f"({look.source(call.args[0])})", kind)))
    return innermost(edits)


def _clock_text(value: str, kind: str) -> str:
    def two(field: str) -> str:
        return f"right('0' + toString({value}.{field}), 2)"

    text = f"{two('hour')} + ':' + {two('minute')} + ':' + {two('second')}"
    text += (
        f" + CASE {value}.nanosecond WHEN 0 THEN '' ELSE '.' + "
        f"rtrim(right('00000000' + toString({value}.nanosecond), 9), '0') END"
    )
    if kind in ("DATE_TIME", "LOCAL_DATE_TIME"):
        text = f"toString(date({value})) + 'T' + {text}"
    if kind in ("DATE_TIME", "TIME"):
        text += f" + {value}.offset"
    if kind == "DATE_TIME":
        text += (
            f" + CASE WHEN {value}.timezone = {value}.offset OR {value}.timezone IN "
            f"['Z', 'UTC', 'Etc/UTC'] THEN '' ELSE '[' + {value}.timezone + ']' END"
        )
    return f"({text})"


def casts(query: ast.Query, facts: Facts) -> list[Edit]:
    """``toInteger(' 12 ')`` is null in Neo4j, ``toBoolean(' true ')`` true: blanks, the other way."""
    look = look_at(query, facts)
    edits = []
    for call in look.calls("tointeger", "tointegerornull", "toboolean", "tobooleanornull"):
        if len(call.args) != 1 or not look.kinds.may_be(call.args[0], frozenset({"STRING"})):
            continue
        inner = f"({look.source(call.args[0])})"
        if inner.startswith("(CASE WHEN valueType("):
            continue
        if call.lower_name.startswith("tobool"):
            wanted = f"(CASE WHEN valueType({inner}) STARTS WITH 'STRING' THEN trim({inner}) ELSE {inner} END)"
        else:
            wanted = (
                f"(CASE WHEN valueType({inner}) STARTS WITH 'STRING' AND trim({inner}) <> {inner} "
                f"THEN null ELSE {inner} END)"
            )
        edits.append(Edit(*call.args[0].span, wanted))
    return innermost(edits)


def distances(query: ast.Query, facts: Facts) -> list[Edit]:
    """``point.distance`` on the globe: the two take another radius, and Neo4j minds the height."""
    look = look_at(query, facts)
    named = {entry.key.name.lower() for entry in look.of(ast.MapEntry)}
    if not facts.geographic and not named & {"longitude", "latitude", "crs", "srid"}:
        return []
    edits = []
    for call in look.calls("point.distance"):
        if len(call.args) != 2:
            continue
        a, b = (f"({look.source(arg)})" for arg in call.args)
        if a.startswith("(CASE WHEN true"):
            continue
        plain = f"point.distance((CASE WHEN true THEN {a} END), {b})"
        flat = f"{plain} * {_NEO4J_RADIUS / _ARCADE_RADIUS!r}"
        scale = f"({_NEO4J_RADIUS} + ({a}.height + {b}.height) / 2.0) / {_NEO4J_RADIUS}"
        deep = f"sqrt(({flat} * {scale}) ^ 2 + ({a}.height - {b}.height) ^ 2)"
        edits.append(
            Edit(
                *call.span,
                f"(CASE {a}.srid WHEN 4326 THEN {flat} WHEN 4979 THEN {deep} ELSE {plain} END)",
            )
        )
    return innermost(edits)


def refusals(query: ast.Query, facts: Facts) -> list[Edit]:
    """What has no equal form, and what Neo4j refuses while it runs."""
    look = look_at(query, facts)
    lists = any("LIST" in k for kinds in facts.kinds.values() for k in kinds)
    for call in look.of(ast.FunctionCall):
        name, args = call.lower_name, call.args
        why = None
        if name == "valuetype" and look.kinds.may_be(args[0], frozenset({"LIST"})):
            kinds = look.kinds.of(args[0])
            why = "valueType() of a list" if kinds is not None or lists else None
        elif name == "round" and len(args) > 1 and not isinstance(args[1], ast.IntegerLiteral):
            why = "round() with a precision that is no literal"
        elif name == "split" and len(args) > 1 and look.kinds.is_only(args[1], frozenset({"LIST"})):
            why = "split() at several separators"
        elif name == "datetime" and args and look.kinds.is_only(args[0], frozenset({"DATE"})):
            raise QueryRuntimeError("cannot select a datetime from a date", where=look.source(call))
        if why is not None:
            raise NotSupported(
                f"{why} is not supported on the embedded graph, use Neo4j", where=look.source(call)
            )
    return []


FUNCTION_REWRITES: tuple[Callable[[ast.Query, Facts], list[Edit]], ...] = (
    refusals,
    numbers,
    components,
    duration_order,
    duration_aggregates,
    texts,
    casts,
    distances,
)
