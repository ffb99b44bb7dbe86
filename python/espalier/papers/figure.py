"""What a figure is: what the paper says of it, and the ways to come by data, each with its judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from espalier.base.units import counted
from espalier.jobs.mpis import Mpi


class Where(StrEnum):
    """How a figure's data come about."""

    COUNTED = "counted"  # from plans, exactly; no clock
    SIMULATED = "simulated"
    EMULATED = "emulated"  # network namespaces as nodes (espalier lab), root only
    REAL = "real"  # this machine, or the nodes of this job


class Kind(StrEnum):
    """What became of the paper's statement. The values begin sentences."""

    HOLDS = "Holds"  # at every point that was judged
    CONDITIONAL = "Holds in part"  # at half of them or more
    FAILS = "Fails"  # at fewer
    OPEN = "Could not be shown here"  # no point could be judged, or the outcome was put in


@dataclass(frozen=True)
class Verdict:
    """One honest sentence, computed from the data, and what it rests on."""

    kind: Kind
    because: str  # no capital, no full stop
    parts: tuple[str, ...] = ()  # of a statement that has several: "yes: …", "no: …", "not measured: …"
    points: tuple[int, int] | None = None  # where the hypothesis holds, and how many were judged; None: not counted
    hypothesis: str = ""  # what was judged: the paper's statement, as something that points can be against

    @property
    def headline(self) -> str:
        """The outcome in a few words, with the share of points: "Holds at 7 of 12 points"."""
        if self.points is None or self.kind in (Kind.HOLDS, Kind.OPEN):
            return str(self.kind)
        share = f"at {self.points[0]} of {counted(self.points[1], 'point')}"
        return f"Holds {share}" if self.kind is Kind.CONDITIONAL else f"Fails: holds {share}"

    def __str__(self) -> str:
        return (
            f"{self.headline}: {self.because}." if self.kind is not Kind.FAILS else f"{self.headline}; {self.because}."
        )


@dataclass(frozen=True)
class Point:
    """One number of a figure, with its spread."""

    panel: str  # which diagram
    curve: str  # which line of it, or which colour of bars
    x: float | str  # place on the horizontal axis; a text names a group of bars
    value: float
    low: float  # least and greatest of the repetitions; both equal to `value` where there is one only
    high: float

    @staticmethod
    def exact(panel: str, curve: str, x: float | str, value: float) -> Point:
        """Without a spread."""
        return Point(panel, curve, x, value, value, value)


@dataclass(frozen=True)
class Data:
    """What one run gave. Panels and curves are in the order of their first points."""

    where: Where
    points: Sequence[Point]
    notes: Sequence[str] = ()  # conditions, and what is missing and why

    @property
    def panels(self) -> list[str]:
        return list(dict.fromkeys(point.panel for point in self.points))

    def curves(self, panel: str) -> list[str]:
        return list(dict.fromkeys(point.curve for point in self.points if point.panel == panel))

    def curve(self, panel: str, curve: str) -> dict[float | str, Point]:
        """Points by x; empty when there is no such curve."""
        return {point.x: point for point in self.points if (point.panel, point.curve) == (panel, curve)}


@dataclass(frozen=True)
class Axes:
    """How panels are drawn. Axes whose x are texts become groups of bars."""

    x: str  # "bytes", "ranks" …
    y: str  # with its unit: "µs", "gain, %"
    log_x: bool = True
    log_y: bool = True
    against: str = ""  # draw how many times as fast as this curve the others are, not their times
    # Lines and bands that the paper states, by name: (from, to) of y; equal for a line.
    stated: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """How to come by data."""

    quick: bool = False  # seconds, few points: does everything run?
    mpis: Sequence[Mpi] = ()  # for ways that run MPI jobs; at least one there
    per_node: int = 4  # ranks of each node, where there are several


@dataclass(frozen=True)
class Way:
    """One way to come by a figure's data.

    `produce` raises UserError with a remedy when something is missing (SimGrid, root, an MPI).
    """

    where: Where
    produce: Callable[[Task], Data]
    judge: Callable[[Data], Verdict]
    axes: Axes
    how: str  # what is run, in one sentence
    takes: str  # on 2 cores, all of it: "20 s"
    uses_mpi: bool = False


@dataclass(frozen=True)
class Figure:
    """One figure or table of a paper."""

    id: str  # "smp/3", as the user names it
    number: str  # "Figure 3", "Table II"
    title: str
    stated: str  # what the paper says of it, with its numbers
    ways: Sequence[Way]

    @property
    def paper(self) -> str:
        """The key of `papers.PAPERS`."""
        return self.id.partition("/")[0]

    def way(self, where: Where) -> Way | None:
        return next((way for way in self.ways if way.where == where), None)


@dataclass(frozen=True)
class Paper:
    """Where figures come from."""

    title: str
    source: str
    machine: str  # that the authors measured on
