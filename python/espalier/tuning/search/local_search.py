"""The search for what is fastest on one problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from espalier.measure.worker import WorkerLostError
from espalier.tuning.problems import candidates
from espalier.tuning.problems.problem import Problem
from espalier.tuning.search.decisions import Decision, decide, list_rivals, native_stays
from espalier.tuning.search.meetings import meetings_of
from espalier.tuning.search.racing import BLOCK_ROUNDS, LONG_US, MOST_BLOCKS
from espalier.tuning.search.run import Run

# How often the winner's knobs are varied before it is taken as it is.
_SEARCH_STEPS = 2


def search_safely(run: Run, problem: Problem) -> Decision:
    """A job that dies or hangs over a problem leaves that problem to native."""
    run.on_progress(str(problem), 0)
    try:
        return search(run, problem, [])
    except WorkerLostError as error:
        run.lose(str(problem), error)
        return native_stays(problem, str(error))


def search(run: Run, problem: Problem, more: Sequence[str]) -> Decision:
    """Races, varies the winner's knobs, races again, and lets the winner meet native."""
    machine = run.machine
    best = run.race(problem, [*candidates.seeds(machine, problem), *more])
    rounds, seen = best.rounds_run, dict(best.seen)
    refused = dict(best.refused)
    winner = best.leader
    for _ in range(_SEARCH_STEPS):
        around = candidates.neighbours(machine, problem, winner) if winner is not None else []
        around = [arm for arm in around if arm not in best.seen]
        if winner is None or not around:
            break
        before, best = winner, run.race(problem, [winner, *around])
        rounds += best.rounds_run
        refused |= best.refused
        seen = {**seen, **best.seen}
        winner = best.leader
        if winner == before:
            break
    expected = best.seen.get(winner, 0.0) if winner is not None else 0.0
    rivals = list_rivals(winner, seen) if winner is not None and expected < LONG_US else []
    challengers = [winner, *rivals] if winner is not None else []
    fights, line_ns = run.fight(problem, challengers, expected) if challengers else ({}, 0.0)
    winner = max(fights, key=lambda arm: fights[arm].ratio, default=winner)
    _remark_refusals(run, problem, refused)
    fight = fights.get(winner) if winner is not None else None
    decision = decide(problem, winner, fight, run.options.margin, next(iter(refused.values()), ""))
    decision = replace(decision, met=meetings_of(fights, line_ns))
    grid = candidates.count_exhaustive(machine, problem) * BLOCK_ROUNDS * MOST_BLOCKS
    return replace(decision, rounds_run=rounds, rounds_exhaustive=max(grid, rounds))


def _remark_refusals(run: Run, problem: Problem, refused: Mapping[str, str]) -> None:
    for arm, reason in refused.items():
        if reason == "wrong data":
            run.result.remarks.append(f"{problem}: {arm} delivered wrong data and is not used; please report this")
