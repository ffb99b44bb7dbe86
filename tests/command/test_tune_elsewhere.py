"""The tuner where a host moves the processors about, on machines whose times are known at each distance."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from espalier.tuning.environment.distances import Distances, is_virtual
from espalier.tuning.problems.problem import Problem
from espalier.tuning.search.journal import Journal
from espalier.tuning.search.run import Options
from espalier.tuning.session import Session
from espalier.tuning.verdict.summary import summarize
from tuning_bench import SimulatedWorker, TimeOf, a_machine

NEAR, FAR = 100.0, 500.0
BROADCAST = Problem("broadcast", 16384)


class MovedWorker(SimulatedWorker):
    """Processors lie near or far from each other, with times of their own at each; `moves` says when they lie far, by
    how often the worker has been asked for anything."""

    def __init__(self, near: TimeOf, far: TimeOf, is_far: Callable[[int], bool]) -> None:
        super().__init__(near)
        self.asked = 0

        def move() -> None:
            self.asked += 1
            lie_far = is_far(self.asked)
            self.line_ns = FAR if lie_far else NEAR
            self.time_of = far if lie_far else near

        self.before = move


class Clock:
    """Time that only pauses let pass."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paused = 0.0
        monkeypatch.setattr("espalier.tuning.verdict.elsewhere.time.monotonic", self.read)

    def read(self) -> float:
        return self.paused

    def pause(self, seconds: float) -> None:
        self.paused += seconds


@pytest.fixture
def tune(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Tunes broadcasts, and returns the session and how many seconds it has waited."""

    def run(worker: SimulatedWorker, distances: Distances) -> tuple[Session, float]:
        clock = Clock(monkeypatch)
        journal = Journal(tmp_path / "journal", {"machine": "moved"})
        session = Session(a_machine(2), lambda: worker, Options(samples=0), journal, 1000.0, distances)
        session.pause = clock.pause
        session.run([BROADCAST])
        session.result.distances = distances.usual
        return session, clock.paused

    return run


def by_way(native: float, cells: float, single_copy: float) -> TimeOf:
    """Times by how data travel on the node."""

    def time_of(operation: str, size: int, arm: str) -> float:
        if arm == "native":
            return native
        return cells if "within=cells" in arm else single_copy if "single_copy" in arm else 2 * native

    return time_of


def by_turns(asked: int) -> bool:
    """A hundred answers near, a hundred far."""
    return asked // 100 % 2 == 1


@pytest.mark.parametrize("is_far", [by_turns, lambda asked: not by_turns(asked)])
@pytest.mark.parametrize(
    ("far", "way"),
    [
        (by_way(10.0, 9.0, 5.0), "within=cells"),  # single copy, best far, loses near
        (by_way(10.0, 12.0, 5.0), "native"),  # nothing wins at both
    ],
)
def test_what_is_best_where_it_fares_worst_is_selected(tune, is_far, far: TimeOf, way: str) -> None:
    worker = MovedWorker(by_way(10.0, 5.0, 13.0), far, is_far)
    session, _ = tune(worker, Distances(may_change=True))
    decision = session.result.decisions[BROADCAST]
    assert way in decision.selection
    assert way == "native" or decision.distances == [NEAR, FAR]


def test_a_runner_up_that_raced_too_slowly_to_be_a_rival_is_found_at_the_other_distance(tune) -> None:
    near, far = by_way(10.0, 8.0, 30.0), by_way(10.0, 9.0, 2.0)
    session, _ = tune(MovedWorker(near, far, lambda asked: not by_turns(asked)), Distances(may_change=True))
    assert "within=cells" in session.result.decisions[BROADCAST].selection, "single copy was 4.5 times as fast at first"


def test_a_known_distance_is_waited_for(tune) -> None:
    worker = MovedWorker(by_way(10, 5, 6), by_way(10, 5, 6), lambda asked: asked > 200)
    session, waited = tune(worker, Distances([NEAR, FAR]))
    assert session.result.decisions[BROADCAST].distances == [NEAR, FAR]
    assert 0 < waited < 90


def test_waiting_for_a_distance_that_does_not_come_ends_and_the_entry_says_so(tune) -> None:
    worker = MovedWorker(by_way(10, 5, 6), by_way(10, 20, 20), lambda asked: False)
    session, waited = tune(worker, Distances([NEAR, FAR]))
    assert session.result.decisions[BROADCAST].distances == [NEAR]
    assert 90 <= waited < 91
    assert session.result.is_complete
    lines = summarize(session.result, 1, 2, 1.0).lines()
    left = "1 of the entries met native at one of these only"
    assert any("100 and 500 ns apart" in line and left in line for line in lines)


@pytest.mark.parametrize(("may_change", "seconds"), [(True, 30), (False, 0)])
def test_processors_are_watched_for_a_short_while_only_where_a_host_may_move_them(
    tune, may_change: bool, seconds: float
) -> None:
    worker = MovedWorker(by_way(10, 5, 6), by_way(10, 20, 20), lambda asked: False)
    session, waited = tune(worker, Distances(may_change=may_change))
    assert waited == pytest.approx(seconds, abs=0.5)
    assert "within=cells" in session.result.decisions[BROADCAST].selection


def test_waiting_leaves_some_of_the_budget(tmp_path: Path) -> None:
    worker = MovedWorker(by_way(10, 5, 6), by_way(10, 20, 20), lambda asked: False)
    journal = Journal(tmp_path / "journal", {"machine": "moved"})
    deadline = time.monotonic() + 3
    session = Session(a_machine(2), lambda: worker, Options(samples=0), journal, deadline, Distances([NEAR, FAR]))
    session.run([BROADCAST])
    assert session.result.is_complete
    assert time.monotonic() < deadline


def test_a_distance_that_was_seen_for_a_moment_only_is_none() -> None:
    distances = Distances()
    for trip in (NEAR, NEAR, FAR, NEAR, NEAR, NEAR, NEAR, 110.0, FAR, FAR):
        distances.note(trip)
    assert distances.usual == [NEAR]
    for _ in range(3):
        distances.note(FAR)
    assert distances.usual == [NEAR, FAR]
    assert distances.here == FAR


def test_a_host_is_known_by_what_the_processor_says(tmp_path: Path) -> None:
    real, virtual, none = tmp_path / "real", tmp_path / "virtual", tmp_path / "none"
    real.write_text("flags\t\t: fpu sse2\n")
    virtual.write_text("flags\t\t: fpu sse2 hypervisor\n")
    assert not is_virtual(real, none)
    assert is_virtual(virtual, none)
    assert is_virtual(real, virtual)
