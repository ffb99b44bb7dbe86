"""A machine without SimGrid builds everything else, tests included."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from espalier.libraries import find_checkout

ROOT = find_checkout()
BUILD = ROOT / "build" / "release" if ROOT else Path("nowhere")
SIMGRIDS = ("#include <simgrid/", "#include <smpi/")


def test_where_simgrid_is_missing_nothing_that_is_compiled_includes_it(tmp_path: Path) -> None:
    if not (BUILD / "CMakeInit.txt").exists():
        pytest.skip("not built here by scripts/install.sh")
    missing = [f"-DESPALIER_SIMGRID_{what}=" for what in ("INCLUDE", "LIBRARY")]
    command = [
        "cmake",
        "-S",
        str(ROOT),
        "-B",
        str(tmp_path),
        "-G",
        "Ninja",
        "-C",
        str(BUILD / "CMakeInit.txt"),
        *missing,
    ]
    subprocess.run(
        [*command, "-DESPALIER_TESTS=ON", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    compiled = [Path(it["file"]) for it in json.loads((tmp_path / "compile_commands.json").read_text())]
    assert any(path.name.startswith("mpi_simulated_") for path in compiled)
    for path in compiled:
        assert not _includes_simgrid(path), path


def _includes_simgrid(path: Path) -> bool:
    """The file itself, or the header that it was generated to compile alone."""
    text = path.read_text(encoding="utf-8")
    headers = [ROOT / "src" / line.split('"')[1] for line in text.splitlines() if line.startswith('#include "')]
    texts = [text, *(it.read_text(encoding="utf-8") for it in headers if it.is_file())]
    return any(mark in it for it in texts for mark in SIMGRIDS)
