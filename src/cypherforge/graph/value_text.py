"""Texts as people write them, and the form by which the value index compares them."""

from __future__ import annotations

import re
import unicodedata

_QUOTES = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛ʼʹʻ′`´＇", "'"),
        **dict.fromkeys("“”„‟″«»＂", '"'),
        **dict.fromkeys("‐‑‒–—―−－", "-"),
    }
)
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ı": "i"}
)
_MARKS = re.compile(r"[^\w\s]|_")


def normalise(text: str) -> str:
    """Return a text without what people leave out: case, accents, kinds of quotes and dashes.

    >>> normalise("  CAFÉ  O’Brien—Ångström ")
    "cafe o'brien-angstrom"
    """
    if text.isascii():
        return " ".join(text.replace("`", "'").lower().split())
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES).casefold()
    text = "".join(
        char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char)
    )
    text = unicodedata.normalize("NFC", text.translate(_LETTERS))
    return " ".join(text.split())


def squeeze(text: str) -> str:
    """Return a normalised text without marks: ``o'brien`` and ``obrien`` are the same.

    An apostrophe joins, any other mark parts. Texts of marks alone stay as they are.
    """
    plain = normalise(text)
    bare = plain.replace("'", "")
    if not bare.replace(" ", "").isalnum():
        bare = " ".join(_MARKS.sub(" ", bare).split())
    return bare or plain
