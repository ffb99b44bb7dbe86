"""One run of the tuner on machines whose times are known."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from espalier.tuning.problems.guidelines import check_guidelines
from espalier.tuning.problems.problem import Problem, list_crossovers, list_problems
from espalier.tuning.search.decisions import Decision, less_favourable
from espalier.tuning.search.journal import Journal
from espalier.tuning.search.run import Options, OutOfTimeError
from espalier.tuning.session import Session
from espalier.tuning.verdict.summary import summarize
from tuning_bench import SimulatedWorker, TimeOf, a_machine

ABOUT = {"machine": "simulated"}
PROBLEMS = [Problem("broadcast", 1 << 20), Problem("allgather", 1024), Problem("barrier", 0)]


def knob_cost(operation: str, size: int, arm: str) -> float:
    """Native takes 10; eight cells of 16K are best, at 5."""
    if arm == "native":
        return 10.0
    if arm == "tiny":
        return 7.0
    knobs = dict(word.split("=") for word in arm.split(",")[1:])
    if knobs.get("within") == "single_copy":
        return 9.0
    cell = {"4K": 4, "8K": 8, "16K": 16, "32K": 32, "64K": 64, "128K": 128}.get(knobs.get("cell", "32K"), 32)
    return 5.0 + abs(math.log2(cell / 16)) / 4 + abs(math.log2(int(knobs.get("cells", "4")) / 8)) / 4


@pytest.fixture
def tune(tmp_path: Path):
    """Makes sessions that share a journal, as runs one after the other do."""

    def make(worker: SimulatedWorker, seconds: float = 60.0, ranks: int = 2, **options: float) -> Session:
        journal = Journal(tmp_path / "journal", ABOUT)
        deadline = time.monotonic() + seconds
        return Session(a_machine(ranks), lambda: worker, Options(samples=0, **options), journal, deadline)

    return make


def flat(native: float, own: float) -> TimeOf:
    return lambda operation, size, arm: native if arm == "native" else own


def test_the_search_finds_the_best_knobs_with_few_of_the_runs(tune) -> None:
    session = tune(SimulatedWorker(knob_cost))
    session.run([PROBLEMS[0]])
    decision = session.result.decisions[PROBLEMS[0]]
    assert "cell=16K,cells=8" in decision.selection
    assert (decision.native_us, decision.chosen_us) == (13.0, 6.5)  # the median round is disturbed by 1.3
    assert decision.rounds_run < decision.rounds_exhaustive
    assert session.result.is_complete


def test_native_stays_where_nothing_beats_it_by_the_margin(tune) -> None:
    session = tune(SimulatedWorker(flat(native=1.0, own=0.97)))
    session.run(PROBLEMS)
    assert {it.selection for it in session.result.decisions.values()} == {"native"}
    assert all("x native" in it.note for it in session.result.decisions.values())


def later(worker: SimulatedWorker, begin: int, time_of: TimeOf) -> SimulatedWorker:
    """From its `begin`-th answer on, the machine has become another one."""

    def change() -> None:
        if len(worker.measured) == begin:
            worker.time_of = time_of

    worker.before = change
    return worker


def count_answers(time_of: TimeOf, tune) -> int:
    """How many measurements decide the broadcast for the first time."""
    worker = SimulatedWorker(time_of)
    session = tune(worker)
    session._settle(PROBLEMS[0])
    return len(worker.measured)


def test_a_win_that_does_not_last_is_none(tune, tmp_path: Path) -> None:
    begin = count_answers(knob_cost, tune)
    (tmp_path / "journal").unlink()
    session = tune(later(SimulatedWorker(knob_cost), begin, flat(native=1.0, own=3.0)))
    session.run([PROBLEMS[0]])
    assert session.result.decisions[PROBLEMS[0]].selection == "native"


def test_what_is_slower_later_gives_way_to_what_wins_then_and_lasts(tune, tmp_path: Path) -> None:
    def single_copy_wins(operation: str, size: int, arm: str) -> float:
        return 10.0 if arm == "native" else 6.0 if "single_copy" in arm else 12.0

    begin = count_answers(knob_cost, tune)
    (tmp_path / "journal").unlink()
    session = tune(later(SimulatedWorker(knob_cost), begin, single_copy_wins))
    session.run([PROBLEMS[0]])
    assert "single_copy" in session.result.decisions[PROBLEMS[0]].selection


def moving(near_until: int, far_until: int) -> SimulatedWorker:
    """Far from each other, after some answers, processors lose what near ones win; later they come near again."""
    worker = SimulatedWorker(flat(native=10.0, own=5.0))

    def move() -> None:
        is_far = near_until <= len(worker.measured) < far_until
        worker.line_ns = 500.0 if is_far else 100.0
        worker.time_of = flat(native=10.0, own=20.0 if is_far else 5.0)

    worker.before = move
    return worker


def test_an_entry_has_to_win_at_each_distance_of_processors_that_are_moved(tune, tmp_path: Path) -> None:
    still = SimulatedWorker(flat(native=10.0, own=5.0))
    tune(still).run(PROBLEMS)
    (tmp_path / "journal").unlink()
    everything = len(still.measured)  # ends where the processors of the other machine begin to lie far from each other

    session = tune(moving(everything - 1, everything + 60))
    session.run(PROBLEMS)

    assert {it.selection for it in session.result.decisions.values()} == {"native"}
    assert any("where they lay later" in it.note for it in session.result.decisions.values())


def beside(worker: SimulatedWorker, busy: Callable[[int], bool]) -> SimulatedWorker:
    """Other programs keep a processor busy during these of its answers, looks among them: then all takes ten times as
    long."""
    quiet = worker.time_of

    def disturb() -> None:
        is_busy = busy(len(worker.measured) + worker.looks)
        worker.others, worker.is_disturbed = float(is_busy), is_busy
        worker.time_of = (lambda *about: 10 * quiet(*about)) if is_busy else quiet

    worker.before = disturb
    return worker


def test_what_was_measured_beside_other_programs_is_measured_again_when_they_are_done(tune) -> None:
    session = tune(beside(SimulatedWorker(flat(native=10.0, own=5.0)), lambda answer: 1 <= answer < 6))
    session.pause = lambda seconds: None
    session.run([PROBLEMS[0]])
    assert session.result.decisions[PROBLEMS[0]].native_us == 13.0
    assert str(session.result.others) == ""


def test_programs_that_stay_are_waited_for_once_and_then_mentioned(tune) -> None:
    worker = beside(SimulatedWorker(flat(native=10.0, own=5.0)), lambda answer: True)
    session = tune(worker)
    session.pause = lambda seconds: None
    session.result.others.patience_s = 1e-9
    session.run([PROBLEMS[0]])
    assert session.result.decisions[PROBLEMS[0]].native_us == 130.0
    assert worker.looks == 1
    said = summarize(session.result, 1, 2, 1.0).lines()[-1]
    assert said.startswith("other programs kept up to 1.00 processors busy during")
    assert said.endswith("tune again when the machine is idle")


def test_nothing_is_repeated_for_distances_where_processors_stay(tune, tmp_path: Path) -> None:
    counts = []
    for trip in (0.0, 100.0):
        worker = SimulatedWorker(flat(native=10.0, own=5.0))
        worker.line_ns = trip
        tune(worker).run(PROBLEMS)
        (tmp_path / "journal").unlink()
        counts.append(len(worker.measured))
    assert counts[0] == counts[1]


@pytest.mark.parametrize(("later_us", "way"), [(8.0, "cells"), (9.7, "single_copy")])
def test_what_is_best_at_its_worst_stays(tune, tmp_path: Path, later_us: float, way: str) -> None:
    def cells_slow_down(operation: str, size: int, arm: str) -> float:
        return 10.0 if arm == "native" else later_us if "within=cells" in arm else 9.0

    def first(operation: str, size: int, arm: str) -> float:
        return 10.0 if arm == "native" else 7.0 if "within=cells" in arm else 9.0

    begin = count_answers(first, tune)
    (tmp_path / "journal").unlink()
    session = tune(later(SimulatedWorker(first), begin, cells_slow_down))
    session.run([PROBLEMS[0]])
    decision = session.result.decisions[PROBLEMS[0]]
    assert f"within={way}" in decision.selection
    assert len(decision.met) > 1


def test_uneven_blocks_count_the_less_favourable_of_two_duels() -> None:
    problem = Problem("allgatherv", 64)
    won = Decision(problem, "ring", 2.0, 1.0, 2.0, 2.0, 10, "ring", 1.0, "")
    lost = Decision(problem, "native", 2.0, 2.0, 1.0, 1.0, 10, "ring", 3.0, "")
    assert less_favourable(won, lost) is lost
    assert less_favourable(lost, won) is lost


def test_a_duel_counts_by_what_its_rounds_say_not_by_two_medians() -> None:
    problem = Problem("scatterv", 16)
    disturbed = Decision(problem, "native", 14.7, 14.7, 1.0, 1.0, 10, "tiny", 20.0, "", duel_ratio=1.02)
    of_an_older_journal = Decision(problem, "native", 1.0, 1.0, 1.0, 1.0, 10, "tiny", 1.05, "")
    assert less_favourable(disturbed, of_an_older_journal) is of_an_older_journal


def test_uneven_forms_are_decided_by_duels_with_what_is_best_for_equal_blocks(tune) -> None:
    def time_of(operation: str, size: int, arm: str) -> float:
        return 2.0 if arm == "native" else 4.0 if operation == "allgatherv" and size == 64 else 1.0

    worker = SimulatedWorker(time_of)
    session = tune(worker)
    session.run([Problem("allgather", size) for size in (64, 1024, 16384)])
    decisions = session.result.decisions
    assert decisions[Problem("allgatherv", 64)].selection == "native"
    assert decisions[Problem("allgatherv", 16384)].selection == decisions[Problem("allgather", 16384)].best
    duels = [arms for operation, _, arms in worker.measured if operation == "allgatherv" and "native" in arms]
    assert len(duels) == 6, "each size twice"


def test_what_is_best_for_equal_blocks_gives_way_to_what_is_faster_for_uneven_ones(tune) -> None:
    def time_of(operation: str, size: int, arm: str) -> float:
        likes = "single_copy" if operation == "allgatherv" else "cells"
        return 3.0 if arm == "native" else 1.0 if likes in arm else 2.0

    session = tune(SimulatedWorker(time_of))
    session.run([Problem("allgather", 16384)])
    assert "single_copy" in session.result.decisions[Problem("allgatherv", 16384)].selection


GATHERS = [Problem("gather", size) for size in (64, 16 << 10, 64 << 10)]


def gatherv_selections(session: Session) -> list[str]:
    return [session.result.decisions[Problem("gatherv", it.bytes)].selection for it in GATHERS]


def test_one_window_serves_all_sizes_of_a_form_where_the_usual_one_loses_at_some(tune) -> None:
    def time_of(operation: str, size: int, arm: str) -> float:
        if arm == "native":
            return 2.0
        return 3.0 if operation == "gatherv" and arm == "tiny" and size == 16 << 10 else 1.0

    worker = SimulatedWorker(time_of)
    session = tune(worker, ranks=3)
    session.run(GATHERS)
    assert gatherv_selections(session) == ["tiny,window=32K"] * 3
    tried = {size for operation, size, arms in worker.measured if "tiny,window=32K" in arms}
    assert tried == {16 << 10}, "at other sizes it is the same as the usual one"


def test_a_form_is_not_lost_by_one_duel_of_several(tune) -> None:
    fought, rounds = 0, 7

    def time_of(operation: str, size: int, arm: str) -> float:
        nonlocal fought
        is_long = operation == "gatherv" and size == 64 << 10 and arm == "tiny"
        fought += is_long
        return 2.0 if arm == "native" else 3.0 if is_long and fought <= rounds else 1.0

    session = tune(SimulatedWorker(time_of))
    session.run(GATHERS)
    assert gatherv_selections(session) == ["tiny"] * 3
    assert fought == 6 * rounds, "until it has won five times, of nine at most"


def test_sizes_that_lose_again_are_lost(tune) -> None:
    worker = SimulatedWorker(lambda operation, size, arm: 2.0 if arm == "native" else 3.0 if size == 64 else 1.0)
    session = tune(worker, ranks=3)
    session.run(GATHERS)
    assert gatherv_selections(session) == ["native"] * 3, "one way serves all"
    lost = [arms for operation, size, arms in worker.measured if operation == "gatherv" and size == 64]
    assert len(lost) == 2


def test_of_two_ranks_every_size_of_a_form_chooses_for_itself(tune) -> None:
    def time_of(operation: str, size: int, arm: str) -> float:
        if arm == "native":
            return 2.0
        loses = operation == "gatherv" and (size == 64 or (size == 16 << 10 and arm == "tiny"))
        return 3.0 if loses else 1.0

    worker = SimulatedWorker(time_of)
    session = tune(worker)
    session.run(GATHERS)
    assert gatherv_selections(session) == ["native", "tiny,window=32K", "tiny"]


def test_an_interrupted_run_goes_on_where_it_stopped(tune) -> None:
    worker = SimulatedWorker(flat(native=2.0, own=1.0))
    first = tune(worker)

    def interrupt() -> None:
        if worker.measured and worker.measured[-1][0] == "barrier":
            raise KeyboardInterrupt

    worker.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        first.run(PROBLEMS)
    assert list(first.result.decisions) == PROBLEMS[:2]
    again = SimulatedWorker(flat(native=2.0, own=1.0))
    second = tune(again)
    second.run(PROBLEMS)
    raced = {operation for operation, _, arms in again.measured if "native" not in arms}
    assert raced == {"barrier", "allgatherv"}, "what is decided only has to win once more"
    assert list(second.result.decisions)[:3] == PROBLEMS


FORMS = [Problem("allgather", size) for size in (64, 1024, 16384)]


def interrupted_before(worker: SimulatedWorker, count: int) -> SimulatedWorker:
    """Ctrl-C in place of the answer that follows `count` others."""

    def interrupt() -> None:
        if len(worker.measured) == count:
            raise KeyboardInterrupt

    worker.before = interrupt
    return worker


def test_duels_of_uneven_blocks_are_fought_once_however_often_a_run_is_interrupted(tune) -> None:
    def duels(*workers: SimulatedWorker) -> list[int]:
        return [
            size
            for worker in workers
            for operation, size, arms in worker.measured
            if operation == "allgatherv" and "native" in arms
        ]

    undisturbed = SimulatedWorker(flat(native=2.0, own=1.0))
    tune(undisturbed).run(FORMS)
    last = max(at for at, it in enumerate(undisturbed.measured) if it[0] == "allgatherv")
    assert sorted(duels(undisturbed)) == sorted([64, 1024, 16384] * 2)
    Path(tune(undisturbed).journal.path).unlink()
    first, second = (SimulatedWorker(flat(native=2.0, own=1.0)) for _ in range(2))
    with pytest.raises(KeyboardInterrupt):
        tune(interrupted_before(first, last)).run(FORMS)
    session = tune(second)
    session.run(FORMS)
    assert sorted(duels(first, second)) == sorted([64, 1024, 16384] * 2)
    assert session.result.decisions[Problem("allgatherv", 16384)].selection != "native"


def test_uneven_blocks_get_their_turn_before_the_time_is_up(tune, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = SimulatedWorker(flat(native=2.0, own=1.0))
    session = tune(worker)
    monkeypatch.setattr(session, "share_of_time", lambda: 0.3 * len(session.result.decisions))
    session.run(FORMS)
    order = [problem.operation for problem in session.result.decisions]
    assert order[:5] == ["allgather", "allgather", "allgatherv", "allgatherv", "allgather"]


def test_what_is_known_of_the_built_in_choice_is_not_measured_again_after_an_interruption(tmp_path: Path) -> None:
    def make(worker: SimulatedWorker) -> Session:
        journal = Journal(tmp_path / "journal", ABOUT)
        return Session(a_machine(2), lambda: worker, Options(samples=1), journal, time.monotonic() + 60)

    def compared(worker: SimulatedWorker) -> list[int]:
        return [size for operation, size, arms in worker.measured if operation == "allgather" and "auto" in arms]

    first, second = (SimulatedWorker(flat(native=2.0, own=1.0)) for _ in range(2))

    def interrupt() -> None:
        if compared(first) == [64, 1024]:
            raise KeyboardInterrupt

    first.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        make(first).run(FORMS)
    session = make(second)
    session.run(FORMS)
    assert 16384 in compared(second)
    assert not {64, 1024} & set(compared(second))
    assert [it["bytes"] for it in session.result.untuned] == [*compared(first), *compared(second)]


def test_a_journal_about_something_else_is_begun_anew(tune, tmp_path: Path) -> None:
    tune(SimulatedWorker(flat(2.0, 1.0))).run(PROBLEMS)
    assert Journal(tmp_path / "journal", ABOUT).entries
    assert Journal(tmp_path / "journal", {"machine": "another"}).entries == []


def test_a_line_that_a_kill_has_cut_is_forgotten(tune, tmp_path: Path) -> None:
    tune(SimulatedWorker(flat(2.0, 1.0))).run(PROBLEMS)
    text = (tmp_path / "journal").read_text()
    (tmp_path / "journal").write_text(text[: text.index("allgatherv") + 20])
    assert list(tune(SimulatedWorker(flat(2.0, 1.0))).result.decisions) == PROBLEMS


def test_a_spent_budget_ends_the_run_with_what_was_decided(tune) -> None:
    session = tune(SimulatedWorker(flat(2.0, 1.0)), seconds=-1)
    with pytest.raises(OutOfTimeError):
        session.run(PROBLEMS)
    assert session.result.decisions == {}


def test_a_job_that_is_lost_leaves_its_problem_to_native(tmp_path: Path) -> None:
    workers = [SimulatedWorker(flat(2.0, 1.0)) for _ in range(2)]
    workers[0].lose()
    jobs = iter(workers)
    journal = Journal(tmp_path / "journal", ABOUT)
    session = Session(a_machine(2), lambda: next(jobs), Options(samples=0), journal, time.monotonic() + 60)
    session.run(PROBLEMS)
    decisions = session.result.decisions
    assert decisions[PROBLEMS[0]].selection == "native"
    assert decisions[PROBLEMS[1]].selection != "native"
    assert workers[0].is_closed
    assert "native stays" in session.result.remarks[0]


def test_jobs_that_are_lost_again_and_again_end_the_run(tmp_path: Path) -> None:
    worker = SimulatedWorker(flat(2.0, 1.0))
    worker.lose()
    journal = Journal(tmp_path / "journal", ABOUT)
    session = Session(a_machine(2), lambda: worker, Options(samples=0), journal, time.monotonic() + 60)
    with pytest.raises(OutOfTimeError):
        session.run([*PROBLEMS, Problem("broadcast", 4)])
    assert "gave up after 3 lost jobs" in session.result.remarks[-1]


def test_wrong_data_disqualify_and_are_reported(tune) -> None:
    worker = SimulatedWorker(flat(2.0, 1.0))
    worker.refusals = {"tiny": "wrong data"}
    session = tune(worker)
    session.run([PROBLEMS[2]])
    assert session.result.decisions[PROBLEMS[2]].selection != "tiny"
    assert "wrong data" in session.result.remarks[0]


def test_an_operation_that_no_candidate_survives_stays_native_with_the_reason(tune) -> None:
    class Refusing(SimulatedWorker):
        def measure(self, operation, size, arms, rounds, batch_us, cold=False):
            self.refusals = {arm: "native: no shared memory" for arm in arms if arm != "native"}
            return super().measure(operation, size, arms, rounds, batch_us, cold)

    session = tune(Refusing(flat(2.0, 1.0)))
    session.run(PROBLEMS)
    assert {(it.selection, it.note) for it in session.result.decisions.values()} == {
        ("native", "native: no shared memory")
    }


def test_a_choice_that_breaks_a_guideline_is_decided_again(tune) -> None:
    small, large = Problem("broadcast", 65536), Problem("broadcast", 262144)

    class Disturbed(SimulatedWorker):
        """Everything at the smaller size is ten times slower until the larger one has been measured."""

        def measure(self, operation, size, arms, rounds, batch_us, cold=False):
            seen = any(it[1] == large.bytes for it in self.measured)
            slow = 10.0 if size == small.bytes and not seen else 1.0
            self.time_of = lambda op, n, arm: slow * (2.0 if arm == "native" else 1.0)
            return super().measure(operation, size, arms, rounds, batch_us, cold)

    session = tune(Disturbed(flat(2.0, 1.0)))
    session.run([small, large])
    assert [str(it.problem) for it in session.result.repaired] == [str(small)]
    assert session.result.violations == []
    times = {problem: it.chosen_us for problem, it in session.result.decisions.items()}
    assert check_guidelines(times, 2) == []


def test_a_guideline_that_fails_by_the_tables_times_only_is_told_apart(tune) -> None:
    small, large = Problem("broadcast", 65536), Problem("broadcast", 262144)

    class Waking(SimulatedWorker):
        """The larger size was measured on a faster machine: while no single round was asked for."""

        def measure(self, operation, size, arms, rounds, batch_us, cold=False):
            fast = 0.1 if size == large.bytes and rounds > 1 else 1.0
            self.time_of = lambda op, n, arm: fast * (2.0 if arm == "native" else 1.0)
            return super().measure(operation, size, arms, rounds, batch_us, cold)

    session = tune(Waking(flat(2.0, 1.0)))
    session.run([small, large])
    assert [it.name for it in session.result.apparent] == ["broadcast is monotone in size at 64K"]
    assert session.result.violations == []


def test_a_guideline_that_fails_side_by_side_is_left_as_a_violation(tune) -> None:
    small, large = Problem("broadcast", 65536), Problem("broadcast", 262144)

    def time_of(operation: str, size: int, arm: str) -> float:
        return (20.0 if size == small.bytes else 1.0) * (2.0 if arm == "native" else 1.0)

    session = tune(SimulatedWorker(time_of))
    session.run([small, large])
    assert [it.name for it in session.result.violations] == ["broadcast is monotone in size at 64K"]
    assert session.result.apparent == []


def test_on_samples_the_pick_meets_everything_on_the_grid(tmp_path: Path) -> None:
    worker = SimulatedWorker(lambda operation, size, arm: 9.0 if arm == "auto" else knob_cost(operation, size, arm))
    journal = Journal(tmp_path / "journal", ABOUT)
    session = Session(a_machine(2), lambda: worker, Options(samples=1), journal, time.monotonic() + 60)
    session.run([PROBLEMS[0]])
    (sample,) = session.result.samples
    assert sample["selections"] > 10
    assert sample["distance"] == 0.0


def test_the_built_in_choice_is_measured_next_to_what_was_tuned(tmp_path: Path) -> None:
    def time_of(operation: str, size: int, arm: str) -> float:
        return 8.0 if arm == "auto" else knob_cost(operation, size, arm)

    journal = Journal(tmp_path / "journal", ABOUT)
    session = Session(
        a_machine(2), lambda: SimulatedWorker(time_of), Options(samples=1), journal, time.monotonic() + 60
    )
    session.run([PROBLEMS[0]])
    assert session.result.untuned == [{"operation": "broadcast", "bytes": 1 << 20, "ratio": 1.6}]
    lines = summarize(session.result, 1, 2, 1.0).lines()
    assert "without the table, the built-in choice takes 1.60 times as long" in lines


def test_coarse_sizes_come_first_and_each_problem_once() -> None:
    problems = list_problems(["broadcast", "barrier"], [4, 16, 64, 256, 1024], 2)
    assert problems[0] == Problem("barrier", 0)
    assert [problem.bytes for problem in problems[1:]] == [4, 1024, 64, 16, 256]


def test_problems_that_no_memory_holds_are_left_out() -> None:
    assert list_problems(["alltoall"], [4, 64 << 20], 8) == [Problem("alltoall", 4)]


def test_half_way_sizes_are_decided_where_the_way_changes() -> None:
    selections = {
        Problem("scan", 64): "tiny",
        Problem("scan", 256): "tiny",
        Problem("scan", 1024): "ring,within=cells,cell=4K",
        Problem("scan", 4096): "ring,within=cells,cell=8K",
        Problem("scan", 16384): "ring,within=single_copy",
        Problem("scan", 65536): "native",
        Problem("barrier", 0): "tiny",
    }
    assert [it.bytes for it in list_crossovers(selections)] == [512, 8192, 32768]


def test_long_calls_are_neither_decided_half_way_nor_repeated(tune) -> None:
    def time_of(operation: str, size: int, arm: str) -> float:
        if arm == "native":
            return 100e3
        is_cell = "within=cells" in arm
        return 50e3 if is_cell == (size < 1 << 20) else 70e3  # the way changes

    worker = SimulatedWorker(time_of)
    session = tune(worker)
    sizes = [Problem("broadcast", 256 << 10), Problem("broadcast", 4 << 20)]
    session.run(sizes)
    assert set(session.result.decisions) == set(sizes)
    duels = [arms for _, _, arms in worker.measured if arms[0] == "native"]
    assert len(duels) == len(sizes)
