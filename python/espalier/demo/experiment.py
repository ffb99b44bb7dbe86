"""The experiments of the demo: which programs run under which MPIs, and what is kept of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from espalier.base.errors import UserError
from espalier.base.own_module import own_module
from espalier.demo.comparison import BENCH, IMB, TREES, Answer, Comparison, Results
from espalier.demo.imb import find_imb, imb_command, parse_imb
from espalier.demo.jobs import run_arm
from espalier.demo.worker import run_worker
from espalier.jobs.mpis import Mpi, select_mpi
from espalier.measure.programs import Finished, count_calls
from espalier.measure.rounds import in_turns

Progress = Callable[[str], None]  # told before each job what it is
Times = dict[tuple[str, int], float]  # (quantity, message size) → microseconds

# What the Python programs import. Where it is missing, what came with Espalier runs in their place.
_EXAMPLES_NEED = ("mpi4py", "numpy")
# IMB-MPI1 is built for the MPICH ABI.
_IMB_MPIS = ("mpich", "intel")
_PYTHON_MPIS = ("mpich", "openmpi", "intel")


@dataclass(frozen=True)
class Case:
    """One program under one MPI on one number of ranks."""

    program: str
    mpi: Mpi
    ranks: int


def list_cases(prefixes: Sequence[Path], ranks: Sequence[int], skipped: list[str]) -> list[Case]:
    """Every case that can run here. `prefixes` are the MPI installations; what is missing goes to `skipped`."""
    mpis = {}
    for prefix in prefixes:
        try:
            mpi = select_mpi(str(prefix))
            mpis[mpi.family.value] = mpi
        except UserError as error:
            skipped.append(error.message)
    examples = TREES
    if missing := [name for name in _EXAMPLES_NEED if find_spec(name) is None]:
        examples = BENCH
        needed = " ".join(_EXAMPLES_NEED)
        skipped.append(f"{TREES}: no {' and no '.join(missing)} here; pip install {needed}, and applications run, too")
    wanted = [(examples, name) for name in _PYTHON_MPIS]
    try:
        find_imb()
        wanted = [(IMB, name) for name in _IMB_MPIS] + wanted
    except UserError as error:
        skipped.append(f"{error.message}; {error.remedy}")
    return [Case(program, mpis[name], count) for program, name in wanted if name in mpis for count in ranks]


def run_demo(cases: Sequence[Case], rounds: int, scratch: Path, progress: Progress) -> Results:
    """Runs all cases, round by round, both arms next to each other. A case that fails is skipped and said so.

    Each case has a folder of its own in `scratch`, where its runs leave to later ones what they have learned.
    """
    results = Results()
    for index, case in enumerate(cases):
        own = scratch / str(index)
        own.mkdir()
        try:
            pairs = [_run_round(case, number, own, progress) for number in range(rounds)]
        except UserError as error:
            results.skipped.append(error.message)
            continue
        outputs = [(native.output, own.output) for native, own, _, _ in pairs]
        results.answers.append(_answer(case, outputs, pairs[0][1]))
        _compare(case, [pair[2] for pair in pairs], [pair[3] for pair in pairs], results)
    return results


def _compare(case: Case, natives: Sequence[Times], owns: Sequence[Times], results: Results) -> None:
    """Adds a comparison for every quantity that all rounds of both arms have, and says which ones do not."""
    for what, size in dict.fromkeys(key for arm in (*natives, *owns) for key in arm):
        if not all((what, size) in arm for arm in (*natives, *owns)):
            results.skipped.append(f"{case.program}, {case.mpi}, {case.ranks} ranks: no time for {what} of {size} B")
            continue
        times = (tuple(arm[what, size] for arm in arms) for arms in (natives, owns))
        results.comparisons.append(Comparison(what, size, str(case.mpi), case.ranks, *times))


def _run_round(case: Case, number: int, scratch: Path, progress: Progress) -> tuple[Finished, Finished, Times, Times]:
    """Both arms once; which one goes first alternates, so that neither always finds the machine warm."""
    if case.program == BENCH:
        progress(f"{case.program}, {case.mpi}, {case.ranks} ranks, both arms, round {number + 1}")
        return _run_both(case, scratch)
    arms: dict[bool, tuple[Finished, Times]] = {}
    for place in in_turns(number):
        native, arm = (True, "native") if place == 0 else (False, "Espalier")
        progress(f"{case.program}, {case.mpi}, {case.ranks} ranks, {arm}, round {number + 1}")
        arms[native] = _run_once(case, scratch, native)
    return arms[True][0], arms[False][0], arms[True][1], arms[False][1]


def _run_both(case: Case, scratch: Path) -> tuple[Finished, Finished, Times, Times]:
    """One job that has both arms in it, in turns."""
    done, samples = run_worker(case.mpi, case.ranks, scratch)
    natives, owns = (
        {(f"bench: {it.op}", it.bytes): getattr(it, arm) for it in samples}
        for arm in ("native_p50_us", "espalier_p50_us")
    )
    if not samples:
        raise UserError(f"{case.program} under {case.mpi} printed no times")
    return done, done, natives, owns


def _run_once(case: Case, scratch: Path, native: bool) -> tuple[Finished, Times]:
    if case.program == IMB:
        command = imb_command(find_imb(), case.ranks, scratch)
        done = run_arm(case.mpi, case.ranks, command, scratch, native)
        times = {(line.operation, line.bytes): line.average_us for line in parse_imb(done.output)}
    else:
        file = scratch / "times.json"
        command = [*own_module("espalier.examples.neighbour_joining"), "--times", str(file)]
        done = run_arm(case.mpi, case.ranks, command, scratch, native)
        facts = json.loads(file.read_text())
        times = {
            ("trees: collectives", 0): facts["collective_seconds"] * 1e6,
            ("trees: whole run", 0): facts["seconds"] * 1e6,
        }
    if not times:
        raise UserError(f"{case.program} under {case.mpi} printed no times")
    return done, times


def _answer(case: Case, outputs: Sequence[tuple[str, str]], own: Finished) -> Answer:
    handled, native, reasons = count_calls(own.stats)
    same, digest = None, ""
    if case.program == TREES:
        first = outputs[0][0]
        same = all(output == first for pair in outputs for output in pair)
        digest = hashlib.sha256(first.encode()).hexdigest()[:16]
    return Answer(case.program, str(case.mpi), case.ranks, handled, native, reasons, same, digest)
