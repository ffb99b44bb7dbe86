"""Fixtures of the command's tests: a way to call it, and stand-ins for what is compiled."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings

import espalier
from espalier import cli
from espalier.jobs import mpis
from espalier.jobs.libraries import Abi
from workshop import Command, Outcome

# A busy machine may take its time over a single example.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Calls `espalier` with these arguments in this process."""

    def call(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["espalier", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
        captured = capfd.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


_BATCH = ("SLURM_", "PBS_", "LSB_", "FLUX_", "COBALT_")


@pytest.fixture(autouse=True)
def _calm_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the caller's shell, no batch job, and room for messages to stay on one line."""
    for name in list(os.environ):
        if name.startswith((*_BATCH, "ESPALIER_", "I_MPI_", "FI_", "MPIR_CVAR_")) or name == "LD_PRELOAD":
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files of the preload libraries' and workers' names, in the place where the command looks first."""
    folder = tmp_path / "package"
    folder.mkdir()
    for abi in Abi:
        (folder / f"libespalier-{abi}.so").touch()
        (folder / f"espalier_bench_{abi}").touch()
        (folder / f"espalier_tune_{abi}").touch()
    monkeypatch.setattr(espalier, "__path__", [str(folder), *espalier.__path__])
    return folder


@pytest.fixture
def only_mpis(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Hides this machine's MPIs and shows the installations in these folders instead, in this order."""

    def show(*prefixes: Path) -> None:
        monkeypatch.setattr(mpis, "_prefixes", lambda: iter([(prefix, f"test {prefix.name}") for prefix in prefixes]))
        monkeypatch.setattr(mpis, "_system_folders", lambda: iter(()))
        real_which = mpis.shutil.which
        hidden = ("mpiexec", "mpirun", "mpiexec.mpich", "mpiexec.openmpi")
        monkeypatch.setattr(
            mpis, "shutil", SimpleNamespace(which=lambda name: None if name in hidden else real_which(name))
        )

    return show


TRAFFIC = {
    "messages_out": 1,
    "messages_in": 2,
    "bytes_out": 4,
    "bytes_in": 8,
    "connections_out": 1,
    "connections_in": 2,
    "shared_written": 16,
    "shared_read": 32,
    "single_copied": 64,
    "steps": 2,
}


class FakeChoice:
    """A choice: what str() shows, and its algorithm."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.between = text.split(",")[0]

    def __str__(self) -> str:
        return self.text


class FakeStep:
    """A step: attributes that mean nothing for its operation are None."""

    def __init__(self, op: str, **fields: Any) -> None:
        self.op = op
        self.fields = fields

    def __getattr__(self, name: str) -> Any:
        return self.fields.get(name)

    def __str__(self) -> str:
        return " ".join([self.op, *(str(value) for value in self.fields.values())])


class FakeCore:
    """Stands in for `espalier._core`, with the same names and plausible answers."""

    def __init__(self) -> None:
        self.violations: list[Any] = []
        self.Topology = lambda node_of, single_copy, oversubscribed, slow_handover: SimpleNamespace(
            node_of=node_of, ranks=len(node_of)
        )

    def probe_slow_handover(self) -> bool:
        return False

    def virtual_node_of(self, spec: str, index: int, count: int) -> int:
        if spec.startswith("cyclic:"):
            return index % int(spec[7:])
        if "," not in spec:
            return index * int(spec) // count
        sizes = [int(size) for size in spec.split(",")]
        return next(node for node in range(len(sizes)) if index < sum(sizes[: node + 1]))

    def choose(self, topology: Any, operation: str, size: int, root: int) -> Any:
        if operation not in ("broadcast", "bcast", "allgather", "barrier"):
            raise ValueError(f"'{operation}' is no operation: broadcast, allgather or barrier")
        choice = self.parse_choice(operation, "knomial,radix=4,cells=8")
        return SimpleNamespace(choice=choice, reason="small enough for one stage")

    def rank_choices(self, topology: Any, operation: str, size: int, root: int) -> list[tuple[Any, float]]:
        return [(FakeChoice("knomial,radix=4,cells=8"), 4.25), (FakeChoice("chain"), 61.0)]

    def parse_choice(self, operation: str, text: str) -> Any:
        if not text.startswith(("knomial", "chain")):
            raise ValueError(f"unknown algorithm in '{text}'")
        return FakeChoice(text)

    def why_invalid(self, topology: Any, operation: str, size: int, choice: Any) -> str:
        return ""

    def build(self, topology: Any, operation: str, size: int, root: int, choice: Any) -> Any:
        nodes = len(set(topology.node_of))
        steps = [FakeStep("put", bytes=4), FakeStep("post", flag="ready")]
        program = SimpleNamespace(steps=steps, scratch_bytes=0, window_bytes=64, slots=1)
        return SimpleNamespace(
            operation="broadcast" if operation == "bcast" else operation,
            choice=choice,
            programs=[program] * len(topology.node_of),
            traffic=lambda: [dict(TRAFFIC)] * nodes,
            longest_program=2,
        )

    def build_part(self, topology: Any, operation: str, size: int, root: int, choice: Any, ranks: list[int]) -> Any:
        return self.build(topology, operation, size, root, choice)

    def algorithms(self) -> list[Any]:
        facts = {"name": "broadcast_knomial", "between": "knomial", "summary": "a tree", "source": "folklore"}
        return [SimpleNamespace(operation="broadcast", knobs="", **facts)]

    def account_for(self, plan: Any, node: int) -> Any:
        return SimpleNamespace(connections_in=0, connections_out=0, network=[], phases=[])

    def probe_node(self) -> Any:
        raise ValueError("no processors in /sys")

    def probe_table_files(self, table: str, store: str) -> list[str]:
        return [table] if table else []

    def check_settings(self, variables: list[str]) -> list[str]:
        return [f"{it}: write 1 or 0" for it in variables if it == "ESPALIER_VERBOSE=maybe"]

    def parse_bytes(self, text: str) -> int:
        return int(text)

    def why_not_served(self, only: str, excluded: str, program: str) -> str:
        return ""

    def uses_devices(self, path: str) -> bool:
        return False

    def least_shared_memory(self, ranks: int) -> int:
        return 2048 * ranks

    def settings(self) -> list[Any]:
        names = ("ESPALIER_VERBOSE", "ESPALIER_STATS", "ESPALIER_SHM_LIMIT", "ESPALIER_VIRTUAL_NODES")
        names += ("ESPALIER_CHOICE_BROADCAST",)
        return [SimpleNamespace(name=name, default="", help="") for name in names]

    def verify_random(self, count: int, seed: int, progress: Callable[..., Any]) -> dict[str, Any]:
        progress(count)
        return {"checked": count, "violations": self.violations}


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    """A stand-in for the compiled core, so that the front-ends are tested apart from it."""
    fake = FakeCore()
    monkeypatch.setitem(sys.modules, "espalier._core", fake)  # type: ignore[arg-type]
    return fake
