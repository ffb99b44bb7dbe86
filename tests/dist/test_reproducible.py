"""The same commit gives the same bytes, wherever it is built: what `make dist` compiles and links, in two folders; and,
with `make roots`, a whole wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from installed import ROOT, WHEELS

GLIBC = ROOT / "build" / "dist" / "glibc"
# C++ with all that debug information says of folders; and a program that is linked for old systems.
TARGETS = {"espalier_base": "libespalier_base.a", "espalier_nuioa_mpich": "espalier_nuioa_mpich"}


def copy_sources(folder: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "src", "include", "cmake", "bench",
         "python/espalier/__init__.py", "CMakeLists.txt", "LICENSE", "packaging"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def build(folder: Path, build_folder: Path) -> dict[str, bytes]:
    """What comes out, by name."""
    copy_sources(folder)
    toolchain = folder / "cmake" / "toolchains" / "manylinux.cmake"
    configure = [
        "cmake", "-S", folder, "-B", build_folder, "-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}",
        f"-DESPALIER_GLIBC={GLIBC}", f"-DESPALIER_MPI_ROOT={ROOT / 'build' / 'mpi'}",
        "-DCMAKE_C_COMPILER_LAUNCHER=", "-DCMAKE_CXX_COMPILER_LAUNCHER=",
    ]  # fmt: skip
    for command in (configure, ["cmake", "--build", build_folder, "--target", *TARGETS]):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    found = {name: next(build_folder.rglob(name)) for name in TARGETS.values()}
    return {name: file.read_bytes() for name, file in found.items()}


def test_two_folders_give_the_same_bytes(tmp_path: Path) -> None:
    if not (GLIBC / "libc.so").is_file():
        pytest.skip("what binaries for old systems are linked with is not here: make dist")
    one = build(tmp_path / "one", tmp_path / "one" / "build")
    other = build(tmp_path / "quite" / "another", tmp_path / "elsewhere")
    assert [name for name, data in one.items() if data != other[name]] == []
    assert not any(str(tmp_path).encode() in data for data in one.values())


def members(wheel: Path) -> dict[str, tuple[object, ...]]:
    """What a wheel has of each file, apart from where in it that lies."""
    with zipfile.ZipFile(wheel) as archive:
        return {it.filename: (it.date_time, it.external_attr, it.CRC, it.file_size) for it in archive.infolist()}


def git(*words: str) -> str:
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.long
def test_a_clone_in_another_folder_makes_the_same_wheel(tmp_path: Path) -> None:
    """From nothing but the commit and the MPIs' headers, and with no compiler's cache."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    wheel = next((it for it in WHEELS if f"-{tag}-" in it.name), None)
    if wheel is None:
        pytest.skip(f"dist/ holds no wheel for {tag}: make dist")
    with zipfile.ZipFile(wheel) as archive:
        commit = archive.read("espalier/_commit.txt").decode().strip()
    if commit.endswith("-dirty") or not git("rev-parse", "HEAD").startswith(commit):
        pytest.skip(f"dist/ has a wheel of {commit}, which is no commit that is checked out here: make dist")
    clone = tmp_path / "somewhere" / "else"
    git("clone", "--quiet", str(ROOT), str(clone))
    (clone / "build").mkdir()
    (clone / "build" / "mpi").symlink_to(ROOT / "build" / "mpi")
    plain = {name: value for name, value in os.environ.items() if not name.endswith("_COMPILER_LAUNCHER")}
    done = subprocess.run(
        [clone / "scripts" / "dist.sh", sys.base_prefix + f"/bin/python3.{sys.version_info.minor}"],
        cwd=clone, env={**plain, "CCACHE_DISABLE": "1", "PACKAGES": "skip"}, capture_output=True, text=True,
        check=False, timeout=7200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    other = clone / "dist" / wheel.name
    one, two = members(wheel), members(other)
    assert [name for name in {**one, **two} if one.get(name) != two.get(name)] == []
    assert wheel.read_bytes() == other.read_bytes()
