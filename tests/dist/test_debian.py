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
    for name in NAMES:
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
    check_service(root)
    removed = in_root(root, "dpkg", "--purge", "espalier-service", "libespalier-dev", "espalier")
    assert removed.returncode == 0, removed.stderr
    places = [root / name for name in ("usr", "etc", "var/lib")]
    left = [file for place in places for file in place.rglob("*espalier*") if "dpkg" not in file.parts]
    assert not left


def check_service(root: Path) -> None:
    """Installs the service's package with what it asks for: its units are right, and none starts by itself."""
    if in_root(root, "apt-get", "update").returncode != 0:
        pytest.skip("Debian's packages for the service cannot be had")
    install = ("apt-get", "install", "--yes", "--no-install-recommends", "/espalier-service.deb")
    done = in_root(root, *install, DEBIAN_FRONTEND="noninteractive")
    assert done.returncode == 0, done.stderr
    assert in_root(root, "python3", "-c", "import aiohttp, prometheus_client").returncode == 0
    assert (root / "etc" / "default" / "espalier").is_file()
    assert not list((root / "etc" / "systemd").rglob("*.wants/espalier*"))
    for name in ("espalier-serve.service", "espalier-collect.service"):
        (unit,) = root.glob(f"usr/lib/systemd/system/{name}")
        assert "\nExecStart=/usr/bin/espalier " in unit.read_text()
        if shutil.which("systemd-analyze"):
            verify = ["systemd-analyze", "verify", "--man=no", f"--root={root}", name]
            said = subprocess.run(verify, capture_output=True, text=True, check=False).stderr
            # What such a small system lacks is not the unit's fault.
            wrong = [line for line in said.splitlines() if name in line and "sysinit.target" not in line]
            assert not [line for line in wrong if "/bin/kill" not in line]
