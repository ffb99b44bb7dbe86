"""A wheel and PyPI's MPICH in an environment of their own: what somebody without compilers gets."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import espalier
from installed import ALLREDUCE, make_environment, run_in


def test_the_command_says_what_it_is(environment: Path) -> None:
    done = run_in(environment, "espalier", "--version")
    assert done.returncode == 0, done.stderr
    first, commit, abis = done.stdout.splitlines()
    assert first == f"espalier {espalier.__version__}"
    assert len(commit) >= len("commit: 0123456789ab")
    assert abis.endswith("mpich, openmpi, abi")


def test_a_python_programs_collectives_are_handled(environment: Path) -> None:
    stats = environment / "stats.json"
    command = ("espalier", "run", "-n", "2", "--stats", str(stats), "--", str(environment / "bin" / "python"))
    done = run_in(environment, *command, "-c", ALLREDUCE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["summed", "summed"]
    counts = json.loads(stats.read_text())["MPI_Allreduce"]
    assert (counts["handled"], counts["native"]) == (3, 0)


def test_doctor_finds_the_environment_usable(environment: Path) -> None:
    done = run_in(environment, "espalier", "doctor", "--json")
    report = json.loads(done.stdout)
    wrong = [finding for finding in report["findings"] if finding["level"] == "error"]
    assert report["usable"], wrong


def test_the_workers_and_the_simulator_run(environment: Path) -> None:
    bench = run_in(environment, "espalier", "bench", "--ops", "bcast", "-n", "2", "--sizes", "1K", "--json")
    assert bench.returncode == 0, bench.stderr
    network = ("--nodes", "4", "--ppn", "2", "--platform", "fat_tree:leaves=2,down=2")
    simulated = run_in(environment, "espalier", "simulate", "bcast", "--bytes", "64K", *network, "--json")
    assert simulated.returncode == 0, simulated.stderr


def test_plans_are_explained_and_proved(environment: Path) -> None:
    explained = run_in(environment, "espalier", "explain", "allreduce", "--nodes", "2", "--ppn", "3", "--json")
    assert json.loads(explained.stdout)["choice"], explained.stderr
    assert run_in(environment, "espalier", "verify", "--random", "20", "--seed", "1").returncode == 0


def test_a_wheel_and_the_demo_take_few_seconds_of_a_processor(tmp_path: Path) -> None:
    """20 s are promised. Processors' time is counted, of which a busy machine takes little more than a quiet one."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    folder = make_environment(tmp_path / "venv", "mpich", "mpi4py", "numpy")
    done = run_in(folder, "espalier", "demo", "-n", "2", "--rounds", "1", "--output", str(tmp_path), "--json")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime <= 40, "two processors for 20 s"


def test_the_demo_needs_neither_compiler_nor_source_tree(environment: Path, tmp_path: Path) -> None:
    done = run_in(environment, "espalier", "demo", "-n", "2", "--rounds", "1", "--output", str(tmp_path), "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    (answer,) = report["answers"]
    assert answer["same_output"]
    assert answer["handled"] > 1000
    assert any("IMB-MPI1" in reason for reason in report["skipped"])
    assert (tmp_path / "report.html").exists()


def test_without_mpi4py_the_demo_compares_what_came_with_the_wheel(tmp_path: Path) -> None:
    folder = make_environment(tmp_path / "venv", "mpich")
    assert run_in(folder, "python", "-c", "import mpi4py").returncode != 0
    done = run_in(folder, "espalier", "demo", "-n", "2", "--rounds", "2", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "bench: allreduce" in done.stdout
    assert "pip install mpi4py numpy" in done.stdout
    page = (tmp_path / "report.html").read_text()
    assert "Espalier is ahead" in page
