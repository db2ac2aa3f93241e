r"""Is this query read-only? By its tokens and its syntax tree, before any database sees it.

The first of three layers (a READ session and EXPLAIN's query type are the others). A text that
parses is judged by its tree, so that ``:Asset``, ``n.delete`` and ``'src/Create.cs'`` are what they
are; a text that does not parse is judged by its tokens, where any write keyword that is not plainly
a name counts. Procedures and functions must be on a list of those known to read (``allowed.py``),
for a planner calls ``apoc.load.json`` a read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.tokens import NAMES, Tokens
from cypherforge.validators.allowed import function_allowed, procedure_allowed, show_allowed
from cypherforge.validators.findings import Finding

_ESCAPE = re.compile(r"\\(?:u+([0-9a-fA-F]{4})|[\s\S])")
# Characters that open or close something: an escape for one hides where a string or comment ends.
_STRUCTURAL = frozenset("'\"`\\/*\n\r")

_CLAUSES: dict[type[ast.Clause], tuple[str, str]] = {
    ast.Create: ("safety.create", "CREATE"),
    ast.Merge: ("safety.merge", "MERGE"),
    ast.SetClause: ("safety.set", "SET"),
    ast.RemoveClause: ("safety.remove", "REMOVE"),
    ast.Delete: ("safety.delete", "DELETE"),
    ast.Foreach: ("safety.foreach", "FOREACH"),
    ast.LoadCsv: ("safety.load_csv", "LOAD CSV"),
}
_WRITE_WORDS = {
    "CREATE": "safety.create",
    "INSERT": "safety.create",
    "MERGE": "safety.merge",
    "SET": "safety.set",
    "REMOVE": "safety.remove",
    "DELETE": "safety.delete",
    "DETACH": "safety.delete",
    "NODETACH": "safety.delete",
    "FOREACH": "safety.foreach",
    "LOAD": "safety.load_csv",
    "DROP": "safety.schema_command",
    "ALTER": "safety.schema_command",
    "RENAME": "safety.schema_command",
    "GRANT": "safety.admin_command",
    "DENY": "safety.admin_command",
    "REVOKE": "safety.admin_command",
    "TERMINATE": "safety.admin_command",
    "DEALLOCATE": "safety.admin_command",
    "REALLOCATE": "safety.admin_command",
}
_SCHEMA_OBJECTS = ("INDEX", "CONSTRAINT")


def check_read_only(query: str | ast.Query, *, allow: Collection[str] = ()) -> list[Finding]:
    """Return what makes the query anything but a plain read; empty if it is one.

    ``allow`` names further procedures and functions to let pass. Each kind of write has a code of
    its own, ``safety.*``.
    """
    extra = frozenset(name.lower() for name in allow)
    text = query.text if isinstance(query, ast.Query) else query
    findings = list(_hidden(text)) if "\\u" in text else []
    if isinstance(query, str):
        try:
            query = parse(query)
        except CypherSyntaxError:
            findings.extend(_by_tokens(text, extra))
            return _sorted(findings)
    findings.extend(_by_tree(query, extra))
    return _sorted(findings)


def _sorted(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda f: (f.span or (0, 0), f.code))


def _finding(code: str, span: tuple[int, int], message: str, suggestion: str) -> Finding:
    return Finding("error", "safety", code, message, span, suggestion, "readonly")


def _hidden(text: str) -> Iterator[Finding]:
    tokens = Tokens(text)
    strings = [
        (start, end)
        for kind, start, end in zip(tokens.kinds, tokens.starts, tokens.ends, strict=True)
        if kind == "str"
    ]
    for match in _ESCAPE.finditer(text):
        if match[1] is None:
            continue
        char = chr(int(match[1], 16))
        span = match.span()
        inside = any(start < span[0] and span[1] < end for start, end in strings)
        if char in _STRUCTURAL or not inside:
            yield _finding(
                "safety.unicode_escape",
                span,
                f"the escape {match[0]} stands for {char!r} and could hide where a string, a name "
                "or a comment ends",
                "write the character itself, escaped by a backslash inside a string",
            )


# ---------------------------------------------------------------- by the tree


def _by_tree(query: ast.Query, extra: frozenset[str]) -> Iterator[Finding]:
    stack: list[tuple[ast.Node, bool]] = [(query.body, False)]
    while stack:
        node, inside = stack.pop()
        known = _CLAUSES.get(type(node))  # type: ignore[arg-type]
        if known is not None:
            yield _write(node, *known, inside)
            if isinstance(node, ast.Foreach):
                continue
        elif isinstance(node, ast.Command):
            yield from _command(node)
        elif isinstance(node, ast.CallProcedure):
            if not procedure_allowed(node.name, extra):
                yield _callable(node.name, node.name_span, "procedure")
        elif isinstance(node, ast.FunctionCall):
            if not function_allowed(node.name, extra):
                yield _callable(node.name, node.name_span, "function")
        elif isinstance(node, ast.UseGraph):
            yield _finding(
                "safety.use_graph",
                node.span,
                f"USE {node.graph} leaves the database that was connected to",
                "drop the USE clause and connect to that database",
            )
        below = inside or isinstance(node, ast.CallSubquery | ast.SubqueryExpression)
        stack.extend((child, below) for child in node.children())


def _write(node: ast.Node, code: str, word: str, inside: bool) -> Finding:
    if isinstance(node, ast.Delete) and node.detach:
        word = "DETACH DELETE"
    if code == "safety.load_csv":
        message = "LOAD CSV reads a file or an address, not the graph"
    elif inside:
        code, message = "safety.write_in_subquery", f"{word} inside a subquery writes"
    else:
        message = f"{word} writes"
    return _finding(code, node.span, message, "ask for the data with MATCH and RETURN only")


def _command(node: ast.Command) -> Iterator[Finding]:
    if node.writes:
        schema = any(word in node.verb for word in _SCHEMA_OBJECTS)
        code = "safety.schema_command" if schema else "safety.admin_command"
        yield _finding(code, node.span, f"{node.verb} changes the database", "leave it out")
    elif not show_allowed(node.verb):
        yield _finding(
            "safety.admin_command",
            node.span,
            f"{node.verb} is an administration command",
            "ask the graph itself, with MATCH and RETURN",
        )


def _callable(name: str, span: tuple[int, int], kind: str) -> Finding:
    return _finding(
        f"safety.{kind}",
        span,
        f"the {kind} {name} is not on the list of those known to only read",
        "leave it out, or allow it by name if it is known to be harmless",
    )


# ---------------------------------------------------------------- by tokens alone


def _by_tokens(text: str, extra: frozenset[str]) -> Iterator[Finding]:
    tokens = Tokens(text)
    kinds, values, spans = (
        tokens.kinds,
        tokens.values,
        list(zip(tokens.starts, tokens.ends, strict=True)),
    )
    depth = 0
    index = -1
    skip_to = 0
    while kinds[index + 1] != "end":
        index += 1
        kind = kinds[index]
        depth += (kind == "{") - (kind == "}")
        if index < skip_to:
            continue
        before = kinds[index - 1] if index else ""
        after = kinds[index + 1]
        if kind == "CALL":
            name, stop = _dotted(kinds, values, index + 1)
            if name and not procedure_allowed(name, extra):
                yield _callable(name, (spans[index + 1][0], spans[stop - 1][1]), "procedure")
            skip_to = max(skip_to, stop)
        elif kind in NAMES and after == ".":
            name, stop = _dotted(kinds, values, index)
            if kinds[stop] == "(" and not function_allowed(name, extra):
                yield _callable(name, (spans[index][0], spans[stop - 1][1]), "function")
            skip_to = max(skip_to, stop)
        elif kind in _WRITE_WORDS and _may_be_clause(kind, before, after):
            code = _WRITE_WORDS[kind]
            if depth and code not in ("safety.load_csv", "safety.foreach"):
                code = "safety.write_in_subquery"
            yield _finding(
                code,
                spans[index],
                f"{kind} writes, or could: the query does not parse, so its words decide",
                "ask for the data with MATCH and RETURN only",
            )
        elif kind == "SHOW" and index == 0:
            yield _finding(
                "safety.admin_command",
                spans[index],
                "SHOW that does not parse cannot be judged",
                "ask the graph itself, with MATCH and RETURN",
            )


def _may_be_clause(kind: str, before: str, after: str) -> bool:
    """Whether a write keyword may start a clause here, rather than be a name."""
    if before in (":", ".", "|", "&", "!", "$"):
        return False
    if after in (".", ":", "=", ",", ")", "}", "]", "end"):
        return False
    return kind != "LOAD" or after == "CSV"


def _dotted(kinds: list[str], values: list[str], index: int) -> tuple[str, int]:
    """A name joined over dots from ``index`` on, and the index behind it."""
    parts: list[str] = []
    while kinds[index] in NAMES:
        parts.append(values[index])
        index += 1
        if kinds[index] != "." or kinds[index + 1] not in NAMES:
            break
        index += 1
    return ".".join(parts), index
