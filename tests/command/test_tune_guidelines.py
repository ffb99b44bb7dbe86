"""MPI's performance guidelines over tuned times."""

from __future__ import annotations

import pytest

from espalier.tuning.problems.guidelines import check_guidelines, is_real
from espalier.tuning.problems.problem import Problem


def times(**entries: list[float]) -> dict[Problem, float]:
    """Times of operations at 64 B, 256 B, 1 KB, …"""
    return {Problem(op, 64 * 4**at): us for op, values in entries.items() for at, us in enumerate(values)}


def test_times_that_grow_violate_nothing() -> None:
    assert check_guidelines(times(broadcast=[1, 2, 4], allreduce=[1, 2, 4], reduce=[0.9, 1.9, 3.9]), 2) == []


def test_a_small_message_slower_than_a_large_one_is_found() -> None:
    (violation,) = check_guidelines(times(scan=[1, 5, 2]), 2)
    assert str(violation) == "scan is monotone in size at 256: 5.00 µs > 2.00 µs"


def test_an_allreduce_slower_than_reduce_and_broadcast_is_found() -> None:
    (violation,) = check_guidelines(times(allreduce=[10, 11, 12], reduce=[1, 2, 3], broadcast=[1, 2, 3]), 1)[:1]
    assert (violation.rule, violation.limit_us) == ("allreduce ≤ reduce + broadcast", 2)


def test_sizes_between_measured_ones_are_estimated_and_beyond_them_nothing_is_said() -> None:
    # An allgather of blocks of 64 B on 2 ranks against a gather of 64 B and a broadcast of 128 B, halfway to 256 B.
    found = check_guidelines(times(allgather=[9, 9, 9], gather=[1, 1, 1], broadcast=[1, 4, 16]), 2)
    assert [(it.problem.bytes, round(it.limit_us, 2)) for it in found] == [(64, 3.0)]


def test_differences_within_the_noise_are_no_violations() -> None:
    assert check_guidelines(times(scan=[1.05, 1.0]), 2) == []


def test_a_violation_names_the_calls_to_compare_with_in_whole_elements() -> None:
    found = check_guidelines(times(broadcast=[9, 18, 27], scatter=[1, 1, 1], allgather=[1, 1, 1]), 3)
    assert [it.problem.bytes for it in found] == [256, 1024]
    assert found[0].parts == (Problem("scatter", 86), Problem("allgather", 86))
    (reduction,) = check_guidelines(times(allreduce=[1, 9], reduce_scatter=[1, 1], allgather=[1, 1]), 3)
    assert reduction.parts == (Problem("reduce_scatter", 88), Problem("allgather", 86))


@pytest.mark.parametrize(
    ("own", "real"),
    [
        ([3.0] * 7, True),
        ([2.1] * 7, False),  # within the tolerance
        ([3.0, 3.0, 1.5, 3.0, 3.0, 3.0, 3.0], True),  # one round may disagree
        ([3.0, 1.5, 1.5, 3.0, 3.0, 3.0, 3.0], False),
        ([2.1, 2.3, 2.5, 2.1, 2.9, 2.2, 2.4], False),  # no more than its own spread
        ([2.22] * 7, False),  # no more than the clock's ticks: of this time and of its two parts
    ],
)
def test_a_violation_is_real_when_it_shows_side_by_side(own: list[float], real: bool) -> None:
    (violation,) = check_guidelines(times(allreduce=[9], reduce=[1], broadcast=[1]), 1)
    rounds = iter(own)
    assert is_real(violation, lambda it: next(rounds) if it.operation == "allreduce" else 1.0) is real


def test_a_violation_that_cannot_be_measured_stays_one() -> None:
    (violation,) = check_guidelines(times(allreduce=[9], reduce=[1], broadcast=[1]), 1)
    assert is_real(violation, lambda it: None)
