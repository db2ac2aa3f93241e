"""Text formats of a schema: each is recognised by content, read and written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from cypherforge.core.errors import InputError
from cypherforge.graph.formats import apoc_meta, arrows, cypherbench, spec
from cypherforge.graph.schema import Schema


@dataclass(frozen=True, slots=True)
class Format:
    """One text format. ``matches`` and ``parse`` get the text and its decoded JSON or YAML."""

    name: str
    title: str
    matches: Callable[[str, object], bool]
    parse: Callable[[str, object], Schema]
    render: Callable[[Schema], str]


#: In the order they are tried.
FORMATS: dict[str, Format] = {
    item.name: item
    for item in (
        Format("spec", "our own JSON", spec.matches, spec.parse, spec.render),
        Format(
            "cypherbench",
            "CypherBench JSON",
            cypherbench.matches,
            cypherbench.parse,
            cypherbench.render,
        ),
        Format("apoc", "apoc.meta.schema JSON", apoc_meta.matches, apoc_meta.parse, spec.render),
        Format("arrows", "bare lines", arrows.matches, arrows.parse, arrows.render),
    )
}


def parse_schema(text_or_path: str | Path, format: str | None = None) -> Schema:
    """Read a schema from a file or from text, recognising the format by content."""
    text = _text(text_or_path)
    try:
        data: object = json.loads(text)
    except ValueError:
        data = None
    for item in FORMATS.values():
        if (format is None and item.matches(text, data)) or format == item.name:
            return replace(item.parse(text, data), source=item.name, raw=text)
    raise InputError("this is none of the known schema formats", hint="see docs/schemas.md")


def _text(text_or_path: str | Path) -> str:
    if isinstance(text_or_path, Path):
        return text_or_path.read_text(encoding="utf-8")
    if "\n" not in text_or_path and len(text_or_path) < 4096 and Path(text_or_path).is_file():
        return Path(text_or_path).read_text(encoding="utf-8")
    return text_or_path
