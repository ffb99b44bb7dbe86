"""What espalier bench connections makes of its points, and what the tuner learns from them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from espalier.draw.connections import write_page
from espalier.measure.connections import Groups, Point, Scaling, parse_points
from espalier.tuning.environment.place import learn_groups
from espalier.tuning.problems.candidates import neighbours
from espalier.tuning.problems.problem import Problem
from tuning_bench import a_machine


def points(rates: dict[tuple[int, str], list[float]]) -> list[dict[str, object]]:
    """MB/s for 1 B, 1 KB, 1 MB by groups and way."""
    return [
        {"groups": groups, "way": way, "bytes": size, "us": 10.0, "mb_per_s": rate}
        for (groups, way), values in rates.items()
        for size, rate in zip((1, 1 << 10, 1 << 20), values, strict=True)
    ]


# The paper's cluster, roughly: three groups are as good as two; beyond 64 KB more than one connection costs.
PAPER = {
    (1, "ring"): [1.0, 100.0, 1000.0],
    (1, "direct"): [1.8, 180.0, 900.0],
    (2, "ring"): [1.2, 130.0, 1000.0],
    (2, "direct"): [2.6, 260.0, 800.0],
    (3, "ring"): [1.3, 140.0, 1000.0],
    (3, "direct"): [2.7, 270.0, 800.0],
}


def test_ratios_are_against_one_groups_ring() -> None:
    scaling = Scaling(parse_points(points(PAPER)))
    assert scaling.kinds()[:4] == [Groups(1, "ring"), Groups(1, "direct"), Groups(2, "direct"), Groups(3, "direct")]
    assert scaling.ratio(Groups(2, "direct"), 1 << 10) == pytest.approx(2.6)
    assert scaling.ratio(Groups(1, "ring"), 1) == 1


def test_the_fewest_groups_that_nothing_beats_by_more_than_noise_are_best() -> None:
    scaling = Scaling(parse_points(points(PAPER)))
    assert scaling.best(1) == Groups(2, "direct")
    assert scaling.best(1 << 20) == Groups(1, "ring")
    assert scaling.useful_groups() == 2
    assert scaling.useful_connections(nodes=4) == 6
    assert scaling.findings() == ["from 1 B on: 2 groups, direct", "from 1 MiB on: 1 group, ring"]


def test_the_tuner_tries_no_more_groups_than_are_useful() -> None:
    machine = a_machine(4, 4)
    assert learn_groups(machine, []) is machine
    assert learn_groups(machine, points(PAPER)).most_groups == 2


def test_the_tuner_tries_each_masters_part_of_the_useful_connections_as_a_cap() -> None:
    once = [1.0, 100.0, 1000.0]
    seven_fill_the_card = points({
        (1, "ring"): once,
        (1, "direct"): [2 * rate for rate in once],
        (2, "ring"): once,
        (2, "direct"): [2 * rate for rate in once],
    })  # fmt: skip
    machine = learn_groups(a_machine(*[2] * 8), seven_fill_the_card)
    assert machine.most_connections == 7
    problem, uncapped = Problem("allgather", 4096), "multi_group,groups=2,exchange=direct,within=cells,cell=32K,cells=4"
    assert any("connections=4" in text for text in neighbours(machine, problem, uncapped))
    assert not any("connections=4" in text for text in neighbours(a_machine(*[2] * 8), problem, uncapped))


def test_the_page_has_both_panels_of_the_figure(tmp_path: Path) -> None:
    write_page(
        Scaling([Point(g, w, s, 1.0, 1.0 + g) for g, w in PAPER for s in (1, 1024)]), "an MPI", tmp_path / "c.html"
    )
    text = (tmp_path / "c.html").read_text()
    assert text.count("<svg") == 2
    assert "2 direct" in text


def test_bench_has_it_beside_its_own_options() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "espalier", "bench", "connections", "--help"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0
    assert "Concurrent allgathers" in done.stdout
