"""Whole queries: prefixes, UNION, NEXT and WHEN."""

from __future__ import annotations

from cypherforge.cypher import ast
from cypherforge.cypher.parser_schema import SchemaParser
from cypherforge.cypher.tokens import NAMES

_COMMANDS = frozenset(
    [
        "ALTER",
        "DEALLOCATE",
        "DENY",
        "DROP",
        "DRYRUN",
        "ENABLE",
        "GRANT",
        "REALLOCATE",
        "RENAME",
        "REVOKE",
        "SHOW",
        "START",
        "STOP",
        "TERMINATE",
    ]
)


class QueryParser(SchemaParser):
    """The part of the parser that reads whole queries."""

    __slots__ = ()

    def query(self) -> ast.Query:
        """The whole text as one statement."""
        kinds = self.kinds
        options: list[ast.QueryOption] = []
        if kinds[0] in ("EXPLAIN", "PROFILE", "CYPHER"):
            options = self._options()
            for option in options:
                if option.name == "version" and option.value:
                    self.groups = option.value.startswith("25")
        body = self.body()
        if kinds[self.i] == ";":
            self.i += 1
        if kinds[self.i] != "end":
            self.refuse(self.i, *self._after_query())
        return ast.Query((self.starts[0], self.ends[self.i - 1]), options, body, self.text)

    def _after_query(self) -> tuple[str, ...]:
        if self.kinds[self.i - 1] == ";":
            return ("the end of the text (one statement at a time)",)
        return ("a clause", "the end of the query")

    def _options(self) -> list[ast.QueryOption]:
        kinds = self.kinds
        options: list[ast.QueryOption] = []
        while True:
            i = self.i
            kind = kinds[i]
            if kind == "EXPLAIN" or kind == "PROFILE":
                self.i += 1
                options.append(ast.QueryOption(self.span(i), kind))
            elif kind == "CYPHER":
                self.i += 1
                if kinds[self.i] in ("int", "float"):
                    j = self.i
                    self.i += 1
                    options.append(ast.QueryOption(self.span(j), "version", self.values[j]))
                while kinds[self.i] in NAMES and kinds[self.i + 1] == "=":
                    j = self.i
                    self.i += 2
                    value = self.name("the value of the option") if kinds[self.i] in NAMES else None
                    if value is None:
                        if kinds[self.i] not in ("int", "float", "str"):
                            self.refuse(self.i, "the value of the option")
                        self.i += 1
                    option = ast.QueryOption(self.span(j), self.values[j], self.values[self.i - 1])
                    options.append(option)
            else:
                return options

    def body(self) -> ast.Body:
        """A query without options: parts joined by NEXT, each of parts joined by UNION."""
        kinds = self.kinds
        first = self.i
        part = self._union()
        if kinds[self.i] != "NEXT":
            return part
        parts = [part]
        while kinds[self.i] == "NEXT":
            self.i += 1
            parts.append(self._union())
        return ast.Next(self.span(first), parts)

    def _union(self) -> ast.Body:
        kinds = self.kinds
        first = self.i
        part = self._part()
        if kinds[self.i] != "UNION" or isinstance(part, (ast.When, ast.Command)):
            return part
        parts: list[ast.Body] = [part]
        distinct: list[bool] = []
        while kinds[self.i] == "UNION":
            self.i += 1
            kind = kinds[self.i]
            distinct.append(kind != "ALL")
            if kind == "ALL" or kind == "DISTINCT":
                self.i += 1
            parts.append(self._part())
        return ast.Union(self.span(first), parts, distinct)

    def _part(self) -> ast.Body:
        kinds = self.kinds
        kind = kinds[self.i]
        if kind == "WHEN":
            return self._when()
        if kind == "{":
            self.i += 1
            body = self.body()
            self.take("}")
            return body
        if kind in _COMMANDS or (kind == "CREATE" and self._creates_schema()):
            return self.command()
        return self.single_query()

    def _creates_schema(self) -> bool:
        kinds = self.kinds
        i = self.i + 1
        return (
            kinds[i] in NAMES
            and kinds[i + 1] != "="
            and not (kinds[i] in ("SHORTESTPATH", "ALLSHORTESTPATHS") and kinds[i + 1] == "(")
        )

    def _when(self) -> ast.Body:
        """``WHEN p THEN q ... ELSE q``."""
        kinds = self.kinds
        first = self.i
        branches: list[ast.WhenBranch] = []
        while kinds[self.i] in ("WHEN", "ELSE"):
            begin = self.i
            self.i += 1
            predicate = None
            if kinds[begin] == "WHEN":
                predicate = self.expression()
                self.take("THEN")
            elif kinds[self.i] == "THEN":
                self.i += 1
            body = self._part()
            branches.append(ast.WhenBranch(self.span(begin), predicate, body))
            if predicate is None:
                break
        return ast.When(self.span(first), branches)
