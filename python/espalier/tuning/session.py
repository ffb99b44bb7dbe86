"""One run of the tuner: problem after problem, until all are decided, the time is up or somebody stops it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from espalier.tuning import candidates
from espalier.tuning.candidates import Machine
from espalier.tuning.curves import draw_curve
from espalier.tuning.decisions import (
    Decision,
    decide,
    hold,
    leave_to_native,
    less_favourable,
    list_rivals,
    native_stays,
)
from espalier.tuning.forms import (
    find_challengers,
    list_shorts,
    needs_a_look,
    settle_any_size,
    settle_exchanged,
    settle_shorts,
    settled_together,
    takes_any_size,
)
from espalier.tuning.guidelines import Violation, check_guidelines, is_real
from espalier.tuning.journal import Journal
from espalier.tuning.meetings import Meetings
from espalier.tuning.place import learn_groups, learn_messages
from espalier.tuning.problems import EXCHANGED, Problem, list_crossovers, list_forms
from espalier.tuning.racing import BLOCK_ROUNDS, LONG_US, MOST_ARMS, MOST_BLOCKS, NATIVE, Race, duel, duels, race
from espalier.tuning.sampling import compare_with_all, compare_with_builtin
from espalier.tuning.table import rows_of, selection_at
from espalier.tuning.worker import ArmTimes, Worker, WorkerLostError

# How often the winner's knobs are varied before it is taken as it is.
_SEARCH_STEPS = 2
# When so much of the time is gone, uneven forms get their turn at the sizes that there are: a row about equal blocks
# would be followed by uneven ones, too, which it may not suit.
_TIME_FOR_FORMS = 0.6
# How often entries may look for the machine in another state than they have won in.
_MOST_VISITS = 3
# After so many lost jobs something is wrong that goes on.
_MOST_LOSSES = 3


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
    is_complete: bool = False


class OutOfTimeError(Exception):
    """The budget is spent."""


class Session:
    """Decides problems by measuring. Every decision is in the journal before the next problem begins."""

    def __init__(
        self,
        machine: Machine,
        start: Callable[[], Worker],
        options: Options,
        journal: Journal,
        deadline: float,
    ) -> None:
        """`start` begins a new job; `deadline` is a time of time.monotonic()."""
        self.result = Result()
        # Told what is being measured, and how many of the problems have been decided since.
        self.on_progress: Callable[[str, int], None] = lambda text, steps: None
        self._machine = machine
        self._start = start
        self._options = options
        self._journal = journal
        self._deadline = deadline
        self._begin = time.monotonic()
        self._form_duels: dict[Problem, list[Decision]] = {}  # what each duel of an uneven form found, one or two
        self._meetings = Meetings()
        self._worker: Worker | None = None
        self._losses = 0
        for entry in journal.entries:
            self._take_up(entry)

    def close(self) -> None:
        """Ends the job."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def run(self, problems: Sequence[Problem]) -> None:
        """Decides all problems, uneven forms and what lies half-way where the way changes; has wins repeated; checks
        the guidelines; samples. Half-way only where calls are short: between two long ones the wire decides.

        May end at any moment by OutOfTimeError or KeyboardInterrupt;
        `result` has what was decided until then.
        """
        is_early = True
        for problem in problems:
            if is_early and self._share_of_time() >= _TIME_FOR_FORMS:
                is_early = False
                self._settle_forms(problems)
            self._settle(problem)
            self.on_progress("", 1)
        self._settle_forms(problems)
        for crossover in list_crossovers({it: self.result.decisions[it].selection for it in problems}):
            if not self._is_between_long(crossover, problems):
                self._settle(crossover)
        self._repeat_wins()
        self._settle_forms(problems, duels=2)
        self._keep_guidelines()
        self._repeat_wins()
        self._repeat_elsewhere(problems)
        self._try_without_table()
        self._sample(problems)
        self.result.is_complete = True

    def draw_curves(self, names: Iterable[str]) -> None:
        """Measures the machine's curves that an earlier run has not; candidates are then judged by what they say."""
        for name in names:
            if name not in self.result.curves:
                self._draw(name)
        self._machine = learn_messages(self._machine, self.result.curves.get("latency", []))
        self._machine = learn_groups(self._machine, self.result.curves.get("groups", []))

    def _draw(self, name: str) -> None:
        self._check_time()
        self.on_progress(f"machine: {name}", 0)
        try:
            points = draw_curve(self._machine, self._job(), name, self._options.batch_us)
        except WorkerLostError as error:
            self._lose(f"curve {name}", error)
            points = []
        self.result.curves[name] = points
        self._journal.append({"curve": name, "points": points})

    # ---- one problem -------------------------------------------------------------------------------------------------

    def _settle(self, problem: Problem) -> None:
        """Decides a problem unless an earlier run has."""
        if problem not in self.result.decisions:
            self._check_time()
            self._record(self._decide_safely(problem))

    def _is_between_long(self, crossover: Problem, problems: Sequence[Problem]) -> bool:
        """Whether the next smaller problem of the operation takes long already."""
        smaller = [it for it in problems if it.operation == crossover.operation and it.bytes < crossover.bytes]
        return self.result.decisions[max(smaller, key=lambda it: it.bytes)].native_us >= LONG_US

    def _decide_safely(self, problem: Problem) -> Decision:
        """A job that dies or hangs over a problem leaves that problem to native."""
        self.on_progress(str(problem), 0)
        try:
            return self._decide(problem, [])
        except WorkerLostError as error:
            self._lose(str(problem), error)
            return native_stays(problem, str(error))

    def _decide(self, problem: Problem, more: Sequence[str]) -> Decision:
        """Races, varies the winner's knobs, races again, and lets the winner meet native."""
        machine = self._machine
        best = self._race(problem, [*candidates.seeds(machine, problem), *more])
        rounds, seen = best.rounds_run, dict(best.seen)
        refused = dict(best.refused)
        winner = best.leader
        for _ in range(_SEARCH_STEPS):
            around = candidates.neighbours(machine, problem, winner) if winner is not None else []
            around = [arm for arm in around if arm not in best.seen]
            if winner is None or not around:
                break
            before, best = winner, self._race(problem, [winner, *around])
            rounds += best.rounds_run
            refused |= best.refused
            seen = {**seen, **best.seen}
            winner = best.leader
            if winner == before:
                break
        expected = best.seen.get(winner, 0.0) if winner is not None else 0.0
        rivals = list_rivals(winner, seen) if winner is not None and expected < LONG_US else []
        challengers = [winner, *rivals] if winner is not None else []
        fights = duels(challengers, self._measure(problem), expected) if challengers else {}
        winner = max(fights, key=lambda arm: fights[arm].ratio, default=winner)
        self._remark_refusals(problem, refused)
        fight = fights.get(winner) if winner is not None else None
        decision = decide(problem, winner, fight, self._options.margin, next(iter(refused.values()), ""))
        decision = replace(decision, lowest_of={arm: round(it.ratio, 3) for arm, it in fights.items()})
        grid = candidates.count_exhaustive(machine, problem) * BLOCK_ROUNDS * MOST_BLOCKS
        return replace(decision, rounds_run=rounds, rounds_exhaustive=max(grid, rounds))

    def _race(self, problem: Problem, arms: Sequence[str]) -> Race:
        """A race of any number of arms: in heats where there are too many for one. One alone does not run, where calls
        take long: it has to meet native in any case."""
        measure = self._measure(problem)
        arms = list(dict.fromkeys(arms))
        if len(arms) == 1 and candidates.is_very_long(self._machine, problem, arms[0]):
            expected = candidates.estimate_us(self._machine, problem, arms[0])
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

    def _measure(self, problem: Problem) -> Callable[[Sequence[str], int], list[ArmTimes]]:
        def measure(arms: Sequence[str], rounds: int) -> list[ArmTimes]:
            self._check_time()
            options, job = self._options, self._job()
            times = job.measure(problem.operation, problem.bytes, arms, rounds, options.batch_us, options.cold)
            if NATIVE in arms:
                self._meetings.note(problem, job.line_ns)
            return times

        return measure

    # ---- wins that last ----------------------------------------------------------------------------------------------

    def _repeat_wins(self) -> None:
        """Lets every entry and its rivals meet native again, some time after it was decided: machines change their ways
        within minutes (processors of a virtual one may share a cache or not), and a win that does not last
        is none. What was best at its worst stays. Where all lose, there is a new search; what is found then has to win
        a second time, too.
        """
        losers = [problem for problem in self.result.decisions if not self._wins_again(problem)]
        for problem in losers:
            self._check_time()
            self._record(self._decide_safely(problem))
        for problem in losers:
            if not self._wins_again(problem):
                self._record(leave_to_native(self.result.decisions[problem], "it won once, and not again later"))

    def _repeat_elsewhere(self, problems: Sequence[Problem]) -> None:
        """Where processors are moved meanwhile: lets every entry and every uneven form meet native at each distance of
        them, as far as the distances come by in a few visits. What loses at one is left to native."""
        for visit in range(_MOST_VISITS):
            lacking = [problem for problem, it in self.result.decisions.items() if self._is_unproved(problem, it)]
            if not lacking:
                return
            for problem in lacking:
                if not self._wins_again(problem):
                    why = "it won where the processors lay first, and not where they lay later"
                    self._record(leave_to_native(self.result.decisions[problem], why))
            self._settle_forms(problems, duels=3 + visit)

    def _is_unproved(self, problem: Problem, decision: Decision) -> bool:
        is_short = decision.selection != NATIVE and decision.chosen_us < LONG_US
        return is_short and self._meetings.lacks_some(problem)

    def _wins_again(self, problem: Problem) -> bool:
        """Whether an entry, or a rival in its place, is no slower than native now either; true of native itself,
        of uneven blocks, which have duels of their own, and of long calls."""
        decision = self.result.decisions[problem]
        if decision.selection == NATIVE or problem.is_uneven or decision.chosen_us >= LONG_US:
            return True
        self._check_time()
        self.on_progress(f"once more: {problem}", 0)
        try:
            held = hold(decision, duels(list(decision.lowest_of), self._measure(problem)))
        except WorkerLostError as error:
            self._lose(str(problem), error)
            return False
        if held.selection != NATIVE:
            self._record(held)
        return held.selection != NATIVE

    # ---- uneven blocks -----------------------------------------------------------------------------------------------

    def _settle_forms(self, problems: Sequence[Problem], duels: int = 1) -> None:
        """Lets what is best for equal blocks meet native with uneven ones, where the former could be measured.

        `duels`: a second one, some time after the first, has a say where calls are short.
        """
        known = self.result.decisions
        forms = [it for it in list_forms([it for it in problems if it in known]) if known[it.even].calls]
        for group in settled_together(forms):
            news = [problem for problem in group if self._lets_meet_native(problem, duels)]
            if news or any(problem not in known for problem in group):
                self._settle_form({problem: reduce(less_favourable, self._form_duels[problem]) for problem in group})

    def _lets_meet_native(self, problem: Problem, times: int) -> bool:
        """Whether there was a duel to fight yet."""
        fought = self._form_duels.setdefault(problem, [])
        before = len(fought)
        while not fought or (len(fought) < times and fought[0].best and fought[0].native_us < LONG_US):
            found = self._duel_form(problem, fought[0].best) if fought else self._decide_form(problem)
            fought.append(found)
            self._journal.append({"duel": found.to_json()})
        return len(fought) > before

    def _settle_form(self, duels: Mapping[Problem, Decision]) -> None:
        is_exchanged = any(problem.operation in EXCHANGED for problem in duels)
        for decision in (self._settle_exchanged(duels) if is_exchanged else duels).values():
            self._record(decision)

    def _settle_exchanged(self, duels: Mapping[Problem, Decision]) -> dict[Problem, Decision]:
        """Ours at all sizes; or short blocks by the dedicated path and native for the rest; or native at all."""
        if all(takes_any_size(self._machine, problem) for problem in duels):
            return settle_any_size(duels, self._options.margin)
        settled = settle_exchanged(duels, self._options.margin)
        shorts = list_shorts(duels, self._options.margin)
        if not shorts or all(it.selection != NATIVE for it in settled.values()):
            return settled
        looks = {it: self._duel_form(it, "tiny") for it in needs_a_look(self._machine, duels, shorts)}
        return settle_shorts(duels, looks) or settled

    def _decide_form(self, problem: Problem) -> Decision:
        challengers = find_challengers(self._machine, problem, self.result.decisions[problem.even])
        return self._duel_form(problem, self._fastest(problem, challengers))

    def _fastest(self, problem: Problem, arms: Sequence[str]) -> str:
        """The leader of a race; the first of the arms where none was run."""
        if len(arms) == 1:
            return arms[0]
        self._check_time()
        self.on_progress(str(problem), 0)
        try:
            return self._race(problem, arms).leader or arms[0]
        except WorkerLostError as error:
            self._lose(str(problem), error)
            return arms[0]

    def _duel_form(self, problem: Problem, challenger: str) -> Decision:
        self._check_time()
        self.on_progress(str(problem), 0)
        try:
            fight = duel(challenger, self._measure(problem), self.result.decisions[problem.even].native_us)
        except WorkerLostError as error:
            self._lose(str(problem), error)
            return native_stays(problem, str(error))
        return decide(problem, challenger, fight, self._options.margin)

    # ---- afterwards --------------------------------------------------------------------------------------------------

    def _keep_guidelines(self) -> None:
        """Decides again where a guideline fails, with what won at the neighbouring sizes among the candidates."""
        ranks = self._machine.shape.ranks
        before = check_guidelines(self._times(), ranks)
        for problem in dict.fromkeys(violation.problem for violation in before):
            self._check_time()
            self.on_progress(f"guidelines: {problem}", 0)
            try:
                again = self._decide(problem, self._selections_nearby(problem))
            except WorkerLostError as error:
                self._lose(str(problem), error)
                continue
            now = self.result.decisions[problem]
            # Two honest measurements: the later one counts when it found something faster, or when native must stay.
            if again.calls and (again.chosen_us < now.chosen_us or again.selection == NATIVE):
                self._record(again)
        left = check_guidelines(self._times(), ranks)
        names = {violation.name for violation in left}
        self.result.repaired = [one for one in before if one.name not in names]
        self._part_real_from_apparent(left)

    def _part_real_from_apparent(self, violations: Sequence[Violation]) -> None:
        rows = rows_of(list(self.result.decisions.values()), self._machine)

        def time_of(problem: Problem) -> float | None:
            (times,) = self._measure(problem)([selection_at(rows, problem) or "auto"], 1)
            return None if times.refused else times.p50[0]

        for violation in violations:
            self.on_progress(f"side by side: {violation.name}", 0)
            try:
                real = is_real(violation, time_of)
            except WorkerLostError as error:
                self._lose(violation.name, error)
                real = True
            (self.result.violations if real else self.result.apparent).append(violation)

    def _times(self) -> dict[Problem, float]:
        decisions = self.result.decisions.items()
        return {problem: it.chosen_us for problem, it in decisions if it.chosen_us > 0 and not problem.is_uneven}

    def _selections_nearby(self, problem: Problem) -> list[str]:
        """What was best at other sizes of the operation and applies here."""
        found = [
            candidates.normal_form(self._machine, problem, it.best)
            for it in self.result.decisions.values()
            if it.problem.operation == problem.operation and it.best
        ]
        return [text for text in dict.fromkeys(found) if candidates.is_valid(self._machine, problem, text)]

    def _try_without_table(self) -> None:
        """How good is the built-in choice where there is no table? Measured next to what the table selects."""
        if self._options.samples == 0:
            return
        known = {(it["operation"], it["bytes"]) for it in self.result.untuned}
        decided = [it for it in self.result.decisions.values() if it.calls and not it.problem.is_uneven]
        decided = [it for it in decided if (it.problem.operation, it.problem.bytes) not in known]
        try:
            for decision in decided:
                self._check_time()
                self.on_progress(f"without the table: {decision.problem}", 0)
                if found := compare_with_builtin(decision, self._measure(decision.problem)):
                    self.result.untuned.append(found)
                    self._journal.append({"untuned": found})
        except WorkerLostError as error:
            self._lose("without the table", error)

    def _sample(self, problems: Sequence[Problem]) -> None:
        """How far is the pick from the best of everything on the grid? Measured on a few problems, evenly chosen."""
        tuned = [it for it in (self.result.decisions[problem] for problem in problems) if it.best and it.best != "tiny"]
        if not tuned or self.result.samples:
            return
        step = max(1, len(tuned) // max(1, self._options.samples))
        for decision in tuned[step // 2 :: step][: self._options.samples]:
            self._check_time()
            self.on_progress(f"everything on the grid: {decision.problem}", 0)
            try:
                sample = compare_with_all(self._machine, decision, self._measure(decision.problem))
            except WorkerLostError as error:
                self._lose(str(decision.problem), error)
                continue
            self.result.samples.append(sample)
            self._journal.append({"sample": sample})

    # ---- the job, the journal, the clock -----------------------------------------------------------------------------

    def _job(self) -> Worker:
        if self._worker is None:
            self._worker = self._start()
        return self._worker

    def _lose(self, what: str, error: WorkerLostError) -> None:
        self.close()
        self.result.remarks.append(f"{what}: {error}; native stays there")
        self._losses += 1
        if self._losses >= _MOST_LOSSES:
            self.result.remarks.append(f"gave up after {self._losses} lost jobs")
            raise OutOfTimeError

    def _remark_refusals(self, problem: Problem, refused: Mapping[str, str]) -> None:
        for arm, reason in refused.items():
            if reason == "wrong data":
                self.result.remarks.append(f"{problem}: {arm} delivered wrong data and is not used; please report this")

    def _record(self, decision: Decision) -> None:
        self.result.decisions[decision.problem] = decision
        self._journal.append({"decision": decision.to_json()})

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
            self._form_duels.setdefault(duel.problem, []).append(duel)

    def _share_of_time(self) -> float:
        now = time.monotonic()
        return (now - self._begin) / max(now - self._begin, self._deadline - self._begin)

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise OutOfTimeError
