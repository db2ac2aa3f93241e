"""Clauses: those that read, call and load, and the table of all."""

from __future__ import annotations

from collections.abc import Callable

from cypherforge.cypher import ast
from cypherforge.cypher.ast import Variable
from cypherforge.cypher.parser_writing import WritingParser
from cypherforge.cypher.tokens import NAMES


class ClauseParser(WritingParser):
    """The part of the parser that reads clauses."""

    __slots__ = ()

    def single_query(self) -> ast.SingleQuery:
        """Clauses up to the first word that starts none."""
        kinds = self.kinds
        first = self.i
        clauses: list[ast.Clause] = []
        read = CLAUSES.get(kinds[first])
        while read is not None:
            clauses.append(read(self))
            read = CLAUSES.get(kinds[self.i])
        if not clauses:
            self.refuse(first, "a clause such as MATCH or RETURN")
        last = clauses[-1]
        if isinstance(last, ast.Return) and kinds[self.i] in ("WHERE", "HAVING"):
            self.refuse(self.i, "the end of the query", "UNION")
        return ast.SingleQuery((self.starts[first], self.ends[self.i - 1]), clauses)

    def match_short_form(self) -> ast.SingleQuery:
        """The short form of a subquery: a pattern and an optional WHERE."""
        first = self.i
        mode = self._match_mode()
        patterns = self.pattern_list()
        where = self._where()
        match = ast.Match(self.span(first), False, patterns, where, [], mode)
        return ast.SingleQuery(match.span, [match])

    # ---------------------------------------------------------------- reading

    def _match(self) -> ast.Clause:
        kinds = self.kinds
        first = self.i
        optional = kinds[first] == "OPTIONAL"
        if optional:
            self.i += 1
            if kinds[self.i] == "CALL":
                return self._call_clause(first, optional=True)
            if kinds[self.i] != "MATCH":
                self.refuse(self.i, "MATCH", "CALL")
        self.i += 1
        mode = self._match_mode() if kinds[self.i] != "(" else None
        patterns = self.pattern_list()
        hints: list[ast.Hint] = []
        search = None
        while kinds[self.i] == "USING":
            hints.append(self._hint())
        if kinds[self.i] == "SEARCH":
            search = self._search()
        where = self._where()
        if search is None and kinds[self.i] == "SEARCH":
            search = self._search()
        span = (self.starts[first], self.ends[self.i - 1])
        return ast.Match(span, optional, patterns, where, hints, mode, search)

    def _match_mode(self) -> str | None:
        """``REPEATABLE ELEMENTS``, ``DIFFERENT RELATIONSHIPS`` and their spellings."""
        for word, nouns in _MODES.items():
            if self.at_word(word):
                for noun in nouns:
                    if self.at_word(noun, 1):
                        self.i += 2
                        if noun in ("ELEMENT", "RELATIONSHIP") and self.at_word("BINDINGS"):
                            self.i += 1
                            return f"{word} {noun} BINDINGS"
                        return f"{word} {noun}"
        return None

    def _hint(self) -> ast.Hint:
        """``USING [TEXT|RANGE|POINT] INDEX [SEEK] v:L(p)``, ``USING SCAN v:L``, ``USING JOIN ON v``."""
        first = self.i
        self.i += 1
        if self.at_word("JOIN"):
            self.i += 1
            self.take("ON")
            self.variable()
            while self.kinds[self.i] == ",":
                self.i += 1
                self.variable()
        else:
            scan = self.at_word("SCAN")
            if not scan:
                if any(self.at_word(w) for w in ("TEXT", "RANGE", "POINT", "BTREE")):
                    self.i += 1
                self.take_word("INDEX")
                if self.at_word("SEEK") and self.kinds[self.i + 1] != ":":
                    self.i += 1
            else:
                self.i += 1
            self.variable()
            self.take(":")
            self.name("a label or relationship type")
            if not scan:
                self.take("(")
                self.name("a property name")
                while self.kinds[self.i] == ",":
                    self.i += 1
                    self.name("a property name")
                self.take(")")
        start, end = self.span(first)
        return ast.Hint((start, end), self.text[start:end])

    def _search(self) -> ast.Search:
        first = self.i
        self.i += 1
        variable = self.variable()
        self.take("IN")
        self.take("(")
        self.take_word("VECTOR")
        self.take_word("INDEX")
        index = self.operand()
        self.take("FOR")
        query = self.expression()
        where = self._where()
        limit = self._limit() if self.kinds[self.i] == "LIMIT" else None
        self.take(")")
        score = None
        if self.at_word("SCORE"):
            self.i += 1
            self.take("AS")
            score = self.variable()
        return ast.Search(self.span(first), variable, index, query, where, limit, score)

    def _unwind(self) -> ast.Clause:
        first = self.i
        self.i += 1
        expression = self.expression()
        self.take("AS")
        variable = self.variable()
        return ast.Unwind(self.span(first), expression, variable)

    def _for(self) -> ast.Clause:
        """Cypher 25's other word for UNWIND: ``FOR x IN xs``."""
        first = self.i
        self.i += 1
        variable, source = self._binding()
        return ast.Unwind(self.span(first), source, variable, True)

    # ---------------------------------------------------------------- Cypher 25's steps

    def _let(self) -> ast.Clause:
        first = self.i
        items: list[ast.LetItem] = []
        self.i += 1
        while True:
            i = self.i
            variable = self.variable()
            self.take("=")
            expression = self.expression()
            items.append(ast.LetItem(self.span(i), variable, expression))
            if self.kinds[self.i] != ",":
                return ast.Let(self.span(first), items)
            self.i += 1

    def _filter(self) -> ast.Clause:
        first = self.i
        self.i += 1
        if self.kinds[self.i] == "WHERE":
            self.i += 1
        predicate = self.expression()
        return ast.Filter(self.span(first), predicate)

    def _finish(self) -> ast.Clause:
        self.i += 1
        return ast.Finish(self.span(self.i - 1))

    def _use(self) -> ast.Clause:
        """``USE graph``, ``USE a.b``, ``USE graph.byName('a')``."""
        first = self.i
        self.i += 1
        begin = self.i
        parenthesised = self.kinds[begin] == "("
        if parenthesised:
            self.i += 1
        if self.at_word("GRAPH") and self.kinds[self.i + 1] in NAMES:
            self.i += 1
            begin = self.i
        self.dotted_name()
        if self.kinds[self.i] == "(":
            self._call_arguments()
        if parenthesised:
            self.take(")")
        start, end = self.span(begin)
        return ast.UseGraph(self.span(first), self.text[start:end])

    # ---------------------------------------------------------------- calls

    def _call_plain(self) -> ast.Clause:
        return self._call_clause(self.i, optional=False)

    def _call_clause(self, first: int, optional: bool) -> ast.Clause:
        """``CALL name(...)`` or ``CALL (scope) { }``, at CALL."""
        kinds = self.kinds
        self.i += 1
        kind = kinds[self.i]
        if kind == "{" or kind == "(":
            return self._call_subquery(first, optional)
        name, name_span = self.dotted_name()
        args = self._call_arguments() if kinds[self.i] == "(" else None
        yields: list[ast.YieldItem] = []
        star = False
        where = None
        if kinds[self.i] == "YIELD":
            yields, star, where = self._yield()
        return ast.CallProcedure(
            self.span(first), name, name_span, args, yields, star, where, optional
        )

    def _call_arguments(self) -> list[ast.Expression]:
        args: list[ast.Expression] = []
        self.i += 1
        if self.kinds[self.i] != ")":
            args.append(self.expression())
            while self.kinds[self.i] == ",":
                self.i += 1
                args.append(self.expression())
            if self.kinds[self.i] != ")":
                self.refuse(self.i, ",", ")")
        self.i += 1
        return args

    def _yield(self) -> tuple[list[ast.YieldItem], bool, ast.Where | None]:
        kinds = self.kinds
        self.i += 1
        items: list[ast.YieldItem] = []
        star = kinds[self.i] == "*"
        if star:
            self.i += 1
            return items, star, None
        else:
            while True:
                first = self.i
                field = self.name("the name of a result column")
                alias = None
                if kinds[self.i] == "AS":
                    self.i += 1
                    alias = self.variable()
                items.append(ast.YieldItem(self.span(first), field, alias))
                if kinds[self.i] != ",":
                    break
                self.i += 1
        return items, star, self._where()

    def _call_subquery(self, first: int, optional: bool) -> ast.Clause:
        kinds = self.kinds
        scope: list[Variable] | None = None
        star = False
        if kinds[self.i] == "(":
            self.i += 1
            scope = []
            if kinds[self.i] == "*":
                star = True
                scope = None
                self.i += 1
            elif kinds[self.i] != ")":
                scope.append(self.variable())
                while kinds[self.i] == ",":
                    self.i += 1
                    scope.append(self.variable())
            self.take(")")
        self.take("{")
        body = self.body()
        if kinds[self.i] != "}":
            self.refuse(self.i, "}")
        self.i += 1
        transactions = self._in_transactions() if kinds[self.i] == "IN" else None
        return ast.CallSubquery(self.span(first), body, scope, star, optional, transactions)

    def _in_transactions(self) -> str:
        """``IN [n CONCURRENT] TRANSACTIONS [OF n ROWS] [DISJOINT BY ...] [ON ERROR ...] [REPORT ...]``."""
        kinds = self.kinds
        first = self.i
        self.i += 1
        if not self.at_word("TRANSACTIONS"):
            if not self.at_word("CONCURRENT"):
                self.operand()
            self.take_word("CONCURRENT")
            self.take_word("TRANSACTIONS")
        else:
            self.i += 1
        while True:
            if self.at_word("OF"):
                self.i += 1
                self.operand()
                if not self.at_word("ROW"):
                    self.take_word("ROWS")
                else:
                    self.i += 1
            elif kinds[self.i] == "ON" and self.at_word("ERROR", 1):
                self.i += 2
                self._on_error()
            elif self.at_word("DISJOINT") and kinds[self.i + 1] == "BY":
                self.i += 2
                if kinds[self.i] == "(":
                    self._call_arguments()
                elif self.at_word("AUTO") or self.at_word("NONE"):
                    self.i += 1
                else:
                    self.refuse(self.i, "AUTO", "NONE", "(")
            elif self.at_word("REPORT"):
                self.i += 1
                self.take_word("STATUS")
                self.take("AS")
                self.variable()
            else:
                start, end = self.span(first)
                return self.text[start:end]

    def _on_error(self) -> None:
        """``CONTINUE``, ``BREAK``, ``FAIL``, ``RETRY [FOR n SECONDS] [THEN ...]``."""
        if self.at_word("RETRY"):
            self.i += 1
            if self.kinds[self.i] == "FOR":
                self.i += 1
                self.operand()
                if any(self.at_word(w) for w in ("SEC", "SECOND", "SECONDS")):
                    self.i += 1
            if self.kinds[self.i] != "THEN":
                return
            self.i += 1
        if not any(self.at_word(w) for w in ("CONTINUE", "BREAK", "FAIL")):
            self.refuse(self.i, "CONTINUE", "BREAK", "FAIL", "RETRY")
        self.i += 1

    # ---------------------------------------------------------------- writing and loading

    def _foreach(self) -> ast.Clause:
        kinds = self.kinds
        first = self.i
        self.i += 1
        self.take("(")
        variable, source = self._binding()
        if kinds[self.i] != "|":
            self.refuse(self.i, "|")
        self.i += 1
        clauses: list[ast.Clause] = []
        while kinds[self.i] != ")":
            read = CLAUSES.get(kinds[self.i])
            if read is None:
                self.refuse(self.i, "an updating clause such as SET", ")")
            clauses.append(read(self))
        if not clauses:
            self.refuse(self.i, "an updating clause such as SET")
        self.i += 1
        return ast.Foreach(self.span(first), variable, source, clauses)

    def _load_csv(self) -> ast.Clause:
        kinds = self.kinds
        first = self.i
        self.i += 1
        self.take("CSV")
        headers = kinds[self.i] == "WITH"
        if headers:
            self.i += 1
            self.take_word("HEADERS")
        self.take("FROM")
        url = self.expression()
        self.take("AS")
        variable = self.variable()
        terminator = None
        if self.at_word("FIELDTERMINATOR"):
            self.i += 1
            terminator = self.expression()
        return ast.LoadCsv(self.span(first), url, variable, headers, terminator)


_MODES = {
    "REPEATABLE": ("ELEMENTS", "ELEMENT"),
    "DIFFERENT": ("RELATIONSHIPS", "RELATIONSHIP"),
}
_ClauseReader = Callable[[ClauseParser], ast.Clause]

CLAUSES: dict[str, _ClauseReader] = {
    "MATCH": ClauseParser._match,
    "OPTIONAL": ClauseParser._match,
    "RETURN": ClauseParser._return,
    "WITH": ClauseParser._with,
    "UNWIND": ClauseParser._unwind,
    "FOR": ClauseParser._for,
    "CALL": ClauseParser._call_plain,
    "CREATE": ClauseParser._create,
    "INSERT": ClauseParser._create,
    "MERGE": ClauseParser._merge,
    "SET": ClauseParser._set,
    "REMOVE": ClauseParser._remove,
    "DELETE": ClauseParser._delete,
    "DETACH": ClauseParser._delete,
    "NODETACH": ClauseParser._delete,
    "FOREACH": ClauseParser._foreach,
    "LOAD": ClauseParser._load_csv,
    "ORDER": ClauseParser._order_and_page,
    "SKIP": ClauseParser._order_and_page,
    "OFFSET": ClauseParser._order_and_page,
    "LIMIT": ClauseParser._order_and_page,
    "LET": ClauseParser._let,
    "FILTER": ClauseParser._filter,
    "FINISH": ClauseParser._finish,
    "USE": ClauseParser._use,
}
"""How each clause is read, by the kind of its first token."""
