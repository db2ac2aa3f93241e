"""The execution vote: several drafts, grouped by what they return; the largest group answers.

One draft is greedy, the others are sampled. Groups with rows go before groups whose only row holds
nothing (a count of 0), those before no rows, and a draft that fails has no vote. What speaks against a query (:mod:`cypherforge.runtime.doubts`) is taken from its group's
votes, a share of a vote a doubt. Among groups of one size the one that holds the earlier draft wins, so
that the greedy one decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cypherforge.graph.compare import same_rows
from cypherforge.llm.base import ChatRequest
from cypherforge.runtime.session import Attempt, Session

DRAFTS = 5
TEMPERATURE = 0.8
#: Drafts asked for at first: if they agree on rows, the others could not change the answer.
FIRST = 3
#: Votes that a doubt takes from a group.
DOUBT = 0.75


@dataclass(frozen=True, slots=True)
class Group:
    """Drafts that return the same; ``members`` are their numbers, ``doubts`` the fewest of one."""

    attempt: Attempt
    members: tuple[int, ...]
    doubts: int = 0

    @property
    def votes(self) -> float:
        """Its drafts, less what speaks against it."""
        return len(self.members) - DOUBT * self.doubts


@dataclass(frozen=True, slots=True)
class Vote:
    """Draws drafts of one request and returns the attempt that most of them agree with."""

    drafts: int = DRAFTS
    temperature: float = TEMPERATURE
    seed: int = 0
    all_sampled: bool = False
    #: Whether an empty result that all drafts but one share is to be believed.
    trusted: Callable[[str], bool] = lambda _: False
    #: How many things speak against a query, given the question and the query.
    doubted: Callable[[str, str], int] = lambda question, query: 0

    def run(self, session: Session, request: ChatRequest) -> Attempt | None:
        """The winner; None if no draft held a query. Stops early once the leader cannot be beaten."""
        attempts: list[tuple[int, Attempt]] = []
        while (due := self.next_wave(session, attempts)) is not None:
            begin, count = due
            for number, attempt in self.wave(session, request, begin, count):
                if attempt is not None:
                    attempts.append((number, attempt))
        groups = self.groups(session, attempts)
        if not groups:
            return None
        self.tell(session, groups)
        empty = next((g for g in groups if g.attempt.kind == "empty"), None)
        if (
            groups[0].attempt.kind == "answered"
            and empty is not None
            and len(empty.members) >= self.drafts - 1 > len(groups[0].members)
            and self.trusted(empty.attempt.query)
        ):
            session.trace.add("stop", "nearly all drafts find nothing, with names as stored")
            return empty.attempt
        return groups[0].attempt

    def next_wave(
        self, session: Session, attempts: Sequence[tuple[int, Attempt]]
    ) -> tuple[int, int] | None:
        """Number of the next draft and how many to draw; None when the vote is decided."""
        asked = session.calls - session.before
        most = min(self.drafts, session.max_calls - session.before)
        if asked >= most:
            return None
        if asked == 0:
            return 0, min(FIRST, most)
        groups = self.groups(session, attempts)
        if groups and groups[0].attempt.rank == 3:
            second = max(0.0, groups[1].votes) if len(groups) > 1 else 0.0
            if groups[0].votes > second + (most - asked):
                return None
        return asked, most - asked

    def groups(self, session: Session, attempts: Sequence[tuple[int, Attempt]]) -> list[Group]:
        """The attempts so far, grouped, the winner first."""
        return grouped(attempts, lambda query: self.doubted(session.question, query))

    def wave(
        self, session: Session, request: ChatRequest, begin: int, count: int
    ) -> list[tuple[int, Attempt | None]]:
        """Draw, fix and run some drafts; None where an answer held no query."""
        numbers = range(begin, begin + count)
        requests = [self.sampled(request, number) for number in numbers]
        details = [{"draft": number, "temperature": r.temperature} for number, r in
                   zip(numbers, requests, strict=True)]  # fmt: skip
        found: list[tuple[int, Attempt | None]] = []
        ran: dict[str, Attempt] = {}
        drafts = session.drafts(requests, "draft", details)
        for number, drafted in zip(numbers, drafts, strict=True):
            if drafted.query is None:
                found.append((number, None))
                continue
            query = session.fix(drafted.query)
            if query not in ran:
                ran[query] = session.run(query, drafted.parameters)
            found.append((number, ran[query]))
        return found

    def sampled(self, request: ChatRequest, number: int) -> ChatRequest:
        """The request of one draft: the first greedy, the others sampled with seeds of their own.

        A draft that passes its tokens walks in circles: it is no query, and not asked for again.
        """
        request = replace(request, roomy=False)
        if number == 0 and not self.all_sampled:
            return request
        return replace(
            request, temperature=self.temperature, seed=self.seed * 1000 + number, sample=number
        )

    def tell(self, session: Session, groups: Sequence[Group]) -> None:
        """Trace how many drafts stand for which result."""
        shown = [
            f"{len(group.members)} of {sum(len(g.members) for g in groups)}: "
            f"{group.attempt.error or _rows(group.attempt)}{_against(group)}"
            for group in groups
        ]
        session.trace.add(
            "vote", "\n".join(shown), groups=[list(group.members) for group in groups]
        )


def grouped(
    attempts: Sequence[tuple[int, Attempt]], doubted: Callable[[str], int] = lambda _: 0
) -> list[Group]:
    """The attempts grouped by result, the winner first. Failed ones stay alone, at the end.

    The query that stands for a group is that of its least doubted draft.
    """
    groups: list[Group] = []
    for number, attempt in attempts:
        against = doubted(attempt.query) if attempt.result is not None else 0
        for place, group in enumerate(groups):
            if _agree(group.attempt, attempt):
                members = (*group.members, number)
                if against < group.doubts:
                    groups[place] = Group(attempt, members, against)
                else:
                    groups[place] = Group(group.attempt, members, group.doubts)
                break
        else:
            groups.append(Group(attempt, (number,), against))
    return sorted(groups, key=lambda g: (-g.attempt.rank, -g.votes, g.members[0]))


def _agree(a: Attempt, b: Attempt) -> bool:
    if a.query == b.query:
        return True
    if a.result is None or b.result is None:
        return False
    return same_rows(a.result, b.result) is True


def _rows(attempt: Attempt) -> str:
    count = len(attempt.result.rows) if attempt.result else 0
    return f"{count} row" if count == 1 else f"{count} rows"


def _against(group: Group) -> str:
    return f", {group.doubts} doubtful" if group.doubts else ""
