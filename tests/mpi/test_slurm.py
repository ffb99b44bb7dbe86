"""A real Slurm on the emulated cluster (as root, `make lab`): what its users type, with each MPI."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from espalier.base.errors import UserError
from espalier.jobs.mpis import read_library_version
from espalier.lab import cluster, network, slurm
from espalier.lab.network import parse_spec
from launch import TestMpi
from slurm_site import NODES, PACKAGING, Slurm, compile_program, handled, install, nodes_of
from spy import compile_spy, format_table

GetMpi = Callable[[str], TestMpi]
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]
# Debian's MPICH 4.0 is left out: over UCX and TCP its MPI_Finalize now and then does not end, natively, either.
MPIS = ("mpich-5", "intel", "openmpi-5", "openmpi-4")
LMOD = Path("/usr/share/lmod/lmod/init/sh")
CALM = {"ESPALIER_LEARN": "off"}  # no call is a trial of the MPI's
VERBOSE = {"ESPALIER_VERBOSE": "1", **CALM}
ALL = {"node0": 2, "node1": 2, "node2": 2}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """Three nodes; Slurm runs packaging/'s TaskProlog in jobs that set SITE_ESPALIER."""
    if cluster.STATE.exists():
        pytest.skip("a cluster is up already, and others may be using it")
    try:
        slurm.check_means()
    except UserError as error:
        pytest.skip(error.message)
    folder = tmp_path_factory.mktemp("site")
    install(folder / "prefix")
    prolog = folder / "prolog"
    prolog.write_text(f'#!/bin/sh\n[ -z "$SITE_ESPALIER" ] || . {PACKAGING}/slurm/task-prolog.sh\n')
    prolog.chmod(0o755)
    try:
        cluster.up(parse_spec(NODES, "1gbit", None), cluster.WantedSlurm(4, prolog))
        yield Slurm(folder, folder / "prefix")
    finally:
        cluster.down()


@pytest.mark.parametrize("launcher", ["", "mpiexec"])
@pytest.mark.parametrize("name", MPIS)
def test_run_starts_a_rank_for_each_task_of_the_job(name: str, launcher: str, get_mpi: GetMpi, site: Slurm) -> None:
    mpi = get_mpi(name)
    program = compile_program(get_mpi("mpich-5") if name == "intel" else mpi, site.folder)
    which = ["--mpi", "intel"] if name == "intel" else []
    words = ["espalier", "run", *which, *(["--launcher", launcher] if launcher else []), program]
    done = site.type("salloc", "-N3", "--ntasks-per-node=2", *words, **VERBOSE)
    assert (done.code, nodes_of(done.out)) == (0, ALL), str(done)
    assert handled(done.err) == 50, str(done)


def test_run_starts_what_it_is_asked_for_on_some_of_the_nodes(get_mpi: GetMpi, site: Slurm) -> None:
    program = compile_program(get_mpi("mpich-5"), site.folder)
    script = f"espalier run --nodes 2 --ppn 1 {program}; espalier run -n 3 {program}; espalier run --nodes 4 {program}"
    done = site.type("salloc", "-N3", "--ntasks-per-node=2", "sh", "-c", script)
    assert nodes_of(done.out) == {"node0": 2, "node1": 2, "node2": 1}, str(done)
    assert "4 nodes are asked for, and there are fewer: Slurm" in done.err
    assert "--nodes=4 --ntasks-per-node=2" in done.err


@pytest.mark.parametrize(("name", "pmi"), [("mpich-5", "pmi2"), ("intel", "pmi2"), ("openmpi-4", "pmix")])
def test_srun_alone_starts_programs_with_the_library_in_front(
    name: str, pmi: str, get_mpi: GetMpi, site: Slurm
) -> None:
    mpi = get_mpi(name)
    program = compile_program(get_mpi("mpich-5") if name == "intel" else mpi, site.folder)
    preload = f"LD_PRELOAD={site.prefix}/lib/libespalier-{mpi.abi}.so.0"
    preload += f":{mpi.mpi.library}" if name == "intel" else ""
    done = site.type(
        "srun", f"--mpi={pmi}", "-N3", "--ntasks-per-node=2", f"--export=ALL,{preload}", program, **VERBOSE
    )
    assert (done.code, nodes_of(done.out), handled(done.err)) == (0, ALL, 50), str(done)


def test_the_example_script_runs(get_mpi: GetMpi, site: Slurm) -> None:
    program = compile_program(get_mpi("mpich-5"), site.folder)
    script = PACKAGING / "slurm" / "example.sbatch"
    words = ("--ntasks-per-node=2", "--output=example.out", str(script), program)
    assert site.await_end(site.submit(*words, SLURM_MPI_TYPE="pmi2", **CALM)) == "COMPLETED"
    text = (site.folder / "example.out").read_text()
    assert (nodes_of(text), handled(text)) == ({"node0": 2, "node1": 2}, 50), text


def test_bench_and_tune_take_the_allocations_shape(get_mpi: GetMpi, site: Slurm) -> None:
    get_mpi("mpich-5")
    table = site.folder / "table.json"
    bench = "espalier bench --mpi mpich --ops barrier --rounds 1 --budget-ms 20 --json"
    tune = f"espalier tune --mpi mpich --ops barrier --no-curves --budget 60s --samples 0 -o {table}"
    done = site.type("salloc", "-N2", "--ntasks-per-node=2", "sh", "-c", f"{bench} && {tune} >&2", timeout=180)
    assert done.code == 0, str(done)
    (row,) = json.loads(done.out)["rows"]
    assert (row["nodes"], row["ranks"]) == (2, 4)
    assert json.loads(table.read_text())["made"]["shape"] == "2x2"


def test_scripts_of_tune_fill_one_table_one_after_another(get_mpi: GetMpi, site: Slurm) -> None:
    get_mpi("mpich-5")
    table = site.folder / "merged.json"
    options = f"--mpi mpich --ops barrier --no-curves --budget 60s --samples 0 -o {table}"
    written = site.type("sh", "-c", f"cd {site.folder} && espalier tune --sbatch --nodes 2,3 --ppn 1 {options}")
    assert written.out.splitlines() == [f"sbatch espalier-tune-{nodes}x1.sbatch" for nodes in (2, 3)], str(written)
    jobs = [site.submit(f"espalier-tune-{nodes}x1.sbatch") for nodes in (2, 3)]
    assert [site.await_end(job) for job in jobs] == ["COMPLETED"] * 2
    rows = json.loads(table.read_text())["rows"]
    assert sorted(row["nodes"] for row in rows) == [[2, 2], [3, 3]]


def test_several_jobs_at_once_do_not_disturb_each_other(get_mpi: GetMpi, site: Slurm) -> None:
    program = compile_program(get_mpi("mpich-5"), site.folder)
    wrapped = f"--wrap=espalier run -v {program}"
    shape = ("-N3", "--ntasks-per-node=1")
    jobs = [site.submit(*shape, f"--output=at-once-{number}.out", wrapped, **CALM) for number in range(4)]
    assert [site.await_end(job) for job in jobs] == ["COMPLETED"] * 4
    for number in range(4):
        text = (site.folder / f"at-once-{number}.out").read_text()
        assert (nodes_of(text), handled(text)) == (dict.fromkeys(ALL, 1), 50), text


def learned_in(store: Path) -> list[dict[str, object]]:
    """The rows that are kept there: one file for the one MPI and machine."""
    (file,) = store.glob("*.json")
    rows: list[dict[str, object]] = json.loads(file.read_text())["rows"]
    return rows


def test_jobs_at_once_learn_into_one_store(get_mpi: GetMpi, site: Slurm) -> None:
    program = compile_program(get_mpi("mpich-5"), site.folder)
    store = site.folder / "store"
    settings = {"ESPALIER_LEARN": "on", "ESPALIER_STORE": str(store)}
    words = ("--ntasks-per-node=1", "--output=/dev/null", f"--wrap=espalier run {program} 400")
    jobs = [site.submit(f"-N{nodes}", *words, **settings) for nodes in (2, 3, 2, 3)]
    assert [site.await_end(job) for job in jobs] == ["COMPLETED"] * 4
    assert {tuple(row["nodes"]) for row in learned_in(store)} == {(2, 2), (3, 3)}  # type: ignore[arg-type]


def test_a_job_that_is_killed_while_it_learns_leaves_the_store_as_it_was(get_mpi: GetMpi, site: Slurm) -> None:
    program = compile_program(get_mpi("mpich-5"), site.folder)
    store, output = site.folder / "kept", site.folder / "killed.out"
    settings = {"ESPALIER_LEARN": "on", "ESPALIER_STORE": str(store)}
    shape = ("-N2", "--ntasks-per-node=1", f"--output={output}")
    assert site.await_end(site.submit(*shape, f"--wrap=espalier run {program} 400", **settings)) == "COMPLETED"
    before = {file.name: file.read_bytes() for file in store.glob("*.json")}
    job = site.submit(*shape, f"--wrap=espalier run {program} 0", **settings)
    deadline = time.monotonic() + 60
    while "three hundred" not in (output.read_text() if output.exists() else "") and time.monotonic() < deadline:
        time.sleep(0.2)
    site.type("scancel", str(job))
    assert site.await_end(job) == "CANCELLED"
    assert {file.name: file.read_bytes() for file in store.glob("*.json")} == before
    assert learned_in(store)


def test_one_rank_of_a_job_on_several_nodes_reads_the_tables(get_mpi: GetMpi, site: Slurm) -> None:
    mpi = get_mpi("mpich-5")
    home, log = site.folder / "config", site.folder / "spy.log"
    for name in ("table.json", "tables/one.json", "tables/two.json"):
        path = home / "espalier" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(format_table(read_library_version(mpi.mpi.library)))
    preload = f"LD_PRELOAD={site.prefix}/lib/libespalier-mpich.so.0:{compile_spy(site.folder)}"
    program = compile_program(mpi, site.folder)
    words = ("srun", "--mpi=pmi2", "-N3", "--ntasks-per-node=4", f"--export=ALL,{preload}", program)
    done = site.type(*words, **VERBOSE, SPY_LOG=str(log), XDG_CONFIG_HOME=str(home))
    assert (nodes_of(done.out), handled(done.err)) == (dict.fromkeys(ALL, 4), 50), str(done)
    looks = {tuple(line.split(" ", 1)) for line in log.read_text().splitlines()}
    ours = Counter(path for _, path in looks if path.startswith(str(home)))
    assert {Path(path).name for path in ours} >= {"table.json", "one.json", "two.json"}
    assert set(ours.values()) == {1}, ours


def processes_on_nodes(site: Slurm, program: str) -> list[str]:
    """Process numbers of a program on any node."""
    listed = (
        subprocess.run(["ip", "netns", "pids", network.node_name(node)], capture_output=True, text=True, check=True)
        for node in range(NODES)
    )
    pids = [pid for done in listed for pid in done.stdout.split()]
    return [pid for pid in pids if _command_of(pid).startswith(program)]


def _command_of(pid: str) -> str:
    try:
        return Path("/proc", pid, "cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def test_a_job_that_its_time_limit_kills_leaves_nothing(get_mpi: GetMpi, site: Slurm) -> None:
    """Slurm counts in minutes, so the test takes one, and some: it looks every half minute."""
    program = compile_program(get_mpi("mpich-5"), site.folder)
    before = set(Path("/dev/shm").iterdir())
    job = site.submit(
        "-N2", "--ntasks-per-node=2", "--time=1", "--output=limit.out", f"--wrap=espalier run {program} 0"
    )
    deadline = time.monotonic() + 30
    while len(processes_on_nodes(site, program)) < 4 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert len(processes_on_nodes(site, program)) == 4, (site.folder / "limit.out").read_text()
    assert site.await_end(job) == "TIMEOUT"
    assert "DUE TO TIME LIMIT" in (site.folder / "limit.out").read_text()
    deadline = time.monotonic() + 20
    while processes_on_nodes(site, program) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert processes_on_nodes(site, program) == []
    left = {file for file in set(Path("/dev/shm").iterdir()) - before if "espalier" in file.name}
    assert left == set()
    done = site.type("salloc", "-N2", "--ntasks-per-node=2", "espalier", "run", program)
    assert nodes_of(done.out) == {"node0": 2, "node1": 2}, "the nodes take the next job"


def test_a_job_that_stands_still_is_asked_through_srun(get_mpi: GetMpi, site: Slurm) -> None:
    """One step more in the job, with a task on each of its hosts, as the guide has it."""
    mpi = get_mpi("mpich-5")
    preload = f"LD_PRELOAD={site.prefix}/lib/libespalier-{mpi.abi}.so.0:{mpi.mpi.library}"
    step = f"srun --mpi=pmi2 --export=ALL,{preload},ESPALIER_SETUP_CALLS=0 {mpi.program('standstill')} sleep 2"
    job = site.submit("-N2", "--ntasks-per-node=2", "--output=standstill.out", f"--wrap={step}")
    deadline, said = time.monotonic() + 60, ""
    while time.monotonic() < deadline and "Rank 2" not in said:
        said = site.type("espalier", "hang", "--job", str(job), "--seconds", "0.2").out
    site.type("scancel", str(job))
    assert re.search(r"Rank 2 \(process \d+ on node1\) has not come; it is (asleep|running)", said), said
    site.await_end(job)


def test_a_warning_before_the_time_limit_has_tune_write_what_it_knows(get_mpi: GetMpi, site: Slurm) -> None:
    get_mpi("mpich-5")
    table = site.folder / "interrupted.json"
    options = f"--mpi mpich --ops barrier,allgather --no-curves --budget 1h -o {table}"
    site.type("sh", "-c", f"cd {site.folder} && espalier tune --sbatch --nodes 2 --ppn 2 {options}")
    job = site.submit("espalier-tune-2x2.sbatch")
    journal = table.with_name(f"{table.name}.journal")
    deadline = time.monotonic() + 120
    while not (journal.exists() and "barrier" in journal.read_text()) and time.monotonic() < deadline:
        time.sleep(0.5)
    site.type("scancel", "--batch", "--signal=TERM", str(job))
    assert site.await_end(job) == "FAILED"  # exit code 130, as Ctrl-C
    assert json.loads(table.read_text())["made"]["shape"] == "2x2"


@pytest.mark.parametrize(("name", "pmi"), [("mpich-5", "pmi2"), ("openmpi-4", "pmix")])
def test_the_task_prolog_serves_programs_of_every_mpi(name: str, pmi: str, get_mpi: GetMpi, site: Slurm) -> None:
    program = compile_program(get_mpi(name), site.folder)
    words = ("srun", f"--mpi={pmi}", "-N3", "--ntasks-per-node=2", program)
    done = site.type(*words, **VERBOSE, SITE_ESPALIER=str(site.prefix))
    assert (done.code, nodes_of(done.out), handled(done.err)) == (0, ALL, 50), str(done)


def test_a_user_is_served_by_the_task_prolog_only_if_they_want(get_mpi: GetMpi, site: Slurm) -> None:
    program = compile_program(get_mpi("mpich-5"), site.folder)
    words = ("srun", "--mpi=pmi2", "-N3", "--ntasks-per-node=2", program)
    done = site.type(*words, **VERBOSE, SITE_ESPALIER=str(site.prefix), ESPALIER_DISABLE="1")
    assert (done.code, nodes_of(done.out), handled(done.err)) == (0, ALL, -1), str(done)


HARMLESS = {
    "hostname": ["hostname"],
    "a shell": ["sh", "-c", "seq 100 | sort -rn | head -1; exit 3"],
    "python": [sys.executable, "-S", "-c", "import ctypes, json; print(json.dumps(6 * 7))"],
}


@pytest.mark.parametrize("words", HARMLESS.values(), ids=HARMLESS)
def test_the_task_prolog_harms_no_other_program(words: list[str], site: Slurm) -> None:
    plain = site.type("srun", "-N1", *words)
    loaded = site.type("srun", "-N1", *words, SITE_ESPALIER=str(site.prefix))
    assert (loaded.code, loaded.out) == (plain.code, plain.out)
    assert "espalier" not in loaded.err


def load_module(site: Slurm) -> str:
    """The words of a shell that load the module."""
    modules = site.folder / "modules" / "espalier"
    modules.mkdir(parents=True, exist_ok=True)
    text = (PACKAGING / "lmod" / "espalier.lua").read_text().replace("/opt/espalier", str(site.prefix))
    (modules / "0.1.0.lua").write_text(text)
    return f". {LMOD}; module use {modules.parent}; module load espalier"


@pytest.mark.skipif(not LMOD.exists(), reason="no lmod (Debian: lmod)")
@pytest.mark.parametrize(("name", "pmi"), [("mpich-5", "pmi2"), ("openmpi-4", "pmix")])
def test_module_load_and_srun_is_all_that_a_user_types(name: str, pmi: str, get_mpi: GetMpi, site: Slurm) -> None:
    program = compile_program(get_mpi(name), site.folder)
    script = f"{load_module(site)}; srun -N3 --ntasks-per-node=2 {program}"
    done = site.type("bash", "-c", script, **VERBOSE, SLURM_MPI_TYPE=pmi)
    assert (done.code, nodes_of(done.out), handled(done.err)) == (0, ALL, 50), str(done)


@pytest.mark.skipif(not LMOD.exists(), reason="no lmod (Debian: lmod)")
def test_a_loaded_module_is_not_in_the_native_arm(get_mpi: GetMpi, site: Slurm) -> None:
    program = compile_program(get_mpi("mpich-5"), site.folder)
    for launcher in ("srun", "mpiexec"):
        for option, count in (("--native", -1), ("-v", 50)):
            words = f"salloc -N2 --ntasks-per-node=1 espalier run --launcher {launcher} {option} {program}"
            done = site.type("bash", "-c", f"{load_module(site)}; {words}", **VERBOSE)
            assert (nodes_of(done.out), handled(done.err)) == ({"node0": 1, "node1": 1}, count), str(done)
