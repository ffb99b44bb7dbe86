"""Every algorithm on every kind of small machine, from every root; and many random plans."""

from __future__ import annotations

import pytest

from espalier import _core


@pytest.mark.parametrize("ranks", range(1, 18))
def test_every_machine_of_this_many_ranks(ranks: int) -> None:
    outcome = _core.verify_exhaustive(ranks, ranks)
    assert outcome["violations"] == []
    # Six placements; two choices for each algorithm, six for the tree, whose radix counts; broadcasts from every root.
    exchanges = [algorithm for algorithm in _core.algorithms() if algorithm.operation != "broadcast"]
    assert outcome["checked"] == 6 * (2 * len(exchanges) + (6 + 2) * ranks)


def test_random_machines() -> None:
    outcome = _core.verify_random(400, 20)
    assert outcome["violations"] == []
    assert outcome["checked"] == 400
