"""What a placement costs as a cluster grows: the scheduler's own bookkeeping on simulated nodes, nothing else.

Fills a cluster of N nodes with L leases of a hundred images (half of the plans ask for the ten commonest), then ends
and begins leases in random order and times each decision. Also: snapshots that few nodes hold, and nodes that are lost
and come back under load. The same `Placement` that servers use; microseconds of CPU per decision, how many were warm.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from rich.console import Console
from rich.table import Table

from sandbox_gym.cluster.placement import WARM_PER_NODE, Placement

IMAGES: Final = 100
SNAPSHOTS_PER_NODE: Final = 20
LEASES: Final = (1_000, 10_000, 100_000)
NODES: Final = (10, 100, 1_000)


@dataclass
class Load:
    """A cluster and who has what. `seed` makes it the same each time."""

    nodes: int
    leases: int
    seed: int = 1
    placement: Placement = field(default_factory=Placement)
    held: list[str] = field(default_factory=list)
    warm: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.slots = max(1, -(-self.leases * 5 // (4 * self.nodes)))  # four fifths of them taken
        self.images = self._images()
        self.recent: dict[str, list[str]] = {}
        for number in range(self.nodes):
            self._join(f"n{number}")
        while len(self.held) < self.leases:
            self._take()
        self.warm = 0

    def _images(self) -> Iterator[str]:
        while True:
            most = 10 if self.chance.random() < 0.5 else IMAGES
            yield f"image-{self.chance.randrange(most)}"

    def _join(self, node: str) -> None:
        self.placement.join(node, self.slots)
        for number in range(SNAPSHOTS_PER_NODE):
            self.placement.hold(node, f"snapshot:{(int(node[1:]) + number) % self.nodes}-{number}")

    def _take(self) -> None:
        image = next(self.images)
        node = self.placement.place(image)
        if node is None:
            raise SystemExit("no node took a plan")
        self.held.append(node)
        known = self.recent.setdefault(node, [])
        self.warm += image in known
        if image in known:
            known.remove(image)
        known.append(image)
        del known[:-WARM_PER_NODE]

    def churn(self, count: int) -> list[float]:
        """CPU seconds of each of `count` decisions, each a lease that ends and one that begins."""
        took = []
        for _ in range(count):
            at = self.chance.randrange(len(self.held))
            self.held[at], self.held[-1] = self.held[-1], self.held[at]
            node, image = self.held.pop(), next(self.images)
            started = time.thread_time()
            self.placement.give(node)
            placed = self.placement.place(image)
            took.append(time.thread_time() - started)
            if placed is None:
                raise SystemExit("no node took a plan")
            known = self.recent.setdefault(placed, [])
            self.warm += image in known
            if image in known:
                known.remove(image)
            known.append(image)
            del known[:-WARM_PER_NODE]
            self.held.append(placed)
        return took

    def snapshots(self, count: int) -> list[float]:
        """The same of plans that begin from snapshots."""
        took = []
        for _ in range(count):
            number = self.chance.randrange(SNAPSHOTS_PER_NODE)
            name = f"snapshot:{self.chance.randrange(self.nodes)}-{number}"
            started = time.thread_time()
            node = self.placement.place(name, held=True)
            took.append(time.thread_time() - started)
            if node is None:
                raise SystemExit(f"nobody has {name}")
            self.placement.give(node)
        return took

    def losses(self, count: int) -> list[float]:
        """Seconds of each of `count` nodes that are lost, their leases placed again, and that come back."""
        took = []
        for _ in range(count):
            node = f"n{self.chance.randrange(self.nodes)}"
            orphans = sum(held == node for held in self.held)
            self.held = [held for held in self.held if held != node]
            images = [next(self.images) for _ in range(orphans)]
            started = time.thread_time()
            self.placement.leave(node)
            placed = [self.placement.place(image) for image in images]
            took.append((time.thread_time() - started) / max(1, orphans))
            if None in placed or node in placed:
                raise SystemExit("a lost node's lease has no place")
            self.held += [name for name in placed if name is not None]
            self._join(node)
        return took


def micros(seconds: list[float]) -> str:
    """Median and 99th percentile."""
    ordered = sorted(seconds)
    return f"{statistics.median(ordered) * 1e6:.1f} / {ordered[int(len(ordered) * 0.99)] * 1e6:.1f}"


def main(decisions: int) -> None:
    table = Table(
        "nodes", "leases", "slots each", "lease us p50 / p99", "warm", "snapshot us", "rescheduled lease us",
        title="cost of a decision",
    )  # fmt: skip
    for nodes in NODES:
        for leases in LEASES:
            load = Load(nodes, leases)
            took = load.churn(decisions)
            warm = f"{100 * load.warm / decisions:.0f} %"
            held = micros(load.snapshots(decisions))
            lost = micros(load.losses(min(20, nodes)))
            table.add_row(f"{nodes:,}", f"{leases:,}", f"{load.slots:,}", micros(took), warm, held, lost)
    Console(width=120).print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=50_000)
    main(parser.parse_args().decisions)
