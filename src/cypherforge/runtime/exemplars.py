"""Few-shot exemplars: the train questions nearest to a question (CypherGuard, section 3.2)."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

FEW_SHOT = 3
_WORD = re.compile(r"[a-z]{3,}")


def nearest(
    query: npt.NDArray[np.float32],
    corpus: npt.NDArray[np.float32],
    keys: Sequence[str],
    count: int = FEW_SHOT,
) -> list[int]:
    """Rows of ``corpus`` (n, d) nearest to ``query`` (d,), both normalised; best first.

    Similarities are rounded to five decimals and ties go by key, so that the choice is the same
    on every machine.
    """
    if not len(corpus) or count < 1:
        return []
    similarity = np.round(corpus.astype(np.float64) @ query.astype(np.float64), 5)
    ranked = sorted(range(len(keys)), key=lambda i: (-similarity[i], keys[i]))
    return ranked[:count]


def by_keywords(question: str, keywords: Sequence[Sequence[str]], count: int) -> list[int]:
    """Positions of the entries whose keywords overlap most with the question, at least one each."""
    text = f" {' '.join(question.casefold().split())} "
    words = set(_WORD.findall(text))
    scores = [
        sum(f" {k} " in text if " " in k else k in words or k + "s" in words for k in entry)
        for entry in keywords
    ]
    ranked = sorted((i for i, s in enumerate(scores) if s), key=lambda i: (-scores[i], i))
    return ranked[:count]
