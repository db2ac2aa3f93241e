"""Many-part questions: draft the parts first, then the whole with the parts before it.

Parts are found by plain English alone ("..., and how many ...?"), at no call. Each part is drafted,
fixed and run; those that return rows stand in the prompt of the whole question as exemplars, next to
it. If the whole then finds nothing, and every part has one row, the parts joined as subqueries are
the answer. Calls of parts come out of the question's budget, so fewer are left for the vote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.edits import Edit, apply_edits
from cypherforge.cypher.names import quote_name
from cypherforge.llm.base import ChatRequest
from cypherforge.runtime.prompts import Exemplar
from cypherforge.runtime.question import blanked, read_question
from cypherforge.runtime.session import Attempt, Session

#: Parts that are drafted at most: of five calls two are left for the whole.
PARTS = 3
_ASKS = r"(?:what|which|who|whom|whose|how many|how much|how often|when|where)\b"
_DOES = r"(?:find|list|count|calculate|determine|compute|identify)\b"
_SPLIT = re.compile(
    rf"(?:\?\s+(?:and\s+|also,?\s+)?(?={_ASKS})"
    rf"|;\s*(?:and\s+)?(?={_ASKS}|{_DOES})"
    rf"|,?\s+and\s+(?:also\s+)?(?={_ASKS})"
    rf"|,\s+and\s+(?:also\s+|then\s+)?(?={_DOES}))",
    re.IGNORECASE,
)
_WORDS_OF_A_PART = 3
_OUTPUT = re.compile(r"[.?]\s+(?:return|show|include|sort|order|limit|give)\b.*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a question and what its query returned."""

    question: str
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The parts of a question that were drafted; ``asked`` counts all that it has."""

    parts: tuple[Part, ...]
    asked: int

    def exemplars(self) -> list[Exemplar]:
        """The parts that return rows, for the prompt of the whole question."""
        return [
            Exemplar(part.question, part.attempt.query)
            for part in self.parts
            if part.attempt.rank == 3
        ]

    def better(self, session: Session, held: Attempt | None) -> Attempt | None:
        """The parts joined, where the whole question's query found nothing; else the held one."""
        if held is not None and held.rank >= 2:
            return held
        rows = [p.attempt.result.rows if p.attempt.result else () for p in self.parts]
        given = any(part.attempt.parameters for part in self.parts)
        if len(self.parts) < self.asked or given or any(len(found) != 1 for found in rows):
            return held
        query = joined([part.attempt.query for part in self.parts])
        if query is None:
            return held
        session.trace.add("join", query)
        attempt = session.run(query)
        return attempt if held is None or attempt.rank > held.rank else held


def split_question(question: str) -> tuple[str, ...]:
    """The parts of a question in order; one where there is nothing to part.

    What only says how to show the result ("Return ...") belongs to no part. Never splits in quotes.
    """
    text = " ".join(question.split())
    plain = blanked(text, read_question(text).quoted)
    tail = _OUTPUT.search(plain)
    if tail is not None:
        text, plain = text[: tail.start()], plain[: tail.start()]
    places = [(0, 0), *((m.start(), m.end()) for m in _SPLIT.finditer(plain))]
    ends = [start for start, _ in places[1:]] + [len(text)]
    parts = [text[begin:end].strip(" ,;?.") for (_, begin), end in zip(places, ends, strict=True)]
    if len(parts) < 2 or any(len(part.split()) < _WORDS_OF_A_PART for part in parts):
        return (question,)
    return tuple(_sentence(part) for part in parts)


def _sentence(part: str) -> str:
    mark = "." if re.match(_DOES, part, re.IGNORECASE) else "?"
    return f"{part[0].upper()}{part[1:]}{mark}"


def decompose(session: Session, request_of: Callable[[str], ChatRequest]) -> Decomposition | None:
    """Draft, fix and run the parts of the session's question; None where it has one part only.

    ``request_of`` makes the request of a question. Drafts at most three parts, and leaves one call.
    """
    parts = split_question(session.question)
    if len(parts) < 2:
        return None
    session.trace.add("decompose", "\n".join(parts), parts=list(parts))
    drafted = parts[: min(PARTS, session.calls_left - 1)]
    # A part may speak of "those users": the whole stands before it.
    requests = [request_of(f"{session.question} Answer only this part: {p}") for p in drafted]
    if not requests:
        return None
    done: list[Part] = []
    details = [{"question": part} for part in drafted]
    for part, draft in zip(drafted, session.drafts(requests, "part", details), strict=True):
        if draft.query is not None:
            done.append(Part(part, session.run(session.fix(draft.query), draft.parameters)))
    session.before = session.calls
    return Decomposition(tuple(done), len(parts))


def joined(queries: Sequence[str]) -> str | None:
    """Queries of one row each as one query that returns all their columns; None where that fails.

    Each becomes a subquery whose columns have names of their own, given back at the end. A name that
    two parts use is numbered.
    """
    calls: list[str] = []
    columns: list[str] = []
    taken: set[str] = set()
    for number, text in enumerate(queries, 1):
        try:
            query = parse(text)
        except CypherSyntaxError:
            return None
        last = query.body.clauses[-1] if isinstance(query.body, ast.SingleQuery) else None
        if not isinstance(last, ast.Return) or last.star:
            return None
        edits: list[Edit] = []
        for place, item in enumerate(last.items, 1):
            name = f"part{number}_{place}"
            edits.append(Edit(item.expression.span[1], item.span[1], f" AS {name}"))
            if item.alias is not None and last.order_by is not None:
                edits += [
                    Edit(*node.span, name)
                    for node in last.order_by.walk()
                    if isinstance(node, ast.Variable) and node.name == item.alias.name
                ]
            column, count = item.column, 2
            while column in taken:
                column, count = f"{item.column} {count}", count + 1
            taken.add(column)
            columns.append(f"{name} AS {quote_name(column)}")
        inner = apply_edits(text, edits).strip().rstrip(";")
        calls.append(f"CALL {{\n{inner}\n}}")
    return "\n".join([*calls, f"RETURN {', '.join(columns)}"])
