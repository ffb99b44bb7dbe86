"""What LD_PRELOAD names. A sanitizer's runtime in it is meant for a program: this command begins anew without it, as
what Python keeps to its end is a leak to it (exit code 23, or a crash of its own), and the rest is slow."""

from __future__ import annotations

import os
import re
import sys

# Of GCC (libasan.so.8) and of Clang (libclang_rt.asan-x86_64.so).
_SANITIZER = re.compile(r"(.*/)?lib(clang_rt\.)?(a|hwa|l|m|t|ub)san[\w-]*\.so[\d.]*")
_KEPT = "_ESPALIER_PRELOAD"  # no setting: one start of this command tells it to the next
_asked: str | None = None  # LD_PRELOAD as it was given, where this process is without a part of it


def asked() -> list[str]:
    """The libraries that a program is to have in front, in their order, by the names that somebody gave them."""
    text = os.environ.get("LD_PRELOAD", "") if _asked is None else _asked
    return text.replace(":", " ").split()


def is_sanitizer(library: str) -> bool:
    """Whether that is a sanitizer's runtime, by its name."""
    return _SANITIZER.fullmatch(library) is not None


def begin_without_sanitizers() -> None:
    """Returns in a process that has none in front; before that, starts this command again."""
    global _asked
    _asked = os.environ.pop(_KEPT, None)
    words = asked()
    others = [it for it in words if not is_sanitizer(it)]
    if _asked is not None or others == words:
        return
    environment = {**os.environ, _KEPT: os.environ["LD_PRELOAD"], "LD_PRELOAD": ":".join(others)}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)
