"""What `espalier tune` was asked for: words of its command line, read and checked before anything is measured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from espalier.base.errors import UserError
from espalier.base.names import suggest
from espalier.commands.operations import pick_operations
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
    if text not in (known := (MPI, UCX, "auto")):
        raise UserError(f"--transport {text}: no such transport", suggest(text, known))
    return [MPI, UCX] if text == "auto" else [text]


def parse_numbers(option: str, text: str | None) -> list[int]:
    """Of "2,4,8"; none where nothing is said. Raises UserError for what is no number of nodes or ranks."""
    words = text.split(",") if text is not None else []
    if not all(re.fullmatch(r"[1-9]\d{0,6}", word.strip()) for word in words):
        raise UserError(f"{option} {text}: numbers from 1 are meant", f"write {option} 4; with --sbatch also 2,4,8")
    return [int(word) for word in words]


def only_one(option: str, numbers: list[int]) -> int | None:
    """What a job has one of. Raises UserError for several."""
    if len(numbers) > 1:
        listed = ",".join(str(number) for number in numbers)
        raise UserError(f"{option} {listed}: one job has one shape", "with --sbatch there is a script for each")
    return numbers[0] if numbers else None


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
