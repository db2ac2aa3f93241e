"""The pipeline: a question in, an answer with its trace out.

Parts run in order until one settles the outcome. Today: draft, gate, execute; schema fixes and the
execution loop take their places between and after them.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from cypherforge.artifacts.bundle import Bundle
from cypherforge.core.errors import (
    ModelAnswerError,
    QueryError,
    QueryRefused,
    UsageError,
)
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.connect import connect
from cypherforge.graph.render import render_schema
from cypherforge.graph.schema import Schema
from cypherforge.graph.values import to_json
from cypherforge.llm.base import ChatModel, Embedder
from cypherforge.llm.embeddings import nearest
from cypherforge.llm.specs import open_embedder, open_model
from cypherforge.rules.model import Rule
from cypherforge.rules.select import applicable
from cypherforge.runtime.draft import draft
from cypherforge.runtime.exemplars import by_keywords
from cypherforge.runtime.prompts import Exemplar, draft_request
from cypherforge.runtime.trace import Listener, Trace
from cypherforge.validators import Gate

Outcome = Literal["answered", "empty", "unanswerable", "refused", "failed"]

# CypherGuard, section 3.2: the three nearest train questions.
FEW_SHOT = 3
# A prompt shows two skeletons at most: more of them crowd out the question for a small model.
SHAPES = 2


@dataclass(frozen=True, slots=True)
class Answer:
    """What ``ask`` returns.

    ``outcome``: answered (rows), empty (ran, no row), unanswerable, refused (a write, cost,
    policy), failed. ``reason`` says why where it is not answered. ``trace`` holds every step.
    ``warnings`` say what may be wrong with rows that came, with what the database shows.
    ``sentence`` is empty unless it was asked for (:mod:`cypherforge.runtime.sentence`).
    """

    outcome: Outcome
    cypher: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    trace: Trace
    reason: str = ""
    truncated: bool = False
    warnings: tuple[str, ...] = ()
    sentence: str = ""

    def to_json(self) -> dict[str, Any]:
        """The answer as a JSON object."""
        return {
            "outcome": self.outcome,
            "cypher": self.cypher,
            "columns": list(self.columns),
            "rows": [[to_json(value) for value in row] for row in self.rows],
            "trace": self.trace.to_json(),
            "reason": self.reason,
            "truncated": self.truncated,
            "warnings": list(self.warnings),
            "sentence": self.sentence,
        }


@dataclass(slots=True)
class State:
    """A question on its way; ``outcome`` settles it."""

    question: str
    trace: Trace
    query: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    result: Result | None = None
    outcome: Outcome | None = None
    reason: str = ""

    def settle(self, outcome: Outcome, reason: str = "") -> None:
        """End the pipeline after this part."""
        self.outcome = outcome
        self.reason = reason


class Part(Protocol):
    """A removable part of the pipeline."""

    @property
    def name(self) -> str:
        """What the trace calls it."""

    def run(self, state: State) -> None:
        """Work on the state; settle it where nothing further can follow."""


@dataclass(frozen=True, slots=True)
class DraftPart:
    """One model call: schema, the rules that apply, exemplars, shapes, the question."""

    model: ChatModel
    schema: Schema
    schema_text: str
    bundle: Bundle
    rules: tuple[Rule, ...]
    embedder: Embedder | None
    name: str = "draft"

    def run(self, state: State) -> None:
        """Draft; settles as failed where the answer holds no query."""
        begun = time.monotonic()
        rules = applicable(self.rules, self.schema, state.question)
        exemplars = self._exemplars(state.question)
        shapes = self._shapes(state.question)
        request = draft_request(
            self.schema_text,
            state.question,
            rules=[rule.prompt_text() for rule in rules],
            shapes=shapes,
            exemplars=exemplars,
        )
        try:
            drafted = draft(self.model, request)
        except ModelAnswerError as error:
            state.settle("failed", str(error))
            state.trace.add(self.name, str(error), time.monotonic() - begun)
            return
        answer = drafted.answer
        state.trace.add(
            self.name,
            drafted.query or f"no query: {drafted.reason}",
            time.monotonic() - begun,
            rules=[rule.id for rule in rules],
            exemplars=[e.question for e in exemplars],
            shapes=shapes,
            notes=list(drafted.notes),
            model=self.model.name,
            prompt_tokens=answer.prompt_tokens if answer else 0,
            completion_tokens=answer.completion_tokens if answer else 0,
        )
        if drafted.query is None:
            state.settle("failed", f"no query in the answer: {drafted.reason}")
        else:
            state.query = drafted.query
            state.parameters = drafted.parameters

    def _exemplars(self, question: str) -> list[Exemplar]:
        corpus = self.bundle.exemplars
        if self.embedder is None or not corpus:
            return []
        vector = self.embedder.embed([question])[0]
        pairs = {e.id: Exemplar(e.question, e.cypher) for e in corpus}
        chosen = nearest(self.bundle.embeddings, list(pairs), vector, FEW_SHOT)
        # The nearest stands last, next to the question.
        return [pairs[key] for key, _ in reversed(chosen)]

    def _shapes(self, question: str) -> list[str]:
        shapes = self.bundle.shapes
        chosen = by_keywords(question, [s.keywords for s in shapes], SHAPES)
        return [shapes[i].cypher for i in chosen]


@dataclass(frozen=True, slots=True)
class GatePart:
    """The read-only gate and the schema check; what fails here never reaches the database."""

    gate: Gate
    name: str = "gate"

    def run(self, state: State) -> None:
        """Settle as refused for a write, as failed for text that cannot be right."""
        begun = time.monotonic()
        checked = self.gate.check(state.query)
        errors = [f for f in checked.findings if f.severity == "error"]
        text = "; ".join(f.message for f in errors) or "passed"
        state.trace.add(
            self.name,
            text,
            time.monotonic() - begun,
            findings=[f.to_json() for f in checked.findings],
        )
        if any(f.category in ("safety", "cost") for f in errors):
            state.settle("refused", text)
        elif errors:
            state.settle("failed", text)


@dataclass(frozen=True, slots=True)
class ExecutePart:
    """Run the query; settles every question that comes so far."""

    graph: Graph
    name: str = "execute"

    def run(self, state: State) -> None:
        """Settle as answered, empty, refused or failed."""
        begun = time.monotonic()
        try:
            result = self.graph.run(state.query, state.parameters)
        except QueryRefused as error:
            state.settle("refused", error.message)
            state.trace.add(self.name, str(error), time.monotonic() - begun)
            return
        except QueryError as error:
            state.settle("failed", error.message)
            state.trace.add(self.name, str(error), time.monotonic() - begun)
            return
        state.result = result
        more = " (cut at the row limit)" if result.truncated else ""
        state.trace.add(
            self.name,
            f"{len(result.rows)} rows{more}",
            time.monotonic() - begun,
            rows=len(result.rows),
        )
        if result.rows:
            state.settle("answered")
        else:
            state.settle("empty", "the query ran and found nothing")


@dataclass(slots=True)
class Pipeline:
    """Answers questions about one graph. Parts are run in order; leave some out to measure them."""

    parts: Sequence[Part]
    graph: Graph = field(repr=False)

    @classmethod
    def from_bundle(
        cls,
        path: str | Path = "default",
        *,
        graph: Graph | str,
        model: ChatModel | str,
        rules: bool = True,
        exemplars: bool = True,
        schema: Schema | None = None,
    ) -> "Pipeline":
        """Build the pipeline of a bundle (a path, or ``default``) for a graph and a model.

        ``graph`` and ``model`` are open ones or specs. Raises ``ArtifactError`` for a bundle that
        cannot be used, and what connecting raises.
        """
        bundle = Bundle.load(path)
        opened = connect(graph) if isinstance(graph, str) else graph
        backbone = open_model(model) if isinstance(model, str) else model
        known = schema or opened.schema()
        embedder = None
        if exemplars and bundle.exemplars:
            embedder = open_embedder(bundle.embedder)
        every = (Rule.model_validate(row) for row in bundle.rules)
        kept = tuple(r for r in every if r.evidence is None or r.evidence.verdict == "kept")
        parts: list[Part] = [
            DraftPart(
                backbone,
                known,
                render_schema(known).text,
                bundle,
                kept if rules else (),
                embedder,
            ),
            GatePart(Gate(schema=known, read_only=True)),
            ExecutePart(opened),
        ]
        return cls(parts, opened)

    def ask(self, question: str, *, listener: Listener | None = None) -> Answer:
        """Answer a question; ``listener`` sees each step of the trace as it happens.

        Raises ``UsageError`` for an empty question, and the environment's faults (graph or model
        unreachable); everything else is an outcome.
        """
        if not question.strip():
            raise UsageError("the question is empty", hint="ask something in quotes")
        state = State(question, Trace(listener=listener))
        for part in self.parts:
            part.run(state)
            if state.outcome is not None:
                break
        outcome = state.outcome or "failed"
        result = state.result
        return Answer(
            outcome=outcome,
            cypher=state.query,
            columns=result.columns if result else (),
            rows=result.rows if result else (),
            trace=state.trace,
            reason=state.reason,
            truncated=bool(result and result.truncated),
        )
