"""The coding resources server as NeMo Gym starts it: `gym env start` runs this file, and so may you."""

from __future__ import annotations

from sandbox_gym.config import Settings
from sandbox_gym.server.coding.server import CodingResources
from sandbox_gym.server.launch import serve_as_child


def build(settings: Settings, name: str) -> CodingResources:
    """One instance; NeMo Gym may run several under names of their own."""
    return CodingResources(settings, name=name)


if __name__ == "__main__":
    serve_as_child(build, "coding")
