"""What follows when all is decided: guidelines are checked, and picks compared with what there is besides."""

from __future__ import annotations

from collections.abc import Sequence

from espalier.measure.worker import WorkerLostError
from espalier.tuning.problems import candidates
from espalier.tuning.problems.guidelines import Violation, check_guidelines, is_real
from espalier.tuning.problems.problem import Problem
from espalier.tuning.search.local_search import search
from espalier.tuning.search.racing import NATIVE
from espalier.tuning.search.run import Run
from espalier.tuning.table.file import rows_of, selection_at
from espalier.tuning.verdict.sampling import compare_with_all, compare_with_builtin


def keep_guidelines(run: Run) -> None:
    """Decides again where a guideline fails, with what won at the neighbouring sizes among the candidates."""
    ranks = run.machine.shape.ranks
    before = check_guidelines(_times(run), ranks)
    for problem in dict.fromkeys(violation.problem for violation in before):
        run.begin(f"guidelines: {problem}")
        try:
            again = search(run, problem, _selections_nearby(run, problem))
        except WorkerLostError as error:
            run.lose(str(problem), error)
            continue
        now = run.result.decisions[problem]
        # Two honest measurements: the later one counts when it found something faster, or when native must stay.
        if again.calls and (again.chosen_us < now.chosen_us or again.selection == NATIVE):
            run.record(again)
    left = check_guidelines(_times(run), ranks)
    names = {violation.name for violation in left}
    run.result.repaired = [one for one in before if one.name not in names]
    _part_real_from_apparent(run, left)


def _part_real_from_apparent(run: Run, violations: Sequence[Violation]) -> None:
    rows = rows_of(list(run.result.decisions.values()), run.machine)

    def time_of(problem: Problem) -> float | None:
        (times,) = run.measure(problem)([selection_at(rows, problem) or "auto"], 1)
        return None if times.refused else times.p50[0]

    for violation in violations:
        run.on_progress(f"side by side: {violation.name}", 0)
        try:
            real = is_real(violation, time_of)
        except WorkerLostError as error:
            run.lose(violation.name, error)
            real = True
        (run.result.violations if real else run.result.apparent).append(violation)


def _times(run: Run) -> dict[Problem, float]:
    decisions = run.result.decisions.items()
    return {problem: it.chosen_us for problem, it in decisions if it.chosen_us > 0 and not problem.is_uneven}


def _selections_nearby(run: Run, problem: Problem) -> list[str]:
    """What was best at other sizes of the operation and applies here."""
    found = [
        candidates.normal_form(run.machine, problem, it.best)
        for it in run.result.decisions.values()
        if it.problem.operation == problem.operation and it.best
    ]
    return [text for text in dict.fromkeys(found) if candidates.is_valid(run.machine, problem, text)]


def try_without_table(run: Run) -> None:
    """How good is the built-in choice where there is no table? Measured next to what the table selects."""
    if run.options.samples == 0:
        return
    known = {(it["operation"], it["bytes"]) for it in run.result.untuned}
    decided = [it for it in run.result.decisions.values() if it.calls and not it.problem.is_uneven]
    decided = [it for it in decided if (it.problem.operation, it.problem.bytes) not in known]
    try:
        for decision in decided:
            run.begin(f"without the table: {decision.problem}")
            if found := compare_with_builtin(decision, run.measure(decision.problem)):
                run.result.untuned.append(found)
                run.journal.append({"untuned": found})
    except WorkerLostError as error:
        run.lose("without the table", error)


def sample_picks(run: Run, problems: Sequence[Problem]) -> None:
    """How far is the pick from the best of everything on the grid? Measured on a few problems, evenly chosen."""
    decisions = (run.result.decisions[problem] for problem in problems)
    tuned = [it for it in decisions if it.best and not candidates.is_dedicated(it.best)]
    if not tuned or run.result.samples:
        return
    step = max(1, len(tuned) // max(1, run.options.samples))
    for decision in tuned[step // 2 :: step][: run.options.samples]:
        run.begin(f"everything on the grid: {decision.problem}")
        try:
            sample = compare_with_all(run.machine, decision, run.measure(decision.problem))
        except WorkerLostError as error:
            run.lose(str(decision.problem), error)
            continue
        run.result.samples.append(sample)
        run.journal.append({"sample": sample})
