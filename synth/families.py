"""The families of questions and how often each is drawn.

The weights follow what people ask of graphs: look-ups, lists and counts most, then averages and
groups; the rest often enough that every kind of query occurs.
"""

from __future__ import annotations

from collections.abc import Mapping

from cypherforge.synth import family_aggregation as aggregation
from cypherforge.synth import family_further as further
from cypherforge.synth import family_groups as groups
from cypherforge.synth import family_order as order
from cypherforge.synth import family_retrieval as retrieval
from cypherforge.synth.family_base import Builder, Workshop

__all__ = ["FAMILIES", "Builder", "Workshop"]

ANY = (1, 2, 3, 4)

#: The builder, its weight, and the counts of relations that it can have.
FAMILIES: Mapping[str, tuple[Builder, float, tuple[int, ...]]] = {
    "lookup": (retrieval.lookup, 3.0, (1,)),
    "list": (retrieval.listing, 4.0, ANY),
    "table": (retrieval.table, 1.5, ANY),
    "between": (retrieval.between, 1.0, (1,)),
    "values": (retrieval.values_of, 1.0, ANY),
    "count": (aggregation.counting, 2.5, ANY),
    "aggregate": (aggregation.aggregate, 1.5, ANY),
    "group": (groups.by_node, 1.2, ANY),
    "group-value": (aggregation.by_value, 1.2, ANY),
    "top": (groups.most, 1.5, ANY),
    "extreme": (order.extreme, 1.2, ANY),
    "optional": (groups.optional, 0.6, ANY),
    "negation": (retrieval.without, 1.2, ANY),
    "union": (further.either, 0.6, (2,)),
    "comparison": (further.comparison, 0.5, (1,)),
    "path": (further.path, 0.3, ANY),
    "time": (further.in_year, 0.6, ANY),
}
