"""What happens around the calls: loading, settings, reports, fall-backs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from launch import ALL_MPIS, BUILD, PATIENCE, JobTimedOut, TestMpi
from stats import BASIC, assert_handled, read_stats
from test_conformance import assert_passed, error_lines, native_errors

GetMpi = Callable[[str], TestMpi]
SAMPLE = ("mpich-5", "openmpi-5", "intel")
THEMES = ("sizes", "communicators", "skew")


PROGRAMS = {
    "shell": ["sh", "-c", "true"],
    "ls": ["ls", "/"],
    "python": [sys.executable, "-c", "import ctypes, threading"],
}


@pytest.mark.parametrize("abi", ["mpich", "openmpi", "abi"])
@pytest.mark.parametrize("command", PROGRAMS.values(), ids=PROGRAMS)
def test_programs_without_mpi_run_as_ever(abi: str, command: list[str]) -> None:
    library = BUILD / "src" / "mpi" / f"libespalier-{abi}.so"
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    loaded = {**plain, "LD_PRELOAD": str(library), "ESPALIER_VERBOSE": "2"}
    expected = subprocess.run(command, capture_output=True, env=plain, check=False)
    got = subprocess.run(command, capture_output=True, env=loaded, check=False)
    assert (got.returncode, got.stdout, got.stderr) == (expected.returncode, expected.stdout, expected.stderr)


@pytest.mark.parametrize("name", SAMPLE)
def test_the_report_says_what_was_handled_and_why_the_rest_was_not(name: str, get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)
    outcome = mpi.run([mpi.program("conformance"), "intercommunicators"], 3, settings={"ESPALIER_VERBOSE": "1"})
    assert_passed(outcome)
    for operation in BASIC:
        lines = [line for line in outcome.err.splitlines() if line.startswith(f"espalier: {operation}: ")]
        assert len(lines) == 1, f"one line for {operation} wanted:\n{outcome.err}"
        assert "handled" in lines[0]
        assert "intercommunicator" in lines[0]


def test_without_settings_nothing_is_printed(get_mpi: GetMpi) -> None:
    mpi = get_mpi("mpich-5")
    outcome = mpi.run([mpi.program("conformance"), "barriers"], 3)
    assert_passed(outcome)
    assert outcome.err == ""


def test_a_table_that_is_a_pipe_or_a_device_keeps_no_job_waiting(get_mpi: GetMpi, tmp_path: Path) -> None:
    pipe = tmp_path / "table\x1b[2J"
    os.mkfifo(pipe)
    mpi = get_mpi("mpich-5")
    for path in (str(pipe), "/dev/zero"):
        outcome = mpi.run([mpi.program("conformance"), "barriers"], 2, settings={"ESPALIER_TABLE": path})
        assert_passed(outcome)
        assert outcome.err.count("the tuned table is not used: ") == 1
        assert "cannot be read (it is no regular file)" in outcome.err
        assert "\x1b" not in outcome.err


@pytest.mark.parametrize("name", ALL_MPIS)
def test_the_explicit_interface_works_beside_the_preloaded_one(name: str, get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)
    assert_passed(mpi.run([mpi.program("conformance"), "explicit"], 3))


@pytest.mark.parametrize("nodes", ["1", "cyclic:2"])
@pytest.mark.parametrize("name", SAMPLE)
def test_a_program_may_choose_for_itself(name: str, nodes: str, get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)
    assert_passed(mpi.run([mpi.program("conformance"), "choosing"], 3, settings={"ESPALIER_VIRTUAL_NODES": nodes}))


def test_strictness_leaves_to_the_mpi_what_depends_on_the_order(get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, file = get_mpi("openmpi-5"), tmp_path / "stats.json"
    settings = {"ESPALIER_STRICT": "1", "ESPALIER_STATS": str(file)}
    assert_passed(mpi.run([mpi.program("conformance"), "reductions", "operators"], 3, settings=settings))
    allreduce = read_stats(file)["MPI_Allreduce"]
    assert allreduce.handled > 0, "whole numbers give the same bits in any order"
    assert any("ESPALIER_STRICT" in reason for reason in allreduce.reasons), allreduce


@pytest.mark.parametrize("nodes", ["1", "cyclic:2"])
def test_every_plan_can_be_verified_before_it_runs(nodes: str, get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, file = get_mpi("mpich-5"), tmp_path / "stats.json"
    settings = {"ESPALIER_VERIFY": "1", "ESPALIER_VIRTUAL_NODES": nodes, "ESPALIER_STATS": str(file)}
    assert_passed(mpi.run([mpi.program("conformance"), *THEMES], 5, settings=settings))
    assert_handled(read_stats(file), 0.8, BASIC)


@pytest.mark.parametrize("name", SAMPLE)
def test_too_little_shared_memory_is_explained_once_and_left_to_the_mpi(
    name: str, get_mpi: GetMpi, tmp_path: Path
) -> None:
    mpi, file = get_mpi(name), tmp_path / "stats.json"
    settings = {"ESPALIER_SHM_LIMIT": "4K", "ESPALIER_VERBOSE": "1", "ESPALIER_STATS": str(file)}
    outcome = mpi.run([mpi.program("conformance"), "skew"], 3, settings=settings)
    assert_passed(outcome)
    lines = [line for line in outcome.err.splitlines() if "stay native" in line]
    assert len(lines) == 1, outcome.err
    assert "ESPALIER_SHM_LIMIT" in lines[0]
    for counts in read_stats(file).values():
        assert counts.handled == 0
        assert all("ESPALIER_SHM_LIMIT" in reason for reason in counts.reasons)


def test_shared_memory_for_a_few_communicators_serves_those_and_leaves_the_rest_native(
    get_mpi: GetMpi, tmp_path: Path
) -> None:
    mpi, file = get_mpi("mpich-5"), tmp_path / "stats.json"
    settings = {"ESPALIER_SHM_LIMIT": "8M", "ESPALIER_STATS": str(file)}
    assert_passed(mpi.run([mpi.program("conformance"), "communicators", "sizes"], 3, settings=settings))
    stats = read_stats(file)
    assert stats["MPI_Bcast"].handled > 0


def test_disabled_means_native_everywhere(get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, file = get_mpi("openmpi-5"), tmp_path / "stats.json"
    settings = {"ESPALIER_DISABLE": "1", "ESPALIER_STATS": str(file)}
    assert_passed(mpi.run([mpi.program("conformance"), "skew"], 3, settings=settings))
    stats = read_stats(file)
    assert all(counts.handled == 0 for counts in stats.values())
    assert all(stats[name].native > 0 for name in BASIC)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ESPALIER_WAIT_SPIN", "often"),
        ("ESPALIER_SHM_LIMIT", "12Q"),
        ("ESPALIER_VIRTUAL_NODES", "cyclic:none"),
        ("ESPALIER_CHOICE_BROADCAST", "no-such-algorithm"),
        ("ESPALIER_NO_SUCH_SETTING", "1"),
    ],
)
def test_a_wrong_setting_is_named_and_the_job_goes_on(variable: str, value: str, get_mpi: GetMpi) -> None:
    mpi = get_mpi("mpich-5")
    outcome = mpi.run([mpi.program("conformance"), "barriers", "sizes"], 3, settings={variable: value})
    assert_passed(outcome)
    assert variable in outcome.err, f"nothing on stderr names {variable}:\n{outcome.err}"
    assert len([line for line in outcome.err.splitlines() if variable in line]) == 1, outcome.err


def test_an_unwritable_statistics_file_is_reported_and_harmless(get_mpi: GetMpi) -> None:
    mpi = get_mpi("mpich-5")
    settings = {"ESPALIER_STATS": "/nonexistent/folder/stats.json"}
    outcome = mpi.run([mpi.program("conformance"), "barriers"], 2, settings=settings)
    assert_passed(outcome)
    assert "/nonexistent/folder/stats.json" in outcome.err


RANK_0_ONLY = 'test "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 0 && export "$1"; shift; exec "$@"'


@pytest.mark.parametrize("name", SAMPLE)
@pytest.mark.parametrize("setting", ["VIRTUAL_NODES=2", "DISABLE=1", "CHOICE_BROADCAST=native"])
def test_settings_that_differ_between_ranks_cannot_deadlock(name: str, setting: str, get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)
    command = ["sh", "-c", RANK_0_ONLY, "sh", f"ESPALIER_{setting}", mpi.program("conformance"), *THEMES]
    assert_passed(mpi.run(command, 3))


@pytest.mark.parametrize(
    ("setting", "is_served"), [("ONLY=*/conform*", True), ("ONLY=lmp:vasp_*", False), ("NOT=conformance_*", False)]
)
def test_sites_choose_by_its_path_which_program_is_served(
    setting: str, is_served: bool, get_mpi: GetMpi, tmp_path: Path
) -> None:
    mpi, file = get_mpi("mpich-5"), tmp_path / "stats.json"
    name, _, value = setting.partition("=")
    settings = {f"ESPALIER_{name}": value, "ESPALIER_STATS": str(file)}
    assert_passed(mpi.run([mpi.program("conformance"), "sizes"], 2, settings=settings))
    stats = read_stats(file)
    assert (stats["MPI_Bcast"].handled > 0) == is_served
    if not is_served:
        assert any(f"ESPALIER_{name}" in reason for reason in stats["MPI_Bcast"].reasons)


@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5"])
def test_what_a_program_that_is_served_shares_with_one_that_is_not_is_native(
    name: str, get_mpi: GetMpi, tmp_path: Path
) -> None:
    mpi, other = get_mpi(name), tmp_path / "other"
    other.symlink_to(shutil.copy(mpi.program("conformance"), tmp_path / "copied"))
    script = f'if [ "${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}" = 1 ]; then exec {other} "$@"; fi; exec "$0" "$@"'
    command = ["sh", "-c", script, mpi.program("conformance"), *THEMES]
    file = tmp_path / "stats.json"
    assert_passed(mpi.run(command, 3, settings={"ESPALIER_NOT": "copied", "ESPALIER_STATS": str(file)}))
    assert any("tell their programs apart" in reason for reason in read_stats(file)["MPI_Bcast"].reasons)


def test_settings_per_rank_do_not_change_the_errors(get_mpi: GetMpi) -> None:
    mpi = get_mpi("mpich-5")
    outcome = mpi.run([mpi.program("conformance"), "errors"], 3, settings={"ESPALIER_DISABLE": "1"})
    assert error_lines(outcome) == native_errors(mpi)


@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5"])
@pytest.mark.parametrize(("absent", "speaker", "seconds"), [(1, 0, 10), pytest.param(0, 1, 20, marks=pytest.mark.long)])
def test_a_job_with_a_rank_without_espalier_says_what_it_waits_for(
    name: str, absent: int, speaker: int, seconds: int, get_mpi: GetMpi
) -> None:
    mpi = get_mpi(name)
    without = f"LD_PRELOAD={mpi.mpi.library}"
    script = f'if [ "${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}" = {absent} ]; then {without}; fi; exec "$0" "$@"'
    said = rf"rank {speaker} has waited in MPI_Init for {seconds} s.*without Espalier"
    with pytest.raises(JobTimedOut, match=said):
        mpi.run(["sh", "-c", script, mpi.program("conformance"), "sizes"], 2, timeout=(seconds + 4) / PATIENCE)
