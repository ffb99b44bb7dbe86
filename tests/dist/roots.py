"""Debian systems of their own, as small as they can be, to install in: no compiler, no MPI, nothing of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from installed import ROOT

# A private mount of /proc and /dev, which go with the process; then into the root.
_ENTER = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'


def make_root(suite: str, folder: Path) -> Path:
    """A copy of a Debian system with Python, made once. Skips where that cannot be."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("a root of its own needs root and debootstrap")
    kept = ROOT / "build" / "dist" / "roots" / suite
    if not (kept / "etc" / "debian_version").exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        command = ["debootstrap", "--variant=minbase", "--include=python3-venv", suite, kept]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"debootstrap cannot make {suite} here: {done.stdout.splitlines()[-1:]}")
    root = folder / suite
    subprocess.run(["cp", "-a", "--reflink=auto", kept, root], check=True)
    return root


def in_root(root: Path, *command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in there, with mounts and processes of its own."""
    inside = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "COLUMNS": "200",
        "LC_ALL": "C.UTF-8",
        **variables,
    }
    settings = [f"{name}={value}" for name, value in inside.items()]
    return subprocess.run(
        [
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            _ENTER,
            root,
            "env",
            "-i",
            *settings,
            *command,
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
