"""espalier algorithms: what the catalogue knows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from espalier.base import console
from espalier.base.core import load_core, user_errors
from espalier.base.errors import UserError
from espalier.base.names import suggest
from espalier.base.units import approximate_bytes, counted, parse_bytes
from espalier.tuning.problems.algorithms import describe, try_out

# What else a tuned table may select.
_OTHERS = (
    "Besides these, tables select native, the MPI's own, and tiny: short messages on one node, done without a plan. "
    "Scatterv, gatherv and alltoallv go that way on one node whatever their sizes; tiny,window=32K: blocks up to that "
    "through shared memory, longer ones by single copy."
)


def algorithms(
    operation: Annotated[str | None, typer.Argument(metavar="OP", help="Only those of this operation.")] = None,
    bytes_: Annotated[
        str | None, typer.Option("--bytes", help="Also say what each would do for this size: 64K.")
    ] = None,
    nodes: Annotated[int, typer.Option(min=1, help="With --bytes: number of nodes.")] = 4,
    ppn: Annotated[int, typer.Option(min=1, help="With --bytes: ranks per node.")] = 2,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """List every algorithm: its name, where it comes from, its knobs and their ranges, its rounds and bytes.

    With --bytes also whether it applies, with its default knobs, and the most that one node sends.
    """
    core = load_core()
    entries = [describe(entry) for entry in core.algorithms()]
    if bytes_ is not None:
        topology = core.Topology([node for node in range(nodes) for _ in range(ppn)], True)
        entries = [entry | try_out(core, topology, entry, parse_bytes(bytes_)) for entry in entries]
    if operation is not None:
        with user_errors("see espalier algorithms --help"):
            wanted = _operation(core, operation)
        entries = [entry for entry in entries if entry["operation"] == wanted]
    if json:
        console.print_json({"algorithms": entries})
        return
    for name, group in groupby(entries, key=lambda entry: entry["operation"]):
        console.out.print(_table(name, list(group)))
    console.out.print(_OTHERS, style="dim")


def _operation(core: Any, text: str) -> str:
    """The catalogue's spelling of an operation."""
    short = {"bcast": "broadcast", "reduce_scatter_block": "reduce_scatter"}
    known = list(dict.fromkeys(entry.operation for entry in core.algorithms()))
    name = short.get(text, text)
    if name not in known:
        raise UserError(f"'{text}' is no operation of Espalier", suggest(text, known))
    return name


def _table(operation: str, entries: Sequence[dict[str, Any]]) -> Table:
    table = Table(
        title=operation, title_style="bold", title_justify="left", box=None, pad_edge=False, padding=(0, 2, 1, 0)
    )
    table.add_column("algorithm", no_wrap=True)
    table.add_column("what it does, its rounds and bytes; source")
    table.add_column("knobs", style="dim")
    for entry in entries:
        knobs = "\n".join(f"{name}={values}" for name, values in entry["knobs"].items())
        text = f"{escape(entry['summary'])}\n[dim]{escape(entry['source'])}[/]"
        if "why_invalid" in entry:
            text += f"\n[yellow]does not apply:[/] {escape(entry['why_invalid'])}"
        elif "messages" in entry:
            sent = f"{counted(entry['messages'], 'message')}, {approximate_bytes(entry['bytes'])}"
            text += f"\n[green]applies:[/] one node sends at most {sent}"
        table.add_row(entry["between"], text, escape(knobs) or "none")
    return table
