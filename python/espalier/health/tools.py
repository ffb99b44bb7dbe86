"""Other libraries in a program's process that stand in front of MPI by its profiling interface."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from espalier.base.reading import read_regular
from espalier.jobs.diagnosis import Finding, Level
from espalier.jobs.elf import NotElf
from espalier.jobs.loader import find_dependencies

# Who goes on to PMPI names it; programs and libraries that only call MPI do not.
_TOOLS_NAME = b"\0PMPI_"
_COMPLETION = b"\0PMPI_Wait\0"
_LARGEST = 1 << 30


@dataclass(frozen=True)
class Tool:
    """One of them."""

    path: Path
    is_preloaded: bool
    completes: bool  # whether it goes on to PMPI_Wait


def find_tools(program: Path) -> Iterator[Tool]:
    """Those that LD_PRELOAD names, in its order, and those that the program is linked with."""
    preloaded = [Path(word) for word in os.environ.get("LD_PRELOAD", "").replace(":", " ").split()]
    try:
        linked = [it.path for it in find_dependencies(program) if it.path is not None]
    except (NotElf, OSError):
        linked = []
    for path in dict.fromkeys([*preloaded, *linked]):
        if (tool := _look_at(path, path in preloaded)) is not None:
            yield tool


def _look_at(path: Path, is_preloaded: bool) -> Tool | None:
    if path.name.startswith(("libmpi", "libespalier-")):
        return None
    try:
        content = read_regular(path, _LARGEST)
    except OSError:
        return None
    return Tool(path, is_preloaded, _COMPLETION in content) if _TOOLS_NAME in content else None


def examine_tools(program: Path) -> Iterator[Finding]:
    """What they and Espalier do to each other: docs/guides/my-program.md."""
    for tool in find_tools(program):
        text = f"{tool.path} stands in front of MPI, too: it sees every call once, and Espalier does the work"
        if tool.is_preloaded and tool.completes:
            text += "; but it waits for requests in front of Espalier, so nonblocking collectives stay with the MPI"
            remedy = "preload it behind, without `espalier run`: LD_PRELOAD=$(espalier lib --for PROGRAM):TOOL"
            yield Finding("tool", Level.WARNING, text, remedy)
        else:
            yield Finding("tool", Level.OK, text)
