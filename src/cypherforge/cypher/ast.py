"""The syntax tree. Every node carries ``span``: (start, end) in code points of the source.

Nodes are plain slotted classes: building them must be cheap. They are immutable by convention.
Equality is structural and ignores spans, so that two spellings of one query can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from math import isnan
from typing import Any, Literal

Span = tuple[int, int]
SubqueryKind = Literal["EXISTS", "COUNT", "COLLECT"]

_FIELD_NAMES: dict[type, tuple[str, ...]] = {}


def field_names(kind: type[Node]) -> tuple[str, ...]:
    """Names of a node class's fields other than ``span``, in source order."""
    names = _FIELD_NAMES.get(kind)
    if names is None:
        names = tuple(f.name for f in fields(kind) if f.name != "span" and f.compare)
        _FIELD_NAMES[kind] = names
    return names


@dataclass(slots=True, eq=False)
class Node:
    """Base of all nodes."""

    span: Span

    def children(self) -> Iterator[Node]:
        """Direct child nodes, in field order."""
        for name in field_names(type(self)):
            value = getattr(self, name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, Node):
                        yield item

    def walk(self) -> Iterator[Node]:
        """This node and all below it, parents first, in source order of fields."""
        stack: list[Node] = [self]
        while stack:
            node = stack.pop()
            yield node
            # As ``children`` has it; in line, for this is the busiest loop of all.
            kind = type(node)
            below: list[Node] = []
            for name in _FIELD_NAMES.get(kind) or field_names(kind):
                value = getattr(node, name)
                if isinstance(value, Node):
                    below.append(value)
                elif isinstance(value, list):
                    below += [item for item in value if isinstance(item, Node)]
            below.reverse()
            stack += below

    def __eq__(self, other: object) -> bool:
        # No recursion: a chain of a thousand ANDs is a tree a thousand nodes deep.
        stack: list[tuple[Any, Any]] = [(self, other)]
        while stack:
            left, right = stack.pop()
            if left is right:
                continue
            kind = type(left)
            if kind is not type(right):
                return False
            if isinstance(left, Node):
                stack.extend((getattr(left, n), getattr(right, n)) for n in field_names(kind))
            elif isinstance(left, list):
                if len(left) != len(right):
                    return False
                stack.extend(zip(left, right, strict=True))
            elif left != right and not (_is_nan(left) and _is_nan(right)):
                return False
        return True

    def __hash__(self) -> int:
        parts: list[Any] = []
        stack: list[Any] = [self]
        while stack:
            value = stack.pop()
            if isinstance(value, Node):
                parts.append(type(value).__name__)
                stack.extend(getattr(value, n) for n in field_names(type(value)))
            elif isinstance(value, list):
                parts.append(len(value))
                stack.extend(value)
            else:
                # NaN equals NaN here, as one spelling equals itself.
                parts.append("NaN" if _is_nan(value) else value)
        return hash(tuple(parts))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and isnan(value)


# ---------------------------------------------------------------- names and literals


@dataclass(slots=True, eq=False)
class Name(Node):
    """A label, type, property key, function-name part or procedure-name part; back-ticks removed."""

    name: str


class Expression(Node):
    """Base of everything that has a value."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class Variable(Expression):
    """A variable, where it is bound and where it is used."""

    name: str


@dataclass(slots=True, eq=False)
class Parameter(Expression):
    """``$name`` or ``$0``; ``old_style`` is the removed ``{name}``."""

    name: str
    old_style: bool = False


class Literal_(Expression):
    """Base of literals with a plain Python ``value``."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class IntegerLiteral(Literal_):
    """Decimal, hexadecimal or octal; a minus sign is a ``Unary`` around it."""

    value: int


@dataclass(slots=True, eq=False)
class FloatLiteral(Literal_):
    """A number with a point or an exponent, ``Infinity``, ``NaN``."""

    value: float


@dataclass(slots=True, eq=False)
class StringLiteral(Literal_):
    """A string; ``value`` has its escapes resolved."""

    value: str


@dataclass(slots=True, eq=False)
class StringPart(Expression):
    """Text of an interpolated string, between its expressions; escapes resolved."""

    value: str


@dataclass(slots=True, eq=False)
class InterpolatedString(Expression):
    """Cypher 25's ``s'text {expression} text'``: ``StringPart`` and other expressions in turn."""

    parts: list[Expression]


@dataclass(slots=True, eq=False)
class BooleanLiteral(Literal_):
    """``true`` or ``false``."""

    value: bool


@dataclass(slots=True, eq=False)
class NullLiteral(Literal_):
    """``null``."""

    value: None = None


@dataclass(slots=True, eq=False)
class ListLiteral(Expression):
    """``[a, b]``."""

    items: list[Expression]


@dataclass(slots=True, eq=False)
class MapEntry(Node):
    """``key: value``."""

    key: Name
    value: Expression


@dataclass(slots=True, eq=False)
class MapLiteral(Expression):
    """``{key: value, ...}``, also the inline properties of a pattern."""

    entries: list[MapEntry]


# ---------------------------------------------------------------- expressions


@dataclass(slots=True, eq=False)
class PropertyAccess(Expression):
    """``subject.key``."""

    subject: Expression
    key: Name


@dataclass(slots=True, eq=False)
class Index(Expression):
    """``subject[index]``."""

    subject: Expression
    index: Expression


@dataclass(slots=True, eq=False)
class Slice(Expression):
    """``subject[start..end]``."""

    subject: Expression
    lower: Expression | None
    upper: Expression | None


@dataclass(slots=True, eq=False)
class Binary(Expression):
    """Two operands. ``op`` is upper case and single-spaced.

    ``OR XOR AND = <> < <= > >= =~ IN CONTAINS STARTS WITH ENDS WITH + - * / % ^ ||``; also ``!=``,
    which is not Cypher but kept so that it can be repaired. A chain ``a < b < c`` is a
    ``Comparison``.
    """

    op: str
    left: Expression
    right: Expression


@dataclass(slots=True, eq=False)
class Comparison(Expression):
    """A chain of two or more comparisons: ``a <= b < c``."""

    operands: list[Expression]
    ops: list[str]


@dataclass(slots=True, eq=False)
class Unary(Expression):
    """``NOT x``, ``-x``, ``+x``."""

    op: str
    operand: Expression


@dataclass(slots=True, eq=False)
class IsNull(Expression):
    """``x IS [NOT] NULL``."""

    operand: Expression
    negated: bool = False


@dataclass(slots=True, eq=False)
class IsTyped(Expression):
    """``x IS [NOT] :: TYPE`` (also ``IS TYPED``); ``type_name`` as written, upper case, single-spaced."""

    operand: Expression
    type_name: str
    negated: bool = False


@dataclass(slots=True, eq=False)
class IsNormalized(Expression):
    """``x IS [NOT] [NFC] NORMALIZED``."""

    operand: Expression
    form: str = "NFC"
    negated: bool = False


@dataclass(slots=True, eq=False)
class LabelTest(Expression):
    """``n:Label`` or ``n IS Label`` as a predicate."""

    subject: Expression
    labels: LabelExpression
    negated: bool = False


@dataclass(slots=True, eq=False)
class FunctionCall(Expression):
    """``name(args)``; ``name`` joins its parts with dots, as written; compare ``.lower_name``."""

    name: str
    name_span: Span = field(compare=False)
    args: list[Expression]
    distinct: bool = False

    @property
    def lower_name(self) -> str:
        """The name in lower case: built-in functions ignore case."""
        return self.name.lower()


@dataclass(slots=True, eq=False)
class CountStar(Expression):
    """``count(*)``."""


@dataclass(slots=True, eq=False)
class Trim(Expression):
    """``trim([BOTH|LEADING|TRAILING] [characters] FROM source)``; ``side`` '' where not given.

    ``trim(s)`` is an ordinary ``FunctionCall``.
    """

    side: str
    characters: Expression | None
    source: Expression


@dataclass(slots=True, eq=False)
class CaseSubject(Expression):
    """The left operand left out in ``CASE x WHEN < 18 THEN``; its span is empty."""


@dataclass(slots=True, eq=False)
class CaseBranch(Node):
    """``WHEN conditions THEN result``; several conditions only in the simple form."""

    conditions: list[Expression]
    result: Expression


@dataclass(slots=True, eq=False)
class Case(Expression):
    """``CASE [subject] WHEN ... ELSE ... END``."""

    subject: Expression | None
    branches: list[CaseBranch]
    default: Expression | None


@dataclass(slots=True, eq=False)
class ListComprehension(Expression):
    """``[x IN source WHERE predicate | projection]``."""

    variable: Variable
    source: Expression
    where: Expression | None
    projection: Expression | None


@dataclass(slots=True, eq=False)
class PatternComprehension(Expression):
    """``[p = (a)-->(b) WHERE predicate | projection]``."""

    pattern: PatternPart
    where: Expression | None
    projection: Expression


@dataclass(slots=True, eq=False)
class Reduce(Expression):
    """``reduce(acc = init, x IN list | expr)`` (``allReduce`` too: ``function`` tells)."""

    accumulator: Variable
    initial: Expression
    variable: Variable
    source: Expression
    expression: Expression
    predicate: Expression | None = None
    function: str = "reduce"


@dataclass(slots=True, eq=False)
class Quantified(Expression):
    """``all|any|none|single(x IN list WHERE predicate)``; ``quantifier`` is lower case."""

    quantifier: str
    variable: Variable
    source: Expression
    where: Expression | None


@dataclass(slots=True, eq=False)
class MapProjectionItem(Node):
    """One item of a map projection: ``.key``, ``.*``, ``key: value`` or a variable."""

    kind: Literal["property", "all", "entry", "variable"]
    key: Name | None = None
    value: Expression | None = None


@dataclass(slots=True, eq=False)
class MapProjection(Expression):
    """``n {.a, .*, b: 1, c}``."""

    subject: Expression
    items: list[MapProjectionItem]


@dataclass(slots=True, eq=False)
class PatternExpression(Expression):
    """A bare pattern as a predicate, ``(a)-->(b)``, or as ``shortestPath(...)`` in an expression."""

    pattern: PatternPart


@dataclass(slots=True, eq=False)
class SubqueryExpression(Expression):
    """``EXISTS { }``, ``COUNT { }`` or ``COLLECT { }``.

    The short form (pattern and optional WHERE) is kept as a body with one ``Match`` clause and no
    RETURN.
    """

    kind: SubqueryKind
    body: Body


# ---------------------------------------------------------------- label expressions


class LabelExpression(Node):
    """Base of what stands after the colon of a node or a relationship."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class LabelName(LabelExpression):
    """One label or type."""

    name: str


@dataclass(slots=True, eq=False)
class LabelWildcard(LabelExpression):
    """``%``."""


@dataclass(slots=True, eq=False)
class LabelDynamic(LabelExpression):
    """``$(expr)``, ``$any(expr)``, ``$all(expr)``."""

    expression: Expression
    quantifier: str = ""


@dataclass(slots=True, eq=False)
class LabelNot(LabelExpression):
    """``!A``."""

    operand: LabelExpression


@dataclass(slots=True, eq=False)
class LabelBoolean(LabelExpression):
    """``A&B``, ``A:B`` (both ``&``), ``A|B``, ``A|:B`` (both ``|``)."""

    op: Literal["&", "|"]
    operands: list[LabelExpression]


# ---------------------------------------------------------------- patterns


@dataclass(slots=True, eq=False)
class Quantifier(Node):
    """How often: ``*``, ``*2``, ``*1..3`` of a variable-length relationship; ``+``, ``{1,3}`` of GQL.

    ``lower`` and ``upper`` are None where open. ``gql`` tells the quantifier of quantified paths
    from the older star inside the brackets.
    """

    lower: int | None
    upper: int | None
    gql: bool = False


@dataclass(slots=True, eq=False)
class NodePattern(Node):
    """``(variable:Labels {properties} WHERE predicate)``."""

    variable: Variable | None = None
    labels: LabelExpression | None = None
    properties: Expression | None = None
    where: Expression | None = None


@dataclass(slots=True, eq=False)
class RelationshipPattern(Node):
    """``-[variable:TYPE*1..3 {properties} WHERE predicate]->``, arrows included in the span.

    ``direction`` is as written: ``right`` for ``-->``, ``left`` for ``<--``, ``both`` for ``--`` and
    for ``<-->``. ``quantifier`` is the star inside the brackets, or GQL's after them.
    """

    direction: Literal["right", "left", "both"]
    variable: Variable | None = None
    types: LabelExpression | None = None
    quantifier: Quantifier | None = None
    properties: Expression | None = None
    where: Expression | None = None


@dataclass(slots=True, eq=False)
class ParenthesizedPath(Node):
    """``((a)-->(b) WHERE predicate){1,3}``, quantified or not."""

    pattern: PatternPart
    where: Expression | None = None
    quantifier: Quantifier | None = None


PathElement = NodePattern | RelationshipPattern | ParenthesizedPath


@dataclass(slots=True, eq=False)
class PatternPart(Node):
    """One path of a pattern, between commas.

    ``elements`` alternate nodes and relationships; parenthesized paths stand where nodes may.
    ``function`` is ``shortestPath`` or ``allShortestPaths`` (lower case: ``shortestpath``);
    ``selector`` is GQL's, upper case: ``ALL SHORTEST``, ``ANY 2``, ``SHORTEST 1 GROUPS`` ...
    """

    elements: list[PathElement]
    variable: Variable | None = None
    function: str | None = None
    selector: str | None = None


# ---------------------------------------------------------------- clauses


class Clause(Node):
    """Base of clauses."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class Where(Node):
    """``WHERE predicate``: the node spans the keyword too."""

    predicate: Expression


@dataclass(slots=True, eq=False)
class Hint(Node):
    """``USING INDEX ...`` as written (text kept whole)."""

    text: str


@dataclass(slots=True, eq=False)
class Search(Node):
    """Cypher 25's ``SEARCH n IN (VECTOR INDEX name FOR query [WHERE p] LIMIT k) [SCORE AS s]``."""

    variable: Variable
    index: Expression
    query: Expression
    where: Where | None = None
    limit: Limit | None = None
    score: Variable | None = None


@dataclass(slots=True, eq=False)
class Match(Clause):
    """``[OPTIONAL] MATCH [mode] patterns [hints] [SEARCH] [WHERE]``."""

    optional: bool
    patterns: list[PatternPart]
    where: Where | None = None
    hints: list[Hint] = field(default_factory=list)
    mode: str | None = None
    search: Search | None = None


@dataclass(slots=True, eq=False)
class ProjectionItem(Node):
    """``expression [AS alias]``; ``text`` names the column where no alias does.

    It is the source of the expression, or the variable of a map projection: ``n {.a}`` makes ``n``.
    """

    expression: Expression
    alias: Variable | None
    text: str = field(default="", compare=False)

    @property
    def column(self) -> str:
        """The name of the column that this item makes."""
        return self.alias.name if self.alias is not None else self.text


@dataclass(slots=True, eq=False)
class GroupBy(Node):
    """Cypher 25's ``GROUP BY keys``, ``GROUP BY ALL`` (``everything``) and ``GROUP BY ()``."""

    keys: list[Expression]
    everything: bool = False


@dataclass(slots=True, eq=False)
class SortItem(Node):
    """One key of ORDER BY."""

    expression: Expression
    descending: bool = False


@dataclass(slots=True, eq=False)
class OrderBy(Node):
    """``ORDER BY items``: the node spans the keywords too."""

    items: list[SortItem]


@dataclass(slots=True, eq=False)
class Skip(Node):
    """``SKIP n`` or ``OFFSET n``."""

    count: Expression


@dataclass(slots=True, eq=False)
class Limit(Node):
    """``LIMIT n``."""

    count: Expression


@dataclass(slots=True, eq=False)
class Projection(Clause):
    """What WITH and RETURN share. ``star`` is a leading ``*``."""

    items: list[ProjectionItem]
    distinct: bool = False
    star: bool = False
    group_by: GroupBy | None = None
    order_by: OrderBy | None = None
    skip: Skip | None = None
    limit: Limit | None = None


@dataclass(slots=True, eq=False)
class With(Projection):
    """``WITH [DISTINCT] items [GROUP BY] [ORDER BY] [SKIP] [LIMIT] [WHERE]``."""

    where: Where | None = None


@dataclass(slots=True, eq=False)
class Return(Projection):
    """``RETURN [DISTINCT] items [GROUP BY] [ORDER BY] [SKIP] [LIMIT]``."""


@dataclass(slots=True, eq=False)
class Unwind(Clause):
    """``UNWIND expression AS variable``; ``is_for``: written ``FOR variable IN expression``."""

    expression: Expression
    variable: Variable
    is_for: bool = field(default=False, compare=False)


@dataclass(slots=True, eq=False)
class YieldItem(Node):
    """``field [AS variable]``."""

    field: Name
    alias: Variable | None


@dataclass(slots=True, eq=False)
class CallProcedure(Clause):
    """``[OPTIONAL] CALL name(args) YIELD items WHERE``; ``args`` None: called without parentheses."""

    name: str
    name_span: Span = field(compare=False)
    args: list[Expression] | None
    yields: list[YieldItem] = field(default_factory=list)
    yield_star: bool = False
    where: Where | None = None
    optional: bool = False


@dataclass(slots=True, eq=False)
class CallSubquery(Clause):
    """``[OPTIONAL] CALL (scope) { body } [IN TRANSACTIONS ...]``.

    ``scope`` None: no scope clause; an empty list: ``()``. ``scope_star``: ``(*)``.
    """

    body: Body
    scope: list[Variable] | None = None
    scope_star: bool = False
    optional: bool = False
    in_transactions: str | None = None


@dataclass(slots=True, eq=False)
class LetItem(Node):
    """``variable = expression``."""

    variable: Variable
    expression: Expression


@dataclass(slots=True, eq=False)
class Let(Clause):
    """Cypher 25's ``LET items``."""

    items: list[LetItem]


@dataclass(slots=True, eq=False)
class Filter(Clause):
    """Cypher 25's ``FILTER [WHERE] predicate``."""

    predicate: Expression


@dataclass(slots=True, eq=False)
class OrderAndPage(Clause):
    """Free-standing ``ORDER BY``, ``SKIP``, ``LIMIT`` of Cypher 25."""

    order_by: OrderBy | None = None
    skip: Skip | None = None
    limit: Limit | None = None


@dataclass(slots=True, eq=False)
class Finish(Clause):
    """``FINISH``."""


@dataclass(slots=True, eq=False)
class UseGraph(Clause):
    """``USE graph``; the text of the reference is kept whole."""

    graph: str


@dataclass(slots=True, eq=False)
class Create(Clause):
    """``CREATE patterns`` (``INSERT`` too)."""

    patterns: list[PatternPart]


@dataclass(slots=True, eq=False)
class SetItem(Node):
    """``target = value``, ``target += value`` or ``n:Label``; ``op`` is ``=``, ``+=`` or ``:``."""

    op: str
    target: Expression
    value: Expression | None = None
    labels: LabelExpression | None = None


@dataclass(slots=True, eq=False)
class SetClause(Clause):
    """``SET items``."""

    items: list[SetItem]


@dataclass(slots=True, eq=False)
class RemoveClause(Clause):
    """``REMOVE n.p, n:Label``: items are property accesses, indexes and label tests."""

    items: list[Expression]


@dataclass(slots=True, eq=False)
class MergeAction(Node):
    """``ON MATCH SET`` or ``ON CREATE SET``."""

    on: Literal["MATCH", "CREATE"]
    set: SetClause


@dataclass(slots=True, eq=False)
class Merge(Clause):
    """``MERGE pattern actions``."""

    pattern: PatternPart
    actions: list[MergeAction] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Delete(Clause):
    """``[DETACH|NODETACH] DELETE expressions``."""

    expressions: list[Expression]
    detach: bool = False


@dataclass(slots=True, eq=False)
class Foreach(Clause):
    """``FOREACH (x IN list | clauses)``."""

    variable: Variable
    source: Expression
    clauses: list[Clause]


@dataclass(slots=True, eq=False)
class LoadCsv(Clause):
    """``LOAD CSV [WITH HEADERS] FROM url AS row``."""

    url: Expression
    variable: Variable
    headers: bool = False
    field_terminator: Expression | None = None


# ---------------------------------------------------------------- queries


@dataclass(slots=True, eq=False)
class SingleQuery(Node):
    """Clauses in a row, up to UNION, NEXT or the end."""

    clauses: list[Clause]


@dataclass(slots=True, eq=False)
class Union(Node):
    """``a UNION [ALL|DISTINCT] b UNION ...``: ``distinct`` has one flag between each two parts."""

    parts: list[Body]
    distinct: list[bool]


@dataclass(slots=True, eq=False)
class Next(Node):
    """Cypher 25's ``a NEXT b``: the rows of one part feed the next."""

    parts: list[Body]


@dataclass(slots=True, eq=False)
class WhenBranch(Node):
    """``WHEN predicate THEN body``; predicate None is ELSE."""

    predicate: Expression | None
    body: Body


@dataclass(slots=True, eq=False)
class When(Node):
    """Cypher 25's conditional query."""

    branches: list[WhenBranch]


@dataclass(slots=True, eq=False)
class Command(Node):
    """Schema and administration commands, recognised and kept as text.

    ``verb`` is the leading words, upper case: ``SHOW INDEXES``, ``CREATE CONSTRAINT`` ...;
    ``writes`` tells whether it changes anything. ``clauses`` holds what follows SHOW ... YIELD.
    """

    verb: str
    writes: bool
    text: str
    clauses: list[Node] = field(default_factory=list)


Body = SingleQuery | Union | Next | When | Command


@dataclass(slots=True, eq=False)
class QueryOption(Node):
    """A prefix: ``EXPLAIN``, ``PROFILE``, or ``CYPHER 25 runtime=slotted`` (one option each).

    ``name`` is ``EXPLAIN``, ``PROFILE``, ``version`` or the option's name; ``value`` its value.
    """

    name: str
    value: str | None = None


@dataclass(slots=True, eq=False)
class Query(Node):
    """A whole statement. ``text`` is the source that all spans count in."""

    options: list[QueryOption]
    body: Body
    text: str = field(default="", compare=False)
