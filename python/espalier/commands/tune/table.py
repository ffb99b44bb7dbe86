"""espalier table: look at a table, compare two, check one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from espalier.base import console
from espalier.base.core import load_core
from espalier.base.errors import UserError
from espalier.base.units import counted, format_bytes
from espalier.commands.tune.stored import add_to
from espalier.jobs.mpis import find_default_mpi, read_library_version, select_mpi
from espalier.tuning.table.check import compare, describe_places, find_faults, guidelines_of, name_of, tell_transport
from espalier.tuning.table.file import TableFile, read_table
from espalier.tuning.table.lookup import table_in_force
from espalier.tuning.table.store import files_in_force, list_stored

app = typer.Typer(no_args_is_help=True, help="Tables, tuned and learned: list, show, compare, keep, forget.")
add_to(app)

_DEFAULT = "Default: the first that `list` names."
_FITTING = "Default: the first that `list` names for this machine and MPI."


@app.command()
def show(
    path: Annotated[Path | None, typer.Argument(metavar="FILE", help=_DEFAULT)] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """Print a table: for whom it was made, and each row with what was measured."""
    core = load_core()
    file = _read(core, path)
    others = len(files_in_force(core)) - 1
    if path is None and others > 0:
        console.note(f"{counted(others, 'more table')}: espalier table list")
    if json:
        console.print_json(file.raw)
        return
    _print_head(file)
    table = Table(box=None, pad_edge=False)
    for name in ("row", "operation", "nodes", "ppn", "bytes", "selection", "at", "native µs", "chosen µs", "ratio"):
        is_text = name in ("operation", "selection")
        table.add_column(name, justify="left" if is_text else "right", no_wrap=name != "selection", overflow="fold")
    table.add_column("range", justify="right", no_wrap=True)
    is_learned = any(row.learned_on for row in file.core.rows)
    if is_learned:
        table.add_column("learned", no_wrap=True)
    for number, row in enumerate(file.core.rows, 1):
        when = [f"{row.learned_on}, {counted(row.jobs, 'job')}"] if is_learned else []
        table.add_row(str(number), name_of(row), *_cells(row), *when)
    console.print_table(table)


@app.command()
def diff(
    first: Annotated[Path, typer.Argument(metavar="FILE")],
    second: Annotated[Path, typer.Argument(metavar="OTHER")],
    json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """Say where two tables select differently, and what each measured there. Exit code 1 if they differ."""
    core = load_core()
    differences = compare(read_table(core, first).core.rows, read_table(core, second).core.rows)
    if json:
        console.print_json({"differences": differences})
    elif not differences:
        console.out.print("the same selections everywhere")
    else:
        table = Table(box=None, pad_edge=False)
        for name in ("operation", "nodes x ppn", "bytes", str(first), str(second), "µs", "µs"):
            table.add_column(escape(name), justify="right" if name in ("bytes", "µs") else "left")
        for it in differences:
            texts = (it["first"] or "–", it["second"] or "–", _time(it["first_us"]), _time(it["second_us"]))
            table.add_row(it["operation"], it["shape"], format_bytes(it["bytes"]), *(escape(text) for text in texts))
        console.print_table(table)
    raise typer.Exit(1 if differences else 0)


@app.command()
def check(
    path: Annotated[Path | None, typer.Argument(metavar="FILE", help=_FITTING)] = None,
    mpi: Annotated[str | None, typer.Option(help="The MPI it is to serve. Default: the one that `tune` takes.")] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """Say whether a table can be used on this machine with this MPI, and what is odd about it. Exit code 1 if not."""
    core = load_core()
    chosen = select_mpi(mpi) if mpi is not None else find_default_mpi()
    here = core.probe_signature(read_library_version(chosen.library))
    file = _read(core, path or _fitting(core, here))
    foreign = [reason] if (reason := core.why_foreign(file.core.signature, here)) else []
    faults = find_faults(file.core.rows)
    failing, holding = guidelines_of(file)
    if json:
        apparent = [f"{violation} (not so side by side when the table was made)" for violation in holding]
        remarks = [*(str(violation) for violation in failing), *apparent]
        console.print_json({"usable": not foreign + faults, "problems": foreign + faults, "remarks": remarks})
    else:
        _tell([("[red]not usable:[/]", it) for it in foreign] + [("[red]fault:[/]", it) for it in faults])
        _tell([("[yellow]guideline:[/]", str(it)) for it in failing])
        if holding:
            told = (
                "more fail by these times, which were measured minutes apart, and not side by side (--json names them)"
            )
            _tell([("[dim]guidelines:[/]", f"{len(holding)} {told}")])
        if not foreign + faults:
            console.out.print(
                f"[green]usable[/] on this machine with {escape(here.mpi)}: {counted(len(file.core.rows), 'row')}"
            )
    raise typer.Exit(1 if foreign + faults else 0)


def _read(core: Any, path: Path | None) -> TableFile:
    """A named table, else the one in force."""
    path = path or table_in_force(core)
    if path is None:
        raise UserError("jobs load no table here", "make one with espalier tune, or name a FILE")
    return read_table(core, path)


def _fitting(core: Any, here: Any) -> Path | None:
    """The first of several tables in force that is for this machine and MPI."""
    stored = (it for it in list_stored(core) if it.file and not core.why_foreign(it.file.core.signature, here))
    return next((it.path for it in stored), None)


def _tell(lines: Sequence[tuple[str, str]]) -> None:
    for label, text in lines:
        console.out.print(f"{label} {escape(text)}", soft_wrap=True)


def _print_head(file: TableFile) -> None:
    signature, made = file.core.signature, file.raw.get("made", {})
    console.out.print(f"[bold]machine[/]  {escape(signature.machine)}\n[bold]MPI[/]      {escape(signature.mpi)}")
    if isinstance(made, dict) and made:
        told = {name: value for name, value in made.items() if name != "others" and not isinstance(value, list)}
        words = ", ".join(f"{name} {value}" for name, value in told.items())
        console.out.print(f"[bold]made[/]     {escape(words)}", soft_wrap=True)
        if isinstance(made.get("others"), int | float):
            console.out.print(
                f"[bold]beside[/]   other programs, which kept up to {made['others']:.1f} processors busy"
            )
    if where := describe_places(file):
        console.out.print(f"[bold]where[/]    {escape(where)}", soft_wrap=True)
    console.out.print()


def _cells(row: Any) -> list[str]:
    measured = [format_bytes(row.measured_bytes), f"{row.native_us:.2f}", f"{row.chosen_us:.2f}"]
    ratio = [f"{row.native_us / row.chosen_us:.2f}" if row.chosen_us else "–"]
    spread = [f"{row.lowest_ratio:.2f}–{row.highest_ratio:.2f}"]
    ranges = [_range(row.nodes) + tell_transport(row.transport), _range(row.ppn), _range(row.bytes, format_bytes)]
    return [*ranges, escape(row.selection), *measured, *ratio, *spread]


def _range(values: tuple[int, int], spell: Any = str) -> str:
    return spell(values[0]) if values[0] == values[1] else f"{spell(values[0])}–{spell(values[1])}"


def _time(us: float | None) -> str:
    return "–" if us is None else f"{us:.2f}"
