"""Captured fabrics, and damage done to them on the spot."""

from __future__ import annotations

import lzma
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parents[1] / "data" / "fabric"


def read(path: Path) -> str:
    """A capture's file, packed or not."""
    packed = path.with_name(path.name + ".xz")
    return lzma.open(packed, "rt").read() if packed.exists() else path.read_text()


def expected_routes(folder: Path, name: str = "expected-routes.tsv") -> set[str]:
    """The lines that `espalier routes --all` should print for a capture."""
    lines = set()
    for line in read(folder / name).splitlines():
        source, target, _, _, status, links, hops = line.split("\t")
        lines.add("\t".join([source, target, status, links, re.sub(r",[^] ]*\]?(?= |$)", "]", hops)]))
    return lines


@dataclass(frozen=True)
class Damage:
    """What is done to the wiring and the tables of s16, and what must come of it."""

    name: str
    wiring: Callable[[str], str | bytes]
    tables: Callable[[str], str]
    statuses: dict[str, int]
    """How many of the 240 pairs have which status; empty when the dumps must be rejected."""
    finding: str = ""
    fault: str = ""


def _same(text: str) -> str:
    return text


def _in_table(switch: str, old: str, new: str) -> Callable[[str], str]:
    """Changes lines of one switch's table."""

    def change(text: str) -> str:
        blocks = text.split("Unicast lids ")
        changed = [re.sub(old, new, block, flags=re.M) if f"({switch}):" in block else block for block in blocks]
        assert changed != blocks
        return "Unicast lids ".join(changed)

    return change


def _without_table(switch: str) -> Callable[[str], str]:
    return lambda text: "Unicast lids ".join(b for b in text.split("Unicast lids ") if f"({switch}):" not in b)


def _later(file: str) -> Callable[[str], str]:
    return lambda _: read(DATA / "s16" / "03-spine02-removed" / file)


_NODE004 = r"^0x000b \d{3}"

DAMAGES = [
    Damage("half a wiring", lambda t: t[: len(t) // 2], _same, {}, fault="truncated"),
    Damage(
        "half the tables",
        _same,
        lambda t: t[: len(t) // 2] + "\n",
        {"ok": 36, "no-entry": 204},
        finding="truncated-table",
    ),
    Damage("a table missing", _same, _without_table("spine01"), {"ok": 144, "no-entry": 96}, finding="missing-table"),
    Damage("a loop", _same, _in_table("spine01", _NODE004, "0x000b 001"), {"ok": 228, "loop": 12}),
    Damage("a wrong end", _same, _in_table("leaf01", _NODE004, "0x000b 003"), {"ok": 236, "wrong-end": 4}),
    Damage("an illegal port", _same, _in_table("leaf01", _NODE004, "0x000b 255"), {"ok": 236, "no-entry": 4}),
    Damage("a dead port", _same, _in_table("leaf01", _NODE004, "0x000b 008"), {"ok": 236, "port-down": 4}),
    Damage(
        "older tables",
        _later("ibnetdiscover.txt"),
        _same,
        {"ok": 144, "stale-table": 96},
        finding="stale-table",
    ),
    Damage("older wiring", _same, _later("dump_fts.txt"), {"ok": 240}, finding="missing-table"),
    Damage(
        "a GUID twice",
        lambda t: t + "\n" + t[t.index("vendid") :].split("\n\n")[0].replace("leaf04", "evil-leaf") + "\n",
        _same,
        {"ok": 240},
        finding="duplicate-guid",
    ),
    Damage("line ends of Windows", lambda t: t.replace("\n", "\r\n"), lambda t: t.replace("\n", "\r\n"), {"ok": 240}),
    Damage(
        "names that are no text",
        lambda t: t.encode().replace(b"node003 HCA-1", b"node\xff\x00003 HCA-1"),
        _same,
        {"ok": 240},
    ),
    Damage("a name of 2 MB", lambda t: t.replace('"leaf01"', f'"{"A" * 2_000_000}"'), _same, {"ok": 240}),
    Damage("numbers that cannot be", lambda t: t.replace("lid 3 ", f"lid {'9' * 20} "), _same, {}, fault="bad-number"),
    Damage("negative ports", lambda t: t.replace("[5]", "[-5]"), _same, {}, fault="bad-number"),
    Damage(
        "a name twice",
        lambda t: t.replace("node001 HCA-1", "node000 HCA-1"),
        _same,
        {"ok": 240},
        finding="ambiguous-name",
    ),
    Damage("nothing", lambda _: "", lambda _: "", {}, fault="empty"),
    Damage(
        "messages of the tools",
        lambda t: (
            "src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1,1 Attr 0x11:0) bad status 110\nibwarn: [9] x\n" + t
        ),
        lambda t: "ibwarn: [1] mad_rpc: _do_madrpc failed; dport (Lid 3)\n" + t,
        {"ok": 240},
    ),
    Damage(
        "ends of a cable that disagree",
        lambda t: t.replace('[1]\t"H-0002c90300010050"[1]', '[1]\t"H-0002c90300010050"[2]'),
        _same,
        {"ok": 225, "wrong-end": 15},
        finding="asymmetric-link",
    ),
]


def damaged(damage: Damage, folder: Path) -> Path:
    """A folder with s16's wiring and tables, damaged."""
    baseline = DATA / "s16" / "00-baseline"
    wiring = damage.wiring(read(baseline / "ibnetdiscover.txt"))
    (folder / "ibnetdiscover.txt").write_bytes(wiring if isinstance(wiring, bytes) else wiring.encode())
    (folder / "dump_fts.txt").write_bytes(damage.tables(read(baseline / "dump_fts.txt")).encode())
    return folder
