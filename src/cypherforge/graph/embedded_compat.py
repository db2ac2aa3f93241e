"""What stands between a query and ArcadeDB, so that it answers as Neo4j does or says that it can't.

ArcadeDB takes most of Cypher and answers most of it right. Where it does not, it often gives other
rows instead of an error. So every query is read by our own parser first:

* what Neo4j refuses is refused here: syntax, unknown functions, types that do not fit, scopes;
* writes, server commands and procedures it lacks are refused by name;
* forms it answers wrongly are rewritten to equal ones it answers right (``embedded_rewrites``);
* the rest of what it gets wrong is ``NotSupported``.

The differences were found by running 10,795 real queries, openCypher's conformance kit and some 600
expressions on both engines: ``benchmarks/embedded_agreement.py``, ``tests/test_graph_embedded.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from cypherforge.core.errors import NotSupported, QueryRefused, QuerySyntaxError
from cypherforge.cypher import ast
from cypherforge.cypher.analysis import analyse
from cypherforge.cypher.edits import Edit, apply_edits
from cypherforge.cypher.errors import CypherSyntaxError
from cypherforge.cypher.names import quote_name, quote_string
from cypherforge.cypher.parser import parse
from cypherforge.graph.embedded_kinds import Facts
from cypherforge.graph.embedded_look import look_at
from cypherforge.graph.embedded_rewrites import REWRITES

USE_NEO4J = "not supported on the embedded graph, use Neo4j"

_ROUNDS = 8
_WRITES = (
    ast.Create,
    ast.Merge,
    ast.SetClause,
    ast.RemoveClause,
    ast.Delete,
    ast.Foreach,
)
_NAME_LISTS: dict[str, tuple[str, Callable[[Facts], tuple[str, ...]]]] = {
    "db.labels": ("label", lambda facts: facts.labels),
    "db.relationshiptypes": ("relationshipType", lambda facts: facts.types),
    "db.propertykeys": ("propertyKey", lambda facts: facts.keys),
}


@dataclass(frozen=True, slots=True)
class Adapted:
    """A query as ArcadeDB gets it.

    ``columns`` pairs the name ArcadeDB gives a column with the one Neo4j gives it; None where only
    the rows tell (``RETURN *``). ``moments`` are the calls that ``text`` has as parameters, since
    ArcadeDB would parse them for every row; ``plain`` is the text with the calls.
    """

    text: str
    columns: tuple[tuple[str, str], ...] | None
    explain: bool = False
    moments: tuple[Moment, ...] = ()
    plain: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """A call like ``date('2020-01-31')``: ``argument`` is a text, or names a parameter."""

    name: str
    function: str
    argument: str
    parameter: bool


# Kept, for a query with parameters is run many times over.
@lru_cache(maxsize=256)
def adapt(text: str, facts: Facts) -> Adapted:
    """The query to run instead. Raises ``QuerySyntaxError``, ``QueryRefused``, ``NotSupported``."""
    try:
        query = parse(text)
    except CypherSyntaxError as error:
        raise QuerySyntaxError(error.message, where=_short(text), hint=error.hint) from error
    _refuse_writes(query, facts)
    for finding in analyse(query):
        if finding.severity == "error":
            start = finding.span[0]
            line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
            raise QuerySyntaxError(
                f"{finding.message} (line {line}, column {column})",
                where=_short(text),
                code=finding.code,
            )
    _refuse_unknown(query, facts)
    explain = any(option.name == "EXPLAIN" for option in query.options)
    if query.options:
        # ArcadeDB knows no options; a plan is asked for in our own way.
        query = _changed(query, [Edit(query.span[0], query.body.span[0], "")])
    query = _changed(query, _calls_of_names(query, facts))
    columns = _columns(query)
    query = _changed(query, _named_columns(query))
    query = _changed(query, _renamed_types(query, facts, text))
    for rewrite in REWRITES:
        # A form inside another of its kind is changed in a round of its own.
        for _ in range(_ROUNDS):
            edits = rewrite(query, facts)
            if not edits:
                break
            query = _changed(query, edits)
    text, moments = _moments(query, facts)
    return Adapted(text, columns, explain, moments, query.text)


def _changed(query: ast.Query, edits: list[Edit]) -> ast.Query:
    return parse(apply_edits(query.text, edits)) if edits else query


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:119] + "…"


_MOMENTS = frozenset({"date", "datetime", "localdatetime", "time", "localtime", "duration"})


def _moments(query: ast.Query, facts: Facts) -> tuple[str, tuple[Moment, ...]]:
    """The text with temporal constructors of one constant as parameters, and what those are."""
    found: dict[tuple[str, str, bool], Moment] = {}
    edits = []
    prefix = "moment"
    while f"${prefix}" in query.text or f"$`{prefix}" in query.text:
        prefix += "_"
    for call in look_at(query, facts).calls(*_MOMENTS):
        if len(call.args) != 1:
            continue
        match call.args[0]:
            case ast.StringLiteral(value=argument):
                key = (call.lower_name, argument, False)
            case ast.Parameter(name=argument):
                key = (call.lower_name, argument, True)
            case _:
                continue
        moment = found.setdefault(key, Moment(f"{prefix}{len(found)}", *key))
        edits.append(Edit(*call.span, f"${moment.name}"))
    return apply_edits(query.text, edits), tuple(found.values())


# ---------------------------------------------------------------- refusals


def _refuse_writes(query: ast.Query, facts: Facts) -> None:
    for node in look_at(query, facts).nodes:
        if isinstance(node, _WRITES) or (isinstance(node, ast.Command) and node.writes):
            raise QueryRefused(
                "a write, on a graph that only reads",
                where=_short(query.text),
                hint="only queries that read are allowed here",
            )
        if isinstance(node, ast.LoadCsv):
            raise QueryRefused(
                "LOAD CSV reads files and addresses outside the graph", where=_short(query.text)
            )


def _refuse_unknown(query: ast.Query, facts: Facts) -> None:
    for node in look_at(query, facts).nodes:
        what = None
        if isinstance(node, ast.Command):
            what = node.verb
        elif isinstance(node, ast.UseGraph):
            what = "USE"
        elif isinstance(node, ast.CallProcedure) and node.name.lower() not in _NAME_LISTS:
            what = f"procedure {node.name}"
        elif isinstance(node, ast.FunctionCall) and "apoc." in node.lower_name:
            what = f"function {node.name}"
        elif isinstance(node, ast.PatternPart) and node.selector is not None:
            what = f"path selector {node.selector}"
        if what is not None:
            raise NotSupported(f"{what} is {USE_NEO4J}", where=_short(query.text))


# ---------------------------------------------------------------- procedures and columns


def _calls_of_names(query: ast.Query, facts: Facts) -> list[Edit]:
    """``CALL db.labels()`` and its like, as a list of what the graph holds."""
    edits = []
    for body, clauses in _clause_lists(query.body):
        for clause in clauses:
            if not isinstance(clause, ast.CallProcedure):
                continue
            field, names = _NAME_LISTS[clause.name.lower()]
            shown = field
            for item in clause.yields:
                if item.alias is not None:
                    shown = item.alias.name
            listed = ", ".join(quote_string(name) for name in names(facts))
            text = f"UNWIND [{listed}] AS {quote_name(shown)}"
            if clause.where is not None:
                start, end = clause.where.span
                text += f" WITH * {query.text[start:end]}"
            if len(clauses) == 1 and body is query.body:
                text += f" RETURN {quote_name(shown)}"
            edits.append(Edit(*clause.span, text))
    return edits


def _clause_lists(body: ast.Node) -> Iterator[tuple[ast.Node, list[ast.Clause]]]:
    for node in body.walk():
        if isinstance(node, ast.SingleQuery):
            yield node, node.clauses


def _final_returns(body: ast.Node) -> Iterator[ast.Return]:
    """The RETURN of each part of a UNION: those that make the columns."""
    if isinstance(body, ast.SingleQuery):
        if body.clauses and isinstance(body.clauses[-1], ast.Return):
            yield body.clauses[-1]
    elif isinstance(body, ast.Union):
        for part in body.parts:
            yield from _final_returns(part)


def _columns(query: ast.Query) -> tuple[tuple[str, str], ...] | None:
    first = next(_final_returns(query.body), None)
    if first is None:
        return ()
    if first.star:
        return None
    return tuple((_inner_name(item, i), item.column) for i, item in enumerate(first.items))


def _inner_name(item: ast.ProjectionItem, place: int) -> str:
    if item.alias is not None:
        return item.alias.name
    if isinstance(item.expression, ast.Variable):
        return item.expression.name
    return f"_column{place}"


def _named_columns(query: ast.Query) -> list[Edit]:
    """An alias for each returned expression: ArcadeDB makes up names of its own for some."""
    edits = []
    for clause in _final_returns(query.body):
        for place, item in enumerate(clause.items):
            if item.alias is None and not isinstance(item.expression, ast.Variable):
                end = item.span[1]
                name = item.column if clause.star else _inner_name(item, place)
                edits.append(Edit(end, end, f" AS {quote_name(name)}"))
    return edits


def _renamed_types(query: ast.Query, facts: Facts, written: str) -> list[Edit]:
    """Types that share their name with a label by the name they have inside, and back again."""
    if not facts.renamed:
        return []
    names = {facts.renamed.get(name, name): name for name in facts.types}
    table = ", ".join(f"{quote_name(k)}: {quote_string(v)}" for k, v in names.items())
    look = look_at(query, facts)
    bindings = look.bindings
    edits: list[Edit] = []
    for node in look.nodes:
        within: ast.LabelExpression | None = None
        if isinstance(node, ast.RelationshipPattern):
            within = node.types
        elif isinstance(node, ast.LabelTest):
            subject = node.subject
            entity = bindings.of(subject) if isinstance(subject, ast.Variable) else None
            if entity is None or entity.kind not in ("node", "relationship"):
                raise NotSupported(
                    f"a test of labels or types on what may be either is {USE_NEO4J}",
                    where=_short(written),
                )
            within = node.labels if entity.kind == "relationship" else None
        elif isinstance(node, ast.FunctionCall) and node.lower_name == "type":
            start, end = node.span
            edits += [Edit(start, start, f"{{{table}}}["), Edit(end, end, "]")]
        for name in within.walk() if within is not None else ():
            if isinstance(name, ast.LabelDynamic):
                raise NotSupported(f"a computed type is {USE_NEO4J}", where=_short(written))
            if isinstance(name, ast.LabelName) and name.name in facts.renamed:
                edits.append(Edit(*name.span, quote_name(facts.renamed[name.name])))
    return edits
