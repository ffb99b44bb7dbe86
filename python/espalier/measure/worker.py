"""The job that measures, and the conversation with it: one line there, one line of JSON back."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from espalier.base.errors import UserError
from espalier.jobs.launch import Place, build_command, is_here, measuring_job
from espalier.jobs.libraries import find_tune_worker
from espalier.jobs.mpis import Mpi

# The MPI function that stands for an operation where it has another name.
CALLS = {"broadcast": "bcast", "reduce_scatter": "reduce_scatter_block", "reduce_scatterv": "reduce_scatter"}

# A command that takes longer than this hangs. Links of the emulated cluster may need seconds for one call.
_PATIENCE_S, _HOSTS_PATIENCE_S = 120.0, 600.0
# MPICH and Open MPI take seconds to start many ranks on few processors.
_START_PATIENCE_S = 90.0


class WorkerLostError(Exception):
    """The job has ended, or hangs. The text says what was asked last."""


class JobEndedError(WorkerLostError):
    """It has ended."""


def _not_started(mpi: Mpi, argv: Sequence[str], error: WorkerLostError) -> UserError:
    return UserError(f"the tuning job under {mpi} does not start: {error}", f"try by hand: {' '.join(argv)}")


@dataclass(frozen=True)
class ArmTimes:
    """One arm's times of one command: medians of its batches, one per round, in microseconds."""

    arm: str
    said: str  # what Espalier says of the call: an algorithm with all its knobs, "tiny", …
    refused: str  # why it was not measured; else empty
    calls: int
    p50: tuple[float, ...]


@dataclass(frozen=True)
class Hello:
    """Where the job runs."""

    ranks: int
    cores: int  # that the ranks of all machines may use together; emulated nodes share them
    node_cores: int  # that the ranks of one node believe to have
    node_of: tuple[int, ...]  # by rank; ranks of one node share memory
    library: str  # MPI_Get_library_version
    transport: str = ""  # what carries messages between nodes: mpi or ucx; empty on one node


class Worker:
    """One running job. Use as a context manager; whatever happens, nothing of it stays behind."""

    def __init__(self, mpi: Mpi, ranks: int, settings: Mapping[str, str], hosts: Place | None = None) -> None:
        """Starts the job, on `hosts` or on this machine. Raises UserError when it does not come up."""
        # A table that is in force must not steer what "auto" means here; nor what jobs have learned.
        settings = {"ESPALIER_TABLE": "off", "ESPALIER_LEARN": "off", **settings}
        job = measuring_job(mpi, [str(find_tune_worker(mpi.abi))], ranks, settings, hosts)
        self._patience_s = _PATIENCE_S if is_here(hosts) else _HOSTS_PATIENCE_S
        argv, environment = build_command(job)
        # Launchers fail now and then before anything of the job ("The PMIx server's listener thread failed to start":
        # Open MPI 5 on a busy machine): what ends at its start is started once more.
        try:
            self._start(argv, environment)
        except JobEndedError:
            self._start_again(mpi, argv, environment)
        except WorkerLostError as error:
            raise _not_started(mpi, argv, error) from error

    def _start(self, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
            start_new_session=True,  # Ctrl-C is for us: we end the job when its last answer is in
        )
        assert self._process.stdout is not None
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._pending = b""
        self.line_ns = 0.0  # how far apart the first two ranks were in the last measurement (tuning.distances)
        self.others = 0.0  # how many processors other programs kept busy meanwhile
        self.is_disturbed = False  # whether that was so much that the times are doubtful (bench/common/others.h)
        try:
            self.hello = _parse_hello(self._answer("start", _START_PATIENCE_S, "hello"))
        except BaseException:
            self.close()
            raise

    def _start_again(self, mpi: Mpi, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        try:
            self._start(argv, environment)
        except WorkerLostError as error:
            raise _not_started(mpi, argv, error) from error

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def measure(
        self, operation: str, size: int, arms: Sequence[str], rounds: int, batch_us: float, cold: bool = False
    ) -> list[ArmTimes]:
        """Times the arms ("native", "auto", a selection) side by side. Raises WorkerLostError."""
        command = (
            f"measure {CALLS.get(operation, operation)} {size} {rounds} {batch_us:.0f} {int(cold)} {';'.join(arms)}"
        )
        answer = self._ask(command, "arms")
        self._note_conditions(answer)
        return [_parse_arm(fields) for fields in answer["arms"]]

    def look(self) -> float:
        """How far apart the first two ranks are now; also notes what others do. Raises WorkerLostError."""
        self._note_conditions(self._ask("look", "line_ns"))
        return self.line_ns

    def curve(self, name: str) -> list[dict[str, Any]]:
        """The points of a machine curve: copy, waiting, latency, connections, groups. Raises WorkerLostError."""
        points: list[dict[str, Any]] = self._ask(f"curve {name}", "points")["points"]
        return points

    def close(self) -> None:
        """Asks the job to end; after a moment, ends it."""
        with contextlib.suppress(OSError, ValueError):
            assert self._process.stdin is not None
            self._process.stdin.write(b"quit\n")
            self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._kill()
        self._selector.close()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _note_conditions(self, answer: Mapping[str, Any]) -> None:
        self.line_ns, self.others = (float(answer.get(name, 0)) for name in ("line_ns", "others"))
        self.is_disturbed = bool(answer.get("disturbed", 0))

    def _kill(self) -> None:
        # The launcher passes SIGTERM on to the ranks; the group gets whatever is left.
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=3)
                if number == signal.SIGKILL:
                    return

    def _ask(self, command: str, member: str) -> Any:
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(command.encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise WorkerLostError(f"the job has ended before: {command}") from error
        return self._answer(command, self._patience_s, member)

    def _answer(self, command: str, patience_s: float, member: str) -> Any:
        """The next line that is a JSON object with this member; an MPI's own chatter is passed over."""
        deadline = time.monotonic() + patience_s
        while True:
            line, newline, rest = self._pending.partition(b"\n")
            if newline:
                self._pending = rest
                if line.startswith(b"{"):
                    with contextlib.suppress(ValueError):
                        fields = json.loads(line)
                        if member in fields:
                            return fields
                continue
            if not self._selector.select(max(0.0, deadline - time.monotonic())):
                self._kill()
                raise WorkerLostError(f"no answer within {patience_s:.0f} s to: {command}")
            assert self._process.stdout is not None
            block = os.read(self._process.stdout.fileno(), 1 << 16)
            if not block:
                raise JobEndedError(f"the job ended during: {command}")
            self._pending += block


def _parse_hello(fields: Mapping[str, Any]) -> Hello:
    ranks, cores, node_cores = (int(fields[name]) for name in ("ranks", "cores", "node_cores"))
    return Hello(
        ranks, cores, node_cores, tuple(fields["node_of"]), str(fields["library"]), fields.get("transport", "")
    )


def _parse_arm(fields: Mapping[str, Any]) -> ArmTimes:
    return ArmTimes(
        str(fields["arm"]),
        str(fields["said"]),
        str(fields["refused"]),
        int(fields["calls"]),
        tuple(float(time) for time in fields["p50_us"]),
    )
