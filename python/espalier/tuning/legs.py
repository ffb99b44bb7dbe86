"""How `espalier tune` runs: a session for each transport, each adding what it has decided to the table."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from espalier import __version__
from espalier.base import console
from espalier.base.errors import UserError
from espalier.jobs.launch import Place
from espalier.jobs.mpis import Mpi
from espalier.measure.worker import Hello, Worker
from espalier.tuning.environment.curves import CURVES
from espalier.tuning.environment.distances import Distances, is_virtual
from espalier.tuning.environment.model import model_of
from espalier.tuning.environment.place import survey
from espalier.tuning.problems.problem import Problem, Shape, list_problems
from espalier.tuning.search.decisions import Decision
from espalier.tuning.search.journal import Journal
from espalier.tuning.search.racing import NATIVE
from espalier.tuning.search.run import Options, OutOfTimeError, Result
from espalier.tuning.session import Session
from espalier.tuning.table.file import MPI, distances_in, format_table, merge_rows, read_table, rows_of, write_table
from espalier.tuning.table.unreached import leave_unreached, list_measured
from espalier.tuning.verdict.summary import Summary, summarize

# One arm's share of a round: some hundred calls where they take microseconds. Where ranks share cores, a call takes
# a scheduler's time slices.
_BATCH_US, _BATCH_OVERSUBSCRIBED_US = 2000.0, 8000.0


TRANSPORT = "ESPALIER_TRANSPORT"


@dataclass(frozen=True)
class Request:
    """What to tune, how, and where the results go."""

    mpi: Mpi
    ranks: int
    variables: Mapping[str, str]
    hosts: Place | None
    network: str  # of an emulated cluster; else empty
    operations: list[str]
    sizes: list[int]
    margin: float
    cold: bool
    samples: int
    curves: bool
    output: Path
    report: Path

    def over(self, transport: str) -> Request:
        """The same with messages between nodes carried by it; the page gets a name of its own."""
        if transport == MPI:
            return self
        page = self.report.with_name(f"{self.report.stem}-{transport}{self.report.suffix}")
        return replace(self, variables={**self.variables, TRANSPORT: transport}, report=page)

    def start(self) -> Worker:
        return Worker(self.mpi, self.ranks, self.variables, self.hosts)


@dataclass(frozen=True)
class Leg:
    """A session over one transport, as it ended."""

    request: Request
    signature: Any  # espalier._core.Signature: whom the table is for
    shape: Shape
    result: Result
    summary: Summary
    how: str  # "complete", "out of time" or "interrupted"


def tune_over(
    core: Any, request: Request, transports: Sequence[str], deadline: float, on_end: Callable[[Leg], None]
) -> list[Leg]:
    """One session for each transport, which share the time; on one node there is nothing to carry. `on_end` is told of
    each when its table is written."""
    legs: list[Leg] = []
    for number, transport in enumerate(transports):
        if legs and (legs[-1].how == "interrupted" or legs[-1].shape.nodes == 1):
            break
        share = (deadline - time.monotonic()) / (len(transports) - number)
        asked = request.over(transport)
        with asked.start() as first:
            if transport != MPI and first.hello.transport not in (transport, ""):
                reason = f"{transport} cannot be used here: messages between nodes go through MPI"
                if not legs:
                    raise UserError(reason, "see the job's line above; or tune with --transport mpi")
                console.note(f"{reason}; only those are tuned")
                break
            legs.append(_run_leg(core, asked, first, time.monotonic() + share))
            on_end(legs[-1])
    return legs


def _run_leg(core: Any, request: Request, first: Worker, deadline: float) -> Leg:
    """Tunes, and adds what was decided to the table."""
    begin = time.monotonic()
    hello, path = first.hello, request.output
    machine = survey(core, hello, request.variables)
    signature = core.probe_signature(hello.library)
    kept = _rows_to_keep(core, path, signature, request.network)
    batch_us = _BATCH_OVERSUBSCRIBED_US if hello.ranks > hello.cores else _BATCH_US
    options = Options(request.margin, batch_us, request.cold, request.samples)
    problems = list_problems(request.operations, request.sizes, request.ranks)
    about = {"espalier": __version__, "machine": signature.machine, "mpi": signature.mpi}
    about |= {"shape": str(machine.shape), "network": request.network, "settings": request.variables}
    about |= {"options": asdict(options)}
    infix = "" if machine.transport == MPI else f".{machine.transport}"
    journal = Journal(path.with_name(f"{path.name}{infix}.journal"), about)
    jobs = iter([first])
    distances = Distances(_known_distances(core, path), may_change=is_virtual())
    session = Session(machine, lambda: next(jobs, None) or request.start(), options, journal, deadline, distances)
    with contextlib.closing(session):
        how = _run_with_progress(session, request, machine.shape, problems)

    result = session.result
    result.distances = distances.usual
    summary = summarize(result, len(problems), request.ranks, time.monotonic() - begin)
    unreached = leave_unreached(machine, problems, result.decisions, list_measured(kept, machine))
    result.remarks += _told_of(unreached)
    decided = rows_of(list(result.decisions.values()), machine, unreached)
    if not decided:
        journal.close(remove=not result.decisions)
        _nothing_decided(result, path, how)
    made = _made(request, options, hello, machine.shape, result, summary)
    write_table(
        core, path, format_table(core, signature, made, merge_rows(kept, decided), model_of(machine, result.curves))
    )
    journal.close(remove=result.is_complete)
    return Leg(request, signature, machine.shape, result, summary, how)


def _told_of(unreached: Sequence[Decision]) -> Iterator[str]:
    """One line for native, and one for what else holds where there was no time."""
    holds = "what won beside holds there, or the built-in choice"
    for is_native, what in ((True, "native stays there"), (False, holds)):
        left = [it.problem.operation for it in unreached if (it.selection == NATIVE) == is_native]
        if left:
            yield f"{', '.join(dict.fromkeys(left))}: no time was left for some sizes; {what}"


def _rows_to_keep(core: Any, path: Path, signature: Any, network: str) -> list[Mapping[str, Any]]:
    """The rows of a table that is there already: what is tuned now replaces its part of them, and only that."""
    if not path.exists():
        return []
    table = read_table(core, path)
    made = table.raw.get("made", {})
    before = made.get("network", "") if isinstance(made, dict) else ""
    reason = core.why_foreign(table.core.signature, signature)
    if not reason and before != network:
        reason = f"made for another network ({before or 'a real one'})"
    if reason:
        raise UserError(f"{path} is {reason}", "write this one elsewhere with -o FILE, or remove the old one")
    rows: list[Mapping[str, Any]] = table.raw["rows"]
    return rows


def _known_distances(core: Any, path: Path) -> list[float]:
    """Where the processors lay when the table that is there was made."""
    return distances_in(read_table(core, path).raw) if path.exists() else []


def _run_with_progress(session: Session, request: Request, shape: Shape, problems: Sequence[Problem]) -> str:
    """Runs the session; returns how it ended: "complete", "out of time" or "interrupted"."""
    carried = f" over {request.variables[TRANSPORT]}" if TRANSPORT in request.variables else ""
    with console.progress(f"{request.mpi}, {shape}{carried}", len(problems)) as tell:
        session.on_progress = tell
        try:
            session.draw_curves(CURVES if request.curves else ("latency",) if request.network else ())
            session.run(problems)
        except OutOfTimeError:
            return "out of time"
        except KeyboardInterrupt:
            return "interrupted"
    return "complete"


def _nothing_decided(result: Result, path: Path, how: str) -> None:
    """Raises UserError, or KeyboardInterrupt again, which is no mistake."""
    for remark in result.remarks:
        console.note(remark)
    if how == "interrupted":
        raise KeyboardInterrupt
    is_late = how == "out of time"
    why = "the budget was spent before anything was decided" if is_late else "no operation has a measured entry"
    kept = f"; {path} stays as it was" if path.exists() else ""
    raise UserError(f"{why}: no table is written", f"give more time with --budget{kept}")


def _made(
    request: Request, options: Options, hello: Hello, shape: Shape, result: Result, summary: Summary
) -> dict[str, Any]:
    """What a table says about its making."""
    return {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "by": f"espalier {__version__}",
        "ranks": hello.ranks,
        "cores": hello.cores,
        "shape": str(shape),
        "margin": options.margin,
        "batch_us": options.batch_us,
        "cold": options.cold,
        **({"network": request.network} if request.network else {}),
        **({"line_ns": summary.distances} if summary.distances else {}),
        **({"others": round(result.others.most, 2)} if result.others.disturbed else {}),
        "decided": summary.decided,
        "problems": summary.problems,
        "guidelines_fail": [violation.name for violation in result.violations],
        "guidelines_hold": [violation.name for violation in result.apparent],
    }
