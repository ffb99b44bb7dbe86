"""A recorded program's collectives on a simulated cluster: the library itself, and others' algorithms, executed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from espalier.base.errors import UserError
from espalier.base.units import counted
from espalier.replay.script import Piece, Script
from espalier.simulation.executor import OURS, Case, Job, Timing, execute

# With counts each block has a length of its own; simulated ranks have blocks of the mean length.
_EVEN = {
    "bcast": "broadcast",
    "scatterv": "scatter",
    "gatherv": "gather",
    "allgatherv": "allgather",
    "alltoallv": "alltoall",
    "alltoallw": "alltoall",
    "reduce_scatter_block": "reduce_scatter",
}
_LONGEST_EARLY_US = 5e5  # simulated calls begin a second apart

Progress = Callable[[str], None]  # told before each simulation what it is


@dataclass(frozen=True)
class SimulatedRow:
    """One kind of call. Times are in µs, by arm; those of arms whose data were wrong, or that failed, are left out."""

    piece: Piece
    times: dict[str, float]
    choice: str


@dataclass(frozen=True)
class SimulatedReplay:
    """What came of it: ours is the first arm."""

    rows: tuple[SimulatedRow, ...]
    arms: tuple[str, ...]
    script: Script
    platform: str
    node_of: tuple[int, ...]  # by the program's ranks

    @property
    def heading(self) -> str:
        """What was simulated, and against whom."""
        where = f"{_shape(self.node_of)} of {self.platform}{_crowd(self.node_of)}, simulated"
        others = [arm for arm in self.arms if arm != OURS]
        return f"{where}; against {', '.join(others)}, as SimGrid knows their algorithms" if others else where

    def communicator(self, row: SimulatedRow) -> str:
        """The shape that its ranks have there, which need not be the recorded one."""
        return _shape([self.node_of[member] for member in row.piece.members])

    def seconds(self, arm: str) -> float | None:
        """Of all the program's calls; None where not all of them worked."""
        times = [row.times.get(arm) for row in self.rows]
        if any(time is None for time in times):
            return None
        return 1e-6 * sum(row.piece.calls * (time or 0.0) for row, time in zip(self.rows, times, strict=True))

    @property
    def verdict(self) -> str:
        """One sentence."""
        own = self.seconds(OURS)
        if own is None or not self.rows:
            return "Not all that was recorded can be simulated."
        others = [(arm, self.seconds(arm)) for arm in self.arms if arm != OURS]
        told = [
            f"{seconds:.3g} s with {arm}'s ({seconds / own:.2f} times)" for arm, seconds in others if seconds and own
        ]
        return f"The program's collectives take {own:.3g} s with Espalier{''.join(f', {it}' for it in told)}."

    def as_json(self) -> dict[str, Any]:
        """The same, as plain data."""
        return {
            "platform": self.platform,
            "ranks": self.script.ranks,
            "nodes": len(set(self.node_of)),
            "left_out": dict(self.script.left_out),
            "seconds": {arm: self.seconds(arm) for arm in self.arms},
            "verdict": self.verdict,
            "rows": [
                {
                    "communicator": self.communicator(row),
                    "operation": row.piece.key.name,
                    "block_bytes": sum(row.piece.blocks) // len(row.piece.blocks),
                    "calls": row.piece.calls,
                    "us": row.times,
                    "choice": row.choice,
                }
                for row in self.rows
            ],
        }


def simulate_script(
    script: Script, platform: str, node_of: Sequence[int], others: Sequence[str], progress: Progress = lambda what: None
) -> SimulatedReplay:
    """Every kind of call alone, its ranks coming as early as they came: on `platform`, node n being its host n.

    `node_of` is by the program's ranks. Raises UserError where SimGrid is missing or the job does not fit the network.
    """
    script = _without_neighbors(script)
    if not script.pieces:
        raise UserError("nothing that was recorded can be simulated", "see espalier profile --from for what there is")
    arms = (OURS, *others)
    groups: dict[tuple[int, ...], list[Piece]] = {}
    for piece in script.pieces:
        groups.setdefault(piece.members, []).append(piece)
    rows: list[SimulatedRow] = []
    for members, pieces in groups.items():
        rows += _simulate_group(pieces, Job(platform, _number([node_of[it] for it in members])), arms, progress)
    rows.sort(key=lambda row: -row.piece.calls * row.times.get(OURS, 0.0))
    return SimulatedReplay(tuple(rows), arms, script, platform, tuple(node_of))


def _without_neighbors(script: Script) -> Script:
    """SimGrid's MPI has no neighbourhood collectives."""
    left_out = dict(script.left_out)
    for piece in script.pieces:
        if piece.neighbors:
            left_out[piece.key.operation] = left_out.get(piece.key.operation, 0) + piece.calls
    return replace(script, pieces=tuple(it for it in script.pieces if not it.neighbors), calls=(), left_out=left_out)


def _simulate_group(pieces: Sequence[Piece], job: Job, arms: Sequence[str], progress: Progress) -> list[SimulatedRow]:
    cases = [_case(piece) for piece in pieces]
    times: list[dict[str, float]] = [{} for _ in pieces]
    choices = [""] * len(pieces)
    for arm in arms:
        progress(f"{arm}, {len(job.node_of)} ranks")
        for number, timing in enumerate(_execute(job, arm, cases)):
            if timing.wrong == 0:
                times[number][arm] = timing.microseconds
            choices[number] = choices[number] or timing.choice
    return [SimulatedRow(*row) for row in zip(pieces, times, choices, strict=True)]


def _execute(job: Job, arm: str, cases: Sequence[Case]) -> list[Timing]:
    """Ours must work; another that fails is left out."""
    try:
        return execute(job, arm, cases)
    except UserError:
        if arm == OURS:
            raise
        return []


def _case(piece: Piece) -> Case:
    """Whoever comes last most often comes last."""
    last = max(piece.lasts, key=lambda member: piece.lasts[member])
    early = tuple(0.0 if place == last else min(it, _LONGEST_EARLY_US) for place, it in enumerate(piece.early))
    mean = sum(piece.blocks) // len(piece.blocks)
    return Case(_EVEN.get(piece.operation, piece.operation), (mean + 3) // 4 * 4, piece.root, early)


def _shape(nodes: Sequence[int]) -> str:
    """As profiles tell it: `4 ranks on 2 nodes`."""
    return f"{counted(len(nodes), 'rank')} on {counted(len(set(nodes)), 'node')}"


def _crowd(nodes: Sequence[int]) -> str:
    """How many ranks a node has."""
    sizes = Counter(nodes).values()
    least, most = min(sizes), max(sizes)
    return f", {least if least == most else f'{least} to {most}'} on each"


def _number(nodes: Sequence[int]) -> list[int]:
    """From 0 on, in the order of their first appearance."""
    known = {node: number for number, node in enumerate(dict.fromkeys(nodes))}
    return [known[node] for node in nodes]
