"""Writes the machines of machines/*.xml: nodes one may not own, in the form that `lstopo machine.xml` writes.

    python tests/snapshots/synthesise.py        # after a change here; then look at what git says

They are modelled on real servers, reduced to what elections look at: processors, NUMA nodes and their distances, shared
caches, network devices with their place. Format: hwloc 2's XML (hwloc2.dtd).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from xml.sax.saxutils import quoteattr

_FOLDER = Path(__file__).with_name("machines")

_NETWORK, _OPENFABRICS = 2, 3  # hwloc_obj_osdev_type_t
_ACTIVE, _DOWN = 4, 1  # states of an InfiniBand port


@dataclass(frozen=True)
class Card:
    """One PCI network device and where it hangs: below a NUMA node, or below the machine when `numa` is None."""

    bus: str
    numa: int | None
    net: str
    fabric: str = ""  # also a verbs device of this name
    gigabytes: float = 15.75  # of the PCI link, per second: PCIe 3.0 x16
    state: int = _ACTIVE


@dataclass(frozen=True)
class Machine:
    """`packages` x `numa` NUMA nodes each x `l3` caches each x `cores` cores each, one hardware thread per core."""

    name: str
    packages: int
    numa: int
    l3: int  # 0: the processor has no third level of cache
    cores: int
    distances: list[list[int]] = field(default_factory=list)
    cards: tuple[Card, ...] = ()


def _packages(package: int, near: int, far: int, count_per_package: int, packages: int = 2) -> list[list[int]]:
    """Distances of a machine whose NUMA nodes are `near` within a package and `far` beyond."""
    nodes = range(packages * count_per_package)
    return [
        [package if i == j else near if i // count_per_package == j // count_per_package else far for j in nodes]
        for i in nodes
    ]


_SQUARE = [[10, 16, 16, 22], [16, 10, 22, 16], [16, 22, 10, 16], [22, 16, 16, 10]]

MACHINES = (
    # The paper's: four dual-core Opterons in a square of HyperTransport links, the card at NUMA node 1.
    Machine(
        "opteron-4s",
        4,
        1,
        0,
        2,
        _SQUARE,
        (Card("0000:02:00.0", 0, "eth0", gigabytes=0.25), Card("0000:41:00.0", 1, "ib0", "mlx4_0", 2.0)),
    ),
    Machine(
        "xeon-2s-1nic",
        2,
        1,
        1,
        8,
        _packages(10, 10, 21, 1),
        (Card("0000:02:00.0", 0, "eno1", gigabytes=0.5), Card("0000:af:00.0", 1, "ib0", "mlx5_0")),
    ),
    Machine(
        "xeon-2s-2nic",
        2,
        1,
        1,
        8,
        _packages(10, 10, 21, 1),
        (
            Card("0000:02:00.0", 0, "eno1", gigabytes=0.5),
            Card("0000:18:00.0", 0, "ib0", "mlx5_0"),
            Card("0000:af:00.0", 1, "ib1", "mlx5_1"),
        ),
    ),
    # The same with a cable pulled.
    Machine(
        "xeon-2s-1down",
        2,
        1,
        1,
        8,
        _packages(10, 10, 21, 1),
        (
            Card("0000:18:00.0", 0, "ib0", "mlx5_0", state=_DOWN),
            Card("0000:af:00.0", 1, "ib1", "mlx5_1"),
        ),
    ),
    # Firmware that does not say where the card is.
    Machine("xeon-2s-nowhere", 2, 1, 1, 8, _packages(10, 10, 21, 1), (Card("0000:af:00.0", None, "ib0", "mlx5_0"),)),
    Machine(
        "epyc-2s-nps4",
        2,
        4,
        2,
        4,
        _packages(10, 12, 32, 4),
        (Card("0000:c1:00.0", 4, "enp193s0", gigabytes=0.5), Card("0000:a1:00.0", 5, "hsn0", "mlx5_0", 31.5)),
    ),
    # Two cards at every second NUMA node, and a slow one for logging in.
    Machine(
        "gpu-8nic",
        2,
        4,
        2,
        4,
        _packages(10, 12, 32, 4),
        (
            Card("0000:e2:00.0", 7, "enp226s0", gigabytes=0.5),
            *(
                Card(f"0000:{bus}:00.0", numa, f"ib{i}", f"mlx5_{i}", 31.5)
                for i, (bus, numa) in enumerate(
                    [("0c", 3), ("12", 3), ("4b", 1), ("54", 1), ("8d", 7), ("94", 7), ("ba", 5), ("cc", 5)]
                )
            ),
        ),
    ),
    Machine("arm-flat", 1, 1, 0, 48, [], (Card("0000:01:00.0", 0, "ib0", "mlx5_0"),)),
    Machine("vm-no-pci", 1, 1, 1, 8),
)


def _mask(first: int, length: int) -> str:
    """A set of consecutive numbers as hwloc writes it: words of 32 bits, the highest first."""
    bits = ((1 << length) - 1) << first
    words = []
    while True:
        words.insert(0, f"0x{bits & 0xFFFFFFFF:08x}")
        bits >>= 32
        if not bits:
            return ",".join(words)


class _Writer:
    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.lines: list[str] = []
        self.numbers = count(1)
        self.per_l3 = machine.cores
        self.per_numa = machine.cores * max(1, machine.l3)
        self.per_package = self.per_numa * machine.numa
        self.all = self.per_package * machine.packages

    def text(self) -> str:
        self.lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<!DOCTYPE topology SYSTEM "hwloc2.dtd">']
        self.lines.append('<topology version="2.0">')
        self._object("Machine", 0, self.all, 0, extra=self._allowed(), body=self._machine)
        self._distances()
        self.lines.append("</topology>")
        return "\n".join(self.lines) + "\n"

    def _allowed(self) -> dict[str, str]:
        nodes = self.machine.numa * self.machine.packages
        return {"allowed_cpuset": _mask(0, self.all), "allowed_nodeset": _mask(0, nodes)}

    def _tag(self, kind: str, attributes: dict[str, str], body: object = None) -> None:
        text = " ".join(f"{key}={quoteattr(value)}" for key, value in attributes.items())
        self.lines.append(f'<object type="{kind}" gp_index="{next(self.numbers)}" {text}>')
        if callable(body):
            body()
        self.lines.append("</object>")

    def _object(
        self, kind: str, first: int, length: int, index: int | None, *, extra: object = None, body: object = None
    ) -> None:
        first_node = first // self.per_numa
        nodes = max(1, (first + length - 1) // self.per_numa - first_node + 1)
        attributes = {} if index is None else {"os_index": str(index)}
        for name, mask in (("cpuset", _mask(first, length)), ("nodeset", _mask(first_node, nodes))):
            attributes |= {name: mask, f"complete_{name}": mask}
        self._tag(kind, attributes | (extra if isinstance(extra, dict) else {}), body)

    def _machine(self) -> None:
        for package in range(self.machine.packages):
            first = package * self.per_package
            self._object("Package", first, self.per_package, package, body=lambda p=package: self._package(p))
        self._cards(None)

    def _package(self, package: int) -> None:
        for numa in range(package * self.machine.numa, (package + 1) * self.machine.numa):
            if self.machine.numa == 1:
                self._numa(numa)
            else:
                group = {"kind": "1001", "subkind": "0"}
                first = numa * self.per_numa
                self._object("Group", first, self.per_numa, None, extra=group, body=lambda n=numa: self._numa(n))

    def _numa(self, numa: int) -> None:
        first = numa * self.per_numa
        self._object("NUMANode", first, self.per_numa, numa, extra={"local_memory": str(64 << 30)})
        for start in range(first, first + self.per_numa, self.per_l3):
            if self.machine.l3:
                cache = {"cache_size": str(32 << 20), "depth": "3", "cache_linesize": "64"}
                cache |= {"cache_associativity": "16", "cache_type": "0"}
                self._object("L3Cache", start, self.per_l3, None, extra=cache, body=lambda s=start: self._cores(s))
            else:
                self._cores(start)
        self._cards(numa)

    def _cores(self, start: int) -> None:
        for core in range(start, start + self.per_l3):
            self._object("Core", core, 1, core, body=lambda c=core: self._object("PU", c, 1, c))

    def _cards(self, numa: int | None) -> None:
        for card in sorted(self.machine.cards, key=lambda it: it.bus):
            if card.numa != numa:
                continue
            bus = card.bus[5:7]
            bridge = {"bridge_type": "0-1", "depth": "0", "bridge_pci": f"0000:[{bus}-{bus}]"}
            self._tag("Bridge", bridge, lambda c=card: self._card(c))

    def _card(self, card: Card) -> None:
        kind = "0207 [15b3:1017] [15b3:0000] 00" if card.fabric else "0200 [8086:1521] [8086:0000] 01"
        attributes = {"pci_busid": card.bus, "pci_type": kind, "pci_link_speed": f"{card.gigabytes:f}"}
        self._tag("PCIDev", attributes, lambda: self._devices(card))

    def _devices(self, card: Card) -> None:
        self._tag("OSDev", {"name": card.net, "osdev_type": str(_NETWORK)})
        if card.fabric:
            state = f'<info name="Port1State" value="{card.state}"/>'
            device = {"name": card.fabric, "osdev_type": str(_OPENFABRICS)}
            self._tag("OSDev", device, lambda: self.lines.append(state))

    def _distances(self) -> None:
        rows = self.machine.distances
        if not rows:
            return
        indexes = "".join(f"{i} " for i in range(len(rows)))
        self.lines.append(
            f'<distances2 type="NUMANode" nbobjs="{len(rows)}" kind="5" name="NUMALatency" indexing="os">'
        )
        self.lines.append(f'<indexes length="{len(indexes)}">{indexes}</indexes>')
        for row in rows:
            values = "".join(f"{value} " for value in row)
            self.lines.append(f'<u64values length="{len(values)}">{values}</u64values>')
        self.lines.append("</distances2>")


if __name__ == "__main__":
    for machine in MACHINES:
        _FOLDER.joinpath(f"{machine.name}.xml").write_text(_Writer(machine).text())
