"""Offline embeddings: alike for like questions, the same bits whatever stands beside."""

import logging
import subprocess
import sys

import numpy as np
import pytest

from cypherforge.core.errors import UsageError
from cypherforge.llm.base import Embedder
from cypherforge.llm.embeddings import nearest, similarities
from cypherforge.llm.specs import open_embedder

TEXTS = [
    "How many players scored in 2019?",
    "Number of players who scored a goal in 2019",
    "Which city is the capital of France?",
]


@pytest.fixture(scope="module", params=["wordllama", "tfidf"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return open_embedder(str(request.param), corpus=TEXTS)


def test_a_paraphrase_is_nearer_than_another_question(embedder: Embedder) -> None:
    rows = embedder.embed(TEXTS)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    scores = similarities(rows, rows[0])
    assert scores[0] == 1.0
    assert scores[1] > scores[2] + 0.2
    assert [name for name, _ in nearest(rows, ["a", "b", "c"], rows[0], 2)] == ["a", "b"]


def test_a_text_has_the_same_bits_alone_and_in_company(embedder: Embedder) -> None:
    together = embedder.embed([*TEXTS, "a much longer text " * 50])
    for row, text in zip(together[:3], TEXTS, strict=True):
        assert np.array_equal(embedder.embed([text])[0], row)


def test_texts_without_words_are_zeros_and_anything_is_embedded(embedder: Embedder) -> None:
    rows = embedder.embed(["", " \n", "\ud83d", "人物 Zoë"])
    assert np.array_equal(rows[:2], np.zeros_like(rows[:2]))
    assert np.isfinite(rows).all()
    assert len(embedder.embed([])) == 0


def test_ties_are_broken_by_id_and_similarities_are_rounded() -> None:
    rows = np.asarray([[1, 0], [1, 0], [1 - 1e-7, 1e-7]], dtype=np.float32)
    assert nearest(rows, ["c", "b", "a"], rows[0], 3) == [("a", 1.0), ("b", 1.0), ("c", 1.0)]
    assert str(similarities(rows, np.asarray([-0.0, 0], dtype=np.float32))[0]) == "0.0"


def test_rare_words_weigh_more() -> None:
    corpus = ["show the players", "show the teams", "show the coaches"]
    embedder = open_embedder("tfidf", corpus=corpus)
    rows = embedder.embed(["show players", *corpus])
    assert similarities(rows[1:], rows[0]).argmax() == 0


def test_loading_leaves_the_program_s_logging_alone() -> None:
    code = (
        "import logging\nfrom cypherforge.llm.specs import open_embedder\nopen_embedder('wordllama')\n"
        "print(logging.getLogger().handlers, logging.getLogger().level == logging.WARNING)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True"
    assert logging.getLogger().level <= logging.WARNING


@pytest.mark.parametrize("bad", ["", "none", "scripted:x", "anthropic:claude", "word2vec"])
def test_what_is_no_embedder_is_told_the_forms(bad: str) -> None:
    with pytest.raises(UsageError, match="wordllama, tfidf, openai:NAME or NAME@URL"):
        open_embedder(bad)
