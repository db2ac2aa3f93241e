"""Names of the schema that a model wrote without the back-ticks that they need."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from cypherforge.cypher.dialects.source import Change, Source
from cypherforge.cypher.names import quote_name

_LONGEST = 8


def unquoted_names(source: Source, names: Collection[str]) -> Iterator[Change]:
    """Words that only together are a name: ``[:has part]`` where the schema has ``has part``."""
    odd = {n for n in names if quote_name(n).startswith("`")}
    if not odd:
        return
    i = 0
    while i < source.count:
        if source.kinds[i] in (":", ".", "|", "&", "!") and source.kinds[i + 1] != "end":
            for last in range(min(i + 1 + _LONGEST, source.count), i + 1, -1):
                text = source.piece(i + 1, last)
                if text in odd:
                    edit = source.replace(i + 1, last, quote_name(text))
                    message = f"the name {text!r} needs back-ticks"
                    yield Change("name.unquoted", message, source.span(i + 1, last), (edit,))
                    i = last - 1
                    break
        i += 1
