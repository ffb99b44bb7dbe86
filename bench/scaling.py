"""Scaling curves: the library without a table against other MPIs' algorithms, on networks that one does not have.

    python bench/scaling.py --ranks 128 --output build/scaling            # what `make scaling` does
    python bench/scaling.py --ranks 4096 --arms espalier                  # ours alone goes further
    python bench/scaling.py --ranks 128 --arms registry                   # the best of our registry, by exhaustion
    python bench/scaling.py --ranks 65536 --arms played,binomial,bine     # plans played through
    python bench/scaling.py --ranks 128 --arms espalier --again           # after a change of the library
    python bench/scaling.py --ranks "" --output docs/scaling --page docs/scaling.md    # the page again, from its data

Every point of `espalier` executes the library itself (docs/guides/simulation.md), data checked, and every point of
another MPI SimGrid's copy of its algorithms on the same simulated job. `registry` is the quickest plan of our own
registry, found by playing every algorithm with a grid of knobs: where that is far below, the built-in choice is wrong.
`played` is our choice as a plan played through, for more ranks than can be executed; `binomial` and `bine` are one tree
with its nodes in two orders.

Each arm at each point is a simulation of its own. Its time goes to points.csv, what it cost to costs.csv, as they come;
what is there already is not run again: a run can be cut short and resumed.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import itertools
import multiprocessing
import resource
import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from embedding import embed
from scaling_page import BEGIN, END, draw_curves, summarise
from scaling_points import BEST, CROWD, CROWDED, OPERATIONS, PLAYED, Cost, Place, Row, append, read, rewrite

from espalier.base.core import load_core
from espalier.base.errors import UserError
from espalier.base.units import parse_bytes
from espalier.jobs.libraries import find_executor, find_simulator
from espalier.simulation.executor import OURS, SELECTORS, Case, Job, execute
from espalier.simulation.simulator import Answer, Request, simulate_all

PPN = 8
# Jobs of so many ranks do all-to-alls on nodes of 64, too, which send a message for each pair of nodes at least: 8192
# nodes of 8 would exchange 67 million, and 512 nodes, executed, 261 632.
_PLAYED_CROWDED, _EXECUTED_CROWDED = (4096, 65536), (4096,)
# De Sensi et al., Bine trees (SC'25): less traffic over far links, for jobs that are told nothing of their network.
TREES = {"binomial": "knomial,radix=2,order=natural", "bine": "knomial,radix=2,order=bine"}

# By number of nodes: a two-level fat tree, a three-level one whose up-links carry half, a dragonfly.
_THREE = {16: (2, 2, 4), 64: (4, 4, 4), 128: (4, 8, 4), 512: (8, 8, 8), 1024: (16, 8, 8), 2048: (16, 16, 8),
          8192: (32, 16, 16)}  # fmt: skip
_FLY = {16: (4, 2, 2), 64: (8, 4, 2), 128: (8, 4, 4), 512: (16, 8, 4), 1024: (32, 8, 4), 2048: (32, 8, 8),
        8192: (64, 16, 8)}  # fmt: skip

# Of the message or vector, or of a block.
_SIZES: Mapping[str, tuple[int, ...]] = {
    "broadcast": (1 << 10, 64 << 10, 1 << 20),
    "allreduce": (1 << 10, 64 << 10, 1 << 20),
    "allgather": (256, 1 << 10, 16 << 10),
    "alltoall": (64, 256, 4 << 10),
}
# Blocks of an all-to-all on nodes of 64.
_CROWDED_SIZES = (8,)
# All simulated ranks are one process, which holds the buffers of all of them.
_MOST_HELD = 8 << 30

# Executed messages, ours and the others', have no least time on their sender's card (docs/guides/simulation.md).
_AS_EXECUTED = {"gap": 0}

# What `registry` turns; an algorithm's other knobs keep their defaults, and an exchange takes every value it knows. The
# built-in choice is one of the plans, too.
_GRID: Mapping[str, tuple[str, ...]] = {
    "radix": ("2", "4"),
    "segment": ("0", "16K", "64K"),
    "within": ("cells,cell=16K,cells=4", "single_copy"),
    "groups": ("2", "4", "8"),
}


def networks(nodes: int) -> dict[str, str]:
    """Names for people, and what the simulator reads."""
    pods, leaves, below = _THREE[nodes]
    groups, routers, down = _FLY[nodes]
    return {
        "fat tree": f"fat_tree:leaves={nodes // 8},down=8,spines=8",
        "three levels, 2:1": f"three_level:pods={pods},leaves={leaves},down={below},spines=2,oversubscription=2",
        "dragonfly": f"dragonfly:groups={groups},routers={routers},down={down}",
    }


def job_at(place: Place) -> Job:
    """The ranks of a point, in blocks."""
    network = place.network.removesuffix(CROWDED)
    ppn = PPN if network == place.network else CROWD
    return Job(networks(place.ranks // ppn)[network], [rank // ppn for rank in range(place.ranks)])


def places(ranks: int, arm: str) -> list[Place]:
    """Where an arm is run, as far as memory holds it."""
    return _crowded_places(ranks, arm) + [
        Place(network, ranks, operation, size)
        for operation, sizes in _SIZES.items()
        for network in networks(ranks // PPN)
        for size in sizes
        if (arm not in TREES or operation == "broadcast")
        and (is_played(arm) or held(operation, size, ranks) <= _MOST_HELD)
    ]


def _crowded_places(ranks: int, arm: str) -> list[Place]:
    if ranks not in (_PLAYED_CROWDED if arm == PLAYED else () if is_played(arm) else _EXECUTED_CROWDED):
        return []
    return [Place(it + CROWDED, ranks, "alltoall", size) for it in networks(ranks // CROWD) for size in _CROWDED_SIZES]


def is_played(arm: str) -> bool:
    """Plans have no buffers."""
    return arm not in (OURS, *SELECTORS)


def held(operation: str, size: int, ranks: int) -> int:
    """Bytes of the buffers of all ranks of an executed job."""
    of_one = {"broadcast": 1, "allreduce": 2, "allgather": ranks + 1, "alltoall": 2 * ranks}[operation] * size
    return of_one * ranks


def run(place: Place, arm: str, patience: int) -> tuple[list[Row], Cost]:
    """One arm at one point: its time, or none and why, and what it cost. In a process of its own."""
    resource.setrlimit(resource.RLIMIT_CPU, (patience, patience))  # of every simulator that it starts
    job = job_at(place)
    case, failure, rows = Case(place.operation, place.bytes), "", []
    try:
        if is_played(arm):
            best = min(play(job, case, arm), key=lambda it: it.microseconds)
            rows = [Row(*place, arm, best.microseconds, 0, best.choice)]
        else:
            it = execute(job, arm, [case])[0]
            rows = [Row(*place, arm, it.microseconds, it.wrong, it.choice)]
    except UserError as error:
        failure = error.message
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime
    if failure and seconds > 0.9 * patience:  # it was killed
        failure = f"did not end within {patience} s"
    return rows, Cost(*place, arm, round(seconds, 1), used.ru_maxrss >> 10, failure)


def play(job: Job, case: Case, arm: str) -> list[Answer]:
    """The plans of an arm, played; those of the registry that make no sense here are left out."""
    texts = variants(case) if arm == BEST else [TREES.get(arm, "")]
    requests = [
        Request(job.network, case.operation, case.bytes, list(job.node_of), text, parameters=_AS_EXECUTED)
        for text in texts
    ]
    answers = list(simulate_all(requests))
    found = [it for it in answers if not isinstance(it, UserError)]
    if not found:
        raise next(it for it in answers if isinstance(it, UserError))
    return found


def variants(case: Case) -> list[str]:
    """The plans among which `registry` looks for the best; the first is the built-in choice."""
    entries = [entry for entry in load_core().algorithms() if entry.operation == case.operation]
    return ["", *(text for entry in entries for text in _turn_knobs(entry, case.bytes))]


def _turn_knobs(entry: Any, size: int) -> Iterator[str]:
    known = dict(knob.split("=") for knob in entry.knobs.split())
    grid = {**_GRID, "segment": tuple(it for it in _GRID["segment"] if parse_bytes(it) < size)}
    grid["exchange"] = tuple(known.get("exchange", "").split("|"))
    turned = [[f",{knob}={value}" for value in values] for knob, values in grid.items() if knob in known]
    for combination in itertools.product(*turned):
        yield entry.name + "".join(combination)


def run_all(todo: list[tuple[Place, str]], output: Path, patience: int) -> None:
    """One after the other, each in a process of its own, as nothing else tells how much memory one took."""
    alone = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=alone, initializer=_die_with_parent, max_tasks_per_child=1) as pool:
        for place, arm in todo:
            rows, cost = pool.submit(run, place, arm, patience).result()
            append(output / "points.csv", rows)
            append(output / "costs.csv", [cost])
            came = cost.failure or f"{rows[0].microseconds:.1f} µs {rows[0].choice}"
            print(*place, f"{arm}: {came} ({cost.seconds:.0f} s, {cost.megabytes} MB)", flush=True)


def _die_with_parent() -> None:
    """A run that is killed leaves no simulation behind: those end with this process (simulation/process.py)."""
    with contextlib.suppress(AttributeError):  # where the system has no such call
        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="128", help=f"numbers of ranks: {', '.join(str(PPN * it) for it in _FLY)}")
    parser.add_argument(
        "--arms", default=",".join((OURS, *SELECTORS)), help=f"also: {', '.join((BEST, PLAYED, *TREES))}"
    )
    parser.add_argument("--operations", default=",".join(OPERATIONS))
    parser.add_argument("--networks", default="", help="by name, with ';' between them; default: all three")
    parser.add_argument("--sizes", default="", help="of those that there are; default: all")
    parser.add_argument("--again", action="store_true", help="run also what is there already")
    parser.add_argument("--patience", type=int, default=600, help="seconds of a processor until one is given up")
    parser.add_argument("--output", type=Path, default=Path("build/scaling"))
    parser.add_argument("--page", type=Path, help="also put the summary into this page, between its marks")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    sizes = {parse_bytes(it) for it in filter(None, args.sizes.split(","))}
    done = set() if args.again else {(it.place, it.arm) for it in read(args.output / "costs.csv", Cost)}
    todo = [
        (place, arm)
        for ranks in map(int, filter(None, args.ranks.split(",")))
        for arm in args.arms.split(",")
        for place in places(ranks, arm)
        if place.operation in args.operations.split(",")
        and (not args.networks or place.network in args.networks.split(";"))
        and (not sizes or place.bytes in sizes)
        and (place, arm) not in done
    ]
    if todo:
        find_simulator(), find_executor()  # or their words about what is missing, instead of as many failures
        run_all(todo, args.output, args.patience)
    rows, costs = read(args.output / "points.csv", Row), read(args.output / "costs.csv", Cost)
    rewrite(args.output / "points.csv", rows)
    rewrite(args.output / "costs.csv", costs)
    draw_curves(rows, args.output)
    text = summarise(rows, costs)
    if args.page:
        embed(text, args.page, BEGIN, END)
    print(text)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        raise SystemExit(f"{error.message}\nremedy: {error.remedy}") from error
