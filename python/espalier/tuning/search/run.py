"""What a run of the tuner works with: a job that measures, a journal, a clock, and what has been found out so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from espalier.measure.worker import ArmTimes, Worker, WorkerLostError
from espalier.tuning.environment.distances import Distances
from espalier.tuning.environment.others import Others
from espalier.tuning.problems import candidates
from espalier.tuning.problems.candidates import Machine
from espalier.tuning.problems.guidelines import Violation
from espalier.tuning.problems.problem import Problem
from espalier.tuning.search.decisions import Decision
from espalier.tuning.search.journal import Journal
from espalier.tuning.search.racing import MOST_ARMS, Duel, Race, duels, race

# After so many lost jobs something is wrong that goes on.
_MOST_LOSSES = 3
# How often something is measured because other programs were busy meanwhile; waiting for them leaves this share of the
# budget; how often to look whether they are done.
_MOST_TRIES, MOST_OF_TIME, _LOOK_EVERY_S = 3, 0.9, 1.0


@dataclass(frozen=True)
class Options:
    """How to tune."""

    margin: float = 0.05  # an entry is active only if it beats native by this share
    batch_us: float = 2000.0  # time of one arm in one round
    cold: bool = False
    samples: int = 2  # problems on which the pick is compared with everything on the grid


@dataclass
class Result:
    """What a run has found out so far."""

    decisions: dict[Problem, Decision] = field(default_factory=dict)
    curves: dict[str, Any] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)  # that are left and fail side by side, too
    repaired: list[Violation] = field(default_factory=list)  # by deciding again
    apparent: list[Violation] = field(default_factory=list)  # left in the table's times, but not side by side
    samples: list[dict[str, Any]] = field(default_factory=list)
    untuned: list[dict[str, Any]] = field(default_factory=list)  # what the built-in choice takes, as multiples
    remarks: list[str] = field(default_factory=list)
    distances: list[float] = field(default_factory=list)  # at which the processors lay (environment/distances.py)
    others: Others = field(default_factory=Others)  # what other programs did meanwhile
    is_complete: bool = False


class OutOfTimeError(Exception):
    """The budget is spent."""


class Run:
    """Measures while there is time, and writes down at once what was decided."""

    def __init__(
        self,
        machine: Machine,
        start: Callable[[], Worker],
        options: Options,
        journal: Journal,
        deadline: float,
        distances: Distances | None = None,
    ) -> None:
        """`start` begins a new job; `deadline` is a time of time.monotonic(); `distances` is what is known of the
        processors' places. Takes up what the journal has."""
        self.result = Result()
        # Told what is being measured, and how many of the problems have been decided since.
        self.on_progress: Callable[[str, int], None] = lambda text, steps: None
        self.machine = machine
        self.options = options
        self.journal = journal
        self.distances = distances or Distances()
        self.form_duels: dict[Problem, list[Decision]] = {}  # what each duel of an uneven form found
        self.pause = time.sleep
        self._start = start
        self._begin = time.monotonic()
        self._deadline = deadline
        self.result.others = Others(deadline - self._begin)
        self._worker: Worker | None = None
        self._losses = 0
        for entry in journal.entries:
            self._take_up(entry)

    def close(self) -> None:
        """Ends the job."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def race(self, problem: Problem, arms: Sequence[str]) -> Race:
        """A race of any number of arms: in heats where there are too many for one. One alone does not run, where calls
        take long: it has to meet native in any case."""
        measure = self.measure(problem)
        arms = list(dict.fromkeys(arms))
        if len(arms) == 1 and candidates.is_very_long(self.machine, problem, arms[0]):
            expected = candidates.estimate_us(self.machine, problem, arms[0])
            return Race({arms[0]: [expected]}, seen={arms[0]: expected})
        heats = [race(arms[at : at + MOST_ARMS], measure) for at in range(0, len(arms), MOST_ARMS)]
        if len(heats) == 1:
            return heats[0]
        final = race([heat.leader for heat in heats if heat.leader is not None], measure)
        for heat in heats:
            final.rounds_run += heat.rounds_run
            final.refused |= heat.refused
            final.seen = {**heat.seen, **final.seen}
        return final

    def measure(self, problem: Problem) -> Callable[[Sequence[str], int], list[ArmTimes]]:
        """What measures arms on this problem, in so many rounds."""

        def measure(arms: Sequence[str], rounds: int) -> list[ArmTimes]:
            options = self.options
            for _ in range(_MOST_TRIES):
                self.check_time()
                job = self.job()
                times = job.measure(problem.operation, problem.bytes, arms, rounds, options.batch_us, options.cold)
                self.distances.note(job.line_ns)
                others, is_disturbed = job.others, job.is_disturbed
                if not is_disturbed or not self._wait_for_quiet():
                    break
            self.result.others.note(others, is_disturbed)
            return times

        return measure

    def _wait_for_quiet(self) -> bool:
        """Whether other programs let go of the processors while there is patience, of which a tuning has so much."""
        others = self.result.others
        while others.patience_s > 0 and self.share_of_time() < MOST_OF_TIME:
            self.on_progress(f"waiting until other programs are done: {others.patience_s:.0f} s left", 0)
            begin = time.monotonic()
            self.pause(_LOOK_EVERY_S)
            self.job().look()
            others.patience_s -= time.monotonic() - begin
            if not self.job().is_disturbed:
                return True
        return False

    def fight(self, problem: Problem, arms: Sequence[str], expected_us: float = 0.0) -> tuple[dict[str, Duel], float]:
        """Duels of arms with native, and at which distance of the processors."""
        fights = duels(arms, self.measure(problem), expected_us)
        return fights, self.job().line_ns

    def look(self) -> float:
        """The usual distance at which the processors lie now; 0 if it is none of those."""
        self.check_time()
        try:
            self.distances.note(self.job().look())
        except WorkerLostError as error:
            self.lose("where the processors lie", error, then="")
        return self.distances.here

    def begin(self, what: str) -> None:
        """Says what comes next, if there is time for it."""
        self.check_time()
        self.on_progress(what, 0)

    def job(self) -> Worker:
        """The job, begun anew where there is none."""
        if self._worker is None:
            self._worker = self._start()
        return self._worker

    def lose(self, what: str, error: WorkerLostError, then: str = "; native stays there") -> None:
        """Notes a job that was lost over something, and what follows."""
        self.close()
        self.result.remarks.append(f"{what}: {error}{then}")
        self._losses += 1
        if self._losses >= _MOST_LOSSES:
            self.result.remarks.append(f"gave up after {self._losses} lost jobs")
            raise OutOfTimeError

    def record(self, decision: Decision) -> None:
        """Keeps a decision, in the place of an earlier one."""
        self.result.decisions[decision.problem] = decision
        self.journal.append({"decision": decision.to_json()})

    def _take_up(self, entry: Mapping[str, Any]) -> None:
        """One line of an earlier run."""
        if "decision" in entry:
            decision = Decision.from_json(entry["decision"])
            self.result.decisions[decision.problem] = decision
        elif "curve" in entry:
            self.result.curves[entry["curve"]] = entry["points"]
        elif "sample" in entry:
            self.result.samples.append(entry["sample"])
        elif "untuned" in entry:
            self.result.untuned.append(entry["untuned"])
        elif "duel" in entry:
            duel = Decision.from_json(entry["duel"])
            self.form_duels.setdefault(duel.problem, []).append(duel)

    def share_of_time(self) -> float:
        """How much of the time is gone, from 0 to 1."""
        now = time.monotonic()
        return (now - self._begin) / max(now - self._begin, self._deadline - self._begin)

    def check_time(self) -> None:
        """Raises OutOfTimeError when the time is up."""
        if time.monotonic() > self._deadline:
            raise OutOfTimeError
