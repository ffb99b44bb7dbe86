"""Other libraries in a program's process that stand in front of MPI by its profiling interface."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from espalier.base.reading import read_regular
from espalier.jobs.diagnosis import Finding, Level
from espalier.jobs.elf import NotElf
from espalier.jobs.libraries import ANY, Abi, build_of, is_own
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
    preloaded = _preloaded()
    try:
        linked = [it.path for it in find_dependencies(program) if it.path is not None]
    except (NotElf, OSError):
        linked = []
    for path in dict.fromkeys([*preloaded, *linked]):
        if (tool := _look_at(path, path in preloaded)) is not None:
            yield tool


def _preloaded() -> list[Path]:
    return [Path(word) for word in os.environ.get("LD_PRELOAD", "").replace(":", " ").split()]


def _look_at(path: Path, is_preloaded: bool) -> Tool | None:
    if path.name.startswith("libmpi") or is_own(path):
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


def examine_own(abi: Abi | None = None) -> Iterator[Finding]:
    """Espalier's own libraries in LD_PRELOAD: which builds, and whether they are for the program's MPI, which has this
    ABI; None: no program is meant."""
    builds = [(path, build) for path in _preloaded() if (build := build_of(path)) is not None]
    for path, build in builds:
        kind = "puts the build that fits in front of each program" if build == ANY else f"the build for the {build} ABI"
        text = f"{path} is Espalier's own: {kind}"
        if "/" in str(path) and not path.exists():  # else the loader searches for it
            yield _warn(f"{text}; but there is no such file, and the loader goes on without")
        elif abi is not None and build not in (abi, ANY):
            yield _warn(f"{text}; the program's MPI has the {abi} ABI, which that does not serve")
        elif len(builds) > 1:
            yield _warn(f"{text}; with another build beside it calls may all be left to the MPI")
        else:
            yield Finding("preloaded", Level.OK, text)


def _warn(text: str) -> Finding:
    remedy = "LD_PRELOAD=$(espalier lib --for PROGRAM), or none with `espalier run`, which takes the one that fits"
    return Finding("preloaded", Level.WARNING, text, remedy)
