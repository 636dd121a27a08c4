"""A provider whose boxes have a weight of their own, and a crowd that takes the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from sandbox_gym.sandbox.local import LocalProvider, cgroups
from tests.engine.starvation.boxes import FILES, Weight


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalProvider]:
    """Its boxes' parent is no other server's."""
    name = f"sandbox-gym-test-{os.getpid()}"
    monkeypatch.setattr(cgroups, "PARENT", name)
    provider = LocalProvider(cgroup="require")
    yield provider
    assert provider.cgroups is not None
    for parent in set(provider.cgroups._parents.values()):
        parent.rmdir()


@pytest.fixture
def weight(provider: LocalProvider) -> Weight:
    assert provider.cgroups is not None
    assert provider.cgroups.caps_cpu
    _name, small, large = FILES[provider.cgroups.version]
    parent = provider.cgroups._parents["cpu"]
    weight = Weight(parent / _name, small, large)
    weight.large()
    return weight


@pytest.fixture
def crowd() -> Iterator[None]:
    """Two processes for each CPU that want all of it, each in a session of its own, so that the kernel groups none."""
    spin = [sys.executable, "-c", "while True: pass"]
    spinning = [subprocess.Popen(spin, start_new_session=True) for _ in range(2 * (os.cpu_count() or 1))]
    yield
    for process in spinning:
        process.kill()
        process.wait()
