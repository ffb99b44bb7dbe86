"""espalier lib: the path of the library to preload, for launchers of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from espalier.base import console
from espalier.base.errors import UserError
from espalier.jobs.libraries import Abi, find_any_library, find_preload_library
from espalier.jobs.mpis import find_default_mpi
from espalier.jobs.programs import Kind, inspect_runnable


def lib(
    program: Annotated[str | None, typer.Option("--for", metavar="PROGRAM", help="The program to be run.")] = None,
    any_: Annotated[
        bool, typer.Option("--any", help="For all programs of a shell or site: puts what fits in front of each.")
    ] = False,
    abi: Annotated[Abi | None, typer.Option(help="The MPI's binary interface, if you know better.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Path, ABI and reason as JSON.")] = False,
) -> None:
    """Print the library to put into LD_PRELOAD: LD_PRELOAD=$(espalier lib --for ./app) mpiexec -n 8 ./app."""
    path, name, reason = _find_any(program, abi) if any_ else _find_one(program, abi)
    if json:
        console.print_json({"path": str(path), "abi": name, "reason": reason})
    else:
        print(path)  # not through rich: the path must stay in one line


def _find_any(program: str | None, abi: Abi | None) -> tuple[Path, str, str]:
    if program is not None or abi is not None:
        raise UserError("--any is for programs that nobody knows yet", "leave --for and --abi out")
    return find_any_library(), "any", "looks at each program"


def _find_one(program: str | None, abi: Abi | None) -> tuple[Path, str, str]:
    chosen, reason = (abi, f"chosen with --abi {abi}") if abi is not None else _abi_for(program)
    return find_preload_library(chosen), chosen.value, reason


def _abi_for(command: str | None) -> tuple[Abi, str]:
    if command is None:
        mpi = find_default_mpi()
        return mpi.abi, f"the default MPI is {mpi} ({mpi.origin})"
    program = inspect_runnable(command)
    if program.abi is not None:
        return program.abi, f"{program.path} {program.explanation}"
    if program.kind is Kind.NONE:
        raise UserError(
            f"{program.path} uses no MPI: it {program.explanation}",
            "name the program that calls MPI, not the one that starts it; or choose with --abi mpich|openmpi|abi",
        )
    raise UserError(
        f"cannot tell which MPI {program.path} uses: it {program.explanation}",
        "name the program that calls MPI with --for, or choose with --abi mpich|openmpi|abi",
    )
