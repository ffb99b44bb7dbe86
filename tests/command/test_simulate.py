"""espalier simulate: answers, pictures and what it says to mistakes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from espalier.base.errors import UserError
from espalier.commands.simulate.sweep import report as report_points
from espalier.jobs.libraries import find_executor
from espalier.simulation.executor import OURS
from espalier.simulation.points import Point
from workshop import Command


@pytest.fixture
def _simgrid() -> None:
    try:
        find_executor()
    except UserError as error:
        pytest.skip(str(error))


def test_what_does_not_apply_or_exist_is_said(command: Command) -> None:
    outcome = command("simulate", "bcast", "--platform", "torus:x=3", "--nodes", "2")
    assert outcome.code == 2
    assert "unknown kind of network 'torus'" in outcome.err
    outcome = command("simulate", "bcast", "--platform", "star:hosts=2", "--nodes", "4")
    assert outcome.code == 2
    assert "the network has 2 hosts, fewer than the 4 nodes" in outcome.err
    outcome = command("simulate", "bcast", "--nodes", "64", "--ppn", "4", "--gantt", "x.svg")
    assert outcome.code == 2
    assert "--gantt draws up to 64 ranks" in outcome.err


def test_the_command_compares_algorithms_and_draws(command: Command, tmp_path: Path) -> None:
    picture = tmp_path / "plan.svg"
    outcome = command(
        "simulate", "allgather", "--bytes", "64K", "--nodes", "4", "--ppn", "2", "--platform", "star:hosts=4", "--all",
        "--json", "--gantt", str(picture),
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    arms = json.loads(outcome.out)["arms"]
    assert arms[0]["name"] == "built-in choice"
    assert {"allgather_ring", "allgather_bruck"} <= {arm["name"] for arm in arms}
    drawn = picture.read_text(encoding="utf-8")
    assert drawn.count('marker-end="url(#at-c') + drawn.count('<circle class="solid"') > 3 * 4, "all messages"


def test_the_links_of_the_network_are_drawn_the_busiest_first(command: Command, tmp_path: Path) -> None:
    picture = tmp_path / "links.svg"
    outcome = command(
        "simulate", "bcast", "--bytes", "1M", "--nodes", "8", "--ppn", "1", "--algorithm", "chain", "--links",
        str(picture), "--platform", "fat_tree:leaves=2,down=4,spines=2", "--json",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    text = picture.read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    loads = json.loads(outcome.out)["arms"][0]["loads"]
    assert text.count('class="link"') == len(loads), "7 up, 7 down, and 2 cables to get to the other leaf"
    hottest = max(loads, key=lambda load: load["busy"])["busy"]
    assert f"{hottest:.0%}, 1 MiB" in text.split('class="link"')[1]
    assert str(loads[0]["link"]) in text


def test_pictures_are_of_played_plans(command: Command, tmp_path: Path) -> None:
    outcome = command("simulate", "bcast", "--execute", "--links", str(tmp_path / "links.svg"))
    assert outcome.code == 2
    assert "--links is for plans that are played" in outcome.err


def test_orders_of_nodes_are_compared_where_the_network_is_known(command: Command) -> None:
    outcome = command(
        "simulate", "bcast", "--bytes", "64K", "--nodes", "32", "--ppn", "1", "--algorithm", "knomial", "--orders",
        "--platform", "fat_tree:leaves=4,down=8,spines=2,oversubscription=4", "--placement", "random:1", "--json",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    answer = json.loads(outcome.out)
    assert answer["metric"] == "combined"
    time = {arm["name"]: arm["microseconds"] for arm in answer["arms"]}
    assert list(time) == ["knomial", "order=natural", "order=breadth", "order=depth", "order=auto"]
    assert time["knomial"] == time["order=auto"], "auto is the default"
    assert time["order=auto"] <= 0.8 * time["order=natural"]


def test_a_job_is_placed_on_the_hosts_of_dumps(command: Command) -> None:
    dumps = Path(__file__).parents[1] / "data" / "fabric" / "s16" / "00-baseline"
    ask = ["simulate", "bcast", "--bytes", "8", "--ppn", "1", "--platform", f"fabric:{dumps}", "--json"]
    near = command(*ask, "--hosts", "node[000-001]")
    far = command(*ask, "--hosts", "node000,node008")
    assert near.code == 0, near.err
    times = [json.loads(outcome.out)["arms"][0]["microseconds"] for outcome in (near, far)]
    assert times[1] - times[0] == pytest.approx(2.245 - 1.57, abs=0.01), "four links instead of two, by Ranger's table"
    outcome = command(*ask, "--hosts", "node[000-001],nobody")
    assert outcome.code == 2
    assert "nobody" in outcome.err


@pytest.mark.usefixtures("_simgrid")
@pytest.mark.parametrize("how", ["blocks", "cyclic", "random:3"])
def test_ranks_are_mapped_to_nodes_as_asked_for(command: Command, how: str) -> None:
    """Played and executed agree, and only ranks that are dealt out send their neighbours' blocks over the network."""
    job = ("simulate", "allgather", "--bytes", "4K", "--ranks", "15", "--ppn", "4", "--platform", "star:hosts=4")
    outcome = command(*job, "--algorithm", "ring", "--map", how, "--json")
    assert outcome.code == 0, outcome.err
    (played,) = json.loads(outcome.out)["arms"]
    executed = command(*job, "--algorithm", "ring", "--map", how, "--execute", "--json")
    assert executed.code == 0, executed.err
    (arm,) = json.loads(executed.out)["arms"]
    assert arm["microseconds"] == pytest.approx(played["microseconds"], rel=0.05)


def test_a_map_that_does_not_exist_is_refused(command: Command) -> None:
    outcome = command("simulate", "bcast", "--map", "spiral", "--nodes", "2")
    assert outcome.code == 2
    assert "known: blocks, cyclic, random:SEED" in outcome.err


def test_several_sizes_and_numbers_of_ranks_make_one_table_and_one_drawing(command: Command, tmp_path: Path) -> None:
    picture = tmp_path / "curves.svg"
    outcome = command(
        "simulate", "allreduce", "--bytes", "1K,64K", "--ranks", "8,15", "--ppn", "4", "--platform", "star:hosts=4",
        "--plot", str(picture), "--json",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    points = json.loads(outcome.out)["points"]
    assert [(it["ranks"], it["bytes"]) for it in points] == [(8, 1024), (8, 65536), (15, 1024), (15, 65536)]
    assert all(it["times"]["espalier"] > 0 for it in points)
    ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    assert picture.read_text(encoding="utf-8").count("<polyline") == 2, "a chart for each number of ranks"


@pytest.mark.usefixtures("_simgrid")
def test_each_point_is_executed_beside_the_others_where_they_are_asked_for(command: Command) -> None:
    outcome = command(
        "simulate", "bcast", "--bytes", "1K", "--ranks", "6,8", "--ppn", "4", "--platform", "star:hosts=2", "--against",
        "mpich", "--json",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert [set(it["times"]) for it in json.loads(outcome.out)["points"]] == [{"espalier", "mpich"}] * 2


def test_an_arm_that_the_first_point_lacks_is_shown_at_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    points = [Point(2, 1024, {OURS: 1.0}, "flat"), Point(4, 1024, {OURS: 1.0, "mpich": 2.0}, "flat")]
    report_points("broadcast", "star", points, as_json=False)
    _, heading, first, second = capsys.readouterr().out.splitlines()
    assert heading.split() == ["ranks", "bytes", OURS, "mpich", "choice"]
    assert "–" in first
    assert "2.00 µs (2.00×)" in second


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--ranks", "8", "--nodes", "2"], "--ranks and --nodes say the same"),
        (["--ranks", "8,x"], "'8,x' is no list of counts"),
        (["--bytes", "1K,x"], "'x' is no number of bytes"),
        (["--bytes", "1K,2K", "--all"], "--all is for one size and one number of ranks"),
        (["--bytes", "1K,2K", "--all", "--orders"], "--all and --orders are for one size and one number of ranks"),
        (["--execute", "--all"], "--all is for plans that are played"),
        (["--against", "mpich", "--solver", "fluid"], "--solver is for plans that are played"),
        (["--bytes", "1K", "--plot", "x.svg"], "--plot draws times over several sizes"),
        (["--ranks", "4,8", "--root", "5"], "there are only ranks 0 to 3"),
    ],
)
def test_what_does_not_go_together_is_refused(command: Command, options: list[str], complaint: str) -> None:
    outcome = command("simulate", "bcast", "--platform", "star:hosts=4", *options)
    assert outcome.code == 2
    assert complaint in outcome.err


def test_nothing_is_cut_where_there_is_no_terminal() -> None:
    command = [sys.executable, "-m", "espalier", "simulate", "bcast", "--nodes", "4", "--platform", "star", "--all"]
    done = subprocess.run(command, env={**os.environ, "COLUMNS": "80"}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "…" not in done.stdout
    assert "multi_group,groups=2,exchange=direct,within=cells,cell=32K,cells=4" in done.stdout
