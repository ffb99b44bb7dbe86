"""Two arms that ran next to each other in every round: how many times as fast the second is, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from espalier.base.units import counted

# Ratios nearer to 1 than this are noise on any machine that does something else, too.
_TOO_NEAR = 0.01
# So many rounds of mere chance all agree once in 16 times; two would every other time.
_FEWEST = 5


def find_doubt(rounds: int, least: float, greatest: float) -> str:
    """Why so many rounds, whose ratios lie between these, do not tell which arm is faster; empty: they do."""
    if rounds < _FEWEST:
        return f"{counted(rounds, 'round')} {'is' if rounds == 1 else 'are'} too few to decide (from {_FEWEST} on)"
    if least > 1 + _TOO_NEAR or greatest < 1 - _TOO_NEAR:
        return ""
    return "no difference beyond noise"


@dataclass(frozen=True)
class Rounds:
    """`first[i]` and `second[i]` were measured in round i, one right after the other; less is better."""

    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def ratios(self) -> list[float]:
        """First ÷ second, round by round: above 1, the second is faster."""
        return [first / second for first, second in zip(self.first, self.second, strict=True)]

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios."""
        return median(self.ratios)

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest ratio: what lies between them is noise."""
        return min(self.ratios), max(self.ratios)

    @property
    def doubt(self) -> str:
        """Why it is open which arm is faster; empty where there are rounds enough and all agree."""
        return find_doubt(len(self.first), *self.range)

    @property
    def is_decided(self) -> bool:
        """Whether it is known which arm is faster."""
        return not self.doubt


def in_turns(number: int) -> tuple[int, int]:
    """The order of the two arms in round `number`: neither always finds the machine as the other has left it."""
    return (0, 1) if number % 2 == 0 else (1, 0)
