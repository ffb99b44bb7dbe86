"""Which selections met native at which distance of the processors, and how they fared there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from espalier.tuning.environment.distances import is_same
from espalier.tuning.search.racing import Duel


@dataclass(frozen=True)
class Meeting:
    """The worst that an arm did against native at one distance, whenever that was."""

    arm: str
    line_ns: float  # the distance (espalier.tuning.environment.distances)
    ratio: float  # native ÷ arm


def meetings_of(fights: Mapping[str, Duel], line_ns: float) -> tuple[Meeting, ...]:
    """Of duels at one distance."""
    return tuple(Meeting(arm, line_ns, round(_worth(fight), 3)) for arm, fight in fights.items())


def _worth(fight: Duel) -> float:
    """Its ratio; below 1 where rounds disagree about who is faster."""
    return fight.ratio if fight.is_won(margin=0) else min(fight.ratio, 0.999)


def join(meetings: Iterable[Meeting], others: Iterable[Meeting]) -> tuple[Meeting, ...]:
    """Both; where an arm is in both at one distance, the worse of the two."""
    joined = list(meetings)
    for new in others:
        at = next((at for at, old in enumerate(joined) if old.arm == new.arm and is_same(old.line_ns, new.line_ns)), -1)
        if at < 0:
            joined.append(new)
        elif new.ratio < joined[at].ratio:
            joined[at] = new
    return tuple(joined)


def distances_of(meetings: Iterable[Meeting], arm: str | None = None) -> list[float]:
    """At which distances an arm met native, or any arm did; nearest first."""
    found: list[float] = []
    for it in meetings:
        if (arm is None or it.arm == arm) and not any(is_same(it.line_ns, other) for other in found):
            found.append(it.line_ns)
    return sorted(found)


def is_met_at(meetings: Iterable[Meeting], arm: str, line_ns: float) -> bool:
    """Whether the arm met native at this distance."""
    return any(is_same(line_ns, it) for it in distances_of(meetings, arm))


def worst_ratios(meetings: Iterable[Meeting], usual: Iterable[float]) -> dict[str, float]:
    """How the arms fared where they fared worst: those that met native at each of the `usual` distances at which any
    of them did. Others have not been put to the test everywhere."""
    meetings = list(meetings)
    wanted = [it for it in usual if any(is_same(it, other) for other in distances_of(meetings))]
    lowest = lowest_ratios(meetings)
    return {arm: it for arm, it in lowest.items() if all(is_met_at(meetings, arm, distance) for distance in wanted)}


def lowest_ratios(meetings: Iterable[Meeting]) -> dict[str, float]:
    """How each arm fared where it fared worst, so far."""
    lowest: dict[str, float] = {}
    for it in meetings:
        lowest[it.arm] = min(it.ratio, lowest.get(it.arm, it.ratio))
    return lowest
