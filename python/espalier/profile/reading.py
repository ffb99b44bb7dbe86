"""Reads ESPALIER_PROFILE's file: every rank's sums, by kind of call.

    {"format": 3, "mpi": "MPICH Version: 5.0.2", "sample": 0, "nodes": [0, 0, 1, 1], "ranks": [
      {"rank": 0, "seconds": 12.5, "threads": 1, "rows": [ROW, …]}, …]}

`mpi` is the first line of what the MPI says of itself, which older files do not have; `nodes` has the node of every
rank of MPI_COMM_WORLD; `seconds` are those from MPI_Init's end to MPI_Finalize; `threads` made calls (older files: 1).
A ROW is what a rank's calls of one
kind came to. What tells kinds apart:

    communicator  its shape, "4 ranks on 2 nodes"         operation   MPI_Bcast …
    members       its ranks in MPI_COMM_WORLD, in their   counts      whether there is a count for each rank
                  order: "0-3", "1-13:4", "2,0"           size_class  0: no bytes; k: from 2^(k-1) to below 2^k;
    form          blocking, nonblocking or persistent                 -1: not known
    site          where the program calls, if that was asked for (espalier.profile.sites)

The sums over its calls; times are in seconds:

    timed         where many short calls were not all timed: Moments of those that were, each by the number that it
                  stands for, less long waits. Calls, bytes and native are counted in any case, and of all calls long
                  waits are known; all else is estimated from these
    calls, bytes  how many, and a block or the message; with counts what the rank brings, or gets where it only gets
    native        calls that native made; sample: Moments of those that it made for comparison
    measured      what such a call takes natively and as it is done, and the uncertainty of the difference, by who has
                  measured both: the job while it learned, or the table that it follows; left out where nobody has
    own           Moments of blocking calls that Espalier made, less waiting; choice: how a late one was done
    seconds       in MPI; of what does not block, in start and completion together
    start         of that, in the call that starts; between: from start to completion, outside of both
    waiting       until the last rank of the host had come; split: calls of which that is known
    waited_for    the same, by the rank that came last
    roots         calls by root, a rank of the communicator
    from, to      of neighbourhood collectives: the ranks of the communicator whose blocks come, and to whom the rank's
                  go; left out where calls follow several graphs
    gap           the program's own time before these calls, since the rank's collective before
    first, last   when the first and the last of them began, since MPI_Init's end

Ranks play a program again (`espalier replay`) from these: they come `waiting` before the last one does, `gap` after
the call before, with the calls of a kind spread evenly from `first` to `last`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from espalier.base.errors import UserError
from espalier.base.units import MOST_BYTES, MOST_RANKS, counted
from espalier.profile.fields import Fields
from espalier.profile.opening import NO_PROFILE, load_json

FORMAT = 3
FORMS = ("blocking", "nonblocking", "persistent")
_MOST_CLASS = MOST_BYTES.bit_length()
_MOST_THREADS = 10**6
_MOST_CALLS = 10**13  # those of eleven days, of 100 ns each


@dataclass(frozen=True)
class Key:
    """Calls that are reported together."""

    communicator: str  # "8 ranks on 2 nodes"
    operation: str  # "MPI_Allreduce"
    has_counts: bool
    size_class: int  # 0: no bytes; k: from 2^(k-1) to below 2^k; -1: not known
    form: str = "blocking"  # of FORMS
    site: str = ""  # where the program calls; empty: not asked for
    has_types: bool = False  # a type for each rank, too

    @property
    def is_blocking(self) -> bool:
        return self.form == FORMS[0]

    @property
    def size(self) -> int:
        """The least size of the class, in bytes."""
        return 0 if self.size_class <= 0 else 1 << (self.size_class - 1)

    @property
    def name(self) -> str:
        """As MPI calls it: MPI_Gatherv where there is a count for each rank."""
        if self.operation == "MPI_Reduce_scatter":
            name = self.operation if self.has_counts else f"{self.operation}_block"
        else:
            name = self.operation + ("w" if self.has_types else "v" if self.has_counts else "")
        if self.form == "nonblocking":
            return f"MPI_I{name[4].lower()}{name[5:]}"
        return f"{name}_init" if self.form == "persistent" else name


@dataclass(frozen=True)
class Moments:
    """Times of some calls, in seconds; each may stand for several that were not timed."""

    calls: int = 0  # that were timed
    seconds: float = 0.0
    squares: float = 0.0
    weight: float = 0.0  # calls that they stand for
    weights_squared: float = 0.0

    @classmethod
    def of_all(cls, calls: int, seconds: float, squares: float) -> Moments:
        """Of calls that stand for themselves."""
        return cls(calls, seconds, squares, calls, calls)

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.calls + other.calls,
            self.seconds + other.seconds,
            self.squares + other.squares,
            self.weight + other.weight,
            self.weights_squared + other.weights_squared,
        )

    @property
    def mean(self) -> float:
        return self.seconds / self.weight if self.weight else 0.0

    @property
    def error_squared(self) -> float:
        """Of the mean: the variance of the times, divided by their number, those that count more having more say."""
        if self.calls < 2 or self.weight <= 0:
            return 0.0
        return self._variance * self.weights_squared / self.weight**2

    @property
    def sum_error_squared(self) -> float:
        """Of `seconds` as the sum over the very calls that these stand for, w each, of which x was seen: the sum of
        w (w - 1) (x - mean)², as a call that stands for itself alone is known. Which of them are far from the mean is
        not, so that is (sum of w² - sum of w) times the variance; but never more than (sum of w x)² - sum of w x²,
        which bounds it whatever the times are: one long call does not stand for more than there was in all."""
        if self.calls < 2 or self.weight <= 0:
            return 0.0
        most = self.seconds**2 - self.squares
        return max(0.0, min((self.weights_squared - self.weight) * self._variance, most))

    @property
    def _variance(self) -> float:
        return max(0.0, self.squares / self.weight - self.mean**2) * self.calls / (self.calls - 1)


@dataclass(frozen=True)
class Measured:
    """Seconds that such a call was measured to take, apart from these calls."""

    native: float
    own: float
    uncertainty: float  # of their difference

    @property
    def saved(self) -> float:
        """By a call."""
        return self.native - self.own


@dataclass(frozen=True)
class Part:
    """One rank's calls of one kind: the fields of a ROW."""

    rank: int
    calls: int
    bytes: int
    native: int
    seconds: float
    waiting: float
    split: int
    own: Moments
    sample: Moments
    choice: str
    waited_for: Mapping[int, float] = field(default_factory=dict)
    start: float = 0.0
    between: float = 0.0
    gap: float = 0.0
    first: float = 0.0
    last: float = 0.0
    roots: Mapping[int, int] = field(default_factory=dict)
    timed: Moments = field(default_factory=Moments)  # where not all calls were; else none
    # From whom, to whom; None: no such calls, or several.
    neighbors: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    measured: Measured | None = None

    def __add__(self, other: Part) -> Part:
        """Both as one, of the same rank."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMS}
        return replace(
            self,
            **sums,
            choice=self.choice or other.choice,
            waited_for=_add_up(self.waited_for, other.waited_for),
            roots={root: int(calls) for root, calls in _add_up(self.roots, other.roots).items()},
            first=min(self.first, other.first),
            last=max(self.last, other.last),
            neighbors=self.neighbors if self.neighbors == other.neighbors else None,
            measured=self.measured or other.measured,
        )


_SUMS = ("calls", "bytes", "native", "seconds", "waiting", "split", "own", "sample", "start", "between", "gap", "timed")


@dataclass(frozen=True)
class Kind:
    """Calls of one key on one communicator, or on several of the same ranks."""

    key: Key
    members: str  # as in the file; empty: not told, too many and in no order


@dataclass(frozen=True)
class Recorded:
    """The whole file."""

    run_seconds: Mapping[int, float]  # by rank, from MPI_Init's end to MPI_Finalize
    kinds: Mapping[Kind, list[Part]]
    sample: int  # every so many-th call was native's; 0: none
    nodes: tuple[int, ...] = ()  # by rank
    mpi: str = ""  # as it says itself, in one line; empty: not told
    threads: Mapping[int, int] = field(default_factory=dict)  # by rank, where several made calls

    @property
    def parts(self) -> Mapping[Key, list[Part]]:
        """By key, whatever the communicator's ranks: one part for each rank."""
        by_key: dict[Key, dict[int, Part]] = {}
        for kind, parts in self.kinds.items():
            known = by_key.setdefault(kind.key, {})
            for part in parts:
                known[part.rank] = known[part.rank] + part if part.rank in known else part
        return {key: list(parts.values()) for key, parts in by_key.items()}


def parse_members(text: str, ranks: int = MOST_RANKS) -> tuple[int, ...]:
    """ "0-3", "1-13:4", "2,0-1": ranks in MPI_COMM_WORLD. Raises ValueError, also for one that is not below `ranks`."""
    members: list[int] = []
    for word in text.split(",") if text else []:
        found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", word)
        if found is None:
            raise ValueError(f"no ranks: {word[:40]}")
        first, step = int(found[1]), int(found[3] or 1)
        last = int(found[2] or first)
        if max(first, last) >= ranks:
            raise ValueError(f"{word} are not ranks of {ranks}")
        members += range(first, last + 1, step)
        if len(members) > ranks:
            break
    if len(set(members)) != len(members):
        raise ValueError("a rank comes twice")
    return tuple(members)


def name_members(members: Sequence[int]) -> str:
    """The other way round, as parse_members() reads it."""
    runs: list[list[int]] = []
    for member in members:
        step = member - runs[-1][-1] if runs else 0
        if step > 0 and (len(runs[-1]) == 1 or step == runs[-1][1] - runs[-1][0]):
            runs[-1].append(member)
        else:
            runs.append([member])
    return ",".join(_name_run(run) for run in runs)


def _name_run(run: Sequence[int]) -> str:
    step = run[1] - run[0] if len(run) > 1 else 1
    if step == 1:
        return f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0])
    return f"{run[0]}-{run[-1]}:{step}" if len(run) > 2 else f"{run[0]},{run[-1]}"


def read_profile(path: Path) -> Recorded:
    """Raises UserError, naming the file and the place in it, for anything that is no profile."""
    raw = load_json(path)
    try:
        fields = Fields.of(raw)
        if (version := fields.whole("format")) != FORMAT:
            raise ValueError(f"format {version}, not {FORMAT}")
    except ValueError as error:
        raise UserError(f"{path} is no profile: {error}", NO_PROFILE) from error
    try:
        return _read(fields)
    except ValueError as error:
        remedy = "it was changed, or damaged, after a job had written it: profile the program again"
        raise UserError(f"{path} is no profile: {error}", remedy) from error


def _read(raw: Fields) -> Recorded:
    parts = raw.listed("ranks")
    if not 1 <= len(parts) <= MOST_RANKS:
        raise raw.fail("ranks", f"there are {len(parts)}")
    ranks = len(parts)
    kinds: dict[Kind, list[Part]] = {}
    seconds: dict[int, float] = {}
    threads: dict[int, int] = {}
    for place, part in enumerate(parts):
        fields = Fields.of(part, f"rank {place}")
        if fields.whole("rank", most=ranks - 1) != place:
            raise fields.fail("rank", f"{part['rank']} is not {place}")
        seconds[place] = fields.seconds("seconds")
        if "threads" in part:
            threads[place] = max(1, fields.whole("threads", most=_MOST_THREADS))
        for number, row in enumerate(fields.listed("rows"), 1):
            one = Fields.of(row, f"rank {place}, row {number}")
            kinds.setdefault(_read_kind(one, ranks), []).append(_read_part(place, one, ranks))
    nodes = raw.ranks("nodes", ranks)
    if len(nodes) != ranks:
        raise raw.fail("nodes", f"{counted(len(nodes), 'number')} for {counted(ranks, 'rank')}")
    _fit_gaps(seconds, kinds)
    return Recorded(seconds, kinds, raw.whole("sample"), nodes, raw.text("mpi", ""), threads)


def _fit_gaps(run_seconds: Mapping[int, float], kinds: Mapping[Kind, list[Part]]) -> None:
    """A rank's gaps are together no longer than what its run leaves for them.

    Before calls that were not all timed they are estimated, and rare long ones found by chance.
    """
    left = dict(run_seconds)
    guessed = dict.fromkeys(run_seconds, 0.0)
    for part in (part for parts in kinds.values() for part in parts):
        left[part.rank] -= part.seconds + (0.0 if part.timed.calls else part.gap)
        guessed[part.rank] += part.gap if part.timed.calls else 0.0
    for parts in kinds.values():
        for place, part in enumerate(parts):
            if part.timed.calls and guessed[part.rank] > left[part.rank]:
                share = max(left[part.rank], 0.0) / guessed[part.rank]
                parts[place] = replace(part, gap=share * part.gap)


def _read_kind(row: Fields, ranks: int) -> Kind:
    key = Key(
        row.text("communicator"),
        row.text("operation"),
        row.flag("counts"),
        row.whole("size_class", least=-1, most=_MOST_CLASS),
        row.text("form"),
        row.text("site", ""),
        row.has("types") and row.flag("types"),
    )
    if key.form not in FORMS:
        raise row.fail("form", f"{key.form} is none of {', '.join(FORMS)}")
    try:
        parse_members(row.text("members"), ranks)
    except ValueError as error:
        raise row.fail("members", str(error)) from error
    return Kind(key, row.text("members"))


def _read_part(rank: int, row: Fields, ranks: int) -> Part:
    calls = row.whole("calls", most=_MOST_CALLS)
    return Part(
        rank=rank,
        calls=calls,
        bytes=row.whole("bytes", most=max(1, calls) * MOST_BYTES),
        native=row.whole("native", most=_MOST_CALLS),
        split=row.whole("split", most=_MOST_CALLS),
        seconds=row.seconds("seconds"),
        waiting=row.seconds("waiting"),
        start=row.seconds("start"),
        between=row.seconds("between"),
        gap=row.seconds("gap"),
        first=row.seconds("first"),
        last=row.seconds("last"),
        own=_read_moments(row.inner("own")),
        sample=_read_moments(row.inner("sample")),
        choice=row.text("choice"),
        waited_for=dict(row.by_rank("waited_for", ranks, Fields.seconds)),
        roots=dict(row.by_rank("roots", ranks, Fields.whole)),
        timed=_read_moments(row.inner("timed")) if row.has("timed") else Moments(),
        neighbors=(row.ranks("from", ranks), row.ranks("to", ranks)) if row.has("from") else None,
        measured=_read_measured(row.inner("measured")) if row.has("measured") else None,
    )


def _read_measured(raw: Fields) -> Measured:
    return Measured(*(raw.seconds(name) for name in ("native", "own", "uncertainty")))


def _add_up(one: Mapping[int, float], other: Mapping[int, float]) -> Mapping[int, float]:
    return {rank: one.get(rank, 0.0) + other.get(rank, 0.0) for rank in {**one, **other}}


def _read_moments(raw: Fields) -> Moments:
    calls = raw.whole("calls", most=_MOST_CALLS)
    weights = (raw.number(name, default=calls) for name in ("weight", "weights_squared"))
    return Moments(calls, raw.number("seconds"), raw.number("squares"), *weights)


def sum_moments(moments: Iterable[Moments]) -> Moments:
    """All of them together."""
    return sum(moments, Moments())
