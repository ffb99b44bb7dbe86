"""espalier tune --sbatch: the scripts it writes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from espalier.commands.tune.batch import format_script
from workshop import Command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_pair_gets_a_script_and_the_reader_what_to_type(command: Command, folder: Path) -> None:
    outcome = command("tune", "--sbatch", "--nodes", "2,4", "--ppn", "16,32", "--budget", "1h")
    names = [f"espalier-tune-{shape}.sbatch" for shape in ("2x16", "2x32", "4x16", "4x32")]
    assert outcome.code == 0
    assert outcome.out.splitlines() == [f"sbatch {name}" for name in names]
    assert "the same table" in outcome.err
    assert sorted(path.name for path in folder.iterdir()) == names
    text = (folder / names[1]).read_text()
    for line in ("--nodes=2", "--ntasks-per-node=32", "--time=65", "--dependency=singleton", "--exclusive"):
        assert f"#SBATCH {line}\n" in text
    assert text.startswith("#!/bin/bash\n")
    assert text.splitlines()[-1] == "exec espalier tune --nodes 2 --ppn 32 --budget 1h"


def test_a_script_measures_what_was_asked_for_and_nothing_by_default(command: Command, folder: Path) -> None:
    options = (
        "--ops",
        "bcast",
        "--cold",
        "--no-curves",
        "--set",
        "SHM_LIMIT=64M",
        "--set",
        "WAIT=yield",
        "--mpi",
        "mpich",
    )
    assert command("tune", "--sbatch", "--nodes", "2", "--ppn", "4", *options, "-o", "my table.json").code == 0
    last = (folder / "espalier-tune-2x4.sbatch").read_text().splitlines()[-1]
    assert last.startswith("exec espalier tune --nodes 2 --ppn 4 --ops bcast")
    for words in ("--cold", "--no-curves", "--set SHM_LIMIT=64M --set WAIT=yield", "--mpi mpich"):
        assert f" {words}" in last
    assert f"--output '{folder}/my table.json'" in last, "jobs start where sbatch was typed, and move"
    assert "sbatch" not in last
    assert "budget" not in last


def test_a_job_has_time_for_more_than_measuring() -> None:
    assert "#SBATCH --time=6\n" in format_script(2, 2, 31, [])


@pytest.mark.parametrize(
    ("options", "message", "remedy"),
    [
        (["--nodes", "2"], "--sbatch without --ppn", "--ppn 16,32"),
        (["--ppn", "2"], "--sbatch without --nodes", "--nodes 2,4,8"),
        (["--nodes", "2,x", "--ppn", "2"], "--nodes 2,x: numbers", "--nodes 4"),
        (["--nodes", "0", "--ppn", "2"], "--nodes 0: numbers", "--nodes 4"),
        (["--nodes", "2", "--ppn", "2", "--lab"], "nodes that Slurm will give", "--nodes and --ppn only"),
        (["--nodes", "2", "--ppn", "2", "-n", "4"], "nodes that Slurm will give", "--nodes and --ppn only"),
    ],
)
def test_half_a_wish_is_refused(command: Command, folder: Path, options: list[str], message: str, remedy: str) -> None:
    outcome = command("tune", "--sbatch", *options)
    assert outcome.code == 2
    assert message in outcome.err
    assert remedy in outcome.err
    assert list(folder.iterdir()) == []


def test_a_list_without_sbatch_is_refused(command: Command, folder: Path) -> None:
    outcome = command("tune", "--nodes", "2,4", "--ppn", "2", "-o", str(folder / "table.json"))
    assert outcome.code == 2
    assert "--nodes 2,4: one job has one shape" in outcome.err
    assert "--sbatch" in outcome.err
