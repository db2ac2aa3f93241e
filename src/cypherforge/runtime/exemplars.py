"""Shape exemplars: skeletons that a question's words ask for (CypherGuard, section 3.2)."""

import re
from collections.abc import Sequence

_WORD = re.compile(r"[a-z]{3,}")


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
