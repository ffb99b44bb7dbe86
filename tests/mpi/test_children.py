"""Children of MPI_Comm_spawn, with and without Espalier, and collectives over them and their parents.

Intel MPI 2021 crashes in MPI_Comm_spawn here, without Espalier, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from espalier.jobs.launch import Job, Target, build_command
from launch import Outcome, TestMpi, clean_environment, run_command

GetMpi = Callable[[str], TestMpi]
MPIS = ("openmpi-5", "mpich-5")
CHILDREN = 3


def run(mpi: TestMpi, words: list[str], settings: dict[str, str], *, native: bool = False) -> Outcome:
    """With the variables set by the launcher's own flags, as `espalier run` does."""
    preload = ([] if native else [str(mpi.espalier)]) + [str(mpi.mpi.library)]
    variables = {"LD_PRELOAD": ":".join(preload), **settings}
    command = [mpi.program("spawn"), str(CHILDREN), *words]
    job = Job(Target(mpi.mpi, False, ""), 2 + CHILDREN, command, native=True, settings=variables)
    line, extra = build_command(job)
    at = len(line) - len(command)
    assert line[at - 1] == str(2 + CHILDREN)  # room for all; the parents are two
    return run_command([*line[: at - 1], "2", *line[at:]], {**clean_environment(), **extra}, 60)


def assert_is_right(outcome: Outcome, with_espalier: int) -> None:
    assert outcome.code == 0, str(outcome)
    assert "spawn: ok" in outcome.out, str(outcome)
    found = re.search(r"with Espalier: (\d+)", outcome.out)
    assert found is not None, str(outcome)
    assert int(found[1]) == with_espalier, str(outcome)


@pytest.mark.parametrize("form", [[], ["multiple"]], ids=["spawn", "spawn-multiple"])
@pytest.mark.parametrize("name", MPIS)
def test_children_have_their_parents_preload_and_settings(name: str, form: list[str], get_mpi: GetMpi) -> None:
    # Of different settings Espalier would tell.
    outcome = run(get_mpi(name), form, {"ESPALIER_CHOICE_BROADCAST": "native", "ESPALIER_VERBOSE": "1"})
    assert_is_right(outcome, CHILDREN)
    assert "settings" not in outcome.err, str(outcome)


@pytest.mark.parametrize("name", MPIS)
def test_a_communicator_with_children_that_lack_the_library_is_native(name: str, get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)
    without = ["--", "env", f"LD_PRELOAD={mpi.mpi.library}", mpi.program("spawn")]
    assert_is_right(run(mpi, without, {}), 0)


@pytest.mark.parametrize("name", MPIS)
def test_the_program_is_right_without_espalier(name: str, get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)
    command = ["--", "env", f"LD_PRELOAD={mpi.mpi.library}", mpi.program("spawn")]
    assert_is_right(run(mpi, command, {}, native=True), 0)
