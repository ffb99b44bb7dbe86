"""The list of what a wheel is made of: whole, in a format that others read, and the same each time."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def compose(wheel: Path, output: Path) -> dict[str, Any]:
    pytest.importorskip("cyclonedx", reason="packaging/sbom.py needs cyclonedx-python-lib")
    command = [sys.executable, ROOT / "packaging" / "sbom.py", wheel, output]
    subprocess.run(command, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}, check=True, timeout=60)
    return dict(json.loads(output.read_text()))


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    """A wheel of two files."""
    wheel = tmp_path / "espalier_mpi-1.2-py3-none-any.whl"
    about = "Metadata-Version: 2.4\nName: espalier-mpi\nVersion: 1.2\nLicense-Expression: BSD-3-Clause\n"
    asked = 'Requires-Dist: typer>=0.12\nRequires-Dist: matplotlib>=3.9; extra == "reproduce"\n'
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("espalier/_core.so", b"core")
        archive.writestr("espalier_mpi-1.2.dist-info/METADATA", about + asked)
    return wheel


def test_it_names_every_file_requirement_and_library(made_up: Path, tmp_path: Path) -> None:
    found = compose(made_up, tmp_path / "sbom.json")
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert found["metadata"]["component"]["purl"] == "pkg:pypi/espalier-mpi@1.2"
    by_name = {it["name"]: it for it in found["components"]}
    assert by_name["espalier/_core.so"]["hashes"] == [
        {"alg": "SHA-256", "content": hashlib.sha256(b"core").hexdigest()}
    ]
    assert by_name["typer"]["scope"] == "required"
    assert by_name["matplotlib"]["scope"] == "optional"
    assert {"nanobind", "libstdc++-12-dev", "libgcc-12-dev", "nlohmann-json3-dev", "libasio-dev"} <= set(by_name)
    assert all(it["version"] for it in found["components"] if it["bom-ref"].startswith("linked:"))


def test_it_is_the_same_each_time(made_up: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        compose(made_up, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
