"""A query's tree against a schema: names that are not declared, ends and values that do not fit.

A database takes such a query and answers with nothing, so all findings are warnings. What the schema
cannot decide is left alone. The schema comes from a floor above, so it is known by protocols here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rapidfuzz import fuzz, process

from cypherforge.cypher import ast
from cypherforge.cypher.analysis_expressions import Category, Finding
from cypherforge.cypher.bindings import Bindings, Entity, Link, resolve
from cypherforge.cypher.names import quote_name
from cypherforge.cypher.schema_view import PropertyView, SchemaView

# Below this similarity (0..100) a name is not worth proposing.
_SIMILAR = 60.0


def check_schema(query: ast.Query, schema: SchemaView) -> list[Finding]:
    """Return what does not fit the schema, in source order."""
    if schema.empty:
        return []
    findings = list(_Checker(query, schema).run())
    return sorted(set(findings), key=lambda f: (f.span, f.code))


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """Return the most similar candidate, case and separators aside; None if none is similar."""
    known = sorted(set(candidates))
    best = process.extractOne(
        name, known, scorer=fuzz.ratio, processor=_plain, score_cutoff=_SIMILAR
    )
    return best[0] if best is not None else None


def _plain(name: str) -> str:
    return name.casefold().replace("_", "").replace(" ", "").replace("-", "")


class _Checker:
    def __init__(self, query: ast.Query, schema: SchemaView) -> None:
        self.query = query
        self.schema = schema
        self.bindings: Bindings = resolve(query)
        keys = {p.name for label in schema.labels.values() for p in label.properties}
        keys |= {p.name for rel in schema.types.values() for p in rel.properties}
        self.keys = sorted(keys)
        self._candidates = _possible_labels(self.bindings, schema)

    def finding(
        self,
        category: Category,
        code: str,
        span: tuple[int, int],
        message: str,
        suggestion: str | None = None,
        expected: tuple[str, ...] = (),
    ) -> Finding:
        if self.schema.sampled:
            message += " (the schema was sampled, so this is not certain)"
        return Finding("warning", category, code, message, span, suggestion, expected)

    def run(self) -> Iterator[Finding]:
        for node in self.query.walk():
            if isinstance(node, ast.NodePattern):
                yield from self.labels(node.labels)
                yield from self.inline(node)
            elif isinstance(node, ast.RelationshipPattern):
                yield from self.types(node.types)
                yield from self.inline(node)
            elif isinstance(node, ast.LabelTest):
                entity = self.bindings.of(node.subject)
                if entity is not None and entity.kind == "relationship":
                    yield from self.types(node.labels)
                elif entity is not None and entity.kind == "node":
                    yield from self.labels(node.labels)
            elif isinstance(node, ast.PropertyAccess):
                yield from self.property(node)
            elif isinstance(node, ast.MapProjection):
                yield from self.projection(node)
            elif isinstance(node, ast.Binary):
                yield from self.compared(node)
        for link in self.bindings.links:
            yield from self.endpoints(link)

    # ------------------------------------------------------------ names

    def labels(self, expression: ast.LabelExpression | None) -> Iterator[Finding]:
        for name in _names(expression):
            if name.name in self.schema.labels:
                continue
            other = "it is a relationship type" if name.name in self.schema.types else None
            guess = did_you_mean(name.name, self.schema.labels)
            yield self.unknown("schema.label", "node label", name, guess, other)

    def types(self, expression: ast.LabelExpression | None) -> Iterator[Finding]:
        for name in _names(expression):
            if name.name in self.schema.types:
                continue
            other = "it is a node label" if name.name in self.schema.labels else None
            guess = did_you_mean(name.name, self.schema.types)
            yield self.unknown("schema.type", "relationship type", name, guess, other)

    def unknown(
        self, code: str, what: str, name: ast.LabelName, guess: str | None, other: str | None
    ) -> Finding:
        message = f"the schema has no {what} {name.name!r}"
        if other:
            message += f"; {other}"
        return self.finding(
            "reference",
            code,
            name.span,
            message,
            quote_name(guess) if guess else None,
            tuple(self.schema.labels if code == "schema.label" else self.schema.types),
        )

    # ------------------------------------------------------------ properties

    def owners(self, entity: Entity) -> list[str] | None:
        """The labels or types whose properties an entity may have; None if anything goes."""
        if entity.kind == "relationship":
            names = [name for name in sorted(entity.names) if name in self.schema.types]
            return names or (None if entity.names else sorted(self.schema.types))
        if entity.kind != "node":
            return None
        if any(name not in self.schema.labels for name in entity.names):
            return None
        return self._candidates.get(id(entity))

    def declared(self, entity: Entity, key: str) -> list[PropertyView] | None:
        """The property's declarations on an entity: empty if undeclared, None if undecided."""
        owners = self.owners(entity)
        if owners is None:
            return None
        look = (
            self.schema.type_property_of
            if entity.kind == "relationship"
            else self.schema.property_of
        )
        return [found for owner in owners if (found := look(owner, key)) is not None]

    def missing(self, entity: Entity, key: ast.Name) -> Iterator[Finding]:
        declared = self.declared(entity, key.name)
        if declared is None or declared:
            return
        owners = self.owners(entity) or []
        table = self.schema.types if entity.kind == "relationship" else self.schema.labels
        here = sorted({p.name for owner in owners for p in table[owner].properties})
        if not entity.names:
            if key.name in self.keys and len(owners) != 1:
                return
            subject = "anything it can be"
        else:
            subject = " or ".join(repr(name) for name in sorted(entity.names))
        holders = [
            *self.schema.labels_with(key.name),
            *(n for n, t in self.schema.types.items() if t.property(key.name)),
        ]
        message = f"no property {key.name!r} is declared on {subject}"
        if holders:
            message += f"; {', '.join(holders[:3])} has it"
        guess = did_you_mean(key.name, here)
        suggestion = quote_name(guess) if guess else None
        yield self.finding(
            "reference", "schema.property", key.span, message, suggestion, tuple(here)
        )

    def property(self, node: ast.PropertyAccess) -> Iterator[Finding]:
        entity = self.bindings.of(node.subject)
        if entity is not None and isinstance(node.subject, ast.Variable):
            yield from self.missing(entity, node.key)

    def projection(self, node: ast.MapProjection) -> Iterator[Finding]:
        entity = self.bindings.of(node.subject)
        if entity is None:
            return
        for item in node.items:
            if item.kind == "property" and item.key is not None:
                yield from self.missing(entity, item.key)

    def inline(self, node: ast.NodePattern | ast.RelationshipPattern) -> Iterator[Finding]:
        entity = self.bindings.of(node)
        if entity is None or not isinstance(node.properties, ast.MapLiteral):
            return
        for entry in node.properties.entries:
            yield from self.missing(entity, entry.key)
            yield from self.value(entity, entry.key, entry.value, "=")

    # ------------------------------------------------------------ values

    def compared(self, node: ast.Binary) -> Iterator[Finding]:
        if node.op not in _COMPARISONS:
            return
        for access, value in ((node.left, node.right), (node.right, node.left)):
            if isinstance(access, ast.PropertyAccess) and isinstance(access.subject, ast.Variable):
                entity = self.bindings.of(access.subject)
                if entity is None:
                    continue
                if node.op == "IN":
                    if access is node.left and isinstance(value, ast.ListLiteral):
                        for item in value.items:
                            yield from self.value(entity, access.key, item, "=")
                else:
                    yield from self.value(entity, access.key, value, node.op)

    def value(
        self, entity: Entity, key: ast.Name, value: ast.Expression, op: str
    ) -> Iterator[Finding]:
        declared = self.declared(entity, key.name)
        kind = literal_type(value)
        if not declared or kind is None:
            return
        types = sorted({one for item in declared for one in item.types})
        if any(_fits(one, kind, op) for one in types):
            return
        stored = " or ".join(types)
        yield self.finding(
            "type",
            "filter.literal_type",
            value.span,
            f"{key.name!r} holds {stored}; compared with {kind} by {op} it never fits",
            _converted(types, value),
            tuple(types),
        )

    # ------------------------------------------------------------ ends of relationships

    def endpoints(self, link: Link) -> Iterator[Finding]:
        types = link.relationship.names
        for entity, table in (
            (link.relationship, self.schema.types),
            (link.left, self.schema.labels),
            (link.right, self.schema.labels),
        ):
            if any(name not in table for name in entity.names):
                return
        if not types and not (link.left.labels and link.right.labels):
            return
        length = link.pattern.quantifier
        if length is not None and (length.lower, length.upper) == (0, 0):
            return
        single = length is None or (length.lower, length.upper) == (1, 1)
        if _declared(self.schema, types, link.start, link.end, single):
            return
        backwards = _declared(self.schema, types, link.end, link.start, single)
        if not link.directed and backwards:
            return
        if length is not None and length.lower == 0:
            return
        named = "|".join(sorted(types)) or "relationship"
        ends = _arrow(link)
        if backwards and link.directed:
            yield self.finding(
                "reference",
                "direction.reversed",
                link.pattern.span,
                f"the schema declares {named} only the other way round than {ends}",
                _flipped(self.query.text, link.pattern),
            )
            return
        declared = tuple(
            f"(:{quote_name(p.start)})-[:{quote_name(p.type)}]->(:{quote_name(p.end)})"
            for p in self.schema.patterns
            if not types or p.type in types
        )
        between = sorted(
            {
                p.type
                for a in link.left.names
                for b in link.right.names
                for p in self.schema.patterns_between(a, b)
            }
        )
        suggestion = f"types between these labels: {', '.join(between)}" if between else None
        yield self.finding(
            "reference",
            "schema.endpoints",
            link.pattern.span,
            f"the schema declares no {named} that fits {ends}",
            suggestion,
            declared[:12],
        )


_COMPARISONS = frozenset(("=", "<>", "<", "<=", ">", ">=", "IN", "CONTAINS", "STARTS WITH",
                          "ENDS WITH", "=~"))  # fmt: skip
_TEXT_OPS = ("CONTAINS", "STARTS WITH", "ENDS WITH", "=~")
_NUMERIC = ("INTEGER", "FLOAT")
_CONSTRUCTORS = {
    "date": "DATE",
    "datetime": "DATE_TIME",
    "localdatetime": "LOCAL_DATE_TIME",
    "time": "TIME",
    "localtime": "LOCAL_TIME",
    "duration": "DURATION",
    "point": "POINT",
}
_UNDECIDED = ("UNKNOWN", "ANY", "MAP", "")


def literal_type(value: ast.Expression) -> str | None:
    """Return the type of a literal or of a temporal constructor; None for anything else."""
    if isinstance(value, ast.Unary) and value.op in ("-", "+"):
        value = value.operand
    if isinstance(value, ast.StringLiteral):
        return "STRING"
    if isinstance(value, ast.BooleanLiteral):
        return "BOOLEAN"
    if isinstance(value, ast.IntegerLiteral):
        return "INTEGER"
    if isinstance(value, ast.FloatLiteral):
        return "FLOAT"
    if isinstance(value, ast.ListLiteral):
        return "LIST"
    if isinstance(value, ast.FunctionCall):
        return _CONSTRUCTORS.get(value.lower_name)
    return None


def _fits(declared: str, literal: str, op: str) -> bool:
    base = declared.split("<")[0].upper()
    if base in _UNDECIDED:
        return True
    if op in _TEXT_OPS:
        return base == "STRING" and literal == "STRING"
    if base in _NUMERIC and literal in _NUMERIC:
        return True
    return base == literal


def _converted(types: list[str], value: ast.Expression) -> str | None:
    """The literal as the declared type would have it, where it can be said."""
    if isinstance(value, ast.StringLiteral):
        for function, name in _CONSTRUCTORS.items():
            if name in types and name != "POINT":
                return f"{function}('{value.value}')"
        if set(types) & set(_NUMERIC):
            text = value.value.strip()
            try:
                float(text)
            except ValueError:
                return None
            return text
        if "BOOLEAN" in types and value.value.lower() in ("true", "false"):
            return value.value.lower()
    if "STRING" in types and isinstance(value, ast.IntegerLiteral | ast.FloatLiteral):
        return f"'{value.value}'"
    if any(one.startswith("LIST") for one in types):
        return "use IN: the property holds a list"
    return None


def _names(expression: ast.LabelExpression | None) -> Iterator[ast.LabelName]:
    if expression is not None:
        for node in expression.walk():
            if isinstance(node, ast.LabelName):
                yield node


def _may_be(schema: SchemaView, label: str, entity: Entity) -> bool:
    """Whether a node with this label can be that entity."""
    return all(
        label in options or any(schema.together((label, one)) for one in options)
        for options in entity.labels
    )


def _declared(
    schema: SchemaView, types: frozenset[str], start: Entity, end: Entity, single: bool
) -> bool:
    """Whether an arrow, or a chain of them, from start to end is declared."""
    patterns = [p for p in schema.patterns if not types or p.type in types]
    if single:
        return any(
            _may_be(schema, p.start, start) and _may_be(schema, p.end, end) for p in patterns
        )
    return any(_may_be(schema, p.start, start) for p in patterns) and any(
        _may_be(schema, p.end, end) for p in patterns
    )


def _possible_labels(bindings: Bindings, schema: SchemaView) -> dict[int, list[str]]:
    """For each node, the labels whose properties it may have, by its labels and its links."""
    found: dict[int, set[str]] = {}
    everything = set(schema.labels)
    for entity in bindings.nodes:
        if entity.labels:
            own = {
                label
                for label in everything
                if label in entity.names or any(schema.together((label, n)) for n in entity.names)
            }
            found[id(entity)] = own
        else:
            found[id(entity)] = set(everything)
    for link in bindings.links:
        types = link.relationship.names
        quantifier = link.pattern.quantifier
        if not types or quantifier is not None or not types <= set(schema.types):
            continue
        for entity, other, side in ((link.start, link.end, 0), (link.end, link.start, 1)):
            if entity.labels:
                continue
            ends: set[str] = set()
            for pattern in schema.patterns:
                if pattern.type not in types:
                    continue
                pair = (pattern.start, pattern.end)
                if _may_be(schema, pair[1 - side], other):
                    ends.add(pair[side])
                if not link.directed and _may_be(schema, pair[side], other):
                    ends.add(pair[1 - side])
            ends |= {x for x in everything for end in ends if schema.together((x, end))}
            if ends:
                found[id(entity)] &= ends
    return {key: sorted(labels) for key, labels in found.items()}


def _arrow(link: Link) -> str:
    def side(entity: Entity) -> str:
        return f"(:{'|'.join(sorted(entity.names))})" if entity.names else "()"

    return f"{side(link.start)}{'-->' if link.directed else '--'}{side(link.end)}"


def _flipped(text: str, pattern: ast.RelationshipPattern) -> str:
    """The relationship as written, with its arrow turned round."""
    written = text[pattern.span[0] : pattern.span[1]].strip()
    if pattern.direction == "left":
        return f"{written.removeprefix('<').strip()}>"
    return f"<{written.removesuffix('>').strip()}"
