"""Strategies with parts around the model: CypherGuard as the paper has it, the vote, and ``full``.

Every part can be left out by its name (``parts_off``), so that each can be measured.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from cypherforge.artifacts.bundle import Bundle
from cypherforge.core.errors import InputError, UsageError
from cypherforge.core.files import digest
from cypherforge.core.paths import cache_folder
from cypherforge.core.progress import Progress
from cypherforge.cypher import CypherSyntaxError, parse
from cypherforge.cypher.schema_check import check_schema
from cypherforge.graph.base import Graph
from cypherforge.graph.narrow import narrow
from cypherforge.graph.render import render_schema
from cypherforge.graph.schema import Schema
from cypherforge.graph.value_index import ValueIndex
from cypherforge.llm.base import ChatModel, ChatRequest, Embedder
from cypherforge.llm.specs import open_embedder
from cypherforge.rules.model import Rule
from cypherforge.rules.select import applicable
from cypherforge.runtime.abstract import AbstractStore
from cypherforge.runtime.decompose import decompose
from cypherforge.runtime.doubts import doubts
from cypherforge.runtime.exemplars import ExemplarStore, by_keywords
from cypherforge.runtime.fixes import Fix, FixLiterals, FixOwners, RepairDialect, schema_fixes
from cypherforge.runtime.group_fix import FixGroupKeys
from cypherforge.runtime.home_fix import FixHomes
from cypherforge.runtime.literals import (
    question_notes,
    stored_as_written,
    unheld_names,
    unknown_names,
)
from cypherforge.runtime.loop import ExecutionLoop
from cypherforge.runtime.path_fix import FixEndpoints, FixMissing
from cypherforge.runtime.pipeline import Answer
from cypherforge.runtime.prompts import Exemplar, draft_request
from cypherforge.runtime.schema_grammar import schema_grammar
from cypherforge.runtime.schema_prompt import prompt_schema
from cypherforge.runtime.scope_fix import FixAliases, FixScope
from cypherforge.runtime.session import CALLS, Attempt, Session, open_session
from cypherforge.runtime.silent import SilentChecks
from cypherforge.runtime.target import fitting, target_exemplars
from cypherforge.runtime.trace import Listener
from cypherforge.runtime.type_fix import FixTypes, FixUnits
from cypherforge.runtime.vote import Vote
from cypherforge.validators.gate import dialect_of

#: What can be left out, and what each is.
PARTS: dict[str, str] = {
    "rules": "the bundle's rules in the prompt",
    "exemplars": "three questions with their queries in the prompt",
    "target": "exemplars synthesized from the graph where neither caller nor bundle has any of it",
    "abstract": "two exemplars of the bundle's other graphs, their names made abstract",
    "shapes": "two skeletons in the prompt",
    "grounding": "stored values that the question names, in the prompt",
    "narrow": "the schema cut to the question where it is long",
    "paths": "the schema as paths with variables, properties of few values with these",
    "grammar": "drafts bound to the schema's grammar",
    "decompose": "the parts of a many-part question drafted first",
    "vote": "five drafts, grouped by result",
    "doubts": "what speaks against a query taken from its votes",
    "dialect": "words of SQL and of older Cypher rewritten",
    "rel_types": "FixRelTypes",
    "directions": "AlignDirections",
    "self_loops": "RedirectSelfLoops",
    "endpoints": "hops hung where the schema has them",
    "aliases": "what WITH carries on gets a name",
    "scope": "names used out of their scope brought back",
    "owners": "properties read from the part of the pattern that has them",
    "missing_hop": "what is read but never matched gets the one hop that has it",
    "types": "literals written as the type of their property is compared",
    "units": "durations read in the unit that the question asks for",
    "literals": "literals written as they are stored",
    "homes": "values asked of the node that stores them",
    "group_keys": "keys of a group that no row shows left out",
    "loop": "the execution loop",
    "flip": "tier 1 of the loop: open arrows reversed",
    "notes": "literal grounding in the correction prompt",
    "checks": "silent-fault checks on rows that came",
}
#: Which parts each strategy has.
PROFILES: dict[str, frozenset[str]] = {
    "cypherguard": frozenset(
        ["rules", "exemplars", "shapes", "rel_types", "directions", "self_loops", "loop", "flip"]
        + ["notes"]
    ),
    "vote": frozenset(["grammar", "vote", "dialect", "rel_types", "directions", "self_loops"]),
    # What is left out has not paid where it was measured, or costs more time than it gains there:
    # docs/results/runtime.md.
    "full": frozenset(PARTS) - {"shapes", "abstract", "decompose", "grammar", "paths", "homes"},
}
#: A schema of at most so many tokens is shown whole: what many questions share is read once.
WHOLE_SCHEMA = 900
SHAPES = 2
ABSTRACT = 2


@dataclass(frozen=True, slots=True)
class Prompter:
    """Builds the request of a draft from the parts that are on."""

    schema: Schema
    rules: tuple[Rule, ...] = ()
    bundle: Bundle | None = None
    store: ExemplarStore | None = None
    index: ValueIndex | None = None
    abstract: AbstractStore | None = None
    shapes: bool = False
    narrowed: bool = False
    values: ValueIndex | None = None
    grammar: bool = False
    lowered: bool = False
    _grammars: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    def request(
        self, session: Session, question: str = "", further: Sequence[Exemplar] = ()
    ) -> ChatRequest:
        """The request for one question (the session's); what it shows is told in the trace.

        ``further`` exemplars stand after the chosen ones, next to the question.
        """
        question = question or session.question
        notes: list[str] = []
        if self.index is not None:
            notes = question_notes(question, self.index, self.schema)
        schema, text = self.shown_schema(question, notes)
        if notes:
            text += "\n\nValues that the question names, as the database stores them:\n"
            text += "\n".join(notes)
        rules = applicable(list(self.rules), self.schema, question)
        exemplars = self.store.choose(question) if self.store is not None else []
        others = self.abstract.choose(question, ABSTRACT) if self.abstract is not None else []
        exemplars = [*others, *exemplars, *further]
        shapes: list[str] = []
        if self.shapes and self.bundle is not None:
            bank = self.bundle.shapes
            chosen = by_keywords(question, [s.keywords for s in bank], SHAPES)
            shapes = [bank[i].cypher for i in chosen]
        request = draft_request(
            text,
            question,
            rules=[rule.prompt_text() for rule in rules],
            shapes=shapes,
            exemplars=exemplars,
        )
        session.trace.add(
            "prompt",
            "\n".join(notes) or "no stored value is named",
            rules=[rule.id for rule in rules],
            exemplars=[e.question for e in exemplars],
            shapes=shapes,
        )
        if self.grammar:
            request = replace(request, grammar=self.gbnf(schema))
        return request

    def shown_schema(self, question: str, notes: Sequence[str]) -> tuple[Schema, str]:
        """The schema that the prompt shows, whole unless it is long and narrowing is on."""
        rendering = render_schema(self.schema)
        if not self.narrowed or rendering.tokens <= WHOLE_SCHEMA:
            return self.schema, self.schema_text(self.schema)
        places = []
        if self.index is not None:
            mentions = self.index.mentions(question)
            places = [hit.place for mention in mentions for hit in mention.hits]
        smaller = narrow(self.schema, question, values=places, hops=1).schema
        return smaller, self.schema_text(smaller)

    def schema_text(self, schema: Schema) -> str:
        """A schema as the prompt shows it."""
        if self.values is not None:
            return prompt_schema(schema, self.values)
        return render_schema(schema).text

    def gbnf(self, schema: Schema) -> str:
        """The grammar of the shown schema, made once."""
        key = schema.digest
        if key not in self._grammars:
            self._grammars[key] = schema_grammar(
                schema, fenced=True, conditions=self.lowered
            ).gbnf()
        return self._grammars[key]


@dataclass(frozen=True, slots=True)
class Guarded:
    """Draft (one, or a vote), fix, execute, correct."""

    name: str
    graph: Graph
    model: ChatModel
    prompter: Prompter
    fixes: tuple[Fix, ...] = ()
    vote: Vote | None = None
    loop: ExecutionLoop | None = None
    checks: SilentChecks | None = None
    max_calls: int = CALLS
    at_once: int = CALLS
    decomposes: bool = False
    #: Fixes that need the question.
    asked: tuple[Callable[[str], Fix], ...] = ()

    def answer(self, question: str, *, listener: Listener | None = None) -> Answer:
        """Answer one question; ``listener`` sees each step. Raises only the environment's faults."""
        if not question.strip():
            raise UsageError("the question is empty", hint="ask something in quotes")
        session = open_session(
            question,
            self.model,
            self.graph,
            (*self.fixes, *(make(question) for make in self.asked)),
            self.max_calls,
            listener,
            self.at_once,
        )
        parts = None
        if self.decomposes:
            parts = decompose(session, partial(self.prompter.request, session))
        request = self.prompter.request(session, further=parts.exemplars() if parts else ())
        reason = "no draft held a query"
        if self.vote is not None:
            held = self.vote.run(session, request)
        else:
            drafted = session.draft(request, "draft")
            held = None
            if drafted.query is not None:
                held = session.run(session.fix(drafted.query), drafted.parameters)
            reason = f"no query in the answer: {drafted.reason}"
        if parts is not None:
            held = parts.better(session, held)
        if held is None:
            return session.answer(None, reason)
        if self.loop is not None:
            held = self.loop.run(session, held)
        if self.checks is not None:
            held = self.checked(session, held)
        return self.judged(session, held)

    def judged(self, session: Session, held: Attempt) -> Answer:
        """The answer, with what the stored values say: which named one the query does not hold.

        Unanswerable in the place of empty, where the question names what is stored nowhere.
        """
        index, schema = self.prompter.index, self.prompter.schema
        if index is not None and held.kind == "answered":
            unheld = unheld_names(session.question, held.query, held.parameters, schema, index)
            session.warnings += [
                f"filter.missing: the question names {name}, the query does not" for name in unheld
            ]
        answer = session.answer(held)
        if index is None or answer.outcome != "empty":
            return answer
        unknown = unknown_names(session.question, schema, index)
        if not unknown:
            return answer
        names = ", ".join(f"{name!r}" for name in unknown)
        reason = f"neither the schema nor the data has {names}"
        session.trace.add("unanswerable", reason)
        return replace(answer, outcome="unanswerable", reason=reason)

    def checked(self, session: Session, held: Attempt) -> Attempt:
        """What the silent-fault checks see is told; what the database settles is changed."""
        assert self.checks is not None
        if held.result is None:
            return held
        found = self.checks.check(
            session.question, held.query, held.result, count_probe=session.count_probe
        )
        for item in found:
            session.trace.add("check", f"{item.code}: {item.evidence}", **item.to_json())
            if item.settled and item.query is not None:
                mended = session.run(item.query, held.parameters)
                if mended.kind == "answered":
                    held = mended
                    continue
            session.warnings.append(f"{item.code}: {item.evidence}")
        return held


def open_guarded(
    name: str,
    *,
    graph: Graph,
    model: ChatModel,
    schema: Schema,
    bundle: str | Path | Bundle | None = None,
    exemplars: Sequence[Exemplar] | None = None,
    seed: int = 0,
    parts_off: Collection[str] = (),
    parts_on: Collection[str] = (),
    max_calls: int = CALLS,
    at_once: int = CALLS,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
) -> Guarded:
    """Open ``cypherguard``, ``vote`` or ``full`` without ``parts_off`` and with ``parts_on``.

    ``exemplars`` (of the target graph, for instance) are taken instead of the bundle's; an empty
    list leaves them out. Without them, and where the bundle has none of this graph, ``full`` makes
    its own once (part ``target``), telling ``progress``. ``at_once``
    bounds the calls of one question that run at the same time: 1 where many questions run at once
    and the endpoint keeps what it read of a prompt in the place of its last call. Raises UsageError
    for an unknown part.
    """
    unknown = sorted({*parts_off, *parts_on} - set(PARTS))
    if unknown:
        raise UsageError(f"no part {unknown[0]!r}", hint=f"there are {', '.join(PARTS)}")
    on = (PROFILES[name] | set(parts_on)) - set(parts_off)
    loaded = Bundle.load(bundle) if isinstance(bundle, str | Path) else bundle
    if exemplars is None and {"exemplars", "target"} <= on:
        if loaded is None or not fitting(loaded, schema):
            exemplars = target_exemplars(graph, schema, progress) or None
    needs_index = on & {"grounding", "literals", "homes", "paths"}
    index = shared_index(graph, schema) if needs_index else None
    prompter = Prompter(
        schema,
        rules=_kept(loaded) if "rules" in on else (),
        bundle=loaded,
        store=_store(loaded, exemplars, embedder) if "exemplars" in on else None,
        index=index if "grounding" in on else None,
        abstract=_abstract(loaded, schema, embedder) if "abstract" in on else None,
        shapes="shapes" in on,
        narrowed="narrow" in on,
        values=index if "paths" in on else None,
        grammar="grammar" in on,
        # Only dialect repair can make Cypher of a condition in a map.
        lowered="dialect" in on,
    )
    # In this order; each is called as the part that it is.
    every: list[Fix] = [
        RepairDialect(dialect_of(graph), schema.names()),
        *schema_fixes(schema, graph),
        FixEndpoints(schema),
        FixAliases(),
        FixScope(schema),
        FixOwners(schema),
        FixMissing(schema),
        FixTypes(schema),
    ]
    if index is not None:
        every += [FixLiterals(schema, index), FixHomes(schema, index)]
    every.append(FixGroupKeys())
    fixes = [fix for fix in every if fix.name in on]
    loop = None
    if "loop" in on:
        text = render_schema(schema).text
        loop = ExecutionLoop(schema, text, index, flip="flip" in on, notes="notes" in on)
    vote = Vote(seed=seed) if "vote" in on else None
    if vote is not None and index is not None:
        vote = replace(vote, trusted=partial(_believed, schema=schema, index=index))
    if vote is not None and "doubts" in on:
        vote = replace(vote, doubted=partial(doubts, schema=schema))
    checks = SilentChecks(graph, schema) if "checks" in on else None
    return Guarded(
        name,
        graph,
        model,
        prompter,
        tuple(fixes),
        vote,
        loop,
        checks,
        max_calls,
        at_once,
        "decompose" in on,
        (partial(FixUnits, schema),) if "units" in on else (),
    )


def _believed(query: str, *, schema: Schema, index: ValueIndex) -> bool:
    """Whether nothing in a query speaks against its finding nothing."""
    try:
        tree = parse(query)
    except CypherSyntaxError:
        return False
    return stored_as_written(tree, schema, index) and not check_schema(tree, schema)


def _kept(bundle: Bundle | None) -> tuple[Rule, ...]:
    rows = (Rule.model_validate(row) for row in bundle.rules) if bundle is not None else ()
    return tuple(rule for rule in rows if rule.evidence is None or rule.evidence.verdict == "kept")


def _store(
    bundle: Bundle | None, exemplars: Sequence[Exemplar] | None, embedder: Embedder | None
) -> ExemplarStore | None:
    if exemplars is not None:
        return ExemplarStore.of(exemplars, embedder or open_embedder("wordllama"))
    if bundle is not None and bundle.exemplars:
        pairs = [Exemplar(e.question, e.cypher) for e in bundle.exemplars]
        opened = embedder or open_embedder(bundle.embedder)
        return ExemplarStore(pairs, bundle.embeddings, opened)
    return None


def _abstract(
    bundle: Bundle | None, schema: Schema, embedder: Embedder | None
) -> AbstractStore | None:
    """The bundle's exemplars made abstract, unless they are of this graph."""
    if bundle is None or not bundle.exemplars or fitting(bundle, schema):
        return None
    pairs = [Exemplar(e.question, e.cypher) for e in bundle.exemplars]
    return AbstractStore.of(pairs, schema, embedder or open_embedder(bundle.embedder))


_indexes: dict[str, ValueIndex] = {}
_lock = threading.Lock()


def shared_index(graph: Graph, schema: Schema) -> ValueIndex:
    """The value index of a graph, read once for a state of its data and kept in the cache folder."""
    key = digest(f"{graph.uri}\0{graph.fingerprint()}").removeprefix("sha256:")[:24]
    with _lock:
        if key not in _indexes:
            folder = cache_folder() / "values" / key
            try:
                index = ValueIndex.load(folder)
            except InputError:
                index = ValueIndex.build(graph, schema)
                index.save(folder)
            _indexes[key] = index
        return _indexes[key]
