"""How far is a pick from the best of everything on the grid, and the built-in choice from a pick?"""

from __future__ import annotations

from statistics import median
from typing import Any

from espalier.measure.worker import ArmTimes
from espalier.tuning.problems import candidates
from espalier.tuning.problems.candidates import Machine
from espalier.tuning.search.decisions import Decision
from espalier.tuning.search.racing import BLOCK_ROUNDS, DUEL_ROUNDS, MOST_ARMS, Measure

AUTO = "auto"


def compare_with_all(machine: Machine, decision: Decision, measure: Measure) -> dict[str, Any]:
    """Every selection against the decision's best, round by round; whoever is fastest then meets it once more.

    "distance" is by how much the fastest of all is faster than the pick: 0.05 for 5 %.
    """
    problem, pick = decision.problem, decision.best
    arms = [arm for arm in candidates.exhaustive(machine, problem) if arm != pick]
    fastest, least = pick, 1.0
    for at in range(0, len(arms), MOST_ARMS - 1):
        own, *others = measure([pick, *arms[at : at + MOST_ARMS - 1]], BLOCK_ROUNDS)
        for other in others:
            if not other.refused and (share := _share(other, own)) < least:
                fastest, least = other.arm, share
    share = 1.0
    if fastest != pick:
        own, other = measure([pick, fastest], DUEL_ROUNDS)
        share = min(1.0, _share(other, own))
    return {
        "operation": problem.operation,
        "bytes": problem.bytes,
        "selections": len(arms) + 1,
        "pick": pick,
        "best": fastest if share < 1 else pick,
        "distance": round(1 / share - 1, 3),
    }


def compare_with_builtin(decision: Decision, measure: Measure) -> dict[str, Any] | None:
    """What a job without this table pays: the time of the built-in choice over the selection's, side by side.

    1 where both are the same; None where one of them is refused.
    """
    own, builtin = measure([decision.selection, AUTO], BLOCK_ROUNDS)
    if own.refused or builtin.refused:
        return None
    is_same = own.said and own.said == builtin.said
    ratio = 1.0 if is_same else round(_share(builtin, own), 3)
    return {"operation": decision.problem.operation, "bytes": decision.problem.bytes, "ratio": ratio}


def _share(one: ArmTimes, other: ArmTimes) -> float:
    """The median over the rounds of one ÷ other."""
    return median(a / b for a, b in zip(one.p50, other.p50, strict=True))
