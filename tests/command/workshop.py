"""What the command's tests are made with: tiny programs, libraries and MPI installations, built on the spot."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Outcome:
    """What one call of the command left behind."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


def compile_c(source: str, output: Path, *flags: str) -> Path:
    """Compiles a few lines of C. The compiler is there wherever Espalier is built."""
    output.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-x", "c", "-", "-x", "none", "-o", str(output), *flags], input=source, text=True, check=True)
    return output


def compile_library(name: str, folder: Path, source: str = "", flags: Sequence[str] = ()) -> Path:
    """A shared library whose file name and soname are `name`."""
    return compile_c(source, folder / name, "-shared", "-fPIC", f"-Wl,-soname,{name}", *flags)


MPI_TEXT = {
    "mpich": "MPICH Version:      5.0.2\nMPICH Release date: today\nMPICH ABI: 18:2:6\n",
    "openmpi": "Open MPI v5.0.11, package: Open MPI user@host, ident: 5.0.11",
    "intel": "Intel(R) MPI Library 2021.18.1 for Linux* OS\n",
    "mvapich": "MVAPICH Version       :     4.0\nMVAPICH Release date  : today\n",
    "cray": "MPI VERSION    : CRAY MPICH version 8.1.28.29 (ANL base 3.4a2)\n",
}


def make_mpi(prefix: Path, text: str, soname: str) -> Path:
    """An installation whose libmpi says `text` of itself and whose mpiexec prints its arguments."""
    escaped = text.replace("\n", "\\n")
    source = (
        "int MPI_Get_library_version(char *text, int *length)"
        f'{{ *length = __builtin_sprintf(text, "%s", "{escaped}"); return 0; }}'
    )
    library = compile_library(soname, prefix / "lib", source)
    launcher = prefix / "bin" / "mpiexec"
    launcher.parent.mkdir(exist_ok=True)
    launcher.write_text('#!/bin/sh\nfor word; do echo "$word"; done\n')
    launcher.chmod(0o755)
    return library


def ask_browser(page: Path, width: int, expression: str) -> str:
    """What JavaScript makes of a page that is so wide, 500 at least. Skips the test where there is no browser."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no chromium here")
    probe = page.with_name(f"asked-{page.name}")
    script = f"<script>document.title = `${{{expression}}} is told`;</script></body>"
    probe.write_text(page.read_text().replace("</body>", script))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},800", "--dump-dom"]
    done = subprocess.run([browser, *flags, probe.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.split("<title>")[1].split(" is told")[0]
