"""espalier table: look at tuned tables, compare two, check one."""

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
from espalier.base.units import format_bytes
from espalier.jobs.mpis import find_default_mpi, read_library_version, select_mpi
from espalier.tuning.environment.distances import describe
from espalier.tuning.problems.guidelines import Violation, check_guidelines
from espalier.tuning.problems.problem import FORMS, Problem
from espalier.tuning.search.racing import NATIVE
from espalier.tuning.table.file import MPI, TableFile, distances_in, read_table
from espalier.tuning.table.lookup import table_in_force

app = typer.Typer(no_args_is_help=True, help="Tuned tables: show, diff, check.")

_DEFAULT = "Default: the one that jobs load here."


@app.command()
def show(
    path: Annotated[Path | None, typer.Argument(metavar="FILE", help=_DEFAULT)] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """Print a table: for whom it was made, and each row with what was measured."""
    file = _read(load_core(), path)
    if json:
        console.print_json(file.raw)
        return
    _print_head(file)
    table = Table(box=None, pad_edge=False)
    for name in ("row", "operation", "nodes", "ppn", "bytes", "selection", "at", "native µs", "chosen µs", "ratio"):
        is_text = name in ("operation", "selection")
        table.add_column(name, justify="left" if is_text else "right", no_wrap=name != "selection", overflow="fold")
    table.add_column("range", justify="right", no_wrap=True)
    for number, row in enumerate(file.core.rows, 1):
        table.add_row(str(number), _name(row), *_cells(row))
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
    path: Annotated[Path | None, typer.Argument(metavar="FILE", help=_DEFAULT)] = None,
    mpi: Annotated[str | None, typer.Option(help="The MPI it is to serve. Default: the one that `tune` takes.")] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """Say whether a table can be used on this machine with this MPI, and what is odd about it. Exit code 1 if not."""
    core = load_core()
    file = _read(core, path)
    chosen = select_mpi(mpi) if mpi is not None else find_default_mpi()
    here = core.probe_signature(read_library_version(chosen.library))
    foreign = [reason] if (reason := core.why_foreign(file.core.signature, here)) else []
    faults = find_faults(file.core.rows)
    failing, holding = _check_guidelines(file)
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
            console.out.print(f"[green]usable[/] on this machine with {escape(here.mpi)}: {len(file.core.rows)} rows")
    raise typer.Exit(1 if foreign + faults else 0)


def _read(core: Any, path: Path | None) -> TableFile:
    """A named table, else the one in force."""
    path = path or table_in_force(core)
    if path is None:
        raise UserError("jobs load no table here", "make one with espalier tune, or name a FILE")
    return read_table(core, path)


def _tell(lines: Sequence[tuple[str, str]]) -> None:
    for label, text in lines:
        console.out.print(f"{label} {escape(text)}", soft_wrap=True)


def compare(first: Sequence[Any], second: Sequence[Any]) -> list[dict[str, Any]]:
    """Where the rows of two tables differ, by what was measured: operation, shape and size."""
    one, two = ({_key(row): row for row in rows} for rows in (first, second))
    differences = []
    for key in dict.fromkeys((*one, *two)):
        left, right = one.get(key), two.get(key)
        if left is not None and right is not None and left.selection == right.selection:
            continue
        differences.append(
            {
                "operation": key[0],
                "shape": f"{key[1]}x{key[2]}{_over(key[4])}",
                "bytes": key[3],
                "first": left.selection if left else None,
                "second": right.selection if right else None,
                "first_us": left.chosen_us if left else None,
                "second_us": right.chosen_us if right else None,
            }
        )
    return differences


# One way serves all sizes of an uneven form: at single ones it may be this much slower than native (docs/adr/0010).
_LEAST_OF_A_FORM = 0.95


def find_faults(rows: Sequence[Any]) -> list[str]:
    """Rows that can never fire, and entries that were slower than native when they were measured."""
    faults = []
    for number, row in enumerate(rows, 1):
        hidden = next((at for at, other in enumerate(rows[: number - 1], 1) if _covers(other, row)), None)
        if hidden is not None:
            faults.append(f"row {number} can never fire: row {hidden} matches first")
        least = _LEAST_OF_A_FORM if row.uneven else 1.0
        if row.selection != NATIVE and row.native_us < least * row.chosen_us:
            faults.append(f"row {number} is slower than native: {row.chosen_us:.2f} µs > {row.native_us:.2f} µs")
    return faults


def _covers(one: Any, other: Any) -> bool:
    inside = all(
        getattr(one, name)[0] <= getattr(other, name)[0] and getattr(other, name)[1] <= getattr(one, name)[1]
        for name in ("nodes", "ppn", "bytes")
    )
    about = (one.operation, one.transport) == (other.operation, other.transport) and one.uneven <= other.uneven
    return about and inside


def _check_guidelines(file: TableFile) -> tuple[list[Violation], list[Violation]]:
    """Those that fail by the table's times, and of these apart those that held side by side when it was made."""
    made = file.raw.get("made", {})
    held = made.get("guidelines_hold", []) if isinstance(made, dict) else []
    failing = _violations(file)
    return [it for it in failing if it.name not in held], [it for it in failing if it.name in held]


def _violations(file: TableFile) -> list[Violation]:
    """The guidelines, shape by shape; only where nodes are full does a row say how many ranks there are."""
    shapes: dict[tuple[int, int, str], dict[Problem, float]] = {}
    for row in file.core.rows:
        if row.chosen_us > 0 and not row.uneven:
            shape = shapes.setdefault((row.nodes[1], row.ppn[1], row.transport), {})
            shape[Problem(row.operation, row.measured_bytes)] = row.chosen_us
    return [it for (nodes, ppn, _), times in shapes.items() for it in check_guidelines(times, nodes * ppn)]


def _key(row: Any) -> tuple[str, int, int, int, str]:
    return _name(row), row.nodes[0], row.ppn[0], row.measured_bytes, row.transport


def _over(transport: str) -> str:
    """What carried messages between nodes, where it was not the MPI."""
    return "" if transport == MPI else f" over {transport}"


def _name(row: Any) -> str:
    """The uneven form by the name that it has in the tuner: gatherv."""
    forms = {operation: form for form, operation in FORMS.items()}
    return forms[row.operation] if row.uneven else str(row.operation)


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


def describe_places(file: TableFile) -> str:
    """At which distances of the processors the table was made, and how many rows know fewer; nothing where that is not
    known."""
    made = distances_in(file.raw)
    rows = [distances_in(row, "measured") for row in file.raw["rows"] if row["selection"] != NATIVE]
    fewer = sum(0 < len(row) < len(made) for row in rows)
    left = f"; {fewer} of {len(rows)} rows that are not native met it at one of these only" if fewer else ""
    return f"{describe(made)} (a cache line's round trip){left}" if made else ""


def _cells(row: Any) -> list[str]:
    measured = [format_bytes(row.measured_bytes), f"{row.native_us:.2f}", f"{row.chosen_us:.2f}"]
    ratio = [f"{row.native_us / row.chosen_us:.2f}" if row.chosen_us else "–"]
    spread = [f"{row.lowest_ratio:.2f}–{row.highest_ratio:.2f}"]
    ranges = [_range(row.nodes) + _over(row.transport), _range(row.ppn), _range(row.bytes, format_bytes)]
    return [*ranges, escape(row.selection), *measured, *ratio, *spread]


def _range(values: tuple[int, int], spell: Any = str) -> str:
    return spell(values[0]) if values[0] == values[1] else f"{spell(values[0])}–{spell(values[1])}"


def _time(us: float | None) -> str:
    return "–" if us is None else f"{us:.2f}"
