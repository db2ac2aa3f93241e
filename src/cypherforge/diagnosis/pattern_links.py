"""Plain questions about links and nodes of a pattern graph."""

from __future__ import annotations

from cypherforge.cypher import ast
from cypherforge.cypher.bindings import Entity, Link
from cypherforge.cypher.names import quote_name


def types_of(links: list[Link]) -> frozenset[str]:
    """Return the relationship types that the links name."""
    return frozenset().union(*(link.relationship.names for link in links))


def optional(link: Link) -> bool:
    """Return whether the link only stands in an OPTIONAL MATCH."""
    return isinstance(link.clause, ast.Match) and link.clause.optional


def same_types(a: Link, b: Link) -> bool:
    """Return whether the two may walk one type."""
    mine, theirs = a.relationship.names, b.relationship.names
    return bool(mine & theirs) or not mine or not theirs


def label_text(entity: Entity) -> str:
    """Return an entity's labels as they are written behind a colon."""
    return "&".join(
        "|".join(quote_name(name) for name in sorted(options))
        if len(options) == 1 or len(set(entity.labels)) == 1
        else f"({'|'.join(quote_name(name) for name in sorted(options))})"
        for options in dict.fromkeys(entity.labels)
    )


def bounds(pattern: ast.RelationshipPattern) -> tuple[int | None, int | None]:
    """Return the shortest and longest length of a hop; None: no bound."""
    if pattern.quantifier is None:
        return (1, 1)
    lower = pattern.quantifier.lower
    return (1 if lower is None else lower, pattern.quantifier.upper)


def length_text(bounds: tuple[int | None, int | None]) -> str:
    """Return bounds for people."""
    lower, upper = bounds
    return str(lower) if lower == upper else f"{lower}..{'' if upper is None else upper}"


def path_between(
    start: Entity, end: Entity, links: list[Link], matched: dict[int, Entity]
) -> list[Link] | None:
    """A path of two or more links over nodes without a partner; None if there is none."""

    def search(here: Entity, used: list[Link]) -> list[Link] | None:
        for link in links:
            if link in used or here not in (link.left, link.right):
                continue
            there = link.right if link.left is here else link.left
            if there is end and used:
                return [*used, link]
            if there is not end and id(there) not in matched and len(used) < 4:
                found = search(there, [*used, link])
                if found is not None:
                    return found
        return None

    return search(start, [])


def components(links: list[Link], nodes: list[Entity]) -> list[tuple[list[Link], list[Entity]]]:
    """Links that hang together over unpaired nodes, and unpaired nodes without a link."""
    free = {id(n) for n in nodes}
    groups: list[tuple[list[Link], dict[int, Entity]]] = []
    for link in links:
        ends = {id(n): n for n in (link.left, link.right) if id(n) in free}
        joined = [group for group in groups if group[1].keys() & ends.keys()]
        merged: tuple[list[Link], dict[int, Entity]] = ([], {})
        for group in joined:
            groups.remove(group)
            merged[0].extend(group[0])
            merged[1].update(group[1])
        merged[0].append(link)
        merged[1].update(ends)
        groups.append(merged)
    linked = {key for group in groups for key in group[1]}
    result = [(group[0], list(group[1].values())) for group in groups]
    result += [([], [node]) for node in nodes if id(node) not in linked]
    return result


def from_anchor(links: list[Link], known: dict[int, Entity]) -> list[Link]:
    """Order links so that each but the first touches what is already there, anchors first."""
    reached = set(known)
    left = list(links)
    ordered: list[Link] = []
    while left:
        best = next((k for k in left if id(k.left) in reached or id(k.right) in reached), left[0])
        left.remove(best)
        ordered.append(best)
        reached |= {id(best.left), id(best.right)}
    return ordered
