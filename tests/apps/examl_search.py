"""ExaML: the most likely evolutionary tree of an alignment; each of its steps is a small broadcast and a small sum."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from application import Application, assert_numbers_close, on_path

INPUT = Path(__file__).parent / "examl"
# One executable per instruction set; Debian's wrapper takes the best, too, but starts mpirun itself.
_FOLDER = Path("/usr/lib/examl/bin")
_INSTRUCTION_SETS = (("avx2", "avx2"), ("avx", "avx"), ("sse4_1", "sse4.1"), ("ssse3", "ssse3"), ("sse2", "sse2"))


class ExamlSearch(Application):
    """Ten species, 400 sites, from a start tree that is wrong: some 45 000 broadcasts and as many reductions."""

    name = "ExaML"
    package = "examl"
    operations = ("MPI_Bcast", "MPI_Reduce")

    def find_program(self) -> str | None:
        if on_path("parse-examl") is None:
            return None
        flags = re.search(r"^flags\s*:(.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        known = flags[1].split() if flags else []
        for flag, suffix in _INSTRUCTION_SETS:
            program = _FOLDER / f"examl-{suffix}"
            if flag in known and program.exists():
                return str(program)
        return None

    def prepare(self, folder: Path, ranks: int) -> list[str]:
        for name in ("alignment.phy", "start.tree"):
            shutil.copy(INPUT / name, folder)
        parse = ["parse-examl", "-s", "alignment.phy", "-m", "DNA", "-n", "alignment"]
        subprocess.run(parse, cwd=folder, check=True, capture_output=True, timeout=60)
        return ["-t", "start.tree", "-m", "GAMMA", "-s", "alignment.binary", "-n", "search"]

    def read_result(self, folder: Path) -> str:
        """The likelihood and the best tree with the lengths of its branches."""
        likelihood = re.search(r"^Likelihood\s*: (.*)", (folder / "ExaML_info.search").read_text(), re.MULTILINE)
        assert likelihood, "ExaML reports no likelihood"
        return f"{likelihood[1]}\n{(folder / 'ExaML_result.search').read_text()}"

    def assert_close(self, native: str, own: str) -> None:
        assert_numbers_close(native, own, 1e-6)
