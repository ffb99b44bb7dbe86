"""What a tuned table says about one call, for `espalier explain`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from espalier.base import console
from espalier.base.units import counted, format_bytes
from espalier.tuning.environment.distances import describe
from espalier.tuning.problems.candidates import is_dedicated
from espalier.tuning.table.file import TableFile, distances_in, read_table
from espalier.tuning.table.store import files_in_force, list_stored


@dataclass(frozen=True)
class FiredRow:
    """The row that fires, and what it measured. Times in microseconds."""

    table: str
    row: int  # counted from 1
    selection: str
    measured_bytes: int
    native_us: float
    chosen_us: float
    lowest_ratio: float
    highest_ratio: float
    calls: int
    mpi: str
    line_ns: tuple[float, ...] = ()  # where the processors lay meanwhile (espalier.tuning.environment.distances)

    def __str__(self) -> str:
        """Why this selection, in one line."""
        if not self.calls:
            return f"row {self.row} of {self.table} ({self.mpi}): not measured, there was no time left"
        size = f" at {format_bytes(self.measured_bytes)}" if self.measured_bytes else ""
        told = f"native took {self.native_us:.2f} µs{size}"
        if self.selection != "native":
            ratios = f"{self.lowest_ratio:.2f} to {self.highest_ratio:.2f}"
            told += f", this {self.chosen_us:.2f} µs ({self.native_us / self.chosen_us:.2f}x, {ratios})"
        where = f", with {describe(self.line_ns)}" if self.line_ns else ""
        return f"row {self.row} of {self.table} ({self.mpi}): {told}, {counted(self.calls, 'call')} each{where}"


def consult_table(core: Any, topology: Any, operation: str, size: int, named: Path | None) -> FiredRow | None:
    """The row that fires in the table that is `named`, else in the one that a job started here would load.

    None without a table or without a matching row. A table that a job would refuse because it is another machine's is
    passed over with a remark, unless it is named. Raises UserError when a named table cannot be read.
    """
    transport = os.environ.get("ESPALIER_TRANSPORT", "auto")
    for file in [read_table(core, named)] if named else _tables_that_hold(core):
        row = file.core.find(topology, operation, size, "" if transport == "auto" else transport)
        if row is not None:
            return _fired(file, row)
    return None


def _tables_that_hold(core: Any) -> Iterator[TableFile]:
    """On this machine, for whichever MPI; says why others do not."""
    for it in list_stored(core):
        if it.file is None:
            console.note(f"a table is not used: {it.trouble}")
            continue
        signature = it.file.core.signature
        reason = core.why_foreign(signature, core.probe_signature(signature.mpi))
        if reason:
            console.note(f"a table is not used: {it.path} is {reason}")
        else:
            yield it.file


def table_in_force(core: Any) -> Path | None:
    """The first table that jobs look at here; None where there is none."""
    return next(iter(files_in_force(core)), None)


def follow(core: Any, topology: Any, operation: str, size: int, builtin: Any, fired: FiredRow) -> tuple[Any, str]:
    """The choice that a table's row stands for. What is no plan (tiny, native) keeps the built-in one to look at; what
    does not apply gives way to it."""
    if fired.selection == "native":
        return builtin, f"{fired}; the plan below is the built-in one, for comparison"
    if is_dedicated(fired.selection):
        return builtin, f"{fired}; the dedicated path for short messages runs instead of the plan below"
    choice = core.parse_choice(operation, fired.selection)
    if why := core.why_invalid(topology, operation, size, choice):
        return builtin, f"{fired}; the built-in choice instead of {fired.selection}: {why}"
    return choice, str(fired)


def why_native(fired: FiredRow | None, why: str) -> str:
    """Where no plan is left to look at. What to set, as it would say to somebody who asks for a plan, does not help."""
    if fired is not None and fired.selection == "native":
        return str(fired)
    return f"no plan fits, so that an MPI job leaves the call to the MPI library: {why.partition(': ')[0]}"


def _fired(file: TableFile, row: Any) -> FiredRow:
    facts = {name: getattr(row, name) for name in FiredRow.__dataclass_fields__ if hasattr(row, name)}
    number = _number_of(file.core, row)
    where = tuple(distances_in(file.raw["rows"][number - 1], "measured"))
    return FiredRow(table=str(file.path), row=number, mpi=file.core.signature.mpi, line_ns=where, **facts)


def _number_of(table: Any, row: Any) -> int:
    """Rows are told apart by what they are about; of equal ones the first fires."""
    about = [(it.operation, it.uneven, it.transport, it.nodes, it.ppn, it.bytes) for it in table.rows]
    return about.index((row.operation, row.uneven, row.transport, row.nodes, row.ppn, row.bytes)) + 1
