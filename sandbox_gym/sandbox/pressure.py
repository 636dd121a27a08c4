"""How hard the machine is pressed for CPU, and how many sandboxes it bears. Pure but for one read."""

from __future__ import annotations

import os
from pathlib import Path


class Governor:
    """How many slots the machine bears, from its CPU pressure: the share of time in which work waited for a CPU."""

    def __init__(self, floor: int, ceiling: int, *, high: float = 0.9, low: float = 0.7) -> None:
        self._floor, self._ceiling = min(floor, ceiling), ceiling
        self._high, self._low = high, low
        self.limit = ceiling

    def update(self, pressure: float) -> int:
        """The new limit: one less under high pressure, one more under low, the same between."""
        if pressure > self._high:
            self.limit = max(self._floor, self.limit - 1)
        elif pressure < self._low:
            self.limit = min(self._ceiling, self.limit + 1)
        return self.limit


def cpu_pressure(psi: str, load_average: float, cpus: int) -> float:
    """From 0 to 1. `psi` is the text of /proc/pressure/cpu, empty where the kernel has none: then by load average."""
    for line in psi.splitlines():
        if line.startswith("some "):
            for field_ in line.split():
                name, _, value = field_.partition("=")
                if name == "avg10":
                    return min(1.0, float(value) / 100)
    return min(1.0, max(0.0, (load_average - cpus) / (2 * cpus)))


def machine_pressure() -> float:
    """This machine's pressure now, from 0 to 1."""
    try:
        psi = Path("/proc/pressure/cpu").read_text("ascii")
    except OSError:
        psi = ""
    return cpu_pressure(psi, os.getloadavg()[0], os.cpu_count() or 1)
