"""The schema as the drafts of ``full`` see it: paths with variables, few values listed.

The compact form writes a relationship's properties where a pattern has its map, and small models copy
``{watchCount: INTEGER}`` into their queries. Here a relationship with properties has a variable, and
its properties stand behind it as they are read: ``w.watchCount INTEGER``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from cypherforge.cypher.names import quote_string
from cypherforge.graph.formats.arrows import line_name, sampled_note
from cypherforge.graph.schema import Property, Schema
from cypherforge.graph.value_index import ValueIndex
from cypherforge.runtime.schema_grammar import variable_names

#: A property with at most so many stored texts, none longer than ``LONGEST``, is shown with them all.
FEW, LONGEST = 8, 30
_LETTER = re.compile(r"[^\W\d_]")


def prompt_schema(schema: Schema, index: ValueIndex | None = None) -> str:
    """Nodes with typed properties, then whole paths, a line each, in the schema's order.

    With an ``index``, properties of a few short texts are followed by these.
    """
    taken: set[str] = set()
    nodes = {label: _variable(label, taken) for label in schema.labels}
    link = next(name for name in ("r", "rel", "link_") if name not in taken)
    lines = [*sampled_note(schema), "Nodes and their properties:"]
    for label in schema.labels.values():
        shown = _listed(label.name, label.properties, index)
        lines.append(f"({nodes[label.name]}:{line_name(label.name)}) {shown}".rstrip())
    for together in schema.co_labels:
        joined = "".join(f":{line_name(name)}" for name in together.labels)
        lines.append(f"({joined}) occurs")
    lines.append("Paths:")
    said: set[tuple[str, tuple[Property, ...]]] = set()
    for pattern in schema.patterns:
        start, end = (
            f"({nodes[name]}:{line_name(name)})" if name in nodes else "()"
            for name in (pattern.start, pattern.end)
        )
        properties = tuple(schema.properties_on(pattern))
        variable = link if properties else ""
        line = f"{start}-[{variable}:{line_name(pattern.type)}]->{end}"
        if properties and (pattern.type, properties) not in said:
            said.add((pattern.type, properties))
            line += f"  {_listed(pattern.type, properties, index, variable)}"
        lines.append(line)
    return "\n".join(lines)


def _variable(name: str, taken: set[str]) -> str:
    """The shortest usual variable of a name that no other has."""
    names = [*variable_names(name), *(f"{name[:1].lower() or 'x'}{n}" for n in range(2, 99))]
    found = next((n for n in names if n not in taken and n.isidentifier()), f"x{len(taken)}")
    taken.add(found)
    return found


def _listed(
    owner: str, properties: Iterable[Property], index: ValueIndex | None, variable: str = ""
) -> str:
    before = f"{variable}." if variable else ""
    return ", ".join(
        f"{before}{line_name(item.name)} {item.type}{_values(owner, item, index)}"
        for item in properties
    )


def _values(owner: str, item: Property, index: ValueIndex | None) -> str:
    if index is None or item.type != "STRING":
        return ""
    values = index.few(owner, item.name, FEW)
    # Codes of digits say nothing that a question could be matched with.
    if not all(len(value) <= LONGEST and _LETTER.search(value) for value in values):
        return ""
    if not values:
        return ""
    return f" ({' | '.join(quote_string(value) for value in values)})"
