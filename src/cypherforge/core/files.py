"""Reading what people hand in, writing what a crash cannot tear.

Text comes as UTF-8 with or without a byte order mark, or as UTF-16; a row of JSON Lines ends at LF and
nowhere else (U+2028 and U+0085 may stand inside a string). What is written is canonical JSON, so that equal
values have equal bytes on every machine, and no lone surrogate can make a writer fail.
"""

from __future__ import annotations

import codecs
import errno
import gzip
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cypherforge.core.errors import InputError, StorageError

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_SURROGATE = re.compile("[\ud800-\udfff]")
# Other programs cut lines at these; escaped, our files survive them.
_UNSAFE_IN_JSON = re.compile("[\ud800-\udfff\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with an input: ``row`` counts as people count (0: the whole file).

    ``kept`` tells a repaired row (a lone surrogate replaced) from one that was set aside.
    """

    file: str
    row: int
    column: str
    reason: str
    kept: bool = False

    def __str__(self) -> str:
        place = self.file
        if self.row:
            place += f", row {self.row}"
        if self.column:
            place += f", column {self.column!r}"
        return f"{place}: {self.reason}"


def clean_text(text: str) -> str:
    """``text`` with every lone surrogate replaced by U+FFFD, so that it can be encoded."""
    return _SURROGATE.sub("\ufffd", text)


def has_lone_surrogate(text: str) -> bool:
    """Whether ``text`` cannot be encoded as UTF-8."""
    return _SURROGATE.search(text) is not None


def dumps(value: Any, *, indent: int | None = None) -> str:
    """Canonical JSON: keys sorted, no needless blanks, non-ASCII kept, no line break but ``\\n`` escapes.

    Lone surrogates are written as ``\\udXXX``, so they come back from :func:`loads` as they were.
    Raises ValueError on NaN and infinities, which JSON does not have.
    """
    text = json.dumps(
        value,
        sort_keys=True,
        ensure_ascii=False,
        allow_nan=False,
        indent=indent,
        separators=(",", ":") if indent is None else (",", ": "),
    )
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def loads(text: str) -> Any:
    """The value of one JSON text; NaN and infinities, which Python's own writer emits, become null.

    Raises ValueError with a short reason, also for nesting that is too deep.
    """
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise ValueError("not usable JSON: nested too deeply") from None


def digest(data: bytes | str) -> str:
    """``sha256:`` and the hex digest of the bytes (of a text: its UTF-8)."""
    raw = data if isinstance(data, bytes) else clean_text(data).encode()
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def read_bytes(path: Path | str) -> bytes:
    """The bytes of a file, unpacked where its name ends in ``.gz``.

    Raises InputError that names the file: absent, a folder, unreadable, damaged.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except FileNotFoundError:
        raise InputError("no such file", where=str(path), hint="check the path") from None
    except IsADirectoryError:
        raise InputError("is a folder, not a file", where=str(path), hint="name a file") from None
    except (gzip.BadGzipFile, EOFError):
        raise InputError("not a whole gzip file", where=str(path), hint="copy it again") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot be read: {reason}", where=str(path)) from error


def decode(data: bytes, where: str) -> str:
    """Text of ``data``: UTF-8 or UTF-16, by byte order mark or by its zero bytes.

    Raises InputError that names the line of the first byte that is neither.
    """
    marked = next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), None)
    encoding = marked or _guess(data)
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"line {line} is not {encoding.upper()} text",
            where=where,
            hint="save the file as UTF-8",
        ) from None


def _guess(data: bytes) -> str:
    # ASCII text in UTF-16 has a zero in every second byte; UTF-8 text has none at all.
    head = data[:1000]
    if len(head) >= 4 and b"\0" in head:
        odd, even = head[1::2].count(0), head[0::2].count(0)
        if odd > len(head) // 4:
            return "utf-16-le"
        if even > len(head) // 4:
            return "utf-16-be"
    return "utf-8"


def read_text(path: Path | str) -> str:
    """The text of a file (UTF-8 with or without mark, UTF-16). Raises InputError."""
    return decode(read_bytes(path), str(path))


def read_jsonl(
    path: Path | str, problems: list[Problem] | None = None
) -> Iterator[tuple[int, Any]]:
    """Rows of a JSON Lines file as ``(line number, value)``; blank lines are passed over.

    A line that is not JSON raises InputError, or, where ``problems`` is given, is noted there and passed over.
    """
    data = read_bytes(path)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or _guess(data) != "utf-8":
        data = decode(data, str(path)).encode("utf-8", "surrogatepass")
    for number, line in enumerate(data.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        try:
            text = line.decode()
            # Not strip(): that would also cut U+2028 and its like, which JSON does not count as blank.
            if not text.strip(" \t\r"):
                continue
            value = loads(text)
        except ValueError as error:
            reason = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
            if problems is None:
                raise InputError(
                    reason, where=f"{path}, row {number}", hint="mend or remove that line"
                ) from None
            problems.append(Problem(str(path), number, "", reason))
            continue
        yield number, value


def atomic_write(path: Path | str, data: bytes | str, *, durable: bool = True) -> None:
    """Write a file so that it is there whole or not at all; folders above it are made.

    ``durable`` also waits for the disk, against loss of power. Raises StorageError.
    """
    path = Path(path)
    raw = data if isinstance(data, bytes) else clean_text(data).encode()
    temporary = path.with_name(f".{path.name[:100]}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "xb") as file:
                file.write(raw)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        if durable:
            _sync_folder(path.parent)
    except OSError as error:
        raise storage_error(error, path) from error


def append_line(path: Path | str, line: str) -> None:
    """Append one line in a single write, so that lines of several processes do not mix.

    A kill may leave the last line torn; a following append starts on a line of its own. Raises StorageError.
    """
    path = Path(path)
    raw = clean_text(line).encode() + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            size = os.lseek(handle, 0, os.SEEK_END)
            if size and os.pread(handle, 1, size - 1) != b"\n":
                raw = b"\n" + raw
            written = os.write(handle, raw)
            if written != len(raw):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(handle)
    except OSError as error:
        raise storage_error(error, path) from error


def storage_error(error: OSError, path: Path | str) -> StorageError:
    """The StorageError for a write that failed, with the way out for a full disk."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "free some space and start it again: what was finished is kept"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        hint = "choose a folder you may write to"
    else:
        hint = "check the path"
    return StorageError(f"cannot be written: {error.strerror or error}", where=str(path), hint=hint)


def _sync_folder(folder: Path) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # not every system lets a folder be opened; the file itself is safe
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
