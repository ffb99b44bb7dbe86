"""Random calls with strange arguments: native and ours give the same data and the same errors on every rank."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from launch import TestMpi

GetMpi = Callable[[str], TestMpi]
CALLS = "60"
SETTINGS = {
    "one node": {},
    "two nodes": {"ESPALIER_VIRTUAL_NODES": "2"},
    "learning": {"ESPALIER_SETUP_CALLS": "4", "ESPALIER_LEARN": "on"},
}


def tell(mpi: TestMpi, seed: int, ranks: int, settings: dict[str, str] | None) -> list[str]:
    """What each rank says of each call; `settings` None: without Espalier."""
    command = [mpi.program("strange"), str(seed), CALLS]
    outcome = mpi.run(command, ranks, native=settings is None, settings=settings, timeout=200)
    assert outcome.code == 0, outcome
    return sorted(line for line in outcome.out.splitlines() if line.startswith("rank "))


@pytest.mark.parametrize(("seed", "ranks"), [(1, 2), (2, 3)])
@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", "intel"])
def test_calls_with_strange_arguments_end_as_they_do_natively(
    name: str, seed: int, ranks: int, get_mpi: GetMpi
) -> None:
    mpi = get_mpi(name)
    native = tell(mpi, seed, ranks, None)
    assert len(native) == ranks * int(CALLS)
    for what, settings in SETTINGS.items():
        differing = [
            f"{ours}\n  natively {theirs}"
            for ours, theirs in zip(tell(mpi, seed, ranks, settings), native, strict=True)
            if ours != theirs
        ]
        assert not differing, f"{what}: " + "\n".join(differing[:5])
