"""Where a process is in its own code, as a debugger that is installed tells it."""

from __future__ import annotations

import re
import shutil
import subprocess

# gdb needs a moment for each library that a process has loaded.
_PATIENCE_SECONDS = 60
_FRAME = re.compile(r"#\d+\s+(?:0x[0-9a-f]+ in )?([^(]+?) \(")


def find_debugger() -> str | None:
    """The path of gdb; None: there is none."""
    return shutil.which("gdb")


def read_stack(pid: int) -> list[str]:
    """The functions that a process is in, innermost first; empty where the system or the debugger refuses."""
    debugger = find_debugger()
    if debugger is None:
        return []
    words = [debugger, "--batch", "-nx", "-p", str(pid), "-ex", "bt 40"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return []
    return [found[1] for line in done.stdout.splitlines() if (found := _FRAME.match(line))]


def shorten(stack: list[str]) -> str:
    """The call of MPI's that it is in, and who calls that: what a program's author knows by name."""
    named = [frame.removeprefix("do_") if frame.startswith("do_MPI_") else frame for frame in stack if frame != "??"]
    if "main" in named:  # which the C library calls by functions of its own
        del named[named.index("main") + 1 :]
    outermost = max((at for at, frame in enumerate(named) if re.match(r"P?MPI_|p?mpi_", frame)), default=0)
    return " < ".join(named[outermost : outermost + 4])
