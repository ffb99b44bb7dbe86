"""A simulated InfiniBand subnet: ibsim with a real opensm, and the real tools in front of it. No hardware, no root."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PATIENCE_S = 120
TOOLS = ("ibnetdiscover", "dump_fts")
# The Debian packages put them where users' shells do not look.
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def find_tool(name: str) -> str | None:
    return shutil.which(name, path=_PATH)


def is_there() -> bool:
    return all(find_tool(name) for name in ("ibsim", "opensm", *TOOLS)) and _shim() is not None


def _shim() -> Path | None:
    """The library that turns the tools' device into the simulator."""
    return next(Path("/usr/lib").glob("*/umad2sim/libumad2sim.so"), None)


@dataclass
class Simulation:
    """A running subnet. `tools` is to be first in PATH."""

    folder: Path
    tools: Path
    simulator: subprocess.Popen[bytes]
    manager: subprocess.Popen[bytes]

    @property
    def log(self) -> Path:
        return self.folder / "osm.log"

    def sweeps(self) -> int:
        return self.log.read_bytes().count(b"SUBNET UP") if self.log.exists() else 0

    def happen(self, *events: str) -> None:
        """Tells the simulator ("Unlink …"), then lets the subnet manager sweep, and waits for it."""
        before = self.sweeps()
        assert self.simulator.stdin is not None
        for event in events:
            self.simulator.stdin.write(event.encode() + b"\n")
            self.simulator.stdin.flush()
        time.sleep(1)  # ibsim says nothing when it is done
        self.manager.send_signal(signal.SIGHUP)
        self.wait_for_sweep(before)

    def wait_for_sweep(self, before: int) -> None:
        end = time.monotonic() + PATIENCE_S
        while self.sweeps() <= before:
            assert time.monotonic() < end, "opensm does not sweep"
            assert self.manager.poll() is None, "opensm has ended"
            time.sleep(0.1)


@contextmanager
def simulate(network: Path, folder: Path) -> Iterator[Simulation]:
    """Starts a subnet as `network` (ibnetdiscover's output) describes it."""
    shim = _shim()
    first = re.search(r'^Ca[^"]*"([^"]*)"', network.read_text(), re.MULTILINE)
    assert first is not None
    environment = dict(
        os.environ,
        IBSIM_SOCKNAME=f"espalier-{os.getpid()}",
        SIM_HOST=first[1],
        OSM_TMP_DIR=str(folder),
        OSM_CACHE_DIR=str(folder),
        LD_PRELOAD=str(shim),
    )
    tools = _wrap_tools(folder / "tools", environment)
    plain = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}
    with (folder / "ibsim.log").open("wb") as output:
        simulator = subprocess.Popen(
            [str(find_tool("ibsim")), "-s", str(network)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=plain,
            cwd=folder,
        )
    try:
        _wait_for(folder / "ibsim.log", b"simulator ready")
        # Without -d 2 the log is buffered.
        options = ["-R", "minhop", "-e", "-f", str(folder / "osm.log"), "--dump_files_dir", str(folder), "-s", "0"]
        with (folder / "osm.out").open("wb") as output:
            manager = subprocess.Popen(
                [str(find_tool("opensm")), *options, "-D", "0x47", "-d", "2"],
                stdout=output,
                stderr=output,
                env=environment,
                cwd=folder,
            )
        try:
            simulation = Simulation(folder, tools, simulator, manager)
            simulation.wait_for_sweep(0)
            yield simulation
        finally:
            _end(manager)
    finally:
        _end(simulator)


def _wrap_tools(folder: Path, environment: dict[str, str]) -> Path:
    """The tools under their names, in front of the simulator."""
    folder.mkdir()
    names = ("IBSIM_SOCKNAME", "SIM_HOST", "LD_PRELOAD")
    settings = " ".join(f"{name}='{environment[name]}'" for name in names)
    for name in TOOLS:
        script = folder / name
        script.write_text(f'#!/bin/sh\n{settings} exec {find_tool(name)} "$@"\n')
        script.chmod(0o755)
    return folder


def _wait_for(log: Path, text: bytes) -> None:
    end = time.monotonic() + PATIENCE_S
    while text not in log.read_bytes():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.05)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(10)
    process.kill()
    process.wait()
