"""How many ranks a job has, and on how many nodes: what was asked for against what there is."""

from __future__ import annotations

import pytest

from espalier.base.errors import UserError
from espalier.jobs.allocation import Allocation, Host, System
from espalier.jobs.layout import Layout, Wish, settle_layout


def slurm(*slots: int, cpus: int = 0) -> Allocation:
    return Allocation(System.SLURM, "7", tuple(Host(own, max(own, cpus)) for own in slots))


def test_without_a_batch_system_a_job_has_what_was_asked_for_or_the_default() -> None:
    assert settle_layout(Wish(), None, 2) == Layout(2)
    assert settle_layout(Wish(ranks=5), None, 2) == Layout(5)
    assert settle_layout(Wish(nodes=2, ppn=4), None, 2) == Layout(8, 2, 4)


def test_in_an_allocation_a_job_fills_it() -> None:
    assert settle_layout(Wish(), slurm(16, 16, 16, 16), 1) == Layout(64, 4, 16)


def test_unequal_nodes_are_left_to_the_launcher() -> None:
    assert settle_layout(Wish(), slurm(3, 1, 4), 1) == Layout(8, 3)


def test_some_of_the_nodes_and_other_numbers_of_ranks_may_be_asked_for() -> None:
    four = slurm(2, 2, 2, 2, cpus=8)
    assert settle_layout(Wish(nodes=2), four, 1) == Layout(4, 2, 2)
    assert settle_layout(Wish(ppn=8), four, 1) == Layout(32, 4, 8)
    assert settle_layout(Wish(nodes=3, ppn=1), four, 1) == Layout(3, 3, 1)
    assert settle_layout(Wish(ranks=3), four, 1) == Layout(3)
    assert settle_layout(Wish(ranks=8), four, 1) == Layout(8, 4, 2)
    assert settle_layout(Wish(ranks=7, ppn=4), four, 1) == Layout(7, 2, 4)
    assert settle_layout(Wish(ranks=6, nodes=2), four, 1) == Layout(6, 2, 3)
    assert settle_layout(Wish(ranks=7, nodes=2), four, 1) == Layout(7, 2)


@pytest.mark.parametrize(
    ("wish", "message", "remedy"),
    [
        (Wish(nodes=5), "5 nodes are asked for, and there are fewer: Slurm (7): 4 hosts, 8 ranks", "--nodes=5"),
        (Wish(ranks=20, ppn=4), "5 nodes are asked for", "--ntasks-per-node=4"),
        (Wish(ppn=9), "9 ranks on a host with processors for 8", "--ntasks-per-node=9; or --overcommit"),
        (Wish(ranks=33), "33 ranks on hosts with processors for 32", "--ntasks-per-node=9"),
        (Wish(ranks=7, nodes=2, ppn=4), "2 nodes with 4 ranks on each make 8", "leave one"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_way_to_get_it(wish: Wish, message: str, remedy: str) -> None:
    with pytest.raises(UserError) as caught:
        settle_layout(wish, slurm(2, 2, 2, 2, cpus=8), 1)
    assert message in caught.value.message
    assert remedy in caught.value.remedy


def test_ranks_share_processors_only_where_that_was_asked_for() -> None:
    assert settle_layout(Wish(ppn=9), slurm(2, 2, cpus=8), 1, overcommit=True) == Layout(18, 2, 9)


@pytest.mark.parametrize(("wish", "remedy"), [(Wish(nodes=4), "add --ppn"), (Wish(ppn=4), "add --nodes")])
def test_half_a_shape_needs_a_batch_system(wish: Wish, remedy: str) -> None:
    with pytest.raises(UserError) as caught:
        settle_layout(wish, None, 1)
    assert remedy in caught.value.remedy
    assert "--hostfile" in caught.value.remedy
