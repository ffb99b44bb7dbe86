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
    """For reading, not for parsing: 25769803777 is `24 GiB`."""
    units = ("B", "KiB", "MiB", "GiB", "TiB")
    level = 0
    while count >= 1024 and level < len(units) - 1:
        count /= 1024
        level += 1
    return f"{count:.1f}".removesuffix(".0") + f" {units[level]}"


def parse_counts(text: str) -> list[int]:
    """Turns `2,4` into [2, 4]. Raises UserError unless all are whole numbers above 0."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdigit() and int(word) > 0 for word in words):
        raise UserError(f"'{text}' is no list of counts", "write it as 2,4")
    return [int(word) for word in words]


def format_time(microseconds: float) -> str:
    """Three or four digits with the unit that suits them: 0.69 µs, 89.3 ms."""
    for unit, scale in (("µs", 1.0), ("ms", 1e3), ("s", 1e6)):
        if microseconds < scale * 1e3 or unit == "s":
            value = microseconds / scale
            return f"{value:.2f} {unit}" if value < 100 else f"{value:.0f} {unit}"
    raise AssertionError("unreachable: the last unit always fits")
