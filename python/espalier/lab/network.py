"""The commands that make and remove the emulated network. Pure: lists of words, run by cluster.py."""

from __future__ import annotations

import re
from dataclasses import dataclass

from espalier.base.errors import UserError

PREFIX = "esplab"
BRIDGE = f"{PREFIX}-br"
FRONT = f"{PREFIX}-front"
MOST_NODES = 64
MOST_CAPPED_NODES = 16
MOST_RAILS = 4
INTERFACE = "eth0"

Command = list[str]


@dataclass(frozen=True)
class Spec:
    """What to build: one rate per node, as tc spells it (200mbit); `delay` (50us) is added on each node's way out.

    `flow_cap`: what one TCP connection gets of its node's link at most, each way; 1 caps nothing. `rails`: so many
    interfaces on each node, each on a network of its own that the others do not reach; launchers use the first.
    """

    rates: tuple[str, ...]
    delay: str | None = None
    flow_cap: float = 1.0
    rails: int = 1

    @property
    def nodes(self) -> int:
        return len(self.rates)

    def __str__(self) -> str:
        """In one line, for people and for what was measured there."""
        rates = self.rates[:1] if len(set(self.rates)) == 1 else self.rates
        delay = f", {self.delay} away" if self.delay else ""
        cap = f", one connection at most {self.flow_cap:g} of it" if self.flow_cap != 1 else ""
        rails = f", {self.rails} rails" if self.rails > 1 else ""
        return f"{self.nodes} emulated nodes at {', '.join(rates)}{rails}{delay}{cap}"


def parse_spec(nodes: int, rate: str, delay: str | None, flow_cap: float = 1.0, rails: int = 1) -> Spec:
    """One rate for all nodes, or rates that repeat: "200mbit,100mbit". Raises UserError."""
    if not 1 <= nodes <= MOST_NODES:
        raise UserError(f"--nodes {nodes}: this machine stands in for 1 to {MOST_NODES} nodes", "choose fewer")
    rates = [word.strip().lower() for word in rate.split(",")]
    for word in rates:
        if not re.fullmatch(r"[1-9]\d*(k|m|g)bit", word):
            raise UserError(f"--rate: '{word}' is no rate", "write 200mbit, or 1gbit, or one per node: 200mbit,100mbit")
    if delay is not None and not re.fullmatch(r"[1-9]\d*(us|ms)", delay):
        raise UserError(f"--delay: '{delay}' is no time", "write 50us or 1ms")
    if not 0.01 <= flow_cap <= 1:
        raise UserError(f"--flow-cap {flow_cap}: a share of the link is meant", "write 0.55 for 55 % of it")
    if flow_cap < 1 and nodes > MOST_CAPPED_NODES:
        raise UserError(f"--flow-cap works with up to {MOST_CAPPED_NODES} nodes", "choose fewer, or leave it out")
    if not 1 <= rails <= MOST_RAILS:
        raise UserError(f"--rails {rails}: a node has 1 to {MOST_RAILS} interfaces here", "choose fewer")
    return Spec(tuple(rates[node % len(rates)] for node in range(nodes)), delay, flow_cap, rails)


def node_name(node: int) -> str:
    return f"{PREFIX}-node{node}"


def address(node: int, rail: int = 0) -> str:
    return f"10.77.{rail}.{10 + node}"


def interface(rail: int) -> str:
    """What a node's link to a rail is called there."""
    return f"eth{rail}"


FRONT_ADDRESS = "10.77.0.1"


def up_commands(spec: Spec) -> list[Command]:
    """In order; the first that fails leaves something that down_commands() removes."""
    commands = [["ip", "link", "add", BRIDGE, "type", "bridge"], ["ip", "link", "set", BRIDGE, "up"]]
    commands += _attach(FRONT, FRONT_ADDRESS, f"{PREFIX}f")
    for node, rate in enumerate(spec.rates):
        outside = f"{PREFIX}{node}"
        commands += _attach(node_name(node), address(node), outside)
        inside = ["tc", "-n", node_name(node)]
        # Where connections are capped there is one queue for each of them, so that the delay moves to the way in.
        delays = (spec.delay, None) if spec.flow_cap == 1 else (None, spec.delay)
        commands += _shape(inside, INTERFACE, rate, delays[0])
        commands += _shape(["tc"], outside, rate, delays[1])
    for rail in range(1, spec.rails):
        commands += _add_rail(spec, rail)
    return commands


def _add_rail(spec: Spec, rail: int) -> list[Command]:
    """A further switch, with a link to every node."""
    bridge = f"{BRIDGE}{rail}"
    commands = [["ip", "link", "add", bridge, "type", "bridge"], ["ip", "link", "set", bridge, "up"]]
    for node, rate in enumerate(spec.rates):
        outside, inside = f"{PREFIX}{node}r{rail}", ["tc", "-n", node_name(node)]
        commands += _link(node_name(node), interface(rail), address(node, rail), outside, bridge)
        commands += _shape(inside, interface(rail), rate, spec.delay)
        commands += _shape(["tc"], outside, rate, None)
    return commands


def flow_script(spec: Spec, node: int) -> str:
    """For `tc -batch` on a node: caps each TCP connection on its way out.

    One class for each other node and each value of the four low bits of both ports: connections that differ in none of
    them share a class, and its cap. Together the classes get what the link has; alone one gets `flow_cap` of it.
    """
    rate = _bits(spec.rates[node])
    cap = max(1, round(rate * spec.flow_cap))
    fair = max(1, rate // (256 * max(1, spec.nodes - 1)))
    device = f"dev {INTERFACE}"
    lines = [f"class add {device} parent 1: classid 1:1 htb rate {rate}bit burst 4k cburst 4k quantum 3000"]
    for peer in (peer for peer in range(spec.nodes) if peer != node):
        table = f"{peer + 1:x}:"
        first = 0x1000 + 256 * peer
        lines += [
            f"class add {device} parent 1:1 classid 1:{first + index:x} htb rate {fair}bit ceil {cap}bit "
            "burst 4k cburst 4k quantum 3000"
            for index in range(256)
        ]
        lines.append(f"filter add {device} parent 1: prio 1 handle {table} protocol ip u32 divisor 16")
        lines += [
            f"filter add {device} parent 1: prio 1 protocol ip u32 ht {table}{source:x}: "
            f"match u32 0x{target:x} 0xf at 20 classid 1:{first + 16 * source + target:x}"
            for source in range(16)
            for target in range(16)
        ]
        lines.append(  # ports begin where an IP header without options ends
            f"filter add {device} parent 1: prio 1 protocol ip u32 ht 800:: match ip protocol 6 0xff "
            f"match ip dst {address(peer)}/32 hashkey mask 0x000f0000 at 20 link {table}"
        )
    return "\n".join(lines) + "\n"


def _bits(rate: str) -> int:
    """Of a rate as tc spells it, per second."""
    return int(rate[:-4]) * {"k": 10**3, "m": 10**6, "g": 10**9}[rate[-4]]


def down_commands(namespaces: list[str], links: list[str]) -> list[Command]:
    """Removes what there is. Links go first, each with its other end: those that are left to their namespace go when
    the kernel gets round to it, and until then nobody else can have their names."""
    commands = [["ip", "link", "del", link] for link in links]
    return commands + [["ip", "netns", "del", name] for name in namespaces]


def is_ours(name: str) -> bool:
    """Whether a namespace or link is part of the lab."""
    return name.startswith(PREFIX)


def _attach(namespace: str, ip: str, outside: str) -> list[Command]:
    return [
        ["ip", "netns", "add", namespace],
        ["ip", "-n", namespace, "link", "set", "lo", "up"],
        *_link(namespace, INTERFACE, ip, outside, BRIDGE),
    ]


def _link(namespace: str, name: str, ip: str, outside: str, bridge: str) -> list[Command]:
    inside = ["ip", "-n", namespace]
    return [
        ["ip", "link", "add", outside, "type", "veth", "peer", "name", name, "netns", namespace],
        ["ip", "link", "set", outside, "master", bridge, "up"],
        [*inside, "addr", "add", f"{ip}/24", "dev", name],
        [*inside, "link", "set", name, "up"],
    ]


def _shape(tc: Command, interface: str, rate: str, delay: str | None) -> list[Command]:
    """A rate on the way out of an interface.

    Packets stay small (two segments): one of 64 KB would leave at once, however small the burst, and carry a whole
    short message past the shaping.
    """
    link = ["ip", *tc[1:], "link", "set", interface, "gso_max_segs", "2"]
    leaf = ["netem", "delay", delay, "limit", "10000"] if delay else ["pfifo", "limit", "1000"]
    return [
        link,
        [*tc, "qdisc", "add", "dev", interface, "root", "handle", "1:", "htb", "default", "10", "r2q", "1000"],
        [*tc, "class", "add", "dev", interface, "parent", "1:", "classid", "1:10", "htb",
         "rate", rate, "burst", "4k", "cburst", "4k", "quantum", "3000"],
        [*tc, "qdisc", "add", "dev", interface, "parent", "1:10", *leaf],
    ]  # fmt: skip
