"""A program of the user's under two arms in turns: native and Espalier, or any two sets of settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from espalier.base.errors import UserError
from espalier.base.units import counted
from espalier.jobs.launch import Job
from espalier.measure.likeness import Likeness, Outputs, compare_outputs
from espalier.measure.programs import Finished, count_calls, run_program
from espalier.measure.rounds import Rounds, in_turns

Progress = Callable[[str], None]  # told before each run what it is


@dataclass(frozen=True)
class Arm:
    """One of the two ways to run the program."""

    native: bool
    settings: Mapping[str, str] = field(default_factory=dict)  # on top of the job's

    def __str__(self) -> str:
        words = " ".join(f"{name.removeprefix('ESPALIER_')}={value}" for name, value in self.settings.items())
        return "native" if self.native else f"Espalier {words}".rstrip()


@dataclass(frozen=True)
class Metric:
    """A number that the program prints, to standard output or else to standard error: what the last match's group (or
    the match itself) says."""

    pattern: str
    more_is_better: bool = False

    def __post_init__(self) -> None:
        _check_pattern("--metric", self.pattern)

    def read(self, run: Finished) -> float | None:
        """The number; None where there is none. Raises UserError where what was found is no positive number."""
        texts = (run.output, run.errors)
        found = next(filter(None, (list(re.finditer(self.pattern, text, re.MULTILINE)) for text in texts)), None)
        if not found:
            return None
        text = found[-1][1 if found[-1].re.groups else 0]
        try:
            value = float(text)
        except (TypeError, ValueError):
            value = 0.0
        if not value > 0:
            has_group = bool(found[-1].re.groups)
            remedy = "see what the program prints there: ratios are taken of times and rates above 0"
            remedy = remedy if has_group else "put ( ) around the number"
            raise UserError(f"--metric {self.pattern} finds {text!r}, which is no positive number", remedy)
        return value

    def demand(self, run: Finished) -> float:
        """The same. Raises UserError where there is none."""
        value = self.read(run)
        if value is None:
            raise UserError(f"--metric {self.pattern}: nothing in the output matches", "see what the program prints")
        return value


@dataclass(frozen=True)
class Compared:
    """All runs of a program under both arms."""

    arms: tuple[Arm, Arm]
    runs: tuple[tuple[Finished, ...], tuple[Finished, ...]]
    outputs: Outputs
    metric: Metric | None = None

    @property
    def seconds(self) -> Rounds:
        return Rounds(*(tuple(run.seconds for run in runs) for runs in self.runs))

    @property
    def metrics(self) -> Rounds | None:
        """Of the metric, turned so that less is better; None: there is no metric, or runs end differently."""
        if self.metric is None or self.exit_code is None:
            return None
        return Rounds(*(tuple(self._read(run) for run in runs) for runs in self.runs))

    def metric_values(self, arm: int) -> list[float] | None:
        """As the program prints them."""
        if self.metric is None or self.metrics is None:
            return None
        return [self.metric.read(run) or 0.0 for run in self.runs[arm]]

    @property
    def judged(self) -> Rounds:
        """What counts: the metric where there is one."""
        return self.metrics or self.seconds

    @property
    def codes(self) -> tuple[list[int | None], list[int | None]]:
        first, second = ([run.code for run in runs] for runs in self.runs)
        return first, second

    @property
    def exit_code(self) -> int | None:
        """That of every run of both arms; None: there is no such, as they differ or a run did not end in time."""
        return _common_code(run for runs in self.runs for run in runs)

    @property
    def is_same(self) -> bool:
        """Both arms end alike in every run, and nothing says that they do different things."""
        return self.exit_code is not None and self.outputs.likeness is not Likeness.DIFFERS

    @property
    def verdict(self) -> str:
        """One sentence."""
        rounds, (first, second) = self.judged, self.arms
        span = f"{rounds.range[0]:.2f} to {rounds.range[1]:.2f} in {counted(len(rounds.first), 'round')}"
        if not self.is_same:
            how = "do not do the same" if self.exit_code is not None else "do not always end alike"
            return f"{first} and {second} {how}: times say nothing until that is explained"
        if rounds.doubt:
            return f"{rounds.doubt}: {first} / {second} is {rounds.ratio:.2f} ({span})"
        if rounds.ratio > 1:
            return f"{second} is {rounds.ratio:.2f} times as fast as {first} ({span})"
        return f"{second} takes {1 / rounds.ratio:.2f} times as long as {first}: {first} / {second} is {span}"

    def as_json(self) -> dict[str, Any]:
        """The same, as plain data."""
        described = [self._describe(arm) for arm in (0, 1)]
        return {
            "a": described[0],
            "b": described[1],
            "ratio": _describe(self.judged),
            "seconds_ratio": _describe(self.seconds),
            "exit_code": self.exit_code,
            "output": self.outputs.likeness.value,
            "difference": vars(self.outputs.difference) if self.outputs.difference else None,
            "same": self.is_same,
            "verdict": self.verdict,
        }

    def calls(self, arm: int) -> tuple[int, int, dict[str, int]] | None:
        """Collective calls of rank 0 in the last run that Espalier did, that it left to native, and why. None where
        nobody has counted: native, or without an MPI_Finalize, at which the counts are written."""
        last = self.runs[arm][-1]
        return count_calls(last.stats) if last.is_counted else None

    @property
    def is_unserved(self) -> bool:
        """Whether Espalier was in front of runs, and saw no MPI in any of them."""
        served = [run for arm, runs in zip(self.arms, self.runs, strict=True) if not arm.native for run in runs]
        return bool(served) and not any(run.is_counted for run in served)

    def _read(self, run: Finished) -> float:
        assert self.metric is not None
        value = self.metric.demand(run)
        return 1 / value if self.metric.more_is_better else value

    def _describe(self, arm: int) -> dict[str, Any]:
        calls = self.calls(arm)
        return {
            "arm": str(self.arms[arm]),
            "settings": dict(self.arms[arm].settings),
            "native": self.arms[arm].native,
            "seconds": [round(run.seconds, 6) for run in self.runs[arm]],
            "seconds_median": round(median(run.seconds for run in self.runs[arm]), 6),
            "metric": self.metric_values(arm),
            "exit_codes": self.codes[arm],
            "warnings": self.runs[arm][-1].warnings,
            "calls": dict(zip(("handled", "native", "reasons"), calls, strict=True)) if calls else None,
        }


def _describe(rounds: Rounds) -> dict[str, Any]:
    least, greatest = rounds.range
    return {
        "median": round(rounds.ratio, 4),
        "min": round(least, 4),
        "max": round(greatest, 4),
        "decided": rounds.is_decided,
        "doubt": rounds.doubt or None,
    }


@dataclass(frozen=True)
class Wishes:
    """How to compare."""

    rounds: int = 5
    timeout: float | None = None  # seconds for one run
    metric: Metric | None = None
    ignore: str | None = None  # lines of the output that do not count

    def __post_init__(self) -> None:
        _check_pattern("--ignore", self.ignore or "")


def compare_program(job: Job, arms: tuple[Arm, Arm], wishes: Wishes, scratch: Path, progress: Progress) -> Compared:
    """Runs `job` under both arms in turns. Stops after the first round in which one ends otherwise than runs before.

    What exit codes mean is the program's affair: whichever it is, all runs are to end with it. Raises UserError where
    neither arm ends in time: then it is the program, or how it is started.
    """
    runs: tuple[list[Finished], list[Finished]] = ([], [])
    for number in range(wishes.rounds):
        for arm in in_turns(number):
            progress(f"round {number + 1} of {wishes.rounds}, {arms[arm]}")
            settings = {**job.settings, **arms[arm].settings}
            own = replace(job, native=arms[arm].native, settings=settings)
            runs[arm].append(run_program(own, scratch, wishes.timeout))
        last = [arm[-1] for arm in runs]
        if all(run.code is None for run in last):
            words = f"\n{last[0].last_words}" if last[0].last_words else ""
            raise UserError(f"{job.command[0]} does not end in time under both{words}", "run it by itself first")
        if _common_code([*runs[0], *runs[1]]) is None:
            break
        if wishes.metric is not None:
            for run in last:
                wishes.metric.demand(run)  # a mistake in the expression costs one round
    usual = runs[0][0].code
    first, second = ([run.output for run in arm if run.code is not None and run.code == usual] for arm in runs)
    outputs = compare_outputs(first, second, wishes.ignore)
    return Compared(arms, (tuple(runs[0]), tuple(runs[1])), outputs, wishes.metric)


def _common_code(runs: Iterable[Finished]) -> int | None:
    """None: they differ, or are none."""
    codes = {run.code for run in runs}
    return codes.pop() if len(codes) == 1 else None


def _check_pattern(option: str, pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        message = f"{option} {pattern}: no regular expression ({error})"
        raise UserError(message, "quote it for the shell") from error
