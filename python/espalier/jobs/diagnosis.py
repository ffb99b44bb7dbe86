"""What this machine offers to jobs, what is wrong, and what to do about it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from espalier.base import machine
from espalier.base.core import load_core
from espalier.base.errors import UserError
from espalier.base.node import overlooked
from espalier.base.settings import known_settings, unknown_variables
from espalier.base.units import approximate_bytes, counted
from espalier.jobs.allocation import find_allocation
from espalier.jobs.libraries import Abi, find_executor, find_preload_library
from espalier.jobs.mpis import find_mpis

# What MPIs keep there for a small job fits into it; container engines' default of 64 MiB is just enough.
_SMALL_SHARED_MEMORY = 64 << 20


class Level(StrEnum):
    """How bad a finding is. Only `error` makes the machine unusable."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    topic: str
    level: Level
    text: str
    remedy: str = ""


def examine(abi: Abi | None = None) -> Iterator[Finding]:
    """Looks at everything once, in the order of the report. `abi`: of the MPI that a program is meant to run under; of
    none, all builds have to be there."""
    yield from _examine_mpis()
    yield from _examine_batch()
    yield from _examine_libraries(abi)
    yield _examine_processors()
    yield _examine_shared_memory()
    yield _examine_single_copy()
    yield from _examine_tools()
    yield from _examine_nic()
    yield from _examine_settings()


def _examine_mpis() -> Iterator[Finding]:
    usable = 0
    for mpi in find_mpis():
        text = f"{mpi}, {mpi.abi} ABI: {mpi.library} ({mpi.origin})"
        if mpi.launcher is None:
            yield Finding("MPI", Level.WARNING, f"{text}; no launcher", "install its mpiexec, or put it on PATH")
        elif not mpi.version:
            yield Finding("MPI", Level.WARNING, f"{text}; does not load", f"see: ldd {mpi.library}")
        else:
            usable += 1
            yield Finding("MPI", Level.OK, f"{text}; {mpi.launcher}")
    if not usable:
        yield Finding("MPI", Level.ERROR, "no usable MPI", "install one: pip install mpich, or your system's package")


def _examine_batch() -> Iterator[Finding]:
    """The job that this is, where a batch system has started it."""
    try:
        allocation = find_allocation()
    except UserError as error:
        yield Finding("batch job", Level.WARNING, error.message, error.remedy)
        return
    if allocation is not None:
        yield Finding("batch job", Level.OK, f"{allocation}; espalier run fills it")


def _examine_libraries(wanted: Abi | None) -> Iterator[Finding]:
    for abi in Abi:
        topic = f"library, {abi} ABI"
        level = Level.ERROR if wanted in (None, abi) else Level.WARNING
        try:
            path = find_preload_library(abi)
        except UserError as error:
            yield Finding(topic, level, error.message, error.remedy)
            continue
        problem = _load_problem(str(path))
        if problem:
            yield Finding(topic, level, f"{path} does not load: {problem}", "build it again on this machine")
        else:
            yield Finding(topic, Level.OK, str(path))


def _load_problem(path: str) -> str:
    """Preloads the library into a program without MPI, as a shell in a job script would; empty if that works.

    In a process of its own: this one may have another of our libraries in front, and two get in each other's way.
    """
    environment = {**os.environ, "LD_PRELOAD": path}
    load = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"  # says why, where the loader only goes on without
    done = subprocess.run(
        [sys.executable, "-c", load, path], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode == 0 and "cannot be preloaded" not in done.stderr:
        return ""
    return (done.stderr.strip().splitlines() or [f"the program ended with {done.returncode}"])[-1]


def _examine_processors() -> Finding:
    online, allowed, cores = os.cpu_count() or 0, len(os.sched_getaffinity(0)), machine.count_cores()
    text = f"{allowed} of {counted(online, 'processor')} allowed, on {counted(cores, 'core')}"
    quota = machine.cpu_quota()
    if quota is not None and quota < allowed:
        return Finding(
            "processors",
            Level.WARNING,
            f"{text}; but the control group grants the time of {quota:g}",
            f"run at most {counted(max(1, int(quota)), 'rank')}, or raise the limit",
        )
    return Finding("processors", Level.OK, text)


def _examine_shared_memory() -> Finding:
    facts = machine.probe_shared_memory()
    if facts.problem:
        return Finding(
            "shared memory",
            Level.ERROR,
            f"{facts.folder}: {facts.problem}",
            "mount a tmpfs there: MPIs keep memory of their own there, and may not start without",
        )
    text = f"{facts.folder}: {approximate_bytes(facts.free)} free of {approximate_bytes(facts.total)}"
    if facts.free < _SMALL_SHARED_MEMORY:
        text += "; Espalier needs none of it, but the MPI underneath may"
        remedy = "make it larger for the MPI (containers: --shm-size), or remove what fills it"
        return Finding("shared memory", Level.WARNING, text, remedy)
    return Finding("shared memory", Level.OK, text)


def _examine_single_copy() -> Finding:
    problem = machine.probe_single_copy()
    if not problem:
        return Finding("single copy (CMA)", Level.OK, "a process may read its sibling's memory")
    return Finding(
        "single copy (CMA)",
        Level.WARNING,
        f"forbidden: {problem}; large messages are copied twice",
        "sysctl kernel.yama.ptrace_scope=0, or in a container allow process_vm_readv (--cap-add SYS_PTRACE)",
    )


def _examine_tools() -> Iterator[Finding]:
    for topic, version, package in (
        ("hwloc", machine.probe_hwloc(), "libhwloc15"),
        ("UCX", machine.probe_ucx(), "libucx0"),
    ):
        if version:
            yield Finding(topic, Level.OK, version)
        else:
            yield Finding(topic, Level.WARNING, "not found", f"install it, e.g. the Debian package {package}")
    yield Finding("SimGrid", Level.OK, _simulations())
    fabric = "InfiniBand-like devices present" if machine.has_fabric() else "none; messages go through TCP and memory"
    yield Finding("fabric", Level.OK, fabric)


def _simulations() -> str:
    try:
        find_executor()
    except UserError:
        return "not there when this was built; `espalier simulate` plays plans without it"
    return "`espalier simulate --execute` runs the library on simulated ranks"


def _examine_nic() -> Iterator[Finding]:
    """Whether what we may run on, and so may the ranks started from here, has a processor beside the network device."""
    try:
        core = load_core()
        node = core.probe_node()
    except (UserError, ValueError):
        return  # a finding about the core says so; without processors in /sys there is nothing to say
    setting = os.environ.get("ESPALIER_NIC", "")
    nics, reason = core.nics_in_use(node, setting)
    if remark := overlooked(node, reason, setting):
        yield Finding("NIC", Level.WARNING, f"ESPALIER_NIC={remark}", "`espalier node` lists them")
    yield judge_binding(node, nics, reason, core.parse_cpus(core.probe_cpus()), core.parse_cpus)


def judge_binding(
    node: Any, nics: list[int], reason: str, allowed: list[int], parse_cpus: Callable[[str], list[int]]
) -> Finding:
    """The finding for a process that may run on `allowed`, with these NICs in use."""
    if not nics:
        return Finding("NIC", Level.OK, f"{reason}; leaders are elected by rank")
    places = [set(parse_cpus(node.nics[index].near)) for index in nics]
    if len(node.numa_nodes) > 1 and not any(places):
        return Finding("NIC", Level.OK, f"{reason}; where it sits is not known, so leaders are elected by rank")
    if not any(place & set(allowed) for place in places):
        near = ", ".join(f"{node.nics[index].names[0]} is at processors {node.nics[index].near}" for index in nics)
        return Finding(
            "NIC",
            Level.WARNING,
            f"{reason}; but no processor allowed here is near it: {near}",
            "let the launcher bind at least one rank per node there: large messages arrive faster next to the NIC",
        )
    return Finding("NIC", Level.OK, reason)


def _examine_settings() -> Iterator[Finding]:
    try:
        unknown = unknown_variables(known_settings())
    except UserError as error:
        yield Finding("core", Level.ERROR, error.message, error.remedy)
        return
    yield Finding("core", Level.OK, "espalier._core loads")
    for name, hint in unknown.items():
        yield Finding("settings", Level.WARNING, f"{name} is set, but there is no such setting", hint)
