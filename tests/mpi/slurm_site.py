"""A site with Slurm on the emulated cluster, as the tests of it see it: a login node, where commands are typed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from espalier.jobs.libraries import Abi, find_any_library, find_preload_library
from espalier.lab import cluster
from launch import CHECKOUT, Outcome, TestMpi, clean_environment, run_command

NODES = 3
PACKAGING = CHECKOUT / "packaging"

# Sums over all ranks fifty times, or as often as it is told, then says where each is; told 0, it never ends.
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** words) {
  int rank, size, sum = 0;
  char host[64];
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int calls = count > 1 ? atoi(words[1]) : 50;
  for (int i = 0; calls == 0 || i < calls; ++i) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (calls == 0 && rank == 0 && i == 300) puts("three hundred"), fflush(stdout);
  }
  gethostname(host, sizeof host);
  printf("rank %d of %d on %s: %s\n", rank, size, host, sum == size * (size - 1) / 2 ? "right" : "wrong");
  MPI_Finalize();
  return 0;
}
"""
# Every emulated node believes that all of this machine's processors are its own.
SHARED = {"ESPALIER_WAIT_SPIN": "0", "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "I_MPI_THREAD_YIELD": "3"}
SHARED |= {"MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "16", "OMPI_MCA_mpi_yield_when_idle": "1"}
# Between nodes only through their interface; what is done without a network card is no news.
NETWORK = {"UCX_TLS": "tcp,self", "FI_PROVIDER": "tcp", "OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_pml": "ob1"}
NETWORK |= {"OMPI_MCA_btl_tcp_if_include": "eth0", "OMPI_MCA_btl_base_warn_component_unused": "0"}


@dataclass(frozen=True)
class Slurm:
    """The front of a cluster that is up."""

    folder: Path  # that all nodes see
    prefix: Path  # where Espalier is installed for all users

    def type(self, *command: str, timeout: float = 120, **variables: str) -> Outcome:
        """Runs a command as somebody on the login node would."""
        line, extra = cluster.front_command(command)
        path = {"PATH": f"{self.prefix}/bin:{os.environ['PATH']}"}
        environment = {**clean_environment(), **SHARED, **NETWORK, **path, **extra, **variables}
        return run_command(line, environment, timeout)

    def submit(self, *words: str, **variables: str) -> int:
        """Hands a job in; its number."""
        done = self.type("sbatch", "--parsable", "--chdir", str(self.folder), *words, **variables)
        assert done.code == 0, str(done)
        return int(done.out)

    def await_end(self, job: int, timeout: float = 200) -> str:
        """Waits for a job to be over; how Slurm calls its end."""
        words = (
            "sh",
            "-c",
            f"while squeue -h -j {job} 2>/dev/null | grep -q .; do sleep 0.2; done; scontrol show job {job}",
        )
        found = re.search(r"JobState=(\w+)", self.type(*words, timeout=timeout).out)
        return found[1] if found else ""


def install(prefix: Path) -> None:
    """A prefix with the command and the libraries that are installed here."""
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib").mkdir()
    script = prefix / "bin" / "espalier"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m espalier "$@"\n')
    script.chmod(0o755)
    for library in (find_any_library(), *(find_preload_library(abi) for abi in Abi)):
        (prefix / "lib" / f"{library.stem}.so.0").symlink_to(library)


def compile_program(mpi: TestMpi, folder: Path) -> str:
    """The program, linked with an MPI as its users link theirs: a path."""
    launcher = mpi.mpi.launcher
    assert launcher is not None
    compiler = str(launcher).replace("mpiexec", "mpicc")
    path = folder / f"app_{mpi.name}"
    if not path.exists():
        words = [compiler, "-x", "c", "-", "-o", str(path), f"-Wl,-rpath,{mpi.mpi.library.parent}"]
        subprocess.run(words, input=PROGRAM, text=True, check=True, cwd=folder)
    return str(path)


def nodes_of(out: str) -> dict[str, int]:
    """How many ranks say that they are on each node. Fails where one computed something wrong."""
    found = re.findall(r"^rank \d+ of \d+ on (\w+): (\w+)$", out, re.MULTILINE)
    assert all(word == "right" for _, word in found), out
    hosts = [host for host, _ in found]
    return {host: hosts.count(host) for host in sorted(hosts)}


def handled(err: str) -> int:
    """Allreduces that Espalier has done, as rank 0 says with ESPALIER_VERBOSE=1; -1 where it says nothing."""
    found: Sequence[str] = re.findall(r"MPI_Allreduce: handled (\d+)", err)
    return sum(int(count) for count in found) if found else -1
