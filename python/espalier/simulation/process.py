"""Simulations as processes: none of them outlives who asked for it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence

from espalier.base.errors import UserError


def run_simulation(
    command: Sequence[str],
    *,
    text: str = "",
    environment: Mapping[str, str] | None = None,
    folder: str | None = None,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs it with `text` on its standard input. Raises UserError when it takes too long (seconds).

    Whatever ends this call, a signal to this process included, ends the simulation: the kernel kills it when its parent
    is gone, and all that it has started when the call is cut short.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*_dies_with_parent(), *command], stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=folder, process_group=0,
        env=environment,
    ) as process:  # fmt: skip
        try:
            out, complaints = process.communicate(text, timeout=timeout)
        except subprocess.TimeoutExpired as error:
            raise UserError(f"the simulation did not end within {timeout:g} s", "simulate fewer ranks") from error
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(command, process.returncode, out, complaints)


def _dies_with_parent() -> list[str]:
    """Of util-linux; where it is missing, only a simulation whose parent is killed outright goes on to its end."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []
