"""Writes the dumps of a large two- or three-level fat tree with min-hop tables, as the tools would print them.

    python -m espalier.fabric.generated DIR [--pods 16 --leaves 16 --hosts 16 --aggregations 8 --cores 64]

The defaults are 4096 hosts, 256 leaves, 128 aggregation switches and 64 core switches: 448 switches. Every destination
has its own way up (destination LID modulo the uplinks), as with opensm's ftree.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Switch:
    """One switch: who is at which port, and below which port which hosts are."""

    guid: int
    name: str
    lid: int
    ports: dict[int, tuple[str, int, int, str, int]] = field(default_factory=dict)
    """port → (peer's id, peer's port, peer's port GUID or 0, peer's name, peer's LID)"""
    down: dict[int, int] = field(default_factory=dict)
    """Host number → port towards it."""
    up: list[int] = field(default_factory=list)

    @property
    def id(self) -> str:
        return f"S-{self.guid:016x}"


@dataclass(frozen=True)
class Host:
    """One host, below port `port` of its leaf."""

    number: int
    leaf: Switch
    port: int

    @property
    def guid(self) -> int:
        return 0x0002C90300000000 + (self.number << 4)

    @property
    def name(self) -> str:
        return f"node{self.number:05d}"

    @property
    def lid(self) -> int:
        return 10000 + self.number


class FatTree:
    """pods × (leaves, aggregation switches), and core switches above all pods."""

    def __init__(self, pods: int, leaves: int, hosts: int, aggregations: int, cores: int) -> None:
        self.switches: list[Switch] = []
        self.hosts: list[Host] = []
        tops = [self._add(f"core{number:03d}") for number in range(cores)]
        for pod in range(pods):
            middle = [self._add(f"agg-p{pod:02d}-{number:02d}") for number in range(aggregations)]
            for number in range(leaves):
                leaf = self._add(f"leaf-p{pod:02d}-{number:02d}")
                for _ in range(hosts):
                    self._add_host(leaf)
                for switch in middle:
                    self._cable(leaf, switch)
            for number, switch in enumerate(middle):
                for top in tops[number::aggregations]:
                    self._cable(switch, top)

    def _add(self, name: str) -> Switch:
        number = len(self.switches) + 1
        self.switches.append(Switch(0x0002C90200000000 + (number << 4), name, number))
        return self.switches[-1]

    def _add_host(self, leaf: Switch) -> None:
        host = Host(len(self.hosts), leaf, len(leaf.ports) + 1)
        leaf.ports[host.port] = (f"H-{host.guid:016x}", 1, host.guid + 1, f"{host.name} HCA-1", host.lid)
        leaf.down[host.number] = host.port
        self.hosts.append(host)

    @staticmethod
    def _cable(low: Switch, high: Switch) -> None:
        up, down = len(low.ports) + 1, len(high.ports) + 1
        low.ports[up] = (high.id, down, 0, high.name, high.lid)
        high.ports[down] = (low.id, up, 0, low.name, low.lid)
        low.up.append(up)
        high.down |= dict.fromkeys(low.down, down)

    def wiring(self) -> Iterator[str]:
        """As ibnetdiscover."""
        for it in self.switches:
            yield f"\nswitchguid=0x{it.guid:x}({it.guid:x})\n"
            yield f'Switch\t40 "{it.id}"\t\t# "{it.name}" enhanced port 0 lid {it.lid} lmc 0\n'
            for port, (peer, peer_port, guid, name, lid) in it.ports.items():
                own = f"({guid:x})" if guid else ""
                yield f'[{port}]\t"{peer}"[{peer_port}]{own}\t\t# "{name}" lid {lid} 4xHDR\n'
        for host in self.hosts:
            yield f'\ncaguid=0x{host.guid:x}\nCa\t1 "H-{host.guid:016x}"\t\t# "{host.name} HCA-1"\n'
            leaf = host.leaf
            yield (
                f'[1]({host.guid + 1:x}) \t"{leaf.id}"[{host.port}]\t\t'
                f'# lid {host.lid} lmc 0 "{leaf.name}" lid {leaf.lid} 4xHDR\n'
            )

    def tables(self) -> Iterator[str]:
        """As dump_fts."""
        for it in self.switches:
            last = self.hosts[-1].lid
            yield f"Unicast lids [0x0-0x{last:x}] of switch Lid {it.lid} guid 0x{it.guid:016x} ({it.name}):\n"
            yield "  Lid  Out   Destination\n       Port     Info \n"
            for host in self.hosts:
                port = it.down.get(host.number) or it.up[host.lid % len(it.up)]
                yield (
                    f"0x{host.lid:04x} {port:03d} : (Channel Adapter portguid 0x{host.guid + 1:016x}: "
                    f"'{host.name} HCA-1')\n"
                )
            yield f"{len(self.hosts)} valid lids dumped \n"


def write(tree: FatTree, folder: Path) -> None:
    """ibnetdiscover.txt and dump_fts.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (("ibnetdiscover.txt", tree.wiring()), ("dump_fts.txt", tree.tables())):
        with (folder / name).open("w") as file:
            file.writelines(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    for name, value in (("pods", 16), ("leaves", 16), ("hosts", 16), ("aggregations", 8), ("cores", 64)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = vars(parser.parse_args())
    folder = options.pop("folder")
    write(FatTree(**options), folder)


if __name__ == "__main__":
    main()
