"""Uneven blocks: what is best for equal ones meets native once more, and forms of which no rank knows all sizes are
decided at all sizes together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from espalier.measure.worker import WorkerLostError
from espalier.tuning.environment.distances import is_same
from espalier.tuning.problems.problem import EXCHANGED, Problem, list_forms
from espalier.tuning.search.decisions import Decision, decide, less_favourable, list_hopeful, native_stays
from espalier.tuning.search.meetings import Meeting, distances_of, is_met_at, join, meetings_of, worst_ratios
from espalier.tuning.search.racing import LONG_US, NATIVE
from espalier.tuning.search.run import Run
from espalier.tuning.uneven.forms import (
    MOST_DUELS,
    MOST_IN_DOUBT,
    arm_of,
    find_challengers,
    leave_open,
    list_patient,
    list_settings,
    list_shorts,
    needs_a_look,
    pick_middle,
    settle_exchanged,
    settle_settings,
    settle_shorts,
    settled_together,
    takes_any_size,
)

# What beats native by less at a new distance of the processors may be beaten there by something else.
_CONTENT = 1.2


def settle_forms(run: Run, problems: Sequence[Problem], duels: int = 1) -> None:
    """Lets what is best for equal blocks meet native with uneven ones, where the former could be measured.

    `duels`: a second one, some time after the first, has a say where calls are short.
    """
    for group in _groups(run, problems):
        news = [problem for problem in group if _lets_meet_native(run, problem, duels)]
        if news or any(problem not in run.result.decisions for problem in group):
            _settle_group(run, group)


def _groups(run: Run, problems: Sequence[Problem]) -> list[list[Problem]]:
    known = run.result.decisions
    forms = [it for it in list_forms([it for it in problems if it in known]) if known[it.even].calls]
    return settled_together(run.machine, forms)


def list_unproved_forms(
    run: Run, problems: Sequence[Problem], visits: Counter[Problem], most: int
) -> list[tuple[Problem, list[float]]]:
    """Forms, with the usual distances of the processors at which what may be selected has not met native. Those that
    have been visited `most` times are left as they are."""
    found = []
    for problem in [it for group in _groups(run, problems) for it in group if visits[it] < most]:
        arms, met = _rivals(run, problem), _met(run, problem)
        at = [it for it in run.distances.usual if any(not is_met_at(met, arm, it) for arm in arms)]
        found += [(problem, at)] if at else []
    return found


def prove_forms(run: Run, problems: Sequence[Problem], visits: Counter[Problem], most: int) -> None:
    """Lets the forms meet native where the processors lie now, as far as they have not yet, and settles them again."""
    lacking = dict(list_unproved_forms(run, problems, visits, most))
    for group in _groups(run, problems):
        news = [it for it in group if any(is_same(run.distances.here, at) for at in lacking.get(it, ()))]
        for problem in news:
            visits[problem] += 1
            _meet_here(run, problem)
        if news:
            _settle_group(run, group)


def _meet_here(run: Run, problem: Problem) -> None:
    """What has not met native here does; what else is the fastest here, too, if not every rank must know the sizes to
    choose it and nothing that is known does well."""
    for arm in _rivals(run, problem):
        if not is_met_at(_met(run, problem), arm, run.distances.here):
            _note_duel(run, problem, _duel_form(run, problem, arm))
    best = max((it.ratio for it in _met(run, problem) if is_same(it.line_ns, run.distances.here)), default=0.0)
    if problem.operation in EXCHANGED or best >= _CONTENT:
        return
    fastest = _fastest(run, problem, _challengers(run, problem))
    if not is_met_at(_met(run, problem), fastest, run.distances.here):
        _note_duel(run, problem, _duel_form(run, problem, fastest))


def _met(run: Run, problem: Problem) -> tuple[Meeting, ...]:
    return reduce(join, (it.met for it in run.form_duels[problem]), ())


def _rivals(run: Run, problem: Problem) -> list[str]:
    """What may be selected: the ways of doing it that may serve all sizes; else what may be better than what is known
    of all usual distances. None where calls are long, or no duel could be fought."""
    fought = run.form_duels.get(problem, [])
    if not fought or not all(it.best for it in fought) or fought[0].native_us >= LONG_US:
        return []
    if problem.operation in EXCHANGED:
        return list(dict.fromkeys(it.best for it in fought))
    return list_hopeful(replace(fought[0], met=_met(run, problem)), run.distances.usual)


def _settle_group(run: Run, group: Sequence[Problem]) -> None:
    _settle(run, group)
    if all(takes_any_size(run.machine, problem) for problem in group) and _fight_on(run, group):
        _settle(run, group)


def _settle(run: Run, group: Sequence[Problem]) -> None:
    if all(takes_any_size(run.machine, problem) for problem in group):
        by_setting = {it: _worst_by_setting(run, group, it) for it in list_settings(run.machine)}
        patient = list_patient({problem: run.form_duels[problem] for problem in group})
        settled = settle_settings({it: duels for it, duels in by_setting.items() if duels}, patient, run.options.margin)
    else:
        duels = {problem: _less_favourable_of_best(run, problem) for problem in group}
        settled = _settle_exchanged(run, duels) if group[0].operation in EXCHANGED else duels
    for decision in settled.values():
        run.record(decision)


def _fight_on(run: Run, group: Sequence[Problem]) -> bool:
    """More duels here where those that were fought have not told whether a size may be ours. Whether there were any."""
    doubts = [(it, arm) for it in group for arm in _challengers(run, it) if _is_open(run, it, arm)]
    if len({problem for problem, _ in doubts}) > MOST_IN_DOUBT:
        return False
    for problem, arm in doubts:
        for _ in range(MOST_DUELS):  # in the middle of which the processors may be moved
            if _is_open(run, problem, arm):
                _note_duel(run, problem, _duel_form(run, problem, arm))
    return bool(doubts)


def _is_open(run: Run, problem: Problem, arm: str) -> bool:
    is_long = any(it.native_us >= LONG_US for it in run.form_duels[problem])
    return not is_long and leave_open(_duels_at(run.form_duels[problem], arm, run.distances.here))


def _duels_at(fought: Sequence[Decision], arm: str, line_ns: float) -> list[Decision]:
    return [it for it in fought if it.best == arm and all(is_same(line_ns, met.line_ns) for met in it.met)]


def _worst_by_setting(run: Run, group: Sequence[Problem], setting: str) -> dict[Problem, Decision]:
    """The duels of the dedicated path with this setting where it fares worst; nothing where it has not met native at
    all sizes."""
    worst = {}
    for problem in group:
        arm = arm_of(run.machine, problem, setting)
        duels = [it for it in run.form_duels[problem] if it.best in (arm, "")]
        if not duels:
            return {}
        met = tuple(replace(it, arm=setting) for it in _met(run, problem) if it.arm == arm)
        places = {line_ns: _duels_at(duels, arm, line_ns) for line_ns in distances_of(met)}
        middles = [pick_middle(at) for at in places.values() if at]
        found = reduce(less_favourable, [*middles, *(it for it in duels if not it.met)])
        worst[problem] = replace(found, best=setting if found.best else "", met=met)
    return worst


def _less_favourable_of_best(run: Run, problem: Problem) -> Decision:
    """Of the challenger that fares best where it fares worst, the worst duel, with all meetings."""
    fought, met = run.form_duels[problem], _met(run, problem)
    worst = worst_ratios(met, run.distances.usual)
    best = max(worst, key=lambda arm: worst[arm], default=fought[0].best)
    duels = [it for it in fought if it.best in (best, "")]
    return replace(reduce(less_favourable, duels), met=met)


def _lets_meet_native(run: Run, problem: Problem, times: int) -> bool:
    """Whether there was a duel to fight yet."""
    fought = run.form_duels.setdefault(problem, [])
    before = len(fought)
    while not fought or (_times_of_first(fought) < times and fought[0].best and fought[0].native_us < LONG_US):
        for arm in _list_arms(run, problem, fought):
            _note_duel(run, problem, _duel_form(run, problem, arm))
    return len(fought) > before


def _times_of_first(fought: Sequence[Decision]) -> int:
    return sum(it.best == fought[0].best for it in fought)


def _list_arms(run: Run, problem: Problem, fought: Sequence[Decision]) -> list[str]:
    """Who meets native next: all settings of the dedicated path where it takes any size; else the fastest, and that
    again."""
    if takes_any_size(run.machine, problem):
        return _challengers(run, problem)
    return [fought[0].best if fought else _fastest(run, problem, _challengers(run, problem))]


def _challengers(run: Run, problem: Problem) -> list[str]:
    return find_challengers(run.machine, problem, run.result.decisions[problem.even])


def _note_duel(run: Run, problem: Problem, found: Decision) -> None:
    run.form_duels[problem].append(found)
    run.journal.append({"duel": found.to_json()})


def _settle_exchanged(run: Run, duels: Mapping[Problem, Decision]) -> dict[Problem, Decision]:
    """Ours at all sizes; or short blocks by the dedicated path and native for the rest; or native at all."""
    settled = settle_exchanged(duels, run.options.margin)
    shorts = list_shorts(duels, run.options.margin)
    if not shorts or all(it.selection != NATIVE for it in settled.values()):
        return settled
    looks = {it: _duel_form(run, it, "tiny") for it in needs_a_look(run.machine, duels, shorts)}
    return settle_shorts(duels, looks) or settled


def _fastest(run: Run, problem: Problem, arms: Sequence[str]) -> str:
    """The leader of a race; the first of the arms where none was run."""
    if len(arms) == 1:
        return arms[0]
    run.begin(str(problem))
    try:
        return run.race(problem, arms).leader or arms[0]
    except WorkerLostError as error:
        run.lose(str(problem), error)
        return arms[0]


def _duel_form(run: Run, problem: Problem, challenger: str) -> Decision:
    run.begin(str(problem))
    try:
        fights, line_ns = run.fight(problem, [challenger], run.result.decisions[problem.even].native_us)
    except WorkerLostError as error:
        run.lose(str(problem), error)
        return native_stays(problem, str(error))
    decision = decide(problem, challenger, fights.get(challenger), run.options.margin)
    return replace(decision, met=meetings_of(fights, line_ns))
