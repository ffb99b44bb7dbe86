"""Products of three and more dimensions, of which any two values meet in every `make test`, and all of them at night.

Nearly every fault that depends on values at all shows with two of them. So of MPIs × placements × forms a few points
are enough by day: each pair of values is in one; the rest of the product is marked `long`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import pytest

Dimension = tuple[str, Sequence[object]]


def in_pairs(*dimensions: Dimension) -> pytest.MarkDecorator:
    """A test's parameters: a dimension is a name and its values, or several names and tuples of values."""
    sizes = [len(values) for _, values in dimensions]
    often = set(choose_pairs(sizes))
    points = []
    for point in product(*map(range, sizes)):
        values = [spread(name, members[at]) for (name, members), at in zip(dimensions, point, strict=True)]
        marks = () if point in often else pytest.mark.long
        points.append(pytest.param(*(value for several in values for value in several), marks=marks))
    return pytest.mark.parametrize(",".join(name for name, _ in dimensions), points)


def spread(name: str, value: object) -> Sequence[object]:
    return list(value) if "," in name and isinstance(value, tuple) else [value]


def choose_pairs(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Points of a product, by number, in which each value of a dimension meets each of another: the one that brings
    most new pairs, again and again."""
    points = list(product(*map(range, sizes)))
    missing = {pair for point in points for pair in pairs_of(point)}
    chosen = []
    while missing:
        best = max(points, key=lambda point: len(missing & pairs_of(point)))
        missing -= pairs_of(best)
        chosen.append(best)
    return chosen


def pairs_of(point: tuple[int, ...]) -> set[tuple[tuple[int, int], ...]]:
    return set(combinations(enumerate(point), 2))
