"""IMB-MPI1, the Intel MPI Benchmarks' MPI-1 part, as Intel's wheel ships it: a program nobody built for Espalier."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from espalier.base.checkout import find_checkout
from espalier.base.errors import UserError

SIZES = (4, 64, 1 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20)
OPERATIONS = ("Bcast", "Allgather", "Barrier")

# At most 300 repetitions and 64 MB per size: enough for a steady average, short enough for a demo. One second per size
# is never reached on a machine that has time. The last flag is the memory (GB) that a rank may take; without it large
# sizes are passed over on small machines.
_LIMITS = ("-iter", "300,64", "-time", "1", "-mem", "1")
# By default a barrier comes after each call, outside the clock. Then what is measured depends on how ranks leave that
# barrier: a slow one lets the root go first, and a broadcast's readers find everything there. Call after call, all
# time is counted.
_NO_BARRIERS = ("-sync", "off")


@dataclass(frozen=True)
class Line:
    """One line of the benchmark's tables: its average time per call over repetitions and ranks."""

    operation: str
    bytes: int
    average_us: float


def find_imb() -> Path:
    """The benchmark's executable: the checkout's, or the environment's of an installed Espalier. Raises UserError."""
    checkout = find_checkout()
    prefix = checkout / "build" / "mpi" / "impi" if checkout else Path(sys.prefix)
    program = prefix / "bin" / "IMB-MPI1"
    if not program.exists():
        remedy = "run `make mpi` in the source tree" if checkout else "in the source tree `make demo` fetches it"
        raise UserError(f"IMB-MPI1: {program} is missing", remedy)
    return program


def imb_command(program: Path, ranks: int, scratch: Path) -> Sequence[str]:
    """The command for all operations and sizes on exactly `ranks` ranks."""
    lengths = scratch / "lengths.txt"
    lengths.write_text("".join(f"{size}\n" for size in SIZES))
    return [str(program), *OPERATIONS, "-npmin", str(ranks), "-msglen", str(lengths), *_LIMITS, *_NO_BARRIERS]


def parse_imb(text: str) -> Iterator[Line]:
    """The lines of all tables. A barrier's have no size and count as 0 bytes."""
    operation = None
    for line in text.splitlines():
        title = re.match(r"# Benchmarking (\w+)", line)
        if title:
            operation = title[1]
        row = re.fullmatch(r"\s*(\d+)(?:\s+[\d.]+)*\s+([\d.]+)\s*", line)
        if operation is not None and row:
            yield Line(operation, 0 if operation == "Barrier" else int(row[1]), float(row[2]))
