"""Patterns: what they declare, and what MATCH, CREATE and MERGE allow in them."""

from __future__ import annotations

from typing import Literal

from cypherforge.cypher import analysis_types as t
from cypherforge.cypher import ast
from cypherforge.cypher.analysis_expressions import ExpressionAnalysis, Scope
from cypherforge.cypher.analysis_types import name_of

Mode = Literal["MATCH", "CREATE", "MERGE", "predicate"]
_LABELS = t.STRING | t.list_of(t.STRING) | t.TEMPORAL | t.DURATION
_RELATIONSHIPS = t.list_of(t.RELATIONSHIP)
_GROUPED = {t.NODE: t.list_of(t.NODE), t.RELATIONSHIP: _RELATIONSHIPS, t.PATH: t.list_of(t.PATH)}


class PatternAnalysis(ExpressionAnalysis):
    """The part of the analysis that looks at patterns."""

    __slots__ = ("beyond",)

    def __init__(self, text: str, version: int) -> None:
        super().__init__(text, version)
        self.beyond: frozenset[str] = frozenset()
        """Variables of an outer query that can be seen, but that * does not stand for."""

    def patterns(self, parts: list[ast.PatternPart], scope: Scope, mode: Mode) -> None:
        """Declare what the paths hold, in ``scope``, and look at them."""
        for part in parts:
            before = set(scope) if mode == "CREATE" else None
            self._declare_part(part, scope, mode)
            if before is not None:
                self._no_self_reference(part, set(scope) - before)
        for part in parts:
            for element in part.elements:
                self._inside(element, scope, mode)
        if len(parts) > 1:
            for part in parts:
                if part.selector is not None and not part.selector.startswith("ALL P"):
                    if part.selector in ("ALL", "WALK", "TRAIL", "ACYCLIC"):
                        continue
                    self.report(
                        "pattern.selector",
                        f"{part.selector} stands for the only path of its MATCH",
                        part.span,
                    )
                    break

    def pattern_predicate(self, part: ast.PatternPart, scope: Scope) -> None:
        """Look at a pattern in an expression, which declares nothing."""
        inner = dict(scope)
        known = set(scope)
        self._declare_part(part, inner, "predicate")
        for element in part.elements:
            variable = None
            if not isinstance(element, ast.ParenthesizedPath):
                variable = element.variable
            if variable is not None and variable.name not in known:
                self.report(
                    "scope.pattern",
                    f"a pattern in an expression cannot declare `{variable.name}`",
                    variable.span,
                )
            self._inside(element, inner, "predicate")

    def pattern_comprehension(self, node: ast.PatternComprehension, scope: Scope) -> int:
        """Look at a pattern comprehension; its type."""
        inner = dict(scope)
        outer, self.may_aggregate = self.may_aggregate, False
        self.patterns([node.pattern], inner, "MATCH")
        if node.where is not None:
            self.boolean(node.where, inner)
        result = t.list_of(self.type_of(node.projection, inner))
        self.may_aggregate = outer
        return result

    # ---------------------------------------------------------------- declaring

    def _declare_part(self, part: ast.PatternPart, scope: Scope, mode: Mode) -> None:
        elements = part.elements
        alone = len(elements) == 1
        last: ast.Node | None = None
        for element in elements:
            if isinstance(element, ast.RelationshipPattern):
                self._declare_relationship(element, scope, mode)
                last = None
                continue
            if isinstance(element, ast.NodePattern):
                if element.variable is not None:
                    self._declare_node(element, element.variable, scope, mode, alone)
            else:
                self._declare_group(element, scope, mode)
            if last is not None:
                self._juxtaposed(last, element)
            last = element
        if part.variable is not None:
            self.declare(part.variable, t.PATH, scope)
        if part.function is not None:
            self._shortest(part, mode)
        if part.selector is not None and " 0" in part.selector:
            self.report("pattern.selector", "the number of paths must be above 0", part.span)

    def declare(self, variable: ast.Variable, kind: int, scope: Scope) -> None:
        """Declare a new variable; one of that name must not be in scope."""
        if variable.name in scope:
            self._declared(variable)
        scope[variable.name] = kind

    def _bind(self, variable: ast.Variable, kind: int, scope: Scope) -> None:
        """Declare a variable, or meet one that may be of this type."""
        found = scope.get(variable.name)
        if found is not None and not found & kind:
            self.report(
                "type.conflict",
                f"`{variable.name}` is {name_of(found)}, here it would be {name_of(kind)}",
                variable.span,
                category="type",
            )
            return
        scope[variable.name] = kind
        if variable.name in self.beyond:
            self.beyond -= {variable.name}

    def _declare_node(
        self,
        node: ast.NodePattern,
        variable: ast.Variable,
        scope: Scope,
        mode: Mode,
        alone: bool,
    ) -> None:
        if variable.name in scope and mode in ("CREATE", "MERGE"):
            if alone:
                self._declared(variable)
            elif node.labels is not None or node.properties is not None:
                self.report(
                    "pattern.bound",
                    f"`{variable.name}` exists already: no labels or properties here",
                    node.span,
                    "SET them",
                )
        self._bind(variable, t.NODE, scope)

    def _declare_relationship(
        self, node: ast.RelationshipPattern, scope: Scope, mode: Mode
    ) -> None:
        variable = node.variable
        if variable is None:
            return
        if mode in ("CREATE", "MERGE") and variable.name in scope:
            self._declared(variable)
            return
        if node.quantifier is None:
            self._bind(variable, t.RELATIONSHIP, scope)
        elif scope.get(variable.name) == t.list_of(t.MAP):
            scope[variable.name] = _RELATIONSHIPS
        else:
            self._bind(variable, _RELATIONSHIPS, scope)

    def _declare_group(self, node: ast.ParenthesizedPath, scope: Scope, mode: Mode) -> None:
        if node.pattern.variable is not None:
            self.report(
                "pattern.subpath", "a path inside of a path cannot have a name", node.pattern.span
            )
        if node.quantifier is None:
            self._declare_part(node.pattern, scope, mode)
            return
        inner: Scope = {}
        self._declare_part(node.pattern, inner, mode)
        relationships = 0
        for element in node.pattern.elements:
            if type(element) is ast.RelationshipPattern:
                relationships += 1
                if element.quantifier is not None:
                    self.report(
                        "pattern.quantifier",
                        "a quantified path holds no other quantifier",
                        element.span,
                    )
            elif type(element) is ast.ParenthesizedPath and element.quantifier is not None:
                self.report("pattern.quantifier", "quantified paths do not nest", element.span)
        if not relationships:
            self.report("pattern.quantifier", "a quantified path needs a relationship", node.span)
        for name, kind in inner.items():
            if name in scope:
                self.report(
                    "scope.group",
                    f"`{name}` stands inside and outside of a quantified path",
                    node.span,
                )
            scope[name] = _GROUPED.get(kind, t.list_of(kind))

    def _juxtaposed(self, one: ast.Node, two: ast.Node) -> None:
        for element in (one, two):
            if isinstance(element, ast.ParenthesizedPath) and element.quantifier is not None:
                return
        self.report(
            "pattern.juxtaposed",
            "two nodes side by side: only quantified paths may stand so",
            (one.span[0], two.span[1]),
        )

    def _no_self_reference(self, part: ast.PatternPart, created: set[str]) -> None:
        if not created:
            return
        for element in part.elements:
            properties = getattr(element, "properties", None)
            for node in properties.walk() if properties is not None else ():
                if type(node) is ast.Variable and node.name in created:
                    self.report(
                        "scope.created",
                        f"`{node.name}` is created by this very pattern",
                        node.span,
                    )

    def _shortest(self, part: ast.PatternPart, mode: Mode) -> None:
        name = "shortestPath" if part.function == "shortestpath" else "allShortestPaths"
        if mode in ("CREATE", "MERGE"):
            self.report("pattern.shortest", f"{name} cannot be written", part.span)
        elements = part.elements
        middle = elements[1] if len(elements) == 3 else None
        if not isinstance(middle, ast.RelationshipPattern):
            self.report("pattern.shortest", f"{name} takes a single relationship", part.span)
            return
        quantifier = middle.quantifier
        if quantifier is None:
            return
        if quantifier.gql:
            self.report("pattern.shortest", f"{name} takes no quantified path", quantifier.span)
        elif quantifier.lower not in (None, 0, 1):
            self.report(
                "pattern.shortest",
                f"{name} has no smallest length but 0 or 1",
                quantifier.span,
            )

    # ---------------------------------------------------------------- inside

    def _inside(self, element: ast.PathElement, scope: Scope, mode: Mode) -> None:
        if isinstance(element, ast.ParenthesizedPath):
            self._inside_group(element, scope, mode)
            return
        is_node = isinstance(element, ast.NodePattern)
        properties = element.properties
        if properties is not None:
            if type(properties) is ast.MapLiteral:
                for entry in properties.entries:
                    self.type_of(entry.value, scope)
            else:
                self.type_of(properties, scope)
                if mode != "CREATE" and not getattr(properties, "old_style", False):
                    self.report(
                        "pattern.parameter",
                        f"no parameter map in {mode}: write out the properties",
                        properties.span,
                        f"{{name: {self.source(properties)}.name}}",
                    )
        where = element.where
        if where is not None:
            if mode in ("CREATE", "MERGE"):
                self.report("pattern.where", f"no WHERE inside of {mode}", where.span)
            variable = element.variable
            if is_node or variable is None:
                self._quietly(where, scope)
            else:
                # Of a quantified relationship, the condition sees one at a time.
                self._quietly(where, {**scope, variable.name: t.RELATIONSHIP})
        if isinstance(element, ast.RelationshipPattern):
            self._inside_relationship(element, scope, mode)
        elif element.labels is not None and type(element.labels) is not ast.LabelName:
            self._node_labels(element, element.labels, scope, mode)

    def _quietly(self, where: ast.Expression, scope: Scope) -> None:
        """A condition in which nothing aggregates."""
        outer, self.may_aggregate = self.may_aggregate, False
        self.boolean(where, scope)
        self.may_aggregate = outer

    def _inside_group(self, node: ast.ParenthesizedPath, scope: Scope, mode: Mode) -> None:
        inner = dict(scope)
        if node.quantifier is not None:
            if mode in ("CREATE", "MERGE"):
                self.report("pattern.quantifier", f"no quantified path in {mode}", node.span)
            self._bounds(node.quantifier)
            for part in node.pattern.elements:
                variable = getattr(part, "variable", None)
                if variable is not None:
                    is_node = isinstance(part, ast.NodePattern)
                    inner[variable.name] = t.NODE if is_node else t.RELATIONSHIP
        for element in node.pattern.elements:
            self._inside(element, inner, mode)
        if node.where is not None:
            self._quietly(node.where, inner)

    def _bounds(self, quantifier: ast.Quantifier) -> None:
        lower, upper = quantifier.lower, quantifier.upper
        if upper is not None and (upper == 0 or (lower or 0) > upper):
            self.report(
                "pattern.quantifier",
                "the upper bound must be above 0 and not below the lower one",
                quantifier.span,
            )

    def _node_labels(
        self, node: ast.NodePattern, labels: ast.LabelExpression, scope: Scope, mode: Mode
    ) -> None:
        if mode in ("CREATE", "MERGE") and not _is_conjunction(labels):
            self.report("pattern.labels", f"only names of labels in {mode}", labels.span)
            return
        before = self.text[node.span[0] : labels.span[0]].rstrip()
        self.labels(labels, scope, not before.endswith(":"))

    def labels(self, node: ast.LabelExpression, scope: Scope, is_word: bool = False) -> None:
        """Look at labels after a colon, or after IS (``is_word``)."""
        if type(node) is ast.LabelName:
            return
        signs: set[str] = set()
        for part in node.walk():
            if type(part) is ast.LabelBoolean:
                signs |= self._signs(part)
            elif type(part) is ast.LabelNot:
                signs.add("!")
            elif type(part) is ast.LabelWildcard:
                signs.add("%")
            elif type(part) is ast.LabelDynamic:
                self.expect(part.expression, scope, _LABELS)
        if "|:" in signs:
            self.report("pattern.labels", "labels are joined by | without a colon", node.span, "|")
        elif ":" in signs and len(signs) > 1:
            self.report(
                "pattern.labels",
                "a colon between labels cannot be mixed with | & ! %",
                node.span,
                "&",
            )
        elif ":" in signs and is_word:
            self.report("pattern.labels", "after IS, labels are joined by &", node.span, "&")

    def _signs(self, node: ast.LabelBoolean) -> set[str]:
        """What stands between the operands: ``:`` ``&`` ``|`` ``|:``."""
        signs: set[str] = set()
        operands = node.operands
        for i in range(1, len(operands)):
            between = self.text[operands[i - 1].span[1] : operands[i].span[0]]
            if node.op == "|":
                signs.add("|:" if ":" in between else "|")
            else:
                signs.add("&" if "&" in between else ":")
        return signs

    def _inside_relationship(self, node: ast.RelationshipPattern, scope: Scope, mode: Mode) -> None:
        types = node.types
        quantifier = node.quantifier
        if mode in ("CREATE", "MERGE"):
            self._written_relationship(node, mode)
        elif types is not None and type(types) is not ast.LabelName:
            signs: set[str] = set()
            for part in types.walk():
                if type(part) is ast.LabelBoolean:
                    signs |= self._signs(part)
                elif type(part) is ast.LabelDynamic:
                    self.expect(part.expression, scope, _LABELS)
                    signs.add("$")
                elif type(part) is not ast.LabelName:
                    signs.add("!")
            if ":" in signs:
                self.report(
                    "pattern.types", "types of a relationship are joined by |", types.span, "|"
                )
            elif "|:" in signs and (
                node.variable is not None or node.properties is not None or quantifier is not None
            ):
                self.report(
                    "pattern.types", "types are joined by | without a colon", types.span, "|"
                )
            elif quantifier is not None and not quantifier.gql and signs - {"|", "|:", "$"}:
                self.report(
                    "pattern.types",
                    "a relationship with a star takes names of types only",
                    types.span,
                )
        if quantifier is not None and mode not in ("CREATE", "MERGE"):
            if quantifier.gql:
                self._bounds(quantifier)
            elif node.where is not None:
                self.report(
                    "pattern.where", "no WHERE in a relationship with a star", node.where.span
                )

    def _written_relationship(self, node: ast.RelationshipPattern, mode: Mode) -> None:
        types = node.types
        if node.quantifier is not None:
            what = "quantified path" if node.quantifier.gql else "variable length"
            self.report("pattern.quantifier", f"no {what} in {mode}", node.quantifier.span)
        if types is None or type(types) not in (ast.LabelName, ast.LabelDynamic):
            self.report(
                "pattern.types",
                f"a relationship in {mode} needs exactly one type",
                (types or node).span,
            )
        if mode == "CREATE" and node.direction == "both":
            self.report(
                "pattern.direction", "a relationship in CREATE needs a direction", node.span
            )


def _is_conjunction(labels: ast.LabelExpression) -> bool:
    if isinstance(labels, (ast.LabelName, ast.LabelDynamic)):
        return True
    return (
        isinstance(labels, ast.LabelBoolean)
        and labels.op == "&"
        and all(_is_conjunction(operand) for operand in labels.operands)
    )
