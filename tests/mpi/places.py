"""Where a job may leave files behind: a /dev/shm and a /tmp of its own, so that what is found there afterwards is the
job's, whatever else runs on the machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from launch import BUILD, CHECKOUT

# Folders are mounted over the two, and into that over /tmp whatever of /tmp the job needs.
_ENTER = """
set -e
mount --bind "$1" /dev/shm
own=$2; shift 2
while [ "$1" != -- ]; do mount --rbind "$1" "$own${1#/tmp}"; shift; done
shift
mount --rbind "$own" /tmp
exec "$@"
"""
# As root, and as others where the system lets them.
_NAMESPACES = (
    ["unshare", "--mount"],
    ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount"],
)


@dataclass(frozen=True)
class Places:
    """`folders` take the part of /dev/shm and /tmp for a command behind the words of `enter`."""

    folders: tuple[Path, Path]
    enter: tuple[str, ...] = ()

    @property
    def are_private(self) -> bool:
        """Whether others' files cannot be among a job's."""
        return bool(self.enter)

    def inside(self, line: Sequence[str]) -> list[str]:
        """A command line whose processes see these places."""
        return [*self.enter, *line]

    def start(self, line: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
        """A job in these places, in a process group of its own; what it prints can be read."""
        return subprocess.Popen(
            self.inside(line),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def named(self) -> set[str]:
        """Files and shared memory of ours that have a name: ideally none at any time."""
        return {str(entry) for folder in self.folders for entry in folder.glob("*espalier*")}


def make_places(folder: Path, needed: Iterable[Path] = ()) -> Places:
    """Private ones below `folder`; the machine's own where no mount is allowed. `needed`: what else a job reads."""
    shared_memory, temporary = folder / "shm", folder / "tmp"
    kept = sorted({str(it.resolve()) for it in (CHECKOUT, BUILD, Path(sys.prefix), *needed)})
    kept = [it for it in kept if it.startswith("/tmp/") and Path(it).exists()]
    for it in (str(shared_memory), str(temporary), *(f"{temporary}{it.removeprefix('/tmp')}" for it in kept)):
        Path(it).mkdir(parents=True, exist_ok=True)
    for namespace in _NAMESPACES:
        words = (*namespace, "sh", "-c", _ENTER, "sh", str(shared_memory), str(temporary), *kept, "--")
        if _works(words):
            return Places((shared_memory, temporary), words)
    return Places((Path("/dev/shm"), Path("/tmp")))


def _works(words: Sequence[str]) -> bool:
    try:
        return subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
