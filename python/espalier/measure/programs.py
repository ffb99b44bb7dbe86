"""One run of somebody's program to its end: how long it took, what it printed, how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from espalier.jobs.launch import Job, build_command


@dataclass(frozen=True)
class Finished:
    """What a job left behind."""

    code: int | None  # as the launcher reports it; None: it did not end in time
    seconds: float  # from the launcher's start to its end, MPI_Init and the loading of files included
    output: str
    errors: str
    stats: Mapping[str, Any] = field(default_factory=dict)  # ESPALIER_STATS; empty where native
    is_counted: bool = False  # whether there were such: where Espalier saw MPI_Init and MPI_Finalize

    @property
    def warnings(self) -> list[str]:
        """What Espalier said, each line once."""
        return list(dict.fromkeys(line for line in self.errors.splitlines() if line.startswith("espalier: ")))

    @property
    def last_words(self) -> str:
        """The end of what it said, errors first."""
        return "\n".join((self.errors or self.output).strip().splitlines()[-5:])


def run_program(
    job: Job, scratch: Path, timeout: float | None = None, environment: Mapping[str, str] | None = None
) -> Finished:
    """Runs `job` to its end. `scratch` is a folder for its statistics; `environment` is on top of this process's."""
    stats_file = scratch / "stats.json"
    stats_file.unlink(missing_ok=True)
    if not job.native:
        job = replace(job, settings={**job.settings, "ESPALIER_STATS": str(stats_file)})
    argv, extra = build_command(job)
    begin = time.perf_counter()
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="surrogateescape",
        env={**os.environ, **(environment or {}), **extra},
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            output, errors = _end(process)
            code = None
        except BaseException:
            _end(process)
            raise
    seconds = time.perf_counter() - begin
    return Finished(code, seconds, output, errors, _read_stats(stats_file), stats_file.exists())


def _end(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Terminates the launcher, which takes its ranks along; kills what does not react."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=10)
    return "", ""


def _read_stats(file: Path) -> Mapping[str, Any]:
    try:
        stats: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # none, or cut off with its job
    return stats


def count_calls(stats: Mapping[str, Mapping[str, Any]]) -> tuple[int, int, dict[str, int]]:
    """Sums an ESPALIER_STATS file over its operations: handled, native, and the reasons for native."""
    handled = sum(int(entry.get("handled", 0)) for entry in stats.values())
    native = sum(int(entry.get("native", 0)) for entry in stats.values())
    reasons: dict[str, int] = {}
    for entry in stats.values():
        for reason, count in entry.get("reasons", {}).items():
            reasons[reason] = reasons.get(reason, 0) + int(count)
    return handled, native, reasons
