"""What Espalier is called where it is distributed, and what the command says of itself."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import espalier
from espalier.base.checkout import find_checkout
from workshop import Command

ROOT = find_checkout() or Path()
# `espalier` on the public index is a stranger's package, and nobody has uploaded ours.
INSTALLS_BY_NAME = re.compile(
    r"(?:pip3?|pipx|uv)\s+(?:tool\s+)?install\b[^\n`;&|]*?['\"\s]espalier(?![\w.-]*\.whl)(?!/)"
)


def sources() -> list[Path]:
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=False).stdout.split()
    return [ROOT / name for name in listed if (ROOT / name).is_file() and Path(name).name != Path(__file__).name]


def test_nothing_tells_people_to_install_espalier_by_name_from_an_index() -> None:
    files = sources() or pytest.skip("not a git checkout")
    found = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in files
        for line in file.read_text(errors="replace").splitlines()
        if INSTALLS_BY_NAME.search(line)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("line", "is_wrong"),
    [
        ("pip install 'espalier[serve]'", True),
        ("pip install --force-reinstall espalier", True),
        ("python -m pip install espalier-mpi", True),
        ("pip install dist/espalier_mpi-0.1.0-cp311-cp311-manylinux_2_28_x86_64.whl mpich", False),
        ("pip install espalier_mpi-0.1.0-cp312-abi3-manylinux_2_28_x86_64.whl", False),
        ("pip install mpich && espalier demo", False),
    ],
)
def test_the_search_tells_names_from_files(line: str, is_wrong: bool) -> None:
    assert bool(INSTALLS_BY_NAME.search(line)) == is_wrong


def test_the_version_is_written_once() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == "espalier-mpi"
    assert "version" in project["dynamic"]
    assert espalier.__version__ not in (ROOT / "CMakeLists.txt").read_text()


def test_version_commit_and_interfaces_are_told(command: Command, libraries: Path) -> None:
    (libraries / "_commit.txt").write_text("0123456789ab\n")
    said = command("--version").out.splitlines()
    assert said == [
        f"espalier {espalier.__version__}",
        "commit: 0123456789ab",
        "libraries for the ABIs: mpich, openmpi, abi",
    ]


def test_a_package_without_commit_and_libraries_says_so(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(espalier, "__path__", [str(tmp_path)])
    assert command("--version").out.splitlines()[1:] == ["commit: unknown", "libraries for the ABIs: none: not built"]
