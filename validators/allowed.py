"""Procedures and functions that only read, by name, in lower case.

A list of what is allowed, not of what is forbidden: a planner calls ``apoc.load.json`` a read, yet
it opens files and sockets, and every server may carry plug-ins that nobody here has heard of. Left
out on purpose: whatever runs Cypher given as text (``apoc.cypher.*``, ``apoc.when``, ``apoc.case``,
``apoc.do.*``, ``apoc.periodic.*``), reaches outside (``apoc.load.*``, ``apoc.import.*``,
``apoc.export.*``, ``apoc.spatial.*`` geocoding, ``genai.*``), or administers (``dbms.*``).
"""

from __future__ import annotations

PROCEDURES = frozenset(
    """
    db.labels db.relationshiptypes db.propertykeys db.info db.ping db.indexes db.constraints
    db.schema.visualization db.schema.nodetypeproperties db.schema.reltypeproperties
    db.index.fulltext.querynodes db.index.fulltext.queryrelationships
    db.index.fulltext.listavailableanalyzers
    db.index.vector.querynodes db.index.vector.queryrelationships
    apoc.help
    apoc.meta.schema apoc.meta.data apoc.meta.data.of apoc.meta.stats apoc.meta.graph
    apoc.meta.graph.of apoc.meta.graphsample apoc.meta.subgraph
    apoc.meta.nodetypeproperties apoc.meta.reltypeproperties
    apoc.path.expand apoc.path.expandconfig apoc.path.subgraphnodes apoc.path.subgraphall
    apoc.path.spanningtree
    apoc.algo.allsimplepaths apoc.algo.astar apoc.algo.astarconfig apoc.algo.dijkstra
    apoc.algo.cover
    apoc.neighbors.athop apoc.neighbors.athop.count apoc.neighbors.byhop
    apoc.neighbors.byhop.count apoc.neighbors.tohop apoc.neighbors.tohop.count
    apoc.nodes.get apoc.nodes.rels apoc.nodes.cycles apoc.nodes.group
    apoc.search.node apoc.search.nodeall apoc.search.nodereduced apoc.search.nodeallreduced
    apoc.search.multisearchreduced
    apoc.text.doublemetaphone apoc.text.phonetic apoc.text.phoneticdelta
    apoc.coll.elements apoc.coll.pairwithoffset apoc.coll.partition apoc.coll.split
    apoc.coll.ziptorows
    apoc.convert.totree apoc.stats.degrees apoc.schema.nodes apoc.schema.relationships
    schema.node_type_properties schema.rel_type_properties mg.procedures mg.functions
    text_search.search text_search.search_all text_search.regex_search vector_search.search
    """.split()
)

# Functions without a dot are the language's own, and none of those reaches outside.
FUNCTION_NAMESPACES = (
    "date.",
    "datetime.",
    "duration.",
    "localdatetime.",
    "localtime.",
    "point.",
    "time.",
    "vector.similarity.",
    "apoc.agg.",
    "apoc.any.",
    "apoc.bitwise.",
    "apoc.coll.",
    "apoc.convert.",
    "apoc.data.",
    "apoc.date.",
    "apoc.diff.",
    "apoc.hashing.",
    "apoc.json.",
    "apoc.label.",
    "apoc.map.",
    "apoc.math.",
    "apoc.meta.",
    "apoc.node.",
    "apoc.nodes.",
    "apoc.number.",
    "apoc.path.",
    "apoc.rel.",
    "apoc.schema.",
    "apoc.scoring.",
    "apoc.stats.",
    "apoc.temporal.",
    "apoc.text.",
    "apoc.util.",
    "gds.similarity.",
    "gds.util.",
)
FUNCTIONS = frozenset({"apoc.version", "apoc.create.uuid", "db.namefromelementid", "gds.version"})

# What SHOW may list: the rest (users, privileges, settings, transactions) is administration.
SHOWABLE = (
    "INDEX",
    "CONSTRAINT",
    "PROCEDURE",
    "FUNCTION",
    "ALL INDEX",
    "ALL CONSTRAINT",
    "ALL FUNCTION",
    "BUILT IN FUNCTION",
    "USER DEFINED FUNCTION",
    "BTREE INDEX",
    "FULLTEXT INDEX",
    "LOOKUP INDEX",
    "POINT INDEX",
    "RANGE INDEX",
    "TEXT INDEX",
    "VECTOR INDEX",
    "UNIQUE",
    "UNIQUENESS",
    "NODE",
    "REL",
    "EXIST",
    "PROPERTY",
    "KEY",
    "SCHEMA INFO",
    "STORAGE INFO",
    "NODE_LABELS",
    "EDGE_TYPES",
)


def procedure_allowed(name: str, extra: frozenset[str] = frozenset()) -> bool:
    """Return whether a procedure may be called; ``extra`` are names the user vouches for."""
    lower = name.lower()
    return lower in PROCEDURES or lower in extra


def function_allowed(name: str, extra: frozenset[str] = frozenset()) -> bool:
    """Return whether a function may be called; names without a dot are the language's own."""
    lower = name.lower()
    return (
        "." not in lower
        or lower in FUNCTIONS
        or lower.startswith(FUNCTION_NAMESPACES)
        or lower in extra
    )


def show_allowed(verb: str) -> bool:
    """Return whether a SHOW command (``verb`` upper case, single-spaced) lists only the schema."""
    return verb.startswith("SHOW ") and verb.removeprefix("SHOW ").startswith(SHOWABLE)
