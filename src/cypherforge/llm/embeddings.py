"""Sentence embeddings: offline by default, the same vectors for a text whatever stands beside it.

``wordllama`` is a small model whose weights are in its wheel (256 dimensions, nothing is downloaded); ``tfidf``
needs no model at all; ``openai:NAME`` and NAME@URL ask a server.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cypherforge.core.errors import MissingExtra, ModelUnavailable
from cypherforge.core.files import clean_text
from cypherforge.core.progress import Progress
from cypherforge.llm.base import ChatAnswer, estimate_tokens
from cypherforge.llm.budget import Budget, Meter, Reservation
from cypherforge.llm.failures import AttemptFailed
from cypherforge.llm.prices import Prices
from cypherforge.llm.specs import ModelSpec

Matrix = NDArray[np.float32]

DECIMALS = 4
"""Similarities are rounded to this, so that the last bits of a machine's arithmetic decide nothing."""


def similarities(rows: Matrix, query: Matrix) -> NDArray[np.float64]:
    """Cosine of ``query`` (d,) with each of ``rows`` (n, d), rounded; both of length 1. Gives shape (n,)."""
    products = np.einsum("nd,d->n", rows.astype(np.float64), query.astype(np.float64))
    # Adding 0.0 turns -0.0 into 0.0.
    return np.asarray(np.round(products, DECIMALS) + 0.0, dtype=np.float64)


def nearest(rows: Matrix, ids: Sequence[str], query: Matrix, count: int) -> list[tuple[str, float]]:
    """The ``count`` most similar rows as (id, similarity), best first; ties go by id."""
    scores = similarities(rows, query)
    order = sorted(range(len(ids)), key=lambda index: (-scores[index], ids[index]))
    return [(ids[index], float(scores[index])) for index in order[:count]]


def _normalise(rows: NDArray[np.float64]) -> Matrix:
    rows = np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


class WordLlamaEmbedder:
    """The offline default."""

    name = "wordllama"

    def __init__(self) -> None:
        """Loads the weights (about a second). Raises MissingExtra or ModelUnavailable."""
        root = logging.getLogger()
        level, handlers = root.level, list(root.handlers)
        try:
            import wordllama
        except ImportError as error:
            raise MissingExtra(
                f"wordllama cannot be imported: {error}",
                hint="pip install wordllama, or --embed tfidf",
            ) from None
        finally:
            # Importing it sets up the program's logging; that is not its business.
            root.setLevel(level)
            root.handlers[:] = handlers
        try:
            self._model: Any = wordllama.WordLlama.load(
                cache_dir=Path(wordllama.__file__).parent, disable_download=True
            )
        except (FileNotFoundError, ValueError) as error:
            raise ModelUnavailable(
                f"wordllama has no weights: {error}", hint="reinstall it, or take --embed tfidf"
            ) from None

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (n, 256)."""
        # One by one: within a batch the padding changes the last bits.
        rows = [
            np.asarray(self._model.embed([clean_text(text)])[0], dtype=np.float64)
            if text.strip()
            else np.zeros(256)
            for text in texts
        ]
        return _normalise(np.stack(rows)) if rows else np.zeros((0, 256), dtype=np.float32)


class TfidfEmbedder:
    """Words and word pairs, hashed to 1,024 columns and weighted by how rare they are in a corpus."""

    name = "tfidf"
    columns = 1024

    def __init__(self, corpus: Sequence[str] = ()) -> None:
        """Weights come from ``corpus``: give the same texts where vectors are to be compared."""
        seen = np.zeros(self.columns)
        for text in corpus:
            seen[sorted({self._column(word) for word in self._words(text)})] += 1
        self._weights = np.log((1 + len(corpus)) / (1 + seen)) + 1

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (n, 1024)."""
        rows = np.zeros((len(texts), self.columns))
        for row, text in zip(rows, texts, strict=True):
            for word in self._words(text):
                row[self._column(word)] += 1
        return _normalise(np.where(rows > 0, 1 + np.log(np.maximum(rows, 1)), 0) * self._weights)

    def _words(self, text: str) -> list[str]:
        words = "".join(c if c.isalnum() else " " for c in text.casefold()).split()
        return words + [f"{a} {b}" for a, b in pairwise(words)]

    def _column(self, word: str) -> int:
        return zlib.crc32(clean_text(word).encode()) % self.columns


class EndpointEmbedder:
    """Vectors from OpenAI or a compatible server, with budget, retries and a memory of what it has asked."""

    batch = 64

    def __init__(
        self,
        spec: ModelSpec,
        *,
        meter: Meter | None = None,
        budget: Budget | None = None,
        prices: Prices | None = None,
        progress: Progress | None = None,
        timeout: float = 180.0,
    ) -> None:
        """Raises ModelAuthError where a key is missing, UsageError for a money budget without a price."""
        from cypherforge.llm.endpoints import make_retrier
        from cypherforge.llm.openai_api import OpenAIEndpoint

        self._endpoint = OpenAIEndpoint(spec, timeout)
        self.name = self._endpoint.name
        self._meter = meter if meter is not None else Meter()
        self._budget = budget
        self._prices = prices or (budget.prices if budget else Prices())
        if budget is not None:
            budget.check_price(self.name)
        self._retrier = make_retrier(self.name, self._meter, progress)
        self._known: dict[str, list[float]] = {}

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (n, d), d as the server has it. Raises what the endpoint raises."""
        clean = [clean_text(text) or " " for text in texts]
        new = [text for text in dict.fromkeys(clean) if text not in self._known]
        for start in range(0, len(new), self.batch):
            part = new[start : start + self.batch]
            vectors = self._retrier.call(partial(self._ask, part))
            self._known.update(zip(part, vectors, strict=True))
        if not clean:
            return np.zeros((0, 0), dtype=np.float32)
        return _normalise(np.asarray([self._known[text] for text in clean], dtype=np.float64))

    def _ask(self, texts: list[str]) -> list[list[float]]:
        reserved = None
        if self._budget is not None:
            tokens = sum(estimate_tokens(text) for text in texts)
            reserved = self._budget.reserve_tokens(self.name, tokens, 0)
        used = Reservation(0, 0, 0.0)
        try:
            vectors, tokens = self._endpoint.embed(texts)
        except Exception as error:
            if isinstance(error, AttemptFailed) and error.kind == "rate":
                self._meter.add(rate_limited=1)
            else:
                used.calls = 1
                self._meter.add(calls=1, failed=1)
            raise
        else:
            price = self._prices.of(self.name)
            used = Reservation(1, tokens, price.cost(tokens, 0) if price else 0.0)
            self._meter.add_answer(self.name, ChatAnswer("", prompt_tokens=tokens), price)
            return vectors
        finally:
            if self._budget is not None and reserved is not None:
                self._budget.settle(reserved, used)
