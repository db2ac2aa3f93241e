"""Property type names: one canonical spelling for what databases, packages and papers call them.

Canonical names are Neo4j's as APOC and the LangChain packages print them (``STRING``, ``INTEGER``,
``FLOAT``, ``BOOLEAN``, ``DATE``, ``DATE_TIME``, ``LOCAL_DATE_TIME``, ``TIME``, ``LOCAL_TIME``,
``DURATION``, ``POINT``, ``BYTES``, ``VECTOR``, ``MAP``, ``ENUM``), ``LIST<...>`` with ``LIST`` alone where
the element type is not known, ``ANY`` and ``UNKNOWN``; a union joins them, sorted, with `` | ``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_SYNONYMS = {
    "STRING": "STRING STR TEXT VARCHAR CHAR KEYWORD",
    "INTEGER": "INTEGER INT LONG SHORT BYTE SIGNEDINTEGER INT8 INT16 INT32 INT64 BIGINT SMALLINT",
    "FLOAT": "FLOAT DOUBLE FLOAT32 FLOAT64 NUMBER REAL DECIMAL NUMERIC",
    "BOOLEAN": "BOOLEAN BOOL",
    "DATE": "DATE",
    "DATE_TIME": "DATETIME ZONEDDATETIME OFFSETDATETIME TIMESTAMPWITHTIMEZONE",
    "LOCAL_DATE_TIME": "LOCALDATETIME TIMESTAMPWITHOUTTIMEZONE TIMESTAMP",
    "TIME": "TIME ZONEDTIME OFFSETTIME TIMEWITHTIMEZONE",
    "LOCAL_TIME": "LOCALTIME TIMEWITHOUTTIMEZONE",
    "DURATION": "DURATION",
    "POINT": "POINT GEOPOINT POINT2D POINT3D",
    "BYTES": "BYTES BYTEARRAY BLOB BINARY",
    "VECTOR": "VECTOR",
    "MAP": "MAP DICT OBJECT",
    "ANY": "ANY ANYVALUE PROPERTYVALUE",
    "ENUM": "ENUM",
    "UNKNOWN": "UNKNOWN",
    "LIST": "LIST ARRAY",
}
_CANONICAL = {word: name for name, words in _SYNONYMS.items() for word in words.split()}
_NAMES = frozenset(_SYNONYMS)


def type_name(text: str) -> str:
    """Return the canonical name for one spelling of a property type.

    Knows ``valueType()`` (``LIST<STRING NOT NULL> NOT NULL``), APOC (``DATE_TIME``), the
    ``db.schema`` procedures (``StringArray``), Java and Python names, ``list[str]``, ``[str]`` and
    unions joined by ``|``. A name it does not know comes back as written, in capitals.
    """
    text = re.sub(r"\s+NOT\s+NULL\b", "", text.strip(), flags=re.IGNORECASE)
    members = union_members(text)
    if len(members) > 1:
        return union_type(type_name(member) for member in members)
    bracket = re.fullmatch(r"(\w+)\s*[<\[(]\s*(.*?)\s*[>\])](?:\s*\(\s*\d+\s*\))?", text, re.DOTALL)
    if bracket:
        outer, inner = _plain(bracket[1]), bracket[2]
        if outer == "LIST":
            return list_of(type_name(inner)) if inner and inner.upper() != "NOTHING" else "LIST"
        if outer == "ANY":
            return type_name(inner)
        return outer
    if text.startswith("[") and text.endswith("]"):
        return list_of(type_name(text[1:-1]))
    array = re.fullmatch(r"(\w+?)(?:_?Array|\[\])", text, re.IGNORECASE)
    if array and _squeeze(text) not in _CANONICAL:
        return list_of(_plain(array[1]))
    return _plain(text)


def union_type(names: Iterable[str]) -> str:
    """Return the canonical union of canonical type names; ``UNKNOWN`` if there is none.

    A bare ``LIST`` (no element seen) adds nothing beside a list with a known element.
    """
    found = {part for name in names for part in union_members(name)}
    if len(found) > 1:
        found.discard("UNKNOWN")
    if any(name.startswith("LIST<") for name in found):
        found.discard("LIST")
    return " | ".join(sorted(found)) or "UNKNOWN"


def union_members(text: str) -> list[str]:
    """Return the members of a union type, split at its outer bars (not those inside ``<...>``)."""
    parts, depth, start = [], 0, 0
    for position, char in enumerate(text):
        depth += (char in "<[(") - (char in ">])")
        if char == "|" and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return [part for part in (part.strip() for part in parts) if part] or [text]


def list_of(element: str) -> str:
    """Return the list type of a canonical element type."""
    return "LIST" if element in ("UNKNOWN", "ANY") else f"LIST<{element}>"


def is_type_name(text: str) -> bool:
    """Return whether the text is a type this package knows, in any spelling."""
    return all(part.split("<")[0] in _NAMES for part in union_members(type_name(text)))


def _squeeze(text: str) -> str:
    return re.sub(r"[\s_]", "", text).upper()


def _plain(text: str) -> str:
    return _CANONICAL.get(_squeeze(text), text.strip().upper())
