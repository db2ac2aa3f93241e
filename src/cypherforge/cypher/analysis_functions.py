"""The functions and procedures that Neo4j brings along, with what they take and give."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from cypherforge.cypher import analysis_types as t

_WORDS = {
    "any": t.ANY,
    "bool": t.BOOLEAN,
    "int": t.INTEGER,
    "float": t.FLOAT,
    "num": t.NUMBER,
    "str": t.STRING,
    "map": t.MAP | t.ENTITY,
    "node": t.NODE,
    "rel": t.RELATIONSHIP,
    "path": t.PATH,
    "point": t.POINT,
    "date": t.DATE,
    "time": t.TIME,
    "ltime": t.LOCAL_TIME,
    "ldt": t.LOCAL_DATE_TIME,
    "dt": t.DATE_TIME,
    "dur": t.DURATION,
    "vector": t.VECTOR,
    "list": t.ANY_LIST,
    "strs": t.list_of(t.STRING),
    "ints": t.list_of(t.INTEGER),
    "floats": t.list_of(t.FLOAT),
    "temporal": t.TEMPORAL,
    "nums": t.list_of(t.NUMBER),
    "bools": t.list_of(t.BOOLEAN),
    "nodes": t.list_of(t.NODE),
    "rels": t.list_of(t.RELATIONSHIP),
}

_SIGNATURES = """
abs num -> num
acos|asin|atan|cos|cot|degrees|exp|haversin|log|log10|radians|sin|sqrt|tan num -> float
atan2 num num -> float
ceil|floor num -> float
sign num -> int
round num num? str? -> float
isnan num -> bool
e|pi|rand -> float
avg|sum num|dur -> num|dur
stdev|stdevp num -> float
percentilecont num num -> float
percentiledisc num num -> num
count any -> int
collect any -> list
max|min any -> any
btrim|ltrim|rtrim str str? -> str
trim str str? str? -> str
char_length|character_length str -> int
left|right str int -> str
lower|upper|tolower|toupper str -> str
normalize str any? -> str
replace str str str -> str
reverse str|list -> str|list
split str str|strs -> strs
substring str int int? -> str
tostring bool|num|str|point|temporal|dur -> str
tostringornull any -> str
tostringlist list -> strs
toboolean bool|str|int -> bool
tobooleanornull any -> bool
tobooleanlist list -> bools
tofloat num|str -> float
tofloatornull any -> float
tofloatlist list -> floats
tointeger num|str|bool|list -> int
tointegerornull any -> int
tointegerlist list -> ints
coalesce any any... -> any
nullif any any -> any
elementid node|rel -> str
id node|rel -> int
startnode|endnode rel -> node
labels node -> strs
type rel -> str
keys node|rel|map -> strs
properties node|rel|map -> map
exists any -> bool
valuetype any -> str
randomuuid|file -> str
timestamp any? -> int
linenumber -> int
length path -> int
nodes path -> nodes
relationships path -> rels
head|last list -> any
tail list -> list
isempty str|map|list -> bool
size str|list -> int
range int int int? -> ints
point map -> point
point.distance any any -> float
point.withinbbox any any any -> bool
date any? -> date
date.realtime|date.statement|date.transaction any? -> date
date.truncate str any? map? -> date
datetime any? -> dt
datetime.realtime|datetime.statement|datetime.transaction any? -> dt
datetime.fromepoch num num -> dt
datetime.fromepochmillis num -> dt
datetime.truncate str any? map? -> dt
localdatetime any? -> ldt
localdatetime.realtime|localdatetime.statement|localdatetime.transaction any? -> ldt
localdatetime.truncate str any? map? -> ldt
time any? -> time
time.realtime|time.statement|time.transaction any? -> time
time.truncate str any? map? -> time
localtime any? -> ltime
localtime.realtime|localtime.statement|localtime.transaction any? -> ltime
localtime.truncate str any? map? -> ltime
duration any -> dur
duration.between|duration.inmonths|duration.indays|duration.inseconds any any -> dur
vector.similarity.cosine|vector.similarity.euclidean nums nums -> float
graph.byname|graph.byelementid str -> any
"""

_SINCE_25 = """
cardinality map|list|path -> int
ceiling|cosh|coth|ln|sinh|tanh num -> float
coll.distinct|coll.sort list -> list
coll.flatten list int? -> list
coll.indexof list any -> int
coll.insert list int any -> list
coll.remove list int -> list
coll.max|coll.min list -> any
collect_list any -> list
stdev_pop|stdev_samp num -> float
percentile_cont num num -> float
percentile_disc num num -> num
date any? str? -> date
datetime|zoned_datetime any? str? -> dt
localdatetime|local_datetime any? str? -> ldt
time|zoned_time any? str? -> time
localtime|local_time any? str? -> ltime
duration any str? -> dur
duration_between any any -> dur
format any str? -> str
path_length path -> int
property_exists node|rel str -> bool
replace str str str int? -> str
size str|list|vector -> int
string.indexof str str -> int
string.join list str -> str
string.regexreplace str str str -> str
tofloatlist list|vector -> floats
tointegerlist list|vector -> ints
uuid any? any? -> any
uuid.leastsignificantbits|uuid.mostsignificantbits any -> int
vector any int any -> vector
vector.similarity.cosine|vector.similarity.euclidean list|vector list|vector -> float
vector_dimension_count vector -> int
vector_distance|vector_norm vector any any? -> float
"""

_ONLY_BEFORE_25 = frozenset(("lower", "upper"))

AGGREGATES = frozenset(
    [
        "avg",
        "collect",
        "count",
        "max",
        "min",
        "percentilecont",
        "percentiledisc",
        "stdev",
        "stdevp",
        "sum",
        "collect_list",
        "percentile_cont",
        "percentile_disc",
        "stdev_pop",
        "stdev_samp",
    ]
)
"""Functions that aggregate, lower case."""

NAMESPACES = frozenset(
    [
        "date",
        "datetime",
        "localdatetime",
        "time",
        "localtime",
        "duration",
        "point",
        "vector",
        "graph",
    ]
)
"""First parts of dotted names that belong to Neo4j: what is unknown there exists nowhere."""

REPLACED = {
    "toint": "toInteger",
    "distance": "point.distance",
    "rels": "relationships",
    "filter": "[x IN list WHERE ...]",
    "extract": "[x IN list | ...]",
    "nvl": "coalesce",
    "ifnull": "coalesce",
    "isnull": "... IS NULL",
    "len": "size",
    "concat": "the + operator",
    "lcase": "toLower",
    "ucase": "toUpper",
    "year": "date(...).year",
    "month": "date(...).month",
    "day": "date(...).day",
    "now": "datetime()",
    "to_integer": "toInteger",
    "to_float": "toFloat",
    "array_agg": "collect",
    "group_concat": "collect",
    "average": "avg",
    "power": "the ^ operator",
    "pow": "the ^ operator",
}
"""What to write instead of functions that are gone or belong to other languages."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes and gives: types of its arguments, how many may be left out."""

    args: tuple[int, ...]
    optional: int
    variadic: bool
    result: int


@cache
def functions(version: int) -> dict[str, Signature]:
    """Signatures by lower-case name for Cypher 5 or 25."""
    table = _read(_SIGNATURES)
    if version >= 25:
        table |= _read(_SINCE_25)
        for name in _ONLY_BEFORE_25:
            table.pop(name, None)
    return table


def _read(text: str) -> dict[str, Signature]:
    table: dict[str, Signature] = {}
    for line in text.strip().split("\n"):
        left, right = line.split("->")
        names, *words = left.split()
        args: list[int] = []
        optional = 0
        for word in words:
            optional += word.endswith("?")
            args.append(_mask(word.rstrip("?.")))
        variadic = left.rstrip().endswith("...")
        if variadic:
            args.pop()
        signature = Signature(tuple(args), optional, variadic, _mask(right.strip()))
        table |= dict.fromkeys(names.split("|"), signature)
    return table


def _mask(words: str) -> int:
    mask = 0
    for word in words.split("|"):
        mask |= _WORDS[word]
    return mask


_PROCEDURES = """
db.awaitIndex 1 2
db.awaitIndexes 0 1
db.clearQueryCaches 0 0 value
db.create.setNodeVectorProperty 3 3
db.create.setRelationshipVectorProperty 3 3
db.create.setVectorProperty 3 3 node
db.createLabel 1 1
db.createProperty 1 1
db.createRelationshipType 1 1
db.index.fulltext.awaitEventuallyConsistentIndexRefresh 0 0
db.index.fulltext.listAvailableAnalyzers 0 0 analyzer description stopwords
db.index.fulltext.queryNodes 2 3 node score
db.index.fulltext.queryRelationships 2 3 relationship score
db.index.vector.createNodeIndex 5 5
db.index.vector.queryNodes 3 3 node score
db.index.vector.queryRelationships 3 3 relationship score
db.info 0 0 id name creationDate
db.labels 0 0 label
db.ping 0 0 success
db.prepareForReplanning 0 1
db.propertyKeys 0 0 propertyKey
db.relationshipTypes 0 0 relationshipType
db.resampleIndex 1 1
db.resampleOutdatedIndexes 0 0
db.schema.nodeTypeProperties 0 0 nodeType nodeLabels propertyName propertyTypes mandatory
db.schema.relTypeProperties 0 0 relType propertyName propertyTypes mandatory
db.schema.visualization 0 0 nodes relationships
dbms.components 0 0 name versions edition
dbms.info 0 0 id name creationDate
dbms.listConfig 0 1 name description value dynamic defaultValue startupValue
dbms.queryJmx 1 1 name description attributes
tx.getMetaData 0 0 metadata
tx.setMetaData 1 1
"""


@dataclass(frozen=True, slots=True)
class Procedure:
    """How many arguments a procedure takes, and the columns it gives."""

    least: int
    most: int
    columns: tuple[str, ...]


@cache
def procedures() -> dict[str, Procedure]:
    """Neo4j's own procedures that queries may call, by name."""
    table: dict[str, Procedure] = {}
    for line in _PROCEDURES.strip().split("\n"):
        name, least, most, *columns = line.split()
        table[name] = Procedure(int(least), int(most), tuple(columns))
    return table


COLUMN_TYPES = {
    "node": t.NODE,
    "relationship": t.RELATIONSHIP,
    "score": t.FLOAT,
    "label": t.STRING,
    "propertyKey": t.STRING,
    "relationshipType": t.STRING,
}
"""Types of columns that Neo4j's procedures give; the others are not followed."""
