"""Confidence filtering: many sampled drafts, the sure ones kept, a vote among them.

From "confidence-filtering" (Text2Cypher), which takes DeepConf's measures: a token's confidence is
the negative mean log probability of its likeliest alternatives, so a peaked choice is high; it is
averaged over sliding groups of tokens, and a draft is as sure as its lowest group (or its lowest
tenth, its tail, its mean). Offline the surest share is kept; online the first drafts set a
threshold and a later one is dropped once a group falls below it. Then come a grammar filter and a
filter by the schema's directions, each removable, and a vote weighted by confidence.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from cypherforge.core.errors import NotSupported, UsageError
from cypherforge.cypher import CypherSyntaxError, normal_form, parse
from cypherforge.graph.base import Graph
from cypherforge.graph.schema import Schema
from cypherforge.llm.base import ChatAnswer, ChatModel, ChatRequest, TokenLogprob
from cypherforge.llm.watch import CUT, watching
from cypherforge.runtime.draft import Draft
from cypherforge.runtime.fixes import AlignDirections
from cypherforge.runtime.pipeline import Answer
from cypherforge.runtime.prompts import zero_shot_request
from cypherforge.runtime.session import Attempt, Session, open_session
from cypherforge.runtime.trace import Listener
from cypherforge.runtime.vote import grouped

Measure = Literal["lowest", "bottom", "tail", "mean"]
GrammarFilter = Literal["none", "naive", "formal"]
VoteOn = Literal["query", "result"]

#: Sampling presets of the paper.
PRESETS: dict[str, dict[str, float | int]] = {
    "moderate": {"temperature": 0.9, "top_p": 0.99, "top_k": 60},
    "diverse": {"temperature": 1.2, "top_p": 0.999, "top_k": 80},
}
#: Alternatives a token's confidence looks at, tokens of a group, tokens of the tail.
TOP_K, GROUP, TAIL = 5, 16, 16
_CLAUSE = re.compile(r"\b(MATCH|RETURN|WITH|WHERE|CREATE|UNWIND|CALL|MERGE)\b", re.IGNORECASE)
_REPEATED = re.compile(r"\b(MATCH|RETURN|WITH|WHERE|LIMIT|SKIP|ORDER BY)\s+\1\b", re.IGNORECASE)
_STRINGS = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`")

#: Arms of the paper: mode, filters. ``conf`` is offline with the real parser and the schema.
ARMS: dict[str, dict[str, Any]] = {
    "conf": {"grammar": "formal", "schema_filter": True},
    "conf-base": {"keep": 1.0, "drafts": 1},
    "conf-confidence": {},
    "conf-naive": {"grammar": "naive"},
    "conf-formal": {"grammar": "formal"},
    "conf-naive-schema": {"grammar": "naive", "schema_filter": True},
    "conf-result": {"grammar": "formal", "schema_filter": True, "vote_on": "result"},
}
ARMS |= {f"{name}-online": {**options, "online": True} for name, options in ARMS.items()
         if name != "conf-base"}  # fmt: skip


def token_confidence(token: TokenLogprob, top: int = TOP_K) -> float:
    """The negative mean log probability of the ``top`` likeliest alternatives (DeepConf).

    Without alternatives the token's own log probability stands for them, turned so that sure is
    high there too.
    """
    if token.top:
        values = [p for _, p in token.top[:top] if math.isfinite(p)]
        if values:
            return -sum(values) / len(values)
    return max(token.logprob, -50.0)


def group_confidences(tokens: Sequence[TokenLogprob], size: int = GROUP) -> list[float]:
    """Means over sliding groups of ``size`` tokens; one group where there are fewer."""
    values = [token_confidence(token) for token in tokens]
    if not values:
        return []
    size = min(size, len(values))
    return [sum(values[i : i + size]) / size for i in range(len(values) - size + 1)]


def confidence(
    tokens: Sequence[TokenLogprob], measure: Measure = "lowest", size: int = GROUP
) -> float | None:
    """How sure a draft is; None without log probabilities."""
    groups = group_confidences(tokens, size)
    if not groups:
        return None
    if measure == "lowest":
        return min(groups)
    if measure == "bottom":
        count = max(1, len(groups) // 10)
        return sum(sorted(groups)[:count]) / count
    values = [token_confidence(token) for token in tokens]
    if measure == "tail":
        values = values[-TAIL:]
    return sum(values) / len(values)


def naive_grammar(query: str) -> bool:
    """The paper's light check: brackets balance, no clause word is repeated, some clause is there."""
    bare = _STRINGS.sub("''", query)
    stack: list[str] = []
    pairs = {")": "(", "]": "[", "}": "{"}
    for char in bare:
        if char in "([{":
            stack.append(char)
        elif char in pairs and (not stack or stack.pop() != pairs[char]):
            return False
    return not stack and not _REPEATED.search(bare) and bool(_CLAUSE.search(bare))


def formal_grammar(query: str) -> bool:
    """Whether the query parses."""
    try:
        parse(query)
    except CypherSyntaxError:
        return False
    return True


class Falling:
    """A watch that cuts an answer once a whole group of its tokens is less sure than a threshold."""

    def __init__(self, threshold: float, size: int = GROUP) -> None:
        self._threshold = threshold
        self._group: deque[float] = deque(maxlen=size)

    def __call__(self, token: TokenLogprob) -> bool:
        """Whether the answer may go on after this token."""
        self._group.append(token_confidence(token))
        full = len(self._group) == self._group.maxlen
        return not full or sum(self._group) / len(self._group) >= self._threshold


@dataclass(frozen=True, slots=True)
class Watched:
    """A model whose answers are cut once they fall below a threshold; one that was cut is no answer."""

    inner: ChatModel
    threshold: float
    size: int = GROUP

    @property
    def name(self) -> str:
        """The name of the model inside."""
        return self.inner.name

    def chat(self, request: ChatRequest) -> ChatAnswer:
        """The answer, whole or cut. A cut one is not asked for again with more room."""
        with watching(Falling(self.threshold, self.size)):
            return self.inner.chat(replace(request, roomy=False))


@dataclass(frozen=True, slots=True)
class Candidate:
    """One sampled draft: its number, query, confidence, and tokens up to where it would be cut."""

    number: int
    draft: Draft
    confidence: float
    tokens: int
    cut: bool = False


@dataclass(frozen=True, slots=True)
class ConfidenceFilter:
    """The strategy. ``keep`` is the share of surest drafts kept, ``warmup`` the drafts that set the
    online threshold, ``consensus`` the share of weight that ends sampling.

    ``fallback``: what answers when every draft is filtered away: nothing (an honest failure) or the
    surest draft.
    """

    name: str
    graph: Graph
    model: ChatModel
    schema: Schema
    schema_text: str
    drafts: int = 5
    keep: float = 0.6
    measure: Measure = "lowest"
    group: int = GROUP
    preset: str = "moderate"
    online: bool = False
    warmup: int = 3
    consensus: float = 0.95
    grammar: GrammarFilter = "none"
    schema_filter: bool = False
    vote_on: VoteOn = "query"
    fallback: Literal["none", "surest"] = "none"
    seed: int = 0

    def __post_init__(self) -> None:
        """Raises UsageError for a preset that is not there."""
        if self.preset not in PRESETS:
            raise UsageError(f"no preset {self.preset!r}", hint=f"one of {', '.join(PRESETS)}")

    def answer(self, question: str, *, listener: Listener | None = None) -> Answer:
        """Answer one question, telling ``listener`` each step.

        Raises NotSupported if the endpoint gives no log probabilities, and the environment's faults.
        """
        if not question.strip():
            raise UsageError("the question is empty", hint="ask something in quotes")
        session = open_session(question, self.model, self.graph, (), self.drafts, listener)
        request = zero_shot_request(self.schema_text, question)
        candidates = self.sample_online(session, request) if self.online else (
            self.sample(session, request, range(self.drafts)))  # fmt: skip
        kept = self.filtered(session, candidates)
        spent = sum(c.tokens for c in candidates)
        session.trace.add(
            "kept", f"{len(kept)} of {len(candidates)} drafts, {spent} tokens", tokens=spent,
            drafts=[c.number for c in kept],
        )  # fmt: skip
        if not kept and self.fallback == "surest" and candidates:
            kept = [max(candidates, key=lambda c: (c.confidence, -c.number))]
        if not kept:
            return session.answer(None, "every draft was filtered away")
        return session.answer(self.voted(session, kept))

    # ------------------------------------------------------------ sampling

    def requests(self, request: ChatRequest, numbers: Sequence[int]) -> list[ChatRequest]:
        """The requests of some drafts, with log probabilities; one draft alone is greedy."""
        wide = replace(request, logprobs=TOP_K)
        if self.drafts == 1:
            return [wide]
        preset: dict[str, Any] = dict(PRESETS[self.preset])
        return [replace(wide, seed=self.seed * 1000 + n, sample=n, **preset) for n in numbers]

    def sample(
        self, session: Session, request: ChatRequest, numbers: Sequence[int]
    ) -> list[Candidate]:
        """Drafts with their confidence; those without a query are counted, not kept."""
        drafts = session.drafts(self.requests(request, numbers), "draft")
        found = [
            self.candidate(number, drafted)
            for number, drafted in zip(numbers, drafts, strict=True)
            if drafted.answer is not None
        ]
        for candidate in found:
            state = "empty" if candidate.draft.query is None else ""
            text = f"draft {candidate.number}: {candidate.confidence:.3f}"
            session.trace.add("confidence", text, value=candidate.confidence, state=state)
        return found

    def candidate(self, number: int, drafted: Draft, threshold: float | None = None) -> Candidate:
        """A draft with its confidence, cut where a group falls below the threshold."""
        answer = drafted.answer
        assert answer is not None
        value = self._confidence(answer)
        tokens, cut = answer.completion_tokens, False
        if threshold is not None:
            for place, group in enumerate(group_confidences(answer.logprobs, self.group)):
                if group < threshold:
                    tokens, cut = min(tokens, place + self.group), True
                    break
        return Candidate(number, drafted, value, tokens, cut)

    def _confidence(self, answer: ChatAnswer) -> float:
        value = confidence(answer.logprobs, self.measure, self.group)
        if value is None:
            raise NotSupported(
                f"{self.model.name} gives no log probabilities",
                hint="use a strategy that needs none: vote, full",
            )
        return value

    def sample_online(self, session: Session, request: ChatRequest) -> list[Candidate]:
        """Warm-up drafts, then one at a time until the kept ones agree or all are drawn.

        A draft that falls below the threshold is cut while it streams. Where answers come whole (a
        cache, an endpoint that does not stream log probabilities), it is dropped when it is there,
        and its tokens are counted up to the cut: what streaming would have spent.
        """
        warm = self.sample(session, request, range(min(self.warmup, self.drafts)))
        if not warm:
            return []
        ranked = sorted((c.confidence for c in warm), reverse=True)
        threshold = ranked[max(0, math.ceil(self.keep * len(ranked)) - 1)]
        session.trace.add("threshold", f"{threshold:.3f} from {len(warm)} drafts")
        found = [replace(c, cut=c.confidence < threshold) for c in warm]
        session.model = Watched(self.model, threshold, self.group)
        for number in range(len(warm), self.drafts):
            if self.agreed([c for c in found if not c.cut]):
                session.trace.add("stop", f"consensus after {len(found)} drafts")
                break
            (drafted,) = session.drafts(self.requests(request, [number]), "draft")
            if drafted.answer is not None:
                found.append(self.candidate(number, drafted, threshold))
                if drafted.answer.note == CUT:
                    text = f"draft {number} after {found[-1].tokens} tokens, while it streamed"
                    session.trace.add("cut", text, tokens=found[-1].tokens)
        return found

    def agreed(self, kept: Sequence[Candidate]) -> bool:
        """Whether one query has nearly all the weight of at least two drafts."""
        weights: dict[str, float] = {}
        for candidate in kept:
            if candidate.draft.query is not None:
                key = _key(candidate.draft.query)
                weights[key] = weights.get(key, 0.0) + candidate.confidence
        total = sum(weights.values())
        return len(kept) > 1 and total > 0 and max(weights.values()) / total >= self.consensus

    # ------------------------------------------------------------ filters and vote

    def filtered(self, session: Session, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The candidates that pass all filters, in order: confidence, grammar, schema."""
        kept = [c for c in candidates if c.draft.query is not None and not c.cut]
        if not self.online and len(candidates) > 1:
            count = max(1, math.ceil(self.keep * len(candidates)))
            kept = sorted(kept, key=lambda c: (-c.confidence, c.number))[:count]
        check: dict[GrammarFilter, Callable[[str], bool]] = {
            "none": lambda _: True,
            "naive": naive_grammar,
            "formal": formal_grammar,
        }
        passed = [c for c in kept if check[self.grammar](c.draft.query or "")]
        if self.schema_filter:
            directions = AlignDirections(self.schema)
            passed = [c for c in passed if not _turned(directions, c.draft.query or "")]
        session.trace.add(
            "filter", f"{len(candidates)} drawn, {len(kept)} sure, {len(passed)} pass",
            drawn=len(candidates), sure=len(kept), passed=len(passed),
        )  # fmt: skip
        return sorted(passed, key=lambda c: c.number)

    def voted(self, session: Session, kept: Sequence[Candidate]) -> Attempt:
        """The vote, weighted by confidence, on the normal form of the query or on its result."""
        if self.vote_on == "result":
            attempts = [
                (c.number, session.run(c.draft.query or "", c.draft.parameters)) for c in kept
            ]
            weight = {c.number: c.confidence for c in kept}
            groups = grouped(attempts)
            best = max(groups, key=lambda g: (g.attempt.rank, sum(weight[n] for n in g.members)))
            return best.attempt
        weights: dict[str, float] = {}
        for candidate in kept:
            key = _key(candidate.draft.query or "")
            weights[key] = weights.get(key, 0.0) + candidate.confidence
        best_key = max(weights, key=lambda key: weights[key])
        winner = next(c for c in kept if _key(c.draft.query or "") == best_key)
        return session.run(winner.draft.query or "", winner.draft.parameters)


def _turned(directions: AlignDirections, query: str) -> bool:
    """Whether a query has an arrow that the schema declares only the other way."""
    return directions.apply(query).text != query


def _key(query: str) -> str:
    """Equal for queries that differ only in layout and names of variables."""
    try:
        return normal_form(query)
    except CypherSyntaxError:
        return " ".join(query.split())
