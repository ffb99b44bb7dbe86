"""espalier tune: find by measuring what is fastest on this machine and MPI, and write it down as a table."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
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
from espalier.tuning.table import format_table, merge_rows, read_table, rows_of, write_table
from espalier.tuning.worker import Hello, Worker
from espalier.units import parse_bytes

# One arm's share of a round: some hundred calls where they take microseconds. Where ranks share cores, a call takes
# a scheduler's time slices.
_BATCH_US, _BATCH_OVERSUBSCRIBED_US = 2000.0, 8000.0

_INTERRUPTED = 130  # as shells report it


@dataclass(frozen=True)
class _Plan:
    """What the command line asks for."""

    problems: list[Problem]
    shape: Shape
    options: Options
    output: Path
    report: Path
    deadline: float
    curves: bool
    network: str  # of an emulated cluster; else empty


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
    begin = time.monotonic()
    deadline = begin + parse_duration(budget)
    core = load_core()
    operations, wanted_sizes = parse_operations(core, ops), _parse_sizes(sizes)
    chosen = select_mpi(mpi) if mpi is not None else find_default_mpi()
    variables = parse_settings(settings or [])
    if virtual_nodes is not None:
        variables["ESPALIER_VIRTUAL_NODES"] = virtual_nodes
    hosts, network = _emulated(ppn) if lab else (None, "")
    ranks = hosts.ranks if hosts else ranks
    path = output or _default_path(core, lab)
    _check_place(path)

    with Worker(chosen, ranks, variables, hosts) as first:
        hello = first.hello
        machine = survey(core, hello, variables)
        signature = core.probe_signature(hello.library)
        kept = _rows_to_keep(core, path, signature, network)
        batch_us = _BATCH_OVERSUBSCRIBED_US if hello.ranks > hello.cores else _BATCH_US
        options = Options(margin, batch_us, cold, samples)
        problems = list_problems(operations, wanted_sizes, ranks)
        page = report or path.with_suffix(".html")
        plan = _Plan(problems, machine.shape, options, path, page, deadline, curves, network)
        about = {"espalier": __version__, "machine": signature.machine, "mpi": signature.mpi}
        about |= {"shape": str(machine.shape), "network": network, "settings": variables, "options": asdict(options)}
        journal = Journal(path.with_name(path.name + ".journal"), about)
        jobs = iter([first])
        session = Session(
            machine, lambda: next(jobs, None) or Worker(chosen, ranks, variables, hosts), options, journal, deadline
        )
        with contextlib.closing(session):
            how = _run_with_progress(session, plan, chosen)

    result = session.result
    summary = summarize(result, len(problems), ranks, time.monotonic() - begin)
    if not rows_of(list(result.decisions.values()), machine):
        journal.close(remove=not result.decisions)
        _nothing_decided(result, path, how)
    made = _made(plan, hello, result, summary)
    rows = merge_rows(kept, rows_of(list(result.decisions.values()), machine))
    text = format_table(core, signature, made, rows, model_of(machine, result.curves))
    write_table(core, path, text)
    journal.close(remove=result.is_complete)
    write_report(result, summary, signature, machine.shape, str(chosen), page)
    _tell(result, summary, plan, how, json)
    if how == "interrupted":
        raise typer.Exit(_INTERRUPTED)


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


def _run_with_progress(session: Session, plan: _Plan, mpi: Mpi) -> str:
    """Runs the session; returns how it ended: "complete", "out of time" or "interrupted"."""
    with _terminate_as_interrupt(), console.progress(f"{mpi}, {plan.shape}", len(plan.problems)) as tell:
        session.on_progress = tell
        try:
            session.draw_curves(CURVES if plan.curves else ("latency",) if plan.network else ())
            session.run(plan.problems)
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


def _made(plan: _Plan, hello: Hello, result: Result, summary: Summary) -> dict[str, Any]:
    """What a table says about its making."""
    return {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "by": f"espalier {__version__}",
        "ranks": hello.ranks,
        "cores": hello.cores,
        "shape": str(plan.shape),
        "margin": plan.options.margin,
        "batch_us": plan.options.batch_us,
        "cold": plan.options.cold,
        **({"network": plan.network} if plan.network else {}),
        "decided": summary.decided,
        "problems": summary.problems,
        "guidelines_fail": [violation.name for violation in result.violations],
        "guidelines_hold": [violation.name for violation in result.apparent],
    }


def _tell(result: Result, summary: Summary, plan: _Plan, how: str, json: bool) -> None:
    for remark in result.remarks:
        console.note(remark)
    if how != "complete":
        reason = "the budget is spent" if how == "out of time" else "interrupted"
        console.err.print(
            f"espalier: {reason}: the table has {summary.decided} of {summary.problems} entries and can be used; "
            "the same command goes on from here",
            soft_wrap=True,
        )
    if json:
        document = {
            "table": str(plan.output),
            "report": str(plan.report),
            "ended": how,
            "summary": asdict(summary),
            "decisions": [decision.to_json() for decision in result.decisions.values()],
            "violations": [str(violation) for violation in result.violations],
            "repaired": [str(violation) for violation in result.repaired],
            "apparent": [str(violation) for violation in result.apparent],
            "samples": result.samples,
            "curves": result.curves,
            "remarks": result.remarks,
        }
        console.print_json(document)
        return
    console.out.print(summary_table(result, plan.shape))
    for line in summary.lines():
        console.out.print(escape(line), soft_wrap=True)
    for violation in result.violations:
        console.out.print(f"[yellow]guideline:[/] {escape(str(violation))}", soft_wrap=True)
    console.out.print(f"table:  {escape(str(plan.output))}\nreport: {escape(str(plan.report))}", soft_wrap=True)
