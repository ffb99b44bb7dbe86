"""Trees and rings on simulated networks: what an order is worth where cables are shared; `auto` does no harm."""

from __future__ import annotations

import pytest

from espalier.papers.trees.figures import packed_job
from espalier.simulation.simulator import Request, all_answers

THIN = "fat_tree:leaves=8,down=8,spines=4,oversubscription=4"
FULL = "fat_tree:leaves=8,down=8"
MIXED = "star:hosts=64,slow_hosts=32,slow_rate=5000"
LARGE = "fat_tree:leaves=16,down=32,spines=8,oversubscription=4"
NODES = 48


def times(requests: list[Request]) -> list[float]:
    return [answer.microseconds for answer in all_answers(requests)]


def gain(
    network: str, placement: str, choice: str, size: int, operation: str = "broadcast", nodes: int = NODES
) -> float:
    """How many times as long the order of numbers takes, on a network that the job knows."""
    natural, ordered = times(
        [
            Request(
                network, operation, size, list(range(nodes)), f"{choice},order={order}", placement=placement,
                metric="combined",
            )
            for order in ("natural", "auto")
        ]
    )  # fmt: skip
    return natural / ordered


@pytest.mark.parametrize("size", [64 << 10, 1 << 20])
def test_a_tree_on_scattered_hosts_gains_where_switches_share_thin_trunks(size: int) -> None:
    assert gain(LARGE, "random:1", "knomial", size, nodes=256) >= 1.1


def test_fast_hosts_hand_on_and_slow_ones_wait() -> None:
    for size in (64 << 10, 128 << 10):  # of longer ones a slow root sends one after the other, whatever the order
        assert gain(MIXED, "random:1", "knomial,radix=4", size) >= 1.08, size


@pytest.mark.parametrize(
    ("operation", "choice", "size"), [("broadcast", "chain,segment=64K", 1 << 20), ("allgather", "ring", 16 << 10)]
)
def test_chains_and_rings_cross_between_switches_once_per_switch(operation: str, choice: str, size: int) -> None:
    """So a job on scattered hosts is nearly as fast as one whose neighbours in the order of numbers share switches.

    Round a ring data go both ways: twice as many cables are in use, and two ways may meet on one, which they never do
    among neighbours.
    """
    scattered, neighbours = times(
        [
            Request(THIN, operation, size, list(range(NODES)), f"{choice},order={order}", placement=placement,
                    metric="combined")
            for order, placement in (("auto", "random:1"), ("natural", "block"))
        ]
    )  # fmt: skip
    assert scattered <= (1.3 if choice == "ring" else 1.15) * neighbours
    assert gain(THIN, "random:1", choice, size, operation) >= 1.5


@pytest.mark.parametrize("network", [THIN, FULL, MIXED])
@pytest.mark.parametrize("placement", ["block", "random:1", "scattered:2"])
def test_the_automatic_order_is_never_much_slower_than_that_of_numbers(network: str, placement: str) -> None:
    """Cables that messages share are not priced: a sixth is what they may cost."""
    work = [("broadcast", "knomial"), ("scatter", "knomial"), ("gather", "knomial"), ("reduce", "knomial")]
    for operation, choice in work:
        for size in (8, 64 << 10):
            assert gain(network, placement, choice, size, operation) >= 0.86, (operation, size)


@pytest.mark.parametrize("oversubscription", [1, 2, 4])
@pytest.mark.parametrize("radix", [2, 4])
@pytest.mark.parametrize("placement", ["random:1", "scattered:2"])
def test_where_leaves_share_trunks_the_automatic_order_costs_at_most_3_percent(
    oversubscription: int, radix: int, placement: str
) -> None:
    network = f"fat_tree:leaves=8,down=8,spines={8 if oversubscription == 1 else 4},oversubscription={oversubscription}"
    for size in (1 << 10, 64 << 10, 1 << 20):
        assert gain(network, placement, f"knomial,radix={radix}", size) >= 1 / 1.03, size


def test_a_long_scatter_and_ring_crosses_seldom_though_no_trunk_is_full() -> None:
    """Messages meet on cables by chance, where these would do for all (Subramoni et al., figure 6)."""
    job = packed_job(
        64, 3.5, seed=3
    )  # 17 hosts' worth of cables for a rack's 16; with 3 no order is better than another
    natural, automatic = times([job.request(1 << 20, order) for order in ("natural", "auto")])
    assert natural >= 1.1 * automatic


def test_where_trunks_are_thin_the_automatic_order_is_the_one_that_spares_them() -> None:
    for radix in (2, 4):
        assert gain(THIN, "random:1", f"knomial,radix={radix}", 64 << 10) >= 1.12


def test_a_job_that_knows_nothing_keeps_the_order_of_numbers() -> None:
    natural, automatic = times(
        [
            Request(THIN, "broadcast", 8192, list(range(NODES)), choice, placement="random:1")
            for choice in ("knomial,order=natural", "knomial")
        ]
    )
    assert natural == automatic
