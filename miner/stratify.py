"""Stratify: a small subset of train questions that still holds every kind of query and name.

CypherGuard, section 3.2: group by MATCH shape, RETURN kind and operator set; keep at most three a
group, first from graphs that the group lacks, then by most unseen types, labels and properties;
then bring back questions until no rare token is missed.

The result does not depend on the order of the input: ties are broken by the questions' content.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cypherforge.core.datasets import Example
from cypherforge.core.errors import CypherForgeError, InputError
from cypherforge.core.progress import NullProgress, Progress
from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.shapes import shape_of

LiteralScope = Literal["all", "once", "none"]
TokenKind = Literal["label", "type", "property", "literal"]
KINDS: tuple[TokenKind, ...] = ("label", "type", "property", "literal")

UNPARSABLE = "unparsable"
#: What a group keeps (CypherGuard).
PER_GROUP = 3

# (kind, graph, name); a literal counts once in the whole train set, so its graph is empty.
Token = tuple[TokenKind, str, str]


@dataclass(frozen=True, slots=True)
class StratifyOptions:
    """``per_group``: how many a group keeps (the paper: 3). ``literals``: which must be covered."""

    per_group: int = PER_GROUP
    literals: LiteralScope = "once"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A question of the subset: ``reason`` is ``kept`` (by its group) or ``backfilled``."""

    example: Example
    group: str
    reason: Literal["kept", "backfilled"]
    covers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many tokens of a kind the train set has, and how many of them the subset holds."""

    total: int
    covered: int
    missed: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Covered share, 0 to 1; 1 where there is nothing to cover."""
        return self.covered / self.total if self.total else 1.0


@dataclass(frozen=True, slots=True)
class Stratified:
    """The subset and its report. ``group_sizes`` counts the train questions of each group."""

    chosen: tuple[Chosen, ...]
    group_sizes: Mapping[str, int]
    coverage: Mapping[TokenKind, Coverage]
    unparsable: tuple[tuple[str, str], ...]
    questions: int

    @property
    def kept(self) -> int:
        """Questions that their group kept."""
        return sum(c.reason == "kept" for c in self.chosen)

    @property
    def backfilled(self) -> int:
        """Questions brought back for a rare token."""
        return sum(c.reason == "backfilled" for c in self.chosen)

    def summary(self) -> dict[str, object]:
        """The figures people read, as JSON."""
        return {
            "questions": self.questions,
            "groups": len(self.group_sizes),
            "kept": self.kept,
            "backfilled": self.backfilled,
            "unparsable": len(self.unparsable),
            "coverage": {
                kind: {
                    "total": c.total,
                    "covered": c.covered,
                    "share": round(c.share, 6),
                    "missed": list(c.missed[:20]),
                }
                for kind, c in self.coverage.items()
            },
        }


@dataclass(slots=True)
class _Row:
    example: Example
    group: str
    tokens: frozenset[Token] = frozenset()
    literals: frozenset[Token] = frozenset()
    needed: set[Token] = field(default_factory=set)

    @property
    def order(self) -> tuple[str, str, str, str]:
        e = self.example
        return (e.graph, e.question, e.cypher, e.id)


def stratify(
    examples: Sequence[Example],
    options: StratifyOptions | None = None,
    progress: Progress | None = None,
) -> Stratified:
    """Choose the subset of ``examples`` that the miner drafts.

    Raises ``InputError`` where there is no example.
    """
    options = options or StratifyOptions()
    progress = progress or NullProgress()
    if not examples:
        raise InputError("no train question to stratify", hint="check the dataset and its splits")
    progress.start("stratify", len(examples))
    rows, unparsable = _read(examples, progress)
    rows.sort(key=lambda row: row.order)
    wanted = _mark_needed(rows, options.literals)
    groups: dict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    seen: set[Token] = set()
    chosen: dict[int, Chosen] = {}
    # Small groups first: they leave no choice, and the larger ones can then fill what is unseen.
    for group, members in sorted(groups.items(), key=lambda item: (len(item[1]), item[0])):
        for row in _pick(members, options.per_group, seen):
            chosen[id(row)] = Chosen(row.example, group, "kept")
    for row, tokens in _backfill([r for r in rows if id(r) not in chosen], wanted - seen):
        seen |= row.needed
        names = tuple(sorted(f"{kind} {name}" for kind, _, name in tokens))
        chosen[id(row)] = Chosen(row.example, row.group, "backfilled", names)
    result = Stratified(
        chosen=tuple(chosen[id(row)] for row in rows if id(row) in chosen),
        group_sizes={group: len(members) for group, members in sorted(groups.items())},
        coverage=_coverage(wanted, seen),
        unparsable=tuple(unparsable),
        questions=len(rows),
    )
    progress.finish(
        f"{result.questions} questions, {len(groups)} groups, {result.kept} kept, "
        f"{result.backfilled} backfilled"
    )
    return result


def _read(
    examples: Sequence[Example], progress: Progress
) -> tuple[list[_Row], list[tuple[str, str]]]:
    rows: list[_Row] = []
    unparsable: list[tuple[str, str]] = []
    for example in examples:
        try:
            query = parse(example.cypher)
            shape = shape_of(query)
        except CypherSyntaxError as error:
            unparsable.append((example.id, str(error)))
            rows.append(_Row(example, UNPARSABLE))
        except CypherForgeError as error:
            raise InputError(error.message, where=example.id) from error
        else:
            operators = ",".join(sorted(shape.operators))
            group = f"{shape.match} | {shape.returns} | {operators}"
            tokens, literals = tokens_of(query, example.graph)
            rows.append(_Row(example, group, tokens, literals))
        progress.advance()
    return rows, unparsable


def tokens_of(query: ast.Query, graph: str) -> tuple[frozenset[Token], frozenset[Token]]:
    """Names (labels, types, properties) and literals that a query uses.

    A literal is a string or number that the query compares or matches with; the numbers of LIMIT,
    SKIP, path lengths and list positions are structure, not data.
    """
    names: set[Token] = set()
    literals: set[Token] = set()
    stack: list[tuple[ast.Node, bool]] = [(query, False)]
    while stack:
        node, in_type = stack.pop()
        match node:
            case ast.LabelName():
                names.add(("type" if in_type else "label", graph, node.name))
            case ast.PropertyAccess() | ast.MapEntry():
                names.add(("property", graph, node.key.name))
            case ast.StringLiteral():
                literals.add(("literal", "", node.value))
            case ast.IntegerLiteral() | ast.FloatLiteral():
                literals.add(("literal", "", repr(node.value)))
            case ast.Limit() | ast.Skip() | ast.Index() | ast.Slice() | ast.Quantifier():
                children = [node.subject] if isinstance(node, ast.Index | ast.Slice) else []
                stack.extend((child, False) for child in children)
                continue
            case _:
                pass
        if isinstance(node, ast.RelationshipPattern):
            for child in node.children():
                stack.append((child, child is node.types))
        else:
            stack.extend((child, in_type and _is_label(child)) for child in node.children())
    return frozenset(names), frozenset(literals)


def _is_label(node: ast.Node) -> bool:
    return isinstance(node, ast.LabelExpression)


def _mark_needed(rows: Iterable[_Row], scope: LiteralScope) -> set[Token]:
    """Set what each row can cover, and return all that must be covered."""
    counts = Counter(token for row in rows for token in row.literals)
    for row in rows:
        row.needed = set(row.tokens)
        if scope != "none":
            row.needed |= {t for t in row.literals if scope == "all" or counts[t] == 1}
    return {token for row in rows for token in row.needed}


def _pick(members: list[_Row], limit: int, seen: set[Token]) -> list[_Row]:
    """Greedy choice within a group; adds what it covers to ``seen``."""
    picked: list[_Row] = []
    graphs: set[str] = set()
    rest = list(members)
    while rest and len(picked) < limit:
        # A rare literal breaks a tie: the question must come into the subset anyhow.
        best = min(
            rest,
            key=lambda row: (
                row.example.graph in graphs,
                -len(row.tokens - seen),
                -len(row.needed - seen),
                row.order,
            ),
        )
        rest.remove(best)
        picked.append(best)
        graphs.add(best.example.graph)
        seen |= best.needed
    return picked


def _backfill(rows: list[_Row], missing: set[Token]) -> Iterable[tuple[_Row, set[Token]]]:
    """Fewest questions first: those that alone hold a missing token, then a greedy set cover."""
    missing = set(missing)
    holders: dict[Token, list[_Row]] = defaultdict(list)
    for row in rows:
        for token in row.needed & missing:
            holders[token].append(row)
    forced = {id(held[0]): held[0] for held in holders.values() if len(held) == 1}
    for row in sorted(forced.values(), key=lambda r: r.order):
        yield row, row.needed & missing
        missing -= row.needed
    rest = [row for row in rows if id(row) not in forced and row.needed & missing]
    while missing:
        best = min(rest, key=lambda row: (-len(row.needed & missing), row.order))
        covered = best.needed & missing
        yield best, covered
        missing -= covered
        rest = [row for row in rest if row.needed & missing]


def _coverage(wanted: set[Token], seen: set[Token]) -> dict[TokenKind, Coverage]:
    report: dict[TokenKind, Coverage] = {}
    for kind in KINDS:
        of_kind = {token for token in wanted if token[0] == kind}
        missed = sorted(" ".join(filter(None, t[1:])) for t in of_kind - seen)
        report[kind] = Coverage(len(of_kind), len(of_kind & seen), tuple(missed))
    return report
