"""What the administrator runs: dumps the fabric with InfiniBand's own tools, checks the dumps, puts them into place.

DIR/.collecting-…/ibnetdiscover.txt ──check──rename──► DIR/ibnetdiscover.txt
                  dump_fts.txt      ──check──rename──► DIR/dump_fts.txt
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from espalier.base.errors import UserError
from espalier.fabric import Snapshot, load
from espalier.service.keeper import INCONSISTENT

log = logging.getLogger("espalier.collect")

TOOLS = {"ibnetdiscover.txt": ["ibnetdiscover"], "dump_fts.txt": ["dump_fts"]}

# The network may change between the two dumps; then they are taken again.
_MOST_TRIES = 3


def collect(folder: Path, limit_s: float) -> Snapshot:
    """Fills the folder with new dumps, or leaves it as it is, or away. Raises UserError naming what went wrong.

    `limit_s` is for each tool. The two renames are no single step; the service reads files that are at rest only.
    """
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder), tempfile.TemporaryDirectory(prefix=".collecting-", dir=folder) as beside:
            snapshot = _dump_until_consistent(Path(beside), limit_s)
            for name in TOOLS:
                (Path(beside) / name).replace(folder / name)
    except OSError as error:  # who stays tries again: a full disk may have been cleared
        raise UserError(f"cannot write into {folder}: {error.strerror}", "name a folder with enough room") from error
    finally:
        if is_new:
            with suppress(OSError):  # it has its dumps
                folder.rmdir()
    return snapshot


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One collector at a time; what one that was killed has left is removed."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        raise UserError(f"somebody else collects into {folder}", "wait for it to end") from error
    try:
        for left in folder.glob(".collecting-*"):
            shutil.rmtree(left, ignore_errors=True)
        yield
    finally:
        os.close(lock)


def _dump_until_consistent(folder: Path, limit_s: float) -> Snapshot:
    for number in range(1, _MOST_TRIES + 1):
        for name, tool in TOOLS.items():
            _dump(tool, folder / name, limit_s)
        snapshot = load(folder)
        bad = [f"{it.kind}: {it.text}" for it in snapshot.core.findings if it.kind in INCONSISTENT]
        if snapshot.core.basis != "tables":  # a tool that ends well and says nothing
            bad.append("missing-tables: dump_fts has printed no forwarding table")
        if not bad:
            return snapshot
        log.warning("try %d: the dumps do not fit together: %s", number, bad[0])
    raise UserError(f"the dumps do not fit together: {bad[0]}", "collect again when the network is quiet")


def _dump(tool: list[str], output: Path, limit_s: float) -> None:
    name = tool[0]
    begin = time.monotonic()
    try:
        with output.open("wb") as file:
            subprocess.run(tool, stdout=file, stderr=subprocess.PIPE, check=True, timeout=limit_s)
    except FileNotFoundError as error:
        raise UserError(f"there is no {name} here", "install infiniband-diags") from error
    except subprocess.TimeoutExpired as error:
        raise UserError(f"{name} has not ended within {limit_s:g} s", "give it more with --limit") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("ascii", "replace").strip().splitlines()
        why = said[-1] if said else f"exit code {error.returncode}"
        raise UserError(f"{name} failed: {why}", "it usually needs root, on a host with an active port") from error
    log.info("%s: %d bytes in %.2f s", name, output.stat().st_size, time.monotonic() - begin)


def follow(log_file: Path | None, every_s: float | None, poll_s: float = 0.5) -> Iterator[str]:
    """Yields a reason whenever it is time to collect: the subnet manager's log says so, or so many seconds are over.

    What the log says from this call on counts, not from the first step on.
    """
    return _follow(log_file, every_s, poll_s, *_end_of(log_file))


def _follow(log_file: Path | None, every_s: float | None, poll_s: float, position: int, inode: int) -> Iterator[str]:
    begin = time.monotonic()
    while True:
        time.sleep(poll_s)
        if log_file is not None:
            has_news, position, inode = _read_news(log_file, position, inode)
            if has_news:
                yield "the subnet manager has swept"
        if every_s is not None and time.monotonic() - begin >= every_s:
            yield f"{every_s:g} seconds are over"
            begin = time.monotonic()


def _end_of(log_file: Path | None) -> tuple[int, int]:
    try:
        facts = log_file.stat() if log_file else None
    except OSError:
        facts = None
    return (facts.st_size, facts.st_ino) if facts else (0, 0)


# What opensm writes after every sweep that has changed something, as every hand-over and failure does.
_NEWS = b"SUBNET UP"
# A line that was half there at the last look.
_OVERLAP = len(_NEWS) - 1


def _read_news(log_file: Path, position: int, inode: int) -> tuple[bool, int, int]:
    """Whether the log has news behind a position; the next position. A log that was rotated is read from its start."""
    size, now = _end_of(log_file)
    if now != inode or size < position:
        position = 0
    if size == position:
        return False, size, now
    with log_file.open("rb") as file:
        file.seek(max(0, position - _OVERLAP))
        text = file.read(size - max(0, position - _OVERLAP))
    return _NEWS in text, size, now
