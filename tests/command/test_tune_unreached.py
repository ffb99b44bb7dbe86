"""What a budget that ends early leaves to sizes that were asked for."""

from __future__ import annotations

import pytest

from espalier.tuning.problems.problem import Problem
from espalier.tuning.search.decisions import BUILT_IN, Decision
from espalier.tuning.table.file import rows_of
from espalier.tuning.table.unreached import leave_unreached, list_measured
from tuning_bench import a_machine

CELLS = "pairwise,within=cells,cell=64K,cells=4"
STREAMED = "pairwise,within=cells,cell=64K,cells=4,stores=streaming"
COPIED = "pairwise,within=single_copy"
MIDDLE = 64 << 10


def decided(operation: str, size: int, selection: str) -> Decision:
    return Decision(Problem(operation, size), selection, 2.0, 1.0, 1.9, 2.1, 100, selection, 1.0, "")


def left_between(operation: str, smaller: str, larger: str, ranks: int = 8) -> str | None:
    """What holds at 64K, with these at 16K and 256K; none of them: nothing decided there."""
    even = operation.removesuffix("v")
    both = {16 << 10: smaller, 256 << 10: larger}
    decisions = [decided(operation, size, selection) for size, selection in both.items() if selection]
    asked = [Problem(even, size) for size in (16 << 10, MIDDLE, 256 << 10)]
    left = leave_unreached(a_machine(ranks), asked, {it.problem: it for it in decisions})
    found = [it.selection for it in left if it.problem == Problem(operation, MIDDLE)]
    assert all(it.calls == 0 for it in left)
    return found[0] if found else None


@pytest.mark.parametrize(
    ("smaller", "larger", "holds"),
    [
        (CELLS, STREAMED, CELLS),  # what helps long calls has not been tried here
        ("pairwise,within=cells,cell=16K,cells=1", CELLS, "pairwise,within=cells,cell=32K,cells=2"),
        (CELLS, "pairwise,within=cells,cell=256K,cells=1", "pairwise,within=cells,cell=128K,cells=2"),
        (COPIED, STREAMED, BUILT_IN),
        ("native", CELLS, "native"),
        (CELLS, "native", "native"),
        ("native", "", "native"),
        ("", "native", "native"),
        (CELLS, "", BUILT_IN),
        ("", STREAMED, BUILT_IN),
        ("", "", None),
    ],
)
def test_what_won_on_both_sides_holds_between_and_native_where_it_won_on_one(
    smaller: str, larger: str, holds: str | None
) -> None:
    assert left_between("alltoall", smaller, larger) == holds


def test_a_message_is_cut_into_no_more_cells_than_the_messages_around() -> None:
    short, long = (decided("gather", size, f"knomial,radix=2,within=cells,cell={size},cells=1") for size in (64, 1024))
    asked = [Problem("gather", size) for size in (64, 256, 1024)]
    (left, *_) = leave_unreached(a_machine(16), asked, {it.problem: it for it in (short, long)})
    assert (left.problem.bytes, left.selection) == (256, "knomial,radix=2,within=cells,cell=256,cells=1")


def test_cells_between_two_that_fill_a_window_fit_it() -> None:
    around = "pairwise,within=cells,cell=64K,cells=4", "pairwise,within=cells,cell=128K,cells=2"
    assert left_between("alltoall", *around) == "pairwise,within=cells,cell=128K,cells=2"


def test_what_does_not_apply_between_is_left_to_the_built_in_choice() -> None:
    assert left_between("broadcast", "tiny", "tiny") == BUILT_IN


@pytest.mark.parametrize(
    ("form", "ranks", "smaller", "larger", "holds"),
    [
        ("allgatherv", 8, "ring,within=cells,cell=64K,cells=4", "ring,within=cells,cell=64K,cells=4", "same"),
        ("allgatherv", 8, "ring,within=cells,cell=32K,cells=4", "ring,within=single_copy", "native"),
        ("gatherv", 2, "tiny,window=32K", "tiny", "same"),
        ("gatherv", 2, "native", "tiny", "native"),
        ("gatherv", 8, "tiny", "native", None),  # one way serves all sizes
    ],
)
def test_uneven_blocks_have_native_in_place_of_the_built_in_choice(
    form: str, ranks: int, smaller: str, larger: str, holds: str | None
) -> None:
    assert left_between(form, smaller, larger, ranks) == (smaller if holds == "same" else holds)


@pytest.mark.parametrize("form", ["allgatherv", "gatherv"])
def test_native_stays_for_forms_that_were_reached_at_no_size(form: str) -> None:
    even = decided(form.removesuffix("v"), 4096, CELLS)
    asked = [even.problem, Problem(even.problem.operation, 16384)]
    left = leave_unreached(a_machine(8), asked, {even.problem: even})
    assert {it.problem: it.selection for it in left if it.problem.is_uneven} == {
        Problem(form, 4096): "native",
        Problem(form, 16384): "native",
    }


def test_sizes_half_way_where_only_equal_blocks_are_measured_leave_uneven_ones_to_those_around() -> None:
    half_way = decided("allgather", 256, "tiny")
    around = [decided(operation, 64, "tiny") for operation in ("allgather", "allgatherv")]
    decisions = {it.problem: it for it in (half_way, *around)}
    assert leave_unreached(a_machine(2), [around[0].problem], decisions) == []


def test_the_row_above_does_not_reach_down_over_a_size_that_was_asked_for() -> None:
    machine, asked = a_machine(8), [Problem("alltoall", 4 << 2 * power) for power in range(11)]
    decisions = [decided("alltoall", 16 << 10, COPIED), decided("alltoall", 256 << 10, STREAMED)]
    unreached = leave_unreached(machine, asked, {it.problem: it for it in decisions})
    rows = [row for row in rows_of(decisions, machine, unreached) if "form" not in row]
    assert [row["measured"]["bytes"] for row in rows] == [16 << 10, 256 << 10]
    assert rows[0]["bytes"][1] < MIDDLE < rows[1]["bytes"][0]


def test_what_an_earlier_run_has_measured_stays() -> None:
    machine, other = a_machine(8), a_machine(4)
    earlier = [decided("alltoall", MIDDLE, COPIED), decided("alltoallv", MIDDLE, "tiny")]
    known = list_measured([*rows_of(earlier, machine), *rows_of([decided("gather", 4, "tiny")], other)], machine)
    assert known == {it.problem for it in earlier}
    decisions = [decided("alltoall", 16 << 10, "native"), decided("alltoall", 256 << 10, "native")]
    (left,) = leave_unreached(
        machine, [Problem("alltoall", MIDDLE)], {it.problem: it for it in (*decisions, earlier[1])}, known
    )
    assert (left.problem, left.selection) == (Problem("alltoall", MIDDLE), BUILT_IN)


def test_a_form_that_is_done_in_one_way_keeps_all_rows_of_an_earlier_run() -> None:
    machine, asked = a_machine(8), [Problem("gather", size) for size in (64, 4096, 16384)]
    earlier = [decided("gatherv", 64, "tiny"), decided("gatherv", 4096, "native")]
    decisions = {it: decided("gather", it.bytes, "tiny") for it in asked}
    known = list_measured(rows_of(earlier, machine), machine)
    assert leave_unreached(machine, asked, decisions, known) == []
    assert {it.problem.operation for it in leave_unreached(machine, asked, decisions)} == {"gatherv"}
