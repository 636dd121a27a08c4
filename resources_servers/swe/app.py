"""The SWE resources server as NeMo Gym starts it: `gym env start` runs this file, and so may you."""

from __future__ import annotations

from sandbox_gym.config import Settings
from sandbox_gym.server.launch import serve_as_child
from sandbox_gym.server.swe.server import SweResources


def build(settings: Settings, name: str) -> SweResources:
    """One instance; NeMo Gym may run several under names of their own."""
    return SweResources(settings, name=name)


if __name__ == "__main__":
    serve_as_child(build, "swe")
