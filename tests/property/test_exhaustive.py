"""Every algorithm on every kind of small machine, from every root; and many random plans."""

from __future__ import annotations

import pytest

from espalier import _core

# Machines of up to 9 ranks: tests/unit/verify/correct_plans_test.cpp. Of the larger ones an even and an odd number of
# ranks is enough by day, and the prime number behind a power of two; those between take as long as all of fewer.
NIGHT = (12, 13, 14, 15, 16)


@pytest.mark.parametrize(
    "ranks", [pytest.param(ranks, marks=pytest.mark.long if ranks in NIGHT else ()) for ranks in range(10, 18)]
)
def test_every_machine_of_this_many_ranks(ranks: int) -> None:
    outcome = _core.verify_exhaustive(ranks, ranks)
    assert outcome["violations"] == []
    # Six placements; where algorithms do not apply they are left out, elsewhere there are several choices and roots.
    assert outcome["checked"] > 6 * len(_core.algorithms())


def test_random_machines() -> None:
    outcome = _core.verify_random(400, 20)
    assert outcome["violations"] == []
    assert outcome["checked"] == 400
