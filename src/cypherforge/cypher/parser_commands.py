"""Whole queries: prefixes, UNION, NEXT, WHEN, and the commands for schema and administration."""

from __future__ import annotations

from cypherforge.cypher import ast
from cypherforge.cypher.parser_clauses import CLAUSES, ClauseParser
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
_NEED_NOUN = frozenset(("CREATE", "DROP", "SHOW", "ALTER", "START", "STOP"))
_READING_COMMANDS = frozenset(("SHOW",))


class QueryParser(ClauseParser):
    """The part of the parser that reads whole queries."""

    __slots__ = ()

    def query(self) -> ast.Query:
        """The whole text as one statement."""
        kinds = self.kinds
        options = self._options() if kinds[0] in ("EXPLAIN", "PROFILE", "CYPHER") else []
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
        if kinds[self.i] != "UNION":
            return part
        parts = [part]
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
            return self._command()
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

    # ---------------------------------------------------------------- commands

    def _command(self) -> ast.Command:
        """A schema or administration command: its words and brackets are kept as text."""
        kinds = self.kinds
        first = self.i
        writes = kinds[first] not in _READING_COMMANDS
        verb = self._verb()
        clauses: list[ast.Node] = []
        while kinds[self.i] not in ("end", ";", "}"):
            kind = kinds[self.i]
            if not writes and kind in ("YIELD", "RETURN", "WHERE") and self.i > first:
                clauses += self._show_tail()
                break
            if kind == "bad":
                self.refuse(self.i)
            if kind in ("(", "[", "{"):
                close = self._closing(self.i)
                if kinds[close] == "end":
                    self.refuse(self.i, problem=f"`{kind}` is not closed")
                self.i = close
            self.i += 1
        start, end = self.span(first)
        return ast.Command((start, end), verb, writes, self.text[start:end], clauses)

    def _verb(self) -> str:
        kinds = self.kinds
        words = [self._word(self.i)]
        self.i += 1
        while kinds[self.i] in NAMES and self._word(self.i) in _VERB_WORDS:
            words.append(self._word(self.i))
            self.i += 1
        named = words[0] == "SHOW" and kinds[self.i] in NAMES
        if len(words) == 1 and not named and words[0] in _NEED_NOUN:
            self.refuse(self.i, "what to " + words[0].lower())
        return " ".join(words)

    def _show_tail(self) -> list[ast.Node]:
        """``YIELD items [ORDER BY ...] [WHERE p] [RETURN ...]``."""
        kinds = self.kinds
        nodes: list[ast.Node] = []
        if kinds[self.i] == "YIELD":
            items, _star, where = self._yield()
            nodes += items
            if kinds[self.i] in ("ORDER", "SKIP", "OFFSET", "LIMIT"):
                nodes.append(self._order_and_page())
            where = where or self._where()
        else:
            where = self._where()
        if where is not None:
            nodes.append(where)
        if kinds[self.i] == "RETURN":
            nodes.append(CLAUSES["RETURN"](self))
        return nodes


_VERB_WORDS = frozenset(
    [
        "ALIAS",
        "ALIASES",
        "ALL",
        "BTREE",
        "BUILT",
        "COMPOSITE",
        "CONSTRAINT",
        "CONSTRAINTS",
        "CURRENT",
        "DATABASE",
        "DATABASES",
        "DEFAULT",
        "ELEMENT",
        "EXECUTABLE",
        "EXIST",
        "EXISTENCE",
        "FULLTEXT",
        "FUNCTION",
        "FUNCTIONS",
        "HOME",
        "IMMUTABLE",
        "IN",
        "INDEX",
        "INDEXES",
        "KEY",
        "LOOKUP",
        "NODE",
        "OR",
        "POINT",
        "POPULATED",
        "PRIVILEGE",
        "PRIVILEGES",
        "PROCEDURE",
        "PROCEDURES",
        "PROPERTY",
        "RANGE",
        "REL",
        "RELATIONSHIP",
        "REPLACE",
        "ROLE",
        "ROLES",
        "SERVER",
        "SERVERS",
        "SETTING",
        "SETTINGS",
        "SUPPORTED",
        "TEXT",
        "TRANSACTION",
        "TRANSACTIONS",
        "TYPE",
        "UNIQUE",
        "UNIQUENESS",
        "USER",
        "USERS",
        "VECTOR",
    ]
)
