"""A recorded program's collectives played again on this machine, natively and by Espalier in turns."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from espalier.base.errors import UserError
from espalier.jobs.launch import Job, measuring_job
from espalier.jobs.libraries import find_replay_worker
from espalier.jobs.mpis import Family, Mpi, parse_version
from espalier.measure.programs import run_program
from espalier.measure.rounds import Rounds
from espalier.replay.script import Piece, Script


@dataclass(frozen=True)
class ReplayRow:
    """One kind of call. Times are medians of a round's calls, in µs, by round."""

    piece: Piece
    rounds: Rounds  # native, Espalier
    choice: str

    @property
    def native_us(self) -> float:
        return median(self.rounds.first)

    @property
    def own_us(self) -> float:
        return median(self.rounds.second)


@dataclass(frozen=True)
class Replay:
    """What came of it, under `mpi`."""

    mpi: Mpi

    rows: tuple[ReplayRow, ...]  # what takes the program longest first
    played: Rounds  # seconds for the whole script, computation included
    script: Script
    one_clock: bool  # whether all ranks could read it: else times hold waiting, too
    oversubscribed: bool

    @property
    def collectives(self) -> Rounds:
        """Seconds of all the program's calls: as many of each kind as it made, at the time of one."""
        return Rounds(*(self._sum(arm) for arm in ("first", "second")))

    def _sum(self, arm: str) -> tuple[float, ...]:
        by_round = zip(*(getattr(row.rounds, arm) for row in self.rows), strict=True)
        calls = [row.piece.calls for row in self.rows]
        return tuple(1e-6 * sum(map(float.__mul__, map(float, calls), times)) for times in by_round)

    @property
    def heading(self) -> str:
        """Who played, and whether that is whom the program ran under."""
        played = f"{self.script.ranks} ranks under {self.mpi}"
        family, version = parse_version(self.script.mpi)
        if (family, version) == (self.mpi.family, self.mpi.version):
            return f"{played}, as recorded"
        if not self.script.mpi:
            return f"{played}; the profile does not say which MPI it was recorded under"
        recorded = self.script.mpi if family is Family.UNKNOWN else f"{family} {version}"
        return f"{played}, but recorded under {recorded}: times are not that one's"

    @property
    def verdict(self) -> str:
        """Two sentences."""
        if not self.rows:
            return "Nothing that was recorded can be played."
        whole = f"Played with all that lies between, the calls take {_compare(self.played)}."
        return f"{whole} Without waiting for who comes late, all of the program's take {_compare(self.collectives)}."

    def as_json(self) -> dict[str, Any]:
        """The same, as plain data."""
        return {
            "ranks": self.script.ranks,
            "mpi": str(self.mpi),
            "recorded_mpi": self.script.mpi or None,
            "calls_played": len(self.script.calls),
            "left_out": dict(self.script.left_out),
            "one_clock": self.one_clock,
            "oversubscribed": self.oversubscribed,
            "played_seconds": _describe(self.played),
            "collective_seconds": _describe(self.collectives) if self.rows else None,
            "verdict": self.verdict,
            "rows": [_row_as_json(row) for row in self.rows],
        }


def _compare(rounds: Rounds) -> str:
    least, greatest = rounds.range
    times = f"{median(rounds.first):.3g} s natively and {median(rounds.second):.3g} s with Espalier"
    doubt = f"{rounds.doubt}, " if rounds.doubt else ""
    return f"{times} ({doubt}native ÷ Espalier {rounds.ratio:.2f}, {least:.2f} to {greatest:.2f})"


def _describe(rounds: Rounds) -> dict[str, Any]:
    least, greatest = rounds.range
    return {
        "native": list(rounds.first),
        "espalier": list(rounds.second),
        "ratio": rounds.ratio,
        "ratio_min": least,
        "ratio_max": greatest,
        "decided": rounds.is_decided,
        "doubt": rounds.doubt or None,
    }


def _row_as_json(row: ReplayRow) -> dict[str, Any]:
    piece = row.piece
    return {
        "communicator": piece.key.communicator,
        "members": list(piece.members),
        "operation": piece.key.name,
        "form": piece.key.form,
        "block_bytes": sum(piece.blocks) // len(piece.blocks),
        "calls": piece.calls,
        "early_us": list(piece.early),
        "gap_us": piece.gaps,
        "choice": row.choice,
        "us": _describe(row.rounds),
    }


def play_script(
    script: Script, mpi: Mpi, rounds: int, settings: Mapping[str, str], scratch: Path, timeout: float | None = None
) -> Replay:
    """Plays `script` under `mpi`. `scratch` is a folder for its file; `timeout` is in seconds.

    Raises UserError where there is nothing to play, or the job fails or does not end in time.
    """
    if not script.pieces:
        raise UserError("nothing that was recorded can be played", "see espalier profile --from for what there is")
    file = scratch / "script"
    file.write_text(script.write(), encoding="utf-8")
    worker = [str(find_replay_worker(mpi.abi)), str(file), str(rounds)]
    job = measuring_job(mpi, worker, script.ranks, settings)
    return condense(script, mpi, _play(job, scratch, timeout))


def _play(job: Job, scratch: Path, timeout: float | None) -> list[dict[str, Any]]:
    done = run_program(job, scratch, timeout)
    if done.code is None:
        raise UserError(f"the replay under {job.target.mpi} did not end within {timeout:g} s", "give more --timeout")
    if done.code != 0:
        raise UserError(f"the replay under {job.target.mpi} ended with exit code {done.code}", done.last_words)
    return [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]


def condense(script: Script, mpi: Mpi, said: Sequence[Mapping[str, Any]]) -> Replay:
    """What the worker has printed, by kind of call. Raises UserError where that is not complete."""
    rounds = [line for line in said if "round" in line]
    ends = [line for line in said if "choices" in line]
    if not rounds or not ends:
        raise UserError("the replay printed no result", "see its messages above; try: espalier doctor")
    rows = []
    for number, piece in enumerate(script.pieces):
        native, own = (tuple(_positive(line[arm][number]) for line in rounds) for arm in ("native", "espalier"))
        rows.append(ReplayRow(piece, Rounds(native, own), ends[0]["choices"][number]))
    rows.sort(key=lambda row: -row.piece.calls * row.native_us)
    played = (tuple(line[f"{arm}_us"] * 1e-6 for line in rounds) for arm in ("native", "espalier"))
    one_clock, oversubscribed = ends[0]["machines"] == 1, script.ranks > ends[0]["cores"]
    return Replay(mpi, tuple(rows), Rounds(*played), script, one_clock, oversubscribed)


def _positive(us: float) -> float:
    """A call that took less than the clock can tell took something all the same: ratios are to be finite."""
    return max(float(us), 1e-3) if math.isfinite(us) else 1e-3
