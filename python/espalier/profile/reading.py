"""Reads ESPALIER_PROFILE's file: every rank's sums, by kind of call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from espalier.base.errors import UserError

FORMAT = 1


@dataclass(frozen=True)
class Key:
    """Calls that are reported together."""

    communicator: str  # "8 ranks on 2 nodes"
    operation: str  # "MPI_Allreduce"
    has_counts: bool
    size_class: int  # 0: no bytes; k: from 2^(k-1) to below 2^k; -1: not known

    @property
    def size(self) -> int:
        """The least size of the class, in bytes."""
        return 0 if self.size_class <= 0 else 1 << (self.size_class - 1)

    @property
    def name(self) -> str:
        """As MPI calls it: MPI_Gatherv where there is a count for each rank."""
        if self.operation == "MPI_Reduce_scatter":
            return self.operation if self.has_counts else f"{self.operation}_block"
        return f"{self.operation}v" if self.has_counts else self.operation


@dataclass(frozen=True)
class Moments:
    """Times of some calls, in seconds."""

    calls: int = 0
    seconds: float = 0.0
    squares: float = 0.0

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.calls + other.calls, self.seconds + other.seconds, self.squares + other.squares)

    @property
    def mean(self) -> float:
        return self.seconds / self.calls if self.calls else 0.0

    @property
    def error_squared(self) -> float:
        """Of the mean: the variance of the times, divided by their number."""
        if self.calls < 2:
            return 0.0
        variance = max(0.0, self.squares / self.calls - self.mean**2) * self.calls / (self.calls - 1)
        return variance / self.calls


@dataclass(frozen=True)
class Part:
    """One rank's calls of one kind."""

    rank: int
    calls: int
    bytes: int
    native: int
    seconds: float
    waiting: float
    split: int  # calls of which it is known what was waiting
    own: Moments  # without waiting
    sample: Moments
    choice: str
    waited_for: Mapping[int, float] = field(default_factory=dict)  # seconds, by the rank that came last


@dataclass(frozen=True)
class Recorded:
    """The whole file."""

    run_seconds: Mapping[int, float]  # by rank, from MPI_Init's end to MPI_Finalize
    parts: Mapping[Key, list[Part]]
    sample: int  # every so many-th call was native's; 0: none


def read_profile(path: Path) -> Recorded:
    """Raises UserError, naming the file, for anything that is no profile."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}", "was MPI_Finalize called? did Espalier serve the job?") from error
    except ValueError as error:
        raise UserError(f"{path} is no profile: {error}", "give a file that ESPALIER_PROFILE has named") from error
    try:
        return _read(raw)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{path} is no profile: {error!r}", "give a file that ESPALIER_PROFILE has named") from error


def _read(raw: Any) -> Recorded:
    if raw["format"] != FORMAT:
        raise ValueError(f"format {raw['format']}, not {FORMAT}")
    parts: dict[Key, list[Part]] = {}
    for rank in raw["ranks"]:
        for row in rank["rows"]:
            key = Key(row["communicator"], row["operation"], bool(row["counts"]), int(row["size_class"]))
            parts.setdefault(key, []).append(_read_part(int(rank["rank"]), row))
    seconds = {int(rank["rank"]): float(rank["seconds"]) for rank in raw["ranks"]}
    return Recorded(seconds, parts, int(raw["sample"]))


def _read_part(rank: int, row: Mapping[str, Any]) -> Part:
    return Part(
        rank,
        int(row["calls"]),
        int(row["bytes"]),
        int(row["native"]),
        float(row["seconds"]),
        float(row["waiting"]),
        int(row["split"]),
        _read_moments(row["own"]),
        _read_moments(row["sample"]),
        str(row["choice"]),
        {int(other): float(seconds) for other, seconds in row["waited_for"].items()},
    )


def _read_moments(raw: Mapping[str, Any]) -> Moments:
    return Moments(int(raw["calls"]), float(raw["seconds"]), float(raw["squares"]))


def sum_moments(moments: Iterable[Moments]) -> Moments:
    """All of them together."""
    return sum(moments, Moments())
