"""Why jobs stand still: what this host's shared memory shows of their ranks, or what several hosts tell of theirs."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from espalier.base.core import load_core, user_errors
from espalier.base.errors import UserError
from espalier.health.together import Process, Together, find_jobs, process_of
from espalier.jobs.elsewhere import ask_hosts
from espalier.jobs.processes import tell_program
from espalier.jobs.stacks import read_stack, shorten

# Whoever is waited for may be one of many.
MOST_STACKS = 4
_FORMAT = 4
_LIFELESS = ("dead", "stopped")  # which a debugger tells nothing of, or should leave alone
_MOST_PID = 2**31 - 1  # which the kernel counts them in

Where = Mapping[Process, str]  # stacks


@dataclass(frozen=True)
class Findings:
    """What was found: the core's Standstill objects, those of one job together; all ranks that were looked at, as the
    core tells them, with host and program; and what could not be asked."""

    standstills: Sequence[Any]
    ranks: Sequence[Mapping[str, Any]]
    stacks: Where
    silent: Mapping[str, str]  # hosts that have not answered, and why

    @property
    def watched(self) -> int:
        """Ranks, each once for every communicator that has desks."""
        return sum(rank["job"] == 0 for rank in self.ranks)

    @property
    def processes(self) -> list[Mapping[str, Any]]:
        """One rank of each process that was looked at: that of the communicator of all, where it is seen there."""
        found: dict[Process, Mapping[str, Any]] = {}
        for rank in sorted(self.ranks, key=lambda rank: (rank["community"] & 1) == 0):
            found.setdefault(process_of(rank), rank)
        return list(found.values())

    @property
    def hidden(self) -> set[Process]:
        """Those that have not come, and that only a debugger shows in what they do instead."""
        ranks = [rank for standstill in self.standstills for rank in standstill.ranks]
        return {(it.host, it.pid) for it in ranks if it.stand == "not_come" and it.life in ("running", "asleep")}

    @cached_property
    def jobs(self) -> list[Together]:
        return find_jobs(self.ranks)

    def job_of(self, standstill: Any) -> Together | None:
        """None: its ranks are not among those that were looked at."""
        processes = {(rank.host, rank.pid) for rank in standstill.ranks}
        return next((it for it in self.jobs if not processes.isdisjoint(it.processes)), None)


def look_here(pid: int, seconds: float, wants_stacks: bool) -> Findings:
    """At the jobs that process `pid` is part of, 0: at all of this host. What has waited for less is no standstill."""
    ranks = [{**rank, "host": ""} for rank in _list_ranks(pid, seconds)]
    standstills = load_core().diagnose(ranks, seconds)
    found = _put_together(Findings(standstills, ranks, {}, {}))
    if not wants_stacks:
        return found
    awaited = [it.pid for it in _awaited(standstills)]
    anybody = [it["pid"] for it in found.processes if it["life"] not in _LIFELESS]
    return replace(found, stacks=_Read(dict.fromkeys((awaited if standstills else anybody)[:MOST_STACKS])))


def _list_ranks(pid: int, seconds: float) -> list[dict[str, Any]]:
    """What the core tells of the ranks of this host, and what their processes run."""
    remedy = "give a process of this host, or none"
    if pid > _MOST_PID:
        raise UserError(f"there is no process {pid}", remedy)
    with user_errors(remedy):
        ranks = load_core().list_ranks(pid, seconds)
    return [{**rank, "program": tell_program(rank["pid"])} for rank in ranks]


def _put_together(found: Findings) -> Findings:
    """The same, with standstills of one job behind each other, in the order of each job's longest."""
    if len(found.jobs) < 2:
        return found
    jobs = [found.job_of(it) for it in found.standstills]
    order = sorted(range(len(jobs)), key=lambda at: jobs.index(jobs[at]))
    return replace(found, standstills=[found.standstills[at] for at in order])


class _Read(Where):
    """Stacks of processes of this host, each read when it is asked for: a debugger takes its time, and stops the
    process meanwhile."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = tuple(pids)
        self._known: dict[int, str] = {}

    def __getitem__(self, place: tuple[str, int]) -> str:
        host, pid = place
        if host or pid not in self._pids:
            raise KeyError(place)
        if pid not in self._known:
            self._known[pid] = shorten(read_stack(pid))
        return self._known[pid]

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(("", pid) for pid in self._pids)

    def __len__(self) -> int:
        return len(self._pids)


def record(pid: int, seconds: float, wants_stacks: bool) -> dict[str, Any]:
    """What this host shows, as one JSON object for whoever has asked (ask_all)."""
    ranks = _list_ranks(pid, seconds)
    for rank in ranks:
        rank["is_here"] = _is_here(rank["pid"])
    chosen = _idle(ranks)[:MOST_STACKS] if wants_stacks else []
    stacks = {str(it): shorten(read_stack(it)) for it in chosen}
    return {"espalier_hang": _FORMAT, "host": platform.node(), "ranks": ranks, "stacks": stacks}


def _idle(ranks: Sequence[Mapping[str, Any]]) -> list[int]:
    """Processes that live and wait in none of our calls; first those that others of their communicator may wait for."""
    waited_in = {it["community"] for it in ranks if it["call"] > it["finished"]}
    idle = [it for it in ranks if it["call"] <= it["finished"] and it["life"] not in _LIFELESS]
    idle.sort(key=lambda it: it["community"] not in waited_in)
    return list(dict.fromkeys(it["pid"] for it in idle))


def ask_all(via: str, hosts: Sequence[str], seconds: float, wants_stacks: bool, timeout: float) -> Findings:
    """The same of several hosts (espalier.jobs.elsewhere), each of which records its own ranks.

    Raises UserError where none answers.
    """
    command = [sys.executable, "-m", "espalier", "hang", "--record", "--seconds", str(seconds)]
    command += ["--stacks"] if wants_stacks else []
    asked = ask_hosts(via, hosts, command, timeout)
    told = [answer for answer in asked.answers if answer.get("espalier_hang") == _FORMAT]
    if not told:
        why = "; ".join(f"{host}: {complaint}" for host, complaint in asked.silent.items())
        raise UserError(f"no host has answered: {why or 'what they said was no record'}", "try the command by hand")
    ranks: dict[tuple[int, int, int], Any] = {}
    stacks: dict[tuple[str, int], str] = {}
    for answer in told:
        for rank in answer["ranks"]:  # hosts that share a kernel tell the same, and whose it is
            key = (rank["community"], rank["rank"], rank["place"])
            if rank["is_here"] or key not in ranks:
                ranks[key] = {**rank, "host": answer["host"]}
        stacks |= {(answer["host"], int(pid)): text for pid, text in answer["stacks"].items()}
    standstills = load_core().diagnose(list(ranks.values()), seconds)
    return _put_together(Findings(standstills, list(ranks.values()), stacks, asked.silent))


def _is_here(pid: int) -> bool:
    """Whether a process has this one's host name; so has one that nothing is known of."""
    try:
        return Path(f"/proc/{pid}/ns/uts").stat().st_ino == Path("/proc/self/ns/uts").stat().st_ino
    except OSError:
        return True


def _awaited(standstills: Sequence[Any]) -> list[Any]:
    """Living ranks that have not come; those of one communicator are enough to tell."""
    found = [
        rank
        for standstill in standstills
        for rank in standstill.ranks
        if rank.stand in ("not_come", "elsewhere") and rank.life not in _LIFELESS
    ]
    return found[:MOST_STACKS]
