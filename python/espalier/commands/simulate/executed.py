"""espalier simulate --execute: the library itself, and other MPIs' algorithms, on simulated ranks."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.names import suggest
from espalier.base.units import counted, format_time, name_problem
from espalier.simulation.arms import ExecutedArm
from espalier.simulation.executor import OURS, SELECTORS, Case, Job


def parse_arms(against: str | None) -> list[str]:
    """Ours first, then those named: "mvapich2,ompi", or "all"."""
    if against is None:
        return [OURS]
    names = list(SELECTORS) if against == "all" else list(dict.fromkeys(against.split(",")))
    for name in names:
        if name not in SELECTORS:
            raise UserError(f"--against {name}: SimGrid has no such MPI", suggest(name, (*SELECTORS, "all")))
    return [OURS, *names]


def report(job: Job, case: Case, arms: list[ExecutedArm], as_json: bool) -> None:
    """A table, or the same as JSON. Wrong data have no time: they are named instead."""
    if as_json:
        console.print_json(_as_json(job, case, arms))
        return
    machine = f"{counted(len(job.node_of), 'rank')}, {counted(job.hosts, 'node')}; {escape(job.network)}"
    console.out.print(f"[bold]{name_problem(case.operation, case.bytes)}[/] executed on {machine}")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("", "time", "against ours", "choice"):
        is_text = heading in ("", "choice")
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=heading != "choice", overflow="fold")
    ours = arms[0].timing
    for arm in arms:
        it = arm.timing
        if it is None or it.wrong > 0 or ours is None:
            problem = arm.problem if it is None else f"wrong data on {counted(it.wrong, 'rank')}"
            table.add_row(arm.name, "–", "", escape(problem), style="dim")
        else:
            ratio = it.microseconds / ours.microseconds if ours.microseconds else 1
            table.add_row(arm.name, format_time(it.microseconds), f"{ratio:.2f}", escape(it.choice))
    console.print_table(table)


def _as_json(job: Job, case: Case, arms: list[ExecutedArm]) -> dict[str, object]:
    return {
        "operation": case.operation,
        "bytes": case.bytes,
        "ranks": len(job.node_of),
        "platform": job.network,
        "executed": True,
        "arms": [
            {"name": arm.name, "problem": arm.problem}
            if arm.timing is None
            else {
                "name": arm.name,
                "microseconds": arm.timing.microseconds,
                "wrong_ranks": arm.timing.wrong,
                "choice": arm.timing.choice,
            }
            for arm in arms
        ],
    }
