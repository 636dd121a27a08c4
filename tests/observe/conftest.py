"""A collector that the test and its processes send traces to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.observe.collector import Collector
from tests.observe.tracing import exporting_to


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with exporting_to("well", monkeypatch) as collector:
        yield collector
