"""Runs a launcher in the foreground and ends as it does."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

# What may end a job from outside. The terminal sends them to the launcher, too; others send them to this process only.
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_FROM_KERNEL = 0x80  # SI_KERNEL of <asm-generic/siginfo.h>: a key on the terminal
_PR_SET_PDEATHSIG = 1  # prctl(2)


def run(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs `argv` with these variables on top of this process's.

    The code to exit with: the launcher's own; after Ctrl-C 130, as shells have it, whatever the launcher makes of it;
    128 + N where signal N ended it. The launcher ends with this process.
    """
    awaited = {*_PASSED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    process = subprocess.Popen(argv, env={**os.environ, **environment}, preexec_fn=lambda: _begin(before))
    is_interrupted = False
    try:
        while process.poll() is None:
            told = signal.sigwaitinfo(awaited)
            is_interrupted |= told.si_signo == signal.SIGINT
            if told.si_signo != signal.SIGCHLD and told.si_code != _FROM_KERNEL:
                process.send_signal(told.si_signo)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if is_interrupted:
        return 128 + signal.SIGINT
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _begin(mask: set[int | signal.Signals]) -> None:
    """In the launcher, before it is one: signals reach it again, and it does not outlive who waits for it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
