"""Text formats of a schema: each is recognised by content, read and written, without any model."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cypherforge.core.errors import InputError
from cypherforge.core.files import read_text
from cypherforge.graph.formats import (
    apoc_meta,
    arrows,
    cypherbench,
    graph_model,
    langchain,
    spec,
    structured,
    visualization,
)
from cypherforge.graph.schema import Schema


@dataclass(frozen=True, slots=True)
class Format:
    """One text format. ``matches`` and ``parse`` get the text and its decoded JSON or YAML."""

    name: str
    title: str
    matches: Callable[[str, object], bool]
    parse: Callable[[str, object], Schema]
    render: Callable[[Schema], str]


def _format(name: str, title: str, module: object) -> Format:
    return Format(name, title, module.matches, module.parse, module.render)  # type: ignore[attr-defined]


#: In the order they are tried; ``spec`` and ``yaml`` are our own form.
FORMATS: dict[str, Format] = {
    item.name: item
    for item in (
        _format("spec", "our own form as JSON", spec),
        Format("yaml", "our own form as YAML", spec.matches, spec.parse, spec.render_yaml),
        _format("structured", "structured_schema JSON", structured),
        _format("graph-model", "Neo4j importer / GraphRAG graph model JSON", graph_model),
        _format("cypherbench", "CypherBench JSON", cypherbench),
        _format("visualization", "db.schema.visualization JSON", visualization),
        _format("apoc", "apoc.meta.schema JSON", apoc_meta),
        Format(
            "markdown",
            "Neo4j-labs / LangChain markdown",
            langchain.matches_markdown,
            langchain.parse_markdown,
            langchain.render_markdown,
        ),
        Format(
            "flat",
            "LangChain's older flat text",
            langchain.matches_flat,
            langchain.parse_flat,
            langchain.render_flat,
        ),
        _format("arrows", "bare lines", arrows),
    )
}

_KNOWN = ", ".join(item.title for item in FORMATS.values())
_FENCE = re.compile(r"\s*```[\w-]*\n(.*?)\n```\s*", re.DOTALL)
_YAML = re.compile(
    r"^(?:name|labels|relationships|patterns|node_props|entities|node_types|nodeLabels)\s*:",
    re.MULTILINE,
)
_FILE_NAME = re.compile(r"[^\n(){}]+\.(?:json|ya?ml|txt|md|cypher)", re.IGNORECASE)


def parse_schema(text_or_path: str | Path, format: str | None = None) -> Schema:
    """Read a schema from a file or from text, recognising the format by content.

    A folder of neutral files is read through its ``schema.json``. A file that holds several schemas
    under names is read with ``FILE#NAME``. Raises ``InputError`` that says where and what is wrong.
    """
    text, where, part = _text(text_or_path)
    try:
        return parse_text(text, format, part)
    except InputError as error:
        if where is None:
            raise
        inner = f"{where}, {error.where}" if error.where else where
        raise InputError(error.message, where=inner, hint=error.hint) from error


def parse_text(text: str, format: str | None = None, part: str | None = None) -> Schema:
    """Read a schema from text; ``part`` picks one of several that lie under names."""
    fenced = _FENCE.fullmatch(text)
    body = fenced[1] if fenced else text
    if not body.strip():
        raise InputError("there is no schema: the text is empty")
    data = _decode(body)
    several = _several(data)
    if several is not None and format is None:
        if part is None or part not in several:
            raise InputError(
                f"there are {len(several)} schemas here: {', '.join(sorted(several))}",
                hint="name one as FILE#NAME",
            )
        chosen = json.dumps(several[part], ensure_ascii=False)
        return replace(parse_text(chosen), name=part)
    if part is not None:
        raise InputError(f"there is no schema named {part!r} here")
    if format is not None and format not in FORMATS:
        raise InputError(f"no schema format {format!r}", hint=f"one of {', '.join(FORMATS)}")
    found = recognise(body, data) if format is None else format
    if found is None:
        raise InputError(
            f"this is none of the known schema formats ({_KNOWN})", hint="see docs/schemas.md"
        )
    return replace(FORMATS[found].parse(body, data), source=found, raw=text)


def recognise(text: str, data: object = None) -> str | None:
    """Return the name of the format that a text has, None if it is none of them."""
    data = _decode(text) if data is None else data
    return next((item.name for item in FORMATS.values() if item.matches(text, data)), None)


def _decode(text: str) -> object:
    """Return the JSON, Python or YAML data in a text, None if it is plain text."""
    start = text.lstrip("\ufeff \t\r\n")[:1]
    if start in ("{", "["):
        try:
            return json.loads(text.lstrip("\ufeff"))
        except RecursionError:
            raise InputError("not usable JSON: nested too deeply") from None
        except ValueError as error:
            try:
                return ast.literal_eval(text.strip())
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                pass
            if start == "{" and _looks_like_json(text):
                raise InputError(f"not readable as JSON: {error}") from None
            return None
    return spec.load_yaml(text) if _YAML.search(text) and not _PLAIN.search(text) else None


_PLAIN = re.compile(r"^\s*\(|^\s*Node properties", re.MULTILINE)


def _looks_like_json(text: str) -> bool:
    return re.match(r'\s*\{\s*["}]', text) is not None


def _several(data: object) -> Mapping[str, object] | None:
    """Return the named schemas of a file whose values are all schemas of one format."""
    if not isinstance(data, Mapping) or len(data) < 1 or recognise("", data) is not None:
        return None
    kinds = {recognise("", value) for value in data.values() if isinstance(value, Mapping)}
    whole = all(isinstance(value, Mapping) for value in data.values())
    return data if whole and len(kinds) == 1 and None not in kinds else None


def _text(text_or_path: str | Path) -> tuple[str, str | None, str | None]:
    """Return text, where it was read, and the name after ``#``."""
    if isinstance(text_or_path, str) and ("\n" in text_or_path or len(text_or_path) > 4000):
        return text_or_path, None, None
    name, part = str(text_or_path), None
    if not _exists(name) and "#" in name:
        name, _, part = name.rpartition("#")
    if _exists(name):
        path = Path(name)
        path = path / "schema.json" if path.is_dir() else path
        return read_text(path), str(path), part
    if isinstance(text_or_path, Path) or _FILE_NAME.fullmatch(name):
        raise InputError("there is no such schema file", where=name)
    return text_or_path, None, None


def _exists(name: str) -> bool:
    try:
        return bool(name.strip()) and Path(name).exists()
    except (OSError, ValueError):
        return False
