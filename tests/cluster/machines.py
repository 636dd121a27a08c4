"""Raylets by `ray start`'s own parts: started, killed, stopped in their tracks, and looked at as processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from ray._private import ray_constants
from ray.cluster_utils import Cluster

from sandbox_gym.cluster.ray_fleet import RESOURCE
from tests.processes import below

STORE_BYTES: Final = 100 << 20


class Machines:
    """A cluster whose head takes no verifies, and nodes that do."""

    def __init__(self) -> None:
        self._cluster = Cluster()
        self._nodes: list[Any] = []

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def start(self, count: int) -> None:
        self._cluster.add_node(num_cpus=0, include_dashboard=False, object_store_memory=STORE_BYTES)
        self.ensure(count)

    def ensure(self, count: int) -> None:
        """As many nodes with a pool, alive."""
        self._nodes = [node for node in self._nodes if node.any_processes_alive() and not node.dead_processes()]
        while len(self._nodes) < count:
            self._nodes.append(
                self._cluster.add_node(num_cpus=1, object_store_memory=STORE_BYTES, resources={RESOURCE: 1})
            )

    def ids(self) -> list[str]:
        """The beginning of each node's id, as the fleet names it."""
        return [node.node_id[:12] for node in self._nodes]

    def kill(self, number: int) -> str:
        """SIGKILL a raylet and all below it, as a machine that loses its power; the beginning of its id."""
        node = self._nodes.pop(number)
        for pid in [self._raylet(node), *below(self._raylet(node))]:
            _signal(pid, signal.SIGKILL)
        return str(node.node_id[:12])

    @contextmanager
    def frozen(self, number: int) -> Iterator[str]:
        """Everything of a node stands still while the body runs."""
        node = self._nodes[number]
        pids = [self._raylet(node), *below(self._raylet(node))]
        for pid in pids:
            _signal(pid, signal.SIGSTOP)
        try:
            yield str(node.node_id[:12])
        finally:
            for pid in pids:
                _signal(pid, signal.SIGCONT)

    def workers(self, number: int) -> list[int]:
        """Processes below a raylet."""
        return below(self._raylet(self._nodes[number]))

    def stop(self) -> None:
        self._cluster.shutdown()

    def _raylet(self, node: Any) -> int:
        return int(node.all_processes[ray_constants.PROCESS_TYPE_RAYLET][0].process.pid)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def until(true: Any, within_s: float = 60.0) -> None:
    """Wait for something to be true."""
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.1)
