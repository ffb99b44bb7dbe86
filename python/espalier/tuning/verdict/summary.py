"""What a run of the tuner amounts to, in a few numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from espalier.base.units import counted
from espalier.tuning.environment.distances import describe, is_same
from espalier.tuning.search.decisions import Decision
from espalier.tuning.search.racing import DISTURBED, LONG_US, NATIVE
from espalier.tuning.search.run import Result


@dataclass(frozen=True)
class Summary:
    """Ratios are geometric means of native ÷ selection; an entry that stays native counts as 1."""

    problems: int
    decided: int
    tuned: int  # not native
    ratio: float
    ranks: int
    seconds: float
    rounds_run: int  # arms × rounds of all races
    rounds_exhaustive: int  # of trying everything on the grid as often
    worst_distance: float | None  # of the samples: by how much the best of everything is faster than the pick
    untuned: float | None  # the built-in choice's time over what the table selects, where both were measured
    violations: int
    repaired: int
    apparent: int  # guidelines that the table's times violate, but not the same calls side by side
    distances: list[float]  # at which the processors lay: a cache line's round trip, in nanoseconds
    unproved: int  # entries of short calls that are not native and have not met it at each of those
    disturbed: int  # entries in whose duel native differed from itself by more than racing.DISTURBED
    others: str = ""  # what other programs did meanwhile, in words; empty where they left the processors alone

    def lines(self) -> list[str]:
        """For people."""
        lines = [
            f"{self.tuned} of {counted(self.decided, 'entry')} beat native; {self.ratio:.2f}x native on average "
            f"(geometric mean, native where it stays); {self.seconds:.0f} s",
        ]
        if self.rounds_exhaustive:
            saved = 1 - self.rounds_run / self.rounds_exhaustive
            lines.append(
                f"the search took {counted(self.rounds_run, 'run')}; trying everything on the grid takes "
                f"{self.rounds_exhaustive}: {saved:.0%} saved"
            )
        if self.distances:
            lines.append(self._where())
        if self.worst_distance is not None:
            best = f"the best was at most {self.worst_distance:.0%}" if self.worst_distance >= 0.005 else "nothing was"
            lines.append(f"where everything was tried, {best} faster than the pick")
        if self.untuned is not None:
            lines.append(f"without the table, the built-in choice takes {self.untuned:.2f} times as long")
        if self.violations or self.repaired or self.apparent:
            lines.append(
                f"guidelines: {self.violations} fail, {self.repaired} more did until they were decided again, "
                f"{self.apparent} fail by the table's times only and not side by side"
            )
        if self.disturbed > self.decided // 10:
            entries = f"{self.disturbed} entr{'y' if self.disturbed == 1 else 'ies'}"
            lines.append(f"in {entries} native differed from itself by more than {DISTURBED:g}x")
        if self.others:
            lines.append(f"{self.others}: tune again when the machine is idle")
        return lines

    def _where(self) -> str:
        lay = f"measured with {describe(self.distances)} (a cache line's round trip)"
        if len(self.distances) == 1:
            return lay
        left = f"; {self.unproved} of the entries met native at one of these only" if self.unproved else ""
        return f"{lay}, as a host moves them about{left}"


def summarize(result: Result, problems: int, ranks: int, seconds: float) -> Summary:
    """The numbers of a run, complete or not."""
    measured = [decision for decision in result.decisions.values() if decision.calls]
    return Summary(
        problems=max(problems, len(result.decisions)),  # sizes half-way come on top
        decided=len(result.decisions),
        tuned=sum(decision.selection != NATIVE for decision in measured),
        ratio=round(geometric_mean(ratio_of(decision) for decision in measured), 3),
        ranks=ranks,
        seconds=round(seconds, 1),
        rounds_run=sum(decision.rounds_run for decision in measured),
        rounds_exhaustive=sum(decision.rounds_exhaustive for decision in measured),
        worst_distance=max((sample["distance"] for sample in result.samples), default=None),
        untuned=geometric_mean(it["ratio"] for it in result.untuned) if result.untuned else None,
        violations=len(result.violations),
        repaired=len(result.repaired),
        apparent=len(result.apparent),
        distances=[round(it) for it in result.distances],
        unproved=sum(not is_proved(decision, result.distances) for decision in measured),
        disturbed=sum(decision.disturbance > DISTURBED for decision in measured),
        others=str(result.others),
    )


def is_proved(decision: Decision, distances: Sequence[float]) -> bool:
    """Whether the selection has met native at each distance of the processors; true of native, and of long calls."""
    if decision.selection == NATIVE or decision.native_us >= LONG_US:
        return True
    return all(any(is_same(one, other) for other in decision.distances) for one in distances)


def ratio_of(decision: Decision) -> float:
    """Native ÷ selection."""
    return decision.native_us / decision.chosen_us if decision.chosen_us > 0 else 1.0


def geometric_mean(values: Iterable[float]) -> float:
    """1 for no values."""
    logarithms = [math.log(value) for value in values if value > 0]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else 1.0
