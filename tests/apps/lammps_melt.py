"""LAMMPS: molecular dynamics; its thermodynamic output is made of all-reduced sums."""

from __future__ import annotations

import shutil
from pathlib import Path

from application import Application, assert_numbers_close, on_path

INPUT = Path(__file__).parent / "lammps" / "in.melt"


class LammpsMelt(Application):
    """864 atoms melt for 100 steps."""

    name = "LAMMPS"
    package = "lammps"
    operations = ("MPI_Bcast", "MPI_Allreduce")

    def find_program(self) -> str | None:
        return on_path("lmp")

    def prepare(self, folder: Path, ranks: int) -> list[str]:
        shutil.copy(INPUT, folder)
        return ["-in", INPUT.name, "-log", "log.txt"]

    def read_result(self, folder: Path) -> str:
        """The thermo lines and the radial distribution."""
        log = (folder / "log.txt").read_text()
        thermo = log[log.index("\n   Step") if "\n   Step" in log else log.index("\nStep") : log.index("\nLoop time")]
        assert len(thermo.splitlines()) == 13, f"a heading and 11 lines were expected: {thermo}"
        return thermo + (folder / "rdf.txt").read_text()

    def assert_close(self, native: str, own: str) -> None:
        # The first rounding enters with the initial temperature's scale; 100 steps let it grow by some powers of ten.
        assert_numbers_close(native, own, 1e-8)
