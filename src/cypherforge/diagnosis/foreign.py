"""What a draft takes from another language, or from an older Cypher, though it parses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cypherforge.cypher import ast
from cypherforge.cypher.edits import Edit
from cypherforge.cypher.names import quote_name

# Functions of SQL and of other query languages, by what Cypher calls them; None: nothing so simple.
_FUNCTIONS: dict[str, str | None] = {
    "array_agg": "collect",
    "average": "avg",
    "concat": None,
    "date_part": None,
    "datediff": None,
    "distinct": None,
    "extract": None,
    "getdate": "date",
    "group_concat": "collect",
    "if": None,
    "iif": None,
    "ifnull": "coalesce",
    "instr": None,
    "isnull": "coalesce",
    "lcase": "toLower",
    "len": "size",
    "listagg": "collect",
    "mean": "avg",
    "median": None,
    "now": "datetime",
    "nvl": "coalesce",
    "rank": None,
    "row_number": None,
    "string_agg": "collect",
    "strlen": "size",
    "substr": "substring",
    "to_char": "toString",
    "to_date": "date",
    "ucase": "toUpper",
}
# Written as functions elsewhere, components of a value in Cypher.
_COMPONENTS = frozenset(["day", "hour", "minute", "month", "quarter", "second", "week", "year"])


@dataclass(frozen=True, slots=True)
class Foreign:
    """A foreign word: its place, what is wrong, and the edits that say the same in Cypher."""

    span: tuple[int, int]
    reason: str
    edits: tuple[Edit, ...] | None
    code: str = "syntax.dialect"


def foreign_parts(query: ast.Query) -> Iterator[Foreign]:
    """Yield everything that parses but that Neo4j 5 does not know."""
    text = query.text
    for node in query.walk():
        if isinstance(node, ast.FunctionCall):
            yield from _function(text, node)
        elif isinstance(node, ast.Binary) and node.op == "!=":
            place = text.index("!=", node.left.span[1])
            edit = Edit(place, place + 2, "<>")
            yield Foreign(node.span, "!= is not Cypher; <> is", (edit,))
        elif isinstance(node, ast.Parameter) and node.old_style:
            edit = Edit(*node.span, f"${quote_name(node.name)}")
            yield Foreign(node.span, f"{{{node.name}}} is an old parameter", (edit,))


def _function(text: str, node: ast.FunctionCall) -> Iterator[Foreign]:
    name = node.lower_name
    if name in _FUNCTIONS:
        known = _FUNCTIONS[name]
        edits = (Edit(*node.name_span, known),) if known is not None else None
        instead = f"; {known} is" if known else ""
        yield Foreign(node.span, f"{node.name} is no function of Cypher{instead}", edits)
    elif name in _COMPONENTS and len(node.args) == 1:
        inner = text[slice(*node.args[0].span)]
        edit = Edit(*node.span, f"{inner}.{name}")
        yield Foreign(node.span, f"{node.name}() is no function; .{name} is a component", (edit,))
    elif name == "exists" and node.args and isinstance(node.args[0], ast.PropertyAccess):
        inner = text[slice(*node.args[0].span)]
        edit = Edit(*node.span, f"{inner} IS NOT NULL")
        yield Foreign(node.span, "exists(property) is gone; IS NOT NULL says it", (edit,))
    elif name == "size" and node.args and isinstance(node.args[0], ast.PatternExpression):
        inner = text[slice(*node.args[0].span)]
        edit = Edit(*node.span, f"COUNT {{ {inner} }}")
        yield Foreign(node.span, "size(pattern) is gone; COUNT { } counts", (edit,))


def slips(query: ast.Query) -> Iterator[Foreign]:
    """Yield what parses as a tree but that no database takes for a query, with its edits."""
    clauses = query.body.clauses if isinstance(query.body, ast.SingleQuery) else []
    last = clauses[-1] if clauses else None
    if isinstance(last, ast.With) and last.where is None:
        start = last.span[0]
        edit = Edit(start, start + len("WITH"), "RETURN")
        yield Foreign(last.span, "a query cannot end with WITH", (edit,))
    elif isinstance(last, ast.Match):
        yield Foreign(last.span, "a query has to RETURN something", None)
    else:
        yield from _unaliased(query)


def _unaliased(query: ast.Query) -> Iterator[Foreign]:
    """Yield expressions that a WITH carries without AS, with the edits that name them."""
    taken = {node.name for node in query.walk() if isinstance(node, ast.Variable)}
    for clause in query.walk():
        if not isinstance(clause, ast.With):
            continue
        for item in clause.items:
            if item.alias is not None or isinstance(item.expression, ast.Variable):
                continue
            alias = _alias(item.expression, taken)
            taken.add(alias)
            edits = [Edit(item.span[1], item.span[1], f" AS {quote_name(alias)}")]
            for later in query.walk():
                if later.span[0] >= clause.span[1] and later == item.expression:
                    edits.append(Edit(*later.span, quote_name(alias)))
            yield Foreign(item.span, "an expression in WITH needs AS", tuple(edits))


def _alias(expression: ast.Expression, taken: set[str]) -> str:
    base = "value"
    if isinstance(expression, ast.PropertyAccess):
        base = expression.key.name
    elif isinstance(expression, ast.FunctionCall):
        base = expression.lower_name.rsplit(".", 1)[-1]
    name, number = base, 2
    while name in taken:
        name, number = f"{base}{number}", number + 1
    return name
