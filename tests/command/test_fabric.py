"""The commands about the network, on captured fabrics and on damaged ones."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest

from espalier.base.errors import UserError
from espalier.fabric import load
from espalier.fabric.generated import FatTree, write
from fabrics import DAMAGES, DATA, Damage, damaged, expected_routes, read
from workshop import Command

CAPTURES = [
    "s16/00-baseline",
    "s16/01-link-leaf01-spine01-down",
    "s16/02-link-restored",
    "s16/03-spine02-removed",
    "s16/04-spine02-restored",
    "s16/05-host-node015-down",
    "s16-2port-lmc1",
    "m128/00-baseline",
    "m128/03-agg-p01-01-removed",
]
BASELINE = DATA / "s16" / "00-baseline"
_COLLECTION = DATA.parents[3] / "shared" / "data" / "fabric"


@pytest.mark.parametrize("name", CAPTURES)
def test_every_pair_takes_the_route_of_the_capture(command: Command, name: str) -> None:
    outcome = command("routes", "--fabric", str(DATA / name), "--all")
    assert outcome.code == 0
    assert set(outcome.out.splitlines()) == expected_routes(DATA / name)


if _COLLECTION.is_dir():  # beside some checkouts

    def test_the_larger_collection_of_captures_agrees_too(command: Command) -> None:
        for folder in sorted(path.parent for path in _COLLECTION.glob("[sm]*/0*/expected-routes.tsv*")):
            outcome = command("routes", "--fabric", str(folder), "--all")
            assert set(outcome.out.splitlines()) == expected_routes(folder), folder
        for folder in sorted((_COLLECTION / "hostile").iterdir()):
            outcome = command("routes", "--fabric", str(folder), "--all")
            assert outcome.code in (0, 2), folder
            assert "Traceback" not in outcome.err


def test_odd_names_are_hosts_and_aggregation_nodes_are_not(command: Command) -> None:
    outcome = command("routes", "--fabric", str(DATA / "odd-names"), "--all")
    expected = {line for line in expected_routes(DATA / "odd-names") if "Mellanox" not in line}
    assert expected <= set(outcome.out.splitlines())
    hosts = {line.split("\t")[0] for line in outcome.out.splitlines()}
    assert hosts == {"MT4119", "localhost", "node-a", "o'brien's", "0x0002c90300600030"}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_damage_has_its_own_error_and_harms_nothing_else(command: Command, damage: Damage, tmp_path: Path) -> None:
    folder = damaged(damage, tmp_path)
    outcome = command("routes", "--fabric", str(folder), "--all")
    if damage.fault:
        assert outcome.code == 2
        assert f"{damage.fault}:" in outcome.err
        assert outcome.out == ""
        return
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert Counter(line.split("\t")[2] for line in lines) == damage.statuses
    if not damage.finding:
        sound = {line for line in expected_routes(BASELINE) if "node003" not in line}
        assert {line for line in lines if "\tok\t" in line and "node??003" not in line} - sound <= expected_routes(
            BASELINE
        )
    report = json.loads(command("fabric", "check", str(folder), "--json").out)
    kinds = {finding["kind"] for finding in report["findings"]}
    assert damage.finding in kinds if damage.finding else not kinds
    assert {entry["status"]: entry["pairs"] for entry in report["routes"]} == damage.statuses


def test_a_route_names_ports_speeds_and_the_slowest_link(command: Command) -> None:
    outcome = command("route", "node001", "node005", "--fabric", str(BASELINE), "--json")
    facts = json.loads(outcome.out)
    assert (facts["status"], facts["links"], facts["basis"]) == ("ok", 4, "tables")
    assert [(it["name"], it["in"], it["out"], it["rate"]) for it in facts["switches"]] == [
        ("leaf01", 2, 6, "4xQDR"),
        ("spine02", 1, 2, "4xQDR"),
        ("leaf02", 6, 2, "4xDDR"),
    ]
    assert facts["bottleneck"] == {"rate": "4xDDR", "gbps": 16.0}
    text = command("route", "node001", "node005", "--fabric", str(BASELINE)).out
    assert "spine02" in text
    assert "slowest 4xDDR" in text


def test_after_a_link_has_failed_no_route_takes_it(command: Command) -> None:
    folder = str(DATA / "s16" / "01-link-leaf01-spine01-down")
    assert "spine02" in command("route", "node000", "node004", "--fabric", folder).out
    lines = command("routes", "--fabric", folder, "--all").out.splitlines()
    leaf, spine = "0x0002c90200400010", "0x0002c90200400050"
    assert not [line for line in lines if f"{leaf}[" in line.split("\t")[4].split(" ")[0] and spine in line]


def test_many_routes_are_told_as_json_as_one_is(command: Command) -> None:
    ends, fabric = ("node001", "node005"), ("--fabric", str(BASELINE), "--json")
    told = json.loads(command("routes", *ends, *fabric).out)["routes"]
    one = json.loads(command("route", *ends, *fabric).out)
    assert [(it["source"], it["target"], it["status"], it["links"]) for it in told] == [
        (*ends, "ok", one["links"]),
        (*reversed(ends), "ok", one["links"]),
    ]
    assert told[0]["switches"] == [{name: hop[name] for name in ("guid", "in", "out")} for hop in one["switches"]]
    assert len(json.loads(command("routes", "--all", *fabric).out)["routes"]) == 16 * 15


def test_what_was_drawn_is_told_as_json(command: Command, tmp_path: Path) -> None:
    output = tmp_path / "fabric.svg"
    options = ("--fabric", str(BASELINE), "--highlight", "node001:node005", "-o", str(output), "--json")
    told = json.loads(command("topo", *options).out)
    assert (told["drawn"], told["hosts"], told["findings"]) == (str(output), 16, [])
    assert told["routes"] == [json.loads(command("route", "node001", "node005", *options[:2], "--json").out)]


def test_a_route_that_fails_says_where_and_why(command: Command, tmp_path: Path) -> None:
    loop = next(damage for damage in DAMAGES if damage.name == "a loop")
    outcome = command("route", "node000", "node004", "--fabric", str(damaged(loop, tmp_path)))
    assert outcome.code == 1
    assert "comes back to a switch" in outcome.out


def test_the_second_lid_of_a_port_may_take_another_way(command: Command) -> None:
    folder = str(DATA / "s16-2port-lmc1")
    ways = {command("route", "n00", "n04", "--fabric", folder, "--path", path).out for path in ("0", "1")}
    assert len(ways) == 2
    refused = command("route", "n00", "n04", "--fabric", folder, "--path", "2")
    assert refused.code == 2
    assert "2 LIDs" in refused.err


@pytest.mark.parametrize("tool", ["ibnetdiscover-f", "ibnetdiscover-g"])
@pytest.mark.parametrize("tables", ["dump_fts-a", "dump_fts-n", "dump_lfts"])
def test_other_options_of_the_tools_change_nothing(command: Command, tmp_path: Path, tool: str, tables: str) -> None:
    for name in (tool, tables):
        (tmp_path / name).write_text(read(DATA / "s16" / "more" / f"{name}.txt"))
    lines = set(command("routes", "--fabric", str(tmp_path), "--all").out.splitlines())
    assert lines == expected_routes(BASELINE)


def test_packed_files_are_known_by_their_content(command: Command, tmp_path: Path) -> None:
    for name in ("ibnetdiscover.txt", "dump_fts.txt"):
        (tmp_path / name).write_bytes(gzip.compress((BASELINE / name).read_bytes()))
    lines = set(command("routes", "--fabric", str(tmp_path), "--all").out.splitlines())
    assert lines == expected_routes(BASELINE)
    packed = (tmp_path / "dump_fts.txt").read_bytes()
    (tmp_path / "dump_fts.txt").write_bytes(packed[: len(packed) // 2])
    outcome = command("routes", "--fabric", str(tmp_path), "--all")
    assert outcome.code == 2
    assert f"{tmp_path / 'dump_fts.txt'}: unreadable" in outcome.err, "of several files one wants to know which"


def test_a_folder_that_may_not_be_read_is_no_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", refuse)
    (tmp_path / "ibnetdiscover.txt").touch()
    with pytest.raises(UserError, match="unreadable: Permission denied"):
        load(tmp_path)


def test_the_check_calls_a_good_set_good_and_a_bad_one_bad(command: Command, tmp_path: Path) -> None:
    good = command("fabric", "check", str(BASELINE))
    assert good.code == 0
    assert "good" in good.out
    missing = next(damage for damage in DAMAGES if damage.name == "a table missing")
    bad = command("fabric", "check", str(damaged(missing, tmp_path)))
    assert bad.code == 1
    assert "missing-table" in bad.out
    assert "no-entry 96" in bad.out


def test_a_large_real_fabric_is_read_without_tables(command: Command) -> None:
    report = json.loads(
        command("fabric", "check", str(DATA / "real" / "topograph-example.ibnetdiscover.xz"), "--json").out
    )
    assert report["switches"] == 40
    assert report["basis"] == "shortest"
    assert [entry["status"] for entry in report["routes"]] == ["ok"]


@pytest.mark.parametrize(
    ("source", "target"), [("nobody", "node000"), ("node000", "0x1"), ("node000", "0x0002c90200400010")]
)
def test_unknown_hosts_are_refused_by_name(command: Command, source: str, target: str) -> None:
    outcome = command("route", source, target, "--fabric", str(BASELINE))
    assert outcome.code == 2
    assert "unknown-host" in outcome.err


def test_of_two_unknown_hosts_the_first_is_named(command: Command) -> None:
    outcome = command("route", "first", "second", "--fabric", str(BASELINE))
    assert "unknown-host: 'first'" in outcome.err
    assert "`espalier routes --all` lists all hosts" in outcome.err


def test_delays_follow_routes_and_speeds(command: Command) -> None:
    outcome = command("fabric", "matrix", str(BASELINE), "hops", "node[000-001]", "node004", "--json")
    assert json.loads(outcome.out)["delays"] == [[0, 2, 4], [2, 0, 4], [4, 4, 0]]
    outcome = command("fabric", "matrix", str(BASELINE), "combined", "node001", "node005", "--bytes", "1M", "--json")
    delay = json.loads(outcome.out)["delays"][0][1]
    assert math.isclose(delay, (2.04 + 2.45) / 2 + (1 << 20) / (16 * 125))


def test_slurm_reads_back_the_tree_that_was_exported(command: Command, tmp_path: Path) -> None:
    exported = tmp_path / "topology.conf"
    outcome = command("fabric", "export", str(BASELINE), "--format", "slurm", "-o", str(exported))
    assert outcome.code == 0
    assert exported.read_text().splitlines()[-1] == "SwitchName=spine01 Switches=leaf[01-04]"
    again = json.loads(command("route", "node000", "node005", "--fabric", str(tmp_path), "--json").out)
    assert (again["basis"], again["links"]) == ("tree", 4)


def test_three_levels_become_three_levels_of_slurm(command: Command) -> None:
    lines = command("fabric", "export", str(DATA / "m128" / "00-baseline"), "--format", "slurm").out.splitlines()
    assert len([line for line in lines if "Nodes=" in line]) == 16
    assert len([line for line in lines if "Switches=leaf" in line]) == 4
    assert len([line for line in lines if "Switches=agg" in line]) == 1


def test_a_simgrid_platform_has_every_actual_route(command: Command) -> None:
    outcome = command("fabric", "export", str(BASELINE), "--format", "simgrid")
    zone = ET.fromstring(outcome.out).find("zone")
    assert zone is not None
    routes = {(it.get("src"), it.get("dst")): it.findall("link_ctn") for it in zone.findall("route")}
    assert len(routes) == 240
    assert [it.get("id") for it in routes["node000", "node005"]] == [
        "0x0002c90300010010:1",
        "0x0002c90200400010:6",
        "0x0002c90200400060:2",
        "0x0002c90200400020:2",
    ]
    links = {it.get("id"): it.get("bandwidth") for it in zone.findall("link")}
    assert links["0x0002c90200400020:2"] == "16Gbps"


def test_json_and_graphviz_name_every_cable_once(command: Command) -> None:
    facts = json.loads(command("fabric", "export", str(BASELINE)).out)
    assert (len(facts["switches"]), len(facts["hosts"]), len(facts["cables"])) == (6, 16, 24)
    dot = command("fabric", "export", str(BASELINE), "--format", "dot").out
    assert dot.count(" -- ") == 24


@pytest.mark.parametrize("name", ["s16/00-baseline", "odd-names", "m128/00-baseline", "slurm-block"])
def test_the_drawing_is_well_formed(command: Command, tmp_path: Path, name: str) -> None:
    output = tmp_path / "fabric.svg"
    assert command("topo", "--fabric", str(DATA / name), "-o", str(output)).code == 0
    ET.parse(output)


def test_a_zoom_shows_the_hosts_their_switches_and_the_route(command: Command, tmp_path: Path) -> None:
    output = tmp_path / "fabric.svg"
    zoom = ["--hosts", "node[000,005]", "--highlight", "node000:node005"]
    assert command("topo", "--fabric", str(BASELINE), *zoom, "-o", str(output)).code == 0
    text = output.read_text()
    assert 'class="route"' in text
    assert "leaf02" in text
    assert "leaf03" not in text
    assert "node001" not in text


def test_four_thousand_hosts_load_in_seconds_and_their_matrix_in_a_moment(tmp_path: Path) -> None:
    write(FatTree(pods=16, leaves=16, hosts=16, aggregations=8, cores=64), tmp_path)
    # A process of its own, so that the memory is the fabric's.
    source = (
        "import resource, sys, time; from pathlib import Path; from espalier.fabric import load\n"
        "begin = time.process_time(); core = load(Path(sys.argv[1])).core; loaded = time.process_time()\n"
        "names = [host.name for host in core.hosts][::4]\n"
        "delays = core.derive_delays(names); asked = time.process_time()\n"
        "print(len(core.hosts), delays.count_statuses()[0][:2], loaded - begin, asked - loaded,\n"
        "      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, sep=';')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source, str(tmp_path)], capture_output=True, text=True, check=True, timeout=300
    )
    hosts, counts, load_s, matrix_s, megabytes = done.stdout.strip().split(";")
    assert (hosts, counts) == ("4096", "('ok', 1047552)")
    # Processor time: this machine may be busy. The bars are 5 s, 100 ms and 600 MB.
    assert float(load_s) < 5
    assert float(matrix_s) < 0.1
    assert int(megabytes) < 600


def test_hosts_answer_to_their_names_without_a_domain_as_pictures_call_them(command: Command, tmp_path: Path) -> None:
    folder = str(DATA / "m128" / "00-baseline")
    whole = command("route", "c000-000.cluster", "c000-001.cluster", "--fabric", folder)
    short = command("route", "c000-000", "c000-001", "--fabric", folder)
    assert short.out.splitlines()[1:] == whole.out.splitlines()[1:]
    picture = tmp_path / "part.svg"
    assert command("topo", "--fabric", folder, "--hosts", "c000-[000-001]", "-o", str(picture)).code == 0
    assert "c000-001" in picture.read_text()
