"""HPCC, the HPC Challenge: linear algebra, transposition, random access and FFT, each with its own check."""

from __future__ import annotations

import re
from pathlib import Path

from application import Application, on_path

INPUT = Path(__file__).parent / "hpcc" / "hpccinf.txt"
# Endings of what the summary says about speed. All the rest is arithmetic.
_SPEED = re.compile(r"(time\d*|Time|flops|GUPs|GBs|Copy|Scale|Add|Triad|Latency_usec|Bandwidth_GBytes)=")


class HpccSuite(Application):
    """A 200 × 200 system and what HPCC derives from that; some 17 000 barriers and all-to-alls."""

    name = "HPCC"
    package = "hpcc"
    operations = ("MPI_Bcast", "MPI_Allreduce", "MPI_Reduce", "MPI_Alltoall", "MPI_Barrier")

    def find_program(self) -> str | None:
        return on_path("hpcc")

    def prepare(self, folder: Path, ranks: int) -> list[str]:
        rows = 2 if ranks >= 4 else 1
        text = INPUT.read_text().replace("ROWS", str(rows)).replace("COLUMNS", str(ranks // rows))
        (folder / "hpccinf.txt").write_text(text)
        return []

    def read_result(self, folder: Path) -> str:
        """The verdicts of all checks, and the summary without speeds."""
        text = (folder / "hpccoutf.txt").read_text()
        assert "FAILED" not in text, text
        assert "\nSuccess=1\n" in text, "HPCC does not report success"
        summary = text[text.index("\nBegin of Summary") : text.index("\nEnd of Summary")]
        verdicts = re.findall(r"Found \d+ errors in .*|error \d+$|.*residual checks.*|Solution Validates.*", text, re.M)
        return "\n".join([*verdicts, *(line for line in summary.splitlines() if not _SPEED.search(line))])

    def assert_close(self, native: str, own: str) -> None:
        # Only maxima, counts and HPL's own reductions enter: the order of sums makes no difference.
        assert native == own
