"""Queries inside JSON: objects, lists, tool calls, JSON in strings, JSON that was cut off."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

_SECOND_KEYS = [
    "query",
    "statement",
    "final_query",
    "corrected_query",
    "fixed_query",
    "code",
    "answer",
    "output",
    "result",
    "response",
    "content",
    "text",
    "value",
    "sql",
    "arguments",
    "parameters",
    "input",
]
_PARAMETER_KEYS = ("parameters", "params", "cypher_parameters", "cypher_params", "query_parameters")
_LOOSE = re.compile(
    r"""["'](\w*cypher\w*|query|statement|final_query|corrected_query)["']\s*:\s*"""
    r"""("(?:[^"\\]++|\\.)*+(?:"|\Z)|'(?:[^'\\]++|\\.)*+(?:'|\Z))""",
    re.IGNORECASE | re.DOTALL,
)
_ODD_ESCAPE = re.compile(r"\\[^\\'\"abfnrtv\n]")
_DEPTH = 8


def decode(text: str) -> Any:
    """The JSON value that ``text`` is, or the value of a Python literal; raises ValueError."""
    try:
        return json.loads(text, strict=False)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    except ValueError:
        if len(text) > 100_000 or text.count("{") + text.count("[") > 200:
            raise
        if _ODD_ESCAPE.search(text):
            raise
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
            raise ValueError("neither JSON nor a Python literal") from error


def embedded(text: str) -> Iterator[tuple[int, int, Any]]:
    """Start, end and value of each JSON object or list of objects inside ``text``."""
    decoder = json.JSONDecoder(strict=False)
    pos = 0
    tries = 0
    while match := re.compile(r"""\{\s*["']|\[\s*\{\s*["']|\[\s*["']""").search(text, pos):
        pos = match.end()
        tries += 1
        if tries > 50:
            return
        try:
            value, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        yield match.start(), end, value
        pos = end


def query_strings(value: Any, depth: int = 0) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Key, text and parameters of what may be queries in a decoded value.

    Keys that speak of Cypher come before all others of their object, then usual names of queries,
    then whatever is nested. The caller judges whether a text is a query.
    """
    if depth > _DEPTH:
        return
    if isinstance(value, str):
        yield "", value, {}
    elif isinstance(value, list):
        for item in value:
            yield from query_strings(item, depth + 1)
    elif isinstance(value, dict):
        yield from _of_object(value, depth)


def _of_object(value: dict[Any, Any], depth: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    parameters: dict[str, Any] = {}
    for key in _PARAMETER_KEYS:
        if isinstance(value.get(key), dict):
            parameters = {str(k): v for k, v in value[key].items()}
            break
    keys = {str(k).lower(): k for k in value}
    named = [k for low, k in keys.items() if "cypher" in low and low not in _PARAMETER_KEYS]
    second = [keys[low] for low in _SECOND_KEYS if low in keys]
    for group in (named, second):
        found = False
        for key in group:
            inner = value[key]
            if isinstance(inner, str):
                found = found or bool(inner.strip())
                yield str(key), inner, parameters
            elif isinstance(inner, (dict, list)):
                for name, text, own in query_strings(inner, depth + 1):
                    yield name or str(key), text, own or parameters
        if found:
            return
    for key, inner in value.items():
        if key not in named and key not in second and isinstance(inner, (dict, list)):
            yield from query_strings(inner, depth + 1)


def loose(text: str) -> Iterator[tuple[str, str]]:
    """Key and text of queries in broken JSON (cut off, trailing commas, raw line ends)."""
    for match in _LOOSE.finditer(text):
        quoted = match[2]
        body = quoted[1:-1] if len(quoted) > 1 and quoted[-1] == quoted[0] else quoted[1:]
        try:
            yield match[1], json.loads(f'"{_json_body(body, quoted[0])}"', strict=False)
        except ValueError:
            yield match[1], body


def _json_body(body: str, quote: str) -> str:
    if quote == "'":
        body = body.replace("\\'", "'").replace('"', '\\"')
    return body.removesuffix("\\") if len(body) - len(body.rstrip("\\")) == 1 else body
