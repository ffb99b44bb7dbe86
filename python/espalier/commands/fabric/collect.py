"""espalier fabric collect: dumps of the network, whole or not at all."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from espalier.base import console
from espalier.base.errors import UserError
from espalier.fabric import Snapshot
from espalier.service.collecting import collect as collect_dumps
from espalier.service.collecting import follow

log = logging.getLogger("espalier.collect")


def collect(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the dumps go; keep nothing else there.")],
    every: Annotated[float | None, typer.Option(min=1, help="Stay, and collect again every so many seconds.")] = None,
    on_log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Stay, and collect again when opensm's log says SUBNET UP.")
    ] = None,
    limit: Annotated[float, typer.Option(min=1, help="Seconds that each tool may take.")] = 300,
) -> None:
    """Dump the fabric with ibnetdiscover and dump_fts, check the dumps, then put them into place."""
    console.log_to_stderr()
    stays = every is not None or on_log is not None
    # What happens while the first dumps are made is news too.
    reasons = follow(on_log, every) if stays else iter(())
    _collect_once(folder, limit, stays)
    for reason in reasons:
        log.info("collecting: %s", reason)
        _collect_once(folder, limit, stays)


def _collect_once(folder: Path, limit: float, stays: bool) -> None:
    try:
        _say(folder, collect_dumps(folder, limit))
    except UserError as error:
        if not stays:
            raise
        # There will be a next time; until then the dumps that are there are the best.
        log.error("%s", error.message)


def _say(folder: Path, snapshot: Snapshot) -> None:
    core = snapshot.core
    switches = sum(node.kind == "switch" for node in core.nodes)
    log.info("%s: %d hosts, %d switches, %d findings", folder, len(core.hosts), switches, len(core.findings))
