"""The syntax code that an error of the database stands for."""

from __future__ import annotations

import re

from cypherforge.core.errors import NotSupported, QueryError, QueryRuntimeError, QuerySyntaxError

# First match wins. Texts of Neo4j 5 and 2026, Memgraph 3 and ArcadeDB 26.
_TEXTS = (
    (r"variable .*(not defined|undefined)|unbound variable|undefined variable", "syntax.scope"),
    (r"not possible to access variables? declared before", "syntax.scope"),
    (
        r"unknown function|no (function|procedure)|procedure.* not found|function .*not",
        "syntax.dialect",
    ),
    (r"unsupported|no longer supported|deprecated|pattern expressions are only", "syntax.dialect"),
    (
        r"type mismatch|cannot be cast|invalid input .* type|expected .* to be|can't be|can not be",
        "syntax.type",
    ),
    (r"no such property|no such field|cannot (parse|convert|compare|add|coerce)", "syntax.type"),
)


# Families of the language analysis; the others are faults of form.
_FAMILIES = {
    "scope": "syntax.scope",
    "type": "syntax.type",
    "literal": "syntax.type",
    "function": "syntax.dialect",
    "procedure": "syntax.dialect",
    "dialect": "syntax.dialect",
}


def code_of_finding(code: str) -> str:
    """Return one of the four syntax codes for what the language analysis says."""
    return _FAMILIES.get(code.split(".", 1)[0], "syntax.parse")


def code_of_error(error: QueryError) -> str:
    """Return one of the four syntax codes for what the database said."""
    if isinstance(error, QueryRuntimeError):
        return "syntax.type"
    if isinstance(error, NotSupported):
        return "syntax.dialect"
    message = error.message.lower()
    for pattern, code in _TEXTS:
        if re.search(pattern, message):
            return code
    return "syntax.parse" if isinstance(error, QuerySyntaxError) else "syntax.type"
