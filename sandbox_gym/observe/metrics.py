"""Counters, gauges and histograms of one engine in a registry of its own, in Prometheus' format.

Counters with labels start at zero, because a rate over a series that begins with its first event misses that event.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import anyio
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sandbox_gym.contract import Doubt, TestStatus, Verdict
from sandbox_gym.errors import Unavailable
from sandbox_gym.observe.feed import Feed
from sandbox_gym.observe.radar import Radar, Totals
from sandbox_gym.observe.traces import Attributes

REASONS: Final = ("passed", "failed", *(status.value for status in TestStatus if status is not TestStatus.PASSED))
"""Every value of `reason_of`."""


def reason_of(verdict: Verdict) -> str:
    """The first failing test's status; `failed` without such a test, `passed` for a full reward."""
    failed = next((test.status.value for test in verdict.tests if test.status is not TestStatus.PASSED), "")
    return failed or ("failed" if verdict.failure_reason else "passed")


def attributes_of(verdict: Verdict) -> Attributes:
    """A verdict's span attributes."""
    return {
        "reason": reason_of(verdict),
        "reward": verdict.reward,
        "attempts": verdict.attempts,
        "isolation": verdict.isolation,
        "integrity": verdict.integrity,
        "tests": len(verdict.tests),
        "tamper": verdict.tamper,
    }


CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
CAUSES: Final = ("program_memory", "program_processes", "unexplained")
"""Values of the evidence label of a lost sandbox."""
LAG_EVERY_S: Final = 0.02
STALL_S: Final = 0.1
"""A loop that is later than this was blocked: all heartbeats and responses waited."""
_LAGS: Final = (0.001, 0.003, 0.01, 0.03, STALL_S, 0.3, 1, 3, 10, 30)
_PHASES: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)


class _Each(Collector):
    """A gauge with one label, read at each scrape."""

    def __init__(self, name: str, text: str, label: str, read: Callable[[], Mapping[str, float]]) -> None:
        self._name, self._text, self._label, self._read = name, text, label, read

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(self._name, self._text, labels=[self._label])
        for value, number in self._read().items():
            family.add_metric([value], number)
        yield family


class _Counts(Collector):
    """A counter with labels whose values another object counts."""

    def __init__(
        self, name: str, text: str, labels: Sequence[str], read: Callable[[], Iterable[tuple[Sequence[str], int]]]
    ) -> None:
        self._name, self._text, self._labels, self._read = name, text, labels, read

    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(self._name, self._text, labels=self._labels)
        for values, number in self._read():
            family.add_metric(values, number)
        yield family


class Metrics:
    """The metrics of an engine. Labels are small closed sets, except tenants and signs of tampering, whose number the
    radar bounds."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.feed = Feed()
        self.radar = Radar()
        self._count_radar(self.radar.totals)
        self.verdicts = self._counter("verdicts", "Verdicts by the failing test's status, 'passed' for none", "reason")
        self.no_verdicts = self._counter("no_verdicts", "Requests that ended without a verdict", "kind")
        self.session_failures = self._counter(
            "session_failures", "Sessions that could not be seeded for a reason of the server's", "kind"
        )
        self.crashes = self._counter("sandbox_crashes", "Sandboxes lost in use, by what the evidence says", "cause")
        self.retries = self._counter("retries", "Plans tried again in another sandbox")
        self.reruns = self._counter("doubted_runs", "Runs tried again because their end was in doubt", "why")
        self.quarantined = self._counter("quarantined", "Plans quarantined after they lost two sandboxes")
        _begin(self.verdicts, REASONS)
        _begin(self.no_verdicts, sorted({Unavailable.failure_kind, *_kinds(Unavailable)}))
        _begin(self.session_failures, sorted({Unavailable.failure_kind, *_kinds(Unavailable)}))
        _begin(self.crashes, CAUSES)
        _begin(self.reruns, tuple(Doubt))
        self.phases = self._histogram("phase", "Seconds of a verify by phase", "phase")
        self.verifies = self._histogram("verify", "Seconds from a plan to its verdict, retries and waits included")
        self.loop_lag = self._histogram("loop_lag", "Seconds by which the event loop woke a task late", at=_LAGS)
        self.loop_stalls = 0

    def count(self, verdict: Verdict, seconds: float, timings_s: Mapping[str, float]) -> None:
        """Count a verdict that took `seconds` from its plan on. `timings_s`: by phase."""
        self.verdicts.labels(reason_of(verdict)).inc()
        self.verifies.observe(seconds)
        for phase, phase_s in timings_s.items():
            self.phases.labels(phase).observe(phase_s)

    def count_none(self, error: Unavailable) -> None:
        """Count a request that ended without a verdict, once, wherever its error passes."""
        if not error.counted:
            error.counted = True
            self.no_verdicts.labels(error.failure_kind).inc()

    def _count_radar(self, totals: Totals) -> None:
        """The radar's counts as counters, by tenant."""
        for name, text, counts in (
            ("verifies", "Verifies that ended, with a verdict or without", totals.verifies),
            ("tampered_verifies", "Verifies with a sign of tampering", totals.tampered),
            ("in_process_verifies", "Verifies whose tests shared the answer's process", totals.in_process),
            ("masked_verifies", "Verifies that ended without a verdict", totals.masked),
        ):
            self._count(name, text, ("tenant",), partial(_by_one, counts))
        self._count("tamper_signs", "Signs of tampering", ("sign", "tenant"), totals.signs.items)
        text = "Runs of inverted tests: all failed as they must, one did not, none could be made"
        self._count("inverted_tests", text, ("result", "tenant"), totals.inverted.items)

    def _count(
        self, name: str, text: str, labels: Sequence[str], read: Callable[[], Iterable[tuple[Sequence[str], int]]]
    ) -> None:
        self.registry.register(_Counts(f"sandbox_gym_{name}", text, labels, read))

    def loop_was_late(self, seconds: float) -> None:
        """Record by how much the event loop was late."""
        self.loop_lag.observe(seconds)
        self.loop_stalls += seconds > STALL_S

    def _histogram(self, name: str, text: str, *labels: str, at: Sequence[float] = _PHASES) -> Histogram:
        return Histogram(f"sandbox_gym_{name}_seconds", text, labels, registry=self.registry, buckets=at)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"sandbox_gym_{name}", text, labels, registry=self.registry)

    def watch(self, name: str, text: str, read: Callable[[], float]) -> None:
        """Add a gauge that is read at each scrape."""
        Gauge(f"sandbox_gym_{name}", text, registry=self.registry).set_function(read)

    def watch_all(self, prefix: str, read: Callable[[], Mapping[str, int]]) -> None:
        """Add a gauge for each number that `read` returns, now and later."""
        for name in read():
            self.watch(f"{prefix}_{name}", f"{name.replace('_', ' ')} ({prefix})", lambda name=name: read()[name])  # type: ignore[misc]

    def watch_each(self, name: str, text: str, label: str, read: Callable[[], Mapping[str, float]]) -> None:
        """Add a gauge with one label whose values change; `read` returns all current ones."""
        self.registry.register(_Each(f"sandbox_gym_{name}", text, label, read))

    def text(self) -> bytes:
        """All metrics in Prometheus' exposition format."""
        return generate_latest(self.registry)


def _by_one(counts: Mapping[str, int]) -> Iterator[tuple[Sequence[str], int]]:
    return (((label,), number) for label, number in counts.items())


def _begin(counter: Counter, labels: Iterable[str]) -> None:
    for label in labels:
        counter.labels(label)


def _kinds(error: type[Unavailable]) -> Iterator[str]:
    for kind in error.__subclasses__():
        yield kind.failure_kind
        yield from _kinds(kind)


async def measure_loop(metrics: Metrics) -> None:
    """Measure how late the event loop wakes a task, until cancelled: what blocks it delays every verify, heartbeat of a
    sandbox and health check."""
    while True:
        due = time.perf_counter() + LAG_EVERY_S
        await anyio.sleep(LAG_EVERY_S)
        metrics.loop_was_late(max(0.0, time.perf_counter() - due))
