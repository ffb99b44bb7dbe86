"""Other libraries in a program's process: those that stand in front of MPI by its profiling interface, and a
sanitizer's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from espalier.base.preload import is_sanitizer
from espalier.jobs.diagnosis import Finding, Level
from espalier.jobs.libraries import ANY, Abi, build_of
from espalier.jobs.mpis import abi_of_name
from espalier.jobs.tools import Tool, dependencies_of, find_tools, preloaded

# AddressSanitizer's runtime, of GCC and of Clang; it ends programs in which it is not the first library.
_SANITIZER = re.compile(r"lib(asan|clang_rt\.asan[\w-]*)\.so[\d.]*")
_ANYWHERE = "verify_asan_link_order=0"


def examine_tools(program: Path, abi: Abi) -> Iterator[Finding]:
    """What they and Espalier do to each other: docs/guides/my-program.md. `abi`: that of the program's MPI."""
    for tool in find_tools(program):
        yield _judge_tool(tool, abi)
    yield from _examine_sanitizer(program)


def _judge_tool(tool: Tool, abi: Abi) -> Finding:
    text = f"{tool.path} stands in front of MPI, too"
    if tool.mpi and (own := abi_of_name(tool.mpi)) is not abi:
        text += f", but is linked with {tool.mpi}, which has the {own} ABI; the program's MPI has the {abi} ABI"
        return Finding("tool", Level.WARNING, text, "take a build of it for the program's MPI, or leave it out")
    text += ": it sees every call once, and Espalier does the work"
    if tool.is_preloaded and tool.completes:
        text += "; but it waits for requests in front of Espalier, so nonblocking collectives stay with the MPI"
        remedy = "preload it behind, without `espalier run`: LD_PRELOAD=$(espalier lib --for PROGRAM):TOOL"
        return Finding("tool", Level.WARNING, text, remedy)
    return Finding("tool", Level.OK, text)


def _examine_sanitizer(program: Path) -> Iterator[Finding]:
    """What ends a program before it begins, unless its environment has it that the runtime comes first, or need not."""
    found = next((it for it in dependencies_of(program) if _SANITIZER.fullmatch(it.name)), None)
    if found is None or _ANYWHERE in os.environ.get("ASAN_OPTIONS", ""):
        return
    if (first := preloaded()[:1]) and _SANITIZER.fullmatch(first[0].name):
        return
    text = f"{program} needs AddressSanitizer's {found.name}, which ends programs that have another library in front"
    remedy = f"ASAN_OPTIONS={_ANYWHERE}; or put it first: LD_PRELOAD={found.path or found.name}:LIBESPALIER"
    yield Finding("sanitizer", Level.ERROR, f'{text} ("ASan runtime does not come first")', remedy)


def examine_own(abi: Abi | None = None) -> Iterator[Finding]:
    """Espalier's own libraries in LD_PRELOAD: which builds, and whether they are for the program's MPI, which has this
    ABI; None: no program is meant."""
    builds = [(path, build) for path in preloaded() if (build := build_of(path)) is not None]
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

    for path in filter(lambda it: is_sanitizer(str(it)), preloaded()):
        text = f"{path} is a sanitizer's runtime: a program runs with it, and slower; this command has begun without"
        yield Finding("preloaded", Level.WARNING, text, "take it out of LD_PRELOAD where times count")


def _warn(text: str) -> Finding:
    remedy = "LD_PRELOAD=$(espalier lib --for PROGRAM), or none with `espalier run`, which takes the one that fits"
    return Finding("preloaded", Level.WARNING, text, remedy)
