"""What ranks are to do to play a recorded program again: a profile's kinds of calls, dealt out in time. Pure."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from espalier.profile.reading import Key, Kind, Part, Recorded, name_members, parse_members

# As programs call it: (the name that MPI has without counts, with counts, with types). Others are not played.
_PLAYED = {
    "MPI_Bcast": ("bcast", "", ""),
    "MPI_Scatter": ("scatter", "scatterv", ""),
    "MPI_Gather": ("gather", "gatherv", ""),
    "MPI_Allgather": ("allgather", "allgatherv", ""),
    "MPI_Alltoall": ("alltoall", "alltoallv", "alltoallw"),
    "MPI_Reduce": ("reduce", "", ""),
    "MPI_Allreduce": ("allreduce", "", ""),
    "MPI_Reduce_scatter": ("reduce_scatter_block", "reduce_scatter", ""),
    "MPI_Scan": ("scan", "", ""),
    "MPI_Exscan": ("exscan", "", ""),
    "MPI_Barrier": ("barrier", "", ""),
    "MPI_Neighbor_allgather": ("neighbor_allgather", "neighbor_allgatherv", ""),
    "MPI_Neighbor_alltoall": ("neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw"),
}
_REDUCING = ("reduce", "allreduce", "reduce_scatter_block", "reduce_scatter", "scan", "exscan")
_ROOTED = ("bcast", "scatter", "scatterv", "gather", "gatherv", "reduce")
# Of these a rank's bytes with counts are those of all blocks, or of all that it sends.
_SUMMED = ("allgatherv", "reduce_scatter", "alltoallv", "alltoallw")
# Whoever gets a block of these knows how long it is: as long as all others' of this kind.
_UNIFORM = (
    *("bcast", "reduce", "allreduce", "scan", "exscan", "reduce_scatter_block"),
    *("neighbor_allgather", "neighbor_alltoall"),
)
_US = 1e6
_LONGEST_GAP_US = 1000.0  # a program that computes for longer is not kept waiting for
_MOST_BYTES = 1 << 28  # of all blocks of a call
_SEED = 1


Neighbors = tuple[tuple[int, ...], tuple[int, ...]]  # members from whom blocks come, and to whom they go


@dataclass(frozen=True)
class Piece:
    """Calls of one kind. Times are in µs; `blocks` and `early` are by member."""

    key: Key
    operation: str  # of _PLAYED
    members: tuple[int, ...]  # ranks of the program, in the communicator's order
    calls: int  # of the program
    blocks: tuple[int, ...]  # bytes of a member's block; of the message, where there is one
    early: tuple[float, ...]  # how long before the last of them a member comes, if it is not the last
    lasts: Mapping[int, float]  # how often a member comes last, as weights
    roots: Mapping[int, float]
    gap: float  # from the end of the call before until the last comes
    between: float  # from start to completion
    first: float  # of the program's calls, since its start
    last: float
    neighbors: tuple[Neighbors, ...] = ()  # by member, of neighbourhood collectives; else none

    @property
    def root(self) -> int:
        """That of most calls."""
        return max(self.roots, key=lambda root: self.roots[root], default=0)

    @property
    def gaps(self) -> float:
        """Long enough for whoever comes early."""
        return max(min(self.gap, _LONGEST_GAP_US), *self.early)


@dataclass(frozen=True)
class Call:
    """One call that is to be made. `last` and `root` are members of its piece."""

    piece: int
    root: int
    last: int


@dataclass(frozen=True)
class Script:
    """A program, or a sample of its calls in the same proportions."""

    ranks: int
    pieces: tuple[Piece, ...]
    calls: tuple[Call, ...]
    left_out: Mapping[str, int]  # calls that cannot be played, by MPI's name
    mpi: str = ""  # that the program ran under, as it says itself; empty: not told

    def name_communicator(self, piece: Piece) -> str:
        """Its shape, and its ranks where there are several of that shape."""
        shape = piece.key.communicator
        if len({frozenset(it.members) for it in self.pieces if it.key.communicator == shape}) < 2:
            return shape
        return f"{shape} ({name_members(piece.members)})"

    def write(self) -> str:
        """As bench/replay/script.h reads it."""
        lines = [f"replay 2 {self.ranks} {len(self.pieces)} {len(self.calls)}"]
        for piece in self.pieces:
            lines.append(
                f"piece {piece.operation} {piece.key.form} {len(piece.members)} {piece.root} "
                f"{piece.gaps:.3f} {min(piece.between, _LONGEST_GAP_US):.3f}"
            )
            neighbors = piece.neighbors or (((), ()),) * len(piece.members)
            lines += [
                f"{member} {block} {early:.3f} {_listed(sources)} {_listed(destinations)}"
                for member, block, early, (sources, destinations) in zip(
                    piece.members, piece.blocks, piece.early, neighbors, strict=True
                )
            ]
        lines += [f"{call.piece} {call.root} {call.last}" for call in self.calls]
        return "\n".join(lines) + "\n"


def _listed(members: Sequence[int]) -> str:
    return " ".join(map(str, [len(members), *members]))


def derive_script(recorded: Recorded, most_calls: int, computes: bool = True) -> Script:
    """At most about so many calls, at least one of each kind; without `computes` gaps are only those of who is late.

    The same profile always gives the same script.
    """
    pieces, left_out = [], dict[str, int]()
    for kind, parts in _join_counts(recorded.kinds).items():
        if not any(part.calls for part in parts):  # persistent ones that were never started
            continue
        piece = _derive_piece(kind, parts)
        if piece is None:
            calls = max(part.calls for part in parts)
            left_out[kind.key.name] = left_out.get(kind.key.name, 0) + calls
        else:
            pieces.append(piece if computes else replace(piece, gap=0.0))
    pieces.sort(key=lambda piece: (piece.first, piece.key.operation, piece.key.size_class, piece.members))
    dealt = tuple(_deal_out(pieces, most_calls))
    return Script(len(recorded.run_seconds), tuple(pieces), dealt, left_out, recorded.mpi)


def _join_counts(kinds: Mapping[Kind, list[Part]]) -> Mapping[Kind, list[Part]]:
    """With counts each rank has sizes of its own, so that one call is of several classes: here they are one kind.
    Those whose sizes are not known stay apart."""
    joined: dict[Kind, dict[int, Part]] = {}
    for kind, parts in kinds.items():
        if kind.key.has_counts and kind.key.size_class >= 0:
            kind = replace(kind, key=replace(kind.key, size_class=0))
        known = joined.setdefault(kind, {})
        for part in parts:
            known[part.rank] = known[part.rank] + part if part.rank in known else part
    return {kind: list(parts.values()) for kind, parts in joined.items()}


def _derive_piece(kind: Kind, parts: Sequence[Part]) -> Piece | None:
    """None: it cannot be played, since its operation, its size, its ranks or its graph are not known."""
    names = _PLAYED.get(kind.key.operation)
    operation = names[2 if kind.key.has_types else kind.key.has_counts] if names else ""
    members = parse_members(kind.members)
    by_rank = {part.rank: part for part in parts}
    if not operation or len(members) < 2 or set(by_rank) != set(members):
        return None
    own = [by_rank[member] for member in members]
    if not all(part.calls for part in own):
        return None
    if kind.key.size_class < 0:
        return None
    neighbors = _derive_neighbors(own) if operation.startswith("neighbor") else ()
    if neighbors is None:
        return None
    blocks = _derive_blocks(operation, own)
    copies = max((len(destinations) for _, destinations in neighbors), default=1)
    if sum(blocks) * max(1, copies) > _MOST_BYTES:
        return None
    early = _derive_early(own)
    mean = sum(blocks) // len(blocks)
    return Piece(
        key=replace(kind.key, size_class=mean.bit_length()) if kind.key.has_counts else kind.key,
        operation=operation,
        members=members,
        calls=max(part.calls for part in own),
        blocks=blocks,
        early=early,
        lasts=_derive_lasts(own, members, early),
        roots={root: float(calls) for root, calls in own[0].roots.items() if root < len(members)},
        gap=max(_per_call(part.gap, part) for part in own),
        between=max(_per_call(part.between, part) for part in own),
        first=own[0].first,
        last=own[0].last,
        neighbors=neighbors,
    )


def _derive_neighbors(own: Sequence[Part]) -> tuple[Neighbors, ...] | None:
    """None: not all ranks followed one graph, or what was told is none."""
    edges = Counter[tuple[int, int]]()
    found = []
    for place, part in enumerate(own):
        if part.neighbors is None:
            return None
        sources, destinations = part.neighbors
        edges.update((place, to) for to in destinations)
        edges.subtract((source, place) for source in sources)
        found.append(part.neighbors)
    return None if any(edges.values()) else tuple(found)


def _per_call(seconds: float, part: Part) -> float:
    return _US * seconds / part.calls


def _derive_blocks(operation: str, own: Sequence[Part]) -> tuple[int, ...]:
    means = [part.bytes // part.calls for part in own]
    if operation in _SUMMED:
        means = [mean // len(own) for mean in means]
    if operation in ("neighbor_alltoallv", "neighbor_alltoallw"):
        degrees = [len(part.neighbors[1]) if part.neighbors else 0 for part in own]
        means = [mean // max(1, degree) for mean, degree in zip(means, degrees, strict=True)]
    roots = own[0].roots
    if operation in ("scatterv", "gatherv") and roots:  # the root's are all blocks
        root = max(roots, key=lambda it: roots[it])
        others = [mean for member, mean in enumerate(means) if member != root]
        if root < len(means):
            means[root] = sum(others) // len(others)
    if operation in _UNIFORM:
        means = [means[0]] * len(means)
    return tuple(_whole(operation, mean) for mean in means)


def _whole(operation: str, size: int) -> int:
    """Sums are of doubles, or of floats where those are too long: what was summed is not recorded."""
    if operation not in _REDUCING or size == 0:
        return size
    element = 8 if size % 8 == 0 or size > 64 else 4
    return max(element, size // element * element)


def _derive_early(own: Sequence[Part]) -> tuple[float, ...]:
    """By how much. Where waiting is not known, who is in calls for longer comes earlier by that."""
    if all(part.split for part in own):
        return tuple(_US * part.waiting / part.split for part in own)
    means = [_per_call(part.seconds - part.between, part) for part in own]
    return tuple(mean - min(means) for mean in means)


def _derive_lasts(own: Sequence[Part], members: tuple[int, ...], early: Sequence[float]) -> Mapping[int, float]:
    place = {member: number for number, member in enumerate(members)}
    weights: dict[int, float] = {}
    for part in own:
        for member, seconds in part.waited_for.items():
            if member in place and seconds > 0:
                weights[place[member]] = weights.get(place[member], 0.0) + seconds
    return weights or {min(range(len(own)), key=lambda number: early[number]): 1.0}


def _deal_out(pieces: Sequence[Piece], most_calls: int) -> Iterable[Call]:
    """In the order of their times in the program, where a kind's calls are spread evenly."""
    total = sum(piece.calls for piece in pieces)
    share = min(1.0, most_calls / total) if total else 1.0
    chance = random.Random(_SEED)
    dealt: list[tuple[float, int]] = []
    for number, piece in enumerate(pieces):
        calls = max(1, round(piece.calls * share))
        dealt += [(piece.first + (piece.last - piece.first) * i / calls, number) for i in range(calls)]
    for _, number in sorted(dealt):
        piece = pieces[number]
        root = _draw(chance, piece.roots) if piece.operation in _ROOTED else 0
        yield Call(number, root, _draw(chance, piece.lasts))


def _draw(chance: random.Random, weights: Mapping[int, float]) -> int:
    return chance.choices(list(weights), list(weights.values()))[0] if weights else 0
