"""What this machine allows: processors, shared memory, reading another process's memory, hwloc, UCX, a fabric."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


def count_cpus() -> int:
    """Hardware threads this process may run on: the smaller of its affinity and of its control group's quota."""
    allowed = len(os.sched_getaffinity(0))
    quota = cpu_quota()
    return allowed if quota is None else max(1, min(allowed, int(quota)))


def count_cores() -> int:
    """Physical cores among the hardware threads this process may run on."""
    cores = {
        _read(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") or str(cpu)
        for cpu in os.sched_getaffinity(0)
    }
    return len(cores)


_GROUPS = Path("/sys/fs/cgroup")


def cpu_quota(root: Path = _GROUPS) -> float | None:
    """Processors' worth of time that this process's control group may use; None where there is no limit.

    Source: the kernel's cgroup-v2 (`cpu.max`) and cgroup-v1 (`cpu.cfs_quota_us`) documents.
    """
    return _tightest("cpu", _quota_of, root)


def memory_limit(root: Path = _GROUPS) -> int | None:
    """Bytes of memory that this process's control group may hold, shared memory included; None where there is no limit.

    Source: the same documents' `memory.max` and `memory.limit_in_bytes`.
    """
    limit = _tightest("memory", _memory_of, root)
    return None if limit is None else int(limit)


def _tightest(controller: str, limit_of: Callable[[Path], float | None], root: Path) -> float | None:
    """A limit may be set at any level, so the tightest one on the way to the root counts."""
    limits = []
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            tree = root
        elif controller in controllers.split(","):
            tree = root / controller
        else:
            continue
        group = tree / path.strip("/")
        for folder in (group, *group.parents):
            limits.append(limit_of(folder))
            if folder == tree:
                break
    return min((limit for limit in limits if limit is not None), default=None)


def _quota_of(folder: Path) -> float | None:
    words = _read(folder / "cpu.max").split() or [
        _read(folder / "cpu.cfs_quota_us").strip(),
        _read(folder / "cpu.cfs_period_us").strip(),
    ]
    try:
        quota, period = int(words[0]), int(words[1])
    except (ValueError, IndexError):  # no such file, or "max"
        return None
    return quota / period if quota > 0 and period > 0 else None


def _memory_of(folder: Path) -> float | None:
    text = (_read(folder / "memory.max") or _read(folder / "memory.limit_in_bytes")).strip()
    return int(text) if text.isdecimal() else None  # no such file, or "max"


@dataclass(frozen=True)
class SharedMemory:
    """The file system that shared-memory segments live in."""

    folder: str
    total: int  # bytes; 0 if it cannot be used
    free: int  # bytes
    problem: str  # empty if it can be written


def probe_shared_memory(folder: str = "/dev/shm") -> SharedMemory:
    """Sizes of /dev/shm, and whether a file can be made there."""
    try:
        facts = os.statvfs(folder)
        name = Path(folder, f"espalier-doctor-{os.getpid()}")
        with name.open("xb"):
            name.unlink()
    except OSError as error:
        return SharedMemory(folder, 0, 0, error.strerror or str(error))
    return SharedMemory(folder, facts.f_blocks * facts.f_frsize, facts.f_bavail * facts.f_frsize, "")


_READ_PARENT = """
import ctypes, os, sys
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
size = int(sys.argv[2])
target = ctypes.create_string_buffer(size)
local = Vector(ctypes.addressof(target), size)
remote = Vector(int(sys.argv[1]), size)
libc = ctypes.CDLL(None, use_errno=True)
libc.process_vm_readv.restype = ctypes.c_ssize_t
count = libc.process_vm_readv(
    os.getppid(), ctypes.byref(local), 1, ctypes.byref(remote), 1, ctypes.c_ulong(0))
if count != size:
    sys.exit(os.strerror(ctypes.get_errno()))
sys.stdout.buffer.write(target.raw)
"""


def probe_single_copy() -> str:
    """Whether a process may read another one's memory (CMA, process_vm_readv); empty if so, else the system's reason.

    Really tried, and from the child to its parent: the kernel's Yama module lets a parent read its children, while
    ranks are siblings.
    """
    secret = os.urandom(64)
    source = ctypes.create_string_buffer(secret, len(secret))
    done = subprocess.run(
        [sys.executable, "-c", _READ_PARENT, str(ctypes.addressof(source)), str(len(secret))],
        capture_output=True,
        timeout=30,
        check=False,
    )
    if done.returncode == 0:
        return "" if done.stdout == secret else "the bytes read are wrong"
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"ended with {done.returncode}"


def probe_hwloc() -> str | None:
    """The version of the hwloc library on this machine; None if it cannot be loaded."""
    try:
        version = ctypes.CDLL("libhwloc.so.15").hwloc_get_api_version()
    except (OSError, AttributeError):
        return None
    return f"{version >> 16}.{version >> 8 & 0xFF}.{version & 0xFF}"


def probe_ucx() -> str | None:
    """The version of the UCX library on this machine; None if it cannot be loaded."""
    try:
        library = ctypes.CDLL("libucp.so.0")
        library.ucp_get_version_string.restype = ctypes.c_char_p
        return bytes(library.ucp_get_version_string()).decode()
    except (OSError, AttributeError):
        return None


def has_fabric() -> bool:
    """Whether the kernel knows any InfiniBand, RoCE or Omni-Path device."""
    try:
        return next(Path("/sys/class/infiniband").iterdir(), None) is not None
    except OSError:
        return False


def processor_name() -> str:
    """The processor's model as the kernel names it; its architecture where it does not."""
    for line in _read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return os.uname().machine


def _read(path: Path | str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
