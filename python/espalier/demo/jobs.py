"""Runs one program natively and with Espalier and keeps what it printed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from espalier.base.errors import UserError
from espalier.jobs.launch import Job, Target, build_command
from espalier.jobs.mpis import Mpi

# One demo job takes seconds; a hang must not hide behind patience.
_TIMEOUT_SECONDS = 300


@dataclass(frozen=True)
class Finished:
    """What a job left behind."""

    output: str
    stats: Mapping[str, Any] = field(default_factory=dict)  # ESPALIER_STATS; empty when native


def run_arm(mpi: Mpi, ranks: int, command: Sequence[str], scratch: Path, native: bool) -> Finished:
    """Runs `command` under `mpi`. Raises UserError with the job's last words if it fails or does not end."""
    stats_file = scratch / "stats.json"
    stats_file.unlink(missing_ok=True)
    settings = {} if native else {"ESPALIER_STATS": str(stats_file)}
    argv, environment = build_command(Job(Target(mpi, True, "demo"), ranks, command, native, settings))
    # The ranks share the processors already; a threaded BLAS in each would only measure itself.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **environment}
    arm = "natively" if native else "with Espalier"
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False, env=environment
        )
    except subprocess.TimeoutExpired as error:
        raise UserError(f"{command[0]} under {mpi} {arm} did not end within {_TIMEOUT_SECONDS} s") from error
    if done.returncode != 0:
        words = "\n".join((done.stderr or done.stdout).strip().splitlines()[-5:])
        raise UserError(f"{command[0]} under {mpi} {arm} ended with {done.returncode}: {words}")
    stats = json.loads(stats_file.read_text()) if stats_file.exists() else {}
    return Finished(done.stdout, stats)
