"""Networks that nobody planned: trees of two and three levels with few cables above, islands, dragonflies.

Each is written as the dumps that tools print of it (ibnetdiscover, dump_fts), with routes as OpenSM's min-hop engine
balances them: every destination goes on by the port of a shortest way that has the fewest destinations yet.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HOST_RATE = "4xHDR"


@dataclass
class Fabric:
    """Hosts below leaves, and cables between switches, each with its rate."""

    name: str
    leaf_of: list[int] = field(default_factory=list)
    """By host."""
    ports: list[list[tuple[int, int, str]]] = field(default_factory=list)
    """By switch and port from 1: the switch at the other end (or -1 - host), its port, the rate."""

    def switches(self, count: int) -> list[int]:
        """So many new ones."""
        self.ports += [[] for _ in range(count)]
        return list(range(len(self.ports) - count, len(self.ports)))

    def hosts(self, leaf: int, count: int) -> None:
        """So many more below a leaf."""
        for _ in range(count):
            self.ports[leaf].append((-1 - len(self.leaf_of), 1, HOST_RATE))
            self.leaf_of.append(leaf)

    def cable(self, one: int, other: int, rate: str = HOST_RATE) -> None:
        """One more between two switches."""
        self.ports[one].append((other, len(self.ports[other]) + 1, rate))
        self.ports[other].append((one, len(self.ports[one]), rate))

    def write(self, folder: Path) -> Path:
        """The dumps."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ibnetdiscover.txt").write_text("".join(self._wiring()))
        (folder / "dump_fts.txt").write_text("".join(self._tables()))
        return folder

    def _lid(self, host: int) -> int:
        return 1000 + host

    def _wiring(self) -> Iterator[str]:
        for switch, ports in enumerate(self.ports):
            guid = _switch_guid(switch)
            yield f"\nswitchguid=0x{guid:x}({guid:x})\n"
            yield f'Switch\t40 "S-{guid:016x}"\t\t# "switch{switch}" enhanced port 0 lid {1 + switch} lmc 0\n'
            for port, (peer, peer_port, rate) in enumerate(ports, 1):
                if peer < 0:
                    host = -1 - peer
                    name, lid, end = f"node{host:04d} HCA-1", self._lid(host), f"H-{_host_guid(host):016x}"
                    own = f"({_host_guid(host) + 1:x})"
                else:
                    name, lid, end, own = f"switch{peer}", 1 + peer, f"S-{_switch_guid(peer):016x}", ""
                yield f'[{port}]\t"{end}"[{peer_port}]{own}\t\t# "{name}" lid {lid} {rate}\n'
        for host, leaf in enumerate(self.leaf_of):
            guid = _host_guid(host)
            port = next(p for p, cable in enumerate(self.ports[leaf], 1) if cable[0] == -1 - host)
            yield f'\ncaguid=0x{guid:x}\nCa\t1 "H-{guid:016x}"\t\t# "node{host:04d} HCA-1"\n'
            yield (
                f'[1]({guid + 1:x}) \t"S-{_switch_guid(leaf):016x}"[{port}]\t\t'
                f'# lid {self._lid(host)} lmc 0 "switch{leaf}" lid {1 + leaf} {HOST_RATE}\n'
            )

    def _tables(self) -> Iterator[str]:
        routes = self._routes()
        for switch, table in enumerate(routes):
            guid = _switch_guid(switch)
            yield f"Unicast lids [0x0-0x{self._lid(len(self.leaf_of) - 1):x}] of switch Lid {1 + switch} "
            yield f"guid 0x{guid:016x} (switch{switch}):\n  Lid  Out   Destination\n       Port     Info \n"
            for host, port in enumerate(table):
                yield (
                    f"0x{self._lid(host):04x} {port:03d} : (Channel Adapter portguid 0x{_host_guid(host) + 1:016x}: "
                    f"'node{host:04d} HCA-1')\n"
                )
            yield f"{len(table)} valid lids dumped \n"

    def _routes(self) -> list[list[int]]:
        """The port towards each host, by switch."""
        taken = [[0] * (len(ports) + 1) for ports in self.ports]
        routes: list[list[int]] = [[] for _ in self.ports]
        far = {leaf: self._distances(leaf) for leaf in sorted(set(self.leaf_of))}
        for host, leaf in enumerate(self.leaf_of):
            for switch, ports in enumerate(self.ports):
                if switch == leaf:
                    port = next(p for p, cable in enumerate(ports, 1) if cable[0] == -1 - host)
                else:
                    nearer = far[leaf][switch] - 1
                    ways = [p for p, cable in enumerate(ports, 1) if cable[0] >= 0 and far[leaf][cable[0]] == nearer]
                    port = min(ways, key=lambda way: (taken[switch][way], way))
                taken[switch][port] += 1
                routes[switch].append(port)
        return routes

    def _distances(self, leaf: int) -> list[int]:
        far = [-1] * len(self.ports)
        far[leaf] = 0
        queue = deque([leaf])
        while queue:
            switch = queue.popleft()
            for peer, _, _ in self.ports[switch]:
                if peer >= 0 and far[peer] < 0:
                    far[peer] = far[switch] + 1
                    queue.append(peer)
        return far


def _switch_guid(switch: int) -> int:
    return 0x0002C90200000000 + ((switch + 1) << 4)


def _host_guid(host: int) -> int:
    return 0x0002C90300000000 + (host << 4)


def _tree(fabric: Fabric, leaves: int, down: int, spines: int) -> list[int]:
    """A tree of two levels with a cable between each leaf and each spine: its spines."""
    tops = fabric.switches(spines)
    for leaf in fabric.switches(leaves):
        fabric.hosts(leaf, down)
        for top in tops:
            fabric.cable(leaf, top)
    return tops


def two_levels(leaves: int, down: int, cables: int) -> Fabric:
    """Leaves that one cable each ties to every one of `cables` spines."""
    fabric = Fabric(f"{leaves} leaves of {down}, {cables} cables up")
    _tree(fabric, leaves, down, cables)
    return fabric


def islands(leaves: int, down: int, spines: int, joints: int) -> Fabric:
    """Two trees whose spines are joined by few cables: two clusters bought in two years."""
    fabric = Fabric(f"2 islands of {leaves} leaves of {down}, {spines} spines, {joints} cables between")
    one, other = _tree(fabric, leaves, down, spines), _tree(fabric, leaves, down, spines)
    for joint in range(joints):
        fabric.cable(one[joint % spines], other[joint % spines])
    return fabric


def three_levels(pods: int, leaves: int, down: int, spines: int, cables: int) -> Fabric:
    """Pods that `cables` cables each tie to cores above them."""
    fabric = Fabric(f"{pods} pods of {leaves} leaves of {down}, {spines} spines, {cables} cables up")
    tops = [_tree(fabric, leaves, down, spines) for _ in range(pods)]
    cores = fabric.switches(max(1, cables // 2))
    for pod in tops:
        for cable in range(cables):
            fabric.cable(pod[cable % spines], cores[cable % len(cores)])
    return fabric


def dragonfly(groups: int, routers: int, down: int) -> Fabric:
    """Groups of routers that are all connected, and one cable between any two groups."""
    fabric = Fabric(f"dragonfly: {groups} groups of {routers} routers of {down}")
    members = [fabric.switches(routers) for _ in range(groups)]
    for group in members:
        for place, router in enumerate(group):
            fabric.hosts(router, down)
            for other in group[:place]:
                fabric.cable(router, other)
    for one in range(groups):
        for other in range(one):
            fabric.cable(members[one][(one - other - 1) % routers], members[other][(other - one - 1) % routers])
    return fabric


def draw(random: random.Random) -> Fabric:
    """Any of them: 32 to 128 hosts."""
    kind = random.choice(("two levels", "islands", "islands", "three levels", "dragonfly"))
    if kind == "two levels":
        return two_levels(random.randint(4, 8), random.choice((8, 12)), random.randint(1, 8))
    if kind == "islands":
        return islands(random.randint(2, 4), random.choice((8, 12)), random.choice((4, 8)), random.randint(1, 8))
    if kind == "three levels":
        return three_levels(random.randint(2, 4), 3, 8, random.choice((2, 4)), random.randint(1, 8))
    return dragonfly(random.randint(3, 6), random.choice((2, 4)), 4)


def draw_hosts(random: random.Random, fabric: Fabric) -> list[int]:
    """Some of its hosts in some order, as schedulers hand them out: ascending, or in any order."""
    hosts = len(fabric.leaf_of)
    chosen = random.sample(range(hosts), random.randint(hosts // 2, hosts))
    return sorted(chosen) if random.random() < 0.4 else chosen
