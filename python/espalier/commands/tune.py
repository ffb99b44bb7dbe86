"""espalier tune: find by measuring what is fastest on this machine and MPI, and write it down as a table."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.markup import escape

from espalier import __version__, console
from espalier.core import load_core
from espalier.errors import UserError
from espalier.lab import cluster
from espalier.launch import Hosts
from espalier.mpis import Mpi, find_default_mpi, select_mpi
from espalier.report.tuning import summary_table, write_report
from espalier.settings import parse_settings
from espalier.tuning.curves import CURVES
from espalier.tuning.journal import Journal
from espalier.tuning.model import model_of
from espalier.tuning.place import survey
from espalier.tuning.problems import DEFAULT_SIZES, OPERATIONS, Problem, Shape, list_problems
from espalier.tuning.session import Options, OutOfTimeError, Result, Session
from espalier.tuning.summary import Summary, summarize
from espalier.tuning.table import (
    MPI,
    UCX,
    format_table,
    merge_rows,
    preferred_transport,
    read_table,
    rows_of,
    write_table,
)
from espalier.tuning.worker import Hello, Worker
from espalier.units import parse_bytes

# One arm's share of a round: some hundred calls where they take microseconds. Where ranks share cores, a call takes
# a scheduler's time slices.
_BATCH_US, _BATCH_OVERSUBSCRIBED_US = 2000.0, 8000.0

TRANSPORT = "ESPALIER_TRANSPORT"

_INTERRUPTED = 130  # as shells report it


@dataclass(frozen=True)
class _Request:
    """What the command line asks for."""

    mpi: Mpi
    ranks: int
    variables: Mapping[str, str]
    hosts: Hosts | None
    network: str  # of an emulated cluster; else empty
    operations: list[str]
    sizes: list[int]
    margin: float
    cold: bool
    samples: int
    curves: bool
    output: Path
    report: Path

    def over(self, transport: str) -> _Request:
        """The same with messages between nodes carried by it; the page gets a name of its own."""
        if transport == MPI:
            return self
        page = self.report.with_name(f"{self.report.stem}-{transport}{self.report.suffix}")
        return replace(self, variables={**self.variables, TRANSPORT: transport}, report=page)

    def start(self) -> Worker:
        return Worker(self.mpi, self.ranks, self.variables, self.hosts)


@dataclass(frozen=True)
class _Leg:
    """A session over one transport, as it ended."""

    request: _Request
    shape: Shape
    result: Result
    summary: Summary
    how: str  # "complete", "out of time" or "interrupted"


def tune(
    ops: Annotated[str | None, typer.Option(help="Operations, separated by commas. Default: all.")] = None,
    sizes: Annotated[str | None, typer.Option(help="Sizes, separated by commas: 4,1K,1M. Default: 4 to 4M.")] = None,
    ranks: Annotated[int, typer.Option("-n", "--ranks", min=2, help="Number of ranks.")] = 2,
    budget: Annotated[str, typer.Option(help="Most time to spend: 90s, 10m, 1h.")] = "10m",
    output: Annotated[
        Path | None, typer.Option("-o", help="The table. Default: your own, in ~/.config (with --lab: table-lab.json).")
    ] = None,
    mpi: Annotated[str | None, typer.Option(help="mpich, openmpi, intel, mpich-4 …, or a path.")] = None,
    virtual_nodes: Annotated[str | None, typer.Option(help="4, or 3,1,4, or cyclic:4.")] = None,
    transport: Annotated[
        str | None,
        typer.Option(help="What carries messages between nodes: mpi, ucx, or auto: both, to find the faster."),
    ] = None,
    lab: Annotated[bool, typer.Option("--lab", help="On all nodes of the emulated cluster (espalier lab up).")] = False,
    ppn: Annotated[int, typer.Option(min=1, help="With --lab: ranks per node, in place of --ranks.")] = 1,
    margin: Annotated[float, typer.Option(min=0, max=1, help="Native stays unless beaten by this share.")] = 0.05,
    cold: Annotated[bool, typer.Option("--cold", help="Buffers that are in no cache.")] = False,
    samples: Annotated[int, typer.Option(min=0, help="Problems on which to try everything, as a check.")] = 2,
    curves: Annotated[bool, typer.Option(help="Also measure the machine's curves.")] = True,
    report: Annotated[Path | None, typer.Option(help="The page. Default: beside the table.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any setting; may be repeated.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The result as JSON.")] = False,
) -> None:
    """Measure what is fastest for each operation and size, native included, and write the table that Espalier loads.

    Can be stopped at any time (Ctrl-C): what has been decided is written, and the same command goes on from there.
    """
    deadline = time.monotonic() + parse_duration(budget)
    core = load_core()
    variables = parse_settings(settings or [])
    operations, wanted_sizes = parse_operations(core, ops), _parse_sizes(sizes)
    transports = _parse_transports(transport or variables.get(TRANSPORT, MPI))
    chosen = select_mpi(mpi) if mpi is not None else find_default_mpi()
    if virtual_nodes is not None:
        variables["ESPALIER_VIRTUAL_NODES"] = virtual_nodes
    hosts, network = _emulated(ppn) if lab else (None, "")
    path = output or _default_path(core, lab)
    _check_place(path)
    request = _Request(
        chosen, hosts.ranks if hosts else ranks, variables, hosts, network, operations, wanted_sizes, margin, cold,
        samples, curves, path, report or path.with_suffix(".html"),
    )  # fmt: skip
    legs = _tune_over(core, request, transports, deadline)
    _tell(legs, json)
    if legs[-1].how == "interrupted":
        raise typer.Exit(_INTERRUPTED)


def _tune_over(core: Any, request: _Request, transports: Sequence[str], deadline: float) -> list[_Leg]:
    """One session for each transport, which share the time; on one node there is nothing to carry."""
    legs: list[_Leg] = []
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
    return legs


def _run_leg(core: Any, request: _Request, first: Worker, deadline: float) -> _Leg:
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
    session = Session(machine, lambda: next(jobs, None) or request.start(), options, journal, deadline)
    with contextlib.closing(session):
        how = _run_with_progress(session, request, machine.shape, problems)

    result = session.result
    summary = summarize(result, len(problems), request.ranks, time.monotonic() - begin)
    decided = rows_of(list(result.decisions.values()), machine)
    if not decided:
        journal.close(remove=not result.decisions)
        _nothing_decided(result, path, how)
    made = _made(request, options, hello, machine.shape, result, summary)
    write_table(
        core, path, format_table(core, signature, made, merge_rows(kept, decided), model_of(machine, result.curves))
    )
    journal.close(remove=result.is_complete)
    write_report(result, summary, signature, machine.shape, str(request.mpi), request.report)
    return _Leg(request, machine.shape, result, summary, how)


def parse_duration(text: str) -> float:
    """Seconds of "90s", "10m", "1h"; raises UserError for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if match is None or float(match[1]) == 0:
        raise UserError(f"--budget {text}: no duration", "write it as 90s, 10m or 1h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def parse_operations(core: Any, text: str | None) -> list[str]:
    """Espalier's names for "bcast,MPI_Allreduce", all for None; raises UserError for what is none."""
    available = {algorithm.operation for algorithm in core.algorithms()}
    known = [operation for operation in OPERATIONS if operation in available]
    short = {"bcast": "broadcast", "reduce_scatter_block": "reduce_scatter"}
    words = known if text is None else [word.strip().lower().removeprefix("mpi_") for word in text.split(",")]
    operations = list(dict.fromkeys(short.get(word, word) for word in words if word))
    for operation in operations:
        if operation not in known:
            raise UserError(f"--ops: '{operation}' is no operation of Espalier", f"known: {', '.join(known)}")
    if not operations:
        raise UserError("--ops names no operation", f"known: {', '.join(known)}")
    return operations


def _parse_transports(text: str) -> list[str]:
    if text not in (MPI, UCX, "auto"):
        raise UserError(f"--transport {text}: no such transport", "write mpi, ucx or auto")
    return [MPI, UCX] if text == "auto" else [text]


def _parse_sizes(text: str | None) -> list[int]:
    sizes = list(DEFAULT_SIZES) if text is None else [parse_bytes(size) for size in text.split(",")]
    if any(not 0 < size <= 1 << 30 for size in sizes):
        raise UserError("--sizes: sizes go from 1 to 1G", "write them as 4,1K,1M")
    return sizes


def _emulated(ppn: int) -> tuple[Hosts, str]:
    """How to reach the emulated cluster, and what it is. Raises UserError when none is up."""
    spec = cluster.load()
    return cluster.hosts(spec, ppn), str(spec)


def _default_path(core: Any, lab: bool) -> Path:
    """What an emulated network teaches must not steer real jobs: its table has a name that no job looks for."""
    usual = Path(core.table_places(os.environ.get("XDG_CONFIG_HOME", ""), os.environ.get("HOME", ""))[0])
    return usual.with_name("table-lab.json") if lab else usual


def _check_place(path: Path) -> None:
    """Before measuring for minutes: can the table be written at all?"""
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a folder", "name a file with -o FILE")
    probe = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}", "name another place with -o FILE") from error


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


def _run_with_progress(session: Session, request: _Request, shape: Shape, problems: Sequence[Problem]) -> str:
    """Runs the session; returns how it ended: "complete", "out of time" or "interrupted"."""
    carried = f" over {request.variables[TRANSPORT]}" if TRANSPORT in request.variables else ""
    with _terminate_as_interrupt(), console.progress(f"{request.mpi}, {shape}{carried}", len(problems)) as tell:
        session.on_progress = tell
        try:
            session.draw_curves(CURVES if request.curves else ("latency",) if request.network else ())
            session.run(problems)
        except OutOfTimeError:
            return "out of time"
        except KeyboardInterrupt:
            return "interrupted"
    return "complete"


@contextlib.contextmanager
def _terminate_as_interrupt() -> Iterator[None]:
    """SIGTERM, as batch systems send it at the end of the allotted time, stops like Ctrl-C."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _nothing_decided(result: Result, path: Path, how: str) -> None:
    for remark in result.remarks:
        console.note(remark)
    why = {
        "out of time": "the budget was spent before anything was decided",
        "interrupted": "interrupted before anything was decided",
    }.get(how, "no operation has a measured entry")
    raise UserError(f"{why}: no table is written", f"give more time with --budget; {path} is as it was")


def _made(
    request: _Request, options: Options, hello: Hello, shape: Shape, result: Result, summary: Summary
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
        "decided": summary.decided,
        "problems": summary.problems,
        "guidelines_fail": [violation.name for violation in result.violations],
        "guidelines_hold": [violation.name for violation in result.apparent],
    }


def _tell(legs: Sequence[_Leg], json: bool) -> None:
    for leg in legs:
        for remark in leg.result.remarks:
            console.note(remark)
        if leg.how != "complete":
            reason = "the budget is spent" if leg.how == "out of time" else "interrupted"
            console.err.print(
                f"espalier: {reason}: the table has {leg.summary.decided} of {leg.summary.problems} entries and can be "
                "used; the same command goes on from here",
                soft_wrap=True,
            )
    if json:
        documents = [_document(leg) for leg in legs]
        console.print_json(documents[0] if len(documents) == 1 else {"transports": documents})
        return
    for leg in legs:
        _tell_leg(leg)
    if len(legs) > 1:
        faster = preferred_transport(read_table(load_core(), legs[0].request.output).raw["rows"])
        console.out.print(f"between nodes, {'UCX' if faster == UCX else 'MPI'} carries messages unless told otherwise")
    console.out.print(f"table:  {escape(str(legs[0].request.output))}", soft_wrap=True)


def _tell_leg(leg: _Leg) -> None:
    console.out.print(summary_table(leg.result, leg.shape))
    for line in leg.summary.lines():
        console.out.print(escape(line), soft_wrap=True)
    for violation in leg.result.violations:
        console.out.print(f"[yellow]guideline:[/] {escape(str(violation))}", soft_wrap=True)
    console.out.print(f"report: {escape(str(leg.request.report))}", soft_wrap=True)


def _document(leg: _Leg) -> dict[str, Any]:
    result = leg.result
    return {
        "table": str(leg.request.output),
        "report": str(leg.request.report),
        "transport": leg.request.variables.get(TRANSPORT, MPI),
        "ended": leg.how,
        "summary": asdict(leg.summary),
        "decisions": [decision.to_json() for decision in result.decisions.values()],
        "violations": [str(violation) for violation in result.violations],
        "repaired": [str(violation) for violation in result.repaired],
        "apparent": [str(violation) for violation in result.apparent],
        "samples": result.samples,
        "curves": result.curves,
        "remarks": result.remarks,
    }
