"""Exemplars of other graphs with their names made abstract: the shape is kept, the graph is not.

A question-Cypher pair of another graph tells a model how such a question is asked in Cypher, but its
labels and properties tempt it to write them. Here each label, relationship type, property and text
becomes a neutral placeholder, the same in question and query; variables and the names of columns
go too. Numbers stay: they name nothing. The asked question is masked by its own schema in the same
way before it is compared, so that what counts is how something is asked and not of what.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.bindings import resolve
from cypherforge.cypher.edits import Edit, apply_edits
from cypherforge.cypher.names import quote_string
from cypherforge.graph.narrow import word_parts
from cypherforge.graph.schema import Label, RelType, Schema
from cypherforge.llm.base import Embedder
from cypherforge.runtime.prompts import Exemplar
from cypherforge.runtime.question import asked_for, read_question

#: How much it counts that two questions ask for the same operations, beside a cosine of 1.
SHAPE = 0.3
_WORD = re.compile(r"[^\W_]+")
#: Words for a kind of name, where only the manner of asking is compared.
_MASKS = {"label": "thing", "type": "related", "property": "property", "value": "value"}


@dataclass(frozen=True, slots=True)
class Placeholder:
    """What stands for a name or a text; ``kind`` is label, type, property or value."""

    kind: str
    text: str


def abstract_pair(pair: Exemplar) -> tuple[Exemplar, str] | None:
    """The pair in placeholders, and its question masked for comparison; None if it does not parse.

    >>> made = abstract_pair(Exemplar("Who wrote 'Emma'?", "MATCH (a)-[:WROTE]->(b {title: 'Emma'})"
    ...     " RETURN a.name AS writer"))
    >>> made[0].cypher
    "MATCH (n1)-[:REL_A]->(n2 {propertyA: 'valueA'}) RETURN n1.propertyB AS x1"
    >>> made[0].question
    "Who wrote 'valueA'?"
    """
    try:
        query = parse(pair.cypher)
    except CypherSyntaxError:
        return None
    names, values, edits = _Abstraction(query).made()
    cypher = apply_edits(pair.cypher, edits)
    question = written(pair.question, names, values, lambda p: p.text)
    return Exemplar(question, cypher), written(
        pair.question, names, values, lambda p: _MASKS[p.kind]
    )


def masked(question: str, schema: Schema) -> str:
    """A question with the names of its schema and what it quotes masked, for comparison."""
    names = {name: Placeholder("label", "") for name in schema.labels}
    names |= {name: Placeholder("type", "") for name in schema.types if name not in names}
    owners: list[Label | RelType] = [*schema.labels.values(), *schema.types.values()]
    for owner in owners:
        for item in owner.properties:
            names.setdefault(item.name, Placeholder("property", ""))
    quoted = {q.text: Placeholder("value", "") for q in read_question(question).quoted}
    return written(question, names, quoted, lambda p: _MASKS[p.kind])


def written(
    question: str,
    names: Mapping[str, Placeholder],
    values: Mapping[str, Placeholder],
    write: Callable[[Placeholder], str],
) -> str:
    """A question with each text and each name that it says, in whatever form, replaced."""
    spans: list[tuple[int, int, Placeholder]] = []

    def free(start: int, end: int) -> bool:
        return all(end <= s or start >= e for s, e, _ in spans)

    for text in sorted(values, key=len, reverse=True):
        for match in re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", question, re.IGNORECASE):
            if free(*match.span()):
                spans.append((*match.span(), values[text]))
    pieces = [
        (part, match, place, place == last)
        for match in _WORD.finditer(question)
        for last in [len(word_parts(match[0])) - 1]
        for place, part in enumerate(word_parts(match[0]))
    ]
    stems = [part for part, *_ in pieces]
    for name in sorted(names, key=lambda n: -len(word_parts(n))):
        parts = word_parts(name)
        for begin in range(len(stems) - len(parts) + 1 if parts else 0):
            end = begin + len(parts) - 1
            whole = pieces[begin][2] == 0 and pieces[end][3]
            if not whole or stems[begin : end + 1] != parts:
                continue
            span = pieces[begin][1].start(), pieces[end][1].end()
            if free(*span):
                spans.append((*span, names[name]))
    return apply_edits(question, [Edit(s, e, write(p)) for s, e, p in sorted(spans, key=_begin)])


def _begin(span: tuple[int, int, Placeholder]) -> int:
    return span[0]


class _Abstraction:
    """Placeholders for everything that a query names, in the order in which it does."""

    def __init__(self, query: ast.Query) -> None:
        self.query = query
        self.names: dict[str, Placeholder] = {}
        self.values: dict[str, Placeholder] = {}
        self.variables: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        self.bindings = resolve(query)

    def made(self) -> tuple[dict[str, Placeholder], dict[str, Placeholder], list[Edit]]:
        """Names, texts, and the edits that put their placeholders into the query."""
        edits = [Edit(*span, text) for span, text in self.replaced()]
        return self.names, self.values, edits

    def replaced(self) -> Iterator[tuple[tuple[int, int], str]]:
        types = {
            id(name)
            for node in self.query.walk()
            if isinstance(node, ast.RelationshipPattern) and node.types is not None
            for name in node.types.walk()
        }
        dated = {
            id(inner)
            for node in self.query.walk()
            if isinstance(node, ast.FunctionCall)
            for inner in node.args
        }
        for node in self.query.walk():
            if isinstance(node, ast.Variable):
                yield node.span, self.variable(node)
            elif isinstance(node, ast.LabelName):
                kind = "type" if id(node) in types else "label"
                yield node.span, self.name(node.name, kind)
            elif isinstance(node, ast.PropertyAccess) and isinstance(node.subject, ast.Variable):
                yield node.key.span, self.name(node.key.name, "property")
            elif isinstance(node, ast.NodePattern | ast.RelationshipPattern):
                if isinstance(node.properties, ast.MapLiteral):
                    for entry in node.properties.entries:
                        yield entry.key.span, self.name(entry.key.name, "property")
            elif isinstance(node, ast.MapProjectionItem) and node.kind == "property" and node.key:
                yield node.key.span, self.name(node.key.name, "property")
            # date('2020-01-01') would not be a date in other letters.
            elif isinstance(node, ast.StringLiteral) and id(node) not in dated:
                yield node.span, self.value(node.value)

    def variable(self, node: ast.Variable) -> str:
        if node.name not in self.variables:
            entity = self.bindings.of(node)
            kind = entity.kind if entity is not None else "value"
            self.variables[node.name] = self.numbered(
                {"node": "n", "relationship": "r"}.get(kind, "x")
            )
        return self.variables[node.name]

    def numbered(self, letter: str) -> str:
        self.counts[letter] = self.counts.get(letter, 0) + 1
        return f"{letter}{self.counts[letter]}"

    def name(self, name: str, kind: str) -> str:
        if name not in self.names:
            # A label and a property of one name keep one placeholder: the question has one word.
            form = {"label": "Label{}", "type": "REL_{}", "property": "property{}"}[kind]
            self.names[name] = Placeholder(kind, form.format(self.letter(kind)))
        return self.names[name].text

    def value(self, text: str) -> str:
        if not text:
            return "''"
        if text not in self.values:
            self.values[text] = Placeholder("value", f"value{self.letter('value')}")
        return quote_string(self.values[text].text)

    def letter(self, kind: str) -> str:
        number = self.counts[kind] = self.counts.get(kind, 0) + 1
        return chr(64 + number) if number <= 26 else f"Z{number}"


@dataclass(frozen=True, slots=True)
class AbstractStore:
    """Abstract exemplars with the vectors of their masked questions, shape (n, d), rows normalised.

    ``asks`` are the operations that each question asks for.
    """

    exemplars: Sequence[Exemplar]
    asks: Sequence[frozenset[str]]
    vectors: npt.NDArray[np.float32]
    embedder: Embedder
    schema: Schema

    @classmethod
    def of(
        cls, pairs: Iterable[Exemplar], schema: Schema, embedder: Embedder
    ) -> AbstractStore | None:
        """Make pairs of other graphs abstract, for questions of this schema; None if none parses."""
        made = [(pair, found) for pair in pairs if (found := abstract_pair(pair)) is not None]
        if not made:
            return None
        asks = [asked_for(read_question(pair.question)) for pair, _ in made]
        vectors = embedder.embed([mask for _, (_, mask) in made])
        return cls([exemplar for _, (exemplar, _) in made], asks, vectors, embedder, schema)

    def choose(self, question: str, count: int) -> list[Exemplar]:
        """The nearest by wording and by what is asked for, no query twice, the nearest last."""
        read = read_question(question)
        near = self.vectors @ self.embedder.embed([masked(question, self.schema)])[0]
        wanted = asked_for(read)
        scores = [
            float(value) + SHAPE * _overlap(wanted, asks)
            for value, asks in zip(near, self.asks, strict=True)
        ]
        chosen: dict[str, Exemplar] = {}
        for place in sorted(range(len(scores)), key=lambda n: (-scores[n], n)):
            chosen.setdefault(self.exemplars[place].cypher, self.exemplars[place])
            if len(chosen) == count:
                break
        return list(chosen.values())[::-1]


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared of all; two that ask for nothing special are alike."""
    every = one | other
    return len(one & other) / len(every) if every else 1.0
