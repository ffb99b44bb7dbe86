"""The readers of the network's dumps, fed with anything: an answer or a named fault, never a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier.base.core import load_core
from fabrics import DATA, read

CORE = load_core()

SAMPLES = {
    name: read(DATA / "s16" / "00-baseline" / name).encode()
    for name in (
        "ibnetdiscover.txt",
        "ibnetdiscover-p.txt",
        "iblinkinfo.txt",
        "iblinkinfo-line.txt",
        "opensm-subnet.lst",
        "dump_fts.txt",
        "opensm-lfts.dump",
        "opensm.fdbs",
    )
} | {
    "topology.conf": read(DATA / "slurm-tree" / "topology.conf").encode(),
    "topology.yaml": (
        b"- topology: t\n  cluster_default: true\n  tree:\n    switches:\n"
        b"      - switch: s1\n        nodes: n[1-4]\n      - switch: s2\n        children: s1\n"
    ),
}
WIRING = SAMPLES["ibnetdiscover.txt"]
MOST_ASKED = 128  # hosts: more than any sample has

# What dumps are made of, and what they should not contain.
FRAGMENTS = [
    *(
        b"lid ",
        b"[",
        b"]",
        b"(",
        b")",
        b'"',
        b"#",
        b"{",
        b"}",
        b":",
        b"=",
        b",",
        b"\\",
        b"'",
        b"-",
        b"\n",
        b"\r\n",
        b" ",
    ),
    *(b"0x", b"4x", b"??", b"\0", b"\xff", b"-1", b"0", b"255", b"65536", b"99999999999999999999", b"nan", b"1e999"),
    *(b"S-", b"H-", b"Switch\t8 ", b"Ca\t1 ", b"==(", b")==>", b"Unicast lids [", b"lids dumped", b"Nodes=", b"n[1-"),
    b"A" * 9000,
]


def is_found(fabric: Any, name: str) -> bool:
    """Damage may turn a host's label into the GUID of a switch, which goes first."""
    try:
        fabric.find_endpoint(name)
    except CORE.FabricError as error:
        if error.fault != "unknown-host":
            raise
        return False
    return True


def ask_everything(fabric: Any) -> None:
    """Uses all that a fabric offers; only its own error may come."""
    # Damage may write a list of ten thousand hosts, whose pairs nobody can wait for: 16 s for each hundred of them.
    hosts = fabric.hosts if len(fabric.hosts) <= MOST_ASKED else fabric.hosts[:4]
    for host in hosts:
        fabric.routes_from(host)
    names = [host.name for host in hosts if is_found(fabric, host.name)]
    for route in [fabric.trace_route(*fabric.find_pair(names[0], name), 1) for name in names]:
        fabric.explain(route)
        fabric.bottleneck(route)
        fabric.find_shortest_routes(route.source, route.target)
    delays = fabric.derive_delays(names)
    delays.matrix("combined", 1 << 20)
    delays.count_statuses()


def load_files(*files: bytes, piece: int = 1 << 20) -> Any:
    """As espalier.fabric.load, from memory. None when the files were rejected."""
    formats = [CORE.detect_fabric_format(data[: CORE.fabric_head_bytes]) for data in files]
    loader = CORE.FabricLoader()
    try:
        for index in CORE.choose_fabric_files(formats):
            loader.open("file", formats[index])
            for start in range(0, len(files[index]), piece):
                loader.feed(files[index][start : start + piece])
            loader.close()
        return loader.finish()
    except CORE.FabricError as error:
        if f"{error.fault}: " not in str(error):
            raise
        return None


Edit = Callable[[bytes], bytes]


@st.composite
def edits(draw: st.DrawFn) -> Edit:
    """One piece of damage: cut, insert, overwrite, repeat or swap."""
    where, length = draw(st.floats(0, 1)), draw(st.integers(0, 200))
    kind = draw(st.sampled_from(["cut", "end", "insert", "repeat", "digit"]))
    fragment = draw(st.one_of(st.sampled_from(FRAGMENTS), st.binary(max_size=8)))

    def apply(data: bytes) -> bytes:
        at = int(where * len(data))
        if kind == "cut":
            return data[:at] + data[at + length :]
        if kind == "end":
            return data[:at]
        if kind == "insert":
            return data[:at] + fragment + data[at:]
        if kind == "repeat":
            return data[:at] + data[at : at + length] + data[at:]
        return data[:at] + bytes([48 + length % 10]) + data[at + 1 :]

    return apply


@pytest.mark.parametrize("name", SAMPLES)
@given(changes=st.lists(edits(), min_size=1, max_size=6), piece=st.sampled_from([1 << 20, 997, 13]))
@settings(max_examples=150, deadline=None)
def test_a_damaged_dump_gives_a_fabric_or_a_named_fault(name: str, changes: list[Edit], piece: int) -> None:
    data = SAMPLES[name]
    for change in changes:
        data = change(data)
    is_table = name in ("dump_fts.txt", "opensm-lfts.dump", "opensm.fdbs")
    fabric = load_files(*((WIRING, data) if is_table else (data, SAMPLES["dump_fts.txt"])), piece=piece)
    if fabric is not None:
        ask_everything(fabric)


@given(st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.binary(max_size=40)), max_size=60))
@settings(max_examples=300, deadline=None)
def test_noise_gives_a_fabric_or_a_named_fault(pieces: list[bytes]) -> None:
    fabric = load_files(b"".join(pieces))
    if fabric is not None:
        ask_everything(fabric)


@given(st.text(alphabet="abn019[]-,. ", max_size=40))
@settings(max_examples=300, deadline=None)
def test_host_lists_are_expanded_or_refused(text: str) -> None:
    try:
        names = CORE.expand_host_list(text, 1000)
    except CORE.FabricError as error:
        names = [error.fault]
    assert len(names) <= 1000


@given(st.lists(st.from_regex(r"[a-z]{1,3}(-[a-z])?[0-9]{0,4}", fullmatch=True), max_size=30))
@settings(max_examples=300, deadline=None)
def test_host_lists_read_back(names: list[str]) -> None:
    assert CORE.expand_host_list(CORE.compress_host_list(names)) == names
