"""Where the library keeps things of its own, outside of run folders."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder of answers and indexes that runs share: ``CYPHERFORGE_CACHE``, else the user's cache."""
    if own := os.environ.get("CYPHERFORGE_CACHE"):
        return Path(own).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "cypherforge"


def answers_folder() -> Path:
    """Answers of models, paid once and used by every run."""
    return cache_folder() / "answers"
