"""Byte counts as people write them: 64K, 1M; binary multiples, as in the library's own settings."""

from __future__ import annotations

import re

from espalier.base.errors import UserError

_SHIFT = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
# More than any job has: of so many ranks times so many bytes 64-bit counts still hold the sum.
MOST_BYTES = 1 << 40
MOST_RANKS = 1 << 22

_PATTERN = re.compile(r"(\d+)([KMGT]?)(?:i?B)?", re.IGNORECASE)


def parse_bytes(text: str) -> int:
    """Turns `64K`, `64KiB` or `65536` into 65536. Raises UserError for anything else, and above MOST_BYTES."""
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        raise UserError(f"'{text}' is no number of bytes", "write it as 4, 64K, 1M or 2G")
    count = int(match[1]) << _SHIFT[match[2].upper()]
    if count > MOST_BYTES:
        raise UserError(f"{text} is more than {format_bytes(MOST_BYTES)}, the most there is", "write it as 4, 64K, 1G")
    return count


def format_bytes(count: int) -> str:
    """The shortest exact form: 65536 is `64K`, 65537 stays `65537`."""
    for suffix in ("T", "G", "M", "K"):
        if count and count % (1 << _SHIFT[suffix]) == 0:
            return f"{count >> _SHIFT[suffix]}{suffix}"
    return str(count)


def counted(count: int, thing: str) -> str:
    """`1 rank`, `2 ranks`, `3 switches`, `4 entries`."""
    if count == 1:
        return f"{count} {thing}"
    stem = f"{thing[:-1]}ie" if re.search("[^aeiou]y$", thing) else thing
    return f"{count} {stem}{'es' if re.search('(s|sh|ch|x)$', thing) else 's'}"


def name_problem(operation: str, count: int) -> str:
    """An operation and its size: `allreduce of 64K`; a barrier has none."""
    return operation if operation == "barrier" else f"{operation} of {format_bytes(count)}"


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
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise UserError(f"'{text}' is no list of counts", "write it as 2,4")
    return [int(word) for word in words]


def check_ranks(count: int) -> int:
    """The same number of ranks. Raises UserError above MOST_RANKS."""
    if count > MOST_RANKS:
        raise UserError(f"{count} ranks: plans are made for up to {MOST_RANKS}", "ask for fewer nodes or ranks")
    return count


def format_time(microseconds: float) -> str:
    """Three or four digits with the unit that suits them: 0.69 µs, 89.3 ms."""
    for unit, scale in (("µs", 1.0), ("ms", 1e3), ("s", 1e6)):
        if microseconds < scale * 1e3 or unit == "s":
            value = microseconds / scale
            return f"{value:.2f} {unit}" if value < 100 else f"{value:.0f} {unit}"
    raise AssertionError("unreachable: the last unit always fits")
