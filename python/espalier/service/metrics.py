"""What the service counts, for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from espalier.service.keeper import Keeper

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class _Collector:
    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def collect(self) -> Iterator[Metric]:
        counts = self._keeper.engine.counts()
        requests = CounterMetricFamily("espalier_requests", "Requests by kind, over all doors.", labels=["request"])
        for name, value in counts["requests"].items():
            requests.add_metric([name], value)
        yield requests
        for name, text in _COUNTERS.items():
            yield CounterMetricFamily(f"espalier_{name}", text, value=counts[name])
        yield GaugeMetricFamily("espalier_connections", "Open connections of the line protocol.", counts["connections"])
        yield GaugeMetricFamily(
            "espalier_data_good", "1 when the newest dumps are those that answer.", float(not self._keeper.trouble)
        )
        yield from self._about_data()

    def _about_data(self) -> Iterator[Metric]:
        kept = self._keeper.current
        yield GaugeMetricFamily("espalier_snapshot", "Number of what answers; 0: nothing.", kept.number if kept else 0)
        if kept is None:
            return
        core = kept.snapshot.core
        yield GaugeMetricFamily(
            "espalier_data_age_seconds", "Since the newest dump was written.", max(0.0, time.time() - kept.written)
        )
        yield GaugeMetricFamily("espalier_hosts", "Hosts of the fabric.", len(core.hosts))
        yield GaugeMetricFamily("espalier_switches", "Switches of the fabric.", len(kept.view.switches))
        yield GaugeMetricFamily("espalier_findings", "What is odd about the dumps.", len(core.findings))


_COUNTERS = {
    "errors": "Requests that were answered by an error.",
    "reloads": "Sets of dumps that were taken.",
    "rejects": "Sets of dumps that were not taken.",
    "accepted": "Connections of the line protocol.",
    "refused": "Connections beyond the limit.",
    "too_slow": "Connections that were closed because their clients kept them waiting.",
}


def render(keeper: Keeper) -> bytes:
    """The text that Prometheus reads."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(keeper))
    return bytes(generate_latest(registry))
