"""A strategy as a retriever of neo4j-graphrag (extra ``graphrag``)."""

from __future__ import annotations

from typing import Any

from cypherforge.core.errors import UsageError
from cypherforge.graph.values import display
from cypherforge.runtime.adapters import metadata, missing
from cypherforge.runtime.aio import Answers

try:
    from neo4j_graphrag.retrievers.base import Retriever
    from neo4j_graphrag.types import RawSearchResult, RetrieverResultItem
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise missing("graphrag", error) from error


class CypherforgeRetriever(Retriever):
    """Retrieves rows by question. ``driver`` is what the library wants of every retriever.

    The strategy keeps its own connection: the driver is only kept, never asked.
    """

    VERIFY_NEO4J_VERSION = False

    def __init__(self, driver: Any, strategy: Answers) -> None:
        super().__init__(driver)
        self._strategy = strategy

    def get_search_results(self, query_text: str) -> RawSearchResult:
        """The rows of an answer as records; raises UsageError for an empty question."""
        if not query_text:
            raise UsageError("the question is empty")
        found = self._strategy.answer(query_text)
        records = [_record(found.columns, row) for row in found.rows]
        return RawSearchResult(records=records, metadata=metadata(found))

    def default_record_formatter(self, record: Any) -> RetrieverResultItem:
        """One row as text, ``column: value`` joined by commas."""
        pairs = [f"{key}: {display(value)}" for key, value in record.items()]
        return RetrieverResultItem(content=", ".join(pairs))


def _record(columns: tuple[str, ...], row: tuple[Any, ...]) -> Any:
    from neo4j import Record

    make: Any = Record
    return make(zip(columns, row, strict=True))
