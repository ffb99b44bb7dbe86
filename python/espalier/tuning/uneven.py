"""Uneven blocks: what is best for equal ones meets native once more, and forms of which no rank knows all sizes are
decided at all sizes together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from espalier.tuning.decisions import Decision, decide, less_favourable, native_stays
from espalier.tuning.forms import (
    find_challengers,
    list_shorts,
    needs_a_look,
    settle_any_size,
    settle_exchanged,
    settle_shorts,
    settled_together,
    takes_any_size,
)
from espalier.tuning.problems import EXCHANGED, Problem, list_forms
from espalier.tuning.racing import LONG_US, NATIVE, duel
from espalier.tuning.run import Run
from espalier.tuning.worker import WorkerLostError


def settle_forms(run: Run, problems: Sequence[Problem], duels: int = 1) -> None:
    """Lets what is best for equal blocks meet native with uneven ones, where the former could be measured.

    `duels`: a second one, some time after the first, has a say where calls are short.
    """
    known = run.result.decisions
    forms = [it for it in list_forms([it for it in problems if it in known]) if known[it.even].calls]
    for group in settled_together(forms):
        news = [problem for problem in group if _lets_meet_native(run, problem, duels)]
        if news or any(problem not in known for problem in group):
            _settle_form(run, {problem: reduce(less_favourable, run.form_duels[problem]) for problem in group})


def _lets_meet_native(run: Run, problem: Problem, times: int) -> bool:
    """Whether there was a duel to fight yet."""
    fought = run.form_duels.setdefault(problem, [])
    before = len(fought)
    while not fought or (len(fought) < times and fought[0].best and fought[0].native_us < LONG_US):
        found = _duel_form(run, problem, fought[0].best) if fought else _decide_form(run, problem)
        fought.append(found)
        run.journal.append({"duel": found.to_json()})
    return len(fought) > before


def _settle_form(run: Run, duels: Mapping[Problem, Decision]) -> None:
    is_exchanged = any(problem.operation in EXCHANGED for problem in duels)
    for decision in (_settle_exchanged(run, duels) if is_exchanged else duels).values():
        run.record(decision)


def _settle_exchanged(run: Run, duels: Mapping[Problem, Decision]) -> dict[Problem, Decision]:
    """Ours at all sizes; or short blocks by the dedicated path and native for the rest; or native at all."""
    if all(takes_any_size(run.machine, problem) for problem in duels):
        return settle_any_size(duels, run.options.margin)
    settled = settle_exchanged(duels, run.options.margin)
    shorts = list_shorts(duels, run.options.margin)
    if not shorts or all(it.selection != NATIVE for it in settled.values()):
        return settled
    looks = {it: _duel_form(run, it, "tiny") for it in needs_a_look(run.machine, duels, shorts)}
    return settle_shorts(duels, looks) or settled


def _decide_form(run: Run, problem: Problem) -> Decision:
    challengers = find_challengers(run.machine, problem, run.result.decisions[problem.even])
    return _duel_form(run, problem, _fastest(run, problem, challengers))


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
        fight = duel(challenger, run.measure(problem), run.result.decisions[problem.even].native_us)
    except WorkerLostError as error:
        run.lose(str(problem), error)
        return native_stays(problem, str(error))
    return decide(problem, challenger, fight, run.options.margin)
