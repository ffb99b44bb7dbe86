"""Other libraries that stand in front of MPI in a program's process, by its profiling interface: found in files,
without running anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from espalier.base.preload import asked
from espalier.base.reading import read_regular
from espalier.jobs.elf import NotElf
from espalier.jobs.libraries import is_own
from espalier.jobs.loader import Dependency, find_dependencies
from espalier.jobs.mpis import abi_of_name

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
    mpi: str  # the MPI library that it is linked with; empty: none


def find_tools(program: Path) -> Iterator[Tool]:
    """Those that LD_PRELOAD names, in its order, and those that the program is linked with."""
    before = preloaded()
    linked = [it.path for it in dependencies_of(program) if it.path is not None]
    for path in dict.fromkeys([*before, *linked]):
        if (tool := _look_at(path, path in before)) is not None:
            yield tool


def dependencies_of(file: Path) -> list[Dependency]:
    """What the loader would load for it; nothing where it is none of its files."""
    try:
        return find_dependencies(file)
    except (NotElf, OSError):
        return []


def preloaded() -> list[Path]:
    """What LD_PRELOAD names, in its order."""
    return [Path(word) for word in asked()]


def _look_at(path: Path, is_preloaded: bool) -> Tool | None:
    if path.name.startswith("libmpi") or is_own(path):
        return None
    try:
        content = read_regular(path, _LARGEST)
    except OSError:
        return None
    if _TOOLS_NAME not in content:
        return None
    mpi = next((it.name for it in dependencies_of(path) if abi_of_name(it.name) is not None), "")
    return Tool(path, is_preloaded, _COMPLETION in content, mpi)
