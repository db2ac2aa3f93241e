"""Exemplars for a prompt: questions with their queries by wording, skeletons by key words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cypherforge.cypher import CypherSyntaxError, normal_form
from cypherforge.llm.base import Embedder
from cypherforge.llm.embeddings import nearest
from cypherforge.runtime.prompts import Exemplar

#: CypherGuard, section 3.2: the three nearest questions.
FEW_SHOT = 3
_WORD = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True, slots=True)
class ExemplarStore:
    """Exemplars with the vectors of their questions, shape (n, d), rows normalised."""

    exemplars: Sequence[Exemplar]
    vectors: npt.NDArray[np.float32]
    embedder: Embedder

    @classmethod
    def of(cls, exemplars: Sequence[Exemplar], embedder: Embedder) -> ExemplarStore | None:
        """Embed the questions; None where there are none."""
        if not exemplars:
            return None
        kept = list(exemplars)
        return cls(kept, embedder.embed([e.question for e in kept]), embedder)

    def choose(self, question: str, count: int = FEW_SHOT) -> list[Exemplar]:
        """The nearest to a question, of each query's form only one, the nearest of all last.

        Two exemplars that differ in literals and names alone say the same twice; a place is better
        given to another shape. The nearest stands next to the question.
        """
        vector = self.embedder.embed([question])[0]
        places = list(range(len(self.exemplars)))
        ranked = nearest(self.vectors, [f"{i:08d}" for i in places], vector, count * 8)
        chosen: list[Exemplar] = []
        forms: set[str] = set()
        for key, _ in ranked:
            exemplar = self.exemplars[int(key)]
            form = _form(exemplar.cypher)
            if form not in forms:
                forms.add(form)
                chosen.append(exemplar)
            if len(chosen) == count:
                break
        return chosen[::-1]


def _form(cypher: str) -> str:
    """A query without its literals, names of variables and aliases."""
    try:
        return normal_form(cypher, literals=False, aliases=False)
    except CypherSyntaxError:
        return cypher


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
