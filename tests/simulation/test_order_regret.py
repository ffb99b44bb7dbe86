"""`order=auto` is never much worse than the best order of nodes that could have been asked for, on any network.

The networks are generated (unplanned.py), or captured ones; jobs know them as from their dumps. Each point is simulated
in all orders.
"""

from __future__ import annotations

import lzma
import random
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import unplanned
from espalier.simulation.simulator import Request, all_answers

FIXED = ("natural", "breadth", "depth")
ALLOWED = 1.02
# Segments of a chain, or rounds of a ring, that share a link: a small shift changes who is first, and all behind.
ALLOWED_IN_PIPELINES = 1.08
CAPTURES = Path(__file__).parents[1] / "data" / "fabric"

WORK = (
    ("broadcast", "knomial"),
    ("broadcast", "knomial,radix=4"),
    ("broadcast", "knomial,segment=64K"),
    ("broadcast", "binary,segment=16K"),
    ("broadcast", "chain,segment=64K"),
    ("broadcast", "scatter_allgather"),
    ("scatter", "knomial"),
    ("gather", "knomial"),
    ("reduce", "knomial"),
    ("allgather", "ring"),
)
SIZES = (8, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20)


@dataclass(frozen=True)
class Point:
    """One job on one network, and what it does."""

    network: str
    request: Request

    def in_order(self, order: str) -> Request:
        return replace(self.request, choice=f"{self.request.choice},order={order}")


def draw_point(random: random.Random, name: str, folder: Path, hosts: list[int]) -> Point:
    operation, choice = random.choice(WORK)
    size = random.choice(SIZES)
    if operation in ("scatter", "gather", "allgather"):
        size = min(size, 64 << 10)  # of each rank
    if "segment" in choice:
        size = max(size, 256 << 10)
    root = random.randrange(len(hosts)) if operation != "allgather" else 0
    request = Request(
        f"fabric:{folder}", operation, size, list(range(len(hosts))), choice, root, host_of_node=hosts,
        metric="combined", solver="fluid",
    )  # fmt: skip
    return Point(f"{name}, {len(hosts)} of its hosts, {operation} {choice} {size} from {root}", request)


def generated(tmp_path: Path, seed: int, fabric_count: int, jobs: int) -> list[Point]:
    draw = random.Random(seed)
    points = []
    for number in range(fabric_count):
        fabric = unplanned.draw(draw)
        folder = fabric.write(tmp_path / f"{seed}-{number}")
        for _ in range(jobs):
            points.append(draw_point(draw, fabric.name, folder, unplanned.draw_hosts(draw, fabric)))
    return points


def regrets(points: list[Point]) -> dict[str, float]:
    """How many times as long as the best fixed order `auto` takes, by point."""
    requests = [point.in_order(order) for point in points for order in (*FIXED, "auto")]
    times = [answer.microseconds for answer in all_answers(requests)]
    each = len(FIXED) + 1
    return {
        point.network: times[each * at + len(FIXED)] / min(times[each * at : each * at + len(FIXED)])
        for at, point in enumerate(points)
    }


def unpacked(capture: Path, folder: Path) -> Path:
    """The same dumps as plain text, which is all that a job reads."""
    for file in capture.glob("*.txt*"):
        data = file.read_bytes()
        (folder / file.name.removesuffix(".xz")).write_bytes(lzma.decompress(data) if file.suffix == ".xz" else data)
    return folder


def allowed(name: str) -> float:
    return ALLOWED_IN_PIPELINES if any(word in name for word in ("chain", "ring", "scatter_allgather")) else ALLOWED


def expect_no_regret(points: list[Point]) -> None:
    found = regrets(points)
    assert not [f"{name}: {regret:.3f}" for name, regret in found.items() if regret > allowed(name)]


@pytest.mark.parametrize("seed", range(6))
def test_auto_is_within_2_percent_of_the_best_order_on_networks_that_nobody_planned(tmp_path: Path, seed: int) -> None:
    expect_no_regret(generated(tmp_path, seed, fabric_count=4, jobs=6))


@pytest.mark.parametrize("joints", range(1, 9))
def test_auto_is_within_2_percent_of_the_best_order_between_two_islands(tmp_path: Path, joints: int) -> None:
    draw = random.Random(joints)
    fabric = unplanned.islands(4, 8, 8, joints)
    folder = fabric.write(tmp_path / "islands")
    expect_no_regret([draw_point(draw, fabric.name, folder, unplanned.draw_hosts(draw, fabric)) for _ in range(8)])


@pytest.mark.parametrize(("capture", "count"), [("s16/00-baseline", 16), ("m128/00-baseline", 128)])
def test_auto_is_within_2_percent_of_the_best_order_on_captured_networks(
    tmp_path: Path, capture: str, count: int
) -> None:
    folder = unpacked(CAPTURES / capture, tmp_path)
    draw = random.Random(7)
    jobs = [draw.sample(range(count), draw.randint(count // 3, count)) for _ in range(8)]
    expect_no_regret(
        [draw_point(draw, capture, folder, sorted(hosts) if n % 2 else hosts) for n, hosts in enumerate(jobs)]
    )
