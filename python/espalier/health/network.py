"""What is to tell jobs of the network, ESPALIER_FABRIC: a folder of dumps, or a service, that knows this host."""

from __future__ import annotations

import platform
import socket
from pathlib import Path

from espalier.base.errors import UserError
from espalier.base.units import counted
from espalier.fabric.loading import load
from espalier.jobs.diagnosis import Finding, Level

_PATIENCE_SECONDS = 2.0
_TOPIC = "ESPALIER_FABRIC"
_WITHOUT = "jobs tell nodes apart by the rates of their network cards"
_AGAIN = "dump it again, on hosts that jobs run on"


def examine_fabric(where: str) -> Finding:
    """Whether it is there, and of the network that this host is in."""
    if Path(where).is_dir():
        return _examine_dumps(Path(where), platform.node())
    if "/" in where and not Path(where).exists():
        text = f"{where}: there is neither a folder of dumps nor a service's socket; {_WITHOUT}"
        return Finding(_TOPIC, Level.WARNING, text, "name a folder of dumps, or where `espalier serve` listens")
    try:
        return _examine_service(where, platform.node().partition(".")[0])
    except (OSError, ValueError) as error:
        text = f"{where} does not answer: {error}; {_WITHOUT}"
        return Finding(_TOPIC, Level.WARNING, text, "is `espalier serve` running there?")


def _examine_dumps(folder: Path, host: str) -> Finding:
    try:
        known = {host.name for host in load(folder).core.hosts}
    except UserError as error:
        return Finding(_TOPIC, Level.WARNING, f"not used: {error.message}", error.remedy)
    text = f"{folder}, dumps of {counted(len(known), 'host')}"
    if known.isdisjoint({host, host.partition(".")[0]}):
        text += f"; this one, {host}, is not among them, so they are of another network, or older than it"
        return Finding(_TOPIC, Level.WARNING, text, _AGAIN)
    return Finding(_TOPIC, Level.OK, text)


def _examine_service(where: str, host: str) -> Finding:
    """Asks what a job on this host would (docs/reference/protocol.md). Raises OSError, or ValueError for what is
    neither host:port nor a socket's path, or says what no service says."""
    told, route = _ask(where, host)
    if told.get("snapshot", "0") == "0":
        return Finding(_TOPIC, Level.WARNING, f"{where} answers, but has read no dumps yet", "see what it says itself")
    text = f"{where} answers, of a network of {counted(int(told['hosts']), 'host')}"
    if route.startswith("error unknown-host"):
        text += f"; this one, {host}, is not among them, so its dumps are of another network, or older than it"
        return Finding(_TOPIC, Level.WARNING, text, _AGAIN)
    if (trouble := told.get("trouble", "-")) != "-":
        text += f", but not from the newest dumps: {trouble}"
        return Finding(_TOPIC, Level.WARNING, text, "mend them: until then routes are those of before")
    return Finding(_TOPIC, Level.OK, text)


def _ask(where: str, host: str) -> tuple[dict[str, str], str]:
    """What `stats` tells, by name, and the reply to `hops HOST:HOST`."""
    with _connect(where) as door:
        door.sendall(f"stats\nhops {host}:{host}\nquit\n".encode())
        with door.makefile("r", encoding="ascii", errors="replace") as replies:
            word, _, count = replies.readline().strip().partition(" ")
            if word != "stats" or not count.isdecimal():
                raise ValueError("whoever listens there is no `espalier serve`")
            pairs = (replies.readline().rstrip("\n").partition(" ") for _ in range(int(count)))
            told = {name: value for name, _, value in pairs}
            if not told.get("hosts", "").isdecimal():
                raise ValueError("whoever listens there is no `espalier serve` of this version")
            return told, replies.readline().strip()


def _connect(where: str) -> socket.socket:
    if "/" in where:
        door = socket.socket(socket.AF_UNIX)
        door.settimeout(_PATIENCE_SECONDS)
        try:
            door.connect(where)
        except OSError:
            door.close()
            raise
        return door
    host, _, port = where.rpartition(":")
    if not host:
        raise ValueError("neither host:port nor a socket nor a folder")
    return socket.create_connection((host, int(port)), timeout=_PATIENCE_SECONDS)
