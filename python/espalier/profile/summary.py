"""Sums a profile up over its ranks, and says in two sentences what is to be said."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from espalier.base.units import counted, format_bytes
from espalier.profile.reading import Key, Measured, Moments, Part, Recorded, sum_moments

# Fewer calls than this of either arm say nothing of what they take.
_LEAST_SAMPLE = 3
# An uncertainty is told as twice the standard error: 95 of 100 such ranges hold what they are about.
_SIGMAS = 2.0
# Percent of a run, below which it is not worth a word that native's time is not known.
_WORTH_TELLING = 1.0
# And below which a share is as good as certain.
_LEAST_DOUBT = 0.05
# As a part of a share: what is less certain has no digits to tell.
_MOST_DOUBT = 0.5


# Native and Espalier differ by less than this, and Espalier's calls while both were measured from these ones.
_MOST_RATIO = 10.0
_MOST_CHANGE = 4.0


def _is_within(one: float, other: float, factor: float) -> bool:
    return one <= factor * other and other <= factor * one


@dataclass(frozen=True)
class Saving:
    """What native would have taken more than Espalier, in seconds of all ranks together; below 0: less."""

    seconds: float
    uncertainty: float
    is_derived: bool = False  # from what was measured apart from these calls: while the job learned, or for a table

    @property
    def is_clear(self) -> bool:
        return abs(self.seconds) > self.uncertainty


@dataclass(frozen=True)
class Row:
    """All ranks' calls of one kind. Seconds are sums over the ranks."""

    key: Key
    parts: tuple[Part, ...]

    @property
    def calls(self) -> int:
        """As many as one rank has made."""
        return max(part.calls for part in self.parts)

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts)

    @property
    def seconds(self) -> float:
        return sum(part.seconds for part in self.parts)

    @cached_property
    def timed(self) -> Moments:
        """Where not all calls were timed: those that were. Else none."""
        return sum_moments(part.timed for part in self.parts)

    @property
    def uncertainty(self) -> float:
        """Of `seconds`; 0 where all calls were timed. Ranks time the same calls, so what one has missed others have,
        too: their errors add up."""
        return _SIGMAS * sum(math.sqrt(part.timed.sum_error_squared) for part in self.parts)

    @property
    def waiting(self) -> float | None:
        """None: not known, as ranks sit on several hosts."""
        return sum(part.waiting for part in self.parts) if any(part.split for part in self.parts) else None

    @property
    def moving(self) -> float:
        """What was not waiting, as far as is known."""
        return self.seconds - (self.waiting or 0.0)

    @property
    def start(self) -> float:
        """In the calls that start, of what does not block."""
        return sum(part.start for part in self.parts)

    @property
    def completion(self) -> float:
        """In those that wait for it, or look whether it is over."""
        return 0.0 if self.key.is_blocking else self.seconds - self.start

    @property
    def between(self) -> float:
        """From start to completion, outside of both: what the program had to compute meanwhile."""
        return sum(part.between for part in self.parts)

    @property
    def imbalance(self) -> float:
        """The longest any rank has been in these calls, divided by the mean."""
        mean = self.seconds / len(self.parts)
        return max(part.seconds for part in self.parts) / mean if mean > 0 else 1.0

    @property
    def native(self) -> int:
        """Calls of one rank that native made."""
        return max(part.native for part in self.parts)

    @property
    def choice(self) -> str:
        return next((part.choice for part in self.parts if part.choice), "")

    @cached_property
    def waited_for(self) -> Mapping[int, float]:
        return add_up(part.waited_for for part in self.parts)

    @cached_property
    def own(self) -> Moments:
        return sum_moments(part.own for part in self.parts)

    @cached_property
    def sample(self) -> Moments:
        return sum_moments(part.sample for part in self.parts)

    @property
    def measured(self) -> Measured | None:
        """How native compares, as it was measured apart from these calls, where that is of use for them: on a machine
        that had other work to do meanwhile, one of the two has waited for that, or both have."""
        found = next((part.measured for part in self.parts if part.measured), None)
        if found is None or not self.own.calls:
            return found
        is_likely = _is_within(found.native, found.own, _MOST_RATIO)
        return found if is_likely and _is_within(found.own, self.own.mean, _MOST_CHANGE) else None

    @property
    def native_mean(self) -> float | None:
        """Seconds that native takes for such a call, without waiting; None: nobody knows."""
        if self.sample.calls:
            return self.sample.mean
        return self.own.mean + self.measured.saved if self.own.calls and self.measured else None

    @property
    def _derived_saving(self) -> Saving | None:
        if self.measured is None:
            return None
        calls = self.own.weight
        return self._as_certain(Saving(self.measured.saved * calls, self.measured.uncertainty * calls, is_derived=True))

    def _as_certain(self, saving: Saving) -> Saving:
        """What is saved is no more certain than the time that is left of it."""
        doubt = self.uncertainty / self.seconds if self.seconds > 0 else 0.0
        return replace(saving, uncertainty=math.hypot(saving.uncertainty, doubt * saving.seconds))

    @property
    def saving(self) -> Saving | None:
        """Over native, for as many calls as Espalier has made; None: nobody has compared them often enough."""
        if self.own.calls < _LEAST_SAMPLE:
            return None
        if self.sample.calls < _LEAST_SAMPLE:
            return self._derived_saving
        error = math.sqrt(self.own.error_squared + self.sample.error_squared)
        calls = self.own.weight
        return self._as_certain(Saving((self.sample.mean - self.own.mean) * calls, _SIGMAS * error * calls))


def add_up(shares: Iterable[Mapping[int, float]]) -> Mapping[int, float]:
    """The same by rank, of several."""
    total: dict[int, float] = {}
    for share in shares:
        for rank, seconds in share.items():
            total[rank] = total.get(rank, 0.0) + seconds
    return total


@dataclass(frozen=True)
class Profile:
    """A run's collectives, the longest first."""

    rows: tuple[Row, ...]
    run: float  # seconds, of all ranks together, and of all their threads
    ranks: int
    sample: int
    threads: int = 1  # that made calls, of the rank with most of them

    @property
    def seconds(self) -> float:
        return sum(row.seconds for row in self.rows)

    @property
    def uncertainty(self) -> float:
        """Of `seconds`; 0 where all calls were timed."""
        return math.sqrt(sum(row.uncertainty**2 for row in self.rows))

    @property
    def waiting(self) -> float | None:
        known = [row.waiting for row in self.rows if row.waiting is not None]
        return sum(known) if known else None

    @property
    def has_sites(self) -> bool:
        """Whether calls are told apart by where the program makes them."""
        return any(row.key.site for row in self.rows)

    @property
    def blocking(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.key.is_blocking)

    @property
    def started(self) -> tuple[Row, ...]:
        """Nonblocking and persistent calls."""
        return tuple(row for row in self.rows if not row.key.is_blocking)

    @cached_property
    def waited_for(self) -> Mapping[int, float]:
        return add_up(row.waited_for for row in self.rows)

    @property
    def is_estimated(self) -> bool:
        """Whether there are kinds of calls of which not all were timed."""
        return any(row.timed.calls for row in self.rows)

    @property
    def saving(self) -> Saving | None:
        """Of all kinds of calls of which native's time is known."""
        known = [row.saving for row in self.rows if row.saving is not None]
        if not known:
            return None
        uncertainty = math.sqrt(sum(it.uncertainty**2 for it in known))
        return Saving(sum(it.seconds for it in known), uncertainty, any(it.is_derived for it in known))

    @property
    def losses(self) -> list[Row]:
        """What native does clearly faster, the greatest loss first."""
        clear = [row for row in self.rows if row.saving and row.saving.is_clear and row.saving.seconds < 0]
        return sorted(clear, key=lambda row: row.saving.seconds if row.saving else 0.0)

    def share(self, seconds: float) -> float:
        """Of the run's time, in percent. What is estimated from some calls may be more than there was."""
        return min(100.0, 100 * seconds / self.run) if self.run > 0 else 0.0

    def mean_seconds(self, row: Row) -> float:
        """Of all ranks of the job, as its share of the run is: those without such calls count as 0."""
        return row.seconds / self.ranks

    @property
    def remark(self) -> str:
        """What is to be said of kinds of calls that only some ranks have made, and of several threads; empty where
        there are neither."""
        some = sum(len(row.parts) < self.ranks for row in self.rows)
        shares = f"Up to {self.threads} threads of a rank made calls: shares of the run are of all threads' time."
        texts = [shares] if self.threads > 1 else []
        if not some:
            return " ".join(texts)
        texts.append(
            f"Of {counted(some, 'kind')} of calls some ranks made none, being of others or other sizes: "
            f"time and share of the run are of all {self.ranks} ranks, imbalance is among those that made such calls."
        )
        return " ".join(texts)

    @property
    def share_saved(self) -> tuple[float, float]:
        """Of the time that the run would take natively, in percent, with its uncertainty; below 0: it takes longer."""
        saving = self.saving or Saving(0.0, 0.0)
        native = self.run + saving.seconds
        if native <= 0:
            return 0.0, 100.0
        return 100 * saving.seconds / native, 100 * saving.uncertainty * self.run / native**2

    @property
    def unknown(self) -> float:
        """Seconds in calls that Espalier made and of which nobody knows what they take natively."""
        return sum(row.seconds for row in self.rows if row.saving is None and row.native < row.calls)

    @property
    def verdict(self) -> str:
        """Two sentences."""
        return f"{self._where_time_goes()} {self._what_is_gained()}"

    @property
    def _share_text(self) -> str:
        """Of collectives, with its uncertainty where not all were timed and it shows; where that is large, both say no
        more than about how much it is."""
        share, doubt = self.share(self.seconds), self.share(self.uncertainty)
        if doubt > _MOST_DOUBT * share:
            return f"About {share:.0f}"
        return f"{share:.1f} ± {doubt:.1f}" if doubt >= _LEAST_DOUBT else f"{share:.1f}"

    def _where_time_goes(self) -> str:
        if not self.rows:
            return "No collective of several ranks was called."
        text = f"{self._share_text} % of the run is spent in collectives"
        if self.started:
            starting = sum(row.seconds for row in self.started)
            text += f", {self.share(starting):.1f} % starting and completing what does not block"
        if self.waiting is None and self.blocking:
            return f"{text}; how much of that is waiting is not known, as ranks are on several hosts."
        if self.waiting is None:
            return f"{text}."
        text += f", {self.share(self.waiting):.1f} % waiting for the last rank to come"
        if self.waiting > 0 and self.waited_for:
            rank, seconds = max(self.waited_for.items(), key=lambda it: it[1])
            text += f" ({100 * seconds / sum(self.waited_for.values()):.0f} % of it for rank {rank})"
        return text + "."

    def _what_is_gained(self) -> str:
        if not self.rows:
            return "There is nothing to gain."
        saving = self.saving
        if saving is None:
            return "What native would take is not known: --sample 1/32 leaves every 32nd call to it."
        share, uncertainty = self.share_saved
        verb = "saves" if share >= 0 else "costs"
        of_what = "of the run's native time" + (", as measured when the choices were made" * saving.is_derived)
        if uncertainty > abs(share) and uncertainty >= _LEAST_DOUBT:
            text = f"Whether Espalier saves anything does not show: {share:.1f} ± {uncertainty:.1f} % {of_what}"
        else:
            text = f"Espalier {verb} {abs(share):.1f} ± {uncertainty:.1f} % {of_what}"
        if self.share(self.unknown) >= _WORTH_TELLING:
            text += f"; of calls that take {self.share(self.unknown):.0f} % of the run it is not known (--sample 1/32)"
        if self.losses:
            worst = self.losses[0]
            text += f"; native does {describe(worst.key)} faster"
            text += "" if worst.key.operation.startswith("MPI_Neighbor") else ", so `espalier tune` is worth it"
        return text + "."

    def as_json(self) -> dict[str, Any]:
        """The same, as plain data."""
        return {
            "ranks": self.ranks,
            "threads": self.threads,
            "run_seconds": self.run,
            "collective_seconds": self.seconds,
            "collective_seconds_uncertainty": self.uncertainty,
            "waiting_seconds": self.waiting,
            "waited_for": {str(rank): seconds for rank, seconds in sorted(self.waited_for.items())},
            "saving": vars(self.saving) if self.saving else None,
            "sample": self.sample,
            "remark": self.remark or None,
            "verdict": self.verdict,
            "rows": [{**_row_as_json(row), "mean_seconds": self.mean_seconds(row)} for row in self.rows],
        }


def name_size(key: Key) -> str:
    """`64K+`: from there to below twice as many; empty where sizes are not known."""
    if key.size_class < 0:
        return ""
    return f"{format_bytes(key.size)}+" if key.size_class > 1 else str(key.size)


def describe(key: Key) -> str:
    """`MPI_Allreduce of 64K+`."""
    return key.name if key.size_class <= 0 else f"{key.name} of {name_size(key)}"


def _row_as_json(row: Row) -> dict[str, Any]:
    return {
        "communicator": row.key.communicator,
        "operation": row.key.name,
        "form": row.key.form,
        "site": row.key.site or None,
        "bytes_from": row.key.size if row.key.size_class >= 0 else None,
        "calls": row.calls,
        "calling_ranks": len(row.parts),
        "bytes": row.bytes,
        "native_calls": row.native,
        "seconds": row.seconds,
        "timed_calls": row.timed.calls or None,
        "seconds_uncertainty": row.uncertainty,
        "waiting_seconds": row.waiting,
        "start_seconds": row.start,
        "completion_seconds": row.completion,
        "between_seconds": row.between,
        "seconds_by_rank": {str(part.rank): part.seconds for part in row.parts},
        "waiting_by_rank": {str(part.rank): part.waiting for part in row.parts},
        "waited_for": {str(rank): seconds for rank, seconds in sorted(row.waited_for.items())},
        "imbalance": row.imbalance,
        "choice": row.choice,
        "own_mean_seconds": row.own.mean if row.own.calls else None,
        "native_mean_seconds": row.native_mean,
        "saving": vars(row.saving) if row.saving else None,
    }


def sum_up(recorded: Recorded) -> Profile:
    """One row for each kind of call."""
    rows = (Row(key, tuple(parts)) for key, parts in recorded.parts.items())
    longest_first = tuple(sorted(rows, key=lambda row: -row.seconds))
    threads = recorded.threads
    run = sum(seconds * threads.get(rank, 1) for rank, seconds in recorded.run_seconds.items())
    most = max(threads.values(), default=1)
    return Profile(longest_first, run, len(recorded.run_seconds), recorded.sample, most)
