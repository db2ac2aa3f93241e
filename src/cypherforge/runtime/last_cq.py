"""LAST-CQ: the instrumented correction loop, all its arms from one loop.

Draft; up to N validation cycles (EXPLAIN, then one row; on failure the model corrects, seeing what
the arm shows it); execute; on no rows up to M relaxations. The paper's finding is our default: the
raw error of the database is as good as hints that a model makes of it.

An empty result is relaxed only where something speaks against it (a literal that is not stored as
written, an arrow or a name that the schema lacks): a right answer may be no row.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cypherforge.core.errors import NotSupported, QueryError, QueryRefused, UsageError
from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.edits import apply_edits
from cypherforge.cypher.rewrite import set_limit
from cypherforge.graph.base import Graph
from cypherforge.graph.schema import Schema
from cypherforge.graph.value_index import ValueIndex
from cypherforge.llm.base import ChatModel, ChatRequest, Message
from cypherforge.runtime.literals import stored_as_written
from cypherforge.runtime.pipeline import Answer
from cypherforge.runtime.prompts import MAX_TOKENS, zero_shot_request
from cypherforge.runtime.session import Attempt, Session, open_session
from cypherforge.runtime.trace import Listener
from cypherforge.runtime.vote import Vote
from cypherforge.templates import render
from cypherforge.validators.readonly import check_read_only
from cypherforge.validators.schema_check import check_schema

Feedback = Literal["none", "raw", "hints"]

#: The six relaxations (the paper names five topics for its six; the list is ours).
RELAXATIONS: dict[str, str] = {
    "case": "Compare texts without regard to case: toLower(x) = toLower('...').",
    "substring": "Use CONTAINS in the place of = for texts.",
    "datetime": "Write dates and times with date('...') or datetime('...') as the schema types them.",
    "labels": "Leave out labels that may be too narrow.",
    "return": "Return less: only what the question asks for.",
    "pattern": "Loosen the relationship pattern: another type, no direction, or one more hop.",
}
CYCLES, RELAXED = 2, 1
BEST_OF, BEST_OF_TEMPERATURE = 3, 0.7

#: The arms: how each differs from the full loop.
ARMS: dict[str, dict[str, Any]] = {
    "last-cq": {},
    "last-cq-hints": {"feedback": "hints"},
    "last-cq-blind": {"feedback": "none"},
    "last-cq-no-refinement": {"cycles": 0, "relaxed": 0},
    "last-cq-schema-only": {"database": False, "relaxed": 0},
    "last-cq-no-relaxation": {"relaxed": 0},
    "last-cq-best-of-3": {"cycles": 0, "relaxed": 0, "drafts": BEST_OF},
    "last-cq-best-of-3-vote": {"cycles": 0, "relaxed": 0, "drafts": BEST_OF, "vote": True},
    **{f"last-cq-relax-{name}": {"relaxations": (name,)} for name in RELAXATIONS},
}


@dataclass(frozen=True, slots=True)
class _Tried:
    query: str
    feedback: str


@dataclass(frozen=True, slots=True)
class LastCq:
    """The loop. ``cycles`` is N, ``relaxed`` M; ``database`` off: validation by the schema alone.

    ``feedback``: nothing, the raw error, or hints that a further call makes of the schema check's
    findings (only where it finds something). ``drafts`` above one: best of so many, the first with
    rows, or with ``vote`` the result that most of them share. ``guard`` keeps an empty result that
    nothing speaks against from being relaxed.
    """

    name: str
    graph: Graph
    model: ChatModel
    schema: Schema
    schema_text: str
    index: ValueIndex | None = None
    feedback: Feedback = "raw"
    cycles: int = CYCLES
    relaxed: int = RELAXED
    relaxations: Sequence[str] = tuple(RELAXATIONS)
    database: bool = True
    drafts: int = 1
    vote: bool = False
    guard: bool = True
    max_calls: int = 2 * CYCLES + RELAXED + 1
    seed: int = 0

    def answer(self, question: str, *, listener: Listener | None = None) -> Answer:
        """Answer one question, telling ``listener`` each step; raises the environment's faults."""
        if not question.strip():
            raise UsageError("the question is empty", hint="ask something in quotes")
        session = open_session(question, self.model, self.graph, (), self.max_calls, listener)
        request = zero_shot_request(self.schema_text, question)
        if self.drafts > 1:
            return session.answer(*self.best_of(session, request))
        drafted = session.draft(request, "draft")
        if drafted.query is None:
            return session.answer(None, f"no query in the answer: {drafted.reason}")
        query, tried = self.validated(session, drafted.query)
        attempt = session.run(query, drafted.parameters if query == drafted.query else {})
        for _ in range(self.relaxed):
            if attempt.kind != "empty" or session.calls_left < 1 or self.trusted(session, query):
                break
            relaxed = self.relax(session, query, tried)
            if relaxed is None:
                break
            tried.append(_Tried(query, ""))
            query = relaxed
            again = session.run(query)
            if again.rank > attempt.rank:
                attempt = again
        return session.answer(attempt)

    # ------------------------------------------------------------ validation

    def validated(self, session: Session, query: str) -> tuple[str, list[_Tried]]:
        """The query after up to N cycles of validation and correction, and what was tried before."""
        tried: list[_Tried] = []
        for _ in range(self.cycles):
            error = self.fault(session, query)
            if not error or session.calls_left < 1:
                break
            tried.append(_Tried(query, self.told(session, query, error)))
            corrected = self.correct(session, tried, ())
            if corrected is None or corrected in {t.query for t in tried}:
                session.trace.add("stop", "no new query")
                break
            query = corrected
        return query, tried

    def fault(self, session: Session, query: str) -> str:
        """What is wrong with a query: the database's words, or the schema check's; "" if nothing."""
        begun = time.monotonic()
        if self.database:
            error = self._on_database(session, query)
        else:
            error = "; ".join(self.findings(query))
        session.trace.add("validate", error or "valid", time.monotonic() - begun)
        return error

    def _on_database(self, session: Session, query: str) -> str:
        refused = [f.message for f in check_read_only(query) if f.severity == "error"]
        if refused:
            return refused[0]
        try:
            self.graph.explain(query)
        except NotSupported:
            pass
        except QueryRefused as error:
            return error.message
        except QueryError as error:
            return error.message
        session.probes += 1
        try:
            self.graph.run(_first_row(query), limit=1)
        except QueryError as error:
            return error.message
        return ""

    def findings(self, query: str) -> list[str]:
        """The errors that parser and schema check find."""
        try:
            tree = parse(query)
        except CypherSyntaxError as error:
            return [str(error)]
        return [f.message for f in check_schema(tree, self.schema) if f.severity == "error"]

    def told(self, session: Session, query: str, error: str) -> str:
        """What the correction sees of a fault, as the arm has it."""
        if self.feedback == "none":
            return ""
        raw = f"The database says: {error}" if self.database else f"It is wrong: {error}"
        found = self.findings(query) if self.feedback == "hints" else []
        if not found or session.calls_left < 2:
            return raw
        prompt = render(
            "prompts/last_cq_hints.jinja",
            schema=self.schema_text,
            question=session.question,
            query=query,
            error=error if self.database else "",
            findings=found,
        )
        return session.text(ChatRequest((Message("user", prompt),), max_tokens=120), "hints") or raw

    def correct(
        self, session: Session, tried: Sequence[_Tried], relaxations: Sequence[str]
    ) -> str | None:
        """One correction call that sees the history; None if its answer holds no query."""
        prompt = render(
            "prompts/last_cq_correction.jinja",
            schema=self.schema_text,
            question=session.question,
            history=tried,
            relaxations=[RELAXATIONS[name] for name in relaxations],
        )
        request = ChatRequest((Message("user", prompt),), max_tokens=MAX_TOKENS)
        return session.draft(request, "correct").query

    # ------------------------------------------------------------ relaxation

    def trusted(self, session: Session, query: str) -> bool:
        """Whether nothing speaks against an empty result."""
        if not self.guard or self.index is None:
            return False
        try:
            tree = parse(query)
        except CypherSyntaxError:
            return False
        clean = not check_schema(tree, self.schema)
        if clean and stored_as_written(tree, self.schema, self.index):
            session.trace.add("stop", "every name and literal is stored as written: no row it is")
            return True
        return False

    def relax(self, session: Session, query: str, tried: list[_Tried]) -> str | None:
        """A looser query; None if there is no new one."""
        session.trace.add("relax", ", ".join(self.relaxations))
        looser = self.correct(session, [*tried, _Tried(query, "")], self.relaxations)
        return None if looser is None or looser in {query, *(t.query for t in tried)} else looser

    # ------------------------------------------------------------ best of several

    def best_of(self, session: Session, request: ChatRequest) -> tuple[Attempt | None, str]:
        """The first of several sampled drafts that returns rows, or the result most share."""
        voting = Vote(self.drafts, BEST_OF_TEMPERATURE, self.seed, all_sampled=True)
        if self.vote:
            return voting.run(session, request), "no draft held a query"
        best: Attempt | None = None
        for number in range(self.drafts):
            drafted = session.draft(voting.sampled(request, number), "draft")
            if drafted.query is None:
                continue
            attempt = session.run(drafted.query, drafted.parameters)
            if attempt.kind == "answered":
                return attempt, ""
            if best is None or attempt.rank > best.rank:
                best = attempt
        return best, "no draft held a query"


def _first_row(query: str) -> str:
    """The query cut to one row where its last RETURN has no LIMIT."""
    try:
        tree = parse(query)
    except CypherSyntaxError:
        return query
    body = tree.body
    if isinstance(body, ast.SingleQuery) and body.clauses:
        last = body.clauses[-1]
        if isinstance(last, ast.Return) and last.limit is None:
            return apply_edits(query, set_limit(tree, last, 1))
    return query
