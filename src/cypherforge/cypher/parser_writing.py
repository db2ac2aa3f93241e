"""Clauses that write: CREATE, MERGE, SET, REMOVE, DELETE."""

from __future__ import annotations

from cypherforge.cypher import ast
from cypherforge.cypher.ast import Variable
from cypherforge.cypher.parser_projections import ProjectionParser
from cypherforge.cypher.tokens import NAMES


class WritingParser(ProjectionParser):
    """The part of the parser that reads what writes."""

    __slots__ = ()

    def _create(self) -> ast.Clause:
        first = self.i
        self.i += 1
        patterns = self.pattern_list()
        return ast.Create(self.span(first), patterns)

    def _merge(self) -> ast.Clause:
        kinds = self.kinds
        first = self.i
        self.i += 1
        pattern = self.pattern_part()
        actions: list[ast.MergeAction] = []
        while kinds[self.i] == "ON":
            begin = self.i
            on = kinds[begin + 1]
            self.i += 2
            if kinds[self.i] != "SET":
                self.refuse(begin + 1 if on not in ("MATCH", "CREATE") else self.i, "SET")
            action = self._set()
            if on == "MATCH":
                actions.append(ast.MergeAction(self.span(begin), "MATCH", action))
            elif on == "CREATE":
                actions.append(ast.MergeAction(self.span(begin), "CREATE", action))
            else:
                self.refuse(begin + 1, "MATCH", "CREATE")
        return ast.Merge(self.span(first), pattern, actions)

    def _set(self) -> ast.SetClause:
        first = self.i
        self.i += 1
        items = [self._set_item()]
        while self.kinds[self.i] == ",":
            self.i += 1
            items.append(self._set_item())
        return ast.SetClause(self.span(first), items)

    def _set_item(self) -> ast.SetItem:
        kinds = self.kinds
        first = self.i
        if kinds[first] in NAMES and kinds[first + 1] in (":", "IS"):
            target = self.variable()
            self.i += 1
            labels = self.label_chain()
            return ast.SetItem(self.span(first), ":", target, None, labels)
        place = self._place(first)
        op = kinds[self.i]
        if op == "+=" and not isinstance(place, Variable):
            self.refuse(self.i, "=")
        if op != "=" and op != "+=":
            self.refuse(self.i, *(("=", "+=", ":", ".") if isinstance(place, Variable) else ("=",)))
        self.i += 1
        value = self.expression()
        return ast.SetItem(self.span(first), op, place, value)

    def _place(self, first: int) -> ast.Expression:
        """What SET and REMOVE change: ``n``, ``n.p``, ``n.p.q`` or ``n[k]``."""
        place = self.operand()
        if isinstance(place, (Variable, ast.PropertyAccess)):
            subject: ast.Expression = place
            while isinstance(subject, ast.PropertyAccess):
                if isinstance(subject.subject, ast.Index):
                    break
                subject = subject.subject
            else:
                return place
        elif isinstance(place, ast.Index) and not isinstance(
            place.subject, (ast.Index, ast.PropertyAccess)
        ):
            return place
        self.refuse(first, "a variable", "a property")

    def _remove(self) -> ast.Clause:
        first = self.i
        self.i += 1
        items = [self._remove_item()]
        while self.kinds[self.i] == ",":
            self.i += 1
            items.append(self._remove_item())
        return ast.RemoveClause(self.span(first), items)

    def _remove_item(self) -> ast.Expression:
        kinds = self.kinds
        first = self.i
        if kinds[first] in NAMES and kinds[first + 1] in (":", "IS"):
            subject = self.variable()
            self.i += 1
            labels = self.label_chain()
            return ast.LabelTest(self.span(first), subject, labels)
        place = self._place(first)
        if isinstance(place, Variable):
            self.refuse(self.i, ".", ":")
        return place

    def _delete(self) -> ast.Clause:
        kinds = self.kinds
        first = self.i
        detach = kinds[first] == "DETACH"
        if detach or kinds[first] == "NODETACH":
            self.i += 1
        self.take("DELETE")
        expressions = [self.expression()]
        while kinds[self.i] == ",":
            self.i += 1
            expressions.append(self.expression())
        return ast.Delete(self.span(first), expressions, detach)
