"""The library itself on simulated ranks: right data, and the times that playing the same plans gives."""

from __future__ import annotations

import pytest

from espalier.errors import UserError
from espalier.libraries import find_executor
from espalier.simulation.executor import OURS, Case, Job, execute
from espalier.simulation.simulator import Request, simulate

_STAR = "star:hosts=8,rate=10000,latency=0.75"
_OPERATIONS = (
    "broadcast", "scatter", "gather", "allgather", "alltoall", "reduce", "allreduce", "reduce_scatter", "scan",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _executor() -> None:
    try:
        find_executor()
    except UserError as error:
        pytest.skip(str(error))


def _nodes(count: int, ppn: int) -> list[int]:
    return [node for node in range(count) for _ in range(ppn)]


@pytest.mark.parametrize("node_of", [_nodes(8, 1), _nodes(4, 4), [0, 0, 0, 1, 2, 2, 3], [0, 1, 2, 0, 1, 2, 0]])
def test_every_collective_delivers_the_right_data(node_of: list[int]) -> None:
    cases = [Case(operation, size) for operation in _OPERATIONS for size in (4, 4096, 200_000)]
    for timing in execute(Job(_STAR, node_of), OURS, cases, timeout=120):
        assert timing.wrong == 0, timing
        assert not timing.choice.startswith("native"), timing


# Without contention both see the same: one rank per node or several, messages that wait for their receiver and others.
@pytest.mark.parametrize(
    ("operation", "size", "ppn", "choice"),
    [
        ("broadcast", 32 << 10, 1, "knomial"),
        ("broadcast", 1 << 20, 1, "chain,segment=64K"),
        ("broadcast", 1 << 20, 4, "chain,segment=64K,within=cells"),
        ("broadcast", 1 << 20, 4, "chain,segment=64K,within=single_copy"),
        ("allgather", 32 << 10, 2, "ring"),
        ("allreduce", 256 << 10, 2, "ring"),
        ("allreduce", 64 << 10, 1, "recursive_doubling"),
        ("reduce", 32 << 10, 4, "knomial"),
        ("alltoall", 4 << 10, 1, "pairwise"),
    ],
)
def test_a_plan_executed_takes_as_long_as_the_same_plan_played_through(
    operation: str, size: int, ppn: int, choice: str
) -> None:
    node_of = _nodes(8, ppn)
    played = simulate(Request(_STAR, operation, size, node_of, choice, parameters={"gap": 0}))
    executed = execute(Job(_STAR, node_of, {operation: choice}), OURS, [Case(operation, size)], timeout=60)[0]
    assert executed.choice.split(" (")[0] == played.choice
    assert executed.microseconds == pytest.approx(played.microseconds, rel=0.005)


def test_other_libraries_algorithms_run_in_the_same_simulation() -> None:
    job, cases = Job("fat_tree:leaves=2,down=4,spines=2", _nodes(8, 4)), [Case("allreduce", 64 << 10)]
    ours = execute(job, OURS, cases, timeout=60)[0]
    theirs = [execute(job, name, cases, timeout=120)[0] for name in ("ompi", "mpich")]
    assert all(timing.wrong == 0 and timing.choice == "" for timing in theirs)
    assert len({timing.microseconds for timing in (ours, *theirs)}) > 1


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(UserError, match="the network has 8 hosts"):
        execute(Job(_STAR, _nodes(9, 1)), OURS, [Case("broadcast", 4)], timeout=60)
