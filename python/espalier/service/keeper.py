"""Keeps the newest good dumps of a folder: looks for new ones, takes them as a whole or not at all."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from espalier.base.errors import UserError
from espalier.fabric import Snapshot, load
from espalier.fabric.view import View

log = logging.getLogger("espalier.serve")

# Dumps with these are cut, or of different times: good ones will follow, and until then the last good ones are better.
# What else is found (a switch without table, say) may well be how the network is.
INCONSISTENT = ("truncated-table", "stale-table", "asymmetric-link")

Fingerprint = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True)
class Kept:
    """One snapshot that answers or has answered. Never changes."""

    number: int
    """As the engine counts: from 1."""
    snapshot: Snapshot
    written: float
    """When its newest file was; seconds since 1970, as is `loaded`."""
    loaded: float

    @cached_property
    def view(self) -> View:
        return View(self.snapshot.core)


class Keeper:
    """Feeds an engine from a folder. `refresh` is called every now and then, by one thread at a time.

    Files are compared by name, size, time and inode rather than watched by the kernel: that works on network file
    systems too, where the collector is usually another machine.
    """

    def __init__(self, folder: Path, engine: Any) -> None:
        self.folder = folder
        self.engine = engine
        self.current: Kept | None = None
        self.trouble = ""
        """Why the newest dumps are not the ones that answer; empty when they are."""
        self._last: Fingerprint | None = None
        self._seen: Fingerprint | None = None

    def refresh(self, patient: bool = True) -> bool:
        """Looks at the folder; takes what is new. True when something was taken.

        A patient look waits for the files to be the same twice: whoever writes them may not be done.
        """
        seen = self._look()
        is_at_rest = seen == self._seen or not patient
        self._seen = seen
        if seen == self._last or not is_at_rest:
            return False
        return self._take(seen)

    def forget(self) -> None:
        """The next look takes the files even if they are the same."""
        self._last = None

    def _look(self) -> Fingerprint:
        try:
            facts = ((path.name, path.stat()) for path in sorted(self.folder.iterdir()) if path.is_file())
            return tuple((name, it.st_size, it.st_mtime_ns, it.st_ino) for name, it in facts)
        except OSError:
            return ()

    def _take(self, seen: Fingerprint) -> bool:
        begin = time.monotonic()
        try:
            snapshot = load(self.folder)
        except UserError as error:
            return self._reject(seen, error.message)
        except MemoryError:
            return self._reject(seen, "too-large: there is not enough memory for these dumps")
        if self._look() != seen:
            # Perhaps half of one set and half of the next: wait until they are at rest.
            return False
        bad = [f"{it.kind}: {it.text}" for it in snapshot.core.findings if it.kind in INCONSISTENT]
        if self.current is not None and (why := bad[:1] or self._missing(snapshot)):
            return self._reject(seen, why[0])
        self._last = seen
        self._publish(snapshot, max(mtime for _, _, mtime, _ in seen) / 1e9, time.monotonic() - begin)
        for text in bad:
            log.warning("taken, because there is nothing better: %s", text)
        return True

    def _missing(self, snapshot: Snapshot) -> list[str]:
        """What these dumps no longer say and those that answer did; empty when nothing is missing.

        Without its forwarding tables a network still has routes, shortest ones, which are others than those that
        packets take: whoever asks would not notice. A network that really has none any more is for a service started
        anew.
        """
        assert self.current is not None
        if snapshot.core.basis == "tables" or self.current.snapshot.core.basis != "tables":
            return []
        gone = [path.name for path, _ in self.current.snapshot.files if path not in {it for it, _ in snapshot.files}]
        names = f" ({', '.join(gone)})" if gone else ""
        return [f"missing-tables: the forwarding tables are gone{names}, so routes would be guessed"]

    def _publish(self, snapshot: Snapshot, written: float, seconds: float) -> None:
        self.engine.publish(snapshot.core, written)
        number = self.engine.counts()["reloads"]
        self.current = Kept(number, snapshot, written, time.time())
        self.trouble = ""
        switches = sum(node.kind == "switch" for node in snapshot.core.nodes)
        log.info(
            "snapshot %d: %d hosts, %d switches, routes from %s, read in %.2f s",
            *(number, len(snapshot.core.hosts), switches, snapshot.core.basis, seconds),
        )

    def _reject(self, seen: Fingerprint, why: str) -> bool:
        self._last = seen
        self.trouble = why
        self.engine.reject(why)
        going_on = f"snapshot {self.current.number} goes on answering" if self.current else "nothing answers yet"
        log.error("the new dumps are not taken, %s: %s", going_on, why)
        return False
