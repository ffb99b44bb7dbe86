"""mpi4py-fft: transforms of a grid that is cut among ranks; MPI_Alltoallw of subarray types hands it over."""

from __future__ import annotations

from pathlib import Path

from application import PRINTED, Application

ROOT = Path(__file__).parents[2]


class FftSeparation(Application):
    """Two liquids separate on a grid of 25³, so blocks differ in size; 200 steps, as the first ten calls are native."""

    package = "mpi4py-fft"
    mpi = "mpich"
    operations = ("MPI_Alltoall",)  # which alltoallw is counted with

    def __init__(self, form: str) -> None:
        self.form = form
        self.name = f"mpi4py-fft, {form}"

    def find_program(self) -> str | None:
        python = ROOT / "build" / "mpi4py-fft" / "bin" / "python"
        return str(python) if python.exists() else None

    def prepare(self, folder: Path, ranks: int) -> list[str]:
        return [str(ROOT / "bench" / "applications" / "separation.py"), "25", "200", self.form]

    def read_result(self, folder: Path) -> str:
        """All bits of the grid, added up as whole numbers, and the purest place's share."""
        lines = [line for line in (folder / PRINTED).read_text().splitlines() if not line.startswith("separated in")]
        assert len(lines) == 1, f"one line was expected: {lines}"
        return lines[0]

    def assert_close(self, native: str, own: str) -> None:
        # Nothing is added up across ranks but whole numbers.
        assert native == own
