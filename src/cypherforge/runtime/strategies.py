"""Strategies by name: ways from a question to an answer that ``eval`` runs side by side.

``STRATEGIES`` says what each name does; ``open_strategy`` opens one for a graph and a model. A
strategy is thread-safe as far as its graph and model are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from cypherforge.artifacts.bundle import Bundle
from cypherforge.core.errors import ModelAnswerError, QueryError, QueryRefused, UsageError
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.render import render_schema
from cypherforge.graph.schema import Schema
from cypherforge.llm.base import ChatModel, ChatRequest, Message
from cypherforge.runtime import confidence, last_cq
from cypherforge.runtime.draft import Draft, draft
from cypherforge.runtime.guarded import open_guarded, shared_index
from cypherforge.runtime.pipeline import Answer, Outcome
from cypherforge.runtime.prompts import Exemplar, zero_shot_request
from cypherforge.runtime.trace import Listener, Trace
from cypherforge.templates import render
from cypherforge.validators.readonly import check_read_only

STRATEGIES: dict[str, str] = {
    "zero-shot": "the frozen prompt (schema with directions, question), no fix, no retry",
    "naive-retry": "zero-shot, then up to 3 repairs that see the raw error or that no row came",
    "cypherguard": "the paper's parts: rules and exemplars, schema fixes, execution loop",
    "vote": "five drafts under the schema's grammar, grouped by what they return",
    "full": "all parts that pay: grounding, exemplars, grammar, vote, fixes, loop",
    "last-cq": "LAST-CQ's loop: validate, correct on the raw error, relax what finds nothing",
    "conf": "confidence filtering: sampled drafts, the sure ones that parse and fit the schema vote",
    **{
        name: f"an arm of confidence filtering: {name[5:]}"
        for name in confidence.ARMS
        if name != "conf"
    },
    **{name: f"an arm of LAST-CQ: {name[8:]}" for name in last_cq.ARMS if name != "last-cq"},
}

#: CypherGuard, section 3.2: L, the repairs that a question may cost.
REPAIRS = 3


class Strategy(Protocol):
    """Answers questions about one graph with one model."""

    @property
    def name(self) -> str:
        """Its name in ``STRATEGIES``."""

    def answer(self, question: str, *, listener: Listener | None = None) -> Answer:
        """Answer one question, telling ``listener`` each step; raises the environment's faults."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a strategy is opened with."""

    graph: Graph
    model: ChatModel
    schema: Schema
    bundle: str | Path | Bundle | None = None
    exemplars: Sequence[Exemplar] | None = None
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)


def open_strategy(
    name: str,
    *,
    graph: Graph,
    model: ChatModel,
    schema: Schema | None = None,
    bundle: str | Path | Bundle | None = None,
    exemplars: Sequence[Exemplar] | None = None,
    seed: int = 0,
    **options: Any,
) -> Strategy:
    """Open a strategy. ``schema`` is read from the graph where it is not given.

    Raises UsageError for a name that ``STRATEGIES`` does not have, and what the graph raises.
    """
    maker = _MAKERS.get(name)
    if maker is None:
        raise UsageError(f"no strategy {name!r}", hint=f"there are {', '.join(STRATEGIES)}")
    known = schema if schema is not None else graph.schema()
    return maker(name, Setting(graph, model, known, bundle, exemplars, seed, options))


# ---------------------------------------------------------------- zero-shot and naive retry


@dataclass(slots=True)
class _Attempt:
    """One query and what became of it; ``refused`` where its text was not let through."""

    query: str
    result: Result | None = None
    error: str = ""
    refused: bool = False

    @property
    def outcome(self) -> Outcome:
        if self.result is None:
            return "refused" if self.refused else "failed"
        return "answered" if self.result.rows else "empty"


@dataclass(frozen=True, slots=True)
class RawRetry:
    """Drafts zero-shot; with ``repairs`` the model sees the raw error, or that no row came.

    LAST-CQ, section 6.2: retry keeps detection, budget, history and routing, and removes only the
    synthesised hints. Stops at rows, at a spent budget, and at a rewrite that is empty or known.
    """

    name: str
    graph: Graph
    model: ChatModel
    schema_text: str
    repairs: int = 0

    def answer(self, question: str, *, listener: Listener | None = None) -> Answer:
        """Answer one question; a repair is kept if it runs, rows before no rows."""
        if not question.strip():
            raise UsageError("the question is empty", hint="ask something in quotes")
        trace = Trace(listener=listener)
        request = zero_shot_request(self.schema_text, question)
        drafted = self._draft(request, trace, "draft")
        if drafted.query is None:
            reason = f"no query in the answer: {drafted.reason}"
            return Answer("failed", "", (), (), trace, reason)
        held = attempt = self._run(drafted, trace)
        seen = {attempt.query}
        for _ in range(self.repairs):
            if attempt.result is not None and attempt.result.rows:
                break
            said = render("prompts/naive_retry.jinja", error=attempt.error)
            request = ChatRequest(
                (
                    *request.messages,
                    Message("assistant", f"```cypher\n{attempt.query}\n```"),
                    Message("user", said),
                ),
                max_tokens=request.max_tokens,
            )
            drafted = self._draft(request, trace, "repair")
            if drafted.query is None or drafted.query in seen:
                trace.add("stop", "no new query" if drafted.query else "no query in the answer")
                break
            seen.add(drafted.query)
            attempt = self._run(drafted, trace)
            if _better(attempt, held):
                held = attempt
        return _answer(held, trace)

    def _draft(self, request: ChatRequest, trace: Trace, part: str) -> Draft:
        begun = time.monotonic()
        try:
            drafted = draft(self.model, request)
        except ModelAnswerError as error:
            drafted = Draft(None, None, str(error))
        answer = drafted.answer
        trace.add(
            part,
            drafted.query or f"no query: {drafted.reason}",
            time.monotonic() - begun,
            notes=list(drafted.notes),
            model=self.model.name,
            prompt_tokens=answer.prompt_tokens if answer else 0,
            completion_tokens=answer.completion_tokens if answer else 0,
        )
        return drafted

    def _run(self, drafted: Draft, trace: Trace) -> _Attempt:
        begun = time.monotonic()
        attempt = _Attempt(drafted.query or "")
        refusals = [f for f in check_read_only(attempt.query) if f.severity == "error"]
        if refusals:
            attempt.error, attempt.refused = refusals[0].message, True
        else:
            try:
                attempt.result = self.graph.run(attempt.query, drafted.parameters)
            except QueryRefused as error:
                attempt.error, attempt.refused = error.message, True
            except QueryError as error:
                attempt.error = error.message
        rows = len(attempt.result.rows) if attempt.result else 0
        said = attempt.error or f"{rows} rows"
        trace.add("execute", said, time.monotonic() - begun, outcome=attempt.outcome, rows=rows)
        return attempt


def _better(new: _Attempt, held: _Attempt) -> bool:
    """Rows before no rows before an error; of equal ones the first stays, of errors the last."""
    rank = {"answered": 2, "empty": 1, "failed": 0, "refused": 0}
    gained = rank[new.outcome] - rank[held.outcome]
    return gained > 0 or (gained == 0 and new.result is None)


def _answer(held: _Attempt, trace: Trace) -> Answer:
    result = held.result
    reason = held.error
    if result is not None and not result.rows:
        reason = "the query ran and found nothing"
    return Answer(
        held.outcome,
        held.query,
        result.columns if result else (),
        result.rows if result else (),
        trace,
        reason,
        bool(result and result.truncated),
    )


def _raw_retry(repairs: int) -> Callable[[str, Setting], Strategy]:
    def make(name: str, setting: Setting) -> Strategy:
        text = render_schema(setting.schema).text
        return RawRetry(name, setting.graph, setting.model, text, repairs)

    return make


def _guarded(name: str, setting: Setting) -> Strategy:
    return open_guarded(
        name,
        graph=setting.graph,
        model=setting.model,
        schema=setting.schema,
        bundle=setting.bundle,
        exemplars=setting.exemplars,
        seed=setting.seed,
        **setting.options,
    )


def _last_cq(name: str, setting: Setting) -> Strategy:
    options = {**last_cq.ARMS[name], **setting.options}
    needs_index = options.get("relaxed", 1) and options.get("guard", True)
    return last_cq.LastCq(
        name,
        setting.graph,
        setting.model,
        setting.schema,
        render_schema(setting.schema).text,
        index=shared_index(setting.graph, setting.schema) if needs_index else None,
        seed=setting.seed,
        **options,
    )


def _confidence(name: str, setting: Setting) -> Strategy:
    return confidence.ConfidenceFilter(
        name,
        setting.graph,
        setting.model,
        setting.schema,
        render_schema(setting.schema).text,
        seed=setting.seed,
        **{**confidence.ARMS[name], **setting.options},
    )


_MAKERS: dict[str, Callable[[str, Setting], Strategy]] = {
    "zero-shot": _raw_retry(0),
    "naive-retry": _raw_retry(REPAIRS),
    "cypherguard": _guarded,
    "vote": _guarded,
    "full": _guarded,
    **dict.fromkeys(last_cq.ARMS, _last_cq),
    **dict.fromkeys(confidence.ARMS, _confidence),
}
