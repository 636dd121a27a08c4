"""Counters, gauges and histograms of one engine, in a registry of its own, as Prometheus reads them.

Counters with labels are there from the start, at zero: a rate over a series that begins with its first event misses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sandbox_gym.contract import Verdict
from sandbox_gym.errors import Unavailable
from sandbox_gym.observe.feed import Feed
from sandbox_gym.observe.verdicts import REASONS, reason_of

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
CAUSES: Final = ("program_memory", "unexplained")
"""What the evidence may say of a lost sandbox."""
_PHASES: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)


class _Each(Collector):
    """A gauge by one label, read when it is asked for."""

    def __init__(self, name: str, text: str, label: str, read: Callable[[], Mapping[str, float]]) -> None:
        self._name, self._text, self._label, self._read = name, text, label, read

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(self._name, self._text, labels=[self._label])
        for value, number in self._read().items():
            family.add_metric([value], number)
        yield family


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
        _begin(self.verdicts, REASONS)
        _begin(self.no_verdicts, sorted({Unavailable.failure_kind, *_kinds(Unavailable)}))
        _begin(self.crashes, CAUSES)
        self.phases = self._histogram("phase", "Seconds of a verify by phase", "phase")
        self.verifies = self._histogram("verify", "Seconds from a plan to its verdict, all tries and waits included")

    def count(self, verdict: Verdict, seconds: float, timings_s: Mapping[str, float]) -> None:
        """A verdict that took `seconds` from its plan on. `timings_s`: by phase."""
        self.verdicts.labels(reason_of(verdict)).inc()
        self.verifies.observe(seconds)
        for phase, phase_s in timings_s.items():
            self.phases.labels(phase).observe(phase_s)

    def _histogram(self, name: str, text: str, *labels: str) -> Histogram:
        return Histogram(f"sandbox_gym_{name}_seconds", text, labels, registry=self.registry, buckets=_PHASES)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"sandbox_gym_{name}", text, labels, registry=self.registry)

    def watch(self, name: str, text: str, read: Callable[[], float]) -> None:
        """A gauge that is read when it is asked for."""
        Gauge(f"sandbox_gym_{name}", text, registry=self.registry).set_function(read)

    def watch_all(self, prefix: str, read: Callable[[], Mapping[str, int]]) -> None:
        """A gauge for each number that `read` gives now and later."""
        for name in read():
            self.watch(f"{prefix}_{name}", f"{name.replace('_', ' ')} ({prefix})", lambda name=name: read()[name])  # type: ignore[misc]

    def watch_each(self, name: str, text: str, label: str, read: Callable[[], Mapping[str, float]]) -> None:
        """A gauge with one label whose values come and go; `read` gives all that there are now."""
        self.registry.register(_Each(f"sandbox_gym_{name}", text, label, read))

    def text(self) -> bytes:
        """All of it in the exposition format."""
        return generate_latest(self.registry)


def _begin(counter: Counter, labels: Iterable[str]) -> None:
    for label in labels:
        counter.labels(label)


def _kinds(error: type[Unavailable]) -> Iterator[str]:
    for kind in error.__subclasses__():
        yield kind.failure_kind
        yield from _kinds(kind)
