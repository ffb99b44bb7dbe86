"""Uneven blocks: what meets native, and when an exchange of sizes pays."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import pytest

from espalier.tuning.problems.problem import Problem, list_forms
from espalier.tuning.search.decisions import Decision
from espalier.tuning.search.meetings import Meeting
from espalier.tuning.uneven import forms
from tuning_bench import a_machine

FLAT = "flat,within=cells,cell=32K,cells=4"


def duelled(operation: str, size: int, ratio: float) -> Decision:
    """As a duel decides: native unless the margin is reached."""
    won = ratio >= 1.05
    chosen = 1.0 if won else ratio
    selection = FLAT if won else "native"
    return Decision(Problem(operation, size), selection, ratio, chosen, 1.0, 1.0, 100, FLAT, 1.0, "" if won else "slow")


def settled(*ratios: float) -> set[str]:
    duels = {(it := duelled("gatherv", 64 << 4 * at, ratio)).problem: it for at, ratio in enumerate(ratios)}
    return {decision.selection for decision in forms.settle_exchanged(duels, 0.05).values()}


@pytest.mark.parametrize(
    ("ratios", "selection"),
    [((1.5, 1.2), FLAT), ((1.5, 1.01), FLAT), ((1.5, 0.9), "native"), ((1.02, 1.02), "native")],
)
def test_an_exchange_of_sizes_pays_when_no_size_loses_and_all_together_win(
    ratios: tuple[float, ...], selection: str
) -> None:
    assert settled(*ratios) == {selection}


def short_then_long(*ratios: float) -> dict[Problem, Decision]:
    """The dedicated path at 4, 64 … B, and last a plan at 64 KiB."""
    *shorts, long = ratios
    duels = {
        (it := replace(duelled("gatherv", 4 << 4 * at, ratio), best="tiny")).problem: it
        for at, ratio in enumerate(shorts)
    }
    return duels | {(it := duelled("gatherv", 64 << 10, long)).problem: it}


@pytest.mark.parametrize(
    ("ratios", "count"), [((1.5, 1.2, 0.8), 2), ((1.5, 0.9, 0.8), 1), ((0.9, 1.5, 0.8), 0), ((1.02, 1.03, 0.8), 0)]
)
def test_short_blocks_win_from_the_smallest_on_by_the_margin(ratios: tuple[float, ...], count: int) -> None:
    duels = short_then_long(*ratios)
    assert forms.list_shorts(duels, 0.05) == list(duels)[:count]


@pytest.mark.parametrize(("after_a_look", "is_settled"), [(0.98, True), (0.9, False)])
def test_short_blocks_keep_the_dedicated_path_where_a_first_look_costs_native_little(
    after_a_look: float, is_settled: bool
) -> None:
    duels = short_then_long(1.5, 1.2, 0.8)
    long = list(duels)[-1]
    look = replace(duelled("gatherv", long.bytes, after_a_look), best="tiny")
    settled = forms.settle_shorts(duels, {long: look})
    assert (settled is not None) == is_settled
    if settled is not None:
        assert [it.selection for it in settled.values()] == ["tiny", "tiny", "native"]
        assert settled[long].chosen_us == look.best_us, "the table says what native takes with the look"


def test_a_look_that_brings_sizes_along_leaves_to_native_only_where_ours_has_not_won() -> None:
    duels = short_then_long(1.5, 1.2, 1.6) | {(it := duelled("gatherv", 1 << 20, 0.8)).problem: it}
    shorts, middle, long = list(duels)[:2], list(duels)[2], list(duels)[3]
    assert forms.needs_a_look(a_machine(2), duels, shorts) == [long]
    assert forms.needs_a_look(a_machine(21), duels, shorts) == [middle, long], "sizes of so many ranks have no room"
    settled = forms.settle_shorts(duels, {long: replace(duelled("gatherv", long.bytes, 0.99), best="tiny")})
    assert settled is not None
    assert [it.selection for it in settled.values()] == ["tiny", "tiny", FLAT, "native"]


def test_what_was_best_for_equal_blocks_meets_native() -> None:
    machine, problem = a_machine(2), Problem("gatherv", 64)
    assert forms.find_challenger(machine, Problem("allgatherv", 64), duelled("allgather", 64, 2.0)) == FLAT
    assert forms.find_challenger(machine, problem, duelled("gather", 64, 2.0)) == "tiny", "it needs no exchange"
    assert forms.find_challenger(a_machine(1, 1), problem, duelled("gather", 64, 2.0)) == FLAT, "none between nodes"


def settle_alone(duels: Iterable[Decision]) -> list[str]:
    """What is selected at each size after one duel over each."""
    known = {it.problem: it for it in duels}
    patient = forms.list_patient({problem: [it] for problem, it in known.items()})
    return [it.selection for it in forms.settle_any_size(known, patient, 0.05).values()]


@pytest.mark.parametrize(
    ("ratios", "ours"),
    [
        ((1.5, 1.2, 0.98), 3),  # what is within the noise is no harm
        ((1.5, 1.2, 0.9), 2),
        ((1.5, 0.9, 1.2), 1),
        ((0.9, 1.5, 1.5), 0),
        ((1.02, 1.02, 1.02), 0),
    ],
)
def test_one_way_serves_all_sizes_up_to_the_last_that_it_does_no_harm_to(ratios: tuple[float, ...], ours: int) -> None:
    duels = {}
    for at, ratio in enumerate(ratios):
        native = 100.0**at
        it = Decision(Problem("gatherv", 4 << 6 * at), "native", native, native, 1, 1, 9, "tiny", native / ratio, "")
        duels[it.problem] = it
    assert settle_alone(duels.values()) == ["tiny"] * ours + ["native"] * (len(ratios) - ours)


def test_native_beyond_some_size_pays_for_a_look_and_must_take_much_longer_than_that() -> None:
    short = Decision(Problem("gatherv", 4), "tiny", 0.6, 0.4, 1, 1, 9, "tiny", 0.4, "")
    long = Decision(Problem("gatherv", 4096), "native", 1.6, 1.6, 1, 1, 9, "tiny", 2.0, "")
    assert settle_alone([short, long]) == ["native", "native"]
    assert settle_alone([short, replace(long, native_us=16.0, best_us=20.0)]) == ["tiny", "native"]


def test_a_look_takes_as_long_as_the_fastest_of_the_short_calls() -> None:
    sizes = ((4, 160.0, 90.0), (64, 160.0, 70.0), (4 << 20, 1500.0, 1800.0))
    duels = [
        Decision(Problem("gatherv", n), "native", native, native, 1, 1, 9, "tiny", us, "") for n, native, us in sizes
    ]
    assert settle_alone(duels) == ["tiny", "tiny", "native"]


def test_native_pays_for_a_look_wherever_the_processors_lie() -> None:
    def duel(size: int, native_us: float, ours_us: float, line_ns: float) -> Decision:
        met = (Meeting("tiny", line_ns, native_us / ours_us),)
        return replace(Decision(Problem("alltoallv", size), "", native_us, 0, 1, 1, 9, "tiny", ours_us, ""), met=met)

    short = [duel(4, 0.2, 0.07, 110.0), duel(4, 1.0, 0.35, 670.0)]
    middle = [duel(16384, 1.2, 1.1, 115.0), duel(16384, 2.8, 3.1, 650.0)]
    long = [duel(1 << 20, 110.0, 140.0, 115.0), duel(1 << 20, 130.0, 100.0, 650.0)]
    fought = {it[0].problem: it for it in (short, middle, long)}
    assert forms.list_patient(fought) == [long[0].problem], "2.8 us are many looks of 0.07, but those are 0.35 there"


def test_the_dedicated_path_meets_native_with_each_window_that_matters_at_a_size() -> None:
    even = duelled("gather", 16 << 10, 2.0)
    middle = Problem("gatherv", 16 << 10)  # the largest block is half as long again
    assert forms.find_challengers(a_machine(2), middle, even) == ["tiny", "tiny,window=32K"]
    long = Problem("gatherv", 64 << 10)
    assert forms.find_challengers(a_machine(2), long, even) == ["tiny", "tiny,window=256K"]
    assert forms.find_challengers(a_machine(3), long, even) == ["tiny"], "of two ranks only"
    for size in (4, 4 << 10, 256 << 10):
        assert forms.find_challengers(a_machine(2), Problem("gatherv", size), even) == ["tiny"], "they do the same"
    crowded = a_machine(2, oversubscribed=True)
    assert forms.find_challengers(crowded, middle, even) == ["tiny"], "there they are as long as they help"


@pytest.mark.parametrize(
    ("ratios", "is_open", "middle"),
    [
        ((0.9,), True, 0.9),
        ((1.1,), False, 1.1),
        ((0.9, 1.1), True, 0.9),
        ((0.9, 0.95), False, 0.9),
        ((1.1, 0.98), False, 0.98),
        ((0.9, 1.1, 1.2), True, 1.1),
        ((0.9, 1.1, 1.2, 1.3, 1.0), True, 1.1),
        ((0.9, 1.1, 1.2, 1.3, 1.0, 1.1), False, 1.1),  # none of three more could change that
        ((0.9, 1.1, 1.2, 0.8, 1.0, 0.9, 0.8, 1.0, 1.0), False, 1.0),
    ],
)
def test_duels_that_disagree_are_fought_on_and_the_middle_one_counts(
    ratios: tuple[float, ...], is_open: bool, middle: float
) -> None:
    one = Decision(Problem("gatherv", 1 << 20), "native", 1, 1, 1, 1, 9, "tiny", 1, "")
    duels = [replace(one, best_us=1 / ratio) for ratio in ratios]
    assert forms.leave_open(duels) == is_open
    assert 1 / forms.pick_middle(duels).best_us == pytest.approx(middle)


def at_sizes(setting: str, *ratios: float) -> dict[Problem, Decision]:
    decisions = (
        Decision(Problem("gatherv", 4 << 6 * at), "native", 1, 1, 1, 1, 9, setting, 1 / ratio, "")
        for at, ratio in enumerate(ratios)
    )
    return {it.problem: it for it in decisions}


@pytest.mark.parametrize(
    ("usual", "windows", "selection"),
    [
        ((1.5, 0.8, 1.2), (1.5, 1.1, 1.2), "tiny,window=32K"),
        ((1.5, 1.2, 1.2), (1.5, 0.8, 1.2), "tiny"),
        ((1.5, 1.2, 1.2), (1.5, 1.3, 1.2), "tiny,window=32K"),
        ((1.5, 1.2, 1.2), (1.5, 1.2, 1.2), "tiny"),
        ((1.5, 0.8, 1.2), (1.5, 0.9, 1.2), "native"),
    ],
)
def test_the_setting_that_does_the_most_sizes_does_all_of_a_form(
    usual: tuple[float, ...], windows: tuple[float, ...], selection: str
) -> None:
    duels = {"tiny": at_sizes("tiny", *usual), "tiny,window=32K": at_sizes("tiny,window=32K", *windows)}
    assert {it.selection for it in forms.settle_settings(duels, [], 0.05).values()} == {selection}


def test_the_dedicated_path_alone_meets_native_where_it_takes_any_size() -> None:
    even = duelled("gather", 1 << 20, 2.0)
    assert forms.find_challengers(a_machine(2), Problem("gatherv", 1 << 20), even) == ["tiny"]
    assert forms.find_challengers(a_machine(2, single_copy=False), Problem("gatherv", 1 << 20), even) == [FLAT]


def test_where_all_ranks_know_all_sizes_the_fastest_for_uneven_blocks_meets_native() -> None:
    arms = forms.find_challengers(a_machine(2), Problem("allgatherv", 64), duelled("allgather", 64, 2.0))
    assert arms[0] == FLAT
    assert "tiny" in arms
    longer = Problem("allgatherv", 3000)
    assert "tiny" not in forms.find_challengers(a_machine(2), longer, duelled("allgather", 3000, 2.0))


def test_choices_that_are_one_for_equal_blocks_are_told_apart_by_the_longest_of_uneven_ones() -> None:
    arms = forms.find_challengers(a_machine(2), Problem("allgatherv", 4 << 10), duelled("allgather", 4 << 10, 2.0))
    cells = [re.search(r"cell=(\d+)K", arm) for arm in arms]
    assert all(int(it[1]) >= 6 for it in cells if it), "4K need one cell of 4K or of 8K, 6K need two of 4K"
    assert any(it for it, arm in zip(cells, arms, strict=True) if arm.startswith("ring"))


@pytest.mark.parametrize(("size", "takes_largest"), [(64, True), (2 << 10, True), (4 << 10, False)])
def test_the_dedicated_path_meets_native_where_it_takes_the_largest_block(size: int, takes_largest: bool) -> None:
    machine = a_machine(2, single_copy=False)
    tiny = Decision(Problem("gather", size), "tiny", 2.0, 1.0, 1.0, 1.0, 100, "tiny", 1.0, "")
    expected = "tiny" if takes_largest else str(machine.core.choose(machine.topology, "gather", size).choice)
    assert forms.find_challenger(machine, Problem("gatherv", size), tiny) == expected


def test_different_blocks_between_nodes_meet_native_in_segments() -> None:
    machine, size = a_machine(1, 1, 1, 1), 1 << 20
    ring = "ring,within=cells,cell=32K,cells=1"
    even = Decision(Problem("allgather", size), ring, 2.0, 1.0, 1.0, 1.0, 100, ring, 1.0, "")
    assert "segment=" in forms.find_challenger(machine, Problem("allgatherv", size), even), "else all wait"


def test_every_size_of_the_operations_that_have_uneven_forms_is_measured() -> None:
    problems = [Problem("gather", size) for size in (4, 16, 64)] + [Problem("broadcast", 4), Problem("barrier", 0)]
    assert list_forms(problems) == [Problem("gatherv", size) for size in (4, 16, 64)]


def test_forms_whose_ranks_know_all_sizes_are_settled_size_by_size() -> None:
    problems = [Problem(form, size) for form in ("gatherv", "allgatherv") for size in (64, 1024)]
    together = [problems[:2], [problems[2]], [problems[3]]]
    assert forms.settled_together(a_machine(3), problems) == together
    assert forms.settled_together(a_machine(2, single_copy=False), problems) == together


def test_two_ranks_know_the_size_of_what_goes_from_one_to_the_other_so_that_it_chooses() -> None:
    problems = [Problem(form, size) for form in ("scatterv", "gatherv", "alltoallv") for size in (64, 1024)]
    assert forms.settled_together(a_machine(2), problems) == [[it] for it in problems]


@pytest.mark.parametrize(("ratio", "selection"), [(1.5, "tiny"), (1.02, "native"), (0.8, "native")])
def test_a_size_that_chooses_for_itself_is_ours_where_that_wins_by_the_margin(ratio: float, selection: str) -> None:
    (decision,) = forms.settle_settings({"tiny": at_sizes("tiny", ratio)}, [], 0.05).values()
    assert decision.selection == selection
    assert decision.note == ("" if selection == "tiny" else f"tiny: {ratio:.2f}x native")
