"""Which ranks' processes are of one job: they share a communicator, or each shares one with others that do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Process = tuple[str, int]  # host (empty: this one) and number
_MOST_RUNS = 4


@dataclass(frozen=True)
class Together:
    """The processes of one job that were looked at, and what they run."""

    program: str
    processes: Sequence[Process]

    def __str__(self) -> str:
        """`./lmp (processes 4711 to 4714)`, or with the host of each run of them."""
        by_host: dict[str, list[int]] = {}
        for host, pid in sorted(self.processes):
            by_host.setdefault(host, []).append(pid)
        told = [f"{run} on {host}" if host else run for host, pids in by_host.items() for run in _runs_of(pids)]
        told = [*told[:_MOST_RUNS], *(["…"] if len(told) > _MOST_RUNS else [])]
        word = "process" if len(self.processes) == 1 else "processes"
        return f"{self.program or 'a program that does not show'} ({word} {', '.join(told)})"


def find_jobs(ranks: Iterable[Mapping[str, Any]]) -> list[Together]:
    """Of ranks as the core's list_ranks() tells them, each with its `host` and `program`. A communicator without desks
    names that of all ranks as its `job`."""
    members: dict[int, dict[Process, str]] = {}
    for rank in ranks:
        community = members.setdefault(rank["job"] or rank["community"], {})
        community[process_of(rank)] = rank.get("program", "")
    groups: list[dict[Process, str]] = []
    for processes in members.values():
        shared = [it for it in groups if not it.keys().isdisjoint(processes)]
        groups = [it for it in groups if it not in shared]
        groups.append({process: name for group in (*shared, processes) for process, name in group.items()})
    return [Together(next(filter(None, it.values()), ""), list(it)) for it in groups]


def process_of(rank: Mapping[str, Any]) -> Process:
    """As list_ranks() tells it."""
    return rank["host"], rank["pid"]


def _runs_of(numbers: Iterable[int]) -> list[str]:
    """`4711 to 4714`, where they follow each other."""
    runs: list[list[int]] = []
    for it in numbers:
        if runs and runs[-1][-1] + 1 == it:
            runs[-1].append(it)
        else:
            runs.append([it])
    return [f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
