"""Counters, gauges and histograms of one engine, in a registry of its own, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from sandbox_gym.observe.feed import Feed

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_PHASES: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)


class Metrics:
    """What happened, by name. Labels are small closed sets; nothing a request says becomes one."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.feed = Feed()
        self.verdicts = self._counter("verdicts", "Verdicts by the failing test's status, 'passed' for none", "reason")
        self.no_verdicts = self._counter("no_verdicts", "Requests that ended without a verdict", "kind")
        self.crashes = self._counter("sandbox_crashes", "Sandboxes lost in use, by what the evidence says", "cause")
        self.retries = self._counter("retries", "Plans tried again in another sandbox")
        self.quarantined = self._counter("quarantined", "Plans answered without running: they killed two sandboxes")
        self.phases = Histogram(
            "sandbox_gym_phase_seconds",
            "Seconds of a verify by phase",
            ["phase"],
            registry=self.registry,
            buckets=_PHASES,
        )

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"sandbox_gym_{name}", text, labels, registry=self.registry)

    def watch(self, name: str, text: str, read: Callable[[], float]) -> None:
        """A gauge that is read when it is asked for."""
        Gauge(f"sandbox_gym_{name}", text, registry=self.registry).set_function(read)

    def watch_all(self, prefix: str, read: Callable[[], Mapping[str, int]]) -> None:
        """A gauge for each number that `read` gives now and later."""
        for name in read():
            self.watch(f"{prefix}_{name}", f"{name.replace('_', ' ')} ({prefix})", lambda name=name: read()[name])  # type: ignore[misc]

    def text(self) -> bytes:
        """All of it in the exposition format."""
        return generate_latest(self.registry)
