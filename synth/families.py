"""The families of questions and how often each is drawn.

The weights follow what people ask of graphs: look-ups, lists and counts most, then averages and
groups; the rest often enough that every kind of query occurs.
"""

from __future__ import annotations

from collections.abc import Mapping

from cypherforge.synth import family_aggregation as aggregation
from cypherforge.synth import family_further as further
from cypherforge.synth import family_retrieval as retrieval
from cypherforge.synth.family_base import Builder, Workshop

__all__ = ["FAMILIES", "Builder", "Workshop"]

FAMILIES: Mapping[str, tuple[Builder, float]] = {
    "lookup": (retrieval.lookup, 3.0),
    "list": (retrieval.listing, 4.0),
    "table": (retrieval.table, 1.5),
    "between": (retrieval.between, 1.0),
    "values": (retrieval.values_of, 0.8),
    "count": (aggregation.counting, 2.5),
    "aggregate": (aggregation.aggregate, 1.5),
    "group": (aggregation.by_node, 1.2),
    "group-value": (aggregation.by_value, 1.2),
    "top": (aggregation.most, 1.5),
    "extreme": (aggregation.extreme, 1.2),
    "optional": (aggregation.optional, 0.6),
    "negation": (retrieval.without, 0.8),
    "union": (further.either, 0.6),
    "comparison": (further.comparison, 0.5),
    "path": (further.path, 0.3),
    "time": (further.in_year, 0.6),
}
