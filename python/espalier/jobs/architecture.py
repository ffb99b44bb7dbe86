"""Which machine an executable is for: it runs on no other, and no library for another can be preloaded into it."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

from espalier.jobs.elf import Elf, read_elf

# The ELF specification's numbers, with the names that `uname -m` has for them.
_NAMES = {
    3: "i386",
    8: "mips",
    20: "ppc",
    21: "ppc64",
    22: "s390x",
    40: "arm",
    62: "x86_64",
    183: "aarch64",
    243: "riscv",
    258: "loongarch",
}


def why_foreign(elf: Elf) -> str:
    """One clause: what it is for, and what this machine is; empty: it is for this one."""
    if (elf.bits, elf.machine) == _own():
        return ""
    name = _NAMES.get(elf.machine, f"machine {elf.machine} of the ELF specification")
    bits = f" with {elf.bits} bits" if elf.machine == _own()[1] else ""
    return f"is for {name}{bits}, this machine is {platform.machine()}"


@cache
def _own() -> tuple[int, int]:
    """Those of the Python that runs this, and so of whatever was installed with it."""
    elf = read_elf(Path("/proc/self/exe"))
    return elf.bits, elf.machine
