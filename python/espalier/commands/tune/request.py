"""What `espalier tune` was asked for: words of its command line, read and checked before anything is measured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from espalier.base.errors import UserError
from espalier.commands.operations import pick_operations
from espalier.jobs.launch import Hosts
from espalier.lab import cluster
from espalier.tuning.problems.problem import OPERATIONS
from espalier.tuning.table.file import MPI, UCX


def parse_duration(text: str) -> float:
    """Seconds of "90s", "10m", "1h"; raises UserError for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if match is None or float(match[1]) == 0:
        raise UserError(f"--budget {text}: no duration", "write it as 90s, 10m or 1h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def parse_operations(core: Any, text: str) -> list[str]:
    """Espalier's names for "bcast,MPI_Allreduce" or "all"; raises UserError for what is none."""
    available = {algorithm.operation for algorithm in core.algorithms()}
    known = [operation for operation in OPERATIONS if operation in available]
    return pick_operations(text, known, {"bcast": "broadcast", "reduce_scatter_block": "reduce_scatter"})


def parse_transports(text: str) -> list[str]:
    if text not in (MPI, UCX, "auto"):
        raise UserError(f"--transport {text}: no such transport", "write mpi, ucx or auto")
    return [MPI, UCX] if text == "auto" else [text]


def emulated(ppn: int) -> tuple[Hosts, str]:
    """How to reach the emulated cluster, and what it is. Raises UserError when none is up."""
    spec = cluster.load()
    return cluster.hosts(spec, ppn), str(spec)


def check_place(path: Path, option: str = "-o") -> None:
    """Before measuring for minutes: can the table, or the page, be written at all?"""
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a folder", f"name a file with {option} FILE")
    probe = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        is_below_a_file = isinstance(error, FileExistsError | NotADirectoryError)
        why = f"{path.parent} is no folder" if is_below_a_file else error.strerror
        raise UserError(f"cannot write {path}: {why}", f"name another place with {option} FILE") from error
