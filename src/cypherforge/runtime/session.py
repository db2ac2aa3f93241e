"""One question on its way: its model calls, its executions, and what they cost."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from cypherforge.core.errors import ModelAnswerError, QueryError, QueryRefused
from cypherforge.core.executor import ThreadExecutor
from cypherforge.graph.base import Graph, Result
from cypherforge.llm.base import ChatModel, ChatRequest
from cypherforge.runtime.draft import Draft, draft
from cypherforge.runtime.fixes import Fix, apply_all
from cypherforge.runtime.pipeline import Answer
from cypherforge.runtime.trace import Listener, Trace
from cypherforge.validators.readonly import check_read_only

#: Model calls that a question may cost.
CALLS = 5

Kind = Literal["answered", "empty", "failed", "refused"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One query and what became of it: rows, no rows, an error, or a text that was not let through."""

    query: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    result: Result | None = None
    error: str = ""
    refused: bool = False

    @property
    def kind(self) -> Kind:
        """The outcome that this attempt would be."""
        if self.result is None:
            return "refused" if self.refused else "failed"
        return "answered" if self.result.rows else "empty"

    @property
    def hollow(self) -> bool:
        """Whether the rows hold nothing: one of a 0, a null or an empty list; a column all null."""
        rows = self.result.rows if self.result else ()
        if len(rows) == 1:
            return all(v in (None, 0, [], ()) and v is not False for v in rows[0])
        return bool(rows) and any(
            all(v is None for v in column) for column in zip(*rows, strict=True)
        )

    @property
    def rank(self) -> int:
        """Rows before hollow rows before no rows before errors."""
        if self.kind == "answered":
            return 2 if self.hollow else 3
        return 1 if self.kind == "empty" else 0


@dataclass(slots=True)
class Session:
    """The state of one question. Counts model calls, executions and probes of the database.

    ``before`` are the calls that were spent before the drafts of the whole question.
    """

    question: str
    model: ChatModel
    graph: Graph
    fixes: Sequence[Fix] = ()
    max_calls: int = CALLS
    at_once: int = CALLS
    trace: Trace = field(default_factory=Trace)
    calls: int = 0
    before: int = 0
    executions: int = 0
    probes: int = 0
    warnings: list[str] = field(default_factory=list)

    @property
    def calls_left(self) -> int:
        """Model calls that may still be made."""
        return self.max_calls - self.calls

    def count_probe(self) -> None:
        """Count one probe of the database."""
        self.probes += 1

    def draft(self, request: ChatRequest, part: str, **details: Any) -> Draft:
        """One model call, counted and traced. An answer that cannot be used is a draft without query."""
        return self.drafts([request], part, [details])[0]

    def drafts(
        self, requests: Sequence[ChatRequest], part: str, details: Sequence[Mapping[str, Any]] = ()
    ) -> list[Draft]:
        """Several calls, ``at_once`` of them at a time, traced in their order."""
        self.calls += len(requests)

        def ask(request: ChatRequest) -> tuple[Draft, float]:
            begun = time.monotonic()
            try:
                drafted = draft(self.model, request)
            except ModelAnswerError as error:
                drafted = Draft(None, None, str(error))
            return drafted, time.monotonic() - begun

        workers = max(1, min(len(requests), self.at_once))
        answered = list(ThreadExecutor(workers).map(ask, list(requests)))
        for number, (drafted, seconds) in enumerate(answered):
            answer = drafted.answer
            self.trace.add(
                part,
                drafted.query or f"no query: {drafted.reason}",
                seconds,
                **(details[number] if number < len(details) else {}),
                notes=list(drafted.notes),
                model=self.model.name,
                prompt_tokens=answer.prompt_tokens if answer else 0,
                completion_tokens=answer.completion_tokens if answer else 0,
            )
        return [drafted for drafted, _ in answered]

    def text(self, request: ChatRequest, part: str) -> str:
        """One model call whose answer is no query; "" if it cannot be used."""
        self.calls += 1
        begun = time.monotonic()
        try:
            answer = self.model.chat(request)
        except ModelAnswerError as error:
            self.trace.add(part, str(error), time.monotonic() - begun)
            return ""
        self.trace.add(
            part,
            answer.text,
            time.monotonic() - begun,
            model=self.model.name,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
        )
        return answer.text.strip() if answer.usable else ""

    def fix(self, query: str) -> str:
        """The query after all fixes, each of which is told in the trace."""
        fixed, notes = apply_all(self.fixes, query)
        if notes:
            said = "; ".join(note for _, note in notes)
            text = f"{said}\n{fixed}" if fixed != query else said
            self.trace.add("fix", text, fixes=[list(pair) for pair in notes])
        return fixed

    def run(
        self, query: str, parameters: Mapping[str, Any] | None = None, part: str = "execute"
    ) -> Attempt:
        """Run a query, unless it would write; whatever happens is in the attempt."""
        begun = time.monotonic()
        given = parameters or {}
        refusals = [f for f in check_read_only(query) if f.severity == "error"]
        if refusals:
            attempt = Attempt(query, given, None, refusals[0].message, True)
        else:
            self.executions += 1
            try:
                attempt = Attempt(query, given, self.graph.run(query, given))
            except QueryRefused as error:
                attempt = Attempt(query, given, None, error.message, True)
            except QueryError as error:
                attempt = Attempt(query, given, None, error.message)
        rows = len(attempt.result.rows) if attempt.result else 0
        said = attempt.error or (f"{rows} row" if rows == 1 else f"{rows} rows")
        if attempt.result is not None and attempt.result.truncated:
            said += " (cut at the row limit)"
        self.trace.add(part, said, time.monotonic() - begun, outcome=attempt.kind, rows=rows)
        return attempt

    def answer(self, attempt: Attempt | None, reason: str = "") -> Answer:
        """The answer that an attempt makes; None: there was no query at all."""
        self.trace.add(
            "spent",
            f"{self.calls} model calls, {self.executions} executions, {self.probes} probes",
            calls=self.calls,
            executions=self.executions,
            probes=self.probes,
        )
        if attempt is None:
            return Answer("failed", "", (), (), self.trace, reason)
        result = attempt.result
        if result is not None and not result.rows:
            reason = reason or "the query ran and found nothing"
        return Answer(
            attempt.kind,
            attempt.query,
            result.columns if result else (),
            result.rows if result else (),
            self.trace,
            attempt.error or reason,
            bool(result and result.truncated),
            tuple(self.warnings),
        )


def open_session(
    question: str,
    model: ChatModel,
    graph: Graph,
    fixes: Sequence[Fix],
    max_calls: int,
    listener: Listener | None = None,
    at_once: int = CALLS,
) -> Session:
    """A session whose trace is told to ``listener`` step by step."""
    return Session(question, model, graph, fixes, max_calls, at_once, Trace(listener=listener))
