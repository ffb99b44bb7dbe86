"""The wheel for 64-bit ARM (`make dist-aarch64`), which Debian 13's Python for that processor imports, by qemu."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from espalier.jobs.elf import read_elf
from installed import ROOT
from test_wheels import ABIS, FLOOR, GLIBC, LARGEST, binaries, oldest_glibc, output_of

WHEELS = sorted((ROOT / "dist").glob("*_aarch64.whl"))
LOADER = "ld-linux-aarch64.so.1"
# Debian's, for its arm64, with what they need to import a module.
PACKAGES = ("libc6", "libpython3.13-minimal", "libpython3.13-stdlib", "python3.13-minimal", "libexpat1", "zlib1g")
MIRROR = "deb [trusted=yes] http://deb.debian.org/debian trixie main\n"

pytestmark = pytest.mark.skipif(not WHEELS, reason="dist/ holds no wheel for aarch64: make dist-aarch64")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that Python finds `espalier` in."""
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(WHEELS[-1]) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of Debian 13 on that processor, unpacked and not installed."""
    if shutil.which("qemu-aarch64-static") is None:
        pytest.skip("qemu-aarch64-static is not installed (Debian: qemu-user-static)")
    folder = tmp_path_factory.mktemp("debian")
    for part in ("lists/partial", "cache/archives/partial", "debs", "root"):
        (folder / part).mkdir(parents=True)
    (folder / "sources.list").write_text(MIRROR)
    options = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Sandbox::User": "root",
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": os.devnull,
        "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": os.devnull,
    }
    apt = ["apt-get", "-qq", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]
    for step in (["update"], ["download", *PACKAGES]):
        done = subprocess.run([*apt, *step], cwd=folder / "debs", capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"no packages of Debian 13: {done.stderr}")
    for package in (folder / "debs").iterdir():
        subprocess.run(["dpkg", "-x", package, folder / "root"], check=True)
    (folder / "root" / "lib").symlink_to("usr/lib")
    return folder / "root"


def run(root: Path, program: Path, *words: str, **variables: str) -> str:
    command = ["qemu-aarch64-static", "-L", root, program, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_as_complete_and_as_small_as_the_other(unpacked: Path) -> None:
    assert WHEELS[-1].stat().st_size <= LARGEST
    names = {file.name for file in (unpacked / "espalier").iterdir()}
    assert {f"libespalier-{abi}.so" for abi in ABIS} <= names
    assert {f"espalier_bench_{abi}" for abi in ABIS} <= names
    assert {"espalier-simulator", "_core.abi3.so", "_core.pyi", "py.typed"} <= names


def test_its_binaries_are_for_that_processor_and_run_with_an_old_glibc(unpacked: Path) -> None:
    found = list(binaries(unpacked))
    assert found
    for file in found:
        assert "AArch64" in output_of("readelf", "--file-header", file), file.name
        assert ".debug_info" not in output_of("readelf", "--wide", "--sections", file), file.name
        needed = {name for name in read_elf(file).needed if not name.startswith("libmpi")}
        assert needed <= GLIBC | {LOADER}, file.name
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", output_of("readelf", "--wide", "--version-info", file))
        assert max((int(a), int(b)) for a, b in versions) <= FLOOR, file.name


def test_auditwheel_finds_nothing_that_an_old_system_lacks() -> None:
    assert oldest_glibc(WHEELS[-1], "aarch64") <= FLOOR[1]


def test_its_module_plans_and_proves_there(root: Path, unpacked: Path) -> None:
    prove = """
import platform
from espalier import _core
plan = _core.build(_core.Topology([0, 0, 0, 1]), "broadcast", 1000, 0, "knomial,radix=2")
print(platform.machine(), _core.verify(plan))
"""
    python = root / "usr/bin/python3.13"
    assert run(root, python, "-c", prove, PYTHONPATH=str(unpacked), PYTHONHOME=str(root / "usr")) == "aarch64 []\n"


def test_its_simulator_runs_there(root: Path, unpacked: Path) -> None:
    simulator = unpacked / "espalier" / "espalier-simulator"
    simulator.chmod(0o755)
    command = ["qemu-aarch64-static", "-L", root, simulator]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("the request is not what espalier-simulator reads"), done.stderr
