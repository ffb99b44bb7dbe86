"""Puts the emulated cluster up and takes it down, and says how jobs get onto it. Needs root."""

from __future__ import annotations

import ipaddress
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from espalier.base.errors import UserError
from espalier.jobs.launch import Hosts
from espalier.lab import network, slurm
from espalier.lab.network import Command, Spec

STATE = Path("/run/espalier-lab")
_PATIENCE_S = 20.0  # for what has been killed or removed to be gone
_TOOLS = ("ip", "tc", "nsenter", "unshare")
_FRONT_WORDS = ("nsenter", f"--net=/run/netns/{network.FRONT}", f"--uts={STATE}/front.uts", "--")


@dataclass(frozen=True)
class Counter:
    """What has passed a node's link since it was put up, in bytes: proof that nothing went past it."""

    node: int
    rate: str
    sent: int
    received: int
    rail: int = 0


@dataclass(frozen=True)
class WantedSlurm:
    """What Slurm is to be told besides the nodes."""

    cpus: int  # that each node is said to have
    prolog: Path | None = None  # its TaskProlog


def up(spec: Spec, batch: WantedSlurm | None = None) -> None:
    """Builds the cluster, with Slurm on it where that is wanted. Raises UserError; then nothing is left behind."""
    _check_means()
    if batch is not None:
        slurm.check_means()
    if _namespaces():
        raise UserError("a cluster is up already", "see it with `espalier lab status`, end it with `espalier lab down`")
    with _unwound_by_sigterm():
        try:
            _build(spec)
            if batch is not None:
                slurm.up(_site(spec, batch))
        except BaseException:
            down()
            raise


def down() -> int:
    """Ends what runs on the nodes and removes every trace, whoever put it there. The number of nodes that were up."""
    _check_means()
    namespaces = _namespaces()
    for name in namespaces:
        _kill_all(name)
    for command in network.down_commands(namespaces, _links()):
        subprocess.run(command, capture_output=True, check=False)  # a link may go by itself meanwhile
    _await_end()
    for host in STATE.glob("*.uts"):
        subprocess.run(["umount", str(host)], capture_output=True, check=False)
    shutil.rmtree(STATE, ignore_errors=True)
    return sum(name != network.FRONT for name in namespaces)


def load() -> Spec:
    """The cluster that is up. Raises UserError when there is none."""
    try:
        fields = json.loads((STATE / "spec.json").read_text())
    except OSError:
        raise UserError("no cluster is up", "espalier lab up --nodes 4 --rate 200mbit") from None
    return Spec(tuple(fields["rates"]), fields["delay"], fields.get("flow_cap", 1.0), fields.get("rails", 1))


def is_up() -> bool:
    """Whether there is a cluster."""
    return (STATE / "spec.json").exists()


def hosts(spec: Spec, ppn: int) -> Hosts:
    """How a job reaches the nodes."""
    addresses = tuple(network.address(node) for node in range(spec.nodes))
    return Hosts(addresses, ppn, STATE / "agent", network.FRONT_ADDRESS, network.INTERFACE, _FRONT_WORDS, spec.rails)


def front_command(command: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """A command on the front, which is the cluster's login node, and the environment that it needs there."""
    config = STATE / "slurm" / "slurm.conf"
    return [*_FRONT_WORDS, *command], {"SLURM_CONF": str(config)} if has_slurm() else {}


def has_slurm() -> bool:
    """Whether the cluster that is up has a batch system."""
    return (STATE / "slurm" / "slurm.conf").exists()


def counters(spec: Spec) -> list[Counter]:
    """One per node and rail, from the node's own interfaces."""
    found = []
    for node, rate in enumerate(spec.rates):
        for rail in range(spec.rails):
            text = _run(["ip", "-n", network.node_name(node), "-j", "-s", "link", "show", network.interface(rail)])
            stats = json.loads(text)[0]["stats64"]
            found.append(Counter(node, rate, stats["tx"]["bytes"], stats["rx"]["bytes"], rail))
    return found


def _site(spec: Spec, batch: WantedSlurm) -> slurm.Site:
    nodes = (
        slurm.Node(f"node{node}", network.address(node), (str(STATE / "agent"), network.address(node)))
        for node in range(spec.nodes)
    )
    front = slurm.Node(_front_name(), network.FRONT_ADDRESS, _FRONT_WORDS)
    return slurm.Site(STATE / "slurm", front, tuple(nodes), batch.cpus, batch.prolog)


def _front_name() -> str:
    return str(int(ipaddress.ip_address(network.FRONT_ADDRESS)))


def _build(spec: Spec) -> None:
    for command in network.up_commands(spec):
        _run(command)
    for node in range(spec.nodes if spec.flow_cap < 1 else 0):
        _run(["tc", "-n", network.node_name(node), "-batch", "-"], network.flow_script(spec, node))
    _name_hosts(spec)
    _write_agent(spec)
    (STATE / "spec.json").write_text(json.dumps(asdict(spec)))


@contextmanager
def _unwound_by_sigterm() -> Iterator[None]:
    """SIGTERM, which would end us on the spot and leave half a cluster, cleans up like Ctrl-C."""

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _check_means() -> None:
    if os.geteuid() != 0:
        raise UserError("network namespaces need root", "run it as root: sudo $(command -v espalier) lab …")
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        raise UserError(f"the lab needs {', '.join(missing)}", "install iproute2 and util-linux")


def _run(command: Command, script: str | None = None) -> str:
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(
            f"`{' '.join(command)}` failed: {done.stderr.strip()}",
            "the kernel or the container may forbid network namespaces; `espalier lab down` removes what is left",
        )
    return done.stdout


def _namespaces() -> list[str]:
    words = [line.split()[0] for line in _run(["ip", "netns", "list"]).splitlines() if line]
    return [name for name in words if network.is_ours(name)]


def _links() -> list[str]:
    links = [entry["ifname"] for entry in json.loads(_run(["ip", "-j", "link", "show"]) or "[]")]
    return [link for link in links if network.is_ours(link)]


def _await_end() -> None:
    """Until names can be had again. Raises UserError."""
    deadline = time.monotonic() + _PATIENCE_S
    while left := _namespaces() + _links():
        if time.monotonic() > deadline:
            raise UserError(f"{', '.join(left)} could not be removed", "try `espalier lab down` again")
        time.sleep(0.05)


def _kill_all(namespace: str) -> None:
    """Until none is left: what is being killed still holds its namespace, and may have started others."""
    deadline = time.monotonic() + _PATIENCE_S
    while pids := _run(["ip", "netns", "pids", namespace]).split():
        if time.monotonic() > deadline:
            raise UserError(f"processes {', '.join(pids)} cannot be ended", "try `espalier lab down` again")
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.02)


def _name_hosts(spec: Spec) -> None:
    """A host name for each node: MPIs and Espalier tell nodes apart by it.

    Intel MPI's proxies call back to the launcher's host name, which nobody resolves; so the front is named by its
    address, as one number: Open MPI takes what comes before a dot for the short name of a host, and all for one host.
    """
    STATE.mkdir(mode=0o755, parents=True, exist_ok=True)
    names = {f"node{node}": f"node{node}" for node in range(spec.nodes)} | {"front": _front_name()}
    for file, name in names.items():
        (STATE / f"{file}.uts").touch()
        _run(["unshare", f"--uts={STATE / file}.uts", "hostname", name])


def _write_agent(spec: Spec) -> None:
    """What launchers start in place of ssh: AGENT [options] ADDRESS COMMAND…"""
    cases = "\n".join(
        f"  {network.address(node)}) net={network.node_name(node)} uts={STATE}/node{node}.uts ;;"
        for node in range(spec.nodes)
    )
    agent = STATE / "agent"
    agent.write_text(
        "#!/bin/sh\n"
        "# Runs a command on an emulated node as ssh would. Options are ssh's; only those with a value matter here.\n"
        'while :; do case "$1" in -o|-l|-p|-i) shift 2 ;; -*) shift ;; *) break ;; esac; done\n'
        f'case "$1" in\n{cases}\n  *) echo "no such node: $1" >&2; exit 255 ;;\nesac\nshift\n'
        f"exec nsenter --net=/run/netns/$net --uts=$uts -- {_shell(spec)}\n"
    )
    agent.chmod(0o755)


def _shell(spec: Spec) -> str:
    """What runs a command on a node. With rails it sees the node's own interfaces below /sys, where UCX looks for them;
    otherwise the host's, which has one of the same name."""
    if spec.rails == 1:
        return '/bin/sh -c "$*"'
    return 'unshare -m /bin/sh -c "mount -t sysfs sysfs /sys && $*"'
