"""A fluid model: flows share resources max-min fairly, as in most network simulators. Any unit will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_NOTHING = 1e-9  # of a flow's size: done


@dataclass(eq=False)
class Flow:
    """`size` over shared resources, begun when all of `after` are done."""

    size: float
    uses: tuple[str, ...]  # resources; the first word of a name is its kind, which has a capacity
    limit: float = float("inf")  # of this flow alone
    after: Sequence[Flow] = field(default_factory=list)


def run_flows(flows: Sequence[Flow], capacity: Mapping[str, float]) -> float:
    """The time until all flows are done. `flows` holds all that any of them waits for."""
    left = {flow: flow.size for flow in flows}
    missing = {flow: len(flow.after) for flow in flows}
    followers: dict[Flow, list[Flow]] = {}
    for flow in flows:
        for earlier in flow.after:
            followers.setdefault(earlier, []).append(flow)
    running, now = [flow for flow in flows if not flow.after], 0.0
    while running:
        rates = share(running, capacity)
        step = min(left[flow] / rate for flow, rate in zip(running, rates, strict=True))
        now += step
        for flow, rate in zip(running, rates, strict=True):
            left[flow] -= rate * step
        done = [flow for flow in running if left[flow] < _NOTHING]
        running = [flow for flow in running if left[flow] >= _NOTHING]
        for flow in done:
            for follower in followers.get(flow, []):
                missing[follower] -= 1
                if missing[follower] == 0:
                    running.append(follower)
    return now


def share(flows: Sequence[Flow], capacity: Mapping[str, float]) -> list[float]:
    """Max-min fair rates: all grow together; who meets a full resource, or its own limit, stops there."""
    rates, growing = [0.0] * len(flows), set(range(len(flows)))
    free = {name: capacity[name.split()[0]] for flow in flows for name in flow.uses}
    while growing:
        users = dict.fromkeys(free, 0)
        for i in growing:
            for name in flows[i].uses:
                users[name] += 1
        step = min(free[name] / count for name, count in users.items() if count)
        step = min(step, *(flows[i].limit - rates[i] for i in growing))
        for i in growing:
            rates[i] += step
        for name, count in users.items():
            free[name] -= step * count
        growing = {
            i
            for i in growing
            if rates[i] < flows[i].limit - 1e-12 and all(free[name] > 1e-12 for name in flows[i].uses)
        }
    return rates
