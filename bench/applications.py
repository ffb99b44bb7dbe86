"""docs/applications.md: real programs, natively and with Espalier in turns, and what part of them collectives are.

python bench/applications.py                       # all that are installed, 2 ranks, 5 rounds; build/applications
python bench/applications.py --only LAMMPS -n 8    # some; what was measured before is kept, other numbers of ranks, too
python bench/applications.py --lab                 # as root: two emulated nodes of four ranks; no other lab may be up
python bench/applications.py --rounds 0            # the page alone

Programs are Debian's and PyPI's, unmodified (scripts/system-packages.sh apps; NEURON: --neuron VENV;
mpi4py-fft: --fft VENV); inputs lie in bench/applications and tests/apps. What each prints is compared by `espalier
compare`, times aside.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from espalier.base import console, machine
from espalier.base.errors import UserError
from espalier.base.writing import replace_file
from espalier.lab import cluster
from espalier.lab.network import parse_spec
from espalier.measure.rounds import Rounds, find_doubt
from espalier.profile.reading import read_profile
from espalier.profile.summary import sum_up

ROOT = Path(__file__).resolve().parents[1]
INPUTS = ROOT / "bench" / "applications"
TESTED = ROOT / "tests" / "apps"
PLACE = ROOT / "build" / "applications"
PETSC = "/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real/lib/python3/dist-packages"

LAB_NODES, LAB_PPN = 2, 4

Words = Sequence[str]


@dataclass(frozen=True)
class Program:
    """One program with one input. {ranks} in words is their number; setup is run once, in its folder."""

    name: str
    origin: str  # where it comes from
    does: str
    command: Words
    files: Sequence[Path] = ()
    setup: Sequence[Words] = ()
    mpi: str | None = None  # None: the program's own
    metric: str | None = None
    ignore: str | None = None  # lines that hold times
    environment: Mapping[str, str] = field(default_factory=dict)
    check: tuple[str, str] | None = None  # it prints nothing: a file of its own, and what stands there if all is right


def examl() -> str:
    """The fastest that this processor can run."""
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return f"/usr/lib/examl/bin/examl-{'avx2' if ' avx2' in flags else 'sse2'}"


def programs(neuron: Path, fft: Path) -> list[Program]:
    """All of them."""
    python = sys.executable
    lammps = r"^Loop time of (\S+)"
    timings = (
        r"(?i)loop time|performance:|% CPU use|wall time|^(pair|kspace|neigh|comm|output|modify|other|bond)\s*\||"
        r"^\s*(nlocal|nghost|neighs|ave)|histogram|timesteps/s|generated in|memory|date|^\s+seconds|time ?="
    )
    return [
        Program(
            "LAMMPS, melt",
            "Debian lammps",
            "864 atoms melt",
            ["lmp", "-in", "in.melt"],
            [TESTED / "lammps/in.melt"],
            metric=lammps,
            ignore=timings,
        ),
        Program(
            "LAMMPS, molten salt",
            "Debian lammps",
            "long-range forces, PPPM with `collective yes`",
            ["lmp", "-in", "in.salt"],
            [INPUTS / "in.salt"],
            metric=lammps,
            ignore=timings,
        ),
        Program(
            "GROMACS",
            "Debian gromacs",
            "a box of water with PME, 400 steps",
            [str(INPUTS / "gromacs.sh")],
            [INPUTS / "water.top", INPUTS / "water.mdp"],
            [
                ["sh", "-c", "gmx solvate -cs spc216.gro -box 2.5 2.5 2.5 -o water.gro"],
                ["sh", "-c", 'echo "SOL $(grep -c OW water.gro)" >> water.top'],
                ["sh", "-c", "gmx grompp -f water.mdp -c water.gro -p water.top -o water.tpr"],
            ],
            mpi="openmpi-4",
            metric=r"^\s+Time:\s+\S+\s+(\S+)",
            ignore="Time:",
        ),
        Program(
            "Quantum ESPRESSO",
            "Debian quantum-espresso",
            "eight atoms of silicon, self-consistent",
            [str(INPUTS / "apart.sh"), "pw.x", "-in", "si8.in"],
            [INPUTS / "si8.in"],
            [
                ["sh", "-c", "zcat $(dpkg -L quantum-espresso-data | grep Si.pz-vbc.UPF.gz | head -1) > Si.UPF"],
                ["sh", "-c", "sed -i s:PSEUDO:$PWD: si8.in"],
            ],
            mpi="openmpi-4",
            metric=r"PWSCF\s+:.*?([\d.]+)s WALL",
            ignore=r"(?i)cpu|wall|starts on|terminated|ram|time",
        ),
        Program(
            "HPCC",
            "Debian hpcc",
            "HPL, PTRANS, FFT and others",
            ["hpcc"],
            [TESTED / "hpcc/hpccinf.txt"],
            [["sed", "-i", "s/ROWS/1/; s/COLUMNS/{ranks}/", "hpccinf.txt"]],
            check=("hpccoutf.txt", "Success=1"),
        ),
        Program(
            "ExaML",
            "Debian examl",
            "a search for the best tree of ten species",
            [str(INPUTS / "apart.sh"), examl(), "-t", "start.tree", "-m", "GAMMA", "-s", "alignment.binary", "-n", "s"],
            [TESTED / "examl/alignment.phy", TESTED / "examl/start.tree"],
            [["parse-examl", "-s", "alignment.phy", "-m", "DNA", "-n", "alignment"]],
            mpi="openmpi-4",
            ignore=r"(?i)time|seconds|written to|run\.\d+",
        ),
        *(
            Program(
                f"PETSc, {method}",
                "Debian python3-petsc4py",
                "conjugate gradients on a grid, Jacobi",
                ["/usr/bin/python3", str(INPUTS / "cg.py"), "100", method, "10"],
                mpi="openmpi-4",
                metric=r"solved in (\S+)",
                ignore="solved in",
                environment={"PYTHONPATH": PETSC},
            )
            for method in ("cg", "pipecg")
        ),
        Program(
            "NEURON",
            "PyPI neuron",
            "256 cells in rings, spikes exchanged",
            [str(neuron / "bin/python"), str(INPUTS / "ring.py"), "256", "200"],
            mpi="openmpi-4",
            metric=r"simulated in (\S+)",
            ignore="simulated in",
            environment={"NEURON_INIT_MPI": "1"},
        ),
        Program(
            "data-parallel training",
            "mpi4py and NumPy",
            "gradients of 64 KB to 4 MB are summed",
            [python, str(INPUTS / "training.py"), "60"],
            mpi="mpich",
            metric=r"trained in (\S+)",
            ignore="trained in",
        ),
        Program(
            "k-means",
            "mpi4py and NumPy",
            "sums of 1 KB and 128 bytes in each step",
            [python, str(INPUTS / "kmeans.py"), "2000"],
            mpi="mpich",
            metric=r"clustered in (\S+)",
            ignore="clustered in",
        ),
        Program(
            "neighbour joining",
            "mpi4py and NumPy",
            "a tree of sequences: allgathers and broadcasts",
            [python, "-m", "espalier.examples.neighbour_joining"],
            mpi="mpich",
        ),
        *(
            Program(
                f"mpi4py-fft, {form}",
                "PyPI mpi4py-fft",
                "two liquids separate on a grid of 128³",
                [str(fft / "bin/python"), str(INPUTS / "separation.py"), "128", "60", form],
                mpi="mpich",
                metric=r"separated in (\S+)",
                ignore="separated in",
            )
            for form in ("slab", "pencil")
        ),
    ]


def prepare(program: Program, ranks: int) -> Path:
    """A fresh folder with its input."""
    folder = PLACE / re.sub(r"\W+", "-", program.name)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in program.files:
        shutil.copy(file, folder)
    for words in program.setup:
        filled = [word.replace("{ranks}", str(ranks)) for word in words]
        subprocess.run(filled, cwd=folder, check=True, capture_output=True, timeout=300)
    return folder


def espalier(program: Program, folder: Path, words: Words) -> Any:
    """What a command says of the program, as JSON; raises CalledProcessError where it says nothing."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **program.environment}
    mpi = ["--mpi", program.mpi] if program.mpi else []
    line = [sys.executable, "-m", "espalier", words[0], "--json", *mpi, *words[1:], "--", *program.command]
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        raise subprocess.CalledProcessError(done.returncode, line, done.stdout, done.stderr)
    return json.loads(done.stdout)


def read_check(program: Program, folder: Path) -> str:
    """How often it found itself right; nothing where what it prints was compared."""
    if program.check is None:
        return ""
    file, words = program.check
    return f"{words} {(folder / file).read_text(encoding='utf-8', errors='replace').count(words)} times"


def measure(program: Program, ranks: int, rounds: int) -> dict[str, Any]:
    """All that the page says of it."""
    folder = prepare(program, ranks)
    load = os.getloadavg()[0]
    options = ["-n", str(ranks), "--rounds", str(rounds), "--timeout", "300"]
    options += ["--metric", program.metric] if program.metric else []
    options += ["--ignore", program.ignore] if program.ignore else []
    compared = espalier(program, folder, ["compare", *options])
    profile = espalier(program, folder, ["profile", "-n", str(ranks), "--sample", "1/16"])
    rows = sorted(profile["rows"], key=lambda row: -row["seconds"])[:2]
    return {
        "ranks": ranks,
        "rounds": rounds,
        "load": round(load, 1),
        "native_s": compared["a"]["seconds_median"],
        "own_s": compared["b"]["seconds_median"],
        "ratio": compared["ratio"],
        "same": compared["same"],
        "output": read_check(program, folder) or compared["output"],
        "verdict": compared["verdict"],
        "calls": compared["b"]["calls"],
        "share": 100 * profile["collective_seconds"] / profile["run_seconds"],
        "waiting": None
        if profile["waiting_seconds"] is None
        else 100 * profile["waiting_seconds"] / profile["run_seconds"],
        "most": [f"{row['operation']} of {row['bytes_from']}" for row in rows],
        "profile": profile["verdict"],
        "date": datetime.now(UTC).date().isoformat(),
    }


def run_on_lab(program: Program, folder: Path, ppn: int, words: Words) -> tuple[float, str]:
    """One run on the cluster that is up: seconds, the program's own where it prints them, and what it printed."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **program.environment}
    mpi = ["--mpi", program.mpi] if program.mpi else []
    line = [sys.executable, "-m", "espalier", "lab", "run", "--ppn", str(ppn), *mpi, *words, "--", *program.command]
    begin = time.monotonic()
    done = subprocess.run(
        line, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", timeout=300, check=True
    )
    seconds = time.monotonic() - begin
    told = re.search(program.metric, done.stdout, re.MULTILINE) if program.metric else None
    return (float(told[1]) if told else seconds), done.stdout


def said_by(program: Program, output: str) -> list[str]:
    """What is to be the same in all runs; ranks' lines come in any order."""
    times = re.compile(program.ignore) if program.ignore else None
    return sorted(line for line in output.splitlines() if not (times and times.search(line)))


def measure_on_lab(program: Program, ppn: int, rounds: int) -> dict[str, Any]:
    """The same on two emulated nodes, native and Espalier in turns."""
    ranks = LAB_NODES * ppn
    folder = prepare(program, ranks)
    load = os.getloadavg()[0]
    arms: dict[str, list[float]] = {"native": [], "own": []}
    outputs: dict[str, list[list[str]]] = {"native": [], "own": []}
    for number in range(rounds):
        for arm in ("native", "own") if number % 2 == 0 else ("own", "native"):
            seconds, output = run_on_lab(program, folder, ppn, ["--native"] if arm == "native" else [])
            arms[arm].append(seconds)
            outputs[arm].append(said_by(program, output))
    file = folder / "profile.json"
    run_on_lab(program, folder, ppn, ["--set", f"PROFILE={file}"])
    profile = sum_up(read_profile(file))
    played = Rounds(tuple(arms["native"]), tuple(arms["own"]))
    repeats = all(output == outputs["native"][0] for output in outputs["native"])
    same = outputs["own"] == outputs["native"]
    output = "identical" if same else "differs" if repeats else "differs from run to run of either"
    return {
        "ranks": ranks,
        "place": f"{LAB_NODES} × {ppn}",
        "rounds": rounds,
        "load": round(load, 1),
        "native_s": median(arms["native"]),
        "own_s": median(arms["own"]),
        "ratio": {"median": played.ratio, "min": played.range[0], "max": played.range[1]},
        "output": read_check(program, folder) or output,
        "verdict": f"native ÷ Espalier {played.ratio:.2f}, output {output}",
        "share": 100 * profile.seconds / profile.run,
        "waiting": None if profile.waiting is None else 100 * profile.waiting / profile.run,
        "most": [f"{row.key.name} of {row.key.size}" for row in profile.rows[:2]],
        "date": datetime.now(UTC).date().isoformat(),
    }


@contextmanager
def emulated(rate: str) -> Iterator[None]:
    """The cluster is up meanwhile. Raises UserError where one is up already."""
    cluster.up(parse_spec(LAB_NODES, rate, None))
    try:
        yield
    finally:
        cluster.down()


def row_of(program: Program, found: Mapping[str, Any]) -> str:
    """One line of the table."""
    ratio = found["ratio"]
    verdict = f"{ratio['median']:.2f} ({ratio['min']:.2f} – {ratio['max']:.2f})"
    # The page's rule is today's, also for rows that were measured under another.
    verdict = verdict if find_doubt(found["rounds"], ratio["min"], ratio["max"]) else f"**{verdict}**"
    waiting = "" if found["waiting"] is None else f", {found['waiting']:.0f} % waiting"
    cells = [
        program.name,
        program.origin,
        program.does,
        found.get("place", found["ranks"]),
        found["rounds"],
        f"{found['native_s']:.2f} s",
        verdict,
        f"{found['share']:.0f} %{waiting}",
        ", ".join(found["most"]),
        found["output"],
        found["load"],
    ]
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def find_all(known: Mapping[str, Any], program: Program) -> list[Mapping[str, Any]]:
    """What is known of a program, for each number of ranks."""
    return [row for name, row in known.items() if name.rpartition(", ")[0] == program.name]


def compose(known: Mapping[str, Any], listed: Sequence[Program]) -> str:
    """The whole page."""
    found = [(it, sorted(find_all(known, it), key=lambda row: ("place" in row, row["ranks"]))) for it in listed]
    rows = [row_of(it, row) for it, those in found for row in those]
    missing = [it.name for it, those in found if not those]
    place = f"{machine.processor_name()}, {machine.count_cpus()} processors of a virtual machine"
    head, notes = (INPUTS.joinpath(name).read_text(encoding="utf-8") for name in ("head.md", "notes.md"))
    head = head.replace("PLACE", place)
    tail = f"\nNot measured here: {', '.join(missing)}.\n" if missing else ""
    return head + "\n".join(rows) + "\n" + tail + "\n" + notes


def main(
    ranks: Annotated[int, typer.Option("-n")] = 2,
    rounds: Annotated[int, typer.Option(help="0: write the page from what is known.")] = 5,
    only: Annotated[list[str] | None, typer.Option(help="Programs whose names begin so.")] = None,
    lab: Annotated[bool, typer.Option("--lab", help="On two emulated nodes of four ranks; as root.")] = False,
    rate: Annotated[str, typer.Option(help="With --lab: of each node's link.")] = "1gbit",
    neuron: Annotated[Path, typer.Option(help="An environment with NEURON.")] = ROOT / "build" / "neuron",
    fft: Annotated[Path, typer.Option(help="An environment with mpi4py-fft.")] = ROOT / "build" / "mpi4py-fft",
    page: Annotated[Path, typer.Option()] = ROOT / "docs" / "applications.md",
) -> None:
    """Measure and write the page."""
    listed = programs(neuron, fft)
    file = PLACE / "results.json"
    known: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    chosen = [it for it in listed if rounds > 0 and (not only or it.name.startswith(tuple(only)))]
    with emulated(rate) if lab and chosen else nullcontext():
        for program in chosen:
            console.note(f"{program.name} …")
            try:
                found = measure_on_lab(program, LAB_PPN, rounds) if lab else measure(program, ranks, rounds)
                known[f"{program.name}, {found.get('place', ranks)} ranks"] = found
                console.note(found["verdict"])
            except (subprocess.SubprocessError, OSError, KeyError, ValueError, UserError) as error:
                console.note(f"{program.name} is left out: {error} {getattr(error, 'stderr', '')}"[:600])
            PLACE.mkdir(parents=True, exist_ok=True)
            replace_file(file, json.dumps(known, indent=1))
    replace_file(page, compose(known, listed))


if __name__ == "__main__":
    typer.run(main)
