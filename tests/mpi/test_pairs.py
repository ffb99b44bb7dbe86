"""What is left of a product by day has every pair of its values (pairs.py)."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from pairs import choose_pairs


@pytest.mark.parametrize("sizes", [(3, 2), (3, 2, 2, 2), (3, 4, 2), (3, 3, 2), (1, 4, 3)])
def test_every_two_values_meet_by_day(sizes: tuple[int, ...]) -> None:
    chosen = choose_pairs(sizes)
    assert len(set(chosen)) == len(chosen)
    for one, other in combinations(range(len(sizes)), 2):
        met = {(point[one], point[other]) for point in chosen}
        assert met == set(product(range(sizes[one]), range(sizes[other])))


def test_few_points_are_enough() -> None:
    assert len(choose_pairs((3, 2, 2, 2))) <= 8
    assert len(choose_pairs((3, 4, 2))) == 12
