"""Values of another type than the property they meet, and durations asked for in a unit.

Cypher compares values of different types to null and keeps silent, so ``dob < '1975-01-01'`` finds
nothing where ``dob`` is a date. The type that the schema has for the property settles the form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Bindings, resolve
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_string
from cypherforge.graph.schema import Schema
from cypherforge.runtime.fixes import OnTree

_COMPARING = frozenset(["=", "<>", "<", "<=", ">", ">="])
_TURNED = frozenset(["=", "<>"])
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_PERIOD = re.compile(r"P(?=.)[\dYMWDT.HS]*")
_ZONED = frozenset(["DATE_TIME", "ZONED_DATETIME"])
_LOCAL = frozenset(["LOCAL_DATE_TIME", "LOCAL_DATETIME"])
#: Whole numbers that stand for a year.
_YEARS = range(1000, 3000)
_UNIT = re.compile(
    r"\b(?:in|of|as)\s+(?:total\s+)?(seconds|minutes|hours|days|weeks|months|years)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class FixTypes(OnTree):
    """A literal written as its property's type is compared; a year compared with a year.

    Dates and moments in quotes, numbers in quotes, codes without quotes, a moment against a day, a
    duration against a number (of seconds, what ``.seconds`` counts), a date against a year.
    """

    schema: Schema
    name = "types"

    def changes(self, query: ast.Query) -> Iterator[tuple[list[Edit], str]]:
        """See ``OnTree.changes``."""
        bindings = resolve(query)
        for node in query.walk():
            if isinstance(node, ast.Binary) and node.op in _COMPARING:
                for one, other in ((node.left, node.right), (node.right, node.left)):
                    kind = type_of(self.schema, bindings, one)
                    if kind:
                        yield from self.compared(query, one, kind, other, node.op)
            elif isinstance(node, ast.NodePattern | ast.RelationshipPattern):
                yield from self.mapped(query, bindings, node)

    def compared(
        self, query: ast.Query, read: ast.Expression, kind: str, value: ast.Expression, op: str
    ) -> Iterator[tuple[list[Edit], str]]:
        """The edits of one comparison; none where the types meet."""
        name = query.text[slice(*read.span)]
        written = _written(kind, value, op)
        if written is not None:
            yield [Edit(*value.span, written)], f"{name} is {kind}: {written}"
        elif kind == "DATE" or kind in _ZONED or kind in _LOCAL:
            if isinstance(value, ast.IntegerLiteral) and value.value in _YEARS:
                end = read.span[1]
                yield [Edit(end, end, ".year")], f"{name} is {kind}: its year is compared"
            elif kind != "DATE" and not _moment(value) and (day := _day(value)) is not None:
                edits = [Edit(*read.span, f"date({name})"), Edit(*value.span, day)]
                yield edits, f"{name} is {kind}: its day is compared"
        elif kind == "DURATION" and isinstance(value, ast.IntegerLiteral | ast.FloatLiteral):
            end = read.span[1]
            yield [Edit(end, end, ".seconds")], f"{name} is a duration: its seconds are compared"

    def mapped(
        self, query: ast.Query, bindings: Bindings, node: ast.NodePattern | ast.RelationshipPattern
    ) -> Iterator[tuple[list[Edit], str]]:
        """The entries of an inline map."""
        entity = bindings.of(node)
        if entity is None or not isinstance(node.properties, ast.MapLiteral):
            return
        for entry in node.properties.entries:
            kind = _declared(self.schema, entity.kind, entity.names, entry.key.name)
            written = _written(kind, entry.value, "=") if kind else None
            if written is not None:
                note = f"{entry.key.name} is {kind}: {written}"
                yield [Edit(*entry.value.span, written)], note


@dataclass(frozen=True)
class FixUnits(OnTree):
    """Durations read in the unit that the question asks for: ``avg(v.duration.seconds)``.

    Only for a question that says "in seconds" or another unit; a component that the query takes
    itself stays. Factors such as ``* 1000`` around the duration go.
    """

    schema: Schema
    question: str
    name = "units"

    def changes(self, query: ast.Query) -> Iterator[tuple[list[Edit], str]]:
        """See ``OnTree.changes``."""
        asked = _UNIT.search(self.question)
        if asked is None:
            return
        unit = asked[1].lower()
        bindings = resolve(query)
        parents = {id(child): node for node in query.walk() for child in node.children()}
        for node in query.walk():
            if type_of(self.schema, bindings, node) != "DURATION":
                continue
            parent = parents.get(id(node))
            if isinstance(parent, ast.PropertyAccess) or _met(parent, node):
                continue
            read = f"{query.text[slice(*node.span)]}.{unit}"
            edits = [Edit(*node.span, read)]
            whole = parent if isinstance(parent, ast.FunctionCall) else node
            around = parents.get(id(whole))
            if isinstance(around, ast.Binary) and around.op in ("*", "/") and around.left is whole:
                if isinstance(around.right, ast.IntegerLiteral | ast.FloatLiteral):
                    edits.append(Edit(whole.span[1], around.span[1], ""))
            yield edits, f"the question asks for {unit}: {read}"


def type_of(schema: Schema, bindings: Bindings, node: ast.Node) -> str:
    """The one type that a property read from a variable is declared with; "" if none or several."""
    if not isinstance(node, ast.PropertyAccess) or not isinstance(node.subject, ast.Variable):
        return ""
    entity = bindings.of(node.subject)
    if entity is None:
        return ""
    return _declared(schema, entity.kind, entity.names, node.key.name)


def _declared(schema: Schema, kind: str, names: frozenset[str], key: str) -> str:
    if kind not in ("node", "relationship"):
        return ""
    known = schema.type_property_of if kind == "relationship" else schema.property_of
    found = {item.type for name in names if (item := known(name, key)) is not None}
    return found.pop() if len(found) == 1 else ""


def _written(kind: str, value: ast.Expression, op: str) -> str | None:
    """A literal as its property's type is written; None where it stands as it should."""
    if isinstance(value, ast.StringLiteral):
        text = value.value
        if kind in ("INTEGER", "FLOAT") and _NUMBER.fullmatch(text):
            return text
        if kind == "DATE" and _DAY.fullmatch(text):
            return f"date({quote_string(text)})"
        if _MOMENT.fullmatch(text):
            if kind in _ZONED:
                return f"datetime({quote_string(text.replace(' ', 'T'))})"
            if kind in _LOCAL:
                return f"localdatetime({quote_string(text.replace(' ', 'T'))})"
        if kind == "DURATION" and _PERIOD.fullmatch(text):
            return f"duration({quote_string(text)})"
    elif isinstance(value, ast.IntegerLiteral) and kind == "STRING" and op in _TURNED:
        return quote_string(str(value.value))
    elif kind == "DATE" and isinstance(value, ast.FunctionCall):
        day = _day(value)
        return day if day is not None and value.lower_name != "date" else None
    return None


def _moment(value: ast.Expression) -> bool:
    """Whether a value is a moment already, which a moment is compared with as it is."""
    return isinstance(value, ast.FunctionCall) and value.lower_name != "date"


def _day(value: ast.Expression) -> str | None:
    """``date('2020-04-16')`` for a day in quotes, or in one of the functions of moments."""
    if isinstance(value, ast.FunctionCall) and value.lower_name in (
        "date",
        "datetime",
        "localdatetime",
    ):
        if len(value.args) != 1:
            return None
        value = value.args[0]
    if isinstance(value, ast.StringLiteral) and _DAY.fullmatch(value.value):
        return f"date({quote_string(value.value)})"
    return None


def _met(parent: ast.Node | None, node: ast.Node) -> bool:
    """Whether a duration is compared with something that is a duration too."""
    if not isinstance(parent, ast.Binary) or parent.op not in _COMPARING:
        return isinstance(parent, ast.IsNull)
    other = parent.right if parent.left is node else parent.left
    return not isinstance(other, ast.IntegerLiteral | ast.FloatLiteral)
