"""What tuning decides for one problem, and what it knows by then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from espalier.tuning.problems.problem import Problem, way_of
from espalier.tuning.search.meetings import Meeting, distances_of, join, lowest_ratios, meetings_of, worst_ratios
from espalier.tuning.search.racing import NATIVE, Duel


@dataclass(frozen=True)
class Decision:
    """The selection for one problem. Times in microseconds; ratios are native ÷ selection."""

    problem: Problem
    selection: str  # "native", "tiny" or a choice
    native_us: float
    chosen_us: float
    lowest_ratio: float
    highest_ratio: float
    calls: int
    best: str  # the fastest candidate that is not native, whether it was selected or not; empty when there was none
    best_us: float
    note: str  # why native stays, where there is more to say than that it is faster
    rounds_run: int = 0  # arms × rounds
    rounds_exhaustive: int = 0  # what trying everything on the grid would have taken
    disturbance: float = 1.0  # by which factor native differed from itself in the duel
    # Of the best and its rivals, each another way of doing it: how they fared against native, and where.
    met: tuple[Meeting, ...] = ()
    duel_ratio: float = 0.0  # native ÷ the best in the middle of the duel's rounds; 0 where that is not known

    @property
    def best_ratio(self) -> float:
        """How the best fared against native, 0 if it did not: round by round where that is known, since what disturbs
        both in one round is not told from a gain by two medians (8 ranks on two cores, a scatterv of 16 bytes: 0.74 by
        medians, 1.02 in the middle of the rounds)."""
        if not self.calls or self.best_us <= 0:
            return 0.0
        return self.duel_ratio or self.native_us / self.best_us

    @property
    def distances(self) -> list[float]:
        """At which distances of the processors the selection has met native, as far as that matters; nearest first."""
        arm = None if self.selection == NATIVE else self.selection
        return [distance for distance in distances_of(self.met, arm) if distance > 0]

    def to_json(self) -> dict[str, Any]:
        """For the journal and for --json."""
        fields = asdict(self)
        return {"operation": fields["problem"]["operation"], "bytes": fields.pop("problem")["bytes"], **fields}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Decision:
        """What to_json made."""
        rest = {name: value for name, value in fields.items() if name not in ("operation", "bytes", "met")}
        met = tuple(Meeting(**it) for it in fields.get("met", ()))
        return cls(problem=Problem(fields["operation"], fields["bytes"]), met=met, **rest)


# A rival takes at most this many times as long as the best, when they race; on a machine that has changed since it may
# be the better one.
_RIVALS_WITHIN = 1.4
_MOST_RIVALS = 3


def list_rivals(winner: str, times: Mapping[str, float]) -> list[str]:
    """The fastest arm of each other way of doing it, the fastest first, as far as they can keep up."""
    ways = {tuple(way_of(winner))}
    rivals = []
    for arm in sorted(times, key=lambda it: times[it]):
        way = tuple(way_of(arm))
        if way not in ways and times[arm] <= _RIVALS_WITHIN * times.get(winner, times[arm]):
            ways.add(way)
            rivals.append(arm)
    return rivals[:_MOST_RIVALS]


def hold(
    decision: Decision,
    fights: Mapping[str, Duel],
    line_ns: float,
    usual: Sequence[float] = (),
    why: str = "it won once, and not again later",
) -> Decision:
    """After further duels, at another time and this distance: the arm whose worst time against native was the best, of
    those that were tried at all `usual` distances; native, and `why`, if none has been faster at all times."""
    met = join(decision.met, meetings_of(fights, line_ns))
    worst = {arm: ratio for arm, ratio in worst_ratios(met, usual).items() if arm in fights}
    best = max(worst, key=lambda arm: worst[arm], default=None)
    if best is None or worst[best] < 1:
        return replace(leave_to_native(decision, why), met=met)
    if best == decision.selection:
        return replace(decision, met=met)
    now = decide(decision.problem, best, fights[best], margin=0)
    runs = {name: getattr(decision, name) for name in ("rounds_run", "rounds_exhaustive")}
    return replace(now, met=met, **runs)


def list_hopeful(decision: Decision, usual: Sequence[float]) -> list[str]:
    """The arms that may turn out to be better at their worst than what was tried at all `usual` distances, native among
    it: as yet they are."""
    proved = max(worst_ratios(decision.met, usual).values(), default=1.0)
    return [arm for arm, ratio in lowest_ratios(decision.met).items() if ratio >= max(1.0, proved)]


def gains(decision: Decision, margin: float) -> bool:
    """Whether the selection beats native by the margin at some distance at least."""
    return any(it.arm == decision.selection and it.ratio >= 1 + margin for it in decision.met)


def decide(problem: Problem, winner: str | None, fight: Duel | None, margin: float, note: str = "") -> Decision:
    """From a duel to a decision: the winner when it has won clearly, native in all other cases."""
    if winner is None or fight is None:
        return native_stays(problem, note or "no candidate applies here")
    won = fight.is_won(margin)
    return Decision(
        problem=problem,
        selection=winner if won else NATIVE,
        native_us=round(fight.native_us, 3),
        chosen_us=round(fight.chosen_us if won else fight.native_us, 3),
        lowest_ratio=round(min(fight.ratios), 3) if won else 1.0,
        highest_ratio=round(max(fight.ratios), 3) if won else 1.0,
        calls=fight.calls,
        best=winner,
        best_us=round(fight.chosen_us, 3),
        disturbance=round(fight.disturbance, 3),
        duel_ratio=round(fight.ratio, 3),
        note=""
        if won
        else f"{winner} is {fight.ratio:.2f}x native ({min(fight.ratios):.2f} to {max(fight.ratios):.2f})",
    )


def less_favourable(one: Decision, other: Decision) -> Decision:
    """Of two duels over the same problem, at two times, the one in which ours was the slower against native."""
    return min(one, other, key=lambda it: it.best_ratio)


def leave_to_native(decision: Decision, why: str) -> Decision:
    """The same problem, left to native after all."""
    return replace(
        decision,
        selection=NATIVE,
        chosen_us=decision.native_us,
        lowest_ratio=1.0,
        highest_ratio=1.0,
        note=f"{decision.best}: {why}",
    )


def native_stays(problem: Problem, note: str) -> Decision:
    """Native without a duel: nothing could be measured against it."""
    return Decision(problem, NATIVE, 0.0, 0.0, 1.0, 1.0, 0, "", 0.0, note)


# In place of a selection: no row, so that the library decides.
BUILT_IN = ""


def unmeasured(problem: Problem, selection: str) -> Decision:
    """What holds at a size that a budget did not reach."""
    return replace(native_stays(problem, "out of time"), selection=selection)
