"""What `espalier doctor PROGRAM` finds out about one program: its MPI, the build that fits, the table it would load."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from espalier.base.core import load_core
from espalier.base.errors import UserError
from espalier.base.machine import count_cpus
from espalier.base.settings import PREFIX
from espalier.base.units import counted
from espalier.health.tools import examine_own, examine_tools
from espalier.jobs.diagnosis import Finding, Level
from espalier.jobs.launch import UNPRIVILEGED, Target, choose_target
from espalier.jobs.libraries import find_preload_library
from espalier.jobs.mpis import read_library_version
from espalier.jobs.programs import REBUILD, Kind, Program, inspect_program
from espalier.jobs.tools import dependencies_of
from espalier.tuning.table.file import read_table
from espalier.tuning.table.store import files_in_force


def examine_program(command: str, ranks: int | None) -> Iterator[Finding]:
    """In the order of the report. `ranks`: on how many it is to run here; None: not said. Raises UserError where there
    is no such program."""
    program = inspect_program(command)
    yield _examine_mpi_of(program)
    if program.privileges:
        text = f"{program.path} {program.privileges}: every call is left to the MPI"
        yield Finding("program", Level.ERROR, text, f"run a copy: {UNPRIVILEGED}")
    yield from _examine_patterns(program)
    yield from _examine_devices(program)
    if program.kind is Kind.NONE:
        yield from examine_own()
        return
    try:
        target = choose_target(command, None)
    except UserError as error:
        yield Finding("program's MPI", Level.ERROR, error.message, error.remedy)
        yield from examine_own()
        return
    yield _examine_target(target)
    yield _examine_build(target)
    yield from examine_own(target.mpi.abi)
    yield from examine_tools(program.path, target.mpi.abi)
    yield from _examine_tables(target)
    if ranks is not None:
        yield judge_ranks(ranks, count_cpus())


def _examine_mpi_of(program: Program) -> Finding:
    text = f"{program.path} {program.explanation}"
    if program.is_static:
        return Finding("program", Level.ERROR, text, "link it with a shared libmpi: Espalier stands in front of that")
    if program.is_foreign:
        return Finding("program", Level.ERROR, text, REBUILD)
    if program.kind is Kind.NONE:
        text += "; whether it opens one as it runs cannot be told, and Espalier serves one that is opened later, too"
        return Finding("program", Level.WARNING, text, "if it uses no MPI at all: is it the right one?")
    if program.kind is Kind.SCRIPT:
        return Finding("program", Level.WARNING, text, "ask about what it starts")
    if program.kind is Kind.LINKED and program.library is None:
        return Finding("program", Level.ERROR, f"{text}, which is not found", f"see: ldd {program.path}")
    return Finding("program", Level.OK, text)


def _examine_patterns(program: Program) -> Iterator[Finding]:
    """Those of programs that a site has served, or not; a script's interpreter is another program."""
    only, excluded = (os.environ.get(f"{PREFIX}{name}", "") for name in ("ONLY", "NOT"))
    if program.kind is Kind.SCRIPT:
        return
    if reason := load_core().why_not_served(only, excluded, str(program.path.resolve())):
        yield Finding("program", Level.ERROR, f"{reason}: every call is left to the MPI", "change it, or unset it")


def _examine_devices(program: Program) -> Iterator[Finding]:
    """Runtimes of accelerators, and code for them, in what the program is made of."""
    if os.environ.get(f"{PREFIX}ASSUME_HOST_BUFFERS") == "1":
        return
    parts = [program.path, *(it.path or Path(it.name) for it in dependencies_of(program.path))]
    if found := next((it for it in parts if load_core().uses_devices(str(it))), None):
        text = f"{found} is for accelerators, so buffers may lie in their memory: every call is left to the MPI"
        remedy = f"if all buffers of collectives lie in the host's memory: {PREFIX}ASSUME_HOST_BUFFERS=1"
        yield Finding("accelerators", Level.ERROR, text, remedy)


def _examine_target(target: Target) -> Finding:
    text = f"{target.mpi}, {target.mpi.library}: {target.note}"
    if target.mpi.launcher is None:
        return Finding("program's MPI", Level.WARNING, f"{text}; no launcher", "put its mpiexec on PATH, or use srun")
    return Finding("program's MPI", Level.OK, f"{text}; {target.mpi.launcher}")


def _examine_build(target: Target) -> Finding:
    try:
        return Finding("program's build", Level.OK, str(find_preload_library(target.mpi.abi)))
    except UserError as error:
        return Finding("program's build", Level.ERROR, error.message, error.remedy)


def _examine_tables(target: Target) -> Iterator[Finding]:
    """The tables that a job would look at, tuned and learned ones. Those of other machines and MPIs lie beside them."""
    core = load_core()
    if os.environ.get("ESPALIER_TABLE") == "off":
        yield Finding("table", Level.OK, "ESPALIER_TABLE=off: the built-in choice")
        return
    version = read_library_version(target.mpi.library)
    judged = [judge_table(core, path, version) for path in files_in_force(core)]
    holding = [it for it in judged if it.level is Level.OK]
    if not judged:
        text = "none: the built-in choice is used"
        yield Finding("table", Level.WARNING, text, "espalier tune measures what is fastest here")
    yield from holding or judged
    if holding and (named := os.environ.get("ESPALIER_TABLE")):
        verdict = judge_table(core, Path(named), version)
        if verdict.level is not Level.OK:
            yield verdict
    if holding and len(judged) > len(holding):
        text = f"{len(judged) - len(holding)} more that this job does not use (espalier table list)"
        yield Finding("table", Level.OK, text)


def judge_table(core: Any, path: Path, library_version: str) -> Finding:
    """Whether a job under the MPI that says so of itself takes this table."""
    try:
        file = read_table(core, path)
    except UserError as error:
        return Finding("table", Level.WARNING, f"not used: {error.message}", error.remedy or "tune again")
    reason = core.why_foreign(file.core.signature, core.probe_signature(library_version))
    if reason:
        return Finding("table", Level.WARNING, f"{path} is not used: it is {reason}", "tune here, under this MPI")
    return Finding("table", Level.OK, f"{path}, for {file.core.signature.mpi}")


def judge_ranks(ranks: int, processors: int) -> Finding:
    """Whether there is a processor for each."""
    text = f"{counted(ranks, 'rank')} on {counted(processors, 'processor')}"
    if ranks <= processors:
        return Finding("ranks", Level.OK, text)
    remedy = "times then say nothing of collectives; `espalier run` has MPIs yield, other launchers may not"
    return Finding("ranks", Level.WARNING, f"{text}: they take turns", remedy)
