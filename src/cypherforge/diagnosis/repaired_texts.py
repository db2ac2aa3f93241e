"""Texts of a draft with repairs made: each is built and parsed once."""

from __future__ import annotations

from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.edits import apply_edits
from cypherforge.diagnosis.difference import Difference


class Texts:
    """Remembers the trees of all texts that one diagnosis looks at."""

    def __init__(self) -> None:
        self._trees: dict[str, ast.Query | CypherSyntaxError] = {}

    def tree(self, text: str) -> ast.Query:
        """Return a text's tree. Raises CypherSyntaxError."""
        if text not in self._trees:
            try:
                self._trees[text] = parse(text)
            except CypherSyntaxError as error:
                self._trees[text] = error
        found = self._trees[text]
        if isinstance(found, CypherSyntaxError):
            raise found
        return found

    def applied(self, text: str, found: list[Difference]) -> str | None:
        """The text with all edits made; None if they lie over each other or it parses no more."""
        edits = dict.fromkeys(edit for d in found for edit in d.edits or ())
        try:
            changed = apply_edits(text, edits)
            self.tree(changed)
        except (ValueError, CypherSyntaxError):
            return None
        return changed
