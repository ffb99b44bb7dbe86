"""Byte counts as people write them: 64K, 1M; binary multiples, as in the library's own settings."""

from __future__ import annotations

import re

from espalier.errors import UserError

_SHIFT = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_PATTERN = re.compile(r"(\d+)([KMGT]?)(?:i?B)?", re.IGNORECASE)


def parse_bytes(text: str) -> int:
    """Turns `64K`, `64KiB` or `65536` into 65536. Raises UserError for anything else."""
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        raise UserError(f"'{text}' is no number of bytes", "write it as 4, 64K, 1M or 2G")
    return int(match[1]) << _SHIFT[match[2].upper()]


def format_bytes(count: int) -> str:
    """The shortest exact form: 65536 is `64K`, 65537 stays `65537`."""
    for suffix in ("T", "G", "M", "K"):
        if count and count % (1 << _SHIFT[suffix]) == 0:
            return f"{count >> _SHIFT[suffix]}{suffix}"
    return str(count)


def approximate_bytes(count: float) -> str:
    """For reading, not for parsing: 25769803776 is `24.0 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
