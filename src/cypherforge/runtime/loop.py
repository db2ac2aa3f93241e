"""The execution loop: a query that fails or finds nothing is turned, then corrected.

CypherGuard, section 3.4 and Algorithm 2. Tier 1, on empty results only: the arrows that the schema
leaves open are reversed, all at once, and the turned query is kept only if rows come. Tier 2: the
model sees question, query and error, for an empty result also what the database says of the query's
literals, and names a code of the taxonomy, the cause and a corrected query.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.bindings import resolve
from cypherforge.cypher.edits import Edit, apply_edits
from cypherforge.cypher.rewrite import flip_relationship
from cypherforge.graph.schema import Schema
from cypherforge.graph.value_index import ValueIndex
from cypherforge.llm.base import ChatRequest, Message
from cypherforge.rules.taxonomy import taxonomy
from cypherforge.runtime.fixes import declared
from cypherforge.runtime.literals import grounding_notes
from cypherforge.runtime.session import Attempt, Session
from cypherforge.templates import render

#: L of the paper: corrections that a question may cost.
ITERATIONS = 3
_CODE = re.compile(r"(?im)^\W*code\W*[:=]\W*([a-z]+\.[a-z_]+)")


@dataclass(frozen=True, slots=True)
class ExecutionLoop:
    """The loop; ``flip`` is tier 1, ``notes`` literal grounding, each removable."""

    schema: Schema
    schema_text: str
    index: ValueIndex | None = None
    iterations: int = ITERATIONS
    flip: bool = True
    notes: bool = True
    max_tokens: int = 400

    def run(self, session: Session, held: Attempt) -> Attempt:
        """Return the attempt that the loop ends with; a query that finds rows ends it at once.

        Stops at an empty or unchanged rewrite and at a repeated query (the held attempt is returned),
        at the same code twice (the newest is), and when no model call is left. A rewrite that fails
        never takes the place of one that ran.
        """
        seen = {held.query}
        codes: set[str] = set()
        for _ in range(self.iterations):
            if held.kind in ("answered", "refused"):
                return held
            if held.kind == "empty" and self.flip:
                turned = self.turned(held.query)
                if turned is not None and turned not in seen:
                    seen.add(turned)
                    session.trace.add("flip", turned)
                    attempt = session.run(turned, held.parameters)
                    if attempt.rank > held.rank:
                        return attempt
            if session.calls_left < 1:
                session.trace.add("stop", "no model call is left")
                return held
            drafted = session.draft(self.request(session, held), "correct")
            answer = drafted.answer
            match = _CODE.search(answer.text) if answer else None
            code = match[1] if match else ""
            if drafted.query is None or drafted.query == held.query:
                session.trace.add("stop", "the rewrite is empty or unchanged", code=code)
                return held
            query = session.fix(drafted.query)
            if query in seen:
                session.trace.add("stop", "the rewrite was tried before", code=code)
                return held
            seen.add(query)
            attempt = session.run(query, drafted.parameters)
            if attempt.rank >= held.rank and attempt.kind != "refused":
                held = attempt
            if code and code in codes and held.kind != "answered":
                session.trace.add("stop", f"the code {code} for the second time", code=code)
                return held
            codes.add(code)
        return held

    def request(self, session: Session, held: Attempt) -> ChatRequest:
        """The correction prompt (the paper's Figure 5)."""
        notes: list[str] = []
        if self.notes and held.kind == "empty":
            try:
                notes = grounding_notes(
                    parse(held.query),
                    self.schema,
                    graph=session.graph,
                    index=self.index,
                    count_probe=session.count_probe,
                )
            except CypherSyntaxError:
                notes = []
            if notes:
                session.trace.add("ground", "\n".join(notes))
        prompt = render(
            "prompts/correction.jinja",
            schema=self.schema_text,
            question=session.question,
            query=held.query,
            error=held.error,
            notes=notes,
            codes=list(taxonomy().codes),
        )
        return ChatRequest((Message("user", prompt),), max_tokens=self.max_tokens)

    def turned(self, text: str) -> str | None:
        """The query with every arrow reversed that the schema allows both ways; None if there is none."""
        try:
            query = parse(text)
        except CypherSyntaxError:
            return None
        edits = self.flips(query)
        return apply_edits(text, edits) if edits else None

    def flips(self, query: ast.Query) -> list[Edit]:
        """The edits that turn the arrows which the schema leaves open."""
        edits: list[Edit] = []
        for link in resolve(query).links:
            types = link.relationship.names & set(self.schema.types) or set(self.schema.types)
            if link.directed and declared(self.schema, types, link.end, link.start):
                edits += flip_relationship(query, link.pattern)
        return edits
