"""What a process of this host runs, as its command line tells it."""

from __future__ import annotations

import re
from pathlib import Path

_MOST_CHARACTERS = 60
_INTERPRETER = re.compile(r"(.*/)?(python|pypy)[\d.]*")


def tell_program(pid: int) -> str:
    """`./lmp`, or `python3 -m solver` where it is an interpreter's; empty where the process is gone, or somebody else's
    that hides."""
    words = _read(pid, "cmdline").rstrip("\0").split("\0")
    if not words[0]:
        return _read(pid, "comm").strip()  # of one that has ended, and that nobody has asked after yet
    last = 0
    if _INTERPRETER.fullmatch(words[0]):
        last = next((at for at, word in enumerate(words) if at > 0 and not word.startswith("-")), 0)
    text = " ".join(words[: last + 1])
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
