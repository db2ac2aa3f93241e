"""Is a mined rule general? It may hold no name of any graph that it was mined from or is tested on.

CypherGuard, section 3.2: an independent validator scans each rule for every node label,
relationship type, property and gold entity name, so that what survives is written in placeholders.
Names are matched on word pieces, whatever the spelling (``words.py``). Two kinds of text:

- *prose*: ordinary English words may stand there even if a graph uses them as names (``country``),
  as long as they are written as words; ``hasCountry``, ``COUNTRY`` or `` `country` `` name something;
- *code*: snippets, back-ticked spans and words spelled like identifiers. There only identifiers and
  strings are compared, found by the parser, so that a label ``Match`` outlaws no keyword; ordinary
  words are no excuse, only placeholders (``NodeLabel``, ``relType``, ``propertyKey``) pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from cypherforge.core.datasets import Example
from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.tokens import KEYWORDS, NAMES, Tokens, string_value
from cypherforge.graph.schema import Schema
from cypherforge.rules.model import Rule
from cypherforge.validators.words import is_placeholder, ordinary, pieces

# Written in capitals these are the language's, or SQL's, whatever a graph calls its properties.
LANGUAGE_WORDS = KEYWORDS | {
    *("BOOLEAN", "DATE", "DATE_TIME", "DATETIME", "DURATION", "FLOAT", "INTEGER", "LIST"),
    *("LOCAL_DATE_TIME", "LOCAL_TIME", "MAP", "NODE", "PATH", "POINT", "RELATIONSHIP", "STRING"),
    *("TIME", "YEAR", "MONTH", "DAY", "DATEDIFF", "IFNULL", "NVL"),
}
# `n.propertyKey.year` reads a part of a temporal value, not a property of a graph (Cypher manual,
# "Temporal values", "Components").
TEMPORAL_PARTS = frozenset(
    "year quarter month week weekYear day ordinalDay dayOfWeek weekDay dayOfQuarter hour minute "
    "second millisecond microsecond nanosecond epochSeconds epochMillis timezone offset years "
    "quarters months weeks days hours minutes seconds milliseconds".split()
)

Kind = Literal["label", "type", "property", "entity"]

# Names longer than this are recognised by their first pieces: nobody paraphrases a whole sentence.
MAX_PIECES = 8
PROSE_FIELDS = ("title", "situation", "why", "correction", "boundary")
CODE_FIELDS = ("wrong", "right")


@dataclass(frozen=True, slots=True, order=True)
class ForbiddenName:
    """A name that a rule may not hold, and the graph it comes from."""

    kind: Kind
    graph: str
    text: str


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a rule is refused: ``span`` is (start, end) in code points of the rule's ``field``.

    ``token`` is the offending text as written, ``graph`` the graph whose name it is; empty for what
    has to do with no graph (grammar).
    """

    rule: str
    field: str
    span: tuple[int, int]
    token: str
    graph: str
    reason: str

    def __str__(self) -> str:
        where = f"rule {self.rule}, {self.field} {self.span[0]}..{self.span[1]}"
        return f"{where}: {self.reason}"


class ForbiddenNames:
    """All names of all graphs, looked up by word pieces."""

    def __init__(self, names: Iterable[ForbiddenName]) -> None:
        self._table: dict[tuple[str, ...], ForbiddenName] = {}
        self._longest: dict[str, int] = {}
        for name in sorted(set(names)):
            key = pieces(name.text)[:MAX_PIECES]
            if not any(part.isalpha() for part in key):
                continue
            self._table.setdefault(key, name)
            self._longest[key[0]] = max(len(key), self._longest.get(key[0], 0))

    def __len__(self) -> int:
        return len(self._table)

    @classmethod
    def collect(
        cls,
        schemas: Mapping[str, Schema],
        examples: Iterable[Example] = (),
        entities: Mapping[str, Iterable[str]] | None = None,
    ) -> ForbiddenNames:
        """Gather the names of graphs (``schemas`` by graph name) and of golds' string literals.

        ``examples`` are the train and test questions: every string in a gold is an entity name.
        ``entities`` adds more by graph.
        """
        names: list[ForbiddenName] = []
        for graph, schema in schemas.items():
            names += [ForbiddenName("label", graph, text) for text in schema.labels]
            names += [ForbiddenName("type", graph, text) for text in schema.types]
            keys = {p.name for label in schema.labels.values() for p in label.properties}
            keys |= {p.name for rel in schema.types.values() for p in rel.properties}
            names += [ForbiddenName("property", graph, key) for key in sorted(keys)]
        for example in examples:
            names += [ForbiddenName("entity", example.graph, s) for s in _strings(example.cypher)]
        for graph, texts in (entities or {}).items():
            names += [ForbiddenName("entity", graph, text) for text in texts]
        return cls(names)

    def find(self, parts: tuple[str, ...]) -> Iterator[tuple[int, int, ForbiddenName]]:
        """Yield (start, end, name) for each forbidden run of pieces, the longest at each start."""
        for start, first in enumerate(parts):
            for length in range(min(self._longest.get(first, 0), len(parts) - start), 0, -1):
                name = self._table.get(parts[start : start + length])
                if name is not None:
                    yield start, start + length, name
                    break


def _strings(cypher: str) -> Iterator[str]:
    tokens = Tokens(cypher)
    for kind, value in zip(tokens.kinds, tokens.values, strict=True):
        if kind == "str":
            yield string_value(value)


def check_rule(rule: Rule, names: ForbiddenNames) -> list[Rejection]:
    """Return every place where the rule names something of a graph; empty if it is general."""
    found: list[Rejection] = []
    for field in PROSE_FIELDS:
        text = getattr(rule, field) or ""
        found += [_rejection(rule, field, *hit) for hit in scan_prose(text, names)]
    for field in CODE_FIELDS:
        text = getattr(rule, field) or ""
        found += [_rejection(rule, field, *hit) for hit in scan_code(text, names)]
    for number, phrase in enumerate(_trigger_phrases(rule)):
        hits = scan_prose(phrase, names)
        found += [_rejection(rule, f"trigger[{number}]", *hit) for hit in hits]
    return found


def check_rules(rules: Iterable[Rule], names: ForbiddenNames) -> list[Rejection]:
    """Return the rejections of all rules, in their order."""
    return [rejection for rule in rules for rejection in check_rule(rule, names)]


def _rejection(
    rule: Rule, field: str, span: tuple[int, int], token: str, name: ForbiddenName
) -> Rejection:
    reason = (
        f"{token!r} is the {name.kind} {name.text!r} of graph {name.graph!r}; use a placeholder"
    )
    return Rejection(rule.id, field, span, token, name.graph, reason)


def _trigger_phrases(rule: Rule) -> list[str]:
    trigger = rule.trigger
    return list(trigger.words) if trigger is not None else []


Hit = tuple[tuple[int, int], str, ForbiddenName]

_BACKTICKED = re.compile(r"`([^`]+)`")
_WORD = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n(])[\s\"'“‘(]*$")


def scan_prose(text: str, names: ForbiddenNames) -> list[Hit]:
    """Return the hits in running text; back-ticked spans in it are code."""
    hits: list[Hit] = []
    for span in _BACKTICKED.finditer(text):
        offset = span.start(1)
        for (start, end), token, name in scan_code(span[1], names):
            hits.append(((start + offset, end + offset), token, name))
    masked = _BACKTICKED.sub(lambda m: "\x00" * len(m[0]), text)
    words = list(_WORD.finditer(masked))
    parts: list[str] = []
    owner: list[int] = []
    for number, word in enumerate(words):
        for part in pieces(word[0]):
            parts.append(part)
            owner.append(number)
    for begin, end, name in names.find(tuple(parts)):
        first, last = owner[begin], owner[end - 1]
        whole = (begin == 0 or owner[begin - 1] != first) and (
            end == len(parts) or owner[end] != last
        )
        if not whole and first != last:
            continue
        if _gap(masked, words, first, last):
            continue
        matched = words[first : last + 1]
        if all(_as_words(masked, word, whole) for word in matched):
            continue
        if len(matched) == 1 and is_placeholder(matched[0][0]):
            continue
        # One or two letters say nothing in prose ("A", "of"), and sentences start with them.
        if name.kind == "entity" and sum(len(p) for p in parts[begin:end]) <= 2:
            continue
        start, stop = matched[0].start(), matched[-1].end()
        hits.append(((start, stop), text[start:stop], name))
    return sorted(hits, key=lambda hit: hit[0])


def _gap(text: str, words: list[re.Match[str]], first: int, last: int) -> bool:
    """Whether code or the end of a sentence lies between the words."""
    between = text[words[first].end() : words[last].start()]
    return "\x00" in between or bool(re.search(r"[.!?;:]\s|\n\s*\n", between))


def _as_words(text: str, word: re.Match[str], whole: bool) -> bool:
    """Whether an ordinary English word is used as a word, not as a name."""
    token = word[0]
    if token.upper() == token and token in LANGUAGE_WORDS:
        return True
    if not whole or not ordinary(token) or len(pieces(token)) > 1:
        return False
    if token.islower() or token.isdigit():
        return True
    capital = token[0].isupper() and token[1:].islower() or len(token) == 1
    if not capital:
        return False
    return bool(_SENTENCE_START.search(text[: word.start()])) or token.upper() in KEYWORDS


# ---------------------------------------------------------------- code

_AROUND = ("{}", "MATCH {} RETURN 1", "RETURN {}", "MATCH (n) {} RETURN 1", "MATCH (n) {}")


def scan_code(text: str, names: ForbiddenNames) -> list[Hit]:
    """Return the hits among a snippet's identifiers and strings.

    A fragment of a query (a pattern, an expression, a clause) is enough; what cannot be parsed even
    as a fragment is read by its tokens.
    """
    hits: list[Hit] = []
    for span, value, free in _identifiers(text):
        if is_placeholder(value, strict=not free) or (free and len(value) <= 2):
            continue
        for _, _, name in names.find(pieces(value)):
            hits.append((span, text[span[0] : span[1]], name))
            break
    return sorted(set(hits), key=lambda hit: hit[0])


def _identifiers(text: str) -> Iterator[tuple[tuple[int, int], str, bool]]:
    """(span, name, whether it is a variable's and so freely chosen) of what a snippet names."""
    for template in _AROUND:
        offset = template.index("{}")
        try:
            tree = parse(template.replace("{}", text))
        except CypherSyntaxError:
            continue
        for span, value, free in _named(tree):
            if span[0] >= offset and span[1] <= offset + len(text):
                yield (span[0] - offset, span[1] - offset), value, free
        return
    yield from _named_by_tokens(text)


def _named(tree: ast.Query) -> Iterator[tuple[tuple[int, int], str, bool]]:
    parts = {
        node.key.span
        for node in tree.walk()
        if isinstance(node, ast.PropertyAccess)
        and isinstance(node.subject, ast.PropertyAccess | ast.FunctionCall)
        and node.key.name in TEMPORAL_PARTS
    }
    for node in tree.walk():
        if isinstance(node, ast.LabelName | ast.Name):
            if node.span not in parts:
                yield node.span, node.name, False
        elif isinstance(node, ast.Variable | ast.Parameter):
            yield node.span, node.name, True
        elif isinstance(node, ast.StringLiteral):
            yield node.span, node.value, False


def _named_by_tokens(text: str) -> Iterator[tuple[tuple[int, int], str, bool]]:
    tokens = Tokens(text)
    kinds = tokens.kinds
    for index, kind in enumerate(kinds[:-1]):
        span = tokens.starts[index], tokens.ends[index]
        before = kinds[index - 1] if index else ""
        if kind == "str":
            yield span, string_value(tokens.values[index]), False
        elif kind in NAMES:
            named = before in (":", ".", "|", "&", "$") or kinds[index + 1] == ":"
            if named or (kind == "name" and kinds[index + 1] != "("):
                yield span, tokens.values[index], not named
