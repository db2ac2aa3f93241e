"""The gate: is a query safe, and does it fit the schema; cheapest check first.

CYGNET's validator chain (part 1) without its mirror: parse, read-only, schema, analysis, EXPLAIN.
A backend is a function from a :class:`Subject` to findings, so that others can be added. Order of
findings: parse first; then authority (what the database says above what the tree says); then
severity; then place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cypherforge.core.errors import NotSupported, QueryRefused, QuerySyntaxError, QueryTimeout
from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.analysis import analyse
from cypherforge.graph.base import Graph, Notification
from cypherforge.graph.schema import Schema
from cypherforge.validators.findings import Backend, Category, Finding, Severity
from cypherforge.validators.readonly import check_read_only
from cypherforge.validators.schema_check import check_schema

Mode = Literal["short", "all"]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a backend judges: the text, its tree if it parses, and what it is judged against."""

    text: str
    tree: ast.Query | None
    schema: Schema | None
    graph: Graph | None
    dialect: str


Check = Callable[[Subject], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says of one query. ``ran`` names the backends that were asked, in order."""

    findings: tuple[Finding, ...]
    ran: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no finding is an error."""
        return all(finding.severity != "error" for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return ``{"ok": ..., "findings": [...]}``."""
        return {"ok": self.ok, "findings": [finding.to_json() for finding in self.findings]}


class Gate:
    """A chain of checks over one schema and one graph; without them it judges what it can.

    ``mode`` is ``all`` (collect all findings) or ``short`` (stop after the first backend that finds
    an error). ``allow`` names procedures and functions beyond the list of harmless ones. ``extra``
    are further backends, asked after the tree's and before EXPLAIN.
    """

    def __init__(
        self,
        schema: Schema | None = None,
        graph: Graph | None = None,
        read_only: bool = True,
        *,
        mode: Mode = "all",
        dialect: str | None = None,
        allow: Collection[str] = (),
        extra: Sequence[tuple[str, Check]] = (),
    ) -> None:
        self.schema = schema if schema is not None else graph.schema() if graph else None
        self.graph = graph
        self.read_only = read_only
        self.mode = mode
        self.dialect = dialect or dialect_of(graph)
        self.chain: list[tuple[str, Check]] = []
        if read_only:
            self.chain.append(
                ("readonly", lambda s: check_read_only(s.tree or s.text, allow=allow))
            )
        if self.schema is not None:
            self.chain.append(("schema", _schema))
        if not self.dialect.startswith("memgraph"):
            self.chain.append(("analysis", _analysis))
        self.chain.extend(extra)
        if graph is not None:
            self.chain.append(("explain", lambda s: _explain(s, read_only)))

    def check(self, query: str) -> Verdict:
        """Return the verdict on one statement. Raises only where the graph is out of reach."""
        found: list[Finding] = []
        tree: ast.Query | None = None
        try:
            tree = parse(query)
        except CypherSyntaxError as error:
            found.append(_syntax(error))
        subject = Subject(query, tree, self.schema, self.graph, self.dialect)
        ran = ["parse"]
        for name, backend in self.chain:
            # Whether our grammar or the query is at fault, only the database can tell.
            grammar_only = name == "explain" and all(f.backend == "parse" for f in found)
            failed = any(f.severity == "error" for f in found)
            if self.mode == "short" and failed and not grammar_only:
                continue
            found.extend(backend(subject))
            ran.append(name)
        if tree is None and "explain" in ran:
            found = _settle_grammar(found)
        return Verdict(tuple(_ordered(found)), tuple(ran))


def dialect_of(graph: Graph | None) -> str:
    """Return the dialect to analyse for: the graph's engine, Neo4j 5 where there is none."""
    if graph is not None and graph.engine.startswith("memgraph"):
        return "memgraph"
    return "neo4j-5"


def _syntax(error: CypherSyntaxError) -> Finding:
    suggestion = f"expected {', '.join(error.expected[:6])}" if error.expected else None
    return Finding(
        "error",
        "parse",
        "syntax.parse",
        str(error),
        error.span,
        suggestion,
        "parse",
        error.expected,
    )


def _settle_grammar(found: list[Finding]) -> list[Finding]:
    """The database planned what we cannot parse: a gap of our grammar, not a fault of the query."""
    if any(f.backend == "explain" and f.severity == "error" for f in found):
        return found
    settled = []
    for finding in found:
        if finding.backend == "parse":
            message = f"the database plans it, but this parser does not read it: {finding.message}"
            finding = Finding("info", "parse", "grammar.gap", message, finding.span, None, "parse")
        settled.append(finding)
    return settled


_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
_CATEGORIES: tuple[Category, ...] = (
    "parse",
    "safety",
    "constraint",
    "type",
    "reference",
    "dialect",
    "cost",
)
_AUTHORITIES: tuple[Backend, ...] = ("explain", "mirror", "readonly", "schema", "analysis", "regex")


def _ordered(found: Iterable[Finding]) -> list[Finding]:
    """Parse first, then authority, severity, category and place; one finding a fault and place."""

    def key(finding: Finding) -> tuple[object, ...]:
        authority = finding.backend in ("explain", "mirror")
        return (
            finding.category != "parse" or finding.severity != "error",
            _SEVERITIES.index(finding.severity),
            not authority,
            _CATEGORIES.index(finding.category),
            finding.span or (0, 0),
            finding.code,
        )

    seen: set[tuple[object, ...]] = set()
    result = []
    for finding in sorted(found, key=key):
        place = (finding.code, finding.span)
        if place not in seen:
            seen.add(place)
            result.append(finding)
    return result


# ---------------------------------------------------------------- backends


def _schema(subject: Subject) -> Iterable[Finding]:
    if subject.tree is None or subject.schema is None:
        return []
    return check_schema(subject.tree, subject.schema)


def _analysis(subject: Subject) -> Iterable[Finding]:
    if subject.tree is None:
        return []
    return [
        Finding(
            item.severity,
            item.category,
            item.code,
            item.message,
            item.span,
            item.suggestion,
            "analysis",
        )
        for item in analyse(subject.tree, subject.dialect)
    ]


def _explain(subject: Subject, read_only: bool) -> Iterable[Finding]:
    graph = subject.graph
    if graph is None:
        return []
    try:
        plan = graph.explain(subject.text)
    except QueryRefused as error:
        if not read_only:
            return []
        return [_from_database(error.message, "safety.refused", "safety")]
    except QuerySyntaxError as error:
        return [_from_database(error.message, error.code or "explain.error", "parse")]
    except (NotSupported, QueryTimeout) as error:
        return [
            Finding("info", "dialect", "explain.unavailable", error.message, None, None, "explain")
        ]
    return [_notified(subject.text, item) for item in plan.notifications]


def _from_database(message: str, code: str, category: Category) -> Finding:
    return Finding("error", category, code, message, None, None, "explain")


def _notified(text: str, item: Notification) -> Finding:
    span = None
    if item.line and item.column:
        lines = text.split("\n")
        start = sum(len(line) + 1 for line in lines[: item.line - 1]) + item.column - 1
        span = (start, min(start + 1, len(text)))
    severity: Severity = "warning" if item.severity.upper() == "WARNING" else "info"
    message = item.description or item.title
    return Finding(severity, "reference", item.code, message, span, None, "explain")
