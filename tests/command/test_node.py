"""espalier node: a machine drawn, ranks placed on it, leaders elected; and doctor's view of the NIC."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from espalier.jobs.diagnosis import Level, judge_binding
from workshop import Command

_MACHINES = Path(__file__).parents[1] / "snapshots" / "machines"


def _leaders(report: dict[str, Any], operation: str, has_root: bool) -> list[int]:
    for entry in report["leaders"]:
        if (entry["operation"], entry["has_root"]) == (operation, has_root):
            return [it["rank"] for it in entry["leaders"]]
    raise AssertionError(f"nothing about {operation}")


def test_the_papers_machine_has_its_leaders_beside_the_card(command: Command) -> None:
    done = command("node", str(_MACHINES / "opteron-4s.xml"), "--root", "6", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["why_nics"] == "mlx4_0: the fastest that is up"
    assert [nic["is_used"] for nic in report["nics"]] == [False, True]
    assert len(report["ranks"]) == 8
    assert _leaders(report, "broadcast", True) == [6]
    assert _leaders(report, "broadcast", False) == [2]
    assert _leaders(report, "gather", False) == [0]
    assert _leaders(report, "allgather", False) == [2]


def test_every_card_gets_a_leader(command: Command) -> None:
    done = command("node", str(_MACHINES / "xeon-2s-2nic.xml"), "--leaders", "2", "--mapping", "scattered", "--json")
    pairs = [it["leaders"] for it in json.loads(done.out)["leaders"] if it["operation"] == "allgather"]
    assert pairs == [[{"rank": 0, "nic": "mlx5_0"}, {"rank": 1, "nic": "mlx5_1"}]]


def test_a_user_says_which_card(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = str(_MACHINES / "xeon-2s-2nic.xml")
    assert "leaders among 16 ranks; NIC: mlx5_1: ESPALIER_NIC=ib1" in command("node", machine, "--nic", "ib1").out
    monkeypatch.setenv("UCX_NET_DEVICES", "mlx5_0:1")
    assert "NIC: mlx5_0: UCX_NET_DEVICES=mlx5_0:1" in command("node", machine).out


def test_the_text_shows_where_ranks_sit(command: Command) -> None:
    out = command("node", str(_MACHINES / "epyc-2s-nps4.xml"), "-n", "4").out
    assert "NUMA node 0 0-7, distances 10 12 12 12 32 32 32 32" in out
    assert "L3 0-3  ranks 0-3" in out
    assert "NIC mlx5_0 hsn0 0000:a1:00.0 252 Gbit/s ← in use" in out
    assert "all ranks are equally far" in out


def test_a_numa_node_across_packages_is_drawn_with_its_packages_inside(command: Command, tmp_path: Path) -> None:
    """Memory interleaved between sockets: one NUMA node, several packages."""
    picture = tmp_path / "node.svg"
    out = command("node", "numa:1 package:2 l3:1 core:2 pu:1", "--svg", str(picture)).out
    assert "NUMA node 0 0-3" in out
    assert out.index("NUMA node 0") < out.index("package 0-1") < out.index("L3 0-1  ranks 0-1")
    assert "L3 2-3  ranks 2-3" in out
    texts = [it.text for it in ElementTree.parse(picture).getroot().iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["across 2 packages", "NUMA node 0", "0", "1", "2", "3"]


def test_unbound_ranks_are_said_to_be_so(command: Command) -> None:
    out = command("node", str(_MACHINES / "xeon-2s-1nic.xml"), "-n", "4", "--mapping", "unbound").out
    assert "ranks 0-3: not bound to one NUMA node" in out
    assert "no rank is bound to a NUMA node" in out


def test_this_machine_is_drawn_as_well(command: Command, tmp_path: Path) -> None:
    picture = tmp_path / "node.svg"
    done = command("node", "--svg", str(picture))
    assert done.code == 0, done.err
    assert "this machine" in done.out
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


@pytest.mark.parametrize("machine", sorted(path.name for path in _MACHINES.glob("*.xml")))
def test_every_machine_can_be_drawn(command: Command, tmp_path: Path, machine: str) -> None:
    picture = tmp_path / "node.svg"
    assert command("node", str(_MACHINES / machine), "--svg", str(picture)).code == 0
    texts = [it.text or "" for it in ElementTree.parse(picture).getroot().iter("{http://www.w3.org/2000/svg}text")]
    assert any(text.startswith("NUMA node 0") for text in texts)


if "HWLOC_MACHINES" in os.environ:  # hwloc's sources, which no package brings (tests/snapshots/README.md)

    def test_hwlocs_own_machines_can_be_drawn(command: Command, tmp_path: Path) -> None:
        machines = sorted(Path(os.environ["HWLOC_MACHINES"]).glob("*.xml"))
        assert machines
        for machine in machines:
            picture = tmp_path / "node.svg"
            done = command("node", str(machine), "--mapping", "scattered", "--leaders", "2", "--svg", str(picture))
            if done.code != 0:  # of another version of hwloc
                assert f"hwloc cannot read {machine}" in done.err
                continue
            texts = [
                it.text or "" for it in ElementTree.parse(picture).getroot().iter("{http://www.w3.org/2000/svg}text")
            ]
            assert any(text.startswith("NUMA node") for text in texts), machine
            assert "NUMA node" in done.out, machine


def test_a_node_is_drawn_as_a_page_or_a_picture(command: Command, tmp_path: Path) -> None:
    page, picture = tmp_path / "node.html", tmp_path / "node.svg"
    for output in (page, picture):
        assert command("node", str(_MACHINES / "opteron-4s.xml"), "-o", str(output)).code == 0
    text = page.read_text()
    assert "<svg" in text
    assert "mlx4_0: the fastest that is up" in text
    assert '<td class="left">2 mlx4_0</td><td class="left">near their NIC</td>' in text
    assert '<td class="left">broadcast, scatter</td>' in text
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


def test_this_node_is_drawn(command: Command, tmp_path: Path) -> None:
    output = tmp_path / "node.html"
    assert command("node", "-o", str(output)).code == 0
    assert "this machine: who speaks for the node" in output.read_text()


def test_the_picture_joins_processors_that_share_a_cache(command: Command, tmp_path: Path) -> None:
    output = tmp_path / "node.svg"
    assert command("node", str(_MACHINES / "epyc-2s-nps4.xml"), "-o", str(output)).code == 0
    shapes = ElementTree.parse(output).getroot().iter("{http://www.w3.org/2000/svg}rect")
    assert [shape.get("class") for shape in shapes].count("l3") == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.xml"], "nowhere.xml: cannot be read"),
        (["three sockets"], "hwloc cannot read three sockets"),
        (["package:2 core:2 pu:1", "--mapping", "dense"], '"dense" is no mapping'),
        (["package:2 core:2 pu:1", "--policy", "nearest"], '"nearest" is no policy'),
        (["package:2 core:2 pu:1", "--root", "4"], "there are only ranks 0 to 3"),
        (["package:2 core:2 pu:1", "--hwloc"], "--hwloc is about this machine"),
        (["package:2 core:2 pu:1", "--svg", "/dev/null/node.svg"], "/dev/null is no folder"),
    ],
)
def test_mistakes_are_named(command: Command, arguments: list[str], message: str) -> None:
    done = command("node", *arguments)
    assert done.code == 2
    assert message in done.err


def test_a_card_that_is_not_there_is_said_to_be_missing(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = str(_MACHINES / "opteron-4s.xml")
    done = command("node", machine, "--nic", "mlx5_7")
    assert done.code == 0
    assert f"mlx5_7 names no network device of {machine}; mlx4_0: the fastest that is up" in done.err
    monkeypatch.setenv("ESPALIER_NIC", "mlx5_7")
    findings = json.loads(command("doctor", "--json").out)["findings"]
    assert any(it["level"] == "warning" and "ESPALIER_NIC=mlx5_7 names no" in it["text"] for it in findings)


def _parse(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if word]


def _two_sockets(near: str) -> SimpleNamespace:
    return SimpleNamespace(numa_nodes=[None, None], nics=[SimpleNamespace(names=["mlx5_0"], near=near)])


def test_doctor_warns_when_everything_is_bound_away_from_the_nic() -> None:
    finding = judge_binding(_two_sockets("2,3"), [0], "mlx5_0: up", [0, 1], _parse)
    assert finding.level is Level.WARNING
    assert "mlx5_0 is at processors 2,3" in finding.text
    assert "bind at least one rank" in finding.remedy


@pytest.mark.parametrize(("near", "nics", "allowed"), [("2,3", [0], [1, 2]), ("", [0], [0, 1]), ("2,3", [], [0, 1])])
def test_doctor_is_content_when_some_rank_may_be_near_or_nobody_knows(
    near: str, nics: list[int], allowed: list[int]
) -> None:
    assert judge_binding(_two_sockets(near), nics, "mlx5_0: up", allowed, _parse).level is Level.OK
