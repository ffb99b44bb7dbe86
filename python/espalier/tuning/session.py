"""One run of the tuner: problem after problem, until all are decided, the time is up or somebody stops it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from espalier.measure.worker import WorkerLostError
from espalier.tuning.environment.curves import draw_curve
from espalier.tuning.environment.place import learn_groups, learn_messages
from espalier.tuning.problems.problem import Problem, list_crossovers
from espalier.tuning.search.decisions import hold, leave_to_native
from espalier.tuning.search.local_search import search_safely
from espalier.tuning.search.racing import LONG_US, NATIVE
from espalier.tuning.search.run import Run
from espalier.tuning.uneven.settling import settle_forms
from espalier.tuning.verdict.afterwards import keep_guidelines, sample_picks, try_without_table
from espalier.tuning.verdict.elsewhere import prove_elsewhere

# When so much of the time is gone, uneven forms get their turn at the sizes that there are: a row about equal blocks
# would be followed by uneven ones, too, which it may not suit.
_TIME_FOR_FORMS = 0.6


class Session(Run):
    """Decides problems by measuring. Every decision is in the journal before the next problem begins."""

    def run(self, problems: Sequence[Problem]) -> None:
        """Decides all problems, uneven forms and what lies half-way where the way changes; has wins repeated; checks
        the guidelines; puts entries to the test wherever the processors lie; samples. Half-way only where calls are
        short: between two long ones the wire decides.

        May end at any moment by OutOfTimeError or KeyboardInterrupt;
        `result` has what was decided until then.
        """
        is_early = True
        for problem in problems:
            if is_early and self.share_of_time() >= _TIME_FOR_FORMS:
                is_early = False
                settle_forms(self, problems)
            self._settle(problem)
            self.on_progress("", 1)
        settle_forms(self, problems)
        for crossover in list_crossovers({it: self.result.decisions[it].selection for it in problems}):
            if not self._is_between_long(crossover, problems):
                self._settle(crossover)
        self._repeat_wins()
        settle_forms(self, problems, duels=2)
        keep_guidelines(self)
        self._repeat_wins()
        prove_elsewhere(self, problems)
        try_without_table(self)
        sample_picks(self, problems)
        self.result.is_complete = True

    def draw_curves(self, names: Iterable[str]) -> None:
        """Measures the machine's curves that an earlier run has not; candidates are then judged by what they say."""
        for name in names:
            if name not in self.result.curves:
                self._draw(name)
        self.machine = learn_messages(self.machine, self.result.curves.get("latency", []))
        self.machine = learn_groups(self.machine, self.result.curves.get("groups", []))

    def _draw(self, name: str) -> None:
        self.begin(f"machine: {name}")
        try:
            points = draw_curve(self.machine, self.job(), name, self.options.batch_us)
        except WorkerLostError as error:
            self.lose(f"curve {name}", error)
            points = []
        self.result.curves[name] = points
        self.journal.append({"curve": name, "points": points})

    # ---- one problem -------------------------------------------------------------------------------------------------

    def _settle(self, problem: Problem) -> None:
        """Decides a problem unless an earlier run has."""
        if problem not in self.result.decisions:
            self.check_time()
            self.record(search_safely(self, problem))

    def _is_between_long(self, crossover: Problem, problems: Sequence[Problem]) -> bool:
        """Whether the next smaller problem of the operation takes long already."""
        smaller = [it for it in problems if it.operation == crossover.operation and it.bytes < crossover.bytes]
        return self.result.decisions[max(smaller, key=lambda it: it.bytes)].native_us >= LONG_US

    # ---- wins that last ----------------------------------------------------------------------------------------------

    def _repeat_wins(self) -> None:
        """Lets every entry and its rivals meet native again, some time after it was decided: machines change their ways
        within minutes (processors of a virtual one may share a cache or not), and a win that does not last
        is none. What was best at its worst stays. Where all lose, there is a new search; what is found then has to win
        a second time, too.
        """
        losers = [problem for problem in self.result.decisions if not self._wins_again(problem)]
        for problem in losers:
            self.check_time()
            self.record(search_safely(self, problem))
        for problem in losers:
            if not self._wins_again(problem):
                self.record(leave_to_native(self.result.decisions[problem], "it won once, and not again later"))

    def _wins_again(self, problem: Problem) -> bool:
        """Whether an entry, or a rival in its place, is no slower than native now either; true of native itself,
        of uneven blocks, which have duels of their own, and of long calls."""
        decision = self.result.decisions[problem]
        if decision.selection == NATIVE or problem.is_uneven or decision.chosen_us >= LONG_US:
            return True
        self.begin(f"once more: {problem}")
        try:
            fights, line_ns = self.fight(problem, list(dict.fromkeys(it.arm for it in decision.met)))
            held = hold(decision, fights, line_ns, self.distances.usual)
        except WorkerLostError as error:
            self.lose(str(problem), error)
            return False
        if held.selection != NATIVE:
            self.record(held)
        return held.selection != NATIVE
