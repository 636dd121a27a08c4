"""The resources servers there are, by kind: what makes one from settings and an instance's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sandbox_gym.config import Settings
from sandbox_gym.server.coding import CodingResources
from sandbox_gym.server.resources import ResourcesServer

Make = Callable[[Settings, str], ResourcesServer]


def _coding(settings: Settings, name: str) -> ResourcesServer:
    return CodingResources(settings, name=name)


SERVERS: Mapping[str, Make] = {"coding": _coding}
