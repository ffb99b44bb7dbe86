"""examples/neighbor_joining draws the tree that quicktree (Debian) draws, natively and with Espalier."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from launch import BUILD, TestMpi, find_test_mpis
from newick import read_splits, robinson_foulds


@pytest.fixture
def get_mpi() -> Callable[[str], TestMpi]:
    def get(name: str) -> TestMpi:
        mpi = find_test_mpis().get(name)
        if mpi is None:
            pytest.skip(f"{name} is not installed: run `make mpi`")
        return mpi

    return get


def grow_matrix(taxa: int, seed: int) -> str:
    """Distances on a random tree, each a little off, as PHYLIP."""
    chance = random.Random(seed)
    paths: list[dict[int, float]] = [{0: chance.uniform(0.1, 1)}]
    for leaf in range(1, taxa):  # a new leaf hangs from somewhere on another's way to the root
        host = dict(chance.choice(paths))
        kept = chance.randint(0, len(host))
        paths.append({**dict(list(host.items())[:kept]), leaf: chance.uniform(0.1, 1)})
    rows = [[0.0] * taxa for _ in range(taxa)]
    for a in range(taxa):
        for b in range(a):
            apart = set(paths[a].items()) ^ set(paths[b].items())
            rows[a][b] = rows[b][a] = sum(length for _, length in apart) + chance.uniform(0.01, 0.05)
    lines = [f"taxon{a:03} " + " ".join(f"{value:.7f}" for value in row) for a, row in enumerate(rows)]
    return f"{taxa}\n" + "\n".join(lines) + "\n"


def grow_alignment(taxa: int, length: int, seed: int) -> str:
    """Sequences that descend from each other, as FASTA."""
    chance = random.Random(seed)
    sequences = ["".join(chance.choices("ACGT", k=length))]
    while len(sequences) < taxa:
        parent = chance.choice(sequences)
        sequences.append("".join(chance.choice("ACGT") if chance.random() < 0.08 else base for base in parent))
    return "".join(f">taxon{number:03}\n{sequence}\n" for number, sequence in enumerate(sequences))


def draw(mpi: TestMpi, file: Path, ranks: int, *, native: bool = False, **settings: str) -> str:
    program = str(BUILD / "examples" / f"neighbor_joining_{mpi.abi}")
    outcome = mpi.run([program, str(file)], ranks, native=native, settings=settings)
    assert outcome.code == 0, str(outcome)
    return outcome.out.strip()


@pytest.mark.parametrize("taxa", [4, 5, 60, 150])
def test_the_tree_is_quicktrees(taxa: int, get_mpi: Callable[[str], TestMpi], tmp_path: Path) -> None:
    quicktree = shutil.which("quicktree")
    if quicktree is None:
        pytest.skip("quicktree is not installed: scripts/system-packages.sh")
    file = tmp_path / "matrix.phylip"
    file.write_text(grow_matrix(taxa, seed=taxa))
    theirs = subprocess.run(
        [quicktree, "-in", "m", "-out", "t", str(file)], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    ours = draw(get_mpi("mpich-5"), file, 3)
    assert len(read_splits(theirs)) == taxa - 3
    assert robinson_foulds(ours, theirs) == 0


@pytest.mark.parametrize(("name", "ranks", "nodes"), [("mpich-5", 5, "3,1,1"), ("openmpi-5", 4, "cyclic:2")])
def test_it_is_the_same_tree_on_any_number_of_ranks_with_and_without_espalier(
    name: str, ranks: int, nodes: str, get_mpi: Callable[[str], TestMpi], tmp_path: Path
) -> None:
    mpi, file, stats = get_mpi(name), tmp_path / "alignment.fasta", tmp_path / "stats.json"
    file.write_text(grow_alignment(50, 400, seed=3))
    alone = draw(mpi, file, 1, native=True)
    assert draw(mpi, file, ranks, native=True) == alone
    assert draw(mpi, file, ranks, ESPALIER_VIRTUAL_NODES=nodes, ESPALIER_STATS=str(stats)) == alone
    broadcasts = json.loads(stats.read_text())["MPI_Bcast"]
    assert broadcasts["native"] == 0
    assert broadcasts["handled"] >= 2 * 48


def test_input_that_makes_no_sense_is_refused(get_mpi: Callable[[str], TestMpi], tmp_path: Path) -> None:
    mpi, file = get_mpi("mpich-5"), tmp_path / "cut.phylip"
    file.write_text("3\na 0 1 2\nb 1 0 3\n")
    outcome = mpi.run([str(BUILD / "examples" / f"neighbor_joining_{mpi.abi}"), str(file)], 2, native=True)
    assert outcome.code != 0
    assert "ends before its last row" in outcome.err
