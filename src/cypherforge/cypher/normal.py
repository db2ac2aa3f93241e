"""The normal form of a query: one text for all its spellings.

Splits, votes and caches need to know when two queries are the same but for how they are written.
The normal form abstracts from the names of variables, case and white space, the end a pattern is
written from, how it is cut into comma parts, inline maps against WHERE, the order of conditions and
of what else has no order; it keeps the order of returned columns. It is found by writing the query
into pieces, some of them in bags without an order, and numbering bags and variables canonically.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from cypherforge.cypher import ast
from cypherforge.cypher.answer_kinds import is_aggregate
from cypherforge.cypher.arrange import arranged
from cypherforge.cypher.bindings import conjuncts
from cypherforge.cypher.errors import CypherSyntaxError
from cypherforge.cypher.names import quote_name
from cypherforge.cypher.parser import parse
from cypherforge.cypher.pieces import Bag, Mention, Piece, join
from cypherforge.cypher.render import Writer
from cypherforge.cypher.render_expressions import level
from cypherforge.cypher.tokens import tokenize

_MIRRORED = {">": "<", ">=": "<="}
_NEGATED = {"=": "<>", "<>": "=", "!=": "="}


def normal_form(query: ast.Query | str, *, literals: bool = True, aliases: bool = True) -> str:
    """Canonical text of a query; of text, it is parsed first (raises ``CypherSyntaxError``).

    ``literals=False`` writes ``?`` for every string, number, boolean and parameter, and one ``?``
    for a list of them; ``aliases=False`` leaves out the names of the final columns.
    """
    if isinstance(query, str):
        query = parse(query)
    return arranged(_Normaliser(query, literals, aliases).write(query))


def gold_key(query: ast.Query | str) -> str:
    """What a dataset's split keeps together: the query but for variables, literals and aliases.

    Text that is not Cypher gets a key of its own tokens.
    """
    try:
        return normal_form(query, literals=False, aliases=False)
    except CypherSyntaxError:
        assert isinstance(query, str)
        words = (
            "?" if token.kind in ("str", "int", "float") else token.text
            for token in tokenize(query)
            if token.kind
        )
        return f"not Cypher: {' '.join(words)}"


class _Normaliser(Writer):
    """Writes a query into pieces that are the same for all spellings of it."""

    def __init__(self, query: ast.Query, literals: bool, aliases: bool) -> None:
        self.keep_literals = literals
        self.keep_aliases = aliases
        self.scope: dict[str, int] = {}
        self.numbers = 0
        # Columns that an inner RETURN gives out; None where it is the query's own.
        self.columns: dict[str, int] | None = None
        nodes = list(query.walk())
        star = any(isinstance(n, ast.Projection) and n.star for n in nodes)
        uses = Counter(n.name for n in nodes if isinstance(n, ast.Variable))
        self.unused = frozenset(n for n, count in uses.items() if count == 1 and not star)

    # ------------------------------------------------------------ variables and literals

    def new(self) -> int:
        self.numbers += 1
        return self.numbers

    @contextmanager
    def inner_scope(self) -> Iterator[None]:
        outer, self.scope = self.scope, dict(self.scope)
        yield
        self.scope = outer

    def number(self, name: str) -> int:
        if name not in self.scope:
            self.scope[name] = self.new()
        return self.scope[name]

    def variable(self, node: ast.Variable) -> Piece:
        """A variable by its number; a name that nothing binds counts as one, too."""
        return Mention(self.number(node.name))

    def element(self, node: ast.Variable) -> Piece:
        """A pattern's variable: the one in scope, or a new one."""
        return Mention(self.number(node.name))

    def binding(self, node: ast.Variable) -> Piece:
        """A new variable, whatever the name stood for before."""
        self.scope[node.name] = self.new()
        return Mention(self.scope[node.name])

    def literal(self, text: str) -> Piece:
        """A string or number, or the placeholder."""
        return text if self.keep_literals else "?"

    def fixed(self, node: ast.Literal_) -> Piece:
        """A boolean is a literal; null is not."""
        text = super().fixed(node)
        return self.literal(str(text)) if isinstance(node, ast.BooleanLiteral) else text

    def _parameter(self, node: ast.Parameter) -> Piece:
        return f"${quote_name(node.name)}" if self.keep_literals else "?"

    def function_name(self, name: str) -> str:
        """Functions ignore case."""
        return super().function_name(name.lower())

    # ------------------------------------------------------------ expressions

    def _list(self, node: ast.ListLiteral) -> Piece:
        if not self.keep_literals and node.items and all(map(_constant, node.items)):
            return "[?]"
        return super()._list(node)

    def _map(self, node: ast.MapLiteral) -> Piece:
        return ["{", self.entries(node), "}"]

    def entries(self, node: ast.MapLiteral) -> Piece:
        return Bag(tuple([self.write(e.key), ": ", self.write(e.value)] for e in node.entries))

    def _binary(self, node: ast.Binary) -> Piece:
        op = node.op
        if op in ("AND", "OR", "XOR"):
            operands = [self.operand(o, level(node) + 1) for o in _operands(node)]
            return Bag(tuple(operands), f" {op} ", unique=op != "XOR")
        if op in ("=", "<>", "!="):
            return self.equal(node.left, "=" if op == "=" else "<>", node.right)
        if op in _MIRRORED:
            return self.less(node.right, _MIRRORED[op], node.left)
        if op in ("<", "<="):
            return self.less(node.left, op, node.right)
        if op == "*":
            factors = [self.operand(o, level(node) + 1) for o in _operands(node)]
            return Bag(tuple(factors), " * ")
        if op == "IN" and isinstance(node.right, ast.ListLiteral):
            items = node.right.items
            if len(items) == 1:
                return self.equal(node.left, "=", items[0])
            if items and (self.keep_literals or not all(map(_constant, items))):
                choices = Bag(tuple(self.write(i) for i in items), ", ", unique=True)
                return [self.operand(node.left, 7), " IN [", choices, "]"]
        return super()._binary(node)

    def equal(self, left: ast.Expression, op: str, right: ast.Expression) -> Piece:
        return Bag((self.operand(left, 6), self.operand(right, 6)), f" {op} ")

    def less(self, left: ast.Expression, op: str, right: ast.Expression) -> Piece:
        return [self.operand(left, 6), f" {op} ", self.operand(right, 6)]

    def _comparison(self, node: ast.Comparison) -> Piece:
        pairs: list[Piece] = []
        for left, op, right in zip(node.operands, node.ops, node.operands[1:], strict=False):
            pairs.append(self._binary(ast.Binary(node.span, op, left, right)))
        # A chain binds like one comparison, so as an operand it needs its parentheses.
        return ["(", Bag(tuple(pairs), " AND ", unique=True), ")"]

    def _unary(self, node: ast.Unary) -> Piece:
        operand = node.operand
        if node.op == "NOT":
            if isinstance(operand, ast.Unary) and operand.op == "NOT":
                return self.operand(operand.operand, 4)
            if isinstance(operand, ast.IsNull):
                return self._is_null(ast.IsNull(operand.span, operand.operand, not operand.negated))
            if isinstance(operand, ast.Binary) and operand.op in _NEGATED:
                return self.equal(operand.left, _NEGATED[operand.op], operand.right)
        elif not self.keep_literals and isinstance(operand, ast.Literal_):
            return "?"
        return super()._unary(node)

    def _call(self, node: ast.FunctionCall) -> Piece:
        if node.lower_name == "exists" and len(node.args) == 1:
            (argument,) = node.args
            if isinstance(argument, ast.PropertyAccess | ast.Index):
                return self._is_null(ast.IsNull(node.span, argument, True))
            if isinstance(argument, ast.PatternExpression):
                return self._pattern(argument)
        return super()._call(node)

    def _pattern(self, node: ast.PatternExpression) -> Piece:
        if node.pattern.function is not None:
            return self.write(node.pattern)
        with self.inner_scope():
            return ["EXISTS { ", self.pattern_and_conditions([node.pattern], None), " }"]

    def inner_body(self, body: ast.Body, short: bool) -> Piece:
        """A single MATCH is written without the word, as the short form is."""
        if short and isinstance(body, ast.SingleQuery) and len(body.clauses) == 1:
            match = body.clauses[0]
            if isinstance(match, ast.Match) and not match.optional:
                return self.pattern_and_conditions(match.patterns, match.where)
        return self.write(body)

    def _list_comprehension(self, node: ast.ListComprehension) -> Piece:
        with self.inner_scope():
            return super()._list_comprehension(node)

    def _quantified(self, node: ast.Quantified) -> Piece:
        with self.inner_scope():
            return super()._quantified(node)

    def _reduce(self, node: ast.Reduce) -> Piece:
        with self.inner_scope():
            return super()._reduce(node)

    def _pattern_comprehension(self, node: ast.PatternComprehension) -> Piece:
        with self.inner_scope():
            if node.pattern.variable is not None:
                return super()._pattern_comprehension(node)
            where = ast.Where(node.span, node.where) if node.where is not None else None
            found = self.pattern_and_conditions([node.pattern], where)
            return ["[", found, " | ", self.write(node.projection), "]"]

    def _map_projection(self, node: ast.MapProjection) -> Piece:
        return [self.write(node.subject), " {", Bag(tuple(self.map_items(node))), "}"]

    def _subquery_expression(self, node: ast.SubqueryExpression) -> Piece:
        body = node.body
        if node.kind == "EXISTS" and isinstance(body, ast.SingleQuery):
            last = body.clauses[-1]
            # What is returned does not matter where only existence is asked.
            # Only an aggregate, which makes a row of nothing, or a cut changes that.
            if isinstance(last, ast.Return) and not (
                last.skip or last.limit or any(is_aggregate(i.expression) for i in last.items)
            ):
                body = ast.SingleQuery(body.span, body.clauses[:-1]) if body.clauses[:-1] else body
        with self.inner_scope():
            columns, self.columns = self.columns, {}
            inside = self.inner_body(body, short=node.kind != "COLLECT")
            self.columns = columns
        return [f"{node.kind} {{ ", inside, " }"]

    # ------------------------------------------------------------ patterns

    def _match(self, node: ast.Match) -> Piece:
        return [
            "OPTIONAL MATCH " if node.optional else "MATCH ",
            f"{node.mode} " if node.mode else "",
            self.maybe("", node.search),
            self.pattern_and_conditions(node.patterns, node.where),
        ]

    def pattern_and_conditions(
        self, parts: list[ast.PatternPart], where: ast.Where | None
    ) -> Piece:
        """Patterns as single hops and single labels, and all conditions, both without order."""
        items: list[Piece] = []
        conditions: list[Piece] = []
        # Nodes, and whether nothing else is said of them than that they exist.
        bare: dict[int, bool] = {}
        for part in parts:
            if _is_plain(part) and (part.variable is None or part.variable.name in self.unused):
                self.hops(part, items, conditions, bare)
            else:
                items.append(self.whole(part, items, conditions, bare))
        if where is not None:
            for conjunct in conjuncts(where.predicate):
                if isinstance(conjunct, ast.LabelTest) and self.is_label(conjunct, items, bare):
                    continue
                conditions.append(self.operand(conjunct, 4))
        items += [["(", Mention(number), ")"] for number, alone in bare.items() if alone]
        pattern = Bag(tuple(items), ", ", unique=True)
        if not conditions:
            return pattern
        return [pattern, " WHERE ", Bag(tuple(conditions), " AND ", unique=True)]

    def is_label(self, test: ast.LabelTest, items: list[Piece], bare: dict[int, bool]) -> bool:
        """Write ``WHERE n:A`` as ``(n:A)``."""
        if test.negated or not isinstance(test.subject, ast.Variable):
            return False
        number = self.number(test.subject.name)
        self.label_items(number, test.labels, items)
        bare[number] = False
        return True

    def hops(
        self,
        part: ast.PatternPart,
        items: list[Piece],
        conditions: list[Piece],
        bare: dict[int, bool],
    ) -> None:
        left: int | None = None
        hop: ast.RelationshipPattern | None = None
        for element in part.elements:
            if isinstance(element, ast.RelationshipPattern):
                hop = element
                continue
            assert isinstance(element, ast.NodePattern)
            right = self.node_number(element, items, conditions, bare)
            if hop is not None and left is not None:
                items.append(self.hop(left, hop, right, conditions))
                bare[left] = bare[right] = False
            left, hop = right, None

    def node_number(
        self,
        node: ast.NodePattern,
        items: list[Piece],
        conditions: list[Piece],
        bare: dict[int, bool],
    ) -> int:
        """The number of a node; its labels and conditions are written apart."""
        number = self.new() if node.variable is None else self.number(node.variable.name)
        bare.setdefault(number, True)
        if node.labels is not None:
            self.label_items(number, node.labels, items)
            bare[number] = False
        self.conditions_of(number, node, conditions)
        return number

    def conditions_of(
        self,
        number: int,
        element: ast.NodePattern | ast.RelationshipPattern,
        conditions: list[Piece],
    ) -> None:
        if isinstance(element.properties, ast.MapLiteral):
            for entry in element.properties.entries:
                key: Piece = [Mention(number), ".", self.write(entry.key)]
                value = self.operand(entry.value, 6)
                conditions.append(Bag((key, value), " = "))
        elif element.properties is not None:
            conditions.append(
                ["properties(", Mention(number), ") has ", self.write(element.properties)]
            )
        if element.where is not None:
            conditions += [self.operand(c, 4) for c in conjuncts(element.where)]

    def label_items(self, number: int, labels: ast.LabelExpression, items: list[Piece]) -> None:
        if isinstance(labels, ast.LabelBoolean) and labels.op == "&":
            for operand in labels.operands:
                self.label_items(number, operand, items)
        else:
            items.append(["(", Mention(number), ":", self.labels(labels), ")"])

    def labels(self, node: ast.LabelExpression, floor: int = 1) -> Piece:
        """A label expression; what ``&`` and ``|`` join has no order."""
        if not isinstance(node, ast.LabelBoolean):
            return super().labels(node, floor)
        own = 1 if node.op == "|" else 2
        inner = Bag(tuple(self.labels(o, own + 1) for o in node.operands), node.op, unique=True)
        return inner if own >= floor else ["(", inner, ")"]

    def hop(
        self, left: int, hop: ast.RelationshipPattern, right: int, conditions: list[Piece]
    ) -> Piece:
        start: Piece = ["(", Mention(left), ")"]
        end: Piece = ["(", Mention(right), ")"]
        inside = self.inside(hop, conditions)
        if hop.direction == "both":
            return Bag((start, end), ["-[", inside, "]-"])
        if hop.direction == "left":
            start, end = end, start
        return [start, "-[", inside, "]->", end]

    def inside(self, hop: ast.RelationshipPattern, conditions: list[Piece] | None) -> Piece:
        """What stands in the brackets of a relationship; its conditions apart where they can."""
        pieces: list[Piece] = []
        single = hop.quantifier is None and conditions is not None
        inline = hop.properties is not None or hop.where is not None
        used = hop.variable is not None and hop.variable.name not in self.unused
        if used or (inline and single):
            number = self.number(hop.variable.name) if hop.variable is not None else self.new()
            pieces.append(Mention(number))
            if single and conditions is not None:
                self.conditions_of(number, hop, conditions)
        elif hop.variable is not None and inline:
            pieces.append(Mention(self.number(hop.variable.name)))
        if hop.types is not None:
            pieces += (":", self.labels(hop.types))
        if hop.quantifier is not None:
            pieces.append(_range(hop.quantifier))
        if inline and not single:
            pieces += (self.maybe(" ", hop.properties), self.maybe(" WHERE ", hop.where))
        return pieces

    def whole(
        self,
        part: ast.PatternPart,
        items: list[Piece],
        conditions: list[Piece],
        bare: dict[int, bool],
    ) -> Piece:
        """A path whose variable, function or selector matters: kept in one piece."""
        variable: Piece = ""
        turnable = part.variable is None or part.variable.name in self.unused
        if part.variable is not None and not turnable:
            variable = [Mention(self.number(part.variable.name)), " = "]
        forward: list[Piece] = []
        backward: list[Piece] = []
        for element in part.elements:
            if isinstance(element, ast.NodePattern):
                number = self.node_number(element, items, conditions, bare)
                bare[number] = False
                forward.append(["(", Mention(number), ")"])
                backward.append(forward[-1])
            elif isinstance(element, ast.RelationshipPattern):
                inside = self.inside(element, None)
                forward.append(_arrow(element.direction, inside))
                backward.append(_arrow(_TURNED[element.direction], inside))
            else:
                turned = _turn(element)
                with self.inner_scope():
                    backward.append(self.write(turned))
                forward.append(self.write(element))
        path: Piece = forward
        if turnable:
            backward.reverse()
            ways = sorted((forward, backward), key=_blind)
            # Where the ways look alike, only the variables tell them apart: keep both.
            same = _blind(forward) == _blind(backward)
            path = Bag(tuple(ways), " or ") if same else ways[0]
        if part.function:
            path = [part.function, "(", path, ")"]
        elif part.selector:
            path = [part.selector, " ", path]
        return [variable, path]

    # ------------------------------------------------------------ clauses

    def _single(self, node: ast.SingleQuery) -> Piece:
        pieces: list[Piece] = []
        matches: list[Piece] = []
        for clause in node.clauses:
            piece = self.write(clause)
            if isinstance(clause, ast.Match) and not clause.optional:
                matches.append(piece)
                continue
            if matches:
                pieces.append(Bag(tuple(matches), "\n"))
                matches = []
            pieces.append(piece)
        if matches:
            pieces.append(Bag(tuple(matches), "\n"))
        return join(pieces, "\n")

    def _with(self, node: ast.With) -> Piece:
        before = self.scope
        items, scope, named = self.projected(node)
        self.scope = {**before, **scope}
        tail = self.order_and_page(node, named)
        where = self.maybe(" ", node.where)
        self.scope = scope
        listed = Bag(tuple(["*", *items] if node.star else items), ", ", unique=True)
        return ["WITH DISTINCT " if node.distinct else "WITH ", listed, tail, where]

    def projected(
        self, node: ast.Projection
    ) -> tuple[list[Piece], dict[str, int], dict[int, Piece]]:
        """Items of WITH, the scope they make, and what its new names stand for."""
        items: list[Piece] = []
        scope = dict(self.scope) if node.star else {}
        named: dict[int, Piece] = {}
        for item in node.items:
            value = self.write(item.expression)
            name = item.alias.name if item.alias is not None else item.text
            if isinstance(item.expression, ast.Variable):
                # A renamed variable is the same variable.
                scope[name] = self.number(item.expression.name)
                items.append(value)
                continue
            number = scope[name] = self.new()
            named[number] = value
            items.append([value, " AS ", Mention(number)])
        return items, scope, named

    def order_and_page(self, node: ast.Projection, named: dict[int, Piece]) -> Piece:
        """GROUP BY to LIMIT; a name of this clause is written as what it stands for."""
        pieces: list[Piece] = []
        if node.group_by is not None and not node.group_by.everything:
            grouped: list[Piece] = []
            for key in node.group_by.keys:
                piece = self.write(key)
                if isinstance(piece, Mention):
                    piece = named.get(piece.number, piece)
                grouped.append(piece)
            pieces += (" GROUP BY ", Bag(tuple(grouped)) if grouped else "()")
        if node.order_by is not None:
            keys: list[Piece] = []
            for sort in node.order_by.items:
                value = self.write(sort.expression)
                if isinstance(value, Mention):
                    value = named.get(value.number, value)
                keys.append([value, " DESC" if sort.descending else ""])
            pieces += (" ORDER BY ", join(keys))
        return [*pieces, self.maybe(" ", node.skip), self.maybe(" ", node.limit)]

    def _return(self, node: ast.Return) -> Piece:
        items: list[Piece] = ["*"] if node.star else []
        named: dict[int, Piece] = {}
        seen = dict(self.scope)
        for item in node.items:
            value = self.write(item.expression)
            if item.alias is not None:
                if isinstance(item.expression, ast.Variable):
                    seen[item.alias.name] = self.number(item.expression.name)
                else:
                    number = seen[item.alias.name] = self.new()
                    named[number] = value
            if self.columns is not None:
                name = item.alias.name if item.alias is not None else item.text
                if name not in self.columns:
                    self.columns[name] = self.new()
                items.append([value, " AS ", Mention(self.columns[name])])
            elif item.alias is not None and self.keep_aliases:
                items.append([value, " AS ", quote_name(item.alias.name)])
            else:
                items.append(value)
        outer, self.scope = self.scope, seen
        tail = self.order_and_page(node, named)
        self.scope = outer
        listed = Bag(tuple(items)) if self.columns is not None else join(items)
        return ["RETURN DISTINCT " if node.distinct else "RETURN ", listed, tail]

    def _yield_item(self, node: ast.YieldItem) -> Piece:
        variable = node.alias or ast.Variable(node.span, node.field.name)
        return [self.write(node.field), " AS ", self.binding(variable)]

    def _call_subquery(self, node: ast.CallSubquery) -> Piece:
        outer = self.scope
        body = node.body
        imported = node.scope
        if imported is None and not node.scope_star:
            imported, body = _importing_with(body)
        inner: dict[str, int] = {}
        scope: Piece = ""
        if node.scope_star:
            inner, scope = dict(outer), "(*) "
        elif imported is not None:
            inner = {v.name: self.number(v.name) for v in imported}
            mentions = tuple(Mention(n) for n in inner.values())
            scope = ["(", Bag(mentions, ", ", unique=True), ") "]
        elif isinstance(body, ast.SingleQuery) and isinstance(body.clauses[0], ast.With):
            # An importing WITH that also computes sees what is outside; nothing else does.
            inner = dict(outer)
        columns, self.columns, self.scope = self.columns, {}, inner
        inside = self.write(body)
        self.scope = {**outer, **self.columns}
        self.columns = columns
        return [
            "OPTIONAL CALL " if node.optional else "CALL ",
            scope,
            "{ ",
            inside,
            " }",
            f" {node.in_transactions}" if node.in_transactions else "",
        ]

    def _foreach(self, node: ast.Foreach) -> Piece:
        with self.inner_scope():
            return super()._foreach(node)

    # ------------------------------------------------------------ queries

    def _union(self, node: ast.Union) -> Piece:
        parts: list[Piece] = []
        for part in node.parts:
            with self.inner_scope():
                parts.append(self.branch(part))
        if all(node.distinct):
            return Bag(tuple(parts), "\nUNION\n", unique=True)
        if not any(node.distinct):
            return Bag(tuple(parts), "\nUNION ALL\n")
        words = ["\nUNION\n" if d else "\nUNION ALL\n" for d in node.distinct]
        return [p for pair in zip(parts, [*words, ""], strict=True) for p in pair]

    def _next(self, node: ast.Next) -> Piece:
        pieces: list[Piece] = []
        outer = self.columns
        for part in node.parts[:-1]:
            self.columns = {}
            pieces.append(self.write(part))
            self.scope = dict(self.columns)
        self.columns = outer
        pieces.append(self.write(node.parts[-1]))
        return join(pieces, "\nNEXT\n")

    def _when(self, node: ast.When) -> Piece:
        with self.inner_scope():
            return super()._when(node)


_TURNED = {"right": "left", "left": "right", "both": "both"}


def _arrow(direction: str, inside: Piece) -> Piece:
    return ["<-[" if direction == "left" else "-[", inside, "]->" if direction == "right" else "]-"]


def _turn(path: ast.ParenthesizedPath) -> ast.ParenthesizedPath:
    """The same path written from its other end."""
    elements: list[ast.PathElement] = []
    for element in reversed(path.pattern.elements):
        if isinstance(element, ast.RelationshipPattern):
            element = ast.RelationshipPattern(
                element.span,
                _TURNED[element.direction],  # type: ignore[arg-type]
                element.variable,
                element.types,
                element.quantifier,
                element.properties,
                element.where,
            )
        elif isinstance(element, ast.ParenthesizedPath):
            element = _turn(element)
        elements.append(element)
    part = path.pattern
    turned = ast.PatternPart(part.span, elements, part.variable, part.function, part.selector)
    return ast.ParenthesizedPath(path.span, turned, path.where, path.quantifier)


def _blind(piece: Piece) -> str:
    """The text of a piece with its variables blanked."""
    if isinstance(piece, str):
        return piece
    if isinstance(piece, Mention):
        return "?"
    if isinstance(piece, Bag):
        return _blind(piece.between).join(sorted(map(_blind, piece.items)))
    return "".join(map(_blind, piece))


def _is_plain(part: ast.PatternPart) -> bool:
    """Whether a path is no more than its hops."""
    return not (
        part.function
        or part.selector
        or any(isinstance(e, ast.ParenthesizedPath) for e in part.elements)
    )


def _operands(node: ast.Binary) -> list[ast.Expression]:
    """What one associative operator joins, left to right."""
    found: list[ast.Expression] = []
    stack: list[ast.Expression] = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, ast.Binary) and top.op == node.op:
            stack += (top.right, top.left)
        else:
            found.append(top)
    return found


def _constant(node: ast.Node) -> bool:
    if isinstance(node, ast.Unary) and node.op in "+-":
        node = node.operand
    return isinstance(node, ast.Literal_ | ast.Parameter)


def _range(quantifier: ast.Quantifier) -> str:
    lower = quantifier.lower
    if lower is None:
        lower = 0 if quantifier.gql else 1
    return f"*{lower}..{'' if quantifier.upper is None else quantifier.upper}"


def _importing_with(body: ast.Body) -> tuple[list[ast.Variable] | None, ast.Body]:
    """The variables of a leading ``WITH a, b`` inside CALL, and the body without it."""
    if not isinstance(body, ast.SingleQuery) or len(body.clauses) < 2:
        return None, body
    first = body.clauses[0]
    if (
        not isinstance(first, ast.With)
        or first.star
        or first.distinct
        or first.group_by
        or first.where
        or first.order_by
        or first.skip
        or first.limit
    ):
        return None, body
    names = [i.expression for i in first.items if isinstance(i.expression, ast.Variable)]
    if len(names) < len(first.items) or any(i.alias for i in first.items):
        return None, body
    return names, ast.SingleQuery(body.span, body.clauses[1:])
