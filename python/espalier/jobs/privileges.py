"""Rights that a program's file gives to whoever runs it. The loader then executes it securely (ld.so(8),
"Secure-execution mode"): of LD_PRELOAD it leaves out whatever has a path.

Source: cap_bprm_creds_from_file() in Linux's security/commoncap.c, and `struct vfs_cap_data` of <linux/capability.h>.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_BEHIND = ", so nothing can be preloaded"


def find_privileges(program: Path) -> str:
    """What an executable has beyond this user's own rights, and that this is in the way: one clause; empty: nothing."""
    if _are_void(program):
        return ""
    facts = program.stat()
    if facts.st_mode & stat.S_ISUID and facts.st_uid != os.getuid():
        return f"has the rights of its owner (set-user-ID){_BEHIND}"
    is_of_its_group = facts.st_mode & stat.S_ISGID and facts.st_mode & stat.S_IXGRP
    if is_of_its_group and facts.st_gid != os.getgid():
        return f"has the rights of its group (set-group-ID){_BEHIND}"
    if os.getuid() != 0 and _has_capabilities(program):
        return f"has capabilities of its own (setcap){_BEHIND}"
    return ""


def _are_void(program: Path) -> bool:
    """Whether it is mounted so, or no program that this process starts gets more rights, as in many containers."""
    if os.statvfs(program).f_flag & os.ST_NOSUID:
        return True
    try:
        return "\nNoNewPrivs:\t1\n" in Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return False


def _has_capabilities(program: Path) -> bool:
    """Whether they are in force from the beginning, or may be taken."""
    try:
        data = os.getxattr(program, "security.capability")
    except OSError:
        return False
    is_effective, permitted = data[0] & 1, data[4:8] + data[12:16]
    return bool(is_effective or any(permitted))
