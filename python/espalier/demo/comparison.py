"""What the demo measures: the same thing natively and with Espalier, over interleaved rounds.

Espalier's run of the first round has nothing to begin with and learns in its own calls; later ones begin with what was
learned, as a user's second run does. They are told apart, and what counts is the later ones where there are any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from espalier.measure.rounds import Rounds

# The programs that the demo knows.
IMB, TREES, BENCH = "IMB-MPI1", "trees (mpi4py)", "espalier bench"


@dataclass(frozen=True)
class Comparison:
    """One quantity under one MPI. `native[i]` and `espalier[i]` ran next to each other, in round i; microseconds.

    `rounds`, `ratios` and `ratio` are those of the runs after the first.
    """

    what: str  # operation or program
    bytes: int  # message size; 0 where there is none
    mpi: str
    ranks: int
    native: tuple[float, ...]
    espalier: tuple[float, ...]

    @property
    def rounds(self) -> Rounds:
        """Its ratios are native ÷ Espalier."""
        later = 1 if len(self.native) > 1 else 0
        return Rounds(self.native[later:], self.espalier[later:])

    @property
    def first_ratio(self) -> float:
        """Of the run that had learned nothing yet."""
        return self.native[0] / self.espalier[0]

    @property
    def ratios(self) -> list[float]:
        """Round by round: above 1, Espalier is faster."""
        return self.rounds.ratios

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios."""
        return self.rounds.ratio

    def as_json(self) -> dict[str, Any]:
        """Medians, and the ratio with its range; the first run apart."""
        return {
            "what": self.what,
            "bytes": self.bytes,
            "mpi": self.mpi,
            "ranks": self.ranks,
            "native_us": round(median(self.native), 3),
            "espalier_us": round(median(self.rounds.second), 3),
            "first_run_us": round(self.espalier[0], 3),
            "first_run_ratio": round(self.first_ratio, 3),
            "ratio_median": round(self.ratio, 3),
            "ratio_min": round(self.rounds.range[0], 3),
            "ratio_max": round(self.rounds.range[1], 3),
        }


@dataclass(frozen=True)
class Answer:
    """What one program did under one MPI apart from its times."""

    program: str
    mpi: str
    ranks: int
    handled: int  # collective calls of rank 0 that Espalier ran
    native: int  # and those it left to the MPI
    reasons: Mapping[str, int] = field(default_factory=dict)  # why it left them
    same_output: bool | None = None  # standard output equal byte for byte; None where it holds times
    digest: str = ""  # of that output

    def as_json(self) -> dict[str, Any]:
        """The same, as plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class Results:
    """Everything the demo found out."""

    comparisons: list[Comparison] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  # what could not run here, and why

    def as_json(self) -> dict[str, Any]:
        """The whole result, as plain data."""
        return {
            "comparisons": [comparison.as_json() for comparison in self.comparisons],
            "answers": [answer.as_json() for answer in self.answers],
            "skipped": self.skipped,
        }
