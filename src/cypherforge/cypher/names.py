r"""Writing names and strings into a query so that they stay what they are, whatever they hold.

Two traps of Neo4j decide the rules. A back-tick inside a back-ticked name is doubled; and before
anything else is read, ``\uXXXX`` is replaced *everywhere*, inside back-ticks too, so that a name
that really holds those six characters could otherwise turn into a back-tick and close its quotes.
"""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

#: Words that mean something else, or nothing, where a bare label, type or variable may stand.
_NEVER_BARE = frozenset(
    [
        "true",
        "false",
        "null",
        "not",
        "typed",
        "normalized",
        "nfc",
        "nfd",
        "nfkc",
        "nfkd",
        "nan",
        "inf",
        "infinity",
        "case",
    ]
)

_STRING_ESCAPES = str.maketrans(
    {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def needs_quotes(name: str) -> bool:
    """Whether ``name`` has to stand in back-ticks to be read as one name."""
    if name.lower() in _NEVER_BARE:
        return True
    if _PLAIN.match(name):
        return False
    # Letters beyond the basic plane are letters to Python, but not to Neo4j's lexer.
    return not name.isidentifier() or max(name) > "\uffff"


def quote_name(name: str) -> str:
    r"""A label, type, property key or variable as Cypher: bare if it can be, else back-ticked.

    >>> quote_name("Person"), quote_name("has part"), quote_name("we`ird")
    ('Person', '`has part`', '`we``ird`')
    """
    if not needs_quotes(name):
        return name
    if "\\u" in name or _SURROGATE.search(name):
        name = name.replace("\\", "\\u005c")
    return f"`{_escape_surrogates(name.replace('`', '``'))}`"


def quote_string(value: str) -> str:
    r"""A string literal in single quotes, with backslash, quote and line ends escaped.

    >>> quote_string("O'Neill")
    "'O\\'Neill'"
    """
    return f"'{_escape_surrogates(value.translate(_STRING_ESCAPES))}'"


def _escape_surrogates(text: str) -> str:
    # A lone surrogate cannot be sent as UTF-8, but its escape can.
    return _SURROGATE.sub(lambda m: f"\\u{ord(m[0]):04x}", text)
