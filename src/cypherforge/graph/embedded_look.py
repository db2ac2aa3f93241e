"""One look at a query, shared by all rewrites: its nodes, its bindings, the types of expressions."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TypeVar

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Bindings, resolve
from cypherforge.graph.embedded_kinds import Facts, Kinder

N = TypeVar("N", bound=ast.Node)


class Look:
    """What is known of a query; each part is computed when it is first asked for."""

    def __init__(self, query: ast.Query, facts: Facts) -> None:
        self.query = query
        self.facts = facts

    @cached_property
    def nodes(self) -> list[ast.Node]:
        """All nodes, parents first."""
        return list(self.query.walk())

    @cached_property
    def _places(self) -> dict[type[ast.Node], list[int]]:
        places: dict[type[ast.Node], list[int]] = defaultdict(list)
        for place, node in enumerate(self.nodes):
            places[type(node)].append(place)
        return places

    def of(self, kind: type[N]) -> list[N]:
        """The nodes of a class and of those derived from it, parents first."""
        fitting = [found for known, found in self._places.items() if issubclass(known, kind)]
        places = fitting[0] if len(fitting) == 1 else sorted(p for found in fitting for p in found)
        return [self.nodes[place] for place in places]  # type: ignore[misc]

    @cached_property
    def bindings(self) -> Bindings:
        """The query's variables."""
        return resolve(self.query)

    @cached_property
    def kinds(self) -> Kinder:
        """The types of its expressions."""
        return Kinder(self.facts, self.bindings)

    def calls(self, *names: str) -> Iterator[ast.FunctionCall]:
        """Calls of these functions, named in lower case."""
        return (node for node in self.of(ast.FunctionCall) if node.lower_name in names)

    def source(self, node: ast.Node) -> str:
        """A node's text."""
        return self.query.text[node.span[0] : node.span[1]]


class _Last(threading.local):
    look: Look | None = None


_last = _Last()


def look_at(query: ast.Query, facts: Facts) -> Look:
    """The look at a query: the last one again where it is the same query.

    The rewrites come to one query one after the other, and most of them leave it as it is.
    """
    last = _last.look
    if last is None or last.query is not query or last.facts is not facts:
        last = _last.look = Look(query, facts)
    return last
