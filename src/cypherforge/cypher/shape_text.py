"""A canonical pattern graph in words."""

from __future__ import annotations

from functools import lru_cache

from cypherforge.cypher.canonical import Relation, canonical


@lru_cache(maxsize=8192)
def match_text(colours: tuple[str, ...], relations: tuple[Relation, ...]) -> str:
    """The canonical pattern graph in words: all that the certificate holds, nothing else."""
    _, (own, related) = canonical(colours, relations)
    by_scope: dict[int, list[str]] = {}
    enclosing: dict[int, int] = {}
    names: dict[int, str] = {}
    for label, points in related:
        if label == "in":
            enclosing[points[0]] = points[1]
        elif label != "join":
            for point in points[:1] if label in ("at", "column") else points[:2]:
                names.setdefault(point, str(len(names) + 1))
    for point, colour in enumerate(own):
        if colour in ("", "given"):
            names.setdefault(point, str(len(names) + 1))
    given = {p for p, colour in enumerate(own) if colour == "given"}
    written = {p: f"({n}{' given' if p in given else ''})" for p, n in names.items()}
    for label, points in related:
        if label == "in":
            continue
        if label == "at" or label == "column":
            by_scope.setdefault(points[1], []).append(written[points[0]])
        elif label == "join":
            by_scope.setdefault(points[1], []).append(f"joins {written[points[0]]}")
        elif label[:2] == "->" or points[0] <= points[1]:
            extra = "".join(f" [{own[p]} {p}]" for p in points[3:])
            length = f"[{label[2:]}]" if len(label) > 2 else ""
            dashes = f"-{length}-" if length else "--"
            hop = (
                f"{written[points[0]]}{dashes}{'>' if label[1] == '>' else ''}{written[points[1]]}"
            )
            by_scope.setdefault(points[2], []).append(hop + extra)
    outer = set(enclosing.values())
    parts_of_hops = {
        p for label, points in related if label[:2] in ("->", "--") for p in points[3:]
    }
    lines = []
    for point, colour in enumerate(own):
        if point in written or point in parts_of_hops:
            continue
        mark = f"#{point} " if point in outer else ""
        within = f" in #{enclosing[point]}" if point in enclosing else ""
        lines.append(f"{mark}{colour}{within} {', '.join(by_scope.get(point, []))}".rstrip())
    text = "; ".join(lines)
    return text.removeprefix("0 ") if len(lines) == 1 else text
