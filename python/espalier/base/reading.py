"""Files that a user names to be read: regular ones, of a size that can be. A pipe or a device may have no end, or
nobody at the other one."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_PIECE = 1 << 16


def read_regular(path: Path, limit: int) -> bytes:
    """All of a file. Raises OSError, also for what is no regular file or has more than `limit` bytes."""
    _refuse_others(path, path.stat())  # some devices do something when they are opened
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as stream:
        facts = os.fstat(file)
        _refuse_others(path, facts)
        data = _read_up_to(limit + 1, facts.st_size, stream)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"is larger than the {limit} bytes that are read of such a file", str(path))
    return data


def read_regular_text(path: Path, limit: int) -> str:
    """The same of a text. Raises UnicodeDecodeError, which is a ValueError, too."""
    return read_regular(path, limit).decode("utf-8")


def _read_up_to(limit: int, likely: int, stream: BinaryIO) -> bytes:
    """For `read(limit)` Python makes room for all that may come, and a process with a limit of its own, or a sanitizer,
    has no 8 GiB. In one piece, unless the file is said to be smaller than it is, as in /proc."""
    pieces: list[bytes] = []
    while limit > 0 and (piece := stream.read(min(limit, max(likely, _PIECE) + 1))):
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def _refuse_others(path: Path, facts: os.stat_result) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise OSError(errno.EINVAL, "is no regular file", str(path))
