"""What a value may be, as a set of types in one integer.

One bit stands for each type. The bits above ``SHIFT`` say what the elements of a list may be: a
list of nodes is ``NODE << SHIFT``. Lists of lists are not followed further (bit ``NESTED``). The
types are those of Neo4j's own semantic analysis; a property may be anything that can be stored.
"""

from __future__ import annotations

_NAMES = [
    "Boolean",
    "Integer",
    "Float",
    "String",
    "Map",
    "Node",
    "Relationship",
    "Path",
    "Point",
    "Date",
    "Time",
    "LocalTime",
    "LocalDateTime",
    "DateTime",
    "Duration",
    "Vector",
]

(
    BOOLEAN,
    INTEGER,
    FLOAT,
    STRING,
    MAP,
    NODE,
    RELATIONSHIP,
    PATH,
    POINT,
    DATE,
    TIME,
    LOCAL_TIME,
    LOCAL_DATE_TIME,
    DATE_TIME,
    DURATION,
    VECTOR,
) = (1 << i for i in range(16))
NESTED = 1 << 16
SHIFT = 17

SCALARS = NESTED - 1
ANY_LIST = (SCALARS | NESTED) << SHIFT
ANY = SCALARS | ANY_LIST
NUMBER = INTEGER | FLOAT
TEMPORAL = DATE | TIME | LOCAL_TIME | LOCAL_DATE_TIME | DATE_TIME
STORED_SCALAR = BOOLEAN | NUMBER | STRING | POINT | TEMPORAL | DURATION | VECTOR
STORED = STORED_SCALAR | (STORED_SCALAR & ~VECTOR) << SHIFT
ENTITY = NODE | RELATIONSHIP
WITH_PROPERTIES = MAP | ENTITY | POINT | DURATION | TEMPORAL


def list_of(element: int) -> int:
    """The type of a list with such elements."""
    inner = element & SCALARS
    if element >> SHIFT:
        inner |= NESTED
    return inner << SHIFT


def common(one: int, two: int) -> int:
    """The type of values of both types in one list; 0 stands for none yet."""
    if one in (0, two):
        return two
    return one | two if not (one | two) & ~NUMBER else ANY


def element_of(kind: int) -> int:
    """What the elements of a list of this type may be; anything where it is no list."""
    inner = kind >> SHIFT
    if not inner:
        return ANY
    return inner & SCALARS | ANY_LIST if inner & NESTED else inner


def name_of(kind: int) -> str:
    """The type in words, as Neo4j's messages put it."""
    if kind & ANY == ANY:
        return "Any"
    names = [name for i, name in enumerate(_NAMES) if kind >> i & 1]
    inner = kind >> SHIFT
    if inner == ANY_LIST >> SHIFT:
        names.append("List<T>")
    elif inner:
        names += [f"List<{name}>" for i, name in enumerate(_NAMES) if inner >> i & 1]
        if inner & NESTED:
            names.append("List<List<T>>")
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} or {names[-1]}" if names else "nothing"
