"""Where a host moves the processors about, what wins at one distance of them may lose at another: every entry, and
every uneven form, is put to the test at each. What is best where it fares worst is kept, native being one of those.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from espalier.measure.worker import WorkerLostError
from espalier.tuning.environment.distances import STEADY, is_same
from espalier.tuning.problems.problem import Problem
from espalier.tuning.search.decisions import Decision, gains, hold, leave_to_native, list_hopeful
from espalier.tuning.search.local_search import search
from espalier.tuning.search.meetings import is_met_at, join
from espalier.tuning.search.racing import LONG_US, NATIVE
from espalier.tuning.search.run import MOST_OF_TIME, Run
from espalier.tuning.uneven.settling import list_unproved_forms, prove_forms

# How long to look whether processors are moved at all, where there is a host that may; and how long to wait until they
# lie where they have lain before. Here they stay for ten seconds or so, at times for a minute.
_WATCH_S, _PATIENCE_S = 30.0, 90.0
_LOOK_EVERY_S = 0.2
# What beats native by less at a new distance may be beaten there by something else: a search finds it.
_CONTENT = 1.2
# Arms in one duel; attempts on one problem (moved processors and refused arms may keep it from being settled).
_MOST_ARMS, _MOST_VISITS = 6, 12

_WHY = "it won where the processors lay first, and not where they lay later"


def prove_elsewhere(run: Run, problems: Sequence[Problem]) -> None:
    """Meets every usual distance that comes by while there is patience; where there is one only, looks for another."""
    if run.distances.may_change:
        _watch(run)
    visits: Counter[Problem] = Counter()
    searched: set[tuple[Problem, float]] = set()
    while wanted := _list_wanted(run, problems, visits):
        here = run.look()
        if not _is_among(here, wanted) and not _wait_for_any(run, wanted):
            return
        for problem in [it for it, at in _list_unproved(run, visits) if _is_among(run.distances.here, at)]:
            visits[problem] += 1
            _prove(run, problem, searched)
        prove_forms(run, problems, visits, _MOST_VISITS)


def _watch(run: Run) -> None:
    """Looks for another distance while one only is known; where ranks share processors or links, there is none."""
    for _ in range(STEADY):
        run.look()
    if len(run.distances.usual) == 1:
        told = "looking whether the processors are moved about"
        _wait(run, told, _WATCH_S, lambda here: len(run.distances.usual) > 1)


def _list_wanted(run: Run, problems: Sequence[Problem], visits: Counter[Problem]) -> list[float]:
    """The distances at which something has to be put to the test yet."""
    unproved = [*_list_unproved(run, visits), *list_unproved_forms(run, problems, visits, _MOST_VISITS)]
    return [distance for distance in run.distances.usual if any(_is_among(distance, at) for _, at in unproved)]


def _list_unproved(run: Run, visits: Counter[Problem]) -> list[tuple[Problem, list[float]]]:
    """Entries, with the distances at which what may be selected has not met native."""
    found = []
    for problem, decision in run.result.decisions.items():
        if problem.is_uneven or decision.native_us >= LONG_US or visits[problem] >= _MOST_VISITS:
            continue
        hopeful = list_hopeful(decision, run.distances.usual)
        at = [it for it in run.distances.usual if any(not is_met_at(decision.met, arm, it) for arm in hopeful)]
        found += [(problem, at)] if at else []
    return found


def _prove(run: Run, problem: Problem, searched: set[tuple[Problem, float]]) -> None:
    """Lets what may be selected meet native here; where none of it does well, searches for what does, once."""
    run.begin(f"where the processors lie now: {problem}")
    try:
        now, best = _hold_here(run, run.result.decisions[problem])
        place = problem, run.distances.here
        if best < _CONTENT and place not in searched:
            searched.add(place)
            found = search(run, problem, list_hopeful(now, run.distances.usual))
            now, _ = _hold_here(run, replace(now, met=join(now.met, found.met)))
    except WorkerLostError as error:
        run.lose(str(problem), error)
        now = leave_to_native(run.result.decisions[problem], str(error))
    run.record(now)


def _hold_here(run: Run, decision: Decision) -> tuple[Decision, float]:
    """The decision after one more duel, and what the best arm's ratio in that was."""
    usual, here = run.distances.usual, run.distances.here
    arms = sorted(list_hopeful(decision, usual), key=lambda arm: is_met_at(decision.met, arm, here))[:_MOST_ARMS]
    if decision.selection not in (NATIVE, *arms):
        arms.append(decision.selection)
    if not arms:
        return decision, 0.0
    fights, line_ns = run.fight(decision.problem, arms, decision.chosen_us)
    now = hold(decision, fights, line_ns, usual, _WHY)
    if decision.selection == NATIVE and now.selection != NATIVE and not gains(now, run.options.margin):
        now = replace(decision, met=now.met)
    return now, max((fight.ratio for fight in fights.values()), default=0.0)


def _wait_for_any(run: Run, wanted: Iterable[float]) -> bool:
    wanted = list(wanted)
    told = f"waiting until the processors lie {' or '.join(f'{it:.0f}' for it in wanted)} ns apart again"
    return _wait(run, told, _PATIENCE_S, lambda here: _is_among(here, wanted))


def _wait(run: Run, told: str, seconds: float, is_over: Callable[[float], bool]) -> bool:
    """Looks again and again where the processors lie; whether what was waited for came in time."""
    end = time.monotonic() + seconds
    while not is_over(run.look()):
        left = end - time.monotonic()
        if left <= 0 or run.share_of_time() >= MOST_OF_TIME:
            return False
        run.on_progress(f"{told}: {left:.0f} s left", 0)
        run.pause(_LOOK_EVERY_S)
    return True


def _is_among(distance: float, distances: Iterable[float]) -> bool:
    return any(is_same(distance, other) for other in distances)
