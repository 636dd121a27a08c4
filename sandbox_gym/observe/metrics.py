"""Counters, gauges and histograms of one engine, in a registry of its own, as Prometheus reads them.

Counters with labels are there from the start, at zero: a rate over a series that begins with its first event misses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sandbox_gym.contract import Doubt, Verdict
from sandbox_gym.errors import Unavailable
from sandbox_gym.observe.feed import Feed
from sandbox_gym.observe.radar import Radar, Totals
from sandbox_gym.observe.verdicts import REASONS, reason_of

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
CAUSES: Final = ("program_memory", "unexplained")
"""What the evidence may say of a lost sandbox."""
STALL_S: Final = 0.1
"""A loop that is later than this has stood still: heartbeats and answers of all others waited."""
_LAGS: Final = (0.001, 0.003, 0.01, 0.03, STALL_S, 0.3, 1, 3, 10, 30)
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


class _Counts(Collector):
    """A counter whose values are kept elsewhere, by one label or several."""

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
    """What happened, by name. Labels are small closed sets, but for tenants and signs of tampering, of which the radar
    keeps a bounded number apart."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.feed = Feed()
        self.radar = Radar()
        self._count_radar(self.radar.totals)
        self.verdicts = self._counter("verdicts", "Verdicts by the failing test's status, 'passed' for none", "reason")
        self.no_verdicts = self._counter("no_verdicts", "Requests that ended without a verdict", "kind")
        self.crashes = self._counter("sandbox_crashes", "Sandboxes lost in use, by what the evidence says", "cause")
        self.retries = self._counter("retries", "Plans tried again in another sandbox")
        self.reruns = self._counter("doubted_runs", "Runs tried again since their end was in doubt", "why")
        self.quarantined = self._counter("quarantined", "Plans answered without running: they killed two sandboxes")
        _begin(self.verdicts, REASONS)
        _begin(self.no_verdicts, sorted({Unavailable.failure_kind, *_kinds(Unavailable)}))
        _begin(self.crashes, CAUSES)
        _begin(self.reruns, tuple(Doubt))
        self.phases = self._histogram("phase", "Seconds of a verify by phase", "phase")
        self.verifies = self._histogram("verify", "Seconds from a plan to its verdict, all tries and waits included")
        self.loop_lag = self._histogram("loop_lag", "Seconds that the event loop woke a waiting task late", at=_LAGS)
        self.loop_stalls = 0

    def count(self, verdict: Verdict, seconds: float, timings_s: Mapping[str, float]) -> None:
        """A verdict that took `seconds` from its plan on. `timings_s`: by phase."""
        self.verdicts.labels(reason_of(verdict)).inc()
        self.verifies.observe(seconds)
        for phase, phase_s in timings_s.items():
            self.phases.labels(phase).observe(phase_s)

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
        """The event loop came to a task so long after it should have."""
        self.loop_lag.observe(seconds)
        self.loop_stalls += seconds > STALL_S

    def _histogram(self, name: str, text: str, *labels: str, at: Sequence[float] = _PHASES) -> Histogram:
        return Histogram(f"sandbox_gym_{name}_seconds", text, labels, registry=self.registry, buckets=at)

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


def _by_one(counts: Mapping[str, int]) -> Iterator[tuple[Sequence[str], int]]:
    return (((label,), number) for label, number in counts.items())


def _begin(counter: Counter, labels: Iterable[str]) -> None:
    for label in labels:
        counter.labels(label)


def _kinds(error: type[Unavailable]) -> Iterator[str]:
    for kind in error.__subclasses__():
        yield kind.failure_kind
        yield from _kinds(kind)
