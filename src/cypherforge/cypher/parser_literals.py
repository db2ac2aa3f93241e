"""Literals, parameters, maps and map projections."""

from __future__ import annotations

from cypherforge.cypher import ast
from cypherforge.cypher.ast import Name, Variable
from cypherforge.cypher.parser_forms import FormParser
from cypherforge.cypher.tokens import NAMES, string_value


class LiteralParser(FormParser):
    """The part of the parser that reads literals and maps."""

    __slots__ = ()

    def _float(self, i: int) -> ast.Expression:
        self.i = i + 1
        value = float(self.values[i].rstrip("dDfF").replace("_", ""))
        return ast.FloatLiteral((self.starts[i], self.ends[i]), value)

    def _named_float(self, i: int) -> ast.Expression | None:
        """``Infinity``, ``INF``, ``NaN``: no variables in Neo4j unless back-ticked."""
        if self.kinds[i + 1] in ("(", "{"):
            return None
        self.i = i + 1
        value = float("nan" if self.kinds[i] == "NAN" else "inf")
        return ast.FloatLiteral((self.starts[i], self.ends[i]), value)

    def _word_literal(self, i: int) -> ast.Expression | None:
        kind = self.kinds[i]
        if self.kinds[i + 1] in ("(", "{"):
            return None
        self.i = i + 1
        span = (self.starts[i], self.ends[i])
        if kind == "NULL":
            return ast.NullLiteral(span)
        return ast.BooleanLiteral(span, kind == "TRUE")

    def _parameter(self, i: int) -> ast.Expression:
        j = i + 1
        kind = self.kinds[j]
        if kind not in NAMES and kind != "int":
            self.refuse(j, "the name of a parameter")
        self.i = j + 1
        return ast.Parameter((self.starts[i], self.ends[j]), self.values[j])

    def map_literal(self) -> ast.Expression:
        """``{...}``, at the opening brace; ``{name}`` is the parameter of old."""
        kinds = self.kinds
        starts, ends, values = self.starts, self.ends, self.values
        first = i = self.i
        if kinds[i + 1] in NAMES and kinds[i + 2] == "}":
            self.i = i + 3
            return ast.Parameter((starts[i], ends[i + 2]), values[i + 1], True)
        entries: list[ast.MapEntry] = []
        i += 1
        if kinds[i] != "}":
            expression = self.expression
            while True:
                if kinds[i] not in NAMES:
                    self.refuse(i, "a property name", *(() if entries else ("}",)))
                if kinds[i + 1] != ":":
                    self.refuse(i + 1, ":")
                self.i = i + 2
                value = expression()
                entries.append(
                    ast.MapEntry(
                        (starts[i], ends[self.i - 1]), Name((starts[i], ends[i]), values[i]), value
                    )
                )
                i = self.i
                if kinds[i] == ",":
                    i += 1
                elif kinds[i] == "}":
                    break
                else:
                    self.refuse(i, ",", "}")
        self.i = i + 1
        return ast.MapLiteral((starts[first], ends[i]), entries)

    def _map(self, i: int) -> ast.Expression:
        return self.map_literal()

    def _map_projection(self, i: int) -> ast.Expression:
        """``n {.a, .*, b: 1, c}``, at the variable."""
        kinds = self.kinds
        starts, ends, values = self.starts, self.ends, self.values
        subject = Variable((starts[i], ends[i]), values[i])
        items: list[ast.MapProjectionItem] = []
        self.i = i + 2
        while kinds[self.i] != "}" or items:
            j = self.i
            if kinds[j] == ".":
                if kinds[j + 1] == "*":
                    self.i = j + 2
                    items.append(ast.MapProjectionItem(self.span(j), "all"))
                else:
                    self.i = j + 1
                    key = self.name("a property name")
                    items.append(ast.MapProjectionItem(self.span(j), "property", key))
            else:
                if kinds[j] not in NAMES:
                    self.refuse(j, "a property name", ".", ".*", "}")
                if kinds[j + 1] == ":":
                    key = Name((starts[j], ends[j]), values[j])
                    self.i = j + 2
                    value = self.expression()
                    items.append(ast.MapProjectionItem(self.span(j), "entry", key, value))
                else:
                    held = self.variable()
                    items.append(ast.MapProjectionItem(self.span(j), "variable", None, held))
            if kinds[self.i] == "}":
                break
            if kinds[self.i] != ",":
                self.refuse(self.i, ",", "}")
            self.i += 1
        self.i += 1
        return ast.MapProjection(self.span(i), subject, items)

    def _interpolated(self, i: int) -> ast.Expression:
        """Cypher 25's ``s'a {x} b'``."""
        kinds = self.kinds
        self.i = i + 1
        parts: list[ast.Expression] = []
        while True:
            j = self.i
            kind = kinds[j]
            if kind == "s-text":
                value = string_value(f"'{self.values[j]}'", braces=True)
                parts.append(ast.StringPart((self.starts[j], self.ends[j]), value))
                self.i = j + 1
            elif kind == "{":
                self.i = j + 1
                parts.append(self.expression())
                self.take("}")
            else:
                if kind != "s-end":
                    self.refuse(j, "the end of the string")
                self.i = j + 1
                return ast.InterpolatedString(self.span(i), parts)
