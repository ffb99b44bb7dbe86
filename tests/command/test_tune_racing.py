"""Races and duels: who leaves, who wins, when native stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.measure.worker import ArmTimes
from espalier.tuning.problems.problem import Problem
from espalier.tuning.search.decisions import decide
from espalier.tuning.search.racing import BLOCK_ROUNDS, DUEL_ROUNDS, MOST_BLOCKS, duel, race
from tuning_bench import arm_times


def measure_as(times: Mapping[str, Sequence[float]]):
    """Arms whose rounds take these times, over and over."""

    def measure(arms: Sequence[str], rounds: int) -> list[ArmTimes]:
        return [arm_times(arm, [times[arm][at % len(times[arm])] for at in range(rounds)]) for arm in arms]

    return measure


def native_against(native: Sequence[float], other: Sequence[float], control: Sequence[float]):
    def measure(arms: Sequence[str], rounds: int) -> list[ArmTimes]:
        return [arm_times(arm, times) for arm, times in zip(arms, (native, other, control), strict=True)]

    return measure


def test_the_fastest_wins_and_clear_losers_leave_after_one_block() -> None:
    state = race(["slow", "fast", "slower"], measure_as({"slow": [2.0], "fast": [1.0], "slower": [3.0]}))
    assert state.leader == "fast"
    assert list(state.times) == ["fast"]
    assert state.rounds_run == 3 * BLOCK_ROUNDS
    assert state.seen == {"slow": 2.0, "fast": 1.0, "slower": 3.0}


def test_arms_that_cannot_be_told_apart_run_to_the_end() -> None:
    state = race(["one", "two"], measure_as({"one": [1.0, 1.2], "two": [1.2, 1.0]}))
    assert set(state.times) == {"one", "two"}
    assert state.rounds_run == 2 * BLOCK_ROUNDS * MOST_BLOCKS


def test_a_disturbed_round_costs_nobody_the_race() -> None:
    # Both were slow in the second round: the comparison within the round does not notice.
    state = race(["good", "bad"], measure_as({"good": [1.0, 9.0, 1.0], "bad": [1.5, 13.5, 1.5]}))
    assert list(state.times) == ["good"]


def test_refused_arms_leave_with_their_reason() -> None:
    def measure(arms: Sequence[str], rounds: int) -> list[ArmTimes]:
        return [arm_times(arm, [1.0] * rounds, refused="native: no" if arm == "odd" else "") for arm in arms]

    state = race(["odd", "even"], measure)
    assert state.refused == {"odd": "native: no"}
    assert state.leader == "even"


def test_nobody_wins_where_all_are_refused() -> None:
    state = race(["odd"], lambda arms, rounds: [arm_times(arm, [], refused="no") for arm in arms])
    assert state.leader is None


def test_arms_of_which_the_library_says_the_same_run_once() -> None:
    def measure(arms: Sequence[str], rounds: int) -> list[ArmTimes]:
        return [arm_times(arm, [1.0] * rounds, said="tiny") for arm in arms]

    state = race(["tiny", "knomial,radix=2", "knomial,radix=4"], measure)
    assert list(state.times) == ["tiny"]


@pytest.mark.parametrize(("ratio", "won"), [(2.0, True), (1.06, True), (1.04, False), (1.0, False), (0.9, False)])
def test_native_is_beaten_only_by_the_margin(ratio: float, won: bool) -> None:
    fight = duel("knomial", native_against([ratio] * 7, [1.0] * 7, [ratio] * 7))
    assert fight is not None
    assert fight.is_won(0.05) is won


@pytest.mark.parametrize(("against", "won"), [(0, True), (1, True), (2, False)])
def test_one_round_may_disagree(against: int, won: bool) -> None:
    own = [1.0] * (DUEL_ROUNDS - against) + [2.1] * against
    fight = duel("knomial", native_against([2.0] * 7, own, [2.0] * 7))
    assert fight is not None
    assert fight.is_won(0.05) is won


def test_a_selection_whose_median_time_is_no_better_does_not_win_by_lucky_rounds() -> None:
    # It wins six of seven rounds by about 10 %, but the rounds scatter so much that the medians say nothing.
    native = [1.1, 1.1, 1.1, 2.02, 3.03, 3.03, 3.3]
    own = [1.0, 1.0, 1.0, 2.03, 3.0, 3.0, 3.0]
    fight = duel("knomial", native_against(native, own, native))
    assert fight is not None
    assert fight.ratio == pytest.approx(1.1)
    assert fight.native_us < fight.chosen_us
    assert not fight.is_won(0.05)


def test_the_better_of_natives_two_runs_is_the_bar() -> None:
    fight = duel("knomial", native_against([2.0] * 7, [1.5] * 7, [1.4] * 7))
    assert fight is not None
    assert fight.native_us == 1.4
    assert not fight.is_won(0.05)


def test_a_duel_of_long_calls_is_short_and_all_its_rounds_must_agree() -> None:
    times = {"native": [120e3], "fast": [90e3], "fickle": [119e3, 119e3, 121e3]}
    fight = duel("fast", measure_as(times), expected_us=90e3)
    assert fight is not None
    assert len(fight.ratios) < DUEL_ROUNDS
    assert fight.is_won(margin=0.05)
    fickle = duel("fickle", measure_as(times), expected_us=90e3)
    assert fickle is not None
    assert len(fickle.ratios) < DUEL_ROUNDS
    assert not fickle.is_won(margin=0.05)


@pytest.mark.parametrize(("later", "won"), [([90e3], True), ([90e3, 121e3], False)])
def test_a_whole_duel_decides_where_one_round_of_few_disagrees_with_a_clear_median(
    later: Sequence[float], won: bool
) -> None:
    times = {"native": [120e3], "fickle": [90e3, 90e3, 121e3, *(later * 4)[:4]]}
    fight = duel("fickle", measure_as(times), expected_us=90e3)
    assert fight is not None
    assert len(fight.ratios) == DUEL_ROUNDS
    assert fight.is_won(margin=0.05) is won


def test_long_calls_race_over_one_block() -> None:
    state = race(["one", "other"], measure_as({"one": [50e3, 51e3], "other": [51e3, 50e3]}))
    assert state.rounds_run == 2 * BLOCK_ROUNDS


def test_a_refused_challenger_has_no_duel() -> None:
    assert duel("odd", lambda arms, rounds: [arm_times(arm, [1.0] * 7, refused="no") for arm in arms]) is None


def test_a_duel_on_a_busy_machine_is_fought_once_more() -> None:
    quiet, busy = native_against([2.0] * 7, [1.0] * 7, [2.0] * 7), native_against([9.0] * 7, [1.0] * 7, [2.0] * 7)
    duels = iter([busy, quiet])
    fight = duel("knomial", lambda arms, rounds: next(duels)(arms, rounds))
    assert fight is not None
    assert fight.disturbance == 1.0
    assert list(duels) == []


rounds_of = st.lists(st.floats(0.1, 1e5), min_size=DUEL_ROUNDS, max_size=DUEL_ROUNDS)


@given(rounds_of, rounds_of, rounds_of)
def test_whoever_wins_was_faster_than_native_by_the_margin_in_the_middle_and_in_nearly_all_rounds(
    native: list[float], other: list[float], control: list[float]
) -> None:
    fight = duel("knomial", native_against(native, other, control))
    assert fight is not None
    if fight.is_won(0.05):
        slower = sum(own >= min(pair) for own, pair in zip(other, zip(native, control, strict=True), strict=True))
        assert slower <= 1
        assert fight.ratio >= 1.05


rounds_of_times = st.lists(st.floats(0.1, 1000.0), min_size=DUEL_ROUNDS, max_size=DUEL_ROUNDS)


@given(rounds_of_times, rounds_of_times, rounds_of_times, st.sampled_from([0.0, 0.05, 0.2]))
def test_whatever_the_noise_an_entry_never_says_less_than_the_margin(
    native: list[float], own: list[float], control: list[float], margin: float
) -> None:
    fight = duel("knomial", native_against(native, own, control))
    decision = decide(Problem("broadcast", 64), "knomial", fight, margin)
    assert decision.selection == "native" or decision.native_us >= decision.chosen_us * (1 + margin) * 0.999
