"""Mine rules for LLM-written Cypher, synthesise question-Cypher pairs, and answer with both."""

from pathlib import Path as _Path
from typing import TYPE_CHECKING

# In a checkout the card's folders lie at the repository's root; installed, they lie in this folder.
_root = _Path(__file__).resolve().parents[2]
if (_root / "pyproject.toml").is_file() and (_root / "miner" / "__init__.py").is_file():
    __path__.append(str(_root))

if TYPE_CHECKING:
    from cypherforge.runtime import Pipeline

_EXPORTS = {"Pipeline": "cypherforge.runtime"}
__all__ = ["Pipeline", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import an exported name on first use, so that the command line starts fast."""
    if name in _EXPORTS:
        from importlib import import_module

        return getattr(import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
