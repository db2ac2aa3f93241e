"""Cluster failures, so that an agent sees kinds of mistake and not a heap."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from cypherforge.miner.attempts import Attempt

# Names and values differ from failure to failure; the kind of mistake shows in what is left.
_NOISE = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\b\d[\w.:-]*\b")
_DISTANCE = 0.75


@dataclass(frozen=True, slots=True)
class Cluster:
    """Failures that look alike; ``codes`` are their taxonomy codes, commonest first."""

    name: str
    ids: tuple[str, ...]
    codes: tuple[str, ...]


def cluster(failures: Sequence[Attempt]) -> list[Cluster]:
    """Group failures by code, outcome and wording of error and diagnosis; largest group first."""
    if not failures:
        return []
    labels = _labels([_signature(f) for f in failures])
    groups: dict[int, list[Attempt]] = defaultdict(list)
    for label, failure in zip(labels, failures, strict=True):
        groups[label].append(failure)
    found: list[Cluster] = []
    for members in groups.values():
        codes = [m.code for m in members]
        ranked = sorted(set(codes), key=lambda c: (-codes.count(c), c))
        ids = tuple(sorted(m.id for m in members))
        found.append(Cluster("", ids, tuple(ranked)))
    found.sort(key=lambda c: (-len(c.ids), c.ids))
    return [Cluster(f"kind-{i + 1}", c.ids, c.codes) for i, c in enumerate(found)]


def _signature(failure: Attempt) -> str:
    code = failure.code.replace(".", "_")
    reason = failure.faults[0].reason if failure.faults else ""
    text = _NOISE.sub(" ", f"{failure.error} {reason}")
    return f"{code} {code} {code} {failure.outcome} {text}"


def _labels(signatures: list[str]) -> list[int]:
    if len(signatures) == 1:
        return [0]
    # Imported here: scikit-learn takes a second that most commands need not wait for.
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.feature_extraction.text import TfidfVectorizer

    matrix = TfidfVectorizer(token_pattern=r"[A-Za-z_]{2,}").fit_transform(signatures).toarray()
    model = AgglomerativeClustering(
        n_clusters=None, distance_threshold=_DISTANCE, metric="cosine", linkage="average"
    )
    return [int(label) for label in model.fit_predict(matrix.round(6))]
