"""Commands for schema and administration, as data: one template a form.

In a template an upper-case word stands for itself, ``[a b]`` may be left out, ``(a | b)`` is a
choice, a sign in quotes is that sign, and ``<...>`` is one of:

=============== ==========================================================================
``<name>``      a name or parameter
``<dotted>``    a name with dots, a string or parameter
``<names>``     some of them, separated by commas
``<element>``   the pattern of a node or relationship: ``(n:A)``, ``()-[r:R]-()``
``<key>``       ``n.p``; ``<keys>``: some of them, separated by commas
``<type>``      a type such as ``LIST<STRING NOT NULL>``
``<value>``     an expression; ``<values>``: some of them, separated by commas
``<to WORD>``   anything, brackets in pairs, up to the word; ``<rest>``: up to the end
``<tail>``      ``YIELD ... RETURN ...`` or ``WHERE ...``
=============== ==========================================================================
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

TEMPLATES = """
CREATE [OR REPLACE] [RANGE | TEXT | POINT | BTREE | VECTOR] INDEX [<name>] [IF NOT EXISTS]
    FOR <element> ON (<key> | '(' <keys> ')') [WITH '[' <keys> ']'] [OPTIONS <value>]
CREATE [OR REPLACE] FULLTEXT INDEX [<name>] [IF NOT EXISTS]
    FOR <element> ON EACH '[' <keys> ']' [OPTIONS <value>]
CREATE [OR REPLACE] LOOKUP INDEX [<name>] [IF NOT EXISTS]
    FOR <element> ON [EACH] (LABELS | TYPE) '(' <name> ')' [OPTIONS <value>]
CREATE [OR REPLACE] CONSTRAINT [<name>] [IF NOT EXISTS]
    FOR <element> REQUIRE (<key> | '(' <keys> ')')
    (IS NOT NULL | IS [NODE | RELATIONSHIP | REL] (KEY | UNIQUE) | IS (TYPED | '::') <type>
        | '::' <type>) [OPTIONS <value>]
DROP (INDEX | CONSTRAINT) <name> [IF EXISTS]
CREATE [OR REPLACE] [COMPOSITE] DATABASE <dotted> [IF NOT EXISTS] [<rest>]
DROP [COMPOSITE] DATABASE <dotted> [IF EXISTS] [<rest>]
ALTER DATABASE <dotted> [IF EXISTS] (SET | REMOVE) <rest>
(START | STOP) DATABASE <dotted> [<rest>]
CREATE [OR REPLACE] ALIAS <dotted> [IF NOT EXISTS] FOR DATABASE <dotted> [<rest>]
DROP ALIAS <dotted> [IF EXISTS] FOR DATABASE
ALTER ALIAS <dotted> [IF EXISTS] SET DATABASE <rest>
CREATE [OR REPLACE] USER <name> [IF NOT EXISTS] SET <rest>
ALTER CURRENT USER SET PASSWORD FROM <value> TO <value>
ALTER USER <name> [IF EXISTS] (SET | REMOVE) <rest>
ALTER CURRENT GRAPH TYPE (SET | ADD | DROP | ALTER) <rest>
RENAME (USER | ROLE | SERVER) <dotted> [IF EXISTS] TO <dotted>
DROP (USER | ROLE) <name> [IF EXISTS]
CREATE [OR REPLACE] [IMMUTABLE] ROLE <name> [IF NOT EXISTS] [AS COPY OF <name>]
(GRANT | DENY) <to TO> TO <names>
REVOKE <to FROM> FROM <names>
ENABLE SERVER <dotted> [OPTIONS <value>]
ALTER SERVER <dotted> SET OPTIONS <value>
DROP SERVER <dotted>
[DRYRUN] DEALLOCATE (DATABASE | DATABASES) FROM (SERVER | SERVERS) <names>
[DRYRUN] REALLOCATE (DATABASE | DATABASES)
TERMINATE (TRANSACTION | TRANSACTIONS) <values> [<tail>]
SHOW [ALL | FULLTEXT | LOOKUP | POINT | RANGE | TEXT | VECTOR] (INDEX | INDEXES) [<tail>]
SHOW ALL (CONSTRAINT | CONSTRAINTS) [<tail>]
SHOW [NODE | RELATIONSHIP | REL] [PROPERTY]
    [UNIQUE | UNIQUENESS | KEY | EXIST | EXISTENCE | TYPE] (CONSTRAINT | CONSTRAINTS) [<tail>]
SHOW (PROCEDURE | PROCEDURES) [EXECUTABLE [BY (CURRENT USER | <name>)]] [<tail>]
SHOW [ALL | BUILT IN | USER DEFINED] (FUNCTION | FUNCTIONS)
    [EXECUTABLE [BY (CURRENT USER | <name>)]] [<tail>]
SHOW (TRANSACTION | TRANSACTIONS | SETTING | SETTINGS) [<values>] [<tail>]
SHOW (DEFAULT | HOME) DATABASE [<tail>]
SHOW (DATABASE | DATABASES) [<dotted>] [<tail>]
SHOW SUPPORTED (PRIVILEGE | PRIVILEGES) [<tail>]
SHOW [ALL | USER | USERS | (USER | USERS | ROLE | ROLES) <names>] (PRIVILEGE | PRIVILEGES)
    [AS [REVOKE] (COMMAND | COMMANDS)] [<tail>]
SHOW CURRENT GRAPH TYPE [<tail>]
SHOW CURRENT USER [<tail>]
SHOW (USER | USERS) [WITH AUTH] [<tail>]
SHOW [ALL | POPULATED] (ROLE | ROLES) [WITH (USER | USERS)] [<tail>]
SHOW (SERVER | SERVERS) [<tail>]
SHOW (ALIAS | ALIASES) [<dotted>] FOR (DATABASE | DATABASES) [<tail>]
"""

VERB_WORDS = frozenset(
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
        "DEALLOCATE",
        "DEFAULT",
        "EXIST",
        "EXISTENCE",
        "FULLTEXT",
        "FUNCTION",
        "FUNCTIONS",
        "GRAPH",
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
        "REALLOCATE",
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
"""Words that belong to the verb of a command."""


@dataclass(frozen=True, slots=True)
class Form:
    """A piece of a template.

    ``kind`` is ``word``, ``sign``, ``hole`` (``text`` tells which), ``all`` (in order), ``any``
    (a choice) or ``maybe``.
    """

    kind: str
    text: str = ""
    parts: tuple[Form, ...] = ()


@cache
def forms(first: str) -> tuple[Form, ...]:
    """The templates of the commands that start with this word."""
    lines = re.sub(r"\n +", " ", TEMPLATES).strip().split("\n")
    compiled = (_compile(line) for line in lines)
    return tuple(form for form in compiled if first in _first_words(form))


def _first_words(form: Form) -> set[str]:
    words: set[str] = set()
    if form.kind == "all":
        for part in form.parts:
            words |= _first_words(part)
            if part.kind != "maybe":
                return words
    elif form.kind == "word":
        words.add(form.text)
    else:
        for part in form.parts:
            words |= _first_words(part)
    return words


def _compile(template: str) -> Form:
    pieces = re.findall(r"<[^>]+>|'[^']+'|[A-Z]+|[\[\]()|]", template)
    form, rest = _choice(pieces, 0)
    assert rest == len(pieces), template
    return form


def _choice(pieces: list[str], i: int) -> tuple[Form, int]:
    options: list[Form] = []
    parts: list[Form] = []
    while i < len(pieces) and pieces[i] not in ("]", ")"):
        piece = pieces[i]
        i += 1
        if piece == "|":
            options.append(Form("all", parts=tuple(parts)))
            parts = []
        elif piece in ("[", "("):
            inner, i = _choice(pieces, i)
            parts.append(Form("maybe", parts=(inner,)) if piece == "[" else inner)
            i += 1
        elif piece[0] == "<":
            parts.append(Form("hole", piece[1:-1]))
        elif piece[0] == "'":
            parts.append(Form("sign", piece[1:-1]))
        else:
            parts.append(Form("word", piece))
    last = Form("all", parts=tuple(parts))
    return (Form("any", parts=(*options, last)) if options else last), i
