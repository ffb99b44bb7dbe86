"""Which MPI a program uses, found out without running it (a Python is asked, since only it knows its mpi4py)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from espalier.base.errors import UserError
from espalier.jobs.architecture import why_foreign
from espalier.jobs.elf import Elf, NotElf, read_elf
from espalier.jobs.libraries import Abi
from espalier.jobs.loader import find_dependencies
from espalier.jobs.mpis import abi_of_name
from espalier.jobs.privileges import find_privileges


class Kind(StrEnum):
    """How much can be known about a program's MPI before it runs."""

    LINKED = "linked"  # an executable with an MPI library among its dependencies
    PYTHON = "python"  # an interpreter with mpi4py
    SCRIPT = "script"  # starts other programs; nobody knows which
    NONE = "none"  # an executable without MPI


@dataclass(frozen=True)
class Program:
    """What was found out about a program."""

    path: Path
    kind: Kind
    abi: Abi | None  # None where only a run would tell
    library: Path | None  # its libmpi; None if it was not found or is not known
    explanation: str  # one clause, for messages
    is_static: bool = False  # no loader reads LD_PRELOAD for it
    is_foreign: bool = False  # for another kind of machine
    privileges: str = ""  # beyond the user's, one clause: its loader leaves LD_PRELOAD out; empty: none


# What helps where `is_foreign`.
REBUILD = "build it for this machine, or name the one that is"

# Importing mpi4py.MPI loads the library it was built for, or that it finds; initialising it is not needed to see which.
_ASK_PYTHON = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
for line in open("/proc/self/maps"):
    path = line.split(None, 5)[-1].strip()
    if path.startswith("/") and "libmpi" in path:
        print(path)
"""


def inspect_program(command: str) -> Program:
    """Looks at the program that `command` (a path, or a name to look up on PATH) stands for.

    Raises UserError for a program that does not exist, cannot be read or is neither an executable nor a script.
    """
    path = _locate(command)
    try:
        if not path.is_file():
            raise UserError(f"{path} is neither an executable nor a script: it is no regular file", "name the program")
        with path.open("rb") as file:
            start = file.read(256)
        if start.startswith(b"#!"):
            first = start.split(b"\n")[0][2:].decode(errors="replace")
            if first.endswith("\r"):
                raise UserError(
                    f"{path} has line ends of Windows, which its interpreter's name ends in", "run dos2unix"
                )
            return _inspect_script(path, first.split())
        return _inspect_executable(path)
    except NotElf as error:
        raise UserError(
            f"{path} is neither an executable nor a script: it {error}", "name the program itself"
        ) from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}", "check the file's permissions") from error


def inspect_runnable(command: str) -> Program:
    """The same. Raises UserError, too, for a program that is for another kind of machine."""
    program = inspect_program(command)
    if program.is_foreign:
        raise UserError(f"{program.path} {program.explanation}", REBUILD)
    return program


def _locate(command: str) -> Path:
    if not command:
        raise UserError("'' is no program's name: it is empty", "give its name or path; is a shell's variable not set?")
    found = shutil.which(command)
    if found:
        return Path(found).absolute()
    if Path(command).is_dir():
        raise UserError(f"{command} is a folder", "name the program in it")
    if Path(command).is_file():
        if os.access(command, os.X_OK):
            raise UserError(f"{command} is not on PATH", f"write ./{command} for the file in this folder")
        if Path(command).suffix == ".py":
            raise UserError(f"{command} is not executable", f"have Python run it: python {command}")
        raise UserError(f"{command} is not executable", f"make it so: chmod +x {command}")
    raise UserError(f"no such program: {command}", "check the spelling, or give its path")


def _inspect_executable(path: Path) -> Program:
    elf = read_elf(path)
    if reason := why_foreign(elf):
        return Program(path, Kind.NONE, None, None, reason, is_foreign=True)
    return replace(_find_mpi(path, elf), privileges=find_privileges(path))


def _find_mpi(path: Path, elf: Elf) -> Program:
    for dependency in find_dependencies(path):
        abi = abi_of_name(dependency.name)
        if abi is not None:
            place = f"found as {dependency.path}" if dependency.path else "not found by the loader"
            return Program(path, Kind.LINKED, abi, dependency.path, f"needs {dependency.name}, {place}")
    if _is_python(path.name):
        return _ask_python(path, path)
    if elf.interpreter is None and not elf.needed:
        return Program(path, Kind.NONE, None, None, "is linked statically: nothing can be preloaded", is_static=True)
    return Program(path, Kind.NONE, None, None, "is linked with no MPI library")


def _inspect_script(path: Path, interpreter: list[str]) -> Program:
    if interpreter and not Path(interpreter[0]).exists():
        raise UserError(f"{path} is to be run by {interpreter[0]}, which there is not", "see its first line")
    if _is_python(path.name):
        return _ask_python(path, path)  # a version manager's shim: a script that becomes the interpreter
    # "#!/usr/bin/env python3" names its interpreter in the second word (after -S in the third).
    words = [word for word in interpreter if not word.startswith("-")]
    if words and Path(words[0]).name == "env":
        words = words[1:]
    if words and _is_python(Path(words[0]).name):
        found = shutil.which(words[0])
        if found:
            return _ask_python(path, Path(found))
    return Program(path, Kind.SCRIPT, None, None, "is a script, which tells nothing about the MPI it uses")


def _is_python(name: str) -> bool:
    return re.fullmatch(r"(python|pypy)[\d.]*", name) is not None


def _ask_python(path: Path, interpreter: Path) -> Program:
    try:
        done = subprocess.run(
            [str(interpreter), "-c", _ASK_PYTHON], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return Program(path, Kind.SCRIPT, None, None, f"is run by {interpreter}, which did not answer")
    for line in done.stdout.splitlines():
        library = Path(line)
        abi = abi_of_name(library.name)
        if abi is not None:
            return Program(path, Kind.PYTHON, abi, library, f"is run by {interpreter}, whose mpi4py loads {library}")
    reason = "has no mpi4py" if "No module named 'mpi4py'" in done.stderr else "finds no MPI by itself"
    return Program(path, Kind.PYTHON, None, None, f"is run by {interpreter}, which {reason}")
