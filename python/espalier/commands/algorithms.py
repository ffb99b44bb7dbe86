"""espalier algorithms: what the registry knows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from espalier import console
from espalier.core import load_core, user_errors
from espalier.errors import UserError


def algorithms(
    operation: Annotated[str | None, typer.Argument(metavar="[OP]", help="Only those of this operation.")] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """List every algorithm: its name, where it comes from, its knobs and their ranges, its rounds and bytes."""
    core = load_core()
    entries = [describe(entry) for entry in core.algorithms()]
    if operation is not None:
        with user_errors("see espalier algorithms --help"):
            wanted = _operation(core, operation)
        entries = [entry for entry in entries if entry["operation"] == wanted]
    if json:
        console.print_json({"algorithms": entries})
        return
    for name, group in groupby(entries, key=lambda entry: entry["operation"]):
        console.out.print(_table(name, list(group)))


def describe(entry: Any) -> dict[str, Any]:
    """One algorithm as plain values; knobs by name, each with its range as the registry spells it."""
    knobs = dict(word.partition("=")[::2] for word in entry.knobs.split())
    return {
        "name": entry.name,
        "operation": entry.operation,
        "between": entry.between,
        "summary": entry.summary,
        "source": entry.source,
        "knobs": knobs,
    }


def _operation(core: Any, text: str) -> str:
    """The registry's spelling of an operation."""
    short = {"bcast": "broadcast", "reduce_scatter_block": "reduce_scatter"}
    known = list(dict.fromkeys(entry.operation for entry in core.algorithms()))
    name = short.get(text, text)
    if name not in known:
        raise UserError(f"'{text}' is no operation of Espalier", f"known: {', '.join(known)}")
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
        table.add_row(entry["between"], text, escape(knobs) or "none")
    return table
