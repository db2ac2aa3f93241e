"""Canonical numbering of small coloured structures: equal structures get equal certificates.

A structure is a number of points, a colour (a string) for each, and relations: a label and the
points it joins, in order. Pattern graphs and whole queries are brought into this form; two of them
are the same but for the naming of their points exactly if their certificates are equal.

Method: colour refinement, then a search over the points that refinement cannot tell apart, pruned
by the automorphisms that it finds (as in McKay's nauty, without its bookkeeping). The search is
bounded: past ``LEAVES`` complete numberings the best one so far is taken, so that a hostile pattern
costs time linear in its size. Patterns that people or models write never come near the bound.
"""

from __future__ import annotations

Relation = tuple[str, tuple[int, ...]]
Certificate = tuple[tuple[str, ...], tuple[Relation, ...]]

_Leaf = tuple[Certificate, tuple[int, ...], tuple[int, ...]]

LEAVES = 200


def canonical(
    colours: tuple[str, ...], relations: tuple[Relation, ...]
) -> tuple[tuple[int, ...], Certificate]:
    """Each point's canonical number, and the certificate: colours and relations renumbered."""
    search = _Search(colours, relations)
    search.run()
    assert search.best is not None
    return search.best_numbers, search.best


class _Search:
    def __init__(self, colours: tuple[str, ...], relations: tuple[Relation, ...]) -> None:
        self.colours = colours
        self.relations = relations
        labels = {label: i for i, label in enumerate(sorted({r[0] for r in relations}))}
        self.incident: list[list[tuple[int, int, tuple[int, ...]]]] = [[] for _ in colours]
        for label, points in relations:
            for place, point in enumerate(points):
                self.incident[point].append((labels[label], place, points))
        self.best: Certificate | None = None
        self.best_numbers: tuple[int, ...] = ()
        self.first: _Leaf = (((), ()), (), ())
        self.kept: _Leaf = self.first
        self.automorphisms: list[tuple[int, ...]] = []
        self.leaves = 0

    def run(self) -> None:
        names = {colour: i for i, colour in enumerate(sorted(set(self.colours)))}
        self.descend(self.refine([names[c] for c in self.colours]), ())

    def refine(self, numbers: list[int]) -> list[int]:
        """Tell points apart by what they are related to, until nothing more can be told."""
        count = len(set(numbers))
        while count < len(numbers):
            keys = [
                (
                    own,
                    sorted(
                        (label, place, [numbers[p] for p in points])
                        for label, place, points in incident
                    ),
                )
                for own, incident in zip(numbers, self.incident, strict=True)
            ]
            ranks: list[int] = [0] * len(numbers)
            last = None
            rank = -1
            for point in sorted(range(len(keys)), key=keys.__getitem__):
                if keys[point] != last:
                    last = keys[point]
                    rank += 1
                ranks[point] = rank
            if rank + 1 == count:
                return ranks
            numbers, count = ranks, rank + 1
        return numbers

    def descend(self, numbers: list[int], prefix: tuple[int, ...]) -> int:
        """Search below a numbering; return the depth to go back to.

        A leaf equal to an earlier one shows that the whole branch it lies in, up from where the two
        paths part, is a copy of the earlier branch: nothing new can be found there.
        """
        depth = len(prefix)
        cell = self.first_cell(numbers)
        if not cell:
            return self.leaf(numbers, prefix)
        if self.are_twins(cell):
            split = [n * len(numbers) for n in numbers]
            for i, point in enumerate(cell):
                split[point] += i
            return self.descend(self.refine(_dense(split)), (*prefix, *cell))
        tried: list[int] = []
        for point in cell:
            if tried and (self.leaves >= LEAVES or self.same_orbit(point, tried, prefix)):
                continue
            split = [2 * n + 1 for n in numbers]
            split[point] -= 1
            back = self.descend(self.refine(_dense(split)), (*prefix, point))
            if back < depth:
                return back
            tried.append(point)
        return depth

    def are_twins(self, cell: list[int]) -> bool:
        """Whether any two points of the cell can change places with all others staying."""
        one = cell[0]
        return all(self.view(one, other) == self.view(other, one) for other in cell[1:])

    def view(self, own: int, other: int) -> list[tuple[int, int, tuple[int, ...]]]:
        names = {own: -1, other: -2}
        return sorted(
            (label, place, tuple(names.get(p, p) for p in points))
            for label, place, points in self.incident[own]
        )

    def first_cell(self, numbers: list[int]) -> list[int]:
        cells: dict[int, list[int]] = {}
        for point, number in enumerate(numbers):
            cells.setdefault(number, []).append(point)
        several = [(len(cell), number) for number, cell in cells.items() if len(cell) > 1]
        return cells[min(several)[1]] if several else []

    def leaf(self, numbers: list[int], prefix: tuple[int, ...]) -> int:
        self.leaves += 1
        order = sorted(range(len(numbers)), key=numbers.__getitem__)
        relations = sorted((label, tuple(numbers[p] for p in ps)) for label, ps in self.relations)
        certificate = tuple(self.colours[p] for p in order), tuple(relations)
        if self.best is None:
            self.first = certificate, tuple(numbers), prefix
        else:
            for earlier, its_numbers, its_prefix in (self.first, self.kept):
                if certificate == earlier:
                    # Two numberings with one certificate differ by an automorphism.
                    self.automorphisms.append(tuple(order[n] for n in its_numbers))
                    return _common(prefix, its_prefix)
        if self.best is None or certificate < self.best:
            self.best, self.best_numbers = certificate, tuple(numbers)
            self.kept = certificate, tuple(numbers), prefix
        return len(prefix)

    def same_orbit(self, point: int, tried: list[int], prefix: tuple[int, ...]) -> bool:
        """Whether a symmetry that keeps ``prefix`` moves a point already tried to this one."""
        parent = list(range(len(self.colours)))

        def root(p: int) -> int:
            while parent[p] != p:
                parent[p] = parent[parent[p]]
                p = parent[p]
            return p

        for mapping in self.automorphisms:
            if all(mapping[p] == p for p in prefix):
                for a, b in enumerate(mapping):
                    parent[root(a)] = root(b)
        return root(point) in {root(p) for p in tried}


def _dense(numbers: list[int]) -> list[int]:
    ranks = {n: i for i, n in enumerate(sorted(set(numbers)))}
    return [ranks[n] for n in numbers]


def _common(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """How many leading items two tuples share."""
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n
