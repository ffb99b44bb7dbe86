"""Two builds of the library against each other: jobs in turns, one round of the benchmark each.

    python bench/versions.py OLD.so NEW.so --mpi mpich-5 -n 2 --ops bcast,allreduce --sizes 4,64,1K --rounds 7

Both are libraries to preload for the ABI of `--mpi`. They cannot share a job, so each round runs a job of the old build
and one of the new, first one then the other way round; native, which both jobs measure beside ours, tells what the
machine did in between: a ratio is (old / its native) / (new / its native). Prints one line per operation and size, and
the geometric mean. Exit code 1 where that is below `--least` (0.99). Needs a machine with nothing else to do.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.table import Table

from espalier.base import console
from espalier.base.units import format_bytes
from espalier.commands.operations import pick_sizes
from espalier.jobs.mpis import Mpi, select_mpi
from espalier.measure.paired import Plan, Sample, run_worker
from espalier.tuning.verdict.summary import geometric_mean

Pair = tuple[Sample, Sample]  # old, new


def measure_pairs(mpi: Mpi, plan: Plan, old: Path, new: Path, rounds: int) -> dict[tuple[str, int], list[Pair]]:
    """What both builds took for each operation and size, round by round."""
    pairs: dict[tuple[str, int], list[Pair]] = {}
    with console.progress(f"{mpi}, old and new", rounds) as tell:
        for round_ in range(rounds):
            order = (old, new) if round_ % 2 == 0 else (new, old)
            done = {library: run_worker(mpi, replace(plan, library=library)) for library in order}
            for pair in zip(done[old], done[new], strict=True):
                pairs.setdefault((pair[0].op, pair[0].bytes), []).append(pair)
            tell(f"round {round_ + 1}", 1)
    return pairs


def ratio(pair: Pair) -> float:
    """Old / new, each by the native calls of its own job: above 1 the new build is faster."""
    old, new = pair
    return old.espalier_p50_us / new.espalier_p50_us * new.native_p50_us / old.native_p50_us


def main(
    old: Annotated[Path, typer.Argument(exists=True, dir_okay=False, resolve_path=True)],
    new: Annotated[Path, typer.Argument(exists=True, dir_okay=False, resolve_path=True)],
    mpi: Annotated[str, typer.Option(help="mpich-5, openmpi-5, intel …")] = "mpich-5",
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=2)] = 2,
    ops: Annotated[str, typer.Option(help="As of `espalier bench`.")] = "bcast,allgather,allreduce,barrier",
    sizes: Annotated[str, typer.Option(help="Separated by commas.")] = "4,64,1K,4K",
    rounds: Annotated[int, typer.Option(min=2)] = 7,
    virtual_nodes: Annotated[str, typer.Option(help="As ESPALIER_VIRTUAL_NODES.")] = "",
    least: Annotated[float, typer.Option(help="The geometric mean that is still right.")] = 0.99,
) -> None:
    """Compares two builds; see the top of this file."""
    settings = {"ESPALIER_TABLE": "off"} | ({"ESPALIER_VIRTUAL_NODES": virtual_nodes} if virtual_nodes else {})
    plan = Plan(ops.split(","), pick_sizes(sizes, ()), ranks, rounds=1, settings=settings)
    pairs = measure_pairs(select_mpi(mpi), plan, old, new, rounds)
    table = Table(title=f"{mpi}, {ranks} ranks, us per call (p50)", title_justify="left", box=None, pad_edge=False)
    for name in ("op", "bytes", "old", "new", "old ÷ new", "range", "native's"):
        table.add_column(name, justify="left" if name == "op" else "right")
    means = {}
    for (op, size), these in pairs.items():
        ratios = sorted(ratio(pair) for pair in these)
        means[op, size] = median(ratios)
        native = sorted(a.native_p50_us / b.native_p50_us for a, b in these)
        times = (f"{median(pair[side].espalier_p50_us for pair in these):.2f}" for side in (0, 1))
        spread = f"{ratios[0]:.2f}–{ratios[-1]:.2f}"
        noise = f"{native[0]:.2f}–{native[-1]:.2f}"
        table.add_row(op, format_bytes(size), *times, f"{means[op, size]:.3f}", spread, noise)
    mean = geometric_mean(list(means.values()))
    console.out.print(table)
    console.out.print(f"geometric mean of old ÷ new: {mean:.3f}")
    raise typer.Exit(0 if mean >= least else 1)


if __name__ == "__main__":
    typer.run(main)
