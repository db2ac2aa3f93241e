"""A strategy as a LlamaIndex query engine (extra ``llama-index``)."""

from __future__ import annotations

from typing import Any

from cypherforge.runtime.adapters import as_text, metadata, missing
from cypherforge.runtime.aio import Answers
from cypherforge.runtime.aio import answer as answer_later
from cypherforge.runtime.pipeline import Answer

try:
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.response.schema import Response
    from llama_index.core.callbacks.base import CallbackManager
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise missing("llama-index", error) from error


class GraphQueryEngine(BaseQueryEngine):
    """Answers with the rows as text; query and outcome are in the response's metadata."""

    def __init__(self, strategy: Answers) -> None:
        super().__init__(callback_manager=CallbackManager([]))
        self._strategy = strategy

    def _query(self, query_bundle: QueryBundle) -> Response:
        return _response(self._strategy.answer(query_bundle.query_str))

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        return _response(await answer_later(self._strategy, query_bundle.query_str))

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}


def _response(found: Answer) -> Response:
    text = as_text(found)
    nodes = []
    if found.outcome == "answered":
        nodes = [NodeWithScore(node=TextNode(text=text, metadata={"cypher": found.cypher}))]
    return Response(response=text, source_nodes=nodes, metadata=metadata(found))
