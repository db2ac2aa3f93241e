"""One question tried: gold, draft, both results, and what the draft did wrong.

Collect and prove share this, so that "failed" means the same in both.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from cypherforge.core.datasets import Example
from cypherforge.core.errors import (
    CypherForgeError,
    EnvironmentFault,
    ModelAnswerError,
    QueryError,
    QueryRefused,
)
from cypherforge.core.files import digest, dumps
from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.diagnosis import diagnose
from cypherforge.diagnosis.model import Edition
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.compare import same_rows
from cypherforge.graph.policy import ALL_VALUES, ValuePolicy
from cypherforge.graph.schema import Schema
from cypherforge.graph.values import to_json
from cypherforge.llm.base import ChatModel, ChatRequest
from cypherforge.miner.withhold import may_show
from cypherforge.runtime.draft import Draft, draft
from cypherforge.validators.readonly import check_read_only

Outcome = Literal["correct", "error", "empty", "different"]

# CypherGuard, section 3.2: each failure carries up to three sample rows of both results.
SAMPLE_ROWS = 3

# The answers recorded for the example belong to this edition's codes, which decide what rules there
# are and on which questions each is tried.
EDITION: Edition = 1


@dataclass(frozen=True, slots=True)
class GoldResult:
    """What a gold returned; ``ordered`` where its outer query sorts."""

    result: Result
    ordered: bool
    digest: str


@dataclass(frozen=True, slots=True)
class SetAside:
    """A question that cannot be scored, and why."""

    id: str
    question: str
    gold: str
    graph: str
    reason: str


@dataclass(frozen=True, slots=True)
class FaultRow:
    """One diagnosed fault: taxonomy code, whether its repair made the result right, the reason."""

    code: str
    confirmed: bool | None
    reason: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """A draft with its outcome. Rows are JSON values, at most three of each result."""

    id: str
    question: str
    gold: str
    graph: str
    draft: str
    outcome: Outcome
    error: str = ""
    labels: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    draft_rows: tuple[Any, ...] = ()
    gold_rows: tuple[Any, ...] = ()
    gold_digest: str = ""
    faults: tuple[FaultRow, ...] = field(default=())
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def failed(self) -> bool:
        """Whether the draft's result is not gold's."""
        return self.outcome != "correct"

    @property
    def code(self) -> str:
        """The first fault's code: the one to repair first; ``unknown`` where none was found."""
        return self.faults[0].code if self.faults else "unknown"

    def to_row(self) -> dict[str, Any]:
        """The attempt as a JSON object."""
        return asdict(self)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Attempt":
        """Read back what ``to_row`` wrote."""
        values = dict(row)
        for name in ("labels", "types", "draft_rows", "gold_rows"):
            values[name] = tuple(values[name])
        values["faults"] = tuple(FaultRow(**fault) for fault in values["faults"])
        return cls(**values)


class Bench:
    """Runs golds and drafts on one graph. Thread-safe as far as its graph and model are."""

    def __init__(
        self, graph: Graph, schema: Schema, model: ChatModel, *, policy: ValuePolicy = ALL_VALUES
    ) -> None:
        self.graph = graph
        self.schema = schema
        self.model = model
        self._policy = policy

    def gold(self, example: Example) -> GoldResult | SetAside:
        """Execute the gold; set the question aside where it fails or returns nothing."""

        def aside(reason: str) -> SetAside:
            return SetAside(example.id, example.question, example.cypher, example.graph, reason)

        try:
            query = parse(example.cypher)
        except CypherSyntaxError as error:
            return aside(f"gold does not parse: {error}")
        try:
            result = self.graph.run(example.cypher)
        except QueryError as error:
            return aside(f"gold fails: {error}")
        if not result.rows:
            return aside("gold returns nothing")
        if result.truncated:
            return aside(f"gold returns more than {len(result.rows)} rows")
        return GoldResult(result, sorts(query), rows_digest(result))

    def attempt(self, example: Example, gold: GoldResult, request: ChatRequest) -> Attempt:
        """Draft with ``request``, execute, compare with gold, diagnose."""
        try:
            drafted = draft(self.model, request)
        except ModelAnswerError as error:
            drafted = Draft(None, None, str(error))
        result: Result | None = None
        error_text = ""
        if drafted.query is None:
            error_text = f"no query in the answer: {drafted.reason}"
        else:
            try:
                result = self.run_draft(drafted.query, drafted.parameters)
            except QueryError as error:
                error_text = error.message
        outcome = self._outcome(gold, result)
        labels, types = names_of(drafted.query or "")
        faults: tuple[FaultRow, ...] = ()
        if outcome != "correct" and drafted.query:
            faults = self._faults(drafted.query, example.cypher, result, gold.result)
        return Attempt(
            id=example.id,
            question=example.question,
            gold=example.cypher,
            graph=example.graph,
            draft=drafted.query or "",
            outcome=outcome,
            error=error_text,
            labels=labels,
            types=types,
            draft_rows=self._sample(drafted.query or "", result),
            gold_rows=self._sample(example.cypher, gold.result),
            gold_digest=gold.digest,
            faults=faults,
            prompt_tokens=drafted.answer.prompt_tokens if drafted.answer else 0,
            completion_tokens=drafted.answer.completion_tokens if drafted.answer else 0,
        )

    def run_draft(self, query: str, parameters: Mapping[str, Any] | None = None) -> Result:
        """Execute what a model wrote, but only if its text is read-only."""
        for finding in check_read_only(query):
            if finding.severity == "error":
                raise QueryRefused(finding.message, code=finding.code)
        return self.graph.run(query, parameters)

    def _outcome(self, gold: GoldResult, result: Result | None) -> Outcome:
        if result is None:
            return "error"
        if not result.rows:
            return "empty"
        same = same_rows(result, gold.result, ordered=gold.ordered)
        return "correct" if same else "different"

    def _faults(
        self, query: str, gold: str, result: Result | None, gold_result: Result
    ) -> tuple[FaultRow, ...]:
        try:
            found = diagnose(
                query,
                gold,
                graph=self.graph,
                schema=self.schema,
                draft_result=result,
                gold_result=gold_result,
                edition=EDITION,
            )
        except EnvironmentFault:
            raise
        except Exception as error:  # noqa: BLE001
            # One odd draft must not end a run of hours: the failure is kept, and says so.
            reason = f"diagnosis stopped: {type(error).__name__}: {error}"
            return (FaultRow("unknown", None, reason),)
        return tuple(FaultRow(f.code, f.confirmed, f.reason) for f in found)

    def _sample(self, query: str, result: Result | None) -> tuple[Any, ...]:
        if result is None or not may_show(query, result, self.schema, self._policy):
            return ()
        rows = [[to_json(value) for value in row] for row in result.rows]
        return tuple(sorted(rows, key=dumps)[:SAMPLE_ROWS])


def sorts(query: ast.Query) -> bool:
    """Whether the outer query sorts its rows: only then their order is part of the answer."""
    body = query.body
    if not isinstance(body, ast.SingleQuery) or not body.clauses:
        return False
    last = body.clauses[-1]
    return isinstance(last, ast.Return) and last.order_by is not None


def names_of(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Labels and types that a query names, sorted; both empty where it does not parse."""
    try:
        query = parse(text)
    except CypherForgeError:
        return (), ()
    labels: set[str] = set()
    types: set[str] = set()
    for node in query.walk():
        if isinstance(node, ast.NodePattern) and node.labels:
            labels |= {n.name for n in node.labels.walk() if isinstance(n, ast.LabelName)}
        elif isinstance(node, ast.RelationshipPattern) and node.types:
            types |= {n.name for n in node.types.walk() if isinstance(n, ast.LabelName)}
    return tuple(sorted(labels)), tuple(sorted(types))


def rows_digest(result: Result) -> str:
    """A digest of the rows as a multiset."""
    rows = sorted(dumps([to_json(value) for value in row]) for row in result.rows)
    return digest("\n".join(rows).encode())
