"""Who is fastest? Arms race in rounds; whoever can't win leaves; in the end the winner fights a duel with native.

A time by itself means little on a machine that does other things, too: all comparisons are between times of the same
round, measured next to each other. An arm that is as fast as the leader loses a round with probability one half, so
losing each of n rounds happens to it by chance once in 2^n.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from espalier.measure.worker import ArmTimes

NATIVE = "native"

# The worker takes 32; native twice must fit beside them.
MOST_ARMS = 30

# Rounds of one block, after each of which losers leave: once in eight an arm as good as the leader is among them, whose
# loss costs nothing.
BLOCK_ROUNDS = 3
MOST_BLOCKS = 3
# Losing by less does not count: such an arm may as well win.
_CLEARLY = 1.01

# The duel decides what a program will run, so it is longer: all but one of seven rounds must agree (by chance 1 in 16).
DUEL_ROUNDS = 7
_DISSENTERS = 1
# A call that takes longer is far above a scheduler's time slices, and mostly waits for a link: a shorter duel will do,
# in which all rounds agree; and what it takes is the same some time later. Where one disagrees and the median says
# clearly that the selection is faster, a whole duel decides (4 nodes of a rank, MPICH, reduce_scatter of 256K: native
# 60 ms, halving 40, but native once 0.77 of itself, so that it stayed).
LONG_US = 20e3
_LONG_ROUNDS = 3
_WORTH_ANOTHER = 1.05
# Of calls this long one more round costs seconds.
_VERY_LONG_US = 300e3
_VERY_LONG_ROUNDS = 2

# Native differing from itself by more: times of such a duel say little.
DISTURBED = 1.5

# Measures these arms for so many rounds.
Measure = Callable[[Sequence[str], int], list[ArmTimes]]


@dataclass
class Race:
    """What a race has found out."""

    times: dict[str, list[float]]  # p50 per round of those still in, in microseconds
    refused: dict[str, str] = field(default_factory=dict)  # arms that the library did not run as asked, and why
    said: dict[str, str] = field(default_factory=dict)
    rounds_run: int = 0  # arms × rounds
    seen: dict[str, float] = field(default_factory=dict)  # every arm's median, also of those that left

    @property
    def leader(self) -> str | None:
        """The fastest so far by its median; None when nobody is left."""
        return min(self.times, key=lambda arm: median(self.times[arm]), default=None)


def race(arms: Sequence[str], measure: Measure) -> Race:
    """Races the arms until one is left or nothing more can be told apart; one block of long calls. Arms that are
    refused take no part."""
    state = Race({arm: [] for arm in arms})
    for _ in range(MOST_BLOCKS):
        if state.rounds_run and (len(state.times) <= 1 or min(state.seen.values()) >= LONG_US):
            break
        _run_block(state, measure)
        _drop_losers(state)
    return state


def _run_block(state: Race, measure: Measure) -> None:
    for times in measure(list(state.times), BLOCK_ROUNDS):
        state.said[times.arm] = times.said
        if times.refused:
            state.refused[times.arm] = times.refused
            state.times.pop(times.arm, None)
            continue
        state.rounds_run += len(times.p50)
        state.times[times.arm] += times.p50
        state.seen[times.arm] = median(state.times[times.arm])
    _merge_equals(state)


def _merge_equals(state: Race) -> None:
    """Arms of which the library says the same are the same: the first of them stays."""
    known: set[str] = set()
    for arm in list(state.times):
        said = state.said[arm]
        if said and said in known:
            del state.times[arm]
        known.add(said)


def _drop_losers(state: Race) -> None:
    leader = state.leader
    if leader is None:
        return
    best = state.times[leader]
    for arm, times in list(state.times.items()):
        if arm != leader and all(one > other * _CLEARLY for one, other in zip(times, best, strict=True)):
            del state.times[arm]


@dataclass(frozen=True)
class Duel:
    """Native against one selection, interleaved. Times are medians over the rounds, in microseconds."""

    native_us: float
    chosen_us: float
    ratios: tuple[float, ...]  # native ÷ selection, round by round
    noise: tuple[float, float]  # range of native ÷ native measured again
    calls: int

    @property
    def ratio(self) -> float:
        return median(self.ratios)

    @property
    def disturbance(self) -> float:
        """By which factor native differed from itself at most: 1 on a quiet machine."""
        return max(self.noise[1], 1 / self.noise[0])

    def is_won(self, margin: float) -> bool:
        """Whether the selection is faster by the margin, and nearly all rounds say that it is faster at all.

        By the margin in both ways: the median of the ratios and the ratio of the medians, which is what a table shows.
        Where rounds scatter widely they differ, and either may favour the selection by chance.
        """
        against = sum(ratio <= 1 for ratio in self.ratios)
        least = min(self.ratio, self.native_us / self.chosen_us)
        return least >= 1 + margin and against <= (_DISSENTERS if len(self.ratios) >= DUEL_ROUNDS else 0)


def duel(challenger: str, measure: Measure, expected_us: float = 0.0) -> Duel | None:
    """Measures native, the challenger and native again; once more when the machine was doing something else.

    `expected_us` is what a call is known to take about. None when the challenger is refused.
    """
    return duels([challenger], measure, expected_us).get(challenger)


def _rounds_for(expected_us: float) -> int:
    if expected_us >= _VERY_LONG_US:
        return _VERY_LONG_ROUNDS
    return _LONG_ROUNDS if expected_us >= LONG_US else DUEL_ROUNDS


def duels(challengers: Sequence[str], measure: Measure, expected_us: float = 0.0) -> dict[str, Duel]:
    """The same of several challengers, in the same rounds. Those that are refused are left out."""
    rounds = _rounds_for(expected_us)
    fights = _fight_quietly(challengers, measure, rounds)
    doubtful = [arm for arm, fight in fights.items() if rounds == _LONG_ROUNDS and _is_doubtful(fight)]
    return {**fights, **_fight(doubtful, measure, DUEL_ROUNDS)} if doubtful else fights


def _is_doubtful(fight: Duel) -> bool:
    return fight.ratio >= _WORTH_ANOTHER and min(fight.ratios) <= 1


def _fight_quietly(challengers: Sequence[str], measure: Measure, rounds: int) -> dict[str, Duel]:
    fights = _fight(challengers, measure, rounds)
    if _disturbance(fights) <= DISTURBED:
        return fights
    again = _fight(challengers, measure, rounds)
    return fights if not again or _disturbance(again) > _disturbance(fights) else again


def _disturbance(fights: Mapping[str, Duel]) -> float:
    return max((fight.disturbance for fight in fights.values()), default=1.0)


def _fight(challengers: Sequence[str], measure: Measure, rounds: int) -> dict[str, Duel]:
    native, *others, control = measure([NATIVE, *challengers, NATIVE], rounds)
    if native.refused:
        return {}
    noise = [one / two for one, two in zip(native.p50, control.p50, strict=True)]
    # The better of native's two runs is the bar: in doubt for native.
    bar = [min(one, two) for one, two in zip(native.p50, control.p50, strict=True)]
    return {
        other.arm: Duel(
            native_us=median(bar),
            chosen_us=median(other.p50),
            ratios=tuple(one / two for one, two in zip(bar, other.p50, strict=True)),
            noise=(min(noise), max(noise)),
            calls=other.calls,
        )
        for other in others
        if not other.refused
    }
