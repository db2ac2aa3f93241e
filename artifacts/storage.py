"""The file system's refusals in the library's own words, and folders put in place atomically."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cypherforge.core.files import storage_error

TEMPORARY = ".tmp-"
# Ours, and those of core.files.atomic_write.
_LEFT_OVER = re.compile(r"\..+\.tmp-(\d+)-[0-9a-f]+|\..+\.(\d+)-[0-9a-f]+\.tmp")


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an OSError inside into a StorageError that names ``path`` and the way out."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, path) from error


def sync_folder(folder: Path) -> None:
    """Force a folder's entries to disk, so that a rename in it survives a power failure."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def temporary_sibling(folder: Path) -> Path:
    """A hidden name beside ``folder`` that says whose it is and which process writes it."""
    return folder.with_name(f".{folder.name}{TEMPORARY}{os.getpid()}-{os.urandom(3).hex()}")


def put_in_place(ready: Path, folder: Path) -> None:
    """Rename ``ready`` to ``folder``; an older folder there goes away only once that is done."""
    if folder.exists():
        old = temporary_sibling(folder)
        folder.rename(old)
        ready.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    else:
        ready.rename(folder)
    sync_folder(folder.parent)


def leftovers(parent: Path) -> list[Path]:
    """Temporary files and folders directly in ``parent`` whose process no longer runs, sorted."""
    found = []
    for path in sorted(parent.iterdir()):
        match = _LEFT_OVER.fullmatch(path.name)
        if match and not _runs(int(match[1] or match[2])):
            found.append(path)
    return found


def remove(path: Path) -> int:
    """Remove a file or a folder; returns the bytes that were freed."""
    if path.is_symlink() or not path.is_dir():
        size = path.lstat().st_size
        path.unlink()
        return size
    size = sum(p.lstat().st_size for p in path.rglob("*") if not p.is_dir())
    shutil.rmtree(path)
    return size


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
