"""What must not leak: the questions, queries, skeletons, entities and graphs of a held-out set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cypherforge.core.datasets import Example
from cypherforge.core.errors import UsageError
from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.normal import gold_key, normal_form

WAYS = ("graph", "skeleton", "entity", "question")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Holdout:
    """Held-out material by kind; ``ways`` says which kinds keep a pair out.

    ``skeletons`` are queries but for variables, literals and aliases.
    """

    ways: frozenset[str] = frozenset()
    graphs: frozenset[str] = frozenset()
    skeletons: frozenset[str] = frozenset()
    entities: frozenset[str] = frozenset()
    questions: frozenset[str] = frozenset()
    queries: frozenset[str] = frozenset()

    @classmethod
    def of(cls, examples: Iterable[Example], ways: Sequence[str]) -> Holdout:
        """Read held-out examples. Raises ``UsageError`` for an unknown way."""
        unknown = sorted(set(ways) - set(WAYS))
        if unknown:
            raise UsageError(
                f"cannot hold out by {unknown[0]!r}", hint=f"one or more of {', '.join(WAYS)}"
            )
        graphs: set[str] = set()
        skeletons: set[str] = set()
        entities: set[str] = set()
        questions: set[str] = set()
        queries: set[str] = set()
        for example in examples:
            graphs.add(example.graph)
            questions.add(plain(example.question))
            try:
                query = parse(example.cypher)
            except CypherSyntaxError:
                continue
            entities.update(texts_of(query))
            queries.add(normal_form(query))
            skeletons.add(gold_key(query))
        return cls(
            frozenset(ways),
            frozenset(graphs),
            frozenset(skeletons),
            frozenset(entities),
            frozenset(questions),
            frozenset(queries),
        )

    def blocks_value(self, value: str) -> bool:
        """Whether a text value is an entity of the held-out set."""
        return "entity" in self.ways and value in self.entities

    def reason(self, graph: str, question: str, query: ast.Query) -> str:
        """Why a pair must stay out; empty if it may stay."""
        if "graph" in self.ways and graph in self.graphs:
            return "held out: graph"
        if "question" in self.ways and plain(question) in self.questions:
            return "held out: question"
        # A held-out query under another question would leak all the same.
        if self.ways and normal_form(query) in self.queries:
            return "held out: query"
        if "skeleton" in self.ways and gold_key(query) in self.skeletons:
            return "held out: skeleton"
        if "entity" in self.ways and self.entities & texts_of(query):
            return "held out: entity"
        return ""


def plain(question: str) -> str:
    """A question's words only, so that case, articles and punctuation do not tell two apart."""
    dropped = {"a", "an", "the", "all", "of", "please"}
    return " ".join(w for w in _WORD.findall(question.casefold()) if w not in dropped)


def texts_of(query: ast.Query) -> frozenset[str]:
    """The text literals of a query."""
    return frozenset(n.value for n in query.walk() if isinstance(n, ast.StringLiteral))
