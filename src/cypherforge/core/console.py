"""Printing for people and programs: queries and values byte for byte.

No markup, no emoji names, no wrapping. What a legacy code page cannot encode is replaced (in JSON: escaped),
and never stops a command. On a terminal control characters are shown escaped, for a value from a database may
hold sequences that would drive it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from rich.cells import cell_len

from cypherforge.core.errors import CypherForgeError
from cypherforge.core.files import clean_text, dumps

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def on_terminal(stream: TextIO) -> bool:
    """Whether a person looks at this stream."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def encodable(text: str, stream: TextIO) -> str:
    """``text`` with what the stream's code page lacks replaced by ``?``."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    text = clean_text(text)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.encode(encoding, "replace").decode(encoding)
    except LookupError:
        return text.encode("ascii", "replace").decode()
    return text


def printable(text: str, stream: TextIO) -> str:
    """``text`` as it can be written to this stream: see the module's head."""
    if on_terminal(stream):
        text = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    return encodable(text, stream)


def echo(text: str = "", stream: TextIO | None = None) -> None:
    """Print one text and a line end, as it is (stdout unless told otherwise)."""
    stream = sys.stdout if stream is None else stream
    stream.write(printable(text, stream) + "\n")
    stream.flush()


def echo_json(value: Any, stream: TextIO | None = None, *, indent: int | None = 2) -> None:
    """Print one JSON document; where the code page is not Unicode, everything but ASCII is escaped."""
    stream = sys.stdout if stream is None else stream
    text = dumps(value, indent=indent)
    if not (getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf"):
        text = json.dumps(json.loads(text), indent=indent)
    stream.write(text + "\n")
    stream.flush()


def fit(text: str, width: int) -> str:
    """``text`` on one line in at most ``width`` terminal cells, cut with an ellipsis."""
    text = " ".join(text.split())
    if cell_len(text) <= width:
        return text
    while text and cell_len(text) > width - 1:
        text = text[:-1]
    return text + "…"


def format_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A plain table: columns aligned by terminal cells, every cell whole, line breaks kept within the cell."""
    table = [[_cell_lines(cell) for cell in row] for row in [columns, *rows]]
    widths = [
        max((cell_len(line) for row in table for line in row[index]), default=0)
        for index in range(len(columns))
    ]
    lines: list[str] = []
    for number, row in enumerate(table):
        for part in range(max((len(cell) for cell in row), default=1)):
            texts = [cell[part] if part < len(cell) else "" for cell in row]
            padded = [t + " " * (w - cell_len(t)) for t, w in zip(texts, widths, strict=True)]
            lines.append("  ".join(padded).rstrip(" "))
        if number == 0:
            lines.append("  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _cell_lines(cell: str) -> list[str]:
    return cell.split("\n")


def error_line(error: BaseException) -> str:
    """One line for people: what, where and the way out, no traceback, line breaks folded."""
    if isinstance(error, CypherForgeError):
        text = str(error)
    else:
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return "error: " + " ".join(part.strip() for part in text.splitlines() if part.strip())
