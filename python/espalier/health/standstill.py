"""Why jobs stand still: what this host's shared memory shows of their ranks, or what several hosts tell of theirs."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from espalier.base.core import load_core, user_errors
from espalier.base.errors import UserError
from espalier.jobs.elsewhere import ask_hosts
from espalier.jobs.stacks import read_stack, shorten

# Whoever is waited for may be one of many.
_MOST_STACKS = 4
_FORMAT = 4

Where = Mapping[tuple[str, int], str]  # stacks, by host (empty: this one) and process


@dataclass(frozen=True)
class Findings:
    """What was found: the core's Standstill objects, how many ranks were looked at, and what could not be asked."""

    standstills: Sequence[Any]
    watched: int
    stacks: Where
    silent: Mapping[str, str]  # hosts that have not answered, and why


def look_here(pid: int, seconds: float, wants_stacks: bool) -> Findings:
    """At the jobs that process `pid` is part of, 0: at all of this host. What has waited for less is no standstill."""
    core = load_core()
    with user_errors("give a process of this host, or none"):
        watched = core.count_watched(pid)
        standstills = core.find_standstills(pid, seconds)
    awaited = dict.fromkeys(it.pid for it in _awaited(standstills)) if wants_stacks else {}
    return Findings(standstills, watched, _Read(awaited), {})


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
    with user_errors("give a process of this host, or none"):
        ranks = load_core().list_ranks(pid, seconds)
    for rank in ranks:
        rank["is_here"] = _is_here(rank["pid"])
    idle = [it["pid"] for it in ranks if it["call"] <= it["finished"] and it["life"] not in ("dead", "stopped")]
    chosen = list(dict.fromkeys(idle))[:_MOST_STACKS] if wants_stacks else []
    stacks = {str(it): shorten(read_stack(it)) for it in chosen}
    return {"espalier_hang": _FORMAT, "host": platform.node(), "ranks": ranks, "stacks": stacks}


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
    watched = sum(rank["job"] == 0 for rank in ranks.values())
    return Findings(standstills, watched, stacks, asked.silent)


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
        if rank.stand in ("not_come", "elsewhere") and rank.life not in ("dead", "stopped")
    ]
    return found[:_MOST_STACKS]
