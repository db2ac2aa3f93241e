"""The schema grammar: the read-only queries in which only what a schema declares can be written.

A node is written by a rule of its label, and that rule's tails are the relationship types that
leave or enter the label, so no undeclared arrow can be drafted. Properties follow from names of
variables: a variable's name is one that its label suggests (``m``, ``movie`` for ``Movie``), and
after its dot only the properties of labels with such a name may come; relationships have names of
their own, so that none is used for both. A literal has the type of the property it is compared
with. What a context-free grammar cannot see is the scope of a variable.

An entering type may also be written without an arrow head, for a decoder writes ``-[`` before it
knows the type. Tails and clauses are bounded, or a small model walks on for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from cypherforge.cypher.names import needs_quotes
from cypherforge.graph.formats.arrows import line_name
from cypherforge.graph.schema import Label, Property, RelType, Schema
from cypherforge.runtime.grammar_forms import (
    Chars,
    Form,
    Grammar,
    Loose,
    Ref,
    alt,
    maybe,
    repeat,
    separated,
    seq,
    words,
)

#: Hops that one path may have.
HOPS = 4
_CLAUSES = 7
_ITEMS = 8

_Kind = Literal["text", "number", "flag", "time", "list", "point", "other"]
_KINDS: dict[str, _Kind] = {
    "STRING": "text",
    "INTEGER": "number",
    "FLOAT": "number",
    "BOOLEAN": "flag",
    "DATE": "time",
    "DATE_TIME": "time",
    "ZONED_DATETIME": "time",
    "LOCAL_DATE_TIME": "time",
    "LOCAL_DATETIME": "time",
    "TIME": "time",
    "LOCAL_TIME": "time",
    "DURATION": "time",
    "POINT": "point",
}
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ANY_NODE = ("n", "node", "x", "y")
_ANY_RELATIONSHIP = ("r", "rel")
_COMPONENTS = ("year", "month", "day", "hour", "minute", "second", "quarter", "week")
_LENGTHS = ("seconds", "minutes", "hours", "days", "weeks", "months", "years")
_AGGREGATES = ("count", "sum", "avg", "min", "max", "collect", "stDev")
_FUNCTIONS = ("size", "toFloat", "toInteger", "abs", "floor", "ceil", "sqrt", "head", "last")
_TEXT_FUNCTIONS = ("toLower", "toUpper", "trim", "toString")
_SHOUTED = ("SIZE", "ROUND", "COALESCE")
_MOMENTS = ("date", "datetime", "localdatetime", "duration", "time")


def kind_of(item: Property) -> _Kind:
    """What literals a property is compared with; ``other`` for unions and unknown types."""
    types = {t.upper().split("<")[0] for t in item.types}
    kinds: set[_Kind] = {"list" if t == "LIST" else _KINDS.get(t, "other") for t in types}
    return kinds.pop() if len(kinds) == 1 else "other"


def schema_grammar(
    schema: Schema, *, hops: int = HOPS, fenced: bool = False, conditions: bool = False
) -> Grammar:
    """The grammar of a schema; ``fenced``: the query stands in a block ```` ```cypher ````.

    ``hops`` bounds the relationships of one path. ``conditions``: maps may hold what small models
    write there, ``{depth: > 5}``, for a caller that lowers it (``cypher.dialects.repair_dialect``).
    Raises ValueError for a schema without labels.
    """
    if not schema.labels:
        raise ValueError("a schema without labels has no grammar")
    grammar = _Builder(schema, hops, conditions).build()
    if fenced:
        grammar.add("root", "```cypher\n", Ref("query"), "\n```")
    else:
        grammar.add("root", Ref("query"), maybe(";"))
    return grammar


def variable_names(name: str) -> tuple[str, ...]:
    """The names that people give a variable of this label or type, shortest first.

    >>> variable_names("AgeGroup")
    ('a', 'g', 'ag', 'age', 'ageg', 'group', 'ageGroup', 'agegroup')
    """
    parts = [part.lower() for part in _PARTS.findall(name)]
    if not parts:
        return ()
    joined = "".join(parts)
    made = {part[0] for part in parts} | {"".join(part[0] for part in parts)}
    made |= {joined[:size] for size in (2, 3, 4)} | {parts[0], parts[-1], joined}
    made.add(parts[0] + "".join(part.capitalize() for part in parts[1:]))
    if len(parts) > 1:
        made.add("_".join(parts))
    return tuple(sorted((m for m in made if m[0].isalpha()), key=lambda m: (len(m), m)))


class _Builder:
    def __init__(self, schema: Schema, hops: int, conditions: bool) -> None:
        self.schema = schema
        self.hops = hops
        self.lowered = conditions
        self.grammar = Grammar()
        self.slugs = _slugs([*schema.labels, *(f"[{t}]" for t in schema.types)])
        self.node_names = {label: _allowed(variable_names(label)) for label in schema.labels}
        taken = {name for names in self.node_names.values() for name in names}
        self.any_node = [name for name in _ANY_NODE if name not in taken]
        taken.update(self.any_node)
        self.any_relationship = [name for name in _ANY_RELATIONSHIP if name not in taken]
        self.relationship_names = {
            kind: _allowed(n for n in variable_names(kind) if n not in taken)
            for kind in schema.types
        }

    def slug(self, label: str) -> str:
        return self.slugs[label]

    def type_slug(self, name: str) -> str:
        return self.slugs[f"[{name}]"]

    def build(self) -> Grammar:
        self.words()
        self.literals()
        self.variables()
        self.accesses()
        for label in self.schema.labels.values():
            self.node(label)
        self.paths()
        self.expressions()
        self.conditions()
        self.clauses()
        return self.grammar

    # ------------------------------------------------------------ words, literals, variables

    def words(self) -> None:
        add = self.grammar.add
        add("sp", Chars(" \\n"))
        add("comma", ", ")
        # The second letter is small: no keyword is taken for a name.
        add("alias", Chars("a-zA-Z"), Chars("a-z0-9_"), maybe(repeat(Chars("a-zA-Z0-9_"), 1, 30)))
        add("digits", repeat(Chars("0-9"), 1, 12))

    def literals(self) -> None:
        add = self.grammar.add
        inside = alt(Chars("^'\\\\\\n"), seq("\\", Chars("^\\n")))
        double = alt(Chars('^"\\\\\\n'), seq("\\", Chars("^\\n")))
        add("text", alt(seq("'", repeat(inside), "'"), seq('"', repeat(double), '"')))
        add("number", maybe("-"), Ref("digits"), maybe(".", Ref("digits")))
        add("flag", words(("true", "false")))
        argument = maybe(alt(Ref("text"), Ref("duration_map")))
        add("duration_map", "{", separated(seq(words(_LENGTHS), ": ", Ref("number")), ", ", 3), "}")
        add("moment", words(_MOMENTS), "(", argument, ")")
        add("literal", alt(*map(Ref, ("text", "number", "flag", "moment", "list"))))
        add("list", "[", maybe(separated(Ref("literal"), ", ", 12)), "]")

    def variables(self) -> None:
        add = self.grammar.add
        # A digit tells two nodes of one label apart.
        digit = maybe(Chars("1-9"))
        for label, names in self.node_names.items():
            every = [*names, *self.any_node]
            add(f"var_{self.slug(label)}", words(every), digit)
        for kind in self.relationship_names:
            add(f"rel_{self.type_slug(kind)}", words(self.link_names(kind)), digit)
        nodes = [name for names in self.node_names.values() for name in names]
        links = [name for kind in self.relationship_names for name in self.link_names(kind)]
        add("node_var", words([*nodes, *self.any_node]), digit)
        add("any_var", words([*nodes, *self.any_node, *links]), digit)

    def link_names(self, kind: str) -> list[str]:
        """The names of a type's variables; one made up where none is free."""
        every = [*self.relationship_names[kind], *self.any_relationship]
        return every or [f"{self.type_slug(kind)}_rel"]

    def accesses(self) -> None:
        """One rule per kind of property: variables that may have it, the dot, the properties.

        Written out name by name, so that those which begin alike are one alternative to a decoder.
        """
        found: dict[str, list[Form]] = {}
        owners: list[tuple[list[str], Label | RelType]] = [
            ([*self.node_names[x.name], *self.any_node], x) for x in self.schema.labels.values()
        ]
        owners += [(self.link_names(x.name), x) for x in self.schema.types.values()]
        digit = maybe(Chars("1-9"))
        for variables, owner in owners:
            for kind, names in _by_kind(owner.properties).items():
                found.setdefault(kind, []).extend(
                    seq(variable, digit, ".", name) for variable in variables for name in names
                )
        self.kinds = sorted(found)
        for kind in self.kinds:
            self.grammar.add(f"get_{kind}", alt(*found[kind]))
        timeless = [form for kind in self.kinds if kind != "time" for form in found[kind]]
        if timeless:
            self.grammar.add("get_timeless", alt(*timeless))

    # ------------------------------------------------------------ patterns

    def node(self, label: Label) -> None:
        slug = self.slug(label.name)
        others = sorted(
            {
                other
                for item in self.schema.co_labels
                if label.name in item.labels
                for other in item.labels
                if other != label.name
            }
        )
        named: list[Loose] = [":", line_name(label.name)]
        if others:
            named.append(maybe(":", words(map(line_name, others))))
        inside: list[Loose] = [maybe(Ref(f"var_{slug}")), maybe(*named)]
        entries = self.map(f"map_{slug}", label.properties)
        if entries is not None:
            inside.append(maybe(maybe(" "), entries))
        self.grammar.add(f"node_{slug}", "(", *inside, ")")

    def map(self, rule: str, properties: Iterable[Property]) -> Ref | None:
        """A map of literals of the properties' own types; of conditions too, where they are lowered.

        "More than 5" drafted as ``{depth: {min: 5}}`` would else be bent into ``{depth: 5}``.
        """
        values: dict[str, Loose] = {
            "text": Ref("text"),
            "number": Ref("number"),
            "flag": Ref("flag"),
            "time": Ref("moment"),
            "other": Ref("literal"),
        }
        if self.lowered:
            signs = words(("> ", ">= ", "< ", "<= ", "<> "))
            holding = words(("CONTAINS ", "STARTS WITH ", "ENDS WITH "))
            values["text"] = seq(maybe(holding), Ref("text"))
            values["number"] = seq(maybe(signs), Ref("number"))
            values["time"] = seq(maybe(signs), Ref("moment"))
        entries = [
            seq(words(names), ": ", values[kind])
            for kind, names in _by_kind(properties).items()
            if kind in values
        ]
        if not entries:
            return None
        entry = self.grammar.add(f"{rule}_entry", alt(*entries))
        return self.grammar.add(rule, "{", separated(entry, ", ", 3), "}")

    def relationships(self) -> None:
        for kind in self.schema.types.values():
            slug = self.type_slug(kind.name)
            inside: list[Loose] = [maybe(Ref(f"rel_{slug}")), ":", line_name(kind.name)]
            entries = self.map(f"map_{slug}_rel", kind.properties)
            if entries is not None:
                inside.append(maybe(maybe(" "), entries))
            self.grammar.add(f"type_{slug}", *inside)

    def pair(self, start: str, end: str) -> Ref:
        """What may stand in the brackets between two labels: a type, or several of them."""
        rule = f"pair_{self.slug(start)}_{self.slug(end)}"
        if rule in self.grammar.rules:
            return Ref(rule)
        types = [p.type for p in self.schema.patterns if (p.start, p.end) == (start, end)]
        options: list[Loose] = [Ref(f"type_{self.type_slug(t)}") for t in types]
        if len(types) > 1:
            names = [line_name(t) for t in types]
            some = Ref(f"rel_{self.type_slug(types[0])}")
            options.append(
                seq(maybe(some), ":", words(names), repeat(seq("|", words(names)), 1, 3))
            )
        return self.grammar.add(rule, alt(*options))

    def paths(self) -> None:
        self.relationships()
        labels = list(self.schema.labels)
        starts: list[Loose] = []
        hopped: list[Loose] = []
        for label in labels:
            slug = self.slug(label)
            node = Ref(f"node_{slug}")
            for left in range(self.hops + 1):
                tails = self.tails(label, left - 1) if left else []
                rule = f"path_{slug}_{left}"
                self.grammar.add(rule, node, *([maybe(alt(*tails))] if tails else []))
            starts.append(Ref(f"path_{slug}_{self.hops}"))
            tails = self.tails(label, 1)
            if tails:
                variable = seq("(", Ref(f"var_{slug}"), ")")
                hopped.append(seq(variable, alt(*tails)))
        self.grammar.add("path", alt(*starts))
        self.has_hops = bool(hopped)
        if hopped:
            self.grammar.add("linked", alt(*hopped))

    def tails(self, label: str, left: int) -> list[Loose]:
        """What may follow a node of this label; ``left`` hops may follow after that."""
        found: list[Loose] = []
        for pattern in self.schema.patterns:
            if not pattern.start or not pattern.end:
                continue
            if pattern.start == label:
                inside, rest = (
                    self.pair(label, pattern.end),
                    Ref(f"path_{self.slug(pattern.end)}_{left}"),
                )
                found.append(seq("-[", inside, alt("]->", "]-"), rest))
            if pattern.end == label:
                inside, rest = (
                    self.pair(pattern.start, label),
                    Ref(f"path_{self.slug(pattern.start)}_{left}"),
                )
                found.append(seq("<-[", inside, "]-", rest))
                found.append(seq("-[", inside, "]-", rest))
        for kind in self.schema.types:
            for end in _reached(self.schema, kind, label, forward=True):
                far = Ref(f"path_{self.slug(end)}_{left}")
                found.append(seq("-[:", line_name(kind), Ref("length"), "]->", far))
            for start in _reached(self.schema, kind, label, forward=False):
                far = Ref(f"path_{self.slug(start)}_{left}")
                found.append(seq("<-[:", line_name(kind), Ref("length"), "]-", far))
        if found:
            bound = maybe("..", Chars("1-9"))
            self.grammar.add("length", "*", maybe(Chars("1-9"), bound))
        return list(dict.fromkeys(found))

    # ------------------------------------------------------------ expressions

    def expressions(self) -> None:
        add = self.grammar.add
        gets: list[Loose] = [Ref("get_timeless")] if set(self.kinds) - {"time"} else []
        if "time" in self.kinds:
            dated = seq(words(("date", "datetime", "duration")), "(", Ref("get_time"), ")")
            add("moment_of", alt(Ref("get_time"), dated))
            add("component", ".", words((*_COMPONENTS, *_LENGTHS)))
            gets.append(seq(Ref("moment_of"), maybe(Ref("component"))))
        if "point" in self.kinds:
            add("coordinate", Ref("get_point"), ".", words(("x", "y", "latitude", "longitude")))
            gets.append(Ref("coordinate"))
        add("counted", alt("*", seq(maybe(words(("DISTINCT ", "distinct "))), Ref("value"))))
        names = [*_AGGREGATES, *(n.upper() for n in _AGGREGATES if n.islower())]
        slice_ = seq(
            "[", alt(Ref("digits"), seq(maybe(Ref("digits")), "..", maybe(Ref("digits")))), "]"
        )
        add("aggregate", words(names), "(", Ref("counted"), ")", maybe(slice_))
        calls: list[Loose] = [
            seq(words((*_FUNCTIONS, *_TEXT_FUNCTIONS, *_SHOUTED)), "(", Ref("value"), ")"),
            seq(words(("round", "coalesce", "ROUND", "COALESCE")), "(", Ref("value"), maybe(", ", Ref("value")), ")"),
            seq("percentileCont(", Ref("value"), ", ", Ref("number"), ")"),
            seq(words(("left", "right")), "(", Ref("value"), ", ", Ref("digits"), ")"),
            seq("duration.", words(("between", "inSeconds", "inDays", "inMonths")), "(",
                Ref("value"), ", ", Ref("value"), ").", words(_LENGTHS)),
        ]  # fmt: skip
        add("call", alt(*calls))
        branch = seq(" WHEN ", Ref("condition"), " THEN ", Ref("value"))
        add("case", "CASE", repeat(branch, 1, 4), maybe(" ELSE ", Ref("value")), " END")
        entry = seq(Ref("alias"), ": ", Ref("value"))
        add("record", "{", separated(entry, ", ", 5), "}")
        atoms: list[Loose] = [*gets, *map(Ref, ("aggregate", "call", "case", "literal", "alias"))]
        atoms += [Ref("any_var"), Ref("record"), seq("(", Ref("value"), ")"), Ref("counting")]
        add("atom", alt(*atoms))
        add("value", separated(Ref("atom"), words((" + ", " - ", " * ", " / ", " % ")), 4))
        body = seq(maybe("MATCH "), Ref("path"), maybe(" WHERE ", Ref("condition")))
        add("counting", "COUNT { ", body, " }")
        add("existing", words(("EXISTS { ", "exists { ")), body, " }")

    def conditions(self) -> None:
        add = self.grammar.add
        add("equal", words((" = ", " <> ")))
        add("order", words((" = ", " <> ", " < ", " > ", " <= ", " >= ")))
        add("holding", words((" CONTAINS ", " STARTS WITH ", " ENDS WITH ", " =~ ")))
        lowered = seq(words(_TEXT_FUNCTIONS), "(", Ref("value"), ")")
        texts: list[Loose] = [Ref("text"), Ref("alias"), lowered]
        tests: list[Loose] = []
        computed: list[Loose] = [Ref("alias"), Ref("call"), Ref("aggregate"), Ref("counting")]
        null = words((" IS NOT NULL", " IS NULL"))
        # Kinds meet their own kind, and what is computed: its type cannot be seen.
        after: dict[str, list[Loose]] = {
            kind: [null, seq(" IN ", alt(Ref("list"), Ref("alias")))] for kind in self.kinds
        }
        operator = alt(Ref("order"), Ref("holding"))
        if "text" in self.kinds:
            after["text"].append(seq(operator, alt(*texts, Ref("get_text"))))
        if "number" in self.kinds:
            plain = alt(Ref("number"), Ref("get_number"), *computed)
            sums = separated(plain, words((" + ", " - ", " * ", " / ")), 3)
            after["number"].append(seq(Ref("order"), sums))
        if "flag" in self.kinds:
            after["flag"].append(maybe(Ref("equal"), Ref("flag")))
        if "other" in self.kinds:
            after["other"].append(seq(operator, Ref("value")))
        if "time" in self.kinds:
            right = alt(Ref("moment"), Ref("moment_of"), Ref("alias"), Ref("aggregate"))
            shifted = seq(right, maybe(words((" + ", " - ")), Ref("moment")))
            numbers = alt(Ref("number"), seq(Ref("moment_of"), Ref("component")), *computed)
            part = seq(Ref("component"), alt(null, seq(Ref("order"), numbers)))
            del after["time"]
            tests.append(seq(Ref("moment_of"), alt(null, seq(Ref("order"), shifted), part)))
        for kind, ends in after.items():
            tests.append(seq(Ref(f"get_{kind}"), alt(*ends)))
        if "list" in self.kinds:
            tests.append(seq(alt(*texts, Ref("number")), " IN ", Ref("get_list")))
        tests.append(seq(lowered, operator, alt(*texts)))
        left = separated(alt(*computed), words((" + ", " - ", " * ", " / ")), 3)
        tests.append(seq(left, operator, Ref("value")))
        tests.append(seq(alt(Ref("alias"), Ref("text"), Ref("number")), " IN ", Ref("alias")))
        tests.append(seq(Ref("alias"), words((" IS NOT NULL", " IS NULL"))))
        tests.append(seq(Ref("node_var"), Ref("equal"), Ref("node_var")))
        tests.append(Ref("existing"))
        if self.has_hops:
            tests.append(Ref("linked"))
        tests.append(seq("(", Ref("condition"), ")"))
        add("test", maybe(words(("NOT ", "not "))), alt(*tests))
        add("condition", separated(Ref("test"), words((" AND ", " OR ")), 5))

    # ------------------------------------------------------------ clauses

    def clauses(self) -> None:
        add = self.grammar.add
        where = maybe(Ref("sp"), "WHERE ", Ref("condition"))
        add("match", words(("MATCH ", "OPTIONAL MATCH ")), separated(Ref("path"), ", ", 3), where)
        add("first", "MATCH ", separated(Ref("path"), ", ", 3), where)
        compared = seq(Ref("value"), maybe(Ref("order"), Ref("value")))
        add("item", compared, maybe(" AS ", Ref("alias")))
        items = separated(Ref("item"), ", ", _ITEMS)
        add("items", maybe("DISTINCT "), alt("*", items))
        direction = maybe(words((" DESC", " ASC")))
        sort = separated(seq(Ref("value"), direction), ", ", 3)
        count = Ref("digits")
        add("page", maybe(Ref("sp"), "ORDER BY ", sort), maybe(Ref("sp"), "SKIP ", count),
            maybe(Ref("sp"), "LIMIT ", count))  # fmt: skip
        # What WITH carries on needs a name; models forget it.
        carried = alt(Ref("any_var"), Ref("alias"), seq(Ref("value"), " AS ", Ref("alias")))
        carrying = alt("*", separated(carried, ", ", _ITEMS))
        add("with", "WITH ", maybe("DISTINCT "), carrying, Ref("page"), where)
        listed = alt(Ref("alias"), Ref("list"), Ref("any_var"))
        add("unwind", "UNWIND ", listed, " AS ", Ref("alias"))
        more = alt(Ref("match"), Ref("with"), Ref("unwind"))
        add("single", Ref("first"), repeat(seq(Ref("sp"), more), 0, _CLAUSES), Ref("sp"),
            "RETURN ", Ref("items"), Ref("page"))  # fmt: skip
        union = seq(Ref("sp"), words(("UNION ALL", "UNION")), Ref("sp"), Ref("single"))
        add("query", Ref("single"), repeat(union, 0, 1))


def _by_kind(properties: Iterable[Property]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in properties:
        found.setdefault(kind_of(item), []).append(line_name(item.name))
    return dict(sorted(found.items()))


def _allowed(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.isascii() and not needs_quotes(name)]


def _slugs(names: Sequence[str]) -> dict[str, str]:
    """A short rule name for each label and ``[TYPE]``, each its own."""
    slugs: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^a-z0-9]", "", name.lower()) or "x"
        slug, number = plain, 2
        while slug in slugs.values():
            slug, number = f"{plain}{number}", number + 1
        slugs[name] = slug
    return slugs


def _reached(schema: Schema, kind: str, label: str, *, forward: bool) -> list[str]:
    """The labels that more than one relationship of a type leads to, or comes from."""
    steps: dict[str, set[str]] = {}
    for pattern in schema.patterns_of(kind):
        if pattern.start and pattern.end:
            start, end = (pattern.start, pattern.end) if forward else (pattern.end, pattern.start)
            steps.setdefault(start, set()).add(end)
    near = steps.get(label, set())
    if not any(end in steps for end in near):
        return []
    reached: set[str] = set()
    stack = sorted(near)
    while stack:
        name = stack.pop()
        if name not in reached:
            reached.add(name)
            stack.extend(sorted(steps.get(name, ())))
    return sorted(reached)
