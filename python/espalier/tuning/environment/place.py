"""Where a tuning job runs: from what its ranks say to the machine that candidates are judged for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from espalier.base.core import user_errors
from espalier.base.machine import probe_single_copy
from espalier.base.units import parse_bytes
from espalier.measure.connections import NOISE, Scaling, parse_points
from espalier.measure.worker import Hello
from espalier.tuning.problems.candidates import Machine
from espalier.tuning.problems.problem import Shape


def survey(core: Any, hello: Hello, variables: Mapping[str, str]) -> Machine:
    """The machine as the library will see it under these settings. Raises UserError for virtual nodes that make no
    sense."""
    shape = shape_of(core, hello, variables.get("ESPALIER_VIRTUAL_NODES"))
    window = parse_bytes(variables.get("ESPALIER_SHM_WINDOW", "256K"))
    # As the library counts: node by node, and what other nodes (of an emulated cluster) take of the cores is unseen.
    crowded = max(hello.node_of.count(node) for node in set(hello.node_of)) > hello.node_cores
    topology = core.Topology(
        list(shape.node_of), not probe_single_copy(), crowded, window, slow_handover=core.probe_slow_handover()
    )
    parameters = core.CostParameters()
    parameters.cores = -(-hello.cores // len(set(hello.node_of)))
    return Machine(core, shape, topology, parameters, transport=hello.transport or "mpi")


def shape_of(core: Any, hello: Hello, virtual_nodes: str | None) -> Shape:
    """The node of each rank: its own, or the virtual node it falls into among its node's ranks."""
    if virtual_nodes is None:
        return Shape(hello.node_of)
    with user_errors("write --virtual-nodes 4, or 3,1,4, or cyclic:4"):
        nodes = []
        for rank, node in enumerate(hello.node_of):
            index = hello.node_of[:rank].count(node)
            nodes.append((node, core.virtual_node_of(virtual_nodes, index, hello.node_of.count(node))))
    number = {node: at for at, node in enumerate(dict.fromkeys(nodes))}
    return Shape(tuple(number[node] for node in nodes))


def learn_groups(machine: Machine, points: Sequence[Mapping[str, Any]]) -> Machine:
    """The machine with what the curve "groups" says: how many groups and connections are useful and, where connections
    together carry more than the one that learn_messages has seen, the link's rate, of which that is one's share. The
    same without points.
    """
    if not points:
        return machine
    scaling = Scaling(parse_points(points))
    parameters = copy(machine.parameters)
    if machine.shape.nodes > 1 and scaling.most() > NOISE * parameters.link_rate:
        parameters.flow_rate, parameters.link_rate = parameters.link_rate, scaling.most()
    return replace(
        machine,
        most_groups=scaling.useful_groups(),
        most_connections=scaling.useful_connections(machine.shape.nodes),
        parameters=parameters,
    )


def learn_messages(machine: Machine, points: Sequence[Mapping[str, Any]]) -> Machine:
    """The machine with the cost of its messages between nodes as the latency curve shows it; the same without one.

    Latency from the smallest message, the link's rate from what the largest takes longer than the one before: a pair of
    ranks has one connection, so that on some networks the link carries more (learn_groups).
    """
    times = sorted((int(it["bytes"]), float(it["us"])) for it in points if it.get("between") == "nodes")
    if len(times) < 3 or times[-1][1] <= times[-2][1]:
        return machine
    parameters = machine.core.CostParameters()
    parameters.cores = machine.parameters.cores
    parameters.latency = max(0.1, times[0][1] - 2 * parameters.overhead)
    parameters.link_rate = (times[-1][0] - times[-2][0]) / (times[-1][1] - times[-2][1])
    return replace(machine, parameters=parameters)
