"""The Debian packages of `make deb`: what lintian says, and what they leave in a clean system."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import espalier
from installed import ROOT
from roots import in_root, make_root

NAMES = ("espalier", "libespalier-dev", "espalier-service")


@pytest.fixture(params=NAMES)
def package(request: pytest.FixtureRequest) -> Path:
    return find(request.param)


def find(name: str) -> Path:
    found = next((ROOT / "dist").glob(f"{name}_*.deb"), None)
    if found is None:
        pytest.skip("dist/ holds no Debian packages: make deb")
    return found


def contents(package: Path) -> str:
    return subprocess.run(["dpkg-deb", "--contents", package], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(shutil.which("lintian") is None, reason="no lintian")
def test_lintian_has_nothing_to_say(package: Path) -> None:
    done = subprocess.run(
        ["lintian", "--fail-on", "error,warning", package], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_each_package_holds_its_part() -> None:
    inside = {name: contents(find(name)) for name in NAMES}
    assert "usr/bin/espalier" in inside["espalier"]
    assert "libespalier-mpich.so.0" in inside["espalier"]
    assert "man1/espalier-run.1.gz" in inside["espalier"]
    assert "usr/include/espalier/espalier.h" in inside["libespalier-dev"]
    assert "EspalierConfig.cmake" in inside["libespalier-dev"]
    assert "lib/systemd/system/espalier-serve.service" in inside["espalier-service"]
    assert "etc/default/espalier" in inside["espalier-service"]


@pytest.mark.long
@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_packages_are_installed_in_a_clean_system_and_leave_nothing_behind(suite: str, tmp_path: Path) -> None:
    root = make_root(suite, tmp_path)
    for name in NAMES[:2]:
        shutil.copy(find(name), root / f"{name}.deb")
    done = in_root(root, "dpkg", "--install", "/espalier.deb", "/libespalier-dev.deb")
    assert done.returncode == 0, done.stderr
    said = in_root(root, "espalier", "--version").stdout.splitlines()
    assert said[0] == f"espalier {espalier.__version__}"
    assert said[2] == "libraries for the ABIs: mpich, openmpi, abi"
    explained = in_root(root, "espalier", "explain", "bcast", "--nodes", "2", "--json")
    assert explained.returncode == 0, explained.stderr
    plain = in_root(root, "ls", "/usr")
    loaded = in_root(root, "ls", "/usr", LD_PRELOAD="libespalier-openmpi.so.0")
    assert (loaded.stdout, loaded.stderr) == (plain.stdout, "")
    removed = in_root(root, "dpkg", "--purge", "libespalier-dev", "espalier")
    assert removed.returncode == 0, removed.stderr
    left = [file for file in (root / "usr").rglob("*espalier*") if "dpkg" not in file.parts]
    assert not left
