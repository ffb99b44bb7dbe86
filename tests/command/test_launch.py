"""How jobs are started: what reaches the ranks, what reaches the launcher, and what is left alone."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest

from espalier.base.errors import UserError
from espalier.jobs import launch
from espalier.jobs.allocation import Allocation, Host, System
from espalier.jobs.launch import Hosts, Job, Target, build_command, choose_target, measuring_job
from espalier.jobs.launchers import pick_launcher
from espalier.jobs.layout import Layout
from espalier.jobs.libraries import Abi
from espalier.jobs.mpis import Family, Mpi
from espalier.jobs.placement import Placement
from workshop import MPI_TEXT, compile_c, compile_library, make_mpi

HYDRA_LIKE = [Family.MPICH, Family.INTEL, Family.MVAPICH, Family.CRAY, Family.UNKNOWN]


def an_mpi(family: Family = Family.MPICH, version: str = "5.0.2", prefix: Path = Path("/opt/mpi")) -> Mpi:
    abi = Abi.OPENMPI if family is Family.OPENMPI else Abi.MPICH
    return Mpi(family, version, abi, prefix / "lib" / "libmpi.so.12", prefix / "bin" / "mpiexec", "test")


def a_job(mpi: Mpi, ranks: int = 2, preload_mpi: bool = False, **more) -> Job:
    return Job(Target(mpi, preload_mpi, "test"), ranks, ["./app", "-x", "1"], **more)


def rank_variables(argv: list[str]) -> dict[str, str]:
    """What a command line hands to the ranks, whichever launcher it is for."""
    pairs = [argv[i + 1].split("=", 1) for i, word in enumerate(argv) if word == "-x" and "=" in argv[i + 1]]
    pairs += [argv[i + 1 : i + 3] for i, word in enumerate(argv) if word == "-genv"]
    return dict(pairs)


@pytest.fixture
def processors(monkeypatch: pytest.MonkeyPatch):
    def allow(count: int) -> None:
        monkeypatch.setattr(launch, "count_cpus", lambda: count)
        monkeypatch.setattr(launch, "count_cores", lambda: count)

    allow(64)
    return allow


@pytest.mark.parametrize("family", [*HYDRA_LIKE, Family.OPENMPI])
def test_the_library_reaches_the_ranks_and_not_the_launcher(libraries: Path, processors, family: Family) -> None:
    mpi = an_mpi(family)
    argv, environment = build_command(a_job(mpi))
    assert rank_variables(argv)["LD_PRELOAD"] == str(libraries / f"libespalier-{mpi.abi}.so")
    assert "LD_PRELOAD" not in environment
    assert argv[0] == str(mpi.launcher)
    assert argv[-5:] == ["-n", "2", "./app", "-x", "1"]


@pytest.mark.parametrize("name", ["ESPALIER_PROFILE", "ESPALIER_PROFILE_TRACE", "ESPALIER_STATS"])
@pytest.mark.parametrize("is_inherited", [True, False])
def test_a_file_that_a_job_could_not_write_at_its_end_is_refused_before_it_starts(
    libraries: Path, processors, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, is_inherited: bool
) -> None:
    def build(file: Path, **more: Any) -> None:
        settings = {} if is_inherited else {name: str(file)}
        if is_inherited:
            monkeypatch.setenv(name, str(file))
        build_command(a_job(an_mpi(), settings=settings, **more))

    nowhere = tmp_path / "no" / "x.json"
    with pytest.raises(UserError, match=f"{name} {nowhere}: there is no folder {nowhere.parent}"):
        build(nowhere)
    with pytest.raises(UserError, match="that is a folder"):
        build(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: False)
        with pytest.raises(UserError, match=f"{tmp_path} takes no files"):
            build(tmp_path / "x.json")
    build(tmp_path / "x.json")
    build(nowhere, native=True)
    allocation = Allocation(System.SLURM, "7", (Host(2, 2),))
    elsewhere = Placement(pick_launcher(None, an_mpi(), allocation, True), Layout(2, 1, 2), allocation)
    build(nowhere, hosts=elsewhere)


def test_the_mpi_library_stands_behind_ours(libraries: Path, processors) -> None:
    argv, _ = build_command(a_job(an_mpi(), preload_mpi=True))
    ours, behind = rank_variables(argv)["LD_PRELOAD"].split(":")
    assert Path(ours).name == "libespalier-mpich.so"
    assert behind == "/opt/mpi/lib/libmpi.so.12"


def test_a_preloaded_tool_of_the_users_stays_in_front(libraries: Path, processors, monkeypatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/opt/tool.so /opt/other.so")
    argv, _ = build_command(a_job(an_mpi()))
    assert rank_variables(argv)["LD_PRELOAD"].split(":")[:2] == ["/opt/tool.so", "/opt/other.so"]


def test_what_a_module_preloads_of_ours_is_not_in_the_native_arm(
    libraries: Path, processors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/opt/lib/libespalier-any.so.0:/opt/tool.so:/opt/lib/libespalier-mpich.so.0")
    native, _ = build_command(a_job(an_mpi(), native=True))
    assert rank_variables(native)["LD_PRELOAD"] == "/opt/tool.so"
    ours, _ = build_command(a_job(an_mpi()))
    assert rank_variables(ours)["LD_PRELOAD"] == f"/opt/tool.so:{libraries}/libespalier-mpich.so"
    monkeypatch.setenv("LD_PRELOAD", "/opt/lib/libespalier-any.so.0")
    native, _ = build_command(a_job(an_mpi(), native=True))
    assert rank_variables(native)["LD_PRELOAD"] == "", "what launchers hand on by themselves is replaced"


def test_native_means_that_nothing_of_ours_is_preloaded(libraries: Path, processors) -> None:
    assert "LD_PRELOAD" not in rank_variables(build_command(a_job(an_mpi(), native=True))[0])
    behind = rank_variables(build_command(a_job(an_mpi(), native=True, preload_mpi=True))[0])
    assert behind["LD_PRELOAD"] == "/opt/mpi/lib/libmpi.so.12"


@pytest.mark.parametrize("family", [Family.MPICH, Family.OPENMPI])
def test_settings_travel_and_the_jobs_own_win(libraries: Path, processors, monkeypatch, family: Family) -> None:
    monkeypatch.setenv("ESPALIER_VERBOSE", "2")
    monkeypatch.setenv("ESPALIER_VERIFY", "1")
    argv, _ = build_command(a_job(an_mpi(family), settings={"ESPALIER_VERBOSE": "1"}))
    variables = rank_variables(argv)
    assert (variables["ESPALIER_VERBOSE"], variables["ESPALIER_VERIFY"]) == ("1", "1")


def test_mpich_is_told_to_yield_only_when_ranks_outnumber_processors(libraries: Path, processors) -> None:
    assert "MPIR_CVAR_CH4_PROGRESS_THROTTLE" not in rank_variables(build_command(a_job(an_mpi(), 4))[0])
    processors(2)
    variables = rank_variables(build_command(a_job(an_mpi(), 4))[0])
    assert variables["MPIR_CVAR_CH4_PROGRESS_THROTTLE"] == "1"
    assert variables["MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT"] == "16"


def test_ranks_of_emulated_hosts_that_share_processors_give_them_away_at_once(libraries: Path, processors) -> None:
    hosts = Hosts(("10.0.0.1", "10.0.0.2"), 2, Path("/agent"), "10.0.0.254", "eth0")

    def spins(**more) -> str | None:
        return rank_variables(build_command(a_job(an_mpi(), 4, hosts=hosts, **more))[0]).get("ESPALIER_WAIT_SPIN")

    processors(4)
    assert spins() is None, "there is one for every rank"
    processors(2)
    assert spins() == "0", "each host counts both as its own"
    assert spins(settings={"ESPALIER_WAIT_SPIN": "7"}) == "7"


def test_open_mpi_yields_on_emulated_hosts_whose_shared_processors_it_cannot_see(libraries: Path, processors) -> None:
    hosts = Hosts(("10.0.0.1", "10.0.0.2"), 2, Path("/agent"), "10.0.0.254", "eth0")

    def yields(**more) -> str | None:
        variables = rank_variables(build_command(a_job(an_mpi(Family.OPENMPI), 4, **more))[0])
        return variables.get("OMPI_MCA_mpi_yield_when_idle")

    assert yields(hosts=hosts) is None
    processors(2)
    assert yields(hosts=hosts) == "1"
    assert yields() is None, "on one host it counts for itself"


def test_the_users_own_tuning_is_never_overridden(libraries: Path, processors, monkeypatch) -> None:
    processors(2)
    monkeypatch.setenv("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "0")
    monkeypatch.setenv("FI_PROVIDER", "verbs")
    assert "MPIR_CVAR_CH4_PROGRESS_THROTTLE" not in rank_variables(build_command(a_job(an_mpi(), 4))[0])
    assert "FI_PROVIDER" not in build_command(a_job(an_mpi(Family.INTEL)))[1]


def test_our_measuring_programs_keep_open_mpis_windows_from_ucx(libraries: Path, processors, monkeypatch) -> None:
    def windows(family: Family) -> str | None:
        argv, _ = build_command(measuring_job(an_mpi(family), ["./worker"], 2, {}))
        return rank_variables(argv).get("OMPI_MCA_osc")

    assert windows(Family.OPENMPI) == "^ucx"
    assert windows(Family.MPICH) is None
    monkeypatch.setenv("OMPI_MCA_osc", "sm")
    assert windows(Family.OPENMPI) is None, "what the user has set holds, and reaches ranks by itself"


@pytest.mark.parametrize(("fabric", "hosts", "value"), [(False, None, "^ofi"), (True, None, None), (False, 2, None)])
def test_our_measuring_programs_do_without_open_mpis_sleep_where_there_is_no_network(
    libraries: Path, processors, monkeypatch, fabric: bool, hosts: int | None, value: str | None
) -> None:
    monkeypatch.delenv("OMPI_MCA_btl", raising=False)
    monkeypatch.setattr(launch, "has_fabric", lambda: fabric)
    place = None if hosts is None else Hosts(("10.0.0.1", "10.0.0.2"), hosts, Path("agent"), "10.0.0.9", "eth0")
    job = measuring_job(an_mpi(Family.OPENMPI), ["./worker"], 4, {}, place)
    assert job.settings.get("OMPI_MCA_btl") == value


def test_native_gets_the_same_tuning_so_that_comparisons_are_fair(libraries: Path, processors) -> None:
    processors(2)
    ours = rank_variables(build_command(a_job(an_mpi(), 4))[0])
    native = rank_variables(build_command(a_job(an_mpi(), 4, native=True))[0])
    ours.pop("LD_PRELOAD")
    assert ours == native


@pytest.mark.parametrize(("version", "flag"), [("4.1.4", "--oversubscribe"), ("5.0.11", ":OVERSUBSCRIBE")])
def test_open_mpi_is_allowed_more_ranks_than_cores(libraries: Path, processors, version: str, flag: str) -> None:
    mpi = an_mpi(Family.OPENMPI, version)
    assert flag not in build_command(a_job(mpi, 4))[0]
    processors(2)
    assert flag in build_command(a_job(mpi, 4))[0]


def test_in_a_batch_job_this_machines_processors_do_not_count(libraries: Path, processors, monkeypatch) -> None:
    processors(2)
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    argv, _ = build_command(a_job(an_mpi(Family.OPENMPI, "5.0.11"), 64))
    assert ":OVERSUBSCRIBE" not in argv


@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_open_mpi_as_root_is_told_that_this_is_meant(libraries, processors, monkeypatch, user, allowed) -> None:
    monkeypatch.setattr(launch.os, "geteuid", lambda: user)
    argv, _ = build_command(a_job(an_mpi(Family.OPENMPI)))
    assert ("--allow-run-as-root" in argv) is allowed


def test_intel_mpi_is_told_where_its_parts_are(libraries: Path, processors, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libtcp-fi.so").touch()
    monkeypatch.setattr(launch, "has_fabric", lambda: False)
    _, environment = build_command(a_job(an_mpi(Family.INTEL, prefix=tmp_path)))
    assert environment == {
        "I_MPI_ROOT": str(tmp_path),
        "FI_PROVIDER_PATH": str(tmp_path / "lib"),
        "FI_PROVIDER": "tcp",
    }
    monkeypatch.setattr(launch, "has_fabric", lambda: True)
    assert "FI_PROVIDER" not in build_command(a_job(an_mpi(Family.INTEL, prefix=tmp_path)))[1]


def test_flags_for_the_launcher_come_before_the_program(libraries: Path, processors) -> None:
    argv, _ = build_command(a_job(an_mpi(), launcher_flags=["-hosts", "a,b"]))
    assert argv[argv.index("-hosts") :] == ["-hosts", "a,b", "-n", "2", "./app", "-x", "1"]


def test_without_a_launcher_the_message_names_the_other_way(libraries: Path) -> None:
    with pytest.raises(UserError, match="no launcher") as caught:
        build_command(a_job(dataclasses.replace(an_mpi(), launcher=None)))
    assert "espalier lib" in caught.value.remedy


MAIN = "int MPI_Get_library_version(char *, int *); int main(void) { return MPI_Get_library_version(0, 0); }"


def test_a_family_means_the_programs_own_mpi_of_it_whatever_is_on_path(tmp_path: Path, only_mpis) -> None:
    other = MPI_TEXT["openmpi"].replace("5.0.11", "4.1.4")
    make_mpi(tmp_path / "default", other, "libmpi.so.40")
    library = make_mpi(tmp_path / "own", MPI_TEXT["openmpi"], "libmpi.so.40")
    only_mpis(tmp_path / "default")
    app = str(compile_c(MAIN, tmp_path / "app", str(library), f"-Wl,-rpath,{library.parent}"))
    for name in ("openmpi", "openmpi-5", "OpenMPI"):
        target = choose_target(app, name)
        assert (target.mpi.version, target.preload_mpi) == ("5.0.11", False), name
        assert target.mpi.launcher == tmp_path / "own" / "bin" / "mpiexec"
    assert choose_target(app, "openmpi-4").mpi.version == "4.1.4", "who names a version gets it"
    assert choose_target(app, str(tmp_path / "default")).mpi.version == "4.1.4"


def test_a_program_runs_under_the_mpi_it_is_linked_with(tmp_path: Path, only_mpis) -> None:
    make_mpi(tmp_path / "default", MPI_TEXT["openmpi"], "libmpi.so.40")
    library = make_mpi(tmp_path / "own", MPI_TEXT["mpich"], "libmpi.so.12")
    only_mpis(tmp_path / "default")
    app = compile_c(MAIN, tmp_path / "app", str(library), f"-Wl,-rpath,{library.parent}")
    target = choose_target(str(app), None)
    assert (target.mpi.family, target.preload_mpi) == (Family.MPICH, False)
    assert target.mpi.launcher == tmp_path / "own" / "bin" / "mpiexec"


def test_a_program_that_does_not_find_its_mpi_gets_one_of_its_abi(tmp_path: Path, only_mpis) -> None:
    make_mpi(tmp_path / "default", MPI_TEXT["openmpi"], "libmpi.so.40")
    fitting = make_mpi(tmp_path / "fitting", MPI_TEXT["mpich"], "libmpi.so.12")
    gone = make_mpi(tmp_path / "gone", MPI_TEXT["mpich"], "libmpi.so.12")
    app = compile_c(MAIN, tmp_path / "app", str(gone))
    gone.unlink()
    only_mpis(tmp_path / "default", tmp_path / "fitting")
    target = choose_target(str(app), None)
    assert (target.mpi.library, target.preload_mpi) == (fitting, True)


def test_another_mpi_of_the_same_abi_is_preloaded_and_of_another_abi_refused(tmp_path: Path, only_mpis) -> None:
    library = make_mpi(tmp_path / "mpich", MPI_TEXT["mpich"], "libmpi.so.12")
    make_mpi(tmp_path / "intel", MPI_TEXT["intel"], "libmpi.so.12")
    make_mpi(tmp_path / "openmpi", MPI_TEXT["openmpi"], "libmpi.so.40")
    only_mpis(tmp_path / "mpich", tmp_path / "intel", tmp_path / "openmpi")
    app = str(compile_c(MAIN, tmp_path / "app", str(library), f"-Wl,-rpath,{library.parent}"))
    assert choose_target(app, "intel").preload_mpi
    assert not choose_target(app, "mpich").preload_mpi
    with pytest.raises(UserError, match="openmpi ABI"):
        choose_target(app, "openmpi")


def test_a_tool_that_the_program_is_linked_with_stands_in_front_of_another_mpi(
    libraries: Path, processors, tmp_path: Path, only_mpis
) -> None:
    own = make_mpi(tmp_path / "own", MPI_TEXT["mpich"], "libmpi.so.12")
    other = make_mpi(tmp_path / "other", MPI_TEXT["intel"], "libmpi.so.12")
    only_mpis(tmp_path / "own", tmp_path / "other")
    goes_on = "int PMPI_Barrier(void); int MPI_Barrier(void) { return PMPI_Barrier(); }"
    tool = compile_library("libtool.so", tmp_path, goes_on)
    words = [str(tool), str(own), f"-Wl,-rpath,{own.parent}:{tmp_path}", "-Wl,--no-as-needed,--allow-shlib-undefined"]
    app = compile_c("int main(void) { return 0; }", tmp_path / "app", *words[-1:], *words[:-1])
    job = Job(choose_target(str(app), "intel"), 2, [str(app)])
    argv, _ = build_command(job)
    assert rank_variables(argv)["LD_PRELOAD"] == f"{libraries}/libespalier-mpich.so:{tool}:{other}"
    assert choose_target(str(app), "mpich").tools == ()


def test_a_script_runs_under_the_default_mpi_and_the_note_says_so(tmp_path: Path, only_mpis) -> None:
    make_mpi(tmp_path / "default", MPI_TEXT["mpich"], "libmpi.so.12")
    only_mpis(tmp_path / "default")
    target = choose_target("/bin/sh", None)
    assert not target.preload_mpi
    assert "default" in target.note


def test_a_job_in_an_allocation_is_started_by_its_launcher_with_all_variables(libraries: Path, processors) -> None:
    allocation = Allocation(System.SLURM, "7", (Host(2, 2),) * 3)
    placed = Placement(pick_launcher(None, an_mpi(Family.INTEL), allocation, True), Layout(6, 3, 2), allocation)
    argv, environment = build_command(a_job(an_mpi(Family.INTEL), ranks=6, hosts=placed, launcher_flags=["--label"]))
    assert environment == {}, "srun's own may not reach the ranks"
    end = argv.index("env")
    assert argv[:end] == [
        *("srun", "--input=0", "--mpi=pmi2", "--nodes=3", "--ntasks-per-node=2", "--label", "--ntasks=6")
    ]
    assert f"LD_PRELOAD={libraries}/libespalier-mpich.so" in argv[end:]
    assert "I_MPI_ROOT=/opt/mpi" in argv[end:]
    assert argv[-3:] == ["./app", "-x", "1"]


def test_intels_mpiexec_takes_our_number_of_ranks_per_node_not_the_batch_systems(libraries: Path, processors) -> None:
    allocation = Allocation(System.SLURM, "7", (Host(2, 2),) * 3)
    placed = Placement(pick_launcher("mpiexec", an_mpi(Family.INTEL), allocation, True), Layout(3, 3, 1), allocation)
    argv, environment = build_command(a_job(an_mpi(Family.INTEL), ranks=3, hosts=placed))
    assert environment["I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"] == "0"
    assert " ".join(argv).endswith("-ppn 1 -n 3 ./app -x 1")


def test_what_a_batch_system_grants_is_not_held_against_this_machines_processors(libraries: Path, processors) -> None:
    processors(2)
    allocation = Allocation(System.SLURM, "7", (Host(64, 64),) * 3)
    placed = Placement(pick_launcher(None, an_mpi(), allocation, True), Layout(192, 3, 64), allocation)
    argv, _ = build_command(a_job(an_mpi(), ranks=192, hosts=placed))
    assert not any("THROTTLE" in word or "overcommit" in word for word in argv)
    assert measuring_job(an_mpi(), ["./worker"], 192, {}, placed).ranks == 192
    shared = dataclasses.replace(placed, overcommit=True)
    argv, _ = build_command(a_job(an_mpi(), ranks=192, hosts=shared))
    assert "--overcommit" in argv
    assert any("THROTTLE" in word for word in argv)
