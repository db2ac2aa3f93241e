"""The one error that text which is not Cypher raises."""

from __future__ import annotations

from cypherforge.core.errors import CypherForgeError


class CypherSyntaxError(CypherForgeError):
    """The text is not Cypher.

    ``span`` is the offending token in code points, ``line`` and ``column`` count from 1,
    ``expected`` lists what could have stood there (may be empty), ``token`` is the token's text,
    empty at the end of the query.
    """

    def __init__(
        self,
        problem: str,
        *,
        text: str,
        span: tuple[int, int],
        expected: tuple[str, ...] = (),
    ) -> None:
        start = span[0]
        self.span = span
        self.line = text.count("\n", 0, start) + 1
        self.column = start - (text.rfind("\n", 0, start) + 1) + 1
        self.expected = expected
        self.token = text[span[0] : span[1]]
        hint = f"expected {_either(expected)}" if expected else None
        super().__init__(problem, where=f"line {self.line}, column {self.column}", hint=hint)


def _either(words: tuple[str, ...]) -> str:
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} or {words[-1]}"
