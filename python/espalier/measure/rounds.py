"""Two arms that ran next to each other in every round: how many times as fast the second is, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

# Ratios nearer to 1 than this are noise on any machine that does something else, too.
_TOO_NEAR = 0.01


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
    def is_decided(self) -> bool:
        """Whether all rounds agree about which arm is faster."""
        least, greatest = self.range
        return len(self.first) > 1 and (least > 1 + _TOO_NEAR or greatest < 1 - _TOO_NEAR)


def in_turns(number: int) -> tuple[int, int]:
    """The order of the two arms in round `number`: neither always finds the machine as the other has left it."""
    return (0, 1) if number % 2 == 0 else (1, 0)
