"""docs/tutorials/new-algorithm.md, done on a copy of this checkout: its files, its commands, its algorithm."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorials" / "new-algorithm.md"
FILE = re.compile(r"^\*\*`([^`]+)`\*\*\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.long


def run(command: str, checkout: Path) -> str:
    """What a contributor's shell prints; fails with it where the command does."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ESPALIER_")}
    done = subprocess.run(
        ["bash", "-euc", command], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy in which `make setup` has run; MPI's libraries are this checkout's."""
    copy = tmp_path_factory.mktemp("tutorial") / "espalier"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    shutil.copytree(ROOT / ".venv", copy / ".venv", symlinks=True)
    (copy / "build").mkdir()
    (copy / "build" / "mpi").symlink_to(ROOT / "build" / "mpi")
    run("scripts/install.sh", copy)
    yield copy
    shutil.rmtree(copy)


@pytest.fixture(scope="module")
def done(checkout: Path) -> Path:
    """The checkout after the page: every file written, every command run."""
    page = PAGE.read_text()
    files, commands = FILE.findall(page), COMMANDS.findall(page)
    assert files, "the page shows no files"
    assert commands, "the page shows no commands"
    for name, text in files:
        assert not (checkout / name).exists(), f"{name} is there already"
        (checkout / name).write_text(text)
    for command in commands:
        run(command, checkout)
    return checkout


def test_it_takes_one_file_and_one_test() -> None:
    names = [name for name, _ in FILE.findall(PAGE.read_text())]
    assert [name.split("/")[0] for name in names] == ["tests", "src"]


def test_all_that_the_page_says_comes_to_pass(done: Path) -> None:
    assert (done / "halves.svg").is_file()


def test_it_is_formatted_as_lint_wants_it(done: Path) -> None:
    names = " ".join(name for name, _ in FILE.findall(PAGE.read_text()))
    run(f"clang-format-14 --dry-run --Werror {names}", done)


def test_explain_shows_that_algorithm(done: Path) -> None:
    told = json.loads(
        run(".venv/bin/espalier explain broadcast --nodes 6 --ppn 2 --algorithm halves --rank all --json", done)
    )
    assert told["choice"].startswith("halves,")
    listed = json.loads(run(".venv/bin/espalier algorithms broadcast --json", done))["algorithms"]
    assert [it["name"] for it in listed][-1] == "broadcast_halves"


def test_the_verifier_draws_it(done: Path) -> None:
    script = (
        "from espalier.base.core import load_core\n"
        "core = load_core()\n"
        "topology = core.Topology([0, 0, 1, 2, 2, 3, 4])\n"
        "plan = core.build(topology, 'broadcast', 4096, 3, 'halves')\n"
        "assert core.verify(plan) == []\n"
    )
    run(f'.venv/bin/python -c "{script}"', done)


def test_the_picture_shows_who_sends_to_whom(done: Path) -> None:
    script = (
        "from espalier.base.core import load_core\n"
        "from espalier.draw.plan_svg import find_panels\n"
        "core = load_core()\n"
        "plan = core.build(core.Topology(list(range(6))), 'broadcast', 1024, 0, 'halves')\n"
        "panels = find_panels(plan, list(range(6)))\n"
        "print(sorted((move.source, move.target) for panel in panels for move in panel.messages))\n"
    )
    assert run(f'.venv/bin/python -c "{script}"', done).strip() == "[(0, 1), (0, 2), (0, 3), (3, 4), (3, 5)]"
    picture = ElementTree.parse(done / "halves.svg").getroot()
    assert "halves" in "".join(picture.itertext())
