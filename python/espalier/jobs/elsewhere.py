"""One command on several hosts, by whatever reaches them: ssh, a batch system's launcher, an agent of one's own."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from espalier.base.errors import UserError

HOST = "{host}"
SSH = f"ssh -o BatchMode=yes {HOST}"

_MOST_AT_ONCE = 32


@dataclass(frozen=True)
class Asked:
    """What hosts have said: one JSON object each. `silent` are those that said nothing, and why."""

    answers: list[Any]
    silent: dict[str, str]


def ask_hosts(via: str, hosts: Sequence[str], command: Sequence[str], timeout: float) -> Asked:
    """Runs `command` by `via`, once for each host where that has {host} in it, else once for all (srun).

    Every line that is a JSON object is an answer. `timeout` in seconds. Raises UserError where `via` cannot be split
    into words, or {host} stands in it without hosts, or hosts without {host}.
    """
    try:
        words = shlex.split(via)
    except ValueError as error:
        raise UserError(f"--via {via}: {str(error).lower()}", "close the quotation") from error
    if not words:
        raise UserError("--via is empty", f"give what starts a command there: '{SSH}'")
    if (HOST in via) != bool(hosts):
        raise UserError(
            f"--via {via} and --hosts {','.join(hosts)} do not go together",
            f"name hosts where --via has {HOST} in it, and only there",
        )
    lines = [[word.replace(HOST, host) for word in words] + list(command) for host in hosts or [""]]
    with ThreadPoolExecutor(_MOST_AT_ONCE) as pool:
        told = list(pool.map(lambda line: _ask(line, timeout), lines))
    answers = [answer for some, _ in told for answer in some]
    silent = {host or words[0]: why for host, (some, why) in zip(hosts or [""], told, strict=True) if not some}
    return Asked(answers, silent)


def reach_job(job: str) -> str:
    """What starts a command once on each host of a Slurm job that is running: by itself srun takes one of them.

    Raises UserError where Slurm does not know how many they are.
    """
    line = ["squeue", "--noheader", "--states=RUNNING", "--job", job, "--format=%D"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise UserError(f"--job {job}: squeue: {error.strerror}", "name its hosts: --hosts node[0-3]") from error
    hosts = done.stdout.strip()
    if not hosts.isdecimal():
        why = next(iter(done.stderr.strip().splitlines()), "" if not hosts else "these are several jobs")
        raise UserError(
            f"--job {job}: {why or 'it is not running'}", "squeue --me lists yours; of an array give one, 17_2"
        )
    return f"srun --jobid {shlex.quote(job)} --overlap --nodes {hosts} --ntasks-per-node 1"


def _ask(line: Sequence[str], timeout: float) -> tuple[list[Any], str]:
    try:
        done = subprocess.run(
            line, capture_output=True, text=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return [], f"no answer within {timeout:g} s"
    except OSError as error:
        return [], f"{line[0]}: {error.strerror}"
    answers = [json.loads(text) for text in done.stdout.splitlines() if _is_object(text)]
    complaint = next(iter(reversed(done.stderr.strip().splitlines())), f"exit code {done.returncode}, and no answer")
    return answers, complaint


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
