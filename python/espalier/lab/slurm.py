"""A real Slurm on the emulated cluster: Debian's slurmctld on the front, a slurmd on each node, munge between them.

Everything runs in the cluster's namespaces and keeps its files in its folder, so that taking the cluster down ends it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from espalier.base.errors import UserError
from espalier.base.units import counted
from espalier.lab.network import Command

_TOOLS = ("munged", "slurmctld", "slurmd", "sinfo")
_FOLDERS = ("ctl", "log", "munge")
# Nodes register within seconds, on a busy machine within some ten.
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Node:
    """One node as Slurm is to know it, and the words that run a command there."""

    name: str
    address: str
    enter: tuple[str, ...]


@dataclass(frozen=True)
class Site:
    """The cluster as Slurm is to see it."""

    folder: Path
    front: Node
    nodes: tuple[Node, ...]
    cpus: int  # that each node is said to have, whatever this machine has
    prolog: Path | None = None  # run before each task: Slurm's TaskProlog

    @property
    def config(self) -> Path:
        """What SLURM_CONF names for Slurm's commands."""
        return self.folder / "slurm.conf"


def check_means() -> None:
    """Raises UserError where Slurm is not installed."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    if missing := [tool for tool in _TOOLS if shutil.which(tool, path=path) is None]:
        raise UserError(
            f"--slurm needs {', '.join(missing)}",
            "Debian: apt-get install --no-install-recommends slurmctld slurmd slurm-client munge",
        )


def up(site: Site) -> None:
    """Starts all daemons and waits until every node takes jobs. Raises UserError where one does not come up."""
    check_means()
    for folder in (*_FOLDERS, *(f"{kind}/{node.name}" for node in site.nodes for kind in ("conf", "pmix", "spool"))):
        (site.folder / folder).mkdir(parents=True, exist_ok=True)
    site.config.write_text(format_config(site), encoding="utf-8")
    _start_munge(site)
    _run([*site.front.enter, *_daemon("slurmctld"), "-f", str(site.config)], {"SLURM_CONF": str(site.config)})
    for node in site.nodes:
        own = site.folder / "conf" / node.name / "slurm.conf"
        own.write_text(site.config.read_text(encoding="utf-8"), encoding="utf-8")
        # Each node needs a folder of its own for PMIx: they share this machine's file system.
        pmix = f"PMIxCliTmpDirBase={site.folder}/pmix/{node.name}\n"
        own.with_name("mpi.conf").write_text(pmix, encoding="utf-8")
        _run([*node.enter, *_daemon("slurmd"), "-N", node.name, "-f", str(own)], {"SLURM_CONF": str(own)})
    _await_nodes(site)


def format_config(site: Site) -> str:
    """slurm.conf. No control groups; more processors than there are, where asked for."""
    lines = {
        "ClusterName": "lab",
        "SlurmctldHost": f"{site.front.name}({site.front.address})",
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={site.folder}/munge/socket",
        "SlurmUser": "root",
        "SlurmdUser": "root",
        "StateSaveLocation": f"{site.folder}/ctl",
        "SlurmdSpoolDir": f"{site.folder}/spool/%n",
        "SlurmctldPidFile": f"{site.folder}/ctl/pid",
        "SlurmdPidFile": f"{site.folder}/spool/%n/pid",
        "SlurmctldLogFile": f"{site.folder}/log/slurmctld.log",
        "SlurmdLogFile": f"{site.folder}/log/%n.log",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU",
        "MpiDefault": "pmi2",
        "MpiParams": "ports=20000-21000",
        "ReturnToService": "2",
        "SlurmdParameters": "config_overrides",
        "KillWait": "2",  # seconds between SIGTERM and SIGKILL
        "OverTimeLimit": "0",
        "SchedulerParameters": "bf_interval=1,sched_min_interval=100000",
    }
    lines |= {"TaskProlog": str(site.prolog)} if site.prolog else {}
    text = [f"{name}={value}" for name, value in lines.items()]
    text += [
        f"NodeName={node.name} NodeHostname={node.name} NodeAddr={node.address} CPUs={site.cpus} State=UNKNOWN"
        for node in site.nodes
    ]
    return "\n".join([*text, "PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE", ""])


def _start_munge(site: Site) -> None:
    """With a key of its own, so that it neither needs nor touches this machine's munge."""
    folder = site.folder / "munge"
    key = folder / "key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(128))
    files = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    options = [f"--{name}={folder / file}" for name, file in files.items()]
    # --force: it dislikes root, and folders that others might write to.
    _run([*site.front.enter, *_daemon("munged"), "--force", *options])


def _daemon(name: str) -> Command:
    return ["env", f"PATH={os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin", name]


def _await_nodes(site: Site) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    ask = [*site.front.enter, "sinfo", "--noheader", "--Node", "--format=%N %T"]
    while True:
        told = _run(ask, {"SLURM_CONF": str(site.config)}, may_fail=True)
        idle = sum(line.endswith(" idle") for line in told.splitlines())
        if idle == len(site.nodes):
            return
        if time.monotonic() > deadline:
            nodes = counted(len(site.nodes), "node")
            raise UserError(
                f"Slurm has {idle} of {nodes} after {_PATIENCE_S:.0f} s: {told.strip() or 'no answer'}",
                f"{_last_words(site.folder / 'log')}",
            )
        time.sleep(0.2)


def _last_words(folder: Path) -> str:
    """Of the daemons: the folder goes with the cluster."""
    texts = (
        log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:] for log in sorted(folder.glob("*.log"))
    )
    return "\n".join(line for lines in texts for line in lines)


def _run(command: Sequence[str], environment: Mapping[str, str] | None = None, may_fail: bool = False) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **(environment or {})}, timeout=60
    )
    if done.returncode != 0 and not may_fail:
        raise UserError(
            f"`{' '.join(command)}` failed: {done.stderr.strip()}", "`espalier lab down` removes what is left"
        )
    return done.stdout
