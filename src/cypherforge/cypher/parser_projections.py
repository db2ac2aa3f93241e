"""WITH, RETURN and what follows their columns."""

from __future__ import annotations

from cypherforge.cypher import ast
from cypherforge.cypher.ast import ProjectionItem, Variable
from cypherforge.cypher.parser_patterns import PatternParser
from cypherforge.cypher.tokens import NAMES

PAGING = frozenset(("ORDER", "SKIP", "OFFSET", "LIMIT"))


class ProjectionParser(PatternParser):
    """The part of the parser that reads projections."""

    __slots__ = ()

    def _where(self) -> ast.Where | None:
        i = self.i
        if self.kinds[i] != "WHERE":
            return None
        self.i = i + 1
        predicate = self.expression()
        return ast.Where((self.starts[i], self.ends[self.i - 1]), predicate)

    def _items(self) -> tuple[list[ProjectionItem], bool, bool]:
        """Items of WITH or RETURN, whether DISTINCT, whether a leading star."""
        kinds = self.kinds
        i = self.i
        distinct = star = False
        kind = kinds[i]
        if kind == "DISTINCT" and kinds[i + 1] not in (".", ",", "AS", "end"):
            distinct = True
            i += 1
            kind = kinds[i]
        elif kind == "ALL" and (kinds[i + 1] in ("name", "*", "str", "int")):
            i += 1
            kind = kinds[i]
        items: list[ProjectionItem] = []
        if kind == "*":
            star = True
            i += 1
            self.i = i
            if kinds[i] != ",":
                return items, distinct, star
            i += 1
        starts = self.starts
        ends = self.ends
        text = self.text
        expression = self.expression
        while True:
            self.i = i
            start = starts[i]
            value = expression()
            j = self.i
            end = ends[j - 1]
            source = text[start:end]
            if kinds[j] == "AS":
                j += 1
                if kinds[j] not in NAMES:
                    self.refuse(j, "a name for the column")
                end = ends[j]
                alias = Variable((starts[j], end), self.values[j])
                self.i = j = j + 1
                items.append(ProjectionItem((start, end), value, alias, source))
            else:
                if type(value) is ast.MapProjection:
                    source = value.subject.name  # type: ignore[attr-defined]
                items.append(ProjectionItem((start, end), value, None, source))
            if kinds[j] != ",":
                return items, distinct, star
            i = j + 1

    def _group_by(self) -> ast.GroupBy | None:
        """``GROUP BY a, b``, ``GROUP BY ALL``, ``GROUP BY ()``; None where there is none."""
        kinds = self.kinds
        first = self.i
        if not self.at_word("GROUP") or kinds[first + 1] != "BY":
            return None
        i = self.i = first + 2
        if kinds[i] == "(" and kinds[i + 1] == ")":
            self.i = i + 2
            return ast.GroupBy(self.span(first), [])
        if kinds[i] == "ALL" and kinds[i + 1] != "(":
            self.i = i + 1
            return ast.GroupBy(self.span(first), [], True)
        keys = [self.expression()]
        while kinds[self.i] == ",":
            self.i += 1
            keys.append(self.expression())
        return ast.GroupBy(self.span(first), keys)

    def _order_by(self) -> ast.OrderBy:
        kinds = self.kinds
        first = self.i
        i = first + 1
        if kinds[i] != "BY":
            self.refuse(i, "BY")
        starts = self.starts
        ends = self.ends
        items: list[ast.SortItem] = []
        while True:
            i += 1
            self.i = i
            value = self.expression()
            j = self.i
            kind = kinds[j]
            descending = kind == "DESC" or kind == "DESCENDING"
            if descending or kind == "ASC" or kind == "ASCENDING":
                self.i = j = j + 1
            items.append(ast.SortItem((starts[i], ends[j - 1]), value, descending))
            if kinds[j] != ",":
                return ast.OrderBy((starts[first], ends[j - 1]), items)
            i = j

    def _skip(self) -> ast.Skip:
        first = self.i
        self.i += 1
        count = self.expression()
        return ast.Skip((self.starts[first], self.ends[self.i - 1]), count)

    def _limit(self) -> ast.Limit:
        first = self.i
        self.i += 1
        count = self.expression()
        return ast.Limit((self.starts[first], self.ends[self.i - 1]), count)

    def _page(self) -> tuple[ast.OrderBy | None, ast.Skip | None, ast.Limit | None]:
        kinds = self.kinds
        order_by = skip = limit = None
        kind = kinds[self.i]
        if kind == "ORDER":
            order_by = self._order_by()
            kind = kinds[self.i]
        if kind == "SKIP" or kind == "OFFSET":
            skip = self._skip()
            kind = kinds[self.i]
        if kind == "LIMIT":
            limit = self._limit()
        return order_by, skip, limit

    def _return(self) -> ast.Clause:
        first = self.i
        self.i += 1
        items, distinct, star = self._items()
        group_by = order_by = skip = limit = None
        if self.groups:
            group_by = self._group_by()
        if self.kinds[self.i] in PAGING:
            order_by, skip, limit = self._page()
            if self.kinds[self.i] in PAGING:
                self.refuse(
                    self.i,
                    "the end of the query (ORDER BY, SKIP and LIMIT stand in this order)",
                )
        span = (self.starts[first], self.ends[self.i - 1])
        return ast.Return(span, items, distinct, star, group_by, order_by, skip, limit)

    def _with(self) -> ast.Clause:
        first = self.i
        self.i += 1
        items, distinct, star = self._items()
        group_by = order_by = skip = limit = None
        if self.groups:
            group_by = self._group_by()
        if self.kinds[self.i] in PAGING:
            order_by, skip, limit = self._page()
        where = self._where()
        span = (self.starts[first], self.ends[self.i - 1])
        return ast.With(span, items, distinct, star, group_by, order_by, skip, limit, where)

    def _order_and_page(self) -> ast.Clause:
        first = self.i
        order_by, skip, limit = self._page()
        return ast.OrderAndPage(self.span(first), order_by, skip, limit)
