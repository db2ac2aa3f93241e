"""Giving names and an order to pieces: from a writer's bags to one canonical text."""

from __future__ import annotations

from cypherforge.cypher.canonical import Relation, canonical
from cypherforge.cypher.pieces import Bag, Mention, Piece


def arranged(piece: Piece) -> str:
    """The text of a piece: equal for two pieces that differ only in numbers and order of bags.

    Variables come out as ``v1``, ``v2`` ... in order of appearance.
    """
    structure = _Structure()
    structure.item(piece)
    numbers, _ = canonical(tuple(structure.colours), tuple(structure.relations))
    out: list[str] = []
    names: dict[int, str] = {}
    stack: list[Piece] = [piece]
    while stack:
        top = stack.pop()
        if isinstance(top, str):
            out.append(top)
        elif isinstance(top, Mention):
            out.append(names.setdefault(top.number, f"v{len(names) + 1}"))
        elif isinstance(top, Bag):
            children = structure.children[id(top)]
            ordered = sorted(children, key=lambda child: (child[0], numbers[child[1]]))
            for place in range(len(ordered) - 1, -1, -1):
                stack.append(ordered[place][2])
                if place:
                    stack.append(top.between)
        else:
            stack.extend(reversed(top))
    return "".join(out)


class _Structure:
    """Pieces as points and relations: one point a variable, one an item of a bag that holds any."""

    def __init__(self) -> None:
        self.colours: list[str] = []
        self.relations: list[Relation] = []
        self.variables: dict[int, int] = {}
        # Bag to its items: colour, point, piece.
        self.children: dict[int, list[tuple[str, int, Piece]]] = {}

    def item(self, piece: Piece) -> tuple[str, int, tuple[int, ...]]:
        """Add one item; return its colour, its point and the variables it mentions in order."""
        point = len(self.colours)
        self.colours.append("")
        text: list[str] = []
        mentioned: list[int] = []
        bags = 0
        stack: list[Piece] = [piece]
        while stack:
            top = stack.pop()
            if isinstance(top, str):
                text.append(top)
            elif isinstance(top, Mention):
                text.append("\0")
                mentioned.append(self.variable(top.number))
            elif isinstance(top, Bag):
                bags += 1
                text.append(f"\1{bags}")
                stack.append(top.between)
                self.bag(top, point, bags)
            else:
                stack.extend(reversed(top))
        colour = self.colours[point] = "".join(text)
        self.relations += [(f"m{i}", (point, v)) for i, v in enumerate(mentioned)]
        key = () if bags else tuple(mentioned)
        return colour, point, key

    def bag(self, bag: Bag, owner: int, place: int) -> None:
        children = self.children[id(bag)] = []
        seen: set[tuple[str, tuple[int, ...]]] = set()
        for piece in bag.items:
            mark = len(self.colours), len(self.relations)
            colour, point, mentioned = self.item(piece)
            plain = "\1" not in colour
            if bag.unique and plain:
                if (colour, mentioned) in seen:
                    del self.colours[mark[0] :], self.relations[mark[1] :]
                    continue
                seen.add((colour, mentioned))
            children.append((colour, point, piece))
            self.relations.append((f"b{place}", (owner, point)))

    def variable(self, number: int) -> int:
        if number not in self.variables:
            self.variables[number] = len(self.colours)
            self.colours.append("\2")
        return self.variables[number]
