"""Where the processors lay when a problem met native: a virtual machine's are moved while nobody looks."""

from __future__ import annotations

from dataclasses import dataclass

from espalier.measure import split_by_distance
from espalier.tuning.problems import Problem

# A distance that fewer meetings than this share had is an accident.
_LEAST_SHARE = 0.1


@dataclass(frozen=True)
class _Meeting:
    problem: Problem
    line_ns: float


class Meetings:
    """At which distances of the processors (measure.split_by_distance) each problem's selection has met native."""

    def __init__(self) -> None:
        self._meetings: list[_Meeting] = []

    def note(self, problem: Problem, line_ns: float) -> None:
        """A meeting; `line_ns` is 0 where it is not known or does not matter."""
        self._meetings.append(_Meeting(problem, line_ns))

    def lacks_some(self, problem: Problem) -> bool:
        """Whether processors lay at several usual distances, and the problem has not met native at each."""
        least = _LEAST_SHARE * len(self._meetings)
        usual = [part for part in split_by_distance(self._meetings) if len(part) >= least]
        return len(usual) > 1 and any(all(meeting.problem != problem for meeting in part) for part in usual)
