"""Files that a user names to be read: regular ones, of a size that can be. A pipe or a device may have no end, or
nobody at the other one."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_regular(path: Path, limit: int) -> bytes:
    """All of a file. Raises OSError, also for what is no regular file or has more than `limit` bytes."""
    _refuse_others(path, path.stat())  # some devices do something when they are opened
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as stream:
        _refuse_others(path, os.fstat(file))
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"is larger than the {limit} bytes that are read of such a file", str(path))
    return data


def read_regular_text(path: Path, limit: int) -> str:
    """The same of a text. Raises UnicodeDecodeError, which is a ValueError, too."""
    return read_regular(path, limit).decode("utf-8")


def _refuse_others(path: Path, facts: os.stat_result) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise OSError(errno.EINVAL, "is no regular file", str(path))
